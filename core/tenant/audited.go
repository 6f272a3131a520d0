package tenant

import (
	"context"
	"maps"
	"slices"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/store"
)

// The changes of an administrator and of customers, as the audit names them.
const (
	createTenant      = "create-tenant"
	updateTenant      = "update-tenant"
	deleteTenant      = "delete-tenant"
	createKey         = "create-key"
	revokeKey         = "revoke-key"
	addConnection     = "add-connection"
	updateConnection  = "update-connection"
	removeConnection  = "remove-connection"
	createConnectLink = "create-connect-link"
	connectAccount    = "connect-account" // a customer's consent has led to a connection
)

// audited returns the row of a change, for the transaction that makes it; none where nothing is audited.
func (d *Directory) audited(ctx context.Context, owner store.Tenant, e audit.Entry) ([]store.AuditRow, error) {
	return d.audit.Change(ctx, owner.ID, owner.Name, e)
}

// namesIn names what a new connection is given.
func namesIn(n NewConnection) []string {
	names := audit.Differing("settings.", map[string]any{}, n.Settings)
	for _, name := range slices.Sorted(maps.Keys(n.Credentials)) {
		names = append(names, "credentials."+name)
	}
	if n.Default {
		names = append(names, "default")
	}
	return names
}

// changedIn names what a change makes different between two states of a connection.
func changedIn(was, is store.Connection, c ConnectionChange) ([]string, error) {
	before, err := connectionOf(was)
	if err != nil {
		return nil, err
	}
	after, err := connectionOf(is)
	if err != nil {
		return nil, err
	}
	names := audit.Differing("settings.", before.Settings, after.Settings)
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		names = append(names, "credentials."+name)
	}
	if is.IsDefault && !was.IsDefault {
		names = append(names, "default")
	}
	return names, nil
}

// auditedChange is the row of a changed connection, made anew each time that the change is.
func (d *Directory) auditedChange(owner store.Tenant, c ConnectionChange) func(context.Context, store.Connection, store.Connection) ([]store.AuditRow, error) {
	return func(ctx context.Context, was, is store.Connection) ([]store.AuditRow, error) {
		changed, err := changedIn(was, is, c)
		if err != nil {
			return nil, err
		}
		return d.audited(ctx, owner, audit.Entry{Action: updateConnection, ConnectionID: is.ID, Subject: is.Name, Changed: changed})
	}
}

// unaudited is for what changes a connection but nothing that anybody set.
func unaudited(context.Context, store.Connection, store.Connection) ([]store.AuditRow, error) {
	return nil, nil
}

// auditedLink is the row of a new link.
func (d *Directory) auditedLink(ctx context.Context, l linked, row store.ConnectLink, settings map[string]any) ([]store.AuditRow, error) {
	return d.audited(ctx, l.owner(), audit.Entry{
		Action: createConnectLink, ConnectionID: row.ConnectionID, Subject: row.Name,
		Changed: namesIn(NewConnection{Kind: adapter.Kind(row.Kind), Settings: settings, Default: row.IsDefault}),
	})
}
