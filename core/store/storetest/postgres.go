package storetest

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

// Postgres returns the URL of a new database that has every table and no row. All processes that test at one time
// share one cluster, which stops soon after the last of them ends, even by a crash.
func Postgres(tb testing.TB) (url string) {
	tb.Helper()
	c, err := shared()
	wantStarted(tb, err)
	name, err := c.create(copyPrefix, fromTemplate)
	return c.forTest(tb, name, err, func() error { return c.drop(name) })
}

// ReusedPostgres returns the URL of a database like that of Postgres, which another test of this process uses next: to
// delete its rows takes much less time than to copy a database. So do the connections of its stores: a new one takes as
// long as dozens of statements, and plans each anew. A test may add triggers, but change no tables. See [M].
func ReusedPostgres(tb testing.TB) (url string) {
	tb.Helper()
	c, err := shared()
	wantStarted(tb, err)
	d, err := c.unusedDatabase()
	return c.forTest(tb, d.name, err, func() error { return c.empty(d) })
}

// EmptyPostgres returns the URL of a new database without tables.
func EmptyPostgres(tb testing.TB) (url string) {
	tb.Helper()
	c, err := shared()
	wantStarted(tb, err)
	name, err := c.create("test_", "")
	return c.forTest(tb, name, err, func() error { return c.drop(name) })
}

// copyPrefix begins the names of databases that are copies of the template.
const copyPrefix = "copy_"

const fromTemplate = " TEMPLATE " + template + " STRATEGY FILE_COPY"

func (c *Cluster) create(prefix, from string) (name string, err error) {
	name = fmt.Sprintf("%s%d_%d", prefix, os.Getpid(), c.databases.Add(1))
	return name, c.execute("CREATE DATABASE " + name + from)
}

func (c *Cluster) drop(name string) error {
	return c.execute("DROP DATABASE " + name + " WITH (FORCE)")
}

// forTest returns the URL of a database that was made, and gives it back when the test ends.
func (c *Cluster) forTest(tb testing.TB, name string, err error, giveBack func() error) (url string) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("PostgreSQL makes no database: %v", err)
	}
	c.inUse.Add(1)
	tb.Cleanup(func() {
		err := giveBack()
		if c.inUse.Add(-1) == 0 {
			c.disconnect()
		}
		if err != nil {
			tb.Errorf("PostgreSQL does not take the test's database back: %v", err)
		}
	})
	return c.URL(name)
}

// reusable is a database, the connections that its stores leave to the next ones, and one that empties it.
type reusable struct {
	name string
	pool *pgxpool.Pool
	conn *pgx.Conn
}

// unusedDatabase returns a database that no test uses.
func (c *Cluster) unusedDatabase() (d reusable, err error) {
	c.reusable.Lock()
	defer c.reusable.Unlock()
	if last := len(c.reusable.unused) - 1; last >= 0 {
		d, c.reusable.unused = c.reusable.unused[last], c.reusable.unused[:last]
		return d, nil
	}
	ctx := context.Background()
	if d.name, err = c.create(copyPrefix, fromTemplate); err != nil {
		return d, err
	}
	config, err := pgxpool.ParseConfig(c.address(d.name) + "&application_name=frontdesk&pool_max_conns=1000")
	if err != nil {
		return d, err
	}
	if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return d, err
	}
	// A session in the replica role runs no triggers, so rows can be deleted in any order.
	if d.conn, err = pgx.Connect(ctx, c.address(d.name)+"&session_replication_role=replica"); err != nil {
		return d, err
	}
	connector := stdlib.GetPoolConnector(d.pool)
	reused().Store(c.URL(d.name), reuse{
		connectors: func() wrap { return func(driver.Connector) driver.Connector { return connector } },
		end:        func() error { defer c.disconnect(); return c.dropReusable(d) },
	})
	_, err = d.conn.Exec(ctx, emptying)
	return d, err
}

// emptying makes a function of the session that ends all others of its database but those that are kept, deletes the
// rows that a new one does not have, and reports whether it is as new. With triggers it is not, nor with statistics, by
// which queries are planned.
const emptying = `
DO $make$
DECLARE
	name text;
	filled boolean;
	statements text := 'PERFORM pg_terminate_backend(pid, 60000) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND NOT pid = ANY (kept);';
BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		statements := statements || format('DELETE FROM %I;', name);
		EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO filled;
		IF filled THEN
			EXECUTE format('CREATE TEMPORARY TABLE %I AS SELECT * FROM %I', 'new_' || name, name);
			statements := statements || format('INSERT INTO %I SELECT * FROM %I;', name, 'new_' || name);
		END IF;
	END LOOP;
	EXECUTE 'CREATE FUNCTION pg_temp.emptied(kept int[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN ' || statements || '
		RETURN NOT EXISTS (SELECT FROM pg_trigger WHERE NOT tgisinternal) AND
			NOT EXISTS (SELECT FROM pg_statistic JOIN pg_class ON pg_class.oid = starelid
				WHERE relnamespace = ''public''::regnamespace); END $$';
END $make$`

// empty empties a database for the next test.
func (c *Cluster) empty(d reusable) error {
	ctx := context.Background()
	idle := d.pool.AcquireAllIdle(ctx)
	pids := make([]int32, len(idle))
	for i, conn := range idle {
		pids[i] = int32(conn.Conn().PgConn().PID())
	}
	var asNew bool
	err := d.conn.QueryRow(ctx, "SELECT pg_temp.emptied($1)", pids).Scan(&asNew)
	for _, conn := range idle {
		conn.Release()
	}
	if err != nil || !asNew {
		return errors.Join(err, c.dropReusable(d))
	}
	c.reusable.Lock()
	defer c.reusable.Unlock()
	c.reusable.unused = append(c.reusable.unused, d)
	return nil
}

func (c *Cluster) dropReusable(d reusable) error {
	reused().Delete(c.URL(d.name))
	d.pool.Close()
	return errors.Join(d.conn.Close(context.Background()), c.drop(d.name))
}

// boundedPool lets a store open ten connections in place of twenty. Tests of many callers at once would else
// spend most of their time on opening them.
const boundedPool = "&pool_max_conns=10"

// Unbounded returns the URL without what only a store understands.
func Unbounded(url string) string { return strings.Replace(url, boundedPool, "", 1) }

// template is the database that others are copied from. A copy takes much less time than the migrations.
const template = "with_tables"

func (c *Cluster) makeTemplate() error {
	if err := c.execute("CREATE DATABASE " + template); err != nil {
		return err
	}
	if err := migrate(c.URL(template)); err != nil {
		return err
	}
	// The first connection writes a file that spares the others reading the catalogue. Copies have it, too.
	conn, err := pgx.Connect(context.Background(), c.address(template))
	if err != nil {
		return err
	}
	_, err = conn.Exec(context.Background(), "SELECT 1")
	return errors.Join(err, conn.Close(context.Background()))
}

// Start starts a cluster for one test that stops it or fills it up. It is removed when the test ends.
func Start(tb testing.TB) *Cluster {
	tb.Helper()
	others, err := shared()
	wantStarted(tb, err)
	c, err := newCluster()
	wantStarted(tb, err)
	c.from = others.unused()
	lock := filepath.Join(tb.TempDir(), "alive")
	c.alive, err = locked(lock, syscall.LOCK_SH)
	wantStarted(tb, err)
	tb.Cleanup(func() { c.alive.Close() })
	wantStarted(tb, c.start(lock, 0))
	return c
}

func wantStarted(tb testing.TB, err error) {
	tb.Helper()
	var missing *missingError
	if errors.As(err, &missing) && os.Getenv("FRONTDESK_REQUIRE_ALL") != "1" {
		tb.Skipf("%s needs PostgreSQL: %v", tb.Name(), err)
	}
	if err != nil {
		tb.Fatalf("PostgreSQL does not start: %v", err)
	}
}

// missingError is the error of something that is not installed.
type missingError struct{ what string }

func (m *missingError) Error() string { return m.what + " is not installed" }

// shared joins the cluster that all processes use which test the same tables at one time. To start one takes as much
// time as hundreds of databases in it. The first process that comes starts it, while the others wait.
var shared = sync.OnceValues(func() (*Cluster, error) {
	c, err := newCluster()
	if err != nil {
		return nil, err
	}
	tables, err := sumOfMigrations()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("frontdesk-pg-%d-%s", os.Geteuid(), tables))
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if at, err := os.Lstat(folder); err != nil || !at.IsDir() || at.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("%s is not a folder of this user's", folder)
	}
	users := filepath.Join(folder, "users")
	alive, err := locked(users, syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	turn, err := locked(filepath.Join(folder, "turn"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	c.alive = alive
	place := filepath.Join(folder, "place")
	if text, err := os.ReadFile(place); err == nil {
		if c.dir = string(text); c.execute("SELECT") == nil {
			return c, nil
		}
	}
	if err := c.start(users, lingers); err != nil {
		return nil, err
	}
	if err := c.makeTemplate(); err != nil {
		return nil, err
	}
	return c, os.WriteFile(place, []byte(c.dir), 0o600)
})

// sumOfMigrations returns a sum of what makes the tables.
func sumOfMigrations() (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return "", errors.New("tests with PostgreSQL run inside of the module")
		}
		root = filepath.Dir(root)
	}
	files, err := filepath.Glob(filepath.Join(root, "core", "store", "migrations", "*"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(file), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// locked opens a file and locks it, until it is closed or the process ends. Children do not inherit it.
func locked(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Cluster is a PostgreSQL server with no network port: it listens on a socket in its own directory.
type Cluster struct {
	bin, dir  string
	from      string              // the data of a cluster that was never started, or "": it is made anew
	as        *syscall.Credential // nil: the user of this process
	env       []string
	alive     *os.File     // locked: the cluster lives until every process that has the lock has closed this
	databases atomic.Int64 // that were made
	inUse     atomic.Int64 // of those

	reusable struct {
		sync.Mutex
		unused []reusable
	}
	admin struct {
		sync.Mutex
		conn *pgx.Conn // to the database "postgres", or nil
	}
}

// inMemory returns the directory of a file system in memory, where a database is copied nine times as fast, or
// the given directory if there is none with enough room.
func inMemory(otherwise string) string {
	const shm, enough = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if syscall.Statfs(shm, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < enough ||
		syscall.Access(shm, 2) != nil { // 2: to write
		return otherwise
	}
	return shm
}

// newCluster returns a cluster that is not there yet.
func newCluster() (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, env: []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		c.as, err = postgresUser()
	}
	return c, err
}

// start makes the cluster and starts it. It is stopped and its directory removed when nobody has a lock on the file
// any more: a shell waits for that.
func (c *Cluster) start(lock string, lingers time.Duration) (err error) {
	// Not under TMPDIR: the path of a socket has about a hundred bytes, and the server's user must reach it.
	if c.dir, err = os.MkdirTemp(inMemory("/tmp"), "frontdesk-pg-"); err != nil {
		return err
	}
	if c.as != nil {
		if err := os.Chown(c.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return err
		}
	}
	if err := c.removeWithout(lock, lingers); err != nil {
		return err
	}
	if c.from == "" {
		c.from = c.unused()
		// A collation other than byte order, so that a query that silently relies on byte order fails here.
		err = c.run(filepath.Join(c.bin, "initdb"), "-D", c.from, "-U", "postgres", "-A", "trust", "-E", "UTF8",
			"--no-sync", "--no-instructions", "--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8")
		if err != nil {
			return err
		}
	}
	if err := c.run("cp", "-R", "-p", c.from, c.data()); err != nil {
		return err
	}
	return c.Up()
}

// unused returns where the shared cluster keeps what initdb made, which takes fifteen times as long as to copy it.
func (c *Cluster) unused() string { return filepath.Join(c.dir, "unused") }

// binaries finds the newest installed server.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", &missingError{"PostgreSQL's server (Debian: postgresql)"}
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, &missingError{"the user postgres, who runs the server in place of root,"}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// Up starts the server after Down.
func (c *Cluster) Up() error {
	// The data lives as long as the tests, so protecting it from a power cut would only cost time.
	options := "-k " + c.dir + " -c listen_addresses= -c fsync=off -c full_page_writes=off -c " +
		"max_connections=1000 -c shared_buffers=64MB -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=256MB " +
		"-c autovacuum=off -c jit=off" // for databases that live for seconds
	return c.run(filepath.Join(c.bin, "pg_ctl"), "start", "-w", "-D", c.data(), "-l", filepath.Join(c.dir, "log"),
		"-o", options)
}

// Down stops the server as a crash would.
func (c *Cluster) Down() error {
	return c.run(filepath.Join(c.bin, "pg_ctl"), "stop", "-w", "-m", "immediate", "-D", c.data())
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Setsid: true}
	return cmd
}

func (c *Cluster) run(name string, args ...string) error {
	cmd := c.command(name, args...)
	// The output goes to a file: the server inherits it, and a pipe would not end before the server does.
	out, err := os.CreateTemp(c.dir, "out-")
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		output, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, output, log)
	}
	return nil
}

// lingers is how long a shared cluster waits for the next process that tests: to start one takes three seconds of the
// processor's time.
const lingers = 30 * time.Second

// removeWithout starts the shell that waits until nobody has had a lock on the file for a time.
func (c *Cluster) removeWithout(lock string, lingers time.Duration) error {
	file, err := os.Open(lock)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd := c.command("/bin/sh", "-c", `while flock -x 3; flock -u 3; sleep "$2"; ! flock -nx 3; do :; done
		"$0" stop -s -m immediate -D "$1/data"; cd / && rm -rf "$1"`,
		filepath.Join(c.bin, "pg_ctl"), c.dir, fmt.Sprint(lingers.Seconds()))
	cmd.ExtraFiles = []*os.File{file} // descriptor 3
	return cmd.Start()
}

// URL returns the address of a database for a store.
func (c *Cluster) URL(database string) string { return c.address(database) + boundedPool }

func (c *Cluster) address(database string) string {
	query := url.Values{"host": {c.dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + query.Encode()
}

// execute runs a statement in the database "postgres". Its connection stays open while there are databases: on some
// machines, to open one takes longer than all that a test does with its database.
func (c *Cluster) execute(statement string) (err error) {
	ctx := context.Background()
	c.admin.Lock()
	defer c.admin.Unlock()
	if c.admin.conn != nil && c.admin.conn.Ping(ctx) != nil { // the server was stopped meanwhile
		_ = c.admin.conn.Close(ctx)
		c.admin.conn = nil
	}
	if c.admin.conn == nil {
		if c.admin.conn, err = pgx.Connect(ctx, c.address("postgres")); err != nil {
			return err
		}
	}
	_, err = c.admin.conn.Exec(ctx, statement)
	return err
}

// disconnect closes the connection of execute. Where it was slow to write, it has a goroutine that waits for more to
// read, which would be a leak in the tests' end.
func (c *Cluster) disconnect() {
	c.admin.Lock()
	defer c.admin.Unlock()
	if c.admin.conn != nil {
		_ = c.admin.conn.Close(context.Background())
		c.admin.conn = nil
	}
}
