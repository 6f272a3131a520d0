//go:build attack

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"frontdesk/adapters/all"
	caldavfake "frontdesk/adapters/calendar/caldav/fake"
	zendeskfake "frontdesk/adapters/crm/zendesk/fake"
	telnyxfake "frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/gateway"
	"frontdesk/core/store/storetest"
)

// partsOfRequests lists each part of a request, with the kind of id that it may hold; "" for none. A part
// that is missing here fails the test, so whoever adds a part must decide.
var partsOfRequests = map[string]string{
	"event_id": "event", "calendar_id": "calendar", "selected_calendar_ids": "calendar",
	"calendar_ids": "calendar", "reschedule_meeting_id": "event",
	"meeting_reference": "reference", "slot_id": "slot", "hold_id": "hold", "hold_minutes": "",
	"ticket_number": "ticket", "phone_number": "", "email": "",
	"owner_id": "record", "contact_id": "record", "account_id": "record", "id": "number",
	"Idempotency-Key": "idempotency key",

	"title": "", "description": "", "subject": "", "name": "", "start_time": "", "end_time": "", "timezone": "",
	"attendee_emails": "",
	"start":           "", "end": "", "time_zone": "", "duration_minutes": "", "slot_interval_minutes": "", "availability": "",
	"open_hours": "", "specific_time_availability": "", "buffer": "", "minimum_notice_minutes": "",
	"booking_window_days": "", "tentative_as_busy": "", "limit": "", "per_day": "",
	"conferencing_type": "", "location_url": "", "status": "", "priority": "", "area_code": "",
	// Employees belong to the agent platform, not to a tenant.
	"inbound_cloud_employee_id": "", "outbound_cloud_employee_id": "",
	"X-Request-Id": "", "X-Request-Timeout-Ms": "",
}

// calls holds a request body for each described operation, without anything of another tenant.
var calls = map[string]string{
	"bookMeeting":              `{"title":"Ours","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z"}`,
	"updateMeeting":            `{"event_id":"none","title":"Ours"}`,
	"findSlots":                `{"start":"2027-03-01","end":"2027-03-04"}`,
	"holdSlot":                 `{"slot_id":"st_0000000000"}`,
	"releaseHold":              `{"hold_id":"hd_0000000000"}`,
	"bookSlot":                 `{"slot_id":"st_0000000000","title":"Ours"}`,
	"findMeetings":             `{"email":"nobody@example.com"}`,
	"moveMeeting":              `{"meeting_reference":"mt_0000000000","slot_id":"st_0000000000"}`,
	"cancelByReference":        `{"meeting_reference":"mt_0000000000"}`,
	"listEvents":               `{"start_time":"2027-03-01","end_time":"2027-03-04"}`,
	"cancelMeeting":            `{"event_id":"none"}`,
	"listCalendars":            `{}`,
	"verifyCalendarConnection": `{}`,
	"createTicket":             `{"subject":"Ours"}`,
	"getTicket":                `{"ticket_number":"99999999"}`,
	"Alpha_lookUpCaller":       `{"phone_number":"+12025550199"}`,
	"Beta_listPhoneNumbers":    "",
	"Beta_getPhoneNumber":      "",
	"Beta_buyPhoneNumber":      `{"area_code":"415"}`,
	"Beta_updatePhoneNumber":   `{"name":"Ours"}`,
	"Beta_releasePhoneNumber":  "",
}

// otherRoutes holds the routes besides the described operations, and whether the route looks up its
// parameter. A route that is missing here fails the test.
var otherRoutes = map[string]bool{
	"GET /": false, "HEAD /": false,
	"GET /docs": false, "HEAD /docs": false, "GET /openapi.json": false, "HEAD /openapi.json": false,
	"GET /alpha/admin/openapi.json": false, "HEAD /alpha/admin/openapi.json": false,
	"GET /alpha/admin/openapi.yaml": false, "HEAD /alpha/admin/openapi.yaml": false,
	"GET /openapi.yaml": false, "HEAD /openapi.yaml": false, "GET /healthz": false, "HEAD /healthz": false,
	"GET /readyz": false, "HEAD /readyz": false, "GET /problems/:slug": true, "HEAD /problems/:slug": true,
	// A tool is an operation, called with the caller's key.
	"POST /mcp": false, "POST /alpha/agents/vapi": false, "POST /alpha/agents/retell": false,
	"POST /alpha/agents/retell/:name": true, "POST /alpha/agents/tools/:name": false,
	"POST /alpha/agents/vapi/:name": true, "POST /alpha/agents/retell/:name/:tool": false,
	"POST /alpha/agents/tools/:name/:tool": false, "POST /alpha/agents/elevenlabs/:name/:tool": false,
	"POST /alpha/agents/telnyx/:name/:tool": false, "POST /alpha/agents/vapi/:name/call-started": false,
	"POST /alpha/agents/retell/:name/call-started": false, "POST /alpha/agents/elevenlabs/:name/call-started": false,
	"POST /alpha/agents/telnyx/:name/call-started": false,
	"POST /alpha/agents/vapi/call-started":         false, "POST /alpha/agents/retell/call-started": false,
	"POST /alpha/agents/elevenlabs/call-started": false, "POST /alpha/agents/telnyx/call-started": false,
	"GET /brand/:file":    false, // the operator's logo, whoever asks
	"GET /connect/:token": true, "HEAD /connect/:token": true, "POST /connect/:token": true,
	"GET /oauth/callback/:provider": true, "GET /oauth/callback/:provider/:own": true,
}

// described is an operation in the description that is served.
type described struct {
	id, method, path string
	fields           map[string]bool // fields of the body: whether each is a list
	params           []string        // in the path and the headers
}

// describedBy returns the operations of a description.
func describedBy(t testing.TB, document []byte) []described {
	t.Helper()
	type parameter struct {
		Ref  string `json:"$ref"`
		Name string
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Type any }
			}
			Parameters map[string]parameter
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	var list []described
	for path, methods := range doc.Paths {
		var shared []parameter
		if raw, ok := methods["parameters"]; ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				t.Fatal(err)
			}
			delete(methods, "parameters")
		}
		for method, raw := range methods {
			var op struct {
				OperationID string
				Parameters  []parameter
				RequestBody struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			d := described{id: op.OperationID, method: strings.ToUpper(method), path: path, fields: map[string]bool{}}
			for _, p := range append(op.Parameters, shared...) {
				if p.Ref != "" {
					p = doc.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
				}
				d.params = append(d.params, p.Name)
			}
			schema := op.RequestBody.Content["application/json"].Schema.Ref
			for name, property := range doc.Components.Schemas[schema[strings.LastIndexByte(schema,
				'/')+1:]].Properties {
				d.fields[name] = property.Type == "array"
			}
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b described) int { return strings.Compare(a.id, b.id) })
	return list
}

// Whoever adds an operation, a field, a parameter or a route must state here what it may hold of another
// tenant.
func TestEveryRouteAndFieldHasItsCaseOfIsolation(t *testing.T) {
	cfg, err := (&session{world: world{environ: []string{"FRONTDESK_DATA_DIR=" + t.TempDir()}}}).config()
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.Open(t.Context(), cfg, gateway.Options{Adapters: all.Adapters(), LogTo: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	document, err := gateway.Document(cfg, "json", false)
	if err != nil {
		t.Fatal(err)
	}
	cases, routes := maps.Clone(otherRoutes), map[string]bool{}
	known := maps.Clone(calls)
	for _, op := range describedBy(t, document) {
		if _, ok := known[op.id]; !ok {
			t.Errorf("the operation %s has no case", op.id)
		}
		delete(known, op.id)
		for _, part := range append(slices.Collect(maps.Keys(op.fields)), op.params...) {
			if _, ok := partsOfRequests[part]; !ok {
				t.Errorf("%s of %s: nobody said whose id it can hold", part, op.id)
			}
		}
		route := op.method + " " + strings.NewReplacer("{", ":", "}", "").Replace(op.path)
		cases[route] = true
		if op.method == http.MethodGet {
			cases["HEAD"+strings.TrimPrefix(route, "GET")] = true
		}
	}
	for id := range known {
		t.Errorf("the operation %s is not described", id)
	}
	for _, op := range adminOperations(t) { // TestAdminKeysReachOnlyWhatTheyAreFor has their cases
		path := strings.NewReplacer("{", ":", "}", "").Replace(op.path)
		cases[op.method+" "+path] = true
		if op.method == http.MethodGet {
			cases["HEAD "+path] = true
		}
	}
	engine, ok := g.Handler().(interface{ Unwrap() http.Handler }).Unwrap().(*gin.Engine)
	if !ok {
		t.Fatalf("the routes cannot be listed: %T", g.Handler())
	}
	for _, r := range engine.Routes() {
		routes[r.Method+" "+r.Path] = true
		if r.Path == "/settings" || strings.HasPrefix(r.Path, "/settings/") {
			continue // core/settingspage tries each of its routes as another tenant's administrator
		}
		if _, ok := cases[r.Method+" "+r.Path]; !ok {
			t.Errorf("the route %s %s has no case", r.Method, r.Path)
		}
	}
	for route := range cases {
		if !routes[route] {
			t.Errorf("there is no route %s", route)
		}
	}
}

// customerAccount is a customer's accounts at fake providers, and how often those were called for it.
type customerAccount struct {
	name     string
	calendar string // address
	tickets  *zendeskfake.Server
	desk     string // address
	numbers  *telnyxfake.Server
	calls    atomic.Int64
}

func (a *customerAccount) counted(h http.Handler) func(string) http.Handler {
	return func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// What keeps a connection open, without credentials, is nobody's call.
			if r.Method != http.MethodHead || r.URL.Path != "/" || r.Header.Get("Authorization") != "" {
				a.calls.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	}
}

func (a *customerAccount) secret(of string) string { return a.name + "-" + of }

// customerAccounts creates accounts, and the configuration that leads to them. Telnyx has one address for
// all.
func customerAccounts(t testing.TB, names ...string) (accounts []*customerAccount, environ []string) {
	byKey := map[string]http.Handler{}
	for _, name := range names {
		a := &customerAccount{name: name}
		dav := caldavfake.New(caldavfake.Options{
			User: name, Password: a.secret("password"), Email: name + "@example.com",
		})
		dav.AddCalendar("front-"+name, "Front", "", false)
		a.calendar = new(fakeProvider).serve(t, a.counted(dav)) + "/dav/"
		a.tickets = zendeskfake.New(zendeskfake.Options{
			AccessToken: a.secret("token"), Email: name + "@example.com",
		})
		a.desk = new(fakeProvider).serve(t, a.counted(a.tickets))
		a.numbers = telnyxfake.New(telnyxfake.Options{APIKey: "KEY-" + name, PerArea: 99})
		byKey["Bearer KEY-"+name] = a.counted(a.numbers)("")
		accounts = append(accounts, a)
		environ = append(environ, "PASSWORD_"+name+"="+a.secret("password"), "USER_"+name+"="+name,
			"TOKEN_"+name+"="+a.secret("token"), "KEY_"+name+"=KEY-"+name)
	}
	telnyx := new(fakeProvider).serve(t, func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if account := byKey[r.Header.Get("Authorization")]; account != nil {
				account.ServeHTTP(w, r)
				return
			}
			http.Error(w, "nobody's key", http.StatusUnauthorized)
		})
	})
	return accounts, append(environ, "FRONTDESK_PROVIDERS__TELNYX__API_URL="+telnyx,
		"FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")
}

// connect gives a tenant connections to the account.
func (a *customerAccount) connect(d *deployment, tenant string, more ...string) {
	d.t.Helper()
	add := func(kind, provider string, rest ...string) {
		d.t.Helper()
		d.must(append([]string{"connection", "add", "--tenant", tenant, "--kind", kind, "--provider", provider,
			"--name", tenant + "-" + kind}, rest...)...)
	}
	add("calendar", "caldav", "--set", "url="+a.calendar, "--secret", "username=env:USER_"+a.name, "--secret",
		"password=env:PASSWORD_"+a.name)
	add("crm", "zendesk", "--set", "base_url="+a.desk, "--secret", "access_token=env:TOKEN_"+a.name)
	add("telephony", "telnyx", append([]string{"--secret", "api_key=env:KEY_" + a.name}, more...)...)
}

// resources holds, by kind, the ids of a tenant's things and other values that might reach them.
type resources map[string]string

// createResources creates a meeting, a ticket, a number, a call under a key and a link of the tenant.
func createResources(d *deployment, r *running, tenant, key string) resources {
	d.t.Helper()
	c := r.as(key)
	secret := "canary-of-" + tenant
	ours := resources{"idempotency key": "key-of-" + tenant, "connection": tenant + "-calendar"}
	booked := c.post(200, "calendar/book-meeting",
		`{"title":"`+secret+`","description":"`+secret+
			`","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z","attendee_emails":["`+secret+
			`@example.com"]}`)
	ours["event"] = booked.text("event", "event_id")
	calendars := c.post(200, "calendar/list-calendars", `{}`)
	ours["calendar"] = calendars.text("calendars", 0, "id")
	offered := c.do(200, http.MethodPost, "/alpha/calendar/find-slots",
		`{"start":"2027-03-03","end":"2027-03-04"}`)
	ours["slot"] = offered.text("slots", 0, "slot_id")
	ours["reference"] = c.do(200, http.MethodPost, "/alpha/calendar/book-slot",
		fmt.Sprintf(`{"slot_id":%q,"title":%q}`, ours["slot"], secret)).text("meeting_reference")
	ours["hold"] = c.do(200, http.MethodPost, "/alpha/calendar/hold-slot",
		fmt.Sprintf(`{"slot_id":%q,"hold_minutes":15}`, offered.text("slots", 1, "slot_id"))).text("hold_id")
	address := d.must("agent", "add", "--tenant", tenant, "--platform", "retell", "--secret", "signing=env:SIGNING")
	ours["agent"] = address[strings.LastIndexByte(address, '/')+1:]
	for n := range 50 { // so that the other tenant has no ticket with this number
		made := c.post(200, "tickets/create-ticket",
			fmt.Sprintf(`{"subject":%q,"description":"%s %d"}`, secret, secret, n))
		ours["ticket"], ours["record"] = made.text("ticket", "ticket_number"), made.text("ticket", "id")
	}
	bought := c.do(201, http.MethodPost, "/beta/phone-numbers", `{"area_code":"512","name":"`+secret+`"}`)
	ours["number"] = fmt.Sprint(int64(bought.get("id").(float64)))
	ours["e164"] = bought.text("e164")
	for _, call := range []request{
		{path: "/v1/calendar/book-meeting", body: calls["bookMeeting"]},
		{path: "/v1/tickets/create-ticket", body: calls["createTicket"]},
		{path: "/beta/phone-numbers", body: calls["Beta_buyPhoneNumber"]},
	} {
		if a, err := c.call(http.MethodPost, call.path, call.body,
			"Idempotency-Key: "+ours["idempotency key"]); err != nil || a.status/100 != 2 {
			d.t.Fatalf("%s: %v %d %s", call.path, err, a.status, a.body)
		}
	}
	link := d.must("connect-link", "--tenant", tenant, "--provider", "google")
	ours["link"] = link[strings.LastIndexByte(link, '/')+1:]
	ours["key id"] = keyID(d, tenant, key)
	return ours
}

func keyID(d *deployment, tenant, key string) string {
	d.t.Helper()
	var keys []struct{ ID, Prefix string }
	if err := json.Unmarshal([]byte(d.must("key", "list", "--tenant", tenant, "--json")), &keys); err != nil {
		d.t.Fatal(err)
	}
	for _, k := range keys {
		if strings.HasPrefix(key, k.Prefix) {
			return k.ID
		}
	}
	d.t.Fatalf("the key %s of %s is not listed", key, tenant)
	return ""
}

// everythingOf returns everything that a tenant can see of its own.
func everythingOf(d *deployment, r *running, tenant, key string, ours resources) string {
	d.t.Helper()
	c := r.as(key)
	var all strings.Builder
	for _, a := range []answer{
		c.post(200, "calendar/list-events", `{"start_time":"2027-03-01","end_time":"2027-03-04"}`),
		c.post(200, "calendar/list-calendars", `{}`),
		c.post(200, "tickets/get-ticket", `{"ticket_number":"`+ours["ticket"]+`"}`),
		c.do(200, http.MethodGet, "/beta/phone-numbers", ""),
		c.do(200, http.MethodGet, "/beta/phone-numbers/"+ours["number"], ""),
	} {
		all.Write(a.body)
	}
	for _, command := range [][]string{{"connection", "list"}, {"number", "list"}, {"audit", "list"}} {
		all.WriteString(d.must(append(command, "--tenant", tenant, "--json")...))
	}
	return all.String()
}

// alike returns an id that does not exist, with the same length and kinds of characters.
func alike(id string, exists func(string) bool) string {
	end := lastWord.FindStringSubmatchIndex(id)
	if end == nil {
		return id + "x"
	}
	other := []byte(id)
	for round := 0; ; round++ {
		for i := end[2]; i < end[3]; i++ {
			switch b := other[i]; {
			case b >= '1' && b <= '9':
				other[i] = '1' + (b-'1'+byte(i+round)%8+1)%9
			case b >= 'a' && b <= 'z':
				other[i] = 'a' + (b-'a'+byte(i+round)%24+1)%26
			case b >= 'A' && b <= 'Z':
				other[i] = 'A' + (b-'A'+byte(i+round)%24+1)%26
			}
		}
		if !exists(string(other)) {
			return string(other)
		}
	}
}

var lastWord = regexp.MustCompile(`([0-9A-Za-z]{1,6})(?:\.ics|/)?$`)

// To a tenant, another tenant's things look as if they did not exist, whatever it sends and whatever its key,
// and they do not change. The attempts come from the served description: every id of the victim in every
// place of every operation that takes an id. With FRONTDESK_ISOLATION=full, keys of single scopes also make
// all attempts; otherwise they send only ids of the kind that a place is for.
func TestNoTenantReachesAnother(t *testing.T) {
	t.Parallel()
	full := os.Getenv("FRONTDESK_ISOLATION") == "full"
	t.Run("sandboxes, on SQLite", func(t *testing.T) {
		t.Parallel()
		noTenantReachesAnother(t, "", false, true, full)
	})
	t.Run("accounts of their own, on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		noTenantReachesAnother(t, storetest.Postgres(t), true, full, full)
	})
}

func noTenantReachesAnother(t *testing.T, storeURL string, accounts, manyKeys, full bool) {
	var victims *customerAccount
	environ := []string{
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=desk-secret",
	}
	connect := func(d *deployment, tenant string) {
		for _, kind := range []string{"calendar", "crm", "telephony"} {
			add := []string{
				"connection", "add", "--tenant", tenant, "--kind", kind, "--provider", "sandbox", "--name",
				tenant + "-" + kind,
			}
			if kind == "telephony" {
				add = append(add, "--set", "stock=99")
			}
			d.must(add...)
		}
	}
	if accounts {
		both, more := customerAccounts(t, "victim", "stranger")
		victims, environ = both[0], append(environ, more...)
		connect = func(d *deployment, tenant string) {
			both[slices.Index([]string{"victim", "stranger"}, tenant)].connect(d, tenant)
		}
	}
	d := newDeployment(t, storeURL, append(environ, "SIGNING=the-secret-of-the-victim")...)
	for _, tenant := range []string{"victim", "stranger"} {
		d.must("tenant", "create", tenant, "--max-purchases-per-day", "100")
		connect(d, tenant)
	}
	r := d.servePublicly()
	victim := d.must("key", "create", "--tenant", "victim")
	theirs := createResources(d, r, "victim", victim)
	before := everythingOf(d, r, "victim", victim, theirs)
	called := func() int64 {
		if victims == nil {
			return 0
		}
		return victims.calls.Load()
	}
	calledBefore := called()

	keys := map[string]string{"every scope": d.must("key", "create", "--tenant", "stranger")}
	if manyKeys && !accounts {
		d.must("connection", "add", "--tenant", "stranger", "--kind", "calendar", "--provider", "sandbox",
			"--name", "second")
		keys["bound"] = d.must("key", "create", "--tenant", "stranger", "--connection", "second")
		keys["revoked"] = d.must("key", "create", "--tenant", "stranger", "--label", "gone")
		keys["none"] = ""
		for _, scope := range []string{
			"calendar:read", "calendar:write", "tickets:read", "tickets:write", "numbers:read", "numbers:write",
		} {
			keys[scope] = d.must("key", "create", "--tenant", "stranger", "--scope", scope)
		}
		d.must("key", "revoke", keyID(d, "stranger", keys["revoked"]))
	}
	keys["test"] = d.must("key", "create", "--tenant", "stranger", "--test")
	own := strings.Join([]string{ // ids of both: every sandbox has a calendar "primary"
		string(r.as(keys["every scope"]).post(200, "calendar/list-calendars", `{}`).body),
	}, "\n")

	x := intruder{t: t, r: r, theirs: theirs, full: full}
	if victims == nil {
		x.shares = own
	}
	document := r.as("").do(200, http.MethodGet, "/openapi.json", "")
	for _, op := range describedBy(t, document.body) {
		for kind, key := range keys {
			x.attempts(op, kind, key)
		}
	}
	x.pages(keys["every scope"])
	x.opsAddress()
	if n := called() - calledBefore; n != 0 {
		t.Errorf("%d calls reached the other tenant's providers", n)
	}
	if after := everythingOf(d, r, "victim", victim, theirs); after != before {
		t.Errorf("what the other tenant has changed from\n%s\nto\n%s", before, after)
	}
	if x.made < 200 || x.succeeded == 0 || x.refused[http.StatusNotFound] == 0 {
		t.Errorf("only %d attempts, %d of which succeeded, refused %v: the test proves less than it should", x.made,
			x.succeeded, x.refused)
	}
	t.Logf("%d pairs of requests, %d successes, refused %v; in all %s for ids of the other tenant, %s for ids "+
		"that are not there",
		x.made, x.succeeded, x.refused, x.foreign.Round(time.Millisecond), x.absent.Round(time.Millisecond))
	if strings.Contains(r.log(), "canary-of-victim") {
		t.Error("what a tenant's callers said is in the log")
	}

	// The operator names tenants, but a key of one is not bound to a connection of the other.
	for _, named := range []string{"victim-calendar", theirs["connection"]} {
		if out, errs, code := d.do("", "key", "create", "--tenant", "stranger", "--connection", named); code == 0 ||
			strings.Contains(out+errs, "canary") {
			t.Errorf("a key bound to %s: exit %d %s%s", named, code, out, errs)
		}
	}
}

// intruder calls as one tenant and sends another tenant's ids.
type intruder struct {
	t      *testing.T
	r      *running
	theirs resources
	shares string // a text with ids that both tenants have
	full   bool

	made, succeeded int
	refused         map[int]int
	foreign, absent time.Duration
}

// attempts puts every id of the other tenant into every part of a request that holds an id, alone and
// together.
func (x *intruder) attempts(op described, keyKind, key string) {
	parts := append(slices.Collect(maps.Keys(op.fields)), op.params...)
	parts = slices.DeleteFunc(parts, func(part string) bool { return partsOfRequests[part] == "" })
	if len(parts) == 0 {
		a := x.send(op, key, nil)
		x.holdsNothing(a, fmt.Sprintf("%s with the key %s", op.id, keyKind))
		return
	}
	all := map[string]string{}
	for _, part := range parts {
		for kind, id := range x.theirs {
			if x.shares != "" && strings.Contains(x.shares, `"`+id+`"`) {
				continue
			}
			if x.full || keyKind == "every scope" || kind == partsOfRequests[part] {
				x.try(op, keyKind, key, map[string]string{part: id})
			}
			if kind == partsOfRequests[part] {
				all[part] = id
			}
		}
	}
	if len(all) > 1 {
		x.try(op, keyKind, key, all)
	}
}

// try sends a request with ids of the other tenant, and the same request with ids that do not exist.
func (x *intruder) try(op described, keyKind, key string, theirs map[string]string) {
	x.t.Helper()
	absentIDs := map[string]string{}
	for part, id := range theirs {
		absentIDs[part] = alike(id, func(other string) bool {
			return slices.Contains(slices.Collect(maps.Values(x.theirs)), other)
		})
	}
	began := time.Now()
	foreign := x.send(op, key, theirs)
	x.foreign += time.Since(began)
	began = time.Now()
	absent := x.send(op, key, absentIDs)
	x.absent += time.Since(began)
	x.compare(fmt.Sprintf("%s of %v with the key %s", op.id, theirs, keyKind), foreign, absent,
		theirs, absentIDs)
}

func (x *intruder) compare(what string, foreign, absent answer, theirs, absentIDs map[string]string) {
	x.t.Helper()
	x.made++
	if foreign.status != absent.status {
		x.t.Errorf("%s: %d %s\nfor what is not there: %d %s", what, foreign.status, foreign.body,
			absent.status, absent.body)
		return
	}
	for name := range foreign.header {
		if !slices.Contains([]string{"Date", "Content-Length", "Location"}, name) &&
			!slices.Equal(foreign.header[name], absent.header[name]) {
			x.t.Errorf("%s: %s: %v, for what is not there %v", what, name, foreign.header[name], absent.header[name])
		}
	}
	if len(foreign.header) != len(absent.header) {
		x.t.Errorf("%s: headers %v, for what is not there %v", what, foreign.header, absent.header)
	}
	if foreign.status/100 == 2 {
		x.succeeded++
		x.holdsNothing(foreign, what)
		return
	}
	if x.refused == nil {
		x.refused = map[int]int{}
	}
	x.refused[foreign.status]++
	one, other := string(foreign.body), string(absent.body)
	if one != other { // the response may name the ids of the request
		for part, id := range theirs {
			one, other = hide(one, id), hide(other, absentIDs[part])
		}
	}
	if one != other {
		x.t.Errorf("%s answers\n%s\nfor what is not there\n%s", what, one, other)
	}
	if strings.Contains(one, "canary-of-victim") {
		x.t.Errorf("%s tells what is the other's: %s", what, one)
	}
}

// hide replaces an id in a body, in every form of escaping.
func hide(body, id string) string {
	quoted, _ := json.Marshal(id)
	for _, form := range []string{string(quoted[1 : len(quoted)-1]), url.PathEscape(id), id} {
		body = strings.ReplaceAll(body, form, "…")
	}
	return body
}

// holdsNothing fails if a successful response holds anything of the other tenant.
func (x *intruder) holdsNothing(a answer, what string) {
	x.t.Helper()
	text := string(a.body) + a.header.Get("Location")
	for kind, id := range x.theirs {
		found := strings.Contains(text, `"`+id+`"`)
		if kind == "number" { // such a short id occurs elsewhere by chance
			found = strings.Contains(text, `"id":`+id+`,`) || strings.Contains(text, `"id":`+id+`}`) ||
				strings.HasSuffix(a.header.Get("Location"), "/"+id)
		}
		if found && !strings.Contains(x.shares, `"`+id+`"`) {
			x.t.Errorf("%s answers the %s of the other tenant: %s", what, kind, text)
		}
	}
	if strings.Contains(text, "canary-of-victim") {
		x.t.Errorf("%s answers what is the other tenant's: %s", what, text)
	}
}

// send makes a call with some parts replaced. All calls have the same request id, so that responses can be
// compared.
func (x *intruder) send(op described, key string, parts map[string]string) answer {
	x.t.Helper()
	path, headers := op.path, []string{"X-Request-Id: attempt"}
	if !strings.Contains(fmt.Sprint(parts), "id:") && strings.Contains(path, "{id}") && parts["id"] == "" {
		path = strings.Replace(path, "{id}", "7", 1)
	}
	body := map[string]any{}
	if calls[op.id] != "" {
		if err := json.Unmarshal([]byte(calls[op.id]), &body); err != nil {
			x.t.Fatal(err)
		}
	}
	for part, id := range parts {
		many, inBody := op.fields[part]
		switch {
		case inBody && many:
			body[part] = []string{id}
		case inBody:
			body[part] = id
		case part == "Idempotency-Key":
			headers = append(headers, part+": "+id)
		default:
			path = strings.Replace(path, "{"+part+"}", url.PathEscape(id), 1)
		}
	}
	text := ""
	if calls[op.id] != "" {
		raw, err := json.Marshal(body)
		if err != nil {
			x.t.Fatal(err)
		}
		text = string(raw)
	}
	a, err := x.r.as(key).call(op.method, path, text, headers...)
	if err != nil {
		x.t.Fatal(err)
	}
	return a
}

// pages puts the other tenant's ids into the paths of pages, and the other's consent into the intruder's
// browser.
func (x *intruder) pages(key string) {
	c := x.r.as(key)
	get := func(method, path string) answer {
		x.t.Helper()
		a, err := c.call(method, path, "", "X-Request-Id: attempt")
		if err != nil {
			x.t.Fatal(err)
		}
		return a
	}
	for route, parameter := range otherRoutes {
		method, path, _ := strings.Cut(route, " ")
		if !parameter {
			x.holdsNothing(get(method, path), route)
			continue
		}
		begin := path[:strings.IndexByte(path, ':')]
		for kind, id := range x.theirs {
			absentIDs := alike(id, func(string) bool { return false })
			if kind == "link" { // anyone with a link may open it
				id, absentIDs = absentIDs, absentIDs[:len(absentIDs)-1]+"0"
			}
			query := ""
			if strings.HasPrefix(path, "/oauth/") {
				begin, query = begin+"google?code=x&state=", "&iss=x"
			}
			x.compare(route+" of the "+kind+" "+id, get(method, begin+url.QueryEscape(id)+query),
				get(method, begin+url.QueryEscape(absentIDs)+query),
				map[string]string{kind: id}, map[string]string{kind: absentIDs})
			begin = path[:strings.IndexByte(path, ':')]
		}
	}

	// The state of a consent that the other tenant's customer has begun.
	jar, err := cookiejar.New(nil)
	if err != nil {
		x.t.Fatal(err)
	}
	browser := &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := browser.PostForm(x.r.api+"/connect/"+x.theirs["link"], url.Values{})
	if err != nil {
		x.t.Fatal(err)
	}
	res.Body.Close()
	to, err := res.Location()
	if err != nil {
		x.t.Fatal(err)
	}
	state := to.Query().Get("state")
	other := alike(state, func(string) bool { return false })
	const callback = "/oauth/callback/google?code=stolen&state="
	x.compare("the state of the other's consent", get(http.MethodGet, callback+state),
		get(http.MethodGet, callback+other),
		map[string]string{"state": state}, map[string]string{"state": other})
}

// opsAddress checks that the operator's address reveals nothing that tenants have: everybody in the
// operator's network may read it.
func (x *intruder) opsAddress() {
	x.t.Helper()
	ops := caller{t: x.t, base: x.r.ops}
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		a := ops.do(200, http.MethodGet, path, "")
		x.holdsNothing(a, path)
		if strings.Contains(string(a.body), "victim") {
			x.t.Errorf("%s of the operator's address tells of a tenant", path)
		}
	}
	for _, path := range []string{
		"/beta/phone-numbers", "/v1/calendar/list-events", "/connect/x", "/docs", "/debug/pprof/",
	} {
		ops.do(404, http.MethodGet, path, "")
	}
	x.r.as("").do(404, http.MethodGet, "/metrics", "")
}

// Two tenants connected to one account share what is in the account, but nothing of the gateway: idempotency
// keys, equal calls, numbers, caches and reports of trouble.
func TestTwoTenantsOfOneAccountShareNothingElse(t *testing.T) {
	t.Parallel()
	accounts, environ := customerAccounts(t, "shared")
	account := accounts[0]
	d := newDeployment(t, "", environ...)
	for _, tenant := range []string{"victim", "stranger"} {
		d.must("tenant", "create", tenant)
		account.connect(d, tenant, "--set", "numbers=own")
	}
	r := d.serve()
	victim, stranger := r.as(d.must("key", "create", "--tenant", "victim")),
		r.as(d.must("key", "create", "--tenant", "stranger"))

	// The same calls, with and without a key, are two effects.
	const book, open, buy = "/v1/calendar/book-meeting", "/v1/tickets/create-ticket", "/beta/phone-numbers"
	for rule, headers := range map[string][]string{
		"under one key": {"Idempotency-Key: same"}, "without a key": nil,
	} {
		for _, call := range []request{
			{path: book, body: strings.Replace(calls["bookMeeting"], "Ours", rule, 1)},
			{path: open, body: strings.Replace(calls["createTicket"], "Ours", rule, 1)},
			{path: buy, body: calls["Beta_buyPhoneNumber"]},
		} {
			first, err := victim.call(http.MethodPost, call.path, call.body, headers...)
			if err != nil || first.status/100 != 2 {
				t.Fatalf("%s %s: %v %d %s", rule, call.path, err, first.status, first.body)
			}
			second, err := stranger.call(http.MethodPost, call.path, call.body, headers...)
			if err != nil || second.status/100 != 2 {
				t.Fatalf("%s %s: %v %d %s", rule, call.path, err, second.status, second.body)
			}
			if second.header.Get("Idempotency-Replayed") != "" || call.idOf(first) == call.idOf(second) {
				t.Errorf("%s, %s of one tenant is answered to the other: %s then %s", rule, call.path,
					first.body, second.body)
			}
		}
	}
	if n := account.tickets.Tickets(); n != 4 {
		t.Errorf("%d tickets were opened, want 4", n)
	}

	// A number belongs to one tenant, whichever operation asks for it.
	mine := victim.do(200, http.MethodGet, "/beta/phone-numbers", "")
	held := account.numbers.Held()
	others := stranger.do(200, http.MethodGet, "/beta/phone-numbers", "")
	if len(held) != 4 || len(mine.get("phone_numbers").([]any)) != 2 ||
		len(others.get("phone_numbers").([]any)) != 2 {
		t.Errorf("the account holds %d numbers; of them one tenant sees %s and the other %s", len(held),
			mine.body, others.body)
	}
	for i := range mine.get("phone_numbers").([]any) {
		id := fmt.Sprint(int64(mine.get("phone_numbers", i, "id").(float64)))
		for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
			body := ""
			if method == http.MethodPatch {
				body = `{"name":"Taken"}`
			}
			stranger.do(404, method, "/beta/phone-numbers/"+id, body)
		}
	}
	if again := victim.do(200, http.MethodGet, "/beta/phone-numbers",
		""); string(again.body) != string(mine.body) || len(account.numbers.Held()) != len(held) {
		t.Errorf("the other tenant changed %s to %s", mine.body, again.body)
	}
	for _, n := range held {
		e164, _ := json.Marshal(n)
		var number struct{ E164 string }
		_ = json.Unmarshal(e164, &number)
		if strings.Contains(string(mine.body), number.E164) && number.E164 != "" {
			if _, _, code := d.do("", "number", "adopt", "--tenant", "stranger", number.E164); code == 0 {
				t.Errorf("the number %s of one tenant was adopted for the other", number.E164)
			}
		}
	}

	// Trouble that one tenant causes reaches the other at most in words that do not name the first.
	account.tickets.Revoke()
	for range 12 {
		victim.post(400, "tickets/create-ticket", `{"subject":"canary-of-victim"}`)
	}
	refused := stranger.post(400, "tickets/create-ticket", `{"subject":"Ours too"}`)
	for _, of := range []string{"canary-of-victim", "victim"} {
		if strings.Contains(string(refused.body), of) {
			t.Errorf("one tenant's trouble is told to the other: %s", refused.body)
		}
	}
	if status := d.must("connection", "list", "--tenant", "victim"); strings.Contains(status, "stranger") {
		t.Errorf("a tenant's connections: %s", status)
	}
}

// A revoked key stops working at every replica, even at those that use it all the time.
func TestARevokedKeyEndsAtEveryReplica(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, storetest.Postgres(t))
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox")
	key := d.must("key", "create", "--tenant", "acme")
	replicas := []*running{d.serve(), d.serve(), d.serve()}
	for _, r := range replicas {
		r.as(key).post(200, "calendar/list-calendars", `{}`)
	}
	d.must("key", "revoke", keyID(d, "acme", key))
	revoked := time.Now()
	for i, r := range replicas {
		// A call is judged by when it began: how long it takes is the machine's matter.
		for ended := false; !ended; time.Sleep(20 * time.Millisecond) {
			began := time.Since(revoked)
			a, err := r.as(key).call(http.MethodPost, "/v1/calendar/list-calendars", `{}`)
			switch {
			case err != nil:
				t.Fatal(err)
			case a.status == http.StatusUnauthorized:
				ended = true
			case a.status == http.StatusOK && began > 5*time.Second:
				t.Fatalf("replica %d takes the key %s after it was revoked", i, began)
			case began > time.Minute:
				t.Fatalf("replica %d answers %d: %s", i, a.status, a.body)
			}
		}
	}
	t.Logf("it ended at %d replicas after %s", len(replicas), time.Since(revoked).Round(10*time.Millisecond))
}
