package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// refuseAnswers makes the store fail at recording answers, and at nothing else, until the returned function is called.
func (w *world) refuseAnswers() (again func()) {
	w.tb.Helper()
	_, err := w.database().Exec(`CREATE TRIGGER failing BEFORE UPDATE OF state ON intents WHEN NEW.state = 'done'
		BEGIN SELECT RAISE(ABORT, 'not now'); END`)
	w.check(err)
	return func() {
		_, err := w.database().Exec(`DROP TRIGGER failing`)
		w.check(err)
	}
}

// TestAnAnswerThatWaitsToBeRecordedIsOfItsRequestAlone: the same key with another request is refused, as it is when
// the answer has been recorded.
func TestAnAnswerThatWaitsToBeRecordedIsOfItsRequestAlone(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	again := w.refuseAnswers()
	_, err := w.perform(j, "k", "front")
	w.check(err)
	if got, err := w.perform(j, "k", "front"); err != nil || !got.Replayed || got.Record.Door != "front" {
		t.Errorf("the repeat is answered %s, %v", got.Body, err)
	}
	for _, when := range []string{"while the store fails", "when it does no more"} {
		got, err := w.perform(j, "k", "back")
		if err == nil || fault.From(err).Reason != fault.ReasonIdempotencyReused {
			t.Errorf("%s, another request with the key is answered %s, %v", when, got.Body, err)
		}
		if when == "while the store fails" {
			again()
		}
	}
}

// TestAnAnswerThatWaitsToBeRecordedCanBeStale: who asks without a key, after somebody has undone the effect, is not
// told that it is there.
func TestAnAnswerThatWaitsToBeRecordedCanBeStale(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	undone := false
	open := func() (Answer[door], error) {
		c := w.call("", "front")
		c.DedupeWindow = time.Minute
		c.Stale = func(context.Context, store.Intent) bool { return undone && len(w.opened) == 1 }
		return Perform(t.Context(), j, c, w.handle)
	}
	again := w.refuseAnswers()
	_, err := open()
	w.check(err)
	if got, err := open(); err != nil || !got.Replayed {
		t.Errorf("the repeat is answered %s, %v", got.Body, err)
	}
	undone = true
	if got, err := open(); err == nil {
		t.Errorf("while the store fails, it is answered %s", got.Body)
	}
	again()
	if got, err := open(); err != nil || got.Replayed || len(w.opened) != 2 {
		t.Errorf("it is answered %s, %v; opened %v", got.Body, err, w.opened)
	}
	if len(j.answers.list) != 0 || len(j.local.runs) != 0 {
		t.Errorf("%d answers and %d runs are left", len(j.answers.list), len(j.local.runs))
	}
}

// TestNothingIsLeftOfARunWhoseAnswerCameLate: the process lets go of it when the provider has answered.
func TestNothingIsLeftOfARunWhoseAnswerCameLate(t *testing.T) {
	lost := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The connection broke.")
	for how, answer := range map[string]func(late func(any, error), r *Run){
		"by an answer":                     func(late func(any, error), r *Run) { late(door{Door: "front"}, nil) },
		"by an error":                      func(late func(any, error), r *Run) { late(nil, lost) },
		"by what does not settle the call": func(_ func(any, error), r *Run) { r.LateUnknown(nil, lost) },
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite)
			j := w.journal(Operation{})
			var answers []func()
			for n := range 3 {
				c := w.call(fmt.Sprint(n), "front")
				c.Repeatable = false
				_, err := Perform(t.Context(), j, c, func(_ context.Context, r *Run, _ doorPlan) (Result[door], error) {
					r.ExpectEffect(false)
					late := Late(r, func(_ context.Context, d door) (Result[door], error) {
						return Result[door]{Record: d, Ref: d.Door}, nil
					})
					answers = append(answers, func() { answer(late, r) })
					return Result[door]{}, fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, "No answer in time.")
				})
				if fault.From(err).Code != fault.Timeout {
					t.Fatal(err)
				}
			}
			if len(j.local.runs) != 3 {
				t.Fatalf("%d runs count as running, want 3", len(j.local.runs))
			}
			for _, answer := range answers {
				answer()
			}
			if len(j.local.runs) > 0 {
				t.Errorf("%d runs are left", len(j.local.runs))
			}
		})
	}
}

// TestAnswersBeyondTheBoundAreRecoveredAsAfterACrash: a process that keeps all the answers it may holds up no
// repeat of a call whose answer it has to let go.
func TestAnswersBeyondTheBoundAreRecoveredAsAfterACrash(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	for range maxOwed {
		j.answers.add(&owedWrite{write: func(context.Context) error { return nil }})
	}
	again := w.refuseAnswers()
	_, err := w.perform(j, "late", "front")
	w.check(err)
	if len(j.answers.list) != maxOwed {
		t.Fatalf("the process keeps %d answers", len(j.answers.list))
	}
	again()
	if again, err := w.perform(j, "late", "front"); err != nil || again.Record.Door != "front" ||
		len(w.opened) != 1 {
		t.Errorf("the repeat is answered %s, %v; opened %v", again.Body, err, w.opened)
	}
}

// TestWhatIsOwedIsWrittenUntilTheStoreTakesIt: an outage keeps all of it, what can never be written is dropped, and
// what the store refuses holds up nothing else and is tried more and more seldom.
func TestWhatIsOwedIsWrittenUntilTheStoreTakesIt(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	var log strings.Builder
	j.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
	failing := func(c fault.Code) error { return fault.New(c, fault.ReasonInternal, ".") }
	answers := map[string][]error{
		"refused": {failing(fault.Internal), nil},
		"hanging": slices.Repeat([]error{failing(fault.Unavailable)}, 100),
		"there":   {failing(fault.Conflict)},
		"gone":    {failing(fault.NotFound)},
		"last":    {nil},
	}
	var written []string
	for _, name := range []string{"refused", "hanging", "there", "gone", "last"} {
		j.owe("", func(ctx context.Context) error {
			written = append(written, name)
			if ctx.Err() != nil {
				return failing(fault.Unavailable)
			}
			err := answers[name][0]
			answers[name] = answers[name][1:]
			return err
		})
	}
	away, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.writeHeldUp(away, w.now()); err == nil || fmt.Sprint(written) != "[refused]" {
		t.Errorf("during an outage: wrote %v, %v", written, err)
	}
	w.cutOff(w.journal(Operation{}), "k", "front")
	for round, want := range []string{"[refused hanging there gone last]", "[refused hanging]", "[]", "[hanging]"} {
		written = nil
		w.recover(j)
		if fmt.Sprint(written) != want {
			t.Errorf("round %d writes %v; want %s", round, written, want)
		}
		w.advance(recoveryInterval)
	}
	if len(w.opened) != 1 || strings.Count(log.String(), "the store refuses") != 1 {
		t.Errorf("opened %v; the log says %q", w.opened, &log)
	}
}

// TestManyWritesThatHangHoldUpNoOther: each takes the time of a call of the store, as on rows that somebody has locked.
func TestManyWritesThatHangHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Options{Log: slog.New(slog.DiscardHandler)})
		for range 20 {
			j.owe("", func(context.Context) error {
				time.Sleep(4 * time.Second)
				return fault.New(fault.Internal, fault.ReasonInternal, ".")
			})
		}
		written := 0
		write := func(context.Context) error { written++; return nil }
		j.owe("", write)
		j.answers.add(&owedWrite{write: write})
		for range 50 {
			if err := j.writeHeldUp(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(recoveryInterval)
		}
		if written != 2 {
			t.Errorf("%d of 2 writes were made", written)
		}
	})
}

// TestACallWhoseWithdrawalTheStoreRefusesIsNotCarriedOut: its caller was told that it was not recorded.
func TestACallWhoseWithdrawalTheStoreRefusesIsNotCarriedOut(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	_, err := w.database().Exec(`CREATE TRIGGER failing BEFORE DELETE ON intents BEGIN SELECT RAISE(ABORT, 'no'); END`)
	w.check(err)
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: j.opts.Owner + "/1", ConnectionID: "c", EffectKey: "e",
		Plan: []byte("{}"), State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(), LeaseUntil: w.now(),
	}
	_, _, err = j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
	w.check(err)
	j.withdraw(t.Context(), i)
	w.recover(j)
	if len(w.opened) > 0 {
		t.Errorf("opened %v", w.opened)
	}
	_, err = w.database().Exec(`DROP TRIGGER failing`)
	w.check(err)
	w.advance(maxOwedWait)
	w.recover(j)
	if _, found, err := j.opts.Store.Intent(t.Context(), "t", opOpen, "k"); found || err != nil || len(w.opened) > 0 {
		t.Errorf("it is there: %t, %v; opened %v", found, err, w.opened)
	}
}

// TestAFullDiskOfSecondsCarriesOutNoRefusedCall: a process withdraws such a call before its peers take it up, once
// there is room again.
func TestAFullDiskOfSecondsCarriesOutNoRefusedCall(t *testing.T) {
	w := newWorld(t, storetest.Postgres)
	j, peer := w.journal(Operation{}), w.journal(Operation{})
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: j.opts.Owner + "/1", ConnectionID: "c", EffectKey: "e",
		Plan: []byte("{}"), State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(),
		LeaseUntil: w.now().Add(defaultLease),
	}
	_, _, err := j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
	w.check(err)
	for _, query := range []string{
		"CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full' USING ERRCODE = '53100'; END $$",
		"CREATE TRIGGER no_room BEFORE INSERT OR UPDATE OR DELETE ON intents FOR EACH ROW EXECUTE FUNCTION no_room()",
		"CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON write_probe FOR EACH ROW EXECUTE FUNCTION no_room()",
	} {
		_, err = w.database().Exec(query)
		w.check(err)
	}
	j.withdraw(t.Context(), i)
	for range 8 {
		if err := j.RecoverOnce(t.Context()); !errors.Is(err, fault.Unavailable) {
			t.Fatal(err)
		}
		w.advance(recoveryInterval)
	}
	_, err = w.database().Exec("DROP FUNCTION no_room CASCADE")
	w.check(err)
	w.recover(j)
	w.advance(recoveryInterval)
	w.recover(peer)
	if len(w.opened) > 0 {
		t.Errorf("opened %v", w.opened)
	}
}

// TestACallThatIsRefusedWhileRecoveryLooksIsNotCarriedOut: the store recorded the intent, and its reply was lost.
func TestACallThatIsRefusedWhileRecoveryLooksIsNotCarriedOut(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: j.opts.Owner + "/1", ConnectionID: "c", EffectKey: "e",
		Plan: []byte("{}"), State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(), LeaseUntil: w.now(),
	}
	refused := sync.OnceFunc(func() {
		_, _, err := j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
		w.check(err)
		j.withdraw(t.Context(), i)
	})
	j.opts.LeaseClock = func() time.Time { // the first that is asked when recovery looks for intents
		refused()
		return w.now()
	}
	w.recover(j)
	if len(w.opened) > 0 || len(j.owed.list) != 1 {
		t.Errorf("opened %v; %d writes are owed", w.opened, len(j.owed.list))
	}
	w.recover(j)
	if _, found, err := j.opts.Store.Intent(t.Context(), "t", opOpen, "k"); found || err != nil || len(w.opened) > 0 {
		t.Errorf("it is there: %t, %v; opened %v", found, err, w.opened)
	}
}

// TestACallThatIsRecordedAfterItsWithdrawalIsNotCarriedOut: the statement that begins it may arrive late, as a network
// delivers it that was cut. The caller can repeat the call all the same.
func TestACallThatIsRecordedAfterItsWithdrawalIsNotCarriedOut(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: j.opts.Owner + "/1", ConnectionID: "c", EffectKey: "e",
		Plan: []byte("{}"), State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(), LeaseUntil: w.now(),
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	j.withdraw(gone, i)
	_, began, err := j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
	if err != nil || !began || len(j.owed.list) > 0 {
		t.Fatalf("it is withdrawn and recorded: %t %v; %d writes are owed", began, err, len(j.owed.list))
	}
	w.recover(j)
	if _, found, err := j.opts.Store.Intent(t.Context(), "t", opOpen, "k"); found || err != nil || len(w.opened) > 0 {
		t.Errorf("it is there: %t, %v; opened %v", found, err, w.opened)
	}
}

// TestAProcessThatEndsWritesWhatTheStoreTakesAgain, although no round of recovery has come since the outage.
func TestAProcessThatEndsWritesWhatTheStoreTakesAgain(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	again := w.refuseAnswers()
	_, err := w.perform(j, "k", "front")
	w.check(err)
	owed := 0
	j.owe("", func(context.Context) error { owed++; return nil })
	again()
	j.Close()
	there, found, err := j.opts.Store.Intent(t.Context(), "t", opOpen, "key:k")
	w.check(err)
	if !found || there.State != store.IntentDone || owed != 1 {
		t.Errorf("the call is %s, and %d owed writes were made", there.State, owed)
	}
}

// TestAProcessThatEndsLosesOnlyWhatHangs, not what could be written beside it.
func TestAProcessThatEndsLosesOnlyWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := New(Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
		hangs := func(ctx context.Context) error { <-ctx.Done(); return fault.From(ctx.Err()) }
		written := 0
		j.owe("", hangs)
		j.owe("", hangs)
		j.answers.add(&owedWrite{write: func(ctx context.Context) error {
			if ctx.Err() == nil {
				written++
			}
			return ctx.Err()
		}})
		began := time.Now()
		j.Close()
		if took := time.Since(began); written != 1 || len(j.owed.list) != 2 || took > defaultRecordTimeout {
			t.Errorf("%d writes were made, and %d are owed, after %v", written, len(j.owed.list), took)
		}
	})
}

// TestAnAnswerThatWaitsToBeRecordedKeepsNoRequest, and is audited when it was given.
func TestAnAnswerThatWaitsToBeRecordedKeepsNoRequest(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	w.audit(j)
	again := w.refuseAnswers()
	given := w.now()
	var request weak.Pointer[byte]
	_, err := Perform(t.Context(), j, w.call("k", strings.Repeat("front", 1<<12)), func(
		_ context.Context, r *Run, _ doorPlan,
	) (Result[door], error) {
		request = weak.Make(&r.intent.Plan[0])
		return Result[door]{Record: door{Door: "front"}, Ref: "front"}, nil
	})
	w.check(err)
	runtime.GC()
	if request.Value() != nil || len(j.answers.list) != 1 {
		t.Errorf("%d answers wait, and the request is kept: %t", len(j.answers.list), request.Value() != nil)
	}
	again()
	w.advance(time.Hour)
	w.recover(j)
	var at int64
	w.check(w.database().QueryRow("SELECT at FROM audit WHERE action = $1", opOpen).Scan(&at))
	if at != given.UnixMilli() {
		t.Errorf("the answer of %v is audited at %v", given, time.UnixMilli(at).UTC())
	}
}

// TestWhatIsOwedKeepsNoRequest: an outage may keep many calls, whose requests are large.
func TestWhatIsOwedKeepsNoRequest(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	away, cancel := context.WithCancel(t.Context())
	cancel()
	for name, end := range map[string]func(*Run){
		"a run that ends":       func(r *Run) { r.release(away, "", audit.Failed(fault.ReasonInternal)) },
		"a row of the audit":    func(r *Run) { r.auditAlone(away, audit.Failed(fault.ReasonInternal)) },
		"a run with no outcome": func(r *Run) { r.release(away, store.IntentUnknown, "") },
	} {
		owed := len(j.owed.list)
		request := func() weak.Pointer[byte] {
			plan := make([]byte, 1<<16)
			end(&Run{journal: j, intent: store.Intent{TenantID: "t", Operation: opOpen, Key: name, Plan: plan}})
			return weak.Make(&plan[0])
		}()
		runtime.GC()
		if request.Value() != nil || len(j.owed.list) != owed+1 {
			t.Errorf("%s: %d are owed, and the request is kept: %t", name, len(j.owed.list)-owed, request.Value() != nil)
		}
	}
}

// audit makes a journal record what it does.
func (w *world) audit(j *Journal) {
	w.tb.Helper()
	keys, err := vault.Open("", w.tb.TempDir())
	w.check(err)
	j.opts.Audit = audit.New(audit.Options{
		Store: j.opts.Store, Vault: keys, Now: w.now, Log: slog.New(slog.DiscardHandler),
	})
	w.tb.Cleanup(j.opts.Audit.Close)
	w.check(j.opts.Audit.Ready(w.tb.Context()))
}

// TestAWriteThatGoesOnIsNotForgottenAlthoughTheStoreWasAway when its caller was told that the outcome is not known.
func TestAWriteThatGoesOnIsNotForgottenAlthoughTheStoreWasAway(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	j.opts.WriteGrace = time.Minute
	w.audit(j)
	_, err := w.database().Exec(`CREATE TRIGGER failing BEFORE UPDATE OF lease_until ON intents
		BEGIN SELECT RAISE(ABORT, 'not now'); END`)
	w.check(err)
	var run *Run
	c := w.call("k", "front")
	c.Repeatable = false
	_, err = Perform(t.Context(), j, c, func(_ context.Context, r *Run, _ doorPlan) (Result[door], error) {
		r.ExpectEffect(false)
		run = r
		return Result[door]{}, fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, "No answer in time.")
	})
	if err == nil {
		t.Fatal("it is answered")
	}
	_, err = w.database().Exec(`DROP TRIGGER failing`)
	w.check(err)
	w.check(j.writeHeldUp(t.Context(), w.now()))
	there, _, err := j.opts.Store.Intent(t.Context(), "t", opOpen, "key:k")
	w.check(err)
	if least := w.now().Add(j.opts.WriteGrace); there.LeaseUntil.Before(least) {
		t.Errorf("others may carry the call out from %v, while its write may be under way until %v", there.LeaseUntil, least)
	}
	run.LateUnknown(nil, nil)
	w.open = func(*Run) error { return fault.Unknowable("Nobody can tell.") }
	w.recover(j)
	var rows int
	w.check(w.database().QueryRow("SELECT count(*) FROM audit WHERE action = $1", opOpen).Scan(&rows))
	if rows != 1 {
		t.Errorf("the audit has %d rows", rows)
	}
}

// TestAnEndThatIsOwedIsAuditedOnceAndWhenItCame, although the store took it and its answer was lost.
func TestAnEndThatIsOwedIsAuditedOnceAndWhenItCame(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{GaveUp: func(json.RawMessage) bool { return true }})
	w.audit(j)
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: "o", ConnectionID: "c", Plan: []byte("{}"),
		State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(), LeaseUntil: w.now(),
	}
	_, began, err := j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
	w.check(err)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	ended := w.now()
	r := &Run{journal: j, operation: j.operations[opOpen], intent: i, origin: origin{actor: "pat", tenant: "acme"}}
	r.release(away, store.IntentUnknown, audit.Unknown(fault.ReasonInternal))
	if !began || len(j.owed.list) != 1 {
		t.Fatalf("began %t, %d writes are owed", began, len(j.owed.list))
	}
	w.advance(time.Hour)
	w.check(j.owed.list[0].write(t.Context())) // and nobody hears that it worked
	w.check(j.writeHeldUp(t.Context(), w.now()))
	w.check(j.writeHeldUp(t.Context(), w.now()))
	var rows int
	var at int64
	w.check(w.database().QueryRow("SELECT count(*), max(at) FROM audit WHERE action = $1", opOpen).Scan(&rows, &at))
	if rows != 1 || at != ended.UnixMilli() || len(j.owed.list) > 0 {
		t.Errorf("%d rows, at %v; want one at %v; %d are owed", rows, time.UnixMilli(at).UTC(), ended, len(j.owed.list))
	}
}

// TestAnOutageOfManyCallsForgetsNoEndThatCameFirst: its intent is in the store, and would be carried out.
func TestAnOutageOfManyCallsForgetsNoEndThatCameFirst(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	i := store.Intent{
		TenantID: "t", Operation: opOpen, Key: "k", Owner: j.opts.Owner + "/1", ConnectionID: "c", EffectKey: "e",
		Plan: []byte("{}"), State: store.IntentRunning, CreatedAt: w.now(), UpdatedAt: w.now(), LeaseUntil: w.now(),
	}
	_, _, err := j.opts.Store.BeginIntent(t.Context(), i, time.Time{})
	w.check(err)
	away, cancel := context.WithCancel(t.Context())
	cancel()
	(&Run{journal: j, operation: j.operations[opOpen], intent: i}).release(away, "", audit.Failed(fault.ReasonInternal))
	for range maxOwed {
		j.owe("", func(context.Context) error { return nil })
	}
	if err := j.writeHeldUp(away, w.now()); err == nil || len(j.owed.list) != maxOwed {
		t.Errorf("during the outage: %v; %d writes are owed", err, len(j.owed.list))
	}
	w.recover(j)
	if len(w.opened) > 0 || len(j.owed.list) > 0 {
		t.Errorf("opened %v; %d writes are owed", w.opened, len(j.owed.list))
	}
}
