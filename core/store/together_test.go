package store_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// What is sent to PostgreSQL together takes effect as a whole or not at all, and leaves no transaction open.
func TestStatementsSentTogetherAreOneTransaction(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	s, db := storetest.Open(t, url), storetest.Database(t, url)
	connection(t, s, "c1")
	hold := store.Hold{ID: "h1", ConnectionID: "c1", CalendarID: "cal", From: noon, To: noon.Add(time.Hour),
		Until: noon.Add(time.Minute)}
	holding := store.Holding{Holds: []store.Hold{hold}, Plan: []byte(`{"held":true}`)}
	count := func(query string) (n int) {
		t.Helper()
		must(t, db.QueryRowContext(t.Context(), query).Scan(&n))
		return n
	}
	const open = `SELECT COUNT(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state LIKE 'idle in transaction%'`
	meeting := func(connection string) store.Attached {
		return store.Attached{Meetings: []store.Meeting{
			{TenantID: "acme", ConnectionID: connection, Reference: "mt", EventID: "e", EndsAt: noon},
		}}
	}
	row := store.AuditRow{UID: "u1", At: noon, Action: "book-meeting"}

	mine := intent(store.Intent{Key: "mine"})
	_, began, held, err := s.BeginIntentHolding(t.Context(), mine, holding, noon)
	must(t, err)
	equal(t, []bool{began, held}, []bool{true, true})
	recorded, _, err := s.Intent(t.Context(), "acme", mine.Operation, "mine")
	must(t, err)
	equal(t, string(recorded.Plan), `{"held":true}`)

	other := intent(store.Intent{Key: "other"}) // the hold is in the way
	later := holding
	later.Holds = []store.Hold{hold}
	later.Holds[0].ID = "h2"
	_, began, held, err = s.BeginIntentHolding(t.Context(), other, later, noon)
	must(t, err)
	equal(t, []bool{began, held}, []bool{true, false})
	equal(t, count("SELECT COUNT(*) FROM holds"), 1)
	equal(t, count(open), 0)

	mine.Answer = []byte("{}")
	refused(t, s.FinishIntent(t.Context(), mine, meeting("gone"), row), fault.NotFound,
		store.ReasonConnectionNotFound)
	equal(t, count(open), 0)
	lost := mine
	lost.EffectKey = "of another"
	refused(t, s.FinishIntent(t.Context(), lost, meeting("c1"), row), fault.Conflict, store.ReasonIntentLost)
	equal(t, count(open), 0)
	equal(t, count("SELECT COUNT(*) FROM meetings")+count("SELECT COUNT(*) FROM audit"), 0)
	must(t, s.FinishIntent(t.Context(), mine, meeting("c1"), row))
	equal(t, []int{count("SELECT COUNT(*) FROM meetings"), count("SELECT COUNT(*) FROM audit")}, []int{1, 1})
}

// A caller that leaves while the statements wait for a lock leaves nothing behind, though all of them are
// sent.
func TestStatementsSentTogetherEndWithTheirCaller(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	s, db := storetest.Open(t, url), storetest.Database(t, url)
	connection(t, s, "c1")
	locker := got(db.BeginTx(t.Context(), nil))(t)
	got(locker.ExecContext(t.Context(), "UPDATE connection_turns SET taken = taken"))(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ended := make(chan error, 1)
	go func() {
		_, _, _, err := s.BeginIntentHolding(ctx, intent(store.Intent{}), store.Holding{Holds: []store.Hold{{
			ID: "h1", ConnectionID: "c1", From: noon, To: noon.Add(time.Hour), Until: noon.Add(time.Hour),
		}}}, noon)
		ended <- err
	}()
	for waiting := 0; waiting == 0; runtime.Gosched() {
		must(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
	}
	leave()
	if err := <-ended; !errors.Is(err, fault.Canceled) {
		t.Errorf("got %v", err)
	}
	must(t, locker.Rollback())
	// The turn is free once the server has ended the transaction.
	got(db.ExecContext(t.Context(), "UPDATE connection_turns SET taken = taken"))(t)
	if _, found, err := s.Intent(t.Context(), "acme", "book-meeting", "k"); found || err != nil {
		t.Errorf("the intent is there: %v, %v", found, err)
	}
}
