package calendartest_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
	"frontdesk/core/calendar/calendartest"
)

// What the reference provider can do without the driver.

var (
	_ calendartest.SeriesMaker   = (*provider)(nil)
	_ calendartest.Inviter       = (*provider)(nil)
	_ calendartest.DayMaker      = (*provider)(nil)
	_ calendartest.FloatingMaker = (*provider)(nil)
	_ calendartest.FreeMaker     = (*provider)(nil)
	_ calendartest.Answerer      = (*provider)(nil)
	_ calendartest.Meddler       = (*provider)(nil)
	_ calendartest.Notifier      = (*provider)(nil)
	_ conformance.Revoker        = (*provider)(nil)
	_ conformance.Forbidder      = (*provider)(nil)
	_ conformance.Stopper        = (*provider)(nil)
	_ conformance.Limiter        = (*provider)(nil)
	_ conformance.Hanger         = (*provider)(nil)
	_ conformance.ReplyDropper   = (*provider)(nil)
	_ conformance.CallCounter    = (*provider)(nil)
)

func (p *provider) add(e calendar.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.Organizer.Email == "" {
		e.Organizer.Email = email
	}
	p.put(e)
	return nil
}

func (p *provider) MakeSeries(_ context.Context, s calendartest.Series) error {
	return p.makeInstances(s, calendar.Event{})
}

func (p *provider) Invite(_ context.Context, organizer, guest string, s calendartest.Series) error {
	like := calendar.Event{
		Organizer: calendar.Person{Email: organizer}, Attendees: attend(nil, []string{email, guest}),
	}
	if s.Rule != "" {
		return p.makeInstances(s, like)
	}
	like.ID, like.CalendarID, like.Title = idOf("invitation", s.Title), s.CalendarID, s.Title
	like.Start, like.End = calendar.At(s.Start, s.Zone), calendar.At(s.Start.Add(s.Length), s.Zone)
	return p.add(like)
}

// makeInstances creates every instance at once, which works because the rules of the checks end.
func (p *provider) makeInstances(s calendartest.Series, like calendar.Event) error {
	var frequency string
	var count int
	if _, err := fmt.Sscanf(s.Rule, "FREQ=%5s", &frequency); err != nil {
		return err
	}
	days := map[string]int{"DAILY": 1, "WEEKL": 7}[frequency]
	format := map[int]string{1: "FREQ=DAILY;COUNT=%d", 7: "FREQ=WEEKLY;COUNT=%d"}[days]
	if _, err := fmt.Sscanf(s.Rule, format, &count); err != nil {
		return err
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return err
	}
	series := idOf(s.CalendarID, s.Title)
	for i := range count {
		start := s.Start.In(zone).AddDate(0, 0, i*days)
		e := like
		e.ID, e.SeriesID, e.CalendarID, e.Title = fmt.Sprintf("%s_%d", series, i), series, s.CalendarID, s.Title
		e.Start, e.End = calendar.At(start, s.Zone), calendar.At(start.Add(s.Length), s.Zone)
		if err := p.add(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *provider) MakeDays(_ context.Context, calendarID, title string, from, to calendar.Time) error {
	return p.add(calendar.Event{ID: idOf(title), CalendarID: calendarID, Title: title, Start: from, End: to})
}

func (p *provider) MakeFloating(ctx context.Context, calendarID, title string, from, to calendar.Time) error {
	return p.MakeDays(ctx, calendarID, title, from, to)
}

func (p *provider) MakeFree(_ context.Context, calendarID, title string, from, to time.Time) error {
	return p.add(calendar.Event{
		ID: idOf("free", title), CalendarID: calendarID, Title: title, IsFree: true,
		Start: calendar.At(from, "UTC"), End: calendar.At(to, "UTC"),
	})
}

// alter changes an event without the driver.
func (p *provider) alter(ref calendar.EventRef, do func(*calendar.Event)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, e, err := p.find(ref, true)
	if err != nil {
		return err
	}
	e.Attendees = slices.Clone(e.Attendees)
	do(&e)
	p.put(e)
	return nil
}

// declined reports whether the account declined an event.
func (p *provider) declined(e calendar.Event) bool {
	return slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
		return a.Email == email && a.Response == "declined"
	})
}

func (p *provider) Answer(_ context.Context, ref calendar.EventRef, email, response string) error {
	return p.alter(ref, func(e *calendar.Event) {
		for i := range e.Attendees {
			if e.Attendees[i].Email == email {
				e.Attendees[i].Response = response
			}
		}
	})
}

func (p *provider) Retitle(_ context.Context, ref calendar.EventRef, title string) error {
	return p.alter(ref, func(e *calendar.Event) { e.Title = title })
}

func (p *provider) Notices(_ context.Context, ref calendar.EventRef) ([]calendartest.Notice, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.notices[ref], nil
}
