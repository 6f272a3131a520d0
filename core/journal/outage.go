package journal

import (
	"context"
	"errors"
	"slices"
	"sync"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// refusedIntents are the intents of calls whose callers were told that the store did not record them. The
// store may have recorded them anyway: the database can commit and its response can be lost. Such intents
// must not be carried out. The process withdraws them as soon as the store is available again. That is before
// their leases end, unless the outage lasts longer.
type refusedIntents struct {
	mu   sync.Mutex
	list []store.Intent
}

// maxRefused bounds the number of refused intents kept during an outage.
const maxRefused = 10_000

func (r *refusedIntents) add(i store.Intent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == maxRefused {
		r.list = r.list[1:]
	}
	// Keep only the fields that identify the run.
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

// withdrawRefused removes the refused intents that were recorded anyway.
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

// pendingAnswers are the answers that callers received during an outage of the store. The process writes them
// when the store is available again.
type pendingAnswers struct {
	mu   sync.Mutex
	list []pendingAnswer
}

type pendingAnswer struct {
	intent store.Intent
	record func(context.Context) error
}

// maxAnswers bounds the number of answers kept during an outage. Further calls leave only their rows, which
// are recovered as after a crash.
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

// find returns the pending answer, if the process has one for the effect of the stored row.
func (p *pendingAnswers) find(there store.Intent) (pendingAnswer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.list {
		i := a.intent
		isSame := i.EffectKey == there.EffectKey && string(i.RequestHash) == string(there.RequestHash)
		if isSame && idOf(i) == idOf(there) {
			return a, true
		}
	}
	return pendingAnswer{}, false
}

// remove drops the answer of a run.
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

// writeAnswers records the pending answers. It stops with an error if the store is unavailable again. An
// answer that the store rejects for another reason blocks neither the other answers nor the rest of recovery.
func (j *Journal) writeAnswers(ctx context.Context) error {
	for _, a := range j.answers.all() {
		switch err := j.writeAnswer(ctx, a); {
		case errors.Is(err, fault.Unavailable), errors.Is(err, fault.Timeout), errors.Is(err, fault.Canceled):
			return err
		}
	}
	return nil
}

// writeAnswer records a pending answer, which then pends no more.
func (j *Journal) writeAnswer(ctx context.Context, a pendingAnswer) error {
	err := a.record(ctx)
	if err == nil {
		j.answers.remove(a.intent.Owner)
	}
	return err
}
