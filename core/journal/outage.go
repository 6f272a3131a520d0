package journal

import (
	"context"
	"errors"
	"slices"
	"sync"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// owedWrites are what the store did not take of calls that changed nothing while it was away. That is the end of a
// run, or only its row of the audit. It is also the withdrawal of an intent whose caller was told that the store did
// not record it: the database can commit and its response can be lost. Such calls must not be carried out by others.
// So the process writes all this as soon as the store is available again. That is before the leases of the intents
// end, unless the outage lasts longer.
type owedWrites struct {
	mu   sync.Mutex
	list []func(context.Context) error
}

// maxOwed bounds the number of writes kept during an outage. Further ones are dropped: the intents of the first calls
// were recorded before the outage, and those of later ones hardly were.
const maxOwed = 10_000

func (o *owedWrites) add(write func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) < maxOwed {
		o.list = append(o.list, write)
	}
}

func (o *owedWrites) take() (all []func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, o.list = o.list, nil
	return all
}

func (o *owedWrites) restore(rest []func(context.Context) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := append(rest, o.list...)
	o.list = all[:min(len(all), maxOwed)]
}

// owe makes a write again once the store is available, until the store takes it, has it already, or has removed the
// tenant that it is about.
func (j *Journal) owe(write func(context.Context) error) {
	j.owed.add(func(ctx context.Context) error {
		err := write(ctx)
		if errors.Is(err, fault.Conflict) || errors.Is(err, fault.NotFound) {
			return nil
		}
		return err
	})
}

// writeOwed makes the writes that the store did not take. It stops with an error if the store is unavailable again.
func (j *Journal) writeOwed(ctx context.Context) error {
	var rest []func(context.Context) error
	var refused error
	all := j.owed.take()
	for n, write := range all {
		err := write(ctx)
		if isOutage(err) {
			j.owed.restore(append(rest, all[n:]...))
			return err
		}
		if err != nil {
			rest, refused = append(rest, write), err
		}
	}
	j.owed.restore(rest)
	if refused != nil {
		j.opts.Log.ErrorContext(ctx, "the store refuses what ended calls owe it; that is tried again", "writes", len(rest),
			"error", refused)
	}
	return nil
}

// isOutage reports whether the store is unavailable, and would take no other write either.
func isOutage(err error) bool {
	return errors.Is(err, fault.Unavailable) || errors.Is(err, fault.Timeout) || errors.Is(err, fault.Canceled)
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

// writeHeldUp writes what an outage of the store has held up. It stops with an error if the store is unavailable again.
func (j *Journal) writeHeldUp(ctx context.Context) error {
	if err := j.writeOwed(ctx); err != nil {
		return err
	}
	return j.writeAnswers(ctx)
}

// Close writes what an outage of the store has held up: what the store does not take now is lost with the process.
// Runs that still go on may leave more, which is lost too.
func (j *Journal) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), j.opts.RecordTimeout)
	defer cancel()
	if err := j.writeHeldUp(ctx); err != nil {
		j.opts.Log.ErrorContext(ctx, "what the store did not take is lost; repeats learn from providers what became of "+
			"these calls", "answers", len(j.answers.all()), "other_writes", len(j.owed.take()), "error", err)
	}
}

// writeAnswers records the pending answers. It stops with an error if the store is unavailable again. An
// answer that the store rejects for another reason blocks neither the other answers nor the rest of recovery.
func (j *Journal) writeAnswers(ctx context.Context) error {
	var refused error
	for _, a := range j.answers.all() {
		switch err := j.writeAnswer(ctx, a); {
		case isOutage(err):
			return err
		case err != nil:
			refused = err
		}
	}
	if refused != nil {
		j.opts.Log.ErrorContext(ctx, "the store refuses answers that were given; that is tried again", "answers",
			len(j.answers.all()), "error", refused)
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
