package caldav_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/calendar/caldav"
	"frontdesk/adapters/calendar/caldav/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

const password = "correct horse battery"

// account is a fake with two calendars, a read-only one, and a collection of tasks.
type account struct {
	*fake.Server
	url                  string
	home, work, holidays string // ids
}

func newAccount(t testing.TB, how fake.Options) account {
	t.Helper()
	how.User, how.Password, how.Email = "alice", password, email
	a := account{Server: fake.New(how)}
	const zone = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VTIMEZONE\r\nTZID:W. Europe Standard " +
		"Time\r\nEND:VTIMEZONE\r\nEND:VCALENDAR\r\n"
	a.holidays = a.AddCalendar("a-holidays", "Holidays", "", true)
	a.work = a.AddCalendar("office", "Office & more", zone, false)
	a.home = a.AddCalendar("home", "Home", "", false)
	a.AddTasks("tasks")
	served := httptest.NewServer(a.Server)
	t.Cleanup(served.Close)
	a.url = served.URL
	return a
}

func (a account) open(t testing.TB, path string, more map[string]any) calendar.Driver {
	return open(t, a.url+path, "alice", password, more)
}

func TestCalendarsAreFoundFromAnyAddress(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"", "/", "/dav/", "/dav/principals/alice/", "/dav/calendars/alice/", "/dav/calendars/alice/home/",
		"/some/app",
	} {
		a := newAccount(t, fake.Options{})
		list, err := a.open(t, path, nil).Calendars(t.Context())
		want := []calendar.Calendar{
			{ID: a.holidays, Name: "Holidays", ReadOnly: true},
			{ID: a.home, Name: "Home", IsDefault: true}, // ordered by id
			{ID: a.work, Name: "Office & more", Zone: "Europe/Berlin"},
		}
		if err != nil || !slices.Equal(list, want) {
			t.Errorf("from %q: %+v, %v, want %+v", path, list, err, want)
		}
	}
}

func TestWhichCalendarIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, path string
		how        fake.Options
		calendar   string
		want       string
	}{
		{"the first that can be written", "", fake.Options{}, "", "home"},
		{"the one that the server's scheduling names", "", fake.Options{AutoSchedule: true}, "", "office"},
		{"the one that the address is of", "/dav/calendars/alice/office/", fake.Options{}, "", "office"},
		{"the one that the connection names by its name", "", fake.Options{AutoSchedule: true}, "home", "home"},
		{"by its name whatever the case", "", fake.Options{}, "oFFICE & More", "office"},
		{"by its id", "", fake.Options{}, "/dav/calendars/alice/office/", "office"},
		{"by its whole address, without the last slash", "", fake.Options{},
			"{url}/dav/calendars/alice/office", "office"},
		{"none, where it names one that is not there", "", fake.Options{}, "Lunch", ""},
	} {
		a := newAccount(t, c.how)
		driver := a.open(t, c.path, map[string]any{"calendar": strings.ReplaceAll(c.calendar, "{url}", a.url)})
		list, err := driver.Calendars(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		got := ""
		for _, found := range list {
			if found.IsDefault {
				got += strings.TrimSuffix(strings.TrimPrefix(found.ID, "/dav/calendars/alice/"), "/")
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
		if c.want == "" {
			_, err := driver.Book(t.Context(), lunch("k1"))
			want(t, err, fault.NotFound, fault.ReasonCalendarNotFound)
		}
	}
}

func lunch(key string) calendar.Booking {
	start := time.Date(2027, 5, 3, 12, 0, 0, 0, time.UTC)
	return calendar.Booking{
		Key: key, Title: "Lunch", Start: start, End: start.Add(time.Hour), Zone: "Europe/Berlin",
	}
}

func week() calendar.Query {
	start := time.Date(2027, 5, 1, 0, 0, 0, 0, time.UTC)
	return calendar.Query{From: start, To: start.AddDate(0, 0, 7), Zone: "Europe/Berlin"}
}

func want(t *testing.T, err error, code fault.Code, reason string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || f.Reason != reason {
		t.Errorf("got %v, want %s %s", err, code, reason)
	}
}

func TestAServerThatSendsNoInvitationsIsSaid(t *testing.T) {
	t.Parallel()
	on := map[string]any{"auto_schedule": true}
	_, err := newAccount(t, fake.Options{}).open(t, "", on).Account(t.Context())
	want(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	for _, quiet := range []bool{false, true} {
		driver := newAccount(t, fake.Options{AutoSchedule: true, QuietClasses: quiet}).open(t, "", on)
		if _, err := driver.Account(t.Context()); err != nil || !driver.Traits().SendsInvites {
			t.Errorf("a server that does, and says so to OPTIONS only: %t: %v, %+v", quiet, err, driver.Traits())
		}
	}
}

func TestTheServersOwnAddressOfTheAccountIsTold(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	got, err := open(t, a.url, "alice", password, map[string]any{"email": ""}).Account(t.Context())
	if err != nil || got != (calendar.Account{Email: email, Name: "Alice"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What is known of an account is kept as long as its connection is in use, and a tenant may have many connections.
func TestAnAccountThatTakesTooMuchMemoryIsRefused(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	for i := range 500 {
		a.AddCalendar(strconv.Itoa(i), "A calendar of its own", "", false)
	}
	if all, err := a.open(t, "", nil).Calendars(t.Context()); err != nil || len(all) != 503 {
		t.Errorf("%d calendars: %v", len(all), err)
	}
	a.AddCalendar("long", strings.Repeat("x", 1<<20), "", false)
	_, err := a.open(t, "", nil).Calendars(t.Context())
	want(t, err, fault.Exhausted, upstream.ReasonAnswerTooLarge)
}

func TestServersThatAreNone(t *testing.T) {
	t.Parallel()
	multistatus := func(props string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusMultiStatus)
			_, _ = w.Write([]byte(`<D:multistatus xmlns:D="DAV:"><D:response><D:href>/</D:href><D:propstat><D:prop>` +
				props + `</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`))
		}
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		serve  http.HandlerFunc
		code   fault.Code
		reason string
	}{
		"a web page": {status(200, "<html>Welcome</html>"), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		"nothing there": {status(404, ""), fault.Unsupported, fault.ReasonProviderMisconfigured},
		"no WebDAV":     {status(405, ""), fault.Unsupported, fault.ReasonProviderMisconfigured},
		"a multistatus of rubbish": {status(207, "<D:multi"), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		"an empty multistatus": {status(207, `<D:multistatus xmlns:D="DAV:"/>`), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		"a user that it does not know": {multistatus(
			`<D:current-user-principal><D:unauthenticated/></D:current-user-principal>`), fault.Disconnected,
			fault.ReasonReconnectRequired},
		"a user without calendars": {multistatus(
			`<D:current-user-principal><D:href>/me/</D:href></D:current-user-principal>`), fault.Unsupported,
			fault.ReasonProviderMisconfigured},
		"refused credentials": {status(401, ""), fault.Disconnected, fault.ReasonReconnectRequired},
		"being down":          {status(502, ""), fault.Unavailable, fault.ReasonProviderUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			served := httptest.NewServer(c.serve)
			defer served.Close()
			_, err := open(t, served.URL, "alice", password, nil).Account(t.Context())
			want(t, err, c.code, c.reason)
		})
	}
}

func TestACalendarIsEnoughWhereNothingElseCanBeSeen(t *testing.T) {
	t.Parallel()
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/shared/team/" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusMultiStatus)
		_, _ = w.Write([]byte(
			`<multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><response><href>/shared/team/</href><propstat><prop>` +
				`<resourcetype><collection/><C:calendar/></resourcetype><current-user-principal><href>/me/</href></current-user-principal>` +
				`</prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>`))
	}))
	defer served.Close()
	list, err := open(t, served.URL+"/shared/team/", "alice", password, nil).Calendars(t.Context())
	if want := []calendar.Calendar{{ID: "/shared/team/", Name: "team", IsDefault: true}}; err != nil ||
		!slices.Equal(list, want) {
		t.Errorf("got %+v, %v, want %+v", list, err, want)
	}
}

// hosts is a client that connects to the one server for every host name.
type hosts struct {
	target string
	seen   []string // method and host of each request
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.seen = append(h.seen, r.Method+" "+r.URL.Host)
	out := r.Clone(r.Context())
	out.Host, out.URL.Host = r.URL.Host, h.target
	out.SetBasicAuth("alice", password)
	resp, err := http.DefaultTransport.RoundTrip(out)
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

func TestCalendarsOnAnotherHostAreFollowedThere(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{HomeHost: "p42.cal.example.com"})
	client := &hosts{target: strings.TrimPrefix(a.url, "http://")}
	driver, err := caldav.Adapter().OpenCalendar(t.Context(),
		adapter.Values{Settings: map[string]any{"url": "http://cal.example.com"}, Credentials: map[string]string{
			"username": "alice", "password": password,
		}},
		adapter.Environment{HTTP: &http.Client{Transport: client}, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	booked, err := driver.Book(t.Context(), lunch("k1"))
	if err != nil || !strings.HasPrefix(booked.ID, a.home) {
		t.Fatalf("booked %+v, %v", booked, err)
	}
	if err := driver.Cancel(t.Context(), calendar.EventRef{ID: booked.ID}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"PROPFIND cal.example.com", "PROPFIND p42.cal.example.com", "PUT p42.cal.example.com",
		"DELETE p42.cal.example.com",
	} {
		if !slices.Contains(client.seen, want) {
			t.Errorf("no %s among %q", want, client.seen)
		}
	}
}

// TestOnlyEventsCanBeNamedAsEvents checks that, for any id, only a member of a calendar is read, changed or
// removed.
func TestOnlyEventsCanBeNamedAsEvents(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	driver := a.open(t, "", nil)
	if _, err := driver.Book(t.Context(), lunch("k1")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		"", "/", "#", "x", a.home, strings.TrimSuffix(a.home, "/"), "/dav/calendars/alice/",
		"/dav/principals/alice/", a.home + "../office/x.ics", a.home + "..", a.home + ".", a.home + "x/y.ics",
		a.home + "%2e%2e", a.home + "x.ics?force", a.home + "%00", a.home + "x%0d%0a",
		"http://elsewhere.example.com" + a.home + "x.ics", "//elsewhere.example.com" + a.home + "x.ics",
		a.home + "#20270503T120000Z", "/dav/calendars/bob/home/x.ics",
	} {
		ref := calendar.EventRef{ID: id}
		_, err := driver.Event(t.Context(), ref)
		want(t, err, fault.NotFound, fault.ReasonEventNotFound)
		_, err = driver.Change(t.Context(), ref, calendar.Change{})
		want(t, err, fault.NotFound, fault.ReasonEventNotFound)
		want(t, driver.Cancel(t.Context(), ref), fault.NotFound, fault.ReasonEventNotFound)
	}
	if requests := a.Requests(); requests["DELETE"] != 0 || requests["PUT"] != 1 || requests["GET"] != 0 {
		t.Errorf("the server was sent %v", requests)
	}
}

func TestDiscoveryIsDoneOnceAndAgainWhenSomethingIsMissing(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	driver := a.open(t, "", nil)
	for range 5 {
		if _, err := driver.Events(t.Context(), week()); err != nil {
			t.Fatal(err)
		}
	}
	if asked := a.Requests()["PROPFIND"]; asked > 4 {
		t.Errorf("%d PROPFINDs for five listings", asked)
	}

	made := a.AddCalendar("new", "New", "", false)
	b := lunch("k2")
	b.CalendarID = made
	booked, err := driver.Book(t.Context(), b)
	if err != nil {
		t.Fatalf("a calendar made since: %v", err)
	}
	a.RemoveCalendar(made)
	q := week()
	q.CalendarID = made
	_, err = driver.Events(t.Context(), q)
	want(t, err, fault.NotFound, fault.ReasonCalendarNotFound)
	_, err = driver.Book(t.Context(), b)
	want(t, err, fault.NotFound, fault.ReasonCalendarNotFound)
	_, err = driver.Event(t.Context(), calendar.EventRef{ID: booked.ID})
	want(t, err, fault.NotFound, fault.ReasonEventNotFound)
}

func TestACalendarRemovedWithoutOurKnowingIsNotFound(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(calendar.Driver) error{
		"Events": func(d calendar.Driver) error { _, err := d.Events(context.Background(), week()); return err },
		"Book":   func(d calendar.Driver) error { _, err := d.Book(context.Background(), lunch("k3")); return err },
	} {
		a := newAccount(t, fake.Options{})
		driver := a.open(t, "", map[string]any{"calendar": "Home"})
		if _, err := driver.Events(t.Context(), week()); err != nil {
			t.Fatal(err)
		}
		a.RemoveCalendar(a.home)
		if err := call(driver); !errors.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEventThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	head, tail := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\n"+
		"DTSTAMP:20260101T000000Z\r\n", "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	for data, code := range map[string]fault.Code{
		"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n":                           fault.Unsupported,
		head + "DTSTART:soon" + tail:                                    fault.Unsupported,
		head + "DTSTART:20270503T000000Z\r\nRRULE:FREQ=LUNAR" + tail:    fault.Unsupported,
		head + "DTSTART:20270503T000000Z\r\nRRULE:FREQ=SECONDLY" + tail: fault.Exhausted,
	} {
		a := newAccount(t, fake.Options{})
		path := a.Put(a.home, "broken.ics", data)
		_, err := a.open(t, "", nil).Events(t.Context(), week())
		if !errors.Is(err, code) || code == fault.Unsupported && !strings.Contains(fault.From(err).Detail, path) {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// A stranger's invitation may repeat often, and have a long text.
func TestInstancesTakeNoMemoryForWhatTheyHaveInCommon(t *testing.T) {
	a := newAccount(t, fake.Options{})
	a.Put(a.home, "long.ics", meeting("long", append([]string{
		"RRULE:FREQ=MINUTELY;INTERVAL=5", "DESCRIPTION:" + strings.Repeat(`A word\, and another\n`, 20_000),
	}, lunchTime...)...))
	driver := a.open(t, "", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, err := driver.Events(t.Context(), week())
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || len(page.Events) < 1000 || made > 100 {
		t.Errorf("%d instances with one text take %d MiB: %v", len(page.Events), made, err)
	}
}

func TestWithoutETagsTheContentIsTheVersion(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{NoTags: true})
	driver := a.open(t, "", nil)
	booked, err := driver.Book(t.Context(), lunch("k1"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := driver.Events(t.Context(), week())
	if err != nil || len(page.Events) != 1 || page.Events[0].Version != booked.Version {
		t.Fatalf("booked %+v, listed %+v, %v", booked, page, err)
	}
	a.Put(a.home, booked.ID[len(a.home):],
		strings.Replace(a.Get(booked.ID), "SUMMARY:Lunch", "SUMMARY:Dinner", 1))
	title := "Tea"
	ref := calendar.EventRef{ID: booked.ID}
	_, err = driver.Change(t.Context(), ref, calendar.Change{Title: &title, IfUnchanged: booked.Version})
	want(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
}

func TestAnEventOfAnotherProgramsMakingUnderOurNameIsNotOurs(t *testing.T) {
	t.Parallel()
	a := newAccount(t, fake.Options{})
	driver := a.open(t, "", nil)
	booked, err := driver.Book(t.Context(), lunch("k1"))
	if err != nil {
		t.Fatal(err)
	}
	a.Put(a.home, booked.ID[len(a.home):], strings.Replace(a.Get(booked.ID), "UID:k1", "UID:other", 1))
	_, err = driver.Book(t.Context(), lunch("k1"))
	want(t, err, fault.Conflict, fault.ReasonProviderConflict)
}
