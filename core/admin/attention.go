package admin

import (
	"context"

	"frontdesk/core/apikey"
)

// Attention is a connection that works only after a person has acted.
type Attention struct {
	Tenant     string
	Connection string
	Provider   string
}

// maxAttention is how many connections ListAttention lists.
const maxAttention = 50

// ListAttention lists connections that must be reconnected, of all tenants that the caller reaches: the first
// fifty, by tenant.
func (s *Service) ListAttention(ctx context.Context, c apikey.Caller) ([]Attention, error) {
	rows, err := s.opts.Store.ConnectionsToReconnect(ctx, c.Tenant.ID, maxAttention)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return nil, err
	}
	var all []Attention
	for _, row := range rows {
		all = append(all, Attention{Tenant: names[row.TenantID], Connection: row.Name, Provider: row.Provider})
	}
	return all, nil
}
