package store_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// ofCalls are the methods that a call of the interface may wait for.
var ofCalls = []string{
	"KeyOwnerByHash", "KeyOwnerByID", "TenantByID", "Connection", "Connections", "Tokens", "Creation", "Session",
	"BeginIntent", "BeginIntentHolding", "Intent", "TakeOverIntent", "SaveIntentPlan", "ExtendIntent",
	"FinishIntent", "ReleaseIntent",
	"RecentIntent", "Overtaken", "ClaimEffect", "EffectsSince", "DropIntentsOfEffect", "AddAudit",
	"SeeEvents", "EventSeen", "SeeTicket", "TicketSeen", "NoteCall", "NoteCallOnce", "CallNote",
	"TakeHolds", "KeepHolds", "DropHolds", "DropHoldsOfEvent", "HoldsOfEvent", "HoldsWithin", "OfferSlots",
	"SlotOffered",
	"SeeMeetings", "Meeting", "MeetingsWith", "SettleBudgets", "Documents",
}

// grows are the tables whose rows are as many as there were calls.
var grows = []string{"intents", "audit", "creations", "slots_offered", "meetings", "purchases"}

// statement is a query that ran, with its arguments.
type statement struct {
	query string
	args  []any
}

// recorder keeps the statements of every connection.
type recorder struct {
	mu   sync.Mutex
	seen map[string]statement
}

func (r *recorder) note(query string, args []driver.NamedValue) {
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen != nil {
		r.seen[query] = statement{query, values}
	}
}

type recordingConnector struct {
	driver.Connector
	to *recorder
}

func (c recordingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recordingConn{conn.(session), c.to}, nil
}

type recordingConn struct {
	session
	to *recorder
}

func (c *recordingConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	c.to.note(query, args)
	return c.session.ExecContext(ctx, query, args)
}

func (c *recordingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	c.to.note(query, args)
	return c.session.QueryContext(ctx, query, args)
}

// CheckNamedValue implements driver.NamedValueChecker if the driver does.
func (c *recordingConn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, does := c.session.(driver.NamedValueChecker); does {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

// No statement that a call may wait for reads a whole table that grows with the calls that were made.
func TestCallsReadNoTableThatGrows(t *testing.T) {
	bothURLs(t, func(t *testing.T, url string) {
		to := &recorder{}
		s := got(store.OpenThrough(t.Context(), url, func(c driver.Connector) driver.Connector {
			return recordingConnector{c, to}
		}))(t)
		defer s.Close()
		must(t, s.Migrate(t.Context()))
		address := url // of a session that checks no references, since some rows refer to none
		if strings.HasPrefix(url, "postgres") {
			address += "&session_replication_role=replica"
		}
		db := storetest.Database(t, address)
		populate(t, s, func(statement string) { got(db.ExecContext(t.Context(), statement))(t) })
		connectionOf(t, s, "acme", "front", "calendar")
		must(t, store.FillForPlans(t.Context(), s, 20_000))
		to.seen = map[string]statement{}
		ran := map[string]bool{}
		for _, o := range operations {
			if slices.Contains(ofCalls, o.method()) {
				_, _ = o.run(caller{ctx: t.Context(), s: s, name: "a"}) // its statements count, not its answer
				ran[o.method()] = true
			}
		}
		for _, method := range ofCalls {
			if !ran[method] {
				t.Errorf("%s is no operation", method)
			}
		}
		seen := to.seen
		to.seen = nil
		whole := regexp.MustCompile(`(Seq Scan on|SCAN) (` + strings.Join(grows, "|") + `)\b`)
		explained := 0
		for _, query := range slices.Sorted(maps.Keys(seen)) {
			if !regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`).MatchString(query) {
				continue
			}
			plan, err := store.Explain(t.Context(), s, query, seen[query].args...)
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			explained++
			if read := whole.FindString(plan); read != "" {
				t.Errorf("%q in the plan of\n%s\n%s", read, query, plan)
			}
		}
		if explained < 40 {
			t.Errorf("only %d statements were looked at", explained)
		}
	})
}

// BenchmarkCallPathGrowth compares what calls do to the store with ten thousand rows of every table that grows
// and with FRONTDESK_ROWS of them, and prints the ratio.
func BenchmarkCallPathGrowth(b *testing.B) {
	rows := 3_000
	if text := os.Getenv("FRONTDESK_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, d := range databases {
		b.Run(d.name, func(b *testing.B) {
			least := min(10_000, rows/3)
			few, many := grownStore(b, d, least), grownStore(b, d, rows)
			var took [2]time.Duration
			for round := range max(b.N, 3) { // in turn, so that both have the same machine
				for i, s := range []*store.Store{few, many} {
					took[i] += timed(b, 30, func(n int) error {
						return callOnce(b.Context(), s, fmt.Sprintf("%d: %d of %d", b.N, n, round))
					})
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), fmt.Sprintf("x-at-%d-rows-of-%d", rows, least))
		})
	}
}

// callOnce records a call, answers it and reads the answer.
func callOnce(ctx context.Context, s *store.Store, key string) error {
	mine := intent(store.Intent{Key: key, TenantID: "acme", ConnectionID: "front"})
	if _, _, err := s.BeginIntent(ctx, mine); err != nil {
		return err
	}
	if err := s.FinishIntent(ctx, mine, store.Attached{}); err != nil {
		return err
	}
	_, _, err := s.Intent(ctx, mine.TenantID, mine.Operation, mine.Key)
	return err
}

// grownStore returns a store with that many rows of every table that grows.
func grownStore(b *testing.B, d database, rows int) *store.Store {
	b.Helper()
	s := storetest.Open(b, d.url(b))
	s.BoundCalls(time.Hour)
	fillEvents(b, s, 0)
	if err := s.CreateConnection(b.Context(), store.Connection{
		ID: "front", TenantID: "acme", Name: "front", Kind: "calendar", Provider: "sandbox", CreatedAt: noon,
	}); err != nil {
		b.Fatal(err)
	}
	if err := store.FillForPlans(b.Context(), s, rows); err != nil {
		b.Fatal(err)
	}
	return s
}

// A key that was not seen for a while costs one query by an index, which reads its tenant and connections as
// well.
func TestAKeyIsFoundByOneQuery(t *testing.T) {
	bothURLs(t, func(t *testing.T, url string) {
		to := &recorder{}
		s := got(store.OpenThrough(t.Context(), url, func(c driver.Connector) driver.Connector {
			return recordingConnector{c, to}
		}))(t)
		defer s.Close()
		must(t, s.Migrate(t.Context()))
		connection(t, s, "c1")
		key := store.APIKey{ID: "k1", TenantID: "acme", Hash: []byte("1"), CreatedAt: noon}
		must(t, s.CreateKey(t.Context(), key))
		to.seen = map[string]statement{}
		owner := got(s.KeyOwnerByHash(t.Context(), []byte("1")))(t)
		seen := to.seen
		to.seen = nil
		if len(seen) != 1 || len(owner.Connections) == 0 {
			t.Fatalf("%d queries for %d connections: %v", len(seen), len(owner.Connections), seen)
		}
		for query, made := range seen {
			plan := got(store.Explain(t.Context(), s, query, made.args...))(t)
			if strings.Contains(plan, "SCAN api_keys") || strings.Contains(plan, "SCAN c") { // SQLite's words
				t.Errorf("a whole table is read by\n%s", plan)
			}
		}
	})
}
