package tenant_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTenantsAreMadeListedChangedAndDeleted(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		window := tenant.Duration(30 * time.Minute)
		settings := tenant.Settings{
			Timezone: "Europe/Berlin", PreventDoubleBooking: true, DedupeWindow: &window,
			StatusWords: map[string]string{"fresh": "New"},
		}
		h.Tenant("zeta")
		made, err := h.Tenants.Create(t.Context(), "acme", settings)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tenant.ByName(t.Context(), h.Store, "acme")
		if err != nil || !reflect.DeepEqual(got, made) || !reflect.DeepEqual(got.Settings, settings) {
			t.Errorf("got  %+v, %v\nmade %+v", got, err, made)
		}
		_, err = h.Tenants.Create(t.Context(), "acme", tenant.Settings{})
		tenanttest.WantFault(t, err, fault.Conflict, tenant.ReasonNameTaken)
		all, err := h.Tenants.List(t.Context())
		if err != nil || len(all) != 2 || all[0].Name != "acme" || all[1].Name != "zeta" {
			t.Errorf("tenants %v, %v", all, err)
		}
		text, _ := h.Key("acme", apikey.Spec{})
		h.Caller(text)
		if _, err := h.Tenants.Update(t.Context(), "acme", tenant.Settings{RejectPast: true}); err != nil {
			t.Fatal(err)
		}
		if c := h.Caller(text); !reflect.DeepEqual(c.Tenant.Settings, tenant.Settings{RejectPast: true}) {
			t.Errorf("the caller's tenant has %+v", c.Tenant.Settings)
		}
		c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		if err := h.Tenants.Delete(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		_, err = h.Callers.Authenticate(t.Context(), text)
		tenanttest.WantFault(t, err, fault.Unauthenticated, fault.ReasonInvalidAPIKey)
		if _, err := h.Store.Connection(t.Context(), c.TenantID, c.ID); !errors.Is(err, fault.NotFound) {
			t.Errorf("its connection: %v", err)
		}
	})
}

func TestOfChangesOfATenantAtOnceNoneIsLost(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url, tenanttest.Audited)
		h.Tenant("acme")
		given := func(settings map[string]any) func(tenant.Settings) (tenant.Settings, []fault.Field) {
			return func(now tenant.Settings) (tenant.Settings, []fault.Field) { return now.Merge("", settings) }
		}
		second := given(map[string]any{"timezone": "Europe/Berlin"})
		calls := 0
		changed, err := h.Tenants.Change(t.Context(), "acme",
			func(now tenant.Settings) (tenant.Settings, []fault.Field) {
				if calls++; calls == 1 { // another change is made between the reading and the writing
					if _, err := h.Tenants.Change(t.Context(), "acme", second); err != nil {
						t.Error(err)
					}
				}
				return given(map[string]any{"reject_past": true})(now)
			})
		if err != nil {
			t.Fatal(err)
		}
		want := tenant.Settings{Timezone: "Europe/Berlin", RejectPast: true}
		got, err := tenant.ByName(t.Context(), h.Store, "acme")
		if err != nil || !reflect.DeepEqual(got.Settings, want) || !reflect.DeepEqual(changed, got) {
			t.Errorf("got %+v, %v\nanswered %+v", got, err, changed)
		}
		rows, _ := h.NewAuditRows(map[string]bool{})
		slices.Sort(rows)
		if !slices.Equal(rows, []string{
			"gateway create-tenant acme tenant []", "gateway update-tenant acme tenant [reject_past]",
			"gateway update-tenant acme tenant [timezone]",
		}) {
			t.Errorf("the audit has\n%s", strings.Join(rows, "\n"))
		}
		never := 0
		_, err = h.Tenants.Change(t.Context(), "acme", // each time another is first
			func(now tenant.Settings) (tenant.Settings, []fault.Field) {
				never++
				if _, err := h.Tenants.Change(t.Context(), "acme", given(map[string]any{
					"max_purchases_per_day": never,
				})); err != nil {
					t.Error(err)
				}
				return given(map[string]any{"reject_past": false})(now)
			})
		tenanttest.WantFault(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
	})
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	ctx := t.Context()
	for name, act := range map[string]func() error{
		"TenantByName":     func() error { _, err := tenant.ByName(ctx, h.Store, "none"); return err },
		"UpdateTenant":     func() error { _, err := h.Tenants.Update(ctx, "none", tenant.Settings{}); return err },
		"DeleteTenant":     func() error { return h.Tenants.Delete(ctx, "none") },
		"CreateKey":        func() error { _, _, err := h.Keys.Create(ctx, "none", apikey.Spec{}); return err },
		"Keys":             func() error { _, err := h.Keys.List(ctx, "none"); return err },
		"Connections":      func() error { _, err := h.Connections.List(ctx, "none"); return err },
		"RemoveConnection": func() error { return h.Connections.Remove(ctx, "none", "a") },
		"VerifyConnection": func() error { _, err := h.Connections.Verify(ctx, "none", "a"); return err },
		"AddConnection": func() error {
			_, err := h.Connections.Add(ctx, "none", connection.Spec{
				Name: "a", Kind: adapter.KindCalendar, Provider: "sandbox",
			})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := tenanttest.WantFault(t, act(), fault.NotFound, tenant.ReasonNotFound)
			if f.Detail != `There is no tenant "none".` {
				t.Errorf("detail %q", f.Detail)
			}
		})
	}
	_, err := h.Connections.Update(ctx, "acme", "none", connection.Change{})
	tenanttest.WantFault(t, err, fault.NotFound, connection.ReasonNotFound)
	_, err = h.Connections.Verify(ctx, "acme", "none")
	tenanttest.WantFault(t, err, fault.NotFound, connection.ReasonNotFound)
	tenanttest.WantFault(t, h.Connections.Remove(ctx, "acme", "none"), fault.NotFound, connection.ReasonNotFound)
	tenanttest.WantFault(t, h.Keys.Revoke(ctx, "none"), fault.NotFound, apikey.ReasonNotFound)
}

func TestNames(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	for _, name := range []string{"a", "0", "a-b", "a1-", strings.Repeat("a", 63)} {
		h.Tenant(name)
	}
	const rule = "must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or digit."
	for _, name := range []string{"", "-a", "A", "a_b", "a b", "a/b", "ä", "a\n", strings.Repeat("a", 64)} {
		_, err := h.Tenants.Create(t.Context(), name, tenant.Settings{})
		tenanttest.WantFields(t, err, "name "+rule)
		_, err = h.Connections.Add(t.Context(), "a", connection.Spec{
			Name: name, Kind: adapter.KindCalendar, Provider: "sandbox",
		})
		tenanttest.WantFields(t, err, "name "+rule)
	}
}

func TestUnusableTenantSettings(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	negative, long := tenant.Duration(-1), tenant.Duration(48*time.Hour)
	_, err := h.Tenants.Create(t.Context(), "acme", tenant.Settings{
		Timezone: "Local", DedupeWindow: &negative, TicketDedupeWindow: &long,
		MaxPurchasesPerDay: new(10_001), MaxPhoneNumbers: new(5_001),
		StatusWords: map[string]string{"": "New"}, PriorityWords: map[string]string{"urgent": " "},
	})
	tenanttest.WantFields(t, err,
		"timezone must be an IANA time zone name such as America/New_York.",
		"dedupe_window must be from 0 to 24h.",
		"ticket_dedupe_window must be from 0 to 24h.",
		"max_purchases_per_day must be from 0 to 10000.",
		"max_phone_numbers must be from 0 to 5000.",
		"status_words must map words to labels; neither may be empty.",
		"priority_words must map words to labels; neither may be empty.")
	for _, zone := range []string{"EST5", "+02:00", "Europe/Nowhere", "../etc/passwd", "local"} {
		_, err := h.Tenants.Create(t.Context(), "acme", tenant.Settings{Timezone: zone})
		tenanttest.WantFields(t, err, "timezone must be an IANA time zone name such as America/New_York.")
	}
}
