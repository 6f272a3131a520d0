package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"

	"github.com/jackc/pgx/v5/pgconn"
)

// A store operation takes effect as a whole. So whatever runs between two of its statements, both callers
// must get answers, and leave rows, that some serial order of the two operations gives. The test stops each
// operation before each of its statements, runs each rival there, and compares the outcome with both serial
// orders.
//
// On PostgreSQL a statement outside a transaction is its own transaction, and is also stopped before its
// commit. If a rival waits for a lock, the stopped operation goes on and the rival ends after it. A deadlock
// is a failure even if both operations succeed in the end: with PostgreSQL's defaults it costs a caller one
// second.

// operation is a call of a method of the store.
type operation struct {
	name string // the method, and after a colon the variant of the call
	run  func(c caller) (answer any, err error)
}

// caller is one of the two concurrent callers.
type caller struct {
	ctx  context.Context
	s    *store.Store
	name string // "a" or "b": for ids that each caller generates
}

// method returns the name of the method of the store.
func (o operation) method() string {
	name, _, _ := strings.Cut(o.name, ":")
	name, _, _ = strings.Cut(name, ".")
	return name
}

// leavesLocked are the methods that leave rows locked by another transaction to their next call. They are
// called once more when both callers are done, and their answers do not count.
var leavesLocked = map[string]bool{"PurgeIntents": true, "PurgeTickets": true, "PurgePurchases": true,
	"PurgeDeliveries": true, "PurgeSlots": true, "PurgeEvents": true, "PurgeMeetings": true, "PurgeCreations": true}

// removal is what locks a connection before the rows that refer to it, and addsToIt are the methods that add several
// such rows, of which some are there already.
const removal = "DeleteConnection: the default"

var addsToIt = map[string]bool{"SeeEvents": true, "SeeMeetings": true, "OfferSlots": true, "FinishIntent": true}

// TestEveryMethodIsInterleaved fails if a method of the store is missing from the operations.
func TestEveryMethodIsInterleaved(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, o := range operations {
		known[o.method()] = true
	}
	for method := range notInterleaved {
		if known[method] {
			t.Errorf("%s is in both tables", method)
		}
		known[method] = true
	}
	methods := reflect.TypeFor[*store.Store]()
	for i := range methods.NumMethod() {
		if name := methods.Method(i).Name; !known[name] {
			t.Errorf("%s is neither among the operations nor among those that are not interleaved", name)
		}
		delete(known, methods.Method(i).Name)
	}
	for name := range known {
		t.Errorf("the store has no method %s", name)
	}
}

// TestInterleavedOperationsHaveASerialOrder runs the pairs that use a common table: each operation against itself, and
// the removal of a connection against what adds to it, at every stop, each against others of its method at every third
// stop, and every fortieth other pair at every third stop, if a rival can come between. With FRONTDESK_RIVALS=all it runs
// each pair at every stop.
func TestInterleavedOperationsHaveASerialOrder(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		w := newWorld(t, url)
		footprints := map[string]footprint{}
		for _, o := range operations {
			footprints[o.name] = w.footprint(t, o)
		}
		all := os.Getenv("FRONTDESK_RIVALS") == "all"
		for i, a := range operations {
			stops := footprints[a.name].stops(w.postgres)
			if len(stops) == 0 {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				for j, b := range operations {
					stops := stops
					switch {
					case all:
					case !footprints[a.name].meets(footprints[b.name]):
						continue
					case i == j, a.name == removal && addsToIt[b.method()]:
					case a.method() == b.method():
						stops = everyThird(stops, j)
					case footprints[a.name].excludes(w.postgres), (i+j)%40 != 20:
						continue
					default:
						stops = everyThird(stops, j)
					}
					for _, failure := range w.pair(t, a, b, stops) {
						t.Error(failure)
					}
				}
			})
		}
		t.Logf("%d interleaved runs, %d serial ones", w.interleaved, w.serials)
	})
}

// everyThird returns every third stop, and at least one. All pairs together cover every stop.
func everyThird(stops []int, from int) (some []int) {
	for i := from % min(3, len(stops)); i < len(stops); i += 3 {
		some = append(some, stops[i])
	}
	return some
}

// world is the database that the operations run on.
type world struct {
	s        *store.Store
	db       *sql.DB // bypasses the store: it reads all rows and restores changed ones
	postgres bool
	tables   []string
	reads    *sql.Stmt         // the query for all rows
	waits    *sql.Stmt         // on PostgreSQL: waitsForALock
	base     map[string]string // the rows of each table, from which every run begins
	rows     map[string]string // the current rows

	deadlocks            atomic.Int64
	interleaved, serials int
	restored             int
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	w := &world{postgres: strings.HasPrefix(url, "postgres")}
	driverName, address := "sqlite", "file:"+strings.TrimPrefix(url, "sqlite:")+"?_synchronous=OFF"
	if w.postgres {
		// A session in the replica role runs no triggers, so rows can be restored in any order.
		driverName, address = "pgx", storetest.Unbounded(url)+"&session_replication_role=replica"
		url += "&deadlock_timeout=20ms"
	}
	var err error
	w.s, err = store.OpenThrough(t.Context(), url, func(c driver.Connector) driver.Connector {
		return stoppingConnector{c, w}
	})
	must(t, err)
	t.Cleanup(func() { must(t, w.s.Close()) })
	w.s.PublishWith(publisher(noon))
	must(t, w.s.Migrate(t.Context()))
	w.db = got(sql.Open(driverName, address))(t)
	t.Cleanup(func() { must(t, w.db.Close()) })

	populate(t, w.s, func(statement string) { got(w.db.ExecContext(t.Context(), statement))(t) })
	tables := `SELECT name FROM sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' AND name <> 'directory_changes'
		ORDER BY name` // the history of changes has times and numbers of the moment
	if w.postgres {
		tables = `SELECT tablename FROM pg_tables
			WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%' AND tablename <> 'directory_changes'
			ORDER BY tablename`
	}
	for _, row := range w.query(t, tables) {
		w.tables = append(w.tables, row[0])
	}
	var reads []string
	for _, table := range w.tables {
		got(w.db.ExecContext(t.Context(), "CREATE TABLE base_"+table+" AS SELECT * FROM "+table))(t)
		row := "CAST(" + table + " AS TEXT)"
		if !w.postgres {
			var columns []string
			for _, column := range w.query(t, "SELECT name FROM pragma_table_info('"+table+"')") {
				columns = append(columns, "'"+column[0]+"', quote("+column[0]+")")
			}
			row = "json_object(" + strings.Join(columns, ", ") + ")"
		}
		reads = append(reads, "SELECT '"+table+"', "+row+" FROM "+table)
	}
	w.reads = got(w.db.PrepareContext(t.Context(), strings.Join(reads, " UNION ALL ")))(t)
	t.Cleanup(func() { must(t, w.reads.Close()) })
	if w.postgres {
		w.waits = got(w.db.PrepareContext(t.Context(), waitsForALock))(t)
		t.Cleanup(func() { must(t, w.waits.Close()) })
	}
	w.base = w.read(t)
	w.rows = w.base
	return w
}

var randomIDs = regexp.MustCompile(`msg_\w+`)

func (w *world) query(t *testing.T, query string) [][2]string {
	t.Helper()
	prepared := got(w.db.PrepareContext(t.Context(), query))(t)
	defer prepared.Close()
	return texts(t, prepared)
}

// texts returns the rows of a query for one text or two.
func texts(t *testing.T, query *sql.Stmt) (all [][2]string) {
	t.Helper()
	rows := got(query.QueryContext(t.Context()))(t)
	defer rows.Close()
	columns := got(rows.Columns())(t)
	for rows.Next() {
		var row [2]string
		must(t, rows.Scan([]any{&row[0], &row[1]}[:len(columns)]...))
		all = append(all, row)
	}
	must(t, rows.Err())
	return all
}

// read returns the rows of each table in a fixed order.
func (w *world) read(t *testing.T) map[string]string {
	t.Helper()
	rows := texts(t, w.reads)
	for i := range rows { // ids of deliveries are random, and in no order
		rows[i][1] = randomIDs.ReplaceAllString(rows[i][1], "msg")
	}
	slices.SortFunc(rows, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	all := map[string]string{}
	for _, row := range rows {
		all[row[0]] += row[1] + "\n"
	}
	return all
}

// restore restores the rows that the last run changed.
func (w *world) restore(t *testing.T) {
	t.Helper()
	var script strings.Builder
	for _, table := range w.changed() {
		fmt.Fprintf(&script, "DELETE FROM %s; INSERT INTO %[1]s SELECT * FROM base_%[1]s;", table)
	}
	if script.Len() > 0 {
		got(w.db.ExecContext(t.Context(), script.String()))(t)
	}
	if w.restored++; w.postgres && w.restored%300 == 0 { // each reading passes over what was deleted
		got(w.db.ExecContext(t.Context(), "VACUUM "+strings.Join(w.tables, ", ")))(t)
	}
	w.rows = w.base
}

// changed lists the tables whose rows differ from the base.
func (w *world) changed() (tables []string) {
	for _, table := range w.tables {
		if w.rows[table] != w.base[table] {
			tables = append(tables, table)
		}
	}
	return tables
}

// footprint is what an operation does when it runs alone.
type footprint struct {
	statements []string
	mentions   []string // tables
	changes    []string // tables
}

func (w *world) footprint(t *testing.T, o operation) (f footprint) {
	t.Helper()
	w.restore(t)
	solo := &schedule{}
	if answer := w.call(t, o, "a", solo); !json.Valid([]byte(answer)) {
		t.Errorf("%s is refused even alone: %s", o.name, answer)
	}
	w.rows = w.read(t)
	f.statements, f.changes = solo.statements, w.changed()
	text := strings.Join(f.statements, "\n")
	for _, table := range w.tables {
		if regexp.MustCompile(`\b` + table + `\b`).MatchString(text) {
			f.mentions = append(f.mentions, table)
		}
	}
	return f
}

// excludes reports whether no other operation can write while this one runs: it is one transaction that holds
// SQLite's only writer.
func (f footprint) excludes(postgres bool) bool {
	return !postgres && f.isOneTransaction() && !f.reads()
}

// stops lists the statements before which a rival may matter. It leaves out the first, where the order is
// serial, and the first in a transaction: BEGIN itself reads and locks nothing on PostgreSQL, and locks
// everything on SQLite. On SQLite a writing transaction holds the only writer, so its commit stands for all
// of its statements.
func (f footprint) stops(postgres bool) (stops []int) {
	waits := !postgres && !f.reads()
	inTransaction := false
	for i, statement := range f.statements {
		switch {
		case i == 0, f.statements[i-1] == begin, waits && inTransaction && statement != commit:
		default:
			stops = append(stops, i)
		}
		inTransaction = statement == begin || inTransaction && statement != commit
	}
	return stops
}

// reads reports whether the operation only reads.
func (f footprint) reads() bool {
	return !slices.ContainsFunc(f.statements, func(statement string) bool {
		return statement != begin && statement != commit && statement != commitOfItsOwn &&
			!strings.HasPrefix(statement, "SELECT")
	})
}

// isOneTransaction reports whether others see either all of the operation or nothing.
func (f footprint) isOneTransaction() bool {
	last := len(f.statements) - 1
	return last <= 0 || last == 1 && f.statements[1] == commitOfItsOwn ||
		f.statements[0] == begin && slices.Index(f.statements, commit) == last
}

// meets reports whether a rival may matter. One of the two must change a table that the other reads or
// changes. If the rival only reads, it must be able to see an intermediate state.
func (f footprint) meets(g footprint) bool {
	if g.reads() && f.isOneTransaction() {
		return false
	}
	meet := func(changes, others []string) bool {
		return slices.ContainsFunc(changes, func(table string) bool { return slices.Contains(others, table) })
	}
	return meet(f.changes, g.mentions) || meet(f.changes, g.changes) || meet(f.mentions, g.changes)
}

// outcome is the answers to two callers and the rows that they left.
type outcome struct {
	answers [2]string
	rows    map[string]string
}

// Ids generated by the store are replaced by numbers, in their order.
var (
	madeNumberID = regexp.MustCompile(`\b10\d{5}\b`) // see populateNumbers
	madeSuffix   = regexp.MustCompile(`/[A-Z2-7]{26}`)
)

// finish reads the rows that the callers left.
func (w *world) finish(t *testing.T, a, b operation, o *outcome) {
	t.Helper()
	for i, op := range []operation{a, b} {
		if leavesLocked[op.method()] {
			w.call(t, op, "again", nil)
			o.answers[i] = ""
		}
	}
	w.rows = w.read(t)
	changed := w.changed() // the others have no such ids that a run made
	made := map[string]string{}
	for _, table := range changed {
		for _, id := range madeNumberID.FindAllString(w.rows[table], -1) {
			made[id] = ""
		}
	}
	for i, id := range slices.Sorted(maps.Keys(made)) {
		made[id] = fmt.Sprintf("#%d", i+1)
	}
	anonymous := func(text string) string {
		text = madeNumberID.ReplaceAllStringFunc(text, func(id string) string { return made[id] })
		return madeSuffix.ReplaceAllString(text, "/#")
	}
	o.answers = [2]string{anonymous(o.answers[0]), anonymous(o.answers[1])}
	o.rows = maps.Clone(w.rows)
	for _, table := range changed {
		o.rows[table] = anonymous(w.rows[table])
	}
}

func (o outcome) equal(p outcome) bool { return o.answers == p.answers && maps.Equal(o.rows, p.rows) }

// pair runs b at each stop of a, and returns the deadlocks and the outcomes that no serial order gives.
func (w *world) pair(t *testing.T, a, b operation, stops []int) (failures []string) {
	t.Helper()
	aFirst := sync.OnceValue(func() outcome { return w.serial(t, a, b, "a") })
	bFirst := sync.OnceValue(func() outcome { return w.serial(t, a, b, "b") })
	for _, stop := range stops {
		is, at := w.interleave(t, a, b, stop)
		if w.deadlocks.Swap(0) > 0 {
			failures = append(failures, fmt.Sprintf("%s, before %q: a deadlock", b.name, at))
		}
		if !is.equal(aFirst()) && !is.equal(bFirst()) {
			failures = append(failures, fmt.Sprintf(`%s, before %q: no serial order gives
%s
Unlike it, if this came first:
%s
Unlike it, if the rival came first:
%s`, b.name, at, is.unlike(w.base), aFirst().unlike(is.rows), bFirst().unlike(is.rows)))
		}
	}
	return failures
}

// unlike describes the answers and the rows that differ from the given ones.
func (o outcome) unlike(rows map[string]string) string {
	text := fmt.Sprintf("  a: %s\n  b: %s", o.answers[0], o.answers[1])
	tables := slices.Sorted(maps.Keys(rows))
	for table := range o.rows {
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
	}
	for _, table := range tables {
		there, other := strings.Split(o.rows[table], "\n"), strings.Split(rows[table], "\n")
		for _, row := range there {
			if !slices.Contains(other, row) {
				text += "\n  + " + table + " " + row
			}
		}
		for _, row := range other {
			if !slices.Contains(there, row) {
				text += "\n  - " + table + " " + row
			}
		}
	}
	return text
}

// serial runs a and b one after the other.
func (w *world) serial(t *testing.T, a, b operation, first string) (o outcome) {
	t.Helper()
	w.restore(t)
	w.serials++
	if first == "a" {
		o.answers[0] = w.call(t, a, "a", nil)
	}
	o.answers[1] = w.call(t, b, "b", nil)
	if first == "b" {
		o.answers[0] = w.call(t, a, "a", nil)
	}
	w.finish(t, a, b, &o)
	return o
}

// interleave runs a, and b before the statement of a at stop. It returns that statement too.
func (w *world) interleave(t *testing.T, a, b operation, stop int) (o outcome, at string) {
	t.Helper()
	w.restore(t)
	w.interleaved++
	answered := make(chan string, 1)
	turn := &schedule{stop: stop, rival: func() {
		before, _ := w.s.Waited()
		done := make(chan struct{})
		go func() {
			defer close(done)
			answered <- w.call(t, b, "b", nil)
		}()
		w.ended(t, done, before)
	}}
	o.answers[0] = w.call(t, a, "a", turn)
	if len(turn.statements) <= stop {
		t.Fatalf("%s did not come to its statement %d: %q", a.name, stop, turn.statements)
	}
	o.answers[1] = <-answered
	w.finish(t, a, b, &o)
	return o, turn.statements[stop]
}

// ended waits until the rival is done or is waiting itself, for a lock on PostgreSQL or for SQLite's only
// writer.
func (w *world) ended(t *testing.T, done <-chan struct{}, waitedBefore int64) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if waited, _ := w.s.Waited(); waited > waitedBefore {
			return
		}
		if w.postgres && len(texts(t, w.waits)) > 0 {
			return
		}
	}
}

const waitsForALock = `SELECT 1 FROM pg_stat_activity
	WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'`

// call returns the result of o for the caller, as text.
func (w *world) call(t *testing.T, o operation, name string, turn *schedule) string {
	ctx := t.Context()
	if turn != nil {
		ctx = context.WithValue(ctx, scheduleKey{}, turn)
	}
	answer, err := o.run(caller{ctx: ctx, s: w.s, name: name})
	if f := fault.From(err); f != nil {
		return fmt.Sprintf("%s %s", f.Code, f.Reason)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		t.Errorf("%s: %v", o.name, err)
	}
	return string(text)
}

// schedule sets the statement of an operation before which its rival runs. It belongs to the operation's
// goroutine.
type schedule struct {
	stop       int // 0: nowhere
	rival      func()
	statements []string // so far
}

type scheduleKey struct{}

const (
	begin          = "BEGIN"
	commit         = "COMMIT"
	commitOfItsOwn = "COMMIT of its own"
)

// next records the next statement, after running the rival if the statement is the stop.
func (s *schedule) next(statement string) {
	if s == nil {
		return
	}
	s.statements = append(s.statements, statement)
	if s.stop > 0 && len(s.statements) == s.stop+1 {
		s.rival()
	}
}

// stoppingConnector makes connections that stop as the schedule in the context says.
type stoppingConnector struct {
	driver.Connector
	world *world
}

// session is the interface of the drivers' connections.
type session interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
}

func (c stoppingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s := conn.(session)
	if !c.world.postgres { // the rows live as long as the test
		if _, err := s.ExecContext(ctx, "PRAGMA synchronous = OFF", nil); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return &stoppingConn{session: s, world: c.world}, nil
}

type stoppingConn struct {
	session
	world         *world
	inTransaction bool
}

func (c *stoppingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	turn, _ := ctx.Value(scheduleKey{}).(*schedule)
	turn.next(begin)
	tx, err := c.session.BeginTx(ctx, options)
	c.inTransaction = err == nil
	return &stoppingTx{Tx: tx, conn: c, turn: turn}, err
}

func (c *stoppingConn) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	turn, _ := ctx.Value(scheduleKey{}).(*schedule)
	turn.next(query)
	if turn == nil || c.inTransaction || !c.world.postgres {
		result, err := c.session.ExecContext(ctx, query, args)
		return result, c.noted(err)
	}
	tx, err := c.session.BeginTx(ctx, driver.TxOptions{})
	if err != nil {
		return nil, err
	}
	result, err := c.session.ExecContext(ctx, query, args)
	if err != nil {
		return nil, errors.Join(c.noted(err), tx.Rollback())
	}
	turn.next(commitOfItsOwn)
	return result, tx.Commit()
}

func (c *stoppingConn) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	turn, _ := ctx.Value(scheduleKey{}).(*schedule)
	turn.next(query)
	rows, err := c.session.QueryContext(ctx, query, args)
	return rows, c.noted(err)
}

// CheckNamedValue implements driver.NamedValueChecker if the driver does.
func (c *stoppingConn) CheckNamedValue(value *driver.NamedValue) error {
	if checker, does := c.session.(driver.NamedValueChecker); does {
		return checker.CheckNamedValue(value)
	}
	return driver.ErrSkip
}

func (c *stoppingConn) noted(err error) error {
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == "40P01" {
		c.world.deadlocks.Add(1)
	}
	return err
}

type stoppingTx struct {
	driver.Tx
	conn *stoppingConn
	turn *schedule
}

func (t *stoppingTx) Commit() error {
	t.turn.next(commit)
	t.conn.inTransaction = false
	return t.Tx.Commit()
}

func (t *stoppingTx) Rollback() error {
	t.turn.next("ROLLBACK")
	t.conn.inTransaction = false
	return t.Tx.Rollback()
}
