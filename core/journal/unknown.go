package journal

import (
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

const (
	minRetryAfter = 2 * time.Second  // the outcome of an interrupted call is not known sooner
	repeatMargin  = 10 * time.Second // the time that a caller's repeat takes to arrive
)

// HadNoEffect reports whether a failed run certainly had no effect at the provider.
func (r *Run) HadNoEffect(f *fault.Error) bool {
	if !r.resumed && !r.effectExpected {
		return true
	}
	switch f.Code {
	case fault.Unavailable, fault.Timeout, fault.Canceled, fault.Internal, fault.UnknownOutcome:
		return f.Unsent && !r.resumed
	case fault.RateLimited, fault.Disconnected, fault.Forbidden, fault.Unsupported:
		return !r.resumed // the earlier run may have acted, and this one could not look
	}
	if f.Reason == fault.ReasonProviderConflict && !f.NoRetry || f.Reason == fault.ReasonStorageFull {
		return !r.resumed // the provider may still be at the earlier run's call, or full because of it
	}
	return true
}

// unknownOutcome returns the error of a call whose outcome is unknown. It suggests a repeat only if a repeat
// cannot have the effect a second time. A reason that tells the caller more is kept, such as a passed
// deadline or a provider's 503 (RFC 9110 section 15.6.4: it could not handle the request). Any other reason
// becomes OUTCOME_UNKNOWN.
func (r *Run) unknownOutcome(f *fault.Error) error {
	wait := max(f.RetryAfter, minRetryAfter)
	advice := ""
	if r.operation.AdviseRepeat != nil {
		advice = r.operation.AdviseRepeat(f, r.intent.Kept)
	}
	var answer fault.Error
	switch repeat := r.repeatAdvice(f, wait); {
	case f.IsUnknowable():
		answer = *f
		answer.Detail = sentence(f.Detail) + "So nobody can find out whether the provider acted. " +
			lookAdvice(r.operation, r.intent)
		return &answer
	case advice != "":
		answer = *f
		answer.Detail = sentence(f.Detail) + advice
	case f.Code == fault.UnknownOutcome:
		answer = *f
		answer.Detail = sentence(f.Detail) + repeat
	case f.Code == fault.Timeout, f.Code == fault.Canceled, f.Code == fault.RateLimited, f.Code == fault.Disconnected,
		f.Code == fault.Forbidden, f.Unsent,
		f.Code == fault.Unavailable && f.Metadata["upstream_status"] == "503":
		answer = *f.With("outcome", "unknown")
		answer.Detail = sentence(f.Detail) + "It is not known yet whether the provider acted. " + repeat
	// An answer that nobody can read, what the connection is set up for, or what was in the way of a repeat.
	case f.Code == fault.Unsupported, f.Code == fault.Conflict, f.Code == fault.Exhausted:
		answer = *fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			sentence(f.Detail)+"It is not known yet whether the provider acted. "+repeat).Because(f)
		answer.Upstream = f.Upstream
	case f.Reason == fault.ReasonOutcomeUnknown:
		answer = *fault.New(fault.UnknownOutcome, f.Reason, sentence(f.Detail)+repeat).Because(f)
	default:
		answer = *fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"The provider's answer was lost, so it is not known whether it acted. "+repeat).Because(f)
		answer.Upstream = f.Upstream
	}
	answer.RetryAfter, answer.NoRetry = wait, f.NoRetry || !r.canRepeat(wait)
	if answer.NoRetry || f.Code == fault.Disconnected || f.Code == fault.Forbidden {
		answer.RetryAfter = 0 // a person has to act first
	}
	return &answer
}

func sentence(s string) string { return strings.TrimSuffix(s, ".") + ". " }

// canRepeat reports whether the same request, sent again after wait, counts as the same call or changes
// nothing more.
func (r *Run) canRepeat(wait time.Duration) bool {
	switch i := r.intent; {
	case i.Kept, r.operation.Idempotent:
		return true
	case i.DedupeKey == "":
		return false
	default:
		return r.journal.opts.Now().Add(wait + repeatMargin).Before(i.CreatedAt.Add(r.dedupeWindow))
	}
}

// repeatAdvice returns advice on how a caller learns an unknown outcome without causing a second effect.
func (r *Run) repeatAdvice(f *fault.Error, wait time.Duration) string {
	const settled = "The gateway finds out the outcome as soon as it can."
	switch {
	case f.NoRetry:
		return settled
	case r.intent.Kept:
		// A language model reads this too. It gave no key: the key of its tool's call is the gateway's.
		return "Repeat it unchanged, with the same Idempotency-Key if you gave one, to settle it."
	case r.canRepeat(wait):
		return "Repeat the request unchanged to settle it."
	}
	return "A repeat without an Idempotency-Key could act twice: look first. " + settled
}

// lookAdvice returns advice for a person if the outcome of a call can never be learned.
func lookAdvice(op Operation, i store.Intent) string {
	began := i.CreatedAt.UTC().Format("2006-01-02 15:04") + " UTC"
	if op.AdviseLook == nil {
		return "Look at the provider for what happened at about " + began + "."
	}
	return op.AdviseLook(began)
}
