package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"

	"github.com/jackc/pgx/v5/pgconn"
)

func sqliteStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "f.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSQLiteConnectionsAreSetAsPromised(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	for _, c := range []struct {
		pool   *sql.DB
		pragma string
		want   string
	}{
		{s.write, "journal_mode", "wal"}, {s.write, "synchronous", "2"}, {s.write, "foreign_keys", "1"},
		{s.write, "busy_timeout", "200"}, {s.write, "query_only", "0"}, {s.write, "journal_size_limit", "67108864"},
		{s.read, "journal_mode", "wal"}, {s.read, "busy_timeout", "200"}, {s.read, "query_only", "1"},
	} {
		var is string
		if err := c.pool.QueryRowContext(t.Context(), "PRAGMA "+c.pragma).Scan(&is); err != nil || is != c.want {
			t.Errorf("%s is %q, %v; want %q", c.pragma, is, err, c.want)
		}
	}
	if most := s.write.Stats().MaxOpenConnections; most != 1 {
		t.Errorf("%d connections write", most)
	}
}

func TestAFullSQLiteIsUnavailableAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	if err := s.CreateTenant(t.Context(), Tenant{ID: "acme", Name: "acme"}); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateConnection(t.Context(), Connection{
		ID: "c1", TenantID: "acme", Name: "n", Kind: "crm", Provider: "sandbox",
	}); err != nil {
		t.Fatal(err)
	}
	// SQLite uses the present size if that is larger.
	if _, err := s.write.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	err := s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Put("k", []byte(strings.Repeat("x", 1<<16)))
	})
	if f := fault.From(err); f == nil || f.Code != fault.Unavailable ||
		f.Reason != fault.ReasonStoreUnavailable {
		t.Fatalf("got %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.TenantByID(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
}

func TestATransactionThatOthersWereInTheWayOfRunsAgain(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	s.dialect.classify = classifyPostgres
	runs := 0
	err := s.change(t.Context(), func(context.Context, *sql.Tx) error {
		if runs++; runs < 4 {
			return fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: []string{"", "40001", "40P01", "55P03"}[runs]})
		}
		return nil
	})
	if err != nil || runs != 4 {
		t.Fatalf("%d runs, %v", runs, err)
	}
}

func TestTryingAgainEndsWithTheCallersTime(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	s.dialect.classify = classifyPostgres
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.change(ctx, func(context.Context, *sql.Tx) error { return &pgconn.PgError{Code: "40001"} })
	if !errors.Is(err, fault.Timeout) {
		t.Fatalf("got %v", err)
	}
}

// passed is a context whose timer has not fired yet though its time has passed.
type passed struct{ context.Context }

func (passed) Deadline() (time.Time, bool) { return time.Now(), true }

// A connection's timer is set for the same moment as the context's, and may be the first to fire.
func TestACallersTimeHasPassedWhicheverTimerIsFirst(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "postgres://u@127.0.0.1:1/db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.try(passed{t.Context()}, func(context.Context) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	})
	if !errors.Is(err, fault.Timeout) {
		t.Error(err)
	}
}

func TestWhatPostgresSaysIsClassified(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]class{
		"23505": unique, "23503": orphan, "40001": again, "40P01": again, "55P03": again, "08006": down,
		"53100": full, "53300": down, "57P01": down, "57P03": down, "58030": down, "25006": down, "XX000": down,
		"57014": down, "25P03": down, "25P04": down, // statement_timeout, or other limits of the server's, passed
		"42501": unfit, "42P05": unfit, "26000": unfit,
		"23514": defect, "42601": defect, "42P01": defect, "22021": defect,
	} {
		if is := classifyPostgres(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code})); is != want {
			t.Errorf("%s is %d, want %d", code, is, want)
		}
	}
}

// A pooler in transaction mode runs a prepared statement on a connection where it is not, or is already.
func TestAPoolerWithoutItsParameterIsNamed(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	s.dialect.classify = classifyPostgres
	err := s.fault(t.Context(), fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: "42P05"}))
	if f := fault.From(err); f.Reason != fault.ReasonStoreUnavailable ||
		!strings.Contains(f.ForOperator(), "default_query_exec_mode=exec") {
		t.Errorf("%v", err)
	}
}

func TestEveryForeignKeyHasAnIndexThatBeginsWithItsColumns(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	texts := func(query string, args ...any) []string {
		t.Helper()
		all, err := list(t.Context(), s.read,
			func(row scanner) (text string, err error) { return text, row.Scan(&text) }, query, args...)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	checked := 0
	for _, table := range texts("SELECT name FROM sqlite_schema WHERE type = 'table'") {
		// Each line lists the columns of an index on all rows, or of a foreign key.
		indexes := texts(`SELECT (SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno)) || ','
			FROM pragma_index_list($1) AS i WHERE i.partial = 0`, table)
		for _, key := range texts(`SELECT group_concat("from", ',') || ',' FROM (SELECT * FROM pragma_foreign_key_list($1) ORDER BY id, seq) GROUP BY id`, table) {
			checked++
			if !slices.ContainsFunc(indexes, func(columns string) bool { return strings.HasPrefix(columns, key) }) {
				t.Errorf("%s: no index of %v begins with %s", table, indexes, key)
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d foreign keys were looked at", checked)
	}
}

// The load limit of the gateway relies on Waited: the one writer is in use, and a call waits for it.
func TestWaitedCountsCallsThatWaitForAConnection(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	before, _ := s.Waited()
	taken, err := s.write.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Ping(t.Context()) }()
	for s.write.Stats().WaitCount == before {
		runtime.Gosched()
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if calls, together := s.Waited(); calls != before+1 || together <= 0 {
		t.Errorf("%d calls waited, %v together", calls-before, together)
	}
}

// SQLite opens a file that it can only read, such as one of root, or one on a disk that the kernel has made read-only.
func TestAFileThatCanOnlyBeReadIsToldAsThat(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	s.batches.db = s.read // whose connections refuse to write as those of such a file do
	f := fault.From(s.Probe(t.Context()))
	if f == nil || f.Reason != fault.ReasonStoreUnavailable ||
		!strings.Contains(f.ForOperator(), "that its disk is not read-only, and that it, its folder") {
		t.Errorf("%v", f)
	}
}

// A connection to a file that can only be read writes nothing any more, also when the file can be written again.
func TestNoConnectionThatCanOnlyReadIsKeptToWrite(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	connector, err := sqliteConnector(s.path, url.Values{"mode": {"ro"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	writer := pool(preparing{Connector: connector, writes: true}, 1)
	defer writer.Close()
	err = writer.PingContext(t.Context())
	if err == nil || classifySQLite(err) != unfit || writer.Stats().OpenConnections != 0 {
		t.Errorf("%v, with %d connections", err, writer.Stats().OpenConnections)
	}
}

// SQLite gets the arguments in the places of their numbers, and texts as they are.
func TestSQLiteGetsParametersWithoutNames(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	for query, want := range map[string]string{
		"SELECT $1 || $2 || $3":                              "abc",
		"SELECT $3 || $1 || $3 || $2":                        "cacb",
		"SELECT '$9' || $2 || 'it''s $1' || $1 || $3":        "$9bit's $1ac",
		"SELECT $3 || $2 || $1 ORDER BY $1 LIMIT $2 * 0 + 1": "cba",
	} {
		got, _, err := find(t.Context(), s.read, scanText, query, "a", "b", "c")
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", query, got, err, want)
		}
	}
}
