package main

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	google "frontdesk/adapters/calendar/google/fake"
	microsoft "frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/oauth/oauthtest"
)

// consenting is a fake provider at which customers give consent.
type consenting struct {
	calendar string // the calendar of the account
	needs    string // a scope that every connection needs
	handler  http.Handler
	oauth    *oauthtest.Server
	environ  func(at string) []string
}

func googleAt(redirect string) consenting {
	fake := google.New(google.Options{Accounts: []string{accountEmail}, OAuth: oauthtest.Options{
		Clients: map[string]string{"the-client": "s3cret-canary"}, Redirects: []string{redirect},
		Issuer: "https://accounts.google.com",
	}})
	const scope = "https://www.googleapis.com/auth/calendar.events"
	return consenting{accountEmail, scope, fake, fake.OAuth, func(at string) []string {
		return []string{
			"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=the-client",
			"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=s3cret-canary",
			"FRONTDESK_PROVIDERS__GOOGLE__AUTH_URL=" + at + google.AuthorizePath,
			"FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL=" + at + google.TokenPath,
			"FRONTDESK_PROVIDERS__GOOGLE__API_URL=" + at,
		}
	}}
}

func microsoftAt(redirect string) consenting {
	fake := microsoft.New(microsoft.Options{
		Account: accountEmail, Clients: map[string]string{"the-client": "s3cret-canary"},
		Redirects: []string{redirect},
	})
	return consenting{"Calendar", "Calendars.ReadWrite", fake, fake.OAuth(), func(at string) []string {
		return []string{
			"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_ID=the-client",
			"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_SECRET=s3cret-canary",
			"FRONTDESK_PROVIDERS__MICROSOFT__AUTHORITY=" + at + "/common",
			"FRONTDESK_PROVIDERS__MICROSOFT__API_URL=" + at + "/v1.0",
		}
	}}
}

const accountEmail = "desk@acme.example"

// The whole way from the operator's command to a meeting in the customer's calendar, with the providers' own
// formats.
func TestACustomerConnectsACalendarAndAnAgentBooksInIt(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(redirect string) consenting{
		"google": googleAt, "microsoft": microsoftAt,
	} {
		t.Run(name, func(t *testing.T) {
			address := freeAddress(t)
			p := at("http://" + address + "/oauth/callback/" + name)
			server := httptest.NewServer(p.handler)
			t.Cleanup(server.Close)
			d := newDeployment(t, "", append(p.environ(server.URL), "FRONTDESK_SERVER__LISTEN="+address,
				"FRONTDESK_SERVER__PUBLIC_URL=http://"+address, "FRONTDESK_LOG__LEVEL=debug")...)
			d.must("tenant", "create", "acme")
			r := d.serve()
			link := d.must("connect-link", "--tenant", "acme", "--provider", name)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			b := browser{t, &http.Client{Jar: jar}}

			b.press(b.press(link, nil), url.Values{"deny": {"yes"}}, "You declined")
			p.oauth.Untick(p.needs)
			b.press(b.press(link, nil), url.Values{"approve": {"yes"}}, "Some access is missing")
			b.press(b.press(link, nil), url.Values{"approve": {"yes"}}, "is connected", accountEmail, p.calendar)

			if listed := d.must("connection", "list", "--tenant", "acme"); !strings.Contains(listed, accountEmail) ||
				!strings.Contains(listed, "ok") {
				t.Errorf("connections:\n%s", listed)
			}
			agent := r.as(d.must("key", "create", "--tenant", "acme"))
			meeting := `{"title":"Fitting","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z"}`
			if event := agent.post(http.StatusOK, "calendar/book-meeting", meeting).
				text("event", "event_id"); event == "" {
				t.Error("no meeting is booked")
			}
			if verified := agent.post(http.StatusOK, "calendar/verify-calendar-connection",
				"{}"); verified.text("email") != accountEmail {
				t.Errorf("the connection verifies as %s", verified.body)
			}
			token := link[strings.LastIndex(link, "/")+1:]
			for _, secret := range []string{token, "s3cret-canary", "code-", "access-", "refresh-"} {
				if strings.Contains(r.log(), secret) {
					t.Errorf("%q is in the log:\n%s", secret, r.log())
				}
			}
		})
	}
}

// Customers see the operator's brand and the tenant's display name, in their language.
func TestCustomersSeeTheOperatorsBrand(t *testing.T) {
	t.Parallel()
	address, logo := freeAddress(t), filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(logo, []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), 0o600); err != nil {
		t.Fatal(err)
	}
	google := googleAt("http://" + address + "/oauth/callback/google")
	d := newDeployment(t, "", append(google.environ("http://127.0.0.1:1"), "FRONTDESK_SERVER__LISTEN="+address,
		"FRONTDESK_SERVER__PUBLIC_URL=http://"+address, "FRONTDESK_PAGES__NAME=Front Office",
		"FRONTDESK_PAGES__SUPPORT=help@office.example", "FRONTDESK_PAGES__LOGO="+logo)...)
	d.must("tenant", "create", "acme", "--display-name", "Acme Dental Care")
	d.serve()
	get := func(address string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", "de-DE,de;q=0.9")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", address, answer.StatusCode, err)
		}
		return string(body)
	}
	shown := get(d.must("connect-link", "--tenant", "acme", "--provider", "google"))
	for _, want := range []string{`lang="de"`, "Acme Dental Care", "Front Office", "mailto:help@office.example",
		"Was Sie erlauben sollen", "Termine in Ihren Kalendern"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page lacks %s:\n%s", want, shown)
		}
	}
	src := regexp.MustCompile(`src="(/brand/[^"]+)"`).FindStringSubmatch(shown)
	if src == nil || !strings.Contains(get("http://"+address+src[1]), "<svg") {
		t.Errorf("there is no logo in\n%s", shown)
	}
	if page := get("http://" + address + "/settings/sign-in"); !strings.Contains(page, "Front Office") {
		t.Errorf("the sign-in page lacks the name:\n%s", page)
	}
	d.environ = append(d.environ, "FRONTDESK_PAGES__LOGO="+filepath.Join(t.TempDir(), "none.png"))
	if _, errs, code := d.do("", "tenant", "list"); code == exitOK || !strings.Contains(errs, "pages.logo") {
		t.Errorf("a logo that is not there: %d %s", code, errs)
	}
}

// browser follows links and submits forms as a customer's browser does.
type browser struct {
	t      *testing.T
	client *http.Client
}

// press submits the form of the page at an address, and fails unless the resulting page has these texts. It
// returns the resulting address.
func (b browser) press(address string, form url.Values, says ...string) string {
	b.t.Helper()
	response, err := b.client.PostForm(address, form)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, text := range says {
		if !strings.Contains(string(body), text) {
			b.t.Fatalf("%d, no %q in\n%s", response.StatusCode, text, body)
		}
	}
	return response.Request.URL.String()
}

// freeAddress returns an address that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
