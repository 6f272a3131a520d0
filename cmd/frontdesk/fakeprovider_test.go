package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	googlefake "frontdesk/adapters/calendar/google/fake"
	microsoftfake "frontdesk/adapters/calendar/microsoft/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// fakeProvider serves the API and the authorization server of a fake over HTTP.
type fakeProvider struct {
	name    string
	title   string
	oauth   *oauthtest.Server
	revoke  func()
	environ []string

	mu     sync.Mutex
	around func(w http.ResponseWriter, r *http.Request, serve http.Handler) // wraps the fake, if set
}

const customer = "pat@example.com"

// eachProvider runs a test with each provider that customers connect by consent. start starts a new fake of
// it.
func eachProvider(t *testing.T, test func(t *testing.T, start func(testing.TB) *fakeProvider)) {
	for name, start := range map[string]func(testing.TB) *fakeProvider{
		"google": fakeGoogle, "microsoft": fakeMicrosoft,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start)
		})
	}
}

func fakeGoogle(t testing.TB) *fakeProvider {
	p := &fakeProvider{name: "google", title: "Google Calendar"}
	base := p.serve(t, func(base string) http.Handler {
		fake := googlefake.New(googlefake.Options{
			Accounts: []string{customer}, Zone: "America/New_York", MeetPolls: 1,
			OAuth: oauthtest.Options{
				Issuer: base, Clients: map[string]string{"desk": "desk-secret", "own": "own-secret"},
				Assertions: map[string]*rsa.PublicKey{robot: &robotKey().PublicKey},
			},
		})
		p.oauth, p.revoke = fake.OAuth, fake.Revoke
		return fake
	})
	p.environ = []string{
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=desk-secret",
		"FRONTDESK_PROVIDERS__GOOGLE__AUTH_URL=" + base + googlefake.AuthorizePath,
		"FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL=" + base + googlefake.TokenPath,
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL=" + base, "FRONTDESK_PROVIDERS__GOOGLE__ISSUER=" + base,
	}
	return p
}

func fakeMicrosoft(t testing.TB) *fakeProvider {
	return filledMicrosoft(t, func(*microsoftfake.Server) {})
}

func filledMicrosoft(t testing.TB, fill func(*microsoftfake.Server)) *fakeProvider {
	p := &fakeProvider{name: "microsoft", title: "Microsoft 365"}
	base := p.serve(t, func(string) http.Handler {
		fake := microsoftfake.New(microsoftfake.Options{
			Account: customer, Name: "Pat", Zone: "America/New_York", LateLinks: 1,
			Clients: map[string]string{"desk": "desk-secret", "own": "own-secret"},
		})
		p.oauth, p.revoke = fake.OAuth(), fake.Revoke
		fill(fake)
		return fake
	})
	p.environ = []string{
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_ID=desk",
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_SECRET=desk-secret",
		"FRONTDESK_PROVIDERS__MICROSOFT__AUTHORITY=" + base + "/common",
		"FRONTDESK_PROVIDERS__MICROSOFT__API_URL=" + base + "/v1.0",
	}
	return p
}

// robot is a service account at Google.
const robot = "robot@project.example"

var robotKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// serviceAccountFile returns the service account's file with a key, in Google's format.
func serviceAccountFile(t testing.TB, keyID string) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(robotKey())
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": robot, "private_key_id": keyID,
		"token_uri":   "http://169.254.169.254/",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// withoutClient returns the configuration without the operator's OAuth client.
func (p *fakeProvider) withoutClient() []string {
	return slices.DeleteFunc(slices.Clone(p.environ),
		func(v string) bool { return strings.Contains(v, "__CLIENT_") })
}

// serve runs the provider on its own port and returns its address.
func (p *fakeProvider) serve(t testing.TB, of func(base string) http.Handler) string {
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	handler := of(base)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		around := p.around
		p.mu.Unlock()
		if around == nil {
			handler.ServeHTTP(w, r)
			return
		}
		around(w, r, handler)
	})
	server.Start()
	t.Cleanup(server.Close)
	return base
}

func (p *fakeProvider) put(around func(http.ResponseWriter, *http.Request, http.Handler)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.around = around
}

// connect creates a tenant and has its customer follow a link to consent. The gateway must serve at its
// public address.
func (p *fakeProvider) connect(d *deployment, r *running, more ...string) (page string) {
	d.t.Helper()
	link := d.must(append([]string{"connect-link", "--tenant", "acme", "--provider", p.name}, more...)...)
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	shown := visit(d.t, browser, http.MethodGet, link, nil)
	if !strings.Contains(shown.page, "acme") || !strings.Contains(shown.page, p.title) {
		d.t.Fatalf("the page does not say who asks for what:\n%s", shown.page)
	}
	atProvider := visit(d.t, browser, http.MethodPost, link, url.Values{})
	if strings.HasPrefix(atProvider.address, r.api) {
		d.t.Fatalf("the customer was not sent to the provider:\n%s", atProvider.page)
	}
	back := visit(d.t, browser, http.MethodPost, atProvider.address, url.Values{"approve": {"yes"}})
	if !strings.HasPrefix(back.address, r.api+"/oauth/callback/"+p.name) {
		d.t.Fatalf("the customer came back to %s:\n%s", back.address, back.page)
	}
	return back.page
}

type visited struct{ address, page string }

func visit(t testing.TB, browser *http.Client, method, address string, form url.Values) visited {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: status %d, %v\n%s", method, address, res.StatusCode, err, page)
	}
	return visited{res.Request.URL.String(), string(page)}
}

// servePublicly starts a gateway that listens at its public address.
func (d *deployment) servePublicly() *running {
	d.t.Helper()
	listen := "127.0.0.1:" + adaptertest.FreePort(d.t)
	d.environ = append(d.environ, "FRONTDESK_SERVER__LISTEN="+listen,
		"FRONTDESK_SERVER__PUBLIC_URL=http://"+listen)
	return d.serve()
}

// One script for every provider, from the link for a customer to the cancelled meeting. Access tokens expire
// again and again in between, and no call notices.
func TestFromConsentToCancelledMeeting(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, start func(testing.TB) *fakeProvider) {
		p := start(t)
		d := newDeployment(t, "", append(p.environ, longDeadlines()...)...)
		d.must("tenant", "create", "acme", "--timezone", "America/New_York")
		r := d.servePublicly()
		c := r.as(d.must("key", "create", "--tenant", "acme"))

		before := c.post(200, "calendar/verify-calendar-connection", `{}`)
		if before.get("ok") != false || before.text("email") != "" {
			t.Errorf("verify before the consent: %s", before.body)
		}
		page := p.connect(d, r)
		if !strings.Contains(page, customer) {
			t.Errorf("the last page does not say which account was connected:\n%s", page)
		}

		expire := p.oauth.ExpireAccess
		verified := c.post(200, "calendar/verify-calendar-connection", `{}`)
		if verified.get("ok") != true || verified.text("email") != customer {
			t.Fatalf("verify: %s", verified.body)
		}
		expire()
		calendars := c.post(200, "calendar/list-calendars", `{}`)
		if n := len(calendars.get("calendars").([]any)); n == 0 {
			t.Errorf("calendars: %s", calendars.body)
		}
		expire()
		booked := c.post(200, "calendar/book-meeting", `{"title": "Consultation", "description": "Bring the plans.",
			"start_time": "2027-03-02T10:00:00", "end_time": "2027-03-02T10:30:00",
			"attendee_emails": ["sam@example.com", "kim@example.com"], "conferencing_type": "provider"}`)
		event := booked.text("event", "event_id")
		if event == "" || booked.text("event", "start_time") != "2027-03-02T10:00:00-05:00" ||
			!strings.HasPrefix(booked.text("event", "event_url"), "https://") {
			t.Fatalf("booked: %s", booked.body)
		}
		expire()
		listed := c.post(200, "calendar/list-events", `{"start_time": "2027-03-02", "end_time": "2027-03-03"}`)
		if listed.text("events", 0, "event_id") != event || listed.text("events", 0, "subject") != "Consultation" ||
			listed.text("events", 0, "event_url") != booked.text("event", "event_url") ||
			len(listed.get("events", 0, "attendees").([]any)) != 2 {
			t.Errorf("listed: %s", listed.body)
		}
		expire()
		moved := c.post(200, "calendar/update-meeting",
			fmt.Sprintf(
				`{"event_id": %q, "start_time": "2027-03-02T15:00:00", "attendee_emails": ["sam@example.com"]}`, event))
		if moved.text("event", "end_time") != "2027-03-02T15:30:00-05:00" {
			t.Errorf("moved: %s", moved.body)
		}
		expire()
		c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id": %q}`, event))
		c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id": %q}`, event))
		expire()
		left := c.post(200, "calendar/list-events", `{"start_time": "2027-03-02", "end_time": "2027-03-03"}`)
		for i := range left.get("events").([]any) {
			if left.get("events", i, "is_cancelled") != true {
				t.Errorf("after the cancellation: %s", left.body)
			}
		}

		link := c.post(200, "calendar/book-meeting",
			`{"title": "By a link", "start_time": "2027-03-03T10:00:00", "end_time": "2027-03-03T10:30:00",
			"conferencing_type": "url", "location_url": "https://meet.example.com/room?a=1&b=2"}`)
		if link.text("event", "event_url") != "https://meet.example.com/room?a=1&b=2" {
			t.Errorf("booked with a link: %s", link.body)
		}
		if log := r.log(); strings.Contains(log, "desk-secret") || strings.Contains(log, "access-") ||
			strings.Contains(log, "refresh-") || strings.Contains(log, "fdc_") {
			t.Errorf("a secret is in the log:\n%s", log)
		}
	})
}

// If the customer withdraws the consent, the caller is told at once, the operator sees it, and another link
// mends it: the connection keeps its id, and with it everything that the gateway knows.
func TestConsentIsTakenBackAndGivenAgain(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, start func(testing.TB) *fakeProvider) {
		p := start(t)
		d := newDeployment(t, "", append(p.environ, longDeadlines()...)...)
		d.must("tenant", "create", "acme")
		r := d.servePublicly()
		c := r.as(d.must("key", "create", "--tenant", "acme"))
		p.connect(d, r, "--name", "front-office")
		event := c.post(200, "calendar/book-meeting",
			`{"title": "Kept", "start_time": "2027-03-02T10:00:00Z", "end_time": "2027-03-02T10:30:00Z"}`).
			text("event", "event_id")

		p.revoke()
		refused := c.post(400, "calendar/list-events", `{}`)
		if refused.reason() != "RECONNECT_REQUIRED" ||
			!strings.Contains(string(refused.body), "/problems/reconnect-required") {
			t.Errorf("refused with %s", refused.body)
		}
		calls := p.oauth.TokenCalls()
		again := c.post(400, "calendar/list-events", `{}`)
		if again.reason() != "RECONNECT_REQUIRED" || p.oauth.TokenCalls() != calls {
			t.Errorf("asked again: %s, and %d calls for a token", again.body, p.oauth.TokenCalls()-calls)
		}
		verified := c.post(200, "calendar/verify-calendar-connection", `{}`)
		if verified.get("ok") != false || verified.text("email") != customer {
			t.Errorf("verify: %s", verified.body)
		}
		if status := connectionStatus(d); status != "reconnect_required" {
			t.Errorf("connection list says %q", status)
		}
		if _, output, code := d.do("", "connection", "verify", "--tenant", "acme", "front-office"); code != 1 ||
			!strings.Contains(output, "connect-link --tenant acme --provider "+p.name+" --name front-office") {
			t.Errorf("connection verify: exit %d, %s", code, output)
		}

		p.connect(d, r, "--name", "front-office")
		if status := connectionStatus(d); status != "ok" {
			t.Errorf("connection list says %q after the second consent", status)
		}
		c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id": %q}`, event))
	})
}

func connectionStatus(d *deployment) string {
	var list []struct{ Status string }
	if err := json.Unmarshal([]byte(d.must("connection", "list", "--tenant", "acme", "--json")),
		&list); err != nil || len(list) != 1 {
		d.t.Fatalf("%v, %v", list, err)
	}
	return list[0].Status
}

// A tenant brings its own OAuth client. Its secret can be entered again without losing the customer's
// consent.
func TestATenantsOwnClient(t *testing.T) {
	t.Parallel()
	eachProvider(t, func(t *testing.T, start func(testing.TB) *fakeProvider) {
		p := start(t)
		d := newDeployment(t, "", append(p.withoutClient(), "OWN_SECRET=own-secret")...)
		d.must("tenant", "create", "acme")
		r := d.servePublicly()
		c := r.as(d.must("key", "create", "--tenant", "acme"))
		if _, output, code := d.do("", "connect-link", "--tenant", "acme", "--provider", p.name); code == 0 ||
			!strings.Contains(output, "providers."+p.name+".client_id") {
			t.Errorf("a link without any client: exit %d, %s", code, output)
		}
		add := []string{"connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", p.name,
			"--name", "own",
			"--set", "client_id=own", "--secret", "client_secret=env:OWN_SECRET"}
		if _, output, code := d.do("", add...); code != 0 ||
			!strings.Contains(output, "connect-link --tenant acme --provider "+p.name+" --name own") {
			t.Errorf("connection add: exit %d, %s", code, output)
		}
		if status := connectionStatus(d); status != "reconnect_required" {
			t.Errorf("before the consent the connection is %q", status)
		}
		p.connect(d, r, "--name", "own")
		c.post(200, "calendar/list-events", `{}`)
		d.must(add...)
		p.oauth.ExpireAccess()
		c.post(200, "calendar/list-events", `{}`)
		if status := connectionStatus(d); status != "ok" {
			t.Errorf("after the secret was entered again the connection is %q", status)
		}
	})
}

// Companies connect without a customer's consent: by a service account of Google, and by application
// permissions of Microsoft.
func TestCompaniesConnectWithoutConsent(t *testing.T) {
	t.Parallel()
	book := `{"title": "Once", "start_time": "2027-03-02T10:00:00Z", "end_time": "2027-03-02T10:30:00Z", "attendee_emails": ["sam@example.com"], "conferencing_type": "provider"}`
	verify := func(d *deployment, p *fakeProvider) {
		d.t.Helper()
		if output := d.must("connection", "verify", "--tenant", "acme",
			p.name); !strings.Contains(output, customer) {
			d.t.Errorf("verify: %s", output)
		}
		c := d.serve().as(d.must("key", "create", "--tenant", "acme"))
		p.oauth.ExpireAccess()
		c.post(200, "calendar/book-meeting", book)
	}
	t.Run("google", func(t *testing.T) {
		p := fakeGoogle(t)
		path := filepath.Join(t.TempDir(), "key.json")
		if err := os.WriteFile(path, []byte(serviceAccountFile(t, "1")), 0o600); err != nil {
			t.Fatal(err)
		}
		d := newDeployment(t, "", p.withoutClient()...)
		d.must("tenant", "create", "acme")
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "google",
			"--set", "subject="+customer, "--secret", "service_account=file:"+path)
		verify(d, p)
	})
	t.Run("microsoft", func(t *testing.T) {
		p := fakeMicrosoft(t)
		p.put(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			r.URL.Path = strings.Replace(r.URL.Path, "/contoso.example/", "/common/", 1) // the directory is not common
			serve.ServeHTTP(w, r)
		})
		d := newDeployment(t, "", append(p.environ, longDeadlines()...)...)
		d.must("tenant", "create", "acme")
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "microsoft",
			"--set", "directory=contoso.example", "--set", "mailbox="+customer)
		verify(d, p)
	})
}
