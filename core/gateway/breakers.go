package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/connection"
	"frontdesk/core/guard"
	"frontdesk/core/store"
)

const (
	breakersEvery   = time.Second      // how soon a change is recorded
	breakersRefresh = 10 * time.Second // how often rows that do not change are
	breakersGone    = 30 * time.Second // after which a replica that does not refresh its rows is gone
)

// showBreakers records the breakers of this process that are not closed, beside calls, until ctx ends. Then it
// removes them.
func (g *Gateway) showBreakers(ctx context.Context) {
	var shown []store.Breaker
	var at time.Time
	tick := time.NewTicker(breakersEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if len(shown) > 0 {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), breakersEvery)
				defer cancel()
				_ = g.store.SetBreakers(last, g.process, nil, g.now()) // it ages by itself
			}
			return
		case <-tick.C:
		}
		now := g.now()
		open := g.openBreakers()
		same := slices.Equal(open, shown)
		if same && (len(open) == 0 || now.Sub(at) < breakersRefresh) {
			continue
		}
		if err := g.store.SetBreakers(ctx, g.process, open, now); err == nil {
			shown, at = open, now
		}
	}
}

// openBreakers returns the breakers of this process that are not closed, in a fixed order.
func (g *Gateway) openBreakers() []store.Breaker {
	var all []store.Breaker
	for _, b := range g.guard.OpenBreakers() {
		all = append(all, store.Breaker{
			Replica: g.process, Level: b.Level, Subject: b.Subject, Provider: b.Provider, State: b.State,
			Since: time.UnixMilli(b.Since.UnixMilli()).UTC(),
		})
	}
	slices.SortFunc(all, func(a, b store.Breaker) int {
		return slices.Compare([]string{a.Level, a.Subject}, []string{b.Level, b.Subject})
	})
	return all
}

// breakersOf returns the breakers of a connection and of its host at all replicas that are not closed. Those
// of this process are as they are now.
func (g *Gateway) breakersOf(ctx context.Context, c connection.Connection) ([]store.Breaker, error) {
	target, err := g.providers.Target(c)
	if err != nil {
		return nil, err
	}
	host := guard.HostOf(target.Kind, target.Provider, target.Host)
	known, err := g.store.Breakers(ctx, g.now().Add(-breakersGone))
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(b store.Breaker) bool { return b.Replica == g.process })
	known = append(known, g.openBreakers()...)
	return slices.DeleteFunc(known, func(b store.Breaker) bool {
		return b.Subject != c.ID && b.Subject != host
	}), nil
}

// examineBreakers reports the providers that replicas do not call because they fail.
func (g *Gateway) examineBreakers(ctx context.Context) []Finding {
	known, err := g.store.Breakers(ctx, g.now().Add(-breakersGone))
	if err != nil {
		return []Finding{fails("circuit breakers", "are not known: "+err.Error(), "See that the database answers.")}
	}
	var found []Finding
	for _, b := range known {
		found = append(found, warns("circuit breaker of "+b.Level+" "+b.Subject,
			fmt.Sprintf("is %s at the replica %s since %s", b.State, b.Replica, b.Since.Format(time.RFC3339)),
			"The provider does not answer, or the replica does not reach it. It is tried again by itself."))
	}
	return found
}
