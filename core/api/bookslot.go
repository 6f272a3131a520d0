package api

import (
	"net/http"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/phonenumber"
	"frontdesk/core/record"
	"frontdesk/core/service"
)

const defaultHold = 5 * time.Minute

// holdSlotRequest is the body of hold-slot.
type holdSlotRequest struct {
	SlotID           string `json:"slot_id,omitempty" need:"true" bytes:"16" doc:"The slot to hold, as find-slots answered it." example:"st_7q2m9xk4tz"`
	HoldMinutes      *int64 `json:"hold_minutes,omitempty" doc:"How long to hold it, from 1 to 15 minutes. The default is 5." example:"5"`
	PhoneNumber      string `json:"phone_number,omitempty" bytes:"256" doc:"The caller's number as the platform tells it. It tells the callers of one API key apart." example:"+12025550101"`
	MeetingReference string `json:"meeting_reference,omitempty" bytes:"16" doc:"The meeting that is to be moved to the slot. Its own time does not count as busy." example:"mt_5d1y7k2hqs"`
}

func (r holdSlotRequest) input(c *checks) service.HoldSlot {
	in := service.HoldSlot{
		SlotID: r.SlotID, For: defaultHold, Phone: c.callersNumber("phone_number", r.PhoneNumber),
		Moves: r.MeetingReference,
	}
	if n := c.number("hold_minutes", r.HoldMinutes, 1, int(service.MaxHold/time.Minute)); n != nil {
		in.For = time.Duration(*n) * time.Minute
	}
	c.present("slot_id", r.SlotID)
	c.present("meeting_reference", r.MeetingReference)
	return in
}

// releaseHoldRequest is the body of release-hold.
type releaseHoldRequest struct {
	HoldID string `json:"hold_id,omitempty" need:"true" bytes:"16" doc:"The hold to release, as hold-slot answered it." example:"hd_3n8r5w0c6p"`
}

func (r releaseHoldRequest) input(c *checks) string {
	c.present("hold_id", r.HoldID)
	return r.HoldID
}

// bookSlotRequest is the body of book-slot.
type bookSlotRequest struct {
	SlotID           string   `json:"slot_id,omitempty" bytes:"16" doc:"The slot to book, as find-slots answered it. Either this or hold_id is required." example:"st_7q2m9xk4tz"`
	HoldID           string   `json:"hold_id,omitempty" bytes:"16" doc:"The hold on the slot to book, as hold-slot answered it." example:"hd_3n8r5w0c6p"`
	Title            string   `json:"title,omitempty" need:"true" bytes:"1024" doc:"Meeting title shown to attendees." example:"Consultation"`
	Description      string   `json:"description,omitempty" bytes:"8192" doc:"Agenda or body text." example:"First visit"`
	AttendeeEmails   []string `json:"attendee_emails,omitempty" nullable:"false" bytes:"320" doc:"E-mail addresses to invite, at most 200. Duplicates are dropped." example:"[\"pat@example.com\"]"`
	PhoneNumber      string   `json:"phone_number,omitempty" bytes:"256" doc:"The caller's number as the platform tells it. find-meetings finds the meeting by it." example:"+12025550101"`
	ConferencingType string   `json:"conferencing_type,omitempty" bytes:"64" doc:"provider: the provider makes a meeting link. url: location_url is the link. Absent: no link." example:"provider"`
	LocationURL      string   `json:"location_url,omitempty" doc:"Link of the meeting, an absolute http or https URL of at most 2,048 bytes. On its own it implies conferencing_type url." example:"https://meet.example.com/front-office"`
}

func (r bookSlotRequest) input(c *checks) service.BookSlot {
	c.present("title", r.Title)
	in := service.BookSlot{
		Offered: c.offered(r.SlotID, r.HoldID), Title: r.Title, Description: r.Description,
		Attendees: c.emails("attendee_emails", r.AttendeeEmails),
		Phone:     c.callersNumber("phone_number", r.PhoneNumber),
	}
	in.Conferencing, in.LocationURL = c.conferencing(r.ConferencingType, r.LocationURL)
	return in
}

// findMeetingsRequest is the body of find-meetings.
type findMeetingsRequest struct {
	Email       string   `json:"email,omitempty" bytes:"320" doc:"The caller's e-mail address." example:"pat@example.com"`
	PhoneNumber string   `json:"phone_number,omitempty" bytes:"256" doc:"The caller's number as the platform tells it: with its country code, or a word such as anonymous. Either this or email is required." example:"+12025550101"`
	Start       string   `json:"start,omitempty" bytes:"64" doc:"Start of the window: RFC 3339, a local time, or a bare date, which means the start of that day. The default is now." example:"2026-12-01"`
	End         string   `json:"end,omitempty" bytes:"64" doc:"End of the window, exclusive, at most 366 days after its start. The default is 60 days after the start, and 366 days for what was booked through this gateway." example:"2027-01-30"`
	TimeZone    string   `json:"time_zone,omitempty" bytes:"64" doc:"IANA time zone name, of the person who is told: the zone of local times in start and end, of the answer, and of say. The default is the calendar's own." example:"America/New_York"`
	CalendarIDs []string `json:"calendar_ids,omitempty" nullable:"false" bytes:"1024" doc:"Calendars to look through for invitations of the address, at most 50. The default is the connection's default calendar. What was booked through this gateway is found in any calendar." example:"[\"primary\"]"`
}

func (r findMeetingsRequest) input(c *checks) service.FindMeetings {
	in := service.FindMeetings{
		Phone: c.callersNumber("phone_number", r.PhoneNumber), Timezone: c.zone("time_zone", r.TimeZone),
		Start:       c.instant("start", r.Start, normalize.DateTimeOrDate),
		End:         c.instant("end", r.End, normalize.DateTimeOrDate),
		CalendarIDs: c.ids("calendar_ids", r.CalendarIDs),
	}
	switch {
	case !c.passed("email") || !c.passed("phone_number"):
	case r.Email != "":
		email, err := normalize.Email(r.Email)
		if err != nil {
			c.fail("email", err.Error())
		}
		in.Email = email
	case r.PhoneNumber == "":
		c.fail("phone_number", "is required, unless email is given")
	}
	return in
}

// moveMeetingRequest is the body of move-meeting.
type moveMeetingRequest struct {
	MeetingReference string `json:"meeting_reference,omitempty" need:"true" bytes:"16" doc:"The meeting to move, as book-slot or find-meetings answered it." example:"mt_5d1y7k2hqs"`
	SlotID           string `json:"slot_id,omitempty" bytes:"16" doc:"The slot to move it to, as find-slots answered it. Either this or hold_id is required." example:"st_0c5v8hn3wa"`
	HoldID           string `json:"hold_id,omitempty" bytes:"16" doc:"The hold on the slot to move it to, as hold-slot answered it." example:"hd_3n8r5w0c6p"`
}

func (r moveMeetingRequest) input(c *checks) service.MoveMeeting {
	c.present("meeting_reference", r.MeetingReference)
	return service.MoveMeeting{Offered: c.offered(r.SlotID, r.HoldID), Reference: r.MeetingReference}
}

// cancelByReferenceRequest is the body of the cancellation by reference.
type cancelByReferenceRequest struct {
	MeetingReference string `json:"meeting_reference,omitempty" need:"true" bytes:"16" doc:"The meeting to cancel, as book-slot or find-meetings answered it." example:"mt_5d1y7k2hqs"`
}

func (r cancelByReferenceRequest) input(c *checks) string {
	c.present("meeting_reference", r.MeetingReference)
	return r.MeetingReference
}

// offered checks that a slot is named by one of its ids.
func (c *checks) offered(slotID, holdID string) service.Offered {
	switch {
	case !c.passed("slot_id") || !c.passed("hold_id"):
	case strings.TrimSpace(slotID) == "" && strings.TrimSpace(holdID) == "":
		c.fail("slot_id", "is required, unless hold_id is given")
	case slotID != "" && holdID != "":
		c.fail("hold_id", "must not be given beside slot_id; the hold has its slot")
	}
	return service.Offered{SlotID: slotID, HoldID: holdID}
}

// callersNumber returns a caller's number in E.164, or "" if it is withheld.
func (c *checks) callersNumber(path, given string) string {
	if !c.passed(path) || phonenumber.Withheld(given) {
		return ""
	}
	number, err := phonenumber.Parse(given)
	if err != nil {
		c.fail(path, "is "+err.Error())
	}
	return number.E164
}

// slotOperations declares the operations on offered slots and on meetings by reference.
func slotOperations(s Calendar) []operation {
	write, read := apikey.ScopeCalendarWrite, apikey.ScopeCalendarRead
	slot := record.Slot{
		SlotID: "st_7q2m9xk4tz", Start: "2026-12-01T10:00:00-05:00", End: "2026-12-01T10:30:00-05:00",
		CalendarIDs: []string{"primary"},
	}
	five := int64(5)
	held := record.HoldAnswer{
		HoldID: "hd_3n8r5w0c6p", HeldUntil: "2026-11-30T16:05:00-05:00", Slot: slot,
		Say: "I am holding Tuesday the first at ten in the morning for you.",
	}
	booked := record.BookedAnswer{
		MeetingReference: "mt_5d1y7k2hqs", Start: slot.Start, End: slot.End, TimeZone: "America/New_York",
		Say: "The appointment is booked for Tuesday, December the first, at ten in the morning.",
	}
	moved := record.BookedAnswer{
		MeetingReference: "mt_5d1y7k2hqs", Start: "2026-12-02T14:00:00-05:00", End: "2026-12-02T14:30:00-05:00",
		TimeZone: "America/New_York",
		Say:      "The appointment is moved to Wednesday, December the second, at two in the afternoon.",
	}
	connected := []string{fault.ReasonNotConnected, fault.ReasonReconnectRequired, fault.ReasonNotSupported}
	taking := append([]string{fault.ReasonSlotNotFound, fault.ReasonSlotTaken, fault.ReasonCalendarNotFound,
		fault.ReasonTooManyEvents}, connected...)
	const nearest = " If the slot is taken, the refusal has the three nearest free slots: a detail of the " +
		"type google.protobuf.Struct, whose value has the list nearest_slots, and the sentence offers them."
	const alpha = " Alpha: this may change without notice."
	return []operation{
		{
			ID: "holdSlot", Method: http.MethodPost, Path: "/alpha/calendar/hold-slot", Scope: write,
			Summary: "Hold a slot (alpha)",
			Tool: tool{
				Name: "hold_slot", CallerNumber: "phone_number", Without: []string{"hold_minutes"},
				Description: "Keeps a slot of find_slots free for the caller for five minutes, while you ask for " +
					"what is needed to book it.",
			},
			Description: "Holds a slot for a caller. It is busy for all others, in find-slots, and in book-meeting " +
				"and update-meeting where the tenant prevents double booking, at every replica. The hold ends by " +
				"itself. Equal calls of one API key for one phone_number are one hold, which a repeat does not " +
				"extend; a different Idempotency-Key is another caller. The provider does not know of the hold, so " +
				"booking checks again." + nearest + alpha,
			Reasons: append([]string{fault.ReasonEventNotFound}, taking...),
			Examples: []example{{Name: "hold", Summary: "For five minutes",
				Request: holdSlotRequest{SlotID: slot.SlotID, HoldMinutes: &five}, Response: held}},
			endpoint: mutation(s, Calendar.Hold, holdSlotRequest.input),
		},
		{
			ID: "releaseHold", Method: http.MethodPost, Path: "/alpha/calendar/release-hold", Scope: write,
			Summary: "Release a hold (alpha)",
			Description: "Ends a hold before its time. For a hold that has ended, or whose slot is booked, released " +
				"is false." + alpha,
			Reasons: append([]string{fault.ReasonSlotNotFound}, connected...),
			Examples: []example{{Name: "release", Summary: "Released",
				Request: releaseHoldRequest{HoldID: held.HoldID},
				Response: record.ReleaseAnswer{HoldID: held.HoldID, Released: true,
					Say: "I am no longer holding Tuesday the first at ten in the morning."}}},
			endpoint: mutation(s, Calendar.ReleaseHold, releaseHoldRequest.input),
		},
		{
			ID: "bookSlot", Method: http.MethodPost, Path: "/alpha/calendar/book-slot", Scope: write,
			Summary: "Book a slot (alpha)",
			Tool: tool{
				Name: "book_slot", CallerNumber: "phone_number", Without: []string{"conferencing_type", "location_url"},
				Description: "Books a slot of find_slots or hold_slot as a meeting, and invites the attendees. Say " +
					"the day and the time back to the caller before.",
			},
			Description: "Books a slot by its slot_id or hold_id. It is book-meeting, with the times and calendars " +
				"of the slot and with double booking prevented, and equal calls count as one in the same way. A hold " +
				"becomes the meeting's; if the booking fails, the hold stays." + nearest + alpha,
			Reasons: append([]string{fault.ReasonConferencing}, taking...),
			Examples: []example{
				{Name: "hold", Summary: "A slot that is held", Request: bookSlotRequest{
					HoldID: held.HoldID, Title: "Consultation", AttendeeEmails: []string{"pat@example.com"},
				}, Response: booked},
				{Name: "slot", Summary: "A slot that was offered", Request: bookSlotRequest{
					SlotID: slot.SlotID, Title: "Consultation", PhoneNumber: "+12025550101",
				}, Response: booked},
			},
			endpoint: mutation(s, Calendar.BookSlot, bookSlotRequest.input),
		},
		{
			ID: "findMeetings", Method: http.MethodPost, Path: "/alpha/calendar/find-meetings", Scope: read,
			Summary: "Find meetings of a caller (alpha)",
			Tool: tool{
				Name: "find_meetings", CallerNumber: "phone_number", Without: []string{"calendar_ids"},
				Description: "Finds the meetings of whoever calls, by the number that the telephone call comes from, " +
					"or by an e-mail address.",
			},
			Description: "Finds the meetings with a person: those booked through this gateway for exactly the " +
				"e-mail address or the number, and those in the calendars to which exactly the address is invited. Times " +
				"are as they are in the calendar now. What cannot be read is named in unread_sources. A number that " +
				"is withheld has no meetings, and the sentence says that nobody knows who is calling." + alpha,
			Reasons: []string{fault.ReasonCalendarNotFound, fault.ReasonTooManyEvents, fault.ReasonNotConnected,
				fault.ReasonReconnectRequired},
			Examples: []example{{Name: "email", Summary: "By an e-mail address",
				Request: findMeetingsRequest{Email: "pat@example.com", TimeZone: "America/New_York"},
				Response: record.MeetingsAnswer{
					Meetings: []record.FoundMeeting{{MeetingReference: booked.MeetingReference, Title: "Consultation",
						Start: slot.Start, End: slot.End}},
					TimeZone: "America/New_York", Complete: true, UnreadSources: []string{},
					Say: "I see an appointment on Tuesday the first at ten in the morning.",
				}}},
			endpoint: query(s, Calendar.FindMeetings, findMeetingsRequest.input),
		},
		{
			ID: "moveMeeting", Method: http.MethodPost, Path: "/alpha/calendar/move-meeting", Scope: write,
			Summary: "Move a meeting (alpha)",
			Tool: tool{
				Name: "move_meeting", Destructive: true,
				Description: "Moves a meeting of find_meetings or book_slot to a slot of find_slots or hold_slot. " +
					"Say the new day and time back to the caller before.",
			},
			Description: "Moves a meeting by its reference to a slot, by its slot_id or hold_id. It is " +
				"update-meeting, with double booking prevented. The meeting stays in its calendar. It keeps its length, " +
				"unless find-slots was asked for another." + nearest + alpha,
			Reasons: append([]string{fault.ReasonEventNotFound, fault.ReasonChangedMeanwhile}, taking...),
			Examples: []example{{Name: "move", Summary: "To another slot",
				Request:  moveMeetingRequest{MeetingReference: booked.MeetingReference, SlotID: "st_0c5v8hn3wa"},
				Response: moved}},
			endpoint: mutation(s, Calendar.MoveMeeting, moveMeetingRequest.input),
		},
		{
			ID: "cancelByReference", Method: http.MethodPost, Path: "/alpha/calendar/cancel-meeting", Scope: write,
			Summary: "Cancel a meeting by reference (alpha)",
			Tool: tool{
				Name: "cancel_meeting", Destructive: true,
				Description: "Cancels a meeting of find_meetings or book_slot; the attendees are notified. Ask the " +
					"caller to confirm before.",
			},
			Description: "Cancels a meeting by its reference. It is cancel-meeting: for a meeting that is already " +
				"gone, the answer is ok as well." + alpha,
			Reasons: append([]string{fault.ReasonEventNotFound, fault.ReasonCalendarNotFound}, connected...),
			Examples: []example{{Name: "cancel", Summary: "By its reference",
				Request: cancelByReferenceRequest{MeetingReference: booked.MeetingReference},
				Response: record.CancelledAnswer{OK: true, MeetingReference: booked.MeetingReference,
					Say: "The appointment is cancelled."}}},
			endpoint: mutation(s, Calendar.CancelByReference, cancelByReferenceRequest.input),
		},
	}
}
