package conformance

import "time"

// Faults to inject into a provider, whatever the contract. A harness's Provider implements those it can: a
// fake by its own methods, the storage of a sandbox by [frontdesk/core/adapter/adaptertest.GatedStorage], a
// real server hardly any. Each fault lasts until the harness ends.
type (
	// Revoker makes the provider refuse the credentials from now on.
	Revoker interface{ Revoke() }
	// Forbidder makes the provider respond, in its own form, that the account may not do what is requested.
	Forbidder interface{ Forbid() }
	// Stopper takes the provider down from now on: it is unreachable, or responds that it is unavailable.
	Stopper interface{ Stop() }
	// Limiter makes the provider refuse every call from now on because there were too many, and report this
	// wait. A provider that never reports one ignores it and implements NamesNoWait.
	Limiter interface{ Limit(wait time.Duration) }
	// NamesNoWait marks a Limiter whose provider does not report how long to wait.
	NamesNoWait interface{ NamesNoWait() }
	// Hanger makes the provider accept calls without a response until release is called.
	Hanger interface{ Hang() (release func()) }
	// ReplyDropper makes the provider carry out the next write and lose the reply.
	ReplyDropper interface{ DropNextReply() }
	// CallCounter returns the number of calls that reached the provider so far.
	CallCounter interface{ Calls() int }
)

// Can reports whether a harness's Provider implements T.
func Can[T any](provider any) bool {
	_, can := provider.(T)
	return can
}
