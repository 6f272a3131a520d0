package calendartest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// holder is a driver that keeps a password.
type holder struct {
	*liar
	header http.Header
}

func conductLiars() []liarOf {
	const (
		ended  = "a write whose context has ended writes nothing"
		leaves = "a call returns when its caller leaves"
		unsent = "a lost reply is not called unsent"
		found  = "booking again after a lost reply finds the event"
	)
	reply := func(answer func(error) error) func(harness) harness {
		return tell(lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
			e, err := d.Book(ctx, b)
			if errors.Is(err, fault.Unavailable) {
				err = answer(err)
			}
			return e, err
		}})
	}
	list := []liarOf{
		{Check: "the driver holds no secret", How: "in a header", Lie: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				return &holder{&liar{full: open().(full)}, http.Header{"Authorization": {"Basic " + secret}}}
			}
			return h
		}},
		{Check: "traits are constant", How: "learns with time", Lie: fresh(func() lies {
			asked := 0
			return lies{traits: func(t calendar.Traits) calendar.Traits {
				asked++
				t.MaxConcurrent = asked
				return t
			}}
		})},
		{Check: "traits cost nothing to ask", How: "asks the provider", Lie: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				d := open().(full)
				return &liar{full: d, lies: lies{traits: func(t calendar.Traits) calendar.Traits {
					_, _ = d.Account(context.Background())
					return t
				}}}
			}
			return h
		}},
		{Check: "calls at the same time do not mix", How: "one field for all calls", Lie: fresh(func() lies {
			var mu sync.Mutex
			var last Event
			return lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				e, err := d.Book(ctx, b)
				mu.Lock()
				last = e
				mu.Unlock()
				time.Sleep(time.Millisecond) // of synctest's clock: until all have written
				mu.Lock()
				defer mu.Unlock()
				return last, err
			}}
		})},
		{Check: ended, How: "cancels and then looks", Lie: tell(lies{cancel: func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
			err := d.Cancel(context.WithoutCancel(ctx), ref, c)
			return errors.Join(ctx.Err(), err)
		}})},
		{Check: ended, How: "books and then looks", Lie: tell(lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
			e, err := d.Book(context.WithoutCancel(ctx), b)
			return e, errors.Join(ctx.Err(), err)
		}})},
		{Check: ended, How: "changes on", Lie: tell(lies{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
			return d.Change(context.WithoutCancel(ctx), ref, c)
		}})},
		{Check: leaves, How: "waits on", Lie: tell(lies{account: func(ctx context.Context, d full) (Account, error) {
			return d.Account(context.WithoutCancel(ctx))
		}})},
		{Check: leaves, How: "calls it an outage", Lie: tell(lies{account: func(ctx context.Context, d full) (Account, error) {
			account, err := d.Account(ctx)
			if err != nil {
				err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider could not be reached.")
			}
			return account, err
		}})},
		{Check: unsent, How: "calls it unsent", Lie: reply(func(err error) error {
			f := *fault.From(err)
			f.Unsent = true
			return &f
		})},
		{Check: unsent, How: "calls it invalid", Lie: reply(func(error) error {
			return fault.New(fault.Invalid, fault.ReasonProviderRefused, "Refused.")
		})},
		{Check: unsent, How: "calls it done", Lie: reply(func(error) error { return nil })},
		{Check: found, How: "books anew", Lie: fresh(anotherKey)},
		{Check: found, How: "refuses the repeat", Lie: fresh(refuseRepeat)},
	}
	for _, m := range conformance.Misconduct() {
		list = append(list, liarOf{Check: m.Check, How: m.How, Lie: tell(lies{around: m.Around})})
	}
	return list
}

// anotherKey books every time anew.
func anotherKey() lies {
	var mu sync.Mutex
	n := 0
	return lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
		mu.Lock()
		n++
		b.Key = fmt.Sprintf("%s%d", b.Key, n)
		mu.Unlock()
		return d.Book(ctx, b)
	}}
}

// refuseRepeat hands on the provider's refusal of a key it knows.
func refuseRepeat() lies {
	var mu sync.Mutex
	used := map[string]bool{}
	return lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
		mu.Lock()
		again := used[b.Key]
		used[b.Key] = true
		mu.Unlock()
		if again {
			return Event{}, fault.New(fault.Conflict, fault.ReasonProviderConflict, "The id is taken.")
		}
		return d.Book(ctx, b)
	}}
}
