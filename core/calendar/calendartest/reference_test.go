package calendartest_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
	"frontdesk/core/fault"
)

// provider is the reference: a calendar in memory that keeps every clause. Its driver is client.
type provider struct {
	adaptertest.Gate
	traits calendar.Traits

	mu      sync.Mutex
	events  map[calendar.EventRef]calendar.Event
	notices map[calendar.EventRef][]calendartest.Notice
	late    []lateEvent // what listings do not show yet, if reads are not consistent
}

type lateEvent struct {
	ref  calendar.EventRef
	from time.Time
}

// lag is how long a write stays out of listings if reads are not consistent.
const lag = time.Second

const (
	first  = "first"
	second = "second"
	rules  = "read-only"
	email  = "me@example.com"
	secret = "correct horse battery staple"
)

func newProvider(traits calendar.Traits) *provider {
	return &provider{
		traits: traits, events: map[calendar.EventRef]calendar.Event{},
		notices: map[calendar.EventRef][]calendartest.Notice{},
	}
}

var everyTrait = calendar.Traits{
	IdempotentBook: true, SendsInvites: true, IDsPerCalendar: true, IDsTellCalendar: true, KeepsCancelled: true,
	Instances: true, Conferencing: true, LocationURL: true, MaxAttendees: 150, ConsistentReads: true,
}

func (p *provider) harness() calendartest.Harness {
	return calendartest.Harness{
		Open: func() calendar.Driver { return &client{p: p} }, Calendar: first, Second: second, ReadOnly: rules,
		Email: email, Secrets: []string{secret}, Now: time.Now, Provider: p,
	}
}

// client is the driver of a provider.
type client struct{ p *provider }

// full is a driver with every optional capability.
type full interface {
	calendar.Driver
	calendar.FreeBusyer
	calendar.ManyLister
}

var _ full = (*client)(nil)

// enter begins a call and locks the provider. The call must end with leave.
func (p *provider) enter(ctx context.Context) (leave func(), err error) {
	if err := p.Enter(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	return p.mu.Unlock, nil
}

func (p *provider) calendars() []calendar.Calendar {
	return []calendar.Calendar{
		{ID: first, Name: "First", Zone: "Europe/Berlin", IsDefault: true},
		{ID: second, Name: "Second"},
		{ID: rules, Name: "Read only", Zone: "UTC", ReadOnly: true},
	}
}

// named returns the id of a calendar, or that of the default one for "".
func (p *provider) named(id string, write bool) (string, error) {
	for _, c := range p.calendars() {
		if c.ID == id || id == "" && c.IsDefault {
			if write && c.ReadOnly {
				return "", fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Read only.")
			}
			return c.ID, nil
		}
	}
	return "", fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No such calendar.")
}

func (p *provider) find(ref calendar.EventRef, write bool) (calendar.EventRef, calendar.Event, error) {
	if ref.CalendarID == "" && p.traits.IDsTellCalendar {
		for known := range p.events {
			if known.ID == ref.ID {
				ref = known
			}
		}
	}
	id, err := p.named(ref.CalendarID, write)
	if err != nil {
		return ref, calendar.Event{}, err
	}
	ref.CalendarID = id
	e, there := p.events[ref]
	if !there || e.IsCancelled && (write || !p.traits.KeepsCancelled) {
		f := fault.New(fault.NotFound, fault.ReasonEventNotFound, "No such event.")
		if there {
			f = f.With("gone", "true")
		}
		return ref, calendar.Event{}, f
	}
	return ref, e, nil
}

// put stores an event under a new version.
func (p *provider) put(e calendar.Event) calendar.Event {
	version, _ := strconv.Atoi(e.Version)
	e.Version = strconv.Itoa(version + 1)
	ref := calendar.EventRef{CalendarID: e.CalendarID, ID: e.ID}
	p.events[ref] = e
	if !p.traits.ConsistentReads {
		p.late = append(p.late, lateEvent{ref, time.Now().Add(lag)})
	}
	return e
}

func (p *provider) notify(e calendar.Event, kind string) {
	ref := calendar.EventRef{CalendarID: e.CalendarID, ID: e.ID}
	for _, a := range e.Attendees {
		p.notices[ref] = append(p.notices[ref], calendartest.Notice{To: a.Email, Kind: kind})
	}
}

func idOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

func attend(before []calendar.Attendee, emails []string) []calendar.Attendee {
	var list []calendar.Attendee
	for _, email := range emails {
		i := slices.IndexFunc(before, func(a calendar.Attendee) bool { return strings.EqualFold(a.Email, email) })
		if i >= 0 {
			list = append(list, before[i])
			continue
		}
		list = append(list, calendar.Attendee{Email: email, Type: "required", Response: "needs_action"})
	}
	return list
}

func (c *client) Traits() calendar.Traits { return c.p.traits }

func (c *client) Account(ctx context.Context) (calendar.Account, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return calendar.Account{}, err
	}
	defer leave()
	return calendar.Account{Email: email}, nil
}

func (c *client) Calendars(ctx context.Context) ([]calendar.Calendar, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return c.p.calendars(), nil
}

func (c *client) Book(ctx context.Context, b calendar.Booking) (calendar.Event, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return calendar.Event{}, err
	}
	defer leave()
	in, err := c.p.named(b.CalendarID, true)
	if err != nil {
		return calendar.Event{}, err
	}
	e := calendar.Event{
		ID: idOf(in, b.Key), CalendarID: in, Title: b.Title, Description: b.Description,
		Start: calendar.At(b.Start, b.Zone), End: calendar.At(b.End, b.Zone),
		Organizer: calendar.Person{Email: email}, Attendees: attend(nil, b.Attendees),
	}
	switch b.Conferencing {
	case calendar.ConferencingProvider:
		if e.URL = "https://meet.example.net/" + e.ID; !c.p.traits.Conferencing {
			return calendar.Event{}, fault.New(fault.Unsupported, fault.ReasonConferencing, "No links.")
		}
	case calendar.ConferencingURL:
		if e.URL = b.LocationURL; !c.p.traits.LocationURL {
			return calendar.Event{}, fault.New(fault.Unsupported, fault.ReasonConferencing, "No links.")
		}
	}
	there, again := c.p.events[calendar.EventRef{CalendarID: in, ID: e.ID}]
	switch {
	case again && !c.p.traits.IdempotentBook:
		return calendar.Event{}, fault.New(fault.Conflict, fault.ReasonProviderConflict, "That key was used.")
	case again && there.IsCancelled && c.p.traits.KeepsCancelled:
		return calendar.Event{}, fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "It was cancelled.")
	case again && !there.IsCancelled:
		return there, nil
	}
	e = c.p.put(e)
	c.p.notify(e, "invitation")
	return e, c.p.Leave()
}

func (c *client) Event(ctx context.Context, ref calendar.EventRef) (calendar.Event, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return calendar.Event{}, err
	}
	defer leave()
	_, e, err := c.p.find(ref, false)
	return e, err
}

func changedMeanwhile() error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile, "It was changed.")
}

func (c *client) Change(
	ctx context.Context, ref calendar.EventRef, ch calendar.Change,
) (calendar.Event, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return calendar.Event{}, err
	}
	defer leave()
	_, e, err := c.p.find(ref, true)
	if err != nil {
		return e, err
	}
	if ch.IfUnchanged != "" && ch.IfUnchanged != e.Version {
		return calendar.Event{}, changedMeanwhile()
	}
	switch {
	case ch.Title == nil && ch.Description == nil && ch.Start == nil && ch.Attendees == nil:
		return e, nil
	case e.Organizer.Email != email:
		return calendar.Event{}, fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Only the organizer can.")
	}
	if ch.Title != nil {
		e.Title = *ch.Title
	}
	if ch.Description != nil {
		e.Description = *ch.Description
	}
	if ch.Attendees != nil {
		e.Attendees = attend(e.Attendees, *ch.Attendees)
	}
	if ch.Start != nil {
		e.Start, e.End = calendar.At(*ch.Start, ch.Zone), calendar.At(*ch.End, ch.Zone)
	}
	e = c.p.put(e)
	c.p.notify(e, "update")
	return e, c.p.Leave()
}

func (c *client) Cancel(ctx context.Context, ref calendar.EventRef) error {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, e, err := c.p.find(ref, true)
	if err != nil {
		return err
	}
	e.IsCancelled = true
	c.p.put(e)
	if e.Organizer.Email == email {
		c.p.notify(e, "cancellation")
	}
	return c.p.Leave()
}

// span returns the time that an event spans. Local times are read in the zone.
func span(e calendar.Event, zone *time.Location) calendar.Span {
	instantOf := func(t calendar.Time) time.Time {
		if !t.AllDay && !t.Floating {
			return t.Instant
		}
		u := t.Instant.UTC()
		return time.Date(u.Year(), u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), 0, zone)
	}
	return calendar.Span{From: instantOf(e.Start), To: instantOf(e.End)}
}

func (c *client) Events(ctx context.Context, q calendar.Query) (calendar.Page, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return calendar.Page{}, err
	}
	defer leave()
	in, err := c.p.named(q.CalendarID, false)
	if err != nil {
		return calendar.Page{}, err
	}
	zone, err := time.LoadLocation(q.Zone)
	if err != nil {
		return calendar.Page{}, err
	}
	limit := cmp.Or(q.Limit, 50)
	var page calendar.Page
	for _, ref := range slices.SortedFunc(maps.Keys(c.p.events),
		func(a, b calendar.EventRef) int { return cmp.Compare(a.ID, b.ID) }) {
		e := c.p.events[ref]
		at := span(e, zone)
		if ref.CalendarID != in || e.ID <= q.Cursor || e.IsCancelled || !at.From.Before(q.To) ||
			!q.From.Before(at.To) || c.p.isLate(ref) {
			continue
		}
		if len(page.Events) == limit {
			page.Next = page.Events[limit-1].ID
			break
		}
		page.Events = append(page.Events, e)
	}
	return page, nil
}

func (p *provider) isLate(ref calendar.EventRef) bool {
	return slices.ContainsFunc(p.late,
		func(l lateEvent) bool { return l.ref == ref && time.Now().Before(l.from) })
}

func (c *client) EventsOf(ctx context.Context, queries []calendar.Query) ([]calendar.Page, error) {
	var pages []calendar.Page
	for _, q := range queries {
		page, err := c.Events(ctx, q)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

func (c *client) FreeBusy(
	ctx context.Context, calendarIDs []string, within calendar.Span,
) ([]calendar.Busy, error) {
	leave, err := c.p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	zone, err := time.LoadLocation("America/St_Johns")
	if err != nil {
		return nil, err
	}
	var busy []calendar.Busy
	for _, id := range calendarIDs {
		in, err := c.p.named(id, false)
		if err != nil {
			busy = append(busy, calendar.Busy{CalendarID: id, Span: within, Unknown: err})
			continue
		}
		for ref, e := range c.p.events {
			at := span(e, zone)
			if ref.CalendarID == in && !e.IsCancelled && !e.IsFree && !c.p.declined(e) && at.From.Before(within.To) &&
				within.From.Before(at.To) && !c.p.isLate(ref) {
				busy = append(busy, calendar.Busy{CalendarID: in, Span: at})
			}
		}
	}
	return busy, nil
}
