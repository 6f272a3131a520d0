package google_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/calendar/google"
	"frontdesk/adapters/calendar/google/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
	"frontdesk/core/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = google.Adapter()

const (
	email    = "alice@example.com"
	second   = "c_5a1b@group.calendar.google.com"
	holidays = "en.uk#holiday@group.v.calendar.google.com"
	clientID = "front-desk.apps.example.com"
	secret   = "correct horse battery staple"
)

func scopes(t testing.TB) []string {
	t.Helper()
	grant, err := declared.Auth.OAuth.Grant(adapter.Values{}, adapter.Addresses{})
	if err != nil {
		t.Fatal(err)
	}
	return grant.ScopeNames()
}

// testServer serves the fake, with a customer who has consented.
type testServer struct {
	*fake.Server
	url            string
	refresh, token string
}

func serve(t testing.TB, how fake.Options, around ...func(http.Handler) http.Handler) *testServer {
	t.Helper()
	how.Accounts = []string{email}
	how.OAuth = oauthtest.Options{Clients: map[string]string{clientID: secret}}
	server := fake.New(how)
	server.AddCalendar(email, fake.Calendar{ID: second, Name: "Work"})
	server.AddCalendar(email, fake.Calendar{
		ID: holidays, Name: "Holidays", Role: "reader", Solutions: []string{},
	})
	server.AddCalendar(email, fake.Calendar{ID: "boss@example.com", Name: "Boss", Role: "freeBusyReader"})
	s := &testServer{
		Server: server, url: adaptertest.Serve(t, server, around...),
		refresh: server.OAuth.Grant(clientID, email, scopes(t)...),
	}
	s.token = s.redeem(t, s.refresh)
	return s
}

// redeem exchanges a refresh token for an access token.
func (s *testServer) redeem(t testing.TB, refresh string) string {
	t.Helper()
	return adaptertest.AccessToken(t, s.url+fake.TokenPath, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {clientID},
		"client_secret": {secret},
	})
}

// open opens a driver as the gateway does: with a client that authorises requests, and without a token.
func (s *testServer) open(t testing.TB, token string, more map[string]any) calendar.Driver {
	t.Helper()
	return s.openAs(t, more, s.url, time.Now, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
}

func (s *testServer) openAs(
	t testing.TB, more map[string]any, address string, now func() time.Time, authorize func(*http.Request) error,
) calendar.Driver {
	t.Helper()
	client := adaptertest.Client(t, "google", address, authorize)
	driver, err := declared.OpenCalendar(context.Background(),
		adapter.Values{Settings: more, Credentials: map[string]string{"refresh_token": s.refresh}},
		adapter.Environment{
			Zone: "America/New_York", HTTP: client, Now: now, Addresses: adapter.Addresses{"api_url": address},
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

func (s *testServer) driver(t testing.TB) calendar.Driver { t.Helper(); return s.open(t, s.token, nil) }

// TestContract runs the suite in the settings that TestEveryRequestIsAsGoogleDescribesThem leaves: there, pages are
// short and empty, and conferences take their time.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		how  fake.Options
		more map[string]any
	}{
		{rule: "plain"},
		{rule: "with another calendar as the default one", more: map[string]any{"calendar_id": second}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			calendartest.Run(t, func(t *testing.T) calendartest.Harness { return harness(t, serve(t, c.how), c.more) })
		})
	}
	t.Run("without the scope for free/busy", func(t *testing.T) {
		calendartest.Run(t, func(t *testing.T) calendartest.Harness {
			s := serve(t, fake.Options{PageSize: 2})
			s.consentWithout(t, "calendar.freebusy")
			return harness(t, s, nil)
		})
	})
}

// consentWithout replaces the token by one of a consent without a scope.
func (s *testServer) consentWithout(t testing.TB, scope string) {
	t.Helper()
	granted := slices.DeleteFunc(scopes(t), func(name string) bool { return strings.HasSuffix(name, "/"+scope) })
	s.refresh = s.OAuth.Grant(clientID, email, granted...)
	s.token = s.redeem(t, s.refresh)
}

func TestEveryRequestIsAsGoogleDescribesThem(t *testing.T) {
	t.Parallel()
	api := described.Open(t, "google-calendar.openapi.json", "/calendar/v3")
	calendartest.Run(t, func(t *testing.T) calendartest.Harness {
		return harness(t, serve(t, fake.Options{PageSize: 2, EmptyPages: true, MeetPolls: 1}, api.Handler), nil)
	})
	api.Report(t)
}

func harness(t *testing.T, s *testServer, more map[string]any) calendartest.Harness {
	return calendartest.Harness{
		Open:     func() calendar.Driver { return s.open(t, s.token, more) },
		Calendar: email, Second: second, ReadOnly: holidays,
		UnknownCalendar: "nobody@example.com", UnknownEvent: "nosuchevent0",
		Email: email, Secrets: []string{s.token, s.refresh, secret}, Now: time.Now,
		Provider: &outside{s.Server},
	}
}

// outside makes the changes that people make in Google's own pages, by the methods that the suite expects.
type outside struct{ *fake.Server }

func clock(at time.Time, zone string) map[string]any {
	return map[string]any{"dateTime": at.Format(time.RFC3339), "timeZone": zone}
}

func (o *outside) MakeSeries(_ context.Context, s calendartest.Series) error {
	_, err := o.Make(email, s.CalendarID, map[string]any{
		"summary": s.Title, "recurrence": []any{"RRULE:" + s.Rule}, "start": clock(s.Start, s.Zone),
		"end": clock(s.Start.Add(s.Length), s.Zone),
	})
	return err
}

func (o *outside) Invite(_ context.Context, organizer, guest string, s calendartest.Series) error {
	given := map[string]any{
		"summary": s.Title, "organizer": map[string]any{"email": organizer, "self": false},
		"start": clock(s.Start, s.Zone), "end": clock(s.Start.Add(s.Length), s.Zone),
		"attendees": []any{
			map[string]any{"email": email, "self": true, "responseStatus": "needsAction"},
			map[string]any{"email": guest, "responseStatus": "needsAction"},
		},
	}
	if s.Rule != "" {
		given["recurrence"] = []any{"RRULE:" + s.Rule}
	}
	_, err := o.Make(email, s.CalendarID, given)
	return err
}

func (o *outside) MakeDays(_ context.Context, calendarID, title string, from, to calendar.Time) error {
	date := func(t calendar.Time) map[string]any {
		return map[string]any{"date": t.Instant.Format(time.DateOnly)}
	}
	_, err := o.Make(email, calendarID, map[string]any{"summary": title, "start": date(from), "end": date(to)})
	return err
}

func (o *outside) MakeFree(_ context.Context, calendarID, title string, from, to time.Time) error {
	_, err := o.Make(email, calendarID, map[string]any{
		"summary": title, "transparency": "transparent", "start": clock(from, "UTC"), "end": clock(to, "UTC"),
	})
	return err
}

func (o *outside) Answer(_ context.Context, ref calendar.EventRef, guest, response string) error {
	return o.Respond(email, ref.CalendarID, ref.ID, guest, response)
}

func (o *outside) Retitle(_ context.Context, ref calendar.EventRef, title string) error {
	return o.Server.Retitle(email, ref.CalendarID, ref.ID, title)
}

func (o *outside) Notices(_ context.Context, ref calendar.EventRef) ([]calendartest.Notice, error) {
	var list []calendartest.Notice
	for _, n := range o.Server.Notices(email, ref.CalendarID, ref.ID) {
		list = append(list, calendartest.Notice(n))
	}
	return list, nil
}
