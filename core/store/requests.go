package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Request is a row of requests: one request that a tenant's key made.
type Request struct {
	ID             string // of the gateway's making
	TenantID       string
	At             time.Time
	RequestID      string // of the caller's making, perhaps
	KeyID          string
	ConnectionID   string // "": none of the operation's kind
	Operation      string
	IdempotencyKey string
	Replayed       bool // an earlier request's answer was its answer
	Status         int
	Reason         string // of a failure
	Took           time.Duration
	Tries          json.RawMessage // the calls of providers
}

// RequestFilter selects requests of one tenant. Zero values do not restrict, except TenantID and Limit.
type RequestFilter struct {
	TenantID       string
	RequestID      string
	KeyID          string
	ConnectionID   string
	Operation      string
	IdempotencyKey string
	Failed         *bool // whether the status is 400 or more
	Reason         string
	Before         string // the ID of a request: only older ones
	Limit          int
}

const requestColumns = "id, tenant_id, at, request_id, key_id, connection_id, operation, idempotency_key, " +
	"replayed, status, reason, took, tries"

func scanRequest(row scanner) (r Request, err error) {
	var at, took int64
	var tries string
	err = row.Scan(&r.ID, &r.TenantID, &at, &r.RequestID, &r.KeyID, &r.ConnectionID, &r.Operation,
		&r.IdempotencyKey, &r.Replayed, &r.Status, &r.Reason, &took, &tries)
	r.At, r.Took, r.Tries = instant(at), time.Duration(took)*time.Microsecond, json.RawMessage(tries)
	return r, err
}

// AddRequests adds up to a thousand requests that are not there yet. Those of tenants that are gone are left
// out.
func (s *Store) AddRequests(ctx context.Context, all []Request) error {
	return s.changeOften(ctx, func(ctx context.Context, tx *sql.Tx) error {
		there, err := s.keepTenants(ctx, tx, all)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(all), func(r Request) bool {
			return !slices.Contains(there, r.TenantID)
		})
		if len(kept) == 0 {
			return nil
		}
		return addRequests(ctx, tx, kept)
	})
}

// keepTenants returns the tenants of requests that are there, and keeps them there until the transaction
// ends.
func (s *Store) keepTenants(ctx context.Context, tx *sql.Tx, of []Request) ([]string, error) {
	var ids []string
	for _, r := range of {
		ids = append(ids, r.TenantID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	those, args := among(ids, nil)
	return list(ctx, tx, scanText, "SELECT id FROM tenants WHERE id IN "+those+" ORDER BY id"+
		s.dialect.lockParent, args...)
}

// requestsAtOnce is how many rows one statement adds at most. SQLite keeps the statements, one for each number of rows.
const requestsAtOnce = 8

func addRequests(ctx context.Context, tx *sql.Tx, all []Request) error {
	for some := range slices.Chunk(all, requestsAtOnce) {
		if err := addSomeRequests(ctx, tx, some); err != nil {
			return err
		}
	}
	return nil
}

func addSomeRequests(ctx context.Context, tx *sql.Tx, some []Request) error {
	const columns = 13
	args := make([]any, 0, columns*len(some))
	for _, r := range some {
		args = append(args,
			r.ID, r.TenantID, millis(r.At), r.RequestID, r.KeyID, r.ConnectionID, r.Operation, r.IdempotencyKey,
			r.Replayed, r.Status, r.Reason, r.Took.Microseconds(), string(r.Tries))
	}
	_, err := exec(ctx, tx, "INSERT INTO requests ("+requestColumns+") VALUES "+placeholders(len(some), columns)+
		" ON CONFLICT (id) DO NOTHING", args...)
	return err
}

// Requests lists the newest requests that match, the newest first.
func (s *Store) Requests(ctx context.Context, f RequestFilter) ([]Request, error) {
	where, args := []string{"tenant_id = $1"}, []any{f.TenantID, f.Limit}
	add := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	for _, is := range []struct{ column, value string }{
		{"request_id", f.RequestID}, {"key_id", f.KeyID}, {"connection_id", f.ConnectionID},
		{"operation", f.Operation}, {"idempotency_key", f.IdempotencyKey}, {"reason", f.Reason},
	} {
		if is.value != "" {
			add(is.column+" = $%d", is.value)
		}
	}
	switch {
	case f.Failed != nil && *f.Failed:
		where = append(where, "status >= 400")
	case f.Failed != nil:
		where = append(where, "status < 400")
	}
	if f.Before != "" {
		add("(at, id) < (SELECT at, id FROM requests WHERE tenant_id = $1 AND id = $%d)", f.Before)
	}
	return listOf(ctx, s, scanRequest, "SELECT "+requestColumns+" FROM requests WHERE "+
		strings.Join(where, " AND ")+" ORDER BY at DESC, id DESC LIMIT $2", args...)
}

// Request returns a tenant's request by its ID.
func (s *Store) Request(ctx context.Context, tenantID, id string) (Request, bool, error) {
	return findIn(ctx, s, scanRequest,
		"SELECT "+requestColumns+" FROM requests WHERE tenant_id = $1 AND id = $2", tenantID, id)
}

// PurgeRequests removes at most most requests of a tenant that are older than its newest keep ones.
func (s *Store) PurgeRequests(ctx context.Context, tenantID string, keep, most int) (int64, error) {
	return s.exec(ctx, `DELETE FROM requests WHERE id IN (
		SELECT id FROM requests WHERE tenant_id = $1 AND (at, id) <= (
			SELECT at, id FROM requests WHERE tenant_id = $1 ORDER BY at DESC, id DESC LIMIT 1 OFFSET $2)
		ORDER BY at, id LIMIT $3)`, tenantID, keep, most)
}

// PurgeRequestsBefore removes at most most requests that are older than that.
func (s *Store) PurgeRequestsBefore(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx,
		"DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE at < $1 ORDER BY at LIMIT $2)",
		millis(before), most)
}
