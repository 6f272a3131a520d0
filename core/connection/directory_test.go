package connection_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
)

func TestUnusableConnections(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	for _, rule := range []struct {
		name string
		n    connection.Spec
		want []string
	}{
		{"unknown kind", connection.Spec{Name: "a", Kind: "fax", Provider: "dav"},
			[]string{"kind must be one of calendar, crm, telephony."}},
		{"unknown provider", connection.Spec{Name: "a", Kind: adapter.KindCalendar, Provider: "google"},
			[]string{"provider must be one of dav, sandbox for a calendar connection."}},
		{"provider of another kind", connection.Spec{Name: "a", Kind: adapter.KindTelephony, Provider: "dav"},
			[]string{"provider must be one of sandbox for a telephony connection."}},
		{"everything at once", connection.Spec{Name: "A", Kind: adapter.KindCRM, Provider: "bearer",
			Settings:    map[string]any{"base_url": "acme", "colour": "red"},
			Credentials: map[string]string{"pin": tenanttest.Canary}}, []string{
			"name must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or digit.",
			"settings.base_url must be an absolute http or https URL without a user name.",
			"credentials.token is required: Token.",
			"settings.colour is unknown; known are settings.base_url, credentials.token.",
			"credentials.pin is unknown; known are settings.base_url, credentials.token."}},
		{"a token with a line break", connection.Spec{Name: "a", Kind: adapter.KindCRM, Provider: "header",
			Settings:    map[string]any{"base_url": "https://acme.example"},
			Credentials: map[string]string{"token": tenanttest.Canary + "\n"}}, []string{
			"credentials.token must be one line without control characters; check how it was copied."}},
		{"a user name with a colon", connection.Spec{Name: "a", Kind: adapter.KindCalendar, Provider: "dav",
			Credentials: map[string]string{"username": "a:b", "password": "c:d"}}, []string{
			"credentials.username must not contain a colon."}},
	} {
		t.Run(rule.name, func(t *testing.T) {
			_, err := h.Connections.Add(t.Context(), "acme", rule.n)
			tenanttest.WantFields(t, err, rule.want...)
		})
	}
	if all, err := h.Connections.List(t.Context(), "acme"); err != nil || len(all) != 0 {
		t.Errorf("connections %v, %v", all, err)
	}
}

func TestCredentialsAreStoredSealed(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		row := h.Row(c)
		if strings.Contains(string(row.Credentials)+string(row.Settings), tenanttest.Canary) ||
			len(row.Credentials) == 0 {
			t.Errorf("stored %q %q", row.Settings, row.Credentials)
		}
		if shown := fmt.Sprintf("%+v", c); strings.Contains(shown, tenanttest.Canary) {
			t.Errorf("shown %s", shown)
		}
		if none := h.Row(h.Connection("acme", "s", adapter.KindCalendar, "sandbox")); len(none.Credentials) == 0 {
			t.Error("a row without credentials is not sealed, so that its tokens could be sent elsewhere")
		}
	})
}

func TestConnectionIsChangedInPlace(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		was := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		h.Connection("acme", "b", adapter.KindCalendar, "sandbox")
		if err := h.Connections.MarkReconnect(t.Context(), was, "401"); err != nil {
			t.Fatal(err)
		}
		changed, err := h.Connections.Update(t.Context(), "acme", "a", connection.Change{
			Settings: map[string]any{"room": "2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if changed.ID != was.ID || changed.Status != connection.StatusReconnectRequired ||
			!reflect.DeepEqual(changed.Settings, map[string]any{"room": "2"}) {
			t.Errorf("after new settings %+v", changed)
		}
		plain, err := h.Sealer.OpenConnection(h.Row(was))
		if err != nil || plain["password"] != tenanttest.Canary {
			t.Errorf("the credentials did not stay: %v", err)
		}
		changed, err = h.Connections.Update(t.Context(), "acme", "a", connection.Change{
			Credentials: map[string]string{"username": "desk", "password": "new"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if changed.ID != was.ID || changed.Status != connection.StatusOK || changed.Settings["room"] != "2" {
			t.Errorf("after new credentials %+v", changed)
		}
		if b, err := h.Connections.Update(t.Context(), "acme", "b", connection.Change{Default: true}); err != nil ||
			!b.IsDefault {
			t.Errorf("the new default %+v, %v", b, err)
		}
		all, err := h.Connections.List(t.Context(), "acme")
		if err != nil || all[0].Name != "a" || all[0].IsDefault || !all[1].IsDefault {
			t.Errorf("connections %+v, %v", all, err)
		}
		_, err = h.Connections.Update(t.Context(), "acme", "a", connection.Change{
			Settings: map[string]any{"size": "many"},
		})
		tenanttest.WantFields(t, err, "settings.size must be a whole number.")
		_, err = h.Connections.Add(t.Context(), "acme", connection.Spec{
			Name: "a", Kind: adapter.KindTelephony, Provider: "sandbox",
		})
		tenanttest.WantFault(t, err, fault.Conflict, tenant.ReasonNameTaken)
	})
}

func TestWorkingConnectionsAreTheRealOnesOfAKind(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		var want []string
		for _, name := range []string{"acme", "beta"} {
			h.Tenant(name)
			want = append(want, h.Connection(name, "works", adapter.KindCalendar, "dav").ID)
			broken := h.Connection(name, "broken", adapter.KindCalendar, "dav")
			if err := h.Connections.MarkReconnect(t.Context(), broken, "401"); err != nil {
				t.Fatal(err)
			}
			h.Connection(name, "nobodys", adapter.KindCalendar, "sandbox")
			h.Connection(name, "number", adapter.KindTelephony, "sandbox")
		}
		all, err := h.Connections.Working(t.Context(), adapter.KindCalendar)
		var got []string
		for _, c := range all {
			got = append(got, c.ID)
			if owner, err := tenant.ByID(t.Context(), h.Store, c.TenantID); err != nil || c.Provider != "dav" {
				t.Errorf("%+v of the tenant %+v, %v", c, owner, err)
			}
		}
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, want %v, %v", got, want, err)
		}
	})
}

func TestConnectionThatKeysAreBoundToStays(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	h.Connection("acme", "a", adapter.KindCalendar, "dav")
	h.Connection("acme", "b", adapter.KindCalendar, "dav")
	_, made := h.Key("acme", apikey.Spec{Connections: []string{"a"}})
	f := tenanttest.WantFault(t, h.Connections.Remove(t.Context(), "acme", "a"), fault.Conflict,
		fault.ReasonConnectionInUse)
	if !strings.Contains(f.Detail, made.ID) || !strings.Contains(f.Detail, made.Prefix) {
		t.Errorf("the keys are not named: %s", f.Detail)
	}
	agent, err := h.Keys.CreateAgent(t.Context(), "acme", apikey.AgentSpec{
		Platform: "retell", Spec: apikey.Spec{Label: "reception", Connections: []string{"a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Keys.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	f = tenanttest.WantFault(t, h.Connections.Remove(t.Context(), "acme", "a"), fault.Conflict,
		fault.ReasonConnectionInUse)
	if want := `The connection "a" is what these voice agents are bound to: reception (` + agent.ID +
		`). Remove them, or give them other connections, first.`; f.Detail != want {
		t.Errorf("got %s, want %s", f.Detail, want)
	}
	if err := h.Keys.RemoveAgent(t.Context(), "acme", agent.ID); err != nil {
		t.Fatal(err)
	}
	if err := h.Connections.Remove(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	all, err := h.Connections.List(t.Context(), "acme")
	if err != nil || len(all) != 1 || !all[0].IsDefault {
		t.Errorf("what is left is not the default: %+v, %v", all, err)
	}
	keys, err := h.Keys.List(t.Context(), "acme")
	if err != nil || !slices.Equal(keys[0].Connections, []string{"(removed)"}) {
		t.Errorf("keys %+v, %v", keys, err)
	}
}
