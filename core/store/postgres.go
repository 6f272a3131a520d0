package store

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"frontdesk/core/fault"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	connectTimeout = 2 * time.Second // if the URL has no connect_timeout

	// poolParameter says in the URL how many connections a replica opens, as for package pgxpool (ParseConfig).
	poolParameter       = "pool_max_conns"
	postgresConnections = 20              // without it: servers commonly allow a hundred in all
	fewestConnections   = turnsAtOnce + 2 // turns last longer than other transactions
)

// poolSize takes the number of connections from the parameters, which the server would refuse.
func poolSize(parameters map[string]string) (int, error) {
	text, given := parameters[poolParameter]
	if !given {
		return postgresConnections, nil
	}
	delete(parameters, poolParameter)
	n, err := strconv.Atoi(text)
	if err != nil || n < fewestConnections {
		return 0, fault.InvalidField("store.url",
			fmt.Sprintf("has a %s that is not a number from %d on.", poolParameter, fewestConnections))
	}
	return n, nil
}

// openPostgres makes the pool. The first call connects to the server.
func openPostgres(url string, pool newPool) (*Store, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's error may contain the password.
		return nil, fault.InvalidField("store.url",
			`must be an address of PostgreSQL, such as "postgres://USER:PASSWORD@HOST/DATABASE". Characters other than `+
				`letters and digits are escaped in it, such as / as %2F. The password can be in the variable PGPASSWORD, too.`)
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "frontdesk"
	}
	connections, err := poolSize(config.RuntimeParams)
	if err != nil {
		return nil, err
	}
	limit := config.ConnectTimeout
	if limit == 0 {
		limit = connectTimeout
	}
	config.ConnectTimeout = limit * 2 / 3 // for one address, so that one that does not answer leaves time for the next
	db := pool(dialer{Connector: leavingStandbys(*config), limit: limit}, connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	// The limit makes the pool leave a server behind a load balancer in time.
	db.SetConnMaxLifetime(30 * time.Minute)
	return &Store{write: db, read: db, turns: make(chan struct{}, turnsAtOnce), limit: callLimit, dialect: dialect{
		goose: goose.DialectPostgres, others: ".sqlite.sql", classify: classifyPostgres,
		// Transactions that could conflict take turns by the row that they update first, so READ COMMITTED is
		// enough to write. The tests run operations against each other between any two statements.
		writing:  &sql.TxOptions{Isolation: sql.LevelReadCommitted},
		reading:  &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		check:    func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) },
		joins:    true,
		soon:     "SET LOCAL synchronous_commit = off",
		rewrites: 1, // a transaction that locks several rows could deadlock with another one
		clock:    "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
		server:   "CAST(EXTRACT(EPOCH FROM pg_postmaster_start_time()) * 1000000 AS BIGINT)",
		// No transaction from before xmin is still in progress (PostgreSQL's manual, "Transaction ID and Snapshot
		// Information Functions").
		number:    "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)",
		versioned: "SELECT COUNT(to_regclass('goose_db_version'))",
		// This is the lock that a foreign key takes: a removal waits for it, an update does not (PostgreSQL's
		// manual, "Row-Level Locks").
		lockParent: " FOR KEY SHARE",
		lockRows:   " FOR UPDATE",
		lockFree:   " FOR UPDATE SKIP LOCKED",
	}}, nil
}

// leavingStandbys returns a connector whose pool leaves the connections that were opened before a server said that it
// takes no writes. After a failover, the name or balancer in the URL may lead to the former primary for a while, and
// the connections to it stay open when that is over. While it is not, they are left once a second: reads may use
// them.
func leavingStandbys(config pgx.ConnConfig) driver.Connector {
	const opened = "opened"
	began := time.Now()
	var left atomic.Int64 // when connections were left, as the time since began; 0: never
	others := config.OnPgError
	config.OnPgError = func(c *pgconn.PgConn, failed *pgconn.PgError) bool {
		now, last := int64(time.Since(began)), left.Load()
		if failed.Code == stateReadOnly && (last == 0 || now-last > int64(time.Second)) {
			left.CompareAndSwap(last, now)
		}
		return others(c, failed)
	}
	return stdlib.GetConnector(config,
		stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
			c.PgConn().CustomData()[opened] = time.Since(began)
			return nil
		}),
		stdlib.OptionResetSession(func(_ context.Context, c *pgx.Conn) error {
			if at, is := c.PgConn().CustomData()[opened].(time.Duration); is && at <= time.Duration(left.Load()) {
				return driver.ErrBadConn
			}
			return nil
		}))
}

// dialer limits the time of a whole connection attempt: pgx starts its own timeout anew for each address and
// for TLS and plain.
type dialer struct {
	driver.Connector
	limit time.Duration
}

// Connect opens a connection.
func (d dialer) Connect(ctx context.Context) (driver.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	conn, err := d.Connector.Connect(bounded)
	if err != nil {
		return nil, &unreachable{err}
	}
	return conn, nil
}

// unreachable is the error of a failed connection attempt. It says what is wrong and what to check, in its own words:
// those of its cause name the user, the database and every address. It unwraps to the cause.
type unreachable struct{ err error }

func (u *unreachable) Error() string {
	var refused *pgconn.PgError
	if errors.As(u.err, &refused) {
		return "PostgreSQL refuses the connection (SQLSTATE " + refused.Code + ")" + checkRefused(refused.Code)
	}
	var host *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(u.err, context.DeadlineExceeded):
		return "PostgreSQL cannot be reached: no answer in time. Check the host and the port in store.url, and the " +
			"network between"
	case errors.As(u.err, &host):
		return "PostgreSQL cannot be reached: its host is not found. Check the host in store.url, and the name service"
	case errors.Is(u.err, syscall.ECONNREFUSED), errors.Is(u.err, syscall.ENOENT):
		return "PostgreSQL cannot be reached: nobody listens there. Check that it runs, and the host and the port in " +
			"store.url"
	case errors.As(u.err, &certificate):
		return "PostgreSQL's certificate is not accepted. Check sslmode, sslrootcert and the host in store.url"
	case strings.Contains(u.err.Error(), "server refused TLS"): // pgconn has no type for it
		return "PostgreSQL speaks no TLS. Have it do so, or check sslmode in store.url"
	}
	return "PostgreSQL cannot be reached. Check store.url, and that PostgreSQL runs"
}

// checkRefused says what to check by the SQLSTATE with which PostgreSQL refuses a connection.
func checkRefused(code string) string {
	switch code {
	case "28P01":
		return ": the user or the password is wrong. Check both in store.url"
	case "28000":
		return ": the user may not connect. Check the user and sslmode in store.url, and pg_hba.conf"
	case "3D000":
		return ": there is no such database. Check its name in store.url, or create it"
	case "53300":
		return ": it has too many connections. Check max_connections, and pool_max_conns in store.url"
	case "57P03":
		return ": it is starting or stopping. Wait for it"
	}
	return ". See its log"
}

func (u *unreachable) Unwrap() error { return u.err }

// classifyPostgres reads the SQLSTATE (PostgreSQL's Appendix A, error codes).
func classifyPostgres(err error) class {
	var out *unreachable
	if errors.As(err, &out) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err) {
		return down
	}
	var failed *pgconn.PgError
	if !errors.As(err, &failed) {
		return defect
	}
	switch failed.Code {
	case "23505":
		return unique
	case "23503":
		return orphan
	case "40001", "40P01", "55P03": // serialization failure, deadlock, lock not available
		return again
	case "53100": // disk full
		return full
	case stateReadOnly: // a server that was failed over
		return down
	case "57014", "25P03", "25P04": // a limit that the server's operator has set passed, or somebody ended the statement
		return down
	case stateNoRight, "26000", "42P05": // a prepared statement that is not there, or is already
		return unfit
	}
	// Connection, resources, shutdown, system, internal.
	for _, prefix := range []string{"08", "53", "57P", "58", "XX"} {
		if strings.HasPrefix(failed.Code, prefix) {
			return down
		}
	}
	return defect
}

const (
	stateNoRight  = "42501" // insufficient privilege
	stateReadOnly = "25006" // read-only transaction
)

// checkUnfit says what to do about an error of the class unfit.
func checkUnfit(err error) string {
	failed, is := errors.AsType[*pgconn.PgError](err)
	switch {
	case !is: // of SQLite
		return checkFile
	case failed.Code == stateNoRight:
		return "Make the user in store.url the owner of the tables, and let it create tables in their schema"
	}
	return "A pooler in transaction mode is between, such as PgBouncer: add default_query_exec_mode=exec to store.url"
}
