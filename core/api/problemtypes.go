package api

import (
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
	"frontdesk/core/webhook"
)

// Reasons of faults that this package returns.
const (
	// Shown as INVALID_REQUEST; a separate problem type because its status on /beta differs.
	reasonMalformed    = "MALFORMED_JSON"
	reasonBodyTooLarge = "BODY_TOO_LARGE"
	reasonBodyTooSlow  = "BODY_TOO_SLOW"
	reasonMediaType    = "UNSUPPORTED_MEDIA_TYPE"
	reasonPathNotFound = "PATH_NOT_FOUND"
	reasonWrongMethod  = "METHOD_NOT_ALLOWED"
	reasonExhausted    = "EXHAUSTED"
	reasonAnswerSize   = "PROVIDER_ANSWER_TOO_LARGE" // from core/upstream, which this package does not import
	reasonKeyRevoked   = "API_KEY_REVOKED"           // from core/store, likewise
	// No registered status means this; proxies use 499 in their logs.
	statusClientLeft    = 499
	onceASecond         = time.Second
	whenProviderIsBack  = 5 * time.Second
	whenRunningOneEnded = 2 * time.Second
)

// problemType is one kind of failure (RFC 9457, section 3.1.1). It holds the data that all occurrences share.
type problemType struct {
	Reason string
	Only   fault.Code    // if set, the row is only for faults with this code
	Shown  string        // the reason shown in errors, if it differs from Reason
	Code   code.Code     // google.rpc.Code, on /v1
	Status int           // the HTTP status
	Beta   int           // the HTTP status under /beta and /alpha, if it differs from Status
	Slug   string        // the last part of the problem type
	Title  string        // of problem details; never changes between occurrences
	Spoken string        // what a voice agent can say aloud to the person on the line; see spoken.go
	Final  string        // replaces Spoken if no repeat is suggested; "": a sentence that fits most failures
	Retry  time.Duration // default delay after which a repeat can help; 0: a repeat cannot help
	Person bool          // a person has to act, so the response links to help

	Sample string // an example of the detail, for the documents
	Means  string // what happened, for the problem's page
	Remedy string // what to do, for the problem's page
}

// reason returns the reason that errors show.
func (s problemType) reason() string {
	if s.Shown != "" {
		return s.Shown
	}
	return s.Reason
}

// status returns the HTTP status on a surface.
func (s problemType) status(on surface) int {
	if on == surfaceBeta && s.Beta != 0 {
		return s.Beta
	}
	return s.Status
}

// repeats reports whether the same request can succeed later.
func (s problemType) repeats() bool { return s.Retry > 0 }

// catalogue finds the problem type of a fault: by its reason, or else by its code, so that adapters may have
// their own reasons.
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

// reasonOfCode returns the reason of each code's problem type, for faults with unknown reasons.
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
			Means: "A field is unknown, missing, of the wrong type, or has a value that cannot be used. The " +
				"error lists every fault with its place.",
			Remedy: "Correct the listed fields and send the request again. For an unknown field, the error " +
				"suggests the nearest known name.",
		},
		{
			Reason: reasonMalformed, Shown: fault.ReasonInvalidRequest, Code: code.Code_INVALID_ARGUMENT,
			Status: http.StatusBadRequest,
			Slug:   "malformed-json", Title: "The body is not JSON",
			Spoken: "Something went wrong on my side with that. I am sorry.",
			Sample: "The body is not valid JSON: unexpected end of JSON input at byte 17.",
			Means: "The body is not valid JSON in UTF-8, has text after its end, names a field twice, or is " +
				"nested too deeply.",
			Remedy: "Send one JSON object in UTF-8 that has each name only once.",
		},
		{
			Reason: reasonBodyTooLarge, Code: code.Code_INVALID_ARGUMENT, Status: http.StatusRequestEntityTooLarge,
			Slug: "body-too-large", Title: "The body is too large",
			Spoken: "That was more than I can send at once. Could you make it shorter?",
			Sample: "The body is larger than 131,072 bytes.",
			Means:  "The body of a request may be at most 128 KiB.",
			Remedy: "Send less. Put long texts into a document, and link to it in the description.",
		},
		{
			Reason: reasonBodyTooSlow, Code: code.Code_DEADLINE_EXCEEDED, Status: http.StatusRequestTimeout,
			Slug: "body-too-slow", Title: "The body did not arrive in time",
			Spoken: "Something went wrong on my side with that. Can we try again {wait}?",
			Sample: "The body did not arrive within 2s.",
			Means:  "The body must arrive within 2 seconds after the headers. This request changed nothing.",
			Remedy: "Send the whole request at once, on a new connection.", Retry: onceASecond,
		},
		{
			Reason: reasonMediaType, Code: code.Code_INVALID_ARGUMENT, Status: http.StatusUnsupportedMediaType,
			Slug: "unsupported-media-type", Title: "The media type is not supported",
			Spoken: "Something went wrong on my side with that. I am sorry.",
			Sample: "The body must be application/json in UTF-8.",
			Means: "The Content-Type is not application/json or names a charset other than utf-8, or the " +
				"body is compressed.",
			Remedy: "Send Content-Type: application/json, or none, and no Content-Encoding.",
		},
		{
			Reason: fault.ReasonInvalidAPIKey, Code: code.Code_UNAUTHENTICATED, Status: http.StatusUnauthorized,
			Slug: "invalid-api-key", Title: "The API key is missing or not valid",
			Spoken: "I am not able to reach {system} right now. Someone will have to look at my access.",
			Sample: "The API key is missing. Send it in the X-Api-Key header.",
			Means: "The request has no key, or two different ones, or its key is mistyped, unknown or " +
				"revoked.",
			Remedy: "Send the key in the X-Api-Key header, or as Authorization: Bearer. If the key is lost " +
				"or revoked, create a new one.",
		},
		{
			Reason: fault.ReasonInvalidSignature, Code: code.Code_UNAUTHENTICATED, Status: http.StatusUnauthorized,
			Slug: "invalid-signature", Title: "The platform's signature is missing or not valid",
			Spoken: "I am not able to reach {system} right now. Someone will have to look at my access.",
			Sample: "The signature in X-Retell-Signature is not of the agent's signing secret.",
			Means: "A request to the address of a voice agent does not prove that it comes from the agent's " +
				"platform: it has no signature, one of another secret, or one that is more than five minutes old.",
			Remedy: "Compare the signing secret at the platform with the one that the agent was created with. " +
				"If they differ, remove the agent and create it with the right one.",
		},
		{
			Reason: fault.ReasonScopeMissing, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "scope-missing", Title: "The API key lacks a scope",
			Spoken: "I am not allowed to do that. Someone will have to look at my access.",
			Sample: "The API key lacks the scope calendar:write.",
			Means:  "The key is valid, but does not have the scope that this operation needs.",
			Remedy: "Use a key that has the scope, or create one.", Person: true,
		},
		{
			Reason: fault.ReasonPermissionDenied, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "provider-permission-denied", Title: "The provider does not allow it",
			Spoken: "The connected account does not allow me to do that. Someone at the office will have to " +
				"look at it.",
			Sample: "The account has no permission to change this calendar.",
			Means: "The provider accepts the credentials, but does not permit this account to do what was " +
				"asked.",
			Remedy: "Grant the connected account the permission at the provider, or connect another " +
				"account.", Person: true,
		},
		{
			Reason: reasonPathNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "path-not-found", Title: "There is nothing at this path",
			Spoken: "I could not reach {system} properly.",
			Sample: "There is no operation at this path.",
			Means: "The API has no such path. Paths match exactly: an extra slash or a different case makes " +
				"a different path.",
			Remedy: "Compare the path with the documentation.",
		},
		{
			Reason: fault.ReasonHostRefused, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "host-refused", Title: "The host name is refused", Person: true,
			Spoken: "I could not reach {system} properly.",
			Sample: "The tools are served at https://agents.example.com/mcp and on loopback only.",
			Means: "The request was sent to another host name than the gateway's own. A web page of a stranger " +
				"could do that with a name that leads to your network (DNS rebinding).",
			Remedy: "Use the address in server.public_url, or let the proxy in front pass on the Host header.",
		},
		{
			Reason: fault.ReasonForeignRequest, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "foreign-request", Title: "The request comes from another site", Person: true,
			Spoken: "I could not reach {system} properly.",
			Sample: "The request comes from another site's page. Call the tools from a server, not from a page.",
			Means: "A browser sent the request for a page of another site (Origin, Sec-Fetch-Site). The page could be " +
				"a stranger's, and shows its API key to whoever opens it.",
			Remedy: "Let a server of yours call the tools. Behind a proxy, let it pass on the Host header.",
		},
		{
			Reason: reasonWrongMethod, Code: code.Code_UNIMPLEMENTED, Status: http.StatusMethodNotAllowed,
			Slug: "method-not-allowed", Title: "The method is not allowed here",
			Spoken: "I could not reach {system} properly.",
			Sample: "This path takes POST, not GET.",
			Means:  "The path exists, but does not take this method.",
			Remedy: "Use one of the methods that the Allow header lists.",
		},
		{
			Reason: fault.ReasonEventNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "event-not-found", Title: "The event was not found",
			Spoken: "I could not find that appointment. Could you tell me again when it is?",
			Sample: "There is no event evt_4k1v9s in the calendar primary.",
			Means:  "The calendars that were searched have no event with this id.",
			Remedy: "List the events to get the id. If the event is not in the default calendar, name its " +
				"calendar.",
		},
		{
			Reason: fault.ReasonCalendarNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "calendar-not-found", Title: "The calendar was not found",
			Spoken: "I could not find that calendar.",
			Sample: "There is no calendar back-office in the connected account.",
			Means:  "The connected account has no calendar with this id.",
			Remedy: "List the calendars and use one of their ids.",
		},
		{
			Reason: fault.ReasonTicketNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "ticket-not-found", Title: "The ticket was not found",
			Spoken: "I could not find a ticket with that number. Could you read it to me once more?",
			Sample: "There is no ticket 1042.",
			Means:  "The CRM has no ticket with this number, or the connected account may not see it.",
			Remedy: "Ask for the number again.",
		},
		{
			Reason: fault.ReasonNumberNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "phone-number-not-found", Title: "The phone number was not found",
			Spoken: "I could not find that phone number.",
			Sample: "There is no phone number 4711.",
			Means: "The caller has no phone number with this id. The id of a released number is never used " +
				"again.",
			Remedy: "List the phone numbers to get their ids.",
		},
		{
			Reason: fault.ReasonNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "not-found", Title: "The record was not found",
			Spoken: "I could not find that.",
			Sample: "There is no such record.",
			Means:  "The request names something that does not exist, or that this caller may not see.",
			Remedy: "Check the ids in the request.",
		},
		{
			Reason: fault.ReasonNotConnected, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "not-connected", Title: "No account is connected",
			Spoken: "The office has not connected its account yet, so I cannot do that right now.",
			Sample: "The caller has no connection of this kind.",
			Means:  "The caller has no connection of the kind that the operation needs.",
			Remedy: "Add a connection to the calendar, CRM or telephony account.", Person: true,
		},
		{
			Reason: fault.ReasonReconnectRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "reconnect-required", Title: "The account must be connected again",
			Spoken: "I have lost access to the office's account. Someone there has to sign in again.",
			Sample: "The provider refuses the credentials of the connection front-office.",
			Means: "The provider refuses the stored credentials: they were revoked, or have expired and " +
				"cannot be renewed. Or the account was never connected.",
			Remedy: "Connect the account again; the error names the connection. If a customer connected it " +
				"by a link, the operator creates a new link with \"frontdesk connect-link\" and the " +
				"connection's name, and the customer opens it. Other credentials are entered again with " +
				"\"frontdesk connection add\" or \"frontdesk apply\". Everything else about the connection " +
				"stays. Until then, repeating the request does not help.", Person: true,
		},
		{
			Reason: fault.ReasonProviderMisconfigured, Code: code.Code_FAILED_PRECONDITION,
			Status: http.StatusBadRequest,
			Slug:   "provider-misconfigured", Title: "The connection is not set up properly",
			Spoken: "The connection to the office's account is not set up properly. Someone there has to look at it.",
			Sample: "There is no calendar server at the address of the connection.",
			Means: "The connection's settings do not fit the provider: an address is wrong, something they " +
				"name does not exist, or the setup is incomplete.",
			Remedy: "Correct the connection's settings and verify it.", Person: true,
		},
		{
			Reason: fault.ReasonEgressRefused, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "address-refused", Title: "The connection's address is not allowed",
			Spoken: "The connection to the office's account is not set up properly. Someone there has to look at it.",
			Sample: "The address of the connection is in a network that the gateway may not reach.",
			Means: "The address of the connection is a loopback, private, link-local or metadata address, " +
				"or leads to one. Or it is plain http, where anybody on the way could read the credentials.",
			Remedy: "Use a public address by https, or ask the operator to allow the network (egress.allow).",
			Person: true,
		},
		{
			Reason: fault.ReasonConferencing, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "conferencing-unavailable", Title: "No meeting link can be made",
			Spoken: "I cannot set up a video link with this account. Shall I book it without one?",
			Sample: "The account cannot make a meeting link.",
			Means:  "The request asks for a meeting link, which the account cannot make. Nothing was booked.",
			Remedy: "Book without conferencing_type, give a location_url, or license the account for conferencing.",
			Person: true,
		},
		{
			Reason: fault.ReasonNotSupported, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusBadRequest,
			Slug: "not-supported", Title: "The account cannot do this",
			Spoken: "That is not possible with the connected account.",
			Sample: "The calendar can be read but not written.",
			Means: "The provider, or this account at it, cannot do what was asked. Repeating the request " +
				"does not help.",
			Remedy: "Ask for something else, or connect an account that can.",
		},
		{
			Reason: fault.ReasonProviderRefused, Only: fault.Invalid, Code: code.Code_INVALID_ARGUMENT,
			Status: http.StatusBadRequest, Beta: http.StatusUnprocessableEntity,
			Slug: "provider-refused", Title: "The provider does not accept the request",
			Spoken: "{System} did not accept that. Could we try it a little differently?",
			Sample: "The calendar server does not accept that many attendees.",
			Means:  "The request is valid, but this provider or account does not accept something in it.",
			Remedy: "Change the request as the detail says. Otherwise it is refused again.",
		},
		{
			Reason: fault.ReasonProviderConflict, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "provider-conflict", Title: "The request conflicts with something at the provider",
			Spoken: "Something in {system} is in the way of that. Let me look at it again.",
			Sample: "The provider reports a conflict with a record that it holds.",
			Means: "The provider refused the request because it conflicts with another record, or with " +
				"another change at the same time.",
			Remedy: "Read the record again, and decide again what to do.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonSlotTaken, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "slot-taken", Title: "The slot is taken",
			Spoken: "That time is already taken. Would another time work for you?",
			Sample: "Another meeting is in the way from 10:00 to 10:30.",
			Means: "Double booking is prevented, and one of the calendars is busy, or the slot is held for " +
				"another caller.",
			Remedy: "Offer a free time, such as one of those in nearest_slots.",
		},
		{
			Reason: fault.ReasonSlotNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "slot-not-found", Title: "The slot was not found",
			Spoken: "I lost track of that time. Let me look at the calendar anew.",
			Sample: "This slot_id is not known. Ids are as find-slots and hold-slot answered them, in the last days.",
			Means: "No slot was offered, and none held, under this id, in the calendar connection that the API " +
				"key uses.",
			Remedy: "Ask find-slots, and use an id that it answers.",
		},
		{
			Reason: fault.ReasonChangedMeanwhile, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "changed-meanwhile", Title: "Someone else changed it in the meantime",
			Spoken: "Someone else just changed that. Let me look at it again.",
			Sample: "Someone else keeps changing the event at the same time.",
			Means:  "Someone else changed the same record at the same time. Nothing was overwritten.",
			Remedy: "Read the record again, and decide again what to do.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonNumberTaken, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "number-taken", Title: "Someone else took the number",
			Spoken: "Someone else just took that number. Let me find another one.",
			Sample: "Every number offered was taken by someone else.",
			Means:  "Others bought the offered numbers first. Nothing was charged.",
			Remedy: "Repeat the purchase.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonNoNumbersAvailable, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "no-numbers-available", Title: "No phone number is available",
			Spoken: "There is no number left in that area code. Would another area code work?",
			Sample: "No number is for sale in the area code 415.",
			Means:  "The provider has no number for sale in the area code.",
			Remedy: "Try a neighbouring area code, or try again later.",
		},
		{
			Reason: fault.ReasonOrderPending, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "order-pending", Title: "The number is ordered but not ready yet",
			Spoken: "The number is ordered, but it is not ready yet. Let us look again {wait}.",
			Final:  "The number is ordered, but it is not ready yet.",
			Sample: "+14155550123 is ordered and will be ready soon. Repeat the request with the same " +
				"Idempotency-Key to get it.",
			Means: "The provider accepted the order, but did not complete it before the request's deadline. " +
				"The gateway finishes the purchase by itself.",
			Remedy: "Repeat the request with the same Idempotency-Key, or list the phone numbers in a minute. Do " +
				"not buy again.", Retry: whenRunningOneEnded,
		},
		{
			Reason: fault.ReasonPurchaseLimit, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusTooManyRequests,
			Slug: "purchase-limit-reached", Title: "No more numbers may be bought today",
			Spoken: "I cannot get any more numbers for now.",
			Sample: "The tenant bought 10 numbers within the last 24 hours, which is its limit.",
			Means:  "The tenant has reached its limit of purchases within 24 hours. Nothing was bought.",
			Remedy: "Wait as long as Retry-After says, or ask the operator to raise the tenant's " +
				"max_purchases_per_day.", Person: true, Retry: time.Hour,
		},
		{
			Reason: fault.ReasonNumberLimit, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "number-limit-reached", Title: "The tenant holds as many numbers as it may",
			Spoken: "We already have as many numbers as we may have.",
			Sample: "The tenant holds 100 phone numbers, which is its limit.",
			Means:  "The tenant has reached its limit of phone numbers. Nothing was bought.",
			Remedy: "Release a number, or ask the operator to raise the tenant's max_phone_numbers.", Person: true,
		},
		{
			Reason: fault.ReasonAddressRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "address-required", Title: "The provider requires an address for this number",
			Spoken: "I cannot get a number there right now. Would another area code work?",
			Sample: "Numbers in this area are sold only to customers with a registered address.",
			Means:  "The provider sells such numbers only to accounts with a registered address. Nothing was bought.",
			Remedy: "Register an address at the provider and name it in the connection's settings, or try another " +
				"area code.", Person: true,
		},
		{
			Reason: fault.ReasonBundleRequired, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "regulatory-documents-required", Title: "The provider requires regulatory documents for " +
				"this number",
			Spoken: "I cannot get a number there right now. Would another area code work?",
			Sample: "Numbers in this country are sold only with an approved regulatory bundle.",
			Means: "The law of the number's country requires documents that the provider does not have, or " +
				"has not approved yet. Nothing was bought.",
			Remedy: "Submit the documents to the provider, and name the bundle in the connection's " +
				"settings.", Person: true,
		},
		{
			Reason: fault.ReasonTrialLimit, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "trial-account-limit", Title: "The provider's trial account allows no more numbers",
			Spoken: "I cannot get a new number with our current phone account.",
			Sample: "A trial account may hold one number.",
			Means: "The account at the provider is a trial account, which may hold no more numbers. Nothing " +
				"was bought.",
			Remedy: "Upgrade the account at the provider.", Person: true,
		},
		{
			Reason: fault.ReasonInsufficientFunds, Code: code.Code_FAILED_PRECONDITION,
			Status: http.StatusPaymentRequired,
			Slug:   "insufficient-funds", Title: "The balance at the provider is too low",
			Spoken: "I cannot get a new number with our current phone account.",
			Sample: "The balance of the account at the provider is too low.",
			Means:  "The account's balance does not cover the purchase. Nothing was bought.",
			Remedy: "Top up the account at the provider.", Person: true,
		},
		{
			Reason: fault.ReasonAccountSuspended, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "account-suspended", Title: "The account at the provider is suspended",
			Spoken: "The account for {system} does not work. Someone at the office has to look at it.",
			Sample: "The account at the provider is suspended.",
			Means:  "The provider has suspended or closed the account.",
			Remedy: "Contact the provider, or connect another account.", Person: true,
		},
		{
			Reason: fault.ReasonEmergencyAddress, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "emergency-address-registered", Title: "The number has an emergency address",
			Spoken: "That number cannot be given back yet, since an emergency address is registered for it.",
			Sample: "An emergency address is registered for the number.",
			Means: "The gateway does not release a number with a registered emergency address: emergency " +
				"calls could reach the wrong place.",
			Remedy: "Remove the emergency address at the provider, wait until it is gone, and then release " +
				"the number.", Person: true,
		},
		{
			Reason: fault.ReasonNumberLocked, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "number-locked", Title: "The number is locked against deletion",
			Spoken: "That number is locked, so it cannot be given back.",
			Sample: "The number is locked against deletion at the provider.",
			Means:  "Someone locked the number at the provider to protect it from deletion.",
			Remedy: "Unlock it at the provider, then release it.", Person: true,
		},
		{
			Reason: fault.ReasonTooManyEvents, Code: code.Code_OUT_OF_RANGE, Status: http.StatusBadRequest,
			Slug: "too-many-events", Title: "There are more events than one answer can hold",
			Spoken: "That is a long stretch of time. Could we look at a shorter one?",
			Sample: "There are more than 2,500 events in the window.",
			Means:  "The window has more than 2,500 events, and an incomplete list would mislead.",
			Remedy: "Ask for a narrower window.",
		},
		{
			Reason: reasonAnswerSize, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "provider-answer-too-large", Title: "The provider's answer is too large",
			Spoken: "There is more in {system} than I can look through at once. Could we ask for less?",
			Sample: "The answer of the provider google is larger than 16777216 bytes, the most that the " +
				"gateway reads.",
			Means: "The provider's answer is larger than the gateway reads, and an incomplete answer would " +
				"mislead.",
			Remedy: "Ask for less if the operation allows it, such as a shorter window. Otherwise find out " +
				"what has grown so large in the connected account.", Person: true,
		},
		{
			Reason: fault.ReasonStorageFull, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "provider-storage-full", Title: "The account at the provider is full",
			Spoken: "{System} is full, so I cannot add anything there. Someone at the office has to look at it.",
			Sample: "The mailbox has no room left.",
			Means:  "The account at the provider has no room left. Nothing was added.",
			Remedy: "Free some space in the account at the provider, or extend its storage.", Person: true,
		},
		{
			Reason: reasonExhausted, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusConflict,
			Slug: "exhausted", Title: "The account has reached a limit",
			Spoken: "The office's account has reached a limit, so I cannot do that.",
			Sample: "The account has as many as its plan allows.",
			Means:  "A quota or a stock at the provider is used up.",
			Remedy: "Ask for something else, or ask the provider to raise the quota.", Person: true,
		},
		{
			Reason: fault.ReasonTicketIncomplete, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "ticket-incomplete", Title: "The ticket is open but lacks a requested value",
			Spoken: "I have opened the ticket, but not everything I entered was kept. Someone at the office will " +
				"have to look at it.",
			Sample: "The ticket 1042 is open, but the CRM does not have it as asked: status (it is \"New\"). Do not " +
				"open it again; set what is missing in the CRM.",
			Means: "The CRM opened the ticket, but dropped or replaced a value. The metadata has the " +
				"ticket's number and id, and lists the fields under not_set.",
			Remedy: "Do not send the request again: the ticket exists, and get-ticket shows it. Set the " +
				"value in the CRM. If this happens again, grant the connected account the permission to set " +
				"it, or leave the field out.",
			Person: true,
		},
		{
			Reason: fault.ReasonIdempotencyReused, Code: code.Code_FAILED_PRECONDITION,
			Status: http.StatusBadRequest, Beta: http.StatusUnprocessableEntity,
			Slug: "idempotency-key-reused", Title: "The idempotency key was used for another request",
			Spoken: "I mixed something up on my side. I am sorry.",
			Sample: "The Idempotency-Key was used before with another body.",
			Means:  "An earlier request used this Idempotency-Key for something else.",
			Remedy: "Use a new key for a new request. To repeat a request, send the same body.",
		},
		{
			Reason: fault.ReasonIdempotencyRunning, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "idempotency-in-progress", Title: "The first request is still running",
			Spoken: "I am still working on that. One moment, please.",
			Sample: "A request with this Idempotency-Key is still running.",
			Means:  "The first request with this Idempotency-Key has no answer yet.",
			Remedy: "Repeat the request with the same key a little later. You then get the answer of the " +
				"first one.", Retry: whenRunningOneEnded,
		},
		{
			Reason: fault.ReasonOutcomeUnknown, Code: code.Code_ABORTED, Status: http.StatusConflict,
			Slug: "outcome-unknown", Title: "The outcome is unknown",
			Spoken: "I am not sure yet whether that went through. Let us look again {wait}.",
			Sample: "The provider did not say whether the meeting was booked. Repeat with the same Idempotency-Key " +
				"to settle it.",
			Means: "The gateway sent the call to the provider, but the answer was lost or could not be " +
				"read. The change may or may not have happened.",
			Remedy: "With a Retry-After, wait that long and repeat the request, with its Idempotency-Key if " +
				"it had one. That settles the outcome and never acts twice. Without a Retry-After, do not " +
				"repeat it: a repeat could act twice, or the outcome can never be known. Check at the " +
				"provider, as the detail says.",
			Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonRateLimited, Code: code.Code_RESOURCE_EXHAUSTED, Status: http.StatusTooManyRequests,
			Slug: "rate-limited", Title: "Too many requests",
			Spoken: "I cannot do that right now. Can we try again {wait}?",
			Sample: "The API key made more than 6,000 requests within a minute.",
			Means: "The API key, or all keys of its tenant together, made more requests than the operator " +
				"allows. This request changed nothing.",
			Remedy: "Wait as long as Retry-After says. The RateLimit header of every answer shows how many " +
				"requests are left.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonProviderRateLimited, Code: code.Code_RESOURCE_EXHAUSTED,
			Status: http.StatusTooManyRequests,
			Slug:   "provider-rate-limited", Title: "The provider limits the rate of requests",
			Spoken: "{System} is busy. Can we try again {wait}?",
			Sample: "The provider asks the gateway to wait before the next request.",
			Means:  "The provider received more requests for this account than it allows.",
			Remedy: "Wait as long as Retry-After says.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonProviderUnavailable, Code: code.Code_UNAVAILABLE,
			Status: http.StatusServiceUnavailable,
			Slug:   "provider-unavailable", Title: "The provider is not available",
			Spoken: "{System} does not answer right now. Can we try again {wait}?",
			Sample: "The provider cannot be reached.",
			Means:  "The provider cannot be reached, or reports that it is down.",
			Remedy: "Wait as long as Retry-After says and repeat the request; repeat a write with its " +
				"Idempotency-Key. Without a Retry-After, a repeat could act twice: check at the provider " +
				"first.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonBreakerOpen, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "breaker-open", Title: "The provider has been failing",
			Spoken: "{System} does not answer right now. Can we try again {wait}?",
			Sample: "The provider has been failing. The gateway tries it again in a few seconds.",
			Means: "The provider has failed so often that the gateway does not call it for a while. This " +
				"request never reached it.",
			Remedy: "Repeat the request later.", Retry: whenProviderIsBack,
		},
		{
			Reason: fault.ReasonOverloaded, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "overloaded", Title: "The gateway is overloaded",
			Spoken: "There is a lot going on right now. Can we try again {wait}?",
			Sample: "The gateway has more requests than it can answer in time.",
			Means: "The gateway refuses some requests so that it can answer the others in time. This " +
				"request changed nothing.",
			Remedy: "Wait as long as Retry-After says, and repeat the request.", Retry: onceASecond,
		},
		{
			Reason: fault.ReasonStoreUnavailable, Code: code.Code_UNAVAILABLE, Status: http.StatusServiceUnavailable,
			Slug: "store-unavailable", Title: "The gateway cannot reach its store",
			Spoken: "Something on my side does not work right now. Can we try again {wait}?",
			Sample: "The gateway cannot reach its store.",
			Means:  "The gateway's own database is down, full or too slow. The provider was not called.",
			Remedy: "Repeat the request later.", Retry: whenProviderIsBack,
		},
		{
			Reason: admin.ReasonOperatorOnly, Code: code.Code_PERMISSION_DENIED, Status: http.StatusForbidden,
			Slug: "operator-only", Title: "Only the operator may do this",
			Spoken: "I am not allowed to do that. Someone will have to look at my access.",
			Sample: "Only a key of the operator may do this. This key is for one tenant.",
			Means:  "The key of the admin interface is limited to one tenant, and the operation is not.",
			Remedy: "Use a key of the operator.", Person: true,
		},
		{
			Reason: tenant.ReasonNameTaken, Code: code.Code_ALREADY_EXISTS, Status: http.StatusConflict,
			Slug: "name-taken", Title: "The name is taken",
			Spoken: "There is one of that name already.",
			Sample: "There is already a tenant \"acme\".",
			Means:  "A tenant has this name already, or a connection of the tenant has.",
			Remedy: "Choose another name, or change the one that is there.",
		},
		{
			Reason: fault.ReasonConnectionInUse, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "connection-in-use", Title: "The connection is still needed",
			Spoken: "I cannot remove that, because it is in use.",
			Sample: "The connection \"office\" is what these API keys are bound to: key_7f3c (fd_live_Ab3x). " +
				"Revoke them first.",
			Means: "API keys or voice agents in force are bound to the connection, and would silently lose it. Or it " +
				"still has to give released phone numbers back, which would be paid for ever without it.",
			Remedy: "Revoke the keys that the error names, and remove the agents or give them other connections. " +
				"Wait until the numbers are back, or restore them. Remove the connection or its tenant then.",
		},
		{
			Reason: reasonKeyRevoked, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "api-key-revoked", Title: "The API key is revoked or rolled already",
			Spoken: "I cannot do that with this key any more.",
			Sample: "The API key is revoked, or another one takes its place already. Create a new one.",
			Means:  "The key is revoked, or was rolled before: another key takes its place.",
			Remedy: "Create a new key, or roll the key that took its place.",
		},
		{
			Reason: apikey.ReasonAgentNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "agent-not-found", Title: "There is no such voice agent",
			Spoken: "I cannot find that.",
			Sample: "There is no such voice agent.",
			Means:  "No voice agent at this platform, or of the tenant, has the id in the path.",
			Remedy: "List the tenant's agents, and use an id or an address from there.",
		},
		{
			Reason: webhook.ReasonNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "webhook-not-found", Title: "There is no such webhook",
			Spoken: "I cannot find that.",
			Sample: "There is no such webhook.",
			Means:  "No webhook of the tenant, or of the operator, has the id in the path.",
			Remedy: "List the webhooks, and use an id from there.",
		},
		{
			Reason: webhook.ReasonDeliveryNotFound, Code: code.Code_NOT_FOUND, Status: http.StatusNotFound,
			Slug: "delivery-not-found", Title: "There is no such delivery",
			Spoken: "I cannot find that.",
			Sample: "There is no such delivery.",
			Means:  "No delivery of the webhook has the id in the path. Those that ended are kept for a week.",
			Remedy: "List the webhook's deliveries, and use an id from there.",
		},
		{
			Reason: webhook.ReasonDisabled, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "webhook-disabled", Title: "The webhook is disabled",
			Spoken: "I cannot do that, because it is switched off.",
			Sample: "The webhook's receiver answered 410, so the webhook is disabled. Remove it, and add it again.",
			Means:  "The receiver answered 410 Gone, by which it asks for no more events.",
			Remedy: "Remove the webhook, and create it again once its receiver takes events.",
		},
		{
			Reason: webhook.ReasonLimit, Code: code.Code_FAILED_PRECONDITION, Status: http.StatusConflict,
			Slug: "webhook-limit", Title: "The tenant has as many webhooks as it may",
			Spoken: "I cannot add another one.",
			Sample: "The tenant has 20 webhooks, which is the limit. Remove one first.",
			Means:  "A tenant can have 20 webhooks.",
			Remedy: "Remove a webhook that is not needed.",
		},
		{
			Reason: fault.ReasonDeadlineExceeded, Code: code.Code_DEADLINE_EXCEEDED, Status: http.StatusGatewayTimeout,
			Slug: "deadline-exceeded", Title: "The deadline passed",
			Spoken: "That is taking longer than it should. Can we try again {wait}?",
			Sample: "The deadline passed before there was an answer.",
			Means:  "There was no answer within the request's deadline.",
			Remedy: "With a Retry-After, wait that long and repeat the request. Repeat a write with its " +
				"Idempotency-Key: the answer tells what became of the first request. Do not repeat a write " +
				"without a key before somebody has checked what happened.",
			Retry: onceASecond,
		},
		{
			Reason: fault.ReasonCanceled, Code: code.Code_CANCELLED, Status: statusClientLeft,
			Slug: "canceled", Title: "The caller left",
			Spoken: "That was interrupted before I had an answer.",
			Sample: "The caller left before there was an answer.",
			Means:  "The caller closed the connection before there was an answer.",
			Remedy: "Repeat the request. Repeat a write with its Idempotency-Key: the answer tells what " +
				"became of the first request.",
		},
		{
			Reason: fault.ReasonInternal, Code: code.Code_INTERNAL, Status: http.StatusInternalServerError,
			Slug: "internal", Title: "The gateway has a defect",
			Spoken: "Something went wrong on my side. I am sorry about that.",
			Sample: "The gateway has a defect. The operator can find the cause in its log by the request id.",
			Means:  "Something happened that the gateway does not handle. The cause is only in its log.",
			Remedy: "Send the request id to the operator.",
		},
	}
}
