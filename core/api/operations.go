package api

import (
	"net/http"
	"slices"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/record"
)

// operations returns the declarations of all operations. The services may be nil if the declarations are only
// used for documents.
func operations(s Services) []operation {
	return slices.Concat(
		group(tagCalendar, adapter.KindCalendar, calendarOperations(s.Calendar)),
		group(tagCalendar, adapter.KindCalendar, slotOperations(s.Calendar)),
		group(tagTickets, adapter.KindCRM, ticketOperations(s.Tickets)),
		group(tagNumbers, adapter.KindTelephony, numberOperations(s.Numbers)),
		group(tagCallers, adapter.KindCRM, callerOperations(s.Contacts)),
	)
}

// group completes the declarations of operations on connections of one kind.
func group(tag string, kind adapter.Kind, ops []operation) []operation {
	for i := range ops {
		ops[i].Tag, ops[i].Kind = tag, kind
	}
	return ops
}

// Groups of operations in the documents.
const (
	tagCalendar = "Calendar"
	tagTickets  = "Tickets"
	tagNumbers  = "Phone numbers (beta)"
	tagCallers  = "Callers (alpha)"
)

func calendarOperations(s Calendar) []operation {
	write, read := apikey.ScopeCalendarWrite, apikey.ScopeCalendarRead
	meeting := record.MeetingAnswer{Event: record.Meeting{
		EventID: "evt_4k1v9s", EventURL: "https://meet.example.com/abc-defg-hij",
		StartTime: "2026-12-01T10:00:00-05:00", EndTime: "2026-12-01T10:30:00-05:00",
	}}
	moved := record.MeetingAnswer{Event: record.Meeting{
		EventID: "evt_4k1v9s", EventURL: "https://meet.example.com/abc-defg-hij",
		StartTime: "2026-12-01T11:00:00-05:00", EndTime: "2026-12-01T11:30:00-05:00",
	}}
	listed := record.EventsAnswer{Events: []record.Event{{
		EventID: "evt_4k1v9s", Subject: "Consultation",
		StartTime: "2026-12-01T10:00:00-05:00", EndTime: "2026-12-01T10:30:00-05:00",
		OrganizerEmail: "office@example.com",
		Attendees: []record.Attendee{{Email: "pat@example.com", Name: "Pat Doe", Type: "required",
			ResponseStatus: "accepted"}},
		EventURL: "https://meet.example.com/abc-defg-hij",
	}}}
	return []operation{
		{
			ID: "bookMeeting", Method: http.MethodPost, Path: "/v1/calendar/book-meeting", Scope: write,
			Summary: "Book a meeting",
			Description: "Books one event and lets the provider invite the attendees. Equal calls of one " +
				"API key within ten minutes (a setting of the tenant) count as one meeting: later ones get " +
				"the answer of the first, marked Idempotency-Replayed. A different Idempotency-Key " +
				"overrides this.",
			Reasons: []string{fault.ReasonCalendarNotFound, fault.ReasonSlotTaken, fault.ReasonConferencing,
				fault.ReasonNotConnected, fault.ReasonReconnectRequired, fault.ReasonNotSupported},
			Examples: []example{
				{Name: "withLink", Summary: "A meeting with a link that the provider makes", Request: bookMeetingRequest{
					Title: "Consultation", Description: "First visit", StartTime: "2026-12-01T10:00:00-05:00",
					EndTime: "2026-12-01T10:30:00-05:00", Timezone: "America/New_York",
					AttendeeEmails: []string{"pat@example.com"}, ConferencingType: "provider",
				}, Response: meeting},
				{Name: "localTime", Summary: "Local times in a named zone, with a link of your own",
					Request: bookMeetingRequest{
						Title: "Consultation", StartTime: "2026-12-01T10:00:00", EndTime: "2026-12-01T10:30:00",
						Timezone: "America/New_York", SelectedCalendarIDs: []string{"primary"}, ConferencingType: "url",
						LocationURL: "https://meet.example.com/abc-defg-hij",
					}, Response: meeting},
			},
			endpoint: mutation(s, Calendar.Book, bookMeetingRequest.input),
		},
		{
			ID: "updateMeeting", Method: http.MethodPost, Path: "/v1/calendar/update-meeting", Scope: write,
			Summary: "Update a meeting",
			Description: "Changes the given fields of an event and leaves the others alone. It never " +
				"silently overwrites a change that someone else makes at the same time.",
			Reasons: []string{fault.ReasonEventNotFound, fault.ReasonCalendarNotFound, fault.ReasonSlotTaken,
				fault.ReasonChangedMeanwhile, fault.ReasonNotConnected, fault.ReasonReconnectRequired,
				fault.ReasonNotSupported},
			Examples: []example{{Name: "move", Summary: "An hour later; the duration stays",
				Request: updateMeetingRequest{
					EventID: "evt_4k1v9s", StartTime: "2026-12-01T11:00:00-05:00", Timezone: "America/New_York",
				}, Response: moved}},
			endpoint: mutation(s, Calendar.Update, updateMeetingRequest.input),
		},
		{
			ID: "listEvents", Method: http.MethodPost, Path: "/v1/calendar/list-events", Scope: read,
			Summary: "List events",
			Description: "Lists the events of the calendars in a window, sorted by start and then id. " +
				"Recurring events appear as their instances. The answer is complete or an error: if one " +
				"calendar cannot be read, the operation fails.",
			Reasons: []string{fault.ReasonCalendarNotFound, fault.ReasonTooManyEvents,
				fault.ReasonNotConnected, fault.ReasonReconnectRequired},
			Examples: []example{
				{Name: "week", Summary: "A week", Request: listEventsRequest{
					StartTime: "2026-12-01", EndTime: "2026-12-08", Timezone: "America/New_York",
				}, Response: listed},
				{Name: "default", Summary: "Seven days from now", Request: listEventsRequest{}, Response: listed},
			},
			endpoint: query(s, Calendar.List, listEventsRequest.input),
		},
		{
			ID: "cancelMeeting", Method: http.MethodPost, Path: "/v1/calendar/cancel-meeting", Scope: write,
			Summary: "Cancel a meeting",
			Description: "Cancels an event and lets the provider notify the attendees. For an event that is " +
				"already gone, the answer is ok as well.",
			Reasons: []string{fault.ReasonEventNotFound, fault.ReasonCalendarNotFound,
				fault.ReasonNotConnected, fault.ReasonReconnectRequired, fault.ReasonNotSupported},
			Examples: []example{{Name: "cancel", Summary: "By its id alone",
				Request:  cancelMeetingRequest{EventID: "evt_4k1v9s"},
				Response: record.CancelAnswer{OK: true, EventID: "evt_4k1v9s"}}},
			endpoint: mutation(s, Calendar.Cancel, cancelMeetingRequest.input),
		},
		{
			ID: "listCalendars", Method: http.MethodPost, Path: "/v1/calendar/list-calendars", Scope: read,
			Summary:     "List calendars",
			Description: "Lists the calendars of the connected account.",
			Reasons:     []string{fault.ReasonNotConnected, fault.ReasonReconnectRequired},
			Examples: []example{{Name: "list", Summary: "Two calendars", Request: noFields{},
				Response: record.CalendarsAnswer{
					Calendars: []record.Calendar{
						{ID: "primary", Name: "Front office"}, {ID: "back-office", Name: "Back office"},
					},
				}}},
			endpoint: lookup(s, Calendar.Calendars),
		},
		{
			ID: "verifyCalendarConnection", Method: http.MethodPost,
			Path: "/v1/calendar/verify-calendar-connection", Scope: read,
			Summary: "Verify the calendar connection",
			Description: "Asks the provider live whether the credentials work. With revoked credentials, ok " +
				"is false and email is the last known one. Without a calendar connection, ok is false and " +
				"email is empty. An error means that there is no answer.",
			Examples: []example{
				{Name: "works", Summary: "The connection works", Request: noFields{},
					Response: record.VerifyAnswer{OK: true, Email: "office@example.com"}},
				{Name: "revoked", Summary: "The credentials were revoked", Request: noFields{},
					Response: record.VerifyAnswer{OK: false, Email: "office@example.com"}},
			},
			endpoint: lookup(s, Calendar.Verify),
		},
		findSlots(s),
	}
}

func ticketOperations(s Tickets) []operation {
	ticket := record.TicketAnswer{Ticket: record.Ticket{
		ID: "tkt_8f3k2m", TicketNumber: "00001042", Subject: "Broken door handle",
		Description: "The handle of the front door came off.", Status: "New", Priority: "High",
		CreatedAt: "2026-12-01T15:00:00Z", UpdatedAt: "2026-12-01T15:00:00Z",
	}}
	answered := ticket
	answered.Ticket.Status, answered.Ticket.UpdatedAt = "Working", "2026-12-02T09:00:00Z"
	answered.Ticket.LastComment = "A locksmith comes tomorrow."
	return []operation{
		{
			ID: "createTicket", Method: http.MethodPost, Path: "/v1/tickets/create-ticket",
			Scope: apikey.ScopeTicketsWrite, Summary: "Create a ticket",
			Tool: tool{
				Name:        "create_ticket",
				Description: "Opens a ticket in the ticket system of the business, and returns its number.",
			},
			Description: "Opens a ticket in the CRM. An unknown status or priority is refused with the list " +
				"of the CRM's own labels. If the CRM opens the ticket without a requested value, the error " +
				"is TICKET_INCOMPLETE and has the ticket's number. Equal calls of one API key within ten " +
				"minutes (a setting of the tenant) count as one ticket: later ones get the answer of the " +
				"first, marked Idempotency-Replayed. A different Idempotency-Key overrides this.",
			Reasons: []string{
				fault.ReasonTicketIncomplete, fault.ReasonNotConnected, fault.ReasonReconnectRequired,
				fault.ReasonNotSupported,
			},
			Examples: []example{{Name: "create", Summary: "An urgent ticket", Request: createTicketRequest{
				Subject: "Broken door handle", Description: "The handle of the front door came off.", Priority: "High",
			}, Response: ticket}},
			endpoint: mutation(s, Tickets.Create, createTicketRequest.input),
		},
		{
			ID: "getTicket", Method: http.MethodPost, Path: "/v1/tickets/get-ticket", Scope: apikey.ScopeTicketsRead,
			Summary: "Get a ticket",
			Tool: tool{
				Name:        "get_ticket",
				Description: "Reads a ticket by its number, with its status and the last comment that the customer may see.",
			},
			Description: "Fetches a ticket by its number, as people say it.",
			Reasons:     []string{fault.ReasonTicketNotFound, fault.ReasonNotConnected, fault.ReasonReconnectRequired},
			Examples: []example{{Name: "get", Summary: "A number without its leading zeros",
				Request: getTicketRequest{TicketNumber: "#1042"}, Response: answered}},
			endpoint: query(s, Tickets.Get, getTicketRequest.input),
		},
	}
}

func numberOperations(s Numbers) []operation {
	const collection, one = "/beta/phone-numbers", "/beta/phone-numbers/{id}"
	write, read := apikey.ScopeNumbersWrite, apikey.ScopeNumbersRead
	employeeID, name, renamed := int64(7), "Front office", "Night line"
	number := record.PhoneNumber{
		ID: 4711, Name: name, E164: "+14155550123", AreaCode: "415", InboundCloudEmployeeID: &employeeID,
	}
	changed := record.PhoneNumber{
		ID: 4711, Name: renamed, E164: "+14155550123", AreaCode: "415", OutboundCloudEmployeeID: &employeeID,
	}
	connected := []string{fault.ReasonNotConnected, fault.ReasonReconnectRequired}
	return []operation{
		{
			ID: "Beta_listPhoneNumbers", Method: http.MethodGet, Path: collection, Scope: read,
			Summary: "List phone numbers",
			Description: "Lists the caller's phone numbers by id. If numbers were added to the provider's " +
				"account or removed from it by other means, the next list shows that.",
			Reasons: connected,
			Examples: []example{{Name: "list", Summary: "One number",
				Response: record.PhoneNumbersAnswer{PhoneNumbers: []record.PhoneNumber{number}}}},
			endpoint: lookup(s, Numbers.List),
		},
		{
			ID: "Beta_buyPhoneNumber", Method: http.MethodPost, Path: collection, Scope: write,
			Summary: "Buy a phone number",
			Description: "Buys a number in an area code. Two calls with one Idempotency-Key buy one number; " +
				"without a key every call buys one. If an order takes a while, the answer is the problem " +
				"order-pending, and a repeat with the same key gets the number. If no number is for sale, " +
				"errors names neighbouring area codes that have some.",
			Reasons: append([]string{
				fault.ReasonNoNumbersAvailable, fault.ReasonNumberTaken, fault.ReasonOrderPending,
				fault.ReasonPurchaseLimit, fault.ReasonNumberLimit, fault.ReasonAddressRequired,
				fault.ReasonBundleRequired, fault.ReasonTrialLimit, fault.ReasonInsufficientFunds,
				fault.ReasonAccountSuspended, fault.ReasonNotSupported,
			}, connected...),
			Examples: []example{{Name: "buy", Summary: "A number with a name and an employee",
				Request: BuyPhoneNumberRequest{AreaCode: "415", Name: &name, Inbound: &employeeID}, Response: number}},
			endpoint: creating(locatedMutation(s, Numbers.Buy, BuyPhoneNumberRequest.input, numberLocation)),
		},
		{
			ID: "Beta_getPhoneNumber", Method: http.MethodGet, Path: one, Scope: read,
			Summary:     "Get a phone number",
			Description: "Fetches one phone number.",
			Reasons:     append([]string{fault.ReasonNumberNotFound}, connected...),
			Examples:    []example{{Name: "get", Summary: "A number", Response: number}},
			endpoint:    query(s, Numbers.Get, numberRequest.input),
		},
		{
			ID: "Beta_updatePhoneNumber", Method: http.MethodPatch, Path: one, Scope: write,
			Summary: "Update a phone number",
			Description: "Changes the given fields: absent fields stay, null unassigns an employee, and an " +
				"empty object changes nothing. Assigning an inbound employee also points the number at the " +
				"agent platform. If the provider refuses that, nothing changes.",
			Reasons: append([]string{fault.ReasonNumberNotFound, fault.ReasonNotSupported}, connected...),
			Examples: []example{{Name: "update", Summary: "A new name, another outbound employee, no inbound one",
				Request: UpdatePhoneNumberRequest{
					Name: &renamed, Inbound: employee{Set: true}, Outbound: employee{Set: true, ID: &employeeID},
				},
				Response: changed}},
			endpoint: mutation(s, Numbers.Update, UpdatePhoneNumberRequest.input),
		},
		{
			ID: "Beta_releasePhoneNumber", Method: http.MethodDelete, Path: one, Scope: write,
			Summary: "Release a phone number",
			Description: "Takes the number out of use and gives it back to the provider for good: at once, " +
				"or after the connection's release_delay. A second release of the same id is answered with " +
				"404. A number that has a registered emergency address, or is locked at the provider, is " +
				"not released.",
			Reasons: append([]string{fault.ReasonNumberNotFound, fault.ReasonEmergencyAddress,
				fault.ReasonNumberLocked}, connected...),
			Examples: []example{{Name: "release", Summary: "Released"}},
			endpoint: mutation(s, Numbers.Release, numberRequest.input),
		},
	}
}

func callerOperations(s Contacts) []operation {
	return []operation{{
		ID: "Alpha_lookUpCaller", Method: http.MethodPost, Path: "/alpha/callers/look-up", Scope: apikey.ScopeTicketsRead,
		Summary: "Look up who calls",
		Tool: tool{
			Name: "look_up_caller", CallerNumber: "phone_number", AboutCaller: true,
			Description: "Tells who may be calling, from the number that the telephone call comes from, or from an " +
				"e-mail address. Nobody is certain: ask for the name before you speak of anything private.",
		},
		Description: "Finds the CRM's contacts with a telephone number, in whatever format it is stored, or with " +
			"an e-mail address. All who may be calling are candidates; nobody is chosen. A caller's number is a " +
			"claim, so candidates have only the fields that the tenant's setting unverified_caller_fields names: " +
			"the name, unless it says otherwise. An unknown caller is no error. All requests to the CRM together " +
			"take 2.5 seconds at most; what could not be read in time is named in partial.",
		Reasons: []string{fault.ReasonNotConnected, fault.ReasonReconnectRequired, fault.ReasonNotSupported},
		Examples: []example{
			{Name: "number", Summary: "A number as the platform tells it",
				Request: lookUpCallerRequest{PhoneNumber: "+12025550101"}, Response: record.CallerAnswer{
					Found: true, Candidates: []record.Candidate{{Match: "national", Name: "Pat Doe"}}, Partial: []string{},
					Say: "This may be Pat Doe.",
				}},
			{Name: "withheld", Summary: "A number that is withheld",
				Request: lookUpCallerRequest{PhoneNumber: "anonymous"}, Response: record.CallerAnswer{
					Withheld: true, Candidates: []record.Candidate{}, Partial: []string{}, Say: "I do not know who is calling.",
				}},
		},
		endpoint: query(s, Contacts.LookUp, lookUpCallerRequest.input),
	}}
}
