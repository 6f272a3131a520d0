package microsoft_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/adapters/calendar/microsoft"
	"frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/adapter/described"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

// declared is the adapter. What its settings may be is read from their declaration once.
var declared = microsoft.Adapter()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	email        = "alice@example.com"
	clientID     = "client"
	clientSecret = "correct horse battery"
)

// delegated are the scopes that a customer grants.
var delegated = []string{"offline_access", "User.Read", "Calendars.ReadWrite"}

// TestContractOnTheFake runs the suite in the settings that TestEveryRequestIsAsMicrosoftDescribesThem leaves.
func TestContractOnTheFake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		how  fake.Options
	}{
		{"in another zone, with links that come late", fake.Options{Zone: "Asia/Tokyo", LateLinks: 2}},
		{"that forgets transactions", fake.Options{Forgets: true, Zone: "America/Los_Angeles"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			calendartest.Run(t, func(t *testing.T) calendartest.Harness { return harness(t, c.how, "", nil) })
		})
	}
}

func TestEveryRequestIsAsMicrosoftDescribesThem(t *testing.T) {
	t.Parallel()
	api := described.Open(t, "msgraph-calendar.openapi.json", "/v1.0")
	for rule, mailbox := range map[string]string{
		"of a customer who agreed": "", "with application permissions": email,
	} {
		t.Run(rule, func(t *testing.T) {
			calendartest.Run(t, func(t *testing.T) calendartest.Harness {
				return harness(t, fake.Options{}, mailbox, held(api))
			})
		})
	}
	api.Report(t)
}

func harness(
	t *testing.T, how fake.Options, mailbox string, around func(http.Handler) http.Handler,
) calendartest.Harness {
	a := serve(t, how, around)
	a.mailbox = mailbox
	second, holidays := a.AddCalendar("Second", false), a.AddCalendar("Holidays", true)
	t.Cleanup(func() {
		if n := a.Crowded(); n > 0 {
			t.Errorf("%d requests found four running already", n)
		}
		if n := a.Mutable(); n > 0 {
			t.Errorf("%d requests did not ask for immutable ids", n)
		}
	})
	token := a.token()
	return calendartest.Harness{
		Open:     func() calendar.Driver { return a.openWith(token) },
		Calendar: a.Default(), Second: second, ReadOnly: holidays,
		UnknownCalendar: "AAMkAGI/no+calendar=", UnknownEvent: "AAMkAGI/no+event=",
		Email: email, Secrets: []string{clientSecret, token}, Now: time.Now,
		Provider: &provider{a.Server},
	}
}

// account is a mailbox at the fake, with what is needed to open a driver for it.
type account struct {
	*fake.Server
	t       testing.TB
	url     string
	mailbox string
	setting map[string]any
}

// serve serves a fake, wrapped by around if that is not nil.
func serve(t testing.TB, how fake.Options, around func(http.Handler) http.Handler) *account {
	t.Helper()
	how.Clients, how.Account, how.Name = map[string]string{clientID: clientSecret}, email, "Alice Example"
	server := fake.New(how)
	var handler http.Handler = server
	if around != nil {
		handler = around(handler)
	}
	return &account{Server: server, t: t, url: adaptertest.Serve(t, handler), setting: map[string]any{}}
}

// token returns an access token, by a customer's refresh token or by the application's own credentials.
func (a *account) token() string {
	a.t.Helper()
	form := url.Values{"client_id": {clientID}, "client_secret": {clientSecret}}
	if a.mailbox == "" {
		form.Set("grant_type", "refresh_token")
		form.Set("refresh_token", a.OAuth().Grant(clientID, email, delegated...))
	} else {
		form.Set("grant_type", "client_credentials")
		form.Set("scope", "https://graph.microsoft.com/.default")
	}
	return adaptertest.AccessToken(a.t, a.url+"/common/oauth2/v2.0/token", form)
}

func (a *account) open() calendar.Driver { return a.openWith(a.token()) }

// openWith opens a driver as the gateway does: with a client that authorises requests, and without a secret.
func (a *account) openWith(token string) calendar.Driver {
	a.t.Helper()
	client := adaptertest.Client(a.t, "microsoft", a.url, func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	})
	return openDriver(a.t, client, a.url+"/v1.0", a.mailbox, a.setting)
}

func openDriver(t testing.TB, client *http.Client, api, mailbox string, more map[string]any) calendar.Driver {
	t.Helper()
	given := map[string]any{"client_id": clientID}
	if mailbox != "" {
		given["mailbox"], given["directory"] = mailbox, "example.onmicrosoft.com"
	}
	for name, value := range more {
		given[name] = value
	}
	driver, err := declared.OpenCalendar(context.Background(),
		adapter.Values{Settings: given, Credentials: map[string]string{"client_secret": clientSecret}},
		adapter.Environment{
			Zone: "America/New_York", HTTP: client, Now: time.Now, Addresses: adapter.Addresses{"api_url": api},
		})
	if err != nil {
		t.Fatal(err)
	}
	return driver
}

// held checks every request against the description, and each part of a batch as a separate request. Links of
// Graph are not checked.
func held(api *described.Description) func(http.Handler) http.Handler {
	check := api.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	note := func(r *http.Request) {
		query := r.URL.Query()
		query.Del("$skiptoken")
		r.URL.RawQuery = query.Encode()
		check.ServeHTTP(httptest.NewRecorder(), r)
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			again := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
			one := r.Clone(r.Context())
			one.Body = again()
			r.Body = again()
			switch {
			case err != nil: // the client has disconnected
			case !strings.HasPrefix(r.URL.Path, "/v1.0/"):
			case strings.HasSuffix(r.URL.Path, "/decline"):
				// See learn.microsoft.com/graph/api/event-decline. The description used here has only the
				// action cancel of the API; the fake refuses a body that is not as documented.
			case r.URL.Path == "/v1.0/$batch":
				var batch struct {
					Requests []struct {
						Method, URL string
						Headers     map[string]string
					}
				}
				_ = json.Unmarshal(body, &batch) // the fake refuses a body that cannot be decoded
				for _, p := range batch.Requests {
					part := httptest.NewRequestWithContext(r.Context(), p.Method, "http://"+r.Host+"/v1.0"+p.URL, nil)
					for name, value := range p.Headers {
						part.Header.Set(name, value)
					}
					note(part)
				}
			default:
				note(one)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// provider changes the fake and injects faults, by the methods that the suite expects.
type provider struct{ *fake.Server }

func (p *provider) MakeSeries(_ context.Context, s calendartest.Series) error {
	_, err := p.Series(s.CalendarID, s.Title, s.Start, s.Length, s.Zone, s.Rule)
	return err
}

func (p *provider) Invite(_ context.Context, organizer, guest string, s calendartest.Series) error {
	_, err := p.InviteToSeries(s.CalendarID, s.Title, organizer, guest, s.Start, s.Length, s.Zone, s.Rule)
	return err
}

func (p *provider) MakeDays(_ context.Context, calendarID, title string, from, to calendar.Time) error {
	_, err := p.Days(calendarID, title, from.Instant, to.Instant)
	return err
}

func (p *provider) MakeFree(_ context.Context, calendarID, title string, from, to time.Time) error {
	_, err := p.Free(calendarID, title, from, to)
	return err
}

func (p *provider) Answer(_ context.Context, ref calendar.EventRef, email, response string) error {
	if response == "tentative" {
		response = "tentativelyAccepted"
	}
	return p.Server.Answer(ref.ID, email, response)
}

func (p *provider) Retitle(_ context.Context, ref calendar.EventRef, title string) error {
	return p.Server.Retitle(ref.ID, title)
}

// Notices returns whom Exchange notified.
func (p *provider) Notices(_ context.Context, ref calendar.EventRef) ([]calendartest.Notice, error) {
	var list []calendartest.Notice
	for _, n := range p.Server.Notices(ref.ID) {
		list = append(list, calendartest.Notice(n))
	}
	return list, nil
}
