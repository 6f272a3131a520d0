package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// calls has one call for each way to reach the database.
var calls = map[string]func(context.Context, *store.Store) error{
	"ping":    func(ctx context.Context, s *store.Store) error { return s.Ping(ctx) },
	"migrate": func(ctx context.Context, s *store.Store) error { return s.Migrate(ctx) },
	"pending": func(ctx context.Context, s *store.Store) error { _, err := s.Pending(ctx); return err },
	"check":   func(ctx context.Context, s *store.Store) error { return s.Check(ctx) },
	"read":    func(ctx context.Context, s *store.Store) error { _, err := s.Tenants(ctx); return err },
	"write": func(ctx context.Context, s *store.Store) error {
		return s.CreateTenant(ctx, store.Tenant{ID: "t", Name: "t", CreatedAt: noon})
	},
	"change": func(ctx context.Context, s *store.Store) error {
		return s.DeleteConnection(ctx, "acme", "c1")
	},
	"update": func(ctx context.Context, s *store.Store) error {
		return s.Documents("c1").Update(ctx, func(tx adapter.StorageTx) error { return tx.Put("k", nil) })
	},
	"turn": func(ctx context.Context, s *store.Store) error {
		_, _, err := s.HoldTurn(ctx, "c1", time.Minute)
		return err
	},
	"view": func(ctx context.Context, s *store.Store) error {
		return s.Documents("c1").View(ctx, func(tx adapter.StorageTx) error { return nil })
	},
}

const secret = "hunter2"

// silent fails the test if the logged text of an error reveals where the store is.
func silent(t *testing.T, err error, url string) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, url) {
		t.Errorf("the error tells too much: %s", text)
	}
}

func TestAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	const (
		closed = "127.0.0.1:1"      // no server listens on this port
		absent = "nowhere..invalid" // no host can be called so, and no name server is asked
	)
	hangs := listener(t)
	defer hangs.Close()
	for name, c := range map[string]struct{ url, says string }{
		"refuses connections": {fmt.Sprintf("postgres://u:%s@%s/db", secret, closed), "nobody listens"},
		"has no such host":    {fmt.Sprintf("postgres://u:%s@%s:5432/db", secret, absent), "host is not found"},
		"speaks no TLS":       {fmt.Sprintf("postgres://u:%s@%s/db?sslmode=require", secret, withoutTLS(t)), "speaks no TLS"},
		"has no such socket":  {fmt.Sprintf("postgres://u:%s@/db?host=/nowhere", secret), "nobody listens"},
	} {
		t.Run(name+": every call is unavailable at once, and tells the cause but no secret", func(t *testing.T) {
			url := c.url
			s := got(store.Open(t.Context(), url))(t)
			defer s.Close()
			for name, call := range calls {
				began := time.Now()
				err := call(t.Context(), s)
				refused(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
				silent(t, err, url)
				tells(t, err, c.says)
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("%s took %s", name, took)
				}
			}
		})
	}
	t.Run("accepts and says nothing: unavailable after two seconds", func(t *testing.T) {
		url := fmt.Sprintf("postgres://u:%s@%s/db", secret, hangs.Addr())
		s := got(store.Open(t.Context(), url))(t)
		defer s.Close()
		began := time.Now()
		err := s.Ping(t.Context())
		refused(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
		silent(t, err, url)
		if took := time.Since(began); took < time.Second || took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
	})
	t.Run("the caller's own deadline is a timeout, and its leaving a cancellation", func(t *testing.T) {
		s := got(store.Open(t.Context(), fmt.Sprintf("postgres://u:%s@%s/db", secret, hangs.Addr())))(t)
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		refused(t, s.Ping(ctx), fault.Timeout, fault.ReasonDeadlineExceeded)
		gone, leave := context.WithCancel(t.Context())
		leave()
		refused(t, s.Ping(gone), fault.Canceled, fault.ReasonCanceled)
	})
}

// Of several servers in the URL, or addresses of one name, the first may be that of a machine that is gone: nobody
// refuses a connection there, and nobody answers.
func TestAnAddressThatDoesNotAnswerLeavesTimeForTheNext(t *testing.T) {
	t.Parallel()
	hangs := listener(t)
	defer hangs.Close()
	url := got(neturl.Parse(storetest.Postgres(t)))(t)
	there := got(pgx.ParseConfig(storetest.Unbounded(url.String())))(t)
	_, port, _ := strings.Cut(hangs.Addr().String(), ":")
	query := url.Query()
	query.Set("host", "127.0.0.1,"+there.Host)
	query.Set("port", fmt.Sprintf("%s,%d", port, there.Port))
	query.Set("connect_timeout", "1") // it waits for that long
	url.RawQuery = query.Encode()
	s := got(store.Open(t.Context(), url.String()))(t)
	defer s.Close()
	must(t, s.Ping(t.Context()))
}

// After a failover, a name or a balancer may still lead to the former primary, which takes no writes any more. The
// connections that were opened to it meanwhile stay open when they lead to the new one, and must not be used on.
func TestAServerThatTakesNoWritesIsLeft(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	server := storetest.Database(t, url)
	becomes := func(readOnly string) { // for new connections
		got(server.ExecContext(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+
			"default_transaction_read_only = "+readOnly+"', current_database()); END $$"))(t)
	}
	s := got(store.Open(t.Context(), url))(t)
	defer s.Close()
	// onEach calls do on each of three connections.
	onEach := func(do func()) {
		var nested func(left int) error
		nested = func(left int) error {
			do()
			if left == 0 {
				return nil
			}
			return s.Documents("c1").View(t.Context(), func(adapter.StorageTx) error { return nested(left - 1) })
		}
		must(t, nested(2))
	}
	becomes("on")
	onEach(func() { must(t, s.Ping(t.Context())) })
	refused(t, s.Probe(t.Context()), fault.Unavailable, fault.ReasonStoreUnavailable)
	becomes("off")
	onEach(func() { must(t, s.Probe(t.Context())) })
}

// A user who owns no tables, as after a restore by another one, is the operator's mistake and not the gateway's.
func TestTablesThatMayNotBeUsed(t *testing.T) {
	t.Parallel()
	s := got(store.Open(t.Context(), storetest.Postgres(t)+"&role=pg_monitor"))(t)
	defer s.Close()
	for _, name := range []string{"migrate", "pending", "read", "write", "change", "update"} {
		err := calls[name](t.Context(), s)
		refused(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
		tells(t, err, "permission denied")
		tells(t, err, "Make the user in store.url the owner of the tables")
	}
}

// The URL says how many connections a replica opens, as for package pgxpool.
func TestTheURLSaysHowManyConnectionsAreOpened(t *testing.T) {
	t.Parallel()
	base := storetest.Unbounded(storetest.Postgres(t))
	for parameter, want := range map[string]int{"": 20, "&pool_max_conns=10": 10, "&pool_max_conns=40": 40} {
		s := got(store.Open(t.Context(), base+parameter))(t)
		if n := store.MostConnections(s); n != want {
			t.Errorf("%q: %d connections, want %d", parameter, n, want)
		}
		must(t, s.Ping(t.Context())) // the server does not hear of it
		must(t, s.Close())
	}
	for _, parameter := range []string{"&pool_max_conns=9", "&pool_max_conns=many", "&pool_max_conns="} {
		_, err := store.Open(t.Context(), base+parameter)
		refused(t, err, fault.Invalid, fault.ReasonInvalidRequest)
		if e, _ := errors.AsType[*fault.Error](err); !strings.Contains(e.Fields[0].Message, "pool_max_conns") {
			t.Errorf("%q: %v", parameter, err)
		}
	}
}

// withoutTLS returns the address of a server that refuses TLS, as PostgreSQL does ("SSL Session Encryption").
func withoutTLS(t *testing.T) net.Addr {
	l := listener(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, conn, 8)
			_, _ = conn.Write([]byte("N"))
			_ = conn.Close()
		}
	}()
	return l.Addr()
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	return got(net.Listen("tcp", "127.0.0.1:0"))(t)
}

func TestAServerThatRefusesTheConnectionIsUnavailableAndTellsWhatToCheck(t *testing.T) {
	t.Parallel()
	base := storetest.Postgres(t)
	for says, change := range map[string][2]string{
		"the user may not connect":  {"user=postgres", "user=stranger&password=" + secret},
		"there is no such database": {"user=postgres", "user=postgres&dbname=nowhere&password=" + secret},
	} {
		url := strings.Replace(base, change[0], change[1], 1)
		s := got(store.Open(t.Context(), url))(t)
		defer s.Close()
		err := s.Ping(t.Context())
		refused(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
		silent(t, err, url)
		tells(t, err, says)
	}
}

// tells fails the test if the cause of an error is not told to the operator.
func tells(t *testing.T, err error, says string) {
	t.Helper()
	if cause := fault.From(err).ForOperator(); !strings.Contains(cause, says) {
		t.Errorf("the cause is %q; want %q", cause, says)
	}
}

func TestAnAddressThatIsNoneIsRefusedWithoutRepeatingIt(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "hunter2", "mysql://u:hunter2@host/db", "sqlite:", "postgres://u:hunter2@host:port/db",
		"postgres://u:hun%ter2@host/db", "postgres://u:hunter2@host/db?sslmode=perhaps",
		"postgres://u:hunter2@host/db?connect_timeout=soon",
	} {
		_, err := store.Open(t.Context(), url)
		refused(t, err, fault.Invalid, fault.ReasonInvalidRequest)
		silent(t, err, "hun")
	}
}

func TestACallerThatLeftEndsEveryCall(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range calls {
			if err := call(ctx, s); !errors.Is(err, fault.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := opened(t, url)
		must(t, s.Close())
		for name, call := range calls {
			if err := call(t.Context(), s); !errors.Is(err, fault.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAnUpdateThatHangsDoesNotHoldItsCallersLongerThanTheirDeadline(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		must(t, s.Documents("c1").Update(t.Context(), func(adapter.StorageTx) error {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			err := s.Documents("c1").Update(ctx, func(tx adapter.StorageTx) error { return tx.Put("k", nil) })
			refused(t, err, fault.Timeout, fault.ReasonDeadlineExceeded)
			return nil
		}))
		put(t, s, "c1", "k", "after")
	})
}

func TestAWriterOfAnotherProcessIsWaitedForUntilTheDeadline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.db")
	s := storetest.Open(t, "sqlite:"+path)
	tx := got(storetest.Database(t, "sqlite:"+path).BeginTx(t.Context(), nil))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	refused(t, calls["write"](ctx, s), fault.Timeout, fault.ReasonDeadlineExceeded)
	s.BoundCalls(300 * time.Millisecond) // the store's own, for a caller who has more time
	refused(t, calls["write"](t.Context(), s), fault.Unavailable, fault.ReasonStoreUnavailable)
	s.BoundCalls(30 * time.Second)
	must(t, calls["read"](t.Context(), s))
	must(t, tx.Rollback())
	must(t, calls["write"](t.Context(), s))
}

func TestPostgresComesBack(t *testing.T) {
	t.Parallel()
	c := storetest.Start(t)
	s := storetest.Open(t, c.URL("postgres"))
	connection(t, s, "c1")
	put(t, s, "c1", "k", "1")
	must(t, c.Down())
	for name, call := range calls {
		err := call(t.Context(), s)
		if !errors.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, c.Up())
	put(t, s, "c1", "l", "2")
	equal(t, scan(t, s, "c1", "", ""), []string{"k", "l"})
}

func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	t.Run("it and what lies beside it are its owner's alone", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "a b%41?c#d.db")
		s := storetest.Open(t, "sqlite:"+path)
		connection(t, s, "c1")
		files := got(os.ReadDir(dir))(t)
		var names []string
		for _, file := range files {
			names = append(names, file.Name())
			equal(t, got(file.Info())(t).Mode().Perm(), os.FileMode(0o600))
		}
		equal(t, names, []string{"a b%41?c#d.db", "a b%41?c#d.db-shm", "a b%41?c#d.db-wal"})
	})
	t.Run("one that others could read is taken from them", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f.db")
		must(t, os.WriteFile(path, nil, 0o644))
		storetest.Open(t, "sqlite://"+path)
		equal(t, got(os.Stat(path))(t).Mode().Perm(), os.FileMode(0o600))
	})
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		says string
	}{
		"in a folder that is not there": {func(t *testing.T, path string) {}, "no such file or directory. " +
			"Check the database file's path in store.url, that its disk is not read-only, and that it, its folder"},
		"that is a folder": {func(t *testing.T, path string) { must(t, os.MkdirAll(path, 0o755)) },
			"unable to open database file"},
		"that is no database": {func(t *testing.T, path string) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.WriteFile(path, []byte(strings.Repeat("this is no database ", 100)), 0o644))
		}, "file is not a database"},
	} {
		t.Run("a file "+name+" is unavailable, and left as it is", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "folder", "f.db")
			c.make(t, path)
			before, _ := os.Stat(path)
			_, err := store.Open(t.Context(), "sqlite:"+path)
			refused(t, err, fault.Unavailable, fault.ReasonStoreUnavailable)
			silent(t, err, "sqlite:"+path)
			tells(t, err, c.says)
			if before != nil {
				equal(t, got(os.Stat(path))(t).Mode(), before.Mode())
			}
		})
	}
	t.Run("one that has tables is opened and copied without a write, as on a full disk", func(t *testing.T) {
		url := storetest.SQLite(t)
		connection(t, storetest.Open(t, url), "c1")
		other := got(storetest.Database(t, url).Begin())(t) // no other connection can write meanwhile
		defer func() { must(t, other.Rollback()) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := got(store.Open(ctx, url))(t)
		defer s.Close()
		equal(t, len(got(s.Tenants(ctx))(t)), 1)
		must(t, s.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")))
	})
	t.Run("damage is found", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f.db")
		s := opened(t, "sqlite:"+path)
		fillEvents(t, s, 100)
		must(t, s.Check(t.Context()))
		must(t, s.Close())
		file := got(os.OpenFile(path, os.O_RDWR, 0))(t)
		size := got(file.Seek(0, io.SeekEnd))(t)
		got(file.WriteAt([]byte("damage damage damage"), size-4096))(t) // the last page
		must(t, file.Close())
		s = got(store.Open(t.Context(), "sqlite:"+path))(t)
		defer s.Close()
		refused(t, s.Check(t.Context()), fault.Unavailable, fault.ReasonStoreUnavailable)
	})
}
