package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"go.uber.org/goleak"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	_ "google.golang.org/protobuf/types/known/structpb"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/record"
	"frontdesk/core/service"
	"frontdesk/core/telemetry"
	"frontdesk/core/tenant"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	publicURL = "https://agents.example.com"
	testKey   = "fd_live_0123456789abcdefghijABCDEFGHIJ01abcdef"
	readerKey = "fd_live_reader456789abcdefghijABCDEFGHIJ01abcd"
	fixedID   = "01JDB2V7Q4RZ0F5N1X8W3T6K9M"

	bookPath      = "/v1/calendar/book-meeting"
	updatePath    = "/v1/calendar/update-meeting"
	cancelPath    = "/v1/calendar/cancel-meeting"
	eventsPath    = "/v1/calendar/list-events"
	calendarsPath = "/v1/calendar/list-calendars"
	slotsPath     = "/alpha/calendar/find-slots"
	verifyPath    = "/v1/calendar/verify-calendar-connection"
	createPath    = "/v1/tickets/create-ticket"
	ticketPath    = "/v1/tickets/get-ticket"
	numbersPath   = "/beta/phone-numbers"
	numberPath    = "/beta/phone-numbers/4711"
)

// fakeServices implements every use case and records its input. If err is set, it returns err. If hook is
// set, it calls hook first.
type fakeServices struct {
	mu       sync.Mutex
	input    any
	write    service.Write
	caller   apikey.Caller
	deadline time.Time
	calls    int

	err      error
	hook     func(context.Context) error
	replayed bool
}

func (f *fakeServices) called(ctx context.Context, caller apikey.Caller, w service.Write, input any) error {
	f.mu.Lock()
	f.calls++
	f.input, f.write, f.caller = input, w, caller
	f.deadline, _ = ctx.Deadline()
	hook, err := f.hook, f.err
	f.mu.Unlock()
	if hook != nil {
		if err := hook(ctx); err != nil {
			return err
		}
	}
	return err
}

func answered[T any](f *fakeServices, rec T, err error) (service.Answer[T], error) {
	if err != nil {
		return service.Answer[T]{}, err
	}
	body, err := json.Marshal(rec)
	return service.Answer[T]{Record: rec, Body: body, Replayed: f.replayed}, err
}

type fakeCalendar struct{ *fakeServices }

var sampleMeeting = record.MeetingAnswer{Event: record.Meeting{
	EventID: "evt_1", EventURL: "https://meet.example.com/a?b=1&c=2", StartTime: "2026-12-01T10:00:00-05:00",
	EndTime: "2026-12-01T10:30:00-05:00",
}}

func (f fakeCalendar) Book(
	ctx context.Context, c apikey.Caller, w service.Write, in service.BookMeeting,
) (service.Answer[record.MeetingAnswer], error) {
	return answered(f.fakeServices, sampleMeeting, f.called(ctx, c, w, in))
}

func (f fakeCalendar) Update(
	ctx context.Context, c apikey.Caller, w service.Write, in service.UpdateMeeting,
) (service.Answer[record.MeetingAnswer], error) {
	return answered(f.fakeServices, sampleMeeting, f.called(ctx, c, w, in))
}

func (f fakeCalendar) Cancel(
	ctx context.Context, c apikey.Caller, w service.Write, in service.CancelMeeting,
) (service.Answer[record.CancelAnswer], error) {
	return answered(f.fakeServices, record.CancelAnswer{OK: true, EventID: in.EventID}, f.called(ctx, c, w, in))
}

func (f fakeCalendar) List(
	ctx context.Context, c apikey.Caller, in service.ListEvents,
) (record.EventsAnswer, error) {
	return record.EventsAnswer{Events: []record.Event{{
		EventID: "evt_1", Subject: "Consultation", StartTime: "2026-12-01T10:00:00-05:00",
		EndTime: "2026-12-01T10:30:00-05:00", OrganizerEmail: "office@example.com", Attendees: []record.Attendee{},
	}}}, f.called(ctx, c, service.Write{}, in)
}

func (f fakeCalendar) Calendars(ctx context.Context, c apikey.Caller) (record.CalendarsAnswer, error) {
	return record.CalendarsAnswer{Calendars: []record.Calendar{{ID: "primary", Name: "Front office"}}},
		f.called(ctx, c, service.Write{}, nil)
}

func (f fakeCalendar) FindSlots(
	ctx context.Context, c apikey.Caller, in service.FindSlots,
) (record.SlotsAnswer, error) {
	return record.SlotsAnswer{
		Slots: []record.Slot{{SlotID: "st_7q2m9xk4tz", Start: "2026-12-01T10:00:00-05:00",
			End: "2026-12-01T10:30:00-05:00", CalendarIDs: []string{"primary"}}},
		TimeZone: "America/New_York", Complete: true, UnreadCalendars: []string{},
		Say: "I have Tuesday the first at ten in the morning.",
	}, f.called(ctx, c, service.Write{}, in)
}

func (f fakeCalendar) Hold(
	ctx context.Context, c apikey.Caller, w service.Write, in service.HoldSlot,
) (service.Answer[record.HoldAnswer], error) {
	return answered(f.fakeServices, record.HoldAnswer{
		HoldID: "hd_3n8r5w0c6p", HeldUntil: "2026-11-30T16:05:00-05:00",
		Slot: record.Slot{SlotID: in.SlotID, Start: "2026-12-01T10:00:00-05:00", End: "2026-12-01T10:30:00-05:00",
			CalendarIDs: []string{"primary"}},
		Say: "I am holding Tuesday the first at ten in the morning for you.",
	}, f.called(ctx, c, w, in))
}

func (f fakeCalendar) ReleaseHold(
	ctx context.Context, c apikey.Caller, w service.Write, holdID string,
) (service.Answer[record.ReleaseAnswer], error) {
	return answered(f.fakeServices, record.ReleaseAnswer{HoldID: holdID, Released: true, Say: "Released."},
		f.called(ctx, c, w, holdID))
}

var sampleBooked = record.BookedAnswer{
	MeetingReference: "mt_5d1y7k2hqs", Start: "2026-12-01T10:00:00-05:00", End: "2026-12-01T10:30:00-05:00",
	TimeZone: "America/New_York", Say: "Booked.",
}

func (f fakeCalendar) BookSlot(
	ctx context.Context, c apikey.Caller, w service.Write, in service.BookSlot,
) (service.Answer[record.BookedAnswer], error) {
	return answered(f.fakeServices, sampleBooked, f.called(ctx, c, w, in))
}

func (f fakeCalendar) FindMeetings(
	ctx context.Context, c apikey.Caller, in service.FindMeetings,
) (record.MeetingsAnswer, error) {
	return record.MeetingsAnswer{
		Meetings: []record.FoundMeeting{}, TimeZone: "America/New_York", Complete: true, UnreadSources: []string{},
	}, f.called(ctx, c, service.Write{}, in)
}

func (f fakeCalendar) MoveMeeting(
	ctx context.Context, c apikey.Caller, w service.Write, in service.MoveMeeting,
) (service.Answer[record.BookedAnswer], error) {
	return answered(f.fakeServices, sampleBooked, f.called(ctx, c, w, in))
}

func (f fakeCalendar) CancelByReference(
	ctx context.Context, c apikey.Caller, w service.Write, reference string,
) (service.Answer[record.CancelledAnswer], error) {
	return answered(f.fakeServices, record.CancelledAnswer{OK: true, MeetingReference: reference},
		f.called(ctx, c, w, reference))
}

func (f fakeCalendar) Verify(ctx context.Context, c apikey.Caller) (record.VerifyAnswer, error) {
	return record.VerifyAnswer{OK: true, Email: "office@example.com"}, f.called(ctx, c, service.Write{}, nil)
}

type fakeTickets struct{ *fakeServices }

var sampleTicket = record.TicketAnswer{Ticket: record.Ticket{
	ID: "tkt_1", TicketNumber: "00001042", Subject: "Broken door handle", CreatedAt: "2026-12-01T15:00:00Z",
}}

func (f fakeTickets) Create(
	ctx context.Context, c apikey.Caller, w service.Write, in service.CreateTicket,
) (service.Answer[record.TicketAnswer], error) {
	return answered(f.fakeServices, sampleTicket, f.called(ctx, c, w, in))
}

func (f fakeTickets) Get(ctx context.Context, c apikey.Caller, number string) (record.TicketAnswer, error) {
	return sampleTicket, f.called(ctx, c, service.Write{}, number)
}

type fakeContacts struct{ *fakeServices }

func (f fakeContacts) LookUp(
	ctx context.Context, c apikey.Caller, in service.LookUpCaller,
) (record.CallerAnswer, error) {
	return record.CallerAnswer{Candidates: []record.Candidate{}, Partial: []string{}},
		f.called(ctx, c, service.Write{}, in)
}

type fakeNumbers struct{ *fakeServices }

var sampleNumber = record.PhoneNumber{ID: 4711, Name: "Front office", E164: "+14155550123", AreaCode: "415"}

func (f fakeNumbers) List(ctx context.Context, c apikey.Caller) (record.PhoneNumbersAnswer, error) {
	return record.PhoneNumbersAnswer{PhoneNumbers: []record.PhoneNumber{sampleNumber}},
		f.called(ctx, c, service.Write{}, nil)
}

func (f fakeNumbers) Get(ctx context.Context, c apikey.Caller, id int64) (record.PhoneNumber, error) {
	return sampleNumber, f.called(ctx, c, service.Write{}, id)
}

func (f fakeNumbers) Buy(
	ctx context.Context, c apikey.Caller, w service.Write, in service.BuyNumber,
) (service.Answer[record.PhoneNumber], error) {
	return answered(f.fakeServices, sampleNumber, f.called(ctx, c, w, in))
}

func (f fakeNumbers) Update(
	ctx context.Context, c apikey.Caller, w service.Write, in service.UpdateNumber,
) (service.Answer[record.PhoneNumber], error) {
	return answered(f.fakeServices, sampleNumber, f.called(ctx, c, w, in))
}

func (f fakeNumbers) Release(
	ctx context.Context, c apikey.Caller, w service.Write, id int64,
) (service.Answer[struct{}], error) {
	return service.Answer[struct{}]{Replayed: f.replayed}, f.called(ctx, c, w, id)
}

// fakeKeys accepts two keys: one with every scope, and one that may read the calendar.
type fakeKeys struct{ err error }

func (f fakeKeys) Authenticate(_ context.Context, key string) (apikey.Caller, error) {
	caller := apikey.Caller{
		Tenant: tenant.Tenant{ID: "ten_1", Name: "acme"}, KeyID: "key_1", Scopes: apikey.Scopes(),
		Connections: map[adapter.Kind]connection.Connection{
			adapter.KindCalendar: {ID: "con_1", Provider: "sandbox"},
		},
	}
	switch {
	case f.err != nil:
		return apikey.Caller{}, f.err
	case key == testKey:
		return caller, nil
	case key == readerKey:
		caller.Scopes = []apikey.Scope{apikey.ScopeCalendarRead}
		return caller, nil
	}
	return apikey.Caller{}, apikey.ErrKey
}

// fakeMetrics records the requests.
type fakeMetrics struct {
	mu      sync.Mutex
	seen    []string
	running int
}

func (f *fakeMetrics) Watch(telemetry.Watched) {}

func (f *fakeMetrics) RequestRunning(string) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}
}

func (f *fakeMetrics) Request(surface, operation string, status int, reason string, _ time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, strings.Join([]string{surface, operation, http.StatusText(status), reason}, "|"))
}

// lockedBuffer is a log for concurrent requests.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// gateway is the API with fake services, served over HTTP.
type gateway struct {
	*fakeServices
	t       *testing.T
	handler http.Handler
	url     string
	client  *http.Client
	log     *lockedBuffer
	metrics *fakeMetrics
	router  routers.Router
}

// startGateway starts a gateway. The adjust functions change its options.
func startGateway(t *testing.T, adjust ...func(*Options)) *gateway {
	t.Helper()
	g := &gateway{fakeServices: &fakeServices{}, t: t, log: &lockedBuffer{}, metrics: &fakeMetrics{}}
	log, err := telemetry.NewLogger(g.log, telemetry.LogOptions{Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		PublicURL: publicURL, Version: "1.0.0", Log: log, Metrics: g.metrics, Keys: fakeKeys{},
		Services: Services{
			Calendar: fakeCalendar{g.fakeServices}, Tickets: fakeTickets{g.fakeServices},
			Numbers: fakeNumbers{g.fakeServices}, Contacts: fakeContacts{g.fakeServices}, Admin: &admin.Service{},
		},
		LegacyConferencing: []string{"nylas"}, NewID: func() string { return fixedID },
	}
	for _, f := range adjust {
		f(&o)
	}
	if g.handler, err = New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g.handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if g.router, err = contract(); err != nil {
		t.Fatal(err)
	}
	g.url = server.URL
	g.client = &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		server.Close()
	})
	return g
}

// contract is the document that all responses are checked against: FRONTDESK_CONTRACT, or else our own.
var contract = sync.OnceValues(func() (routers.Router, error) {
	doc, err := contractDocument()
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	return gorillamux.NewRouter(doc)
})

func contractDocument() (*openapi3.T, error) {
	if path := os.Getenv("FRONTDESK_CONTRACT"); path != "" {
		return openapi3.NewLoader().LoadFromFile(path)
	}
	_, own, err := Document(Options{PublicURL: publicURL})
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(own)
}

// answer is a response.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// send sends a request with the full key and as JSON. The headers override this; a header of "" is left out.
func (g *gateway) send(method, path, body string, headers ...string) answer {
	g.t.Helper()
	req, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", testKey)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Del(headers[i]); headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return g.do(req)
}

func (g *gateway) post(path, body string, headers ...string) answer {
	g.t.Helper()
	return g.send(http.MethodPost, path, body, headers...)
}

func (g *gateway) patch(body string) answer {
	g.t.Helper()
	return g.send(http.MethodPatch, numberPath, body)
}

func (g *gateway) do(req *http.Request) answer {
	g.t.Helper()
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	a := answer{t: g.t, status: res.StatusCode, header: res.Header, body: string(body)}
	conforms(g.t, g.router, req, a)
	return a
}

// conforms checks a response against the contract, if the request is for one of its operations.
func conforms(t *testing.T, router routers.Router, req *http.Request, a answer) {
	t.Helper()
	asked := req.Clone(context.Background())
	asked.URL = &url.URL{Path: req.URL.Path}
	route, params, err := router.FindRoute(asked)
	if err != nil {
		return
	}
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: asked, PathParams: params, Route: route,
		},
		Status: a.status, Header: a.header, Body: io.NopCloser(strings.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		t.Errorf("%s %s: the answer %d %s is against the contract: %v", req.Method, req.URL.Path,
			a.status, a.body, err)
	}
	described := route.Operation.Responses.Status(a.status)
	for name := range headers() {
		if described != nil && len(described.Value.Headers) > 0 && len(a.header.Values(name)) > 0 &&
			described.Value.Headers[name] == nil {
			t.Errorf("%s %s: the answer %d has the header %s, which is not described", req.Method, req.URL.Path,
				a.status, name)
		}
	}
}

// v1Error is a decoded google.rpc.Status.
type v1Error struct {
	Code    int
	Message string
	Details []map[string]any
}

func (a answer) v1() v1Error {
	a.t.Helper()
	var e v1Error
	var official status.Status // knows all fields of all details
	err := errors.Join(json.Unmarshal([]byte(a.body), &e), protojson.Unmarshal([]byte(a.body), &official))
	if err != nil || int(official.Code) != e.Code || len(official.Details) != len(e.Details) {
		a.t.Fatalf("not a google.rpc.Status: %q: %v", a.body, err)
	}
	return e
}

// detail returns the only detail of a google.rpc type, or nil if there is none.
func (e v1Error) detail(name string) map[string]any {
	for _, d := range e.Details {
		if d["@type"] == "type.googleapis.com/google.rpc."+name {
			return d
		}
	}
	return nil
}

func (e v1Error) reason() string {
	reason, _ := e.detail("ErrorInfo")["reason"].(string)
	return reason
}

// violations returns the descriptions of the violations, by field.
func (e v1Error) violations() map[string]string {
	out := map[string]string{}
	list, _ := e.detail("BadRequest")["fieldViolations"].([]any)
	for _, each := range list {
		v, _ := each.(map[string]any)
		name, _ := v["field"].(string)
		out[name], _ = v["description"].(string)
	}
	return out
}

func (a answer) problem() ErrorModel {
	a.t.Helper()
	var p ErrorModel
	decoder := json.NewDecoder(strings.NewReader(a.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		a.t.Fatalf("not problem details: %q: %v", a.body, err)
	}
	return p
}

func (p ErrorModel) slug() string { return strings.TrimPrefix(p.Type, publicURL+"/problems/") }

// locations returns the messages of the errors, by location.
func (p ErrorModel) locations() map[string]string {
	out := map[string]string{}
	for _, e := range p.Errors {
		out[e.Location] = e.Message
	}
	return out
}

// faults returns the messages of all faults of the input, in either style.
func (a answer) faults() map[string]string {
	a.t.Helper()
	if a.header.Get("Content-Type") == "application/problem+json" {
		return a.problem().locations()
	}
	return a.v1().violations()
}

// golden compares got with a file in testdata. With -update it writes the file first.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is no longer what is served; when that is meant, run the tests with -update and read the "+
			"difference", path)
	}
}

// The implementations that the gateway uses in production.
var (
	_ Calendar = (*service.Calendar)(nil)
	_ Tickets  = (*service.Tickets)(nil)
	_ Numbers  = (*service.Numbers)(nil)
	_ Keys     = (*apikey.Callers)(nil)
)
