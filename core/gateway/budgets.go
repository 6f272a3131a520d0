package gateway

import (
	"context"

	"frontdesk/core/budget"
)

// openBudgets creates the budgets and reports whether replicas share them: on PostgreSQL. A SQLite file has
// one gateway, which asks nobody.
func (g *Gateway) openBudgets() (shared bool) {
	o := budget.Options{Replica: g.process, Log: g.log}
	if shared = !g.store.TracksProcesses(); shared {
		o.Ledger = g.store
	}
	g.budgets = budget.New(o)
	return shared
}

// sharedPermits implements guard.Permits.
type sharedPermits struct{ budgets *budget.Budgets }

func (s sharedPermits) limit(connectionID string, limit int) budget.Limit {
	return budget.Limit{Name: "calls:" + connectionID, Units: limit}
}

// Acquire implements guard.Permits.
func (s sharedPermits) Acquire(
	ctx context.Context, connectionID string, limit int,
) (release func(), err error) {
	return s.budgets.Acquire(ctx, s.limit(connectionID, limit))
}

// TryAcquire implements guard.Permits.
func (s sharedPermits) TryAcquire(connectionID string, limit int) (release func(), taken bool) {
	return s.budgets.TryAcquire(s.limit(connectionID, limit))
}
