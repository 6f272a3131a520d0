package tenant

import (
	"slices"

	"frontdesk/core/fault"
)

// Require returns nil when the caller's key has the scope, and fault.Forbidden naming it otherwise.
func (c Caller) Require(s Scope) error {
	if slices.Contains(c.Scopes, s) {
		return nil
	}
	return fault.Newf(fault.Forbidden, fault.ReasonScopeMissing,
		"This API key lacks the scope %s. Use a key that has it, or have one made.", s).With("scope", string(s))
}
