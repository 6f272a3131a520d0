package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"frontdesk/core/fault"
)

const tenantColumns = "id, name, settings, created_at"

func scanTenant(row scanner) (t Tenant, err error) {
	var settings string
	var created int64
	err = row.Scan(&t.ID, &t.Name, &settings, &created)
	t.Settings, t.CreatedAt = json.RawMessage(settings), instant(created)
	return t, err
}

// CreateTenant adds a tenant. A name that is taken is a Conflict.
func (s *Store) CreateTenant(ctx context.Context, t Tenant, audit ...AuditRow) error {
	_, err := s.execCreating(ctx, t.ID, t, audit,
		"INSERT INTO tenants ("+tenantColumns+") VALUES ($1, $2, $3, $4)",
		t.ID, t.Name, object(t.Settings), millis(t.CreatedAt))
	return err
}

// UpdateTenant replaces a tenant's settings.
func (s *Store) UpdateTenant(
	ctx context.Context, id string, settings json.RawMessage, audit ...AuditRow,
) error {
	affected, err := s.execAudited(ctx, audit, "UPDATE tenants SET settings = $2 WHERE id = $1 AND deleted_at IS NULL", id,
		object(settings))
	return orNone(affected, err, tenantNotFound)
}

// ChangeTenant is UpdateTenant for settings that were made from those of before, as they were read. If the
// tenant has others by now, or is gone, it returns a Conflict with the reason CHANGED_MEANWHILE.
func (s *Store) ChangeTenant(
	ctx context.Context, id string, before, settings json.RawMessage, audit ...AuditRow,
) error {
	affected, err := s.execAudited(ctx, audit,
		"UPDATE tenants SET settings = $2 WHERE id = $1 AND settings = $3 AND deleted_at IS NULL", id,
		object(settings), object(before))
	if err == nil && affected == 0 {
		return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
			"The tenant was changed in the meantime. Look at it again.")
	}
	return err
}

// Tenants lists every tenant by name.
func (s *Store) Tenants(ctx context.Context) ([]Tenant, error) {
	all, err := listOf(ctx, s, scanTenant, "SELECT "+tenantColumns+" FROM tenants WHERE deleted_at IS NULL")
	slices.SortFunc(all, func(a, b Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// TenantByName returns the tenant of that name.
func (s *Store) TenantByName(ctx context.Context, name string) (Tenant, error) {
	return s.tenant(ctx, "SELECT "+tenantColumns+" FROM tenants WHERE name = $1 AND deleted_at IS NULL", name)
}

// TenantByID returns the tenant of that id.
func (s *Store) TenantByID(ctx context.Context, id string) (Tenant, error) {
	return s.tenant(ctx, "SELECT "+tenantColumns+" FROM tenants WHERE id = $1 AND deleted_at IS NULL", id)
}

func (s *Store) tenant(ctx context.Context, query, arg string) (Tenant, error) {
	return getIn(ctx, s, tenantNotFound, scanTenant, query, arg)
}

// keepTenant keeps a tenant from being removed until the transaction ends. It comes first in a transaction that
// locks what is the tenant's, as in the removal of a tenant, so that no two transactions deadlock.
func (s *Store) keepTenant(ctx context.Context, tx *sql.Tx, id string) error {
	_, _, err := find(ctx, tx, scanText, "SELECT id FROM tenants WHERE id = $1"+s.dialect.lockParent, id)
	return err
}

// lockTenant makes transactions that change the set of a tenant's connections take turns.
func lockTenant(ctx context.Context, tx *sql.Tx, id string) error {
	affected, err := exec(ctx, tx, "UPDATE tenants SET name = name WHERE id = $1 AND deleted_at IS NULL", id)
	return orNone(affected, err, tenantNotFound)
}
