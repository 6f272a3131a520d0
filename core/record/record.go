// Package record defines the records of the interface. They have exactly the shapes that go over the wire
// (section 2 of the written interface) and hold nothing specific to a provider. core/normalize builds them,
// core/service passes them on, and core/api writes them with encoding/json unchanged.
package record

// Meeting is the metadata of a booked or updated event.
type Meeting struct {
	EventID   string `json:"event_id" minLength:"1" doc:"Identifier of the event, the provider's own." example:"evt_4k1v9s"`
	EventURL  string `json:"event_url" doc:"Link of the meeting, or else the provider's page of the event. Empty if the provider has neither." example:"https://meet.example.com/abc-defg-hij"`
	StartTime string `json:"start_time" format:"date-time" doc:"Start, RFC 3339 with the offset of the requested time zone." example:"2026-12-01T10:00:00-05:00"`
	EndTime   string `json:"end_time" format:"date-time" doc:"End, RFC 3339 with the offset of the requested time zone." example:"2026-12-01T10:30:00-05:00"`
}

// MeetingAnswer is the response body of book-meeting and update-meeting.
type MeetingAnswer struct {
	Event Meeting `json:"event" doc:"The event as it is now."`
}

// Event is a listed event.
type Event struct {
	EventID        string     `json:"event_id" minLength:"1" doc:"Identifier of the event, or of the one instance of a recurring event." example:"evt_4k1v9s"`
	Subject        string     `json:"subject" doc:"Title of the event." example:"Consultation"`
	StartTime      string     `json:"start_time" format:"date-time" doc:"Start, RFC 3339 with the offset of the requested time zone. An all-day event starts at local midnight." example:"2026-12-01T10:00:00-05:00"`
	EndTime        string     `json:"end_time" format:"date-time" doc:"End, RFC 3339 with the offset of the requested time zone." example:"2026-12-01T10:30:00-05:00"`
	OrganizerEmail string     `json:"organizer_email" doc:"Address of the organizer. Empty if the provider does not tell it." example:"office@example.com"`
	Attendees      []Attendee `json:"attendees" nullable:"false" doc:"The people and resources that are invited."`
	EventURL       string     `json:"event_url" doc:"Link of the meeting, or else the provider's page of the event. Empty if the provider has neither." example:"https://meet.example.com/abc-defg-hij"`
	IsCancelled    bool       `json:"is_cancelled" doc:"Whether the event is cancelled. Some providers still list cancelled events."`
}

// Attendee is a person or resource invited to an event.
type Attendee struct {
	Email          string `json:"email" doc:"E-mail address." example:"pat@example.com"`
	Name           string `json:"name" doc:"Display name. Empty if the provider does not tell it." example:"Pat Doe"`
	Type           string `json:"type" doc:"required, optional or resource." example:"required"`
	ResponseStatus string `json:"response_status" doc:"needs_action, accepted, declined or tentative." example:"accepted"`
}

// EventsAnswer is the response body of list-events.
type EventsAnswer struct {
	Events []Event `json:"events" nullable:"false" doc:"The events of the window, by start and then id."`
}

// Slot is a time at which a meeting can take place.
type Slot struct {
	SlotID      string   `json:"slot_id" minLength:"1" maxLength:"16" doc:"Short name of the slot. It is valid for 24 hours at least." example:"st_7q2m9xk4tz"`
	Start       string   `json:"start" format:"date-time" doc:"Start, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:00:00-05:00"`
	End         string   `json:"end" format:"date-time" doc:"End, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:30:00-05:00"`
	CalendarIDs []string `json:"calendar_ids" nullable:"false" doc:"The calendars that are free. With availability any, these may be some of those asked for." example:"[\"primary\"]"`
}

// SlotsAnswer is the response body of find-slots.
type SlotsAnswer struct {
	Slots           []Slot   `json:"slots" nullable:"false" doc:"The slots to offer, by start."`
	TimeZone        string   `json:"time_zone" doc:"The time zone of the slots, an IANA name." example:"America/New_York"`
	Complete        bool     `json:"complete" doc:"Whether all calendars could be read."`
	UnreadCalendars []string `json:"unread_calendars" nullable:"false" doc:"The calendars that could not be read. They count as busy." example:"[]"`
	Say             string   `json:"say" doc:"A sentence to say to the caller." example:"I have Tuesday the first at ten in the morning."`
}

// HoldAnswer is the response body of hold-slot.
type HoldAnswer struct {
	HoldID    string `json:"hold_id" minLength:"1" maxLength:"16" doc:"Short name of the hold. It takes the place of the slot_id when the slot is booked." example:"hd_3n8r5w0c6p"`
	HeldUntil string `json:"held_until" format:"date-time" doc:"When the hold ends by itself, RFC 3339 with the offset of the slot's time zone." example:"2026-11-30T16:05:00-05:00"`
	Slot      Slot   `json:"slot" doc:"The slot that is held."`
	Say       string `json:"say" doc:"A sentence to say to the caller." example:"I am holding Tuesday the first at ten in the morning for you."`
}

// ReleaseAnswer is the response body of release-hold.
type ReleaseAnswer struct {
	HoldID   string `json:"hold_id" doc:"The hold." example:"hd_3n8r5w0c6p"`
	Released bool   `json:"released" doc:"Whether the hold was released now. It is false if the hold had ended, or its slot was booked."`
	Say      string `json:"say" doc:"A sentence to say to the caller." example:"I am no longer holding Tuesday the first at ten in the morning."`
}

// BookedAnswer is the response body of book-slot and move-meeting.
type BookedAnswer struct {
	MeetingReference string `json:"meeting_reference" minLength:"1" maxLength:"16" doc:"Short name of the meeting, by which it is moved and cancelled." example:"mt_5d1y7k2hqs"`
	Start            string `json:"start" format:"date-time" doc:"Start, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:00:00-05:00"`
	End              string `json:"end" format:"date-time" doc:"End, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:30:00-05:00"`
	TimeZone         string `json:"time_zone" doc:"The time zone in which the slot was offered, an IANA name." example:"America/New_York"`
	EventURL         string `json:"event_url,omitempty" doc:"The meeting's link, if it has one." example:"https://meet.example.com/abc-defg-hij"`
	Say              string `json:"say" doc:"A sentence to say to the caller." example:"The appointment is booked for Tuesday, December the first, at ten in the morning."`
}

// FoundMeeting is a meeting with a caller.
type FoundMeeting struct {
	MeetingReference string `json:"meeting_reference" minLength:"1" maxLength:"16" doc:"Short name of the meeting, by which it is moved and cancelled." example:"mt_5d1y7k2hqs"`
	Title            string `json:"title,omitempty" doc:"The meeting's title. It is absent unless the tenant's setting unverified_caller_fields has meeting_titles, since nobody has verified who calls." example:"Consultation"`
	Start            string `json:"start" format:"date-time" doc:"Start, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:00:00-05:00"`
	End              string `json:"end" format:"date-time" doc:"End, RFC 3339 with the offset of time_zone." example:"2026-12-01T10:30:00-05:00"`
}

// MeetingsAnswer is the response body of find-meetings.
type MeetingsAnswer struct {
	Meetings      []FoundMeeting `json:"meetings" nullable:"false" doc:"The meetings with the caller, by start; at most 10."`
	More          bool           `json:"more" doc:"Whether there are more meetings than these."`
	TimeZone      string         `json:"time_zone" doc:"The time zone of the meetings, an IANA name." example:"America/New_York"`
	Complete      bool           `json:"complete" doc:"Whether all sources could be read."`
	UnreadSources []string       `json:"unread_sources" nullable:"false" doc:"What could not be read: booked_here, some meetings that were booked through this gateway; calendar, those in the calendars to which the address is invited." example:"[]"`
	Say           string         `json:"say" doc:"A sentence to say to the caller." example:"I see an appointment on Tuesday the first at ten in the morning."`
}

// CancelledAnswer is the response body of the cancellation by reference.
type CancelledAnswer struct {
	OK               bool   `json:"ok" doc:"Always true: the meeting is cancelled."`
	MeetingReference string `json:"meeting_reference" doc:"The meeting that was cancelled." example:"mt_5d1y7k2hqs"`
	Say              string `json:"say" doc:"A sentence to say to the caller." example:"The appointment is cancelled."`
}

// CancelAnswer is the response body of cancel-meeting.
type CancelAnswer struct {
	OK      bool   `json:"ok" doc:"Always true: the event is cancelled."`
	EventID string `json:"event_id" doc:"The event that was cancelled." example:"evt_4k1v9s"`
}

// Calendar is one calendar of the caller.
type Calendar struct {
	ID   string `json:"id" doc:"The provider's own id." example:"primary"`
	Name string `json:"name" doc:"Display name." example:"Front office"`
}

// CalendarsAnswer is the response body of list-calendars.
type CalendarsAnswer struct {
	Calendars []Calendar `json:"calendars" nullable:"false" doc:"Every calendar of the account that holds events."`
}

// VerifyAnswer is the response body of verify-calendar-connection.
type VerifyAnswer struct {
	OK    bool   `json:"ok" doc:"Whether the provider accepts the credentials now."`
	Email string `json:"email" doc:"Address of the connected account. If ok is false, the last known one. Empty if nothing is connected." example:"office@example.com"`
}

// Ticket is a ticket of the CRM. Strings are empty when unset; times are absent when not applicable.
type Ticket struct {
	ID           string `json:"id" minLength:"1" doc:"Unique id of the ticket in the CRM." example:"tkt_8f3k2m"`
	TicketNumber string `json:"ticket_number" minLength:"1" doc:"The number people use." example:"00001042"`
	Subject      string `json:"subject" doc:"Short title." example:"Broken door handle"`
	Description  string `json:"description" doc:"Plain text." example:"The handle of the front door came off."`
	Status       string `json:"status" doc:"The CRM's own label." example:"New"`
	Priority     string `json:"priority" doc:"The CRM's own label." example:"High"`
	OwnerID      string `json:"owner_id" doc:"Id of the user to whom the ticket is assigned." example:""`
	AccountID    string `json:"account_id" doc:"Id of the related account." example:""`
	ContactID    string `json:"contact_id" doc:"Id of the related contact." example:""`
	CreatedAt    string `json:"created_at,omitempty" format:"date-time" doc:"When the ticket was opened." example:"2026-12-01T15:00:00Z"`
	ClosedAt     string `json:"closed_at,omitempty" format:"date-time" doc:"When the ticket was closed." example:"2026-12-03T09:00:00Z"`
	ResolvedAt   string `json:"resolved_at,omitempty" format:"date-time" doc:"When the ticket was marked resolved." example:"2026-12-02T17:00:00Z"`
	UpdatedAt    string `json:"updated_at,omitempty" format:"date-time" doc:"When the ticket was last changed." example:"2026-12-03T09:00:00Z"`
	LastComment  string `json:"last_comment" doc:"The most recent public comment, plain text, 280 characters at most." example:"A locksmith comes tomorrow."`
}

// TicketAnswer is the response body of create-ticket and get-ticket.
type TicketAnswer struct {
	Ticket Ticket `json:"ticket" doc:"The ticket as it is now."`
}

// CallerAnswer is the response body of look-up.
type CallerAnswer struct {
	Found      bool        `json:"found" doc:"Whether there are candidates." example:"true"`
	Withheld   bool        `json:"withheld" doc:"Whether the caller withholds the number, or calls from a SIP address, so that nobody was looked up." example:"false"`
	Verified   bool        `json:"verified" doc:"Always false: a caller's number can be forged, and is shared in families and firms." example:"false"`
	Candidates []Candidate `json:"candidates" nullable:"false" doc:"The contacts who may be calling, the best match first. Nobody is chosen among several."`
	More       bool        `json:"more" doc:"Whether there are, or may be, more candidates than the CRM returned." example:"false"`
	Partial    []string    `json:"partial" nullable:"false" doc:"What could not be read completely: contacts or open_tickets." example:"[]"`
	Say        string      `json:"say" doc:"The answer as a sentence to speak." example:"This may be Pat Doe."`
}

// Candidate is a contact who may be calling. It has only the fields that the tenant lets go out for an
// unverified number; see unverified_caller_fields of its settings.
type Candidate struct {
	Match        string         `json:"match" doc:"How well the stored number agrees: exact, national (it was stored without a country code) or suffix (only its last digits agree). An e-mail address is exact." example:"exact"`
	Name         string         `json:"name,omitempty" doc:"The contact's name." example:"Pat Doe"`
	ContactID    string         `json:"contact_id,omitempty" doc:"The contact's id in the CRM, as create-ticket takes it." example:"con_301"`
	Emails       []string       `json:"emails,omitempty" doc:"The contact's e-mail addresses."`
	PhoneNumbers []string       `json:"phone_numbers,omitempty" doc:"The contact's telephone numbers, as people typed them."`
	Account      *CallerAccount `json:"account,omitempty" doc:"The account that the contact belongs to."`
	OpenTickets  []OpenTicket   `json:"open_tickets,omitempty" doc:"The contact's tickets that are neither resolved nor closed, the last changed first."`
}

// CallerAccount is the account that a contact belongs to.
type CallerAccount struct {
	ID   string `json:"id" doc:"The account's id in the CRM, as create-ticket takes it." example:"acc_77"`
	Name string `json:"name" doc:"The account's name." example:"Maple Court Homes"`
}

// OpenTicket is what a caller may ask about.
type OpenTicket struct {
	TicketNumber string `json:"ticket_number" doc:"The number people use." example:"00001042"`
	Subject      string `json:"subject" doc:"Short title." example:"Broken door handle"`
	Status       string `json:"status" doc:"The CRM's own label." example:"New"`
	Priority     string `json:"priority" doc:"The CRM's own label." example:"High"`
	CreatedAt    string `json:"created_at,omitempty" format:"date-time" doc:"When the ticket was opened." example:"2026-12-01T15:00:00Z"`
	UpdatedAt    string `json:"updated_at,omitempty" format:"date-time" doc:"When the ticket was last changed." example:"2026-12-03T09:00:00Z"`
}

// PhoneNumber is a phone number of the caller.
type PhoneNumber struct {
	ID                      int64  `json:"id" doc:"The gateway's own stable identifier. It is never used again after a release." readOnly:"true" example:"4711"`
	Name                    string `json:"name" doc:"Display name." example:"Front office"`
	E164                    string `json:"e164" doc:"Number in E.164 format." readOnly:"true" pattern:"^\\+[1-9][0-9]{1,14}$" example:"+14155550123"`
	AreaCode                string `json:"area_code" doc:"NANP area code." example:"415"`
	InboundCloudEmployeeID  *int64 `json:"inbound_cloud_employee_id,omitempty" doc:"Cloud employee handling inbound calls. Absent if none is assigned." example:"7"`
	OutboundCloudEmployeeID *int64 `json:"outbound_cloud_employee_id,omitempty" doc:"Cloud employee handling outbound calls. Absent if none is assigned." example:"7"`
}

// PhoneNumbersAnswer is the response body of the list of phone numbers.
type PhoneNumbersAnswer struct {
	PhoneNumbers []PhoneNumber `json:"phone_numbers" nullable:"false" doc:"The caller's phone numbers, by id."`
}
