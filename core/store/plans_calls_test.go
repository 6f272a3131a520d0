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
	"RecentIntent", "Overtaken", "OpenIntents", "ClaimEffect", "EffectsSince", "DropIntentsOfEffect", "AddAudit",
	"SeeEvents", "EventSeen", "SeeTicket", "TicketSeen", "NoteCall", "NoteCallOnce", "CallNote",
	"TakeHolds", "KeepHolds", "DropHolds", "DropHoldsOfEvent", "HoldsOfEvent", "HoldsWithin", "OfferSlots",
	"SlotOffered",
	"SeeMeetings", "Meeting", "MeetingsWith", "SettleBudgets", "Documents",
}

// grows are the tables whose rows are as many as there were calls.
var grows = []string{"intents", "audit", "creations", "slots_offered", "meetings", "purchases", "events_seen",
	"tickets_seen", "call_notes", "requests", "api_keys"}

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
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s, to := openRecorded(t, url)
		address := url // of a session that checks no references, since some rows refer to none
		if strings.HasPrefix(url, "postgres") {
			address += "&session_replication_role=replica"
		}
		db := storetest.Database(t, address)
		populate(t, s, func(statement string) { got(db.ExecContext(t.Context(), statement))(t) })
		connectionOf(t, s, "acme", "front", "calendar")
		must(t, store.FillForCalls(t.Context(), s, 5_000))
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
		tables := "(" + strings.Join(grows, "|") + ")"
		// An index that only says whose a row is leads to all rows of a tenant, which are as many.
		whole := regexp.MustCompile(`(Seq Scan on|SCAN) ` + tables + `\b|INDEX \w*` + tables +
			`\w* \((tenant_id=\?( AND connection_id=\?)?|connection_id=\?)\)`)
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
			each := map[string]*[2]time.Duration{}
			for round := range max(b.N, 3) { // in turn, so that both have the same machine
				for i, s := range []*store.Store{few, many} {
					for n := range 30 {
						for _, part := range callOnce(s, fmt.Sprintf("%d: %d of %d", b.N, n, round)) {
							began := time.Now()
							if err := part.do(b.Context()); err != nil {
								b.Fatal(part.name, err)
							}
							spent := time.Since(began)
							took[i] += spent
							if each[part.name] == nil {
								each[part.name] = new([2]time.Duration)
							}
							each[part.name][i] += spent
						}
					}
				}
			}
			ratio := func(t [2]time.Duration) float64 { return float64(t[1]) / float64(t[0]) }
			b.ReportMetric(ratio(took), fmt.Sprintf("x-at-%d-rows-of-%d", rows, least))
			for name, t := range each {
				b.ReportMetric(ratio(*t), "x-"+name)
			}
		})
	}
}

// part is what a call waits for, and the work beside calls that is done for each.
type part struct {
	name string
	do   func(context.Context) error
}

// callOnce does to every table that grows what a call does: it records the call, holds and offers slots,
// answers, remembers what it told, and reads all of it. Then the row of the audit is sealed and the request
// is logged.
func callOnce(s *store.Store, key string) []part {
	now := time.Now()
	mine := intent(store.Intent{Key: key, TenantID: "acme", ConnectionID: "front", DedupeKey: key,
		CreatedAt: now})
	hold := store.Hold{
		ID: key, ConnectionID: "front", CalendarID: "cal", From: now, To: now.Add(time.Minute),
		Until: now.Add(time.Millisecond),
	}
	slot := store.SlotOffered{TenantID: "acme", ConnectionID: "front", ID: key, From: now, To: now,
		OfferedAt: now}
	seen := store.EventSeen{TenantID: "acme", ConnectionID: "front", EventID: key, UpdatedAt: now}
	meeting := store.Meeting{
		TenantID: "acme", ConnectionID: "front", Reference: key, EventID: key, EndsAt: now,
		People: []string{key},
	}
	ticket := store.TicketSeen{TenantID: "acme", ConnectionID: "front", Number: key, TicketID: key,
		CreatedAt: now}
	row := store.AuditRow{UID: key, At: now, TenantID: "acme", Tenant: "acme", Action: "book-meeting",
		Subject: key}
	return []part{
		{"key", func(ctx context.Context) error {
			_, err := s.KeyOwnerByHash(ctx, []byte("hash1"))
			return err
		}},
		{"intent", func(ctx context.Context) error {
			_, _, err := s.BeginIntent(ctx, mine, now.Add(-time.Hour))
			return err
		}},
		{"holds", func(ctx context.Context) error {
			if _, err := s.TakeHolds(ctx, []store.Hold{hold}, nil, now); err != nil {
				return err
			}
			return s.DropHolds(ctx, mine, []string{key})
		}},
		{"answer", func(ctx context.Context) error {
			with := store.Attached{Seen: []store.EventSeen{seen}, Meetings: []store.Meeting{meeting}}
			return s.FinishIntent(ctx, mine, with, row)
		}},
		{"repeat", func(ctx context.Context) error {
			_, _, err := s.Intent(ctx, "acme", mine.Operation, key)
			return err
		}},
		{"slots", func(ctx context.Context) error {
			if err := s.OfferSlots(ctx, []store.SlotOffered{slot}); err != nil {
				return err
			}
			_, _, err := s.SlotOffered(ctx, "acme", "front", key)
			return err
		}},
		{"meetings", func(ctx context.Context) error {
			if _, _, err := s.Meeting(ctx, "acme", "front", key); err != nil {
				return err
			}
			if _, _, err := s.EventSeen(ctx, "acme", "front", key); err != nil {
				return err
			}
			_, err := s.MeetingsWith(ctx, "acme", "front", key, now, now.Add(-time.Hour), 10)
			return err
		}},
		{"tickets", func(ctx context.Context) error {
			if err := s.SeeTicket(ctx, ticket); err != nil {
				return err
			}
			_, _, err := s.TicketSeen(ctx, "acme", "front", key)
			return err
		}},
		{"notes", func(ctx context.Context) error {
			note := store.CallNote{TenantID: "acme", Call: key, Kind: "slots", Value: []string{key}, NotedAt: now}
			if err := s.NoteCall(ctx, note); err != nil {
				return err
			}
			_, err := s.CallNote(ctx, "acme", key, "slots")
			return err
		}},
		{"audit", func(ctx context.Context) error {
			_, _, err := s.SealAudit(ctx, store.AuditMark{At: 1}, 10, chain)
			return err
		}},
		{"request-log", func(ctx context.Context) error {
			return s.AddRequests(ctx, []store.Request{{
				ID: key, TenantID: "acme", At: now, ConnectionID: "front", Tries: []byte("[]"),
			}})
		}},
	}
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
	if err := store.FillForCalls(b.Context(), s, rows); err != nil {
		b.Fatal(err)
	}
	if err := s.Forget(b.Context()); err != nil { // or some call would wait until all this is in the file
		b.Fatal(err)
	}
	return s
}

// openRecorded opens a store whose statements are recorded. It is closed when the test ends.
func openRecorded(t *testing.T, url string) (*store.Store, *recorder) {
	t.Helper()
	to := &recorder{}
	s := got(store.OpenThrough(t.Context(), url, func(c driver.Connector) driver.Connector {
		return recordingConnector{c, to}
	}))(t)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Migrate(t.Context()))
	return s, to
}

// A key that was not seen for a while costs one query by an index, which reads its tenant and connections as
// well.
func TestAKeyIsFoundByOneQuery(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s, to := openRecorded(t, url)
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
