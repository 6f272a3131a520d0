package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// Reasons of faults about what an administrator names.
const (
	ReasonTenantNotFound     = "TENANT_NOT_FOUND"
	ReasonConnectionNotFound = "CONNECTION_NOT_FOUND"
	ReasonKeyNotFound        = "API_KEY_NOT_FOUND"
	ReasonNameTaken          = "NAME_TAKEN"
	ReasonConnectionInUse    = "CONNECTION_IN_USE"
)

func tenantOf(row store.Tenant) (Tenant, error) {
	t := Tenant{ID: row.ID, Name: row.Name, CreatedAt: row.CreatedAt}
	if len(row.Settings) > 0 {
		if err := json.Unmarshal(row.Settings, &t.Settings); err != nil {
			return t, fault.From(fmt.Errorf("tenant: stored settings of %s: %w", row.ID, err))
		}
	}
	return t, nil
}

func connectionOf(row store.Connection) (Connection, error) {
	c := Connection{
		ID: row.ID, TenantID: row.TenantID, Name: row.Name, Kind: adapter.Kind(row.Kind), Provider: row.Provider,
		IsDefault: row.IsDefault, Status: Status(row.Status), Email: row.Email, Revision: row.Revision, CreatedAt: row.CreatedAt,
	}
	if len(row.Settings) > 0 {
		if err := json.Unmarshal(row.Settings, &c.Settings); err != nil {
			return c, fault.From(fmt.Errorf("tenant: stored settings of %s: %w", row.ID, err))
		}
	}
	return c, nil
}

// keyOf returns the key as it can be shown. The names are of the tenant's connections, by id.
func keyOf(row store.APIKey, names map[string]string) Key {
	k := Key{
		ID: row.ID, TenantID: row.TenantID, Prefix: row.Prefix, Label: row.Label, Test: row.Test,
		CreatedAt: row.CreatedAt, RevokedAt: row.RevokedAt, LastUsedAt: row.LastUsedAt,
	}
	for _, s := range row.Scopes {
		k.Scopes = append(k.Scopes, Scope(s))
	}
	for _, id := range row.Connections {
		name, there := names[id]
		if !there {
			name = "(removed)"
		}
		k.Connections = append(k.Connections, name)
	}
	return k
}

// tenantRow finds a tenant by name.
func (d *Directory) tenantRow(ctx context.Context, name string) (store.Tenant, error) {
	row, err := d.store.TenantByName(ctx, name)
	if errors.Is(err, fault.NotFound) {
		return row, fault.Newf(fault.NotFound, ReasonTenantNotFound, "There is no tenant %q.", name)
	}
	return row, err
}

// connectionRow finds a connection by the names of its tenant and its own.
func (d *Directory) connectionRow(ctx context.Context, tenantName, name string) (store.Tenant, store.Connection, error) {
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return owner, store.Connection{}, err
	}
	rows, err := d.store.Connections(ctx, owner.ID)
	if err != nil {
		return owner, store.Connection{}, err
	}
	i := slices.IndexFunc(rows, func(row store.Connection) bool { return row.Name == name })
	if i < 0 {
		return owner, store.Connection{}, noConnection(tenantName, name)
	}
	return owner, rows[i], nil
}

func noConnection(tenantName, name string) error {
	return fault.Newf(fault.NotFound, ReasonConnectionNotFound, "The tenant %q has no connection %q.", tenantName, name)
}

// connectionsOf returns a tenant's connections by kind, then name.
func (d *Directory) connectionsOf(ctx context.Context, tenantID string) ([]Connection, error) {
	rows, err := d.store.Connections(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	list := make([]Connection, 0, len(rows))
	for _, row := range rows {
		c, err := connectionOf(row)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Connection) int {
		if c := slices.Index(adapter.Kinds(), a.Kind) - slices.Index(adapter.Kinds(), b.Kind); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, nil
}

// settingsJSON writes settings for the store; nil as {}.
func settingsJSON(settings map[string]any) (json.RawMessage, error) {
	if settings == nil {
		settings = map[string]any{}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return nil, fault.InvalidField("settings", "must be texts, numbers, true or false, lists or mappings.")
	}
	return raw, nil
}
