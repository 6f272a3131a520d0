package service

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// calendarAccount is a provider's account with calendars. Event ids are numbered across the whole account.
type calendarAccount struct {
	account
	instead   calendar.Driver // takes the place of the account, if not nil
	traits    calendar.Traits
	freeBusy  bool
	week      *calendar.WorkingWeek // nil: the provider does not know about working hours
	email     string
	calendars []calendar.Calendar
	events    []*fakeEvent
	pageSize  int
	endless   bool   // every page has a next page
	silent    string // a calendar whose events are never answered
	tells410  bool
	renamed   map[string]string // ids of events by those that they had in another calendar
	unknown   int               // free/busy queries to come that cannot tell of the first calendar
	why       *fault.Error      // nil: the provider is down

	booked, changed, cancelled int            // effects
	retitled                   map[string]int // by title: number of changes that set it
}

type fakeEvent struct {
	calendar.Event
	key     string
	version int
}

func newCalendarAccount() *calendarAccount {
	return &calendarAccount{
		account: account{calls: map[string]int{}}, email: "office@example.com", pageSize: 1000,
		retitled: map[string]int{},
		traits: calendar.Traits{
			IdempotentBook: true, IDsPerCalendar: true, KeepsCancelled: true, LocationURL: true,
		},
		calendars: []calendar.Calendar{
			{ID: "main", Name: "Main", Zone: "America/New_York", IsDefault: true},
			{ID: "side", Name: "Side", Zone: "Europe/Berlin"},
			{ID: "third", Name: "Third"},
		},
	}
}

func (a *calendarAccount) driver(p *process) calendar.Driver {
	if a.instead != nil {
		return a.instead
	}
	d := &calendarDriver{a, p}
	if a.week != nil {
		return hoursDriver{freeBusyDriver{d}}
	}
	if a.freeBusy {
		return freeBusyDriver{d}
	}
	return d
}

// live returns the events that are not cancelled.
func (a *calendarAccount) live() []calendar.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []calendar.Event
	for _, e := range a.events {
		if !e.IsCancelled {
			list = append(list, e.Event)
		}
	}
	return list
}

// edit changes an event behind the gateway's back.
func (a *calendarAccount) edit(id string, change func(*calendar.Event)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.events {
		if e.ID == id {
			change(&e.Event)
			e.bump()
		}
	}
}

// put adds an event behind the gateway's back and returns its id.
func (a *calendarAccount) put(e calendar.Event) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(e, "").ID
}

func (a *calendarAccount) add(e calendar.Event, key string) *fakeEvent {
	if e.CalendarID == "" {
		e.CalendarID = "main"
	}
	if e.ID == "" {
		e.ID = "ev" + strconv.Itoa(len(a.events)+1)
	}
	added := &fakeEvent{Event: e, key: key}
	added.bump()
	a.events = append(a.events, added)
	return added
}

func (e *fakeEvent) bump() { e.version++; e.Version = strconv.Itoa(e.version) }

func (a *calendarAccount) calendar(id string) (string, error) {
	for _, c := range a.calendars {
		if c.ID == id || id == "" && c.IsDefault || id != "" && c.Alias == id {
			return c.ID, nil
		}
	}
	return "", fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No such calendar.")
}

func (a *calendarAccount) find(ref calendar.EventRef) (*fakeEvent, error) {
	home, err := a.calendar(ref.CalendarID)
	if err != nil {
		return nil, err
	}
	for _, e := range a.events {
		anywhere := !a.traits.IDsPerCalendar || ref.CalendarID == "" && a.traits.IDsTellCalendar
		if (e.ID == ref.ID || e.ID == a.renamed[ref.ID]) && (e.CalendarID == home || anywhere) {
			return e, nil
		}
	}
	return nil, fault.New(fault.NotFound, fault.ReasonEventNotFound, "No such event.")
}

type calendarDriver struct {
	*calendarAccount
	process *process
}

func (d *calendarDriver) Traits() calendar.Traits { return d.traits }

func (d *calendarDriver) Account(ctx context.Context) (calendar.Account, error) {
	return step(ctx, &d.account, d.process, "account",
		func() (calendar.Account, error) { return calendar.Account{Email: d.email}, nil })
}

func (d *calendarDriver) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	return step(ctx, &d.account, d.process, "calendars",
		func() ([]calendar.Calendar, error) { return slices.Clone(d.calendars), nil })
}

func (d *calendarDriver) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	return step(ctx, &d.account, d.process, "book", func() (calendar.Event, error) {
		home, err := d.calendar(b.CalendarID)
		if err != nil {
			return calendar.Event{}, err
		}
		if d.traits.IdempotentBook {
			i := slices.IndexFunc(d.events, func(e *fakeEvent) bool {
				return e.key == b.Key && e.CalendarID == home && (!e.IsCancelled || d.traits.KeepsCancelled)
			})
			if i >= 0 && d.events[i].IsCancelled {
				return calendar.Event{}, fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "It was cancelled.")
			}
			if i >= 0 {
				return d.events[i].Event, nil
			}
		}
		made := calendar.Event{
			CalendarID: home, Title: b.Title, Description: b.Description, Start: keptAt(b.Start, b.Zone),
			End: keptAt(b.End, b.Zone), URL: b.LocationURL,
		}
		for _, email := range b.Attendees {
			made.Attendees = append(made.Attendees, calendar.Attendee{Email: email})
		}
		d.booked++
		return d.add(made, b.Key).Event, nil
	})
}

func (d *calendarDriver) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	return step(ctx, &d.account, d.process, "event", func() (calendar.Event, error) {
		e, err := d.find(ref)
		if err != nil {
			return calendar.Event{}, err
		}
		if e.IsCancelled && !d.traits.KeepsCancelled {
			return calendar.Event{}, fault.New(fault.NotFound, fault.ReasonEventNotFound, "No such event.")
		}
		return d.told(e.Event, ref)
	})
}

// told returns an event as the provider tells it: without its own calendar if it is like Graph.
func (d *calendarDriver) told(e calendar.Event, ref calendar.EventRef) (_ calendar.Event, err error) {
	if !d.traits.IDsPerCalendar && !d.traits.IDsTellCalendar {
		e.CalendarID, err = d.calendar(ref.CalendarID)
	}
	return e, err
}

func (d *calendarDriver) Change(
	ctx context.Context, ref calendar.EventRef, c calendar.Change,
) (calendar.Event, error) {
	return step(ctx, &d.account, d.process, "change", func() (calendar.Event, error) {
		e, err := d.find(ref)
		switch {
		case err != nil:
			return calendar.Event{}, err
		case e.IsCancelled:
			return calendar.Event{}, fault.New(fault.NotFound, fault.ReasonEventNotFound, "It was cancelled.")
		case c.IfUnchanged != "" && c.IfUnchanged != e.Version:
			return calendar.Event{}, fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "It was changed.")
		}
		if c.Title != nil {
			e.Title = *c.Title
			d.retitled[e.Title]++
		}
		if c.Description != nil {
			e.Description = *c.Description
		}
		if c.Start != nil {
			e.Start, e.End = keptAt(*c.Start, c.Zone), keptAt(*c.End, c.Zone)
		}
		if c.Attendees != nil {
			var now []calendar.Attendee
			for _, email := range *c.Attendees {
				i := slices.IndexFunc(e.Attendees, func(a calendar.Attendee) bool { return a.Email == email })
				if i >= 0 {
					now = append(now, e.Attendees[i])
				} else {
					now = append(now, calendar.Attendee{Email: email})
				}
			}
			e.Attendees = now
		}
		e.bump()
		d.changed++
		return d.told(e.Event, ref)
	})
}

func (d *calendarDriver) Cancel(ctx context.Context, ref calendar.EventRef) error {
	_, err := step(ctx, &d.account, d.process, "cancel", func() (struct{}, error) {
		e, err := d.find(ref)
		if err != nil {
			return struct{}{}, err
		}
		if e.IsCancelled {
			gone := fault.New(fault.NotFound, fault.ReasonEventNotFound, "No such event.")
			if d.tells410 {
				gone = gone.With("gone", "true")
			}
			return struct{}{}, gone
		}
		e.IsCancelled = true
		e.bump()
		d.cancelled++
		return struct{}{}, nil
	})
	return err
}

func (d *calendarDriver) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	if d.silent != "" && q.CalendarID == d.silent {
		return calendar.Page{}, hang(ctx)
	}
	name := "events/" + q.CalendarID
	return step(ctx, &d.account, d.process, name, func() (calendar.Page, error) {
		home, err := d.calendar(q.CalendarID)
		if err != nil {
			return calendar.Page{}, err
		}
		zone, err := time.LoadLocation(q.Zone)
		if err != nil {
			return calendar.Page{}, err
		}
		skip, _ := strconv.Atoi(q.Cursor)
		if d.endless {
			return calendar.Page{Next: strconv.Itoa(skip + 1)}, nil
		}
		var all []calendar.Event
		for _, e := range d.events {
			span := calendar.Span{From: placed(e.Start, zone), To: placed(e.End, zone)}
			if e.CalendarID == home && overlaps(span, calendar.Span{From: q.From, To: q.To}) &&
				e.SeriesID != e.ID && (!e.IsCancelled || d.traits.KeepsCancelled) {
				all = append(all, e.Event)
			}
		}
		page := calendar.Page{Events: all[min(skip, len(all)):min(skip+d.pageSize, len(all))]}
		if skip+d.pageSize < len(all) {
			page.Next = strconv.Itoa(skip + d.pageSize)
		}
		return page, nil
	})
}

// keptAt returns a time as a provider keeps it, which is in whole seconds.
func keptAt(t time.Time, zone string) calendar.Time {
	return calendar.At(t.Truncate(time.Second), zone)
}

// placed returns the instant of a time. All-day and floating times lie in the zone.
func placed(t calendar.Time, zone *time.Location) time.Time {
	if t.AllDay || t.Floating {
		y, m, day := t.Instant.Date()
		return time.Date(y, m, day, t.Instant.Hour(), t.Instant.Minute(), 0, 0, zone)
	}
	return t.Instant
}

// freeBusyDriver is a calendarDriver that supports free/busy queries.
type freeBusyDriver struct{ *calendarDriver }

func (d freeBusyDriver) FreeBusy(
	ctx context.Context, ids []string, span calendar.Span,
) ([]calendar.Busy, error) {
	return step(ctx, &d.account, d.process, "free-busy", func() ([]calendar.Busy, error) {
		var busy []calendar.Busy
		for _, id := range ids {
			if _, err := d.calendar(id); err != nil {
				busy = append(busy, calendar.Busy{CalendarID: id, Span: span, Unknown: err})
			}
		}
		for _, e := range d.events {
			at := calendar.Span{From: e.Start.Instant, To: e.End.Instant}
			if slices.Contains(ids, e.CalendarID) && !e.IsCancelled && !e.IsFree && overlaps(at, span) {
				busy = append(busy, calendar.Busy{CalendarID: e.CalendarID, Span: at})
			}
		}
		if d.unknown > 0 {
			d.unknown--
			busy = append(busy, calendar.Busy{CalendarID: ids[0], Span: span, Unknown: cmp.Or(d.why, down())})
		}
		return busy, nil
	})
}

// hoursDriver is a freeBusyDriver that tells the owner's working hours.
type hoursDriver struct{ freeBusyDriver }

func (d hoursDriver) WorkingHours(ctx context.Context) (calendar.WorkingWeek, bool, error) {
	week, err := step(ctx, &d.account, d.process, "working-hours", func() (calendar.WorkingWeek, error) {
		return *d.week, nil
	})
	return week, len(week.Days) > 0, err
}
