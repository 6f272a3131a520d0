package rest_test

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
)

// calling returns the settings of a ticket system that knows who calls, with changes to its two operations.
func calling(address string, find, open object) object {
	finds := object{
		"steps": []any{
			object{
				"name": "people", "path": "people",
				"query": object{"phone": "{.phone.national}", "email": "{.email}", "limit": "{.limit}"},
			},
		},
		"contacts": ".steps.people.body",
	}
	opens := object{
		"steps":   []any{object{"name": "list", "path": "people/{.contact_id}/tickets"}},
		"tickets": ".steps.list.body",
	}
	for settings, changes := range map[*object]object{&finds: find, &opens: open} {
		for name, value := range changes {
			(*settings)[name] = value
		}
	}
	return plain(address, object{"find_contacts": finds, "open_tickets": opens})
}

func number(t *testing.T) phonenumber.Number {
	t.Helper()
	n, err := phonenumber.Parse("+15135557611")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestContactsAreReadFromAList(t *testing.T) {
	t.Parallel()
	pat := crm.Contact{
		ID: "7", Name: "Pat", Emails: []string{"pat@example.com"}, Phones: []string{"(513) 555-7611"}, AccountID: "3",
		AccountName: "Acme",
	}
	const body = `{"id": 7, "name": "Pat", "emails": ["pat@example.com", null, ""], "phones": ["(513) 555-7611"],
		"account_id": 3, "account_name": "Acme"}`
	const other = `{"id": 8, "phones": ["513-555-7611"]}`
	for _, c := range []struct {
		rule, body string
		status     int
		more       string
		want       crm.Contacts
		code       fault.Code
	}{
		{rule: "one", body: "[" + body + "]", want: crm.Contacts{Contacts: []crm.Contact{pat}}},
		{rule: "the same twice", body: "[" + body + "," + body + "]",
			want: crm.Contacts{Contacts: []crm.Contact{pat}}},
		{rule: "one with another number, which leaves room", body: `[{"id": 1, "phones": ["1"]},` + body + "]",
			want: crm.Contacts{Contacts: []crm.Contact{pat}}},
		{rule: "more than the limit", body: "[" + body + "," + other + "]",
			want: crm.Contacts{Contacts: []crm.Contact{pat}, More: true}},
		{rule: "more, as the system says", body: "[" + body + "]", more: "true",
			want: crm.Contacts{Contacts: []crm.Contact{pat}, More: true}},
		{rule: "none", body: "[]"},
		{rule: "null", body: "null"},
		{rule: "a path that exists for every query", status: 404, body: "{}", code: fault.Unsupported},
		{rule: "no list", body: `{"people": []}`, code: fault.Unsupported},
		{rule: "a list of names", body: `["Pat"]`, code: fault.Unsupported},
		{rule: "no id", body: `[{"name": "Pat", "phones": ["5135557611"]}]`, code: fault.Unsupported},
		{rule: "a number for numbers", body: `[{"id": 1, "phones": 5135557611}]`, code: fault.Unsupported},
		{rule: "a list in a list", body: `[{"id": 1, "emails": [[]]}]`, code: fault.Unsupported},
		{rule: "the system is down", status: 503, body: "{}", code: fault.Unavailable},
	} {
		if c.status == 0 {
			c.status = http.StatusOK
		}
		s := serve(t, says(map[string]reply{"GET /api/people": {status: c.status, body: c.body}}), anonymous)
		find := object{}
		if c.more != "" {
			find["more"] = c.more
		}
		d := s.open(t, calling(s.url, find, nil)).(crm.ContactFinder)
		got, err := d.FindContacts(t.Context(), crm.ContactQuery{Phone: number(t), Limit: 1})
		if f := fault.From(err); f != nil && f.Code != c.code || f == nil && c.code != "" ||
			!reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: answered %+v, %v", c.rule, got, err)
		}
	}
}

func TestALookUpSeesANumberOrAnAddress(t *testing.T) {
	t.Parallel()
	stub := says(map[string]reply{"GET /api/people": {status: http.StatusOK, body: "[]"}})
	s := serve(t, stub, anonymous)
	d := s.open(t, calling(s.url, object{"steps": []any{object{
		"name": "people", "path": "people",
		"query": object{"phone": "{.phone.e164}", "format": "{.phone.formats[2]}", "email": "{.email}"},
	}}}, nil)).(crm.ContactFinder)
	for _, q := range []crm.ContactQuery{{Phone: number(t), Limit: 1}, {Email: "a&b=c@example.com", Limit: 1}} {
		if _, err := d.FindContacts(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"GET /api/people?format=%28513%29+555-7611&phone=%2B15135557611",
		"GET /api/people?email=a%26b%3Dc%40example.com",
	}
	if got := s.requests(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestOpenTicketsAreReadFromAList(t *testing.T) {
	t.Parallel()
	early, late := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		rule, body string
		status     int
		want       []crm.Ticket
		code       fault.Code
	}{
		{rule: "the last changed first, up to the limit", body: `[
			{"id": 1, "number": "1", "subject": "A", "updated_at": "2026-11-20T09:00:00Z"},
			{"id": 2, "number": "2", "subject": "B", "status": "open", "updated_at": "2026-11-21T09:00:00Z"},
			{"id": 3, "number": "3", "subject": "C"}]`,
			want: []crm.Ticket{
				{ID: "2", Number: "2", Subject: "B", Status: "open", UpdatedAt: late},
				{ID: "1", Number: "1", Subject: "A", UpdatedAt: early},
			}},
		{rule: "none", body: "[]"},
		{rule: "no such contact", status: 404, body: "{}"},
		{rule: "no list", body: "1", code: fault.Unsupported},
		{rule: "a list of numbers", body: "[1]", code: fault.Unsupported},
		{rule: "a ticket without a number", body: `[{"id": 1}]`, code: fault.Unsupported},
		{rule: "a time that is none", body: `[{"id": 1, "number": 1, "updated_at": "soon"}]`, code: fault.Unsupported},
	} {
		if c.status == 0 {
			c.status = http.StatusOK
		}
		s := serve(t, says(map[string]reply{"GET /api/people/7/tickets": {status: c.status, body: c.body}}),
			anonymous)
		got, err := s.open(t, calling(s.url, nil, nil)).(crm.ContactFinder).OpenTickets(t.Context(), "7", 2)
		if f := fault.From(err); f != nil && f.Code != c.code || f == nil && c.code != "" ||
			!reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: answered %+v, %v", c.rule, got, err)
		}
	}
}

func TestLabelsOfListedTicketsMayBeValues(t *testing.T) {
	t.Parallel()
	s := serve(t, says(map[string]reply{
		"GET /api/people/7/tickets": {status: http.StatusOK, body: `[{"id": 1, "number": 1, "status_value": 20}]`},
	}), anonymous)
	settings := calling(s.url, nil, nil)
	delete(settings, "statuses")
	settings["vocabulary"] = object{"statuses": `[{label: "Waiting", value: 20}]`}
	got, err := s.open(t, settings).(crm.ContactFinder).OpenTickets(t.Context(), "7", 2)
	if err != nil || len(got) != 1 || got[0].Status != "Waiting" {
		t.Errorf("answered %+v, %v", got, err)
	}
}

func TestLookingUpWhoCallsIsDescribedAsAWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, says(nil), anonymous)
	if _, can := s.open(t, plain(s.url, nil)).(crm.ContactFinder); can {
		t.Error("a driver whose settings do not describe it looks up who calls")
	}
	for missing, path := range map[string]string{
		"find_contacts": "settings.find_contacts", "open_tickets": "settings.open_tickets",
	} {
		settings := calling(s.url, nil, nil)
		delete(settings, missing)
		_, err := s.tryOpen(t, settings)
		if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != path {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	_, err := s.tryOpen(t, calling(s.url, object{
		"steps": []any{object{"name": "people", "path": "people", "method": "POST"}},
	}, nil))
	if f := fault.From(err); f == nil || f.Fields[0].Path != "settings.find_contacts.steps[0].method" {
		t.Errorf("a look-up that may change something: %v", err)
	}
}

func TestVerifyLooksUpTheSamplePhone(t *testing.T) {
	t.Parallel()
	const people = `[{"id": 7, "name": "Pat", "phones": ["513-555-7611"]}]`
	for _, c := range []struct{ rule, sample, people, want string }{
		{"a contact", "+15135557611", people, `contact: id "7", name "Pat", phones "513-555-7611"` +
			"\nopen_tickets.steps[0] (list): GET /api/people/7/tickets answered 200\nopen_tickets: 1"},
		{"nobody", "+15135557611", "[]", "find_contacts: found no contact with the sample_phone +15135557611"},
		{"no sample", "", people, "find_contacts: not tried; set sample_phone to the number of a contact"},
		{"a sample that is none", "5135557611", people, "sample_phone"},
	} {
		s := serve(t, says(map[string]reply{
			"GET /api/me":               {status: http.StatusOK, body: `{"name": "Desk"}`},
			"GET /api/people":           {status: http.StatusOK, body: c.people},
			"GET /api/people/7/tickets": {status: http.StatusOK, body: `[{"id": 1, "number": 1}]`},
		}), anonymous)
		settings := calling(s.url, nil, nil)
		settings["sample_phone"] = c.sample
		lines, err := s.open(t, settings).(crm.Explainer).Explain(t.Context())
		told := strings.Join(lines, "\n")
		if f := fault.From(err); f != nil {
			told += f.Fields[0].Path
		}
		if !strings.Contains(told, c.want) {
			t.Errorf("%s: %s, %v", c.rule, told, err)
		}
	}
}

// Request Tracker has a hundred priorities, of which three have words.
func TestRequestTrackerTellsAPriorityWithoutAWordAsItsNumber(t *testing.T) {
	t.Parallel()
	fake := &rtFake{}
	s := rtServer{serve(t, fake, asRT)}
	d := s.open(t, exampleAt(t, "request-tracker.yaml", s.at("")))
	made, err := d.Create(t.Context(), crm.NewTicket{Key: "k1", Subject: "Waits", ContactID: "caller@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	fake.tickets[0].priority = "30"
	told, err := d.ByNumber(t.Context(), made.Number)
	if err != nil || told.Priority != "30" {
		t.Errorf("told %+v, %v", told, err)
	}
	open, err := d.(crm.ContactFinder).OpenTickets(t.Context(), "caller@example.com", 5)
	if err != nil || len(open) != 1 || open[0].Priority != "30" {
		t.Errorf("open are %+v, %v", open, err)
	}
}

func TestRequestTrackerHidesNumbersFromWhoMayNotSeeThem(t *testing.T) {
	t.Parallel()
	fake := &rtFake{mayNotAdmin: true}
	s := rtServer{serve(t, fake, asRT)}
	d := s.open(t, exampleAt(t, "request-tracker.yaml", s.at(""))).(crm.ContactFinder)
	q := crm.ContactQuery{Phone: number(t), Limit: 5}
	if found, err := d.FindContacts(t.Context(), q); err != nil || len(found.Contacts) > 0 {
		t.Errorf("nobody has the number: %+v, %v", found, err)
	}
	fake.users = []rtUserRecord{{Name: "pat", EmailAddress: "pat@example.com", WorkPhone: "513-555-7611"}}
	fake.tickets = []*rtTicket{{id: 1, requestors: []string{"pat"}}}
	_, err := d.FindContacts(t.Context(), q)
	if f := fault.From(err); !errors.Is(err, fault.Forbidden) || !strings.Contains(f.Detail, "AdminUsers") {
		t.Errorf("somebody has it: %v", err)
	}
}
