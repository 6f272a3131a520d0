package tenant

import (
	"errors"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store/storetest"
	"frontdesk/core/upstream"
)

func TestDriverIsOpenedOnceAndKept(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := build(t, url)
		h.tenant("acme")
		h.connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.key("acme", NewKey{})
		caller := h.caller(text)
		release := make(chan struct{})
		h.desk.opening = func() error { <-release; return nil }
		drivers := make([]calendar.Driver, 20)
		var done sync.WaitGroup
		for i := range drivers {
			done.Go(func() {
				o, err := h.Calendar(t.Context(), caller)
				if err != nil {
					t.Error(err)
				}
				drivers[i] = o.Driver
			})
		}
		synctest.Wait() // all of them wait for the one that opens
		close(release)
		done.Wait()
		if n := h.desk.opens.Load(); n != 1 {
			t.Errorf("opened %d times", n)
		}
		for _, d := range drivers {
			if d == nil || d != drivers[0] {
				t.Error("calls have different drivers")
			}
		}
		h.Close()
	})
}

func TestDriverIsOpenedAgainWhenItsConnectionChanges(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		c := h.connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.key("acme", NewKey{})
		open := func(caller Caller) Opened[calendar.Driver] {
			t.Helper()
			o, err := h.Calendar(t.Context(), caller)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		stale := h.caller(text)
		first := open(stale)
		if first.Connection.Revision != c.Revision || first.Target != (Target{Kind: "calendar", Provider: "dav", Host: "cal.acme.example:443", Connection: c.ID}) {
			t.Errorf("opened %+v", first)
		}
		changed, err := h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Settings: map[string]any{"url": "https://new.acme.example/", "size": 3}})
		if err != nil {
			t.Fatal(err)
		}
		second := open(h.caller(text))
		if second.Driver == first.Driver || second.Connection.Revision != changed.Revision || second.Target.Host != "new.acme.example:443" {
			t.Errorf("after the change %+v", second)
		}
		if seen := h.desk.openedWith(); seen.URL != "https://new.acme.example/" || seen.Size != 3 {
			t.Errorf("opened with %+v", seen)
		}
		if late := open(stale); late.Driver != second.Driver || late.Connection.Revision != changed.Revision {
			t.Errorf("a call from just before the change gets %+v", late)
		}
		if n := h.desk.opens.Load(); n != 2 {
			t.Errorf("opened %d times", n)
		}
	})
}

func TestDriverKnowsItsTenant(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	acme := h.tenant("acme")
	c := h.connection("acme", "s", adapter.KindCalendar, "sandbox")
	text, _ := h.key("acme", NewKey{})
	environment := func() adapter.Environment {
		o, err := h.Calendar(t.Context(), h.caller(text))
		if err != nil {
			t.Fatal(err)
		}
		if o.Target.Host != "" {
			t.Errorf("the sandbox has the host %q, which other tenants would share", o.Target.Host)
		}
		return o.Driver.(*calendarDriver).env
	}
	env := environment()
	if env.TenantID != acme.ID || env.ConnectionID != c.ID || env.Zone != "UTC" || env.Storage == nil || env.HTTP != nil || !env.Now().Equal(h.clock.now()) {
		t.Errorf("environment %+v", env)
	}
	if _, err := h.UpdateTenant(t.Context(), "acme", Settings{Timezone: "Europe/Berlin"}); err != nil {
		t.Fatal(err)
	}
	if env = environment(); env.Zone != "Europe/Berlin" {
		t.Errorf("the zone of the tenant changed, the driver's is %s", env.Zone)
	}
}

func TestKindThatIsNotConnected(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	text, _ := h.key("acme", NewKey{})
	caller := h.caller(text)
	_, err := h.Calendar(t.Context(), caller)
	wantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
	_, err = h.CRM(t.Context(), caller)
	wantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
	_, err = h.Telephony(t.Context(), caller)
	wantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
}

func TestConnectionThatWasRemovedMeanwhile(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	h.connection("acme", "a", adapter.KindCalendar, "dav")
	text, _ := h.key("acme", NewKey{})
	stale := h.caller(text)
	if _, err := h.Calendar(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	if err := h.RemoveConnection(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	_, err := h.Calendar(t.Context(), stale)
	wantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
}

func TestConnectionToBeReconnected(t *testing.T) {
	onEveryStore(t, func(t *testing.T, url string) {
		h := build(t, url)
		h.tenant("acme")
		h.connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.key("acme", NewKey{})
		o, err := h.Calendar(t.Context(), h.caller(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.MarkReconnect(t.Context(), o.Connection, "401"); err != nil {
			t.Fatal(err)
		}
		_, err = h.Calendar(t.Context(), h.caller(text))
		f := wantFault(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
		if f.Metadata["connection"] != "a" || f.Metadata["provider"] != "dav" {
			t.Errorf("metadata %v", f.Metadata)
		}
		again, err := h.CalendarToVerify(t.Context(), h.caller(text))
		if err != nil {
			t.Fatal(err)
		}
		if again.Connection.Status != StatusReconnectRequired {
			t.Errorf("opened %+v", again.Connection)
		}
		if err := h.MarkVerified(t.Context(), again.Connection, "desk@acme.example"); err != nil {
			t.Fatal(err)
		}
		if o, err = h.Calendar(t.Context(), h.caller(text)); err != nil || o.Connection.Email != "desk@acme.example" || o.Connection.Status != StatusOK {
			t.Errorf("after it was verified: %+v, %v", o.Connection, err)
		}
	})
}

func TestMarksOfWhatWasChangedSinceAreIgnored(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	was := h.connection("acme", "a", adapter.KindCalendar, "dav")
	if _, err := h.UpdateConnection(t.Context(), "acme", "a", ConnectionChange{Credentials: map[string]string{"username": "desk", "password": "new"}}); err != nil {
		t.Fatal(err)
	}
	if err := h.MarkReconnect(t.Context(), was, "401 for the old password"); err != nil {
		t.Fatal(err)
	}
	if row := h.row(was); row.Status != string(StatusOK) {
		t.Errorf("the new credentials are taken to be refused: %s", row.Status)
	}
	if err := h.MarkVerified(t.Context(), was, "old@acme.example"); err != nil {
		t.Fatal(err)
	}
	if row := h.row(was); row.Email != "" {
		t.Errorf("the address of the old account is kept: %s", row.Email)
	}
	if err := h.RemoveConnection(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.MarkReconnect(t.Context(), was, ""), h.MarkVerified(t.Context(), was, "")); err != nil {
		t.Errorf("marks of a removed connection: %v", err)
	}
}

func TestVerifiedAgainKeepsTheDriver(t *testing.T) {
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	c := h.connection("acme", "a", adapter.KindCalendar, "dav")
	for _, email := range []string{"desk@acme.example", "", "desk@acme.example"} {
		if err := h.MarkVerified(t.Context(), c, email); err != nil {
			t.Fatal(err)
		}
	}
	if row := h.row(c); row.Revision != c.Revision || row.Email != "desk@acme.example" {
		t.Errorf("row %+v", row)
	}
}

func TestConnectionThatCannotBeOpened(t *testing.T) {
	for _, rule := range []struct {
		name   string
		spoil  func(h *harness, c Connection)
		code   fault.Code
		reason string
	}{
		{"its provider is not in this build", func(h *harness, c Connection) {
			row := h.row(c)
			row.Provider = "vanished"
			h.overwrite(c, row.Provider, string(row.Settings), row.Credentials)
		}, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"its settings are not what they must be now", func(h *harness, c Connection) {
			h.overwrite(c, "dav", `{"size":"many"}`, nil)
		}, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"its credentials are another's", func(h *harness, c Connection) {
			other := h.connection("acme", "b", adapter.KindCalendar, "dav")
			h.overwrite(c, "dav", `{}`, h.row(other).Credentials)
		}, fault.Unavailable, "CREDENTIALS_UNREADABLE"},
		{"its adapter fails", func(h *harness, _ Connection) {
			h.desk.opening = func() error { return errors.New("defect") }
		}, fault.Internal, fault.ReasonInternal},
		{"its adapter panics", func(h *harness, _ Connection) {
			h.desk.opening = func() error { panic("defect") }
		}, fault.Internal, fault.ReasonInternal},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := build(t, storetest.SQLite(t))
			h.tenant("acme")
			c := h.connection("acme", "a", adapter.KindCalendar, "dav")
			rule.spoil(h, c)
			h.callers.forget()
			text, _ := h.key("acme", NewKey{})
			for range 2 {
				_, err := h.Calendar(t.Context(), h.caller(text))
				wantFault(t, err, rule.code, rule.reason)
			}
		})
	}
}

// overwrite puts into the store what the directory would not; nil is what an earlier version, with other
// rules, would seal.
func (h *harness) overwrite(c Connection, provider, settings string, sealed []byte) {
	h.t.Helper()
	row := h.row(c)
	row.Provider, row.Settings, row.Credentials = provider, []byte(settings), sealed
	if sealed == nil {
		if err := h.sealConnection(&row, nil); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := h.store.UpdateConnection(h.t.Context(), row, row.Revision); err != nil {
		h.t.Fatal(err)
	}
}

func TestOnlySoManyDriversAreKept(t *testing.T) {
	h := build(t, storetest.SQLite(t), func(o *Options) { o.Drivers = 2 })
	h.tenant("acme")
	callers := map[string]Caller{}
	for _, name := range []string{"a", "b", "c"} {
		h.connection("acme", name, adapter.KindCalendar, "dav")
		text, _ := h.key("acme", NewKey{Connections: []string{name}})
		callers[name] = h.caller(text)
	}
	for _, step := range []struct {
		name  string
		opens int64
	}{{"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} { // c took the place of b, which was not used for longest
		if _, err := h.Calendar(t.Context(), callers[step.name]); err != nil {
			t.Fatal(err)
		}
		if n := h.desk.opens.Load(); n != step.opens {
			t.Errorf("after %s: opened %d times, want %d", step.name, n, step.opens)
		}
	}
}

func TestAnOlderRevisionReplacesNoNewerDriver(t *testing.T) {
	d := newDrivers(2)
	for _, revision := range []int64{2, 1} {
		d.keep(opened{connection: Connection{ID: "c", Revision: revision}})
	}
	if there, _ := d.find("c"); there.connection.Revision != 2 {
		t.Errorf("revision %d is kept", there.connection.Revision)
	}
}

func TestCredentialsAreOnRequestsAlone(t *testing.T) {
	server, got := origin(t)
	other, atOther := origin(t)
	h := build(t, storetest.SQLite(t))
	h.tenant("acme")
	for _, n := range []NewConnection{
		{Name: "basic", Kind: adapter.KindCalendar, Provider: "dav",
			Settings: map[string]any{"url": server}, Credentials: map[string]string{"username": "desk", "password": canary}},
		{Name: "bearer", Kind: adapter.KindCRM, Provider: "bearer",
			Settings: map[string]any{"base_url": server}, Credentials: map[string]string{"token": canary}},
		{Name: "header", Kind: adapter.KindCRM, Provider: "header",
			Settings: map[string]any{"base_url": server}, Credentials: map[string]string{"token": canary}},
	} {
		if _, err := h.AddConnection(t.Context(), "acme", n); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := h.key("acme", NewKey{})
	cal, err := h.Calendar(t.Context(), h.caller(text))
	if err != nil {
		t.Fatal(err)
	}
	basic := cal.Driver.(*calendarDriver)
	get(t, basic.env.HTTP, server+"/x")
	if user, password, ok := (&http.Request{Header: got()}).BasicAuth(); !ok || user != "desk" || password != canary {
		t.Errorf("Authorization %q", got().Get("Authorization"))
	}
	get(t, basic.env.HTTP, other)
	if atOther().Get("Authorization") != "" {
		t.Error("another server got the credentials")
	}
	if basic.settings.Password != withheld || basic.settings.Username != "desk" || basic.settings.URL != server {
		t.Errorf("the adapter was opened with %+v", basic.settings)
	}
	for name, want := range map[string][2]string{"bearer": {"Authorization", "Bearer " + canary}, "header": {"X-Token", canary}} {
		text, _ := h.key("acme", NewKey{Connections: []string{name}})
		o, err := h.CRM(t.Context(), h.caller(text))
		if err != nil {
			t.Fatal(err)
		}
		driver := o.Driver.(*crmDriver)
		get(t, driver.env.HTTP, server)
		if got().Get(want[0]) != want[1] {
			t.Errorf("%s: headers %v", name, got())
		}
		if driver.settings.Token != withheld {
			t.Errorf("%s: the adapter was opened with %+v", name, driver.settings)
		}
	}
}

func TestAddressesOfTenantsKeepToTheEgressRules(t *testing.T) {
	server, got := origin(t)
	pool := upstream.NewPool(upstream.PoolOptions{}) // nothing allowed besides public addresses
	defer pool.Close()
	h := build(t, storetest.SQLite(t), func(o *Options) { o.Pool = pool })
	h.tenant("acme")
	n := NewConnection{Name: "a", Kind: adapter.KindCalendar, Provider: "dav", Settings: map[string]any{"url": server}}
	if _, err := h.AddConnection(t.Context(), "acme", n); err != nil {
		t.Fatal(err)
	}
	text, _ := h.key("acme", NewKey{})
	o, err := h.Calendar(t.Context(), h.caller(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Driver.(*calendarDriver).env.HTTP.Get(server)
	wantFault(t, err, fault.Forbidden, fault.ReasonEgressRefused)
	if got() != nil {
		t.Error("the request arrived")
	}
}

func TestOneServerHasOneTarget(t *testing.T) {
	for _, rule := range []struct{ address, want string }{
		{"https://Cal.Acme.Example/dav/", "cal.acme.example:443"},
		{"https://cal.acme.example:443", "cal.acme.example:443"},
		{"http://cal.acme.example", "cal.acme.example:80"},
		{"HTTPS://[2001:DB8::1]/", "[2001:db8::1]:443"},
	} {
		u, err := url.Parse(rule.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostOf(u); got != rule.want {
			t.Errorf("%s: got %s, want %s", rule.address, got, rule.want)
		}
	}
}

func BenchmarkCallerToDriver(b *testing.B) {
	var driver calendar.Driver = &calendarDriver{}
	now := time.Unix(1_800_000_000, 0)
	d := NewDirectory(Options{Now: func() time.Time { return now }})
	defer d.Close()
	defer d.used.take() // there is no store to write it to
	text := secret.NewToken(livePrefix)
	hash, _ := hashKey(text)
	c := Connection{ID: "c", Kind: adapter.KindCalendar, Status: StatusOK, Revision: 1}
	caller := Caller{KeyID: "k", Scopes: Scopes(), Connections: map[adapter.Kind]Connection{c.Kind: c}}
	d.callers.keep(hash, knownKey{caller: caller, valid: true, at: now}, 0)
	d.drivers.keep(opened{driver: driver, connection: c, zone: "UTC"})
	b.ReportAllocs()
	for b.Loop() {
		caller, err := d.Authenticate(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Calendar(b.Context(), caller); err != nil {
			b.Fatal(err)
		}
	}
}
