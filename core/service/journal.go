package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// journal carries every mutating call through its life: an intent is written before the provider is asked, the answer
// after. A repeat of the same call finds the answer; a call that died half-way is taken up where its plan says it was,
// by a repeat or by the settler. See the states in core/store.
type journal struct {
	store    *store.Store
	owner    string
	now      func() time.Time
	keep     time.Duration    // how long answers to calls with a key are kept
	leases   func() time.Time // the clock of leases
	short    time.Duration    // the lease of a run that another may take over without harm
	patience time.Duration    // for an equal call that still runs
	deadline time.Duration    // of a run whose context has none
	grace    time.Duration    // how long a write may still be under way after its caller's deadline
	log      *slog.Logger
	metrics  Metrics
	audit    *audit.Log // nil: nothing is recorded

	own      ownRuns
	refused  refusedIntents
	answers  keptAnswers
	waiters  waiters
	announce sync.Once
}

// call is a mutating call as the journal sees it.
type call struct {
	caller       tenant.Caller
	operation    string
	write        Write
	connectionID string
	plan         any           // the request after normalization, and the steps taken since; JSON
	same         any           // the plan in the form that equal calls share, where that is not the plan itself
	about        string        // what is changed, where a later change of it is the one that counts
	sameFor      time.Duration // how long an equal call without a key is the same call; 0 never

	// repeatable says that a run which is taken over while it still goes on does no harm: whatever both do at the
	// provider has one effect. Such a run has a short lease.
	repeatable bool

	// undone reports whether the effect of an equal call without a key is surely not what it was any more, so that its
	// answer would not be true. nil: it is not looked at.
	undone func(context.Context, store.Intent) bool
}

// attempt is one run of a call, first or resumed.
type attempt struct {
	journal *journal
	intent  store.Intent
	resumed bool // an earlier run may have reached the provider
	alone   bool // nobody waits for the answer
	told    bool // the audit says already that the outcome is unknown
	from    origin
	sameFor time.Duration // how long an equal call without a key is this one

	acting     bool       // this run may have reached it; see act
	repeatable bool       // the call that has the effect can be made again without a second effect
	mu         sync.Mutex // over intent once the call may outlive the run
}

// act is said before the call that has the effect.
func (a *attempt) act(repeatable bool) { a.acting, a.repeatable = true, repeatable }

// clear is said once it is sure that no run so far has had an effect.
func (a *attempt) clear() { a.resumed, a.acting = false, false }

// outcome is what a run achieved.
type outcome[T any] struct {
	record T
	ref    string            // the provider's id of the effect
	seen   []store.EventSeen // events to remember with it
}

const (
	pollEvery  = 40 * time.Millisecond // how often an equal call that still runs is looked at
	recordWait = 2 * time.Second       // for recording what came of a call, after its own deadline
)

// save records the plan before the next step is taken. Nothing may be done at the provider when it fails.
func (a *attempt) save(ctx context.Context, plan any) error {
	raw, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	a.intent.Plan = raw
	return a.journal.store.SaveIntentPlan(ctx, a.intent)
}

// run takes the steps of a plan. A resumed run is handed the plan as far as the earlier one got.
type run[P, T any] func(ctx context.Context, a *attempt, plan P) (outcome[T], error)

// perform carries a call through, or returns what an earlier equal call returned. While that one still runs, it waits.
func perform[P, T any](ctx context.Context, j *journal, c call, run run[P, T]) (Answer[T], error) {
	intent, err := j.intentOf(ctx, c)
	if err != nil {
		return Answer[T]{}, err
	}
	waiting, cancel := j.waiting(ctx)
	defer cancel()
	for waited := false; ; {
		ours := j.start(ctx, intent, c.repeatable)
		there, began, err := j.begin(ctx, c, ours, waited)
		if began {
			answer, err := finish(ctx, &attempt{journal: j, intent: ours, from: originOf(ctx, c), sameFor: c.sameFor}, run)
			if wasTakenOver(err) && pause(waiting, pollEvery) == nil {
				continue
			}
			return answer, err
		}
		j.own.end(ours.Owner)
		answer, known := j.answers.of(there)
		switch {
		case err != nil:
			return Answer[T]{}, err
		case known && j.fresh(there, c):
			j.metrics.Intent(c.operation, "replayed")
			return replay[T](answer)
		case !j.fresh(there, c) && (there.State == store.IntentDone || there.Kept) && !j.runs(there): // too long ago to count
			if err := j.store.ReleaseIntent(ctx, there, ""); err != nil {
				return Answer[T]{}, err
			}
		case intent.Kept && !sameRequest(there, intent):
			return Answer[T]{}, fault.New(fault.Conflict, fault.ReasonIdempotencyReused,
				"This Idempotency-Key was used for another request. Use a new key for a new request.")
		case there.State == store.IntentDone && !intent.Kept && c.undone != nil && c.undone(ctx, there):
			if err := j.store.DropIntentsOfEffect(ctx, there.TenantID, there.ConnectionID, there.Operation, there.EffectRef); err != nil {
				return Answer[T]{}, err
			}
		case there.State == store.IntentDone:
			j.metrics.Intent(c.operation, "replayed")
			return replay[T](there)
		case j.runs(there): // the same call is under way: its answer is this one's
			err := c.write.aside(func() error { return j.await(waiting, there) })
			waited = true
			if waiting.Err() != nil {
				return Answer[T]{}, j.stillRunning(ctx, there)
			}
			if err != nil {
				return Answer[T]{}, err
			}
		case there.ConnectionID == "":
			return Answer[T]{}, fault.Unknowable("An earlier try was cut off, and its connection was removed since, so it will not be known whether the provider acted. " + lookAdvice(there))
		default:
			a, took, err := j.takeOver(ctx, there, c.repeatable)
			if err != nil {
				return Answer[T]{}, err
			}
			if !took {
				continue
			}
			a.from, a.sameFor = originOf(ctx, c), c.sameFor
			answer, err := finish(ctx, a, run)
			if wasTakenOver(err) && pause(waiting, pollEvery) == nil {
				continue
			}
			return answer, err
		}
	}
}

// waiting is the time for which a call may wait for an equal one: its own, but for what it takes to say that the other
// one still runs.
func (j *journal) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	left := j.patience
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	return context.WithTimeout(ctx, left-min(answerMargin, left/4))
}

// stillRunning is the failure of a call that has waited for an equal one in vain.
func (j *journal) stillRunning(ctx context.Context, there store.Intent) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !there.Kept {
		return context.DeadlineExceeded
	}
	f := fault.New(fault.Conflict, fault.ReasonIdempotencyRunning,
		"The first request with this Idempotency-Key is still running. Repeat it to get its answer.")
	f.RetryAfter = max(time.Second, there.LeaseUntil.Sub(j.leases()))
	return f
}

// begin records the intent, or answers that of an equal call. Where this call or another has waited for an equal one, that
// is likely to be there: then it is looked for first, since many who try to write make others wait for the store.
func (j *journal) begin(ctx context.Context, c call, intent store.Intent, waited bool) (there store.Intent, began bool, err error) {
	if intent.Kept && (waited || j.waiters.has(intent)) {
		there, found, err := j.store.Intent(ctx, intent.TenantID, intent.Operation, intent.Key)
		if err != nil || found {
			return there, false, err
		}
	}
	if c.sameFor > 0 && !intent.Kept {
		recent, found, err := j.store.RecentIntent(ctx, intent.TenantID, intent.Operation, intent.DedupeKey, j.now().Add(-c.sameFor))
		if err != nil || found {
			return recent, false, err
		}
	}
	there, began, err = j.store.BeginIntent(ctx, intent)
	if err != nil {
		j.refuse(ctx, intent)
	}
	return there, began, err
}

// refuse sees to it that a call is not carried out whose caller is told that it was not recorded, should it be recorded all
// the same.
func (j *journal) refuse(ctx context.Context, intent store.Intent) {
	if ctx.Err() != nil { // it is the caller who is gone, and not the store
		record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
		defer cancel()
		if j.store.ReleaseIntent(record, intent, "") == nil {
			return
		}
	}
	j.refused.add(intent)
}

// takeOver makes an intent ours whose run is over.
func (j *journal) takeOver(ctx context.Context, there store.Intent, repeatable bool) (*attempt, bool, error) {
	ours := j.start(ctx, there, repeatable)
	took, err := j.store.TakeOverIntent(ctx, there, ours, j.now())
	if err != nil || !took {
		j.own.end(ours.Owner)
	}
	return &attempt{journal: j, intent: ours, resumed: true, told: there.State == store.IntentUnknown}, took, err
}

// start returns the intent as a run of this process owns it within ctx. The run counts as one that goes on until
// finish, or own.end.
func (j *journal) start(ctx context.Context, i store.Intent, repeatable bool) store.Intent {
	j.announce.Do(func() {
		if err := j.store.Announce(j.owner); err != nil {
			j.log.WarnContext(ctx, "other processes cannot see that this one lives; its leases count", "error", err)
		}
	})
	i.Owner, i.State = j.owner+"/"+rand.Text(), store.IntentRunning
	short := repeatable && !j.store.TracksProcesses()
	lasts := j.deadline
	switch end, ok := ctx.Deadline(); {
	case short:
		lasts = j.short
	case ok:
		lasts = time.Until(end) + leaseMargin
	default:
		lasts += leaseMargin
	}
	i.LeaseUntil = j.leases().Add(lasts)
	j.own.add(i, short)
	return i
}

// finish runs an attempt by the plan in its intent and records what came of it.
func finish[P, T any](ctx context.Context, a *attempt, run run[P, T]) (Answer[T], error) {
	defer a.journal.own.end(a.intent.Owner)
	var plan P
	if err := json.Unmarshal(a.intent.Plan, &plan); err != nil {
		return Answer[T]{}, err
	}
	done, err := run(ctx, a, plan)
	// What follows must be recorded even when the caller left or the deadline passed.
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err != nil {
		return Answer[T]{}, a.failed(record, err)
	}
	body, err := json.Marshal(done.record)
	if err != nil {
		return Answer[T]{}, err
	}
	if first, overtaken := a.keep(record, body, done.ref, done.seen); overtaken {
		return replay[T](first)
	}
	return Answer[T]{Record: done.record, Body: body}, nil
}

// wasTakenOver reports whether a run ended because another one has its intent, whose answer is the call's.
func wasTakenOver(err error) bool {
	return err != nil && fault.From(err).Reason == store.ReasonIntentLost
}

// failed closes the intent of a run that failed and answers what to tell the caller. A failure that surely had no
// effect leaves nothing behind. Where the provider may have acted, the intent stays, and the caller is told that the
// outcome is unknown rather than that it failed.
func (a *attempt) failed(ctx context.Context, err error) error {
	f := fault.From(err)
	a.mu.Lock()
	defer a.mu.Unlock()
	if wasTakenOver(err) {
		return f
	}
	if a.harmless(f) {
		a.end(ctx, "", audit.Failed(f.Reason))
		return f
	}
	underWay := a.acting && !a.repeatable && (f.Code == fault.Timeout || f.Code == fault.Canceled)
	stopped := a.alone && f.Code == fault.Canceled
	told := a.unknownOutcome(f)
	outcome := audit.Unknown(fault.From(told).Reason)
	if a.told || stopped {
		outcome = ""
	}
	if underWay || stopped {
		a.journal.own.keep(a.intent.Owner, a.journal.grace+leaseMargin)
		// The call may still arrive at the provider: until it surely has, nobody may take the intent up. And where the
		// settler was stopped, the end of the lease brings another one sooner than its patience with what stays unknown.
		a.extend(ctx, outcome)
	} else {
		a.end(ctx, store.IntentUnknown, outcome)
	}
	return told
}

// close ends the run in the store without a word in the audit, which has said it already.
func (a *attempt) close(ctx context.Context, state string) { a.end(ctx, state, "") }

// end ends the run in the store, with the outcome that the audit is to say.
func (a *attempt) end(ctx context.Context, state, outcome string) {
	if state == "" {
		a.count("failed")
	} else if outcome != "" {
		a.count("unknown")
	}
	if err := a.journal.store.ReleaseIntent(ctx, a.intent, state, a.rowsIfAny(ctx, outcome)...); err != nil {
		a.journal.log.ErrorContext(ctx, "an intent could not be closed; its lease will end", "operation", a.intent.Operation, "error", err)
	}
}

func (a *attempt) count(outcome string) { a.journal.metrics.Intent(a.intent.Operation, outcome) }

// extend keeps the intent ours while its write may be under way.
func (a *attempt) extend(ctx context.Context, outcome string) {
	longer := a.intent
	longer.LeaseUntil = a.journal.leases().Add(a.journal.grace + leaseMargin)
	if outcome != "" {
		a.count("unknown")
	}
	rows := a.rowsIfAny(ctx, outcome)
	err := a.journal.store.ExtendIntent(ctx, longer, rows...)
	switch {
	case err == nil:
		a.told = a.told || len(rows) > 0
	case fault.From(err).Code != fault.Conflict: // a conflict: the answer has come meanwhile, see late
		a.journal.log.ErrorContext(ctx, "the lease of an intent could not be extended", "operation", a.intent.Operation, "error", err)
	}
}

// late settles the intent of a write whose answer came when its caller had already been told that the deadline passed.
// A write that is repeatable is settled by repeating it, which need not wait for that.
func late[R, T any](a *attempt, made func(context.Context, R) (outcome[T], error)) func(result any, err error) {
	return func(result any, err error) {
		if a.repeatable {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), recordWait)
		defer cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		var done outcome[T]
		if err == nil {
			answer, _ := result.(R)
			done, err = made(ctx, answer)
		}
		var body []byte
		if err == nil {
			body, err = json.Marshal(done.record)
		}
		switch {
		case err == nil:
			a.keep(ctx, body, done.ref, done.seen)
		case a.harmless(fault.From(err)):
			a.end(ctx, "", audit.Failed(fault.From(err).Reason))
		case a.told:
			a.close(ctx, store.IntentUnknown)
		default:
			a.end(ctx, store.IntentUnknown, audit.Unknown(fault.From(err).Reason))
		}
	}
}

// keep records the answer. Where another run has recorded one first, it returns that: it is the answer that repeats
// get. While the store is away the process keeps the answer itself.
func (a *attempt) keep(ctx context.Context, body []byte, ref string, seen []store.EventSeen) (first store.Intent, overtaken bool) {
	if a.alone {
		a.count("settled")
	} else {
		a.count("done")
	}
	a.intent.Answer, a.intent.EffectRef = body, ref
	err := a.record(ctx, seen)
	if err == nil {
		return a.intent, false
	}
	if fault.From(err).Code == fault.Conflict {
		first, found, err := a.journal.store.Intent(ctx, a.intent.TenantID, a.intent.Operation, a.intent.Key)
		return first, err == nil && found && first.State == store.IntentDone && first.EffectKey == a.intent.EffectKey
	}
	kept := a.journal.answers.add(a.intent, func(ctx context.Context) error {
		err := a.record(ctx, seen)
		if err == nil || fault.From(err).Code == fault.Conflict || fault.From(err).Code == fault.NotFound {
			a.journal.own.remove(a.intent.Owner)
			return nil
		}
		return err
	})
	a.journal.log.ErrorContext(ctx, "the store does not take an answer", "operation", a.intent.Operation,
		"kept_until_it_does", kept, "error", err)
	if kept {
		a.journal.own.keep(a.intent.Owner, a.journal.keep)
	}
	return a.intent, false
}

// record writes the answer, the events seen and the row of the audit.
func (a *attempt) record(ctx context.Context, seen []store.EventSeen) error {
	rows, err := a.rows(ctx, audit.Done)
	if err != nil {
		return err
	}
	return a.journal.store.FinishIntent(ctx, a.intent, seen, rows...)
}

// intentOf writes a call down as an intent.
func (j *journal) intentOf(ctx context.Context, c call) (store.Intent, error) {
	plan, err := json.Marshal(c.plan)
	if err != nil {
		return store.Intent{}, err
	}
	request := plan
	if c.same != nil {
		if request, err = json.Marshal(c.same); err != nil {
			return store.Intent{}, err
		}
	}
	// What rows are looked for by, or what providers are told, must not tell what the request was to whoever guesses.
	hashed, err := j.store.Digest(ctx, string(request))
	if err != nil {
		return store.Intent{}, err
	}
	intent := store.Intent{
		TenantID: c.caller.Tenant.ID, Operation: c.operation, ConnectionID: c.connectionID,
		Kept: c.write.IdempotencyKey != "", RequestHash: digest(string(request)), Plan: plan, State: store.IntentRunning,
		CreatedAt: j.now(), UpdatedAt: j.now(),
	}
	switch {
	case c.sameFor > 0:
		intent.DedupeKey = hex.EncodeToString(digest(c.caller.KeyID, c.operation, c.connectionID, hashed))
	case c.about != "":
		intent.DedupeKey = subjectKey(c.connectionID, c.about)
	}
	switch {
	case intent.Kept:
		intent.Key = "key:" + c.write.IdempotencyKey
		// The same key and request name the same effect at the provider even if our own record of it were lost.
		intent.EffectKey = effectKey(digest(intent.TenantID, intent.Operation, intent.Key, c.connectionID, hashed))
	case c.sameFor > 0:
		intent.Key = "same:" + intent.DedupeKey
		intent.EffectKey = effectKey(digest(rand.Text()))
	default:
		intent.Key = "once:" + rand.Text()
		intent.EffectKey = effectKey(digest(intent.Key))
	}
	return intent, nil
}

// subjectKey is what the calls share that change the same thing.
func subjectKey(connectionID, about string) string {
	return hex.EncodeToString(digest(connectionID, about))
}

// fresh reports whether an earlier intent still counts for this call.
func (j *journal) fresh(there store.Intent, c call) bool {
	if there.Kept {
		return j.now().Sub(there.CreatedAt) < j.keep
	}
	return j.now().Sub(there.CreatedAt) < c.sameFor
}

// sameRequest reports whether two intents are of one request. An answer outlives its connection.
func sameRequest(there, now store.Intent) bool {
	return string(there.RequestHash) == string(now.RequestHash) && (there.ConnectionID == now.ConnectionID || there.ConnectionID == "")
}

func replay[T any](i store.Intent) (Answer[T], error) {
	var record T
	if err := json.Unmarshal(i.Answer, &record); err != nil {
		return Answer[T]{}, err
	}
	return Answer[T]{Record: record, Body: i.Answer, Replayed: true}, nil
}

// digest hashes parts so that no two lists of parts collide.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// effectKey spells a digest in the letters that every provider takes as part of an id: base32hex of RFC 4648 section 7
// in lower case, which is also what Google Calendar demands of event ids.
func effectKey(sum []byte) string {
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
}

// pause waits, or answers why it could not.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
