package journal

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func TestARepeatHasTheFirstAnswer(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	first, err := w.perform(w.journal(Operation{}), "k", "front")
	w.check(err)
	again, err := w.perform(w.journal(Operation{}), "k", "front")
	w.check(err)
	if string(again.Body) != string(first.Body) || !again.Replayed || first.Replayed || len(w.opened) != 1 {
		t.Errorf("answered %s and %s, replayed %v; opened %v", first.Body, again.Body, again.Replayed, w.opened)
	}
	_, err = w.perform(w.journal(Operation{}), "k", "back")
	if fault.From(err).Reason != fault.ReasonIdempotencyReused || len(w.opened) != 1 {
		t.Errorf("the key for another request: %v", err)
	}
}

// laterPlan is the plan of a later version, to which the case of a door's name is nothing.
type laterPlan doorPlan

func (p laterPlan) Canonical() any { return doorPlan{Door: strings.ToLower(p.Door)} }

// Whoever repeats a call after an upgrade may meet a version that takes more requests for equal.
func TestARepeatHasTheFirstAnswerOfAnEarlierVersion(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	first, err := w.perform(w.journal(Operation{}), "k", "Front")
	w.check(err)
	later := func(name string) (Answer[door], error) {
		call := w.call("k", "")
		call.Plan = laterPlan{Door: name}
		return Perform(t.Context(), w.journal(Operation{}), call,
			func(ctx context.Context, r *Run, p laterPlan) (Result[door], error) {
				return w.handle(ctx, r, doorPlan(p))
			})
	}
	for _, name := range []string{"Front", "FRONT"} {
		again, err := later(name)
		if err != nil || string(again.Body) != string(first.Body) || len(w.opened) != 1 {
			t.Errorf("%s is answered %s, %v; opened %v", name, again.Body, err, w.opened)
		}
	}
	if _, err = later("back"); fault.From(err).Reason != fault.ReasonIdempotencyReused {
		t.Errorf("the key for another request: %v", err)
	}
}

func TestAnUnknownOperationIsRefusedBeforeAnythingIsRecorded(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	call := w.call("k", "front")
	call.Operation = "no-such"
	_, err := Perform(t.Context(), w.journal(Operation{}), call, w.handle)
	_, found, storeErr := w.store.Intent(t.Context(), "t", "no-such", "key:k")
	if fault.From(err).Code != fault.Internal || found || storeErr != nil || len(w.plans) != 0 {
		t.Errorf("%v; recorded %v, %v; handled %v", err, found, storeErr, w.plans)
	}
}

func TestWhatWasCutOffIsCarriedOnFromItsPlan(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	w.cutOff(w.journal(Operation{}), "k", "front")
	var unattended, resumed bool
	w.open = func(r *Run) error { unattended, resumed = r.Unattended(), r.Resumed(); return nil }
	j := w.journal(Operation{})
	w.recover(j)
	want := []doorPlan{{Door: "front"}, {Door: "front", Tried: true}}
	if !slices.Equal(w.plans, want) || !unattended || !resumed {
		t.Errorf("the plans were %+v, want %+v; unattended %v, resumed %v", w.plans, want, unattended, resumed)
	}
	answer, err := w.perform(j, "k", "front")
	if err != nil || !answer.Replayed || len(w.opened) != 1 {
		t.Errorf("the repeat is answered %+v, %v; opened %v", answer, err, w.opened)
	}
}

func TestACallThatWasOvertakenIsSuperseded(t *testing.T) {
	for name, overtaken := range map[string]bool{"a later call for the subject": true, "no other call": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite)
			var superseded []string
			j := w.journal(Operation{Supersede: func(_ context.Context, i store.Intent) error {
				superseded = append(superseded, i.Key)
				return nil
			}})
			w.cutOff(j, "old", "front")
			var want []string
			if overtaken {
				w.advance(time.Second)
				_, err := w.perform(j, "new", "front")
				w.check(err)
				want = []string{"key:old"}
			}
			w.recover(j)
			if !slices.Equal(superseded, want) || len(w.opened) != 1 {
				t.Errorf("superseded %v, want %v; opened %v", superseded, want, w.opened)
			}
		})
	}
}

func TestWhatAnOperationGaveUpIsLeftToCallers(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{GaveUp: func(plan json.RawMessage) bool {
		return strings.Contains(string(plan), "tried")
	}})
	w.cutOff(j, "k", "front")
	w.advance(time.Hour / 2)
	w.recover(j)
	if len(w.opened) != 0 {
		t.Fatal("recovery looks again")
	}
	readsNone := func(when string) {
		t.Helper()
		open, err := j.opts.Store.RecoverableIntents(t.Context(), w.now(), w.now(), 1)
		w.check(err)
		if len(open) > 0 {
			t.Errorf("%s, recovery would read %+v, in the place of another", when, open)
		}
	}
	readsNone("when it is given up")
	_, err := w.database().Exec("UPDATE intents SET lease_until = created_at") // as an earlier version left it
	w.check(err)
	w.recover(j)
	readsNone("after a round")
	answer, err := w.perform(j, "k", "front")
	if err != nil || answer.Replayed || len(w.opened) != 1 {
		t.Errorf("who asks again is answered %+v, %v", answer, err)
	}
}

// TestWhatAnEarlierVersionGaveUpHoldsUpNothing where the store refuses to leave it to callers.
func TestWhatAnEarlierVersionGaveUpHoldsUpNothing(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{GaveUp: func(plan json.RawMessage) bool { return strings.Contains(string(plan), "lost") }})
	w.cutOff(j, "k", "lost")
	w.cutOff(j, "other", "front")
	for _, query := range []string{
		"UPDATE intents SET lease_until = created_at",
		`CREATE TRIGGER failing BEFORE UPDATE OF lease_until ON intents WHEN NEW.state = 'unknown'
			BEGIN SELECT RAISE(ABORT, 'not now'); END`,
	} {
		_, err := w.database().Exec(query)
		w.check(err)
	}
	if err := j.RecoverOnce(t.Context()); err != nil || len(w.opened) != 1 {
		t.Errorf("opened %v, %v", w.opened, err)
	}
}

func TestWhatIsInProgressIsLookedAtMoreOften(t *testing.T) {
	for name, inProgress := range map[string]bool{"in progress": true, "unknown": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite)
			var keys []string
			j := w.journal(Operation{InProgress: func(context.Context) ([]string, error) { return keys, nil }})
			w.cutOff(j, "k", "front")
			w.open = func(r *Run) error {
				if inProgress {
					keys = []string{r.Intent().EffectKey}
				}
				return loseReply(r)
			}
			w.advance(time.Hour / 2) // so that the next try is not due at once
			w.recover(j)
			tried := len(w.plans)
			w.advance(PendingInterval)
			w.recover(j)
			if looked := len(w.plans) > tried; looked != inProgress {
				t.Errorf("looked at after %s: %v", PendingInterval, looked)
			}
		})
	}
}

func TestAnOperationAdvisesItsCallers(t *testing.T) {
	unknowable := func(*Run) error { return fault.Unknowable("Nothing tells.") }
	ring := func(_ *fault.Error, hasKey bool) string { return "Ring the bell." }
	look := func(began string) string { return "Open since " + began }
	for _, test := range []struct {
		name   string
		op     Operation
		key    string
		open   func(*Run) error
		repeat bool // whether a repeat is suggested
		want   string
	}{
		{"a key", Operation{}, "k", loseReply, true, "Repeat it unchanged, with the same Idempotency-Key if you gave one, to"},
		{"no key", Operation{}, "", loseReply, false, "look first"},
		{"no key, and idempotent", Operation{Idempotent: true}, "", loseReply, true,
			"Repeat the request unchanged"},
		{"words of its own", Operation{AdviseRepeat: ring}, "k", loseReply, true, "Ring the bell."},
		{"nothing will tell", Operation{}, "k", unknowable, false, "Look at the provider for what happened"},
		{"nothing will tell, own words", Operation{AdviseLook: look}, "k", unknowable, false, "Open since 20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, storetest.SQLite)
			w.open = test.open
			_, err := w.perform(w.journal(test.op), test.key, "front")
			if f := fault.From(err); f.RetryAfter > 0 != test.repeat || !strings.Contains(f.Detail, test.want) {
				t.Errorf("told %q, repeat after %s", f.Detail, f.RetryAfter)
			}
		})
	}
}
