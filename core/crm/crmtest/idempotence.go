package crmtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// idempotenceChecks returns the checks of keys, which govern a Create that is repeated or interrupted.
func idempotenceChecks() []Check {
	return []Check{
		{Name: "two keys make two tickets", Do: twoKeysTwoTickets},
		{Name: "a key may have 1 to 64 characters", Do: keysOfEveryLength},
		{Name: "a second Create of one key answers the first ticket", Bound: idempotent,
			Do: sameKeyAnswersTheFirst},
		{Name: "a second Create of one key makes no second ticket", Bound: idempotentAndCounted,
			Do: sameKeyMakesNoSecond},
		{Name: "Creates of one key at one time make one ticket", Bound: idempotent, Do: sameKeyAtOnce},
		{Name: "a Create whose reply is lost is not called unsent, and can be settled",
			Bound: provides[conformance.ReplyDropper], Do: lostReply},
		{Name: "Find answers the ticket that Create made", Bound: finds, Do: find},
		{Name: "Find says that there is surely none", Harmless: true, Bound: finds, Do: findNone},
		{Name: "Find answers no ticket that says something else", Bound: finds, Do: findNothingElse},
		{Name: "Find answers no ticket that is another call's", Bound: finds, Do: findNoOthers},
		{Name: "Find does not guess between two tickets that say the same", Bound: finds, Do: findWithoutGuess},
	}
}

func idempotentAndCounted(h Harness) bool { return idempotent(h) && provides[Counter](h) }

func idempotent(h Harness) bool { return traits(h).IdempotentCreate }

func finds(h Harness) bool {
	_, can := h.Open().(crm.Finder)
	return can
}

func sameKeyAnswersTheFirst(ctx context.Context, h Harness) error {
	t := newTicket("Said twice")
	first, err := h.Open().Create(ctx, t)
	if err != nil {
		return err
	}
	if _, err := h.Open().Create(ctx, newTicket("Something in between")); err != nil {
		return err
	}
	second, err := h.Open().Create(ctx, t)
	if err != nil {
		return fmt.Errorf("the second Create of one key: %w", err)
	}
	return sameTicket(first, second)
}

func sameKeyMakesNoSecond(ctx context.Context, h Harness) error {
	return wantMore(ctx, h, 1, func() error {
		t := newTicket("Said three times")
		for range 3 {
			if _, err := h.Open().Create(ctx, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// sameKeyAtOnce allows the provider to refuse all calls but one while it is busy with the key.
func sameKeyAtOnce(ctx context.Context, h Harness) error {
	t := newTicket("Said by many at once")
	var mu sync.Mutex
	ids := map[string]bool{}
	err := conformance.AtOnce(4, func(int) error {
		made, err := h.Open().Create(ctx, t)
		if fault.From(err) != nil && fault.From(err).Code == fault.Conflict {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		ids[made.ID] = true
		return err
	})
	if err != nil {
		return err
	}
	if len(ids) != 1 {
		return fmt.Errorf("one key at one time was answered with %d tickets, want 1", len(ids))
	}
	return nil
}

// lostReply checks that a caller can find out the outcome of a Create whose response is lost.
func lostReply(ctx context.Context, h Harness) error {
	t := newTicket("The reply gets lost")
	t.Since = h.Now()
	h.Provider.(conformance.ReplyDropper).DropNextReply()
	_, err := h.Open().Create(ctx, t)
	if err == nil {
		return fmt.Errorf("Create succeeded without a reply")
	}
	switch f := fault.From(err); {
	case f.Unsent:
		return fmt.Errorf("Create failed with %w, which claims that nothing was sent", err)
	case f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.UnknownOutcome:
		return fmt.Errorf("Create failed with %w, want Unavailable, Timeout or UnknownOutcome", err)
	}
	if finder, can := h.Open().(crm.Finder); can {
		t.Until = h.Now()
		found, err := finder.Find(ctx, t)
		switch {
		case isOpen(err):
		case err != nil:
			return fmt.Errorf("Find after a lost reply: %w", err)
		case found.Subject != t.Subject:
			return fmt.Errorf("Find after a lost reply answered %+v", found)
		}
	}
	if !idempotent(h) {
		return nil
	}
	again, err := h.Open().Create(ctx, t)
	if err != nil {
		return fmt.Errorf("Create after a lost reply: %w", err)
	}
	if again.Subject != t.Subject {
		return fmt.Errorf("Create after a lost reply answered %+v", again)
	}
	return nil
}

func twoKeysTwoTickets(ctx context.Context, h Harness) error {
	one, err := h.Open().Create(ctx, newTicket("The same words"))
	if err != nil {
		return err
	}
	two, err := h.Open().Create(ctx, newTicket("The same words"))
	if err != nil {
		return err
	}
	if one.ID == two.ID || one.Number == two.Number {
		return fmt.Errorf("two keys were answered with one ticket: %s and %s, number %s and %s", one.ID, two.ID,
			one.Number, two.Number)
	}
	return nil
}

func keysOfEveryLength(ctx context.Context, h Harness) error {
	long := newTicket("A long key")
	long.Key = (newKey() + newKey() + newKey())[:64]
	if _, err := h.Open().Create(ctx, long); err != nil {
		return fmt.Errorf("a key of 64 characters: %w", err)
	}
	short := newTicket("A short key")
	short.Key = short.Key[:1]
	if _, err := h.Open().Create(ctx, short); err != nil {
		return fmt.Errorf("a key of 1 character: %w", err)
	}
	return nil
}

// isOpen reports whether err means that the outcome of a Create is not known yet or can never be known.
func isOpen(err error) bool {
	f := fault.From(err)
	return f != nil && (f.IsUnknowable() ||
		f.Code == fault.Unavailable && f.Reason == fault.ReasonOutcomeUnknown && f.RetryAfter > 0)
}

// ticketAsked returns a ticket as it is passed to Find: with the subject as sent and the times of sending.
func ticketAsked(h Harness, subject string) crm.NewTicket {
	t := newTicket(subject)
	t.Since, t.Until = h.Now(), h.Now()
	t.Description = "Described by " + t.Key + "."
	return t
}

func find(ctx context.Context, h Harness) error {
	t := ticketAsked(h, "To be found")
	made, err := h.Open().Create(ctx, t)
	if err != nil {
		return err
	}
	if _, err := h.Open().Create(ctx, newTicket("Another ticket")); err != nil {
		return err
	}
	found, err := h.Open().(crm.Finder).Find(ctx, t)
	if isOpen(err) {
		return nil // a search may lag
	}
	if err != nil {
		return err
	}
	return sameTicket(made, found)
}

// findNone asks for a ticket of long ago, so that no search can lag.
func findNone(ctx context.Context, h Harness) error {
	t := ticketAsked(h, "Never made")
	t.Subject += " " + t.Key
	t.Since, t.Until = t.Since.Add(-2*time.Hour), t.Since.Add(-time.Hour)
	_, err := h.Open().(crm.Finder).Find(ctx, t)
	return conformance.WantFault("Find of a ticket never made", err, fault.NotFound, fault.ReasonTicketNotFound)
}

func findNothingElse(ctx context.Context, h Harness) error {
	t := ticketAsked(h, "Wanted")
	for _, other := range []crm.NewTicket{
		{Key: newKey(), Subject: t.Subject}, {Key: newKey(), Subject: "Unwanted", Description: t.Description},
		{Key: newKey(), Subject: "Unwanted"},
	} {
		if _, err := h.Open().Create(ctx, other); err != nil {
			return err
		}
	}
	if found, err := h.Open().(crm.Finder).Find(ctx, t); err == nil {
		return fmt.Errorf("Find of %+v answered %+v", t, found)
	}
	return nil
}

func findNoOthers(ctx context.Context, h Harness) error {
	t := ticketAsked(h, "Said by two")
	made, err := h.Open().Create(ctx, t)
	if err != nil {
		return err
	}
	t.Key, t.Others = newKey(), []string{made.ID}
	if found, err := h.Open().(crm.Finder).Find(ctx, t); err == nil {
		return fmt.Errorf("Find answered %+v, which is another call's", found)
	}
	return nil
}

func findWithoutGuess(ctx context.Context, h Harness) error {
	t := ticketAsked(h, "Said by two at once")
	first, err := h.Open().Create(ctx, t)
	if err != nil {
		return err
	}
	other := t
	other.Key = newKey()
	if _, err := h.Open().Create(ctx, other); err != nil {
		return err
	}
	found, err := h.Open().(crm.Finder).Find(ctx, t)
	if traits(h).FindsByKey && err == nil {
		return sameTicket(first, found)
	}
	if !isOpen(err) {
		return fmt.Errorf("of two tickets that say the same Find answered %+v, %w, want that it is not known",
			found, err)
	}
	return nil
}
