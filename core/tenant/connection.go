package tenant

import (
	"frontdesk/core/adapter"
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
