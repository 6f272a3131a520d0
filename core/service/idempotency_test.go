package service

import (
	"context"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

var background = context.Background()

func TestKeyReplaysTheFirstAnswerByteForByte(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	w.meetings.edit(first.Record.Event.EventID, func(e *calendar.Event) { e.Title = "renamed since" })
	again := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	if string(again.Body) != string(first.Body) || !again.Replayed || first.Replayed {
		t.Fatalf("got %s replayed %v, want %s replayed", again.Body, again.Replayed, first.Body)
	}
	if again.Record != first.Record {
		t.Fatalf("got %+v, want %+v", again.Record, first.Record)
	}
}

func TestKeyIsReplayedThroughAnotherProcessWhileTheProviderIsDown(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	w.meetings.script(func(*process, string) reaction { return reaction{before: fails(down())} })
	again := book(t, w.start(), c, key("k"), meeting(t, "checkup", 10))
	if string(again.Body) != string(first.Body) || !again.Replayed {
		t.Fatalf("got %s replayed %v", again.Body, again.Replayed)
	}
}

func TestKeyWithAnotherBodyIsRefused(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	book(t, p, c, key("k"), meeting(t, "checkup", 10))
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 11))
	wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyReused)
}

func TestFailureWithoutEffectIsNotKept(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]*fault.Error{
		"the provider is down":             down(),
		"the provider refuses the request": fault.New(fault.Invalid, fault.ReasonProviderRefused, "Wrong."),
		"the account may not":              fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "No."),
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.times(3, "book", reaction{before: fails(failure)})
			_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
			wantReason(t, err, failure.Code, failure.Reason)
			if fault.From(err).Metadata["outcome"] != "" {
				t.Error("the outcome is said to be unknown")
			}
			w.meetings.script(nil)
			book(t, p, c, key("k"), meeting(t, "another body is fine", 11))
		})
	}
}

func TestKeyIsForgottenAfterItsTime(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IdempotentBook = false
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	w.clock.advance(72*time.Hour - time.Second)
	if again := book(t, p, c, key("k"), meeting(t, "checkup", 10)); !again.Replayed {
		t.Fatal("not replayed after 71:59:59")
	}
	w.clock.advance(time.Second)
	other := book(t, p, c, key("k"), meeting(t, "another body is fine", 11))
	if other.Replayed || other.Record.Event.EventID == first.Record.Event.EventID {
		t.Fatalf("got %+v", other)
	}
}

func TestKeyIsPurgedAfterItsTime(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	book(t, p, c, key("k"), meeting(t, "checkup", 10))
	w.clock.advance(72*time.Hour + time.Second)
	p.recover(t)
	left, err := w.store.PurgeIntents(background, w.clock.now(), w.clock.now(), 10)
	w.check(err)
	if left != 0 {
		t.Fatalf("%d intents are left", left)
	}
}

func TestKeyIsScopedToTenantAndOperation(t *testing.T) {
	t.Parallel()
	w, p, acme := sqliteWorld(t)
	other := w.tenant("other")
	one := book(t, p, acme, key("k"), meeting(t, "checkup", 10))
	two := book(t, p, other, key("k"), meeting(t, "checkup", 10))
	if two.Replayed || one.Record.Event.EventID == two.Record.Event.EventID {
		t.Error("two tenants share a key")
	}
	cancelled, err := p.Calendar.Cancel(asKey(acme), acme, key("k"),
		CancelMeeting{EventID: one.Record.Event.EventID})
	if err != nil || cancelled.Replayed {
		t.Errorf("two operations share a key: %v", err)
	}
}

func TestKeyOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	c = w.replaceCalendar(c)
	again := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	if !again.Replayed || string(again.Body) != string(first.Body) {
		t.Fatalf("got %s", again.Body)
	}
}

func TestCallCutOffWhoseConnectionIsGoneStaysUnknown(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.times(3, "book", reaction{after: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	c = w.replaceCalendar(c)
	p.recover(t)
	_, err = p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
}

// Calls without a key.

func TestEqualBookingsWithoutKeyAreOneMeeting(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	in := meeting(t, "checkup", 10)
	in.Attendees = []string{"pat@example.com", "Kim@Example.com"}
	first := book(t, p, c, Write{}, in)
	same := in
	same.Start, same.End = when(t, "2030-03-04T05:00:00-05:00"), when(t, "2030-03-04T06:00:00-05:00")
	same.Attendees = []string{"kim@example.com", "pat@example.com"}
	if again := book(t, p, c, Write{}, same); !again.Replayed || string(again.Body) != string(first.Body) {
		t.Fatalf("got %s replayed %v, want %s", again.Body, again.Replayed, first.Body)
	}
	in.CalendarIDs = []string{"main", "side", "third"}
	book(t, p, c, Write{}, in)
	same.CalendarIDs = []string{"main", "third", "side"}
	if !book(t, p, c, Write{}, same).Replayed {
		t.Error("the same calendars in another order are another meeting")
	}
	in.CalendarIDs = []string{"third", "main", "side"}
	if book(t, p, c, Write{}, in).Replayed {
		t.Error("another calendar to book in is the same meeting")
	}
	in.CalendarIDs = nil
	for name, change := range map[string]func(*BookMeeting){
		"title":     func(b *BookMeeting) { b.Title = "Checkup" },
		"attendees": func(b *BookMeeting) { b.Attendees = b.Attendees[:1] },
		"calendar":  func(b *BookMeeting) { b.CalendarIDs = []string{"side"} },
		"end":       func(b *BookMeeting) { b.End = when(t, "2030-03-04T11:30:00Z") },
	} {
		other := in
		change(&other)
		if answer := book(t, p, c, Write{}, other); answer.Replayed {
			t.Errorf("another %s is taken for the same meeting", name)
		}
	}
	otherKey := c
	otherKey.KeyID = "k-2"
	if answer := book(t, p, otherKey, Write{}, in); answer.Replayed {
		t.Error("another API key's booking is taken for the same meeting")
	}
}

// A calendar keeps no parts of a second. Its event is the one that was asked for all the same.
func TestEqualBookingsWithPartsOfASecondAreOneMeeting(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	in := meeting(t, "checkup", 10)
	in.Start, in.End = when(t, "2030-03-04T10:00:00.250Z"), when(t, "2030-03-04T10:30:00.250Z")
	first := book(t, p, c, Write{}, in)
	w.clock.advance(showsLate) // the event is looked at from then on
	if again := book(t, p, c, Write{}, in); !again.Replayed || w.meetings.booked != 1 {
		t.Errorf("got %s after %s, and %d were booked", again.Body, first.Body, w.meetings.booked)
	}
	in.End = when(t, "2030-03-04T10:00:00.750Z")
	_, err := p.Calendar.Book(asKey(c), c, Write{}, in)
	wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	// The request stays as it was asked, as earlier versions have recorded it: its repeat is the same request.
	in.End = when(t, "2030-03-04T10:30:00.250Z")
	id := book(t, p, c, key("k"), in).Record.Event.EventID
	_, err = p.Calendar.Update(asKey(c), c, key("k"), UpdateMeeting{EventID: id, Start: in.Start})
	w.check(err)
	for _, operation := range []string{opBook, opUpdate} {
		intent, _, err := p.store.Intent(t.Context(), c.Tenant.ID, operation, "key:k")
		if err != nil || !strings.Contains(string(intent.Plan), "10:00:00.25Z") {
			t.Errorf("the request is %s, %v", intent.Plan, err)
		}
	}
}

func TestWindowOfEqualBookings(t *testing.T) {
	t.Parallel()
	minutes := func(n int) *tenant.Duration { d := tenant.Duration(time.Duration(n) * time.Minute); return &d }
	for name, test := range map[string]struct {
		window *tenant.Duration
		after  time.Duration
		same   bool
	}{
		"the default is ten minutes": {nil, 10*time.Minute - time.Second, true},
		"and then it ends":           {nil, 10 * time.Minute, false},
		"a tenant's own is longer":   {minutes(60), 59 * time.Minute, true},
		"and it ends":                {minutes(60), time.Hour, false},
		"nothing ends it":            {minutes(0), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			c.Tenant.Settings.DedupeWindow = test.window
			book(t, p, c, Write{}, meeting(t, "checkup", 10))
			w.clock.advance(test.after)
			if again := book(t, p, c, Write{}, meeting(t, "checkup", 10)); again.Replayed != test.same {
				t.Fatalf("replayed %v, want %v", again.Replayed, test.same)
			}
		})
	}
}

func TestCancelInBetweenEndsEqualBookings(t *testing.T) {
	t.Parallel()
	for _, firstKey := range []string{"", "k"} {
		_, p, c := sqliteWorld(t)
		first := book(t, p, c, key(firstKey), meeting(t, "checkup", 10))
		if _, err := p.Calendar.Cancel(asKey(c), c, Write{},
			CancelMeeting{EventID: first.Record.Event.EventID}); err != nil {
			t.Fatal(err)
		}
		again := book(t, p, c, Write{}, meeting(t, "checkup", 10))
		if again.Replayed || again.Record.Event.EventID == first.Record.Event.EventID {
			t.Fatalf("first key %q: got %+v", firstKey, again)
		}
		if third := book(t, p, c, Write{}, meeting(t, "checkup", 10)); !third.Replayed {
			t.Fatalf("first key %q: the new one is made twice", firstKey)
		}
	}
}

func TestACancelThatFailedDoesNotEndEqualBookings(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := book(t, p, c, Write{}, meeting(t, "checkup", 10))
	w.meetings.times(9, "cancel", reaction{before: fails(down())})
	_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: first.Record.Event.EventID})
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	w.heal()
	if again := book(t, p, c, Write{}, meeting(t, "checkup", 10)); !again.Replayed || w.meetings.booked != 1 {
		t.Errorf("the meeting that stands is answered %+v, and %d were booked", again, w.meetings.booked)
	}
}

func TestACancelThatWillBeCarriedOnEndsEqualBookings(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := book(t, p, c, Write{}, meeting(t, "checkup", 10))
	w.meetings.times(9, "cancel", reaction{before: fails(cutOff())})
	_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: first.Record.Event.EventID})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.heal()
	again := book(t, p, c, Write{}, meeting(t, "checkup", 10))
	w.clock.advance(13 * time.Second)
	p.recover(t)
	if live := w.meetings.live(); len(live) != 1 || live[0].ID != again.Record.Event.EventID || again.Replayed {
		t.Errorf("told of %s, replayed %v; there are %+v", again.Record.Event.EventID, again.Replayed, live)
	}
}

func TestOwnKeyOverridesEqualBookings(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	book(t, p, c, Write{}, meeting(t, "checkup", 10))
	for _, k := range []string{"one", "two"} {
		if answer := book(t, p, c, key(k), meeting(t, "checkup", 10)); answer.Replayed {
			t.Errorf("key %s is answered with another call's meeting", k)
		}
	}
	if w.meetings.booked != 3 {
		t.Errorf("%d meetings, want 3", w.meetings.booked)
	}
}

func TestCallWithoutKeyAfterOneWithKeyIsTheSame(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	first := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	if again := book(t, p, c, Write{}, meeting(t, "checkup", 10)); !again.Replayed ||
		string(again.Body) != string(first.Body) {
		t.Fatalf("got %+v", again)
	}
}

func TestCallWithoutKeySettlesTheOneWithKeyWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.times(3, "book", reaction{after: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	answer := book(t, p, c, Write{}, meeting(t, "checkup", 10))
	again := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	if !again.Replayed || string(again.Body) != string(answer.Body) || w.meetings.booked != 1 {
		t.Fatalf("%d meetings; %s and %s", w.meetings.booked, answer.Body, again.Body)
	}
}

func TestEqualTicketsWithoutKey(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	replayed := func() bool {
		answer, err := p.Tickets.Create(asKey(c), c, Write{}, CreateTicket{Subject: "door"})
		w.check(err)
		return answer.Replayed
	}
	replayed()
	w.clock.advance(9 * time.Minute)
	if !replayed() {
		t.Error("two tickets are two within the window that holds where the tenant sets none")
	}
	w.clock.advance(time.Minute)
	if replayed() {
		t.Error("the window does not end")
	}
	window := tenant.Duration(5 * time.Minute)
	c.Tenant.Settings.TicketDedupeWindow = &window
	w.clock.advance(5 * time.Minute)
	if replayed() {
		t.Error("the tenant's own window is not the one that counts")
	}
	window = 0
	if replayed() {
		t.Error("two tickets are one, though the tenant ended that")
	}
}

// A provider that is still at the first call, or has the record locked, refuses a repeat. That does not say that the
// first call failed: if it were forgotten, the next equal call would be a second meeting or ticket.
func TestWhatIsInTheWayOfARepeatSaysNothingOfTheFirstCall(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]*fault.Error{
		"locked": fault.New(fault.Conflict, fault.ReasonProviderConflict, "It is locked."),
		"full":   fault.New(fault.Exhausted, fault.ReasonStorageFull, "There is no room left."),
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.tickets.traits.IdempotentCreate = true
			for call, in := range map[string]struct {
				account *account
				call    func() error
				effects func() int
			}{
				"book": {&w.meetings.account, func() error {
					_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "checkup", 10))
					return err
				}, func() int { return w.meetings.booked }},
				"create": {&w.tickets.account, func() error {
					_, err := create(p, c, Write{}, CreateTicket{Subject: "door"})
					return err
				}, w.tickets.count},
			} {
				in.account.times(3, call, reaction{after: fails(cutOff())})
				wantReason(t, in.call(), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
				in.account.once(call, reaction{before: fails(refused)})
				if f := fault.From(in.call()); f == nil || !f.IsOutcomeUnknown() {
					t.Errorf("%s: a repeat returns %v", call, f)
				}
				in.account.script(nil)
				if err := in.call(); err != nil || in.effects() != 1 {
					t.Errorf("%s: %v; there are %d", call, err, in.effects())
				}
			}
		})
	}
}

// A limit of hours is not over when the repeat comes, whatever became of the first call.
func TestNoRepeatOfACallInDoubtIsSuggestedWhereNoneHelps(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	limited := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Too many were invited lately.")
	limited.NoRetry = true
	w.meetings.times(3, "book", reaction{before: fails(cutOff())})
	for _, repeats := range []bool{true, false} {
		_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
		if f := fault.From(err); f == nil || !f.IsOutcomeUnknown() || f.NoRetry == repeats ||
			(f.RetryAfter > 0) != repeats || strings.Contains(f.Detail, "Repeat") != repeats {
			t.Errorf("a repeat is suggested: want %t, got %+v", repeats, f)
		}
		w.meetings.script(nil)
		w.meetings.once("book", reaction{before: fails(limited)})
	}
}

func TestEqualPurchasesWithoutKeyAreTwo(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	for range 2 {
		if answer, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"}); err != nil ||
			answer.Replayed {
			t.Fatalf("replayed %v, %v", answer.Replayed, err)
		}
	}
	if w.phones.bought != 2 {
		t.Errorf("%d numbers", w.phones.bought)
	}
}

// Errors for unknown outcomes.

func TestUnknownOutcomeIsSaidWhenAndOnlyWhenItIsUnknown(t *testing.T) {
	t.Parallel()
	lost := reaction{after: fails(cutOff())}
	for name, test := range map[string]struct {
		kind     func(*world)
		call     string
		reaction reaction
		code     fault.Code
		reason   string
		unknown  bool
	}{
		"the answer of a booking is lost": {nil, "book", lost, fault.UnknownOutcome,
			fault.ReasonOutcomeUnknown, true},
		"a booking is not sent": {nil, "book", reaction{before: fails(down())}, fault.Unavailable,
			fault.ReasonProviderUnavailable, false},
		"a booking is answered 503": {nil, "book", reaction{before: fails(answers503())},
			fault.Unavailable, fault.ReasonProviderUnavailable, true},
		"a booking is refused": {nil, "book",
			reaction{before: fails(fault.New(fault.Invalid, fault.ReasonProviderRefused, "No."))}, fault.Invalid,
			fault.ReasonProviderRefused, false},
		"the credentials are refused": {nil, "book", reaction{before: fails(refusesCredentials())},
			fault.Disconnected, fault.ReasonReconnectRequired, false},
		"the rate is limited": {nil, "book",
			reaction{before: fails(fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Slow."))},
			fault.RateLimited, fault.ReasonProviderRateLimited, false},
		"the driver breaks": {nil, "book",
			reaction{before: func(context.Context) error { panic("broken") }}, fault.UnknownOutcome,
			fault.ReasonOutcomeUnknown, true},
		"reading busy times fails before": {protected, "events/main", reaction{before: fails(answers503())},
			fault.Unavailable, fault.ReasonProviderUnavailable, false},
		"reading busy times is cut off before": {protected, "events/main", lost, fault.Unavailable,
			fault.ReasonProviderUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			if test.kind != nil {
				test.kind(w)
				c = w.tenants[c.Tenant.ID]
			}
			w.meetings.times(9, test.call, test.reaction)
			_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
			wantReason(t, err, test.code, test.reason)
			isUnknown := fault.From(err).Code == fault.UnknownOutcome ||
				fault.From(err).Metadata["outcome"] == "unknown"
			if isUnknown != test.unknown {
				t.Fatalf("unknown is said: %v, want %v: %v", isUnknown, test.unknown, err)
			}
			if open := w.unsettled() > 0; open != test.unknown {
				t.Errorf("an intent is open: %v, want %v", open, test.unknown)
			}
			if isUnknown && !strings.Contains(fault.From(err).Detail, "Idempotency-Key") {
				t.Errorf("the detail does not say how to settle it: %s", fault.From(err).Detail)
			}
		})
	}
}

func protected(w *world) {
	for _, c := range w.tenants {
		c.Tenant.Settings.PreventDoubleBooking = true
		w.with(c)
	}
}

func TestHangIsTheDeadlineAndSaysThatTheOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	for name, repeatable := range map[string]bool{
		"a repeatable write": true, "a write that is not repeatable": false,
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.meetings.traits.IdempotentBook = repeatable
			ctx, let := faulttest.NewDeadline(background), make(chan struct{})
			w.meetings.once("book", reaction{before: func(context.Context) error { ctx.Pass(); <-let; return nil }})
			_, err := p.Calendar.Book(ctx, c, key("k"), meeting(t, "checkup", 10))
			close(let)
			wantReason(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
			if detail := fault.From(err).Detail; !strings.Contains(detail, "not known") ||
				!strings.Contains(detail, "same Idempotency-Key") {
				t.Errorf("the detail is %q", detail)
			}
		})
	}
}

func TestNoRepeatIsSuggestedWhereACalendarCannotTellWhatItBooked(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IdempotentBook = false
	w.meetings.once("book", reaction{after: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	_, err = p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	if f := fault.From(err); f == nil || !f.IsUnknowable() || f.RetryAfter != 0 {
		t.Errorf("it says %+v", f)
	}
}

func TestHangOfAReadBeforeTheWriteIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	protected(w)
	deadline := faulttest.NewDeadline(background)
	w.meetings.once("events/main",
		reaction{before: func(ctx context.Context) error { deadline.Pass(); return hang(ctx) }})
	_, err := p.Calendar.Book(deadline, w.tenants[c.Tenant.ID], key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
	if fault.From(err).Metadata["outcome"] != "" {
		t.Error("the outcome is said to be unknown")
	}
	book(t, p, w.tenants[c.Tenant.ID], key("k"), meeting(t, "the key is free again", 10))
}

func TestAdviceDoesNotMakeASecondPurchase(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.times(9, "buy", reaction{after: fails(cutOff())})
	_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if detail := fault.From(err).Detail; strings.Contains(detail, "Repeat the request") ||
		!strings.Contains(detail, "act twice") {
		t.Errorf("the advice is %q", detail)
	}
}

func TestRefusedDateInThePast(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.clock.millis.Store(hour(9).UnixMilli())
	c.Tenant.Settings.RejectPast = true
	first := book(t, p, c, key("k"), meeting(t, "soon", 10))
	w.clock.advance(2 * time.Hour)
	if again := book(t, p, c, key("k"), meeting(t, "soon", 10)); !again.Replayed ||
		string(again.Body) != string(first.Body) {
		t.Errorf("the repeat is not answered with the first answer")
	}
	_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "too late", 10))
	wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	if got, want := fault.From(err).Fields[0].Message,
		"is in the past. It is now Monday, 4 March 2030, 11:00 in UTC."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, err = p.Calendar.Update(asKey(c), c, Write{}, UpdateMeeting{
		EventID: first.Record.Event.EventID, Start: when(t, "2030-03-04T08:00:00Z"),
	})
	wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
}

// replaceCalendar removes the caller's calendar connection and gives it another.
func (w *world) replaceCalendar(c apikey.Caller) apikey.Caller {
	old := c.Connections["calendar"]
	w.check(w.store.DeleteConnection(background, c.Tenant.ID, old.ID))
	now := old
	now.ID = old.ID + "-2"
	w.check(w.store.CreateConnection(background, store.Connection{
		ID: now.ID, TenantID: c.Tenant.ID, Name: "second", Kind: "calendar", Provider: "fake",
		Settings: []byte("{}"), Status: "ok", Revision: 1, CreatedAt: w.clock.now(),
	}))
	connections := map[adapter.Kind]connection.Connection{}
	for k, v := range c.Connections {
		connections[k] = v
	}
	connections["calendar"] = now
	c.Connections = connections
	return w.with(c)
}

// The answers to creations at the admin interface, some of which hold secrets, are kept no longer than others.
func TestAnswersToCreationsAreKeptAsLongAsOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	p := w.start()
	creation := store.Creation{Actor: "key:admin", Operation: "create", Key: "k", CreatedAt: w.clock.now()}
	ctx := store.RecordCreation(t.Context(), creation, func(string, string) ([]byte, error) {
		return []byte("answer"), nil
	})
	ctx = store.Creating(ctx, "", func(row store.Tenant) (string, error) { return row.ID, nil })
	w.check(p.store.CreateTenant(ctx, store.Tenant{ID: "t-new", Name: "new", CreatedAt: w.clock.now()}))
	for _, c := range []struct {
		after time.Duration
		kept  bool
	}{{72*time.Hour - time.Second, true}, {2 * time.Second, false}} {
		w.clock.advance(c.after)
		w.check(p.purge(background))
		_, kept, err := p.store.Creation(t.Context(), "key:admin", "create", "k")
		if err != nil || kept != c.kept {
			t.Errorf("after another %s the answer is kept: %v, %v", c.after, kept, err)
		}
	}
}

// What let somebody in goes when its time is over, also where nobody signs in or connects an account again.
func TestWhatLetSomebodyInIsKeptNoLongerThanItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	p := w.start()
	ctx, now, db := t.Context(), w.clock.now(), storetest.Database(t, w.url)
	w.check(p.store.CreateTenant(ctx, store.Tenant{ID: "t-new", Name: "new", CreatedAt: now}))
	link := store.ConnectLink{
		Hash: []byte("link"), TenantID: "t-new", ConnectionID: "c", Kind: "calendar", Provider: "p", Name: "n",
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	w.check(p.store.CreateSession(ctx, store.Session{Hash: "s", Person: "pat@example.com", ExpiresAt: link.ExpiresAt}))
	w.check(p.store.CreateSignInLink(ctx, store.SignInLink{Hash: "l", ExpiresAt: link.ExpiresAt}))
	w.check(p.store.CreateConnectLink(ctx, link))
	w.check(p.store.BeginConsent(ctx, store.Consent{
		Hash: []byte("c"), LinkHash: link.Hash, BrowserHash: []byte("b"), Sealed: []byte("s"), ExpiresAt: link.ExpiresAt,
	}))
	for _, c := range []struct {
		after time.Duration
		want  []int64 // sessions, sign-in links, consents, connect links
	}{
		{time.Hour - time.Second, []int64{1, 1, 1, 1}},
		{time.Second, []int64{0, 0, 0, 1}},
		{30 * 24 * time.Hour, []int64{0, 0, 0, 1}}, // as long, a link that is over says so
		{time.Second, []int64{0, 0, 0, 0}},
	} {
		w.clock.advance(c.after)
		w.check(p.purge(background))
		for i, table := range []string{"sessions", "sign_in_links", "consents", "connect_links"} {
			var n int64
			w.check(db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n))
			if n != c.want[i] {
				t.Errorf("after another %s, %s has %d rows, want %d", c.after, table, n, c.want[i])
			}
		}
	}
}

func TestAChangeWithTheSameCalendarsInAnotherOrderIsTheSame(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "checkup", 10)).Record.Event.EventID
	for i, calendars := range [][]string{{"side", "main"}, {"main", "side"}} {
		answer, err := p.Calendar.Update(background, c, key("1"),
			UpdateMeeting{EventID: id, Title: "moved", CalendarIDs: calendars})
		if err != nil || answer.Replayed != (i == 1) {
			t.Errorf("change %d: replayed %t, %v", i, answer.Replayed, err)
		}
	}
}
