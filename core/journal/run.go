package journal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
)

const defaultRecordTimeout = 2 * time.Second

// Handler carries out the steps of a plan. A resumed run gets the plan as the earlier run last saved it.
type Handler[P, T any] func(ctx context.Context, r *Run, plan P) (Result[T], error)

// Result is the result of a successful run.
type Result[T any] struct {
	Record   T              // the answer
	Ref      string         // the provider's id of the effect
	Attached store.Attached // what to record together with the answer
}

// Run is one execution of a call: the first one, or one that resumes the call.
type Run struct {
	journal   *Journal
	operation Operation
	intent    store.Intent
	origin    origin

	resumed        bool          // an earlier run may have reached the provider
	unattended     bool          // no caller waits for the answer
	unknownAudited bool          // the audit already records that the outcome is unknown
	toldUnknown    bool          // a caller was told that the outcome is unknown
	dedupeWindow   time.Duration // how long an equal call without a key counts as this one

	undropped []string // ids of holds that end with the intent, if it ends without an effect; see DropHolds

	effectExpected bool       // this run may have reached the provider; see ExpectEffect
	repeatable     bool       // the call that has the effect can be made again without a second effect
	mu             sync.Mutex // guards intent once the provider may respond after the run has ended
}

// Intent returns the intent that the run carries out.
func (r *Run) Intent() store.Intent { return r.intent }

// Resumed reports whether an earlier run may have reached the provider.
func (r *Run) Resumed() bool { return r.resumed }

// Unattended reports whether no caller waits for the answer.
func (r *Run) Unattended() bool { return r.unattended }

// ExpectEffect must be called before the provider call that has the effect. repeatable means that this
// provider call can be made again without a second effect.
func (r *Run) ExpectEffect(repeatable bool) { r.effectExpected, r.repeatable = true, repeatable }

// RetractEffect records that the provider rejected the call announced by ExpectEffect.
func (r *Run) RetractEffect() { r.effectExpected = false }

// RuleOutEffect records that no run so far has had an effect.
func (r *Run) RuleOutEffect() { r.resumed, r.effectExpected = false, false }

// Save records the plan before the next step is taken. If Save fails, the run must not do anything at the
// provider.
func (r *Run) Save(ctx context.Context, plan any) error {
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	r.intent.Plan = raw
	return r.journal.opts.Store.SaveIntentPlan(ctx, r.intent)
}

// DropHolds removes holds of the run, unless another run has taken it over. What the store does not remove now goes
// before the intent does.
func (r *Run) DropHolds(ctx context.Context, ids []string) {
	if err := r.journal.opts.Store.DropHolds(ctx, r.intent, ids); err != nil {
		r.undropped = ids
	}
}

// Detached returns an unattended run without an intent. It is for resuming work whose intent is gone.
func (j *Journal) Detached() *Run { return &Run{journal: j, resumed: true, unattended: true} }

// Resume returns a function for Operation.Resume. The function resumes runs of an operation with handle.
func Resume[P, T any](handle Handler[P, T]) func(context.Context, *Run) error {
	return func(ctx context.Context, r *Run) error {
		_, err := finish(ctx, r, handle)
		return err
	}
}

// takeOver returns a new run of an intent whose run is over. It returns nil if another process was faster.
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
	return &Run{
		journal: j, operation: op, intent: ours, resumed: true, unknownAudited: unknown, toldUnknown: unknown,
	}, nil
}

// start returns the intent as owned by a new run of this process, with a lease that fits ctx. The run counts
// as running until finish or local.end is called.
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

// finish carries out a run by the plan in its intent and records the outcome.
func finish[P, T any](ctx context.Context, r *Run, handle Handler[P, T]) (Answer[T], error) {
	defer r.journal.local.end(r.intent.Owner)
	var plan P
	if err := json.Unmarshal(r.intent.Plan, &plan); err != nil {
		return Answer[T]{}, err
	}
	done, err := handle(ctx, r, plan)
	// What follows must be recorded even when the caller left or the deadline passed.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.journal.opts.RecordTimeout)
	defer cancel()
	record, span := telemetry.StartSpan(record, "finish intent")
	defer span.End("", "")
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

// WasTakenOver reports whether a run failed because another run has taken over its intent. The call then
// returns the answer of the other run.
func WasTakenOver(err error) bool {
	return err != nil && fault.From(err).Reason == store.ReasonIntentLost
}

// fail closes the intent of a failed run and returns the error for the caller. If the run certainly had no
// effect, the intent is removed. If the provider may have acted, the intent stays, and the error says that
// the outcome is unknown rather than that the call failed.
func (r *Run) fail(ctx context.Context, err error) error {
	f := fault.From(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if WasTakenOver(err) {
		if removed, _ := r.isRemoved(ctx); !r.effectExpected || !removed {
			return f
		}
		f = fault.Unknowable("The connection or its tenant was removed meanwhile.")
	}
	if r.HadNoEffect(f) {
		if !r.release(ctx, "", r.failure(f.Reason)) && r.isAnothers(ctx) { // which may have had the effect
			return fault.New(fault.Conflict, store.ReasonIntentLost, "Another run has taken over this request.")
		}
		return f
	}
	mayBeRunning := r.effectExpected && !r.repeatable && (f.Code == fault.Timeout || f.Code == fault.Canceled)
	stopped := r.unattended && f.Code == fault.Canceled
	reported := r.unknownOutcome(f)
	outcome := audit.Unknown(fault.From(reported).Reason)
	if r.unknownAudited || stopped {
		outcome = ""
	}
	r.toldUnknown = r.toldUnknown || !r.unattended
	if mayBeRunning || stopped {
		r.journal.local.keep(r.intent.Owner, r.journal.opts.WriteGrace+leaseMargin)
		// The request may still arrive at the provider. Until it certainly has, no other run may take over
		// the intent. If recovery was stopped, the end of the lease comes sooner than the next try of an
		// intent that stays unknown.
		r.extend(ctx, outcome)
	} else {
		r.release(ctx, store.IntentUnknown, outcome)
	}
	if _, withTenant := r.isRemoved(ctx); withTenant { // and there was nothing to record the outcome with
		r.auditAlone(ctx, outcome)
	}
	return reported
}

// failure returns the outcome of a run that ends without an effect of its own. If others have changed since what an
// earlier run may have changed, nobody can know whether that run did.
func (r *Run) failure(reason string) string {
	if r.resumed && (reason == fault.ReasonChangedMeanwhile || reason == reasonOvertaken) {
		return audit.Unknown(reason)
	}
	return audit.Failed(reason)
}

// release ends the run in the store, and reports whether it will have ended there: a run that has lost its intent
// changes nothing. If outcome is not empty, it is recorded in the audit.
func (r *Run) release(ctx context.Context, state, outcome string) bool {
	ended, reason, _ := strings.Cut(outcome, ":")
	if ended != "" {
		r.count(ended)
	}
	if state == store.IntentUnknown && r.operation.gaveUp(r.intent.Plan) {
		state = store.IntentLeft
	}
	j, kept, undropped := r.journal, r.withoutRequest(), r.undropped
	intent := kept.intent
	var news store.Settled
	if r.settles() {
		news = store.Settled{Outcome: ended, Reason: reason}
	}
	end := func(ctx context.Context, rows []store.AuditRow) error {
		if state == "" {
			if err := j.opts.Store.DropHolds(ctx, intent, undropped); err != nil {
				return err
			}
			return j.opts.Store.Settle(ctx, intent, news, rows...)
		}
		return j.opts.Store.ReleaseIntent(ctx, intent, state, rows...)
	}
	rowsOf := kept.rowsIfAny(outcome)
	write := func(ctx context.Context) error {
		rows := rowsOf(ctx)
		err := end(ctx, rows)
		if err == nil || len(rows) == 0 || isOutage(err) || WasTakenOver(err) {
			return err
		}
		// The audit does not take the row. The run must end all the same: see rowsIfAny.
		if err = end(ctx, nil); err == nil {
			j.owe("", func(ctx context.Context) error { return j.opts.Store.AddAudit(ctx, rows...) })
		}
		return err
	}
	err := write(ctx)
	if err != nil && !WasTakenOver(err) {
		ends := ""
		if state == "" {
			ends = intent.Owner
		}
		j.owe(ends, write)
		j.opts.Log.ErrorContext(ctx, "an intent could not be closed yet; that is tried again until the store is back",
			"operation", intent.Operation, "error", err)
	}
	return !WasTakenOver(err)
}

// withoutRequest returns what is left of a run to record how it ended. An outage may keep many, and requests are large.
func (r *Run) withoutRequest() *Run {
	left := &Run{journal: r.journal, operation: r.operation, intent: r.intent, origin: r.origin}
	left.intent.Plan, left.intent.Answer = nil, nil
	return left
}

// settles reports whether the end of the run is news: no caller of the call has learned the outcome so far.
func (r *Run) settles() bool { return r.toldUnknown || r.unattended }

func (r *Run) count(outcome string) { r.journal.opts.Metrics.Intent(r.intent.Operation, outcome) }

// extend lengthens the lease of the intent while its write may still be under way.
func (r *Run) extend(ctx context.Context, outcome string) {
	longer := r.intent
	longer.LeaseUntil = r.journal.opts.LeaseClock().Add(r.journal.opts.WriteGrace + leaseMargin)
	if outcome != "" {
		r.count("unknown")
	}
	rows, j := r.rowsIfAny(outcome)(ctx), r.journal
	err := j.opts.Store.ExtendIntent(ctx, longer, rows...)
	if errors.Is(err, fault.Conflict) {
		return // the answer has arrived meanwhile; see Late
	}
	r.unknownAudited = r.unknownAudited || len(rows) > 0
	if err == nil {
		return
	}
	longer.Plan = nil // see withoutRequest
	j.owe("", func(ctx context.Context) error { return j.opts.Store.ExtendIntent(ctx, longer) })
	if len(rows) > 0 {
		j.owe("", func(ctx context.Context) error { return j.opts.Store.AddAudit(ctx, rows...) })
	}
	j.opts.Log.ErrorContext(ctx, "the lease of an intent could not be extended yet; that is tried again until the store "+
		"is back", "operation", r.intent.Operation, "error", err)
}

// Late returns a function that records the provider's response to a write if it arrives after the caller was
// told that the deadline passed. The function ignores repeatable writes: a repeat recovers them without
// waiting for the response.
func Late[R, T any](r *Run, result func(context.Context, R) (Result[T], error)) func(answer any, err error) {
	return func(answer any, err error) {
		r.whenLate(func(ctx context.Context) {
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
				r.release(ctx, "", r.failure(fault.From(err).Reason))
			case r.unknownAudited:
				r.release(ctx, store.IntentUnknown, "")
			default:
				r.release(ctx, store.IntentUnknown, audit.Unknown(fault.From(err).Reason))
			}
		})
	}
}

// LateUnknown handles the late response to a write if that response does not settle the call. It releases the
// intent, so that any process can find out the outcome. It ignores repeatable writes.
func (r *Run) LateUnknown(any, error) {
	r.whenLate(func(ctx context.Context) { r.release(ctx, store.IntentUnknown, "") })
}

// whenLate records what became of a write whose response came after its run had ended.
func (r *Run) whenLate(record func(context.Context)) {
	if r.repeatable {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.journal.opts.RecordTimeout)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.journal.local.reopen(r.intent.Owner)
	defer r.journal.local.end(r.intent.Owner)
	record(ctx)
}

// complete records the answer. If another run has recorded an answer first, complete returns the intent with
// that answer, which is the one that repeats get. If the store is unavailable, the process keeps the answer.
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
	with.Settles = r.settles()
	left := r.withoutRequest()
	left.intent.Answer = body
	record := left.recorder(with)
	err := record(ctx)
	if err == nil {
		return r.intent, false
	}
	if fault.From(err).Code == fault.Conflict {
		first, found, err := j.opts.Store.Intent(ctx, r.intent.TenantID, r.intent.Operation, r.intent.Key)
		if err == nil && !found { // its tenant was deleted meanwhile: the audit keeps what was done all the same
			r.auditAlone(ctx, audit.Done)
		}
		answered := err == nil && found && first.State == store.IntentDone
		return first, answered && first.EffectKey == r.intent.EffectKey
	}
	kept := j.answers.add(&owedWrite{intent: left.intent, write: func(ctx context.Context) error {
		err := record(ctx)
		switch {
		case err == nil:
		case errors.Is(err, fault.Conflict), errors.Is(err, fault.NotFound):
			if _, withTenant := left.isRemoved(ctx); withTenant {
				left.auditAlone(ctx, audit.Done)
			}
		default:
			return err
		}
		j.local.remove(left.intent.Owner)
		return nil
	}})
	j.opts.Log.ErrorContext(ctx, "an answer could not be recorded in the store", "operation", r.intent.Operation,
		"kept_until_it_does", kept, "error", err)
	if kept {
		j.local.keep(r.intent.Owner, j.opts.KeepAnswers)
	}
	return r.intent, false
}

// isRemoved reports whether the connection of the run was removed, and with it what the run has recorded beside its
// intent, and whether its tenant was deleted with the intent itself.
func (r *Run) isRemoved(ctx context.Context) (removed, withTenant bool) {
	there, found, err := r.journal.opts.Store.Intent(ctx, r.intent.TenantID, r.intent.Operation, r.intent.Key)
	if err != nil || found {
		return err == nil && there.Owner == r.intent.Owner && there.ConnectionID == "", false
	}
	_, err = r.journal.opts.Store.TenantByID(ctx, r.intent.TenantID)
	withTenant = errors.Is(err, fault.NotFound)
	return withTenant, withTenant
}

// isAnothers reports whether another run has taken over the intent, for whose answer the caller of this one can wait.
func (r *Run) isAnothers(ctx context.Context) bool {
	if r.unattended {
		return false
	}
	there, found, err := r.journal.opts.Store.Intent(ctx, r.intent.TenantID, r.intent.Operation, r.intent.Key)
	return err == nil && found && there.Owner != r.intent.Owner
}

// auditAlone records the outcome in the audit, where there is no intent to record it with.
func (r *Run) auditAlone(ctx context.Context, outcome string) {
	rowsOf, j := r.withoutRequest().rowsOnce(outcome), r.journal
	write := func(ctx context.Context) error {
		rows, err := rowsOf(ctx)
		if err != nil {
			return err
		}
		return j.opts.Store.AddAudit(ctx, rows...)
	}
	if err := write(ctx); err != nil {
		j.owe("", write)
		j.opts.Log.ErrorContext(ctx, "a call could not be recorded in the audit yet; that is tried again until "+
			"the store is back",
			"operation", r.intent.Operation, "outcome", outcome, "error", err)
	}
}

// recorder returns a function that writes the answer, what is attached to it, and the audit row. If the connection was
// removed meanwhile, what is attached would have gone with it, and is left out.
func (r *Run) recorder(with store.Attached) func(context.Context) error {
	rowsOf := r.rowsOnce(audit.Done)
	return func(ctx context.Context) error {
		rows, err := rowsOf(ctx)
		if err != nil {
			return err
		}
		err = r.journal.opts.Store.FinishIntent(ctx, r.intent, with, rows...)
		if errors.Is(err, fault.NotFound) {
			return r.journal.opts.Store.FinishIntent(ctx, r.intent, store.Attached{}, rows...)
		}
		return err
	}
}
