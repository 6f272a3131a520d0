package service

import (
	"context"

	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// The actions on numbers outside of a call.
const (
	actionAdopt   = "adopt-phone-number"
	actionLose    = "lose-phone-number"
	actionReturn  = "return-phone-number"
	actionRestore = "restore-phone-number"
)

// auditNumber returns the rows that say what became of a number outside of a call. They are for the
// transaction that writes the number. Whose doing it is, the context says; else it is the gateway's.
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
