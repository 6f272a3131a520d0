package caldav_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/calendar/caldav"
	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/adapters/calendar/caldav/servertest"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const email = "alice@example.com"

// open opens a driver as the gateway does: the client authorises, and the driver holds no password.
func open(tb testing.TB, address, user, password string, more map[string]any) calendar.Driver {
	tb.Helper()
	return openAt(tb, address, user, password, more, time.Now)
}

func openAt(
	tb testing.TB, address, user, password string, more map[string]any, now func() time.Time,
) calendar.Driver {
	tb.Helper()
	client := adaptertest.Client(tb, "caldav", address, func(r *http.Request) error {
		r.SetBasicAuth(user, password)
		return nil
	})
	given := map[string]any{"url": address, "email": email}
	for name, value := range more {
		given[name] = value
	}
	// One adapter bounds what all its drivers remember, and goes by their clocks, which tests set to other times.
	driver, err := caldav.Adapter().OpenCalendar(context.Background(),
		adapter.Values{Settings: given, Credentials: map[string]string{"username": user, "password": password}},
		adapter.Environment{Zone: "America/New_York", HTTP: client, Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	return driver
}

func TestContractOnRadicale(t *testing.T) {
	t.Parallel()
	a := servertest.Radicale(t)
	conformance.Run(t, calendartest.Checks(),
		func(t *testing.T) calendartest.Harness { return harness(t, a, nil) })
}

func TestContractOnTheFake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		how  fake.Options
	}{
		{"plain", fake.Options{}},
		{"that sends invitations", fake.Options{AutoSchedule: true}},
		{"behind a compressing front end", fake.Options{WeakTags: true, AbsoluteHrefs: true}},
		{"without ETags but with schedule tags", fake.Options{NoTags: true, AutoSchedule: true}},
		{"that names resources itself", fake.Options{Rename: true}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			calendartest.Run(t, func(t *testing.T) calendartest.Harness { return fakeHarness(t, c.how) })
		})
	}
}

func fakeHarness(t *testing.T, how fake.Options) calendartest.Harness {
	how.User, how.Password, how.Email = email, "correct horse battery", email
	server := fake.New(how)
	work := server.AddCalendar("w@rk", "Work", "", false)
	home := server.AddCalendar("home", "Home", "", false)
	holidays := server.AddCalendar("holidays", "Holidays", "", true)
	server.AddTasks("tasks")
	served := httptest.NewServer(server)
	t.Cleanup(func() {
		served.Close()
		for _, violation := range server.Violations() {
			t.Error("against the specifications:", violation)
		}
	})
	id := func(path string) string { return strings.ReplaceAll(path, "%40", "@") } // as ids are written
	other := &outsider{url: served.URL, user: how.User, password: how.Password, client: served.Client()}
	return calendartest.Harness{
		Open: func() calendar.Driver {
			return open(t, served.URL, how.User, how.Password, map[string]any{"auto_schedule": how.AutoSchedule})
		},
		Calendar: id(work), Second: id(home), ReadOnly: id(holidays),
		UnknownCalendar: id(server.Home()) + "nowhere/", UnknownEvent: id(work) + "nothing.ics",
		Email: email, Secrets: []string{how.Password}, Now: time.Now,
		Provider: &provider{outsider: other, Server: server},
	}
}

// provider is the fake with every interface of calendartest and conformance that it supports.
type provider struct {
	*outsider
	*fake.Server
}

// Notices returns the notices that the server sent.
func (p *provider) Notices(_ context.Context, ref calendar.EventRef) ([]calendartest.Notice, error) {
	var list []calendartest.Notice
	for _, n := range p.Server.Notices(ref.ID) {
		list = append(list, calendartest.Notice(n))
	}
	return list, nil
}

// lostByXandikos are the checks that Xandikos itself fails: it rewrites objects with a library that reads an
// escaped backslash before "n" as a line break (python-icalendar, unescape_char).
var lostByXandikos = []string{
	"a title is kept exactly", "a description is kept exactly", "changed texts are kept exactly",
}

func TestContractOnXandikos(t *testing.T) {
	t.Parallel()
	a := servertest.Xandikos(t)
	checks := slices.DeleteFunc(calendartest.Checks(),
		func(c calendartest.Check) bool { return slices.Contains(lostByXandikos, c.Name) })
	if want := len(calendartest.Checks()) - len(lostByXandikos); len(checks) != want {
		t.Fatalf("%d checks are left, want %d: one was renamed", len(checks), want)
	}
	conformance.Run(t, checks, func(t *testing.T) calendartest.Harness {
		return harness(t, a, nil)
	})
}

// harness returns an account at a real server. In checks of concurrent calls, each of these lists what all of them
// booked, so that the server's work grows with their square.
func harness(t *testing.T, a servertest.Account, more map[string]any) calendartest.Harness {
	t.Helper()
	return calendartest.Harness{
		Open:     func() calendar.Driver { return open(t, a.URL, a.User, a.Password, more) },
		Calendar: a.Calendar, Second: a.Second, ReadOnly: a.ReadOnly,
		UnknownCalendar: a.Home + "nowhere/", UnknownEvent: a.Calendar + "nothing.ics",
		Email: email, Secrets: []string{a.Password}, Now: time.Now, AtOnce: conformance.AtRealServers(t),
		Provider: &outsider{url: a.URL, user: a.User, password: a.Password, client: http.DefaultClient},
	}
}
