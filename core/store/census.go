package store

import (
	"context"
	"time"
)

// Census is how many rows there are of what the operator watches.
type Census struct {
	Connections []ConnectionCount
	NearEnd     []NearEndCount

	IntentsRunning, IntentsUnknown int
	DeliveriesWaiting              int
	OldestUnsealed                 time.Time // of the rows of the audit; zero: all are sealed
}

// ConnectionCount counts the connections with the same kind, provider and status.
type ConnectionCount struct {
	Kind, Provider, Status string
	Count                  int
}

// NearEndCount counts the connections of a provider whose tokens should have been renewed.
type NearEndCount struct {
	Provider string
	Failing  bool // the last tries failed; false: nobody tried
	Count    int
}

const (
	countConnections = "SELECT kind, provider, status, COUNT(*) FROM connections GROUP BY kind, provider, status " +
		"ORDER BY kind, provider, status"
	// Tokens that the provider refuses are left out: their connections are to be reconnected, and count as such.
	countNearEnd = `SELECT c.provider, t.failures > 0, COUNT(*) FROM tokens t
		JOIN connections c ON c.tenant_id = t.tenant_id AND c.id = t.connection_id
		WHERE NOT t.refused AND (t.failures > 0 OR t.refresh_at < $1)
		GROUP BY c.provider, t.failures > 0 ORDER BY c.provider, t.failures > 0`
	countIntents  = "SELECT state, COUNT(*) FROM intents WHERE state <> 'done' GROUP BY state ORDER BY state"
	countWaiting  = "SELECT COUNT(*) FROM deliveries WHERE state = 'waiting'"
	oldestInDoubt = "SELECT at FROM audit WHERE COALESCE(id, 0) = 0 ORDER BY at, uid LIMIT 1"
)

// Census counts rows of all tenants. Tokens are overdue if they were due before a time.
func (s *Store) Census(ctx context.Context, due time.Time) (c Census, err error) {
	c.Connections, err = listOf(ctx, s, func(row scanner) (n ConnectionCount, err error) {
		return n, row.Scan(&n.Kind, &n.Provider, &n.Status, &n.Count)
	}, countConnections)
	if err != nil {
		return c, err
	}
	c.NearEnd, err = listOf(ctx, s, func(row scanner) (n NearEndCount, err error) {
		return n, row.Scan(&n.Provider, &n.Failing, &n.Count)
	}, countNearEnd, millis(due))
	if err != nil {
		return c, err
	}
	intents, err := listOf(ctx, s, func(row scanner) (n ConnectionCount, err error) {
		return n, row.Scan(&n.Status, &n.Count)
	}, countIntents)
	if err != nil {
		return c, err
	}
	for _, n := range intents {
		switch n.Status {
		case IntentRunning:
			c.IntentsRunning = n.Count
		case IntentUnknown:
			c.IntentsUnknown = n.Count
		}
	}
	waiting, _, err := findIn(ctx, s, scanInt, countWaiting)
	if err != nil {
		return c, err
	}
	c.DeliveriesWaiting = int(waiting)
	oldest, found, err := findIn(ctx, s, scanInt, oldestInDoubt)
	if err == nil && found {
		c.OldestUnsealed = instant(oldest)
	}
	return c, err
}
