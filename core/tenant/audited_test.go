package tenant

import (
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// withAudit has changes recorded.
func withAudit(o *Options) {
	o.Audit = audit.New(audit.Options{Store: o.Store, Vault: o.Vault, Now: o.Now, Log: slog.New(slog.DiscardHandler)})
}

// recorded returns what the audit says that is new: "actor action tenant subject [names]" of each row, and of
// all the whole.
func (h *harness) recorded(seen map[string]bool) (said []string, all string) {
	h.t.Helper()
	rows, err := h.store.AuditRows(h.t.Context(), store.AuditFilter{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range rows {
		if seen[r.UID] {
			continue
		}
		seen[r.UID] = true
		if r.Outcome != audit.Done {
			h.t.Errorf("the outcome is %s", r.Outcome)
		}
		if (r.ConnectionID != "") != strings.Contains(r.Action, "connect") {
			h.t.Errorf("%s names the connection %q", r.Action, r.ConnectionID)
		}
		subject := r.Subject
		if at := strings.IndexByte(subject, '_'); at > 0 { // an id, which is random
			subject = subject[:at]
		}
		said = append(said, strings.TrimSpace(fmt.Sprint(r.Actor, " ", r.Action, " ", r.Tenant, " ", subject, " ", r.Changed)))
	}
	return said, fmt.Sprintf("%+v", rows)
}

// TestEveryChangeIsInTheAuditOnce goes through all that an administrator can change, and through what is
// refused.
func TestEveryChangeIsInTheAuditOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url, withAudit)
		ctx := audit.By(t.Context(), audit.Operator("test"))
		window := Duration(time.Minute)
		dav := NewConnection{
			Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
			Settings:    map[string]any{"url": "https://cal.acme.example/" + canary, "room": canary},
			Credentials: map[string]string{"username": canary + "@example.com", "password": canary},
		}
		var keyText, keyID string
		seen := map[string]bool{}
		for _, step := range []struct {
			name string
			do   func() error
			want []string // nothing where nothing is changed
		}{
			{"make a tenant", func() error {
				_, err := h.CreateTenant(ctx, "acme", Settings{Timezone: "Europe/Paris", DedupeWindow: &window, StatusWords: map[string]string{canary: canary}})
				return err
			}, []string{"operator:test create-tenant acme tenant [dedupe_window status_words timezone]"}},
			{"make it again", func() error {
				_, err := h.CreateTenant(ctx, "acme", Settings{})
				return refusedAs(err, fault.Conflict)
			}, nil},
			{"change a tenant", func() error {
				_, err := h.UpdateTenant(ctx, "acme", Settings{Timezone: "UTC", DedupeWindow: &window})
				return err
			}, []string{"operator:test update-tenant acme tenant [status_words timezone]"}},
			{"make a connection", func() error {
				_, err := h.AddConnection(ctx, "acme", dav)
				return err
			}, []string{"operator:test add-connection acme desk [settings.room settings.url credentials.password credentials.username]"}},
			{"make one that does not fit", func() error {
				_, err := h.AddConnection(ctx, "acme", NewConnection{Name: "x", Kind: adapter.KindCalendar, Provider: "nobody"})
				return refusedAs(err, fault.Invalid)
			}, nil},
			{"change a connection", func() error {
				_, err := h.UpdateConnection(ctx, "acme", "desk", ConnectionChange{Settings: map[string]any{"url": "https://cal.acme.example/" + canary, "size": 2}})
				return err
			}, []string{"operator:test update-connection acme desk [settings.room settings.size]"}},
			{"replace credentials", func() error {
				_, err := h.UpdateConnection(ctx, "acme", "desk", ConnectionChange{Credentials: map[string]string{"username": canary, "password": canary + "2"}})
				return err
			}, []string{"operator:test update-connection acme desk [credentials.password credentials.username]"}},
			{"make a second one the default", func() error {
				_, err := h.AddConnection(ctx, "acme", NewConnection{Name: "box", Kind: adapter.KindCalendar, Provider: "sandbox", Default: true})
				return err
			}, []string{"operator:test add-connection acme box [default]"}},
			{"learn that one is refused, and that it works", func() error {
				all, err := h.Connections(ctx, "acme")
				if err != nil {
					return err
				}
				if err := h.MarkReconnect(ctx, all[0], "refused"); err != nil {
					return err
				}
				return h.MarkVerified(ctx, all[1], canary+"@example.com")
			}, nil},
			{"make a key", func() (err error) {
				var k Key
				keyText, k, err = h.CreateKey(ctx, "acme", NewKey{Label: canary, Scopes: []Scope{ScopeTicketsRead, ScopeCalendarRead}})
				keyID = k.ID
				return err
			}, []string{"operator:test create-key acme key [calendar:read tickets:read]"}},
			{"use a key", func() error {
				_, err := h.Authenticate(ctx, keyText)
				return err
			}, nil},
			{"revoke a key", func() error { return h.RevokeKey(ctx, keyID) }, []string{"operator:test revoke-key acme key []"}},
			{"revoke it again", func() error { return h.RevokeKey(ctx, keyID) }, nil},
			{"revoke one that is not there", func() error { return refusedAs(h.RevokeKey(ctx, "key_none"), fault.NotFound) }, nil},
			{"seal everything again", func() error {
				if _, err := h.vault.Rotate(); err != nil {
					return err
				}
				_, err := h.Reseal(ctx)
				return err
			}, nil}, // the gateway records the rotation
			{"remove a connection", func() error { return h.RemoveConnection(ctx, "acme", "box") }, []string{"operator:test remove-connection acme box []"}},
			{"see what apply would do", func() error {
				_, err := h.Apply(ctx, Desired{Tenants: []DesiredTenant{{Name: "bolt"}}}, ApplyOptions{DryRun: true, Prune: true})
				return err
			}, nil},
			{"apply", func() error {
				_, err := h.Apply(ctx, Desired{Tenants: []DesiredTenant{{Name: "bolt", Settings: Settings{RejectPast: true}, Connections: []NewConnection{dav}}}}, ApplyOptions{Prune: true})
				return err
			}, []string{
				"operator:test create-tenant bolt tenant [reject_past]",
				"operator:test add-connection bolt desk [settings.room settings.url credentials.password credentials.username]",
				"operator:test delete-tenant acme tenant []",
			}},
			{"apply again", func() error {
				_, err := h.Apply(ctx, Desired{Tenants: []DesiredTenant{{Name: "bolt", Settings: Settings{RejectPast: true}, Connections: []NewConnection{dav}}}}, ApplyOptions{Prune: true})
				return err
			}, nil},
			{"delete a tenant", func() error { return h.DeleteTenant(ctx, "bolt") }, []string{"operator:test delete-tenant bolt tenant []"}},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			got, all := h.recorded(seen)
			slices.Sort(got) // of one moment, they come in any order
			want := slices.Sorted(slices.Values(step.want))
			if !slices.Equal(got, want) {
				t.Errorf("%s is recorded as\n%s\nwant\n%s", step.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, secret := range []string{canary, keyText, "cal.acme.example", "Europe/Paris"} {
				if secret != "" && strings.Contains(all, secret) {
					t.Errorf("%s: the audit holds %q: %s", step.name, secret, all)
				}
			}
			h.clock.advance(time.Millisecond)
		}
	})
}

// refusedAs returns nil for the refusal that is expected.
func refusedAs(err error, code fault.Code) error {
	if fault.From(err) != nil && fault.From(err).Code == code {
		return nil
	}
	return fmt.Errorf("want %s, got %w", code, err)
}

func TestAConsentIsInTheAudit(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url, withAudit)
		seen := map[string]bool{}
		h.recorded(seen)
		step := func(name string, do func() string, want ...string) {
			t.Helper()
			token := do()
			got, all := h.recorded(seen)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s is recorded as\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if strings.Contains(all, token) || strings.Contains(all, "desk@acme.example") || strings.Contains(all, "Front desk") {
				t.Errorf("%s: the audit holds the link, the account or a setting: %s", name, all)
			}
			h.clock.advance(time.Millisecond)
		}
		var first, second string
		withCalendar := func(n *NewLink) { n.Connection.Settings = map[string]any{"calendar_id": "Front desk"} }
		step("a link", func() string { first = h.link(withCalendar); return first }, "gateway create-connect-link acme front-office [settings.calendar_id]")
		step("a customer who declines", func() string {
			if _, err := h.FinishConsent(t.Context(), h.answered(first, "deny")); err == nil {
				t.Error("it is finished")
			}
			return first
		})
		step("a customer who agrees", func() string { h.connect(first); return first },
			"consent add-connection acme front-office [settings.calendar_id]", "consent connect-account acme front-office []")
		step("a link to reconnect", func() string { second = h.link(); return second }, "gateway create-connect-link acme front-office []")
		step("a customer who reconnects", func() string { h.connect(second); return second },
			"consent update-connection acme front-office []", "consent connect-account acme front-office []")
	})
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url, withAudit)
		h.tenant("acme")
		h.connection("acme", "desk", adapter.KindCalendar, "sandbox")
		path, isFile := strings.CutPrefix(url, "sqlite:")
		driver := map[bool]string{true: "sqlite", false: "pgx"}[isFile]
		db, err := sql.Open(driver, path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec("ALTER TABLE audit RENAME TO audit_away"); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func() error{
			"make a tenant":       func() error { _, err := h.CreateTenant(t.Context(), "bolt", Settings{}); return err },
			"delete a tenant":     func() error { return h.DeleteTenant(t.Context(), "acme") },
			"make a key":          func() error { _, _, err := h.CreateKey(t.Context(), "acme", NewKey{}); return err },
			"remove a connection": func() error { return h.RemoveConnection(t.Context(), "acme", "desk") },
		} {
			if change() == nil {
				t.Errorf("%s: it is done", name)
			}
		}
		if _, err := db.Exec("ALTER TABLE audit_away RENAME TO audit"); err != nil {
			t.Fatal(err)
		}
		tenants, err := h.Tenants(t.Context())
		if err != nil || len(tenants) != 1 {
			t.Errorf("tenants %+v, %v", tenants, err)
		}
		if keys, err := h.Keys(t.Context(), "acme"); err != nil || len(keys) != 0 {
			t.Errorf("keys %+v, %v", keys, err)
		}
		if all, err := h.Connections(t.Context(), "acme"); err != nil || len(all) != 1 {
			t.Errorf("connections %+v, %v", all, err)
		}
	})
}
