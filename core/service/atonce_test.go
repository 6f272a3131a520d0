package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/guard"
	"frontdesk/core/pause"
	"frontdesk/core/record"
	"frontdesk/core/store/storetest"

	"golang.org/x/sync/errgroup"
)

// What happens where several calls run at one time. Of this package, the gate's race detector watches the tests of
// files that start goroutines: those that try one thing after another are in other files.

// A repeat may come while the first try still runs, or while nobody can know yet that its process has died.
func TestARepeatedCancelWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	id := book(t, p, c, Write{}, meeting(t, "one", 10)).Record.Event.EventID
	second, acted, ended := w.start(), make(chan struct{}), make(chan error, 1)
	w.meetings.once("cancel", reaction{after: func(context.Context) error {
		close(acted)
		for w.meetings.called("cancel") < 2 {
			if err := pause.For(background, time.Millisecond); err != nil {
				return err
			}
		}
		return nil
	}})
	go func() {
		_, err := p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
		ended <- err
	}()
	<-acted
	w.clock.advance(time.Second)
	again, err := second.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: id})
	if err != nil || !again.Record.OK {
		t.Errorf("the repeat is answered %+v, %v", again.Record, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// One of two that find nothing may look at the other just when that ends.
func TestOfTwoCancellationsOfNothingNeitherSucceeds(t *testing.T) {
	t.Parallel()
	_, p, c := sqliteWorld(t)
	for i := range 100 {
		_, errs := atOnce(2, func(int) (Answer[record.CancelAnswer], error) {
			return p.Calendar.Cancel(asKey(c), c, Write{}, CancelMeeting{EventID: fmt.Sprint("another", i)})
		})
		for _, err := range errs {
			wantReason(t, err, fault.NotFound, fault.ReasonEventNotFound)
		}
	}
}

func TestATicketThatARunningCallMayHaveMadeIsNotTaken(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.tickets.findsText = true
	notArriving(w)
	_, err := create(p, c, key("lost"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)

	arrived, answered := make(chan struct{}), make(chan struct{})
	w.tickets.script(func(_ *process, call string) reaction {
		if call != "create" {
			return reaction{}
		}
		return reaction{after: func(context.Context) error {
			close(arrived)
			<-answered
			return nil
		}}
	})
	made := make(chan string)
	go func() {
		id, _ := create(p, c, key("running"), CreateTicket{Subject: "door"})
		made <- id
	}()
	<-arrived
	_, err = create(p, c, key("lost"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f := fault.From(err); f.IsUnknowable() || f.NoRetry {
		t.Errorf("it says %+v", f)
	}
	close(answered)
	if id := <-made; id != "id1" {
		t.Fatalf("the call that ran has %q", id)
	}
	w.tickets.script(nil)
	w.clock.advance(time.Minute)
	if id, err := create(p, c, key("lost"), CreateTicket{Subject: "door"}); err != nil || id != "id2" {
		t.Errorf("got %q, %v", id, err)
	}
}

func TestKeyOfARunningCallIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	w.options = impatient
	p, c := w.start(), w.tenant("acme")
	entered, let := make(chan struct{}), make(chan struct{})
	w.meetings.once("book", reaction{before: func(context.Context) error { close(entered); <-let; return nil }})
	first := make(chan error)
	go func() {
		_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
		first <- err
	}()
	<-entered
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning)
	if fault.From(err).RetryAfter == 0 {
		t.Error("it does not say when to come again")
	}
	_, err = p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "other", 10))
	wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyReused)
	close(let)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
}

// FRONTDESK_CALLERS is the number of callers at once.
func TestOneKeyAmongManyAtOnceIsOneEffect(t *testing.T) {
	callers := size("FRONTDESK_CALLERS", 24)
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s.open)
			three := [3]*process{w.start(), w.start(), w.start()}
			for _, test := range crashCases(t) {
				t.Run(test.name, func(t *testing.T) {
					c, id := w.prepare(test), ""
					if test.before != nil {
						id = test.before(w, three[0], c)
					}
					had := test.effects(w)
					bodies, errs := atOnce(callers, func(i int) (string, error) {
						body, _, err := test.call(three[i%3], c, id)
						return string(body), err
					})
					answers := map[string]int{}
					for i, err := range errs {
						if err != nil {
							wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning)
							continue
						}
						answers[bodies[i]]++
					}
					if effects := test.effects(w) - had; len(answers) != 1 || effects != 1 {
						t.Fatalf("%d effects, told: %v", effects, answers)
					}
				})
			}
		})
	}
}

func TestEqualBookingsAtOnceShareOneAnswer(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			c := w.tenant("acme")
			w.meetings.traits.IdempotentBook = false
			two := [2]*process{w.start(), w.start()}
			answers, errs := atOnce(16, func(i int) (Answer[record.MeetingAnswer], error) {
				return two[i%2].Calendar.Book(asKey(c), c, Write{}, meeting(t, "checkup", 10))
			})
			made := 0
			for i := range answers {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				if !answers[i].Replayed {
					made++
				}
				if string(answers[i].Body) != string(answers[0].Body) {
					t.Errorf("got %s and %s", answers[i].Body, answers[0].Body)
				}
			}
			if made != 1 || w.meetings.booked != 1 {
				t.Fatalf("%d answers are not replayed, %d meetings", made, w.meetings.booked)
			}
		})
	}
}

func TestLateAnswerSettlesTheCall(t *testing.T) {
	t.Parallel()
	shorter := func(o *Options, g *guard.Options) { g.WriteGrace, o.WaitForEqual = 5*time.Second, pollInterval }
	for name, test := range map[string]struct {
		call func(p *process, c apikey.Caller, ctx context.Context) (string, bool, error)
		on   func(w *world) (*account, string)
		made func(w *world) int
	}{
		"book": {
			func(p *process, c apikey.Caller, ctx context.Context) (string, bool, error) {
				a, err := p.Calendar.Book(ctx, c, key("k"), meeting(t, "checkup", 10))
				return string(a.Body), a.Replayed, err
			},
			func(w *world) (*account, string) {
				w.meetings.traits.IdempotentBook = false
				return &w.meetings.account, "book"
			},
			func(w *world) int { return w.meetings.booked },
		},
		"create": {
			func(p *process, c apikey.Caller, ctx context.Context) (string, bool, error) {
				a, err := p.Tickets.Create(ctx, c, key("k"), CreateTicket{Subject: "door"})
				return string(a.Body), a.Replayed, err
			},
			func(w *world) (*account, string) { return &w.tickets.account, "create" },
			(*world).ticketCount,
		},
		"buy": {
			func(p *process, c apikey.Caller, ctx context.Context) (string, bool, error) {
				a, err := p.Numbers.Buy(ctx, c, key("k"), BuyNumber{AreaCode: "415"})
				return string(a.Body), a.Replayed, err
			},
			func(w *world) (*account, string) {
				w.phones.traits.IdempotentBuy = false
				return &w.phones.account, "buy"
			},
			func(w *world) int { return w.phones.bought },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.ReusedSQLite)
			w.options = shorter
			c, p := w.tenant("acme"), w.start()
			a, call := test.on(w)
			ctx, let := faulttest.NewDeadline(background), make(chan struct{})
			a.once(call, reaction{before: func(context.Context) error { ctx.Pass(); <-let; return nil }})
			_, _, err := test.call(p, c, ctx)
			wantReason(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
			_, _, err = test.call(p, c, background)
			wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning) // it may still arrive
			w.clock.advance(3 * time.Second)
			p.recover(t)
			close(let)
			p.stop() // stop waits for the late write
			body, replayed, err := test.call(w.start(), c, background)
			// The outcome of a purchase is looked up, since the number may not be there yet. The repeat then
			// finishes it.
			if err != nil || !replayed && name != "buy" || body == "" || test.made(w) != 1 {
				t.Fatalf("got %s, replayed %v, %v; %d effects", body, replayed, err, test.made(w))
			}
		})
	}
}

func TestCallerWhoLeavesLosesNothing(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ctx, leave := context.WithCancel(background)
	w.meetings.once("book", reaction{after: func(context.Context) error { leave(); return context.Canceled }})
	_, err := p.Calendar.Book(ctx, c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.Canceled, fault.ReasonCanceled)
	// Who interrupts a command sees the answer.
	if says := fault.From(err).Detail; !strings.Contains(says, "not known yet whether the provider acted") {
		t.Errorf("the answer is %q", says)
	}
	again := book(t, p, c, key("k"), meeting(t, "checkup", 10))
	if w.meetings.booked != 1 || again.Record.Event.EventID != "ev1" {
		t.Fatalf("%d meetings, %+v", w.meetings.booked, again)
	}
}

// TestAStepOfTheClockTakesNoRunOver checks that a run of this process counts as running, whatever the clock
// says. Otherwise there would be two tickets in a CRM that cannot report the outcome of a create.
func TestAStepOfTheClockTakesNoRunOver(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		c := w.tenant("acme")
		w.options = impatient
		p := w.start()
		entered, let := make(chan struct{}), make(chan struct{})
		w.tickets.once("create", reaction{before: func(context.Context) error {
			close(entered)
			<-let
			return nil
		}})
		done := make(chan error)
		go func() {
			_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
			done <- err
		}()
		<-entered
		w.clock.advance(time.Hour)
		p.recover(t)
		_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
		wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning)
		close(let)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if made := w.tickets.count(); made != 1 {
			t.Errorf("%d tickets", made)
		}
	})
}

// Ten calendars are read at once, and eight callers who list ten each at the same time are all answered.
func TestManyCallersListManyCalendarsAtOnce(t *testing.T) {
	t.Parallel()
	const callers, calendars = 8, 10
	w, p, c := sqliteWorld(t)
	var ids []string
	for i := range calendars {
		ids = append(ids, fmt.Sprint("c", i))
		w.meetings.calendars = append(w.meetings.calendars, calendar.Calendar{ID: ids[i], Zone: "UTC"})
		w.meetings.put(calendar.Event{CalendarID: ids[i], ID: fmt.Sprint("of ", ids[i]), Start: calendar.At(hour(10), "UTC"),
			End: calendar.At(hour(11), "UTC")})
	}
	var reading atomic.Int32
	all := make(chan struct{})
	w.meetings.script(func(_ *process, call string) reaction {
		return reaction{before: func(ctx context.Context) error {
			if strings.HasPrefix(call, "events") && reading.Add(1) == callers*calendars {
				close(all)
			}
			if !strings.HasPrefix(call, "events") {
				return nil
			}
			select {
			case <-all: // nobody is answered before all are asked
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	})
	var group errgroup.Group
	for range callers {
		group.Go(func() error {
			answer, err := p.Calendar.List(background, c, window(t, ids...))
			if err == nil && len(answer.Events) != calendars {
				err = fmt.Errorf("%d events", len(answer.Events))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAListOfSeveralPagesIsReadInPartsTheNextTime(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	month := dense(t, w)
	list := func(in ListEvents, want int) []string {
		t.Helper()
		name := "events/" + in.CalendarIDs[0]
		before := w.meetings.called(name)
		answer, err := p.Calendar.List(background, c, in)
		w.check(err)
		if n := w.meetings.called(name) - before; n != want {
			t.Errorf("the list takes %d pages, want %d", n, want)
		}
		return subjects(answer)
	}
	want := list(month, 3)
	if len(want) != 63 {
		t.Fatalf("%d events", len(want))
	}
	var reading atomic.Int32
	all := make(chan struct{})
	w.meetings.script(func(_ *process, call string) reaction {
		return reaction{before: func(ctx context.Context) error {
			if strings.HasPrefix(call, "events") && reading.Add(1) == listParts {
				close(all)
			}
			select {
			case <-all: // nobody is answered before all parts are asked for
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	})
	if got := list(month, listParts); !slices.Equal(got, want) {
		t.Errorf("in parts, the list is %q, want %q", got, want)
	}
	week := month
	week.End = when(t, "2030-03-08T00:00:00Z")
	list(week, 1)
	side := month
	side.CalendarIDs = []string{"side"}
	list(side, 1)
	w.meetings.pageSize = 3 // parts go on where their page ends
	if got := list(month, 24); !slices.Equal(got, want) {
		t.Errorf("in parts of several pages, the list is %q, want %q", got, want)
	}
	w.clock.advance(rememberLong)
	w.meetings.pageSize = 100
	list(month, 1)
}

func TestWhatAKilledProcessLeavesIsSettledWithinThirtySeconds(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open)
			w.tenant("acme")
			const calls = 8 // as many as the guard admits to one connection
			one := w.start()
			one.recover(t) // it was settling intents, and dies while it holds them
			dieWith(t, w, w.tenants["t-acme"], calls)
			one.kill()
			replicas := [2]*process{w.start(), w.start()}
			for seconds := 0; seconds <= 30 && w.meetings.booked < calls; seconds += 2 {
				atOnce(2, func(i int) (struct{}, error) { replicas[i].recover(t); return struct{}{}, nil })
				w.clock.advance(2 * time.Second)
			}
			if w.meetings.booked != calls || w.unsettled() != 0 {
				t.Fatalf("%d of %d are booked, %d open", w.meetings.booked, calls, w.unsettled())
			}
			for i := range calls {
				answer := book(t, replicas[0], w.tenants["t-acme"], key(fmt.Sprint(i)),
					meeting(t, fmt.Sprint("caller ", i), 10))
				if !answer.Replayed {
					t.Errorf("call %d is not answered with what was settled", i)
				}
			}
		})
	}
}

func TestReplicasSettleEachIntentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	c := w.tenant("acme")
	w.meetings.traits.IdempotentBook = true
	dieWith(t, w, c, 8)
	w.clock.advance(13 * time.Second)
	before := w.meetings.called("book")
	replicas := [4]*process{w.start(), w.start(), w.start(), w.start()}
	atOnce(4, func(i int) (struct{}, error) { replicas[i].recover(t); return struct{}{}, nil })
	if asked := w.meetings.called("book") - before; asked != 8 || w.meetings.booked != 8 {
		t.Fatalf("the provider is asked %d times, %d are booked", asked, w.meetings.booked)
	}
}

func TestShutdownWhileSettlingLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite)
	c := w.tenant("acme")
	dieWith(t, w, c, 1)
	w.options = func(o *Options, _ *guard.Options) { o.Deadline = time.Second }
	p := w.start()
	entered, let := make(chan struct{}), make(chan struct{})
	w.meetings.once("book", reaction{before: func(context.Context) error { close(entered); <-let; return nil }})
	ctx, stop := context.WithCancel(background)
	ended := make(chan struct{})
	go func() { p.Run(ctx); close(ended) }()
	<-entered
	stop()
	<-ended // although the provider has not responded
	close(let)
	p.stop()
	two := w.start()
	w.clock.advance(20 * time.Second)
	two.recover(t)
	answer := book(t, two, c, key("0"), meeting(t, "caller 0", 10))
	if !answer.Replayed || w.meetings.booked != 1 {
		t.Fatalf("replayed %v, %d booked", answer.Replayed, w.meetings.booked)
	}
}
