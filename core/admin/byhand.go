package admin

import (
	"context"
	"slices"

	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
)

// ByHand says who tries operations by hand, for which tenant, and with what.
type ByHand struct {
	Tenant     string
	Person     string         // as the audit is to name them
	Connection string         // name; "": the sandboxes that a test key reaches
	Scopes     []apikey.Scope // none: all
}

// CallerByHand returns the caller for what somebody tries by hand. Like a test key, it reaches sandboxes
// only, unless a connection is named that is none.
func (s *Service) CallerByHand(ctx context.Context, c apikey.Caller, n ByHand) (apikey.Caller, error) {
	of, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return apikey.Caller{}, err
	}
	spec := apikey.Spec{Scopes: n.Scopes, Test: true}
	if len(spec.Scopes) == 0 {
		spec.Scopes = apikey.Scopes()
	}
	if n.Connection != "" {
		all, err := s.opts.Connections.List(ctx, n.Tenant)
		if err != nil {
			return apikey.Caller{}, err
		}
		at := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Name == n.Connection })
		if at < 0 {
			return apikey.Caller{}, fault.InvalidField("connection", "is not a connection of the tenant.")
		}
		spec.Test, spec.Connections = all[at].IsSandbox(s.opts.Registry), []string{n.Connection}
	}
	return s.opts.Callers.Person(ctx, n.Person, of, spec)
}
