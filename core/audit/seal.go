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

	"frontdesk/core/store"
)

const (
	sealEvery = time.Second
	// Rows in a transaction, which keeps other sealers and, on SQLite, all writers waiting.
	sealAtOne = 200
	lastSeal  = 2 * time.Second // for what is left at the end
)

// Head is the end of the chain: what there was by then cannot be changed without it showing.
type Head struct {
	Rows int64  `json:"rows"`
	Hash string `json:"hash"` // the MAC of the last row, "" where there is none
}

// String writes a head as Verify is told one.
func (h Head) String() string { return fmt.Sprintf("%d:%s", h.Rows, h.Hash) }

// Run seals until ctx ends.
func (l *Log) Run(ctx context.Context) {
	l.owes.Store(true)
	tick := time.NewTicker(sealEvery)
	defer tick.Stop()
	for {
		if err := l.Seal(ctx); err != nil && ctx.Err() == nil {
			l.Log.WarnContext(ctx, "the audit could not be sealed; the gateway will try again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close seals what is left, where this process recorded or sealed anything. The store must still be open.
func (l *Log) Close() {
	if !l.owes.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSeal)
	defer cancel()
	if err := l.Seal(ctx); err != nil {
		l.Log.Warn("the last rows of the audit are not sealed yet; the next gateway will seal them",
			"error", err)
	}
}

// Seal puts every row that is not in the chain into it. A row that the gateway did not write is left where it
// is, for Verify to find.
func (l *Log) Seal(ctx context.Context) error {
	waiting, err := l.Store.UnsealedAudit(ctx, store.AuditMark{}, 1)
	if err != nil || len(waiting) == 0 {
		return err
	}
	keys, err := l.keys(ctx)
	if err != nil {
		return err
	}
	known := l.lastKnown()
	s := sealing{keys: keys, known: known, sealed: known, reread: true}
	for mark, seen := (store.AuditMark{}), sealAtOne; seen == sealAtOne; {
		from := mark
		if seen, mark, err = l.Store.SealAudit(ctx, from, sealAtOne, s.chain); err != nil {
			return err
		}
		s.known = s.sealed
		if s.strange == 0 || !s.reread {
			continue
		}
		// Another gateway may have made a key, and another one since. Rows that are strange with all keys
		// stay so.
		had := len(s.keys.held)
		if s.keys, err = l.reread(ctx); err != nil {
			return err
		}
		s.reread, s.strange = len(s.keys.held) > had, 0
		seen, mark = sealAtOne, from
	}
	if l.countsMore(s.strange) {
		l.Log.ErrorContext(ctx, "rows of the audit were not written by this gateway, or were changed; run "+
			"frontdesk audit verify", "rows", s.strange)
	}
	if s.broken {
		l.Log.ErrorContext(ctx, "the head of the audit's chain was changed; run frontdesk audit verify")
	}
	if s.known == known {
		return nil
	}
	l.learn(s.known)
	return l.keepHead(ctx, s.known)
}

func (l *Log) lastKnown() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

func (l *Log) learn(h Head) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Rows > l.known.Rows {
		l.known = h
	}
}

// countsMore reports whether there are more strange rows than were told of.
func (l *Log) countsMore(strange int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	more := strange > l.strange
	l.strange = strange
	return more
}

// sealing is one go at the rows that wait.
type sealing struct {
	keys    *ring
	known   Head // the last that this process sealed, and that is kept
	sealed  Head // the last that it sealed
	reread  bool // the keys may still be read again
	strange int  // rows with a MAC that is not theirs
	broken  bool // the head was not what it was left as
}

// chain gives rows their positions. After a head that is not what a sealer left, one position stays free:
// whatever was done to it, the chain shows it from then on.
func (s *sealing) chain(
	head store.AuditHead, last int64, rows []store.AuditRow,
) ([]store.AuditRow, store.AuditHead) {
	s.strange = 0
	position, before := max(head.Count, last), head.MAC
	if _, held := s.keys.held[head.KeyID]; !held && s.reread { // another gateway may have made it just now
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

// genuine reports whether a head is one that a sealer left, and none from before the last that is known.
func (s *sealing) genuine(h store.AuditHead) bool {
	back := h.Count < s.known.Rows || h.Count == s.known.Rows && h.MAC != s.known.Hash
	return !back && same(h.Seal, s.keys.seal(h))
}

// keepHead moves the head that is kept in a file on along the chain. One that the chain does not lead on from
// is left: it is the proof that something was taken away.
func (l *Log) keepHead(ctx context.Context, head Head) error {
	if l.HeadFile == "" || head.Rows == 0 {
		return nil
	}
	kept, err := ReadHead(l.HeadFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case kept.Rows >= head.Rows && kept != head:
		row, found, err := l.Store.AuditRow(ctx, kept.Rows)
		if err != nil || found && row.MAC == kept.Hash {
			return err // another process was faster
		}
		l.notOn(ctx, kept)
		return nil
	default:
		row, found, err := l.Store.AuditRow(ctx, kept.Rows)
		if err != nil {
			return err
		}
		if !found || row.MAC != kept.Hash {
			l.notOn(ctx, kept)
			return nil
		}
	}
	return writeHead(l.HeadFile, head)
}

func (l *Log) notOn(ctx context.Context, kept Head) {
	l.Log.ErrorContext(ctx, "the audit in the database does not continue from the head that is kept here; "+
		"run frontdesk audit verify",
		"file", l.HeadFile, "rows", kept.Rows)
}

// ReadHead reads a head from a file. One that is not there is fs.ErrNotExist.
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

// writeHead replaces the file as a whole.
func writeHead(path string, h Head) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // after the rename there is none
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
