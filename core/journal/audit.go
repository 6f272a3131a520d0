package journal

import (
	"context"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// origin is who asked for a run, as the audit says it.
type origin struct {
	actor     string // "": nobody, it is recovery's run
	tenant    string // its name
	requestID string
}

func originOf(ctx context.Context, c Call) origin {
	return origin{actor: audit.Key(c.Caller.KeyID), tenant: c.Caller.Tenant, requestID: audit.RequestID(ctx)}
}

// rows returns what the audit says of a run that ends with an outcome: nothing where there is none. What a
// caller named is not in it, since callers name anything. What the provider named is.
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

// rowsIfAny returns the rows of a run that made no change, or none that is known. Such a run does not stay
// open for want of a row: whoever took it up might make the change that its caller was told is not made.
func (r *Run) rowsIfAny(ctx context.Context, outcome string) []store.AuditRow {
	rows, err := r.rows(ctx, outcome)
	if err != nil {
		r.journal.opts.Log.ErrorContext(ctx, "a call could not be recorded in the audit",
			"operation", r.intent.Operation, "outcome", outcome, "error", err)
		return nil
	}
	return rows
}
