package tenant

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

// desired returns what most tests apply; they change a copy.
func desired() Desired {
	return Desired{Tenants: []DesiredTenant{
		{Name: "acme", Settings: Settings{Timezone: "Europe/Berlin"}, Connections: []NewConnection{
			{Name: "front-office", Kind: adapter.KindCalendar, Provider: "dav", Default: true,
				Settings: map[string]any{"url": "https://cal.acme.example/", "size": 2.0}, Credentials: map[string]string{"username": "desk", "password": canary}},
			{Name: "rehearsal", Kind: adapter.KindCalendar, Provider: "sandbox"},
		}},
		{Name: "beta"},
	}}
}

func (h *harness) apply(want Desired, o ApplyOptions) []string {
	h.t.Helper()
	changes, err := h.Apply(h.t.Context(), want, o)
	if err != nil {
		h.t.Fatal(err)
	}
	lines := make([]string, 0, len(changes))
	for _, c := range changes {
		lines = append(lines, c.String())
		if strings.Contains(fmt.Sprintf("%+v", c), canary) {
			h.t.Errorf("a change holds a secret: %+v", c)
		}
	}
	return lines
}

func (h *harness) wantChanges(got []string, want ...string) {
	h.t.Helper()
	if !slices.Equal(got, want) {
		h.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestApplyMakesWhatIsDesiredOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		all := []string{
			`create tenant acme: timezone: "Europe/Berlin"`,
			`create connection acme/front-office: calendar; dav; default; settings.size: 2; settings.url: "https://cal.acme.example/"; with credentials`,
			`create connection acme/rehearsal: calendar; sandbox`,
			`create tenant beta`,
		}
		h.wantChanges(h.apply(desired(), ApplyOptions{DryRun: true}), all...)
		if tenants, err := h.Tenants(t.Context()); err != nil || len(tenants) != 0 {
			t.Errorf("a dry run made %v, %v", tenants, err)
		}
		h.wantChanges(h.apply(desired(), ApplyOptions{}), all...)
		h.wantChanges(h.apply(desired(), ApplyOptions{}))
		h.wantChanges(h.apply(desired(), ApplyOptions{Prune: true}))
		connections, err := h.Connections(t.Context(), "acme")
		if err != nil || len(connections) != 2 || !connections[0].IsDefault || connections[0].Name != "front-office" {
			t.Errorf("connections %+v, %v", connections, err)
		}
	})
}

func TestApplyChangesWhatIsDifferent(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.apply(desired(), ApplyOptions{})
		before, err := h.Connections(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		want := desired()
		window := Duration(0)
		want.Tenants[0].Settings = Settings{PreventDoubleBooking: true, DedupeWindow: &window}
		office, rehearsal := &want.Tenants[0].Connections[0], &want.Tenants[0].Connections[1]
		office.Default, rehearsal.Default = false, true
		office.Settings = map[string]any{"url": "https://new.acme.example/", "room": "2"}
		office.Credentials = map[string]string{"username": "desk", "password": "new " + canary}
		lines := []string{
			`update tenant acme: dedupe_window: "0s"; prevent_double_booking: true; timezone: "Europe/Berlin" removed`,
			`update connection acme/front-office: settings.room: "2"; settings.url: "https://cal.acme.example/" -> "https://new.acme.example/"; settings.size: 2 removed; credentials changed`,
			`update connection acme/rehearsal: made the default`,
		}
		h.wantChanges(h.apply(want, ApplyOptions{DryRun: true}), lines...)
		h.wantChanges(h.apply(want, ApplyOptions{}), lines...)
		h.wantChanges(h.apply(want, ApplyOptions{}))
		after, err := h.Connections(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			if after[i].ID != before[i].ID {
				t.Errorf("%s has another id", after[i].Name)
			}
		}
		plain, err := h.openConnection(h.row(after[0]))
		if err != nil || !maps.Equal(plain, office.Credentials) {
			t.Errorf("the credentials did not change: %v", err)
		}
	})
}

func TestApplyLeavesCredentialsThatAreNotGiven(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.apply(desired(), ApplyOptions{})
	want := desired()
	want.Tenants[0].Connections[0].Credentials = nil
	h.wantChanges(h.apply(want, ApplyOptions{}))
	want.Tenants[0].Connections[0].Credentials = map[string]string{}
	h.wantChanges(h.apply(want, ApplyOptions{}), "update connection acme/front-office: credentials changed")
}

func TestApplyMendsCredentialsThatCannotBeOpened(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.apply(desired(), ApplyOptions{})
	all, err := h.Connections(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	h.overwrite(all[0], "dav", string(h.row(all[0]).Settings), []byte("not sealed"))
	without := desired()
	without.Tenants[0].Connections[0].Credentials = nil
	if _, err := h.Apply(t.Context(), without, ApplyOptions{}); err == nil {
		t.Error("credentials that cannot be opened were left in silence")
	}
	h.wantChanges(h.apply(desired(), ApplyOptions{}), "update connection acme/front-office: credentials changed")
	h.wantChanges(h.apply(desired(), ApplyOptions{}))
}

func TestApplyDeletesOnlyWhenTold(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.apply(desired(), ApplyOptions{})
		want := Desired{Tenants: []DesiredTenant{{Name: "acme", Settings: Settings{Timezone: "Europe/Berlin"}, Connections: []NewConnection{
			{Name: "new", Kind: adapter.KindCalendar, Provider: "sandbox"}}}}}
		h.clock.advance(time.Second)
		h.wantChanges(h.apply(want, ApplyOptions{}), "create connection acme/new: calendar; sandbox")
		lines := []string{"delete connection acme/front-office", "delete connection acme/rehearsal", "delete tenant beta"}
		h.wantChanges(h.apply(want, ApplyOptions{Prune: true, DryRun: true}), lines...)
		h.wantChanges(h.apply(want, ApplyOptions{Prune: true}), lines...)
		h.wantChanges(h.apply(want, ApplyOptions{Prune: true}))
		left, err := h.Connections(t.Context(), "acme")
		if err != nil || len(left) != 1 || left[0].Name != "new" || !left[0].IsDefault {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

func TestApplyPrunesNothingThatKeysAreBoundTo(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.apply(desired(), ApplyOptions{})
	h.key("acme", NewKey{Connections: []string{"rehearsal"}})
	_, err := h.Apply(t.Context(), Desired{Tenants: []DesiredTenant{{Name: "acme"}, {Name: "gamma"}}}, ApplyOptions{Prune: true})
	wantFault(t, err, fault.Conflict, ReasonConnectionInUse)
	if _, err := h.TenantByName(t.Context(), "gamma"); fault.From(err) == nil {
		t.Error("a part was applied")
	}
}

func TestApplyTellsEveryFaultAndChangesNothing(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.apply(desired(), ApplyOptions{})
	want := desired()
	want.Tenants[0].Settings.Timezone = "Mars"
	want.Tenants[0].Connections[0].Settings = map[string]any{"url": "cal"}
	want.Tenants[0].Connections[1].Provider = "dav"
	want.Tenants[0].Connections[1].Default = true
	want.Tenants[1].Name = "B"
	want.Tenants[1].Connections = []NewConnection{
		{Name: "x", Kind: adapter.KindCRM, Provider: "bearer", Settings: map[string]any{"base_url": "https://acme.example"}},
		{Name: "x", Kind: adapter.KindCalendar, Provider: "google"},
	}
	want.Tenants = append(want.Tenants, DesiredTenant{Name: "acme"})
	_, err := h.Apply(t.Context(), want, ApplyOptions{})
	wantFields(t, err,
		"tenants[0].timezone must be an IANA time zone name such as America/New_York.",
		"tenants[0].connections[1].default is true for another calendar connection of the tenant too.",
		"tenants[0].connections[0].settings.url must be an absolute http or https URL without a user name.",
		"tenants[0].connections[1].provider is another than the existing connection's (calendar, sandbox). Give the new one another name, or remove the old one first.",
		"tenants[1].name must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or digit.",
		"tenants[1].connections[1].name is the name of another connection of the tenant too.",
		"tenants[1].connections[0].credentials.token is required: Token.",
		"tenants[1].connections[1].provider must be one of dav, sandbox for a calendar connection.",
		"tenants[2].name is the name of another tenant here too.")
	h.wantChanges(h.apply(desired(), ApplyOptions{Prune: true}))
}

func TestApplyThatWasInterruptedIsCompleted(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme") // as far as an earlier run came
	h.wantChanges(h.apply(desired(), ApplyOptions{}),
		`update tenant acme: timezone: "Europe/Berlin"`,
		`create connection acme/front-office: calendar; dav; default; settings.size: 2; settings.url: "https://cal.acme.example/"; with credentials`,
		`create connection acme/rehearsal: calendar; sandbox`,
		`create tenant beta`)
}
