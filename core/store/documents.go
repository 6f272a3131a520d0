package store

import (
	"context"
	"database/sql"
	"errors"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// Documents returns the document store of one connection. On PostgreSQL its updates take turns with each
// other and with other writes that take the turn of the connection. On SQLite they share the one writer, so a
// change must not wait for anything.
func (s *Store) Documents(connectionID string) adapter.Storage {
	return documents{store: s, connectionID: connectionID}
}

type documents struct {
	store        *Store
	connectionID string
}

var _ adapter.Storage = documents{}

// View implements adapter.Storage.
func (d documents) View(ctx context.Context, read func(adapter.StorageTx) error) error {
	return d.run(ctx, d.store.read, d.store.dialect.reading, true, read)
}

// Update implements adapter.Storage.
func (d documents) Update(ctx context.Context, change func(adapter.StorageTx) error) error {
	return d.run(ctx, d.store.write, d.store.dialect.writing, false, change)
}

// errUndone rolls a transaction back because the caller's function returned an error.
var errUndone = errors.New("store: undone by the caller's function")

func (d documents) run(
	ctx context.Context, db *sql.DB, options *sql.TxOptions, readOnly bool, do func(adapter.StorageTx) error,
) error {
	var own error // the error of do, returned unchanged
	err := d.store.try(ctx, func(ctx context.Context) error {
		return inTx(ctx, db, options, func(ctx context.Context, tx *sql.Tx) error {
			if !readOnly {
				if err := d.store.takeTurn(ctx, tx, d.connectionID); err != nil {
					return err
				}
			}
			t := &documentTx{documents: d, ctx: ctx, tx: tx, readOnly: readOnly}
			own = do(t)
			if t.failed != nil { // after a failed statement the transaction is over, whatever do returned
				own = nil
				return t.failed
			}
			if own != nil {
				return errUndone
			}
			return nil
		})
	})
	if own != nil {
		return own
	}
	return err
}

// documentTx is one transaction. It keeps the first error of the database, so that run can repeat the whole.
type documentTx struct {
	documents
	ctx      context.Context
	tx       *sql.Tx
	readOnly bool
	failed   error
}

// Get implements adapter.StorageTx.
func (t *documentTx) Get(key string) ([]byte, error) {
	doc, _, err := find(t.ctx, t.tx,
		func(row scanner) (value []byte, err error) { return value, row.Scan(&value) },
		"SELECT value FROM documents WHERE connection_id = $1 AND key = $2", t.connectionID, []byte(key))
	if err == nil {
		doc, err = t.store.open(sealedDocuments, 0, []string{t.connectionID, key}, doc)
	}
	return doc, t.note(err)
}

// Put implements adapter.StorageTx.
func (t *documentTx) Put(key string, value []byte) error {
	if t.readOnly {
		return viewOnly()
	}
	sealed, err := t.store.seal(sealedDocuments, 0, []string{t.connectionID, key}, blob(value))
	if err != nil {
		return t.note(err)
	}
	_, err = exec(t.ctx, t.tx, `INSERT INTO documents (connection_id, key, value) VALUES ($1, $2, $3)
		ON CONFLICT (connection_id, key) DO UPDATE SET value = excluded.value`,
		t.connectionID, []byte(key), string(sealed))
	return t.note(err)
}

// Delete implements adapter.StorageTx.
func (t *documentTx) Delete(key string) error {
	if t.readOnly {
		return viewOnly()
	}
	_, err := exec(t.ctx, t.tx, "DELETE FROM documents WHERE connection_id = $1 AND key = $2",
		t.connectionID, []byte(key))
	return t.note(err)
}

// Scan reads in batches, small at first, because many scans stop early. No query is open between batches, so
// that each may call the other methods.
const (
	firstBatch   = 64
	largestBatch = 4096
)

type document struct {
	key   string
	value []byte
}

func scanDocument(row scanner) (d document, err error) { return d, row.Scan(&d.key, &d.value) }

// Scan implements adapter.StorageTx.
func (t *documentTx) Scan(prefix, after string, each func(key string, value []byte) bool) error {
	from, before := []byte(prefix), []byte(successor(prefix))
	compare := ">="
	if after != "" && after >= prefix {
		from, compare = []byte(after), ">"
	}
	for size := firstBatch; ; size = min(8*size, largestBatch) {
		query := "SELECT key, value FROM documents WHERE connection_id = $1 AND key " + compare + " $2"
		args := []any{t.connectionID, from, size}
		if len(before) > 0 {
			query, args = query+" AND key < $4", append(args, before)
		}
		batch, err := list(t.ctx, t.tx, scanDocument, query+" ORDER BY key LIMIT $3", args...)
		if err != nil {
			return t.note(err)
		}
		for _, doc := range batch {
			value, err := t.store.open(sealedDocuments, 0, []string{t.connectionID, doc.key}, doc.value)
			if err != nil {
				return t.note(err)
			}
			if !each(doc.key, value) {
				return nil
			}
		}
		if len(batch) < size {
			return nil
		}
		from, compare = []byte(batch[len(batch)-1].key), ">"
	}
}

// successor returns the least text that is greater than every text with that prefix, "" when there is none.
func successor(prefix string) string {
	for end := len(prefix); end > 0; end-- {
		if last := prefix[end-1]; last < 0xff {
			return prefix[:end-1] + string([]byte{last + 1})
		}
	}
	return ""
}

func (t *documentTx) note(err error) error {
	if err == nil {
		return nil
	}
	if t.failed == nil {
		t.failed = err
	}
	return t.store.fault(t.ctx, err)
}

func viewOnly() error {
	return fault.New(fault.Internal, fault.ReasonInternal, "A view cannot be written to.")
}
