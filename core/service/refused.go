package service

import (
	"context"
	"errors"
	"slices"
	"sync"

	"frontdesk/core/fault"
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

// keptAnswers are answers that callers were given while the store was away. The process writes them when it is back.
type keptAnswers struct {
	mu   sync.Mutex
	list []keptAnswer
}

type keptAnswer struct {
	intent store.Intent
	record func(context.Context) error
}

// mostAnswers bounds what an outage leaves to write. Of a further call only its row is left, as after a crash, and so it
// is settled like one.
const mostAnswers = 10_000

// add keeps an answer, and reports false where there are too many already.
func (k *keptAnswers) add(i store.Intent, record func(context.Context) error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) >= mostAnswers {
		return false
	}
	k.list = append(k.list, keptAnswer{i, record})
	return true
}

// of returns the intent with its answer, where the process has one for the effect that the row is about.
func (k *keptAnswers) of(there store.Intent) (store.Intent, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.list {
		i := a.intent
		if i.TenantID == there.TenantID && i.Operation == there.Operation && i.Key == there.Key && i.EffectKey == there.EffectKey &&
			string(i.RequestHash) == string(there.RequestHash) {
			return i, true
		}
	}
	return store.Intent{}, false
}

// remove forgets the answer of a run.
func (k *keptAnswers) remove(owner string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = slices.DeleteFunc(k.list, func(a keptAnswer) bool { return a.intent.Owner == owner })
}

func (k *keptAnswers) all() []keptAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

// writeAnswers records the answers that are kept, until the store is away again. One that it refuses for another reason
// stands in the way of no other, and of nothing else that recovers.
func (j *journal) writeAnswers(ctx context.Context) error {
	for _, a := range j.answers.all() {
		switch err := a.record(ctx); {
		case err == nil:
			j.answers.remove(a.intent.Owner)
		case errors.Is(err, fault.Unavailable), errors.Is(err, fault.Timeout), errors.Is(err, fault.Canceled):
			return err
		}
	}
	return nil
}
