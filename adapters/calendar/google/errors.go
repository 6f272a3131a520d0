package google

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"google.golang.org/api/googleapi"

	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// access is the kind of a call: if the response to a write cannot be read, the outcome is unknown.
type access bool

const (
	reading access = false
	writing access = true
)

// present returns an error for a null response, which Google's library accepts.
func present[T any](answer *T, err error) (*T, error) {
	if err == nil && answer == nil {
		err = errors.New("the answer is null")
	}
	return answer, err
}

// refusal converts an error of Google's library into a fault; nil for nil. The meaning is in the first
// error's reason (developers.google.com/workspace/calendar/api/guides/errors). If the status says as much,
// the status is used.
func refusal(err error, access access) *fault.Error {
	var (
		known  *fault.Error
		answer *googleapi.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fault.From(err)
	case !errors.As(err, &answer):
		return unreadable(err, access)
	}
	plain := upstream.StatusFault(name, answer.Code, answer.Header, []byte(answer.Body))
	first, isGoogles := firstError(answer.Body)
	switch answer.Code {
	case http.StatusBadRequest:
		return notValid(plain, first)
	case http.StatusForbidden:
		return notAllowed(plain, first, answer)
	case http.StatusTooManyRequests:
		return limited(plain, first)
	case http.StatusNotFound, http.StatusGone:
		switch {
		case !isGoogles: // it does not say that an event or a calendar is gone
			return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
				"Google Calendar's address leads to a page that does not exist. Check the configured api_url.")
		case answer.Code == http.StatusGone:
			return plain.With(calendar.MetaGone, "true")
		}
	}
	return plain
}

type apiError struct {
	Reason   string `json:"reason"`
	Location string `json:"location"`
}

// firstError returns the first error in the body, and whether the body is Google's, which a proxy's page is not.
func firstError(body string) (first apiError, isGoogles bool) {
	var answer struct {
		Error struct {
			Code   int        `json:"code"`
			Errors []apiError `json:"errors"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &answer) != nil || answer.Error.Code == 0 {
		return first, false
	}
	if len(answer.Error.Errors) > 0 {
		first = answer.Error.Errors[0]
	}
	return first, true
}

// notValid names the field of the call if Google names the location of the error.
func notValid(plain *fault.Error, first apiError) *fault.Error {
	location := strings.ToLower(first.Location)
	field := fault.Field{Message: "is refused by Google Calendar."}
	switch {
	case first.Reason == "timeRangeEmpty":
		field = fault.Field{Path: "end_time", Message: "must be after start_time."}
	case strings.Contains(location, "timezone"):
		field = fault.Field{Path: "timezone", Message: "is not a time zone that Google Calendar knows."}
	case strings.Contains(location, "attendee"):
		field.Path = "attendee_emails"
	case strings.Contains(location, "conference"):
		return plain.Restate(fault.Unsupported, fault.ReasonConferencing, noMeet().Detail)
	case strings.HasPrefix(location, "start"), location == "timemin":
		field.Path = "start_time"
	case strings.HasPrefix(location, "end"), location == "timemax":
		field.Path = "end_time"
	default:
		return plain
	}
	return plain.RestateAs(fault.InvalidFields(field))
}

// notAllowed distinguishes the meanings of a 403.
func notAllowed(plain *fault.Error, first apiError, answer *googleapi.Error) *fault.Error {
	forbidden := func(detail string) *fault.Error {
		return plain.Restate(fault.Forbidden, fault.ReasonPermissionDenied, detail)
	}
	switch first.Reason {
	case "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded":
		tooMany := upstream.StatusFault(name, http.StatusTooManyRequests, answer.Header, nil)
		return limited(plain.RestateAs(tooMany), first)
	case "insufficientPermissions":
		return forbidden("The Google account was connected without all the access that is needed. Connect "+
			"it again, and leave all boxes ticked.").With(scopeMissing, "true")
	case "requiredAccessLevel":
		return forbidden("The account can only read this Google calendar. Choose another one, or have its " +
			"owner share it with permission to make changes.")
	case "forbiddenForNonOrganizer":
		return forbidden("Only the organizer can change this event at Google. Ask the organizer to change it.")
	case "forbiddenForServiceAccounts":
		return forbidden("A service account cannot invite anybody in its own name. Give it domain-wide " +
			"delegation in the Google Workspace admin console, and set the user to act for as the " +
			"connection's subject.")
	case "notACalendarUser":
		return forbidden("The Google account has no calendar. Turn on Google Calendar for it, and open it " +
			"once.")
	case "domainPolicy":
		return forbidden("The administrators of this Google Workspace do not let other applications use its " +
			"calendars. Ask them to trust this one.")
	case "accessNotConfigured":
		return plain.Restate(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The Google Calendar API is not enabled in the project of the OAuth client. Enable it in the Google "+
				"Cloud console.")
	}
	return plain
}

// usedUpWait is the Retry-After of the limit of a day's calls.
const usedUpWait = 30 * time.Minute

// limited returns the fault of a limit: of a rate, which is over in a moment, of a day's calls, or of what an account
// does. The last is against spam, and lasts for hours or longer (support.google.com/a/answer/2905486, "Avoid Calendar
// use limits").
func limited(plain *fault.Error, first apiError) *fault.Error {
	switch first.Reason {
	case "dailyLimitExceeded":
		f := plain.Restate(plain.Code, plain.Reason,
			"The calls that Google allows the OAuth client for a day are used up.")
		f.RetryAfter = cmp.Or(plain.RetryAfter, usedUpWait)
		return f
	case "quotaExceeded":
		f := plain.Restate(plain.Code, plain.Reason,
			"The Google account has made too many events or invited too many people lately, and cannot do so for some "+
				"hours. Google's help has the limits: Avoid Calendar use limits.")
		f.NoRetry = true
		return f
	}
	return plain
}

// eventMissing restates a NotFound fault as that of an event.
func eventMissing(f *fault.Error) *fault.Error {
	if f == nil || f.Code != fault.NotFound {
		return f
	}
	return f.Restate(f.Code, fault.ReasonEventNotFound, noEvent().Detail)
}

// calendarMissing restates a NotFound fault as that of a calendar.
func calendarMissing(f *fault.Error) *fault.Error {
	if f == nil || f.Code != fault.NotFound {
		return f
	}
	return f.Restate(f.Code, fault.ReasonCalendarNotFound, noCalendar().Detail)
}

func noEvent() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonEventNotFound,
		"There is no such event in the Google calendar.")
}

func noCalendar() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "The Google account has no such calendar.")
}

func changedMeanwhile() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"Someone changed or cancelled the event in the Google calendar in the meantime. Read it and try "+
			"again.")
}

func guestsHidden() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonNotSupported,
		"Google does not show all guests of this event to the connected account, so its guests cannot be changed "+
			"without losing some.")
}

func endless() *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "Google Calendar returns pages without end.")
}

// unreadable returns the fault for a success with an unexpected body.
func unreadable(err error, access access) *fault.Error {
	f := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"Google Calendar gave an unexpected answer. Check the configured api_url.")
	if access == writing {
		f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"Google Calendar accepted the request, but its answer could not be read.")
	}
	return f.Because(err)
}
