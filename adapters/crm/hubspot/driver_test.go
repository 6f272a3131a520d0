package hubspot_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/crm/hubspot"
	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

func create(t *testing.T, d crm.Driver, in crm.NewTicket) crm.Ticket {
	t.Helper()
	if in.Subject == "" {
		in.Subject = "Broken heating"
	}
	if in.Key == "" {
		in.Key = "k1"
	}
	made, err := d.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func read(t *testing.T, d crm.Driver, number string) crm.Ticket {
	t.Helper()
	found, err := d.ByNumber(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func say(t *testing.T, s *testServer, ticketID string, entries ...fake.Entry) {
	t.Helper()
	for _, e := range entries {
		if err := s.Write(ticketID, e); err != nil {
			t.Fatal(err)
		}
	}
}

// since returns the calls that the server got after the first n.
func since(s *testServer, n int) []string { return s.CallLog()[n:] }

// clock is a time that a test moves.
type clock struct{ at atomic.Pointer[time.Time] }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.at.Store(&at)
	return c
}

func (c *clock) now() time.Time { return *c.at.Load() }

func (c *clock) pass(d time.Duration) {
	at := c.now().Add(d)
	c.at.Store(&at)
}

var noon = time.Date(2026, 11, 21, 17, 0, 0, 0, time.UTC) // in the account's time zone

func TestANumberThatIsNoneCostsNoCall(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	for _, number := range []string{
		"", "0", "007", "-1", "1 ", "12a", "../owners", "1?archived=true", "9223372036854775808",
		strings.Repeat("9", 400),
	} {
		if _, err := d.ByNumber(t.Context(), number); !errors.Is(err, fault.NotFound) ||
			fault.From(err).Reason != fault.ReasonTicketNotFound {
			t.Errorf("%q: %v", number, err)
		}
	}
	if s.Calls() != 0 {
		t.Errorf("asked %q", s.CallLog())
	}
}

func TestATicketIsMadeWithWhatItIsAboutInOneCall(t *testing.T) {
	var sent []byte
	s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				sent, _ = io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(sent)))
			}
			next.ServeHTTP(w, r)
		})
	})
	d := s.driver(t)
	made := create(t, d, crm.NewTicket{
		Subject: "Leak", Description: "Water.", Status: "Waiting on us", Priority: "Urgent", OwnerID: "6166861",
		AccountID: "203", ContactID: "102",
	})
	var got, want any
	if err := json.Unmarshal(sent, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"properties": {"subject": "Leak", "content": "Water.", "hs_pipeline": "0", "hs_pipeline_stage": "3", "hs_ticket_priority": "URGENT", "hubspot_owner_id": "6166861", "source_type": "PHONE"},
		"associations": [
			{"to": {"id": "102"}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 16}]},
			{"to": {"id": "203"}, "types": [{"associationCategory": "HUBSPOT_DEFINED", "associationTypeId": 26}]}
		]}`), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %s", sent)
	}
	if asked := s.CallLog(); !slices.Equal(asked, []string{
		"GET /crm/pipelines/2026-09/tickets", "GET /crm/properties/2026-09/tickets/hs_ticket_priority",
		"GET /crm/properties/2026-09/tickets/source_type", "POST /crm/objects/2026-09/tickets",
	}) {
		t.Errorf("asked %q", asked)
	}
	before := s.Calls()
	create(t, d, crm.NewTicket{Subject: "Another", Status: "New", Priority: "Low"})
	if asked := since(s, before); !slices.Equal(asked, []string{"POST /crm/objects/2026-09/tickets"}) {
		t.Errorf("with what is remembered, asked %q", asked)
	}
	if again := read(t, d, made.Number); again.CreatedAt != made.CreatedAt || again.Priority != "Urgent" ||
		again.AccountID != "203" {
		t.Errorf("made %+v, read %+v", made, again)
	}
}

func TestATicketIsReadInOneCallAndItsConversationInThree(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	made := create(t, d, crm.NewTicket{ContactID: "101"})
	say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: "Hello."})
	id := "/threads/409229446356/messages"
	before := s.Calls()
	read(t, d, made.Number)
	if asked := since(s, before); !slices.Equal(asked, []string{
		"GET /crm/objects/2026-09/tickets/" + made.ID,
		"GET /conversations/conversations/2026-09/threads", "GET /conversations/conversations/2026-09/threads",
		"GET /conversations/conversations/2026-09" + id,
	}) {
		t.Errorf("asked %q", asked)
	}
	plain := create(t, d, crm.NewTicket{})
	before = s.Calls()
	read(t, d, plain.Number)
	if asked := since(s, before); len(asked) != 1 {
		t.Errorf("without a contact, asked %q", asked)
	}
}

func TestTheLastCommentIsTheNewestMessageOfTheTicketsOwnThreads(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	made, other := create(t, d, crm.NewTicket{ContactID: "101"}), create(t, d, crm.NewTicket{ContactID: "101"})
	last := func(want crm.Text) {
		t.Helper()
		if got := read(t, d, made.Number).LastComment; got != want {
			t.Errorf("the last comment is %+v, want %+v", got, want)
		}
	}
	last(crm.Text{})
	say(t, s, made.ID, fake.Entry{Kind: "WELCOME_MESSAGE", Text: "Welcome!"}, fake.Entry{
		Kind: "COMMENT", Text: "Among us.",
	})
	last(crm.Text{})
	say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: "We are coming."})
	say(t, s, other.ID, fake.Entry{Kind: "MESSAGE", Text: "Of another ticket."})
	last(crm.Plain("We are coming."))

	s.CloseThread(made.ID)
	last(crm.Plain("We are coming."))
	say(t, s, made.ID, fake.Entry{Kind: "COMMENT", Text: "The customer called again."})
	last(crm.Plain("We are coming."))
	say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: "Sorry."}, fake.Entry{Kind: "ASSIGNMENT"})
	last(crm.Plain("Sorry."))
	say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: " ", HTML: "<p>Only <b>this</b></p>"})
	last(crm.Text{Body: "<p>Only <b>this</b></p>", HTML: true})

	for range 5 { // however many threads there are
		s.CloseThread(made.ID)
		say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: "Once more."})
	}
	before := s.Calls()
	last(crm.Plain("Once more."))
	if asked := since(s, before); len(asked) != 5 {
		t.Errorf("asked %q, want the ticket and four calls more", asked)
	}
}

func TestWithoutTheScopeForConversationsACommentIsEmptyAndNotAskedForAgainForAWhile(t *testing.T) {
	s := serve(t, fake.Options{Tokens: map[string][]string{private: {"tickets", "crm.objects.contacts.read",
		"crm.objects.companies.read"}}})
	c := newClock(noon)
	d := s.open(t, private, nil, c.now)
	made := create(t, d, crm.NewTicket{ContactID: "101"})
	say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: "Hello."})
	conversations := func() (n int) {
		for _, asked := range s.CallLog() {
			if strings.Contains(asked, "/conversations/") {
				n++
			}
		}
		return n
	}
	for range 3 {
		if got := read(t, d, made.Number).LastComment; got != (crm.Text{}) {
			t.Errorf("the comment is %+v", got)
		}
	}
	if n := conversations(); n != 1 {
		t.Errorf("conversations were asked for %d times within an hour, want once", n)
	}
	c.pass(time.Hour)
	read(t, d, made.Number)
	if n := conversations(); n != 2 {
		t.Errorf("after an hour conversations were asked for %d times in all, want twice", n)
	}
}

func TestAConversationThatCannotBeReadIsToldApart(t *testing.T) {
	for _, c := range []struct {
		rule, body string
		status     int
		want       fault.Code
	}{
		{"a version without conversations", "<html>", 404, ""},
		{"a contact that went", `{"status":"error","correlationId":"1","message":"resource not found"}`, 404, ""},
		{"an account that may not", `{"status":"error","correlationId":"1","message":"no"}`, 403, ""},
		{"HubSpot is busy", `{"policyName":"SECONDLY"}`, 429, fault.RateLimited},
		{"HubSpot is down", "", 503, fault.Unavailable},
		{"the page of a proxy", "<html>", 200, fault.Unsupported},
		{"an answer that was cut off", `{"results":[{`, 200, fault.Unsupported},
	} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasPrefix(r.URL.Path, "/conversations/") {
					next.ServeHTTP(w, r)
					return
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
		})
		d := s.driver(t)
		made := create(t, d, crm.NewTicket{ContactID: "101"})
		got, err := d.ByNumber(t.Context(), made.Number)
		switch {
		case c.want == "" && (err != nil || got.LastComment != crm.Text{} || got.ID != made.ID):
			t.Errorf("%s: %+v, %v", c.rule, got, err)
		case c.want != "" && !errors.Is(err, c.want):
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}

func TestAScopeThatIsMissingIsNamed(t *testing.T) {
	s := serve(t, fake.Options{Tokens: map[string][]string{private: {"tickets"}}})
	d := s.driver(t)
	made := create(t, d, crm.NewTicket{})
	_, err := d.ByNumber(t.Context(), made.Number)
	if f := fault.From(err); f == nil || f.Code != fault.Forbidden ||
		!strings.Contains(f.Detail, "scope crm.objects.contacts.read.") {
		t.Errorf("read: %v", err)
	}
	_, err = d.Create(t.Context(), crm.NewTicket{Key: "k2", Subject: "a", AccountID: "202"})
	if f := fault.From(err); f == nil || f.Code != fault.Forbidden ||
		!strings.Contains(f.Detail, "scope crm.objects.companies.read.") {
		t.Errorf("create: %v", err)
	}
}

func TestLabelsAreRememberedForAWhileAndAskedAnewOnAMiss(t *testing.T) {
	var down atomic.Bool
	s := serve(t, fake.Options{}, adaptertest.Unavailable(func(r *http.Request) bool {
		return down.Load() && strings.Contains(r.URL.Path, "/crm/pipelines/")
	}))
	c := newClock(noon)
	d := s.open(t, private, nil, c.now)
	made := create(t, d, crm.NewTicket{})
	s.Relabel("1", "Fresh")
	if got := read(t, d, made.Number).Status; got != "New" {
		t.Errorf("remembered: %q", got)
	}
	c.pass(10 * time.Minute)
	if got := read(t, d, made.Number).Status; got != "Fresh" {
		t.Errorf("after a while: %q", got)
	}
	down.Store(true)
	c.pass(10 * time.Minute)
	if got := read(t, d, made.Number).Status; got != "Fresh" {
		t.Errorf("where they cannot be read anew: %q", got)
	}
	down.Store(false)
	s.Relabel("2", "On hold")
	if got := create(t, d, crm.NewTicket{Status: "On hold"}).Status; got != "On hold" {
		t.Errorf("a new label: %q", got)
	}
	if err := s.Set(made.ID, "hs_pipeline", "77130"); err != nil {
		t.Fatal(err)
	}
	if err := s.Move(made.ID, "Announced"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, made.Number).Status; got != "Announced" {
		t.Errorf("a ticket of another pipeline: %q", got)
	}
	s.RemoveStage("77131")
	c.pass(10 * time.Minute)
	if got := read(t, d, made.Number).Status; got != "" {
		t.Errorf("a stage that is gone: %q", got)
	}
}

func TestALabelThatIsUnknownOrGoneIsRefusedByName(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	for path, in := range map[string]crm.NewTicket{
		"status":   {Key: "k", Subject: "a", Status: "Nowhere"},
		"priority": {Key: "k", Subject: "a", Priority: "Whenever"},
	} {
		_, err := d.Create(t.Context(), in)
		if f := fault.From(err); f == nil || f.Code != fault.Invalid || len(f.Fields) != 1 ||
			f.Fields[0].Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	create(t, d, crm.NewTicket{Status: "Waiting on us"})
	s.RemoveStage("3")
	// First HubSpot rejects the stage, then the new list lacks it.
	for _, want := range []string{"POST /crm/objects/2026-09/tickets", "GET /crm/pipelines/2026-09/tickets"} {
		before := s.Calls()
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a", Status: "Waiting on us"})
		if asked := since(s, before); !slices.Equal(asked, []string{want}) {
			t.Errorf("a stage that is gone: asked %q, want %q", asked, want)
		}
		if f := fault.From(err); f == nil || f.Code != fault.Invalid || len(f.Fields) != 1 ||
			f.Fields[0].Path != "status" {
			t.Errorf("a stage that is gone: %v", err)
		}
	}
	if n := s.Count(); n != 1 {
		t.Errorf("%d tickets, want 1", n)
	}
}

func TestAFirstStageInWhichNoTicketMayBeginIsNoneOfTheCallers(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	create(t, d, crm.NewTicket{})
	s.RemoveStage("1") // HubSpot refuses it as one that a rule leaves out, and the driver remembers it
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonProviderMisconfigured || len(f.Fields) > 0 ||
		!strings.Contains(f.Detail, "New of the pipeline Support Pipeline") {
		t.Errorf("got %v", err)
	}
}

func TestRecordsThatDoNotExistAreNamed(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	for _, c := range []struct {
		in   crm.NewTicket
		want []string
		most int
	}{
		{crm.NewTicket{OwnerID: "9"}, []string{"owner_id"}, 3},
		{crm.NewTicket{AccountID: "9"}, []string{"account_id"}, 3},
		{crm.NewTicket{ContactID: "9"}, []string{"contact_id"}, 3},
		{crm.NewTicket{OwnerID: "ann", AccountID: "1/2", ContactID: "ann@example.com"},
			[]string{"owner_id", "account_id", "contact_id"}, 0},
	} {
		before := s.Calls()
		c.in.Key, c.in.Subject = "k", "a"
		_, err := d.Create(t.Context(), c.in)
		paths := faulttest.Paths(err)
		if !errors.Is(err, fault.Invalid) || !slices.Equal(paths, c.want) || s.Calls()-before > c.most {
			t.Errorf("%+v: %v after %d calls, want %q", c.in, err, s.Calls()-before, c.want)
		}
	}
}

func TestARuleOfTheAccountIsToldByItsProperty(t *testing.T) {
	s := serve(t, fake.Options{Require: []string{"building_number"}})
	_, err := s.driver(t).Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
	f := fault.From(err)
	if f == nil || f.Code != fault.Unsupported || f.Reason != fault.ReasonProviderMisconfigured ||
		!strings.Contains(f.Detail, "building_number") {
		t.Errorf("got %v", err)
	}
}

func TestWhatTheAnswerToACreateLeavesOutIsAsSent(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	create(t, d, crm.NewTicket{Status: "New", Priority: "Low"}) // so that the labels are known
	for rule, c := range map[string]struct {
		body string
		want fault.Code
	}{
		"a bare id":      {`{"id": "77", "properties": {"hubspot_owner_id": null}}`, ""},
		"no id":          {`{"properties": {}}`, fault.UnknownOutcome},
		"another page":   {`<html>`, fault.UnknownOutcome},
		"another id":     {`{"id": "x/1"}`, fault.UnknownOutcome},
		"null":           {`null`, fault.UnknownOutcome},
		"a wrong member": {`{"id": 77}`, fault.UnknownOutcome},
	} {
		s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, c.body)
		}))
		made, err := d.Create(t.Context(), crm.NewTicket{
			Key: "k", Subject: "Leak", Status: "New", Priority: "Low", ContactID: "101",
		})
		if c.want != "" {
			if !errors.Is(err, c.want) || fault.From(err).Unsent {
				t.Errorf("%s: %v", rule, err)
			}
			continue
		}
		want := crm.Ticket{
			ID: "77", Number: "77", Subject: "Leak", Status: "New", Priority: "Low", ContactID: "101",
		}
		if err != nil || made != want {
			t.Errorf("%s: %+v, %v", rule, made, err)
		}
	}
}

func TestATicketThatWasMergedIntoAnotherIsThatOne(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	gone, stays := create(t, d, crm.NewTicket{}), create(t, d, crm.NewTicket{ContactID: "101"})
	if err := s.Merge(gone.ID, stays.ID); err != nil {
		t.Fatal(err)
	}
	if got := read(t, d, gone.Number); got.ID != stays.ID || got.Number != stays.Number || got.ContactID != "101" {
		t.Errorf("got %+v", got)
	}
}

func TestATicketThatIsOpenAgainHasNoTimeOfClosing(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t)
	made := create(t, d, crm.NewTicket{Status: "Closed"})
	if made.ClosedAt.IsZero() {
		t.Error("a closed ticket tells no time")
	}
	if err := s.Move(made.ID, "New"); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(made.ID, "closed_date", "2026-11-20T10:00:00Z"); err != nil { // as some workflows leave it
		t.Fatal(err)
	}
	if got := read(t, d, made.Number); !got.ClosedAt.IsZero() || got.Status != "New" {
		t.Errorf("got %+v", got)
	}
}

func TestAKeyPropertyHasToBeThereAndUnique(t *testing.T) {
	s := serve(t, fake.Options{Plain: []string{"plain_key"}})
	for _, name := range []string{"plain_key", "no_such_key"} {
		d := s.driver(t, "key_property="+name)
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
		_, lookErr := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k"})
		for _, err := range []error{err, lookErr} {
			if f := fault.From(err); f == nil || f.Reason != fault.ReasonProviderMisconfigured ||
				!strings.Contains(f.Detail, name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if s.Count() != 0 {
		t.Error("a ticket was made all the same")
	}
}

func TestOnlyAConnectionWithAKeyPropertyKnowsKeys(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}})
	plain, keyed := s.driver(t), s.driver(t, "key_property="+key)
	if traits := plain.Traits(); traits.FindsByKey || traits.IdempotentCreate {
		t.Errorf("without the property the traits are %+v", traits)
	}
	if traits := keyed.Traits(); !traits.FindsByKey || !traits.IdempotentCreate {
		t.Errorf("with the property the traits are %+v", traits)
	}
}

func TestARepeatedCreateLeavesWhatAnAgentDid(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}})
	d := s.driver(t, "key_property="+key)
	first := create(t, d, crm.NewTicket{Key: "abc", Status: "New", ContactID: "101"})
	if err := s.Move(first.ID, "Waiting on us"); err != nil {
		t.Fatal(err)
	}
	again := create(t, d, crm.NewTicket{Key: "abc", Status: "New", ContactID: "101"})
	if again.ID != first.ID || again.Status != "Waiting on us" || again.ContactID != "101" || s.Count() != 1 {
		t.Errorf("made %+v, then %+v, of %d tickets", first, again, s.Count())
	}
	s.RemoveStage("1")
	later := s.driver(t, "key_property="+key) // it remembers nothing
	if again := create(t, later, crm.NewTicket{Key: "abc", Status: "New"}); again.ID != first.ID {
		t.Errorf("after its stage was removed: %+v", again)
	}
	_, err := d.Create(t.Context(), crm.NewTicket{Key: "def", Subject: "a", Status: "Closed", OwnerID: "9"})
	if f := fault.From(err); !errors.Is(err, fault.Invalid) || len(f.Fields) != 1 ||
		f.Fields[0].Path != "owner_id" {
		t.Errorf("a refusal that is not the key's: %v", err)
	}
}

// Somebody may have deleted the ticket before its call is repeated. By its number, there is none.
func TestATicketOfAKeyIsFoundInTheRecyclingBin(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}})
	d := s.driver(t, "key_property="+key)
	first := create(t, d, crm.NewTicket{Key: "k1"})
	if err := s.Archive(first.ID); err != nil {
		t.Fatal(err)
	}
	found, err := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "k1"})
	if err != nil || found.ID != first.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	again := create(t, d, crm.NewTicket{Key: "k1", Since: time.Now().Add(-time.Minute)})
	if again.ID != first.ID || s.Count() != 1 {
		t.Errorf("made %+v, then %+v, of %d tickets", first, again, s.Count())
	}
	if got, err := d.ByNumber(t.Context(), first.Number); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatWasJustMadeIsFoundThoughSearchLags(t *testing.T) {
	s := serve(t, fake.Options{Unique: []string{key}, SearchLag: time.Hour})
	d := s.driver(t, "key_property="+key)
	made := create(t, d, crm.NewTicket{Key: "abc"})
	read(t, d, made.Number)
	if _, err := d.(crm.Finder).Find(t.Context(), crm.NewTicket{Key: "abc"}); err != nil {
		t.Error(err)
	}
	for _, asked := range s.CallLog() {
		if strings.HasSuffix(asked, "/search") {
			t.Errorf("asked %s", asked)
		}
	}
}

func TestWaitsAreThoseOfHubSpotsPolicies(t *testing.T) {
	for _, c := range []struct {
		rule     string
		tell     func(*fake.Server)
		code     fault.Code
		min, max time.Duration
	}{
		{"a second", func(s *fake.Server) { s.LimitBy("SECONDLY") }, fault.RateLimited, time.Second, time.Second},
		{"ten seconds", func(s *fake.Server) { s.LimitBy("TEN_SECONDLY_ROLLING") }, fault.RateLimited,
			10 * time.Second, 10 * time.Second},
		{"a quarter while the account's zone is not known", func(s *fake.Server) { s.LimitBy("DAILY") }, fault.RateLimited,
			15 * time.Minute, 15 * time.Minute},
		{"a wait that is named", func(s *fake.Server) { s.Limit(7 * time.Second) }, fault.RateLimited,
			7 * time.Second, 7 * time.Second},
		{"a policy nobody knows", func(s *fake.Server) { s.LimitBy("YEARLY") }, fault.RateLimited, 0, 0},
		{"a record that is locked", func(s *fake.Server) { s.Answer(423, 0) }, fault.Unavailable, 2 * time.Second,
			2 * time.Second},
		{"an account on the move", func(s *fake.Server) { s.Answer(477, 0) }, fault.Unavailable,
			time.Hour, time.Hour},
		{"an account on the move, till then", func(s *fake.Server) { s.Answer(477, 3*time.Hour) },
			fault.Unavailable, 3 * time.Hour, 3 * time.Hour},
	} {
		s := serve(t, fake.Options{})
		d := s.open(t, private, nil, newClock(noon).now)
		c.tell(s.Server)
		_, err := d.Vocabulary(t.Context())
		if f := fault.From(err); f == nil || f.Code != c.code || f.RetryAfter < c.min || f.RetryAfter > c.max {
			t.Errorf("%s: %v, again in %v", c.rule, err, f.RetryAfter)
		}
	}
}

func TestARefusalThatArrivedIsNoLostAnswer(t *testing.T) {
	for _, status := range []int{423, 477, 521} {
		s := serve(t, fake.Options{})
		d := s.driver(t)
		create(t, d, crm.NewTicket{}) // so that only the ticket is requested
		s.Answer(status, 0)
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
		if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent {
			t.Errorf("%d: %+v", status, f)
		}
	}
}

// A create whose preparation fails has opened no ticket.
func TestATicketThatCannotBePreparedIsNotOpened(t *testing.T) {
	s := serve(t, fake.Options{})
	for what, d := range map[string]crm.Driver{
		"the question for the pipelines": s.driver(t), "that for the property of keys": s.driver(t, "key_property="+key),
	} {
		s.Answer(http.StatusServiceUnavailable, 0)
		_, err := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
		if f := fault.From(err); f == nil || f.Code != fault.Unavailable || !f.Unsent {
			t.Errorf("without %s: %+v", what, f)
		}
	}
}

func TestTheDayIsTheAccountsOnceItIsKnown(t *testing.T) {
	s := serve(t, fake.Options{Zone: "Asia/Tokyo"})
	d := s.open(t, private, nil, newClock(noon).now)
	if _, err := d.Account(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.LimitBy("DAILY")
	_, err := d.Vocabulary(t.Context())
	if f := fault.From(err); f == nil || f.RetryAfter != 22*time.Hour {
		t.Errorf("got %v, again in %v", err, f.RetryAfter)
	}
}

func TestAnAddressThatIsNoneIsNoMissingTicket(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t, "api_version=2031-03")
	for _, err := range []error{
		func() error { _, err := d.ByNumber(t.Context(), "12"); return err }(),
		func() error { _, err := d.Vocabulary(t.Context()); return err }(),
	} {
		if f := fault.From(err); f == nil || f.Reason != fault.ReasonProviderMisconfigured ||
			!strings.Contains(f.Detail, "api_version") {
			t.Errorf("got %v", err)
		}
	}
}

func TestAPipelineThatIsNotThereIsToldWithThoseThatAre(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.driver(t, "pipeline=Old")
	_, err := d.Vocabulary(t.Context())
	_, createErr := d.Create(t.Context(), crm.NewTicket{Key: "k", Subject: "a"})
	for _, err := range []error{err, createErr} {
		if f := fault.From(err); f == nil || f.Reason != fault.ReasonProviderMisconfigured ||
			!strings.Contains(f.Detail, `"Old" with stages; it has: Support Pipeline, Returns.`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestSettingsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"api_version", "v3"}, {"api_version", "2026-09/../x"}, {"key_property", "Key Property"},
		{"key_property", "a/b"},
	} {
		_, err := hubspot.Adapter().OpenCRM(t.Context(), adapter.Values{Settings: map[string]any{c.name: c.value}},
			adapter.Environment{Zone: "UTC", HTTP: http.DefaultClient, Now: time.Now})
		if f := fault.From(err); f == nil || f.Code != fault.Invalid || len(f.Fields) != 1 ||
			f.Fields[0].Path != "settings."+c.name {
			t.Errorf("%s %q: %v", c.name, c.value, err)
		}
	}
}

func TestAConnectionChoosesOneWayToAuthorise(t *testing.T) {
	for _, c := range []struct {
		rule        string
		credentials map[string]string
		client      string
		want        adapter.Scheme
	}{
		{"nothing yet: the customer is to consent", nil, "", adapter.OAuth2},
		{"a refresh token", map[string]string{"refresh_token": "r"}, "", adapter.OAuth2},
		{"a client of the tenant's own", map[string]string{"client_secret": "s"}, "id", adapter.OAuth2},
		{"a private app's token", map[string]string{"access_token": "pat"}, "", adapter.Bearer},
		{"both a token and a refresh token", map[string]string{"access_token": "pat", "refresh_token": "r"},
			"", adapter.None},
		{"both a token and a client", map[string]string{"access_token": "pat"}, "id", adapter.None},
	} {
		auth, err := hubspot.Adapter().AuthOf(adapter.Values{
			Settings: map[string]any{"client_id": c.client}, Credentials: c.credentials,
		})
		if auth.Scheme != c.want || (err == nil) != (c.want != adapter.None) {
			t.Errorf("%s: %q, %v", c.rule, auth.Scheme, err)
		}
		if auth.Scheme == adapter.Bearer && auth.Password != "access_token" {
			t.Errorf("%s: the token is %q", c.rule, auth.Password)
		}
	}
}

func TestConsentIsAskedAtTheOperatorsAddresses(t *testing.T) {
	values := adapter.Values{Settings: map[string]any{"client_id": "own"}}
	auth, err := hubspot.Adapter().AuthOf(values)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := auth.OAuth.Grant(values, adapter.Addresses{
		"auth_url":  "https://app.hubspot.com/oauth/authorize",
		"token_url": "https://api.hubapi.com/oauth/2026-09/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	if grant.Flow != adapter.Consent || grant.AuthURL != "https://app.hubspot.com/oauth/authorize" ||
		grant.TokenURL != "https://api.hubapi.com/oauth/2026-09/token" || grant.ClientID != "own" ||
		auth.OAuth.API != "api_url" {
		t.Errorf("got %+v", grant)
	}
	var needed []string
	for _, s := range grant.Scopes {
		if !s.Optional {
			needed = append(needed, s.Name)
		}
	}
	if !slices.Equal(needed, []string{
		"oauth", "tickets", "crm.objects.contacts.read", "crm.objects.companies.read",
	}) {
		t.Errorf("needs %q", needed)
	}
}
