package storetest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// PgBouncer returns the URL of a new database that has every table and no row, reached through a pooler in
// transaction mode: each transaction may run on another connection to the server.
func PgBouncer(tb testing.TB) (url string) {
	tb.Helper()
	return Pooled(tb, Postgres(tb))
}

// Pooled returns the URL of a database of PostgreSQL through a pooler in transaction mode, which ends with the
// test. Without PgBouncer, the test is skipped; with FRONTDESK_REQUIRE_ALL=1 it fails.
func Pooled(tb testing.TB, server string) (pooled string) {
	tb.Helper()
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		binary = "/usr/sbin/pgbouncer"
		if _, err = os.Stat(binary); err != nil {
			wantStarted(tb, &missingError{"PgBouncer (Debian: pgbouncer)"})
		}
	}
	at, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	c := &Cluster{env: []string{"PATH=" + os.Getenv("PATH")}}
	if os.Geteuid() == 0 { // PgBouncer refuses to run as root
		if c.as, err = postgresUser(); err != nil {
			tb.Fatal(err)
		}
	}
	if c.dir, err = os.MkdirTemp(inMemory("/tmp"), "frontdesk-pb-"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(c.dir) })
	config := filepath.Join(c.dir, "pgbouncer.ini")
	// Few connections for many clients, so that statements of one client do meet another's connection.
	text := fmt.Sprintf(`[databases]
* = host=%s user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = 12
max_client_conn = 1000
server_round_robin = 1
server_login_retry = 0.1
logfile = %s
`, at.Query().Get("host"), c.dir, filepath.Join(c.dir, "log"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	if c.as != nil {
		if err := os.Chown(c.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := c.command(binary, "-q", config)
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	const port = "6432"
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", filepath.Join(c.dir, ".s.PGSQL."+port))
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
			tb.Fatalf("PgBouncer does not start: %v\n%s", err, log)
		}
	}
	query := at.Query()
	query.Set("host", c.dir)
	query.Set("port", port)
	// A statement that is prepared on one connection to the server is not there on the next.
	query.Set("default_query_exec_mode", "exec")
	return "postgres:///" + strings.TrimPrefix(at.Path, "/") + "?" + query.Encode()
}
