package service

import (
	"context"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// origin is who asked for a call, as the audit says it.
type origin struct {
	actor     string // "": nobody, it is the settler's run
	tenant    string // its name
	requestID string
}

func originOf(ctx context.Context, c call) origin {
	return origin{actor: audit.Key(c.caller.KeyID), tenant: c.caller.Tenant.Name, requestID: audit.RequestID(ctx)}
}

// rows is what the audit says of a run that ends with an outcome: nothing where there is none. What a caller named is
// not in it, since callers name anything; what the provider named is.
func (a *attempt) rows(ctx context.Context, outcome string) ([]store.AuditRow, error) {
	if outcome == "" || a.journal.audit == nil {
		return nil, nil
	}
	e := audit.Entry{
		TenantID: a.intent.TenantID, Tenant: a.from.tenant, Actor: a.from.actor, Action: a.intent.Operation, ConnectionID: a.intent.ConnectionID,
		Subject: a.intent.EffectRef, Outcome: outcome, Effect: a.intent.EffectKey, RequestID: a.from.requestID,
	}
	if e.Actor == "" {
		owner, err := a.journal.store.TenantByID(ctx, a.intent.TenantID)
		if err != nil {
			return nil, err
		}
		e.Actor, e.Tenant = audit.Settler, owner.Name
	}
	row, err := a.journal.audit.Row(ctx, e)
	if err != nil {
		return nil, err
	}
	return []store.AuditRow{row}, nil
}

// rowsIfAny is rows for a run that made no change, or none that is known: that must not stay open for want of a row, since
// whoever takes it up may make the change that its caller was told is not made.
func (a *attempt) rowsIfAny(ctx context.Context, outcome string) []store.AuditRow {
	rows, err := a.rows(ctx, outcome)
	if err != nil {
		a.journal.log.ErrorContext(ctx, "a call is not in the audit", "operation", a.intent.Operation, "outcome", outcome, "error", err)
		return nil
	}
	return rows
}

// The actions on numbers outside of a call.
const (
	numberFound    = "adopt-phone-number"
	numberGone     = "lose-phone-number"
	numberReturned = "return-phone-number"
	numberRestored = "restore-phone-number"
)

// recordNumber records what became of a number outside of a call: it was found in the provider's account, or is gone
// from it. The row is for the transaction that writes the number. Whose doing it is, the context says; else the gateway's.
func (o *Options) recordNumber(ctx context.Context, action string, n store.Number) ([]store.AuditRow, error) {
	if o.Audit == nil {
		return nil, nil
	}
	owner, err := o.Store.TenantByID(ctx, n.TenantID)
	if err != nil {
		return nil, err
	}
	row, err := o.Audit.Row(ctx, audit.Entry{
		TenantID: owner.ID, Tenant: owner.Name, Action: action, ConnectionID: n.ConnectionID, Subject: n.Ref, Outcome: audit.Done,
	})
	if err != nil {
		return nil, err
	}
	return []store.AuditRow{row}, nil
}
