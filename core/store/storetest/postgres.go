package storetest

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Postgres returns the URL of a new database that has every table and no row. All tests of a process share
// one cluster, which stops when the process ends, even by a crash.
func Postgres(tb testing.TB) (url string) {
	tb.Helper()
	c, err := shared()
	wantStarted(tb, err)
	if err := c.template(); err != nil {
		tb.Fatalf("PostgreSQL's tables are not made: %v", err)
	}
	return c.database(tb, " TEMPLATE "+template+" STRATEGY FILE_COPY")
}

// EmptyPostgres returns the URL of a new database without tables.
func EmptyPostgres(tb testing.TB) (url string) {
	tb.Helper()
	c, err := shared()
	wantStarted(tb, err)
	return c.database(tb, "")
}

func (c *Cluster) database(tb testing.TB, from string) (url string) {
	tb.Helper()
	name := fmt.Sprintf("test_%d", c.databases.Add(1))
	if err := c.execute("CREATE DATABASE " + name + from); err != nil {
		tb.Fatalf("PostgreSQL makes no database: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.execute("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			tb.Errorf("PostgreSQL does not drop the test's database: %v", err)
		}
	})
	return c.URL(name)
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
	c, err := start()
	wantStarted(tb, err)
	tb.Cleanup(func() { c.alive.Close() })
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

// shared starts the process's one cluster at its first use.
var shared = sync.OnceValues(func() (*Cluster, error) {
	folder := os.Getenv("FRONTDESK_TEST_CLUSTER")
	if folder == "" {
		return start()
	}
	return startCopy(folder)
})

// startCopy starts a copy of the cluster that lies in the folder, with the template in it. Making both takes
// three times as long as starting a copy, so that the tests of a whole run share such a folder: the first process
// that comes makes them, while the others wait.
func startCopy(folder string) (*Cluster, error) {
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	made := filepath.Join(folder, "data")
	if _, err := os.Stat(made); err != nil {
		c, err := start()
		if err != nil {
			return nil, err
		}
		err = errors.Join(c.template(), c.stop("fast"))
		if err == nil {
			err = copyAll(c.data(), made+".new")
		}
		c.alive.Close()
		if err == nil {
			err = os.Rename(made+".new", made)
		}
		if err != nil {
			return nil, err
		}
	}
	c, err := prepare()
	if err != nil {
		return nil, err
	}
	if err := copyAll(made, c.data()); err != nil {
		return nil, err
	}
	c.template = func() error { return nil }
	return c, c.Up()
}

// copyAll copies a folder with its owners.
func copyAll(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// Cluster is a PostgreSQL server with no network port: it listens on a socket in its own directory.
type Cluster struct {
	bin, dir  string
	as        *syscall.Credential // nil: the user of this process
	env       []string
	alive     *os.File // the cluster lives until this is closed
	databases atomic.Int64
	template  func() error // makes the template at its first call

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

// start starts a new cluster.
func start() (*Cluster, error) {
	c, err := prepare()
	if err != nil {
		return nil, err
	}
	c.template = sync.OnceValue(c.makeTemplate)
	// A collation other than byte order, so that a query that silently relies on byte order fails here.
	err = c.run("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--no-instructions", "--wal-segsize=4", // MB: a cluster is small, and copied
		"--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8")
	if err != nil {
		return nil, err
	}
	return c, c.Up()
}

// prepare makes the directory of a cluster. The cluster is stopped and its directory removed when this process
// ends, even by a crash: a shell waits for that on a pipe.
func prepare() (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, env: []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		if c.as, err = postgresUser(); err != nil {
			return nil, err
		}
	}
	// Not under TMPDIR: the path of a socket has about a hundred bytes, and the server's user must reach it.
	if c.dir, err = os.MkdirTemp(inMemory("/tmp"), "frontdesk-pg-"); err != nil {
		return nil, err
	}
	if c.as != nil {
		if err := os.Chown(c.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return nil, err
		}
	}
	return c, c.removeAtExit()
}

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
		"max_connections=1000 -c shared_buffers=32MB -c wal_level=minimal -c max_wal_senders=0 -c max_wal_size=64MB " +
		"-c autovacuum=off -c jit=off" // for databases that live for seconds
	return c.run("pg_ctl", "start", "-w", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o", options)
}

// Down stops the server as a crash would.
func (c *Cluster) Down() error { return c.stop("immediate") }

func (c *Cluster) stop(mode string) error {
	return c.run("pg_ctl", "stop", "-w", "-m", mode, "-D", c.data())
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as, Setsid: true}
	return cmd
}

func (c *Cluster) run(name string, args ...string) error {
	cmd := c.command(filepath.Join(c.bin, name), args...)
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

// removeAtExit starts the shell that waits for the end of this process.
func (c *Cluster) removeAtExit() error {
	wait, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer wait.Close()
	cmd := c.command("/bin/sh", "-c", `cat; "$0" stop -s -m immediate -D "$1/data"; cd / && rm -rf "$1"`,
		filepath.Join(c.bin, "pg_ctl"), c.dir)
	cmd.Stdin = wait
	if err := cmd.Start(); err != nil {
		return err
	}
	c.alive = hold // closed at the latest by the end of the process; children do not inherit it
	return nil
}

// URL returns the address of a database for a store.
func (c *Cluster) URL(database string) string { return c.address(database) + boundedPool }

func (c *Cluster) address(database string) string {
	query := url.Values{"host": {c.dir}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + query.Encode()
}

// execute runs a statement in the database "postgres". Its connection stays open: on some machines, to open one
// takes longer than all that a test does with its database.
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
