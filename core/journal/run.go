package journal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

const recordTimeout = 2 * time.Second // for recording what came of a call, after its own deadline

// Handler takes the steps of a plan. A resumed run is handed the plan as far as the earlier one got.
type Handler[P, T any] func(ctx context.Context, r *Run, plan P) (Result[T], error)

// Result is what a run achieved.
type Result[T any] struct {
	Record   T              // the answer
	Ref      string         // the provider's id of the effect
	Attached store.Attached // what to record together with the answer
}

// Run is one execution of a call: the first one, or one that carries the call on.
type Run struct {
	journal   *Journal
	operation Operation
	intent    store.Intent
	origin    origin

	resumed        bool          // an earlier run may have reached the provider
	unattended     bool          // nobody waits for the answer
	unknownAudited bool          // the audit says already that the outcome is unknown
	dedupeWindow   time.Duration // how long an equal call without a key is this one

	effectExpected bool       // this run may have reached the provider; see ExpectEffect
	repeatable     bool       // the call that has the effect can be made again without a second effect
	mu             sync.Mutex // over intent once the provider may answer later than the run ends
}

// Intent returns the intent that the run carries out.
func (r *Run) Intent() store.Intent { return r.intent }

// Resumed reports whether an earlier run may have reached the provider.
func (r *Run) Resumed() bool { return r.resumed }

// Unattended reports whether nobody waits for the answer.
func (r *Run) Unattended() bool { return r.unattended }

// ExpectEffect comes before the call that has the effect. Repeatable says that this call can be made again
// without a second effect.
func (r *Run) ExpectEffect(repeatable bool) { r.effectExpected, r.repeatable = true, repeatable }

// RetractEffect says that the provider refused the call that ExpectEffect announced.
func (r *Run) RetractEffect() { r.effectExpected = false }

// RuleOutEffect says that no run so far has had an effect.
func (r *Run) RuleOutEffect() { r.resumed, r.effectExpected = false, false }

// Save records the plan before the next step is taken. Nothing may be done at the provider when it fails.
func (r *Run) Save(ctx context.Context, plan any) error {
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	r.intent.Plan = raw
	return r.journal.opts.Store.SaveIntentPlan(ctx, r.intent)
}

// Detached returns a run without an intent, to carry on work of which the intent is gone. Nobody waits for
// it.
func (j *Journal) Detached() *Run { return &Run{journal: j, resumed: true, unattended: true} }

// Resume returns a function that carries on runs of an operation, for Operation.Resume.
func Resume[P, T any](handle Handler[P, T]) func(context.Context, *Run) error {
	return func(ctx context.Context, r *Run) error {
		_, err := finish(ctx, r, handle)
		return err
	}
}

// takeOver returns a run of an intent whose own run is over; nil where another process was faster.
func (j *Journal) takeOver(
	ctx context.Context, op Operation, there store.Intent, repeatable bool,
) (*Run, error) {
	ours := j.start(ctx, there, repeatable)
	took, err := j.opts.Store.TakeOverIntent(ctx, there, ours, j.opts.Now())
	if err != nil || !took {
		j.local.end(ours.Owner)
		return nil, err
	}
	unknown := there.State == store.IntentUnknown
	return &Run{journal: j, operation: op, intent: ours, resumed: true, unknownAudited: unknown}, nil
}

// start returns the intent as a run of this process owns it within ctx. The run counts as one that goes on
// until finish, or local.end.
func (j *Journal) start(ctx context.Context, i store.Intent, repeatable bool) store.Intent {
	j.announced.Do(func() {
		if err := j.opts.Store.Announce(j.opts.Owner); err != nil {
			j.opts.Log.WarnContext(ctx, "other processes cannot see that this one is alive; its leases count instead",
				"error", err)
		}
	})
	i.Owner, i.State = j.opts.Owner+"/"+rand.Text(), store.IntentRunning
	short := repeatable && !j.opts.Store.TracksProcesses()
	lasts := j.opts.Deadline
	switch end, ok := ctx.Deadline(); {
	case short:
		lasts = j.opts.Lease
	case ok:
		lasts = time.Until(end) + leaseMargin
	default:
		lasts += leaseMargin
	}
	i.LeaseUntil = j.opts.LeaseClock().Add(lasts)
	j.local.add(i, short)
	return i
}

// finish carries a run through by the plan in its intent, and records what came of it.
func finish[P, T any](ctx context.Context, r *Run, handle Handler[P, T]) (Answer[T], error) {
	defer r.journal.local.end(r.intent.Owner)
	var plan P
	if err := json.Unmarshal(r.intent.Plan, &plan); err != nil {
		return Answer[T]{}, err
	}
	done, err := handle(ctx, r, plan)
	// What follows must be recorded even when the caller left or the deadline passed.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err != nil {
		return Answer[T]{}, r.fail(record, err)
	}
	body, err := json.Marshal(done.Record)
	if err != nil {
		return Answer[T]{}, err
	}
	if first, overtaken := r.complete(record, body, done.Ref, done.Attached); overtaken {
		return replay[T](first)
	}
	return Answer[T]{Record: done.Record, Body: body}, nil
}

// WasTakenOver reports whether a run ended because another one has its intent. The other's answer is the
// call's.
func WasTakenOver(err error) bool {
	return err != nil && fault.From(err).Reason == store.ReasonIntentLost
}

// fail closes the intent of a run that failed, and returns what to tell the caller. A failure that surely had
// no effect leaves nothing behind. Where the provider may have acted, the intent stays, and the caller is
// told that the outcome is unknown rather than that the call failed.
func (r *Run) fail(ctx context.Context, err error) error {
	f := fault.From(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if WasTakenOver(err) {
		return f
	}
	if r.HadNoEffect(f) {
		r.release(ctx, "", audit.Failed(f.Reason))
		return f
	}
	mayBeRunning := r.effectExpected && !r.repeatable && (f.Code == fault.Timeout || f.Code == fault.Canceled)
	stopped := r.unattended && f.Code == fault.Canceled
	reported := r.unknownOutcome(f)
	outcome := audit.Unknown(fault.From(reported).Reason)
	if r.unknownAudited || stopped {
		outcome = ""
	}
	if mayBeRunning || stopped {
		r.journal.local.keep(r.intent.Owner, r.journal.opts.WriteGrace+leaseMargin)
		// The call may still arrive at the provider: until it surely has, nobody may take the intent up. And
		// where recovery was stopped, the end of the lease comes sooner than the next try at what stays
		// unknown.
		r.extend(ctx, outcome)
	} else {
		r.release(ctx, store.IntentUnknown, outcome)
	}
	return reported
}

// release ends the run in the store. Outcome is what the audit is to say; "": nothing.
func (r *Run) release(ctx context.Context, state, outcome string) {
	if state == "" {
		r.count("failed")
	} else if outcome != "" {
		r.count("unknown")
	}
	rows := r.rowsIfAny(ctx, outcome)
	if err := r.journal.opts.Store.ReleaseIntent(ctx, r.intent, state, rows...); err != nil {
		r.journal.opts.Log.ErrorContext(ctx,
			"an intent could not be closed; recovery takes it up when its lease ends",
			"operation", r.intent.Operation, "error", err)
	}
}

func (r *Run) count(outcome string) { r.journal.opts.Metrics.Intent(r.intent.Operation, outcome) }

// extend keeps the intent ours while its write may be under way.
func (r *Run) extend(ctx context.Context, outcome string) {
	longer := r.intent
	longer.LeaseUntil = r.journal.opts.LeaseClock().Add(r.journal.opts.WriteGrace + leaseMargin)
	if outcome != "" {
		r.count("unknown")
	}
	rows := r.rowsIfAny(ctx, outcome)
	err := r.journal.opts.Store.ExtendIntent(ctx, longer, rows...)
	switch {
	case err == nil:
		r.unknownAudited = r.unknownAudited || len(rows) > 0
	case fault.From(err).Code != fault.Conflict: // a conflict: the answer has come meanwhile, see Late
		r.journal.opts.Log.ErrorContext(ctx, "the lease of an intent could not be extended",
			"operation", r.intent.Operation, "error", err)
	}
}

// Late returns a function that records the answer of a write which came after its caller was told that the
// deadline passed. What is repeatable is recovered by a repeat, which need not wait for that.
func Late[R, T any](r *Run, result func(context.Context, R) (Result[T], error)) func(answer any, err error) {
	return func(answer any, err error) {
		if r.repeatable {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
		defer cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		var done Result[T]
		if err == nil {
			given, _ := answer.(R)
			done, err = result(ctx, given)
		}
		var body []byte
		if err == nil {
			body, err = json.Marshal(done.Record)
		}
		switch {
		case err == nil:
			r.complete(ctx, body, done.Ref, done.Attached)
		case r.HadNoEffect(fault.From(err)):
			r.release(ctx, "", audit.Failed(fault.From(err).Reason))
		case r.unknownAudited:
			r.release(ctx, store.IntentUnknown, "")
		default:
			r.release(ctx, store.IntentUnknown, audit.Unknown(fault.From(err).Reason))
		}
	}
}

// LateUnknown is for a write whose late answer does not settle the call. It lets anybody look what became of
// it.
func (r *Run) LateUnknown(any, error) {
	if r.repeatable {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(ctx, store.IntentUnknown, "")
}

// complete records the answer. Where another run has recorded one first, it returns that: it is the answer
// that repeats get. While the store is away, the process keeps the answer itself.
func (r *Run) complete(
	ctx context.Context, body []byte, ref string, with store.Attached,
) (first store.Intent, overtaken bool) {
	if r.unattended {
		r.count("settled")
	} else {
		r.count("done")
	}
	j := r.journal
	r.intent.Answer, r.intent.EffectRef = body, ref
	err := r.record(ctx, with)
	if err == nil {
		return r.intent, false
	}
	if fault.From(err).Code == fault.Conflict {
		first, found, err := j.opts.Store.Intent(ctx, r.intent.TenantID, r.intent.Operation, r.intent.Key)
		answered := err == nil && found && first.State == store.IntentDone
		return first, answered && first.EffectKey == r.intent.EffectKey
	}
	kept := j.answers.add(r.intent, func(ctx context.Context) error {
		err := r.record(ctx, with)
		if err == nil || fault.From(err).Code == fault.Conflict || fault.From(err).Code == fault.NotFound {
			j.local.remove(r.intent.Owner)
			return nil
		}
		return err
	})
	j.opts.Log.ErrorContext(ctx, "an answer could not be recorded in the store", "operation", r.intent.Operation,
		"kept_until_it_does", kept, "error", err)
	if kept {
		j.local.keep(r.intent.Owner, j.opts.KeepAnswers)
	}
	return r.intent, false
}

// record writes the answer, what is attached to it, and the row of the audit.
func (r *Run) record(ctx context.Context, with store.Attached) error {
	rows, err := r.rows(ctx, audit.Done)
	if err != nil {
		return err
	}
	return r.journal.opts.Store.FinishIntent(ctx, r.intent, with, rows...)
}
