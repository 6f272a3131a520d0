package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// addition is a tenant that does not exist.
type addition struct {
	want  Tenant
	steps []*step // that create it and then each of its connections
}

// prepared is an addition that is to be stored.
type prepared struct {
	row         store.NewTenant
	connections []connection.New
}

// tenantsPerWrite is how many tenants are added in one transaction. It keeps the writes of a serving gateway
// from waiting for longer than a few commits.
const tenantsPerWrite = 100

// addTenants adds the new tenants with their connections, many in one transaction. It reports false after a
// failure. Tenants of which one was created meanwhile by someone else are left to their steps, which tell
// which one it is.
func (p *planner) addTenants(ctx context.Context) bool {
	chunks := append(slices.Collect(slices.Chunk(p.added, tenantsPerWrite)), nil) // nothing follows the last
	next := p.prepare(ctx, chunks[0])
	defer func() { _, _ = next() }() // nothing goes on behind
	for i, some := range chunks[:len(chunks)-1] {
		all, err := next()
		next = p.prepare(ctx, chunks[i+1]) // while these are written
		if err == nil {
			err = p.store(ctx, all)
		}
		if errors.Is(err, fault.Conflict) {
			continue
		}
		if err != nil {
			some[0].steps[0].err = fmt.Errorf("with %d more new tenants: %w", len(some)-1, err)
			return false
		}
		if !p.stored(ctx, some, all) {
			return false
		}
	}
	return true
}

// prepare begins to prepare what is to be stored. The function it returns waits for that.
func (p *planner) prepare(ctx context.Context, some []addition) func() ([]prepared, error) {
	all := make([]prepared, len(some))
	var group errgroup.Group
	for i := range some {
		group.Go(func() (err error) { all[i], err = p.prepareOne(ctx, some[i].want); return err })
	}
	return func() ([]prepared, error) { return all, group.Wait() }
}

func (p *planner) prepareOne(ctx context.Context, want Tenant) (one prepared, err error) {
	owner, row, err := p.applier.Tenants.Prepare(ctx, want.Name, want.Settings)
	for _, spec := range want.Connections {
		if err != nil {
			return one, err
		}
		var c connection.New
		c, err = p.applier.Connections.Prepare(ctx, owner, spec)
		one.connections = append(one.connections, c)
		row.Connections, row.Audit = append(row.Connections, c.Row), append(row.Audit, c.Audit...)
	}
	one.row = row
	return one, err
}

func (p *planner) store(ctx context.Context, all []prepared) error {
	rows := make([]store.NewTenant, len(all))
	for i, one := range all {
		rows[i] = one.row
	}
	return p.applier.Store.CreateTenants(ctx, rows)
}

// stored marks what was stored as done. It reports false if tokens could not be scheduled.
func (p *planner) stored(ctx context.Context, some []addition, all []prepared) bool {
	var group errgroup.Group
	group.SetLimit(tenantsAtOnce)
	for i, one := range all {
		some[i].steps[0].done = true
		for j, c := range one.connections {
			s := some[i].steps[j+1]
			group.Go(func() error {
				s.err = p.applier.Connections.Stored(ctx, c)
				s.done = s.err == nil
				return s.err
			})
		}
	}
	return group.Wait() == nil
}
