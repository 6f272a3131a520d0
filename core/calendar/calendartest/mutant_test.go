package calendartest_test

import (
	"context"
	"slices"
	"sync"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
	"frontdesk/core/fault"
)

type (
	mutantOf = conformance.Mutant[calendartest.Harness]
	harness  = calendartest.Harness
)

// The contract's types without their package name, because this file uses them often.
type (
	Account  = calendar.Account
	Calendar = calendar.Calendar
	Event    = calendar.Event
	EventRef = calendar.EventRef
	Booking  = calendar.Booking
	Change   = calendar.Change
	Query    = calendar.Query
	Page     = calendar.Page
	Span     = calendar.Span
	Busy     = calendar.Busy
)

// mutation is what a mutant does differently. A nil function is that of the reference. Each function gets the
// reference driver.
type mutation struct {
	traits     func(calendar.Traits) calendar.Traits
	account    func(context.Context, full) (Account, error)
	calendars  func(context.Context, full) ([]Calendar, error)
	book       func(context.Context, full, Booking) (Event, error)
	event      func(context.Context, full, EventRef) (Event, error)
	change     func(context.Context, full, EventRef, Change) (Event, error)
	cancel     func(context.Context, full, EventRef) error
	events     func(context.Context, full, Query) (Page, error)
	eventsOf   func(context.Context, full, []Query) ([]Page, error)
	freeBusy   func(context.Context, full, []string, Span) ([]Busy, error)
	everyEvent func(*Event) // alters every event that is returned, by any call
	around     func(ctx context.Context, call func(context.Context) error) error
}

// mutant is the reference driver with a mutation.
type mutant struct {
	full
	mutation
}

// mutate returns a function that adds the mutation to a harness's drivers. They share the mutation's state.
func mutate(m mutation) func(harness) harness {
	return func(h harness) harness {
		open := h.Open
		h.Open = func() calendar.Driver { return &mutant{full: open().(full), mutation: m} }
		return h
	}
}

// mutateAfresh is like mutate, but creates the mutation, with its state, for each harness.
func mutateAfresh(m func() mutation) func(harness) harness {
	return func(h harness) harness { return mutate(m())(h) }
}

func (m *mutant) Traits() calendar.Traits {
	if m.traits != nil {
		return m.traits(m.full.Traits())
	}
	return m.full.Traits()
}

// mutated makes a call by the mutant's own function, or by the reference if it has none.
func mutated[T any](
	ctx context.Context, m *mutant, own func(context.Context, full) (T, error),
	reference func(context.Context) (T, error),
) (T, error) {
	call := reference
	if own != nil {
		call = func(ctx context.Context) (T, error) { return own(ctx, m.full) }
	}
	if m.around == nil {
		return call(ctx)
	}
	var answer T
	err := m.around(ctx, func(ctx context.Context) (err error) {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

// given binds a function of the mutant to its argument.
func given[A, T any](
	own func(context.Context, full, A) (T, error), asked A,
) func(context.Context, full) (T, error) {
	if own == nil {
		return nil
	}
	return func(ctx context.Context, d full) (T, error) { return own(ctx, d, asked) }
}

func (m *mutant) of(e Event, err error) (Event, error) {
	if err == nil && m.everyEvent != nil {
		e.Attendees = slices.Clone(e.Attendees)
		m.everyEvent(&e)
	}
	return e, err
}

func (m *mutant) Account(ctx context.Context) (Account, error) {
	return mutated(ctx, m, m.account, m.full.Account)
}

func (m *mutant) Calendars(ctx context.Context) ([]Calendar, error) {
	return mutated(ctx, m, m.calendars, m.full.Calendars)
}

func (m *mutant) Book(ctx context.Context, b Booking) (Event, error) {
	return m.of(mutated(ctx, m, given(m.book, b),
		func(ctx context.Context) (Event, error) { return m.full.Book(ctx, b) }))
}

func (m *mutant) Event(ctx context.Context, ref EventRef) (Event, error) {
	return m.of(mutated(ctx, m, given(m.event, ref),
		func(ctx context.Context) (Event, error) { return m.full.Event(ctx, ref) }))
}

func (m *mutant) Change(ctx context.Context, ref EventRef, c Change) (Event, error) {
	var own func(context.Context, full) (Event, error)
	if m.change != nil {
		own = func(ctx context.Context, d full) (Event, error) { return m.change(ctx, d, ref, c) }
	}
	return m.of(mutated(ctx, m, own,
		func(ctx context.Context) (Event, error) { return m.full.Change(ctx, ref, c) }))
}

func (m *mutant) Cancel(ctx context.Context, ref EventRef) error {
	cancel := full.Cancel
	if m.cancel != nil {
		cancel = func(d full, ctx context.Context, ref EventRef) error {
			return m.cancel(ctx, d, ref)
		}
	}
	_, err := mutated(ctx, m, nil,
		func(ctx context.Context) (struct{}, error) { return struct{}{}, cancel(m.full, ctx, ref) })
	return err
}

func (m *mutant) Events(ctx context.Context, q Query) (Page, error) {
	page, err := mutated(ctx, m, given(m.events, q),
		func(ctx context.Context) (Page, error) { return m.full.Events(ctx, q) })
	for i := range page.Events {
		page.Events[i], _ = m.of(page.Events[i], nil)
	}
	return page, err
}

func (m *mutant) EventsOf(ctx context.Context, queries []Query) ([]Page, error) {
	return mutated(ctx, m, given(m.eventsOf, queries),
		func(ctx context.Context) ([]Page, error) { return m.full.EventsOf(ctx, queries) })
}

func (m *mutant) FreeBusy(ctx context.Context, ids []string, span Span) ([]Busy, error) {
	var own func(context.Context, full) ([]Busy, error)
	if m.freeBusy != nil {
		own = func(ctx context.Context, d full) ([]Busy, error) { return m.freeBusy(ctx, d, ids, span) }
	}
	return mutated(ctx, m, own, func(ctx context.Context) ([]Busy, error) {
		return m.full.FreeBusy(ctx, ids, span)
	})
}

// once caches the first result for each key.
type once[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

func (o *once[T]) get(key string, ask func() (T, error)) (T, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if answer, ok := o.known[key]; ok {
		return answer, nil
	}
	answer, err := ask()
	if err == nil {
		if o.known == nil {
			o.known = map[string]T{}
		}
		o.known[key] = answer
	}
	return answer, err
}

func mutants() []mutantOf {
	return slices.Concat(accountMutants(), bookMutants(), keyMutants(), eventMutants(), changeMutants(),
		cancelMutants(), invitationMutants(),
		listMutants(), seriesMutants(), formMutants(), busyMutants(), conductMutants())
}

func accountMutants() []mutantOf {
	const listed = "calendars are listed, each once and one of them the default"
	alter := func(do func([]Calendar) []Calendar) func(harness) harness {
		return mutate(mutation{calendars: func(ctx context.Context, d full) ([]Calendar, error) {
			list, err := d.Calendars(ctx)
			return do(list), err
		}})
	}
	return []mutantOf{
		{Check: "the account is named", How: "another address",
			Mutate: mutate(mutation{account: func(context.Context, full) (Account, error) {
				return Account{Email: "someone@example.com"}, nil
			}})},
		{Check: "the account is named", How: "cannot tell",
			Mutate: mutate(mutation{account: func(context.Context, full) (Account, error) {
				return Account{}, fault.New(fault.Unsupported, fault.ReasonNotSupported, "No.")
			}})},
		{Check: "the account is asked live", How: "remembers it", Mutate: mutateAfresh(func() mutation {
			var known once[Account]
			return mutation{account: func(ctx context.Context, d full) (Account, error) {
				return known.get("", func() (Account, error) { return d.Account(ctx) })
			}}
		})},
		{Check: listed, How: "the first page only", Mutate: alter(func(l []Calendar) []Calendar { return l[:1] })},
		{Check: listed, How: "one twice", Mutate: alter(func(l []Calendar) []Calendar { return append(l, l[1]) })},
		{Check: listed, How: "no default", Mutate: alter(func(l []Calendar) []Calendar {
			l[0].IsDefault = false
			return l
		})},
		{Check: listed, How: "two defaults", Mutate: alter(func(l []Calendar) []Calendar {
			l[1].IsDefault = true
			return l
		})},
		{Check: listed, How: "a zone of Windows", Mutate: alter(func(l []Calendar) []Calendar {
			l[0].Zone = "W. Europe Standard Time"
			return l
		})},
		{Check: listed, How: "no name", Mutate: alter(func(l []Calendar) []Calendar {
			l[1].Name = ""
			return l
		})},
		{Check: "a calendar that can only be read is marked and refuses a booking", How: "not marked",
			Mutate: alter(func(l []Calendar) []Calendar {
				l[2].ReadOnly = false
				return l
			})},
		{Check: "a calendar that can only be read is marked and refuses a booking", How: "books elsewhere",
			Mutate: mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				b.CalendarID = first
				return d.Book(ctx, b)
			}})},
	}
}
