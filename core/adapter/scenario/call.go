package scenario

import (
	"context"

	"frontdesk/core/fault"
	"frontdesk/core/pause"
)

// Read runs a call that changes nothing, or fails it as its scenario demands.
func Read[T any](ctx context.Context, p Provider, c Call, act func(context.Context) (T, error)) (T, error) {
	if err := p.before(ctx, c); err != nil {
		var none T
		return none, err
	}
	return act(ctx)
}

// Write runs a call that changes something, or fails it as its scenario demands. A lost reply is lost after
// act succeeded, so act must be safe to repeat.
func Write[T any](ctx context.Context, p Provider, c Call, act func(context.Context) (T, error)) (T, error) {
	var none T
	if err := p.before(ctx, c); err != nil {
		return none, err
	}
	answer, err := act(ctx)
	if err != nil {
		return none, err
	}
	if w := p.scenario(c); w == ReplyLost || w == OutcomeUnknown {
		if err := p.lose(ctx, c, w); err != nil {
			return none, err
		}
	}
	return answer, nil
}

// before does what the scenario demands before the call acts.
func (p Provider) before(ctx context.Context, c Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := p.scenario(c)
	takes := p.Latency
	if w == Slow {
		takes += SlowFor
	}
	if err := pause.For(ctx, takes); err != nil {
		return err
	}
	if refused := p.refusal(w); refused != nil {
		return refused
	}
	if w == Hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return p.silence(ctx, c)
}

// refusal returns the fault of a scenario that only refuses calls, nil for the others.
func (p Provider) refusal(w Name) error {
	if own := p.Own[w]; own != nil {
		refusal := *own
		return &refusal
	}
	switch w {
	case RateLimited:
		f := fault.New(fault.RateLimited, fault.ReasonProviderRateLimited,
			"The provider limits how often it is called, as sandbox:rate_limited asked. Try again later.")
		f.RetryAfter = RetryAfter
		return f
	case Revoked:
		return fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"The provider refuses the connection's credentials, as sandbox:revoked asked. Connect the account again.")
	case Forbidden:
		return fault.New(fault.Forbidden, fault.ReasonPermissionDenied,
			"The provider does not allow the connected account to do this, as sandbox:forbidden asked.")
	case Down:
		return fault.Unacted(fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The provider could not be reached, as sandbox:down asked."))
	}
	return nil
}

// lostConnection returns the fault of a request that may or may not have been carried out.
func lostConnection(detail string) error {
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, detail)
}
