package tenant

// Desired is how the tenants and connections should be.
type Desired struct {
	Tenants []DesiredTenant
}

// DesiredTenant is how one tenant should be. Credentials of a connection that are nil stay as they are.
type DesiredTenant struct {
	Name        string
	Settings    Settings
	Connections []NewConnection
}

// ApplyOptions are how to apply.
type ApplyOptions struct {
	DryRun bool // change nothing, answer what would change
	Prune  bool // also delete what is not desired
}

// Action is what a Change does.
type Action string

// The actions.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
)

// Change is one difference between what is desired and what is there. It holds no secret.
type Change struct {
	Action     Action   `json:"action"`
	Tenant     string   `json:"tenant"`
	Connection string   `json:"connection,omitempty"` // "": the tenant itself
	Details    []string `json:"details,omitempty"`    // what is different, e.g. "settings.url: a -> b", "credentials changed"
}
