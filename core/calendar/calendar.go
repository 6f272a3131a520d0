// Package calendar is the contract between the gateway and a calendar provider. An adapter implements
// [Driver] for one account; the services speak to nothing else. What a driver must do is said here at each
// method and proven by core/calendar/calendartest; what it may also do is a small optional interface
// ([FreeBusyer], [ManyLister]); what is merely so about a provider is a fact in [Traits].
//
// The types are loose on purpose: a driver hands over what the provider said, and core/normalize makes the
// interface's records of it.
package calendar

import (
	"context"
	"time"
)

// Driver is one tenant's calendar account. It is safe for concurrent use. It never retries, never sleeps
// between tries and holds no secret: the guard around it does the first two, the client it was opened with
// the third. Every error is a *fault.Error, or the context's.
type Driver interface {
	// Traits are constant for the life of the driver and cost nothing to ask.
	Traits() Traits

	// Account asks the provider live whose account this is. It fails with fault.Disconnected when the
	// provider refuses the credentials, and never answers from a cache.
	Account(ctx context.Context) (Account, error)

	// Calendars lists every calendar of the account that holds events, the default one marked. All pages are
	// followed.
	Calendars(ctx context.Context) ([]Calendar, error)

	// Book creates one event in b.CalendarID ("" means the default calendar) and lets the provider notify the
	// attendees. Where Traits().IdempotentBook, a second Book with the same Key in the same calendar makes no
	// second event and answers with the event as it now is; an event of that key that was cancelled since is
	// answered, where Traits().KeepsCancelled, with fault.Conflict, reason CHANGED_MEANWHILE. An unknown
	// calendar is fault.NotFound, reason CALENDAR_NOT_FOUND; one that can only be read is fault.Forbidden. A
	// meeting link that cannot be made or carried is fault.Unsupported, reason CONFERENCING_UNAVAILABLE, and
	// nothing is booked. The event answered has ID, CalendarID, Version, Start, End and, with b.Conferencing,
	// URL set.
	Book(ctx context.Context, b Booking) (Event, error)

	// Event reads one event, or one instance of a series, by the id that Book or Events gave.
	// fault.NotFound, reason EVENT_NOT_FOUND, when there is none; a cancelled event is found where
	// Traits().KeepsCancelled, with IsCancelled set, and not found elsewhere.
	// With ref.CalendarID "" the default calendar is meant.
	Event(ctx context.Context, ref EventRef) (Event, error)

	// Change changes exactly what c names and leaves the rest alone; attendees who stay keep their answers.
	// With c.IfUnchanged set, a version that is no longer current is refused with fault.Conflict, reason
	// CHANGED_MEANWHILE, and nothing is written. The event answered is as it is after the change. Changing an
	// instance of a series changes that instance alone. An event that is not there, or was cancelled, is
	// fault.NotFound, reason EVENT_NOT_FOUND. One that somebody else organizes is fault.Forbidden, reason
	// PROVIDER_PERMISSION_DENIED, and nothing is written: a change of the account's copy would be one that
	// nobody else knows of. A c that names nothing writes nothing and is answered with the event as it is.
	Change(ctx context.Context, ref EventRef, c Change) (Event, error)

	// Cancel removes the event, or one instance of a series, and lets the provider notify the attendees. An
	// event that is already gone, or never was, is fault.NotFound, reason EVENT_NOT_FOUND; where the provider
	// says that it was there once (Google's 410), the fault carries Metadata["gone"]="true". With
	// c.IfUnchanged set, a version that is no longer current is refused as by Change. Of an event that
	// somebody else organizes it removes the account's copy, and lets the provider tell the organizer; for
	// everybody else the event goes on.
	Cancel(ctx context.Context, ref EventRef, c Cancellation) error

	// Events reads one page of one calendar: the events and expanded instances that overlap [q.From, q.To),
	// in any order. Page.Next is the cursor of the following page, "" on the last. A page may be empty. What
	// Cancel removed is listed only where Traits().KeepsCancelled; what the provider itself says is
	// cancelled, such as an invitation that its organizer withdrew, is listed with IsCancelled. An unknown
	// calendar is fault.NotFound, reason CALENDAR_NOT_FOUND, here and in the optional calls.
	Events(ctx context.Context, q Query) (Page, error)
}

// FreeBusyer is a Driver that can ask for busy times alone, which is cheaper than reading events.
type FreeBusyer interface {
	// FreeBusy returns the busy times of the calendars within the span, in any order, overlapping or not.
	// It fails as a whole when one calendar's times cannot be had.
	FreeBusy(ctx context.Context, calendarIDs []string, span Span) ([]Busy, error)
}

// ManyLister is a Driver whose provider can read several calendars in one call.
type ManyLister interface {
	// EventsOf returns a page per query, in the queries' order, and fails as a whole when one fails.
	EventsOf(ctx context.Context, queries []Query) ([]Page, error)
}

// Traits are facts about a provider and account that callers must know. The zero value promises nothing.
type Traits struct {
	IdempotentBook bool // a repeated Book with the same Key makes no second event
	SendsInvites   bool // the provider itself notifies attendees of book, change and cancel
	IDsPerCalendar bool // an event id says nothing without its calendar id
	KeepsCancelled bool // a cancelled event can still be read
	Instances      bool // instances of a series can be changed and cancelled one by one
	ReadOnly       bool // nothing can be written

	Conferencing bool // Book can make a meeting link of its own (ConferencingProvider)
	LocationURL  bool // Book can carry a link given by the caller (ConferencingURL)

	MaxAttendees    int  // per event; 0 is no limit of the provider's own
	MaxConcurrent   int  // calls at one time on one connection that the provider allows; 0 is no limit known
	ConsistentReads bool // a write is visible to the very next Events
}

// Account is who the provider says the credentials belong to.
type Account struct {
	Email string // the account's address; "" when the provider tells none
	Name  string // display name; may be ""
}

// Calendar is one calendar of the account.
type Calendar struct {
	ID        string // the provider's own id
	Name      string // display name
	Zone      string // IANA name, "" when the provider tells none
	IsDefault bool   // the one that is meant when none is named
	ReadOnly  bool   // events can be read but not written
}

// Time is a moment as providers tell it. Exactly one of three forms:
// an instant with a zone to show it in (Instant set, Zone an IANA name or ""),
// a floating local time (Floating true, Instant holding the wall clock as if UTC), or
// a whole day (AllDay true, Instant holding its midnight as if UTC).
type Time struct {
	Instant  time.Time
	Zone     string
	Floating bool // RFC 5545 section 3.3.5 form 1: the same wall clock in every zone
	AllDay   bool // a date without a time; an event's end date is exclusive
}

// At returns an instant to be shown in the zone.
func At(t time.Time, zone string) Time { return Time{Instant: t, Zone: zone} }

// Day returns an all-day boundary.
func Day(year int, month time.Month, day int) Time {
	return Time{Instant: time.Date(year, month, day, 0, 0, 0, 0, time.UTC), AllDay: true}
}

// Conferencing says what kind of meeting link a booking asks for.
type Conferencing string

// The kinds of meeting link.
const (
	ConferencingNone     Conferencing = ""
	ConferencingProvider Conferencing = "provider" // the provider makes one
	ConferencingURL      Conferencing = "url"      // Booking.LocationURL is it
)

// Booking is an event to be made.
type Booking struct {
	Key          string // 1 to 64 characters of [a-z0-9]; names the event across retries
	CalendarID   string // "" is the default calendar
	Title        string
	Description  string // plain text, may be ""
	Start, End   time.Time
	Zone         string // IANA name the event is kept in; never ""
	Attendees    []string
	Conferencing Conferencing
	LocationURL  string // with ConferencingURL
}

// EventRef names an event.
type EventRef struct {
	CalendarID string // "" is the default calendar
	ID         string
}

// Change is what to change of an event: nil fields stay. A *Attendees replaces the whole list, an empty list
// clears it.
type Change struct {
	IfUnchanged string // the Version read; "" does not check
	Title       *string
	Description *string
	Start, End  *time.Time // both or neither; with Zone
	Zone        string     // IANA name the new times are kept in
	Attendees   *[]string  // addr-specs
}

// Cancellation is how to cancel.
type Cancellation struct {
	Comment     string // shown to the attendees where the provider can
	IfUnchanged string // the Version read; "" does not check
}

// Event is an event, or one instance of a series, as the provider told it.
type Event struct {
	ID          string // the provider's own; for an instance of a series its own id too
	CalendarID  string
	SeriesID    string // the id of the series an instance belongs to; "" otherwise
	Version     string // opaque; changes with every change (ETag, change key)
	Title       string
	Description string
	Start, End  Time
	Organizer   Person
	Attendees   []Attendee
	URL         string // the meeting link when there is one, else the provider's page of the event, else ""
	IsCancelled bool
	IsFree      bool // does not make its owner busy (TRANSP:TRANSPARENT)
}

// Person is a name and address.
type Person struct{ Email, Name string }

// Attendee is one invited. Type and Response hold the common words where the driver knows them ("required",
// "optional", "resource"; "needs_action", "accepted", "declined", "tentative"), the provider's own otherwise:
// core/normalize maps what it knows and falls back to "required" and "needs_action".
type Attendee struct {
	Email    string
	Name     string
	Type     string
	Response string
}

// Query asks for one page of one calendar.
type Query struct {
	CalendarID string // "" is the default calendar
	From, To   time.Time
	Zone       string // IANA name: where floating and all-day times lie
	Cursor     string // Page.Next of the page before; "" for the first
	Limit      int    // the most events wanted in the page; 0 leaves it to the driver
}

// Page is a part of the answer to a Query.
type Page struct {
	Events []Event
	Next   string
}

// Span is a stretch of time, the end exclusive.
type Span struct{ From, To time.Time }

// Busy is one busy stretch of a calendar.
type Busy struct {
	CalendarID string
	Span       Span
	EventID    string // "" when the provider does not tell
}
