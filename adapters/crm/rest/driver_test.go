package rest_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// stubServer responds to each request with the reply that a test sets.
type stubServer struct {
	mu     sync.Mutex
	says   map[string]reply // by "METHOD /path"
	bodies map[string]string
	header map[string]http.Header
}

type reply struct {
	status int
	body   string
	header http.Header
}

func says(replies map[string]reply) *stubServer {
	return &stubServer{says: replies, bodies: map[string]string{}, header: map[string]http.Header{}}
}

func (s *stubServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	route := r.Method + " " + r.URL.EscapedPath()
	body, _ := io.ReadAll(r.Body)
	s.bodies[route], s.header[route] = string(body), r.Header
	answer, ok := s.says[route]
	if !ok {
		answer = reply{status: http.StatusNotFound, body: `{"error":"no such path"}`}
	}
	w.Header().Set("Content-Type", "application/json")
	maps.Copy(w.Header(), answer.header)
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

func (s *stubServer) got(route string) (body string, header http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[route], s.header[route]
}

func anonymous(*http.Request) {}

type object = map[string]any

// plain returns the settings of a simple ticket system with changes. A nil value removes a setting.
func plain(address string, changes object) object {
	settings := object{
		"base_url": address + "/api/",
		"account": object{
			"steps": []any{object{"name": "me", "path": "me"}}, "name": ".steps.me.body.name",
			"email": ".steps.me.body.email",
		},
		"create": object{
			"steps": []any{object{"name": "create", "method": "POST", "path": "tickets",
				"body": "{title: .ticket.subject}", "headers": object{"X-Call": "{.key}"}}},
			"number": ".steps.create.body.id",
		},
		"get": object{"steps": []any{object{"name": "ticket", "path": "tickets/{.number}"}}},
		"ticket": object{
			"id": ".steps.ticket.body.id", "number": ".steps.ticket.body.id", "subject": ".steps.ticket.body.title",
		},
	}
	for name, value := range changes {
		settings[name] = value
		if value == nil {
			delete(settings, name)
		}
	}
	return settings
}

// shownAs returns a mapping of every field with changes.
func shownAs(changes object) object {
	ticket := object{
		"id": ".steps.ticket.body.id", "number": ".steps.ticket.body.id", "subject": ".steps.ticket.body.title",
	}
	for _, name := range []string{"description", "status", "priority", "owner_id", "account_id", "contact_id"} {
		ticket[name] = ".steps.ticket.body." + name
	}
	maps.Copy(ticket, changes)
	if ticket["status_value"] != nil {
		delete(ticket, "status")
	}
	return ticket
}

func TestATicketIsMappedFromSeveralSteps(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{
		"POST /api/search": {status: 200, body: `{"hits":[{"key":"k/9"}]}`},
		"GET /api/records/k%2F9": {status: 200,
			body: `{"id":12345678901234567890,"no":"0017","t":"A","made":1767225600,"done":"0000-00-00 00:00:00","state":2,"text":"<p>x</p>"}`},
		"GET /api/records/k%2F9/c": {status: 200,
			body: `[{"public":true,"text":"one"},{"public":true,"text":"two"},{"public":false,"text":"three"}]`},
		"GET /api/states": {status: 200,
			body: `[{"n":"Open","v":1},{"n":"Closed","v":2},{"n":" open ","v":3},{"n":"","v":4}]`},
		"GET /api/records/k%2F9/no": {status: 404},
	})
	s := serve(t, system, anonymous)
	settings := plain(s.url, object{
		"number_width": float64(4),
		"vocabulary": object{
			"steps":    []any{object{"name": "states", "path": "/states"}},
			"statuses": "[.steps.states.body[] | {label: .n, value: .v}]",
		},
		"get": object{"steps": []any{
			object{"name": "search", "method": "POST", "reads": true, "path": "search", "encoding": "form",
				"body": "{no: .number, limit: 2, tags: [\"a\", \"b\"], none: null}"},
			object{"name": "record", "path": "records/{.steps.search.body.hits[0].key}"},
			object{"name": "comments", "path": "records/{.steps.search.body.hits[0].key}/c",
				"when": ".steps.record.body.state == 2"},
			object{"name": "absent", "path": "records/{.steps.search.body.hits[0].key}/no", "expect": []any{
				float64(200), float64(404),
			}},
			object{"name": "never", "path": "never", "when": ".steps.absent.status == 200"},
		}},
		"ticket": object{
			"id": ".steps.record.body.id", "number": ".steps.record.body.no",
			"subject":     `.steps.record.body.t + " " + (.steps.never | tostring)`,
			"description": "{text: .steps.record.body.text, html: true}", "status_value": ".steps.record.body.state",
			"created_at": ".steps.record.body.made", "closed_at": ".steps.record.body.done",
			"last_comment": "[.steps.comments.body[] | select(.public) | .text] | last",
		},
	})
	got, err := s.open(t, settings).ByNumber(t.Context(), "0017")
	if err != nil {
		t.Fatal(err)
	}
	want := crm.Ticket{
		ID: "12345678901234567890", Number: "0017", Subject: "A null",
		Description: crm.Text{Body: "<p>x</p>", HTML: true}, Status: "Closed",
		CreatedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), LastComment: crm.Plain("two"),
	}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if body, header := system.got("POST /api/search"); body != "limit=2&no=0017&tags=a&tags=b" ||
		header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("sent %q as %q", body, header.Get("Content-Type"))
	}
	words, err := s.open(t, settings).Vocabulary(t.Context())
	if err != nil || !slices.Equal(words.Statuses, []string{"Open", "Closed"}) || len(words.Priorities) != 0 {
		t.Errorf("the vocabulary is %q, %v", words, err)
	}
}

func TestNoNumberReachesAQuery(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"1' OR '1'='1", `1" OR key is not EMPTY`, "1) OR (1=1", "1 OR 1", "1;drop", "1/2", "../1", "..", ".", "",
		"1?x=1", "1&x=1", "1#x", "1%2F2", "1%27",
		"1\n", "1\r\nX: y", "１", "{.key}", "1|env", `1\`, "`id`", "*", "%", "1=1", "1<2", "1,2",
		strings.Repeat("1", 65),
	}
	system := says(nil)
	s := serve(t, system, anonymous)
	for rule, settings := range map[string]object{
		"with the usual pattern":                    plain(s.url, nil),
		"with a pattern that takes every character": plain(s.url, object{"number_pattern": "(?s).*"}),
	} {
		d := s.open(t, settings)
		for _, number := range hostile {
			_, err := d.ByNumber(t.Context(), number)
			if f := fault.From(err); f == nil || f.Code != fault.NotFound || f.Reason != fault.ReasonTicketNotFound {
				t.Errorf("%s: %q was answered with %v", rule, number, err)
			}
		}
	}
	if sent := s.requests(); len(sent) != 0 {
		t.Errorf("sent %q", sent)
	}
	d := s.open(t, plain(s.url, object{"number_pattern": "[A-Z]+-[0-9]+"}))
	for _, number := range []string{"INC-1", "INC-1 ", "inc-1"} {
		if _, err := d.ByNumber(t.Context(), number); !errors.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", number, err)
		}
	}
	if sent := s.requests(); !slices.Equal(sent, []string{"GET /api/tickets/INC-1"}) {
		t.Errorf("sent %q", sent)
	}
}

func TestValuesOfATicketStayWhereTheyAreSent(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{"GET /api/users/a%2F..%2Fb%3Fx=%27": {status: 200, body: `{}`}})
	s := serve(t, system, anonymous)
	settings := plain(s.url, object{"ticket": shownAs(nil), "create": object{"number": ".key", "steps": []any{
		object{"name": "owner", "path": "users/{.ticket.owner_id}", "query": object{
			"q":    `name = {.ticket.owner_id | quoted} and {{x}} = {.ticket.subject | @json}`,
			"none": "{.ticket.account_id}", "number": "{.ticket.subject | length}",
		}},
		object{"name": "create", "method": "POST", "path": "tickets"},
	}}})
	_, _ = s.open(t, settings).Create(t.Context(), crm.NewTicket{
		Key: "k1", Subject: `A "b" & c`, OwnerID: "a/../b?x='",
	})
	want := "GET /api/users/a%2F..%2Fb%3Fx=%27?number=9&" +
		"q=name+%3D+%27a%2F..%2Fb%3Fx%3D%5C%27%27+and+%7Bx%7D+%3D+%22A+%5C%22b%5C%22+%26+c%22"
	if sent := s.requests(); len(sent) == 0 || sent[0] != want {
		t.Errorf("sent %q\nwant %q", sent, want)
	}
	for _, owner := range []string{".", ".."} {
		before := s.Calls()
		if _, err := s.open(t, settings).Create(t.Context(), crm.NewTicket{
			Key: "k1", Subject: "A", OwnerID: owner,
		}); !errors.Is(err, fault.Unsupported) || s.Calls() != before {
			t.Errorf("%q as a part of a path: %v", owner, err)
		}
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	rules := []any{
		object{"status": []any{float64(400)}, "match": `.body.code == "OWNER"`, "fault": "invalid",
			"field": "owner_id", "message": "is nobody here."},
		object{"status": []any{float64(400)}, "match": `.body.code == "STATUS"`, "fault": "invalid",
			"field": "status"},
		object{"match": ".body.missing", "fault": "misconfigured", "message": "More is required.",
			"names": ".body.missing"},
		object{"match": ".body.errors[0]", "fault": "invalid", "message": "The desk says no."},
		object{"status": []any{float64(403)}, "match": `.headers["x-remaining"] == "0"`, "fault": "rate_limited",
			"wait": `.headers["x-reset"]`},
		object{"status": []any{float64(418)}, "fault": "unavailable"},
	}
	for _, c := range []struct {
		rule   string
		says   reply
		code   fault.Code
		reason string
		detail string
		field  fault.Field
		wait   time.Duration
	}{
		{rule: "a field by its code", says: reply{status: 400, body: `{"code":"OWNER"}`}, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest,
			field:  fault.Field{Path: "owner_id", Message: "is nobody here."}, detail: "See the listed field"},
		{rule: "what no rule says the field of is the settings' fault",
			says: reply{status: 400, body: `{"code":"OTHER"}`}, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "run connection verify"},
		{rule: "a field that was not given is the settings' fault",
			says: reply{status: 400, body: `{"code":"STATUS"}`}, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "run connection verify"},
		{rule: "a fault of the settings, whose names are not told to callers", code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured,
			says: reply{
				status: 422, body: `{"missing":["Cost centre","<b>","x@y","Étage 2","` + strings.Repeat("x",
					41) + `",7,"3","4","5","6"]}`,
			},
			detail: "More is required. The step was"},
		{rule: "a fault of the settings without names", says: reply{status: 422, body: `{"missing":"Cost centre"}`},
			code:   fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "More is required. The step was"},
		{rule: "an error inside a success", says: reply{status: 200, body: `{"errors":["x"]}`}, code: fault.Invalid,
			reason: fault.ReasonProviderRefused, detail: "The desk says no."},
		{rule: "a quota that looks like a missing right", says: reply{
			status: 403, body: `{}`, header: http.Header{"X-Remaining": {"0"}, "Retry-After": {"7"}},
		},
			code: fault.RateLimited, reason: fault.ReasonProviderRateLimited, wait: 7 * time.Second},
		{rule: "a quota with its end in a header of its own", says: reply{
			status: 403, body: `{}`, header: http.Header{"X-Remaining": {"0"}, "X-Reset": {"90"}},
		},
			code: fault.RateLimited, reason: fault.ReasonProviderRateLimited, wait: 90 * time.Second},
		{rule: "a quota without an end", says: reply{
			status: 403, body: `{}`, header: http.Header{"X-Remaining": {"0"}, "X-Reset": {"soon"}},
		},
			code: fault.RateLimited, reason: fault.ReasonProviderRateLimited},
		{rule: "a missing right", says: reply{status: 403, body: `{}`}, code: fault.Forbidden,
			reason: fault.ReasonPermissionDenied},
		{rule: "a status of the system's own", says: reply{status: 418, body: `tea`}, code: fault.Unavailable,
			reason: fault.ReasonProviderUnavailable},
		{rule: "credentials refused", says: reply{status: 401}, code: fault.Disconnected,
			reason: fault.ReasonReconnectRequired},
		{rule: "nothing at the path", says: reply{status: 404, body: `<html>`}, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "Check base_url and the path"},
		{rule: "down", says: reply{status: 502, body: `<html>`}, code: fault.Unavailable,
			reason: fault.ReasonProviderUnavailable},
		{rule: "accepted, and answered with a page", says: reply{status: 200, body: `<html>`},
			code: fault.UnknownOutcome, reason: fault.ReasonOutcomeUnknown},
		{rule: "accepted, and answered with a number that is none", says: reply{status: 200, body: `{"id":"x y"}`},
			code: fault.UnknownOutcome, reason: fault.ReasonOutcomeUnknown,
			detail: "settings.create.number"},
		{rule: "accepted, and not to be read back", says: reply{status: 201, body: `{"id":7}`},
			code: fault.UnknownOutcome, reason: fault.ReasonOutcomeUnknown, detail: "The ticket 7 was opened"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{"POST /api/tickets": c.says}), anonymous)
			settings := plain(s.url, object{"faults": rules, "ticket": shownAs(nil), "create": object{
				"steps":  []any{object{"name": "create", "method": "POST", "path": "tickets", "body": ".ticket"}},
				"number": ".steps.create.body.id",
			}})
			_, err := s.open(t, settings).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A", OwnerID: "7"})
			f := fault.From(err)
			if f == nil || f.Code != c.code || f.Reason != c.reason || f.RetryAfter != c.wait || f.Unsent ||
				!strings.Contains(f.Detail, c.detail) {
				t.Fatalf("got %+v", f)
			}
			if c.field.Path != "" && !slices.Equal(f.Fields, []fault.Field{c.field}) {
				t.Errorf("fields %+v", f.Fields)
			}
			if c.code != fault.UnknownOutcome && !strings.Contains(f.Detail, "create.steps[0] (create)") {
				t.Errorf("the step is not named: %s", f.Detail)
			}
		})
	}
}

func TestAKeyInAHeaderMakesCreateRepeatable(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{
		"POST /api/tickets": {status: 200, body: `{"id":7}`}, "GET /api/tickets/7": {status: 503},
	})
	s := serve(t, system, anonymous)
	d := s.open(t, plain(s.url, object{
		"idempotency_header": "Idempotency-Key", "headers": object{"X-Tenant": "acme"},
	}))
	if !d.Traits().IdempotentCreate {
		t.Error("Create is not said to be repeatable")
	}
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A"})
	if !errors.Is(err, fault.Unavailable) {
		t.Errorf("a read-back that fails: %v, want what repeating cures", err)
	}
	if _, header := system.got("POST /api/tickets"); header.Get("Idempotency-Key") != "k1" ||
		header.Get("X-Tenant") != "acme" {
		t.Errorf("headers %v", header)
	}
	if _, header := system.got("GET /api/tickets/7"); header.Get("Idempotency-Key") != "" {
		t.Error("a read carries the key")
	}
}

// The journal takes a refusal as proof that nothing happened, and forgets the key.
func TestAKeyInAHeaderDoesNotUndoWhatWasOpened(t *testing.T) {
	t.Parallel()
	pause := http.Header{"Retry-After": {"40"}}
	for rule, c := range map[string]struct {
		back reply
		code fault.Code
	}{
		"a read that is refused":       {reply{status: 403}, fault.UnknownOutcome},
		"credentials that are refused": {reply{status: 401}, fault.UnknownOutcome},
		"a ticket that is not shown":   {reply{status: 404, body: `{}`}, fault.UnknownOutcome},
		"too many requests":            {reply{status: 429, header: pause}, fault.UnknownOutcome},
		"something that is not JSON":   {reply{status: 200, body: `<html>`}, fault.UnknownOutcome},
		"another shape":                {reply{status: 200, body: `{"id":[7],"title":"A"}`}, fault.UnknownOutcome},
		"another ticket":               {reply{status: 200, body: `{"id":8,"title":"A"}`}, fault.UnknownOutcome},
		"a pause":                      {reply{status: 503, header: pause}, fault.Unavailable},
		"a time-out":                   {reply{status: 504}, fault.Timeout},
		"a read that arrives nowhere":  {reply{status: 521}, fault.Unavailable}, // Cloudflare could not connect
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{
				"POST /api/tickets": {status: 201, body: `{"id":7}`}, "GET /api/tickets/7": c.back,
			}), anonymous)
			d := s.open(t, plain(s.url, object{"idempotency_header": "Idempotency-Key"}))
			_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A"})
			f := fault.From(err)
			if f == nil || f.Code != c.code || f.Unsent {
				t.Fatalf("got %+v, want %s", f, string(c.code))
			}
			if wait := upstream.RetryAfter(c.back.header, time.Now()); f.RetryAfter != wait {
				t.Errorf("it says to wait for %s, and the ticket system %s", f.RetryAfter, wait)
			}
		})
	}
}

// Nothing is open yet, so the caller is told what to correct, and may repeat it under the same key.
func TestAKeyInAHeaderLeavesARefusalBeforeTheTicketIsOpened(t *testing.T) {
	t.Parallel()
	acts := func(name, method, path string) object {
		return object{"name": name, "method": method, "path": path, "body": ".ticket", "faults": []any{
			object{"status": []any{422}, "fault": "invalid", "field": "subject", "message": "is too long."},
		}}
	}
	customer, create := acts("customer", "POST", "customers"), acts("create", "POST", "tickets")
	assign := acts("assign", "PUT", "tickets/{.steps.create.body.id}")
	team := object{"name": "team", "path": "team"}
	made, refused := reply{status: 201, body: `{"id":7,"title":"A"}`}, reply{status: 422}
	forbidden, pause := reply{status: 403}, reply{status: 503}
	for rule, c := range map[string]struct {
		steps                []any
		ticket, assign, team reply
		code                 fault.Code
		subject              bool // the caller is told that the subject is refused
	}{
		"the ticket": {[]any{customer, create}, refused, made, made, fault.Invalid, true},
		"a look-up before the ticket": {
			[]any{customer, team, create}, made, made, forbidden, fault.Forbidden, false,
		},
		"a pause": {[]any{customer, create}, pause, made, made, fault.Unavailable, false},
		"a look-up after the ticket": {
			[]any{customer, create, team}, made, made, forbidden, fault.UnknownOutcome, false,
		},
		"a change of the open ticket": {
			[]any{customer, create, assign}, made, refused, made, fault.UnknownOutcome, false,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{
				"POST /api/customers": {status: 201, body: `{"id":3}`}, "POST /api/tickets": c.ticket,
				"PUT /api/tickets/7": c.assign, "GET /api/team": c.team,
			}), anonymous)
			for form, read := range map[string]object{
				"read back": {"number": ".steps.create.body.id"},
				"answered": {"ticket": object{
					"id": ".steps.create.body.id", "number": ".steps.create.body.id",
					"subject": ".steps.create.body.title",
				}},
			} {
				read["steps"] = c.steps
				d := s.open(t, plain(s.url, object{"idempotency_header": "Idempotency-Key", "create": read}))
				_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A"})
				f := fault.From(err)
				if f == nil || f.Code != c.code || f.Unsent {
					t.Fatalf("%s: got %+v, want %s", form, f, string(c.code))
				}
				if told := len(f.Fields) == 1 && f.Fields[0].Path == "subject"; told != c.subject {
					t.Errorf("%s: fields %+v", form, f.Fields)
				}
			}
		})
	}
}

// Without a key that the system knows, a refused step is told as it is only if no step before it sent the subject,
// which every ticket has: one of those may have opened the ticket, whatever gives its number.
func TestARefusalIsToldIfNoStepBeforeItCanHaveOpenedTheTicket(t *testing.T) {
	t.Parallel()
	text := object{"name": "text", "method": "POST", "path": "texts", "body": ".ticket.description"}
	create := object{"name": "create", "method": "POST", "path": "tickets",
		"body":   "{title: .ticket.subject, by: .ticket.owner_id}",
		"faults": []any{object{"status": []any{422}, "fault": "invalid", "field": "owner_id"}}}
	assign := object{"name": "assign", "method": "PUT", "path": "owners/{.ticket.owner_id}", "body": ".ticket.description"}
	for rule, c := range map[string]struct {
		steps  []any
		tells  string // the step whose answer has the number
		ticket reply
		code   fault.Code
	}{
		"the ticket":            {[]any{text, create}, "create", reply{status: 422}, fault.Invalid},
		"a right":               {[]any{text, create}, "create", reply{status: 403}, fault.Forbidden},
		"a pause":               {[]any{text, create}, "create", reply{status: 503}, fault.UnknownOutcome},
		"an answer without end": {[]any{text, create}, "create", reply{status: 200, body: `{"id":`}, fault.UnknownOutcome},
		"a change of the ticket, which alone tells its number": {
			[]any{create, assign}, "assign", reply{status: 200, body: `{}`}, fault.UnknownOutcome,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{
				"POST /api/texts": {status: 201, body: `{"id":3}`}, "POST /api/tickets": c.ticket,
				"PUT /api/owners/9": {status: 422},
			}), anonymous)
			d := s.open(t, plain(s.url, object{"ticket": shownAs(nil), "create": object{
				"steps": c.steps, "number": ".steps." + c.tells + ".body.id",
			}}))
			_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A", Description: "B", OwnerID: "9"})
			if f := fault.From(err); f == nil || f.Code != c.code || f.Unsent {
				t.Fatalf("got %+v, want %s", f, string(c.code))
			} else if told := len(f.Fields) == 1 && f.Fields[0].Path == "owner_id"; told != (c.code == fault.Invalid) {
				t.Errorf("fields %+v", f.Fields)
			}
		})
	}
}

// A look-up that fails before anything was changed has opened no ticket.
func TestATicketThatCannotBePreparedIsNotOpened(t *testing.T) {
	t.Parallel()
	create := object{"name": "create", "method": "POST", "path": "tickets", "body": ".ticket"}
	team := object{"name": "team", "path": "team"}
	s := serve(t, says(map[string]reply{"GET /api/team": {status: 503}, "POST /api/tickets": {status: 503}}), anonymous)
	for rule, c := range map[string]struct {
		steps  []any
		unsent bool
	}{
		"a look-up fails":  {[]any{team, create}, true},
		"the create fails": {[]any{create, team}, false},
	} {
		d := s.open(t, plain(s.url, object{"create": object{"steps": c.steps, "number": ".steps.create.body.id"}}))
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "A"})
		if f := fault.From(err); f == nil || f.Code != fault.Unavailable || f.Unsent != c.unsent {
			t.Errorf("%s: %+v", rule, f)
		}
	}
}

func TestCreateMayAnswerTheTicketItself(t *testing.T) {
	t.Parallel()
	s := serve(t, says(map[string]reply{"POST /api/tickets": {status: 201, body: `{"id":7,"title":"A"}`}}),
		anonymous)
	d := s.open(t, plain(s.url, object{"create": object{
		"steps": []any{object{"name": "create", "method": "POST", "path": "tickets",
			"body": "{title: .ticket.subject}"}},
		"ticket": object{
			"id": ".steps.create.body.id", "number": ".steps.create.body.id", "subject": ".steps.create.body.title",
		},
	}}))
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A"})
	if want := (crm.Ticket{ID: "7", Number: "7", Subject: "A"}); err != nil || made != want {
		t.Errorf("got %+v, %v", made, err)
	}
	if s.Calls() != 1 {
		t.Errorf("%d requests", s.Calls())
	}
}

func TestAnswersThatAreNoJSON(t *testing.T) {
	t.Parallel()
	page := reply{
		status: 201, body: "<b>7</b>", header: http.Header{"Content-Type": {"text/html"}, "Resource-Id": {"7"}},
	}
	for rule, create := range map[string]object{
		"a text by the step's word": {"text": true,
			"number": `.steps.create.body | ltrimstr("<b>") | rtrimstr("</b>")`},
		"a header, and no look at texts": {"text": true, "number": `.steps.create.headers["resource-id"]`},
	} {
		s := serve(t, says(map[string]reply{
			"POST /api/tickets": page, "GET /api/tickets/7": {status: 200, body: `{"id":7}`},
		}), anonymous)
		d := s.open(t, plain(s.url, object{"create": object{"number": create["number"], "steps": []any{
			object{"name": "create", "method": "POST", "path": "tickets", "text": create["text"]}}}}))
		if made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A"}); err != nil ||
			made.Number != "7" {
			t.Errorf("%s: %+v, %v", rule, made, err)
		}
	}
}

func TestFindIsThereWhereTheSettingsSayHow(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{
		"GET /api/find": {status: 200, body: `{"id":7}`}, "GET /api/tickets/7": {status: 404},
	})
	s := serve(t, system, anonymous)
	if _, can := s.open(t, plain(s.url, nil)).(crm.Finder); can {
		t.Error("a driver without by_key finds keys")
	}
	findAt := func(step object, expression string) error {
		step["name"] = "find"
		d := s.open(t, plain(s.url, object{"by_key": object{"number": expression, "steps": []any{step}}}))
		_, err := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k1"})
		return err
	}
	find := func(expression string) error {
		return findAt(object{"path": "find", "query": object{"k": "{.key}"}}, expression)
	}
	if err := find("null"); !errors.Is(err, fault.NotFound) {
		t.Errorf("no number: %v", err)
	}
	if err := find(".steps.find.body.id"); !errors.Is(err, fault.Unavailable) {
		t.Errorf("a ticket that is found and not shown yet: %v, want no claim that there is none", err)
	}
	if err := find(`"7 or 1"`); !errors.Is(err, fault.Unsupported) {
		t.Errorf("a number that is none: %v", err)
	}
	if err := findAt(object{"path": "of/{.key}"}, ".steps.find.body.id"); !errors.Is(err, fault.NotFound) {
		t.Errorf("nothing at the path of the key: %v", err)
	}
	if err := findAt(object{"path": "of", "query": object{"k": "{.key}"}},
		".steps.find.body.id"); !errors.Is(err, fault.Unsupported) {
		t.Errorf("nothing at the path of the search: %v", err)
	}
	rule := object{"status": []any{float64(404)}, "fault": "not_found"}
	if err := findAt(object{"path": "of", "query": object{"k": "{.key}"}, "faults": []any{rule}},
		".steps.find.body.id"); !errors.Is(err, fault.NotFound) {
		t.Errorf("nothing at the path of the search, which means that there is none: %v", err)
	}
}

func TestLabelsAndTheirValues(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{
		"GET /api/states":    {status: 200, body: `[{"n":"Open","v":1}]`},
		"POST /api/tickets":  {status: 200, body: `{"id":7}`},
		"GET /api/tickets/7": {status: 200, body: `{"id":7,"state":2}`},
	})
	s := serve(t, system, anonymous)
	d := s.open(t, plain(s.url, object{
		"priorities": []any{"Low"},
		"vocabulary": object{
			"steps":    []any{object{"name": "states", "path": "states"}},
			"statuses": "[.steps.states.body[] | {label: .n, value: .v}]",
		},
		"create": object{"number": ".steps.create.body.id", "steps": []any{
			object{"name": "create", "method": "POST", "path": "tickets",
				"body": "{s: .ticket.status_value, p: .ticket.priority_value, o: .ticket.owner_id} | given"}}},
		"ticket": object{
			"id": ".steps.ticket.body.id", "number": ".steps.ticket.body.id",
			"status_value": ".steps.ticket.body.state", "priority": ".steps.ticket.body.priority",
			"owner_id": ".steps.ticket.body.owner",
		},
	}))
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A", Status: "Open", Priority: "Low"})
	if err != nil || made.Status != "" {
		t.Errorf("a value without a label is answered as %q, %v", made.Status, err)
	}
	if body, _ := system.got("POST /api/tickets"); body != `{"p":"Low","s":1}` {
		t.Errorf("sent %s", body)
	}
	system.mu.Lock()
	system.says["GET /api/states"] = reply{status: 200, body: `[{"n":"Open","v":1},{"n":"Waiting","v":2}]`}
	system.mu.Unlock()
	if made, err = d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A", Status: "Waiting"}); err != nil ||
		made.Status != "Waiting" {
		t.Errorf("a label that is new: %q, %v", made.Status, err)
	}
	system.mu.Lock()
	system.says["GET /api/states"] = reply{status: 200, body: `[{"n":"Open","v":1},{"n":"On hold","v":2}]`}
	system.mu.Unlock()
	s.later += crm.LabelsLast
	if read, err := d.ByNumber(t.Context(), "7"); err != nil || read.Status != "On hold" {
		t.Errorf("a renamed label is reported as %q, %v", read.Status, err)
	}
	works := system.says["GET /api/states"]
	system.mu.Lock()
	system.says["GET /api/states"] = reply{status: 503, body: `{}`}
	system.mu.Unlock()
	s.later += crm.LabelsLast
	if made, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A"}); err != nil || made.Status != "On hold" {
		t.Errorf("with labels that cannot be read anew, the ticket is made with the status %q, %v", made.Status, err)
	}
	system.mu.Lock()
	system.says["GET /api/states"] = works
	system.mu.Unlock()
	_, err = d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A", Status: "Gone"})
	if f := fault.From(err); f == nil || f.Code != fault.Invalid || f.Fields[0].Path != "status" {
		t.Errorf("a label that is none: %v", err)
	}
}

// A hostile ticket system could name so many labels that to compare each with the others takes a minute.
func TestAVocabularyIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows, labels int
		ok           bool
	}{
		{1000, 1000, true}, {1001, 1001, false}, {90_000, 90_000, false},
		// Jira names the statuses of all projects, many of them alike ("Get all statuses").
		{90_000, 3, true},
	} {
		var list strings.Builder
		for i := range c.rows {
			fmt.Fprintf(&list, ",%d", i%c.labels)
		}
		s := serve(t, says(map[string]reply{"GET /api/states": {status: 200, body: list.String()[1:]}}), anonymous)
		words, err := s.open(t, plain(s.url, object{"vocabulary": object{
			"steps":    []any{object{"name": "states", "path": "states", "text": true}},
			"statuses": `.steps.states.body | split(",")`,
		}})).Vocabulary(t.Context())
		if c.ok != (err == nil) || c.ok && len(words.Statuses) != c.labels ||
			!c.ok && !strings.Contains(err.Error(), "statuses: gives more than 1,000 labels") {
			t.Errorf("%d labels of %d rows: %d, %v", c.labels, c.rows, len(words.Statuses), err)
		}
	}
}

func TestSettingsThatDoNotFitAreToldWithTheirPlace(t *testing.T) {
	t.Parallel()
	for path, c := range map[string]struct {
		ticket object
		body   string
	}{
		"settings.ticket.subject: gives a list, where a text is needed": {object{"subject": "[1]"},
			`{"id":7}`},
		"settings.ticket.id: gives nothing": {object{"id": ".steps.ticket.body.none"}, `{"id":7}`},
		"settings.ticket.created_at: gives text that is not a time; set time_layout": {
			object{"created_at": `"soon"`}, `{"id":7}`,
		},
		"settings.ticket.description: gives an object, where a text is needed": {
			object{"description": "{text: {}}"}, `{"id":7}`,
		},
		"settings.ticket.subject: takes longer than 1s":          {object{"subject": "[repeat(0)]"}, `{"id":7}`},
		"settings.ticket.subject: has a value that is too large": {object{"subject": `"x" * 2000000`}, `{"id":7}`},
		"settings.ticket.subject: cannot iterate over: null": {object{"subject": ".steps.ticket.body.none[]"},
			`{"id":7}`},
		"The ticket system answered something other than JSON": {object{},
			`<html>sign in</html>`},
		"settings.ticket.status_value: gives a list, where a value of the vocabulary is needed": {
			object{"status_value": "[]"}, `{"id":7}`,
		},
	} {
		t.Run(path, func(t *testing.T) {
			s := serve(t, says(map[string]reply{"GET /api/tickets/7": {status: 200, body: c.body}}), anonymous)
			_, err := s.open(t, plain(s.url, object{"ticket": shownAs(c.ticket)})).ByNumber(t.Context(), "7")
			f := fault.From(err)
			if f == nil || f.Code != fault.Unsupported || f.Reason != fault.ReasonProviderMisconfigured ||
				!strings.Contains(f.Detail, path) {
				t.Errorf("got %+v", f)
			}
		})
	}
}

func TestRequestsThatCannotBeMadeAreNotSent(t *testing.T) {
	t.Parallel()
	for path, step := range map[string]object{
		"settings.create.steps[0].headers.X-Subject: gives control characters": {
			"headers": object{"X-Subject": "{.ticket.subject}"},
		},
		"settings.create.steps[0].headers.X-Subject: gives a list, where a text is needed": {
			"headers": object{"X-Subject": "{[]}"},
		},
		"settings.create.steps[0].query.q: gives an object, where a text is needed": {
			"query": object{"q": "a {.ticket}"},
		},
		"settings.create.steps[0].path: gives an object, where a text is needed": {"path": "tickets/{.ticket}"},
		"settings.create.steps[0].body: gives a list, where a form needs an object": {
			"encoding": "form", "body": "[]",
		},
		"settings.create.steps[0].body: gives an object for a member, where a form needs a text": {
			"encoding": "form", "body": "{a: {}}",
		},
		"settings.create.steps[0].body: given cannot be applied to: array":      {"body": "[] | given"},
		"settings.create.steps[0].body: quoted cannot be applied to: array":     {"body": "[] | quoted"},
		"settings.create.steps[0].body: has a value that is too large":          {"body": `"x" * 2000000`},
		"settings.create.steps[0].when: expected an object but got: string":     {"when": ".ticket.subject.a"},
		"settings.create.steps[0].body: gives a value that JSON cannot express": {"body": "infinite"},
	} {
		t.Run(path, func(t *testing.T) {
			s := serve(t, says(nil), anonymous)
			create := object{"name": "create", "method": "POST", "path": "tickets"}
			maps.Copy(create, step)
			d := s.open(t, plain(s.url, object{"create": object{"number": "1", "steps": []any{create}}}))
			_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A\nX-Injected: yes"})
			if f := fault.From(err); f == nil || f.Code != fault.Unsupported || !strings.Contains(f.Detail, path) ||
				s.Calls() != 0 {
				t.Errorf("after %d requests: %+v", s.Calls(), f)
			}
		})
	}
}

// The person who verifies a connection sees the field names in a response, if they are plain words.
func TestVerifyingTellsTheNamesInAnAnswer(t *testing.T) {
	t.Parallel()
	system := says(map[string]reply{"GET /api/check": {status: 422,
		body: `{"missing":["Cost centre","<b>","x@y","Étage 2","` +
			strings.Repeat("x", 41) + `",7,"3","4","5","6"]}`}, "GET /api/me": {status: 200, body: `{}`}})
	s := serve(t, system, anonymous)
	d := s.open(t, plain(s.url, object{
		"check": object{"steps": []any{object{"name": "check", "path": "check"}}},
		"faults": []any{object{"match": ".body.missing", "fault": "misconfigured", "message": "More is required.",
			"names": ".body.missing"}},
	}))
	_, err := d.(crm.Explainer).Explain(t.Context())
	if f := fault.From(err); f == nil ||
		!strings.Contains(f.Detail, "More is required: Cost centre, Étage 2, 3, 4, 5. The step was") {
		t.Errorf("got %+v", f)
	}
}

// TestNothingOfAnAnswerIsTold puts a word into every place of responses and makes every kind of expression
// fail on them. The word must not be in any text that a caller sees, nor in the log above debug level.
func TestNothingOfAnAnswerIsTold(t *testing.T) {
	t.Parallel()
	const canary = "canary"
	bodies := []string{
		`"canary"`, `{"canary":"canary"}`,
		`{"id":"canary x","error":"canary","errors":["canary"],"message":"canary","missing":["canary"],"list":["canary"],"at":"canary"}`,
		`{"id":7,"error":{"canary":["canary"]},"at":"canary","text":"canary","list":[{"canary":1}],"missing":["canary","canary two"]}`,
		`canary`, `<html>canary</html>`, `{"canary"`, `["canary",["canary"]]`, `{"id":".."}`, `{"id":"\ncanary"}`,
		`{"id":"canary\u0000"}`,
	}
	expressions := []string{
		".steps.S.body[]", ".steps.S.body.canary.x", ".steps.S.body.error | error", "error(.steps.S.body)",
		".steps.S.body | tonumber", ".steps.S.body + 1", ".steps.S.body - {}", ".steps.S.body * {}",
		".steps.S.body / 0", ".steps.S.body % 0", "-(.steps.S.body)", ".steps.S.body | keys",
		".steps.S.body | fromjson", ".steps.S.body.error | test(\"(\")", ".steps.S.body | has(0)",
		".steps.S.body | join(\"x\")", ".steps.S.body | quoted", ".steps.S.body | given", ".steps.S.body | @csv",
		".steps.S.body | implode", ".steps.S.body.text | strptime(\"%Y\")", ".steps.S.body as [$a] | $a",
		".steps.S.body as {id: [$a]} | $a", ".steps.S.body.error as $x | \"x\" | test($x; $x)",
		"try error(.steps.S.body) catch error", ".steps.S.body.list | first | .x.y",
		".steps.S.body | ascii_downcase", ".steps.S.body.at", ".steps.S.body", ".steps.S.body | tojson | error",
		".steps.S.body | startswith(1)", ".steps.S.body | sort_by(.x.y)", ".steps.S.body | todate",
		"({(.steps.S.body.error): {}})",
	}
	faults := []any{
		object{"status": []any{float64(422)}, "match": ".body.missing", "fault": "misconfigured",
			"names": ".body.missing"},
		object{"match": ".body.errors[0]", "fault": "invalid", "field": "subject"},
		object{"match": ".body.errors", "fault": "invalid"},
	}
	failures := 0
	for _, body := range bodies {
		for _, status := range []int{200, 400, 401, 403, 404, 409, 422, 429, 500, 503} {
			answer := reply{
				status: status, body: body,
				header: http.Header{"Content-Type": {"application/json"}, "X-Canary": {canary}, "Retry-After": {canary}},
			}
			system := says(map[string]reply{
				"GET /api/tickets/7": answer, "POST /api/tickets": answer, "GET /api/me": answer, "GET /api/key": answer,
			})
			s := serve(t, system, anonymous)
			tried := expressions
			if status != 200 {
				tried = expressions[:1]
			}
			for i, expression := range tried {
				step := func(name string) string { return strings.ReplaceAll(expression, ".S.", "."+name+".") }
				settings := plain(s.url, object{
					"faults": faults, "account": object{
						"name": step("me"), "steps": []any{object{"name": "me", "path": "me"}},
					},
					"ticket": shownAs(object{[]string{"subject", "id", "created_at", "description"}[i%4]: step("ticket")}),
					"create": object{"number": "1", "steps": []any{
						object{"name": "create", "method": "POST", "path": "tickets", "body": ".ticket + {key}"},
						object{"name": "next", "method": "POST", "path": "tickets", "encoding": []string{"json", "form"}[i%2],
							"body": step("create")},
						object{"name": "last", "path": "tickets/{" + step("create") + "}",
							"headers": object{"X-A": "{" + step("create") + "}"}},
					}},
					"by_key": object{"number": step("key"), "steps": []any{object{"name": "key", "path": "key"}}},
				})
				d, err := s.tryOpen(t, settings)
				if err != nil {
					t.Fatalf("%s: %v", expression, fault.From(err).Fields)
				}
				_, created := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "A"})
				_, read := d.ByNumber(t.Context(), "7")
				_, found := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k"})
				_, account := d.Account(t.Context())
				for _, err := range []error{created, read, found, account} {
					f := fault.From(err)
					if f == nil {
						continue
					}
					failures++
					if all := fmt.Sprintf("%s %s %v %v %s", f.Detail, f.Reason, f.Fields, f.Metadata,
						f.Error()); strings.Contains(strings.ToLower(all), canary) {
						t.Errorf("%d %s with %s tells %s", status, body, expression, all)
					}
				}
			}
		}
	}
	if failures < 1000 {
		t.Errorf("only %d failures were looked at", failures)
	}
}

func TestATicketIsFoundOnlyByItsOwnNumber(t *testing.T) {
	t.Parallel()
	for rule, body := range map[string]string{
		"another number": `{"id":7}`, "an empty answer by a rule": `{"id":"007","hits":0}`,
	} {
		s := serve(t, says(map[string]reply{"GET /api/tickets/007": {status: 200, body: body}}), anonymous)
		d := s.open(t, plain(s.url, object{"faults": []any{object{"match": ".body.hits == 0",
			"fault": "not_found"}}}))
		_, err := d.ByNumber(t.Context(), "007")
		if f := fault.From(err); f == nil || f.Code != fault.NotFound || f.Reason != fault.ReasonTicketNotFound {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestExplainShowsEachStep(t *testing.T) {
	t.Parallel()
	replies := map[string]reply{
		"GET /api/me":        {status: 200, body: `{"name":"Acme","email":"desk@acme.example"}`},
		"GET /api/states":    {status: 200, body: `["Open"]`},
		"GET /api/tickets/7": {status: 200, body: `{"id":7,"title":"A pipe"}`},
	}
	settings := object{
		"sample_number": "7",
		"vocabulary": object{
			"steps": []any{object{"name": "states", "path": "states"}}, "statuses": ".steps.states.body",
		},
	}
	s := serve(t, says(replies), anonymous)
	lines, err := s.open(t, plain(s.url, settings)).(crm.Explainer).Explain(t.Context())
	want := []string{
		"account.steps[0] (me): GET /api/me answered 200", `account: name "Acme", email "desk@acme.example"`,
		"vocabulary.steps[0] (states): GET /api/states answered 200", `vocabulary: statuses "Open"`,
		`create.steps[0] (create): would send POST /api/tickets {"title":"A subject"}`,
		"get.steps[0] (ticket): GET /api/tickets/7 answered 200", `ticket: id "7", number "7", subject "A pipe"`,
	}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	conditional := plain(s.url, object{"create": object{"number": "7", "steps": []any{
		object{"name": "owner", "path": "owner", "when": ".ticket.owner_id"},
		object{"name": "create", "method": "POST", "path": "tickets", "encoding": "form",
			"body": "{s: .ticket.subject, o: .steps.owner.body}"},
	}}, "ticket": shownAs(nil)})
	lines, err = s.open(t, conditional).(crm.Explainer).Explain(t.Context())
	if err != nil || !slices.Contains(lines,
		`create.steps[1] (create): would send POST /api/tickets "s=A+subject"`) {
		t.Errorf("a step with a condition goes before the one that acts: %q, %v", lines, err)
	}
	if slices.ContainsFunc(s.requests(), func(r string) bool { return strings.HasPrefix(r, "POST") }) {
		t.Error("explaining opened a ticket")
	}
	lines, err = s.open(t, plain(s.url, object{"sample_number": "8"})).(crm.Explainer).Explain(t.Context())
	if err != nil || len(lines) != 5 || lines[4] != "get: found no ticket with exactly the sample_number 8" {
		t.Errorf("a sample that is not there: %q, %v", lines, err)
	}
	delete(replies, "GET /api/states")
	lines, err = s.open(t, plain(s.url, settings)).(crm.Explainer).Explain(t.Context())
	if len(lines) != 3 || err == nil ||
		!strings.Contains(fault.From(err).Detail, "vocabulary.steps[0] (states)") {
		t.Errorf("a step that fails: %q, %v", lines, err)
	}
}

func TestVerifyingLooksForAKeyThatNoTicketHas(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		found reply
		line  string // the last
		says  string // of the error; "" is none
	}{
		"it finds none": {
			reply{status: 200, body: `{"items":[]}`}, "by_key: found no ticket with a key that none has", "",
		},
		"it finds any":               {reply{status: 200, body: `{"items":[{"id":3}]}`}, "", "the search may ignore the key"},
		"there is no such path":      {reply{status: 404, body: `{}`}, "", "by_key.steps[0] (search)"},
		"an answer of another shape": {reply{status: 200, body: `{}`}, "", "settings.by_key.number"},
	} {
		t.Run(rule, func(t *testing.T) {
			s := serve(t, says(map[string]reply{
				"GET /api/me": {status: 200, body: `{"name":"Acme"}`}, "GET /api/search": c.found,
			}), anonymous)
			lines, err := s.open(t, plain(s.url, object{
				"create": object{"number": ".steps.create.body.id", "steps": []any{object{
					"name": "create", "method": "POST", "path": "tickets", "body": "{title: .ticket.subject, key}",
				}}},
				"by_key": object{
					"steps":  []any{object{"name": "search", "path": "search", "query": object{"key": "{.key}"}}},
					"number": "first(.steps.search.body.items[].id)",
				},
			})).(crm.Explainer).Explain(t.Context())
			if c.says != "" {
				if err == nil || !strings.Contains(fault.From(err).Detail, c.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || !slices.Contains(lines, c.line) {
				t.Errorf("got %q, %v", lines, err)
			}
		})
	}
}
