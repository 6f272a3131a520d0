package service

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// Names of the mutating operations in intents, logs and metrics.
const (
	opBook          = "book-meeting"
	opUpdate        = "update-meeting"
	opCancel        = "cancel-meeting"
	opHold          = "hold-slot"
	opReleaseHold   = "release-hold"
	opCreate        = "create-ticket"
	opBuy           = store.PurchaseOperation
	opChange        = "update-phone-number"
	opReleaseNumber = "release-phone-number"
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

// callerFor returns the caller for work in the background.
func (o *Options) callerFor(ctx context.Context, tenantID, connectionID string) (apikey.Caller, error) {
	c, err := o.Callers.CallerOf(ctx, tenantID, connectionID)
	if f := fault.From(err); err != nil && f.Code == fault.NotFound {
		return c, fault.New(fault.Disconnected, fault.ReasonNotConnected,
			"The connection was removed.").Because(err)
	}
	return c, err
}

// latestEnd returns when the request that has an intent's effect has certainly ended. again is when a resumed run sent
// it once more, or zero. A write may go on for a while after its caller, or the process, has gone.
func (o *Options) latestEnd(i store.Intent, again time.Time) time.Time {
	sent := i.CreatedAt
	if again.After(sent) {
		sent = again
	}
	return sent.Add(o.Deadline + o.Guard.WriteGrace())
}

// unknownAfter returns the fault of an unknown outcome, where the look for it has failed.
func unknownAfter(look *fault.Error) *fault.Error {
	f := fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, look.Detail).Because(look)
	f.RetryAfter = look.RetryAfter
	return f
}

// windowOf returns a tenant's own setting, or else the default.
func windowOf(own *tenant.Duration, standard time.Duration) time.Duration {
	if own == nil {
		return standard
	}
	return time.Duration(*own)
}
