package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"frontdesk/core/store"
)

// trap kills a process at a named point: before or after it calls a driver, or before or after it writes to
// the store. The write is carried out as a whole or not at all, as the database promises, but the process
// gets no result. On SQLite the point is a commit. On PostgreSQL it is any message to the server, so that a
// process also dies within transactions and after reads.
type trap struct {
	process *process

	mu    sync.Mutex
	calls int // driver calls until the process dies at one, if above zero
	steps int // store steps until the process dies at one, if above zero
	after bool
	died  string // the point where it died

	seen []string // the steps in the store; on SQLite, the tables of each commit

	survives bool // at a step in PostgreSQL, only the connection is cut
}

// arm makes the process die at its n-th call of a driver or n-th step in the store from now on.
func (t *trap) arm(n int, inStore, after bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls, t.steps, t.after = 0, 0, after
	if inStore {
		t.steps = n
	} else {
		t.calls = n
	}
}

func (t *trap) disarm() { t.arm(0, false, false) }

func (t *trap) point(kind, name string) string {
	if t.after {
		return "after " + kind + " " + name
	}
	return "before " + kind + " " + name
}

// call counts a call of a driver and returns the reaction to it.
func (t *trap) call(name string) reaction {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls--; t.calls != 0 {
		return reaction{}
	}
	t.died = t.point("the call", name)
	die := func(context.Context) error { t.process.dead.Store(true); return errors.New("the process died") }
	if t.after {
		return reaction{after: die}
	}
	return reaction{before: die}
}

// step counts a step in the store. It reports whether the process dies there.
func (t *trap) step(name string) (dies, after bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, name)
	if t.steps--; t.steps != 0 {
		return false, false
	}
	t.died = t.point("the write of", name)
	return true, t.after
}

// bury removes a dead process.
func (w *world) bury(t *trap) {
	t.process.dead.Store(true)
	_ = t.process.store.Close()
	w.mu.Lock()
	delete(w.lives, t.process)
	w.mu.Unlock()
}

// startWithTrap starts a process with a trap and returns the trap.
func (w *world) startWithTrap() *trap {
	w.tb.Helper()
	t := &trap{}
	w.reach = t.onSQLite
	if strings.HasPrefix(w.url, "postgres") {
		w.reach = t.onPostgres
	}
	defer func() { w.reach = nil }()
	t.process = w.start()
	return t
}

// committers are the traps that watch commits on a SQLite file, by the path under which their process opened
// it.
var committers sync.Map

// watchCommits registers the hook for the whole process. The driver's list of hooks has no lock: TestMain
// calls this before any test opens a connection.
func watchCommits() {
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		parsed, err := url.Parse(dsn)
		if err != nil {
			return err
		}
		hooks, ok := conn.(sqlite.HookRegisterer)
		watched, found := committers.Load(parsed.Path)
		if !ok || !found {
			return nil
		}
		var tables []string
		hooks.RegisterPreUpdateHook(func(d sqlite.SQLitePreUpdateData) {
			if !slices.Contains(tables, d.TableName) {
				tables = append(tables, d.TableName)
			}
		})
		hooks.RegisterRollbackHook(func() { tables = nil })
		hooks.RegisterCommitHook(func() int32 {
			slices.Sort(tables)
			name := strings.Join(tables, "+")
			tables = nil
			return watched.(*trap).commit(name)
		})
		return nil
	})
}

// commit returns 1 to turn a commit into a rollback (sqlite.org/c3ref/commit_hook.html).
func (t *trap) commit(name string) int32 {
	if t.process.dead.Load() {
		return 1
	}
	if name == "" { // a statement that changed nothing
		return 0
	}
	dies, after := t.step(name)
	if !dies {
		return 0
	}
	t.process.dead.Store(true)
	if after {
		return 0
	}
	return 1
}

// onSQLite returns a path of the database file that only this process uses, so that its connections can be
// identified.
func (t *trap) onSQLite(p *process) string {
	tb := p.world.tb
	tb.Helper()
	t.process = p
	dir, name := filepath.Split(strings.TrimPrefix(p.world.url, "sqlite:"))
	own := filepath.Join(dir, p.owner)
	p.world.check(os.Symlink(".", own))
	path := filepath.Join(own, name)
	committers.Store(path, t)
	tb.Cleanup(func() { committers.Delete(path) })
	return "sqlite:" + path
}

// onPostgres returns the address of a relay to the server that only this process uses.
func (t *trap) onPostgres(p *process) string {
	w := p.world
	w.tb.Helper()
	t.process = p
	address, err := url.Parse(w.url)
	w.check(err)
	query := address.Query()
	dir, err := os.MkdirTemp("/tmp", "frontdesk-relay-") // socket paths are limited to about a hundred bytes
	w.check(err)
	r := &relay{
		trap: t, server: filepath.Join(query.Get("host"), ".s.PGSQL.5432"), conns: map[net.Conn]struct{}{},
	}
	r.listener, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	w.check(err)
	r.group.Go(r.accept)
	w.tb.Cleanup(func() { r.end(); r.group.Wait(); _ = os.RemoveAll(dir) })
	query.Set("host", dir)
	address.RawQuery = query.Encode()
	return address.String()
}

// relay forwards messages between a process and PostgreSQL.
type relay struct {
	trap     *trap
	server   string
	listener net.Listener
	group    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil: the relay has ended
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", r.server)
		if err != nil || !r.keep(client, server) {
			_ = client.Close()
			continue
		}
		last := make(chan struct{}) // closed when the server's next response is the last one
		r.group.Go(func() { r.ask(client, server, last) })
		r.group.Go(func() { r.answer(client, server, last) })
	}
}

func (r *relay) keep(both ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range both {
		if r.conns == nil {
			_ = c.Close()
			continue
		}
		r.conns[c] = struct{}{}
	}
	return r.conns != nil
}

// end cuts the process off.
func (r *relay) end() {
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

func (r *relay) drop(both ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range both {
		_ = c.Close()
		delete(r.conns, c)
	}
}

func (r *relay) die() {
	if r.trap.survives {
		return
	}
	r.trap.process.dead.Store(true)
	r.end()
}

// ask forwards what the process sends.
func (r *relay) ask(client, server net.Conn, last chan<- struct{}) {
	defer r.drop(client, server)
	statements := prepared{}
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if r.trap.process.dead.Load() { // it died at a call
			r.end()
			return
		}
		name, counts := statements.name(buffer[:n])
		var dies, after bool
		if counts {
			dies, after = r.trap.step(name)
		}
		if dies && !after {
			r.die()
			return // at least this connection ends
		}
		if dies {
			close(last)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// prepared maps the names of a connection's prepared statements to what they do.
type prepared map[string]string

// name returns what a message does, and whether it counts as a step. Preparing a statement and pinging the
// server do not count.
func (p prepared) name(message []byte) (string, bool) {
	const header = 5
	if len(message) < header {
		return "", false
	}
	parts := strings.SplitN(string(message[header:]), "\x00", 3)
	switch message[0] {
	case 'P': // Parse: the statement's name, and its text
		p[parts[0]] = brief(parts[1])
	case 'B': // Bind: the portal's name, and the statement's
		return p[parts[1]], true
	case 'Q':
		return brief(parts[0]), !strings.HasPrefix(parts[0], "--")
	}
	return "", false
}

// brief returns what a statement does to which table.
func brief(sql string) string {
	sql = strings.TrimPrefix(sql, "WITH change AS (")
	words := strings.Fields(sql)
	verb := strings.ToLower(words[0])
	at := map[string]string{"insert": "INTO", "delete": "FROM", "select": "FROM", "update": "UPDATE"}[verb]
	if i := slices.Index(words, at); i >= 0 && i+1 < len(words) {
		return verb + " " + words[i+1]
	}
	return verb
}

// answer forwards what the server sends. It reads the last response to its end but does not forward it.
func (r *relay) answer(client, server net.Conn, last <-chan struct{}) {
	defer r.drop(client, server)
	var tail []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		tail = append(tail, buffer[:n]...)
		tail = tail[max(0, len(tail)-readyLength):]
		select {
		case <-last:
			if readyForQuery(tail) {
				r.die()
				return
			}
			continue // the response has more parts
		default:
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// readyLength is the length of the message ReadyForQuery, which ends a response (PostgreSQL's manual,
// Message Formats).
const readyLength = 6

func readyForQuery(tail []byte) bool {
	return len(tail) == readyLength && string(tail[:readyLength-1]) == "Z\x00\x00\x00\x05"
}

// TestATrapKillsWhereItSays checks the traps themselves: the last write of a process is stored or not, as the
// trap was armed, and the process can do nothing more.
func TestATrapKillsWhereItSays(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		called := w.startWithTrap()
		w.check(called.process.store.Ping(background))
		called.arm(1, false, false)
		if r := called.call("book"); r.before == nil || r.before(background) == nil {
			t.Fatal("it does not die at a call")
		}
		if err := called.process.store.CreateTenant(background, store.Tenant{
			ID: "called", Name: "called",
		}); err == nil {
			t.Error("a process that died at a call wrote")
		}
		w.bury(called)
		for _, after := range []bool{false, true} {
			dead := w.startWithTrap()
			write := func(name string) error {
				return dead.process.store.CreateTenant(background, store.Tenant{
					ID: name, Name: name, CreatedAt: w.clock.now(),
				})
			}
			w.check(write(fmt.Sprint("before", after))) // from here on, PostgreSQL has prepared the statement
			dead.arm(1, true, after)
			_ = write(fmt.Sprint("last", after))
			if !dead.process.dead.Load() || dead.died == "" {
				t.Fatalf("after %v: it is not dead", after)
			}
			if err := write(fmt.Sprint("later", after)); err == nil {
				t.Errorf("after %v: a dead process wrote", after)
			}
			w.bury(dead)
		}
		all, err := w.store.Tenants(background)
		w.check(err)
		var names []string
		for _, row := range all {
			names = append(names, row.Name)
		}
		if got := strings.Join(names, " "); got != "beforefalse beforetrue lasttrue" {
			t.Errorf("the store has %s", got)
		}
	})
}
