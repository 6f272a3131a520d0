package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"frontdesk/core/durable"
	"frontdesk/core/store"
)

const (
	sealEvery = time.Second
	// The most rows in a transaction, which blocks other sealers and, on SQLite, all writers.
	sealAtOne = 200
	lastSeal  = 2 * time.Second // time limit of Close
)

// Head is the end of the chain. Verify detects changes to the rows up to a known head.
type Head struct {
	Rows int64  `json:"rows"`
	Hash string `json:"hash"` // the MAC of the last row, "" if there is none
}

// String writes a head as [ParseHead] reads it.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Rows, h.Hash) }

// Run calls Seal every second until ctx ends.
func (l *Log) Run(ctx context.Context) {
	l.owes.Store(true)
	tick := time.NewTicker(sealEvery)
	defer tick.Stop()
	for {
		if err := l.Seal(ctx); err != nil && ctx.Err() == nil {
			l.opts.Log.WarnContext(ctx, "the audit could not be sealed; the gateway will try again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close seals the remaining rows if this process recorded any or ran as a sealer. The store must be open.
func (l *Log) Close() {
	if !l.owes.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSeal)
	defer cancel()
	if err := l.Seal(ctx); err != nil {
		l.opts.Log.Warn("the last rows of the audit are not sealed yet; the next gateway will seal them",
			"error", err)
	}
}

// Seal adds every row that is not in the chain yet to it. A row that the gateway did not write is left out of
// the chain, for Verify to find.
func (l *Log) Seal(ctx context.Context) error {
	known, kept := l.lastKnown()
	waiting, err := l.opts.Store.UnsealedAudit(ctx, store.AuditMark{}, 1)
	if err != nil || len(waiting) == 0 && kept == known {
		return err
	}
	keys, err := l.keys(ctx)
	if err != nil {
		return err
	}
	s := sealing{keys: keys, known: known, sealed: known, reread: true}
	for mark, seen := (store.AuditMark{}), sealAtOne; seen == sealAtOne; {
		from := mark
		if seen, mark, err = l.opts.Store.SealAudit(ctx, from, sealAtOne, s.chain); err != nil {
			return err
		}
		s.known = s.sealed
		l.learn(s.known)
		if s.strange == 0 || !s.reread {
			continue
		}
		// Another gateway may have created a key, and another one since: the keys are read again until none
		// is new. Rows that match no key are left.
		had := len(s.keys.held)
		if s.keys, err = l.reread(ctx); err != nil {
			return err
		}
		s.reread, s.strange = len(s.keys.held) > had, 0
		seen, mark = sealAtOne, from
	}
	if l.countsMore(s.strange) {
		l.opts.Log.ErrorContext(ctx, "rows of the audit were not written by this gateway, or were changed; run "+
			"frontdesk audit verify", "rows", s.strange)
	}
	if s.broken {
		l.opts.Log.ErrorContext(ctx, "the head of the audit's chain was changed; run frontdesk audit verify")
	}
	if s.known == kept {
		return nil
	}
	if err := l.keepHead(ctx, s.keys, s.known); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = s.known
	return nil
}

func (l *Log) lastKnown() (known, kept Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known, l.kept
}

func (l *Log) learn(h Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Rows > l.known.Rows {
		l.known = h
	}
}

// countsMore sets the number of strange rows, and reports whether it is greater than before.
func (l *Log) countsMore(strange int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	more := strange > l.strange
	l.strange = strange
	return more
}

// sealing is one run over the rows that are not in the chain.
type sealing struct {
	keys    *ring
	known   Head // the last head that this process sealed and stored
	sealed  Head // the last head that chain made
	reread  bool // the keys may be read again
	strange int  // rows whose MAC is not valid
	broken  bool // the head is not as a sealer left it
}

// chain gives rows their positions. If the head is not as a sealer left it, one position stays free, so that
// the chain shows from then on that the head was changed.
func (s *sealing) chain(
	head store.AuditHead, last int64, rows []store.AuditRow,
) ([]store.AuditRow, store.AuditHead) {
	s.strange = 0
	position, before := max(head.Count, last), head.MAC
	if _, held := s.keys.held[head.KeyID]; !held && s.reread { // another gateway may have created it just now
		s.strange = len(rows)
		return nil, head
	}
	if !s.genuine(head) {
		s.broken = true
		position, before = max(position, s.known.Rows)+1, ""
	}
	sealed := make([]store.AuditRow, 0, len(rows))
	for _, row := range rows {
		if !same(row.MAC, s.keys.macOf(row)) {
			s.strange++
			continue
		}
		position++
		row.ID, row.KeyID = position, s.keys.current
		row.MAC = s.keys.macAfter(row, before)
		before = row.MAC
		sealed = append(sealed, row)
	}
	if s.sealed = s.known; len(sealed) == 0 {
		return nil, head
	}
	s.sealed = Head{Rows: position, Hash: before}
	next := store.AuditHead{Count: position, MAC: before, KeyID: s.keys.current}
	next.Seal = s.keys.seal(next)
	return sealed, next
}

// genuine reports whether a head is one that a sealer left, and not older than the last known head.
func (s *sealing) genuine(h store.AuditHead) bool {
	back := h.Count < s.known.Rows || h.Count == s.known.Rows && h.MAC != s.known.Hash
	return !back && same(h.Seal, s.keys.seal(h))
}

// keepHead advances the head in the file along the chain. If the chain does not continue from the head in the
// file, that head is kept: it is the proof that rows were removed or changed. Whether a chain continues from
// an archived row, only the archive can tell, so the log then has the head that the file had.
func (l *Log) keepHead(ctx context.Context, keys *ring, head Head) error {
	if l.opts.HeadFile == "" || head.Rows == 0 {
		return nil
	}
	kept, err := ReadHead(l.opts.HeadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return writeHead(l.opts.HeadFile, head)
	}
	if err != nil {
		return err
	}
	at, err := l.at(ctx, keys, kept.Rows)
	switch {
	case err != nil:
		return err
	case at.archived && kept.Rows >= head.Rows:
		return nil
	case at.archived:
		l.opts.Log.WarnContext(ctx, "the head of the audit that was kept here is that of an archived row; to "+
			"compare them, run frontdesk audit verify with --archive and --head", "head", kept.String())
	case at.hash != kept.Hash:
		l.notOn(ctx, kept)
		return nil
	case kept.Rows >= head.Rows:
		return nil // another process was faster
	}
	return writeHead(l.opts.HeadFile, head)
}

// position is what is known of a position in the chain.
type position struct {
	hash     string // of the row there; "": the database has none
	archived bool   // the row was archived, and its hash is not in the database any more
}

// at returns what the database knows of a position in the chain.
func (l *Log) at(ctx context.Context, keys *ring, id int64) (position, error) {
	page, err := l.opts.Store.AuditChain(ctx, id-1, 1)
	if err != nil {
		return position{}, err
	}
	b := page.Boundary
	genuine := same(b.Seal, keys.sealBoundary(b))
	switch {
	case len(page.Rows) > 0 && page.Rows[0].ID == id:
		return position{hash: page.Rows[0].MAC}, nil
	case b.Count == id: // in Lineage, no key is held
		return position{hash: b.MAC}, nil
	}
	return position{archived: genuine && id < b.Count}, nil
}

// notOn logs once that the chain does not continue from the head in the file, which each sealed row would show anew.
func (l *Log) notOn(ctx context.Context, kept Head) {
	l.mu.Lock()
	told := l.strayed == kept
	l.strayed = kept
	l.mu.Unlock()
	if told {
		return
	}
	l.opts.Log.ErrorContext(ctx, "the audit in the database does not continue from the head that is kept here; "+
		"if the database was restored, run frontdesk migrate --begin-anew with this data directory, and otherwise "+
		"frontdesk audit verify",
		"file", l.opts.HeadFile, "rows", kept.Rows)
}

// ReadHead reads a head from a file. The error wraps fs.ErrNotExist if there is no file.
func ReadHead(path string) (Head, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Head{}, err
	}
	var h Head
	if err := json.Unmarshal(raw, &h); err != nil || h.Rows < 1 || h.Hash == "" {
		return Head{}, fmt.Errorf("%s is not the head of an audit", path)
	}
	return h, nil
}

// writeHead replaces the file atomically.
func writeHead(path string, h Head) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // without effect after the rename
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, durable.KeepOwner(file, path), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
