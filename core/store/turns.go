package store

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"time"
)

// turnsAtOnce is the most connections to PostgreSQL that turns may occupy at once.
const turnsAtOnce = 8

// HoldTurn takes the connection's turn to renew its tokens, and keeps it until release is called. held is
// false if another process has the turn. The turn is a transaction: a process that is killed loses it at
// once, one that is stopped keeps it for limit. Then the server ends it by itself, because TCP's keepalive
// would report a lost machine only after hours. While this process holds eight turns, HoldTurn waits.
//
// On SQLite held is always true: processes that share a file rely on their leases alone.
func (s *Store) HoldTurn(ctx context.Context, connectionID string, limit time.Duration) (
	release func(), held bool, err error,
) {
	if s.closed.Load() {
		return nil, false, unavailable(sql.ErrConnDone)
	}
	if err := ctx.Err(); err != nil {
		return nil, false, s.fault(ctx, err)
	}
	if s.turns == nil {
		return func() {}, true, nil
	}
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, false, s.fault(ctx, ctx.Err())
	}
	// The transaction outlives this call's limit, so it has its own context.
	own, end := context.WithCancel(context.WithoutCancel(ctx))
	tx, err := s.beginTurn(own, end, connectionID, limit)
	over := func() {
		late := time.AfterFunc(rollbackLimit, end) // a server that stopped to answer would keep the renewal for ever
		if tx != nil {
			_ = tx.Rollback() // there is nothing to commit; a server that is gone has ended it
		}
		late.Stop()
		end()
		<-s.turns
	}
	if err == nil {
		return sync.OnceFunc(over), true, nil
	}
	over()
	if s.classify(err) == again { // lock_timeout passed, or two calls came at the same moment
		return nil, false, nil
	}
	return nil, false, s.fault(ctx, err)
}

func (s *Store) beginTurn(
	ctx context.Context, end func(), connectionID string, limit time.Duration,
) (*sql.Tx, error) {
	late := time.AfterFunc(s.limit, end)
	defer late.Stop()
	tx, err := s.write.BeginTx(ctx, s.dialect.writing)
	if err != nil {
		return nil, err
	}
	for _, setting := range []string{
		"SET LOCAL lock_timeout = '50ms'",
		"SET LOCAL idle_in_transaction_session_timeout = " + strconv.FormatInt(limit.Milliseconds(), 10),
	} {
		if _, err := exec(ctx, tx, setting); err != nil {
			return tx, err
		}
	}
	_, err = exec(ctx, tx, "INSERT INTO token_turns (connection_id) VALUES ($1)", connectionID)
	return tx, err
}
