package service

import (
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// harmless reports whether a failed run surely left nothing at the provider.
func (a *attempt) harmless(f *fault.Error) bool {
	if !a.resumed && !a.acting {
		return true
	}
	switch f.Code {
	case fault.Unavailable, fault.Timeout, fault.Canceled, fault.Internal, fault.UnknownOutcome:
		return f.Unsent && !a.resumed
	case fault.RateLimited, fault.Disconnected, fault.Forbidden:
		return !a.resumed // the earlier run may have acted, and this one could not look
	}
	return true
}

// unknownOutcome says what is unknown. A passed deadline and a provider that answers 503 (RFC 9110 section 15.6.4: it
// could not handle the request) keep their own reasons, since they tell the caller more; anything else is
// OUTCOME_UNKNOWN.
func unknownOutcome(f *fault.Error, i store.Intent) error {
	switch {
	case f.Code == fault.Canceled:
		return f
	case f.Metadata[metaNumber] != "": // it says more, after money was spent
		u := *f
		u.Detail += " " + numberAdvice(i)
		u.RetryAfter = 2 * time.Second
		return &u
	case f.Code == fault.Timeout, f.Code == fault.RateLimited, f.Code == fault.Disconnected, f.Code == fault.Forbidden, f.Unsent,
		f.Code == fault.Unavailable && f.Metadata["upstream_status"] == "503":
		u := *f.With("outcome", "unknown")
		u.Detail = strings.TrimSuffix(f.Detail, ".") + ". Whether the provider acted is not known yet. " + advice(i)
		return &u
	}
	u := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
		"The provider's answer was lost, so it is not known whether it acted. "+advice(i)).Because(f)
	u.RetryAfter, u.Upstream = 2*time.Second, f.Upstream
	return u
}

// numberAdvice says how a caller gets a number that was bought or ordered, without buying another.
func numberAdvice(i store.Intent) string {
	if i.Kept {
		return "Repeat the request with the same Idempotency-Key to get it; another request would buy another number."
	}
	return "The gateway goes on by itself: list the phone numbers in a minute to find it. Another request would buy another number."
}

// advice says how a caller settles an unknown outcome without having the effect twice.
func advice(i store.Intent) string {
	switch {
	case i.Kept:
		return "Repeat it with the same Idempotency-Key to settle it."
	case i.DedupeKey != "", i.Operation == opCancel, i.Operation == opReturn:
		return "Repeat the request unchanged to settle it."
	}
	return "A repeat without an Idempotency-Key could act twice: look first. The gateway finds out by itself as soon as it can."
}
