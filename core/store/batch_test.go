package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fair"
	"frontdesk/core/fault"
)

// notes returns a store with a table for the writes of a test.
func notes(t testing.TB) *Store {
	s := sqliteStore(t)
	s.BoundCalls(time.Minute) // on a machine that is busy with other tests, a call may take its time
	if _, err := exec(t.Context(), s.write, "CREATE TABLE notes (n INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return s
}

func note(n int) func(ctx context.Context, tx *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := exec(ctx, tx, "INSERT INTO notes (n) VALUES ($1)", n)
		return err
	}
}

func noted(t *testing.T, s *Store) []int {
	t.Helper()
	all, err := listOf(t.Context(), s, func(row scanner) (n int, err error) { return n, row.Scan(&n) },
		"SELECT n FROM notes ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// together runs writes that become one batch, in their order: each begins to wait for its turn while the
// first runs, which ends when all wait.
func together(t *testing.T, s *Store, ctx context.Context, ops ...func(context.Context, *sql.Tx) error) []error {
	t.Helper()
	return togetherBy(t, s, ctx, s.change, ops...)
}

// togetherBy is together with the writes after the first made by change.
func togetherBy(
	t *testing.T, s *Store, ctx context.Context,
	change func(context.Context, func(context.Context, *sql.Tx) error) error,
	ops ...func(context.Context, *sql.Tx) error,
) []error {
	t.Helper()
	s.batches.least = time.Hour
	errs := make([]error, len(ops))
	all, started, hold := sync.WaitGroup{}, make(chan struct{}), make(chan struct{})
	first := sync.OnceFunc(func() { close(started); <-hold })
	all.Go(func() {
		errs[0] = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error { first(); return ops[0](ctx, tx) })
	})
	<-started
	before, _ := s.Waited()
	for i, op := range ops[1:] {
		all.Go(func() { errs[i+1] = change(t.Context(), op) })
		for waited, _ := s.Waited(); waited < before+int64(i)+1; waited, _ = s.Waited() {
			time.Sleep(time.Millisecond)
		}
	}
	close(hold)
	all.Wait()
	return errs
}

// A write that fails takes only its own effects back, and the others of its batch are committed.
func TestWritesOfABatchFailEachForItself(t *testing.T) {
	t.Parallel()
	s := notes(t)
	commits := 0
	counted := func(op func(context.Context, *sql.Tx) error) func(context.Context, *sql.Tx) error {
		return func(ctx context.Context, tx *sql.Tx) error {
			if s.batches.open.size == 1 {
				commits++
			}
			return op(ctx, tx)
		}
	}
	refused := errors.New("refused")
	errs := together(t, s, t.Context(), counted(note(1)), counted(note(2)),
		counted(func(ctx context.Context, tx *sql.Tx) error {
			if err := note(3)(ctx, tx); err != nil {
				return err
			}
			return refused
		}), counted(note(2)), counted(note(4)))
	for i, want := range []error{nil, nil, refused, fault.Conflict, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 2 4]" || commits != 1 {
		t.Errorf("%s is there after %d commits, want [1 2 4] after 1", got, commits)
	}
}

// A write that hardly ever fails has no savepoint. If it fails, nothing of it is left, and the writes of the
// others are repeated.
func TestWithoutASavepointOthersWriteAgain(t *testing.T) {
	t.Parallel()
	s := notes(t)
	refused, failures, savepoints := errors.New("refused"), 0, 0
	errs := togetherBy(t, s, t.Context(), s.changeOften, note(1), note(2),
		func(ctx context.Context, tx *sql.Tx) error {
			if _, err := exec(ctx, tx, backToSavepoint); err == nil {
				savepoints++
			}
			if err := note(3)(ctx, tx); err != nil {
				return err
			}
			failures++
			return refused
		}, note(4))
	for i, want := range []error{nil, nil, refused, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 2 4]" || failures != 1 || savepoints != 0 {
		t.Errorf("%s is there after %d failures in %d savepoints, want [1 2 4] after 1 in none", got, failures,
			savepoints)
	}
}

// A write of one statement that fails ends nobody's either, without a savepoint.
func TestStatementsOfABatchFailEachForItself(t *testing.T) {
	t.Parallel()
	s := notes(t)
	commits, savepoints := 0, 0
	statement := func(ctx context.Context, op func(context.Context, *sql.Tx) error) error {
		return s.changeOnce(ctx, oneStatement, func(ctx context.Context, q querier) error {
			if s.batches.open.size == 1 {
				commits++
			}
			if _, err := exec(ctx, q, backToSavepoint); err == nil {
				savepoints++
			}
			return op(ctx, q.(*sql.Tx))
		})
	}
	refused := errors.New("refused")
	errs := togetherBy(t, s, t.Context(), statement, note(1), note(2), note(1),
		func(context.Context, *sql.Tx) error { return refused }, note(3))
	for i, want := range []error{nil, nil, fault.Conflict, refused, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 2 3]" || commits != 0 || savepoints != 0 {
		t.Errorf("%s is there after %d more transactions and with %d savepoints, want [1 2 3] after none", got,
			commits, savepoints)
	}
}

// A statement that ends the transaction, or panics, ends it for all.
func TestAStatementThatEndsABatchIsRepeatedForTheOthers(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(ctx context.Context, tx *sql.Tx) error{
		"the transaction ends": func(ctx context.Context, tx *sql.Tx) error {
			if _, err := exec(ctx, tx, "ROLLBACK"); err != nil { // as SQLite does when the disk is full
				t.Error(err)
			}
			return errors.New("full")
		},
		"a panic": func(ctx context.Context, tx *sql.Tx) error {
			_ = note(9)(ctx, tx)
			panic("a defect")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := notes(t)
			statement := func(ctx context.Context, op func(context.Context, *sql.Tx) error) (err error) {
				defer func() {
					if recover() != nil {
						err = errPanicked
					}
				}()
				return s.changeOnce(ctx, oneStatement, func(ctx context.Context, q querier) error { return op(ctx, q.(*sql.Tx)) })
			}
			errs := togetherBy(t, s, t.Context(), statement, note(1), note(2), ends, note(3))
			if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[3] != nil {
				t.Errorf("errors %v", errs)
			}
			if got := fmt.Sprint(noted(t, s)); got != "[1 2 3]" {
				t.Errorf("%s is there, want [1 2 3]", got)
			}
		})
	}
}

// What ends the transaction ends it for all. The others are repeated.
func TestABatchThatIsEndedIsRepeatedForTheOthers(t *testing.T) {
	t.Parallel()
	s := notes(t)
	full := errors.New("full")
	errs := together(t, s, t.Context(), note(1), note(2), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "ROLLBACK"); err != nil { // as SQLite does when the disk is full
			t.Error(err)
		}
		return full
	}, note(3))
	for i, want := range []error{nil, nil, full, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("write %d: %v, want %v", i, errs[i], want)
		}
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 2 3]" {
		t.Errorf("%s is there, want [1 2 3]", got)
	}
}

// A commit that fails fails for all, and nothing of them is there.
func TestACommitThatFailsFailsForAll(t *testing.T) {
	t.Parallel()
	s := notes(t)
	if _, err := exec(t.Context(), s.write, "CREATE TABLE refs (n INTEGER REFERENCES notes (n) DEFERRABLE "+
		"INITIALLY DEFERRED)"); err != nil {
		t.Fatal(err)
	}
	orphaned := func(ctx context.Context, tx *sql.Tx) error {
		_, err := exec(ctx, tx, "INSERT INTO refs (n) VALUES (99)")
		return err
	}
	for i, err := range together(t, s, t.Context(), note(1), orphaned, note(2)) {
		if err == nil {
			t.Errorf("write %d succeeded", i)
		}
	}
	if got := noted(t, s); len(got) != 0 {
		t.Errorf("%v is there", got)
	}
	if err := s.change(t.Context(), note(5)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// A write that panics leaves nothing, and neither the others nor the next are held up.
func TestAWriteThatPanicsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := notes(t)
	panics := func(context.Context, *sql.Tx) error { panic("a defect") }
	safely := func(op func(context.Context, *sql.Tx) error) (recovered any) {
		defer func() { recovered = recover() }()
		_ = s.change(t.Context(), op)
		return nil
	}
	if safely(panics) != "a defect" {
		t.Error("the panic was lost")
	}
	var recovered any
	errs := together(t, s, t.Context(), note(1), func(ctx context.Context, tx *sql.Tx) (err error) {
		defer func() { recovered = recover(); err = errPanicked }()
		_ = note(2)(ctx, tx)
		return panics(ctx, tx)
	}, note(3))
	if recovered != "a defect" || errs[0] != nil || errs[2] != nil {
		t.Errorf("recovered %v, errors %v", recovered, errs)
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 3]" {
		t.Errorf("%s is there, want [1 3]", got)
	}
}

// A caller who goes away during a write takes nothing from the others of the batch.
func TestACallerWhoGoesAwayEndsNobodysWrite(t *testing.T) {
	t.Parallel()
	s := notes(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := together(t, s, ctx, func(ctx context.Context, tx *sql.Tx) error {
		cancel()
		return note(1)(ctx, tx)
	}, note(2))
	if errs[1] != nil {
		t.Errorf("the other: %v", errs[1])
	}
	if got := fmt.Sprint(noted(t, s)); got != "[1 2]" || errs[0] != nil {
		t.Errorf("%s is there, and the caller who went was told %v", got, errs[0])
	}
}

// A write that takes as long as the store allows is given up, and the others of its batch are repeated.
func TestAWriteThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	s := notes(t)
	s.BoundCalls(300 * time.Millisecond)
	hangs := func(ctx context.Context, _ *sql.Tx) error { <-ctx.Done(); return ctx.Err() }
	errs := together(t, s, t.Context(), note(1), hangs)
	if !errors.Is(errs[1], fault.Unavailable) {
		t.Errorf("the write that hung: %v", errs[1])
	}
	s.BoundCalls(time.Minute)
	if err := s.change(t.Context(), note(3)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// A transaction that was taken back because its time had passed is begun again for those who have time left: who joined
// it late, or while it waited to begin.
func TestABatchWhoseTimeHasPassedIsRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last func(ctx context.Context, tx *sql.Tx) error
		want string
	}{
		"before a statement": {note(2), "[1 2]"},
		"before the commit":  {func(context.Context, *sql.Tx) error { return nil }, "[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := notes(t)
			passed := sync.OnceFunc(func() {
				s.batches.open.end() // as its time does
				for err := error(nil); err == nil; {
					_, err = exec(t.Context(), s.batches.open.tx, savepoint)
				}
			})
			errs := together(t, s, t.Context(), note(1), func(ctx context.Context, tx *sql.Tx) error {
				passed()
				return c.last(ctx, tx)
			})
			if got := fmt.Sprint(noted(t, s)); errors.Join(errs...) != nil || got != c.want {
				t.Errorf("%s is there, want %s; errors %v", got, c.want, errs)
			}
		})
	}
}

// A purge that takes longer than the store allows, as on a slow disk, is given up, and holds no other up for longer. This
// one would take hours.
func TestAPurgeThatTakesLongIsGivenUp(t *testing.T) {
	t.Parallel()
	s := notes(t)
	for _, query := range []string{
		"INSERT INTO write_probe (name, filler) VALUES ('x', '')",
		"INSERT INTO sessions (hash, person, sealed, expires_at) VALUES ('x', 'p', '', 0)",
		`CREATE TRIGGER slow BEFORE DELETE ON sessions BEGIN UPDATE write_probe SET filler = (
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000) SELECT MAX(i) FROM n); END`,
	} {
		if _, err := exec(t.Context(), s.write, query); err != nil {
			t.Fatal(err)
		}
	}
	s.BoundCalls(300 * time.Millisecond)
	if err := s.PurgeAccess(t.Context(), time.UnixMilli(1)); !errors.Is(err, fault.Unavailable) {
		t.Errorf("the purge: %v", err)
	}
	s.BoundCalls(time.Minute)
	if err := s.change(t.Context(), note(1)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// Who waits for the connection itself, which other work has, waits no longer than it wants to.
func TestAWriteWaitsForTheConnectionAsLongAsItsCaller(t *testing.T) {
	t.Parallel()
	s := notes(t)
	taken, err := s.write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.change(ctx, note(1)); !errors.Is(err, fault.Timeout) {
		t.Error(err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.change(t.Context(), note(2)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// However many writes a tenant has, another's waits for one of them at most, besides the batch that runs.
func TestATenantsWritesWaitForOneOfAnother(t *testing.T) {
	t.Parallel()
	s := notes(t)
	var mu sync.Mutex
	var order []string
	of := func(tenant string, n int) func(context.Context, *sql.Tx) error {
		return func(ctx context.Context, tx *sql.Tx) error {
			mu.Lock()
			order = append(order, tenant)
			mu.Unlock()
			return note(n)(ctx, tx)
		}
	}
	started, hold := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := s.change(t.Context(), func(context.Context, *sql.Tx) error { close(started); <-hold; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-started
	waited := func(callers int64) {
		for n, _ := s.Waited(); n < callers; n, _ = s.Waited() {
			time.Sleep(time.Millisecond)
		}
	}
	before, _ := s.Waited()
	write := func(tenant string, n int) {
		all.Go(func() {
			if err := s.change(fair.For(t.Context(), tenant), of(tenant, n)); err != nil {
				t.Error(err)
			}
		})
	}
	for n := range 99 {
		write("flood", n)
	}
	waited(before + 99)
	write("neighbour", 99)
	waited(before + 100)
	close(hold)
	all.Wait()
	if len(order) != 100 || order[1] != "neighbour" {
		t.Errorf("%d writes, the neighbour's is not the second of %v", len(order), order[:3])
	}
}

// BenchmarkConcurrentWrites measures writes of 32 callers at once that share commits, and prints how long they
// take compared with the same writes that commit each for itself: 0.1 where a commit takes a millisecond.
//
//	go test -run '^$' -bench ConcurrentWrites -benchtime 3200x ./core/store
func BenchmarkConcurrentWrites(b *testing.B) {
	const callers = 32
	write := func(b *testing.B, s *Store) time.Duration {
		var next atomic.Int64
		var all sync.WaitGroup
		began := time.Now()
		for range callers {
			all.Go(func() {
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					if err := s.change(b.Context(), note(int(n))); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		return time.Since(began)
	}
	alone := notes(b)
	alone.batches = nil
	apart := write(b, alone)
	together := notes(b)
	b.ResetTimer()
	took := write(b, together)
	b.ReportMetric(float64(took)/float64(apart), "x-apart")
	b.ReportMetric(float64(b.N)/took.Seconds(), "writes/s")
}
