package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/pause"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/speech"
	"frontdesk/core/store"
)

const (
	defaultSlotDays  = 14
	longestSlotDays  = 60
	defaultSlotLimit = 4
	defaultPerDay    = 2

	// readingShare is the part of the time left that reading calendars may take, so that the answer about the
	// others is not late because one calendar hangs.
	readingShare = 0.75
)

// FindSlots answers when a meeting can take place, with a few times to offer. A calendar that cannot be read
// counts as busy and is named. If none can be read, FindSlots fails.
func (s *Calendar) FindSlots(ctx context.Context, c apikey.Caller, in FindSlots) (record.SlotsAnswer, error) {
	found, err := s.findSlots(ctx, c, in)
	if err != nil {
		return record.SlotsAnswer{}, err
	}
	return found.answer, s.opts.Store.OfferSlots(ctx, found.offers)
}

// SlotPreview is what FindSlots would answer, with every slot that it chose from.
type SlotPreview struct {
	Answer             record.SlotsAnswer
	Slots              []slots.Slot // by their start, in the zone of the answer
	Duration, Interval time.Duration
}

// PreviewSlots answers as FindSlots does, and stores nothing: no slot_id of the answer can be booked.
func (s *Calendar) PreviewSlots(ctx context.Context, c apikey.Caller, in FindSlots) (SlotPreview, error) {
	found, err := s.findSlots(ctx, c, in)
	all := slots.Find(found.question) // without a window, if it failed: none
	for i := range all {
		each := &all[i]
		each.Start, each.End = each.Start.In(found.question.Zone), each.End.In(found.question.Zone)
	}
	return SlotPreview{found.answer, all, found.question.Duration, found.question.Interval}, err
}

// slotsFound is the result of a search for slots.
type slotsFound struct {
	question slots.Question
	offers   []store.SlotOffered // of those in the answer
	answer   record.SlotsAnswer
}

func (s *Calendar) findSlots(ctx context.Context, c apikey.Caller, in FindSlots) (slotsFound, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return slotsFound{}, err
	}
	if in.RescheduleMeetingID != "" {
		meeting, err := client.meetingToMove(ctx, in.RescheduleMeetingID)
		if err != nil {
			return slotsFound{}, err
		}
		in.RescheduleMeetingID, in.movesIn = meeting.EventID, meeting.CalendarID
		if len(in.CalendarIDs) == 0 {
			in.CalendarIDs = named(meeting.CalendarID)
		}
	}
	withHours, withLength := client.readHours(ctx, in), client.readLength(ctx, in)
	type reading struct {
		question slots.Question
		times    []calendar.Busy
	}
	got, client, err := withCalendars(ctx, client, func(
		ctx context.Context, client calendarClient,
	) (r reading, err error) {
		office, err := client.zone(ctx, "", first(in.CalendarIDs))
		if err != nil {
			return r, err
		}
		if r.question, err = client.question(in, office); err != nil {
			return r, err
		}
		ids, err := client.nameCalendars(ctx, in.searched())
		if err != nil {
			return r, err
		}
		r.times, err = client.busyTimes(ctx, ids, r.question, in)
		return r, err
	})
	if err != nil {
		return slotsFound{}, err
	}
	ids, err := client.nameCalendars(ctx, in.searched())
	if err != nil {
		return slotsFound{}, err
	}
	q := got.question
	if q.Calendars, err = client.withHolds(ctx, ids, got.times, q, in); err != nil {
		return slotsFound{}, err
	}
	withHours(&q)
	withLength(&q, &in)
	few := slots.Choice{
		Zone: q.Zone, Limit: orDefault(in.Limit, defaultSlotLimit), PerDay: orDefault(in.PerDay, defaultPerDay),
	}
	if in.CalendarIDs, err = client.nameCalendars(ctx, in.CalendarIDs); err != nil {
		return slotsFound{}, err
	}
	offers := client.offers(slots.Pick(q, few), q, in)
	return slotsFound{q, offers, slotsAnswer(ctx, q, offers)}, nil
}

// slotsAnswer returns the answer that offers slots.
func slotsAnswer(ctx context.Context, q slots.Question, offers []store.SlotOffered) record.SlotsAnswer {
	records, starts := slotRecords(offers)
	answer := record.SlotsAnswer{
		Slots: records, TimeZone: q.Zone.String(), Complete: true, UnreadCalendars: []string{},
	}
	for _, each := range q.Calendars {
		if each.Unknown {
			answer.Complete, answer.UnreadCalendars = false, append(answer.UnreadCalendars, each.ID)
		}
	}
	answer.Say = speech.In(language.Of(ctx)).Slots(starts, q.Now, answer.Complete)
	return answer
}

// slotRecords returns the records of offered slots, and their starts in the zone of the offer.
func slotRecords(offers []store.SlotOffered) ([]record.Slot, []time.Time) {
	records, starts := make([]record.Slot, len(offers)), make([]time.Time, len(offers))
	for i, each := range offers {
		o := offered{SlotOffered: each}
		records[i], starts[i] = o.record(each.ID), o.From.In(o.zone())
	}
	return records, starts
}

func orDefault(given *int, standard int) int {
	if given == nil {
		return standard
	}
	return *given
}

// question returns the question without its calendars. Opening hours are in the office's zone, which is the
// first calendar's, unless they name another.
func (c calendarClient) question(in FindSlots, office *time.Location) (slots.Question, error) {
	rules, err := c.rules()
	if err != nil {
		return slots.Question{}, err
	}
	q := in.Rules.Or(rules).Question()
	q.Hours.Zone = office
	if len(in.SpecificTimes) > 0 {
		dates := maps.Clone(in.SpecificTimes)
		for date, openings := range q.Hours.Dates { // the office stays closed on the other days
			if _, replaced := dates[date]; !replaced {
				dates[date] = openings
			}
		}
		q.Hours.Dates = dates
	}
	q.Availability, q.Now, q.Zone = in.Availability, c.opts.Now(), office
	if in.Timezone != "" {
		if q.Zone, err = c.loadZone(in.Timezone); err != nil {
			return q, err
		}
	}
	window := windowOfInput(in.Start, in.End, q.Zone, q.Now, defaultSlotDays)
	q.From, q.To = window.From, window.To
	if err = checkWindow(window, q.Zone, longestSlotDays); err == nil && !q.To.After(q.Now) {
		err = fault.InvalidField("end", fmt.Sprintf("has passed: it is now %s.",
			q.Now.In(q.Zone).Format("Monday, 2006-01-02T15:04:05-07:00")))
	}
	return q, err
}

// rules returns the rules of the connection, or else of the tenant.
func (c calendarClient) rules() (slots.Rules, error) {
	defaults, err := adapter.SlotDefaults(c.connection.Settings)
	if err != nil {
		return slots.Rules{}, fault.From(errors.New("service: stored rules for slots: " + err.Error()))
	}
	ofConnection, _ := defaults.Rules()
	return ofConnection.Or(c.tenant.Settings.SlotRules()), nil
}

// nameCalendars returns the ids of the calendars in their order, so that the default calendar has its own.
func (c calendarClient) nameCalendars(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		ids = []string{""}
	}
	var named []string
	for _, id := range ids {
		cal, err := c.findCalendar(ctx, id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(named, cal.ID) {
			named = append(named, cal.ID)
		}
	}
	return named, nil
}

// busyCalendars reads the busy times of the calendars, with the slots that bookings hold. It fails if no
// calendar can be read.
func (c calendarClient) busyCalendars(
	ctx context.Context, ids []string, q slots.Question, in FindSlots,
) ([]slots.Calendar, error) {
	times, err := c.busyTimes(ctx, ids, q, in)
	if err != nil {
		return nil, err
	}
	return c.withHolds(ctx, ids, times, q, in)
}

// spanOfQuestion returns the time in which it matters what is busy.
func spanOfQuestion(q slots.Question) calendar.Span {
	span := calendar.Span{From: q.From.Add(-q.Before), To: q.To.Add(q.After)}
	if begins := q.Now.Add(-q.Before); begins.After(span.From) {
		span.From = begins
	}
	return span
}

// withHolds returns the calendars with their busy times and the slots that bookings hold. It fails if no calendar
// could be read.
func (c calendarClient) withHolds(
	ctx context.Context, ids []string, times []calendar.Busy, q slots.Question, in FindSlots,
) ([]slots.Calendar, error) {
	span := spanOfQuestion(q)
	holds, err := c.opts.Store.HoldsWithin(ctx, c.connection.ID, span.From, span.To, q.Now)
	if err != nil {
		return nil, err
	}
	own := c.connection.ID + "/" + in.HoldID + "/"
	for _, h := range holds {
		isMoved := in.RescheduleMeetingID != "" &&
			(h.EventID == in.RescheduleMeetingID || h.Moves == in.RescheduleMeetingID)
		if !isMoved && !strings.HasPrefix(h.ID, own) {
			times = append(times, calendar.Busy{CalendarID: h.CalendarID, Span: calendar.Span{From: h.From, To: h.To}})
		}
	}
	calendars := make([]slots.Calendar, len(ids))
	var unknown []error
	for i, id := range ids {
		calendars[i].ID = id
		for _, b := range times {
			if cmp.Or(b.CalendarID, ids[0]) != id { // "": the default one, whose id was not known when it was read
				continue
			}
			calendars[i].Busy = append(calendars[i].Busy, slots.Span{From: b.Span.From, To: b.Span.To})
			if b.Unknown != nil && !calendars[i].Unknown {
				calendars[i].Unknown = true
				unknown = append(unknown, b.Unknown)
			}
		}
	}
	if len(unknown) == len(ids) {
		return nil, fault.From(unknown[0]).With("provider", c.connection.Provider)
	}
	for _, err := range unknown {
		c.opts.Log.WarnContext(ctx, "the busy times of a calendar could not be read",
			"connection", c.connection.ID, "error", err)
	}
	return calendars, nil
}

// busyTimes returns the busy times of the calendars. It asks for them alone where that is possible. It has to
// read the events where some of them do not count.
func (c calendarClient) busyTimes(
	ctx context.Context, ids []string, q slots.Question, in FindSlots,
) ([]calendar.Busy, error) {
	span := spanOfQuestion(q)
	asker, can := c.driver.(calendar.FreeBusyer)
	if can && in.RescheduleMeetingID == "" && !q.TentativeIsFree {
		busy, err := c.freeBusy(ctx, asker, ids, span)
		for _, b := range busy {
			if b.Unknown != nil && fault.From(b.Unknown).Reason == fault.ReasonCalendarNotFound {
				c.calendarMissing()
			}
		}
		return busy, err
	}
	lists, err := c.newLists(ctx, ids, span, "")
	if err != nil {
		return nil, err
	}
	reading, cancel := calendar.WithShare(ctx, readingShare)
	defer cancel()
	unread := c.readLists(reading, lists, c.tryPages)
	var busy []calendar.Busy
	for i, l := range lists {
		if l.err == nil && !l.complete {
			l.err = unread
		}
		if l.err == nil && len(l.events) > maxEvents {
			l.err = tooManyEvents()
		}
		if l.err != nil {
			busy = append(busy, calendar.Busy{CalendarID: ids[i], Span: span, Unknown: fault.From(l.err)})
			continue
		}
		for _, e := range l.events {
			if !isOf(e, in.RescheduleMeetingID) && c.takesTime(e, q.TentativeIsFree) {
				busy = append(busy, calendar.Busy{CalendarID: ids[i], Span: spanOf(e)})
			}
		}
	}
	return busy, ctx.Err()
}

// freeBusy asks for the busy times of the calendars. Those that cannot be read for the moment are asked for once
// more, after the pause that the provider wants, if there is time for it.
func (c calendarClient) freeBusy(
	ctx context.Context, asker calendar.FreeBusyer, ids []string, span calendar.Span,
) ([]calendar.Busy, error) {
	tell := func(ctx context.Context, op string, ids []string) ([]calendar.Busy, error) {
		return ask(ctx, c.endpoint, read(op), func(ctx context.Context) ([]calendar.Busy, error) {
			return asker.FreeBusy(ctx, ids, span)
		})
	}
	busy, err := tell(ctx, "free-busy", ids)
	if err != nil {
		return nil, err
	}
	var again []string
	var wait time.Duration
	for _, b := range busy {
		if mayWorkAgain(b.Unknown) || errors.Is(b.Unknown, fault.RateLimited) {
			again, wait = append(again, b.CalendarID), max(wait, fault.From(b.Unknown).RetryAfter)
		}
	}
	reading, cancel := calendar.WithShare(ctx, readingShare)
	defer cancel()
	end, ends := reading.Deadline()
	if len(again) == 0 || ends && time.Until(end) < wait || pause.For(reading, wait) != nil {
		return busy, nil
	}
	// As an operation of its own, so that a limit of these calendars alone pauses no search in the others.
	more, err := tell(reading, "free-busy-again", again)
	if err != nil {
		return busy, nil
	}
	isAgain := func(b calendar.Busy) bool { return slices.Contains(again, b.CalendarID) }
	return append(slices.DeleteFunc(busy, isAgain), more...), nil
}

// offers returns what to remember of the slots. The calendars of the input have their ids.
func (c calendarClient) offers(chosen []slots.Slot, q slots.Question, in FindSlots) []store.SlotOffered {
	offers := make([]store.SlotOffered, len(chosen))
	for i, each := range chosen {
		offer := store.SlotOffered{
			TenantID: c.connection.TenantID, ConnectionID: c.connection.ID, From: each.Start, To: each.End,
			OfferedAt: q.Now, TimeZone: q.Zone.String(), Availability: string(q.Availability),
			Before: q.Before, After: q.After, TentativeIsFree: q.TentativeIsFree,
		}
		for _, at := range each.Free {
			offer.CalendarIDs = append(offer.CalendarIDs, q.Calendars[at].ID)
		}
		offer.Rules = in.kept(offer.CalendarIDs)
		offer.ID = slotID(offer)
		offers[i] = offer
	}
	return offers
}

// slotID returns the id of a slot. It is the same whenever the slot is offered again. It is a name and no
// secret: it means something only where the store has it, for the connection that it was offered in.
func slotID(offer store.SlotOffered) string {
	of := struct {
		Connection string
		From, To   int64
		Calendars  []string
		Zone       string // in which a booking is answered, also when it is repeated
		Any        bool
		Around     buffer
		Tentative  bool   `json:",omitempty"` // what was accepted tentatively is free
		Rules      string `json:",omitempty"` // by which others are offered in its place
	}{
		offer.ConnectionID, offer.From.Unix(), offer.To.Unix(), offer.CalendarIDs, offer.TimeZone,
		slots.Availability(offer.Availability) == slots.Any, buffer{offer.Before, offer.After},
		offer.TentativeIsFree, strings.TrimPrefix(offer.Rules, noRules),
	}
	raw, err := json.Marshal(of)
	if err != nil {
		panic("service: a slot cannot be encoded: " + err.Error()) // strings and numbers always can
	}
	sum := sha256.Sum256(raw)
	return shortID(slotPrefix, sum[:])
}
