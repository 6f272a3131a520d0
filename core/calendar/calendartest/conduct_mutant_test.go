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
	*mutant
	header http.Header
}

func conductMutants() []mutantOf {
	const (
		ended  = "a write whose context has ended writes nothing"
		leaves = "a call returns when its caller leaves"
		unsent = "a lost reply is not called unsent"
		found  = "booking again after a lost reply finds the event"
	)
	reply := func(answer func(error) error) func(harness) harness {
		return mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
			e, err := d.Book(ctx, b)
			if errors.Is(err, fault.Unavailable) {
				err = answer(err)
			}
			return e, err
		}})
	}
	list := []mutantOf{
		{Check: "the driver holds no secret", How: "in a header", Mutate: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				return &holder{&mutant{full: open().(full)}, http.Header{"Authorization": {"Basic " + secret}}}
			}
			return h
		}},
		{Check: "traits are constant", How: "learns with time", Mutate: mutateAfresh(func() mutation {
			asked := 0
			return mutation{traits: func(t calendar.Traits) calendar.Traits {
				asked++
				t.MaxConcurrent = asked
				return t
			}}
		})},
		{Check: "traits cost nothing to ask", How: "asks the provider", Mutate: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				d := open().(full)
				return &mutant{full: d, mutation: mutation{traits: func(t calendar.Traits) calendar.Traits {
					_, _ = d.Account(context.Background())
					return t
				}}}
			}
			return h
		}},
		{Check: "calls at the same time do not mix", How: "one field for all calls",
			Mutate: mutateAfresh(func() mutation {
				var mu sync.Mutex
				var last Event
				return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
					e, err := d.Book(ctx, b)
					mu.Lock()
					last = e
					mu.Unlock()
					time.Sleep(time.Millisecond) // on synctest's clock: until all have written
					mu.Lock()
					defer mu.Unlock()
					return last, err
				}}
			})},
		{Check: ended, How: "cancels and then looks",
			Mutate: mutate(mutation{cancel: func(ctx context.Context, d full, ref EventRef) error {
				err := d.Cancel(context.WithoutCancel(ctx), ref)
				return errors.Join(ctx.Err(), err)
			}})},
		{Check: ended, How: "books and then looks",
			Mutate: mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				e, err := d.Book(context.WithoutCancel(ctx), b)
				return e, errors.Join(ctx.Err(), err)
			}})},
		{Check: ended, How: "changes on",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				return d.Change(context.WithoutCancel(ctx), ref, c)
			}})},
		{Check: leaves, How: "waits on",
			Mutate: mutate(mutation{account: func(ctx context.Context, d full) (Account, error) {
				return d.Account(context.WithoutCancel(ctx))
			}})},
		{Check: leaves, How: "calls it an outage",
			Mutate: mutate(mutation{account: func(ctx context.Context, d full) (Account, error) {
				account, err := d.Account(ctx)
				if err != nil {
					err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider could not be reached.")
				}
				return account, err
			}})},
		{Check: unsent, How: "calls it unsent", Mutate: reply(func(err error) error {
			f := *fault.From(err)
			f.Unsent = true
			return &f
		})},
		{Check: unsent, How: "calls it invalid", Mutate: reply(func(error) error {
			return fault.New(fault.Invalid, fault.ReasonProviderRefused, "Refused.")
		})},
		{Check: unsent, How: "calls it done", Mutate: reply(func(error) error { return nil })},
		{Check: found, How: "books anew", Mutate: mutateAfresh(anotherKey)},
		{Check: found, How: "refuses the repeat", Mutate: mutateAfresh(refuseRepeat)},
	}
	for _, m := range conformance.ConductMutants() {
		list = append(list, mutantOf{Check: m.Check, How: m.How, Mutate: mutate(mutation{around: m.Around})})
	}
	return list
}

// anotherKey books another event on every call.
func anotherKey() mutation {
	var mu sync.Mutex
	n := 0
	return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
		mu.Lock()
		n++
		b.Key = fmt.Sprintf("%s%d", b.Key, n)
		mu.Unlock()
		return d.Book(ctx, b)
	}}
}

// refuseRepeat returns the provider's refusal of a key that it knows.
func refuseRepeat() mutation {
	var mu sync.Mutex
	used := map[string]bool{}
	return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
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
