package service

import (
	"context"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// Audit actions on numbers outside of a call.
const (
	actionAdopt   = "adopt-phone-number"
	actionLose    = "lose-phone-number"
	actionReturn  = "return-phone-number"
	actionRestore = "restore-phone-number"
)

// loseNumber takes a number out of the table that the provider no longer has, and records that in the audit.
func (o *Options) loseNumber(ctx context.Context, row store.Number) error {
	rows, err := o.auditNumber(ctx, actionLose, row)
	if err != nil {
		return err
	}
	return o.Store.LoseNumber(ctx, row, o.Now(), rows...)
}

// auditNumber returns the audit rows for a change of a number outside of a call. They must be written in the
// transaction that writes the number. The actor comes from ctx; the default is the gateway.
func (o *Options) auditNumber(ctx context.Context, action string, n store.Number) ([]store.AuditRow, error) {
	if o.Audit == nil {
		return nil, nil
	}
	owner, err := o.Store.TenantByID(ctx, n.TenantID)
	if err != nil {
		return nil, err
	}
	return o.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: action, ConnectionID: n.ConnectionID, Subject: n.Ref,
	})
}
