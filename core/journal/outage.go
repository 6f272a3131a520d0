package journal

import (
	"context"
	"errors"
	"slices"
	"sync"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// refusedIntents are those of calls whose callers were told that the store did not take them. It may have
// taken them all the same: the database can commit and its answer be lost. Then they must not be carried out.
// So they are withdrawn as soon as the store answers, which is before their leases end unless it was away for
// longer.
type refusedIntents struct {
	mu   sync.Mutex
	list []store.Intent
}

// maxRefused bounds what an outage leaves to withdraw.
const maxRefused = 10_000

func (r *refusedIntents) add(i store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == maxRefused {
		r.list = r.list[1:]
	}
	// What names the run, and no more.
	r.list = append(r.list, store.Intent{
		TenantID: i.TenantID, Operation: i.Operation, Key: i.Key,
		Owner: i.Owner, LeaseUntil: i.LeaseUntil, State: i.State,
	})
}

func (r *refusedIntents) take() (all []store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.list = r.list, nil
	return all
}

func (r *refusedIntents) restore(rest []store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(rest, r.list...)
	r.list = all[max(0, len(all)-maxRefused):]
}

// withdrawRefused removes refused intents that were recorded.
func (j *Journal) withdrawRefused(ctx context.Context) error {
	all := j.refused.take()
	for n, i := range all {
		if err := j.opts.Store.ReleaseIntent(ctx, i, ""); err != nil {
			j.refused.restore(all[n:])
			return err
		}
	}
	return nil
}

// pendingAnswers are answers that callers were given while the store was away. The process writes them when
// it is back.
type pendingAnswers struct {
	mu   sync.Mutex
	list []pendingAnswer
}

type pendingAnswer struct {
	intent store.Intent
	record func(context.Context) error
}

// maxAnswers bounds what an outage leaves to write. Of a further call only its row is left, and it is
// recovered as after a crash.
const maxAnswers = 10_000

// add keeps an answer, and reports whether there was room for it.
func (p *pendingAnswers) add(i store.Intent, record func(context.Context) error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) >= maxAnswers {
		return false
	}
	p.list = append(p.list, pendingAnswer{i, record})
	return true
}

// find returns the intent with its answer, where the process has one for the effect that the row is about.
func (p *pendingAnswers) find(there store.Intent) (store.Intent, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.list {
		i := a.intent
		isSame := i.EffectKey == there.EffectKey && string(i.RequestHash) == string(there.RequestHash)
		if isSame && idOf(i) == idOf(there) {
			return i, true
		}
	}
	return store.Intent{}, false
}

// remove forgets the answer of a run.
func (p *pendingAnswers) remove(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(a pendingAnswer) bool { return a.intent.Owner == owner })
}

func (p *pendingAnswers) all() []pendingAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

// writeAnswers records the pending answers, until the store is away again. One that it refuses for another
// reason stands in the way of no other, and of nothing else that recovers.
func (j *Journal) writeAnswers(ctx context.Context) error {
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
