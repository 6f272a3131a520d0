package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/pause"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
)

// Write is what every mutating call carries besides its input.
type Write struct {
	// IdempotencyKey is the caller's key, at most 255 characters, or "" if none was given.
	IdempotencyKey string

	// Aside runs wait, which waits for the end of an equal call, without holding the resources that the
	// caller's other calls need. It returns an error without running wait if too many calls wait already. If
	// Aside is nil, wait runs directly.
	Aside func(wait func() error) error
}

func (w Write) aside(wait func() error) error {
	if w.Aside == nil {
		return wait()
	}
	return w.Aside(wait)
}

// Answer is the result of a mutating call: the record and the exact response body, which a repeat gets again.
type Answer[T any] struct {
	Record   T
	Body     json.RawMessage // json.Marshal(Record) of the first answer
	Replayed bool            // whether this is the answer of an earlier call
}

// Caller identifies who made a call.
type Caller struct {
	TenantID string
	Tenant   string // the tenant's name
	KeyID    string // id of the API key
}

// Call is a mutating call.
type Call struct {
	Caller       Caller
	Operation    string // the name of a registered operation
	Write        Write
	ConnectionID string
	Plan         any           // the request after normalization, and the steps taken since; JSON; see Canonical
	Subject      string        // what is changed, if only the latest change of it counts
	DedupeWindow time.Duration // how long an equal call without a key counts as the same call; 0: never

	// Repeatable means that another run can safely take over while this run still goes on: together they have
	// one effect at the provider. Such a run has a short lease.
	Repeatable bool

	// Prepare, if not nil, runs before a new intent begins, unless an equal call is there already. A failure ends
	// the call without an intent, and is recorded in the audit. Prepare must change nothing.
	Prepare func(ctx context.Context, effectKey string) (Prepared, error)

	// Stale reports whether the effect of an equal call without a key has certainly changed since, so that
	// its answer is no longer true. If Stale is nil, the effect is not checked.
	Stale func(context.Context, store.Intent) bool
}

// Canonical is a plan of which more counts than what equal calls share.
type Canonical interface {
	// Canonical returns the plan in the form that equal calls share, without the steps taken since.
	Canonical() any
}

// Prepared begins together with the intent of a call, in one transaction.
type Prepared struct {
	Plan   any          // replaces that of the call if the intent has the holds
	Holds  []store.Hold // none: the intent begins without any of this
	Except []string     // ids of holds that are not in the way
}

// submission is a call that has no run yet.
type submission struct {
	journal   *Journal
	operation Operation
	call      Call
	intent    store.Intent // the intent of the call, not owned by a run yet
	hash      func(plan json.RawMessage) []byte
	waited    bool // whether the call has waited for an equal one
}

// Perform carries out a call, or returns the answer of an earlier equal call. It waits while that one runs.
func Perform[P, T any](ctx context.Context, j *Journal, c Call, handle Handler[P, T]) (Answer[T], error) {
	ctx, span := telemetry.StartOperation(ctx, "intent", c.Operation)
	answer, err := perform(ctx, j, c, handle)
	switch {
	case err != nil:
		span.End("failed", fault.From(err).Reason)
	case answer.Replayed:
		span.End("replayed", "")
	default:
		span.End("done", "")
	}
	return answer, err
}

func perform[P, T any](ctx context.Context, j *Journal, c Call, handle Handler[P, T]) (Answer[T], error) {
	op, err := j.operation(c.Operation)
	if err != nil {
		return Answer[T]{}, err
	}
	intent, err := j.intentOf(ctx, c)
	if err != nil {
		return Answer[T]{}, err
	}
	waiting, cancel := j.waiting(ctx)
	defer cancel()
	for s := (&submission{journal: j, operation: op, call: c, intent: intent, hash: hashOf[P]}); ; {
		run, there, err := s.begin(ctx)
		var answered *store.Intent
		if err == nil && run == nil {
			run, answered, err = s.join(ctx, waiting, there)
		}
		switch {
		case err != nil:
			return Answer[T]{}, err
		case answered != nil:
			j.opts.Metrics.Intent(c.Operation, "replayed")
			return replay[T](*answered)
		case run == nil:
			continue
		}
		answer, err := finish(ctx, run, handle)
		if WasTakenOver(err) {
			if pause.For(waiting, pollInterval) == nil {
				continue
			}
			err = run.stillRunning(ctx)
		}
		return answer, err
	}
}

// begin records the intent and returns its run, or returns the intent of an equal call.
func (s *submission) begin(ctx context.Context) (*Run, store.Intent, error) {
	j := s.journal
	prepared, there, found, err := s.prepare(ctx)
	if err != nil || found {
		return nil, there, err
	}
	ours := j.start(ctx, s.intent, s.call.Repeatable)
	there, began, err := s.record(ctx, &ours, prepared)
	if !began {
		j.local.end(ours.Owner)
		return nil, there, err
	}
	return s.own(ctx, &Run{journal: j, operation: s.operation, intent: ours}), there, nil
}

// prepare returns what begins with the intent, or returns the intent of an equal call.
func (s *submission) prepare(ctx context.Context) (p Prepared, there store.Intent, found bool, err error) {
	if s.call.Prepare == nil {
		return p, there, false, nil
	}
	if there, found, err = s.find(ctx); err != nil || found {
		return p, there, found, err
	}
	p, failed := s.call.Prepare(ctx, s.intent.EffectKey)
	if failed == nil {
		return p, there, false, nil
	}
	// An equal call may have begun meanwhile. What it did may be why this one fails.
	if there, found, err = s.find(context.WithoutCancel(ctx)); err == nil && found {
		return p, there, true, nil
	}
	return p, there, false, s.refuse(ctx, failed)
}

// refuse records that a call failed before its intent began, and returns the error for the caller.
func (s *submission) refuse(ctx context.Context, failed error) error {
	f := fault.From(failed)
	r := s.own(ctx, &Run{journal: s.journal, operation: s.operation, intent: s.intent})
	r.count("failed")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.journal.opts.RecordTimeout)
	defer cancel()
	r.auditAlone(ctx, audit.Failed(f.Reason))
	return f
}

// record writes the intent, or returns the intent of an equal call.
func (s *submission) record(
	ctx context.Context, intent *store.Intent, prepared Prepared,
) (there store.Intent, began bool, err error) {
	ctx, span := telemetry.StartSpan(ctx, "begin intent")
	defer func() { span.End("", fault.ReasonOf(err)) }()
	j := s.journal
	if len(prepared.Holds) == 0 {
		// If calls with the same key have waited for each other, an intent is probably there. Then it is read
		// first, since many attempts to write delay other users of the store.
		if s.waited || j.waiters.has(*intent) {
			if there, found, err := s.find(ctx); err != nil || found {
				return there, false, err
			}
		}
		there, began, err = j.opts.Store.BeginIntent(ctx, *intent, s.equalSince())
		if err != nil {
			j.withdraw(ctx, *intent)
		}
		return there, began, err
	}
	plan, err := json.Marshal(prepared.Plan)
	if err != nil {
		return there, false, err
	}
	with := store.Holding{Holds: prepared.Holds, Except: prepared.Except, Plan: plan}
	there, began, holds, err := j.opts.Store.BeginIntentHolding(ctx, *intent, with, j.opts.Now())
	if holds {
		intent.Plan = plan
	}
	if err != nil {
		j.withdraw(ctx, *intent, prepared.Holds...)
	}
	return there, began, err
}

// find returns the intent of an equal call.
func (s *submission) find(ctx context.Context) (there store.Intent, found bool, err error) {
	i, since := s.intent, s.equalSince()
	switch {
	case i.Kept:
		return s.journal.opts.Store.Intent(ctx, i.TenantID, i.Operation, i.Key)
	case !since.IsZero():
		return s.journal.opts.Store.RecentIntent(ctx, i.TenantID, i.Operation, i.DedupeKey, since)
	}
	return there, false, nil
}

// equalSince returns since when an equal call counts as this one. It is zero if only one with the same key
// does.
func (s *submission) equalSince() time.Time {
	if s.intent.Kept || s.call.DedupeWindow == 0 {
		return time.Time{}
	}
	return s.journal.opts.Now().Add(-s.call.DedupeWindow)
}

// join decides how a call goes on if an equal intent exists already. It returns a run that resumes that
// intent, or the intent whose answer the call returns. It returns neither if the call must begin again.
func (s *submission) join(ctx, waiting context.Context, there store.Intent) (*Run, *store.Intent, error) {
	j := s.journal
	fresh, done := s.isFresh(there), there.State == store.IntentDone
	pending := j.answers.answerOf(there)
	switch {
	case pending != nil && fresh && s.isStale(ctx, pending.intent): // once it is recorded, it is dropped
		return nil, nil, pending.make(ctx)
	case pending != nil && fresh && (!s.intent.Kept || s.isSameRequest(there)):
		return nil, &pending.intent, nil
	case !fresh && (done || there.Kept || s.operation.gaveUp(there.Plan)) && !j.IsRunning(there): // too old to count
		return nil, nil, j.opts.Store.ReleaseIntent(ctx, there, "")
	case s.intent.Kept && !s.isSameRequest(there):
		return nil, nil, KeyReused()
	case done && s.isStale(ctx, there):
		return nil, nil, j.opts.Store.DropIntentsOfEffect(ctx,
			there.TenantID, there.ConnectionID, there.Operation, there.EffectRef)
	case done:
		return nil, &there, nil
	case j.IsRunning(there): // this call returns its answer
		return nil, nil, s.await(ctx, waiting, there)
	case there.ConnectionID == "":
		return nil, nil, fault.Unknowable(
			"An earlier try was cut off, and its connection has been removed since, " +
				"so nobody can find out whether the provider acted. " + lookAdvice(s.operation, there))
	}
	run, err := j.takeOver(ctx, s.operation, there, s.call.Repeatable)
	if run == nil {
		return nil, nil, err
	}
	return s.own(ctx, run), nil, nil
}

// KeyReused returns the fault for an Idempotency-Key that was used for another request.
func KeyReused() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyReused,
		"This Idempotency-Key was used for another request. Use a new key for a new request.")
}

// own sets the fields of a run that come from the call.
func (s *submission) own(ctx context.Context, r *Run) *Run {
	r.origin, r.dedupeWindow = originOf(ctx, s.call), s.call.DedupeWindow
	return r
}

// await waits for an equal call that still runs.
func (s *submission) await(ctx, waiting context.Context, there store.Intent) error {
	_, span := telemetry.StartSpan(ctx, "wait for an equal call")
	defer span.End("", "")
	err := s.call.Write.aside(func() error { return s.journal.await(waiting, there) })
	s.waited = true
	if waiting.Err() != nil {
		return s.own(ctx, &Run{journal: s.journal, operation: s.operation, intent: there}).stillRunning(ctx)
	}
	return err
}

// isStale reports whether the answer of an equal call without a key is no longer true.
func (s *submission) isStale(ctx context.Context, answered store.Intent) bool {
	return !s.intent.Kept && s.call.Stale != nil && s.call.Stale(ctx, answered)
}

// isFresh reports whether an earlier intent still counts for this call.
func (s *submission) isFresh(there store.Intent) bool {
	counts := s.call.DedupeWindow
	if there.Kept {
		counts = s.journal.opts.KeepAnswers
	}
	return s.journal.opts.Now().Sub(there.CreatedAt) < counts
}

// AnswerMargin is the part of a caller's time that is reserved for the response. Waits end this long before
// the caller's deadline.
const AnswerMargin = 400 * time.Millisecond

// waiting returns the context in which a call waits for an equal one. It ends before the call's own deadline,
// so that there is time to respond that the other call still runs.
func (j *Journal) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	left := j.opts.WaitForEqual
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return context.WithTimeout(ctx, left-min(AnswerMargin, left/4))
}

// stillRunning returns the error of a call that waited in vain for another run of its intent.
func (r *Run) stillRunning(ctx context.Context) error {
	if ctx.Err() != nil || !r.intent.Kept {
		return r.unknownOutcome(fault.From(cmp.Or(ctx.Err(), context.DeadlineExceeded)))
	}
	f := fault.New(fault.Conflict, fault.ReasonIdempotencyRunning,
		"The first request with this Idempotency-Key is still running. Repeat it to get its answer.")
	f.RetryAfter = max(time.Second, r.intent.LeaseUntil.Sub(r.journal.opts.LeaseClock()))
	return f
}

// withdraw makes sure that an intent is not carried out after its caller is told that it was not recorded, and that
// the holds with which it began are in nobody's way. The store may have recorded it anyway.
func (j *Journal) withdraw(ctx context.Context, intent store.Intent, holds ...store.Hold) {
	run := store.Intent{ // only what identifies it
		TenantID: intent.TenantID, Operation: intent.Operation, Key: intent.Key, Owner: intent.Owner,
		LeaseUntil: intent.LeaseUntil, State: intent.State,
	}
	var ids []string
	for _, h := range holds {
		ids = append(ids, h.ID)
	}
	remove := func(ctx context.Context) error {
		if err := j.opts.Store.DropHolds(ctx, run, ids); err != nil {
			return err
		}
		return j.opts.Store.ReleaseIntent(ctx, run, "")
	}
	j.withdrawn.add(run.Owner)
	if ctx.Err() != nil { // the caller is gone, but the store may be available
		record, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.opts.RecordTimeout)
		defer cancel()
		if remove(record) == nil {
			return
		}
	}
	j.owe(run.Owner, remove)
}

func replay[T any](i store.Intent) (Answer[T], error) {
	var record T
	if err := json.Unmarshal(i.Answer, &record); err != nil {
		return Answer[T]{}, err
	}
	return Answer[T]{Record: record, Body: i.Answer, Replayed: true}, nil
}
