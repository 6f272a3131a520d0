package service

import (
	"context"
	"sync"

	"frontdesk/core/store"
)

// refusedIntents are those of calls whose callers were told that the store did not take them. It may have taken them all the
// same: the database can commit and its answer be lost. They must not be carried out then, so they are taken back as soon
// as the store answers, which is before their leases end unless it was away for longer.
type refusedIntents struct {
	mu   sync.Mutex
	list []store.Intent
}

// mostRefused bounds what an outage leaves to take back.
const mostRefused = 10_000

func (r *refusedIntents) add(i store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == mostRefused {
		r.list = r.list[1:]
	}
	// What names the run, and no more.
	r.list = append(r.list, store.Intent{TenantID: i.TenantID, Operation: i.Operation, Key: i.Key, Owner: i.Owner, LeaseUntil: i.LeaseUntil, State: i.State})
}

func (r *refusedIntents) take() (all []store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.list = r.list, nil
	return all
}

func (r *refusedIntents) putBack(rest []store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(rest, r.list...)
	r.list = all[max(0, len(all)-mostRefused):]
}

// takeBack lets refused intents go that were recorded.
func (j *journal) takeBack(ctx context.Context) error {
	all := j.refused.take()
	for n, i := range all {
		if err := j.store.ReleaseIntent(ctx, i, ""); err != nil {
			j.refused.putBack(all[n:])
			return err
		}
	}
	return nil
}
