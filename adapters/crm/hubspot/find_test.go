package hubspot_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/crm/hubspot/fake"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func cutOff() crm.NewTicket {
	return crm.NewTicket{
		Key: "k", Since: noon, Until: noon.Add(20 * time.Second), Subject: "A pipe", Description: "In room 12.",
		ContactID: "101", AccountID: "202",
	}
}

func find(t *testing.T, d crm.Driver, n crm.NewTicket) (crm.Ticket, error) {
	t.Helper()
	return d.(crm.Finder).Find(t.Context(), n)
}

func TestATicketThatWasCutOffIsFoundOnceTheSearchKnowsIt(t *testing.T) {
	c := newClock(noon)
	s := serve(t, fake.Options{Now: c.now, SearchLag: time.Minute})
	d := s.open(t, private, nil, c.now)
	n := cutOff()
	s.DropNextReply()
	if _, err := d.Create(t.Context(), n); err == nil {
		t.Fatal("the reply was not lost")
	}
	other := n
	other.ContactID = "102"
	create(t, d, other)
	_, err := find(t, d, n)
	if f := fault.From(err); f == nil || f.Code != fault.Unavailable || f.Reason != fault.ReasonOutcomeUnknown ||
		f.RetryAfter <= 0 {
		t.Fatalf("before the search knows it: %v", err)
	}
	c.pass(time.Minute)
	found, err := find(t, d, n)
	if err != nil || found.Subject != n.Subject || found.ContactID != n.ContactID ||
		found.AccountID != n.AccountID {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestNoneIsSureOnlyLongAfterTheSearchShouldKnow(t *testing.T) {
	c := newClock(noon)
	s := serve(t, fake.Options{Now: c.now})
	d := s.open(t, private, nil, c.now)
	for passed, sure := range map[time.Duration]bool{0: false, 5 * time.Minute: false, 6 * time.Minute: true} {
		at := newClock(noon.Add(passed))
		_, err := find(t, s.open(t, private, nil, at.now), cutOff())
		if errors.Is(err, fault.NotFound) != sure {
			t.Errorf("after %v: %v", passed, err)
		}
	}
	create(t, d, crm.NewTicket{Subject: "A pipe"})
	c.pass(time.Hour)
	if _, err := find(t, d, cutOff()); !fault.From(err).IsUnknowable() {
		t.Errorf("of one that only resembles it: %v", err)
	}
}

func TestASearchWithoutResultsInItsAnswerSaysNothing(t *testing.T) {
	c := newClock(noon.Add(time.Hour))
	s := serve(t, fake.Options{Now: c.now})
	s.Instead(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"error","message":"words of theirs"}`)
	}))
	_, err := find(t, s.open(t, private, nil, c.now), cutOff())
	if f := fault.From(err); f == nil || f.Code == fault.NotFound {
		t.Errorf("answered %v", err)
	}
}

func TestTheSearchIsLookedThroughToItsEnd(t *testing.T) {
	for many, known := range map[int]bool{250: true, 700: false} {
		c := newClock(noon)
		s := serve(t, fake.Options{Now: c.now})
		d := s.open(t, private, nil, c.now)
		for i := range many {
			create(t, d, crm.NewTicket{Subject: fmt.Sprint("Pipe ", i)})
		}
		n := cutOff()
		made := create(t, d, n)
		found, err := find(t, d, n)
		if known && (err != nil || found.ID != made.ID) {
			t.Errorf("behind %d: %+v, %v", many, found, err)
		}
		if f := fault.From(err); !known && (f == nil || !f.IsUnknowable()) {
			t.Errorf("behind %d: %v", many, err)
		}
	}
}

func TestATicketIsFoundAmongLongOnesAndItsLongMessagesAreRead(t *testing.T) {
	c := newClock(noon)
	s := serve(t, fake.Options{Now: c.now})
	d := s.open(t, private, nil, c.now)
	for i := range 60 {
		long := create(t, d, crm.NewTicket{Subject: fmt.Sprint("Pipe ", i), Description: "Dear all"})
		if err := s.Set(long.ID, "content", strings.Repeat("Dear all, ", 5000)); err != nil {
			t.Fatal(err)
		}
	}
	n := cutOff()
	made := create(t, d, n)
	for range 60 {
		mail := strings.Repeat("Dear all, ", 3000)
		say(t, s, made.ID, fake.Entry{Kind: "MESSAGE", Text: mail, HTML: "<p>" + mail + "</p>"})
	}
	found, err := find(t, d, n)
	if err != nil || found.ID != made.ID || (n.ContactID != "") != (found.LastComment.Body != "") {
		t.Errorf("found %+v, %v", found.ID, err)
	}
}

// The answer of a create, and that of a look for it, compare what HubSpot has with what was sent.
func TestATextThatLooksLikeMarkupIsAsItWasSent(t *testing.T) {
	c := newClock(noon)
	s := serve(t, fake.Options{Now: c.now, Unique: []string{key}})
	want := crm.Plain("<p>The door squeaks.</p><p>Please call.</p>")
	n := crm.NewTicket{Key: "k", Since: noon, Until: noon, Subject: "Door", Description: want.Body}
	d, keyed := s.open(t, private, nil, c.now), s.driver(t, "key_property="+key)
	if made := create(t, d, n); made.Description != want {
		t.Errorf("opened is %+v", made.Description)
	}
	if found, err := find(t, d, n); err != nil || found.Description != want {
		t.Errorf("found by its text is %+v, %v", found.Description, err)
	}
	if made := create(t, keyed, n); made.Description != want {
		t.Errorf("opened with a key is %+v", made.Description)
	}
	if found, err := find(t, keyed, n); err != nil || found.Description != want {
		t.Errorf("found by its key is %+v, %v", found.Description, err)
	}
}
