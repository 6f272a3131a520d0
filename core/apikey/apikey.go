// Package apikey manages API keys and identifies the caller of a request:
//
//	caller, err := callers.Authenticate(ctx, key)
//	err = caller.Require(apikey.ScopeCalendarWrite)
//	open, err := drivers.Calendar(ctx, caller.Tenant, caller.Connections) // core/connection
//
// The package guarantees that a mistyped key costs no query, that a revoked key stops working within two
// seconds on every replica, and that an fd_test_ key reaches sandbox connections only.
package apikey

import (
	"slices"
	"strings"
	"time"

	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// ReasonNotFound is the reason of the fault if an administrator names a key that does not exist.
const ReasonNotFound = store.ReasonKeyNotFound

// Prefixes of keys. The rest of a key has the format of all tokens of core/secret.
const (
	livePrefix  = "fd_live_"
	testPrefix  = "fd_test_"
	adminPrefix = "fd_admin_"
	agentPrefix = "fd_agent_" // of keys that nobody holds: they are accepted nowhere
	shownLength = 4           // characters after the prefix that are shown, by which people recognise a key
)

// hashKey returns the hash of a well-formed key.
func hashKey(key string) (hash secret.Hash, ok bool) {
	for _, prefix := range []string{testPrefix, adminPrefix} {
		if strings.HasPrefix(key, prefix) {
			return secret.HashToken(key, prefix)
		}
	}
	return secret.HashToken(key, livePrefix)
}

// Scope is a permission of an API key.
type Scope string

// The scopes.
const (
	ScopeCalendarRead  Scope = "calendar:read"
	ScopeCalendarWrite Scope = "calendar:write"
	ScopeTicketsRead   Scope = "tickets:read"
	ScopeTicketsWrite  Scope = "tickets:write"
	ScopeNumbersRead   Scope = "numbers:read"
	ScopeNumbersWrite  Scope = "numbers:write"

	// Of the admin interface. Keys that have one have no other.
	ScopeAdminRead  Scope = "admin:read"
	ScopeAdminWrite Scope = "admin:write"
)

// Role is what a key of the admin interface is for.
type Role string

// The roles.
const (
	RoleViewer Role = "viewer" // sees everything but secrets
	RoleAdmin  Role = "admin"  // changes it, too
)

// Roles returns all roles, the one that may least first.
func Roles() []Role { return []Role{RoleViewer, RoleAdmin} }

// Scopes returns the scopes of the role.
func (r Role) Scopes() []Scope {
	if r == RoleAdmin {
		return []Scope{ScopeAdminRead, ScopeAdminWrite}
	}
	return []Scope{ScopeAdminRead}
}

// Scopes returns the scopes that an API key of a tenant can have. A key created without scopes has all of
// them.
func Scopes() []Scope {
	return []Scope{
		ScopeCalendarRead, ScopeCalendarWrite, ScopeTicketsRead, ScopeTicketsWrite, ScopeNumbersRead,
		ScopeNumbersWrite,
	}
}

// Key describes an API key. It does not contain the key itself.
type Key struct {
	ID          string
	TenantID    string // "": the operator's
	Prefix      string
	Label       string
	Scopes      []Scope
	Connections []string // names of the connections it is bound to
	Test        bool     // reaches sandbox connections only
	CreatedAt   time.Time
	RevokedAt   time.Time // zero: not revoked
	EndsAt      time.Time // when another key has taken its place; zero: none does
	LastUsedAt  time.Time // zero: never
}

// Role returns the role of a key of the admin interface, or "" for an API key.
func (k Key) Role() Role {
	switch {
	case slices.Contains(k.Scopes, ScopeAdminWrite):
		return RoleAdmin
	case slices.Contains(k.Scopes, ScopeAdminRead):
		return RoleViewer
	}
	return ""
}

// Spec describes an API key or a voice agent to be created.
type Spec struct {
	Label  string
	Scopes []Scope // none: all
	Test   bool    // fd_test_: reaches sandbox connections only
	// Names of the connections it is bound to, at most one of each kind. Other kinds use the defaults.
	Connections []string
}

// Caller identifies who makes a request: the key's tenant and the connections that the key reaches.
type Caller struct {
	Tenant      tenant.Tenant // zero: the operator, at the admin interface
	KeyID       string        // "": the gateway itself; [Callers.Person] says what it is of a person
	Scopes      []Scope
	Test        bool
	Connections connection.Set
}

// Require returns nil if the caller's key has the scope, and fault.Forbidden naming the scope otherwise.
func (c Caller) Require(s Scope) error {
	if slices.Contains(c.Scopes, s) {
		return nil
	}
	return fault.Newf(fault.Forbidden, fault.ReasonScopeMissing,
		"This API key lacks the scope %s. Use a key that has it, or have one made.", s).With("scope", string(s))
}
