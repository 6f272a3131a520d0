package conformance

import "time"

// What can be done to a provider behind a driver's back, whatever the contract. A harness's Provider
// implements what it can: a fake by being told, the storage of a sandbox by
// [frontdesk/core/adapter/adaptertest.GatedStorage], a real server mostly not at all. Each lasts until the
// harness ends.
type (
	// Revoker has the provider refuse the credentials from now on.
	Revoker interface{ Revoke() }
	// Forbidder has the provider answer that the account may not do what is asked, in the way it says that.
	Forbidder interface{ Forbid() }
	// Stopper has the provider be down from now on: unreachable, or answering that it is unavailable.
	Stopper interface{ Stop() }
	// Limiter has the provider refuse every call from now on because there were too many, and name this wait;
	// a provider that never names one ignores it and has NamesNoWait.
	Limiter interface{ Limit(wait time.Duration) }
	// NamesNoWait marks a Limiter whose provider does not say how long to wait.
	NamesNoWait interface{ NamesNoWait() }
	// Hanger has the provider take calls and never answer them, until release is called.
	Hanger interface{ Hang() (release func()) }
	// ReplyDropper has the provider carry out the next write and lose the reply.
	ReplyDropper interface{ DropNextReply() }
	// CallCounter counts the calls that reached the provider so far.
	CallCounter interface{ Calls() int }
)

// Can reports whether a provider's side implements T.
func Can[T any](provider any) bool {
	_, can := provider.(T)
	return can
}
