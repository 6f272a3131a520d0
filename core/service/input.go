package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/phonenumber"
	"frontdesk/core/slots"
)

// BookMeeting is the input of book-meeting. Its times are parsed but not yet placed in a zone, since that may
// need the calendar's zone.
type BookMeeting struct {
	Title        string
	Description  string
	Start, End   normalize.InputTime
	Timezone     string // IANA name or ""
	Attendees    []string
	CalendarIDs  []string
	Conferencing calendar.Conferencing
	LocationURL  string

	phone string // of whom it is booked for, in E.164
	terms *terms // nil: the caller chose the time freely
}

// UpdateMeeting is the input of update-meeting; zero values mean not given.
type UpdateMeeting struct {
	EventID     string
	Title       string
	Description string
	Start, End  normalize.InputTime
	Timezone    string
	Attendees   []string
	CalendarIDs []string

	terms *terms // nil: the caller chose the time freely
}

// ListEvents is the input of list-events; zero values mean not given.
type ListEvents struct {
	Start, End  normalize.InputTime
	Timezone    string
	CalendarIDs []string
}

// FindSlots is the input of find-slots; zero values mean not given.
type FindSlots struct {
	Start, End          normalize.InputTime
	Timezone            string
	CalendarIDs         []string
	Availability        slots.Availability
	Rules               slots.Rules
	SpecificTimes       map[slots.Date][]slots.Opening // before those of the rules
	RescheduleMeetingID string                         // its time does not count as busy; an id of the provider's or a reference
	HoldID              string                         // nor does this hold
	Limit, PerDay       *int

	movesIn string // the calendar of the meeting that is to be moved; "": it is not known
}

// searched returns the calendars in which slots must be free. A meeting that is to be moved stays in its calendar, so
// that one has to be free in any case, and it alone if any calendar is enough.
func (in FindSlots) searched() []string {
	switch {
	case in.movesIn == "" || in.Availability != slots.Any && slices.Contains(in.CalendarIDs, in.movesIn):
		return in.CalendarIDs
	case in.Availability == slots.Any:
		return []string{in.movesIn}
	}
	return append(slices.Clone(in.CalendarIDs), in.movesIn)
}

// Offered names a slot that the caller was offered, by the id of the slot or of a hold on it.
type Offered struct {
	SlotID string
	HoldID string
}

// HoldSlot is the input of hold-slot.
type HoldSlot struct {
	SlotID string
	For    time.Duration
	Phone  string // of the caller, in E.164; "" if not known
	Moves  string // reference of the meeting that is to be moved there; its time does not count as busy
}

// BookSlot is the input of book-slot.
type BookSlot struct {
	Offered

	Title        string
	Description  string
	Attendees    []string
	Phone        string // of whom it is booked for, in E.164; "" if not known
	Conferencing calendar.Conferencing
	LocationURL  string
}

// FindMeetings is the input of find-meetings; zero values mean not given.
type FindMeetings struct {
	Email       string
	Phone       string // in E.164
	Start, End  normalize.InputTime
	Timezone    string
	CalendarIDs []string
}

// MoveMeeting is the input of move-meeting.
type MoveMeeting struct {
	Offered

	Reference string
}

// CancelMeeting is the input of cancel-meeting.
type CancelMeeting struct {
	EventID    string
	CalendarID string

	byReference bool // CalendarID is where the gateway knows the meeting, and names no copy of it
}

// CreateTicket is the input of create-ticket; zero values mean not given.
type CreateTicket struct {
	Subject     string
	Description string
	Priority    string
	Status      string
	OwnerID     string
	AccountID   string
	ContactID   string
}

// LookUpCaller is the input of look-up: a telephone number or an e-mail address.
type LookUpCaller struct {
	Phone    phonenumber.Number
	Email    string // in lower case
	Withheld bool   // the platform knows no number that could be looked up
}

// BuyNumber is the input of buying a number.
type BuyNumber struct {
	AreaCode string
	Name     string // "": the number itself
	Inbound  *int64
	Outbound *int64
}

// CheckAreaCode returns what is wrong with an area code of the North American Numbering Plan, or "".
func CheckAreaCode(code string) string {
	if len(code) != 3 || code[0] < '2' || strings.Trim(code, "0123456789") != "" {
		return "must be three digits, the first of them 2 to 9"
	}
	if !normalize.IsAssignedAreaCode(code) {
		return "is not an assigned geographic area code of the North American Numbering Plan"
	}
	return ""
}

// longestNumberName is the most characters that the name of a phone number may have.
const longestNumberName = 64

// CheckNumberName returns the name of a phone number without surrounding space, and what is wrong with it, or
// "".
func CheckNumberName(given string) (name, wrong string) {
	name = strings.TrimSpace(given)
	switch n := len([]rune(name)); {
	case n == 0:
		wrong = "must not be blank"
	case n > longestNumberName:
		wrong = fmt.Sprintf("is %d characters long, at most %d are allowed", n, longestNumberName)
	case strings.ContainsAny(name, "\n\t"):
		wrong = "must be one line without tabs"
	}
	return name, wrong
}

// UpdateNumber is the input of updating a number. A nil Name is not given.
type UpdateNumber struct {
	ID       int64
	Name     *string
	Inbound  EmployeeChange
	Outbound EmployeeChange
}

// EmployeeChange is a change of an assigned cloud employee. Set means that the field was given.
type EmployeeChange struct {
	Set bool
	ID  *int64 // nil clears the assignment
}

// secondOf returns the second in which a meeting begins or ends, in UTC. Calendars keep no parts of one (RFC 5545
// section 3.3.12), so that the meeting that was asked for is known by its times only without them. Plans have them, so
// that a repeat of a request that an earlier version recorded equals it.
func secondOf(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// secondIn returns the second of a time, which lies in the zone if it has none of its own.
func secondIn(t calendar.Time, zone *time.Location) time.Time {
	return secondOf(normalize.Instant(t, zone))
}

// defaultListDays is the length of the window of list-events if no end is given.
const defaultListDays = 7

// windowOfInput returns the window that a request names, in the zone. Without a start it begins now, and without an end
// it has the usual days of the zone, of which one in which clocks change has not 24 hours.
func windowOfInput(
	start, end normalize.InputTime, zone *time.Location, now time.Time, usualDays int,
) calendar.Span {
	w := calendar.Span{From: now}
	if !start.IsZero() {
		w.From = start.In(zone)
	}
	w.To = normalize.AddDays(w.From, usualDays, zone)
	if !end.IsZero() {
		w.To = end.In(zone)
	}
	return w
}

// checkWindow returns an error for a window without a length, or one of more than so many days: by the hours of usual
// ones, and by the calendar of the zone as well, in which the day on which clocks are turned back has an hour more.
func checkWindow(w calendar.Span, zone *time.Location, days int) error {
	switch {
	case !w.To.After(w.From):
		return fault.InvalidField("end", "must be after start. Without a start, the window begins now.")
	case w.To.Sub(w.From) > time.Duration(days)*24*time.Hour && w.To.After(normalize.AddDays(w.From, days, zone)):
		return fault.InvalidField("end", fmt.Sprintf("must be at most %d days after start.", days))
	}
	return nil
}
