// Package calendar defines the contract between the gateway and a calendar provider. An adapter implements
// [Driver] for one account; the services use nothing else. Each method documents what a driver must do, and
// core/calendar/calendartest verifies it. Optional capabilities are small interfaces ([FreeBusyer],
// [ManyLister]). Facts about a provider are in [Traits].
//
// The types are loose on purpose: a driver returns what the provider sent, and core/normalize converts it
// into the interface's records.
package calendar

import (
	"context"
	"time"
)

// Driver is one tenant's calendar account. It is safe for concurrent use. It never retries and never sleeps
// between tries, because the guard around it does so. It holds no secrets; the client it was opened with
// holds them. Every error is a *fault.Error or the context's error.
type Driver interface {
	// Traits returns facts that are constant for the life of the driver. It sends no request.
	Traits() Traits

	// Account asks the provider whose account this is. It fails with fault.Disconnected if the provider
	// rejects the credentials, and never uses a cache.
	Account(ctx context.Context) (Account, error)

	// Calendars returns every calendar of the account that holds events, with the default one marked. It
	// follows all pages.
	Calendars(ctx context.Context) ([]Calendar, error)

	// Book creates one event in b.CalendarID ("" means the default calendar) and lets the provider notify the
	// attendees. With Traits().IdempotentBook, a second Book with the same Key in the same calendar creates
	// no second event and returns the event as it now is. If that event was cancelled since and
	// Traits().KeepsCancelled is set, Book fails with fault.Conflict, reason CHANGED_MEANWHILE. An unknown
	// calendar is fault.NotFound, reason CALENDAR_NOT_FOUND; a read-only one is fault.Forbidden. A meeting
	// link that cannot be created or carried is fault.Unsupported, reason CONFERENCING_UNAVAILABLE, and
	// nothing is booked. The returned event has ID, CalendarID, Version, Start, End and, with b.Conferencing,
	// URL set.
	Book(ctx context.Context, b Booking) (Event, error)

	// Event reads one event, or one instance of a series, by the id that Book or Events returned. If there is
	// none, it fails with fault.NotFound, reason EVENT_NOT_FOUND. A cancelled event is returned with
	// IsCancelled set if Traits().KeepsCancelled, and is not found otherwise. If ref.CalendarID is "", the
	// default calendar is used.
	Event(ctx context.Context, ref EventRef) (Event, error)

	// Change changes exactly what c names and leaves the rest alone; attendees who stay keep their responses.
	// With c.IfUnchanged set, a version that is no longer current is refused with fault.Conflict, reason
	// CHANGED_MEANWHILE, and nothing is written. Change returns the event as it is after the change. Changing
	// an instance of a series changes that instance alone. An event that does not exist, or was cancelled, is
	// fault.NotFound, reason EVENT_NOT_FOUND. One that somebody else organizes is fault.Forbidden, reason
	// PROVIDER_PERMISSION_DENIED, and nothing is written, because only the account's copy would change. If c
	// names nothing, Change writes nothing and returns the event as it is.
	Change(ctx context.Context, ref EventRef, c Change) (Event, error)

	// Cancel removes the event, or one instance of a series, and lets the provider notify the attendees. An
	// event that is already gone, or never existed, is fault.NotFound, reason EVENT_NOT_FOUND. If the
	// provider reports that it existed once (Google's 410), the fault has the metadata MetaGone. If somebody
	// else organizes the event, Cancel removes only the account's copy and lets the provider notify the
	// organizer.
	Cancel(ctx context.Context, ref EventRef) error

	// Events reads one page of one calendar: the events and expanded instances that overlap [q.From, q.To),
	// in any order. Page.Next is the cursor of the following page, "" on the last. A page may be empty.
	// Events that Cancel removed are listed only if Traits().KeepsCancelled. Events that the provider itself
	// reports as cancelled, such as an invitation that its organizer withdrew, are listed with IsCancelled.
	// Listed events may lack their Description, which can be longer than all the rest of the list.
	// An unknown calendar is fault.NotFound, reason CALENDAR_NOT_FOUND, here and in the optional calls.
	Events(ctx context.Context, q Query) (Page, error)
}

// MetaGone is the metadata of a fault, with any value, by which a provider tells that the calendar had the event.
const MetaGone = "gone"

// FreeBusyer is a Driver that can ask for busy times alone, which is cheaper than reading events.
type FreeBusyer interface {
	// FreeBusy returns the busy times of the calendars within the span, in any order, overlapping or not. A
	// time is busy as in Events: not where the event is cancelled, free, or declined by the account. A
	// calendar whose times cannot be read is busy for the whole span, with Unknown set. If no calendar can be
	// read, FreeBusy may fail instead. Whole days and floating times lie in the calendar's zone, or in the
	// tenant's where the provider reports none.
	FreeBusy(ctx context.Context, calendarIDs []string, span Span) ([]Busy, error)
}

// HoursTeller is a Driver that knows when the account's owner works.
type HoursTeller interface {
	// WorkingHours returns the owner's working week, or ok false if the provider does not tell it.
	WorkingHours(ctx context.Context) (w WorkingWeek, ok bool, err error)
}

// WorkingWeek is the same hours on some days of every week.
type WorkingWeek struct {
	Days       []time.Weekday
	Start, End time.Duration  // after midnight; an End that is not after Start is on the next day
	Zone       *time.Location // nil: that of the calendar
}

// ManyLister is a Driver whose provider can read several calendars in one call.
type ManyLister interface {
	// EventsOf returns a page per query, in the order of the queries, and fails as a whole if one fails. Where the
	// provider has answered the others, the fault's cause is ErrOnePart.
	EventsOf(ctx context.Context, queries []Query) ([]Page, error)
}

// Traits are facts about a provider and account that callers must know. The zero value promises nothing.
type Traits struct {
	IdempotentBook bool // a repeated Book with the same Key makes no second event
	SendsInvites   bool // the provider itself notifies attendees of book, change and cancel
	IDsPerCalendar bool // an event id is valid only with its calendar id

	// IDsTellCalendar is set if an event is found by its id where no calendar is named, with the CalendarID of its own.
	IDsTellCalendar bool
	KeepsCancelled  bool // a cancelled event can still be read
	Instances       bool // instances of a series can be changed and cancelled one by one

	Conferencing bool // Book can create a meeting link (ConferencingProvider)
	LocationURL  bool // Book can carry a link given by the caller (ConferencingURL)

	MaxAttendees    int  // per event; 0 if the provider has no limit
	MaxConcurrent   int  // concurrent calls per connection that the provider allows; 0 if no limit is known
	ConsistentReads bool // a write is visible to the very next Events
}

// Account is the account that the credentials belong to, as the provider reports it.
type Account struct {
	Email string // the account's address; "" if the provider reports none
	Name  string // display name; may be ""
}

// Calendar is one calendar of the account.
type Calendar struct {
	ID        string // the provider's own id
	Alias     string // another id that the provider takes for it; "" if there is none
	Name      string // display name
	Zone      string // IANA name; "" if the provider reports none
	IsDefault bool   // used by calls that name no calendar
	ReadOnly  bool   // events can be read but not written
}

// Time is a moment as providers report it, in exactly one of three forms:
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

// Conferencing is the kind of meeting link that a booking requests.
type Conferencing string

// The kinds of meeting link.
const (
	ConferencingNone     Conferencing = ""
	ConferencingProvider Conferencing = "provider" // the provider creates one
	ConferencingURL      Conferencing = "url"      // Booking.LocationURL is the link
)

// Booking is an event to create.
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

// Change describes a change of an event. Nil fields stay unchanged. Attendees replaces the whole list; an
// empty list clears it.
type Change struct {
	IfUnchanged string // the Version that was read; "" skips the check
	Title       *string
	Description *string
	Start, End  *time.Time // both or neither; with Zone
	Zone        string     // IANA name the new times are kept in
	Attendees   *[]string  // addr-specs
}

// Event is an event, or one instance of a series, as the provider returned it.
type Event struct {
	ID          string // the provider's own; each instance of a series has its own id too
	CalendarID  string
	SeriesID    string // id of the series that an instance is of, or was split from; of a series its own; "" otherwise
	Version     string // opaque; changes with every change (ETag, change key)
	Title       string
	Description string
	Start, End  Time
	Organizer   Person
	Attendees   []Attendee
	URL         string // the meeting link when there is one, else the provider's page of the event, else ""
	IsCancelled bool
	IsFree      bool // does not make its owner busy, as with TRANSP:TRANSPARENT

	// OwnerResponse is the answer of the calendar's owner to the invitation, in the words of Attendee.Response. It
	// is "" where the provider does not tell whose the calendar is: then the account's counts.
	OwnerResponse string
}

// Person is a name and address.
type Person struct{ Email, Name string }

// Attendee is one invited person or resource. Type and Response hold the common words if the driver knows
// them ("required", "optional", "resource"; "needs_action", "accepted", "declined", "tentative"), and the
// provider's own otherwise. core/normalize maps the words that it knows and falls back to "required" and
// "needs_action".
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
	Zone       string // IANA name of the zone for floating and all-day times
	Cursor     string // Page.Next of the page before; "" for the first
	Limit      int    // the most events wanted in the page; 0 leaves it to the driver
}

// Page is one page of the events for a Query.
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
	Unknown    error // why the calendar's times cannot be read, if they cannot
}
