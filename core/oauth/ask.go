package oauth

import (
	"context"
	"errors"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// A request for tokens that was never answered may have been acted on. Whether it may be made again depends
// on what the provider does with a refresh token that is redeemed:
//
//   - One that stays good is presented again at once: nothing is used up.
//   - One that is good for one use is presented again only when nothing is left to lose. Had the first
//     request been acted on, the second is a replay, for which a server ends the whole grant (RFC 9700
//     section 4.14.2). That matters while the answer to the first may still come, and while the access token
//     that would end with the grant still works. After that, asking is the only way to learn whether a person
//     has to connect the account again.

// The values of storedTokens.Rotation.
const (
	refreshStays   = "stays"
	refreshRotates = "rotates"
)

// rotationOf returns what an answer shows about the refresh token that was redeemed for it: without another
// one, it stays in force (RFC 6749 section 6).
func rotationOf(t Tokens) string {
	if t.Refresh == "" {
		return refreshStays
	}
	return refreshRotates
}

// reusable reports whether tokens may be asked for twice. What redeems have shown counts more than what the
// adapter declares.
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
	// errUnanswered is a cause of faults: no whole answer came, for whatever reason.
	errUnanswered = errors.New("oauth: the request for tokens was not answered")
	// errAbandoned is for a redeem of which only the lapsed lease is left.
	errAbandoned = fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
		"A renewal of the connection's access was cut off, and nobody knows what became of it.")
)

// mayHaveActed reports whether a request for tokens that failed so may have been acted on.
func mayHaveActed(err error) bool {
	return !errors.Is(err, errBusy) && !fault.From(err).Unsent
}

// ask asks the provider for tokens. A request that was lost, or that has no answer for a while, is made once
// more, where that is safe. The first one is waited for all the same, and the first answer counts: a slow
// endpoint is still one.
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
			t, err := v.credentials.Client.Token(ctx, v.refresh())
			answers <- answer{t, err}
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

// isLost reports whether a request failed on its way, or its answer did.
func isLost(err error) bool {
	return errors.Is(err, errUnanswered) && (errors.Is(err, fault.Unavailable) || errors.Is(err, fault.Timeout))
}
