package service

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/journal"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// Names of the mutating operations in intents, logs and metrics.
const (
	opBook   = "book-meeting"
	opUpdate = "update-meeting"
	opCancel = "cancel-meeting"
	opHold   = "hold-slot"
	opUnhold = "release-hold"
	opCreate = "create-ticket"
	opBuy    = store.PurchaseOperation
	opChange = "update-phone-number"
	opReturn = "release-phone-number"
)

// Write holds what every mutating call has besides its input.
type Write = journal.Write

// Answer is the result of a mutating use case.
type Answer[T any] = journal.Answer[T]

// KeyReused returns the fault for an Idempotency-Key that was used for another request.
func KeyReused() error { return journal.KeyReused() }

// callerOf converts a caller for the journal.
func callerOf(c apikey.Caller) journal.Caller {
	return journal.Caller{TenantID: c.Tenant.ID, Tenant: c.Tenant.Name, KeyID: c.KeyID}
}

// steps carries out a plan with an opened connection.
type steps[C, P, T any] func(
	ctx context.Context, client C, run *journal.Run, plan P,
) (journal.Result[T], error)

// with returns a handler that calls do with an open connection.
func with[C, P, T any](client C, do steps[C, P, T]) journal.Handler[P, T] {
	return func(ctx context.Context, run *journal.Run, plan P) (journal.Result[T], error) {
		return do(ctx, client, run, plan)
	}
}

// resume returns a function for journal.Operation.Resume. It opens the connection and then calls do.
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

// windowOf returns a tenant's own setting, or else the default.
func windowOf(own *tenant.Duration, standard time.Duration) time.Duration {
	if own == nil {
		return standard
	}
	return time.Duration(*own)
}
