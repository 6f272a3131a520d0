package apikey_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/store"
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

func TestARolledKeyGoesOnForTheOverlap(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Connection("acme", "s", adapter.KindCalendar, "sandbox")
		first, old := h.Key("acme", apikey.Spec{
			Label: "agent", Scopes: []apikey.Scope{apikey.ScopeCalendarRead}, Connections: []string{"s"}, Test: true,
		})
		h.Caller(first)
		h.Clock.Advance(time.Hour)
		second, made, err := h.Keys.Roll(t.Context(), old.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		want := old
		want.ID, want.Prefix, want.CreatedAt = made.ID, second[:12], h.Clock.Now()
		if !reflect.DeepEqual(made, want) || made.ID == old.ID || second == first {
			t.Errorf("the new key is %+v, want %+v", made, want)
		}
		if keys, err := h.Keys.List(t.Context(), "acme"); err != nil || len(keys) != 2 ||
			!keys[0].EndsAt.Equal(h.Clock.Now().Add(time.Minute)) || !keys[1].EndsAt.IsZero() {
			t.Errorf("listed %+v, %v", keys, err)
		}
		_, _, err = h.Keys.Roll(t.Context(), old.ID, time.Minute)
		tenanttest.WantFault(t, err, fault.Conflict, store.ReasonKeyRevoked)

		h.Clock.Advance(59 * time.Second)
		if a, b := h.Caller(first), h.Caller(second); !reflect.DeepEqual(a.Scopes, b.Scopes) || !b.Test ||
			!reflect.DeepEqual(a.Connections, b.Connections) {
			t.Errorf("the keys reach %+v and %+v", a, b)
		}
		h.Clock.Advance(3 * time.Second) // the overlap, and the time that a key is remembered
		_, err = h.Callers.Authenticate(t.Context(), first)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		h.Caller(second)
		err = h.Connections.Remove(t.Context(), "acme", "s")
		if fault.From(err).Reason != fault.ReasonConnectionInUse ||
			strings.Contains(err.Error(), old.ID) {
			t.Errorf("the connection of the new key is removed: %v", err)
		}
	})
}

func TestARolledKeyCanBeRevokedEarlier(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, old := h.Key("acme", apikey.Spec{})
	if _, _, err := h.Keys.Roll(t.Context(), old.ID, apikey.DefaultOverlap); err != nil {
		t.Fatal(err)
	}
	h.Caller(text)
	if err := h.Keys.Revoke(t.Context(), old.ID); err != nil {
		t.Fatal(err)
	}
	_, err := h.Callers.Authenticate(t.Context(), text)
	tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
}

// A key that is rolled while it is being revoked is revoked, and its row is as the gateway wrote it.
func TestAKeyIsRevokedWhileItIsRolled(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		text, made := h.Key("acme", apikey.Spec{})
		rolled := false
		keys := apikey.NewDirectory(apikey.Options{
			Store: h.Store, Vault: h.Vault, Changed: h.Callers.Forget,
			Now: func() time.Time { // which Revoke asks for after it has read the row
				if !rolled {
					rolled = true
					_, _, err := h.Keys.Roll(t.Context(), made.ID, time.Hour)
					tenanttest.Must(t, err)
				}
				return h.Clock.Now()
			},
		})
		tenanttest.Must(t, keys.Revoke(t.Context(), made.ID))
		_, err := h.Callers.Authenticate(t.Context(), text)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if wrong, err := h.Rows.Wrong(t.Context()); err != nil || len(wrong) > 0 {
			t.Errorf("wrong are %v, %v", wrong, err)
		}
	})
}

func TestKeysThatCannotBeRolled(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	_, made := h.Key("acme", apikey.Spec{})
	for _, overlap := range []time.Duration{-time.Second, 31 * 24 * time.Hour} {
		_, _, err := h.Keys.Roll(t.Context(), made.ID, overlap)
		tenanttest.WantFields(t, err, "overlap must be from 0 to 720h0m0s.")
	}
	_, _, err := h.Keys.Roll(t.Context(), "key_none", time.Hour)
	tenanttest.WantFault(t, err, fault.NotFound, apikey.ReasonNotFound)
	if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.Keys.Roll(t.Context(), made.ID, time.Hour)
	tenanttest.WantFault(t, err, fault.Conflict, store.ReasonKeyRevoked)
}
