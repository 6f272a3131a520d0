package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(writeToUntilKilled); url != "" {
		writeUntilKilled(url)
	}
	if url := os.Getenv(announceUntilKilled); url != "" {
		announceAndWait(url)
	}
	storetest.ManyAtATime()
	goleak.VerifyTestMain(storetest.M{M: m})
}

type database struct {
	name string
	url  func(testing.TB) string
}

// databases are those on which every rule is tested.
var databases = []database{{"sqlite", storetest.SQLite}, {"postgres", storetest.Postgres}}

// pooled is PostgreSQL through PgBouncer, on which FRONTDESK_PGBOUNCER=all has every rule tested as well.
var pooled = database{"pgbouncer", storetest.PgBouncer}

// both runs a rule on each database. The rule gets no address, so that nothing of it stays but rows.
func both(t *testing.T, rule func(t *testing.T, s *store.Store)) {
	t.Helper()
	all := []database{{"sqlite", storetest.ReusedSQLite}, {"postgres", storetest.ReusedPostgres}}
	if os.Getenv("FRONTDESK_PGBOUNCER") == "all" {
		all = append(all, pooled)
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) { rule(t, storetest.Open(t, d.url(t))) })
	}
}

// bothURLs runs a rule that opens each database itself, with parameters that a pooler may not take.
func bothURLs(t *testing.T, rule func(t *testing.T, url string)) {
	t.Helper()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) { rule(t, d.url(t)) })
	}
}

// noon is the time at which the tests happen.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got fails the test on an error, else returns the value.
func got[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

func equal[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// refused fails the test unless err is a fault of that code and reason.
func refused(t *testing.T, err error, code fault.Code, reason string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != code || f.Reason != reason {
		t.Fatalf("got %v, want %s %s", err, code, reason)
	}
}

// at runs do in n goroutines that start together, and returns their results.
func at[T any](n int, do func(i int) T) []T {
	answers := make([]T, n)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			answers[i] = do(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return answers
}

func tenant(t *testing.T, s *store.Store, id string) store.Tenant {
	t.Helper()
	row := store.Tenant{
		ID: id, Name: "name of " + id, Settings: json.RawMessage(`{"timezone":"UTC"}`), CreatedAt: noon,
	}
	must(t, s.CreateTenant(t.Context(), row))
	return row
}

// connection creates a connection, and its tenant "acme" with the first one.
func connection(t *testing.T, s *store.Store, id string) store.Connection {
	t.Helper()
	if _, err := s.TenantByID(t.Context(), "acme"); err != nil {
		tenant(t, s, "acme")
	}
	return connectionOf(t, s, "acme", id, "calendar")
}

// disconnect marks a connection of "acme" as one whose provider refuses its credentials.
func disconnect(t *testing.T, s *store.Store, id string) {
	t.Helper()
	c := got(s.Connection(t.Context(), "acme", id))(t)
	c.Status = "reconnect_required"
	must(t, s.UpdateConnection(t.Context(), c, c.Revision))
}

func connectionOf(t *testing.T, s *store.Store, tenantID, id, kind string) store.Connection {
	t.Helper()
	row := store.Connection{
		ID: id, TenantID: tenantID, Name: "name of " + id, Kind: kind, Provider: "sandbox",
		Settings: json.RawMessage(`{"calendar_id":"primary"}`), Credentials: []byte{0, 1, 2}, Status: "ok",
		Email: "a@example.com", CreatedAt: noon,
	}
	must(t, s.CreateConnection(t.Context(), row))
	return got(s.Connection(t.Context(), tenantID, id))(t)
}
