package service

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func TestTicketLabels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in               CreateTicket
		status, priority string
		refused          []string // fields
	}{
		"none given": {in: CreateTicket{Subject: "door"}},
		"as the CRM spells them": {in: CreateTicket{Subject: "door", Status: "New", Priority: "High"},
			status: "New", priority: "High"},
		"without case": {in: CreateTicket{Subject: "door", Status: "new", Priority: "HIGH"},
			status: "New", priority: "High"},
		"a word of the tenant's own": {in: CreateTicket{Subject: "door", Priority: "Urgent"}, priority: "High"},
		"one that is unknown": {in: CreateTicket{Subject: "door", Status: "Open"},
			refused: []string{"status"}},
		"two that are unknown": {in: CreateTicket{Subject: "door", Status: "Open", Priority: "Hihg"},
			refused: []string{"status", "priority"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			c.Tenant.Settings.PriorityWords = map[string]string{"urgent": "High"}
			answer, err := p.Tickets.Create(asKey(c), c, Write{}, test.in)
			if test.refused == nil {
				if err != nil || answer.Record.Ticket.Status != test.status ||
					answer.Record.Ticket.Priority != test.priority {
					t.Fatalf("got %+v, %v", answer.Record, err)
				}
				return
			}
			wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
			for i, field := range fault.From(err).Fields {
				if field.Path != test.refused[i] ||
					!strings.Contains(field.Message, "New, Closed") && !strings.Contains(field.Message, "Low, High") {
					t.Errorf("got %+v", field)
				}
			}
			if w.tickets.called("create") != 0 {
				t.Error("the CRM is asked to create it")
			}
		})
	}
}

// Ticket systems keep one line, and Request Tracker joins the words on both sides of the end of a line.
func TestASubjectIsOneLine(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	const said = "front\ndoor\thandle"
	answer, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: said})
	if got := answer.Record.Ticket.Subject; err != nil || got != "front door handle" {
		t.Errorf("the subject is %q, %v", got, err)
	}
	// The request stays as it was said, as earlier versions have recorded it: its repeat is the same request.
	intent, found, err := p.store.Intent(t.Context(), c.Tenant.ID, opCreate, "key:k")
	var plan ticketPlan
	if err != nil || !found || json.Unmarshal(intent.Plan, &plan) != nil || plan.Subject != said {
		t.Errorf("the request is %s, %v", intent.Plan, err)
	}
}

func TestVocabularyIsAskedAnewWhenALabelIsMissing(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	create := func(status string) error {
		_, err := p.Tickets.Create(asKey(c), c, Write{}, CreateTicket{Subject: "door", Status: status})
		return err
	}
	w.check(create("New"))
	w.check(create("Closed"))
	if asked := w.tickets.called("vocabulary"); asked != 1 {
		t.Errorf("asked %d times for what is remembered", asked)
	}
	w.tickets.vocabulary.Statuses = append(w.tickets.vocabulary.Statuses, "Waiting")
	w.check(create("waiting"))
	if asked := w.tickets.called("vocabulary"); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

func TestTicketWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	lost := reaction{after: fails(cutOff())}
	for name, test := range map[string]struct {
		account  func(*crmAccount)
		repeated error // the error of the first answer; nil: the ticket is found at once
		settled  bool
	}{
		"found by its key at once": {func(a *crmAccount) { a.findsKeys = true }, nil, true},
		"found by what it says":    {func(a *crmAccount) { a.findsText = true }, nil, true},
		"made again under its key": {func(a *crmAccount) { a.traits.IdempotentCreate = true },
			fault.UnknownOutcome, true},
		"not to be found": {func(*crmAccount) {}, fault.UnknownOutcome, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			test.account(w.tickets)
			w.tickets.times(3, "create", lost)
			_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
			if test.repeated == nil && err != nil {
				t.Fatal(err)
			}
			if test.repeated != nil {
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			}
			w.tickets.script(nil)
			answer, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
			if test.settled && (err != nil || answer.Record.Ticket.ID != "id1") {
				t.Fatalf("got %+v, %v", answer.Record, err)
			}
			if !test.settled {
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			}
			if w.ticketCount() != 1 {
				t.Errorf("%d tickets", w.ticketCount())
			}
		})
	}
}

func TestTicketThatWasSurelyNotMadeIsMadeByRecovery(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsKeys = true
	w.tickets.script(func(_ *process, call string) reaction {
		if call == "create" || call == "find" {
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
	_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.tickets.script(nil)
	p.recover(t)
	if w.ticketCount() != 0 {
		t.Error("it is made while the first may still be on its way")
	}
	w.clock.advance(time.Minute)
	p.recover(t)
	answer, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
	if err != nil || !answer.Replayed || w.ticketCount() != 1 {
		t.Fatalf("replayed %v, %v, %d tickets", answer.Replayed, err, w.ticketCount())
	}
}

func TestTicketRefusedByTheCRMIsNotKept(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.once("create", reaction{before: fails(fault.InvalidField("owner_id", "is no user."))})
	_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door", OwnerID: "x"})
	wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	if _, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"}); err != nil {
		t.Fatal(err)
	}
}

func TestTicketIsFoundAsItsNumberIsSaid(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	_, err := p.Tickets.Create(asKey(c), c, Write{}, CreateTicket{Subject: "door"})
	w.check(err)
	for _, spoken := range []string{"00000001", "1", " #1 ", "# 0001"} {
		if answer, err := p.Tickets.Get(background, c, spoken); err != nil || answer.Ticket.ID != "id1" {
			t.Errorf("%q: %+v, %v", spoken, answer, err)
		}
	}
	_, err = p.Tickets.Get(background, c, "2")
	wantReason(t, err, fault.NotFound, fault.ReasonTicketNotFound)
	_, err = p.Tickets.Get(background, c, " # ")
	wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
}

func TestTicketsOfARefusedAccount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.script(func(*process, string) reaction {
		return reaction{before: func(context.Context) error { return refusesCredentials() }}
	})
	_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.Disconnected, fault.ReasonReconnectRequired)
	if got := w.marked[c.Connections[adapter.KindCRM].ID]; got != 1 {
		t.Errorf("marked %d times", got)
	}
	if w.unsettled() != 0 {
		t.Error("an intent is left")
	}
}

func TestATicketJustMadeIsFoundBeforeTheCRMsSearchFindsIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsIDs, w.tickets.lags = true, true
	made, err := p.Tickets.Create(asKey(c), c, Write{}, CreateTicket{Subject: "door"})
	w.check(err)
	for _, spoken := range []string{made.Record.Ticket.TicketNumber, "#1"} {
		found, err := p.Tickets.Get(background, c, spoken)
		if err != nil || found.Ticket.ID != made.Record.Ticket.ID {
			t.Errorf("%s: %+v, %v", spoken, found, err)
		}
	}
	_, err = p.Tickets.Get(background, c, "2")
	wantReason(t, err, fault.NotFound, fault.ReasonTicketNotFound)

	// A ticket whose number has changed is searched by number.
	w.tickets.mu.Lock()
	w.tickets.made[0].Number, w.tickets.lags = "00000007", false
	w.tickets.mu.Unlock()
	_, err = p.Tickets.Get(background, c, "1")
	wantReason(t, err, fault.NotFound, fault.ReasonTicketNotFound)
	found, err := p.Tickets.Get(background, c, "7")
	if err != nil || found.Ticket.ID != made.Record.Ticket.ID {
		t.Errorf("under its new number: %+v, %v", found, err)
	}
}

// A ticket that the CRM opened without a value is neither a plain success nor a failure that suggests opening
// a second ticket.
func TestATicketOpenedWithoutAValueSaysSoAndIsOpenedOnce(t *testing.T) {
	t.Parallel()
	in := CreateTicket{
		Subject: "door", Status: "Closed", Priority: "High", OwnerID: "7", AccountID: "8", ContactID: "9",
	}
	drops := func(t *crm.Ticket) { t.Status, t.OwnerID = "New", "" }
	incomplete := func(t *testing.T, err error) {
		t.Helper()
		wantReason(t, err, fault.Conflict, fault.ReasonTicketIncomplete)
		f := fault.From(err)
		want := map[string]string{"ticket_id": "id1", "ticket_number": "00000001", "not_set": "status,owner_id"}
		if !maps.Equal(f.Metadata, want) || f.RetryAfter != 0 ||
			!strings.Contains(f.Detail, `The ticket 00000001 is open`) ||
			!strings.Contains(f.Detail, `status (it is "New"), owner_id (it is empty)`) {
			t.Errorf("got %+v", f)
		}
	}
	t.Run("and again to a repeat with the key", func(t *testing.T) {
		w, p, c := sqliteWorld(t)
		w.tickets.drops = drops
		for range 2 {
			_, err := p.Tickets.Create(asKey(c), c, key("k"), in)
			incomplete(t, err)
		}
		if w.ticketCount() != 1 || w.unsettled() != 0 {
			t.Errorf("%d tickets, %d unsettled", w.ticketCount(), w.unsettled())
		}
		got, err := p.Tickets.Get(background, c, "1")
		if err != nil || got.Ticket.Status != "New" || got.Ticket.OwnerID != "" {
			t.Errorf("the record is %+v, %v", got.Ticket, err)
		}
	})
	t.Run("when it is found after its answer was lost", func(t *testing.T) {
		w, p, c := sqliteWorld(t)
		w.tickets.drops, w.tickets.findsKeys = drops, true
		w.tickets.once("create", reaction{after: fails(cutOff())})
		_, err := p.Tickets.Create(asKey(c), c, key("k"), in)
		incomplete(t, err)
	})
	t.Run("when recovery finished it", func(t *testing.T) {
		w, p, c := sqliteWorld(t)
		w.tickets.drops, w.tickets.findsKeys = drops, true
		w.tickets.script(func(*process, string) reaction { return reaction{after: fails(cutOff())} })
		in := in
		in.Status, in.Priority = "", ""
		w.tickets.drops = func(t *crm.Ticket) { t.OwnerID = "" }
		_, err := p.Tickets.Create(asKey(c), c, key("k"), in)
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		w.tickets.script(nil)
		p.recover(t)
		_, err = p.Tickets.Create(asKey(c), c, key("k"), in)
		wantReason(t, err, fault.Conflict, fault.ReasonTicketIncomplete)
		if w.ticketCount() != 1 {
			t.Errorf("%d tickets", w.ticketCount())
		}
	})
}
