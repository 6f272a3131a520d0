package journal

import (
	"context"
	"sync"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// origin identifies who asked for a run, as the audit records it. It is zero if recovery started the run.
type origin struct {
	actor     string
	tenant    string // the tenant's name
	requestID string
}

func originOf(ctx context.Context, c Call) origin {
	return origin{actor: audit.Actor(ctx), tenant: c.Caller.Tenant, requestID: audit.RequestID(ctx)}
}

// rows returns the audit rows of a run that ends with an outcome. It returns none if outcome is empty or
// nothing is audited. The rows hold the provider's id of the effect. They hold nothing that the caller named,
// since a caller can name anything.
func (r *Run) rows(ctx context.Context, outcome string) ([]store.AuditRow, error) {
	if outcome == "" || r.journal.opts.Audit == nil {
		return nil, nil
	}
	e := audit.Entry{
		TenantID: r.intent.TenantID, Tenant: r.origin.tenant, Actor: r.origin.actor, Action: r.intent.Operation,
		ConnectionID: r.intent.ConnectionID, Subject: r.intent.EffectRef, Outcome: outcome,
		Effect: r.intent.EffectKey, RequestID: r.origin.requestID,
	}
	if e.Actor == "" {
		owner, err := r.journal.opts.Store.TenantByID(ctx, r.intent.TenantID)
		if err != nil {
			return nil, err
		}
		e.Actor, e.Tenant = audit.Settler, owner.Name
	}
	row, err := r.journal.opts.Audit.Row(ctx, e)
	if err != nil {
		return nil, err
	}
	return []store.AuditRow{row}, nil
}

// rowsOnce returns a function that makes the audit rows of an outcome when it is first called. All tries to record it
// write the same row, which the store may have by now.
func (r *Run) rowsOnce(outcome string) func(context.Context) ([]store.AuditRow, error) {
	var mu sync.Mutex
	var rows []store.AuditRow
	return func(ctx context.Context) (_ []store.AuditRow, err error) {
		mu.Lock()
		defer mu.Unlock()
		if rows == nil {
			rows, err = r.rows(ctx, outcome)
		}
		return rows, err
	}
}

// rowsIfAny is rowsOnce for a run that made no change, or none that is known. If the rows cannot be built, it logs the
// error and returns none. The run must end anyway: if it stayed open, another run could make the change after the
// caller was told that it was not made.
func (r *Run) rowsIfAny(outcome string) func(context.Context) []store.AuditRow {
	rowsOf := r.rowsOnce(outcome)
	return func(ctx context.Context) []store.AuditRow {
		rows, err := rowsOf(ctx)
		if err != nil {
			r.journal.opts.Log.ErrorContext(ctx, "a call could not be recorded in the audit",
				"operation", r.intent.Operation, "outcome", outcome, "error", err)
		}
		return rows
	}
}
