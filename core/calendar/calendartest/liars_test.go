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
	liarOf  = conformance.Liar[calendartest.Harness]
	harness = calendartest.Harness
)

// The contract's types, by their bare names: there is much said about them here.
type (
	Account      = calendar.Account
	Calendar     = calendar.Calendar
	Event        = calendar.Event
	EventRef     = calendar.EventRef
	Booking      = calendar.Booking
	Change       = calendar.Change
	Cancellation = calendar.Cancellation
	Query        = calendar.Query
	Page         = calendar.Page
	Span         = calendar.Span
	Busy         = calendar.Busy
)

// lies are what a liar does instead of what is honest; nil is honest. Each gets the honest driver.
type lies struct {
	traits    func(calendar.Traits) calendar.Traits
	account   func(context.Context, full) (Account, error)
	calendars func(context.Context, full) ([]Calendar, error)
	book      func(context.Context, full, Booking) (Event, error)
	event     func(context.Context, full, EventRef) (Event, error)
	change    func(context.Context, full, EventRef, Change) (Event, error)
	cancel    func(context.Context, full, EventRef, Cancellation) error
	events    func(context.Context, full, Query) (Page, error)
	eventsOf  func(context.Context, full, []Query) ([]Page, error)
	freeBusy  func(context.Context, full, []string, Span) ([]Busy, error)
	told      func(*Event) // done to every event that is told, by whatever call
	around    func(ctx context.Context, call func(context.Context) error) error
}

// liar is the driver that tells the lies.
type liar struct {
	full
	lies
}

// tell makes the lie of a liar. What the lies share lives as long as the harness.
func tell(l lies) func(harness) harness {
	return func(h harness) harness {
		open := h.Open
		h.Open = func() calendar.Driver { return &liar{full: open().(full), lies: l} }
		return h
	}
}

// fresh is tell for lies that keep something in mind.
func fresh(l func() lies) func(harness) harness {
	return func(h harness) harness { return tell(l())(h) }
}

func (l *liar) Traits() calendar.Traits {
	if l.traits != nil {
		return l.traits(l.full.Traits())
	}
	return l.full.Traits()
}

// lied makes a call as the liar does: with the lie, if there is one for it, else honestly.
func lied[T any](ctx context.Context, l *liar, lie func(context.Context, full) (T, error), honest func(context.Context) (T, error)) (T, error) {
	call := honest
	if lie != nil {
		call = func(ctx context.Context) (T, error) { return lie(ctx, l.full) }
	}
	if l.around == nil {
		return call(ctx)
	}
	var answer T
	err := l.around(ctx, func(ctx context.Context) (err error) {
		answer, err = call(ctx)
		return err
	})
	return answer, err
}

// given binds a lie to what it was asked.
func given[A, T any](lie func(context.Context, full, A) (T, error), asked A) func(context.Context, full) (T, error) {
	if lie == nil {
		return nil
	}
	return func(ctx context.Context, d full) (T, error) { return lie(ctx, d, asked) }
}

func (l *liar) of(e Event, err error) (Event, error) {
	if err == nil && l.told != nil {
		e.Attendees = slices.Clone(e.Attendees)
		l.told(&e)
	}
	return e, err
}

func (l *liar) Account(ctx context.Context) (Account, error) {
	return lied(ctx, l, l.account, l.full.Account)
}

func (l *liar) Calendars(ctx context.Context) ([]Calendar, error) {
	return lied(ctx, l, l.calendars, l.full.Calendars)
}

func (l *liar) Book(ctx context.Context, b Booking) (Event, error) {
	return l.of(lied(ctx, l, given(l.book, b), func(ctx context.Context) (Event, error) { return l.full.Book(ctx, b) }))
}

func (l *liar) Event(ctx context.Context, ref EventRef) (Event, error) {
	return l.of(lied(ctx, l, given(l.event, ref), func(ctx context.Context) (Event, error) { return l.full.Event(ctx, ref) }))
}

func (l *liar) Change(ctx context.Context, ref EventRef, c Change) (Event, error) {
	var lie func(context.Context, full) (Event, error)
	if l.change != nil {
		lie = func(ctx context.Context, d full) (Event, error) { return l.change(ctx, d, ref, c) }
	}
	return l.of(lied(ctx, l, lie, func(ctx context.Context) (Event, error) { return l.full.Change(ctx, ref, c) }))
}

func (l *liar) Cancel(ctx context.Context, ref EventRef, c Cancellation) error {
	cancel := full.Cancel
	if l.cancel != nil {
		cancel = func(d full, ctx context.Context, ref EventRef, c Cancellation) error { return l.cancel(ctx, d, ref, c) }
	}
	_, err := lied(ctx, l, nil, func(ctx context.Context) (struct{}, error) { return struct{}{}, cancel(l.full, ctx, ref, c) })
	return err
}

func (l *liar) Events(ctx context.Context, q Query) (Page, error) {
	page, err := lied(ctx, l, given(l.events, q), func(ctx context.Context) (Page, error) { return l.full.Events(ctx, q) })
	for i := range page.Events {
		page.Events[i], _ = l.of(page.Events[i], nil)
	}
	return page, err
}

func (l *liar) EventsOf(ctx context.Context, queries []Query) ([]Page, error) {
	return lied(ctx, l, given(l.eventsOf, queries), func(ctx context.Context) ([]Page, error) { return l.full.EventsOf(ctx, queries) })
}

func (l *liar) FreeBusy(ctx context.Context, ids []string, span Span) ([]Busy, error) {
	var lie func(context.Context, full) ([]Busy, error)
	if l.freeBusy != nil {
		lie = func(ctx context.Context, d full) ([]Busy, error) { return l.freeBusy(ctx, d, ids, span) }
	}
	return lied(ctx, l, lie, func(ctx context.Context) ([]Busy, error) { return l.full.FreeBusy(ctx, ids, span) })
}

// once keeps the first answer for good.
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

func liars() []liarOf {
	return slices.Concat(accountLiars(), bookLiars(), keyLiars(), eventLiars(), changeLiars(), cancelLiars(), invitationLiars(),
		listLiars(), seriesLiars(), formLiars(), busyLiars(), conductLiars())
}

func accountLiars() []liarOf {
	const listed = "calendars are listed, each once and one of them the default"
	alter := func(do func([]Calendar) []Calendar) func(harness) harness {
		return tell(lies{calendars: func(ctx context.Context, d full) ([]Calendar, error) {
			list, err := d.Calendars(ctx)
			return do(list), err
		}})
	}
	return []liarOf{
		{Check: "the account is told", How: "another address",
			Lie: tell(lies{account: func(context.Context, full) (Account, error) {
				return Account{Email: "someone@example.com"}, nil
			}})},
		{Check: "the account is told", How: "cannot tell", Lie: tell(lies{account: func(context.Context, full) (Account, error) {
			return Account{}, fault.New(fault.Unsupported, fault.ReasonNotSupported, "No.")
		}})},
		{Check: "the account is asked live", How: "remembers it", Lie: fresh(func() lies {
			var known once[Account]
			return lies{account: func(ctx context.Context, d full) (Account, error) {
				return known.get("", func() (Account, error) { return d.Account(ctx) })
			}}
		})},
		{Check: listed, How: "the first page only", Lie: alter(func(l []Calendar) []Calendar { return l[:1] })},
		{Check: listed, How: "one twice", Lie: alter(func(l []Calendar) []Calendar { return append(l, l[1]) })},
		{Check: listed, How: "no default", Lie: alter(func(l []Calendar) []Calendar {
			l[0].IsDefault = false
			return l
		})},
		{Check: listed, How: "two defaults", Lie: alter(func(l []Calendar) []Calendar {
			l[1].IsDefault = true
			return l
		})},
		{Check: listed, How: "a zone of Windows", Lie: alter(func(l []Calendar) []Calendar {
			l[0].Zone = "W. Europe Standard Time"
			return l
		})},
		{Check: listed, How: "no name", Lie: alter(func(l []Calendar) []Calendar {
			l[1].Name = ""
			return l
		})},
		{Check: "a calendar that can only be read is marked and refuses a booking", How: "not marked",
			Lie: alter(func(l []Calendar) []Calendar {
				l[2].ReadOnly = false
				return l
			})},
		{Check: "a calendar that can only be read is marked and refuses a booking", How: "books elsewhere",
			Lie: tell(lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				b.CalendarID = first
				return d.Book(ctx, b)
			}})},
	}
}
