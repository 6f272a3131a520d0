package service

import (
	"context"
	"testing"

	"frontdesk/core/fault"
)

// A call that waits for an equal one does so within Aside, and is refused if no more calls may wait.
func TestEqualCallsWaitAside(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.meetings.traits.IdempotentBook = false
	entered, let := make(chan struct{}), make(chan struct{})
	w.meetings.once("book", reaction{before: func(context.Context) error { close(entered); <-let; return nil }})
	first := make(chan error)
	go func() {
		_, err := p.Calendar.Book(asKey(c), c, Write{}, meeting(t, "checkup", 10))
		first <- err
	}()
	<-entered
	full := fault.New(fault.Unavailable, fault.ReasonOverloaded, "Too many wait.")
	_, err := p.Calendar.Book(asKey(c), c, Write{Aside: func(func() error) error { return full }},
		meeting(t, "checkup", 10))
	wantReason(t, err, fault.Unavailable, fault.ReasonOverloaded)
	aside := 0
	answer, err := p.Calendar.Book(asKey(c), c, Write{Aside: func(wait func() error) error {
		if aside++; aside == 1 {
			close(let)
		}
		return wait()
	}}, meeting(t, "checkup", 10))
	w.check(err)
	w.check(<-first)
	if aside == 0 || !answer.Replayed || w.meetings.booked != 1 {
		t.Errorf("it waited aside %d times; replayed %v, %d meetings", aside, answer.Replayed, w.meetings.booked)
	}
}
