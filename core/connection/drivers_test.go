package connection_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
	"frontdesk/core/tenant/tenanttest"
	"frontdesk/core/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDriverIsOpenedOnceAndKept(t *testing.T) {
	url := storetest.SQLite(t)
	synctest.Test(t, func(t *testing.T) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.Key("acme", apikey.Spec{})
		caller := h.Caller(text)
		release := make(chan struct{})
		h.Desk.Opening = func() error { <-release; return nil }
		drivers := make([]calendar.Driver, 20)
		var done sync.WaitGroup
		for i := range drivers {
			done.Go(func() {
				o, err := h.Calendar(caller)
				if err != nil {
					t.Error(err)
				}
				drivers[i] = o.Driver
			})
		}
		synctest.Wait() // all of them wait for the one that opens
		close(release)
		done.Wait()
		if n := h.Desk.Opens.Load(); n != 1 {
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
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.Key("acme", apikey.Spec{})
		open := func(caller apikey.Caller) connection.Opened[calendar.Driver] {
			t.Helper()
			o, err := h.Calendar(caller)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		stale := h.Caller(text)
		first := open(stale)
		if first.Connection.Revision != c.Revision ||
			first.Target != (connection.Target{
				Kind: "calendar", Provider: "dav", Host: "cal.acme.example:443", Connection: c.ID,
			}) {
			t.Errorf("opened %+v", first)
		}
		changed, err := h.Connections.Update(t.Context(), "acme", "a", connection.Change{
			Settings: map[string]any{"url": "https://new.acme.example/", "size": 3},
		})
		if err != nil {
			t.Fatal(err)
		}
		second := open(h.Caller(text))
		if second.Driver == first.Driver || second.Connection.Revision != changed.Revision ||
			second.Target.Host != "new.acme.example:443" {
			t.Errorf("after the change %+v", second)
		}
		if seen := h.Desk.OpenedWith(); seen.URL != "https://new.acme.example/" || seen.Size != 3 {
			t.Errorf("opened with %+v", seen)
		}
		if late := open(stale); late.Driver != second.Driver || late.Connection.Revision != changed.Revision {
			t.Errorf("a call from just before the change gets %+v", late)
		}
		if n := h.Desk.Opens.Load(); n != 2 {
			t.Errorf("opened %d times", n)
		}
	})
}

func TestDriverKnowsItsTenant(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	c := h.Connection("acme", "s", adapter.KindCalendar, "sandbox")
	text, _ := h.Key("acme", apikey.Spec{})
	environment := func() adapter.Environment {
		o, err := h.Calendar(h.Caller(text))
		if err != nil {
			t.Fatal(err)
		}
		if o.Target.Host != "" {
			t.Errorf("the sandbox has the host %q, which other tenants would share", o.Target.Host)
		}
		return o.Driver.(*tenanttest.CalendarDriver).Env
	}
	env := environment()
	if env.ConnectionID != c.ID || env.Zone != "UTC" || env.Storage == nil ||
		env.HTTP != nil || !env.Now().Equal(h.Clock.Now()) {
		t.Errorf("environment %+v", env)
	}
	if _, err := h.Tenants.Update(t.Context(), "acme", tenant.Settings{Timezone: "Europe/Berlin"}); err != nil {
		t.Fatal(err)
	}
	if env = environment(); env.Zone != "Europe/Berlin" {
		t.Errorf("the zone of the tenant changed, the driver's is %s", env.Zone)
	}
}

func TestKindThatIsNotConnected(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	text, _ := h.Key("acme", apikey.Spec{})
	caller := h.Caller(text)
	_, err := h.Calendar(caller)
	tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
	_, err = h.CRM(caller)
	tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
	_, err = h.Drivers.Telephony(t.Context(), caller.Tenant, caller.Connections)
	tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
}

func TestConnectionThatWasRemovedMeanwhile(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	h.Connection("acme", "a", adapter.KindCalendar, "dav")
	text, _ := h.Key("acme", apikey.Spec{})
	stale := h.Caller(text)
	if _, err := h.Calendar(stale); err != nil {
		t.Fatal(err)
	}
	if err := h.Connections.Remove(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	_, err := h.Calendar(stale)
	tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonNotConnected)
}

func TestConnectionToBeReconnected(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := tenanttest.Open(t, url)
		h.Tenant("acme")
		h.Connection("acme", "a", adapter.KindCalendar, "dav")
		text, _ := h.Key("acme", apikey.Spec{})
		o, err := h.Calendar(h.Caller(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Connections.MarkReconnect(t.Context(), o.Connection, "401"); err != nil {
			t.Fatal(err)
		}
		_, err = h.Calendar(h.Caller(text))
		f := tenanttest.WantFault(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
		if f.Metadata["connection"] != "a" || f.Metadata["provider"] != "dav" {
			t.Errorf("metadata %v", f.Metadata)
		}
		again, err := h.Drivers.CalendarToVerify(t.Context(), h.Caller(text).Tenant, h.Caller(text).Connections)
		if err != nil {
			t.Fatal(err)
		}
		if again.Connection.Status != connection.StatusReconnectRequired {
			t.Errorf("opened %+v", again.Connection)
		}
		if err := h.Connections.MarkVerified(t.Context(), again.Connection, "desk@acme.example"); err != nil {
			t.Fatal(err)
		}
		if o, err = h.Calendar(h.Caller(text)); err != nil || o.Connection.Email != "desk@acme.example" ||
			o.Connection.Status != connection.StatusOK {
			t.Errorf("after it was verified: %+v, %v", o.Connection, err)
		}
	})
}

func TestMarksOfWhatWasChangedSinceAreIgnored(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	was := h.Connection("acme", "a", adapter.KindCalendar, "dav")
	if _, err := h.Connections.Update(t.Context(), "acme", "a", connection.Change{
		Credentials: map[string]string{"username": "desk", "password": "new"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.Connections.MarkReconnect(t.Context(), was, "401 for the old password"); err != nil {
		t.Fatal(err)
	}
	if row := h.Row(was); row.Status != string(connection.StatusOK) {
		t.Errorf("the new credentials are taken to be refused: %s", row.Status)
	}
	if err := h.Connections.MarkVerified(t.Context(), was, "old@acme.example"); err != nil {
		t.Fatal(err)
	}
	if row := h.Row(was); row.Email != "" {
		t.Errorf("the address of the old account is kept: %s", row.Email)
	}
	if err := h.Connections.Remove(t.Context(), "acme", "a"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Connections.MarkReconnect(t.Context(), was, ""),
		h.Connections.MarkVerified(t.Context(), was, "")); err != nil {
		t.Errorf("marks of a removed connection: %v", err)
	}
}

func TestVerifiedAgainKeepsTheDriver(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
	for _, email := range []string{"desk@acme.example", "", "desk@acme.example"} {
		if err := h.Connections.MarkVerified(t.Context(), c, email); err != nil {
			t.Fatal(err)
		}
	}
	if row := h.Row(c); row.Revision != c.Revision || row.Email != "desk@acme.example" {
		t.Errorf("row %+v", row)
	}
}

func TestConnectionThatCannotBeOpened(t *testing.T) {
	for _, rule := range []struct {
		name   string
		spoil  func(h *tenanttest.Kit, c connection.Connection)
		code   fault.Code
		reason string
	}{
		{"its provider is not in this build", func(h *tenanttest.Kit, c connection.Connection) {
			row := h.Row(c)
			row.Provider = "vanished"
			h.Overwrite(c, row.Provider, string(row.Settings), row.Credentials)
		}, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"its settings are not what they must be now", func(h *tenanttest.Kit, c connection.Connection) {
			h.Overwrite(c, "dav", `{"size":"many"}`, nil)
		}, fault.Unsupported, fault.ReasonProviderMisconfigured},
		{"its credentials are another's", func(h *tenanttest.Kit, c connection.Connection) {
			other := h.Connection("acme", "b", adapter.KindCalendar, "dav")
			h.Overwrite(c, "dav", `{}`, h.Row(other).Credentials)
		}, fault.Unavailable, "CREDENTIALS_UNREADABLE"},
		{"its adapter fails", func(h *tenanttest.Kit, _ connection.Connection) {
			h.Desk.Opening = func() error { return errors.New("defect") }
		}, fault.Internal, fault.ReasonInternal},
		{"its adapter panics", func(h *tenanttest.Kit, _ connection.Connection) {
			h.Desk.Opening = func() error { panic("defect") }
		}, fault.Internal, fault.ReasonInternal},
	} {
		t.Run(rule.name, func(t *testing.T) {
			h := tenanttest.Open(t, storetest.SQLite(t))
			h.Tenant("acme")
			c := h.Connection("acme", "a", adapter.KindCalendar, "dav")
			rule.spoil(h, c)
			h.Callers.Forget()
			text, _ := h.Key("acme", apikey.Spec{})
			for range 2 {
				_, err := h.Calendar(h.Caller(text))
				tenanttest.WantFault(t, err, rule.code, rule.reason)
			}
		})
	}
}

func TestOnlySoManyDriversAreKept(t *testing.T) {
	h := tenanttest.Open(t, storetest.SQLite(t), func(o *tenanttest.Options) { o.Kept = 2 })
	h.Tenant("acme")
	callers := map[string]apikey.Caller{}
	for _, name := range []string{"a", "b", "c"} {
		h.Connection("acme", name, adapter.KindCalendar, "dav")
		text, _ := h.Key("acme", apikey.Spec{Connections: []string{name}})
		callers[name] = h.Caller(text)
	}
	for _, step := range []struct {
		name  string
		opens int64
	}{{"a", 1}, {"b", 2}, {"a", 2}, {"c", 3}, {"a", 3}, {"b", 4}} {
		// c replaced b, the least recently used one.
		if _, err := h.Calendar(callers[step.name]); err != nil {
			t.Fatal(err)
		}
		if n := h.Desk.Opens.Load(); n != step.opens {
			t.Errorf("after %s: opened %d times, want %d", step.name, n, step.opens)
		}
	}
}

func TestCredentialsAreOnRequestsAlone(t *testing.T) {
	server, got := tenanttest.Origin(t)
	other, atOther := tenanttest.Origin(t)
	h := tenanttest.Open(t, storetest.SQLite(t))
	h.Tenant("acme")
	for _, n := range []connection.Spec{
		{Name: "basic", Kind: adapter.KindCalendar, Provider: "dav",
			Settings:    map[string]any{"url": server},
			Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary}},
		{Name: "bearer", Kind: adapter.KindCRM, Provider: "bearer",
			Settings: map[string]any{"base_url": server}, Credentials: map[string]string{"token": tenanttest.Canary}},
		{Name: "header", Kind: adapter.KindCRM, Provider: "header",
			Settings: map[string]any{"base_url": server}, Credentials: map[string]string{"token": tenanttest.Canary}},
	} {
		if _, err := h.Connections.Add(t.Context(), "acme", n); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := h.Key("acme", apikey.Spec{})
	cal, err := h.Calendar(h.Caller(text))
	if err != nil {
		t.Fatal(err)
	}
	basic := cal.Driver.(*tenanttest.CalendarDriver)
	tenanttest.Get(t, basic.Env.HTTP, server+"/x")
	if user, password, ok := (&http.Request{Header: got()}).BasicAuth(); !ok || user != "desk" ||
		password != tenanttest.Canary {
		t.Errorf("Authorization %q", got().Get("Authorization"))
	}
	tenanttest.Get(t, basic.Env.HTTP, other)
	if atOther().Get("Authorization") != "" {
		t.Error("another server got the credentials")
	}
	if basic.Settings.Password != connection.Withheld || basic.Settings.Username != "desk" ||
		basic.Settings.URL != server {
		t.Errorf("the adapter was opened with %+v", basic.Settings)
	}
	for name, want := range map[string][2]string{
		"bearer": {"Authorization", "Bearer " + tenanttest.Canary}, "header": {"X-Token", tenanttest.Canary},
	} {
		text, _ := h.Key("acme", apikey.Spec{Connections: []string{name}})
		o, err := h.CRM(h.Caller(text))
		if err != nil {
			t.Fatal(err)
		}
		driver := o.Driver.(*tenanttest.CRMDriver)
		tenanttest.Get(t, driver.Env.HTTP, server)
		if got().Get(want[0]) != want[1] {
			t.Errorf("%s: headers %v", name, got())
		}
		if driver.Settings.Token != connection.Withheld {
			t.Errorf("%s: the adapter was opened with %+v", name, driver.Settings)
		}
	}
}

// askAt asks with the client of a connection at an address, where no network is allowed besides the public ones.
func askAt(t *testing.T, address string) error {
	t.Helper()
	pool := upstream.NewPool(upstream.PoolOptions{})
	t.Cleanup(pool.Close)
	h := tenanttest.Open(t, storetest.SQLite(t), func(o *tenanttest.Options) { o.Pool = pool })
	h.Tenant("acme")
	n := connection.Spec{
		Name: "a", Kind: adapter.KindCalendar, Provider: "dav", Settings: map[string]any{"url": address},
	}
	if _, err := h.Connections.Add(t.Context(), "acme", n); err != nil {
		t.Fatal(err)
	}
	text, _ := h.Key("acme", apikey.Spec{})
	o, err := h.Calendar(h.Caller(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Driver.(*tenanttest.CalendarDriver).Env.HTTP.Get(address)
	return err
}

func TestAddressesOfTenantsKeepToTheEgressRules(t *testing.T) {
	server, got := tenanttest.Origin(t)
	tenanttest.WantFault(t, askAt(t, server), fault.Forbidden, fault.ReasonEgressRefused)
	if got() != nil {
		t.Error("the request arrived")
	}
}

// Credentials are not sent where anybody on the way could read them.
func TestNoCredentialsGoByPlainHTTP(t *testing.T) {
	const address = "http://192.88.98.1:9/" // a public one, which is refused before it is dialled
	f := tenanttest.WantFault(t, askAt(t, address), fault.Forbidden, fault.ReasonEgressRefused)
	if !strings.Contains(f.Detail, "https") {
		t.Errorf("what to do is not said: %s", f.Detail)
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
		if got := connection.HostOf(u); got != rule.want {
			t.Errorf("%s: got %s, want %s", rule.address, got, rule.want)
		}
	}
}
