package connection

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Options configure a Directory. All fields but Audit are required.
type Options struct {
	Store     *store.Store
	Vault     *vault.Vault
	Providers Providers
	Tokens    *oauth.TokenSource
	Drivers   *Drivers
	Now       func() time.Time
	Log       *slog.Logger
	Audit     *audit.Log // records changes; nil: they are not recorded
	Changed   func()     // called after a change that makes cached connections out of date
}

// Directory manages all tenants' connections. It is safe for concurrent use. Create one with [NewDirectory].
type Directory struct {
	opts   Options
	sealer sealing.Sealer
}

// NewDirectory returns a Directory.
func NewDirectory(o Options) *Directory { return &Directory{o, sealing.New(o.Vault)} }

// The names of the changes in the audit.
const (
	actionAdd    = "add-connection"
	actionUpdate = "update-connection"
	actionRemove = "remove-connection"
)

// Add creates a connection. It does not check the credentials at the provider: see Verify.
func (d *Directory) Add(ctx context.Context, tenantName string, s Spec) (Connection, error) {
	if faults := d.opts.Providers.Check("", s); len(faults) > 0 {
		return Connection{}, fault.InvalidFields(faults...)
	}
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return Connection{}, err
	}
	made, err := d.Prepare(ctx, owner, s)
	if err != nil {
		return Connection{}, err
	}
	err = d.opts.Store.CreateConnection(store.Creating(ctx, "", Of), made.Row, made.Audit...)
	if errors.Is(err, fault.Conflict) {
		return Connection{}, fault.Newf(fault.Conflict, tenant.ReasonNameTaken,
			"There is already a connection %q.", s.Name).Because(err)
	}
	if err != nil {
		return Connection{}, err
	}
	if err := d.Stored(ctx, made); err != nil {
		return Connection{}, err
	}
	row, err := d.opts.Store.Connection(ctx, owner.ID, made.Row.ID) // the store decides whether it is the default
	if err != nil {
		return Connection{}, err
	}
	return Of(row)
}

// New is a connection that is to be stored.
type New struct {
	Row    store.Connection
	Audit  []store.AuditRow
	origin tokenOrigin
}

// Prepare returns a new connection, with its credentials sealed. It stores nothing. The spec must have been
// checked: see Providers.Check.
func (d *Directory) Prepare(ctx context.Context, owner tenant.Tenant, s Spec) (New, error) {
	made := New{origin: d.opts.Providers.tokenOriginOf(s)}
	var err error
	made.Row, made.Audit, err = d.prepare(ctx, owner, s, store.Connection{
		ID: secret.NewID("conn"), Status: made.origin.statusAfter(tokenOrigin{}, string(StatusReconnectRequired)),
	})
	return made, err
}

// Stored does what is to be done after a new connection was stored.
func (d *Directory) Stored(ctx context.Context, c New) error {
	d.opts.Changed()
	return d.fetchToken(ctx, c.Row.TenantID, c.Row.ID, c.origin)
}

// prepare completes the row of a new connection, which holds its id, status and e-mail address.
func (d *Directory) prepare(
	ctx context.Context, owner tenant.Tenant, s Spec, row store.Connection,
) (store.Connection, []store.AuditRow, error) {
	settings, err := MarshalSettings(s.Settings)
	if err != nil {
		return row, nil, err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionAdd, ConnectionID: row.ID, Subject: s.Name, Changed: s.Given(),
	})
	if err != nil {
		return row, nil, err
	}
	row.TenantID, row.Name, row.Kind, row.Provider = owner.ID, s.Name, string(s.Kind), s.Provider
	row.IsDefault, row.Settings, row.CreatedAt = s.Default, settings, d.opts.Now().UTC()
	err = d.sealer.SealConnection(&row, s.Credentials)
	return row, audited, err
}

// Update changes a connection. Its id stays the same, and so does everything that is stored for it.
func (d *Directory) Update(ctx context.Context, tenantName, name string, c Change) (Connection, error) {
	owner, row, err := d.find(ctx, tenantName, name)
	if err != nil {
		return Connection{}, err
	}
	var origin tokenOrigin
	changed, err := d.change(ctx, owner, row, c.Credentials, func(row *store.Connection) (err error) {
		origin, err = d.apply(row, c)
		return err
	})
	if err != nil {
		return changed, err
	}
	return changed, d.fetchToken(ctx, changed.TenantID, changed.ID, origin)
}

// apply applies a change to a row and checks the result. It returns the origin of the tokens if they must be
// fetched anew.
func (d *Directory) apply(row *store.Connection, c Change) (tokenOrigin, error) {
	now, err := Of(*row)
	if err != nil {
		return tokenOrigin{}, err
	}
	plain, unreadable := d.sealer.OpenConnection(*row)
	if unreadable != nil && (c.Credentials == nil || c.Settings == nil) {
		// The seal covers both, so neither can be trusted: both must be replaced.
		return tokenOrigin{}, unreadable
	}
	wanted := Spec{
		Name: now.Name, Kind: now.Kind, Provider: now.Provider, Settings: now.Settings, Credentials: plain,
	}
	was := d.opts.Providers.tokenOriginOf(wanted)
	if c.Settings != nil {
		wanted.Settings = c.Settings
	}
	if c.Credentials != nil {
		wanted.Credentials = c.Credentials
	}
	if faults := d.opts.Providers.Check("", wanted); len(faults) > 0 {
		return tokenOrigin{}, fault.InvalidFields(faults...)
	}
	if row.Settings, err = MarshalSettings(wanted.Settings); err != nil {
		return tokenOrigin{}, err
	}
	if err := d.sealer.SealConnection(row, wanted.Credentials); err != nil {
		return tokenOrigin{}, err
	}
	is := d.opts.Providers.tokenOriginOf(wanted)
	row.IsDefault = row.IsDefault || c.Default
	if c.Credentials == nil && is.id == was.id {
		return tokenOrigin{}, nil
	}
	row.Status = is.statusAfter(was, row.Status)
	return is, nil
}

// change stores a changed row, and a row of the audit with the names of what differs and of the credentials
// that were given.
func (d *Directory) change(
	ctx context.Context, owner tenant.Tenant, row store.Connection, given map[string]string,
	change func(*store.Connection) error,
) (Connection, error) {
	row, err := d.opts.Store.ChangeConnection(ctx, row, func(row *store.Connection) ([]store.AuditRow, error) {
		was := *row
		if err := change(row); err != nil {
			return nil, err
		}
		names, err := differing(was, *row, given)
		if err != nil {
			return nil, err
		}
		return d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
			Action: actionUpdate, ConnectionID: row.ID, Subject: row.Name, Changed: names,
		})
	})
	d.opts.Changed() // even after a failure: a commit whose reply was lost may have succeeded
	if err != nil {
		return Connection{}, err
	}
	return Of(row)
}

// differing returns the names of what differs between two states of a connection and of given credentials.
func differing(was, is store.Connection, given map[string]string) ([]string, error) {
	before, err := Of(was)
	if err != nil {
		return nil, err
	}
	after, err := Of(is)
	if err != nil {
		return nil, err
	}
	names := audit.Differing("settings.", before.Settings, after.Settings)
	return appendNames(names, given, is.IsDefault && !was.IsDefault), nil
}

// Given returns the names of a spec's settings and credentials, without values, as the audit records them.
func (s Spec) Given() []string {
	return appendNames(audit.Differing("settings.", map[string]any{}, s.Settings), s.Credentials, s.Default)
}

func appendNames(names []string, credentials map[string]string, isDefault bool) []string {
	for _, name := range slices.Sorted(maps.Keys(credentials)) {
		names = append(names, "credentials."+name)
	}
	if isDefault {
		names = append(names, "default")
	}
	return names
}

// AwaitConsent creates the connection that a customer's consent is about to give tokens to, or changes the
// existing one, there. The connection has the account's address, and must be reconnected until the tokens are
// stored, unless it works and neither the account nor the settings change. The spec's settings are merged
// into existing ones.
func (d *Directory) AwaitConsent(
	ctx context.Context, owner tenant.Tenant, there store.Connection, id string, s Spec, email string,
) error {
	if there.ID == "" {
		row, audited, err := d.prepare(ctx, owner, s, store.Connection{
			ID: id, Status: string(StatusReconnectRequired), Email: email,
		})
		if err != nil {
			return err
		}
		err = d.opts.Store.CreateConnection(store.Creating(ctx, "", Of), row, audited...)
		if err == nil {
			d.opts.Changed()
		}
		return err
	}
	_, err := d.change(ctx, owner, there, nil, func(row *store.Connection) error {
		now, err := Of(*row)
		if err != nil {
			return err
		}
		plain, err := d.sealer.OpenConnection(*row)
		if err != nil {
			return err
		}
		settings, err := MarshalSettings(Merge(now.Settings, s.Settings))
		if err != nil {
			return err
		}
		isSame := bytes.Equal(settings, row.Settings)
		if !isSame || !strings.EqualFold(row.Email, email) {
			row.Status = string(StatusReconnectRequired) // else its tokens work until the new ones are stored
		}
		row.Email, row.IsDefault = email, row.IsDefault || s.Default
		if isSame {
			return nil
		}
		row.Settings = settings
		return d.sealer.SealConnection(row, plain)
	})
	return err
}

// List returns a tenant's connections, sorted by kind and then name.
func (d *Directory) List(ctx context.Context, tenantName string) ([]Connection, error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return nil, err
	}
	return OfTenant(ctx, d.opts.Store, owner.ID)
}

// find returns a tenant and one of its connections, both by name.
func (d *Directory) find(
	ctx context.Context, tenantName, name string,
) (tenant.Tenant, store.Connection, error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return owner, store.Connection{}, err
	}
	rows, err := d.opts.Store.Connections(ctx, owner.ID)
	if err != nil {
		return owner, store.Connection{}, err
	}
	i := slices.IndexFunc(rows, func(row store.Connection) bool { return row.Name == name })
	if i < 0 {
		return owner, store.Connection{}, NotFound(tenantName, name)
	}
	return owner, rows[i], nil
}

// Working returns the connections of a kind in working order, of all tenants, except those to a sandbox. Of
// each it tells the id, the tenant and the provider.
func (d *Directory) Working(ctx context.Context, kind adapter.Kind) ([]Connection, error) {
	rows, err := d.opts.Store.WorkingConnections(ctx, string(kind))
	if err != nil {
		return nil, err
	}
	var all []Connection
	for _, row := range rows {
		c, err := Of(row)
		if err != nil {
			return nil, err
		}
		if !c.IsSandbox(d.opts.Providers.Registry) {
			all = append(all, c)
		}
	}
	return all, nil
}

// Remove deletes a connection and everything stored for it. It fails while the connection is in use: see CheckUnused.
func (d *Directory) Remove(ctx context.Context, tenantName, name string) error {
	owner, row, err := d.find(ctx, tenantName, name)
	if err != nil {
		return err
	}
	if err := d.CheckUnused(ctx, row); err != nil {
		return err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionRemove, ConnectionID: row.ID, Subject: row.Name,
	})
	if err != nil {
		return err
	}
	if err := d.opts.Store.DeleteConnection(ctx, owner.ID, row.ID, audited...); err != nil {
		return err
	}
	d.opts.Drivers.drop(row.ID)
	d.opts.Changed()
	return nil
}

// CheckUnused returns fault.Conflict if keys or voice agents in force are bound to a connection, and names
// them: each would silently lose the connection that it was created for. Those whose ids are in leaving do not
// count: the caller removes them, or binds them to other connections, before it removes the connection. The same
// holds for numbers that it still has to give back.
func (d *Directory) CheckUnused(ctx context.Context, row store.Connection, leaving ...string) error {
	all, err := d.opts.Store.Keys(ctx, row.TenantID)
	if err != nil {
		return err
	}
	var keys, agents []string
	for _, k := range all {
		switch {
		case !k.InForce(d.opts.Now()), !slices.Contains(k.Connections, row.ID), slices.Contains(leaving, k.ID):
		case k.Platform != "":
			agents = append(agents, fmt.Sprintf("%s (%s)", k.Label, k.ID))
		default:
			keys = append(keys, fmt.Sprintf("%s (%s)", k.ID, k.Prefix))
		}
	}
	var uses []string
	if len(keys) > 0 {
		uses = append(uses, fmt.Sprintf("The connection %q is what these API keys are bound to: %s. "+
			"Revoke them first.", row.Name, strings.Join(keys, ", ")))
	}
	if len(agents) > 0 {
		uses = append(uses, fmt.Sprintf("The connection %q is what these voice agents are bound to: %s. "+
			"Remove them, or give them other connections, first.", row.Name, strings.Join(agents, ", ")))
	}
	if len(uses) == 0 {
		return d.opts.Store.CheckNoneToReturn(ctx, row.TenantID, row.ID)
	}
	return fault.New(fault.Conflict, fault.ReasonConnectionInUse, strings.Join(uses, " "))
}

// MarkReconnect records that the provider refuses the connection's credentials, so that calls fail at once
// until a person acts. It does nothing if the connection has changed since it was opened: the refusal is then
// about earlier credentials.
func (d *Directory) MarkReconnect(ctx context.Context, c Connection, why string) error {
	row, err := d.opts.Store.Connection(ctx, c.TenantID, c.ID)
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
	err = d.opts.Store.UpdateConnection(ctx, row, c.Revision)
	if errors.Is(err, fault.Conflict) {
		return nil
	}
	if err != nil {
		return err
	}
	d.opts.Changed()
	d.opts.Log.WarnContext(ctx, "a connection must be reconnected",
		"tenant_id", c.TenantID, "connection", c.ID, "provider", c.Provider, "why", why)
	return nil
}

// MarkVerified records that the provider accepts the connection's credentials, and the account's address;
// email "" keeps the stored address. It does nothing if the connection has changed since it was opened.
func (d *Directory) MarkVerified(ctx context.Context, c Connection, email string) error {
	row, err := d.opts.Store.Connection(ctx, c.TenantID, c.ID)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	email = cmp.Or(email, row.Email)
	switch { // both compare the revision again, so that a refusal recorded in between is not overwritten
	case row.Revision != c.Revision, row.Status == string(StatusOK) && row.Email == email:
		return nil
	case row.Status == string(StatusOK):
		err = d.opts.Store.SetConnectionEmail(ctx, c.TenantID, c.ID, email, c.Revision)
	default:
		row.Status, row.Email = string(StatusOK), email
		err = d.opts.Store.UpdateConnection(ctx, row, c.Revision)
	}
	if errors.Is(err, fault.Conflict) || errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.opts.Changed()
	return nil
}
