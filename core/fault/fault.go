// Package fault defines the failures that all packages share. Adapters, the guard and the services describe a
// failure with a [Code], a stable [Error.Reason] and a sentence that is safe to show to the tenant. Only
// core/api converts a failure into HTTP. A fault is an ordinary error:
//
//	if errors.Is(err, fault.NotFound) { ... }
//
// Detail and Fields carry no secret and nothing of another tenant. The provider's own words belong in
// Upstream, which reaches logs of level debug only: providers repeat what they were sent, and that is what a
// caller said.
package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Code is the class of a failure: what the caller of an operation can do about it.
type Code string

// The codes. Each implies who has to act.
const (
	Invalid         Code = "invalid"         // the input is wrong; the caller corrects it
	Unauthenticated Code = "unauthenticated" // our caller's API key is missing, unknown or revoked
	// The provider refuses the tenant's credentials; a person reconnects.
	Disconnected Code = "disconnected"
	Forbidden    Code = "forbidden"    // the key's scopes or the provider's account do not allow it
	NotFound     Code = "not_found"    // no such record, or none the caller may see
	Conflict     Code = "conflict"     // the state of something else prevents it
	Exhausted    Code = "exhausted"    // none is left, or there are more than one response can hold
	Unsupported  Code = "unsupported"  // the account or provider cannot do this; retries do not help
	RateLimited  Code = "rate_limited" // too many calls; RetryAfter says how long to wait
	Unavailable  Code = "unavailable"  // the provider, or a part of the gateway, is down
	Timeout      Code = "timeout"      // no response within the deadline
	Canceled     Code = "canceled"     // the caller cancelled the request
	// The call may have taken effect. A repeat with the same key settles it, except for [Unknowable].
	UnknownOutcome Code = "unknown_outcome"
	Internal       Code = "internal" // a defect of the gateway
)

// Error makes a Code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Reasons that more than one package uses. A reason is stable, in SCREAMING_SNAKE_CASE, and names the
// situation within its code; callers branch on it.
const (
	ReasonInvalidRequest      = "INVALID_REQUEST"
	ReasonInvalidAPIKey       = "INVALID_API_KEY"
	ReasonInvalidSignature    = "INVALID_SIGNATURE" // of a voice platform
	ReasonScopeMissing        = "SCOPE_MISSING"
	ReasonPermissionDenied    = "PROVIDER_PERMISSION_DENIED"
	ReasonEventNotFound       = "EVENT_NOT_FOUND"
	ReasonCalendarNotFound    = "CALENDAR_NOT_FOUND"
	ReasonTicketNotFound      = "TICKET_NOT_FOUND"
	ReasonTicketIncomplete    = "TICKET_INCOMPLETE" // the ticket was opened without a requested value
	ReasonNumberNotFound      = "PHONE_NUMBER_NOT_FOUND"
	ReasonNotConnected        = "NOT_CONNECTED"
	ReasonReconnectRequired   = "RECONNECT_REQUIRED"
	ReasonSlotTaken           = "SLOT_TAKEN"
	ReasonSlotNotFound        = "SLOT_NOT_FOUND" // no such slot was offered, or held
	ReasonChangedMeanwhile    = "CHANGED_MEANWHILE"
	ReasonIdempotencyReused   = "IDEMPOTENCY_KEY_REUSED"
	ReasonIdempotencyRunning  = "IDEMPOTENCY_IN_PROGRESS"
	ReasonOutcomeUnknown      = "OUTCOME_UNKNOWN"
	ReasonRateLimited         = "RATE_LIMITED"
	ReasonProviderRateLimited = "PROVIDER_RATE_LIMITED"
	ReasonProviderUnavailable = "PROVIDER_UNAVAILABLE"
	ReasonBreakerOpen         = "BREAKER_OPEN"
	ReasonOverloaded          = "OVERLOADED"
	ReasonHostRefused         = "HOST_REFUSED"    // the request is for another host name than the gateway's
	ReasonForeignRequest      = "FOREIGN_REQUEST" // a page of another site made it
	ReasonStoreUnavailable    = "STORE_UNAVAILABLE"
	ReasonDeadlineExceeded    = "DEADLINE_EXCEEDED"
	ReasonCanceled            = "CANCELED"
	ReasonInternal            = "INTERNAL"
	ReasonTooManyEvents       = "TOO_MANY_EVENTS"
	ReasonConferencing        = "CONFERENCING_UNAVAILABLE"
	ReasonNotSupported        = "NOT_SUPPORTED"
	ReasonNoNumbersAvailable  = "NO_NUMBERS_AVAILABLE"
	ReasonNumberTaken         = "NUMBER_TAKEN"
	ReasonOrderPending        = "ORDER_PENDING"          // ordered and paid for, but not yet available
	ReasonPurchaseLimit       = "PURCHASE_LIMIT_REACHED" // the tenant's limit per day
	ReasonNumberLimit         = "NUMBER_LIMIT_REACHED"   // the tenant's limit in all
	// The provider requires an address of the customer for this kind of number.
	ReasonAddressRequired       = "ADDRESS_REQUIRED"
	ReasonBundleRequired        = "REGULATORY_DOCUMENTS_REQUIRED"
	ReasonTrialLimit            = "TRIAL_ACCOUNT_LIMIT"
	ReasonInsufficientFunds     = "INSUFFICIENT_FUNDS"
	ReasonAccountSuspended      = "ACCOUNT_SUSPENDED"
	ReasonEmergencyAddress      = "EMERGENCY_ADDRESS_REGISTERED" // prevents the release of the number
	ReasonNumberLocked          = "NUMBER_LOCKED"                // locked against deletion at the provider
	ReasonConnectionInUse       = "CONNECTION_IN_USE"            // prevents its removal, and that of its tenant
	ReasonEgressRefused         = "ADDRESS_REFUSED"
	ReasonProviderMisconfigured = "PROVIDER_MISCONFIGURED"
	// The provider rejects the request and names no field.
	ReasonProviderRefused  = "PROVIDER_REFUSED"
	ReasonProviderConflict = "PROVIDER_CONFLICT"     // the state of something at the provider prevents it
	ReasonStorageFull      = "PROVIDER_STORAGE_FULL" // the account has no room for more
	ReasonNotFound         = "NOT_FOUND"             // if no reason names the kind of record
)

// Field is one invalid field of the input, or a hint about one.
type Field struct {
	Path    string // as the surface writes it, without a "body." prefix: "attendee_emails[2]", "start_time"
	Message string // what is wrong and what to do, as a sentence without the field's name
	Hint    string // the nearest known name or value, if there is one
	Value   string // the value that the message is about, if it is not the caller's input
}

// Text returns the message with the hint: a sentence without its subject, which is the field.
func (f Field) Text() string {
	message := strings.TrimSuffix(f.Message, ".")
	switch {
	case f.Hint != "":
		return message + "; did you mean " + f.Hint + "?"
	case strings.HasSuffix(message, "?"):
		return message
	}
	return message + "."
}

// Instead is what a caller can have in place of what it asked for. Operations beyond the written interface
// answer it.
type Instead struct {
	Name   string // of the list
	Values any    // a list; JSON
	Say    string // a sentence that offers it, or ""
}

// Error is one failure.
type Error struct {
	Code       Code
	Reason     string            // stable, see the Reason constants
	Detail     string            // a sentence for the tenant: the cause and what to do
	Fields     []Field           // for Invalid: every fault of the input
	Metadata   map[string]string // small machine-readable facts, e.g. "provider": "caldav"
	RetryAfter time.Duration     // zero if the provider gave none
	// Nothing has happened at the provider: it was not reached, or reported that it did nothing.
	Unsent bool
	// What failed is not the provider, but something that the call needs first: its access token, from the
	// sign-in service or the store, or its turn. So it says nothing about the provider.
	Prerequisite bool
	// A retry cannot help, or could take effect twice, so it must not be suggested.
	NoRetry  bool
	Instead  *Instead // what the caller can have in its place; nil: nothing is known
	Upstream string   // what the provider said, shortened and redacted; for logs of level debug only
	Err      error    // the cause, for logs only
}

// Error returns a text for logs. It holds the cause and must not be shown to a tenant.
func (e *Error) Error() string {
	s := string(e.Code) + " (" + e.Reason + "): " + e.Detail
	if e.Err != nil {
		s += fmt.Sprintf(" [%v]", e.Err)
	}
	return s
}

// Words returns the provider's words for logs: those of this fault, or of the fault that caused it.
func (e *Error) Words() string {
	if cause, is := errors.AsType[*Error](e.Err); is && e.Upstream == "" {
		return cause.Words()
	}
	return e.Upstream
}

// ForOperator returns what the operator must know of the cause, on the command line and from the doctor, or "": that
// of a defect, and of a store that does not answer. The store's causes hold neither its address nor its password.
func (e *Error) ForOperator() string {
	if e.Err == nil || e.Code != Internal && e.Reason != ReasonStoreUnavailable {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is this fault's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// New returns a fault. The detail is a sentence for the tenant.
func New(code Code, reason, detail string) *Error {
	return &Error{Code: code, Reason: reason, Detail: detail}
}

// Newf is New with a formatted detail.
func Newf(code Code, reason, format string, args ...any) *Error {
	return New(code, reason, fmt.Sprintf(format, args...))
}

// InvalidField returns an input fault of one field.
func InvalidField(path, message string) *Error {
	return InvalidFields(Field{Path: path, Message: message})
}

// InvalidFields returns an input fault with every field that is wrong.
func InvalidFields(fields ...Field) *Error {
	return &Error{Code: Invalid, Reason: ReasonInvalidRequest, Detail: "The request is not valid. See the " +
		"listed fields.", Fields: fields}
}

// AddField returns the fields with one more, unless there is one with its path.
func AddField(fields []Field, f Field) []Field {
	if slices.ContainsFunc(fields, func(known Field) bool { return known.Path == f.Path }) {
		return fields
	}
	return append(fields, f)
}

// With returns a copy that carries one more metadata pair.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Metadata = make(map[string]string, len(e.Metadata)+1)
	maps.Copy(c.Metadata, e.Metadata)
	c.Metadata[key] = value
	return &c
}

// Restate returns a copy with another code, reason and detail. The rest stays, such as the status and the
// words of the provider.
func (e *Error) Restate(code Code, reason, detail string) *Error {
	c := *e
	c.Code, c.Reason, c.Detail = code, reason, detail
	return &c
}

// RestateAs returns a copy with the code, reason, detail and fields of another fault.
func (e *Error) RestateAs(other *Error) *Error {
	c := e.Restate(other.Code, other.Reason, other.Detail)
	c.Fields = other.Fields
	return c
}

// Unacted converts an error into the fault of a write that did nothing: the error occurred before the write
// was sent, or the provider refused the write.
func Unacted(err error) *Error {
	f := *From(err)
	f.Unsent = true
	return &f
}

// Unprepared converts an error into the fault of a call that was not made, because it lacked what it needs first:
// see [Error].Prerequisite.
func Unprepared(err error) *Error {
	f := Unacted(err)
	f.Prerequisite = true
	return f
}

// Because returns a copy with the cause set, for the logs.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Unknowable returns an unknown outcome that nothing can settle: the provider cannot say what became of the
// call, however often it is asked. The detail says why.
func Unknowable(detail string) *Error {
	f := New(UnknownOutcome, ReasonOutcomeUnknown, detail).With(metaOutcome, unknowable)
	f.NoRetry = true
	return f
}

// NotKnownYet returns a fault for an outcome that the provider will report later, such as once its search is
// up to date. wait is the time until a retry is useful.
func NotKnownYet(detail string, wait time.Duration) *Error {
	f := New(Unavailable, ReasonOutcomeUnknown, detail)
	f.RetryAfter = wait
	return f
}

// IsUnknowable reports whether the fault is an outcome that nothing can settle; see [Unknowable].
func (e *Error) IsUnknowable() bool {
	return e.Code == UnknownOutcome && e.Metadata[metaOutcome] == unknowable
}

// MayHaveActed reports whether a write that failed like this may have taken effect.
func (e *Error) MayHaveActed() bool {
	switch e.Code {
	case UnknownOutcome, Unavailable, Timeout, Canceled, Internal:
		return !e.Unsent
	}
	return false
}

// IsOutcomeUnknown reports whether the call may have taken effect.
func (e *Error) IsOutcomeUnknown() bool {
	return e.Code == UnknownOutcome || e.Metadata[metaOutcome] != ""
}

// ReasonOf returns the reason of an error, or "" if there is none.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return From(err).Reason
}

const (
	metaOutcome = "outcome" // the metadata key of what is known of an outcome
	unknowable  = "unknowable"
)

// From converts any error into a fault. A fault stays what it is, an ended context becomes Timeout or
// Canceled, and anything else becomes Internal, with nothing of its text in the detail.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var f *Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return New(Timeout, ReasonDeadlineExceeded, "The deadline passed before there was an answer.").Because(err)
	case errors.Is(err, context.Canceled):
		return New(Canceled, ReasonCanceled, "The caller left before there was an answer.").Because(err)
	}
	return New(Internal, ReasonInternal, "The gateway has a defect. The operator can find the cause in its "+
		"log.").Because(err)
}
