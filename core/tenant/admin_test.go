package tenant

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

func TestTenantsAreMadeListedChangedAndDeleted(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		window := Duration(30 * time.Minute)
		settings := Settings{Timezone: "Europe/Berlin", PreventDoubleBooking: true, DedupeWindow: &window, StatusWords: map[string]string{"fresh": "New"}}
		h.tenant("zeta")
		made, err := h.CreateTenant(t.Context(), "acme", settings)
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.TenantByName(t.Context(), "acme")
		if err != nil || !reflect.DeepEqual(got, made) || !reflect.DeepEqual(got.Settings, settings) {
			t.Errorf("got  %+v, %v\nmade %+v", got, err, made)
		}
		_, err = h.CreateTenant(t.Context(), "acme", Settings{})
		wantFault(t, err, fault.Conflict, ReasonNameTaken)
		all, err := h.Tenants(t.Context())
		if err != nil || len(all) != 2 || all[0].Name != "acme" || all[1].Name != "zeta" {
			t.Errorf("tenants %v, %v", all, err)
		}
		text, _ := h.key("acme", NewKey{})
		h.caller(text)
		if _, err := h.UpdateTenant(t.Context(), "acme", Settings{RejectPast: true}); err != nil {
			t.Fatal(err)
		}
		if c := h.caller(text); !reflect.DeepEqual(c.Tenant.Settings, Settings{RejectPast: true}) {
			t.Errorf("the caller's tenant has %+v", c.Tenant.Settings)
		}
		c := h.connection("acme", "a", adapter.KindCalendar, "dav")
		if err := h.DeleteTenant(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		_, err = h.Authenticate(t.Context(), text)
		wantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if _, err := h.store.Connection(t.Context(), c.TenantID, c.ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("its connection: %v", err)
		}
	})
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	ctx := t.Context()
	for name, act := range map[string]func() error{
		"TenantByName":     func() error { _, err := h.TenantByName(ctx, "none"); return err },
		"UpdateTenant":     func() error { _, err := h.UpdateTenant(ctx, "none", Settings{}); return err },
		"DeleteTenant":     func() error { return h.DeleteTenant(ctx, "none") },
		"CreateKey":        func() error { _, _, err := h.CreateKey(ctx, "none", NewKey{}); return err },
		"Keys":             func() error { _, err := h.Keys(ctx, "none"); return err },
		"Connections":      func() error { _, err := h.Connections(ctx, "none"); return err },
		"RemoveConnection": func() error { return h.RemoveConnection(ctx, "none", "a") },
		"VerifyConnection": func() error { _, err := h.VerifyConnection(ctx, "none", "a"); return err },
		"AddConnection": func() error {
			_, err := h.AddConnection(ctx, "none", NewConnection{Name: "a", Kind: adapter.KindCalendar, Provider: "sandbox"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if f := wantFault(t, act(), fault.NotFound, ReasonTenantNotFound); f.Detail != `There is no tenant "none".` {
				t.Errorf("detail %q", f.Detail)
			}
		})
	}
	_, err := h.UpdateConnection(ctx, "acme", "none", ConnectionChange{})
	wantFault(t, err, fault.NotFound, ReasonConnectionNotFound)
	_, err = h.VerifyConnection(ctx, "acme", "none")
	wantFault(t, err, fault.NotFound, ReasonConnectionNotFound)
	wantFault(t, h.RemoveConnection(ctx, "acme", "none"), fault.NotFound, ReasonConnectionNotFound)
	wantFault(t, h.RevokeKey(ctx, "none"), fault.NotFound, ReasonKeyNotFound)
}

func TestNames(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	for _, name := range []string{"a", "0", "a-b", "a1-", strings.Repeat("a", 63)} {
		h.tenant(name)
	}
	const rule = "must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or digit."
	for _, name := range []string{"", "-a", "A", "a_b", "a b", "a/b", "ä", "a\n", strings.Repeat("a", 64)} {
		_, err := h.CreateTenant(t.Context(), name, Settings{})
		wantFields(t, err, "name "+rule)
		_, err = h.AddConnection(t.Context(), "a", NewConnection{Name: name, Kind: adapter.KindCalendar, Provider: "sandbox"})
		wantFields(t, err, "name "+rule)
	}
}

func TestUnusableTenantSettings(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	negative := Duration(-1)
	_, err := h.CreateTenant(t.Context(), "acme", Settings{Timezone: "Local", DedupeWindow: &negative, TicketDedupeWindow: &negative,
		StatusWords: map[string]string{"": "New"}, PriorityWords: map[string]string{"urgent": " "}})
	wantFields(t, err,
		"timezone must be an IANA time zone name such as America/New_York.",
		"dedupe_window must not be negative.",
		"ticket_dedupe_window must not be negative.",
		"status_words must map words to labels; neither may be empty.",
		"priority_words must map words to labels; neither may be empty.")
	for _, zone := range []string{"EST5", "+02:00", "Europe/Nowhere", "../etc/passwd", "local"} {
		if isZone(zone) {
			t.Errorf("%s passes for a time zone", zone)
		}
	}
}

func TestKeysAreShownOnceAndListed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		h.tenant("other")
		h.connection("acme", "a", adapter.KindCalendar, "dav")
		h.connection("acme", "s", adapter.KindCalendar, "sandbox")
		live, first := h.key("acme", NewKey{Label: "agent", Scopes: []Scope{ScopeNumbersWrite, ScopeNumbersWrite}, Connections: []string{"a", "a"}})
		h.clock.advance(time.Second)
		test, second := h.key("acme", NewKey{Test: true, Connections: []string{"s"}})
		h.key("other", NewKey{})
		if !strings.HasPrefix(live, "fd_live_") || !strings.HasPrefix(test, "fd_test_") || first.Prefix != live[:12] {
			t.Errorf("keys %s %s, prefix %s", live, test, first.Prefix)
		}
		want := []Key{
			{ID: first.ID, TenantID: first.TenantID, Prefix: live[:12], Label: "agent",
				Scopes: []Scope{ScopeNumbersWrite}, Connections: []string{"a"}, CreatedAt: first.CreatedAt},
			{ID: second.ID, TenantID: first.TenantID, Prefix: test[:12], Scopes: Scopes(), Connections: []string{"s"}, Test: true, CreatedAt: second.CreatedAt},
		}
		got, err := h.Keys(t.Context(), "acme")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		revoked := h.clock.now()
		if err := h.RevokeKey(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		if got, err = h.Keys(t.Context(), "acme"); err != nil || !got[0].RevokedAt.Equal(revoked) {
			t.Errorf("after revoking %+v, %v", got, err)
		}
		if c := h.caller(test); !c.Test {
			t.Errorf("the test key's caller %+v", c)
		}
	})
}

func TestUnusableKeys(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	h.connection("acme", "a", adapter.KindCalendar, "dav")
	h.connection("acme", "b", adapter.KindCalendar, "dav")
	_, _, err := h.CreateKey(t.Context(), "acme", NewKey{Test: true, Label: strings.Repeat("x", 201),
		Scopes: []Scope{ScopeCalendarRead, "calendar"}, Connections: []string{"none", "a"}})
	wantFields(t, err,
		`connections[0] is not a connection of the tenant "acme": it has a, b.`,
		"connections[1] is not a sandbox, and a test key reaches sandbox connections only.",
		"scopes[1] must be one of calendar:read, calendar:write, tickets:read, tickets:write, numbers:read, numbers:write.",
		"label must be at most 200 bytes.")
	_, _, err = h.CreateKey(t.Context(), "acme", NewKey{Connections: []string{"a", "b"}})
	wantFields(t, err, `connections[1] is a second calendar connection beside "a"; a key is bound to one of a kind.`)
}

func TestUnusableConnections(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	for _, rule := range []struct {
		name string
		n    NewConnection
		want []string
	}{
		{"unknown kind", NewConnection{Name: "a", Kind: "fax", Provider: "dav"}, []string{"kind must be one of calendar, crm, telephony."}},
		{"unknown provider", NewConnection{Name: "a", Kind: adapter.KindCalendar, Provider: "google"},
			[]string{"provider must be one of dav, sandbox for a calendar connection."}},
		{"provider of another kind", NewConnection{Name: "a", Kind: adapter.KindTelephony, Provider: "dav"},
			[]string{"provider must be one of sandbox for a telephony connection."}},
		{"everything at once", NewConnection{Name: "A", Kind: adapter.KindCRM, Provider: "bearer",
			Settings: map[string]any{"base_url": "acme", "colour": "red"}, Credentials: map[string]string{"pin": canary}}, []string{
			"name must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or digit.",
			"settings.base_url must be an absolute http or https URL without a user name.",
			"credentials.token is required: Token.",
			"settings.colour is unknown; known are settings.base_url, credentials.token.",
			"credentials.pin is unknown; known are settings.base_url, credentials.token."}},
		{"a token with a line break", NewConnection{Name: "a", Kind: adapter.KindCRM, Provider: "header",
			Settings: map[string]any{"base_url": "https://acme.example"}, Credentials: map[string]string{"token": canary + "\n"}}, []string{
			"credentials.token must be one line without control characters; check how it was copied."}},
		{"a user name with a colon", NewConnection{Name: "a", Kind: adapter.KindCalendar, Provider: "dav",
			Credentials: map[string]string{"username": "a:b", "password": "c:d"}}, []string{
			"credentials.username must not contain a colon."}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := h.AddConnection(t.Context(), "acme", rule.n)
			wantFields(t, err, rule.want...)
		})
	}
	if all, err := h.Connections(t.Context(), "acme"); err != nil || len(all) != 0 {
		t.Errorf("connections %v, %v", all, err)
	}
}

func TestCredentialsAreStoredSealed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "a", adapter.KindCalendar, "dav")
		row := h.row(c)
		if strings.Contains(string(row.Credentials)+string(row.Settings), canary) || len(row.Credentials) == 0 {
			t.Errorf("stored %q %q", row.Settings, row.Credentials)
		}
		if shown := fmt.Sprintf("%+v", c); strings.Contains(shown, canary) {
			t.Errorf("shown %s", shown)
		}
		if none := h.row(h.connection("acme", "s", adapter.KindCalendar, "sandbox")); len(none.Credentials) == 0 {
			t.Error("a row without credentials is not sealed, so that its tokens could be sent elsewhere")
		}
	})
}

func TestConnectionIsChangedInPlace(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		was := h.connection("acme", "a", adapter.KindCalendar, "dav")
		h.connection("acme", "b", adapter.KindCalendar, "sandbox")
		if err := h.MarkReconnect(t.Context(), was, "401"); err != nil {
			t.Fatal(err)
		}
		changed, err := h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Settings: map[string]any{"room": "2"}})
		if err != nil {
			t.Fatal(err)
		}
		if changed.ID != was.ID || changed.Status != StatusReconnectRequired || !reflect.DeepEqual(changed.Settings, map[string]any{"room": "2"}) {
			t.Errorf("after new settings %+v", changed)
		}
		plain, err := h.openConnection(h.row(was))
		if err != nil || plain["password"] != canary {
			t.Errorf("the credentials did not stay: %v", err)
		}
		changed, err = h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Credentials: map[string]string{"username": "desk", "password": "new"}})
		if err != nil {
			t.Fatal(err)
		}
		if changed.ID != was.ID || changed.Status != StatusOK || changed.Settings["room"] != "2" {
			t.Errorf("after new credentials %+v", changed)
		}
		if b, err := h.UpdateConnection(t.Context(), "acme", "b", ConnectionChange{Default: true}); err != nil || !b.IsDefault {
			t.Errorf("the new default %+v, %v", b, err)
		}
		all, err := h.Connections(t.Context(), "acme")
		if err != nil || all[0].Name != "a" || all[0].IsDefault || !all[1].IsDefault {
			t.Errorf("connections %+v, %v", all, err)
		}
		_, err = h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Settings: map[string]any{"size": "many"}})
		wantFields(t, err, "settings.size must be a whole number.")
		_, err = h.AddConnection(t.Context(), "acme", NewConnection{Name: "a", Kind: adapter.KindTelephony, Provider: "sandbox"})
		wantFault(t, err, fault.Conflict, ReasonNameTaken)
	})
}

func TestConnectionThatKeysAreBoundToStays(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	h.connection("acme", "a", adapter.KindCalendar, "dav")
	h.connection("acme", "b", adapter.KindCalendar, "dav")
	_, made := h.key("acme", NewKey{Connections: []string{"a"}})
	f := wantFault(t, h.RemoveConnection(t.Context(), "acme", "a"), fault.Conflict, ReasonConnectionInUse)
	if !strings.Contains(f.Detail, made.ID) || !strings.Contains(f.Detail, made.Prefix) {
		t.Errorf("the keys are not named: %s", f.Detail)
	}
	if err := h.RevokeKey(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if err := h.RemoveConnection(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	all, err := h.Connections(t.Context(), "acme")
	if err != nil || len(all) != 1 || !all[0].IsDefault {
		t.Errorf("what is left is not the default: %+v, %v", all, err)
	}
	keys, err := h.Keys(t.Context(), "acme")
	if err != nil || !slices.Equal(keys[0].Connections, []string{"(removed)"}) {
		t.Errorf("keys %+v, %v", keys, err)
	}
}

func TestDurations(t *testing.T) {
	for _, rule := range []struct {
		text string
		want Duration
		back string
	}{
		{`"10m"`, Duration(10 * time.Minute), `"10m"`},
		{`"90m"`, Duration(90 * time.Minute), `"1h30m"`},
		{`"2h"`, Duration(2 * time.Hour), `"2h"`},
		{`"72h0m5s"`, Duration(72*time.Hour + 5*time.Second), `"72h0m5s"`},
		{`"10s"`, Duration(10 * time.Second), `"10s"`},
		{`"20m"`, Duration(20 * time.Minute), `"20m"`},
		{`"1500ms"`, Duration(1500 * time.Millisecond), `"1.5s"`},
		{`"0"`, 0, `"0s"`},
		{`0`, 0, `"0s"`},
	} {
		for name, read := range map[string]func([]byte, any) error{"JSON": json.Unmarshal, "YAML": yaml.Unmarshal} {
			var d Duration
			if err := read([]byte(rule.text), &d); err != nil || d != rule.want {
				t.Errorf("%s %s: got %s, %v", name, rule.text, d, err)
			}
		}
		if raw, err := json.Marshal(rule.want); err != nil || string(raw) != rule.back {
			t.Errorf("%s is written as %s, %v", rule.text, raw, err)
		}
	}
	for _, text := range []string{`"-1m"`, `10`, `"ten"`, `true`, `""`, `[]`} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s passes as %s", text, d)
		}
	}
}
