package audit

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telemetry"
	"frontdesk/core/vault"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.M{M: m}) }

// onBoth tests a rule on each database.
func onBoth(t *testing.T, rule func(t *testing.T, w *world)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{
		"sqlite": storetest.ReusedSQLite, "postgres": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) { rule(t, newWorld(t, url(t))) })
	}
}

// world is a database, a key set, and an attacker who can write to the database but lacks the key set.
type world struct {
	t        *testing.T
	url      string
	vault    *vault.Vault
	headFile string
	attacker *sql.DB
	log      *Log
	logged   *bytes.Buffer
	clock    time.Time
	mu       sync.Mutex
}

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		t: t, url: url, headFile: filepath.Join(dir, "audit-head.json"), logged: &bytes.Buffer{},
		clock: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
	}
	var err error
	if w.vault, err = vault.Open("", dir); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, url)
	w.log = w.process()
	w.attacker = storetest.Database(t, url)
	return w
}

// process returns the log of another process on the same database.
func (w *world) process() *Log {
	w.t.Helper()
	s := storetest.Connect(w.t, w.url)
	w.t.Cleanup(func() { s.Close() })
	return New(Options{
		Store: s, Vault: w.vault, Now: w.now, Log: slog.New(slog.NewTextHandler(w.logged, nil)),
		HeadFile: w.headFile,
	})
}

// restart replaces the log by that of a new process.
func (w *world) restart() {
	w.log = New(w.log.opts)
}

// anew resets everything, which is faster than another database.
func (w *world) anew() {
	w.t.Helper()
	for _, s := range []string{
		"DELETE FROM audit", "DELETE FROM audit_keys", "DELETE FROM audit_head",
		"INSERT INTO audit_head (name, count, mac, key_id, seal) VALUES ('head', 0, '', '', '')",
		"DELETE FROM audit_boundary",
		"INSERT INTO audit_boundary (name, count, mac, kept, key_id, seal, tried_at) VALUES ('boundary', 0, '', '', '', '', 0)",
	} {
		_, err := w.attacker.ExecContext(w.t.Context(), s)
		w.check(err)
	}
	if err := os.Remove(w.headFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	w.restart()
}

// now returns a minute later each time.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(time.Minute)
	return w.clock
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// record records n changes, alternately of two tenants.
func (w *world) record(n int) {
	w.t.Helper()
	for i := range n {
		name := []string{"acme", "bolt"}[i%2]
		w.check(w.log.Record(w.t.Context(), Entry{
			TenantID: "t-" + name, Tenant: name, Actor: Key("k1"), Action: "book-meeting", ConnectionID: "c-" + name,
			Subject: fmt.Sprint("event", i), Changed: []string{"title", "start"}, Outcome: Done, Effect: "effect",
			RequestID: "r1",
		}))
	}
}

func (w *world) seal() {
	w.t.Helper()
	w.check(w.log.Seal(w.t.Context()))
}

// nothingCoversItUp lets a gateway go on, and one that is restarted, each of which also does more. What was
// found before must be found after that.
func (w *world) nothingCoversItUp(more func()) {
	w.t.Helper()
	for range 2 {
		w.record(2)
		w.seal()
		more()
		if r := w.verify(); r.Sound {
			w.t.Fatalf("after more was recorded it is sound: %+v", r)
		}
		w.restart()
	}
}

// does executes statements as the attacker.
func (w *world) does(statements ...string) {
	w.t.Helper()
	for _, s := range statements {
		result, err := w.attacker.ExecContext(w.t.Context(), s)
		w.check(err)
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			w.t.Fatalf("%s touches nothing: %v", s, err)
		}
	}
}

func (w *world) verify(known ...Known) Report {
	w.t.Helper()
	r, err := w.log.Verify(w.t.Context(), VerifyOptions{Known: known})
	w.check(err)
	if r.Sound != (r.Problem == nil) {
		w.t.Fatalf("sound is %v, and the problem %v", r.Sound, r.Problem)
	}
	return r
}

func (w *world) kept() Known {
	w.t.Helper()
	h, err := ReadHead(w.headFile)
	w.check(err)
	return Known{From: w.headFile, Head: h}
}

func TestWhatIsRecordedIsSealedAndSound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		if r := w.verify(); !r.Sound || r.Head != (Head{}) {
			t.Errorf("before anything: %+v", r)
		}
		w.record(5)
		if r := w.verify(); !r.Sound || r.Unsealed != 5 || r.Head.Rows != 0 {
			t.Errorf("before it is sealed: %+v", r)
		}
		w.seal()
		r := w.verify()
		if !r.Sound || r.Unsealed != 0 || r.Head.Rows != 5 || w.kept().Head != r.Head {
			t.Errorf("sealed: %+v, and kept %+v", r, w.kept())
		}
		w.record(3)
		w.seal()
		if again := w.verify(Known{"before", r.Head}, Known{"a hash alone", Head{Hash: r.Head.Hash}},
			w.kept()); !again.Sound || again.Head.Rows != 8 {
			t.Errorf("held against earlier heads: %+v", again)
		}
		rows, err := w.process().opts.Store.AuditRows(t.Context(), store.AuditFilter{Limit: 100})
		w.check(err)
		for i, row := range rows {
			name := []string{"acme", "bolt"}[i%5%2]
			want := store.AuditRow{
				UID: row.UID, ID: int64(i + 1), At: row.At, TenantID: "t-" + name, Tenant: name, Actor: "key:k1",
				Action: "book-meeting", ConnectionID: "c-" + name, Subject: fmt.Sprint("event", i%5),
				Changed: []string{"title", "start"}, Outcome: "done", Effect: "effect", RequestID: "r1", KeyID: row.KeyID,
				MAC: row.MAC,
			}
			if fmt.Sprint(row) != fmt.Sprint(want) {
				t.Errorf("row %d is\n%+v, want\n%+v", i+1, row, want)
			}
		}
	})
}

func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(6)
		w.check(w.log.Record(t.Context(), Entry{Tenant: "acme", Action: "create-key", Outcome: Done}))
		for name, c := range map[string]struct {
			filter store.AuditFilter
			want   []string
		}{
			"the newest":  {store.AuditFilter{Limit: 2}, []string{"event5", ""}},
			"of a tenant": {store.AuditFilter{Limit: 9, Tenant: "bolt"}, []string{"event1", "event3", "event5"}},
			"of a name":   {store.AuditFilter{Limit: 9, Action: "create-key"}, []string{""}},
			"since": {store.AuditFilter{Limit: 9, Since: w.clock.Add(-2 * time.Minute)},
				[]string{"event4", "event5", ""}},
			"of all that": {store.AuditFilter{Limit: 1, Tenant: "acme", Action: "book-meeting"}, []string{"event4"}},
		} {
			rows, err := w.log.opts.Store.AuditRows(t.Context(), c.filter)
			w.check(err)
			var subjects []string
			for _, r := range rows {
				subjects = append(subjects, r.Subject)
			}
			if !slices.Equal(subjects, c.want) {
				t.Errorf("%s: %q, want %q", name, subjects, c.want)
			}
		}
	})
}

// copied lists the columns of a row but uid and id, for a statement that inserts a copy.
const copied = "at, tenant_id, tenant, actor, action, connection_id, subject, changed, outcome, effect, " +
	"request_id, key_id, mac"

func TestTamperingIsFound(t *testing.T) {
	t.Parallel()
	edit := func(row int, to string) []string {
		return []string{fmt.Sprintf("UPDATE audit SET %s WHERE id = %d", to, row)}
	}
	putIn := "INSERT INTO audit (id, uid, " + copied + ") SELECT %s, 'put-in', " + copied +
		" FROM audit WHERE id = %d"
	cases := []struct {
		name string
		do   []string
		row  int64  // the first faulty row
		what string // part of the problem's text
	}{
		{"a time is edited", edit(5, "at = at + 1"), 5, "changed"},
		{"a UID is edited", edit(5, "uid = 'other'"), 5, "changed"},
		{"an actor is edited", edit(5, "actor = 'key:k2'"), 5, "changed"},
		{"an action is edited", edit(5, "action = 'cancel-meeting'"), 5, "changed"},
		{"a tenant is edited", edit(5, "tenant = 'bolt', tenant_id = 't-bolt'"), 5, "changed"},
		{"a connection is edited", edit(5, "connection_id = 'c9'"), 5, "changed"},
		{"a subject is edited", edit(5, "subject = ''"), 5, "changed"},
		{"names of what was changed are edited", edit(5, `changed = '["titlestart"]'`), 5, "changed"},
		{"names become no list", edit(5, `changed = 'title'`), 5, "changed"},
		{"an outcome is edited", edit(5, "outcome = 'failed:SLOT_TAKEN'"), 5, "changed"},
		{"an effect is edited", edit(5, "effect = ''"), 5, "changed"},
		{"a request is edited", edit(5, "request_id = 'r2'"), 5, "changed"},
		{"a MAC is edited", edit(5, "mac = ''"), 5, "changed"},
		{"a key is edited", edit(5, "key_id = 'mine'"), 5, "mine"},
		{"the first row is edited", edit(1, "subject = 'x'"), 1, "changed"},
		{"the last row is edited", edit(10, "subject = 'x'"), 10, "changed"},
		{"the first row is taken away", []string{"DELETE FROM audit WHERE id = 1"}, 1, "missing"},
		{"a row is taken away", []string{"DELETE FROM audit WHERE id = 5"}, 5, "missing"},
		{"a row is taken away and the others close ranks", []string{
			"DELETE FROM audit WHERE id = 9", "UPDATE audit SET id = 9 WHERE id = 10",
			"UPDATE audit_head SET count = 9",
		}, 9, "changed"},
		{"the last row is taken away", []string{"DELETE FROM audit WHERE id = 10"}, 10, "missing"},
		{"the last rows are taken away, and the head is made to fit", []string{
			"DELETE FROM audit WHERE id > 8",
			"UPDATE audit_head SET count = 8, mac = (SELECT mac FROM audit WHERE id = 8)",
		}, 0, "head"},
		{"all rows are taken away", []string{"DELETE FROM audit"}, 1, "missing"},
		{"all rows and the head are taken away", []string{"DELETE FROM audit", "DELETE FROM audit_head"},
			0, "head"},
		{"all is made to look new", []string{"DELETE FROM audit",
			"UPDATE audit_head SET count = 0, mac = '', key_id = '', seal = ''"}, 0, "head"},
		{"the head is taken away", []string{"DELETE FROM audit_head"}, 0, "head"},
		{"the head is edited", []string{"UPDATE audit_head SET count = 11"}, 0, "head"},
		{"two rows change places", []string{
			"UPDATE audit SET id = 99 WHERE id = 5", "UPDATE audit SET id = 5 WHERE id = 6",
			"UPDATE audit SET id = 6 WHERE id = 99",
		}, 5, "moved"},
		{"two rows exchange their tenants", []string{
			"UPDATE audit SET tenant = 'bolt', tenant_id = 't-bolt' WHERE id = 7",
			"UPDATE audit SET tenant = 'acme', tenant_id = 't-acme' WHERE id = 8",
		}, 7, "changed"},
		{"a row is put in at the end", []string{fmt.Sprintf(putIn, "11", 10)}, 11, "inserted"},
		{"a row is put in in place of another", []string{
			"UPDATE audit SET id = NULL WHERE id = 5", fmt.Sprintf(putIn, "5", 4),
		}, 5, "inserted"},
		{"a row is copied beside the chain", []string{fmt.Sprintf(putIn, "NULL", 10)}, 0, "inserted"},
		{"a row is taken out of the chain", edit(10, "id = NULL"), 10, "missing"},
		{"a row that waits is edited", []string{"UPDATE audit SET subject = 'x' WHERE id IS NULL"}, 0, "changed"},
		{"the key is taken away", []string{"DELETE FROM audit_keys"}, 1, "does not open"},
		{"the key is edited", []string{"UPDATE audit_keys SET id = 'other'"}, 1, "does not open"},
	}
	onBoth(t, func(t *testing.T, w *world) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				w.t = t
				w.anew()
				w.record(10)
				w.seal()
				w.record(1) // not sealed yet
				if r := w.verify(w.kept()); !r.Sound || r.Head.Rows != 10 || r.Unsealed != 1 {
					t.Fatalf("before: %+v", r)
				}
				w.does(c.do...)
				r := w.verify()
				if r.Sound || r.Problem.Row != c.row || !strings.Contains(r.Problem.String(), c.what) {
					t.Fatalf("got %+v (%v), want row %d and %q", r, r.Problem, c.row, c.what)
				}
				w.nothingCoversItUp(func() {})
			})
		}
	})
}

func TestAnEarlierStateIsFoundByAHeadKeptElsewhere(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(8)
		w.seal()
		var seal string
		w.check(w.attacker.QueryRowContext(t.Context(), "SELECT seal FROM audit_head").Scan(&seal))
		w.record(2)
		w.seal()
		at10, hash := w.kept(), Known{From: "the head given", Head: Head{Hash: w.kept().Hash}}
		w.does("DELETE FROM audit WHERE id > 8",
			"UPDATE audit_head SET count = 8, mac = (SELECT mac FROM audit WHERE id = 8), seal = '"+seal+"'")
		if r := w.verify(); !r.Sound { // the package documents this limit
			t.Errorf("without a head from elsewhere: %+v", r.Problem)
		}
		if r := w.verify(at10); r.Sound || r.Problem.Row != 9 || !strings.Contains(r.Problem.What, "10 rows") {
			t.Errorf("with the head that was kept: %+v", r)
		}
		if r := w.verify(hash); r.Sound || !strings.Contains(r.Problem.What, "no row has the hash") {
			t.Errorf("with a hash alone: %+v", r)
		}
		// A restarted gateway continues from there, and keeps the proof.
		w.log = w.process()
		for range 5 {
			w.record(1)
			w.seal()
		}
		if w.kept() != at10 || strings.Count(w.logged.String(), "does not continue") != 1 {
			t.Errorf("the head that was kept became %+v\n%s", w.kept(), w.logged)
		}
		if r := w.verify(w.kept()); r.Sound || r.Problem.Row != 10 {
			t.Errorf("after more was sealed: %+v", r)
		}
	})
}

// TestAHeadThatCouldNotBeKeptIsKeptLater though nothing else is to be sealed: a full disk, or a gateway that is stopped
// between the two, must not leave the last rows out of what is known elsewhere.
func TestAHeadThatCouldNotBeKeptIsKeptLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.log.opts.HeadFile = filepath.Join(t.TempDir(), "not-there-yet", "audit-head.json")
		w.record(2)
		if err := w.log.Seal(t.Context()); err == nil {
			t.Fatal("the head was kept in a folder that is missing")
		}
		w.check(os.Mkdir(filepath.Dir(w.log.opts.HeadFile), 0o700))
		w.log.Close()
		if kept, err := ReadHead(w.log.opts.HeadFile); err != nil || kept != w.verify().Head {
			t.Errorf("kept is %v, %v", kept, err)
		}
	})
}

func TestAGatewayThatRunsNoticesAnEarlierState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(8)
		w.seal()
		var seal string
		w.check(w.attacker.QueryRowContext(t.Context(), "SELECT seal FROM audit_head").Scan(&seal))
		w.record(2)
		w.seal()
		w.does("DELETE FROM audit WHERE id > 8",
			"UPDATE audit_head SET count = 8, mac = (SELECT mac FROM audit WHERE id = 8), seal = '"+seal+"'")
		w.record(1)
		w.seal()
		if r := w.verify(); r.Sound || r.Problem.Row != 9 {
			t.Errorf("%+v", r)
		}
	})
}

// hooked is a slog.Handler that calls a function at the first record with a certain message.
type hooked struct {
	slog.Handler
	message string
	once    *sync.Once
	do      func()
}

func (h hooked) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.once.Do(h.do)
	}
	return h.Handler.Handle(ctx, r)
}

// TestRowsOfAKeyThatWasJustMadeAreNoAlarm lets another process create a key, and record with it, right after
// the sealer has read the keys again.
func TestRowsOfAKeyThatWasJustMadeAreNoAlarm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		record := func(l *Log) { w.check(l.Record(t.Context(), Entry{Tenant: "t", Action: "a", Outcome: Done})) }
		sealer, second, third := w.process(), w.process(), w.process()
		w.check(sealer.opts.Store.AddAuditKey(t.Context(),
			store.AuditKey{ID: "unreadable", Sealed: []byte("x"), CreatedAt: w.now()}, store.AuditHead{}))
		made := func(l *Log) { // without the keys of the others, as when all start at the same time
			key, err := l.makeKey(t.Context())
			w.check(err)
			l.ring = key
		}
		made(sealer)
		made(second)
		record(second)
		sealer.opts.Log = slog.New(hooked{
			sealer.opts.Log.Handler(), "a key of the audit cannot be opened", &sync.Once{},
			func() { made(third); record(third) },
		})
		w.check(sealer.Seal(t.Context()))
		if strings.Contains(w.logged.String(), "level=ERROR") {
			t.Errorf("%s", w.logged)
		}
		if r, err := sealer.Verify(t.Context(), VerifyOptions{}); err != nil || r.Head.Rows != 2 {
			t.Errorf("%+v %v", r, err)
		}
	})
}

func TestACrashWhileSealingLeavesTheChainAsItWas(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(3)
		w.seal()
		before := w.verify()
		w.record(450) // more than one transaction seals
		crash := errors.New("crash")
		func() {
			defer func() {
				if recover() != crash {
					t.Fatal("there was no crash")
				}
			}()
			turns := 0
			s := sealing{keys: w.log.ring, known: before.Head, sealed: before.Head}
			var mark store.AuditMark
			for {
				_, next, err := w.log.opts.Store.SealAudit(t.Context(), mark, sealAtOne, func(
					h store.AuditHead, last int64, rows []store.AuditRow,
				) ([]store.AuditRow, store.AuditHead) {
					if turns++; turns == 2 {
						panic(crash)
					}
					return s.chain(h, last, rows)
				})
				w.check(err)
				mark, s.known = next, s.sealed
			}
		}()
		if r := w.verify(); !r.Sound || r.Head.Rows != 3+sealAtOne || r.Unsealed != 450-sealAtOne {
			t.Errorf("after the crash: %+v", r)
		}
		w.log = w.process()
		w.seal()
		if r := w.verify(Known{"before", before.Head}, w.kept()); !r.Sound || r.Head.Rows != 453 ||
			r.Unsealed != 0 {
			t.Errorf("after the next start: %+v", r)
		}
	})
}

func TestARotatedKeySetVerifiesOldRows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(3)
		w.seal()
		for range 3 { // the first key is dropped
			_, err := w.vault.Rotate()
			w.check(err)
			w.check(w.log.Reseal(t.Context()))
			used, err := w.log.SealedWith(t.Context())
			w.check(err)
			primary, err := w.vault.Primary()
			w.check(err)
			if len(used) != 1 || !used[primary] {
				t.Errorf("sealed with %v, and the primary key is %d", used, primary)
			}
			_, err = w.vault.Prune(func(id uint32) bool { return used[id] })
			w.check(err)
			w.record(1)
			w.seal()
			w.log = w.process()
		}
		if r := w.verify(w.kept()); !r.Sound || r.Head.Rows != 6 {
			t.Errorf("%+v", r)
		}
	})
}

func TestWithAnotherKeySetItGoesOnAndSaysSo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.record(3)
		w.seal()
		right := w.vault
		other, err := vault.Open("", t.TempDir())
		w.check(err)
		w.vault = other
		w.log = w.process()
		w.record(2)
		w.seal()
		if r := w.verify(); r.Sound || r.Problem.Row != 1 || !strings.Contains(r.Problem.What, "does not open") {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(w.logged.String(), "opens no key of the audit") {
			t.Error("it is not logged")
		}
		w.vault = right
		w.log = w.process()
		if r := w.verify(); r.Sound || r.Head.Rows != 3 {
			t.Errorf("with the right key set, all but what was written without it is sound: %+v", r)
		}
	})
}

func TestRowsComeFromTheContextAndAreCleaned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.SQLite(t))
	ctx := telemetry.With(By(t.Context(), Operator("tenant create")), telemetry.RequestID("req-1"))
	row, err := w.log.Row(ctx, Entry{
		Action: "a", Subject: "a\x00b\nc\xff" + strings.Repeat("x", 2*mostText), Outcome: Failed("NO"),
	})
	w.check(err)
	if row.Actor != "operator:tenant create" || row.RequestID != "req-1" || row.Outcome != "failed:NO" ||
		row.Subject != "abc"+strings.Repeat("x", mostText-6) {
		t.Errorf("%+v", row)
	}
	if row, err = w.log.Row(t.Context(), Entry{}); err != nil || row.Actor != "gateway" || row.RequestID != "" {
		t.Errorf("without a context of use: %+v, %v", row, err)
	}
}

func TestTheKeyIsInNoFileInTheClear(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.SQLite(t))
	w.record(1)
	w.seal()
	key := w.log.ring.held[w.log.ring.current]
	for _, path := range []string{
		strings.TrimPrefix(w.url, "sqlite:"), strings.TrimPrefix(w.url, "sqlite:") + "-wal", w.headFile,
	} {
		raw, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(raw, key) {
			t.Errorf("%s holds the key", path)
		}
	}
	if len(key) != keyBytes || bytes.Equal(key, make([]byte, keyBytes)) {
		t.Errorf("the key is %x", key)
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("a1", 32)
	for text, want := range map[string]Head{
		hash: {Hash: hash}, "7:" + hash: {Rows: 7, Hash: hash},
	} {
		if got, ok := ParseHead(text); !ok || got != want {
			t.Errorf("%s is %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "7", "0:" + hash, "-1:" + hash, "7x:" + hash, "7 8:" + hash, "7:", hash + "a", strings.Repeat("zz", 32),
	} {
		if got, ok := ParseHead(text); ok {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
	path := filepath.Join(t.TempDir(), "head.json")
	if _, err := ReadHead(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	for _, text := range []string{"", "{}", `{"rows":0,"hash":"x"}`, `{"rows":1}`, "no JSON"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := ReadHead(path); err == nil {
			t.Errorf("%q is taken for %+v", text, h)
		}
	}
	if err := writeHead(path, Head{3, hash}); err != nil {
		t.Fatal(err)
	}
	if h, err := ReadHead(path); err != nil || h != (Head{3, hash}) {
		t.Errorf("%+v, %v", h, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
