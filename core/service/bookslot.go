package service

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/language"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/slots"
	"frontdesk/core/speech"
	"frontdesk/core/store"
)

// Booking, moving and cancelling by reference are book-meeting, update-meeting and cancel-meeting with other
// names for the time and the meeting. The double booking of an offered slot is always prevented.

func spanOfOffer(o offered) calendar.Span { return calendar.Span{From: o.From, To: o.To} }

// BookSlot books the slot that the caller was offered, or holds.
func (s *Calendar) BookSlot(
	ctx context.Context, c apikey.Caller, w Write, in BookSlot,
) (Answer[record.BookedAnswer], error) {
	client, offer, err := s.openOffered(ctx, c, in.Offered)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	start, end, err := inputTimes(offer)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	booked, err := s.bookWith(ctx, client, c, w, BookMeeting{
		Title: in.Title, Description: in.Description, Start: start, End: end, Timezone: offer.zone().String(),
		Attendees: in.Attendees, CalendarIDs: offer.taken(), Conferencing: in.Conferencing,
		LocationURL: in.LocationURL, phone: in.Phone, terms: offer.terms(),
	})
	if err != nil {
		return Answer[record.BookedAnswer]{}, s.withNearest(ctx, client, offer, store.Meeting{}, err)
	}
	return bookedAnswer(ctx, booked, client.reference(booked.Record.Event.EventID), offer, speech.Booked)
}

// MoveMeeting moves a meeting to a slot that the caller was offered, or holds.
func (s *Calendar) MoveMeeting(
	ctx context.Context, c apikey.Caller, w Write, in MoveMeeting,
) (Answer[record.BookedAnswer], error) {
	client, offer, err := s.openOffered(ctx, c, in.Offered)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	meeting, err := client.meetingOf(ctx, in.Reference)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	start, end, err := inputTimes(offer)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	by := offer.terms()
	by.KeepsLength = !offer.rules.Length
	if slots.Availability(offer.Availability) == slots.Any {
		by.Calendars = nil // the meeting stays in its calendar
	}
	moved, err := s.updateWith(ctx, client, c, w, UpdateMeeting{
		EventID: meeting.EventID, Start: start, End: end, CalendarIDs: named(meeting.CalendarID), terms: by,
	})
	if err != nil {
		if now, unknown := client.meetingToMove(ctx, in.Reference); unknown == nil { // found in another calendar
			meeting = now
		}
		return Answer[record.BookedAnswer]{}, s.withNearest(ctx, client, offer, meeting, err)
	}
	return bookedAnswer(ctx, moved, in.Reference, offer, speech.Moved)
}

// CancelByReference cancels the meeting of a reference.
func (s *Calendar) CancelByReference(
	ctx context.Context, c apikey.Caller, w Write, reference string,
) (Answer[record.CancelledAnswer], error) {
	var none Answer[record.CancelledAnswer]
	client, err := s.open(ctx, c)
	if err != nil {
		return none, err
	}
	meeting, err := client.meetingOf(ctx, reference)
	if err != nil {
		return none, err
	}
	cancelled, err := s.Cancel(ctx, c, w,
		CancelMeeting{EventID: meeting.EventID, CalendarID: meeting.CalendarID, byReference: true})
	if err != nil {
		return none, err
	}
	return answerOf(record.CancelledAnswer{
		OK: true, MeetingReference: reference,
		Say: speech.In(language.Of(ctx)).Say(speech.Cancelled, time.Time{}, time.Time{}),
	}, cancelled.Replayed)
}

// openOffered opens the caller's calendar, and finds the slot there.
func (s *Calendar) openOffered(
	ctx context.Context, c apikey.Caller, by Offered,
) (calendarClient, offered, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return client, offered{}, err
	}
	offer, err := client.offered(ctx, by)
	return client, offer, err
}

// inputTimes returns the times of a slot as the input of a booking.
func inputTimes(o offered) (start, end normalize.InputTime, err error) {
	if start, err = normalize.ParseTime(o.From.UTC().Format(time.RFC3339), normalize.DateTime); err == nil {
		end, err = normalize.ParseTime(o.To.UTC().Format(time.RFC3339), normalize.DateTime)
	}
	if err != nil {
		return start, end, fault.From(fmt.Errorf("service: the times of a slot: %w", err))
	}
	return start, end, nil
}

// bookedAnswer returns the answer about a meeting that was booked or moved. A repeat gets the same one: the
// sentence always says the month, so that it does not depend on the day on which it is said.
func bookedAnswer(
	ctx context.Context, from Answer[record.MeetingAnswer], reference string, offer offered, about speech.Sentence,
) (Answer[record.BookedAnswer], error) {
	event := from.Record.Event
	start, err := time.Parse(time.RFC3339, event.StartTime)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	end, err := time.Parse(time.RFC3339, event.EndTime)
	if err != nil {
		return Answer[record.BookedAnswer]{}, err
	}
	return answerOf(record.BookedAnswer{
		MeetingReference: reference, Start: normalize.Format(start, offer.zone()),
		End: normalize.Format(end, offer.zone()), TimeZone: offer.zone().String(), EventURL: event.EventURL,
		Say: speech.In(language.Of(ctx)).Say(about, start.In(offer.zone()), time.Time{}),
	}, from.Replayed)
}

func answerOf[T any](record T, replayed bool) (Answer[T], error) {
	body, err := json.Marshal(record)
	return Answer[T]{Record: record, Body: body, Replayed: replayed}, err
}

// named returns a list with the id, or none for "", such as the default calendar.
func named(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}
