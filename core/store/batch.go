package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"frontdesk/core/fair"
)

// batches lets concurrent writes share a commit (group commit). SQLite has one writer, and most of the time of
// a write is its commit, which waits for the disk. The callers take turns in one transaction. Each of them has
// a statement or a savepoint, so that a write takes effect as a whole or not at all. All of them wait for the
// commit before they return. Turns are shared fairly among tenants.
type batches struct {
	db      *sql.DB
	options *sql.TxOptions
	limit   time.Duration // of a batch
	least   time.Duration // how long a batch collects writes if others wait

	turn   fair.Mutex    // guards the fields below
	open   *batch        // of those who had a turn and wait for the commit; nil if there is none
	commit time.Duration // how long the last commit took
}

// batch is the writes of one transaction.
type batch struct {
	conn   *sql.Conn
	tx     *sql.Tx
	end    context.CancelFunc
	began  time.Time
	size   int
	failed bool          // the transaction has ended, or holds what must not be committed
	done   chan struct{} // closed after the commit
	err    error         // of the commit; only after done
}

// Collecting a batch takes about as long as its commit: its first caller waits for its last, and the next
// caller for the whole of it. While a crowd waits, it takes longer: all of them wait for fewer commits then.
const (
	maxBatch     = 32
	crowd        = maxBatch / 2
	collectLeast = time.Millisecond
	collectMost  = 10 * time.Millisecond
)

const (
	savepoint       = "SAVEPOINT caller"
	backToSavepoint = "ROLLBACK TO caller"
)

var (
	// errBatch is the error of writes that were taken back because of another caller's. They are repeated.
	errBatch    = errors.New("another write ended the transaction")
	errPanicked = errors.New("the write panicked")
)

// part is what one caller writes in a batch.
type part int

const (
	severalStatements part = iota // in a savepoint
	// SQLite takes back what a statement has written that fails. So it needs no savepoint, for which SQLite
	// would copy each page that it changes.
	oneStatement
	// oneRow is one statement that writes one row, which it finds by its key.
	oneRow
	// Several statements that hardly ever fail need none either: if they do, all writes of the batch are taken
	// back, and those of the others are repeated.
	hardlyFails
)

// do runs op in a transaction, alone or with others. The context of op does not end when the caller's does,
// because SQLite then ends the transaction of all.
func (b *batches) do(
	ctx context.Context, p part, op func(ctx context.Context, tx *sql.Tx) error,
) (err error) {
	if err := b.turn.Lock(ctx); err != nil {
		return err
	}
	t := b.open
	if t == nil {
		if t, err = b.begin(ctx); err != nil {
			b.turn.Unlock()
			return err
		}
		b.open = t
	}
	// For each statement that can be interrupted, the driver starts a goroutine. What each call writes is short, and does
	// without. Others may read many pages, such as a purge, for which all would wait where the disk is slow.
	own := context.WithoutCancel(ctx)
	if p == severalStatements || p == oneStatement {
		var cancel context.CancelFunc
		own, cancel = context.WithDeadline(own, t.began.Add(b.limit))
		defer cancel()
	}
	err = errPanicked
	defer func() {
		ended := err != nil && !t.takeBack(own, p, err)
		b.pass(t)
		<-t.done
		if t.err != nil && (!ended || time.Since(t.began) >= b.limit) {
			err = t.err
		}
	}()
	if err := t.save(own, p); err != nil {
		return err
	}
	return op(own, t.tx)
}

// begin waits for the connection no longer than the caller does: other work, such as emptying the log, may
// have it.
func (b *batches) begin(ctx context.Context) (*batch, error) {
	conn, err := b.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	bounded, end := context.WithTimeout(context.WithoutCancel(ctx), b.limit)
	tx, err := conn.BeginTx(bounded, b.options)
	if err != nil {
		end()
		_ = conn.Close() // the first error says more
		return nil, err
	}
	return &batch{conn: conn, tx: tx, end: end, began: time.Now(), done: make(chan struct{})}, nil
}

// save begins the part of the next caller. The first needs no savepoint: what it wrote is all there is.
func (t *batch) save(ctx context.Context, p part) error {
	if t.size++; t.size == 1 || p != severalStatements {
		return nil
	}
	_, err := exec(ctx, t.tx, savepoint)
	t.failed = err != nil // there is nothing that this caller alone could be taken back to
	return err
}

// takeBack undoes what the caller wrote whose turn it is, after err. It reports false if that ends the
// transaction.
func (t *batch) takeBack(ctx context.Context, p part, err error) bool {
	switch {
	case t.failed || t.size == 1 || p == hardlyFails:
		t.failed = true
	case p == severalStatements:
		_, err := exec(ctx, t.tx, backToSavepoint)
		t.failed = err != nil
	default:
		t.failed = errors.Is(err, errPanicked) || t.hasEnded(ctx)
	}
	return !t.failed
}

// hasEnded reports whether SQLite has ended the transaction by itself, as it does when the disk is full. Then
// it lets another one begin.
func (t *batch) hasEnded(ctx context.Context) bool {
	_, err := exec(ctx, t.tx, "BEGIN")
	return !isSQLite(err)
}

// pass gives the turn to the next caller, in the same transaction if that is still short. Otherwise it ends
// the transaction and tells all of its callers how.
func (b *batches) pass(t *batch) {
	took, few := time.Since(t.began), 0
	if took >= max(b.least, min(b.commit, collectMost)) {
		few = crowd
	}
	if !t.failed && t.size < maxBatch && took < max(b.least, collectMost) && b.turn.HandOver(few) {
		return
	}
	b.open = nil
	if t.failed {
		_ = t.tx.Rollback() // SQLite may have done so already
		t.err = errBatch
	} else {
		began := time.Now()
		t.err = t.tx.Commit()
		b.commit = time.Since(began)
	}
	t.end()
	_ = t.conn.Close() // gives it back to the pool
	close(t.done)
	b.turn.Unlock()
}
