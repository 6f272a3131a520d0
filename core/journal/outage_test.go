package journal

import (
	"context"
	"testing"

	"frontdesk/core/store/storetest"
)

// TestAnswersBeyondTheBoundAreRecoveredAsAfterACrash: a process that keeps all the answers it may holds up no
// repeat of a call whose answer it has to let go.
func TestAnswersBeyondTheBoundAreRecoveredAsAfterACrash(t *testing.T) {
	w := newWorld(t, storetest.SQLite)
	j := w.journal(Operation{})
	j.answers.list = make([]pendingAnswer, maxAnswers)
	for n := range j.answers.list {
		j.answers.list[n].record = func(context.Context) error { return nil }
	}
	_, err := w.database().Exec(`CREATE TRIGGER failing BEFORE UPDATE OF state ON intents WHEN NEW.state = 'done'
		BEGIN SELECT RAISE(ABORT, 'not now'); END`)
	w.check(err)
	_, err = w.perform(j, "late", "front")
	w.check(err)
	if len(j.answers.list) != maxAnswers {
		t.Fatalf("the process keeps %d answers", len(j.answers.list))
	}
	_, err = w.database().Exec(`DROP TRIGGER failing`)
	w.check(err)
	if again, err := w.perform(j, "late", "front"); err != nil || again.Record.Door != "front" ||
		len(w.opened) != 1 {
		t.Errorf("the repeat is answered %s, %v; opened %v", again.Body, err, w.opened)
	}
}
