package service

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// Where an event lies. Providers whose event ids say nothing without a calendar (Google) need to be told the calendar;
// callers mostly know the event id alone. So the gateway remembers, per tenant, where it saw an event, unless that is
// the default calendar, where it looks anyway.

// bookedAt is what to remember of an event that was just made in the calendar named; "" is the default one.
func (d desk) bookedAt(e calendar.Event, named string) []store.EventSeen {
	if !d.traits.IDsPerCalendar || named == "" {
		return nil
	}
	return []store.EventSeen{d.row(e.ID, cmp.Or(e.CalendarID, named), false)}
}

// whereabouts is what to remember of an event that was just changed.
func (s *Calendar) whereabouts(ctx context.Context, d desk, e calendar.Event) []store.EventSeen {
	return s.elsewhere(ctx, d, []calendar.Event{e})
}

// elsewhere picks the events outside the default calendar, as rows to remember.
func (s *Calendar) elsewhere(ctx context.Context, d desk, events []calendar.Event) []store.EventSeen {
	if !d.traits.IDsPerCalendar {
		return nil
	}
	standard, err := d.find(ctx, "")
	if err != nil {
		standard = calendar.Calendar{} // no default calendar: remember them all
	}
	var seen []store.EventSeen
	for _, e := range events {
		if e.CalendarID != "" && e.CalendarID != standard.ID {
			seen = append(seen, d.row(e.ID, e.CalendarID, false))
		}
	}
	return seen
}

// row is one thing to remember of an event.
func (d desk) row(eventID, calendarID string, gone bool) store.EventSeen {
	return store.EventSeen{
		TenantID: d.tenant.ID, ConnectionID: d.connection.ID, EventID: eventID, CalendarID: calendarID, Gone: gone, UpdatedAt: d.service.opts.Now(),
	}
}

// remember keeps where listed events were seen. What this process wrote lately is not written again.
func (s *Calendar) remember(ctx context.Context, d desk, events []calendar.Event) error {
	fresh := slices.DeleteFunc(s.elsewhere(ctx, d, events), s.known.has)
	if len(fresh) == 0 {
		return nil
	}
	if err := s.opts.Store.SeeEvents(ctx, fresh); err != nil {
		return err
	}
	s.known.add(fresh)
	return nil
}

// places are the calendars to look for an event in, in this order: where it was seen, those the caller names, the
// default one. Where event ids are unique in the account, any one will do.
func (s *Calendar) places(ctx context.Context, d desk, eventID string, named []string) (list []string, gone bool, err error) {
	seen, found, err := s.opts.Store.EventSeen(ctx, d.tenant.ID, d.connection.ID, eventID)
	if err != nil {
		return nil, false, err
	}
	if !d.traits.IDsPerCalendar {
		return []string{seen.CalendarID}, found && seen.Gone, nil
	}
	if found && seen.CalendarID != "" {
		list = append(list, seen.CalendarID)
	}
	for _, id := range append(slices.Clone(named), "") {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list, found && seen.Gone, nil
}

// tryPlaces tries each place until one has the event. When none has, it answers the fault of a calendar that does not
// exist before that of an event that does not.
func tryPlaces[T any](ctx context.Context, places []string, try func(ctx context.Context, calendarID string) (T, error)) (T, error) {
	var none T
	var missing error
	for _, id := range places {
		answer, err := try(ctx, id)
		f := fault.From(err)
		if err == nil || f.Code != fault.NotFound {
			return answer, err
		}
		if missing == nil || f.Reason == fault.ReasonCalendarNotFound || f.Metadata["gone"] != "" {
			missing = f
		}
	}
	return none, missing
}

// knownSet is what this process wrote of events lately. It is bounded: when full, it starts anew.
type knownSet struct {
	mu   sync.Mutex
	rows map[knownKey]struct{}
}

type knownKey struct{ connection, event, calendar string }

const mostKnown = 100_000

func newKnownSet() *knownSet { return &knownSet{rows: map[knownKey]struct{}{}} }

func keyOf(e store.EventSeen) knownKey { return knownKey{e.ConnectionID, e.EventID, e.CalendarID} }

func (k *knownSet) has(e store.EventSeen) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.rows[keyOf(e)]
	return ok
}

func (k *knownSet) add(list []store.EventSeen) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows)+len(list) > mostKnown {
		clear(k.rows)
	}
	for _, e := range list {
		k.rows[keyOf(e)] = struct{}{}
	}
}

// drop forgets an event that was cancelled.
func (k *knownSet) drop(e store.EventSeen) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, keyOf(e))
}
