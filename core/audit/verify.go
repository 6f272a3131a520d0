package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/store"
)

// Known is a head that was kept outside the database.
type Known struct {
	From string // where it was kept, for messages
	Head        // Rows 0: only the hash is known
}

// VerifyOptions configure Verify: the heads to compare the chain with, and how much of it to check.
type VerifyOptions struct {
	Known []Known
	Last  int64 // checks only this many rows at the end; 0: all
}

// Report is the result of Verify.
type Report struct {
	Sound    bool     `json:"sound"`
	Head     Head     `json:"head"`     // the last row up to which the chain is sound
	Unsealed int      `json:"unsealed"` // genuine rows that are not in the chain yet
	Problem  *Problem `json:"problem,omitempty"`
}

// Problem describes the first fault found.
type Problem struct {
	Row  int64     `json:"row,omitempty"` // id of the row; 0 if it is not in a sealed row
	UID  string    `json:"uid,omitempty"`
	At   time.Time `json:"at,omitzero"`
	What string    `json:"what"`
}

// String returns the problem as a message for people.
func (p Problem) String() string {
	switch {
	case p.Row > 0:
		return fmt.Sprintf("row %d %s", p.Row, p.What)
	case p.UID != "":
		return fmt.Sprintf("the row %s, which is not sealed yet, %s", p.UID, p.What)
	}
	return p.What
}

const verifyAtOnce = 1000

// Verify checks that every row is as it was written, in its position, and that none is missing. It changes
// nothing. Rows that are recorded in the meantime are checked too.
func (l *Log) Verify(ctx context.Context, o VerifyOptions) (Report, error) {
	for {
		keys, there, err := l.readKeys(ctx)
		if err != nil {
			return Report{}, err
		}
		r, err := l.verify(ctx, o, keys, there)
		if err != nil || r.Sound {
			return r, err
		}
		// A gateway that was just started may have created a key since.
		now, err := l.Store.AuditKeys(ctx)
		if err != nil || len(now) == there {
			return r, err
		}
	}
}

func (l *Log) verify(ctx context.Context, o VerifyOptions, keys *ring, there int) (Report, error) {
	v := verifying{keys: keys, unused: there == 0, hashes: map[string]bool{}, at: map[int64]string{}}
	for _, k := range o.Known {
		v.hashes[k.Hash] = false
		v.at[k.Rows] = ""
	}
	if o.Last > 0 {
		if err := v.skip(ctx, l.Store, o.Last); err != nil {
			return Report{}, err
		}
	}
	problem, err := v.walk(ctx, l.Store)
	if err == nil && problem == nil {
		problem = v.holdAgainst(o.Known)
	}
	if err == nil && problem == nil {
		problem, err = v.checkUnsealed(ctx, l.Store)
	}
	return Report{Sound: problem == nil, Head: v.head, Unsealed: v.waiting, Problem: problem}, err
}

// verifying is one walk along the chain.
type verifying struct {
	keys    *ring
	unused  bool // there is no key: nothing was ever recorded
	head    Head // as far as the walk got
	waiting int
	hashes  map[string]bool  // MACs of known heads, and whether a row has each
	at      map[int64]string // MACs of the rows at the positions of known heads
	skipped int64
}

// skip lets the walk begin that many rows before the end.
func (v *verifying) skip(ctx context.Context, s *store.Store, last int64) error {
	_, head, err := s.AuditChain(ctx, 0, 1)
	if err != nil || head.Count <= last {
		return err
	}
	row, found, err := s.AuditRow(ctx, head.Count-last)
	if err != nil || !found {
		return err
	}
	v.head, v.skipped = Head{Rows: row.ID, Hash: row.MAC}, row.ID
	return nil
}

// walk follows the chain to its end.
func (v *verifying) walk(ctx context.Context, s *store.Store) (*Problem, error) {
	for {
		rows, head, err := s.AuditChain(ctx, v.head.Rows, verifyAtOnce)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if p := v.step(row); p != nil {
				return p, nil
			}
		}
		if len(rows) == verifyAtOnce {
			continue
		}
		return v.end(head), nil
	}
}

// step checks the next row of the chain.
func (v *verifying) step(row store.AuditRow) *Problem {
	wrong := func(what string) *Problem { return &Problem{Row: row.ID, UID: row.UID, At: row.At, What: what} }
	if _, held := v.keys.held[row.KeyID]; !held {
		return wrong("is sealed with the key " + row.KeyID + ", which the key set does not open")
	}
	if next := v.head.Rows + 1; row.ID != next {
		return &Problem{Row: next, What: fmt.Sprintf("is missing: row %d is followed by row %d. Rows were "+
			"removed, or the head of the chain was changed", v.head.Rows, row.ID)}
	}
	if !same(row.MAC, v.keys.macAfter(row, v.head.Hash)) {
		return wrong("is not as it was written: it was changed, moved or inserted")
	}
	v.head = Head{Rows: row.ID, Hash: row.MAC}
	if _, asked := v.hashes[row.MAC]; asked {
		v.hashes[row.MAC] = true
	}
	if _, asked := v.at[row.ID]; asked {
		v.at[row.ID] = row.MAC
	}
	return nil
}

// end compares the last row with the head that the store returned in the same read.
func (v *verifying) end(h store.AuditHead) *Problem {
	switch {
	case h == store.AuditHead{} && v.head.Rows == 0 && v.unused:
		return nil
	case !same(h.Seal, v.keys.seal(h)):
		return &Problem{What: fmt.Sprintf("the head of the chain was changed. It records %d rows; %d rows "+
			"are present and intact", h.Count, v.head.Rows)}
	case h.Count > v.head.Rows:
		return &Problem{Row: v.head.Rows + 1, What: fmt.Sprintf("is missing: the head of the chain knows %d "+
			"rows, and those after row %d were removed", h.Count, v.head.Rows)}
	case h.Count < v.head.Rows, h.MAC != v.head.Hash:
		return &Problem{Row: v.head.Rows, What: fmt.Sprintf("is beyond the head of the chain, which knows "+
			"%d rows: the head was put back to an earlier state", h.Count)}
	}
	return nil
}

// holdAgainst compares the chain with heads that were kept elsewhere.
func (v *verifying) holdAgainst(known []Known) *Problem {
	for _, k := range known {
		switch {
		case k.Rows == 0 && !v.hashes[k.Hash]:
			return &Problem{What: fmt.Sprintf("no row has the hash of %s: rows were removed, or the hash "+
				"belongs to another chain", k.From)}
		case k.Rows == 0, k.Rows < v.skipped, k.Rows == v.skipped && k.Hash == v.head.Hash:
		case k.Rows > v.head.Rows:
			return &Problem{Row: v.head.Rows + 1, What: fmt.Sprintf("is missing: %s knows %d rows. Rows "+
				"were removed from the end, or the database was put back to an earlier "+
				"state", k.From, k.Rows)}
		case v.at[k.Rows] != k.Hash:
			return &Problem{Row: k.Rows, What: fmt.Sprintf("differs from the row that %s knows: it was "+
				"rewritten, or belongs to another chain", k.From)}
		}
	}
	return nil
}

// checkUnsealed checks the rows that are not in the chain yet.
func (v *verifying) checkUnsealed(ctx context.Context, s *store.Store) (*Problem, error) {
	for mark := (store.AuditMark{}); ; {
		rows, err := s.UnsealedAudit(ctx, mark, verifyAtOnce)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if !same(row.MAC, v.keys.macOf(row)) {
				return &Problem{UID: row.UID, At: row.At, What: "was not written by this gateway: it was " +
					"changed or inserted"}, nil
			}
			v.waiting++
			mark = row.Mark()
		}
		if len(rows) < verifyAtOnce {
			return nil, nil
		}
	}
}

// ParseHead reads a head as String writes it, or a hash alone.
func ParseHead(text string) (Head, bool) {
	h := Head{Hash: text}
	if rows, hash, both := strings.Cut(text, ":"); both {
		n, err := strconv.ParseInt(rows, 10, 64)
		if err != nil || n < 1 {
			return Head{}, false
		}
		h = Head{Rows: n, Hash: hash}
	}
	return h, len(h.Hash) == 64 && strings.Trim(h.Hash, "0123456789abcdef") == ""
}
