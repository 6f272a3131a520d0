package calendartest_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

// booking alters the argument of Book.
func booking(alter func(*Booking)) func(harness) harness {
	return mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
		alter(&b)
		return d.Book(ctx, b)
	}})
}

// alteringEvents alters every event that a call returns.
func alteringEvents(alter func(*Event)) func(harness) harness {
	return mutate(mutation{everyEvent: alter})
}

// answering alters the result of Book alone.
func answering(alter func(*Event)) func(harness) harness {
	return mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
		e, err := d.Book(ctx, b)
		alter(&e)
		return e, err
	}})
}

func shorten(s string, limit int) string { return s[:min(limit, len(s))] }

func bookMutants() []mutantOf {
	const (
		answered        = "a booked event is answered with its id, calendar, version and times"
		title           = "a title is kept exactly"
		description     = "a description is kept exactly"
		zone            = "an event is kept in the zone it is booked in"
		fold            = "instants in the hour that a clock shows twice are kept"
		invited         = "attendees are invited"
		many            = "as many attendees as the traits allow are invited"
		made            = "the provider makes a meeting link of its own for each event"
		given           = "a link given by the caller is carried"
		standard        = "no calendar named is the default one"
		inNamedCalendar = "an event is booked in the calendar named and in no other"
		notified        = "attendees are notified of booking, change and cancellation"
	)
	return []mutantOf{
		{Check: answered, How: "no id", Mutate: answering(func(e *Event) { e.ID = "" })},
		{Check: answered, How: "no calendar", Mutate: answering(func(e *Event) { e.CalendarID = "" })},
		{Check: answered, How: "no version", Mutate: answering(func(e *Event) { e.Version = "" })},
		{Check: answered, How: "no end", Mutate: answering(func(e *Event) { e.End = calendar.Time{} })},
		{Check: answered, How: "floating", Mutate: answering(func(e *Event) { e.Start.Floating = true })},
		{Check: answered, How: "no title", Mutate: answering(func(e *Event) { e.Title = "" })},
		{Check: title, How: "cut", Mutate: booking(func(b *Booking) { b.Title = shorten(b.Title, 255) })},
		{Check: title, How: "unescaped twice",
			Mutate: alteringEvents(func(e *Event) { e.Title = strings.ReplaceAll(e.Title, `\n`, "\n") })},
		{Check: title, How: "HTML", Mutate: alteringEvents(func(e *Event) {
			e.Title = strings.ReplaceAll(e.Title, "&amp;", "&")
		})},
		{Check: title, How: "composed",
			Mutate: booking(func(b *Booking) { b.Title = strings.ReplaceAll(b.Title, "e\u0301", "é") })},
		{Check: title, How: "ends at a comma",
			Mutate: booking(func(b *Booking) { b.Title, _, _ = strings.Cut(b.Title, ",") })},
		{Check: title, How: "folded within a letter", Mutate: booking(func(b *Booking) {
			if len(b.Title) > 75 {
				b.Title = strings.ToValidUTF8(b.Title[:75], "?") + strings.ToValidUTF8(b.Title[75:], "?")
			}
		})},
		{Check: description, How: "lines joined",
			Mutate: booking(func(b *Booking) { b.Description = strings.ReplaceAll(b.Description, "\n", " ") })},
		{Check: description, How: "CRLF",
			Mutate: alteringEvents(func(e *Event) {
				e.Description = strings.ReplaceAll(e.Description, "\n", "\r\n")
			})},
		{Check: description, How: "tags taken out",
			Mutate: alteringEvents(func(e *Event) { e.Description = strings.ReplaceAll(e.Description, "<b>", "") })},
		{Check: description, How: "entities read",
			Mutate: alteringEvents(func(e *Event) { e.Description = strings.ReplaceAll(e.Description, "&lt;", "<") })},
		{Check: description, How: "tabs to spaces",
			Mutate: alteringEvents(func(e *Event) { e.Description = strings.ReplaceAll(e.Description, "\t", " ") })},
		{Check: description, How: "cut",
			Mutate: booking(func(b *Booking) { b.Description = shorten(b.Description, 4096) })},
		{Check: description, How: "lost", Mutate: booking(func(b *Booking) { b.Description = "" })},
		{Check: description, How: "the title where there is none", Mutate: booking(func(b *Booking) {
			if b.Description == "" {
				b.Description = b.Title
			}
		})},
		{Check: zone, How: "in UTC", Mutate: booking(func(b *Booking) { b.Zone = "UTC" })},
		{Check: zone, How: "in the calendar's", Mutate: booking(func(b *Booking) { b.Zone = "Europe/Berlin" })},
		{Check: zone, How: "by its offset", Mutate: alteringEvents(func(e *Event) {
			if e.Start.Zone == "Europe/Berlin" {
				e.Start.Zone = "Etc/GMT-1"
			}
		})},
		{Check: zone, How: "whole hours", Mutate: booking(func(b *Booking) {
			if b.Zone == "Asia/Kathmandu" {
				b.Start = b.Start.Add(15 * time.Minute)
			}
		})},
		{Check: fold, How: "always the first pass", Mutate: booking(func(b *Booking) {
			loc, _ := time.LoadLocation(b.Zone)
			wall := func(t time.Time) time.Time {
				l := t.In(loc)
				return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, loc)
			}
			b.Start, b.End = wall(b.Start), wall(b.End)
		})},
		{Check: invited, How: "the first alone", Mutate: booking(func(b *Booking) {
			if len(b.Attendees) > 0 {
				b.Attendees = b.Attendees[:1]
			}
		})},
		{Check: invited, How: "nobody", Mutate: booking(func(b *Booking) { b.Attendees = nil })},
		{Check: invited, How: "answered for them", Mutate: alteringEvents(func(e *Event) {
			for i := range e.Attendees {
				e.Attendees[i].Response = "accepted"
			}
		})},
		{Check: "an event without attendees has none", How: "a stranger", Mutate: booking(func(b *Booking) {
			if len(b.Attendees) == 0 {
				b.Attendees = []string{"stranger@example.com"}
			}
		})},
		{Check: many, How: "the first hundred",
			Mutate: booking(func(b *Booking) { b.Attendees = b.Attendees[:min(100, len(b.Attendees))] })},
		{Check: many, How: "listed short",
			Mutate: alteringEvents(func(e *Event) { e.Attendees = e.Attendees[:min(100, len(e.Attendees))] })},
		{Check: made, How: "none", Mutate: booking(func(b *Booking) {
			b.Conferencing = calendar.ConferencingNone
		})},
		{Check: made, How: "one for all",
			Mutate: alteringEvents(func(e *Event) { e.URL = "https://meet.example.net/room" })},
		{Check: made, How: "no address", Mutate: alteringEvents(func(e *Event) { e.URL = "Teams" })},
		{Check: made, How: "in the answer alone",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				e, err := d.Event(ctx, ref)
				e.URL = ""
				return e, err
			}})},
		{Check: "a link of the provider's that cannot be made is refused before anything is booked",
			How:    "books without",
			Mutate: booking(noLink)},
		{Check: "a link of the provider's that cannot be made is refused before anything is booked",
			How:    "books, then refuses",
			Mutate: mutate(mutation{book: bookThenRefuse})},
		{Check: "a link given by the caller that cannot be carried is refused before anything is booked",
			How:    "books without",
			Mutate: booking(noLink)},
		{Check: given, How: "lost", Mutate: booking(noLink)},
		{Check: given, How: "tidied", Mutate: booking(func(b *Booking) {
			b.LocationURL, _, _ = strings.Cut(b.LocationURL, "#")
		})},
		{Check: given, How: "escaped",
			Mutate: alteringEvents(func(e *Event) { e.URL = strings.ReplaceAll(e.URL, ",", `\,`) })},
		{Check: given, How: "left in the description",
			Mutate: booking(func(b *Booking) { b.Description += "\n\n" + b.LocationURL })},
		{Check: standard, How: "the second", Mutate: booking(func(b *Booking) {
			if b.CalendarID == "" {
				b.CalendarID = second
			}
		})},
		{Check: standard, How: "not found unnamed",
			Mutate: mutate(mutation{event: func(ctx context.Context, d full, ref EventRef) (Event, error) {
				if ref.CalendarID == "" {
					return Event{}, fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "No calendar.")
				}
				return d.Event(ctx, ref)
			}})},
		{Check: standard, How: "lists another",
			Mutate: mutate(mutation{events: func(ctx context.Context, d full, q Query) (Page, error) {
				if q.CalendarID == "" {
					q.CalendarID = second
				}
				return d.Events(ctx, q)
			}})},
		{Check: inNamedCalendar, How: "always the first",
			Mutate: booking(func(b *Booking) { b.CalendarID = first })},
		{Check: inNamedCalendar, How: "lists them all",
			Mutate: mutate(mutation{events: func(ctx context.Context, d full, q Query) (Page, error) {
				q.CalendarID = first
				one, err := d.Events(ctx, q)
				if err != nil {
					return one, err
				}
				q.CalendarID = second
				other, err := d.Events(ctx, q)
				return Page{Events: append(one.Events, other.Events...)}, err
			}})},
		{Check: "booking in an unknown calendar is CALENDAR_NOT_FOUND", How: "the default one instead",
			Mutate: booking(func(b *Booking) { b.CalendarID = "" })},
		{Check: "booking in an unknown calendar is CALENDAR_NOT_FOUND", How: "the event is not found",
			Mutate: mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				e, err := d.Book(ctx, b)
				if err != nil {
					err = fault.New(fault.NotFound, fault.ReasonEventNotFound, "No event.")
				}
				return e, err
			}})},
		{Check: notified, How: "not of changes",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, _ Change) (Event, error) {
				return d.Event(ctx, ref)
			}})},
		{Check: notified, How: "nobody", Mutate: booking(func(b *Booking) { b.Attendees = nil })},
		{Check: notified, How: "twice of changes",
			Mutate: mutate(mutation{change: func(ctx context.Context, d full, ref EventRef, c Change) (Event, error) {
				if e, err := d.Change(ctx, ref, c); err != nil {
					return e, err
				}
				c.IfUnchanged = ""
				return d.Change(ctx, ref, c)
			}})},
	}
}

func noLink(b *Booking) { b.Conferencing, b.LocationURL = calendar.ConferencingNone, "" }

func bookThenRefuse(ctx context.Context, d full, b Booking) (Event, error) {
	if b.Conferencing != calendar.ConferencingProvider {
		return d.Book(ctx, b)
	}
	noLink(&b)
	if e, err := d.Book(ctx, b); err != nil {
		return e, err
	}
	return Event{}, fault.New(fault.Unsupported, fault.ReasonConferencing, "No links.")
}

func keyMutants() []mutantOf {
	const (
		again     = "booking again under the same key answers the event as it now is"
		atOnce    = "booking many times at once under one key makes one event"
		cancelled = "booking again under the key of a cancelled event is CHANGED_MEANWHILE"
		differ    = "keys that differ make events that differ"
	)
	return []mutantOf{
		{Check: again, How: "books anew", Mutate: mutateAfresh(anotherKey)},
		{Check: again, How: "refuses", Mutate: mutateAfresh(refuseRepeat)},
		{Check: again, How: "answers what was booked first", Mutate: mutateAfresh(func() mutation {
			var known once[Event]
			return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				return known.get(b.Key, func() (Event, error) { return d.Book(ctx, b) })
			}}
		})},
		{Check: again, How: "writes it over", Mutate: mutateAfresh(func() mutation {
			return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				e, err := d.Book(ctx, b)
				if err != nil || e.Title == b.Title {
					return e, err
				}
				return d.Change(ctx, EventRef{CalendarID: e.CalendarID, ID: e.ID}, Change{Title: &b.Title})
			}}
		})},
		{Check: atOnce, How: "looks, then books", Mutate: mutateAfresh(func() mutation {
			var mu sync.Mutex
			made := map[string]Event{}
			another := anotherKey()
			return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				mu.Lock()
				e, there := made[b.Key]
				mu.Unlock()
				if there {
					return e, nil
				}
				time.Sleep(time.Millisecond) // on synctest's clock: until all have looked
				e, err := another.book(ctx, d, b)
				mu.Lock()
				made[b.Key] = e
				mu.Unlock()
				return e, err
			}}
		})},
		{Check: atOnce, How: "one wins, the others fail", Mutate: mutateAfresh(refuseRepeat)},
		{Check: cancelled, How: "books anew", Mutate: mutateAfresh(anotherKey)},
		{Check: cancelled, How: "another reason", Mutate: mutateAfresh(refuseRepeat)},
		{Check: cancelled, How: "answers the cancelled one", Mutate: mutateAfresh(func() mutation {
			var known once[Event]
			return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				return known.get(b.Key, func() (Event, error) { return d.Book(ctx, b) })
			}}
		})},
		{Check: differ, How: "goes by the title", Mutate: booking(func(b *Booking) { b.Key = b.Title })},
		{Check: differ, How: "keys are cut", Mutate: booking(func(b *Booking) { b.Key = b.Key[len(b.Key)-20:] })},
		{Check: differ, How: "letters are refused",
			Mutate: mutate(mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
				if strings.ContainsAny(b.Key, "wxyz") {
					return Event{}, fault.New(fault.Invalid, fault.ReasonProviderRefused, "Bad id.")
				}
				return d.Book(ctx, b)
			}})},
		{Check: "a key names an event within its calendar only", How: "within the account",
			Mutate: mutateAfresh(func() mutation {
				var known once[Event]
				return mutation{book: func(ctx context.Context, d full, b Booking) (Event, error) {
					return known.get(b.Key, func() (Event, error) { return d.Book(ctx, b) })
				}}
			})},
	}
}
