package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/store"
)

// Some providers (Google) have event ids that are valid only within a calendar, and others (Microsoft) find an event
// by its id whatever calendar they are asked in, and do not tell in which one it is. But callers mostly know the event
// id alone. So the gateway remembers, per tenant, in which calendar it saw an event. It does not remember the default
// calendar, where it looks anyway, nor any where ids tell it (CalDAV).

// newLocation returns what to remember about an event just made in the named calendar; "" is the default one.
func (c calendarClient) newLocation(e calendar.Event, named string) []store.EventSeen {
	if named == "" || c.traits.IDsTellCalendar {
		return nil
	}
	return []store.EventSeen{c.location(e.ID, cmp.Or(e.CalendarID, named), false)}
}

// locationOf returns what to remember about an event that was just changed.
func (c calendarClient) locationOf(ctx context.Context, e calendar.Event) []store.EventSeen {
	return c.locationsOf(ctx, []calendar.Event{e})
}

// locationsOf returns what to remember about the events whose home is not the default calendar. At Google, a calendar
// that is invited has a copy of the event, with the same id: who cancels or changes the event means its organizer's. So
// the organizer's calendar is remembered for a copy, in the place of what was remembered before.
func (c calendarClient) locationsOf(ctx context.Context, events []calendar.Event) []store.EventSeen {
	if c.traits.IDsTellCalendar {
		return nil
	}
	all := c.listed(ctx)
	standard, err := findIn(all, "")
	if err != nil {
		standard = calendar.Calendar{} // no default calendar: remember them all
	}
	inStandard := map[string]bool{} // by id
	for _, e := range events {
		inStandard[e.ID] = inStandard[e.ID] || e.CalendarID == standard.ID && homeOf(e, all) == standard.ID
	}
	var seen []store.EventSeen
	for _, e := range events {
		where := homeOf(e, all)
		if e.CalendarID == "" || e.CalendarID == standard.ID && where == standard.ID {
			continue
		}
		if inStandard[e.ID] || where == standard.ID {
			where = "" // the default one
		}
		seen = append(seen, c.location(e.ID, where, false))
	}
	return seen
}

// listed returns the account's calendars, or none if they cannot be listed. Where no id is a calendar's own, and so no
// event a copy, it asks for nothing that is not known: at worst, the default calendar is remembered, too.
func (c calendarClient) listed(ctx context.Context) []calendar.Calendar {
	if c.view != nil {
		return c.view.calendars
	}
	if !c.traits.IDsPerCalendar {
		known, _ := c.known(ctx)
		return known.list()
	}
	all, err := c.listCalendars(ctx)
	if err != nil {
		return nil
	}
	return all
}

// tellsCalendars reports whether the provider tells in which calendar an event is that it was asked for.
func (c calendarClient) tellsCalendars() bool {
	return c.traits.IDsPerCalendar || c.traits.IDsTellCalendar
}

// locate returns the calendar in which an event is that was just read. Where the provider does not tell (Microsoft), the
// lists of calendars at the event's start do: first that of the one in which it was seen or is said to be. Somebody may
// have dragged it to another since, or deleted it: its id finds it among the deleted items as well, whose folder is in
// the same mailbox (learn.microsoft.com/graph/outlook-immutable-id). Then it is not found.
func (c calendarClient) locate(ctx context.Context, e calendar.Event) (string, error) {
	if c.tellsCalendars() {
		return e.CalendarID, nil
	}
	span := spanOf(e)
	span.To = span.From.Add(time.Minute) // where it begins: it may go on for weeks
	if e.Start.AllDay {
		span.To = span.From.Add(24 * time.Hour) // a whole day overlaps itself in any zone
	}
	isIn := func(ids []string) (string, error) {
		lists, err := c.newLists(ctx, ids, span, "UTC")
		if err != nil {
			return "", err
		}
		err = readLists(ctx, lists, c.tryPages)
		for _, l := range lists { // one that cannot be read matters only if none of the others has it
			i := slices.IndexFunc(l.events, func(listed calendar.Event) bool { return isOf(listed, e.ID) })
			if i >= 0 {
				return l.events[i].CalendarID, nil
			}
			if !errors.Is(l.err, fault.NotFound) { // a calendar that is no more has no event
				err = cmp.Or(err, l.err)
			}
		}
		return "", err
	}
	if where, err := isIn([]string{e.CalendarID}); where != "" || err != nil {
		return where, err
	}
	all, err := c.readCalendars(ctx) // it may be in one that was made a moment ago
	if err != nil {
		return "", err
	}
	var others []string
	for _, other := range all {
		if other.ID != e.CalendarID {
			others = append(others, other.ID)
		}
	}
	deleted := c.checkShown(ctx, e)
	if len(others) > 0 {
		where, err := isIn(others)
		switch {
		case where != "":
			return where, c.remember(ctx, e.ID, where)
		case err != nil && deleted != nil: // it may be in one that cannot be read
			return "", err
		}
	}
	return e.CalendarID, deleted
}

// checkShown returns an error for an event that no calendar shows, unless it is one that was just booked or moved, or
// an instance, whose id a provider may tell in another form.
func (c calendarClient) checkShown(ctx context.Context, e calendar.Event) error {
	if e.SeriesID != "" {
		return nil
	}
	of := store.Intent{TenantID: c.tenant.ID, ConnectionID: c.connection.ID}
	for _, operation := range []string{opBook, opUpdate} {
		of.Operation = operation
		recent, err := c.opts.Store.EffectsSince(ctx, of, c.opts.Now().Add(-holdAfterBooking))
		if err != nil || slices.Contains(recent, e.ID) {
			return err
		}
	}
	return fault.New(fault.NotFound, fault.ReasonEventNotFound, "This event was deleted.")
}

// remember stores where an event was found that was taken to be elsewhere.
func (c calendarClient) remember(ctx context.Context, eventID, calendarID string) error {
	seen := []store.EventSeen{c.location(eventID, calendarID, false)}
	if err := c.opts.Store.SeeEvents(ctx, seen); err != nil {
		return err
	}
	m, known, err := c.opts.Store.Meeting(ctx, c.tenant.ID, c.connection.ID, c.reference(eventID))
	if err != nil || !known {
		return err
	}
	m.CalendarID = calendarID
	return c.opts.Store.SeeMeetings(ctx, []store.Meeting{m})
}

// copyOf returns the organizer's calendar if the event is the copy of somebody who was invited, or "". At Google, the
// id of a calendar is its address.
func copyOf(e calendar.Event) string {
	if e.Organizer.Email == e.CalendarID {
		return ""
	}
	return e.Organizer.Email
}

// homeOf returns the calendar in which an event is changed and cancelled: for a copy its organizer's, if that is one of
// the account's.
func homeOf(e calendar.Event, all []calendar.Calendar) string {
	of := copyOf(e)
	if slices.ContainsFunc(all, func(c calendar.Calendar) bool { return c.ID == of && !c.ReadOnly }) {
		return of
	}
	return e.CalendarID
}

// mayBeCopy reports whether an event may be the copy of one that another calendar of the account organizes: unless it
// is known that the account can change no other.
func (c calendarClient) mayBeCopy(ctx context.Context) bool {
	if !c.traits.IDsPerCalendar {
		return false
	}
	known, sure := c.known(ctx)
	writable := slices.DeleteFunc(known.list(), func(c calendar.Calendar) bool { return c.ReadOnly })
	return !sure || len(writable) > 1
}

// isSameCalendar reports whether two ids name one calendar, such as Google's primary and the account's address.
func (c calendarClient) isSameCalendar(ctx context.Context, one, other string) bool {
	all := c.listed(ctx)
	a, _ := findIn(all, one) // if there is none, it has the id that is asked for
	b, _ := findIn(all, other)
	return a.ID == b.ID
}

// isInvited reports whether an event invites a calendar.
func isInvited(e calendar.Event, calendarID string) bool {
	return slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
		return strings.EqualFold(a.Email, calendarID)
	})
}

func (c calendarClient) location(eventID, calendarID string, gone bool) store.EventSeen {
	return store.EventSeen{
		TenantID: c.tenant.ID, ConnectionID: c.connection.ID, EventID: eventID, CalendarID: calendarID, Gone: gone,
		UpdatedAt: c.opts.Now(),
	}
}

// rememberLocations stores the calendars of listed events. It skips those that this process stored recently.
func (s *Calendar) rememberLocations(
	ctx context.Context, client calendarClient, events []calendar.Event,
) error {
	fresh := slices.DeleteFunc(client.locationsOf(ctx, events), s.recent.has)
	if len(fresh) == 0 {
		return nil
	}
	if err := s.opts.Store.SeeEvents(ctx, fresh); err != nil {
		return err
	}
	s.recent.add(fresh)
	return nil
}

// candidates returns the calendars to look for an event in, in this order: those that the caller names, the one
// where it was seen, the default one. Of several that the caller names, the one where it was seen comes first. If
// event ids are unique in the account, it returns the first and the default one, in case there is no such calendar any
// more. gone reports whether the event was cancelled through this gateway.
func (c calendarClient) candidates(
	ctx context.Context, eventID string, named []string,
) (list []string, gone bool, err error) {
	seen, found, err := c.opts.Store.EventSeen(ctx, c.tenant.ID, c.connection.ID, eventID)
	if err != nil {
		return nil, false, err
	}
	where := seen.CalendarID // "": the default one, or it was not seen
	if slices.Contains(named, where) {
		list = append(list, where)
	}
	for _, id := range append(slices.Clone(named), where, "") {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	if !c.traits.IDsPerCalendar {
		list = slices.Compact([]string{list[0], ""})
	}
	return list, found && seen.Gone, nil
}

// tryCalendars tries each calendar until one has the event, or had it (see [calendar.MetaGone]): then it returns that
// one's answer and fault. If none has it, the fault of a calendar that does not exist takes precedence over that of an
// unknown event.
func tryCalendars[T any](
	ctx context.Context, calendarIDs []string, try func(ctx context.Context, calendarID string) (T, error),
) (T, error) {
	var none T
	var missing error
	for _, id := range calendarIDs {
		answer, err := try(ctx, id)
		f := fault.From(err)
		if err == nil || f.Code != fault.NotFound || isGone(f) {
			return answer, err
		}
		if missing == nil || f.Reason == fault.ReasonCalendarNotFound {
			missing = f
		}
	}
	return none, missing
}

func isGone(f *fault.Error) bool { return f != nil && f.Metadata[calendar.MetaGone] != "" }

// readEvent reads the event in the first calendar that has it, unless it was cancelled. Of a copy, it reads the meeting
// itself if it can.
func (c calendarClient) readEvent(
	ctx context.Context, calendarIDs []string, eventID string,
) (calendar.Event, error) {
	op := read("read-event")
	in := func(ctx context.Context, calendarID string) (calendar.Event, error) {
		get := func(ctx context.Context) (calendar.Event, error) {
			return c.driver.Event(ctx, calendar.EventRef{CalendarID: calendarID, ID: eventID})
		}
		event, err := ask(ctx, c.endpoint, op, get)
		if err == nil && event.IsCancelled {
			err = fault.New(fault.NotFound, fault.ReasonEventNotFound, "This event was cancelled.").
				With(calendar.MetaGone, "true")
		}
		return event, err
	}
	event, err := tryCalendars(ctx, calendarIDs, in)
	if err == nil && c.traits.IDsPerCalendar && copyOf(event) != "" {
		if home := homeOf(event, c.listed(ctx)); home != event.CalendarID {
			there, err := in(ctx, home)
			switch {
			case err == nil:
				return there, c.remember(ctx, eventID, home)
			case !errors.Is(err, fault.NotFound) && !errors.Is(err, fault.Forbidden):
				return event, err // a change of the copy would not be one of the meeting
			}
		}
	}
	if !isGone(fault.From(err)) {
		return event, err
	}
	moved, found, readErr := c.elsewhere(ctx, eventID, event.CalendarID)
	switch {
	case readErr != nil:
		return event, readErr
	case !found:
		return event, err
	}
	return moved, c.remember(ctx, eventID, moved.CalendarID)
}

// elsewhere returns an event that is gone from one calendar and in another of the account under the same id. At Google,
// moving an event to another calendar, which organizes it from then on, leaves a cancelled one behind
// (developers.google.com/workspace/calendar/api/v3/reference/events#status). The copy of a calendar that was invited is
// not the event, whether or not it stands.
func (c calendarClient) elsewhere(
	ctx context.Context, eventID, goneFrom string,
) (e calendar.Event, found bool, err error) {
	if !c.traits.IDsPerCalendar {
		return e, false, nil
	}
	all, err := c.readCalendars(ctx) // one may have been made for it a moment ago
	if err != nil {
		return e, false, err
	}
	had, _ := findIn(all, goneFrom) // if there is none, it is under another name among the others
	others := slices.DeleteFunc(slices.Clone(all), func(c calendar.Calendar) bool { return c.ID == had.ID })
	if len(others) == len(all) {
		return e, false, nil
	}
	// One call of the guard's, however many calendars there are.
	events, err := ask(ctx, c.endpoint, read("read-event"), func(ctx context.Context) ([]calendar.Event, error) {
		events := make([]calendar.Event, len(others))
		group, ctx := parallel.WithContext(ctx)
		group.SetLimit(listConcurrency)
		for i, other := range others {
			group.Go(func() (err error) {
				events[i], err = c.driver.Event(ctx, calendar.EventRef{CalendarID: other.ID, ID: eventID})
				if errors.Is(err, fault.NotFound) || errors.Is(err, fault.Forbidden) {
					events[i], err = calendar.Event{}, nil
				}
				return err
			})
		}
		return events, group.Wait()
	})
	i := slices.IndexFunc(events, func(there calendar.Event) bool {
		return there.ID != "" && !there.IsCancelled && copyOf(there) == ""
	})
	if i < 0 {
		return e, false, err
	}
	return events[i], true, nil
}

// recentLocations are the rows that this process stored recently. When they are too many, they are cleared.
type recentLocations struct {
	mu   sync.Mutex
	rows map[locationKey]struct{}
}

type locationKey struct{ connection, event, calendar string }

const maxRecentLocations = 100_000

func newRecentLocations() *recentLocations { return &recentLocations{rows: map[locationKey]struct{}{}} }

func locationKeyOf(e store.EventSeen) locationKey {
	return locationKey{e.ConnectionID, e.EventID, e.CalendarID}
}

func (r *recentLocations) has(e store.EventSeen) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.rows[locationKeyOf(e)]
	return ok
}

func (r *recentLocations) add(list []store.EventSeen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows)+len(list) > maxRecentLocations {
		clear(r.rows)
	}
	for _, e := range list {
		r.rows[locationKeyOf(e)] = struct{}{}
	}
}

// drop removes an event that was cancelled.
func (r *recentLocations) drop(e store.EventSeen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rows, locationKeyOf(e))
}
