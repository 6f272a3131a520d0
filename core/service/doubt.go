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

// unknownOutcome says what is unknown, and suggests a repeat only where that cannot have the effect a second
// time. A passed deadline and a provider that answers 503 (RFC 9110 section 15.6.4: it could not handle the
// request) keep their own reasons, since they tell the caller more; anything else is OUTCOME_UNKNOWN.
func (a *attempt) unknownOutcome(f *fault.Error) error {
	if f.Code == fault.Canceled {
		return f
	}
	wait := max(f.RetryAfter, shortestWait)
	if f.Reason == fault.ReasonOrderPending {
		wait = max(wait, orderEvery) // it only takes its time
	}
	var told fault.Error
	switch repeat := a.repeatAdvice(wait); {
	case f.IsUnknowable():
		told = *f
		told.Detail = sentence(f.Detail) + "So it will not be known whether the provider acted. " + lookAdvice(a.intent)
		return &told
	case f.Metadata[metaNumber] != "": // it says more, after money was spent
		told = *f
		told.Detail = sentence(f.Detail) + numberAdvice(a.intent)
	case f.Code == fault.UnknownOutcome:
		told = *f
		told.Detail = sentence(f.Detail) + repeat
	case f.Code == fault.Timeout, f.Code == fault.RateLimited, f.Code == fault.Disconnected, f.Code == fault.Forbidden,
		f.Unsent, f.Code == fault.Unavailable && f.Metadata["upstream_status"] == "503":
		told = *f.With("outcome", "unknown")
		told.Detail = sentence(f.Detail) + "Whether the provider acted is not known yet. " + repeat
	case f.Reason == fault.ReasonOutcomeUnknown:
		told = *fault.New(fault.UnknownOutcome, f.Reason, sentence(f.Detail)+repeat).Because(f)
	default:
		told = *fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"The provider's answer was lost, so it is not known whether it acted. "+repeat).Because(f)
		told.Upstream = f.Upstream
	}
	told.RetryAfter = wait
	if told.NoRetry = !a.settlesByRepeat(wait); told.NoRetry || f.Code == fault.Disconnected || f.Code == fault.Forbidden {
		told.RetryAfter = 0 // a person has to act first
	}
	return &told
}

// shortestWait is what a caller is told to wait at least: what was cut off is not known sooner.
const shortestWait = 2 * time.Second

func sentence(s string) string { return strings.TrimSuffix(s, ".") + ". " }

// settlesByRepeat reports whether the same request, sent again after a wait, is taken for the same call or
// changes nothing more.
func (a *attempt) settlesByRepeat(wait time.Duration) bool {
	switch i := a.intent; {
	case i.Kept, i.Operation == opUpdate, i.Operation == opCancel, i.Operation == opChange, i.Operation == opReturn:
		return true
	case i.DedupeKey == "":
		return false
	default:
		return a.journal.now().Add(wait + repeatMargin).Before(i.CreatedAt.Add(a.sameFor))
	}
}

// repeatMargin is the time that a caller's repeat takes to arrive.
const repeatMargin = 10 * time.Second

// repeatAdvice says how a caller settles an unknown outcome without having the effect twice.
func (a *attempt) repeatAdvice(wait time.Duration) string {
	switch {
	case a.intent.Kept:
		return "Repeat it with the same Idempotency-Key to settle it."
	case a.settlesByRepeat(wait):
		return "Repeat the request unchanged to settle it."
	}
	return "A repeat without an Idempotency-Key could act twice: look first. " +
		"The gateway finds out by itself as soon as it can."
}

// numberAdvice says how a caller gets a number that was bought or ordered, without buying another.
func numberAdvice(i store.Intent) string {
	if i.Kept {
		return "Repeat the request with the same Idempotency-Key to get it; another request would buy another number."
	}
	return "The gateway goes on by itself: list the phone numbers in a minute to find it. " +
		"Another request would buy another number."
}

// lookAdvice says what a person does about an outcome that nothing will tell.
func lookAdvice(i store.Intent) string {
	began := i.CreatedAt.UTC().Format("2006-01-02 15:04") + " UTC"
	if i.Operation != opCreate {
		return "Look at the provider for what was done at about " + began + "."
	}
	return "Look in the CRM for a ticket with this subject that was opened at about " + began + "; if there is none, " +
		"send the request again with a new Idempotency-Key."
}
