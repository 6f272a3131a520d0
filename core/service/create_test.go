package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// cutOffs makes every create lose its response and every lookup fail, until the script is removed.
func cutOffs(w *world) {
	w.tickets.script(func(_ *process, call string) reaction {
		switch call {
		case "create":
			return reaction{after: fails(cutOff())}
		case "find":
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
}

// notArriving makes every create get lost before it reaches the provider, and every lookup fail.
func notArriving(w *world) {
	w.tickets.script(func(_ *process, call string) reaction {
		if call == "create" || call == "find" {
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
}

func create(p *process, c apikey.Caller, w Write, in CreateTicket) (string, error) {
	answer, err := p.Tickets.Create(asKey(c), c, w, in)
	return answer.Record.Ticket.ID, err
}

// wantUnknowable checks for an unknown outcome that suggests no repeat and advises a person what to do.
func wantUnknowable(t *testing.T, err error) {
	t.Helper()
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	f := fault.From(err)
	if !f.IsUnknowable() || !f.NoRetry || f.RetryAfter != 0 {
		t.Errorf("it suggests a repeat: %+v", f)
	}
	if !strings.Contains(f.Detail, "Look in the CRM for a ticket with this subject") ||
		strings.Contains(f.Detail, "settle") {
		t.Errorf("it says %q", f.Detail)
	}
}

func TestAnOutcomeThatNothingWillTellIsSaidOnceAndLeftAlone(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	cutOffs(w)
	_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantUnknowable(t, err)
	w.tickets.script(nil)
	asked := w.tickets.called("create") + w.tickets.called("find")
	for range 20 {
		w.clock.advance(time.Hour)
		p.recover(t)
	}
	_, err = create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantUnknowable(t, err)
	if now := w.tickets.called("create") + w.tickets.called("find"); now != asked || w.ticketCount() != 1 {
		t.Errorf("the CRM was called %d times more; %d tickets", now-asked, w.ticketCount())
	}
}

// A CRM that recognises repeats for a while alone may know later that it can never tell, as Zendesk does.
func TestARepeatThatCanNeverBeToldIsLeftAlone(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.traits.IdempotentCreate = true
	cutOffs(w)
	_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.tickets.script(func(_ *process, call string) reaction {
		if call == "create" {
			return reaction{before: fails(fault.Unacted(fault.Unknowable("It is not seen.")))}
		}
		return reaction{}
	})
	w.clock.advance(3 * time.Hour)
	p.recover(t)
	asked := w.tickets.called("create")
	for range 20 {
		w.clock.advance(time.Hour)
		p.recover(t)
	}
	if now := w.tickets.called("create"); now != asked {
		t.Errorf("recovery asked %d times more", now-asked)
	}
	w.tickets.script(nil)
	if id, err := create(p, c, key("k"), CreateTicket{Subject: "door"}); err != nil || id != "id1" {
		t.Errorf("who asks again gets %q, %v", id, err)
	}
}

// TestWhatNothingWillTellIsInNobodysWayLater: without a key, an equal call is the same one within the window alone,
// whatever has become of the first.
func TestWhatNothingWillTellIsInNobodysWayLater(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	cutOffs(w)
	_, err := create(p, c, Write{}, CreateTicket{Subject: "door"})
	wantUnknowable(t, err)
	w.tickets.script(nil)
	w.clock.advance(10*time.Minute - time.Second)
	_, err = create(p, c, Write{}, CreateTicket{Subject: "door"})
	wantUnknowable(t, err)
	w.clock.advance(time.Second)
	if _, err := create(p, c, Write{}, CreateTicket{Subject: "door"}); err != nil || w.ticketCount() != 2 {
		t.Errorf("after the window: %v; %d tickets", err, w.ticketCount())
	}
}

func TestWhoAsksAgainLearnsWhatHasBecomeKnown(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText = true
	w.tickets.once("create", reaction{after: fails(cutOff())})
	w.tickets.mu.Lock()
	w.tickets.made = append(w.tickets.made, ticketOf(w, "other", "door"))
	w.tickets.keys = append(w.tickets.keys, "")
	w.tickets.mu.Unlock()
	_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantUnknowable(t, err)
	w.tickets.mu.Lock() // a person changes the other ticket
	w.tickets.made[0].Subject = "gate"
	w.tickets.mu.Unlock()
	if id, err := create(p, c, key("k"), CreateTicket{Subject: "door"}); err != nil || id != "id2" {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestWhileASearchLagsTheCallerIsToldHowLong(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText, w.tickets.lags = true, true
	w.tickets.once("create", reaction{after: fails(cutOff())})
	_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f := fault.From(err); f.RetryAfter != time.Minute || f.NoRetry || f.IsUnknowable() {
		t.Errorf("it says %+v", f)
	}
	w.tickets.mu.Lock()
	w.tickets.lags = false
	w.tickets.mu.Unlock()
	w.clock.advance(time.Minute)
	p.recover(t)
	if id, err := create(p, c, key("k"), CreateTicket{Subject: "door"}); err != nil || id != "id1" ||
		w.ticketCount() != 1 {
		t.Errorf("got %q, %v; %d tickets", id, err, w.ticketCount())
	}
}

func TestALookThatIsRateLimitedSaysHowLong(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsKeys = true
	limited := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Too many requests.")
	limited.RetryAfter = 40 * time.Second
	w.tickets.script(func(_ *process, call string) reaction {
		return map[string]reaction{"create": {after: fails(cutOff())}, "find": {before: fails(limited)}}[call]
	})
	_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f := fault.From(err); f.RetryAfter != limited.RetryAfter {
		t.Errorf("it says to wait for %s", f.RetryAfter)
	}
}

func TestTwoEqualCallsThatWereCutOffDoNotShareATicket(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText = true
	door := CreateTicket{Subject: "door", Description: "It is stuck."}
	cutOffs(w)
	_, err := create(p, c, key("one"), door)
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	notArriving(w)
	_, err = create(p, c, key("two"), door)
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.tickets.script(nil)
	w.clock.advance(time.Minute)
	p.recover(t)
	w.clock.advance(time.Minute) // a call that looked while the other claimed the ticket looks again
	p.recover(t)
	one, err := create(p, c, key("one"), door)
	w.check(err)
	two, err := create(p, c, key("two"), door)
	w.check(err)
	if one == two || w.ticketCount() != 2 {
		t.Errorf("the tickets are %s and %s of %d", one, two, w.ticketCount())
	}
}

func TestTwoTicketsThatFitAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText = true
	cutOffs(w)
	for _, k := range []string{"one", "two"} {
		_, err := create(p, c, key(k), CreateTicket{Subject: "door"})
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
	w.tickets.script(nil)
	for _, k := range []string{"one", "two"} {
		_, err := create(p, c, key(k), CreateTicket{Subject: "door"})
		wantUnknowable(t, err)
	}
	if w.ticketCount() != 2 {
		t.Errorf("%d tickets", w.ticketCount())
	}
}

func TestATicketThatMayBeAnUnlikeCallsIsNotTaken(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText = true
	cutOffs(w)
	_, err := create(p, c, key("high"), CreateTicket{Subject: "door", Priority: "High"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	notArriving(w)
	_, err = create(p, c, key("low"), CreateTicket{Subject: "door", Priority: "Low"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.tickets.script(nil)
	_, err = create(p, c, key("low"), CreateTicket{Subject: "door", Priority: "Low"})
	wantUnknowable(t, err)
}

func TestALookThatFailsDoesNotEndADoubt(t *testing.T) {
	t.Parallel()
	for _, failure := range []*fault.Error{
		fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "The key's property is gone."),
		fault.New(fault.Invalid, fault.ReasonProviderRefused, "The query is refused."),
		refusesCredentials(), down(),
	} {
		w, p, c := sqliteWorld(t)
		w.tickets.findsKeys = true
		cutOffs(w)
		_, err := create(p, c, key("k"), CreateTicket{Subject: "door"})
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		w.tickets.script(func(_ *process, call string) reaction {
			if call == "find" {
				return reaction{before: fails(failure)}
			}
			return reaction{}
		})
		if _, err = create(p, c, key("k"), CreateTicket{Subject: "door"}); err == nil || w.unsettled() != 1 {
			t.Errorf("%s: answered %v, and %d intents are left", failure.Reason, err, w.unsettled())
		}
	}
}

func TestARepeatIsSuggestedOnlyWhereItCannotActTwice(t *testing.T) {
	t.Parallel()
	ended := tenant.Duration(0)
	for name, test := range map[string]struct {
		write    Write
		window   *tenant.Duration
		lost     *fault.Error
		suggests bool
	}{
		"with a key":               {key("k"), nil, cutOff(), true},
		"with a key and no window": {key("k"), &ended, cutOff(), true},
		"within the window":        {Write{}, nil, cutOff(), true},
		"without a window":         {Write{}, &ended, cutOff(), false},
		"a deadline without a window": {Write{}, &ended,
			fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, "Too late."), false},
		"a 503 without a window":               {Write{}, &ended, answers503(), false},
		"a wait that the window does not last": {Write{}, nil, waits(answers503(), time.Hour), false},
		"a wait with a key":                    {key("k"), nil, waits(answers503(), time.Hour), true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.tickets.findsKeys = true
			c.Tenant.Settings.TicketDedupeWindow = test.window
			w.tickets.script(func(_ *process, call string) reaction {
				if call == "create" || call == "find" {
					return reaction{before: fails(test.lost)}
				}
				return reaction{}
			})
			_, err := create(p, c, test.write, CreateTicket{Subject: "door"})
			f := faultOf(t, err)
			if f.NoRetry == test.suggests || f.NoRetry && f.RetryAfter != 0 ||
				!f.NoRetry && f.RetryAfter < 2*time.Second {
				t.Errorf("it says %+v", f)
			}
			if offersRepeat := strings.Contains(f.Detail, "Repeat"); offersRepeat != test.suggests {
				t.Errorf("it says %q", f.Detail)
			}
		})
	}
}

func waits(f *fault.Error, wait time.Duration) *fault.Error {
	f.RetryAfter = wait
	return f
}

// ticketOf returns a ticket that someone else has just opened.
func ticketOf(w *world, id, subject string) crm.Ticket {
	return crm.Ticket{ID: id, Number: id, Subject: subject, CreatedAt: w.clock.now()}
}

// A purchase has no dedupe window, and a booking may have none.
func TestNoRepeatIsSuggestedThatBuysOrBooksTwice(t *testing.T) {
	t.Parallel()
	ended := tenant.Duration(0)
	for name, test := range map[string]struct {
		write    Write
		call     func(p *process, c apikey.Caller, w Write) error
		suggests bool
	}{
		"a purchase with a key":       {key("k"), buyLost, true},
		"a purchase without a key":    {Write{}, buyLost, false},
		"a booking with a key":        {key("k"), bookLost, true},
		"a booking without a window":  {Write{}, bookLost, false},
		"a move of a meeting, always": {Write{}, moveLost, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			c.Tenant.Settings.DedupeWindow = &ended
			c = w.with(c)
			f := faultOf(t, test.call(p, c, test.write))
			if !f.IsOutcomeUnknown() || f.NoRetry == test.suggests || f.NoRetry && f.RetryAfter != 0 ||
				!f.NoRetry && f.RetryAfter == 0 {
				t.Errorf("it says %+v", f)
			}
		})
	}
}

func loses(a *account, calls ...string) {
	a.script(func(_ *process, call string) reaction {
		if slices.Contains(calls, call) {
			return reaction{after: fails(cutOff())}
		}
		return reaction{}
	})
}

func buyLost(p *process, c apikey.Caller, w Write) error {
	loses(&p.world.phones.account, "buy", "ordered")
	_, err := p.Numbers.Buy(asKey(c), c, w, BuyNumber{AreaCode: "415"})
	return err
}

func bookLost(p *process, c apikey.Caller, w Write) error {
	loses(&p.world.meetings.account, "book", "event")
	_, err := p.Calendar.Book(asKey(c), c, w, meeting(p.world.tb, "checkup", 10))
	return err
}

func moveLost(p *process, c apikey.Caller, w Write) error {
	made := book(p.world.tb, p, c, Write{}, meeting(p.world.tb, "checkup", 10))
	sent := false
	p.world.meetings.script(func(_ *process, call string) reaction {
		if sent = sent || call == "change"; sent {
			return reaction{after: fails(cutOff())}
		}
		return reaction{}
	})
	title := "another"
	_, err := p.Calendar.Update(asKey(c), c, w, UpdateMeeting{
		EventID: made.Record.Event.EventID, Title: title,
	})
	return err
}
