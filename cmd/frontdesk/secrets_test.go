//go:build attack

package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	googlefake "frontdesk/adapters/calendar/google/fake"
	microsoftfake "frontdesk/adapters/calendar/microsoft/fake"
	freshdeskfake "frontdesk/adapters/crm/freshdesk/fake"
	hubspotfake "frontdesk/adapters/crm/hubspot/fake"
	salesforcefake "frontdesk/adapters/crm/salesforce/fake"
	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	telnyxfake "frontdesk/adapters/telephony/telnyx/fake"
	twiliofake "frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store/storetest"
)

// Texts that must not come out: secrets nowhere, and what callers say of people in no log line at info level.
// Every planted secret begins with the same mark, so that a part of a secret is found as well.
const (
	secretMark = "cnry"
	personMark = "prsn"
)

// asPanicking makes the command know the additional adapter "panicking".
const asPanicking = "FRONTDESK_TEST_PANICS"

func init() { extra[asPanicking] = panicking }

// panicking returns an adapter whose driver panics with a secret that it was given, each time in another
// form.
func panicking() adapter.Adapter {
	type settings struct {
		Token string `credential:"token" required:"true" help:"A secret."`
	}
	return adapter.CRM(adapter.Declaration{Name: "panicking", Title: "Panicky", Help: "Panics with its secret."},
		func(_ context.Context, s settings, _ adapter.Environment) (crm.Driver, error) {
			return &panics{secret: s.Token}, nil
		})
}

type panics struct {
	secret string
	turn   atomic.Int64
}

func (p *panics) panic(message string) {
	switch p.turn.Add(1) % 4 {
	case 0:
		panic("the token " + p.secret + " of " + message)
	case 1:
		panic(fmt.Errorf("cannot use %q for %q: %w", p.secret, message, io.ErrUnexpectedEOF))
	case 2:
		panic(struct{ Token, Said string }{p.secret, message})
	}
	panic(fault.New(fault.Internal, fault.ReasonInternal, p.secret+message))
}

func (*panics) Traits() crm.Traits { return crm.Traits{} }

func (p *panics) Account(context.Context) (crm.Account, error) {
	p.panic("")
	return crm.Account{}, nil
}

func (p *panics) Vocabulary(context.Context) (crm.Vocabulary, error) { return crm.Vocabulary{}, nil }

func (p *panics) Create(_ context.Context, t crm.NewTicket) (crm.Ticket, error) {
	p.panic(t.Subject)
	return crm.Ticket{}, nil
}

func (p *panics) ByNumber(_ context.Context, number string) (crm.Ticket, error) {
	p.panic(number)
	return crm.Ticket{}, nil
}

// echoing is in front of the fake providers. In most modes it responds itself, with everything that it was
// sent, including secrets, as careless servers and proxies do.
type echoing struct{ mode atomic.Int64 } // 0: the provider responds; -1: no response; else the status

func (l *echoing) before(h http.Handler) func(string) http.Handler {
	return func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mode := int(l.mode.Load())
			switch mode {
			case 0:
				h.ServeHTTP(w, r)
				return
			case -1:
				panic(http.ErrAbortHandler)
			}
			dump, _ := httputil.DumpRequest(r, true)
			user, password, _ := r.BasicAuth()
			page := fmt.Sprintf("Your credentials %s %s and %s are refused, %s. You sent: %s", user, password,
				strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
				strings.Join(r.Header["X-Rest-Key"], ""), dump)
			header := w.Header()
			header.Set("Content-Type", "application/json")
			header.Set("WWW-Authenticate", fmt.Sprintf(`Basic realm=%q, password=%q`, user, password))
			header.Set("X-Echo", r.Header.Get("Authorization")+r.Header.Get("X-Rest-Key"))
			header.Set("Location", "/elsewhere?access_token="+password)
			w.WriteHeader(mode)
			page, short := strings.ReplaceAll(page, "\r\n", " "), password+r.Header.Get("Authorization")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"message": page, "detail": page, "description": page, "code": 20003, "category": short,
				"error_description": page,
				"error": map[string]any{
					"code": short, "message": page, "title": page,
					"errors": []any{map[string]any{"reason": short, "message": page}},
				},
				"errors": []any{map[string]any{
					"code": short, "title": short, "detail": page, "message": page, "errorCode": short, "field": page,
				}},
			})
		})
	}
}

// deploymentWithSecrets returns a configuration in which every credential is a secret to look for, and a file
// of tenants that uses every adapter.
func deploymentWithSecrets(
	t *testing.T, storeURL, level string,
) (h *deployment, l *echoing, tenants []string) {
	t.Helper()
	l = &echoing{}
	serve := func(h http.Handler) string { return new(fakeProvider).serve(t, l.before(h)) }
	var google, microsoft, salesforce string
	google = new(fakeProvider).serve(t, func(base string) http.Handler {
		return l.before(googlefake.New(googlefake.Options{Accounts: []string{customer}, OAuth: oauthtest.Options{
			Issuer: base, Clients: map[string]string{"desk": "cnry-google-client"},
		}}))("")
	})
	mailbox := microsoftfake.New(microsoftfake.Options{
		Account: customer, Clients: map[string]string{"desk": "cnry-microsoft-client"},
	})
	microsoft = serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.Replace(r.URL.Path, "/contoso.example/", "/common/", 1)
		mailbox.ServeHTTP(w, r)
	}))
	salesforce = serve(salesforcefake.New(salesforcefake.Options{
		Accounts: []string{customer},
		OAuth:    oauthtest.Options{Clients: map[string]string{"app": "cnry-salesforce-client"}},
	}))
	dav := caldavfake.New(caldavfake.Options{User: "pat", Password: "cnry-caldav-password", Email: customer})
	dav.AddCalendar("front", "Front", "", false)
	caldav := serve(dav)
	zendesk := serve(zendeskfake.New(zendeskfake.Options{AccessToken: "cnry-zendesk-token"}))
	freshdesk := serve(freshdeskfake.New(freshdeskfake.Options{APIKey: "cnry-freshdesk-key"}))
	hubspot := serve(
		hubspotfake.New(hubspotfake.Options{Tokens: map[string][]string{"cnry-hubspot-token": nil}}))
	telnyx := serve(telnyxfake.New(telnyxfake.Options{APIKey: "KEYcnry-telnyx", PerArea: 99}))
	twilio := serve(twiliofake.New(twiliofake.Options{AuthToken: "cnry-twilio-token"}))
	rest := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"id": 7, "subject": "x"}`)
	}))

	connection := func(kind, provider string, settings map[string]any, credentials ...string) map[string]any {
		c := map[string]any{
			"name": provider, "kind": kind, "provider": provider, "default": true, "settings": settings,
		}
		named := map[string]string{}
		for i := 0; i < len(credentials); i += 2 {
			named[credentials[i]] = "env:" + credentials[i+1]
		}
		if len(named) > 0 {
			c["credentials"] = named
		}
		return c
	}
	step := map[string]any{"name": "one", "path": "tickets/1"}
	file := map[string]any{"tenants": []any{
		map[string]any{"name": "first", "max_purchases_per_day": 1000, "connections": []any{
			connection("calendar", "caldav", map[string]any{"url": caldav + "/dav/"}, "username", "PLANT_USER",
				"password", "PLANT_CALDAV"),
			connection("crm", "zendesk", map[string]any{"base_url": zendesk}, "access_token", "PLANT_ZENDESK"),
			connection("telephony", "telnyx", map[string]any{}, "api_key", "PLANT_TELNYX"),
		}},
		map[string]any{"name": "second", "max_purchases_per_day": 1000, "connections": []any{
			connection("calendar", "microsoft", map[string]any{"directory": "contoso.example", "mailbox": customer}),
			connection("crm", "freshdesk",
				map[string]any{"base_url": freshdesk, "requester_email": "calls@example.com"}, "api_key",
				"PLANT_FRESHDESK"),
			connection("telephony", "twilio", map[string]any{}, "account_sid", "PLANT_SID", "auth_token",
				"PLANT_TWILIO"),
		}},
		map[string]any{"name": "third", "connections": []any{
			connection("calendar", "google", map[string]any{"subject": customer}, "service_account", "PLANT_GOOGLE"),
			connection("crm", "hubspot", map[string]any{}, "access_token", "PLANT_HUBSPOT"),
		}},
		map[string]any{"name": "fourth", "connections": []any{
			connection("crm", "salesforce",
				map[string]any{"flow": "client_credentials", "client_id": "app", "base_url": salesforce}, "client_secret",
				"PLANT_SALESFORCE"),
		}},
		map[string]any{"name": "fifth", "connections": []any{
			connection("crm", "rest", map[string]any{
				"base_url": rest, "auth_header": "X-Rest-Key", "number_pattern": ".*",
				"account": map[string]any{"steps": []any{step}, "name": `"x"`},
				"create": map[string]any{"steps": []any{map[string]any{"name": "create", "method": "POST",
					"path": "tickets",
					"body": "{subject: .ticket.subject, description: .ticket.description}"}},
					"number": ".steps.create.body.id"},
				"get": map[string]any{"steps": []any{map[string]any{"name": "one", "path": "tickets/{.number}"}}},
				"ticket": map[string]any{"id": ".steps.one.body.id", "number": ".steps.one.body.id",
					"subject":     ".steps.one.body.subject",
					"description": ".steps.one.body.description"},
			}, "token", "PLANT_REST"),
		}},
		map[string]any{"name": "sixth",
			"connections": []any{connection("crm", "panicking", map[string]any{}, "token", "PLANT_PANIC")}},
	}}
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	h = newDeployment(t, storeURL, asPanicking+"=1", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
		"FRONTDESK_LOG__LEVEL="+level,
		"FRONTDESK_RESILIENCE__BREAKER__FAILURES=100000", "FRONTDESK_RESILIENCE__MAX_TRIES=1",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk",
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=cnry-google-client",
		"FRONTDESK_PROVIDERS__GOOGLE__AUTH_URL="+google+googlefake.AuthorizePath,
		"FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL="+google+googlefake.TokenPath,
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL="+google, "FRONTDESK_PROVIDERS__GOOGLE__ISSUER="+google,
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_ID=desk",
		"FRONTDESK_PROVIDERS__MICROSOFT__CLIENT_SECRET=cnry-microsoft-client",
		"FRONTDESK_PROVIDERS__MICROSOFT__AUTHORITY="+microsoft+"/common",
		"FRONTDESK_PROVIDERS__MICROSOFT__API_URL="+microsoft+"/v1.0",
		"FRONTDESK_PROVIDERS__HUBSPOT__API_URL="+hubspot, "FRONTDESK_PROVIDERS__TELNYX__API_URL="+telnyx,
		"FRONTDESK_PROVIDERS__TWILIO__API_URL="+twilio,
		"PLANT_USER=pat", "PLANT_CALDAV=cnry-caldav-password", "PLANT_ZENDESK=cnry-zendesk-token",
		"PLANT_TELNYX=KEYcnry-telnyx",
		"PLANT_FRESHDESK=cnry-freshdesk-key", "PLANT_SID="+twiliofake.AccountSID, "PLANT_TWILIO=cnry-twilio-token",
		"PLANT_HUBSPOT=cnry-hubspot-token",
		"PLANT_SALESFORCE=cnry-salesforce-client", "PLANT_REST=cnry-rest-token", "PLANT_PANIC=cnry-panic-token",
		"PLANT_GOOGLE="+serviceAccountFile(t, "cnry-key-id"))
	h.must("apply", "-f", path)
	return h, l, []string{"first", "second", "third", "fourth", "fifth", "sixth"}
}

// personalCalls returns calls of the operations, with what callers say of people in every field that can hold
// it.
func personalCalls(turn string) []request {
	meeting := `"title":"prsn-title","description":"prsn-description","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z","attendee_emails":["prsn@example.com"],"location_url":"https://meet.example.com/prsn-link"`
	return []request{
		{path: "POST /v1/calendar/list-calendars", body: `{}`},
		{path: "POST /v1/calendar/verify-calendar-connection", body: `{}`},
		{path: "POST /v1/calendar/book-meeting", body: `{` + meeting + `}`},
		{path: "POST /v1/calendar/list-events", body: `{"start_time":"2027-03-01","end_time":"2027-03-04"}`},
		{path: "POST /v1/calendar/update-meeting",
			body: `{"event_id":"event-` + turn +
				`","title":"prsn-title","description":"prsn-description","attendee_emails":["prsn@example.com"]}`},
		{path: "POST /v1/calendar/cancel-meeting", body: `{"event_id":"event-` + turn + `"}`},
		{path: "POST /v1/tickets/create-ticket",
			body: `{"subject":"prsn-subject","description":"prsn-description"}`},
		{path: "POST /v1/tickets/get-ticket", body: `{"ticket_number":"4711"}`},
		{path: "GET /beta/phone-numbers"},
		{path: "POST /beta/phone-numbers", body: `{"area_code":"415","name":"prsn-name"}`},
		{path: "PATCH /beta/phone-numbers/1", body: `{"name":"prsn-name"}`},
		{path: "DELETE /beta/phone-numbers/1"},
		{path: "POST /v1/tickets/create-ticket", body: `{"subject":"prsn-subject","status":7,"description":"cnry`},
		{path: "POST /v1/tickets/create-ticket",
			body: `{"subject":"prsn-subject","status":"prsn-status","priority":"prsn-priority","owner_id":"prsn-owner","contact_id":"prsn-contact"}`},
		{path: "POST /v1/tickets/get-ticket", body: `{"ticket_number":"prsn-number"}`},
		{path: "POST /v1/calendar/book-meeting",
			body: `{"title":7,"start_time":"prsn-time","attendee_emails":["prsn at example.com"],"selected_calendar_ids":["prsn-calendar"],"conferencing_type":"prsn-kind","timezone":"prsn/Zone"}`},
	}
}

// No secret comes out of any operation at any failure, whatever a provider sends back: not in logs at debug
// level, responses, metrics, traces, pages, the output of commands, or the bytes of the database. At info
// level, the log also holds nothing that a caller said of people; traces never do.
func TestNoSecretComesOut(t *testing.T) {
	t.Parallel()
	for _, jwt := range []string{"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9", "eyJpc3MiOiJhbm5AZXhhbXBsZS5jb20ifQ"} {
		if tokenIn(jwt) < 0 {
			t.Fatalf("%s is not recognised", jwt)
		}
	}
	for _, c := range []struct{ level, store string }{{"debug", "SQLite"}, {"info", "PostgreSQL"}} {
		t.Run("at level "+c.level+" on "+c.store, func(t *testing.T) {
			t.Parallel()
			storeURL := ""
			if c.store == "PostgreSQL" {
				storeURL = storetest.Postgres(t)
			}
			noSecretComesOut(t, storeURL, c.level)
		})
	}
}

func noSecretComesOut(t *testing.T, storeURL, level string) {
	d, l, tenants := deploymentWithSecrets(t, storeURL, level)
	collected := newSpanCollector(t)
	d.environ = append(d.environ, "FRONTDESK_TELEMETRY__OTLP__ENDPOINT="+collected.url)
	keys := map[string]string{}
	for _, tenant := range tenants {
		keys[tenant] = d.must("key", "create", "--tenant", tenant)
	}
	link := d.must("connect-link", "--tenant", "first", "--provider", "google", "--name", "second")
	link = link[strings.LastIndexByte(link, '/')+1:]
	r := d.serve()

	out := &sinks{t: t, own: append(slicesOfValues(keys), link)}
	modes := []int{0, 400, 403, 404, 422, 429, 500, 200, -1, 401}
	if level == "info" { // every mode has what is said of people; fewer suffice
		modes = []int{0, 422, 500, -1, 401}
	}
	asked := 0
	for _, mode := range modes {
		l.mode.Store(int64(mode))
		var wg sync.WaitGroup
		for _, tenant := range tenants {
			calls := personalCalls(fmt.Sprint(mode + 2))
			if slices.Index(tenants, tenant) > 2 { // they have only tickets
				calls = slices.DeleteFunc(calls, func(q request) bool { return !strings.Contains(q.path, "/tickets/") })
			}
			asked += len(calls)
			wg.Go(func() {
				for i, q := range calls {
					method, path, _ := strings.Cut(q.path, " ")
					a, err := r.as(keys[tenant]).call(method, path+"?access_token=cnry-query&email=prsn@example.com", q.body,
						"X-Request-Timeout-Ms: 1500", fmt.Sprintf("Idempotency-Key: prsn-key-%d-%d", mode, i),
						"Cookie: session=cnry-cookie",
						"Tracestate: a=cnry-state", "Baggage: user=cnry-baggage",
						"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
						"User-Agent: cnry-agent", "Referer: https://cnry-referer.example/",
						"Proxy-Authorization: Basic cnry-proxy", "X-Forwarded-For: cnry-hop")
					if err != nil {
						t.Errorf("%s: %v", q.path, err)
						continue
					}
					out.secretsOnly(fmt.Sprintf("the answer to %s when providers answer %d", q.path, mode),
						fmt.Sprint(a.header)+string(a.body))
				}
			})
		}
		wg.Wait()
		if mode == 422 || mode == 401 {
			printed, errs, _ := d.do("", "doctor", "--json")
			out.secretsOnly(fmt.Sprintf("doctor when providers answer %d", mode), printed+errs)
		}
		if mode == 401 {
			printed, errs, _ := d.do("", "connection", "verify", "--tenant", "first", "telnyx")
			out.secretsOnly("connection verify", printed+errs)
		}
	}
	l.mode.Store(0)

	// Input outside the operations: keys and links in addresses.
	for _, path := range []string{"/v1/" + keys["first"], "/connect/" + link + "x",
		"/oauth/callback/google?state=cnry-state&code=cnry-code", "/beta/phone-numbers/" + keys["first"],
		"/docs?key=" + keys["first"], "/problems/" + keys["first"]} {
		if _, err := r.as("").call(http.MethodGet, path, "", "Authorization: Basic Y25yeTpjbnJ5"); err != nil {
			t.Error(err)
		}
	}
	for _, slug := range []string{"internal", "reconnect-required", "invalid-request"} {
		out.all("a page", string(r.as("").do(200, http.MethodGet, "/problems/"+slug, "").body))
	}
	out.all("metrics", string(caller{t: t, base: r.ops}.do(200, http.MethodGet, "/metrics", "").body))
	commands := [][]string{{"audit", "list", "--json", "--limit", "100000"}}
	if level == "debug" { // their output does not depend on the level
		commands = append(commands, []string{"audit", "verify"},
			[]string{"connection", "list", "--tenant", "first", "--json"},
			[]string{"key", "list", "--tenant", "first", "--json"}, []string{"keyset", "status", "--json"})
	}
	for _, command := range commands {
		printed, errs, _ := d.do("", command...)
		out.secretsOnly(strings.Join(command, " "), printed+errs)
		if command[0] == "audit" {
			out.all("audit", printed)
		}
	}
	r.stop()
	if n := len(collected.spans()); n < asked {
		t.Errorf("there are %d spans of %d requests: the test proves less than it should", n, asked)
	}
	out.all("the traces", collected.text())
	if n := strings.Count(r.log(), "panicked"); n == 0 {
		t.Error("no driver panicked: the test proves less than it should")
	}
	if level == "info" {
		out.all("the log", r.log())
	} else {
		out.secretsOnly("the log", r.log())
		if !strings.Contains(r.log(), "upstream exchange") || !strings.Contains(r.log(), personMark) {
			t.Error("at debug level, the log does not tell what providers said: the test proves less than it should")
		}
	}
	r.mu.Lock()
	out.secretsOnly("standard output", r.out.String())
	r.mu.Unlock()
	out.database(d, storeURL)
	t.Logf("%d requests, %d things that came out held against what was planted, %d bytes of them", asked,
		out.held.Load(), out.bytes.Load())
}

func slicesOfValues(m map[string]string) []string {
	var list []string
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// sinks checks the output of a gateway for texts that must not come out.
type sinks struct {
	t     *testing.T
	own   []string // the gateway's API keys and links
	held  atomic.Int64
	bytes atomic.Int64
}

// issued match tokens from the fake authorization servers, and assertions that were signed for them: JSON in base64
// whose first member has a name of three letters (alg, typ, kid, iss). What is sealed is in base64 as well, and in
// millions of characters of it, "eyJ" alone comes about by chance. Each begins with a text, for which regexp looks
// far faster than for one of several.
var issued = []*regexp.Regexp{
	regexp.MustCompile(`access-[A-Z2-7]{5,}`), regexp.MustCompile(`refresh-[A-Z2-7]{5,}`),
	regexp.MustCompile(`eyJ[0-9A-Za-z_-]{4}iO[ij][0-9A-Za-z_-]{10,}`),
}

// tokenIn returns where in a text a token is; -1: nowhere.
func tokenIn(text string) int {
	for _, form := range issued {
		if at := form.FindStringIndex(text); at != nil {
			return at[0]
		}
	}
	return -1
}

// secretsOnly looks for secrets.
func (o *sinks) secretsOnly(of, text string) {
	o.t.Helper()
	o.look(of, text, secretMark)
}

// all looks for secrets, and for what callers said of people.
func (o *sinks) all(of, text string) {
	o.t.Helper()
	o.look(of, text, secretMark)
	o.look(of, text, personMark)
}

func (o *sinks) look(of, text, mark string) {
	o.t.Helper()
	o.held.Add(1)
	o.bytes.Add(int64(len(text)))
	marks := append([]string{mark}, o.own...)
	der := x509.MarshalPKCS1PrivateKey(robotKey())
	body, _ := pem.Decode(pem.EncodeToMemory(&pem.Block{Type: "K", Bytes: der}))
	marks = append(marks, string(body.Bytes[40:80]), "PRIVATE KEY")
	for _, m := range marks {
		if at := strings.Index(text, m); at >= 0 {
			o.t.Errorf("%s holds %q:\n%s", of, m, around(text, at))
			return
		}
	}
	if at := tokenIn(text); at >= 0 {
		o.t.Errorf("%s holds a token:\n%s", of, around(text, at))
	}
}

func around(text string, at int) string { return text[max(0, at-400):min(len(text), at+200)] }

// database looks for secrets in every stored byte: the files of the data directory except the key set, and a
// dump of PostgreSQL.
func (o *sinks) database(h *deployment, storeURL string) {
	o.t.Helper()
	var dir string
	for _, v := range h.environ {
		if rest, ok := strings.CutPrefix(v, "FRONTDESK_DATA_DIR="); ok {
			dir = rest
		}
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "keyset.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		files++
		o.secretsOnly(d.Name(), string(raw))
		return err
	})
	if err != nil {
		o.t.Error(err)
	}
	if storeURL == "" {
		if files == 0 {
			o.t.Error("no file was looked into")
		}
		return
	}
	dump := storetest.DumpText(o.t, storeURL)
	if !strings.Contains(dump, "COPY public.connections") {
		o.t.Fatal("pg_dump: there are no connections in it")
	}
	o.secretsOnly("the dump", dump)
}
