package store

import (
	"context"
	"database/sql"
	"time"

	"frontdesk/core/fault"
)

// Creation is a row of creations: the answer to a request that created something, for repeats of the request.
type Creation struct {
	Actor       string // whose Idempotency-Key it is
	Operation   string
	Key         string
	TenantID    string // of what was created; "": it is the operator's
	RequestHash []byte
	Answer      []byte
	CreatedAt   time.Time
}

const creationColumns = "actor, operation, key, tenant_id, request_hash, answer, created_at"

// creationRow returns the keys of the row that a creation's sealed values are bound to.
func creationRow(c Creation) []string { return []string{c.Actor, c.Operation, c.Key} }

func (s *Store) scanCreation(row scanner) (c Creation, err error) {
	var tenantID *string
	var created int64
	if err = row.Scan(&c.Actor, &c.Operation, &c.Key, &tenantID, &c.RequestHash, &c.Answer,
		&created); err != nil {
		return c, err
	}
	c.TenantID, c.CreatedAt = textOf(tenantID), instant(created)
	if c.RequestHash, err = s.open(sealedCreations, 0, creationRow(c), c.RequestHash); err != nil {
		return c, err
	}
	c.Answer, err = s.open(sealedCreations, 1, creationRow(c), c.Answer)
	return c, err
}

type (
	requestKey[T any] struct{}
	recorderKey       struct{}
)

// request is a request that creates something of type T.
type request[T any] struct {
	creation Creation
	answer   func(made T, secret string) ([]byte, error)
}

// recorder returns the creation to be recorded with a row.
type recorder func(row any) (Creation, error)

// RecordCreation returns a context in which c is recorded in the transaction that stores a new T. answer
// returns the answer to the request. The secret is what only this answer shows, or "". answer may run more
// than once.
func RecordCreation[T any](
	ctx context.Context, c Creation, answer func(made T, secret string) ([]byte, error),
) context.Context {
	return context.WithValue(ctx, requestKey[T]{}, request[T]{c, answer})
}

// Creating returns the context for the one call of the store that stores a new T as a row of type R. If
// RecordCreation was called for T, that call records the creation, too. made converts the row as it is stored.
func Creating[R, T any](ctx context.Context, secret string, made func(R) (T, error)) context.Context {
	asked, recorded := ctx.Value(requestKey[T]{}).(request[T])
	if !recorded {
		return ctx
	}
	return context.WithValue(ctx, recorderKey{}, recorder(func(row any) (Creation, error) {
		c := asked.creation
		stored, is := row.(R)
		if !is {
			return c, fault.Newf(fault.Internal, fault.ReasonInternal, "A %T was stored in the place of a %T.",
				row, stored)
		}
		t, err := made(stored)
		if err != nil {
			return c, err
		}
		c.Answer, err = asked.answer(t, secret)
		return c, err
	}))
}

func recorderOf(ctx context.Context) recorder {
	r, _ := ctx.Value(recorderKey{}).(recorder)
	return r
}

// recordCreation records the creation of a row, if the context asks for it. If the key has one already, it
// returns a Conflict, so that the transaction ends without effect.
func (s *Store) recordCreation(ctx context.Context, q querier, tenantID string, row any) error {
	record := recorderOf(ctx)
	if record == nil {
		return nil
	}
	c, err := record(row)
	if err != nil {
		return err
	}
	hash, err := s.seal(sealedCreations, 0, creationRow(c), blob(c.RequestHash))
	if err != nil {
		return err
	}
	answer, err := s.seal(sealedCreations, 1, creationRow(c), blob(c.Answer))
	if err != nil {
		return err
	}
	affected, err := exec(ctx, q, "INSERT INTO creations ("+creationColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7) "+
		"ON CONFLICT (actor, operation, key) DO NOTHING",
		c.Actor, c.Operation, c.Key, text(tenantID), hash, answer, millis(c.CreatedAt))
	return orNone(affected, err, alreadyCreated)
}

// execCreating is execAudited for a statement that stores a new row, or a new secret in a row of a tenant. It
// records the creation, too, if the context asks for it.
func (s *Store) execCreating(
	ctx context.Context, tenantID string, row any, audit []AuditRow, query string, args ...any,
) (affected int64, err error) {
	if recorderOf(ctx) == nil {
		return s.execAudited(ctx, audit, query, args...)
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.keepTenant(ctx, tx, tenantID); err != nil {
			return err
		}
		if affected, err = s.execAuditedIn(ctx, tx, audit, query, args...); err != nil || affected == 0 {
			return err
		}
		return s.recordCreation(ctx, tx, tenantID, row)
	})
	return affected, err
}

// Creation returns the creation under a key of an actor.
func (s *Store) Creation(ctx context.Context, actor, operation, key string) (Creation, bool, error) {
	return findIn(ctx, s, s.scanCreation,
		"SELECT "+creationColumns+" FROM creations WHERE actor = $1 AND operation = $2 AND key = $3",
		actor, operation, key)
}

// DropCreation removes a creation as it was read, so that its key can be used anew.
func (s *Store) DropCreation(ctx context.Context, c Creation) error {
	_, err := s.exec(ctx,
		"DELETE FROM creations WHERE actor = $1 AND operation = $2 AND key = $3 AND created_at = $4",
		c.Actor, c.Operation, c.Key, millis(c.CreatedAt))
	return err
}

// PurgeCreations removes a batch of creations from before a time, and returns its size.
func (s *Store) PurgeCreations(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM creations WHERE (actor, operation, key) IN ("+purgeableCreations+
		s.dialect.lockFree+")", millis(before), most)
}

const purgeableCreations = "SELECT actor, operation, key FROM creations WHERE created_at < $1 LIMIT $2"
