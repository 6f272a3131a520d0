package apikey_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

func TestKeysAreShownOnceAndListed(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Tenant("other")
		h.Connection("acme", "a", adapter.KindCalendar, "dav")
		h.Connection("acme", "s", adapter.KindCalendar, "sandbox")
		live, first := h.Key("acme", apikey.Spec{
			Label: "agent", Scopes: []apikey.Scope{apikey.ScopeNumbersWrite, apikey.ScopeNumbersWrite},
			Connections: []string{"a", "a"},
		})
		h.Clock.Advance(time.Second)
		test, second := h.Key("acme", apikey.Spec{Test: true, Connections: []string{"s"}})
		h.Key("other", apikey.Spec{})
		if !strings.HasPrefix(live, "fd_live_") || !strings.HasPrefix(test, "fd_test_") ||
			first.Prefix != live[:12] {
			t.Errorf("keys %s %s, prefix %s", live, test, first.Prefix)
		}
		want := []apikey.Key{
			{ID: first.ID, TenantID: first.TenantID, Prefix: live[:12], Label: "agent",
				Scopes: []apikey.Scope{apikey.ScopeNumbersWrite}, Connections: []string{"a"}, CreatedAt: first.CreatedAt},
			{ID: second.ID, TenantID: first.TenantID, Prefix: test[:12], Scopes: apikey.Scopes(),
				Connections: []string{"s"}, Test: true, CreatedAt: second.CreatedAt},
		}
		got, err := h.Keys.List(t.Context(), "acme")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		revoked := h.Clock.Now()
		if err := h.Keys.Revoke(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		if got, err = h.Keys.List(t.Context(), "acme"); err != nil || !got[0].RevokedAt.Equal(revoked) {
			t.Errorf("after revoking %+v, %v", got, err)
		}
		if c := h.Caller(test); !c.Test {
			t.Errorf("the test key's caller %+v", c)
		}
	})
}

func TestUnusableKeys(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	h.Connection("acme", "a", adapter.KindCalendar, "dav")
	h.Connection("acme", "b", adapter.KindCalendar, "dav")
	_, _, err := h.Keys.Create(t.Context(), "acme", apikey.Spec{Test: true, Label: strings.Repeat("x", 201),
		Scopes: []apikey.Scope{apikey.ScopeCalendarRead, "calendar"}, Connections: []string{"none", "a"}})
	tenanttest.WantFields(t, err,
		`connections[0] is not a connection of the tenant "acme": it has a, b.`,
		"connections[1] is not a sandbox, and a test key reaches sandbox connections only.",
		"scopes[1] must be one of calendar:read, calendar:write, tickets:read, tickets:write, "+
			"numbers:read, numbers:write.",
		"label must be at most 200 bytes.")
	_, _, err = h.Keys.Create(t.Context(), "acme", apikey.Spec{Connections: []string{"a", "b"}})
	tenanttest.WantFields(t, err,
		`connections[1] is a second calendar connection beside "a"; a key is bound to one of a kind.`)
}
