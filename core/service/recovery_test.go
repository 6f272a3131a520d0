package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/metrics"
	"frontdesk/core/record"
	"frontdesk/core/store/storetest"
)

// dieWith kills the process while n bookings with keys wait for the provider.
func dieWith(t *testing.T, w *world, c apikey.Caller, n int) {
	t.Helper()
	p := w.start()
	var waiting atomic.Int64
	all := make(chan struct{})
	w.meetings.script(func(_ *process, call string) reaction {
		if call != "book" {
			return reaction{}
		}
		return reaction{before: func(context.Context) error {
			if waiting.Add(1) == int64(n) {
				p.kill()
				close(all)
			}
			<-all
			return errors.New("the process died")
		}}
	})
	_, errs := atOnce(n, func(i int) (Answer[record.MeetingAnswer], error) {
		ctx, cancel := context.WithTimeout(background, 8*time.Second)
		defer cancel()
		return p.Calendar.Book(ctx, c, key(fmt.Sprint(i)), meeting(t, fmt.Sprint("caller ", i), 10))
	})
	for _, err := range errs {
		if err == nil {
			t.Fatal("a call of the dead process succeeds")
		}
	}
	w.meetings.script(nil)
}

func TestManyIntentsThatStayUnknownDoNotKeepOneWaiting(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.script(func(*process, string) reaction { return reaction{before: fails(cutOff())} })
	for i := range recoveryBatch + 20 {
		_, err := p.Calendar.Book(asKey(c), c, key(fmt.Sprint(i)), meeting(t, "checkup", 10))
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
	for range 40 {
		w.clock.advance(recoveryInterval)
		p.recover(t)
	}
	w.tickets.traits.IdempotentCreate = true
	w.tickets.times(3, "create", reaction{after: fails(cutOff())})
	_, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.tickets.script(nil)
	for range 3 {
		w.clock.advance(recoveryInterval)
		p.recover(t)
	}
	if answer, err := p.Tickets.Create(asKey(c), c, key("k"), CreateTicket{Subject: "door"}); err != nil ||
		!answer.Replayed {
		t.Fatalf("replayed %v, %v", answer.Replayed, err)
	}
}

// measuredWorld returns a world with one process and one tenant, and a function that serves its metrics.
func measuredWorld(t *testing.T) (w *world, p *process, c apikey.Caller, served func() string) {
	measured := metrics.New(metrics.Build{})
	w = newWorld(t, storetest.ReusedSQLite)
	w.options = func(o *Options, _ *guard.Options) { o.Metrics = measured }
	c = w.tenant("acme")
	return w, w.start(), c, func() string {
		out := httptest.NewRecorder()
		measured.Handler().ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return out.Body.String()
	}
}

func TestOperatorsAreToldHowManyIntentsNobodyCarriesOn(t *testing.T) {
	t.Parallel()
	w, p, c, served := measuredWorld(t)
	wantUnsettled := func(want int) {
		t.Helper()
		p.recover(t)
		_, rest, _ := strings.Cut(served(), "\nfrontdesk_intents_unsettled ")
		if value, _, _ := strings.Cut(rest, "\n"); value != strconv.Itoa(want) {
			t.Errorf("it says %q, want %d", value, want)
		}
	}
	wantUnsettled(0)
	dieWith(t, w, c, 3)
	w.meetings.script(func(*process, string) reaction { return reaction{before: fails(cutOff())} })
	wantUnsettled(3) // their process is gone
	wantUnsettled(3) // their outcome is unknown, also between two tries
	w.meetings.script(nil)
	w.clock.advance(maxRetryDelay)
	wantUnsettled(3) // found, and settled
	wantUnsettled(0)
	if bound := fmt.Sprintf("# HELP frontdesk_intents_unsettled [^\n]* %d ",
		recoveryScan); !regexp.MustCompile(bound).MatchString(served()) {
		t.Errorf("that it counts %d at most is not said", recoveryScan)
	}
}

func TestWhatBecomesOfCallsIsCounted(t *testing.T) {
	t.Parallel()
	w, p, c, served := measuredWorld(t)
	book(t, p, c, key("done"), meeting(t, "done", 10))
	book(t, p, c, key("done"), meeting(t, "done", 10))
	for name, failure := range map[string]error{"failed": down(), "unknown": cutOff()} {
		w.meetings.script(func(*process, string) reaction { return reaction{before: fails(failure)} })
		if _, err := p.Calendar.Book(asKey(c), c, key(name), meeting(t, name, 11)); err == nil {
			t.Fatalf("%s: it is booked", name)
		}
	}
	w.meetings.script(nil)
	w.clock.advance(maxRetryDelay)
	p.recover(t)
	text := served()
	for _, outcome := range []string{"done", "replayed", "failed", "unknown", "settled"} {
		if line := fmt.Sprintf(`frontdesk_intents_total{operation="book-meeting",outcome=%q} 1`,
			outcome); !strings.Contains(text, line) {
			t.Errorf("no %s", line)
		}
	}
}

func TestRecoveryLeavesARefusedConnectionForLater(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.times(3, "book", reaction{after: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	id := c.Connections[adapter.KindCalendar].ID
	w.status[id] = connection.StatusReconnectRequired
	p.recover(t)
	if w.unsettled() != 1 {
		t.Fatal("the intent is given up or still held")
	}
	w.status[id] = connection.StatusOK
	w.clock.advance(recoveryInterval)
	p.recover(t)
	if w.unsettled() != 0 || w.meetings.booked != 1 {
		t.Fatalf("%d open, %d booked", w.unsettled(), w.meetings.booked)
	}
}

func TestRecoveryLeavesAnIntentWhoseConnectionIsGone(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.times(3, "book", reaction{after: fails(cutOff())})
	_, err := p.Calendar.Book(asKey(c), c, key("k"), meeting(t, "checkup", 10))
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.meetings.script(nil)
	asked := w.meetings.called("book")
	w.replaceCalendar(c)
	p.recover(t)
	if w.meetings.called("book") != asked {
		t.Error("another account is asked for it")
	}
	w.clock.advance(72*time.Hour + time.Second)
	p.recover(t)
	book(t, p, w.tenants["t-acme"], key("k"), meeting(t, "the key is free again", 10))
}
