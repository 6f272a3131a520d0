//go:build attack

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	freshdeskfake "frontdesk/adapters/crm/freshdesk/fake"
	hubspotfake "frontdesk/adapters/crm/hubspot/fake"
	salesforcefake "frontdesk/adapters/crm/salesforce/fake"
	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	telnyxfake "frontdesk/adapters/telephony/telnyx/fake"
	twiliofake "frontdesk/adapters/telephony/twilio/fake"

	"frontdesk/adapters/all"
	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/gateway"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/tenant"
)

// takeIn makes a tenant for each connection, in a gateway that is not running yet, and answers their keys.
func (h *house) takeIn(connections ...tenant.NewConnection) (keys []string) {
	h.t.Helper()
	ours := slices.DeleteFunc(slices.Clone(h.environ), func(v string) bool {
		return !strings.HasPrefix(v, "FRONTDESK_") || strings.HasPrefix(v, "FRONTDESK_TEST_")
	})
	cfg, err := config.Load("", ours)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx := context.Background()
	g, err := gateway.Open(ctx, cfg, gateway.Options{Adapters: all.Adapters(), LogTo: io.Discard})
	if err != nil {
		h.t.Fatal(err)
	}
	defer g.Close()
	if err := g.Migrate(ctx); err != nil {
		h.t.Fatal(err)
	}
	known, err := g.Directory().Tenants(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	for i, c := range connections {
		name := fmt.Sprintf("tenant-%d", len(known)+i)
		if _, err := g.Directory().CreateTenant(ctx, name, tenant.Settings{Timezone: "America/New_York"}); err != nil {
			h.t.Fatal(err)
		}
		c.Name = "main"
		if _, err := g.Directory().AddConnection(ctx, name, c); err != nil {
			h.t.Fatal(err)
		}
		key, _, err := g.Directory().CreateKey(ctx, name, tenant.NewKey{})
		if err != nil {
			h.t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// office is one account at a pretended provider, connected without anybody's consent, and how it is used.
type office struct {
	*pretended
	connection tenant.NewConnection
	read       request
	create     request
	change     func(made answer) request // nil: there is none
	remove     func(made answer) request
	effects    func() int // things made there
	wordless   []string   // what is answered by nothing when it is done
}

const (
	methodOfChange = "PATCH"
	methodOfRemove = "DELETE"
)

// methodOf is how the request is sent: the path of a number has several methods.
func (a office) send(c caller, what string, q request, headers ...string) (answer, error) {
	method := http.MethodPost
	if a.connection.Kind == adapter.KindTelephony {
		method = map[string]string{"read": http.MethodGet, "change": methodOfChange, "remove": methodOfRemove}[what]
		if method == "" {
			method = http.MethodPost
		}
	}
	return c.call(method, q.path, q.body, headers...)
}

func calendarUse(a office) office {
	a.connection.Kind = adapter.KindCalendar
	a.read = request{path: "/v1/calendar/list-events", body: `{"start_time":"2027-03-01","end_time":"2027-03-05","timezone":"UTC"}`}
	a.create = request{path: "/v1/calendar/book-meeting", body: `{"title":"Once","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z","timezone":"UTC"}`}
	a.change = func(made answer) request {
		return request{path: "/v1/calendar/update-meeting", body: fmt.Sprintf(`{"event_id":%q,"title":"Changed","timezone":"UTC"}`, made.text("event", "event_id"))}
	}
	a.remove = func(made answer) request {
		return request{path: "/v1/calendar/cancel-meeting", body: fmt.Sprintf(`{"event_id":%q}`, made.text("event", "event_id"))}
	}
	a.wordless = []string{"remove"}
	if a.name == "caldav" {
		a.wordless = []string{"change", "remove"}
	}
	return a
}

func ticketUse(a office) office {
	a.connection.Kind = adapter.KindCRM
	a.read = request{path: "/v1/tickets/get-ticket", body: `{"ticket_number":"4711"}`}
	a.create = request{path: "/v1/tickets/create-ticket", body: `{"subject":"Once"}`}
	a.effects = a.tickets
	return a
}

func numberUse(a office) office {
	const numbers = "/beta/phone-numbers"
	a.connection.Kind = adapter.KindTelephony
	a.read = request{path: numbers}
	a.create = request{path: numbers, body: `{"area_code":"415","name":"Once"}`}
	of := func(made answer) string { return fmt.Sprintf("%s/%.0f", numbers, made.get("id")) }
	a.change = func(made answer) request { return request{path: of(made), body: `{"name":"Changed"}`} }
	a.remove = func(made answer) request { return request{path: of(made)} }
	return a
}

// offices are one at every provider that is not a sandbox. The adapter of any other system has servers of its own.
func offices() map[string]func(testing.TB) office {
	return map[string]func(testing.TB) office{
		"caldav": func(t testing.TB) office {
			p := &pretended{name: "caldav"}
			fake := caldavfake.New(caldavfake.Options{User: "pat", Password: "desk-secret", Email: customer})
			calendar := fake.AddCalendar("work", "Work", "", false)
			base := p.serve(t, func(string) http.Handler { return fake })
			return calendarUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "caldav", Settings: map[string]any{"url": base + fake.Home(), "calendar": calendar, "trust_time_range": true},
				Credentials: map[string]string{"username": "pat", "password": "desk-secret"},
			}})
		},
		"google": func(t testing.TB) office {
			p := pretendGoogle(t)
			der, err := x509.MarshalPKCS8PrivateKey(robotKey())
			if err != nil {
				t.Fatal(err)
			}
			file, err := json.Marshal(map[string]string{
				"type": "service_account", "client_email": robot, "private_key_id": "1", "token_uri": "http://169.254.169.254/",
				"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
			})
			if err != nil {
				t.Fatal(err)
			}
			p.environ = p.withoutClient()
			return calendarUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "google", Settings: map[string]any{"subject": customer}, Credentials: map[string]string{"service_account": string(file)},
			}})
		},
		"microsoft": func(t testing.TB) office {
			p := pretendMicrosoft(t)
			return calendarUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "microsoft", Settings: map[string]any{"directory": "common", "mailbox": customer},
			}})
		},
		"salesforce": func(t testing.TB) office {
			p := &pretended{name: "salesforce"}
			fake := salesforcefake.New(salesforcefake.Options{ExternalID: "Key__c", OAuth: oauthtest.Options{Clients: map[string]string{"app": "desk-secret"}}})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.tickets = func() int { n, _ := fake.Tickets(context.Background()); return n }
			return ticketUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "salesforce", Settings: map[string]any{"flow": "client_credentials", "client_id": "app", "base_url": base, "external_id_field": "Key__c"},
				Credentials: map[string]string{"client_secret": "desk-secret"},
			}})
		},
		"hubspot": func(t testing.TB) office {
			p := &pretended{name: "hubspot"}
			fake := hubspotfake.New(hubspotfake.Options{Unique: []string{"key"}, Tokens: map[string][]string{"desk-secret": nil}})
			p.environ = []string{"FRONTDESK_PROVIDERS__HUBSPOT__API_URL=" + p.serve(t, func(string) http.Handler { return fake })}
			p.tickets = fake.Count
			return ticketUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "hubspot", Settings: map[string]any{"key_property": "key"}, Credentials: map[string]string{"access_token": "desk-secret"},
			}})
		},
		"zendesk": func(t testing.TB) office {
			p := &pretended{name: "zendesk"}
			fake := zendeskfake.New(zendeskfake.Options{AccessToken: "desk-secret"})
			p.tickets = fake.Tickets
			return ticketUse(office{pretended: p, connection: zendeskAt(p.serve(t, func(string) http.Handler { return fake }))})
		},
		"freshdesk": func(t testing.TB) office {
			p := &pretended{name: "freshdesk"}
			fake := freshdeskfake.New(freshdeskfake.Options{APIKey: "desk-secret"})
			base := p.serve(t, func(string) http.Handler { return fake })
			p.tickets = fake.Tickets
			return ticketUse(office{pretended: p, connection: tenant.NewConnection{
				Provider: "freshdesk", Settings: map[string]any{"base_url": base, "requester_email": "calls@example.com"},
				Credentials: map[string]string{"api_key": "desk-secret"},
			}})
		},
		"twilio": func(t testing.TB) office {
			p := &pretended{name: "twilio"}
			fake := twiliofake.New(twiliofake.Options{AuthToken: "desk-secret"})
			for i := range stock {
				fake.Restock(fmt.Sprintf("+1%s555%04d", areas[i%len(areas)], i))
			}
			p.environ = []string{"FRONTDESK_PROVIDERS__TWILIO__API_URL=" + p.serve(t, func(string) http.Handler { return fake })}
			return numberUse(office{pretended: p, effects: fake.Purchases, wordless: []string{"remove"}, connection: tenant.NewConnection{
				Provider: "twilio", Credentials: map[string]string{"account_sid": twiliofake.AccountSID, "auth_token": "desk-secret"},
			}})
		},
		"telnyx": func(t testing.TB) office {
			p := &pretended{name: "telnyx"}
			fake := telnyxfake.New(telnyxfake.Options{APIKey: "KEYdesk-secret", PerArea: stock})
			p.environ = []string{"FRONTDESK_PROVIDERS__TELNYX__API_URL=" + p.serve(t, func(string) http.Handler { return fake }) + telnyxfake.APIPath}
			bought := func() int { n, _ := fake.Purchases(context.Background()); return n }
			return numberUse(office{pretended: p, effects: bought, connection: tenant.NewConnection{
				Provider: "telnyx", Settings: map[string]any{"connection_id": telnyxfake.Application}, Credentials: map[string]string{"api_key": "KEYdesk-secret"},
			}})
		},
	}
}

// stock is how many numbers are for sale: enough for every purchase of a test.
const stock = 600

// areas are where. A purchase that came to an unknown end keeps its number from the others of the account.
var areas = []string{"415", "628", "303", "512", "416", "604"}

// zendeskAt is a connection to a pretended Zendesk.
func zendeskAt(base string) tenant.NewConnection {
	return tenant.NewConnection{
		Kind: adapter.KindCRM, Provider: "zendesk", Settings: map[string]any{"base_url": base}, Credentials: map[string]string{"access_token": "desk-secret"},
	}
}

// ofAPI reports whether a request is none for a token.
func ofAPI(r *http.Request) bool { return !strings.Contains(r.URL.Path, "token") }

// writes reports whether a request changes something at its provider.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodOptions, "PROPFIND", "REPORT":
		return false
	}
	return ofAPI(r) && !strings.HasSuffix(r.URL.Path, "/$batch") && !strings.HasSuffix(r.URL.Path, "/search")
}

// misdeed is a way to misbehave, and what is said of it: for a read, and for the write that it befalls.
type misdeed struct {
	do          http.HandlerFunc
	read, write []string // the reasons that may be given
	large       bool
}

const huge = 50 << 20

// bomb is 64 MB of spaces, at full size a gigabyte, compressed to a thousandth.
var bomb = sync.OnceValue(func() []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	megabytes := 64
	if fullSize() {
		megabytes = 1024
	}
	for range megabytes {
		_, _ = z.Write(spaces)
	}
	_ = z.Close()
	return packed.Bytes()
})

// A success without a word is what some writes are answered by, if need be in JSON.
const (
	nothing       = "nothing at all"
	nothingInJSON = "nothing in JSON"
)

func misdeeds() map[string]misdeed {
	said := func(status int, kind, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			status := status
			if status == http.StatusOK && (r.Method == "PROPFIND" || r.Method == "REPORT") {
				status = http.StatusMultiStatus // where WebDAV says that all is well
			}
			w.Header().Set("Content-Type", kind)
			for _, h := range headers {
				name, value, _ := strings.Cut(h, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const page = `<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1></body></html>`
	limited := []string{"PROVIDER_RATE_LIMITED"}
	down := []string{"PROVIDER_UNAVAILABLE"}
	garbage := []string{"PROVIDER_MISCONFIGURED"}
	large := []string{"PROVIDER_ANSWER_TOO_LARGE", "EXHAUSTED"} // the latter is the problem's type on /beta
	unknown := []string{"OUTCOME_UNKNOWN"}
	return map[string]misdeed{
		"429":                 {said(429, "application/json", `{}`, "Retry-After: 99"), limited, limited, false},
		"500":                 {said(500, "text/html", page), down, unknown, false},
		"503":                 {said(503, "text/html", page), down, down, false},
		"cut off in the body": {cutOffInTheBody, down, unknown, false},
		"a page":              {said(200, "text/html", page), garbage, unknown, false},
		"half an answer":      {said(200, "application/json", `{"id": "12`), garbage, unknown, false},
		"other types": {said(200, "application/json", `{"id":{"a":1},"items":"no","value":7,"ticket":"x","tickets":3,"results":"no","records":5,
			"data":"no","incoming_phone_numbers":false,"available_phone_numbers":1,"sid":[],"success":"maybe"}`), garbage, unknown, false},
		"a list":                 {said(200, "application/json", `[1,2]`), garbage, unknown, false},
		nothingInJSON:            {said(200, "application/json", `null`), garbage, unknown, false},
		nothing:                  {said(200, "application/json", ``), garbage, unknown, false},
		"an error that is a 200": {said(200, "application/json", `{"error":{"code":500,"message":"Internal error"}}`), garbage, unknown, false},
		"50 MB":                  {fiftyMegabytes, large, unknown, true},
		"a bomb": {func(w http.ResponseWriter, r *http.Request) {
			said(200, "application/json", string(bomb()), "Content-Encoding: gzip")(w, r)
		}, large, unknown, true},
	}
}

func cutOffInTheBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000")
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"id": "12`)
	panic(http.ErrAbortHandler)
}

func fiftyMegabytes(w http.ResponseWriter, r *http.Request) {
	if r.Method == "PROPFIND" || r.Method == "REPORT" {
		w.WriteHeader(http.StatusMultiStatus)
	}
	part := bytes.Repeat([]byte(" "), 1<<20)
	for range huge / len(part) {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// Whatever a provider answers, its caller is told promptly and by the right reason that it did not work, or that nobody knows,
// never that it did; and no answer is too large for the gateway's memory.
func TestNoAnswerOfAProviderIsTakenForWhatItIsNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8", "FRONTDESK_RESILIENCE__BREAKER__FAILURES=1000000",
		"FRONTDESK_RESILIENCE__DEADLINE=60s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=50s") // what is read is to decide, not the time
	at := map[string]office{}
	for name, open := range offices() {
		a := open(t)
		h.environ = append(h.environ, a.environ...)
		at[name] = a
	}
	// A connection for each trouble, since what a provider asked for is remembered.
	keys := map[string]string{}
	var names []string
	var connections []tenant.NewConnection
	doings := []string{"read", "create", "change", "remove"}
	for name, a := range at {
		for how := range misdeeds() {
			for _, doing := range doings {
				names = append(names, name+how+doing)
				connections = append(connections, a.connection)
			}
		}
	}
	for i, key := range h.takeIn(connections...) {
		keys[names[i]] = key
	}
	r := h.serve()
	bomb()
	calm := residentBytes(t, r)
	t.Run("providers", func(t *testing.T) {
		for name, a := range at {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				create := a.create.body
				var tried []string
				for _, doing := range doings {
					for how, x := range misdeeds() {
						if a.spared(doing, how, x) {
							continue
						}
						area := areas[len(tried)%len(areas)]
						tried = append(tried, how)
						a.create.body = strings.Replace(create, `"415"`, strconv.Quote(area), 1)
						t.Run(doing+" "+how, func(t *testing.T) {
							c := r.as(keys[name+how+doing])
							c.t = t
							a.meets(t, c, doing, x)
						})
					}
				}
			})
		}
	})
	if underRaceDetector() { // which holds several times the memory that the process itself does
		return
	}
	peak := residentBytes(t, r)
	t.Logf("%d MB before, %d MB at most", calm>>20, peak>>20)
	if grown := peak - calm; grown > 600<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	}
}

// spared reports whether a doing does not meet a misdeed: there is no such doing, what looks like the misdeed is how it
// succeeds, or it is a large one, which meets every doing at full size only (FRONTDESK_TROUBLE=full).
func (a office) spared(doing, how string, x misdeed) bool {
	return (doing == "change" || doing == "remove") && a.change == nil ||
		(how == nothing || how == nothingInJSON && a.name != "caldav") && slices.Contains(a.wordless, doing) ||
		x.large && doing != "read" && !fullSize()
}

// oneLarge lets one large answer come at a time: how long one takes is not to hang on how many there are.
var oneLarge sync.Mutex

func (a office) meets(t *testing.T, c caller, doing string, x misdeed) {
	q, want, befalls := a.read, x.read, ofAPI
	switch doing {
	case "create":
		q, want, befalls = a.create, x.write, writes
	case "change", "remove":
		of := map[string]func(answer) request{"change": a.change, "remove": a.remove}[doing]
		want, befalls = x.write, writes
		made, err := a.send(c, "create", a.create)
		if err != nil || made.status/100 != 2 {
			t.Fatalf("to have something to %s: %v %d %s", doing, err, made.status, made.body)
		}
		q = of(made)
	}
	var met atomic.Bool
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !befalls(req) {
			serve.ServeHTTP(w, req)
			return
		}
		met.Store(true)
		x.do(w, req)
	})
	defer a.put(nil)
	if x.large {
		oneLarge.Lock()
		defer oneLarge.Unlock()
	}
	began := time.Now()
	got, err := a.send(c, doing, q)
	took := time.Since(began)
	reason := got.reason()
	if reason == "" {
		kind := got.text("type")
		reason = strings.ToUpper(strings.ReplaceAll(kind[strings.LastIndex(kind, "/")+1:], "-", "_"))
	}
	if err != nil || got.status < 400 || !slices.Contains(want, reason) {
		t.Errorf("answered %d %s, want %v\n%s", got.status, reason, want, got.body)
	}
	if !met.Load() {
		t.Error("the provider was not asked")
	}
	if took > 20*time.Second {
		t.Errorf("answered after %v", took)
	}
	if want[0] == "PROVIDER_RATE_LIMITED" && got.header.Get("Retry-After") != "99" {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
}

func underRaceDetector() bool {
	info, known := debug.ReadBuildInfo()
	return known && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// residentBytes is the most memory that the process has held so far.
func residentBytes(t *testing.T, r *running) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		t.Skip("the system does not tell how much memory a process has: ", err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
