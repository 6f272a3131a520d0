package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/normalize"
	"frontdesk/core/parallel"
	"frontdesk/core/record"
	"frontdesk/core/speech"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

const (
	defaultMeetingDays = 60
	longestMeetingDays = 366
	mostMeetings       = 10 // more than anybody could choose from by ear
	mostBookedHere     = 20 // read one by one

	// A meeting may have been put off by other means to a time after that at which it would have ended. Of those that
	// ended lately, so many are read as well.
	endedLately     = 30 * 24 * time.Hour
	mostEndedLately = 3
)

// The sources of find-meetings.
const (
	sourceBookedHere = "booked_here"
	sourceCalendar   = "calendar"
)

// FindMeetings returns the meetings with a caller: those that were booked here for the address or the number,
// and those in the calendars to which the address is invited. What only resembles them is left out. A source
// that cannot be read is named. If none can be read, FindMeetings fails.
func (s *Calendar) FindMeetings(
	ctx context.Context, c apikey.Caller, in FindMeetings,
) (record.MeetingsAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.MeetingsAnswer{}, err
	}
	var zone *time.Location
	got, client, err := withCalendars(ctx, client, func(
		ctx context.Context, client calendarClient,
	) (m foundMeetings, err error) {
		if zone, err = client.zone(ctx, in.Timezone, first(in.CalendarIDs)); err != nil {
			return m, err
		}
		window, err := s.meetingWindow(in, zone)
		if err != nil {
			return m, err
		}
		return client.meetingsWith(ctx, in, window)
	})
	if err != nil {
		return record.MeetingsAnswer{}, err
	}
	found := oneOfEach(got.events)
	answer := record.MeetingsAnswer{
		Meetings: []record.FoundMeeting{}, TimeZone: zone.String(), Complete: len(got.unread) == 0,
		UnreadSources: append([]string{}, got.unread...), More: got.more || len(found) > mostMeetings,
	}
	all := client.listed(ctx)
	seen := got.lasting(found, all)
	found = found[:min(len(found), mostMeetings)]
	var starts []speech.Start
	for _, e := range found {
		span := spanOf(e)
		if e.Start.AllDay { // it is that day, wherever it is told of
			span = calendar.Span{From: normalize.Instant(e.Start, zone), To: normalize.Instant(e.End, zone)}
		}
		id := e.ID
		if booked := got.booked[id]; e.SeriesID == "" { // it keeps its reference, and its people, under another id
			id = cmp.Or(booked.EventID, id)
		}
		m := client.meeting(id, homeOf(e, all), span.To)
		seen, starts = append(seen, m), append(starts, speech.Start{Time: span.From.In(zone), AllDay: e.Start.AllDay})
		shown := record.FoundMeeting{
			MeetingReference: m.Reference, Start: normalize.Format(span.From, zone),
			End: normalize.Format(span.To, zone),
		}
		if slices.Contains(c.Tenant.Settings.CallerFields(), tenant.CallerMeetingTitles) {
			shown.Title = e.Title
		}
		answer.Meetings = append(answer.Meetings, shown)
	}
	answer.Say = speech.In(language.Of(ctx)).Meetings(starts, s.opts.Now(), answer.Complete)
	if in.Email == "" && in.Phone == "" { // nothing was looked for, so that there may well be a meeting
		answer.Say = sayCandidates(ctx, nil)
	}
	return answer, s.opts.Store.SeeMeetings(ctx, seen)
}

// oneOfEach returns the meetings by their start, and one of each that is in two calendars.
func oneOfEach(found []calendar.Event) []calendar.Event {
	slices.SortFunc(found, func(a, b calendar.Event) int {
		return cmp.Or(spanOf(a).From.Compare(spanOf(b).From), strings.Compare(a.ID, b.ID),
			strings.Compare(copyOf(a), copyOf(b)))
	})
	return slices.CompactFunc(found, func(a, b calendar.Event) bool {
		return a.ID == b.ID && spanOf(a).From.Equal(spanOf(b).From)
	})
}

// meetingWindow returns the requested window. It defaults to sixty days from now.
func (s *Calendar) meetingWindow(in FindMeetings, zone *time.Location) (calendar.Span, error) {
	w := windowOfInput(in.Start, in.End, zone, s.opts.Now(), defaultMeetingDays)
	return w, checkWindow(w, zone, longestMeetingDays)
}

// foundMeetings are meetings with a caller.
type foundMeetings struct {
	events []calendar.Event
	booked map[string]store.Meeting // as what they were booked here, by event id
	unread []string                 // the sources that could not be read
	more   bool                     // there are later ones
}

// lasting returns what to remember of bookings whose meetings have other ids by now, such as the instances of one that
// somebody repeats: a booking is looked for until the last of them has ended that was found. That one is the first.
func (m foundMeetings) lasting(found []calendar.Event, all []calendar.Calendar) (seen []store.Meeting) {
	for _, e := range slices.Backward(found) {
		booked, known := m.booked[e.ID]
		if ends := spanOf(e).To; known && booked.EventID != e.ID && ends.After(booked.EndsAt) {
			booked.CalendarID, booked.EndsAt = homeOf(e, all), ends
			seen = append(seen, booked)
		}
	}
	return seen
}

// meetingsWith returns the meetings with the caller in the window. Where the request gives it no end, those that were
// booked here are found up to a year ahead.
func (c calendarClient) meetingsWith(
	ctx context.Context, in FindMeetings, window calendar.Span,
) (all foundMeetings, err error) {
	people, err := c.digests(ctx, named(in.Email), in.Phone)
	if err != nil || len(people) == 0 {
		return all, err
	}
	ahead := window
	if in.End.IsZero() { // without a calendar to list, it costs nothing to look further
		ahead.To = window.From.AddDate(0, 0, longestMeetingDays)
	}
	booked, err := c.bookingsWith(ctx, people, ahead)
	if err != nil {
		return all, err
	}
	all.booked, all.more = map[string]store.Meeting{}, booked.more
	reading, cancel := calendar.WithShare(ctx, readingShare)
	defer cancel()
	var failures []error
	asked := 0
	if in.Email != "" {
		asked++
		listed, err := c.invitedTo(reading, in, window)
		if err != nil {
			all.unread, failures = append(all.unread, sourceCalendar), append(failures, err)
		}
		all.addListed(listed, booked.byEvent)
	}
	if len(booked.byEvent) > 0 {
		asked++
		err := c.bookedHere(reading, &all, booked.byEvent, window, ahead)
		if err != nil {
			all.unread, failures = append(all.unread, sourceBookedHere), append(failures, err)
		}
		if err == nil && all.more && len(all.events) == 0 { // those that were not read may be the only ones
			all.unread = append(all.unread, sourceBookedHere)
		}
	}
	needed := in.Email != "" || booked.upcoming // what has ended is read only since it may have been put off
	if needed && asked > 0 && len(failures) == asked && len(all.events) == 0 {
		return all, failures[0]
	}
	for _, err := range failures {
		c.opts.Log.WarnContext(ctx, "some meetings of a caller could not be read",
			"connection", c.connection.ID, "error", err)
	}
	return all, ctx.Err()
}

// bookings are the meetings with a caller that were booked here, as the store has them.
type bookings struct {
	byEvent  map[string]store.Meeting
	more     bool // there are others in the time ahead
	upcoming bool // not all have ended
}

// bookingsWith returns the bookings for people that end after the time ahead begins, and the last that ended before.
func (c calendarClient) bookingsWith(ctx context.Context, people []string, ahead calendar.Span) (bookings, error) {
	b := bookings{byEvent: map[string]store.Meeting{}}
	for _, person := range people {
		rows, err := c.opts.Store.MeetingsWith(ctx, c.tenant.ID, c.connection.ID, person, ahead.From,
			ahead.From.Add(-endedLately), mostBookedHere+1)
		if err != nil {
			return b, err
		}
		ended := slices.IndexFunc(rows, func(m store.Meeting) bool { return !m.EndsAt.After(ahead.From) })
		b.upcoming = b.upcoming || ended != 0 && len(rows) > 0
		if ended >= 0 {
			rows = rows[:min(ended+mostEndedLately, len(rows))]
		}
		if len(rows) > mostBookedHere {
			b.more = b.more || ended < 0 && rows[mostBookedHere].EndsAt.Before(ahead.To)
			rows = rows[:mostBookedHere]
		}
		for _, m := range rows {
			b.byEvent[m.EventID] = m
		}
	}
	return b, nil
}

// invitedTo returns the events of the calendars to which the address is invited.
func (c calendarClient) invitedTo(
	ctx context.Context, in FindMeetings, window calendar.Span,
) ([]calendar.Event, error) {
	events, err := c.readEvents(ctx, in.CalendarIDs, window, "")
	wanted := normalize.EmailKey(in.Email)
	return slices.DeleteFunc(events, func(e calendar.Event) bool {
		return e.IsCancelled || !slices.ContainsFunc(e.Attendees, func(a calendar.Attendee) bool {
			return normalize.EmailKey(a.Email) == wanted
		})
	}), err
}

// addListed adds events of the calendars, and leaves of the bookings those that are not among them.
func (m *foundMeetings) addListed(events []calendar.Event, booked map[string]store.Meeting) {
	for _, e := range events { // somebody may have made it a series since
		if b, is := booked[e.SeriesID]; is {
			m.booked[e.ID] = b
		}
	}
	for _, e := range events {
		delete(booked, e.ID)
		delete(booked, e.SeriesID)
	}
	m.events = events
}

// bookedHere reads the events that were booked here, which may have been moved or cancelled since. It adds those
// that could be read, even with an error: single events up to a year ahead, and instances in the window.
func (c calendarClient) bookedHere(
	ctx context.Context, all *foundMeetings, booked map[string]store.Meeting, window, ahead calendar.Span,
) (err error) {
	rows := slices.Collect(maps.Values(booked))
	events, errs := make([][]calendar.Event, len(rows)), make([]error, len(rows))
	group := parallel.New()
	group.SetLimit(listConcurrency)
	for i, m := range rows {
		group.Go(func() error {
			events[i], errs[i] = c.readMeetings(ctx, m, window, ahead)
			return nil
		})
	}
	_ = group.Wait() // no function fails
	for i, some := range events {
		if errs[i] != nil && fault.From(errs[i]).Code != fault.NotFound {
			err = errs[i]
		}
		for _, e := range some {
			all.events = append(all.events, e)
			if _, known := all.booked[e.ID]; !known || rows[i].EventID != e.ID { // its first id stays its own
				all.booked[e.ID] = rows[i]
			}
		}
	}
	return err
}

// readMeetings reads the event of a meeting, if it is in the time ahead, or, if somebody has made it a series since,
// the instances of that in the window.
func (c calendarClient) readMeetings(
	ctx context.Context, m store.Meeting, window, ahead calendar.Span,
) ([]calendar.Event, error) {
	event, err := c.readMeeting(ctx, m)
	if err != nil || event.SeriesID != event.ID && !overlaps(spanOf(*event), ahead) {
		return nil, err
	}
	if event.CalendarID, err = c.locate(ctx, *event); err != nil {
		return nil, err
	}
	if event.SeriesID != event.ID {
		return []calendar.Event{*event}, nil
	}
	events, err := c.readEvents(ctx, named(event.CalendarID), window, "")
	return slices.DeleteFunc(events, func(e calendar.Event) bool {
		return e.IsCancelled || e.SeriesID != event.ID
	}), err
}

// readMeeting reads the event of a meeting. Its Start.Zone is set, as readEvents does.
func (c calendarClient) readMeeting(ctx context.Context, m store.Meeting) (*calendar.Event, error) {
	ids, _, err := c.candidates(ctx, m.EventID, named(m.CalendarID))
	if err != nil {
		return nil, err
	}
	event, err := c.readEvent(ctx, ids, m.EventID)
	if err != nil {
		return nil, err
	}
	if event.Start.Zone == "" {
		zone, err := c.zone(ctx, "", event.CalendarID)
		if err != nil {
			return nil, err
		}
		event.Start.Zone = zone.String()
	}
	return &event, nil
}

// reference returns the short name of a meeting. Like a slot_id, it means something only where the store has
// it, for the connection.
func (c calendarClient) reference(eventID string) string {
	sum := sha256.Sum256([]byte(c.connection.ID + "\x00" + eventID))
	return shortID(referencePrefix, sum[:])
}

// meeting returns what to remember of a meeting.
func (c calendarClient) meeting(eventID, calendarID string, ends time.Time, people ...string) store.Meeting {
	return store.Meeting{
		TenantID: c.tenant.ID, ConnectionID: c.connection.ID, Reference: c.reference(eventID), EventID: eventID,
		CalendarID: calendarID, EndsAt: ends, People: people,
	}
}

// meetingsOf returns what to remember of a meeting after a change of its time or its people.
func (c calendarClient) meetingsOf(
	ctx context.Context, e calendar.Event, zone *time.Location, plan updatePlan,
) []store.Meeting {
	if plan.Start == nil && plan.End == nil && len(plan.Attendees) == 0 {
		return nil
	}
	people, ends := c.people(ctx, plan.Attendees, ""), normalize.Instant(e.End, zone)
	all := []store.Meeting{c.meeting(e.ID, e.CalendarID, ends, people...)}
	if plan.EventID != e.ID { // by which it is known to others
		all = append(all, c.meeting(plan.EventID, e.CalendarID, ends, people...))
	}
	return all
}

// meetingOf returns the meeting of a reference.
func (c calendarClient) meetingOf(ctx context.Context, reference string) (store.Meeting, error) {
	m, found, err := c.opts.Store.Meeting(ctx, c.tenant.ID, c.connection.ID, reference)
	if err == nil && !found {
		err = fault.New(fault.NotFound, fault.ReasonEventNotFound,
			"This meeting_reference is not known. References are as book-slot and find-meetings answered them.")
	}
	return m, err
}

// meetingToMove returns the meeting of a reference or of an event's id. The calendar of an event is known if it was
// booked or seen here.
func (c calendarClient) meetingToMove(ctx context.Context, id string) (m store.Meeting, err error) {
	found := strings.HasPrefix(id, referencePrefix)
	if found {
		m, err = c.meetingOf(ctx, id)
	} else {
		m, found, err = c.opts.Store.Meeting(ctx, c.tenant.ID, c.connection.ID, c.reference(id))
	}
	m.EventID = cmp.Or(m.EventID, id)
	switch {
	case err != nil:
		return m, err
	case found || c.traits.IDsTellCalendar:
		return c.asItIs(ctx, m), ctx.Err()
	}
	seen, _, err := c.opts.Store.EventSeen(ctx, c.tenant.ID, c.connection.ID, id)
	m.CalendarID = seen.CalendarID
	return m, err
}

// asItIs returns a meeting with the id and the calendar that it has now. Where ids tell the calendar, as at CalDAV,
// both are others once somebody has moved it to another one. If it cannot be read, slots are found where it was.
func (c calendarClient) asItIs(ctx context.Context, m store.Meeting) store.Meeting {
	if c.traits.IDsTellCalendar {
		if event, err := c.readEvent(ctx, []string{""}, m.EventID); err == nil {
			m.EventID, m.CalendarID = event.ID, event.CalendarID
		}
	}
	return m
}

// people returns the keyed hashes of people for the store. Without them a meeting is not found by its people,
// which is no reason for its booking to fail.
func (c calendarClient) people(ctx context.Context, emails []string, phone string) []string {
	people, err := c.digests(ctx, emails, phone)
	if err != nil {
		c.opts.Log.WarnContext(ctx, "a meeting will not be found by its people", "error", err)
		return nil
	}
	return people
}

func (c calendarClient) digests(ctx context.Context, emails []string, phone string) ([]string, error) {
	var people []string
	for _, key := range emailKeys(emails) {
		people = append(people, "email\x00"+key)
	}
	if phone != "" {
		people = append(people, "phone\x00"+phone)
	}
	for i, person := range people {
		hashed, err := c.opts.Store.Digest(ctx, c.tenant.ID+"\x00"+person)
		if err != nil {
			return nil, err
		}
		people[i] = hashed
	}
	return people, nil
}
