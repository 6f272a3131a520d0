// Package connection manages connections. A connection is a tenant's account at one provider, with its
// settings, its sealed credentials and its state. The package opens the drivers of connections.
//
//	set, err := ...                                // the connections of an API key: core/apikey
//	open, err := drivers.Calendar(ctx, acme, set)
//	event, err := open.Driver.Book(ctx, booking)
//
// A driver is opened once and kept until its connection changes. A credential leaves the vault only to be put
// on a request to the provider it belongs to. It is in no error, log line or listing.
//
// The package neither guards nor retries calls, and does not interpret what drivers return.
package connection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// ReasonNotFound is the reason of a fault about a connection that an administrator names. The reason for a name that is
// already in use is tenant.ReasonNameTaken.
const ReasonNotFound = "CONNECTION_NOT_FOUND"

// Status is the state of a connection's credentials.
type Status string

// The states of a connection.
const (
	StatusOK Status = "ok"
	// The provider refuses the credentials; a person must act.
	StatusReconnectRequired Status = "reconnect_required"
)

// Connection is a tenant's link to one account at one provider, without its credentials.
type Connection struct {
	ID        string
	TenantID  string
	Name      string
	Kind      adapter.Kind
	Provider  string
	IsDefault bool
	Settings  map[string]any
	Status    Status
	Email     string // the account's address as last verified; may be ""
	Revision  int64
	CreatedAt time.Time
}

// Set holds the connections that a call may use, at most one of each kind.
type Set map[adapter.Kind]Connection

// Spec describes a connection to be created, or the desired state of one.
type Spec struct {
	Name     string // unique in the tenant; lower-case letters, digits and hyphens
	Kind     adapter.Kind
	Provider string
	// The default of its kind, for keys bound to no connection. The first of a kind is always the default.
	Default     bool
	Settings    map[string]any
	Credentials map[string]string
}

// Change describes a change of a connection. Nil fields change nothing.
type Change struct {
	Default  bool           // true makes it the default; false changes nothing
	Settings map[string]any // replaces all settings
	// Replaces all credentials, and lets a connection that must be reconnected be tried again.
	Credentials map[string]string
}

// IsSandbox reports whether the connection is to a sandbox, and so to no real account.
func (c Connection) IsSandbox(r adapter.Registry) bool {
	a, found := r.Find(c.Kind, c.Provider)
	return found && a.Sandbox
}

// Of converts a row of the store into a connection.
func Of(row store.Connection) (Connection, error) {
	c := Connection{
		ID: row.ID, TenantID: row.TenantID, Name: row.Name, Kind: adapter.Kind(row.Kind), Provider: row.Provider,
		IsDefault: row.IsDefault, Status: Status(row.Status), Email: row.Email, Revision: row.Revision,
		CreatedAt: row.CreatedAt,
	}
	if len(row.Settings) > 0 {
		if err := json.Unmarshal(row.Settings, &c.Settings); err != nil {
			return c, fault.From(fmt.Errorf("connection: stored settings of %s: %w", row.ID, err))
		}
	}
	return c, nil
}

// OfTenant returns a tenant's connections, sorted by kind and then name.
func OfTenant(ctx context.Context, s *store.Store, tenantID string) ([]Connection, error) {
	rows, err := s.Connections(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	return OfRows(rows)
}

// OfRows converts rows of the store into connections, sorted by kind and then name.
func OfRows(rows []store.Connection) ([]Connection, error) {
	list := make([]Connection, 0, len(rows))
	for _, row := range rows {
		c, err := Of(row)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Connection) int {
		return cmp.Or(slices.Index(adapter.Kinds(), a.Kind)-slices.Index(adapter.Kinds(), b.Kind),
			strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// MarshalSettings encodes settings for the store, nil as {}.
func MarshalSettings(settings map[string]any) (json.RawMessage, error) {
	if settings == nil {
		settings = map[string]any{}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return nil, fault.InvalidField("settings", "must be texts, numbers, true or false, lists or mappings.")
	}
	return raw, nil
}

// Merge returns a copy of settings with others added, which take precedence.
func Merge(settings, others map[string]any) map[string]any {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, others)
	return all
}

// NotFound returns the fault for a tenant that has no connection of that name.
func NotFound(tenantName, name string) error {
	return fault.Newf(fault.NotFound, ReasonNotFound, "The tenant %q has no connection %q.", tenantName, name)
}
