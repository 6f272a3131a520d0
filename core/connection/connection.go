// Package connection knows the connections: each is a tenant's account at one provider, with its settings,
// its sealed credentials and its state. It opens the drivers that connections stand for.
//
//	set, err := ...                                // what an API key reaches: core/apikey
//	open, err := drivers.Calendar(ctx, acme, set)
//	event, err := open.Driver.Book(ctx, booking)
//
// What it promises: a driver is opened once and kept until its connection changes; a credential leaves the
// vault only to be put on a request to the provider it belongs to, and is in no error, log line or listing.
//
// What it does not do: it neither guards nor retries calls, and it does not know what a driver's answers
// mean.
package connection

import (
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

// Reasons of faults about connections that an administrator names. A name that is taken is
// tenant.ReasonNameTaken.
const (
	ReasonNotFound = "CONNECTION_NOT_FOUND"
	ReasonInUse    = "CONNECTION_IN_USE"
)

// Status says whether a connection's credentials work.
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

// Set is the connections that a call may use, at most one of a kind.
type Set map[adapter.Kind]Connection

// Spec is a connection to be made, or to be as it is written.
type Spec struct {
	Name     string // unique in the tenant; lower-case letters, digits and hyphens
	Kind     adapter.Kind
	Provider string
	// The one of its kind that keys use which are bound to none; the first of a kind is in any case.
	Default     bool
	Settings    map[string]any
	Credentials map[string]string
}

// Change is what to change of a connection: nil fields stay.
type Change struct {
	Default  bool           // true makes it the default; false leaves that as it is
	Settings map[string]any // replaces all settings
	// Replaces all credentials, and gives a connection to be reconnected another chance.
	Credentials map[string]string
}

// IsSandbox reports whether the connection is to a sandbox, and so to nobody's account.
func (c Connection) IsSandbox(r adapter.Registry) bool {
	a, found := r.Find(c.Kind, c.Provider)
	return found && a.Sandbox
}

// Of returns the connection of a row.
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

// OfTenant lists a tenant's connections by kind, then name.
func OfTenant(ctx context.Context, s *store.Store, tenantID string) ([]Connection, error) {
	rows, err := s.Connections(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	list := make([]Connection, 0, len(rows))
	for _, row := range rows {
		c, err := Of(row)
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

// MarshalSettings writes settings for the store; nil as {}.
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

// Merge returns settings with others put in.
func Merge(settings, others map[string]any) map[string]any {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, others)
	return all
}

// NotFound is the failure where a tenant has no connection of that name.
func NotFound(tenantName, name string) error {
	return fault.Newf(fault.NotFound, ReasonNotFound, "The tenant %q has no connection %q.", tenantName, name)
}
