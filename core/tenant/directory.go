package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// Options configure a Directory. All fields but Audit are required.
type Options struct {
	Store   *store.Store
	Now     func() time.Time
	Audit   *audit.Log      // records changes; nil: they are not recorded
	Changed func()          // called after a change that makes cached tenants out of date
	Deleted func(id string) // called after a tenant was deleted, to release what is open for it
}

// Directory manages the tenants of a gateway. It is safe for concurrent use. Create one with [NewDirectory].
type Directory struct{ opts Options }

// NewDirectory returns a Directory.
func NewDirectory(o Options) *Directory { return &Directory{o} }

// The names of the changes in the audit.
const (
	actionCreate = "create-tenant"
	actionUpdate = "update-tenant"
	actionDelete = "delete-tenant"
)

// Create creates a tenant.
func (d *Directory) Create(ctx context.Context, name string, s Settings) (Tenant, error) {
	if faults := append(CheckName("name", name), s.Check("")...); len(faults) > 0 {
		return Tenant{}, fault.InvalidFields(faults...)
	}
	t, made, err := d.Prepare(ctx, name, s)
	if err != nil {
		return Tenant{}, err
	}
	err = d.opts.Store.CreateTenant(store.Creating(ctx, "", Of), made.Tenant, made.Audit...)
	if errors.Is(err, fault.Conflict) {
		return Tenant{}, fault.Newf(fault.Conflict, ReasonNameTaken,
			"There is already a tenant %q.", name).Because(err)
	}
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}

// Prepare returns a new tenant and what is to be stored of it. It stores nothing. The name and the settings must
// have been checked.
func (d *Directory) Prepare(ctx context.Context, name string, s Settings) (Tenant, store.NewTenant, error) {
	settings, err := json.Marshal(s)
	if err != nil {
		return Tenant{}, store.NewTenant{}, fault.From(err)
	}
	t := Tenant{ID: secret.NewID("tenant"), Name: name, Settings: s, CreatedAt: d.opts.Now().UTC()}
	audited, err := d.opts.Audit.Change(ctx, t.ID, t.Name, audit.Entry{
		Action: actionCreate, Subject: t.ID, Changed: audit.Differing("", Settings{}, s),
	})
	row := store.Tenant{ID: t.ID, Name: t.Name, Settings: settings, CreatedAt: t.CreatedAt}
	return t, store.NewTenant{Tenant: row, Audit: audited}, err
}

// List returns all tenants, sorted by name.
func (d *Directory) List(ctx context.Context) ([]Tenant, error) {
	rows, err := d.opts.Store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Tenant, 0, len(rows))
	for _, row := range rows {
		t, err := Of(row)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Update replaces a tenant's settings.
func (d *Directory) Update(ctx context.Context, name string, s Settings) (Tenant, error) {
	if faults := s.Check(""); len(faults) > 0 {
		return Tenant{}, fault.InvalidFields(faults...)
	}
	t, err := ByName(ctx, d.opts.Store, name)
	if err != nil {
		return Tenant{}, err
	}
	return d.update(ctx, t, s, func(settings json.RawMessage, audited []store.AuditRow) error {
		return d.opts.Store.UpdateTenant(ctx, t.ID, settings, audited...)
	})
}

// changeAttempts is how often Change tries to change a tenant that others change at the same time. Each
// failed attempt means that another change succeeded.
const changeAttempts = 10

// Change replaces a tenant's settings by what change makes of them. If they are changed in between, it calls
// change again, so that neither change is lost.
func (d *Directory) Change(
	ctx context.Context, name string, change func(Settings) (Settings, []fault.Field),
) (Tenant, error) {
	for attempt := 1; ; attempt++ {
		row, err := rowByName(ctx, d.opts.Store, name)
		if err != nil {
			return Tenant{}, err
		}
		t, err := Of(row)
		if err != nil {
			return Tenant{}, err
		}
		s, faults := change(t.Settings)
		if len(faults) == 0 {
			faults = s.Check("")
		}
		if len(faults) > 0 {
			return Tenant{}, fault.InvalidFields(faults...)
		}
		t, err = d.update(ctx, t, s, func(settings json.RawMessage, audited []store.AuditRow) error {
			return d.opts.Store.ChangeTenant(ctx, t.ID, row.Settings, settings, audited...)
		})
		if !errors.Is(err, fault.Conflict) || attempt == changeAttempts {
			return t, err
		}
	}
}

// update stores other settings of a tenant, with a row of the audit that names what differs.
func (d *Directory) update(
	ctx context.Context, t Tenant, s Settings, put func(json.RawMessage, []store.AuditRow) error,
) (Tenant, error) {
	settings, err := json.Marshal(s)
	if err != nil {
		return Tenant{}, fault.From(err)
	}
	audited, err := d.opts.Audit.Change(ctx, t.ID, t.Name, audit.Entry{
		Action: actionUpdate, Subject: t.ID, Changed: audit.Differing("", t.Settings, s),
	})
	if err != nil {
		return Tenant{}, err
	}
	if err := put(settings, audited); err != nil {
		return Tenant{}, err
	}
	d.opts.Changed()
	t.Settings = s
	return t, nil
}

// Delete deletes a tenant with its connections, its keys and everything stored for them, except the audit. It fails
// while numbers of the tenant wait to go back to their provider.
func (d *Directory) Delete(ctx context.Context, name string) error {
	t, err := rowByName(ctx, d.opts.Store, name)
	if err != nil {
		return err
	}
	audited, err := d.opts.Audit.Change(ctx, t.ID, t.Name, audit.Entry{Action: actionDelete, Subject: t.ID})
	if err != nil {
		return err
	}
	if err := d.opts.Store.DeleteTenant(ctx, t.ID, audited...); err != nil {
		return err
	}
	d.opts.Changed()
	d.opts.Deleted(t.ID)
	return nil
}
