package tenant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
)

// TestEveryChangeIsInTheAuditOnce makes every change that an administrator can make, and tries changes that
// are refused.
func TestEveryChangeIsInTheAuditOnce(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url, tenanttest.Audited)
		ctx := audit.By(t.Context(), audit.Operator("test"))
		window := tenant.Duration(time.Minute)
		dav := connection.Spec{
			Name: "desk", Kind: adapter.KindCalendar, Provider: "dav",
			Settings: map[string]any{
				"url": "https://cal.acme.example/" + tenanttest.Canary, "room": tenanttest.Canary,
			},
			Credentials: map[string]string{
				"username": tenanttest.Canary + "@example.com", "password": tenanttest.Canary,
			},
		}
		var keyText, keyID string
		seen := map[string]bool{}
		for _, step := range []struct {
			name string
			do   func() error
			want []string // empty if nothing is changed
		}{
			{"make a tenant", func() error {
				_, err := h.Tenants.Create(ctx, "acme", tenant.Settings{
					Timezone: "Europe/Paris", DedupeWindow: &window,
					StatusWords: map[string]string{tenanttest.Canary: tenanttest.Canary},
				})
				return err
			}, []string{"operator:test create-tenant acme tenant [dedupe_window status_words timezone]"}},
			{"make it again", func() error {
				_, err := h.Tenants.Create(ctx, "acme", tenant.Settings{})
				return refusedAs(err, fault.Conflict)
			}, nil},
			{"change a tenant", func() error {
				_, err := h.Tenants.Update(ctx, "acme", tenant.Settings{Timezone: "UTC", DedupeWindow: &window})
				return err
			}, []string{"operator:test update-tenant acme tenant [status_words timezone]"}},
			{"make a connection", func() error {
				_, err := h.Connections.Add(ctx, "acme", dav)
				return err
			}, []string{"operator:test add-connection acme desk " +
				"[settings.room settings.url credentials.password credentials.username]"}},
			{"make one that does not fit", func() error {
				_, err := h.Connections.Add(ctx, "acme", connection.Spec{
					Name: "x", Kind: adapter.KindCalendar, Provider: "nobody",
				})
				return refusedAs(err, fault.Invalid)
			}, nil},
			{"change a connection", func() error {
				_, err := h.Connections.Update(ctx, "acme", "desk", connection.Change{
					Settings: map[string]any{"url": "https://cal.acme.example/" + tenanttest.Canary, "size": 2},
				})
				return err
			}, []string{"operator:test update-connection acme desk [settings.room settings.size]"}},
			{"replace credentials", func() error {
				_, err := h.Connections.Update(ctx, "acme", "desk", connection.Change{
					Credentials: map[string]string{"username": tenanttest.Canary, "password": tenanttest.Canary + "2"},
				})
				return err
			}, []string{"operator:test update-connection acme desk [credentials.password credentials.username]"}},
			{"make a second one the default", func() error {
				_, err := h.Connections.Add(ctx, "acme", connection.Spec{
					Name: "box", Kind: adapter.KindCalendar, Provider: "sandbox", Default: true,
				})
				return err
			}, []string{"operator:test add-connection acme box [default]"}},
			{"learn that one is refused, and that it works", func() error {
				all, err := h.Connections.List(ctx, "acme")
				if err != nil {
					return err
				}
				if err := h.Connections.MarkReconnect(ctx, all[0], "refused"); err != nil {
					return err
				}
				return h.Connections.MarkVerified(ctx, all[1], tenanttest.Canary+"@example.com")
			}, nil},
			{"make a key", func() (err error) {
				var k apikey.Key
				keyText, k, err = h.Keys.Create(ctx, "acme", apikey.Spec{
					Label: tenanttest.Canary, Scopes: []apikey.Scope{apikey.ScopeTicketsRead, apikey.ScopeCalendarRead},
				})
				keyID = k.ID
				return err
			}, []string{"operator:test create-key acme key [calendar:read tickets:read]"}},
			{"use a key", func() error {
				_, err := h.Callers.Authenticate(ctx, keyText)
				return err
			}, nil},
			{"revoke a key", func() error { return h.Keys.Revoke(ctx, keyID) },
				[]string{"operator:test revoke-key acme key []"}},
			{"revoke it again", func() error { return h.Keys.Revoke(ctx, keyID) }, nil},
			{"revoke one that is not there",
				func() error { return refusedAs(h.Keys.Revoke(ctx, "key_none"), fault.NotFound) }, nil},
			{"seal everything again", func() error {
				if _, err := h.Vault.Rotate(); err != nil {
					return err
				}
				_, err := h.Rows.Reseal(ctx)
				return err
			}, nil}, // the gateway records the rotation
			{"remove a connection", func() error { return h.Connections.Remove(ctx, "acme", "box") },
				[]string{"operator:test remove-connection acme box []"}},
			{"see what apply would do", func() error {
				_, err := h.Applier.Apply(ctx, apply.Desired{Tenants: []apply.Tenant{{Name: "bolt"}}},
					apply.Options{DryRun: true, Prune: true})
				return err
			}, nil},
			{"apply", func() error {
				_, err := h.Applier.Apply(ctx, apply.Desired{Tenants: []apply.Tenant{{
					Name: "bolt", Settings: tenant.Settings{RejectPast: true},
					Connections: []connection.Spec{dav},
				}}}, apply.Options{Prune: true})
				return err
			}, []string{
				"operator:test create-tenant bolt tenant [reject_past]",
				"operator:test add-connection bolt desk " +
					"[settings.room settings.url credentials.password credentials.username]",
				"operator:test delete-tenant acme tenant []",
			}},
			{"apply again", func() error {
				_, err := h.Applier.Apply(ctx, apply.Desired{Tenants: []apply.Tenant{{
					Name: "bolt", Settings: tenant.Settings{RejectPast: true},
					Connections: []connection.Spec{dav},
				}}}, apply.Options{Prune: true})
				return err
			}, nil},
			{"delete a tenant", func() error { return h.Tenants.Delete(ctx, "bolt") },
				[]string{"operator:test delete-tenant bolt tenant []"}},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			got, all := h.NewAuditRows(seen)
			slices.Sort(got) // rows of the same moment come in any order
			want := slices.Sorted(slices.Values(step.want))
			if !slices.Equal(got, want) {
				t.Errorf("%s is recorded as\n%s\nwant\n%s", step.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, secret := range []string{tenanttest.Canary, keyText, "cal.acme.example", "Europe/Paris"} {
				if secret != "" && strings.Contains(all, secret) {
					t.Errorf("%s: the audit holds %q: %s", step.name, secret, all)
				}
			}
			h.Clock.Advance(time.Millisecond)
		}
	})
}

// refusedAs returns nil for the expected refusal.
func refusedAs(err error, code fault.Code) error {
	if fault.From(err) != nil && fault.From(err).Code == code {
		return nil
	}
	return fmt.Errorf("want %s, got %w", code, err)
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url, tenanttest.Audited)
		h.Tenant("acme")
		h.Connection("acme", "desk", adapter.KindCalendar, "sandbox")
		db := storetest.Database(t, url)
		if _, err := db.Exec("ALTER TABLE audit RENAME TO audit_away"); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func() error{
			"make a tenant": func() error {
				_, err := h.Tenants.Create(t.Context(), "bolt", tenant.Settings{})
				return err
			},
			"delete a tenant": func() error { return h.Tenants.Delete(t.Context(), "acme") },
			"make a key": func() error {
				_, _, err := h.Keys.Create(t.Context(), "acme", apikey.Spec{})
				return err
			},
			"remove a connection": func() error { return h.Connections.Remove(t.Context(), "acme", "desk") },
		} {
			if change() == nil {
				t.Errorf("%s: it is done", name)
			}
		}
		if _, err := db.Exec("ALTER TABLE audit_away RENAME TO audit"); err != nil {
			t.Fatal(err)
		}
		tenants, err := h.Tenants.List(t.Context())
		if err != nil || len(tenants) != 1 {
			t.Errorf("tenants %+v, %v", tenants, err)
		}
		if keys, err := h.Keys.List(t.Context(), "acme"); err != nil || len(keys) != 0 {
			t.Errorf("keys %+v, %v", keys, err)
		}
		if all, err := h.Connections.List(t.Context(), "acme"); err != nil || len(all) != 1 {
			t.Errorf("connections %+v, %v", all, err)
		}
	})
}
