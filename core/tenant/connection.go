package tenant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// NewConnection is a connection to be made, or to be as it is written.
type NewConnection struct {
	Name        string // unique in the tenant; lower-case letters, digits and hyphens
	Kind        adapter.Kind
	Provider    string
	Default     bool // the one of its kind that keys use which are bound to none; the first of a kind is in any case
	Settings    map[string]any
	Credentials map[string]string
}

// ConnectionChange is what to change of a connection: nil fields stay.
type ConnectionChange struct {
	Default     bool              // true makes it the default; false leaves that as it is
	Settings    map[string]any    // replaces all settings
	Credentials map[string]string // replaces all credentials, and gives a connection to be reconnected another chance
}

// AddConnection makes a connection. Nothing is asked of the provider: see VerifyConnection.
func (d *Directory) AddConnection(ctx context.Context, tenantName string, n NewConnection) (Connection, error) {
	if faults := d.checkConnection("", n); len(faults) > 0 {
		return Connection{}, fault.InvalidFields(faults...)
	}
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return Connection{}, err
	}
	return d.createConnection(ctx, owner, n)
}

// createConnection makes a connection that was checked.
func (d *Directory) createConnection(ctx context.Context, owner store.Tenant, n NewConnection) (Connection, error) {
	tenantID := owner.ID
	id := secret.NewID("conn")
	settings, err := settingsJSON(n.Settings)
	if err != nil {
		return Connection{}, err
	}
	audited, err := d.audited(ctx, owner, audit.Entry{Action: addConnection, ConnectionID: id, Subject: n.Name, Changed: namesIn(n)})
	if err != nil {
		return Connection{}, err
	}
	tokens := d.growthOf(n.Kind, n.Provider, adapter.Values{Settings: n.Settings, Credentials: n.Credentials})
	row := store.Connection{
		ID: id, TenantID: tenantID, Name: n.Name, Kind: string(n.Kind), Provider: n.Provider, IsDefault: n.Default,
		Settings: settings, Status: tokens.statusAfter(growth{}, string(StatusReconnectRequired)), Revision: 1, CreatedAt: d.now().UTC(),
	}
	if err := d.sealConnection(&row, n.Credentials); err != nil {
		return Connection{}, err
	}
	err = d.store.CreateConnection(ctx, row, audited...)
	if errors.Is(err, fault.Conflict) {
		return Connection{}, fault.Newf(fault.Conflict, ReasonNameTaken,
			"There is already a connection %q.", n.Name).Because(err)
	}
	if err != nil {
		return Connection{}, err
	}
	d.callers.forget()
	if err := d.fetchToken(ctx, tenantID, id, tokens); err != nil {
		return Connection{}, err
	}
	row, err = d.store.Connection(ctx, tenantID, id) // whether it is the default is the store's to say
	if err != nil {
		return Connection{}, err
	}
	return connectionOf(row)
}

// UpdateConnection changes a connection. It keeps its id, and with it everything the gateway remembers for
// it.
func (d *Directory) UpdateConnection(ctx context.Context, tenantName, name string, c ConnectionChange) (Connection, error) {
	owner, row, err := d.connectionRow(ctx, tenantName, name)
	if err != nil {
		return Connection{}, err
	}
	var tokens growth
	changed, err := d.changeConnection(ctx, row, d.auditedChange(owner, c), func(row *store.Connection) error {
		tokens, err = d.change(row, c)
		return err
	})
	if err != nil {
		return changed, err
	}
	return changed, d.fetchToken(ctx, changed.TenantID, changed.ID, tokens)
}

// change applies a change to a row, checks what comes of it, and answers what the connection's tokens grow
// from, where that is to be tried anew.
func (d *Directory) change(row *store.Connection, c ConnectionChange) (growth, error) {
	now, err := connectionOf(*row)
	if err != nil {
		return growth{}, err
	}
	plain, unreadable := d.openConnection(*row)
	if unreadable != nil && (c.Credentials == nil || c.Settings == nil) { // neither is to be believed without the other
		return growth{}, unreadable
	}
	was := d.growthOf(now.Kind, now.Provider, adapter.Values{Settings: now.Settings, Credentials: plain})
	wanted := NewConnection{Name: row.Name, Kind: now.Kind, Provider: now.Provider, Settings: now.Settings, Credentials: c.Credentials}
	if c.Settings != nil {
		wanted.Settings = c.Settings
	}
	if c.Credentials == nil {
		wanted.Credentials = plain
	}
	if faults := d.checkConnection("", wanted); len(faults) > 0 {
		return growth{}, fault.InvalidFields(faults...)
	}
	if row.Settings, err = settingsJSON(wanted.Settings); err != nil {
		return growth{}, err
	}
	if err := d.sealConnection(row, wanted.Credentials); err != nil {
		return growth{}, err
	}
	is := d.growthOf(now.Kind, now.Provider, adapter.Values{Settings: wanted.Settings, Credentials: wanted.Credentials})
	row.IsDefault = row.IsDefault || c.Default
	if c.Credentials == nil && is.id == was.id {
		return growth{}, nil
	}
	row.Status = is.statusAfter(was, row.Status)
	return is, nil
}

// changeConnection writes a changed row and what the audit says of it, reading it again when someone else
// changed it in between.
func (d *Directory) changeConnection(
	ctx context.Context, row store.Connection,
	audited func(ctx context.Context, was, is store.Connection) ([]store.AuditRow, error), change func(*store.Connection) error,
) (Connection, error) {
	row, err := d.store.ChangeConnection(ctx, row, func(row *store.Connection) ([]store.AuditRow, error) {
		was := *row
		if err := change(row); err != nil {
			return nil, err
		}
		return audited(ctx, was, *row)
	})
	d.callers.forget()
	if err != nil {
		return Connection{}, err
	}
	return connectionOf(row)
}

// Connections lists a tenant's connections by kind, then name.
func (d *Directory) Connections(ctx context.Context, tenantName string) ([]Connection, error) {
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	return d.connectionsOf(ctx, owner.ID)
}

// RealOnes lists the connections of a kind, of all tenants, but for those to a sandbox.
func (d *Directory) RealOnes(ctx context.Context, kind adapter.Kind) ([]Connection, error) {
	rows, err := d.store.AllConnections(ctx)
	if err != nil {
		return nil, err
	}
	var all []Connection
	for _, row := range rows {
		if row.Kind != string(kind) {
			continue
		}
		c, err := connectionOf(row)
		if err != nil {
			return nil, err
		}
		if !d.isSandbox(c) {
			all = append(all, c)
		}
	}
	return all, nil
}

// RemoveConnection deletes a connection and what is kept for it. It is refused while a key is bound to it:
// the key would silently lose what it was made for.
func (d *Directory) RemoveConnection(ctx context.Context, tenantName, name string) error {
	owner, row, err := d.connectionRow(ctx, tenantName, name)
	if err != nil {
		return err
	}
	return d.removeConnection(ctx, owner, row)
}

func (d *Directory) removeConnection(ctx context.Context, owner store.Tenant, row store.Connection) error {
	holders, err := d.boundKeys(ctx, owner.ID, row.ID)
	if err != nil {
		return err
	}
	if len(holders) > 0 {
		return inUse(row.Name, holders)
	}
	audited, err := d.audited(ctx, owner, audit.Entry{Action: removeConnection, ConnectionID: row.ID, Subject: row.Name})
	if err != nil {
		return err
	}
	if err := d.store.DeleteConnection(ctx, owner.ID, row.ID, audited...); err != nil {
		return err
	}
	d.drivers.drop(row.ID)
	d.callers.forget()
	return nil
}

// boundKeys lists the keys in force that are bound to a connection, as people recognise them.
func (d *Directory) boundKeys(ctx context.Context, tenantID, connectionID string) ([]string, error) {
	keys, err := d.store.Keys(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	var bound []string
	for _, k := range keys {
		if k.RevokedAt.IsZero() && slices.Contains(k.Connections, connectionID) {
			bound = append(bound, fmt.Sprintf("%s (%s)", k.ID, k.Prefix))
		}
	}
	return bound, nil
}

func inUse(connectionName string, holders []string) error {
	return fault.Newf(fault.Conflict, ReasonConnectionInUse,
		"The connection %q is what these API keys are bound to: %s. Revoke them first.", connectionName, strings.Join(holders, ", "))
}

// MarkReconnect records that the provider refuses the connection's credentials, so that calls fail at once
// until a person acts. It does nothing when the connection was changed since it was opened: the refusal is
// then of what was.
func (d *Directory) MarkReconnect(ctx context.Context, c Connection, why string) error {
	row, err := d.store.Connection(ctx, c.TenantID, c.ID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if row.Revision != c.Revision || row.Status == string(StatusReconnectRequired) {
		return nil
	}
	row.Status = string(StatusReconnectRequired)
	err = d.store.UpdateConnection(ctx, row, c.Revision)
	if errors.Is(err, fault.Conflict) {
		return nil
	}
	if err != nil {
		return err
	}
	d.callers.forget()
	d.log.WarnContext(ctx, "a connection must be reconnected",
		"tenant", c.TenantID, "connection", c.ID, "provider", c.Provider, "why", why)
	return nil
}

// MarkVerified records that the provider accepts the connection's credentials, and whose account it said they
// are; email "" keeps the address known. It does nothing when the connection was changed since it was opened.
func (d *Directory) MarkVerified(ctx context.Context, c Connection, email string) error {
	row, err := d.store.Connection(ctx, c.TenantID, c.ID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if email == "" {
		email = row.Email
	}
	switch { // both compare the revision again, so that a refusal noted in between is not overwritten
	case row.Revision != c.Revision, row.Status == string(StatusOK) && row.Email == email:
		return nil
	case row.Status == string(StatusOK):
		err = d.store.SetConnectionEmail(ctx, c.TenantID, c.ID, email, c.Revision)
	default:
		row.Status, row.Email = string(StatusOK), email
		err = d.store.UpdateConnection(ctx, row, c.Revision)
	}
	if errors.Is(err, fault.Conflict) || errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.callers.forget()
	return nil
}

// checkConnection reports every fault of a connection to be made; prefix is what their paths begin with.
func (d *Directory) checkConnection(prefix string, n NewConnection) []fault.Field {
	faults := checkName("name", n.Name)
	a, found := d.registry.Find(n.Kind, n.Provider)
	switch {
	case !slices.Contains(adapter.Kinds(), n.Kind):
		faults = append(faults, fault.Field{Path: "kind", Message: "must be one of " + listKinds() + "."})
	case !found:
		faults = append(faults, fault.Field{Path: "provider", Message: d.knownProviders(n.Kind)})
	default:
		values := adapter.Values{Settings: n.Settings, Credentials: n.Credentials}
		f := fault.From(a.Check(values))
		if f == nil {
			var err error
			a, err = a.With(values)
			f = fault.From(err)
		}
		if f == nil {
			f = fault.From(a.CheckGrant(values, d.operators[a.Name].Addresses))
		}
		if f != nil {
			faults = append(faults, f.Fields...)
		}
		faults = append(faults, unfit(a.Auth, n.Credentials)...)
	}
	for i := range faults {
		faults[i].Path = prefix + faults[i].Path
	}
	return faults
}

func listKinds() string {
	kinds := make([]string, 0, len(adapter.Kinds()))
	for _, k := range adapter.Kinds() {
		kinds = append(kinds, string(k))
	}
	return strings.Join(kinds, ", ")
}

func (d *Directory) knownProviders(kind adapter.Kind) string {
	var names []string
	for _, a := range d.registry.All() {
		if a.Kind == kind {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("is not known: this build has no provider for a %s connection.", kind)
	}
	return fmt.Sprintf("must be one of %s for a %s connection.", strings.Join(names, ", "), kind)
}
