package microsoft

import (
	"errors"
	"net/http"
	"strings"

	"frontdesk/adapters/calendar/microsoft/graph"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// duplicateTransaction is the error code for a transactionId that was used for another event.
const duplicateTransaction = "ErrorDuplicateTransactionId"

// cannotDelete is the error code for an event that the account may not delete, or that is deleted already; see remove.
const cannotDelete = "ErrorCannotDeleteObject"

// faultOf converts the error of a request into a fault. The transport's errors are faults already, and are
// returned unchanged.
func (d *driver) faultOf(err error, about exchange) error {
	var (
		refused *graph.Error
		strange *graph.Unreadable
	)
	switch {
	case errors.As(err, &refused):
		f := d.refusal(refused, about)
		if refused.Code == duplicateTransaction || refused.Code == cannotDelete {
			f = f.Because(refused) // Book and remove check for it
		}
		return f
	case errors.As(err, &strange):
		return unreadable(strange, about.writes)
	}
	return fault.From(err)
}

// refusal converts an error response into a fault: by its code, if that is more specific than the status
// (learn.microsoft.com/graph/errors; the codes that begin with Error are those of Exchange).
func (d *driver) refusal(e *graph.Error, about exchange) *fault.Error {
	f := upstream.StatusFault(name, e.Status, e.Header, e.Body)
	if id := requestID(e); id != "" && !strings.Contains(f.Upstream, id) {
		f.Upstream += " request-id " + id
	}
	meaning := d.meaning(e, about)
	if meaning == nil {
		return f
	}
	meaning = meaning.With("upstream_status", f.Metadata["upstream_status"])
	meaning.RetryAfter, meaning.Upstream = f.RetryAfter, f.Upstream
	return meaning
}

func requestID(e *graph.Error) string {
	if e.RequestID != "" {
		return e.RequestID
	}
	return e.Header.Get("request-id")
}

// meaning returns the fault for an error code, nil if the status suffices.
func (d *driver) meaning(e *graph.Error, about exchange) *fault.Error {
	switch e.Code {
	case "ErrorItemNotFound", "ErrorInvalidIdMalformed", "ErrorInvalidId", "ErrorInvalidIdEmpty",
		"ErrorInvalidMailboxItemId",
		"ErrorFolderNotFound", "ErrorCalendarNotFound", "ErrorParentFolderNotFound", "RequestBroker--ParseUri":
		return about.missing
	case "ErrorCalendarCannotUpdateDeletedItem", "ErrorCalendarOccurrenceIsDeletedFromRecurrence":
		// Of what is deleted ("Handling deletion-related errors in EWS in Exchange").
		return noEvent().With(calendar.MetaGone, "true")
	case "MailboxNotEnabledForRESTAPI", "MailboxNotSupportedForRESTAPI", "ErrorNonExistentMailbox":
		return misconfigured("has no mailbox in the cloud for this account. Give the account an Exchange " +
			"Online mailbox, or connect another account")
	case "ErrorMailboxMoveInProgress", "ErrorMailboxStoreUnavailable":
		// Exchange moves mailboxes among its databases by itself (learn.microsoft.com/exchange/client-developer/
		// web-service-reference/responsecode).
		f := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"Microsoft is moving the account's mailbox, or cannot reach it at the moment. Try again later.")
		f.Unsent = e.Code == "ErrorMailboxMoveInProgress" // a refusal, after which nothing was done
		return f
	case "Request_ResourceNotFound", "ResourceNotFound", "ErrorInvalidUser":
		if d.settings.Mailbox != "" {
			return misconfigured("does not know this mailbox. Check settings.mailbox and settings.directory")
		}
		return misconfigured("has no mailbox for this account. Connect another account")
	case "ApplicationThrottled", "TooManyRequests", "activityLimitReached", "ErrorServerBusy",
		"MailboxConcurrency", "ErrorExceededConnectionCount":
		return rateLimited()
	case "ErrorIrresolvableConflict", "ErrorStaleObject", "ErrorChangeKeyRequiredForWriteOperations":
		return changedMeanwhile()
	case duplicateTransaction:
		return removedSince()
	case "InvalidAuthenticationToken", "AuthenticationError", "ErrorInvalidToken":
		return fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"Microsoft refuses the connection's credentials. Connect the account again.")
	case "TimeZoneNotSupportedException":
		return fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"Microsoft does not know this time zone. Send the times in another one.")
	case "ErrorOccurrenceCrossingBoundary":
		return fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"Outlook does not let a meeting of a series move onto or past the one before or after it. "+
				"Choose a time between the two.")
	case "ErrorAccessDenied", "ErrorInsufficientPermissionsInAccessToken", "Authorization_RequestDenied", cannotDelete:
		return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"Microsoft does not allow the connected account to do this: the calendar is read-only, or the "+
				"permission to change calendars was not granted.")
	case "ErrorQuotaExceeded":
		return fault.New(fault.Exhausted, fault.ReasonStorageFull, "The mailbox has no room left.")
	}
	switch {
	case e.Status == statusBandwidth:
		return rateLimited()
	case (e.Status == http.StatusNotFound || e.Status == http.StatusGone) && e.Code == "": // not an error of Graph
		return misconfigured("reports that the address does not exist. Check the configured api_url")
	}
	return nil
}

// statusBandwidth is Microsoft's status 509 for an exceeded limit of bytes.
const statusBandwidth = 509

// unreadable returns the fault for a success with an unexpected body. The outcome of a write is unknown then.
func unreadable(u *graph.Unreadable, writes bool) *fault.Error {
	f := misconfigured("gives an unexpected answer. Check the configured api_url")
	if writes {
		f = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"Microsoft accepted the request, but its answer could not be read.")
	}
	f = f.Because(u)
	f.Upstream = upstream.StatusFault(name, u.Status, nil, u.Body).Upstream
	return f
}

// noList returns the fault for a list without its items: an empty list instead would report a day as free.
func noList() *fault.Error {
	return unreadable(&graph.Unreadable{Reason: "an answer is no list"}, false)
}

func misconfigured(what string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured, "Microsoft Graph %s.", what)
}

func endless() *fault.Error { return misconfigured("returns pages without end") }

func rateLimited() *fault.Error {
	return fault.New(fault.RateLimited, fault.ReasonProviderRateLimited,
		"Microsoft limits how often it is called. Try again later.")
}

func noEvent() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonEventNotFound,
		"There is no such event in the account's calendars.")
}

func noCalendar() *fault.Error {
	return fault.New(fault.NotFound, fault.ReasonCalendarNotFound, "The account has no such calendar.")
}

// eventOf converts a fault about a missing calendar into one about the event in it.
func eventOf(err error) error {
	if f := fault.From(err); f.Reason == fault.ReasonCalendarNotFound {
		return noEvent()
	}
	return err
}

func changedMeanwhile() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"Someone else changed the event in the meantime.")
}

func notOrganizer() *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
		"Only the organizer can change this event. Ask the organizer to change it.")
}

func removedSince() *fault.Error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"This booking was made earlier, and its event has since been moved or removed.")
}

func noLink(detail string) *fault.Error {
	return fault.New(fault.Unsupported, fault.ReasonConferencing, detail)
}
