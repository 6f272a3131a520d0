package caldav

import (
	"errors"
	"net/http"
	"strings"

	"frontdesk/adapters/calendar/caldav/ical"
	"frontdesk/adapters/calendar/caldav/recur"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// refusal converts an error response into a fault. WebDAV may name the failed precondition in the body, in
// which case the status alone would mislead.
func refusal(a answer) *fault.Error {
	f := upstream.StatusFault(name, a.status, a.header, a.body)
	failed, _ := conditions(a.body)
	var meaning *fault.Error
	switch {
	case a.status == http.StatusInsufficientStorage && !failed.has(davSpace, "number-of-matches-within-limits"):
		meaning = fault.New(fault.Exhausted, fault.ReasonStorageFull,
			"The calendar server has no room left for this account.")
	case failed.has(davSpace, "number-of-matches-within-limits"):
		meaning = tooMany()
	case failed.has(caldavSpace, "max-attendees-per-instance"):
		meaning = fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"The calendar server does not accept that many attendees.")
	case failed.has(caldavSpace, "max-resource-size"):
		meaning = fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"The event is larger than the calendar server accepts.")
	case failed.hasAny(caldavSpace, "valid-calendar-data", "valid-calendar-object-resource",
		"supported-calendar-data", "supported-calendar-component", "max-instances"):
		meaning = fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"The calendar server does not accept an event like this.")
	case failed.has(caldavSpace, "min-date-time"), failed.has(caldavSpace, "max-date-time"):
		meaning = fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"The calendar server does not keep events at that time.")
	case failed.has(caldavSpace, "allowed-attendee-scheduling-object-change"),
		failed.has(caldavSpace, "allowed-organizer-scheduling-object-change"):
		meaning = fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"Only the organizer of the event can change this.")
	default:
		return f
	}
	meaning.RetryAfter, meaning.Upstream = f.RetryAfter, f.Upstream
	return meaning
}

func misconfigured(what string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The calendar server %s. Check the connection's address.", what)
}

func tooMany() *fault.Error {
	return fault.New(fault.Exhausted, fault.ReasonTooManyEvents,
		"This window has more events than one answer can hold. Ask for a shorter window.")
}

func noEvent() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonEventNotFound,
		"There is no such event in the account's calendars.")
}

func noCalendar() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "The account has no such calendar.")
}

func changedMeanwhile() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"Someone else changed the event in the meantime.")
}

// notOrganizer returns the fault for changing an event that somebody else organizes. If the account's address
// is unknown, its own events may look like that.
func (d *driver) notOrganizer(a *account) *fault.Error {
	detail := "Only the organizer can change this event. Ask the organizer to change it."
	if a.email == "" {
		detail = "Only the organizer can change this event, and the calendar server does not tell the " +
			"account's e-mail address. If the account is the organizer, set its address as the connection's " +
			"email."
	}
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, detail)
}

// notWhole returns the fault for writing back an event of which the account is shown only a part.
func notWhole() *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
		"The event is confidential, and the calendar server shows the account only when it takes place. Only the "+
			"calendar's owner can change it.")
}

// notKept returns the fault for a change that the server accepted but stored differently.
func notKept(fields []string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderRefused,
		"The calendar server accepted the change, but did not keep the requested %s. Look at the event "+
			"before changing it again.",
		strings.Join(fields, ", "))
}

// unreadable returns the fault for an object that cannot be understood. It names the object, so that a person
// can correct or remove it. Skipping the object would show busy time as free.
func unreadable(resource string, err error) *fault.Error {
	f := fault.Newf(fault.Unsupported, fault.ReasonProviderRefused,
		"The calendar holds an event that cannot be read, at %s. Correct or remove it with a calendar program.",
		resource)
	switch {
	case errors.Is(err, recur.ErrBudget):
		f = fault.Newf(fault.Exhausted, fault.ReasonTooManyEvents,
			"The event at %s repeats more often than can be listed. Ask for a shorter window, or correct "+
				"the event with a calendar program.", resource)
	case errors.Is(err, errRule):
		f = fault.Newf(fault.Unsupported, fault.ReasonProviderRefused,
			"The event at %s repeats by a rule that cannot be understood. Correct or remove it with a "+
				"calendar program.", resource)
	case errors.Is(err, ical.ErrTooLarge):
		f = fault.Newf(fault.Unsupported, fault.ReasonProviderRefused,
			"The event at %s is larger than the gateway reads.", resource)
	}
	return f.Because(err)
}

// notUnderstood returns the fault for a success response to a write that is not as expected.
func notUnderstood() *fault.Error {
	return fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The calendar server accepted the request, but its answer could not be read.")
}
