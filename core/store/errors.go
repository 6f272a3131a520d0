package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"frontdesk/core/fault"
)

// Reasons of this package's faults that are not in core/fault.
const (
	ReasonTenantNotFound     = "TENANT_NOT_FOUND"
	ReasonConnectionNotFound = "CONNECTION_NOT_FOUND"
	ReasonKeyNotFound        = "API_KEY_NOT_FOUND"
	ReasonKeyRevoked         = "API_KEY_REVOKED"
	ReasonAlreadyExists      = "ALREADY_EXISTS"
	ReasonIntentLost         = "INTENT_LOST" // another run took the intent over, or it is settled
	ReasonLinkNotFound       = "CONNECT_LINK_NOT_FOUND"
	ReasonLinkTaken          = "CONNECT_LINK_TAKEN"
	ReasonConsentNotFound    = "CONSENT_NOT_FOUND"
	ReasonSignInLinkNotFound = "SIGN_IN_LINK_NOT_FOUND"
	ReasonSchemaTooNew       = "STORE_SCHEMA_TOO_NEW"
	ReasonFileExposed        = "STORE_FILE_EXPOSED"
)

// class is the meaning of a database error.
type class int

const (
	defect class = iota // the gateway's own mistake
	again               // blocked by another transaction: the same call may succeed now
	unique              // a value that must be unique already exists
	orphan              // the row that is referred to does not exist
	down                // unreachable or shutting down
	full                // the disk of the database is full
	unfit               // the database, or the way to it, is not set up for the gateway
	broken              // the file is damaged, or not a SQLite file
)

// fault converts a database error into a fault. It returns an error that already is a fault unchanged.
func (s *Store) fault(ctx context.Context, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if end := endOf(ctx); end != nil {
		return fault.From(end).Because(err)
	}
	switch s.classify(err) {
	case unique:
		return fault.New(fault.Conflict, ReasonAlreadyExists, "This already exists.").Because(err)
	case orphan:
		return fault.New(fault.NotFound, ReasonConnectionNotFound,
			"The tenant or connection no longer exists.").Because(err)
	case again, down:
		return unavailable(err)
	case full:
		return diskFull(err)
	case unfit:
		return unavailable(fmt.Errorf("%w. %s", err, checkUnfit(err)))
	case broken:
		return damaged(err)
	}
	return fault.From(err)
}

// endOf returns why a context has ended, or nil. A driver sets the context's deadline on its connection, whose timer
// may be the first of the two to fire.
func endOf(ctx context.Context) error {
	if end, has := ctx.Deadline(); has && ctx.Err() == nil && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func unavailable(err error) *fault.Error {
	return fault.New(fault.Unavailable, fault.ReasonStoreUnavailable,
		"The gateway's database does not answer at the moment. Repeat the request shortly.").Because(err)
}

// orUnavailable returns a fault unchanged and any other error as Unavailable.
func orUnavailable(err error) error {
	if f, is := errors.AsType[*fault.Error](err); is {
		return f
	}
	return unavailable(err)
}

func diskFull(err error) *fault.Error {
	f := fault.New(fault.Unavailable, fault.ReasonStoreUnavailable,
		"The gateway's database has no room left. Make room on its disk, then repeat the request.").Because(err)
	f.RetryAfter = time.Minute // an operator has to act
	return f
}

func damaged(err error) *fault.Error {
	f := fault.New(fault.Unavailable, fault.ReasonStoreUnavailable,
		"The gateway's database file is damaged, or is not its database. Stop the gateway and restore a backup.").
		Because(err)
	f.NoRetry = true
	return f
}

// IsDamaged reports whether the error says that the database file is damaged, or is no database.
func IsDamaged(err error) bool {
	f, is := errors.AsType[*fault.Error](err)
	return is && f.Reason == fault.ReasonStoreUnavailable && f.NoRetry
}

func tooNew(version, last int64) *fault.Error {
	f := fault.Newf(fault.Unavailable, ReasonSchemaTooNew, "A later version of Frontdesk has changed the "+
		"database: its schema has version %d, and this program knows version %d at most. Run the later "+
		"version, or restore a backup from before the upgrade.", version, last)
	f.NoRetry = true
	return f
}

func (s *Store) classify(err error) class {
	var network net.Error
	switch {
	case s.closed.Load(), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &network),
		errors.Is(err, context.DeadlineExceeded): // the store's own limit: the caller's was checked first
		return down
	}
	return s.dialect.classify(err)
}

func tenantNotFound() error {
	return fault.New(fault.NotFound, ReasonTenantNotFound, "There is no such tenant.")
}

func connectionNotFound() error {
	return fault.New(fault.NotFound, ReasonConnectionNotFound, "There is no such connection.")
}

func keyNotFound() error {
	return fault.New(fault.NotFound, ReasonKeyNotFound, "There is no such API key.")
}

func keyRevoked() error {
	return fault.New(fault.Conflict, ReasonKeyRevoked,
		"The API key is revoked, or another one takes its place already. Create a new one.")
}

func numberNotFound() error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no such phone number.")
}

func alreadyCreated() error {
	return fault.New(fault.Conflict, fault.ReasonIdempotencyRunning,
		"Another request with this Idempotency-Key was just carried out. Repeat this one to get its answer.")
}

func intentLost() error {
	return fault.New(fault.Conflict, ReasonIntentLost, "Another run has taken over this request.")
}
