package oauth

import (
	"context"
	"errors"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
)

// A provider may have acted on a request for tokens even if no response came. Whether the request may be
// repeated depends on what the provider does with a redeemed refresh token:
//
//   - A token that stays valid is presented again at once: nothing is used up.
//   - A token for a single use is presented again only when nothing is left to lose. If the provider acted on
//     the first request, the second is a replay, for which a server ends the whole grant (RFC 9700 section
//     4.14.2). That matters while the response to the first may still come, and while the access token, which
//     would end with the grant, still works. After that, another request is the only way to learn whether a
//     person has to connect the account again.

// Values of storedTokens.Rotation.
const (
	refreshStays   = "stays"
	refreshRotates = "rotates"
)

// rotationOf returns the rotation that a response shows: the redeemed refresh token stays valid if the
// response contains no other one (RFC 6749 section 6).
func rotationOf(t Tokens) string {
	if t.Refresh == "" {
		return refreshStays
	}
	return refreshRotates
}

// reusable reports whether a request for tokens may be repeated. The result of an earlier redeem takes
// precedence over what the adapter declares.
func (v view) reusable() bool {
	grant := v.credentials.Client.Grant
	switch {
	case grant.Flow != adapter.Consent, v.stored.Rotation == refreshStays:
		return true
	case grant.Rotation == adapter.RotationOverlapping:
		return true
	}
	return grant.Rotation == adapter.RotationNone && v.stored.Rotation == ""
}

// atRisk reports whether a replay could end an access token that still works.
func (v view) atRisk(refused string, now time.Time) bool {
	return !v.reusable() && v.stored.usable(now, refused)
}

var (
	// errUnanswered is the cause of faults if no complete response came, for whatever reason.
	errUnanswered = errors.New("oauth: the request for tokens was not answered")
	// errAbandoned is the error for a redeem that left nothing but an expired lease.
	errAbandoned = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
		"A renewal of the connection's access was cut off, and nobody knows what became of it.")
)

// mayHaveActed reports whether the provider may have acted on a request for tokens that failed with err.
func mayHaveActed(err error) bool {
	return !errors.Is(err, errBusy) && !fault.From(err).Unsent
}

// ask requests tokens from the provider. If the request is lost or gets no response for a while, ask repeats
// it once if that is safe. It still waits for the first request, and returns whichever response comes first,
// so that a slow endpoint works too.
func (s *TokenSource) ask(ctx context.Context, v view) (Tokens, error) {
	type answer struct {
		tokens Tokens
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answer, 2)
	var tries sync.WaitGroup
	defer tries.Wait()
	defer cancel()
	begun, ended := 0, 0
	begin := func() {
		begun++
		tries.Go(func() {
			var a answer
			a.err = parallel.Try(ctx, s.options.Log, func() (err error) {
				a.tokens, err = v.credentials.Client.Token(ctx, v.refresh())
				return err
			})
			answers <- a
		})
	}
	begin()
	silence := time.NewTimer(s.limits.SecondTry)
	defer silence.Stop()
	for {
		select {
		case <-silence.C:
			if begun == 1 && v.reusable() {
				begin()
			}
		case a := <-answers:
			ended++
			wasLost := isLost(a.err) && ctx.Err() == nil
			switch {
			case wasLost && begun == 1 && (v.reusable() || !mayHaveActed(a.err)):
				begin()
			case !wasLost || begun == ended:
				return a.tokens, a.err
			}
		}
	}
}

// isLost reports whether a request or its response was lost on the way.
func isLost(err error) bool {
	return errors.Is(err, errUnanswered) && (errors.Is(err, fault.Unavailable) || errors.Is(err, fault.Timeout))
}
