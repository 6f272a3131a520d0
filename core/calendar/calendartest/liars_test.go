package calendartest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

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

func (l *liar) Account(ctx context.Context) (Account, error) {
	if l.account != nil {
		return l.account(ctx, l.full)
	}
	return l.full.Account(ctx)
}

func (l *liar) Calendars(ctx context.Context) ([]Calendar, error) {
	if l.calendars != nil {
		return l.calendars(ctx, l.full)
	}
	return l.full.Calendars(ctx)
}

func (l *liar) lied(e Event, err error) (Event, error) {
	if err == nil && l.told != nil {
		e.Attendees = slices.Clone(e.Attendees)
		l.told(&e)
	}
	return e, err
}

func (l *liar) Book(ctx context.Context, b Booking) (Event, error) {
	if l.book != nil {
		return l.lied(l.book(ctx, l.full, b))
	}
	return l.lied(l.full.Book(ctx, b))
}

func (l *liar) Event(ctx context.Context, ref EventRef) (Event, error) {
	if l.event != nil {
		return l.lied(l.event(ctx, l.full, ref))
	}
	return l.lied(l.full.Event(ctx, ref))
}

func (l *liar) Change(ctx context.Context, ref EventRef, c Change) (Event, error) {
	if l.change != nil {
		return l.lied(l.change(ctx, l.full, ref, c))
	}
	return l.lied(l.full.Change(ctx, ref, c))
}

func (l *liar) Cancel(ctx context.Context, ref EventRef, c Cancellation) error {
	if l.cancel != nil {
		return l.cancel(ctx, l.full, ref, c)
	}
	return l.full.Cancel(ctx, ref, c)
}

func (l *liar) Events(ctx context.Context, q Query) (page Page, err error) {
	if l.events != nil {
		page, err = l.events(ctx, l.full, q)
	} else {
		page, err = l.full.Events(ctx, q)
	}
	for i := range page.Events {
		page.Events[i], _ = l.lied(page.Events[i], nil)
	}
	return page, err
}

func (l *liar) EventsOf(ctx context.Context, queries []Query) ([]Page, error) {
	if l.eventsOf != nil {
		return l.eventsOf(ctx, l.full, queries)
	}
	return l.full.EventsOf(ctx, queries)
}

func (l *liar) FreeBusy(ctx context.Context, ids []string, span Span) ([]Busy, error) {
	if l.freeBusy != nil {
		return l.freeBusy(ctx, l.full, ids, span)
	}
	return l.full.FreeBusy(ctx, ids, span)
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
	return slices.Concat(accountLiars(), bookLiars(), keyLiars(), eventLiars(), changeLiars(), cancelLiars(),
		listLiars(), seriesLiars(), formLiars(), busyLiars(), conductLiars(), failureLiars())
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
		{Check: "traits are constant", How: "learns with time", Lie: fresh(func() lies {
			asked := 0
			return lies{traits: func(t calendar.Traits) calendar.Traits {
				asked++
				t.MaxConcurrent = asked
				return t
			}}
		})},
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

// holder is a driver that keeps a password.
type holder struct {
	*liar
	header http.Header
}

func conductLiars() []liarOf {
	const ended = "a call whose context has ended does nothing"
	detached := lies{
		account: func(ctx context.Context, d full) (Account, error) {
			return d.Account(context.WithoutCancel(ctx))
		},
		book: func(ctx context.Context, d full, b Booking) (Event, error) {
			return d.Book(context.WithoutCancel(ctx), b)
		},
	}
	return []liarOf{
		{Check: "a driver holds no secret", How: "in a header", Lie: func(h harness) harness {
			open := h.Open
			h.Open = func() calendar.Driver {
				return &holder{&liar{full: open().(full)}, http.Header{"Authorization": {"Basic " + secret}}}
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
		{Check: ended, How: "a read goes on", Lie: tell(lies{account: detached.account})},
		{Check: ended, How: "a write goes on", Lie: tell(lies{book: detached.book})},
		{Check: ended, How: "cancels and then looks",
			Lie: tell(lies{cancel: func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
				err := d.Cancel(context.WithoutCancel(ctx), ref, c)
				return errors.Join(ctx.Err(), err)
			}})},
		{Check: ended, How: "an error of its own",
			Lie: tell(lies{calendars: func(ctx context.Context, d full) ([]Calendar, error) {
				list, err := d.Calendars(ctx)
				if err != nil {
					err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "Broken pipe.")
				}
				return list, err
			}})},
		{Check: "a call returns when its deadline passes", How: "waits on", Lie: tell(detached)},
		{Check: "a call returns when its deadline passes", How: "calls it an outage", Lie: tell(lies{account: outage})},
		{Check: "a call returns when its caller leaves", How: "waits on", Lie: tell(detached)},
		{Check: "a call returns when its caller leaves", How: "calls it an outage", Lie: tell(lies{account: outage})},
	}
}

// outage takes any failure for an outage.
func outage(ctx context.Context, d full) (Account, error) {
	account, err := d.Account(ctx)
	if err != nil {
		err = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider could not be reached.")
	}
	return account, err
}

func failureLiars() []liarOf {
	plain := func(ctx context.Context, d full) (Account, error) {
		account, err := d.Account(ctx)
		if err != nil {
			err = errors.New("it did not work")
		}
		return account, err
	}
	hidden := func(ctx context.Context, d full, q Query) (Page, error) {
		page, err := d.Events(ctx, q)
		if fault.From(err) != nil && ctx.Err() == nil {
			return Page{}, nil // a failure is taken for an empty day
		}
		return page, err
	}
	cancelled := func(ctx context.Context, d full, ref EventRef, c Cancellation) error {
		if err := d.Cancel(ctx, ref, c); err != nil {
			return fault.New(fault.NotFound, fault.ReasonEventNotFound, "Cannot be found.")
		}
		return nil
	}
	var list []liarOf
	for _, check := range []string{
		"refused credentials are a disconnected fault of every call", "a lack of permission is a forbidden fault of every call",
		"a provider that is down is an unavailable fault of every call", "too many calls are a rate-limited fault of every call",
	} {
		list = append(list,
			liarOf{Check: check, How: "no fault", Lie: tell(lies{account: plain})},
			liarOf{Check: check, How: "an empty list", Lie: tell(lies{events: hidden})},
			liarOf{Check: check, How: "not found", Lie: tell(lies{cancel: cancelled})},
		)
	}
	reply := func(answer func(error) error) func(harness) harness {
		return tell(lies{book: func(ctx context.Context, d full, b Booking) (Event, error) {
			e, err := d.Book(ctx, b)
			if errors.Is(err, fault.Unavailable) {
				err = answer(err)
			}
			return e, err
		}})
	}
	unsent := func(err error) error {
		f := *fault.From(err)
		f.Unsent = true
		return &f
	}
	return append(list,
		liarOf{Check: "the wait that the provider names is told", How: "not told",
			Lie: tell(lies{calendars: func(ctx context.Context, d full) ([]Calendar, error) {
				list, err := d.Calendars(ctx)
				if err != nil {
					err = fault.New(fault.RateLimited, fault.ReasonProviderRateLimited, "Too many.")
				}
				return list, err
			}})},
		liarOf{Check: "a lost reply is not called unsent", How: "calls it unsent", Lie: reply(unsent)},
		liarOf{Check: "a lost reply is not called unsent", How: "calls it invalid", Lie: reply(func(error) error {
			return fault.New(fault.Invalid, fault.ReasonProviderRefused, "Refused.")
		})},
		liarOf{Check: "a lost reply is not called unsent", How: "calls it done", Lie: reply(func(error) error { return nil })},
		liarOf{Check: "booking again after a lost reply finds the event", How: "books anew", Lie: fresh(anotherKey)},
		liarOf{Check: "booking again after a lost reply finds the event", How: "refuses the repeat", Lie: fresh(refuseRepeat)},
	)
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
