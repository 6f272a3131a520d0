package api

import (
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"frontdesk/core/fault"
)

// The reasons of faults that this room makes itself.
const (
	reasonMalformed     = "MALFORMED_JSON" // shown as INVALID_REQUEST; a problem type of its own for its status on /beta
	reasonBodyTooLarge  = "BODY_TOO_LARGE"
	reasonBodyTooSlow   = "BODY_TOO_SLOW"
	reasonMediaType     = "UNSUPPORTED_MEDIA_TYPE"
	reasonPathNotFound  = "PATH_NOT_FOUND"
	reasonWrongMethod   = "METHOD_NOT_ALLOWED"
	reasonExhausted     = "EXHAUSTED"
	reasonAnswerSize    = "PROVIDER_ANSWER_TOO_LARGE" // made by core/upstream, which this room does not see
	statusClientLeft    = 499                         // no registered status says it; proxies write this one in their logs
	onceASecond         = time.Second
	whenProviderIsBack  = 5 * time.Second
	whenRunningOneEnded = 2 * time.Second
)

// problemType is one kind of failure (RFC 9457, section 3.1.1): all that does not depend on an occurrence.
type problemType struct {
	Reason string
	Only   fault.Code    // the one code that the row is for, where faults of several have its reason
	Shown  string        // the reason written in errors, where it is not Reason
	Code   code.Code     // google.rpc.Code, on /v1
	Status int           // the HTTP status
	Beta   int           // the HTTP status under /beta and /alpha, where it is another
	Slug   string        // the last part of the problem type
	Title  string        // of problem details; never changes between occurrences
	Spoken string        // what a voice agent can say aloud to the person on the line; see spoken.go
	Final  string        // the same where no repeat is suggested; "" is one that fits most
	Retry  time.Duration // after how long a repeat can help, when nothing better is known; 0: it cannot
	Person bool          // a person has to act, so the answer links to help

	Sample string // a detail, for the documents
	Means  string // what happened, for the problem's page
	Remedy string // what to do, for the problem's page
}

// reason is what errors show.
func (s problemType) reason() string {
	if s.Shown != "" {
		return s.Shown
	}
	return s.Reason
}

// status is the HTTP status on a surface.
func (s problemType) status(on surface) int {
	if on == surfaceBeta && s.Beta != 0 {
		return s.Beta
	}
	return s.Status
}

// repeats tells whether the same request can succeed later.
func (s problemType) repeats() bool { return s.Retry > 0 }

// catalogue finds the problem type of a fault: by its reason, else by its code, so that an adapter may name a reason of
// its own.
type catalogue struct {
	all      []problemType
	byReason map[string]problemType
	byCode   map[fault.Code]string
}

func newCatalogue() catalogue {
	c := catalogue{all: problemTypes(), byReason: map[string]problemType{}, byCode: reasonOfCode()}
	for _, s := range c.all {
		c.byReason[s.Reason] = s
	}
	return c
}

// of returns the problem type and the reason to show.
func (c catalogue) of(f *fault.Error) (problemType, string) {
	if f.Code == fault.Internal {
		s := c.byReason[fault.ReasonInternal]
		return s, s.reason()
	}
	if s, known := c.byReason[f.Reason]; known && (s.Only == "" || s.Only == f.Code) {
		return s, s.reason()
	}
	s, known := c.byReason[c.byCode[f.Code]]
	if !known {
		s = c.byReason[fault.ReasonInternal]
		return s, s.reason()
	}
	if f.Reason == "" {
		return s, s.reason()
	}
	return s, f.Reason
}

// reasonOfCode names the problem type of a code, for reasons that the table does not know.
func reasonOfCode() map[fault.Code]string {
	return map[fault.Code]string{
		fault.Invalid:         fault.ReasonInvalidRequest,
		fault.Unauthenticated: fault.ReasonInvalidAPIKey,
		fault.Disconnected:    fault.ReasonReconnectRequired,
		fault.Forbidden:       fault.ReasonPermissionDenied,
		fault.NotFound:        fault.ReasonNotFound,
		fault.Conflict:        fault.ReasonChangedMeanwhile,
		fault.Exhausted:       reasonExhausted,
		fault.Unsupported:     fault.ReasonNotSupported,
		fault.RateLimited:     fault.ReasonProviderRateLimited,
		fault.Unavailable:     fault.ReasonProviderUnavailable,
		fault.Timeout:         fault.ReasonDeadlineExceeded,
		fault.Canceled:        fault.ReasonCanceled,
		fault.UnknownOutcome:  fault.ReasonOutcomeUnknown,
	}
}

// problemTypes returns the table: one row per reason, in the order of the documents.
func problemTypes() []problemType {
	return []problemType{
		{
			Reason: fault.ReasonInvalidRequest, Code: code.Code_INVALID_ARGUMENT,
			Status: http.StatusBadRequest, Beta: http.StatusUnprocessableEntity,
			Slug: "invalid-request", Title: "The request is not valid",
			Spoken: "Something in that request was not right. Could you give me the details once more?",
			Sample: "The request is not valid: start_time is required.",
			Means:  "A field is unknown, missing, of the wrong type, or holds something that cannot be used. Every fault is listed with its place.",
			Remedy: "Correct the fields named and send the request again. An unknown field comes with the nearest known name.",
		},
		{
			Reason: reasonMalformed, Shown: fault.ReasonInvalidRequest, Code: code.Code_INVALID_ARGUMENT,
			Status: http.StatusBadRequest,
			Slug:   "malformed-json", Title: "The body is not JSON",
			Spoken: "Something went wrong on my side with that. I am sorry.",
			Sample: "The body is not valid JSON: unexpected end of JSON input at byte 17.",
			Means:  "The body does not parse as JSON in UTF-8, has text after its end, names a field twice, or nests too deep.",
			Remedy: "Send one JSON object, encoded in UTF-8, in which each name is there once.",
		},
		{
			Reason: reasonBodyTooLarge, Code: code.Code_INVALID_ARGUMENT, Status: http.StatusRequestEntityTooLarge,
			Slug: "body-too-large", Title: "The body is too large",
			Spoken: "That was more than I can send at once. Could you make it shorter?",
			Sample: "The body is larger than 131,072 bytes.",
			Means:  "A request's body may have 128 KiB.",
			Remedy: "Send less: long texts belong into a document that the description links to.",
		},
		{
			Reason: reasonBodyTooSlow, Code: code.Code_DEADLINE_EXCEEDED, Status: http.StatusRequestTimeout,
			Slug: "body-too-slow", Title: "The body did not arrive in time",
			Spoken: "Something went wrong on my side with that. Can we try again {wait}?",
			Sample: "The body did not arrive within 2s.",
			Means:  "The rest of a request has to arrive within 2 seconds after its headers. This one did nothing.",
			Remedy: "Send the request as a whole, on another connection.", Retry: onceASecond,
		},
		{
			Reason: reasonMediaType, Code: code.Code_INVALID_ARGUMENT, Status: http.StatusUnsupportedMediaType,
			Slug: "unsupported-media-type", Title: "The media type is not supported",
			Spoken: "Something went wrong on my side with that. I am sorry.",
			Sample: "The body must be application/json in UTF-8.",
			Means:  "The Content-Type is not application/json, names a charset other than utf-8, or the body is compressed.",
			Remedy: "Send Content-Type: application/json, or none, and no Content-Encoding.",
		},
		{
			Reason: fault.ReasonInvalidAPIKey, Code: code.Code_UNAUTHENTICATED, Status: http.StatusUnauthorized,
			Slug: "invalid-api-key", Title: "The API key is missing or not valid",
			Spoken: "I am not able to reach {system} right now. Someone will have to look at my access.",
			Sample: "The API key is missing. Send it in the X-Api-Key header.",
			Means:  "No key came with the request, or it is mistyped, unknown or revoked, or two different ones came.",
			Remedy: "Send the key in the X-Api-Key header, or as Authorization: Bearer. Make a new one when it is lost or revoked.",
		},
		{
			Reason: fault.ReasonScopeMissing, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "scope-missing", Title: "The API key lacks a scope",
			Spoken: "I am not allowed to do that. Someone will have to look at my access.",
			Sample: "The API key lacks the scope calendar:write.",
			Means:  "The key is valid but was made without the scope that this operation needs.",
			Remedy: "Use a key that has the scope, or make one.", Person: true,
		},
		{
			Reason: fault.ReasonPermissionDenied, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "provider-permission-denied", Title: "The provider does not allow it",
			Spoken: "The connected account does not allow me to do that. Someone at the office will have to look at it.",
			Sample: "The calendar's owner gives this account no right to change it.",
			Means:  "The provider knows the account and refuses what was asked of it.",
			Remedy: "Give the connected account the right at the provider, or connect another account.", Person: true,
		},
		{
			Reason: reasonPathNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "path-not-found", Title: "There is nothing at this path",
			Spoken: "I could not reach {system} properly.",
			Sample: "There is no operation at this path.",
			Means:  "The path is not one of the interface's. Paths are matched exactly: a slash more, or other case, is another path.",
			Remedy: "Compare the path with the documentation.",
		},
		{
			Reason: reasonWrongMethod, Code: code.Code_UNIMPLEMENTED, Status: http.StatusMethodNotAllowed,
			Slug: "method-not-allowed", Title: "The method is not allowed here",
			Spoken: "I could not reach {system} properly.",
			Sample: "This path takes POST, not GET.",
			Means:  "The path is right, its method is another one.",
			Remedy: "Use one of the methods that the Allow header lists.",
		},
		{
			Reason: fault.ReasonEventNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "event-not-found", Title: "The event was not found",
			Spoken: "I could not find that appointment. Could you tell me again when it is?",
			Sample: "There is no event evt_4k1v9s in the calendar primary.",
			Means:  "No event of that id is in the calendars that were looked through.",
			Remedy: "List the events to get the id, and name the calendar when it is not the default one.",
		},
		{
			Reason: fault.ReasonCalendarNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "calendar-not-found", Title: "The calendar was not found",
			Spoken: "I could not find that calendar.",
			Sample: "There is no calendar back-office in the connected account.",
			Means:  "The connected account has no calendar of that id.",
			Remedy: "List the calendars and use one of their ids.",
		},
		{
			Reason: fault.ReasonTicketNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "ticket-not-found", Title: "The ticket was not found",
			Spoken: "I could not find a ticket with that number. Could you read it to me once more?",
			Sample: "There is no ticket 1042.",
			Means:  "The CRM has no ticket of that number, or none that the connected account may see.",
			Remedy: "Ask for the number again.",
		},
		{
			Reason: fault.ReasonNumberNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "phone-number-not-found", Title: "The phone number was not found",
			Spoken: "I could not find that phone number.",
			Sample: "There is no phone number 4711.",
			Means:  "No phone number of that id belongs to the caller. A released number is gone for good.",
			Remedy: "List the phone numbers to get their ids.",
		},
		{
			Reason: fault.ReasonNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "not-found", Title: "It was not found",
			Spoken: "I could not find that.",
			Sample: "There is no such record.",
			Means:  "What the request names does not exist, or not for this caller.",
			Remedy: "Check the ids in the request.",
		},
		{
			Reason: fault.ReasonNotConnected, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "not-connected", Title: "No account is connected",
			Spoken: "The office has not connected its account yet, so I cannot do that right now.",
			Sample: "The caller has no connection of this kind.",
			Means:  "The caller has no connection of the kind that the operation works on.",
			Remedy: "Add a connection to the calendar, CRM or telephony account.", Person: true,
		},
		{
			Reason: fault.ReasonReconnectRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "reconnect-required", Title: "The account must be connected again",
			Spoken: "I have lost access to the office's account. Someone there has to sign in again.",
			Sample: "The provider refuses the credentials of the connection front-office.",
			Means:  "The provider refuses the stored credentials: they were revoked, or expired beyond refresh. Or the account was never connected.",
			Remedy: "Connect the account again; the error names the connection. For Google and Microsoft the gateway's operator makes a link with \"frontdesk connect-link\" under the connection's name, and its customer opens it; other credentials are entered again with \"frontdesk connection add\" or \"frontdesk apply\". Everything else about the connection stays. Repeating the request does not help before that.", Person: true,
		},
		{
			Reason: fault.ReasonProviderMisconfigured, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "provider-misconfigured", Title: "The connection is not set up properly",
			Spoken: "The connection to the office's account is not set up properly. Someone there has to look at it.",
			Sample: "There is no calendar server at the address of the connection.",
			Means:  "The connection's settings do not fit the provider: a wrong address, a missing object, an unfinished set-up.",
			Remedy: "Correct the connection's settings and verify it.", Person: true,
		},
		{
			Reason: fault.ReasonEgressRefused, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "address-refused", Title: "The connection's address may not be reached",
			Spoken: "The connection to the office's account is not set up properly. Someone there has to look at it.",
			Sample: "The address of the connection leads to a network that may not be reached.",
			Means:  "The address of the connection leads to a loopback, private, link-local or metadata address.",
			Remedy: "Use a public address, or have the operator allow the network.", Person: true,
		},
		{
			Reason: fault.ReasonConferencing, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "conferencing-unavailable", Title: "No meeting link can be made",
			Spoken: "I cannot set up a video link with this account. Shall I book it without one?",
			Sample: "The account cannot make a meeting link.",
			Means:  "A meeting link was asked for that the account cannot make. Nothing was booked.",
			Remedy: "Book without conferencing_type, give a location_url, or license the account for conferencing.", Person: true,
		},
		{
			Reason: fault.ReasonNotSupported, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "not-supported", Title: "The account cannot do this",
			Spoken: "That is not possible with the connected account.",
			Sample: "The calendar can be read but not written.",
			Means:  "The provider, or this account there, cannot do what was asked, however often it is asked.",
			Remedy: "Ask for something else, or connect an account that can.",
		},
		{
			Reason: fault.ReasonProviderRefused, Only: fault.Invalid, Code: code.Code_INVALID_ARGUMENT,
			Status: http.StatusBadRequest, Beta: http.StatusUnprocessableEntity,
			Slug: "provider-refused", Title: "The provider does not accept the request",
			Spoken: "{System} did not accept that. Could we try it a little differently?",
			Sample: "The calendar server does not take so many attendees.",
			Means:  "The request is right by the interface and still more, or other, than this provider or account takes.",
			Remedy: "Change the request as the detail says. The same one is refused again.",
		},
		{
			Reason: fault.ReasonProviderConflict, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "provider-conflict", Title: "Something at the provider stands in the way",
			Spoken: "Something in {system} is in the way of that. Let me look at it again.",
			Sample: "The provider says that what was asked conflicts with what it holds.",
			Means:  "The provider refused because of something else that it holds, or that happens there at the same time.",
			Remedy: "Read it again and decide anew.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonSlotTaken, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "slot-taken", Title: "The slot is taken",
			Spoken: "That time is already taken. Would another time work for you?",
			Sample: "Another meeting is in the way from 10:00 to 10:30.",
			Means:  "The tenant prevents double booking and one of the selected calendars is busy.",
			Remedy: "List the events and offer a time that is free.",
		},
		{
			Reason: fault.ReasonChangedMeanwhile, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "changed-meanwhile", Title: "Someone changed it meanwhile",
			Spoken: "Someone else just changed that. Let me look at it again.",
			Sample: "The event was changed by someone else again and again.",
			Means:  "What the request would change was changed by someone else at the same time. Nothing was overwritten.",
			Remedy: "Read it again and decide anew.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonNumberTaken, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "number-taken", Title: "Someone else took the number",
			Spoken: "Someone else just took that number. Let me find another one.",
			Sample: "Every number offered was taken by someone else.",
			Means:  "The numbers on offer were sold to someone else before they could be bought. Nothing was charged.",
			Remedy: "Buy again.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonNoNumbersAvailable, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "no-numbers-available", Title: "No phone number is available",
			Spoken: "There is no number left in that area code. Would another area code work?",
			Sample: "No number is for sale in the area code 415.",
			Means:  "The provider has no number for sale in the area code.",
			Remedy: "Try a neighbouring area code, or come back later.",
		},
		{
			Reason: fault.ReasonOrderPending, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "order-pending", Title: "The number is ordered and not there yet",
			Spoken: "The number is ordered and not there yet. Let us look again {wait}.",
			Final:  "The number is ordered and not there yet.",
			Sample: "+14155550123 is ordered and will be there soon. Repeat the request with the same Idempotency-Key to get it.",
			Means:  "The provider took the order and has not filled it within the time that the request had. The gateway goes on by itself.",
			Remedy: "Repeat the request with the same Idempotency-Key, or list the phone numbers in a minute. Do not buy again.", Retry: whenRunningOneEnded,
		},
		{
			Reason: fault.ReasonPurchaseLimit, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusTooManyRequests,
			Slug: "purchase-limit-reached", Title: "No more numbers may be bought today",
			Spoken: "I cannot get any more numbers for now.",
			Sample: "10 numbers were bought within the last 24 hours, which is the most that this tenant may buy.",
			Means:  "The tenant's limit of purchases within 24 hours is reached. Nothing was bought.",
			Remedy: "Wait as long as Retry-After says, or have the operator raise the tenant's max_purchases_per_day.", Person: true, Retry: time.Hour,
		},
		{
			Reason: fault.ReasonNumberLimit, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "number-limit-reached", Title: "The tenant holds as many numbers as it may",
			Spoken: "We already have as many numbers as we may have.",
			Sample: "The tenant holds 100 phone numbers, which is the most that it may hold.",
			Means:  "The tenant's limit of phone numbers is reached. Nothing was bought.",
			Remedy: "Release a number, or have the operator raise the tenant's max_phone_numbers.", Person: true,
		},
		{
			Reason: fault.ReasonAddressRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "address-required", Title: "The provider wants an address for such a number",
			Spoken: "I cannot get a number there right now. Would another area code work?",
			Sample: "Numbers in this area are sold to customers with a registered address only.",
			Means:  "The provider sells such numbers only to accounts with a registered address. Nothing was bought.",
			Remedy: "Register an address at the provider and name it in the connection's settings, or try another area code.", Person: true,
		},
		{
			Reason: fault.ReasonBundleRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "regulatory-documents-required", Title: "The provider wants regulatory documents for such a number",
			Spoken: "I cannot get a number there right now. Would another area code work?",
			Sample: "Numbers in this country are sold with an approved regulatory bundle only.",
			Means:  "The law of the number's country asks for documents that the provider has not got or not yet approved. Nothing was bought.",
			Remedy: "Hand in the documents at the provider and name the bundle in the connection's settings.", Person: true,
		},
		{
			Reason: fault.ReasonTrialLimit, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "trial-account-limit", Title: "The provider's trial account allows no more",
			Spoken: "I cannot get a new number with our present phone account.",
			Sample: "A trial account may hold one number.",
			Means:  "The provider's account is a trial, which allows no more numbers. Nothing was bought.",
			Remedy: "Upgrade the account at the provider.", Person: true,
		},
		{
			Reason: fault.ReasonInsufficientFunds, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusPaymentRequired,
			Slug: "insufficient-funds", Title: "The balance at the provider is too low",
			Spoken: "I cannot get a new number with our present phone account.",
			Sample: "The balance of the account at the provider is too low.",
			Means:  "The provider does not sell on credit to this account. Nothing was bought.",
			Remedy: "Top up the account at the provider.", Person: true,
		},
		{
			Reason: fault.ReasonAccountSuspended, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "account-suspended", Title: "The account at the provider is suspended",
			Spoken: "The account for {system} does not work. Someone at the office has to look at it.",
			Sample: "The account at the provider is suspended.",
			Means:  "The provider has suspended or closed the account.",
			Remedy: "Talk to the provider, or connect another account.", Person: true,
		},
		{
			Reason: fault.ReasonEmergencyAddress, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "emergency-address-registered", Title: "The number has an emergency address",
			Spoken: "That number cannot be given back yet, since an emergency address is registered for it.",
			Sample: "An emergency address is registered for the number.",
			Means:  "A number with a registered emergency address is not taken back: calls for help could come to the wrong place.",
			Remedy: "Remove the emergency address at the provider, wait until it is gone there, and release the number then.", Person: true,
		},
		{
			Reason: fault.ReasonNumberLocked, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "number-locked", Title: "The number is locked against deletion",
			Spoken: "That number is locked, so it cannot be given back.",
			Sample: "The number is locked against deletion at the provider.",
			Means:  "Someone locked the number at the provider so that it is not deleted by mistake.",
			Remedy: "Unlock it at the provider, then release it.", Person: true,
		},
		{
			Reason: fault.ReasonTooManyEvents, Code: code.Code_OUT_OF_RANGE, Status: http.StatusBadRequest,
			Slug: "too-many-events", Title: "There are more events than one answer can hold",
			Spoken: "That is a long stretch of time. Could we look at a shorter one?",
			Sample: "There are more than 2,500 events in the window.",
			Means:  "The window holds more than 2,500 events, and a part of them would mislead.",
			Remedy: "Ask for a narrower window.",
		},
		{
			Reason: reasonAnswerSize, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "provider-answer-too-large", Title: "The provider answered with too much",
			Spoken: "There is more in {system} than I can look through at once. Could we ask for less?",
			Sample: "The provider google answered with more than 16777216 bytes, which is more than is read.",
			Means:  "The provider's answer is larger than the gateway reads, and a part of it would mislead.",
			Remedy: "Ask for less where the operation lets you, such as a shorter time; else look in the connected account for what has grown so large.", Person: true,
		},
		{
			Reason: fault.ReasonStorageFull, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "provider-storage-full", Title: "The account at the provider is full",
			Spoken: "{System} is full, so I cannot add anything there. Someone at the office has to look at it.",
			Sample: "The mailbox has no room left.",
			Means:  "The account at the provider has no room for what was to be added. Nothing was added.",
			Remedy: "Make room in the account at the provider, or have its storage raised.", Person: true,
		},
		{
			Reason: reasonExhausted, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "exhausted", Title: "A limit of the account is reached",
			Spoken: "A limit of the office's account is reached, so I cannot do that.",
			Sample: "The account holds as many as its plan allows.",
			Means:  "A stock or a quota of the provider is used up.",
			Remedy: "Ask for something else, or have the quota raised.", Person: true,
		},
		{
			Reason: fault.ReasonTicketIncomplete, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "ticket-incomplete", Title: "The ticket is open without a value that was asked for",
			Spoken: "I have opened the ticket, but not everything I entered was kept. Someone at the office will have to look at it.",
			Sample: "The ticket 1042 is open, but the CRM does not have it as asked: status (it is \"New\"). Do not open it again; set what is missing in the CRM.",
			Means:  "The CRM opened the ticket and dropped or replaced a value of it. The metadata has the ticket's number and id, and under not_set the fields.",
			Remedy: "Do not send the request again: the ticket is there, and get-ticket shows it as it is. Set the value in the CRM. If it happens again, give the connected account the right to set it, or leave the field out.",
			Person: true,
		},
		{
			Reason: fault.ReasonIdempotencyReused, Code: code.Code_FAILED_PRECONDITION,
			Status: http.StatusBadRequest, Beta: http.StatusUnprocessableEntity,
			Slug: "idempotency-key-reused", Title: "The idempotency key was used for another request",
			Spoken: "I mixed something up on my side. I am sorry.",
			Sample: "The Idempotency-Key was used before with another body.",
			Means:  "A request with this Idempotency-Key came before, and it asked for something else.",
			Remedy: "Use a new key for a new request, and the same body to repeat one.",
		},
		{
			Reason: fault.ReasonIdempotencyRunning, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "idempotency-in-progress", Title: "The first request is still running",
			Spoken: "I am still working on that. One moment, please.",
			Sample: "A request with this Idempotency-Key is still running.",
			Means:  "A request with this Idempotency-Key has come and has no answer yet.",
			Remedy: "Repeat it with the same key a little later: the first answer is sent again.", Retry: whenRunningOneEnded,
		},
		{
			Reason: fault.ReasonOutcomeUnknown, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "outcome-unknown", Title: "It is not known whether it happened",
			Spoken: "I am not sure yet whether that went through. Let us look again {wait}.",
			Sample: "The provider did not say whether the meeting was booked. Repeat with the same Idempotency-Key to settle it.",
			Means:  "The provider was asked and its answer was lost or could not be read, so it may or may not have happened.",
			Remedy: "With a Retry-After, repeat the request when that has passed, with its Idempotency-Key if it had one: that settles the question without doing it twice. Without a Retry-After do not repeat it: a repeat could do it twice, or nothing will ever tell. Look at the provider, as the detail says.",
			Retry:  whenProviderIsBack,
		},
		{
			Reason: fault.ReasonRateLimited, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusTooManyRequests,
			Slug: "rate-limited", Title: "Too many requests",
			Spoken: "I cannot do that right now. Can we try again {wait}?",
			Sample: "The API key makes more than 6,000 requests in a minute.",
			Means:  "The API key, or all keys of its tenant together, made more requests than the operator allows. This one did nothing.",
			Remedy: "Wait as long as Retry-After says; the RateLimit header of every answer tells what is left.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonProviderRateLimited, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusTooManyRequests,
			Slug: "provider-rate-limited", Title: "The provider limits the rate of requests",
			Spoken: "{System} is busy. Can we try again {wait}?",
			Sample: "The provider asks to wait before the next request.",
			Means:  "The provider got more requests for this account than it allows.",
			Remedy: "Wait as long as Retry-After says.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonProviderUnavailable, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "provider-unavailable", Title: "The provider is not available",
			Spoken: "{System} does not answer right now. Can we try again {wait}?",
			Sample: "The provider cannot be reached.",
			Means:  "The provider cannot be reached or answers that it is down.",
			Remedy: "Repeat the request when Retry-After has passed, a write with its Idempotency-Key. Without a Retry-After a repeat could act twice: look at the provider first.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonBreakerOpen, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "breaker-open", Title: "The provider has been failing",
			Spoken: "{System} does not answer right now. Can we try again {wait}?",
			Sample: "The provider has been failing; the next try is made in a few seconds.",
			Means:  "The provider failed so often just now that it is not asked for a while. This request never reached it.",
			Remedy: "Repeat the request later.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonOverloaded, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "overloaded", Title: "The gateway is overloaded",
			Spoken: "There is a lot going on right now. Can we try again {wait}?",
			Sample: "The gateway has more requests than it can answer in time.",
			Means:  "The gateway refuses some requests so that it can answer the others in time. This one did nothing.",
			Remedy: "Repeat the request after the time that Retry-After says.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonStoreUnavailable, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "store-unavailable", Title: "The gateway cannot reach its store",
			Spoken: "Something on my side does not work right now. Can we try again {wait}?",
			Sample: "The gateway cannot reach its store.",
			Means:  "The gateway's own store is down, full or too slow. Nothing was asked of the provider.",
			Remedy: "Repeat the request later.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonDeadlineExceeded, Code: code.Code_DEADLINE_EXCEEDED, Status: http.StatusGatewayTimeout,
			Slug: "deadline-exceeded", Title: "The deadline passed",
			Spoken: "That is taking longer than it should. Can we try again {wait}?",
			Sample: "The deadline passed before an answer was there.",
			Means:  "No answer was there within the request's deadline.",
			Remedy: "With a Retry-After, repeat the request when that has passed, a write with its Idempotency-Key: it tells what became of the first one. A write without one is not to be repeated before somebody looked.",
			Retry:  onceASecond,
		},
		{
			Reason: fault.ReasonCanceled, Code: code.Code_CANCELLED, Status: statusClientLeft,
			Slug: "canceled", Title: "The caller left",
			Spoken: "That was interrupted before I had an answer.",
			Sample: "The caller left before an answer was there.",
			Means:  "The caller closed the connection before the answer was there.",
			Remedy: "Repeat the request, a write with its Idempotency-Key: it tells what became of the first one.",
		},
		{
			Reason: fault.ReasonInternal, Code: code.Code_INTERNAL, Status: http.StatusInternalServerError,
			Slug: "internal", Title: "The gateway has a defect",
			Spoken: "Something went wrong on my side. I am sorry about that.",
			Sample: "The gateway has a defect; the operator finds the cause in its log by the request id.",
			Means:  "Something happened that the gateway was not made for. The cause is in its log and nowhere else.",
			Remedy: "Tell the operator the request id.",
		},
	}
}
