package service

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/journal"
	"frontdesk/core/tenant"
)

// The names of the mutating operations, as intents, logs and metrics know them.
const (
	opBook   = "book-meeting"
	opUpdate = "update-meeting"
	opCancel = "cancel-meeting"
	opCreate = "create-ticket"
	opBuy    = "buy-phone-number"
	opChange = "update-phone-number"
	opReturn = "release-phone-number"
)

// Write is what every mutating call carries besides its input.
type Write = journal.Write

// Answer is what a mutating use case returns.
type Answer[T any] = journal.Answer[T]

// callerOf returns the caller as the journal knows it.
func callerOf(c apikey.Caller) journal.Caller {
	return journal.Caller{TenantID: c.Tenant.ID, Tenant: c.Tenant.Name, KeyID: c.KeyID}
}

// steps carries out a plan with an opened connection.
type steps[C, P, T any] func(
	ctx context.Context, client C, run *journal.Run, plan P,
) (journal.Result[T], error)

// with returns the handler of a call whose connection is open.
func with[C, P, T any](client C, do steps[C, P, T]) journal.Handler[P, T] {
	return func(ctx context.Context, run *journal.Run, plan P) (journal.Result[T], error) {
		return do(ctx, client, run, plan)
	}
}

// resume returns how a run that nobody waits for is carried on: it opens the connection first.
func resume[C, P, T any](
	opts *Options, open func(context.Context, apikey.Caller) (C, error), do steps[C, P, T],
) func(context.Context, *journal.Run) error {
	return journal.Resume(func(ctx context.Context, run *journal.Run, plan P) (journal.Result[T], error) {
		c, err := opts.callerFor(ctx, run.Intent().TenantID, run.Intent().ConnectionID)
		if err != nil {
			return journal.Result[T]{}, err
		}
		client, err := open(ctx, c)
		if err != nil {
			return journal.Result[T]{}, err
		}
		return do(ctx, client, run, plan)
	})
}

// windowOf returns a tenant's own setting, else the default.
func windowOf(own *tenant.Duration, standard time.Duration) time.Duration {
	if own == nil {
		return standard
	}
	return time.Duration(*own)
}
