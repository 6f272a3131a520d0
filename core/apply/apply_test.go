package apply_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
)

func TestMain(m *testing.M) {
	storetest.Commits() // before any goroutine opens a store
	goleak.VerifyTestMain(m)
}

// desired returns the state that most tests apply; they change a copy.
func desired() apply.Desired {
	return apply.Desired{Tenants: []apply.Tenant{
		{Name: "acme", Settings: tenant.Settings{Timezone: "Europe/Berlin"}, Connections: []connection.Spec{
			{Name: "front-office", Kind: adapter.KindCalendar, Provider: "dav", Default: true,
				Settings:    map[string]any{"url": "https://cal.acme.example/", "size": 2.0},
				Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary}},
			{Name: "rehearsal", Kind: adapter.KindCalendar, Provider: "sandbox"},
		}},
		{Name: "beta"},
	}}
}

func applied(h *tenanttest.Kit, want apply.Desired, o apply.Options) []string {
	h.T.Helper()
	changes, err := h.Applier.Apply(h.T.Context(), want, o)
	if err != nil {
		h.T.Fatal(err)
	}
	lines := make([]string, 0, len(changes))
	for _, c := range changes {
		lines = append(lines, c.String())
		if strings.Contains(fmt.Sprintf("%+v", c), tenanttest.Canary) {
			h.T.Errorf("a change holds a secret: %+v", c)
		}
	}
	return lines
}

func wantChanges(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestApplyMakesWhatIsDesiredOnce(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		all := []string{
			`create tenant acme: timezone: "Europe/Berlin"`,
			`create connection acme/front-office: calendar; dav; default; ` +
				`settings.size: 2; settings.url: "https://cal.acme.example/"; with credentials`,
			`create connection acme/rehearsal: calendar; sandbox`,
			`create tenant beta`,
		}
		wantChanges(t, applied(h, desired(), apply.Options{DryRun: true}), all...)
		if tenants, err := h.Tenants.List(t.Context()); err != nil || len(tenants) != 0 {
			t.Errorf("a dry run made %v, %v", tenants, err)
		}
		wantChanges(t, applied(h, desired(), apply.Options{}), all...)
		wantChanges(t, applied(h, desired(), apply.Options{}))
		wantChanges(t, applied(h, desired(), apply.Options{Prune: true}))
		connections, err := h.Connections.List(t.Context(), "acme")
		if err != nil || len(connections) != 2 || !connections[0].IsDefault ||
			connections[0].Name != "front-office" {
			t.Errorf("connections %+v, %v", connections, err)
		}
	})
}

func TestApplyChangesWhatIsDifferent(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		applied(h, desired(), apply.Options{})
		before, err := h.Connections.List(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		want := desired()
		window := tenant.Duration(0)
		want.Tenants[0].Settings = tenant.Settings{PreventDoubleBooking: true, DedupeWindow: &window}
		office, rehearsal := &want.Tenants[0].Connections[0], &want.Tenants[0].Connections[1]
		office.Default, rehearsal.Default = false, true
		office.Settings = map[string]any{"url": "https://new.acme.example/", "room": "2"}
		office.Credentials = map[string]string{"username": "desk", "password": "new " + tenanttest.Canary}
		lines := []string{
			`update tenant acme: dedupe_window: "0s"; prevent_double_booking: true; timezone: "Europe/Berlin" removed`,
			`update connection acme/front-office: settings.room: "2"; ` +
				`settings.url: "https://cal.acme.example/" -> "https://new.acme.example/"; ` +
				`settings.size: 2 removed; credentials changed`,
			`update connection acme/rehearsal: made the default`,
		}
		wantChanges(t, applied(h, want, apply.Options{DryRun: true}), lines...)
		wantChanges(t, applied(h, want, apply.Options{}), lines...)
		wantChanges(t, applied(h, want, apply.Options{}))
		after, err := h.Connections.List(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		for i := range after {
			if after[i].ID != before[i].ID {
				t.Errorf("%s has another id", after[i].Name)
			}
		}
		plain, err := h.Sealer.OpenConnection(h.Row(after[0]))
		if err != nil || !maps.Equal(plain, office.Credentials) {
			t.Errorf("the credentials did not change: %v", err)
		}
	})
}

func TestApplyLeavesCredentialsThatAreNotGiven(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	applied(h, desired(), apply.Options{})
	want := desired()
	want.Tenants[0].Connections[0].Credentials = nil
	wantChanges(t, applied(h, want, apply.Options{}))
	want.Tenants[0].Connections[0].Credentials = map[string]string{}
	wantChanges(t, applied(h, want, apply.Options{}), "update connection acme/front-office: credentials changed")
}

func TestApplyMendsCredentialsThatCannotBeOpened(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	applied(h, desired(), apply.Options{})
	all, err := h.Connections.List(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	h.Overwrite(all[0], "dav", string(h.Row(all[0]).Settings), []byte("not sealed"))
	without := desired()
	without.Tenants[0].Connections[0].Credentials = nil
	if _, err := h.Applier.Apply(t.Context(), without, apply.Options{}); err == nil {
		t.Error("credentials that cannot be opened were left in silence")
	}
	wantChanges(t, applied(h, desired(), apply.Options{}),
		"update connection acme/front-office: credentials changed")
	wantChanges(t, applied(h, desired(), apply.Options{}))
}

func TestApplyDeletesOnlyWhenTold(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		applied(h, desired(), apply.Options{})
		want := apply.Desired{Tenants: []apply.Tenant{{
			Name: "acme", Settings: tenant.Settings{Timezone: "Europe/Berlin"},
			Connections: []connection.Spec{{Name: "new", Kind: adapter.KindCalendar, Provider: "sandbox"}},
		}}}
		h.Clock.Advance(time.Second)
		wantChanges(t, applied(h, want, apply.Options{}), "create connection acme/new: calendar; sandbox")
		lines := []string{
			"delete connection acme/front-office: new becomes the default", "delete connection acme/rehearsal",
			"delete tenant beta",
		}
		wantChanges(t, applied(h, want, apply.Options{Prune: true, DryRun: true}), lines...)
		wantChanges(t, applied(h, want, apply.Options{Prune: true}), lines...)
		wantChanges(t, applied(h, want, apply.Options{Prune: true}))
		left, err := h.Connections.List(t.Context(), "acme")
		if err != nil || len(left) != 1 || left[0].Name != "new" || !left[0].IsDefault {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

// A connection with another name is another one. What its deletion leaves behind, and which connection serves calls
// from then on, is in the plan.
func TestApplySaysWhatADeletionLeaves(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		phones := func(lines string) apply.Desired {
			return apply.Desired{Tenants: []apply.Tenant{{Name: "acme", Connections: []connection.Spec{
				{Name: lines, Kind: adapter.KindTelephony, Provider: "sandbox"},
				{Name: "old", Kind: adapter.KindTelephony, Provider: "sandbox"},
			}}, {Name: "beta", Connections: []connection.Spec{
				{Name: lines, Kind: adapter.KindTelephony, Provider: "sandbox"},
			}}}}
		}
		applied(h, phones("lines"), apply.Options{})
		for i, owner := range []string{"acme", "beta"} {
			all, err := h.Connections.List(t.Context(), owner)
			tenanttest.Must(t, err)
			_, _, err = h.Store.AddNumber(t.Context(), store.Number{
				TenantID: h.Row(all[0]).TenantID, ConnectionID: all[0].ID, Realm: "sandbox:" + owner, Ref: "PN1",
				E164: fmt.Sprintf("+1415555010%d", i), CreatedAt: h.Clock.Now(),
			}, 0)
			tenanttest.Must(t, err)
		}
		h.Clock.Advance(time.Second)
		want := phones("phones")
		want.Tenants = want.Tenants[:1]
		const stay = "phone numbers that stay at the provider, and go on to cost money: "
		lines := []string{
			"create connection acme/phones: telephony; sandbox",
			"delete connection acme/lines: " + stay + "+14155550100; old becomes the default",
			"delete tenant beta: " + stay + "+14155550101",
		}
		wantChanges(t, applied(h, want, apply.Options{Prune: true, DryRun: true}), lines...)
		wantChanges(t, applied(h, want, apply.Options{Prune: true}), lines...)
		left, err := h.Connections.List(t.Context(), "acme")
		if err != nil || len(left) != 2 || !left[0].IsDefault || left[0].Name != "old" {
			t.Errorf("left %+v, %v", left, err)
		}
	})
}

func TestApplyPrunesNothingThatKeysAreBoundTo(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	applied(h, desired(), apply.Options{})
	h.Key("acme", apikey.Spec{Connections: []string{"rehearsal"}})
	_, err := h.Applier.Apply(t.Context(),
		apply.Desired{Tenants: []apply.Tenant{{Name: "acme"}, {Name: "gamma"}}}, apply.Options{Prune: true})
	tenanttest.WantFault(t, err, fault.Conflict, fault.ReasonConnectionInUse)
	if _, err := tenant.ByName(t.Context(), h.Store, "gamma"); fault.From(err) == nil {
		t.Error("a part was applied")
	}
}

func TestApplyTellsEveryFaultAndChangesNothing(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	applied(h, desired(), apply.Options{})
	want := desired()
	want.Tenants[0].Settings.Timezone = "Mars"
	want.Tenants[0].Connections[0].Settings = map[string]any{"url": "cal"}
	want.Tenants[0].Connections[1].Provider = "dav"
	want.Tenants[0].Connections[1].Default = true
	want.Tenants[1].Name = "B"
	want.Tenants[1].Connections = []connection.Spec{
		{Name: "x", Kind: adapter.KindCRM, Provider: "bearer",
			Settings: map[string]any{"base_url": "https://acme.example"}},
		{Name: "x", Kind: adapter.KindCalendar, Provider: "google"},
	}
	want.Tenants = append(want.Tenants, apply.Tenant{Name: "acme"})
	_, err := h.Applier.Apply(t.Context(), want, apply.Options{})
	tenanttest.WantFields(t, err,
		"tenants[0].timezone must be an IANA time zone name such as America/New_York.",
		"tenants[0].connections[1].default is true for another calendar connection of the tenant too.",
		"tenants[0].connections[0].settings.url must be an absolute http or https URL without a user name.",
		"tenants[0].connections[1].provider is another than the existing connection's (calendar, sandbox). "+
			"Give the new one another name, or remove the old one first.",
		"tenants[1].name must be 1 to 63 lower-case letters, digits and hyphens, "+
			"and must begin with a letter or digit.",
		"tenants[1].connections[1].name is the name of another connection of the tenant too.",
		"tenants[1].connections[0].credentials.token is required: Token.",
		"tenants[1].connections[1].provider must be one of dav, sandbox for a calendar connection.",
		"tenants[2].name is the name of another tenant here too.")
	wantChanges(t, applied(h, desired(), apply.Options{Prune: true}))
}

func TestApplyThatWasInterruptedIsCompleted(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme") // as far as an earlier run came
	wantChanges(t, applied(h, desired(), apply.Options{}),
		`update tenant acme: timezone: "Europe/Berlin"`,
		`create connection acme/front-office: calendar; dav; default; `+
			`settings.size: 2; settings.url: "https://cal.acme.example/"; with credentials`,
		`create connection acme/rehearsal: calendar; sandbox`,
		`create tenant beta`)
}

// many returns the desired state of many tenants with two connections each.
func many(n int) apply.Desired {
	var want apply.Desired
	for i := range n {
		want.Tenants = append(want.Tenants, apply.Tenant{
			Name: fmt.Sprint("tenant-", i), Settings: tenant.Settings{Timezone: "Europe/Berlin"},
			Connections: desired().Tenants[0].Connections,
		})
	}
	return want
}

// New tenants share transactions, and what is as desired costs no write.
func TestApplyWritesManyTenantsAtOnce(t *testing.T) {
	committed := storetest.Commits()
	h := tenanttest.Open(t, storetest.SQLite(t), tenanttest.Audited)
	want := many(250)
	before := committed()
	if changes := applied(h, want, apply.Options{}); len(changes) != 3*250 {
		t.Fatalf("%d changes", len(changes))
	}
	if n := committed() - before; n > 4 { // three, and one for the key of the audit
		t.Errorf("it took %d transactions", n)
	}
	before = committed()
	wantChanges(t, applied(h, want, apply.Options{Prune: true}))
	if n := committed() - before; n != 0 {
		t.Errorf("nothing was to do, and it took %d transactions", n)
	}
	rows, err := h.Store.AuditRows(t.Context(), store.AuditFilter{Tenant: "tenant-249", Limit: 9})
	if err != nil || len(rows) != 3 {
		t.Errorf("the audit has %+v, %v", rows, err)
	}
	for _, name := range []string{"tenant-0", "tenant-249"} {
		list, err := h.Connections.List(t.Context(), name)
		if err != nil || len(list) != 2 || !list[0].IsDefault || list[1].IsDefault {
			t.Errorf("%s has %+v, %v", name, list, err)
		}
	}
}

// If one of many new tenants is there meanwhile, the error names it, and the others are whole.
func TestApplyNamesTheNewTenantThatIsThereMeanwhile(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		var h *tenanttest.Kit
		var once sync.Once
		h = tenanttest.Open(t, url, func(o *tenanttest.Options) {
			o.Now = func() time.Time { // the first to ask prepares a tenant
				once.Do(func() {
					row := store.Tenant{ID: "theirs", Name: "tenant-2", CreatedAt: h.Clock.Now()}
					if err := h.Store.CreateTenant(t.Context(), row); err != nil {
						t.Error(err)
					}
				})
				return h.Clock.Now()
			}
		})
		changes, err := h.Applier.Apply(t.Context(), many(5), apply.Options{})
		tenanttest.WantFault(t, err, fault.Conflict, tenant.ReasonNameTaken)
		if !strings.HasPrefix(fmt.Sprint(err), "create tenant tenant-2:") {
			t.Errorf("the error is %v", err)
		}
		rest := applied(h, many(5), apply.Options{})
		if len(changes)+len(rest) != 15 || !slices.ContainsFunc(rest, func(line string) bool {
			return strings.HasPrefix(line, "create connection tenant-2/front-office:")
		}) {
			t.Errorf("it changed %v, then %v", changes, rest)
		}
		wantChanges(t, applied(h, many(5), apply.Options{}))
	})
}

// BenchmarkApply applies a file of new tenants with two connections each, and then again when nothing is to
// be done. It prints how long both take for 10,000 tenants.
//
//	go test -run '^$' -bench Apply -benchtime 10000x ./core/apply
func BenchmarkApply(b *testing.B) {
	h := tenanttest.Open(b, storetest.SQLite(b), tenanttest.Audited)
	want := many(b.N)
	for _, run := range []struct {
		name    string
		changes int
	}{{"new", 3 * b.N}, {"same", 0}} {
		began := time.Now()
		changes, err := h.Applier.Apply(b.Context(), want, apply.Options{})
		if err != nil || len(changes) != run.changes {
			b.Fatalf("%d changes, %v", len(changes), err)
		}
		b.ReportMetric(time.Since(began).Seconds()*10_000/float64(b.N), run.name+"-s/10000")
	}
	b.ReportMetric(0, "ns/op")
}
