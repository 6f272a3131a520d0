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

// VerifyOptions configure Verify: what to compare the chain with, and how much of it to check.
type VerifyOptions struct {
	Known    []Known
	Last     int64    // checks only this many rows at the end; 0: all
	Archives []string // files that Archive wrote, and folders of them
	First    int64    // the row that these files begin with; 0: the first
}

// Report is the result of Verify.
type Report struct {
	Sound    bool     `json:"sound"`
	Head     Head     `json:"head"`     // the last row up to which the chain is sound
	Unsealed int      `json:"unsealed"` // genuine rows that are not in the chain yet
	Boundary int64    `json:"boundary"` // the last row that is archived and not in the database any more
	Archives []File   `json:"archives,omitempty"`
	Archived []string `json:"archived_heads,omitempty"` // known heads that only archives can be compared with
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
// nothing. Rows that are recorded in the meantime are checked too. Without archives, the chain begins where
// the boundary says.
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
		now, err := l.opts.Store.AuditKeys(ctx)
		if err != nil || len(now) == there {
			return r, err
		}
	}
}

func (l *Log) verify(
	ctx context.Context, o VerifyOptions, keys *ring, there int,
) (_ Report, err error) {
	v := verifying{keys: keys, unused: there == 0, hashes: map[string]bool{}, at: map[int64]string{}}
	for _, k := range o.Known {
		v.hashes[k.Hash] = false
		v.at[k.Rows] = ""
	}
	var problem *Problem
	if len(o.Archives) > 0 {
		if problem, err = v.walkArchives(ctx, l.opts.Store, o); err != nil || problem != nil {
			return v.report(problem), err
		}
	}
	if o.Last > 0 {
		if err := v.skip(ctx, l, o.Last); err != nil {
			return Report{}, err
		}
	}
	problem, err = v.walk(ctx, l.opts.Store)
	if err == nil && problem == nil {
		problem, err = v.checkArchived(ctx, l.opts.Store)
	}
	if err == nil && problem == nil {
		problem = v.holdAgainst(o.Known)
	}
	if err == nil && problem == nil {
		problem, err = v.checkUnsealed(ctx, l.opts.Store)
	}
	return v.report(problem), err
}

// verifying is one walk along the chain.
type verifying struct {
	keys     *ring
	unused   bool // there is no key: nothing was ever recorded
	head     Head // as far as the walk got
	waiting  int
	hashes   map[string]bool  // MACs of known heads, and whether a row has each
	at       map[int64]string // MACs of the rows at the positions of known heads
	skipped  int64            // the walk began behind this row
	boundary int64            // the last row that is not in the database any more
	files    []File
	archived []string // known heads of archived rows
}

func (v *verifying) report(problem *Problem) Report {
	return Report{
		Sound: problem == nil, Head: v.head, Unsealed: v.waiting, Boundary: v.boundary, Archives: v.files,
		Archived: v.archived, Problem: problem,
	}
}

// skip lets the walk begin that many rows before the end.
func (v *verifying) skip(ctx context.Context, l *Log, last int64) error {
	page, err := l.opts.Store.AuditChain(ctx, 0, 1)
	if err != nil || page.Head.Count <= last {
		return err
	}
	from := page.Head.Count - last
	page, err = l.opts.Store.AuditChain(ctx, from-1, 1)
	if err == nil && len(page.Rows) > 0 && page.Rows[0].ID == from && from > page.Boundary.Count {
		v.pass(Head{Rows: from, Hash: page.Rows[0].MAC})
		v.skipped = from
	}
	return err
}

// walk follows the chain to its end.
func (v *verifying) walk(ctx context.Context, s *store.Store) (*Problem, error) {
	for {
		page, err := s.AuditChain(ctx, v.head.Rows, verifyAtOnce)
		if err != nil {
			return nil, err
		}
		from := v.head.Rows
		if p := v.begin(page.Boundary); p != nil {
			return p, nil
		}
		if v.head.Rows > from {
			continue // the rows up to the boundary are not there any more
		}
		for _, row := range page.Rows {
			if p := v.step(row); p != nil {
				return p, nil
			}
		}
		if len(page.Rows) == verifyAtOnce {
			continue
		}
		return v.end(page.Head), nil
	}
}

// begin lets the walk go on behind the boundary, if it did not get there yet.
func (v *verifying) begin(b store.AuditBoundary) *Problem {
	if b == (store.AuditBoundary{}) {
		return nil
	}
	if !same(b.Seal, v.keys.sealBoundary(b)) {
		return &Problem{What: fmt.Sprintf("the boundary was changed, which records where the chain begins in "+
			"the database. It says that the rows up to %d are archived", b.Count)}
	}
	v.boundary = b.Count
	if b.Count > v.head.Rows {
		v.pass(Head{Rows: b.Count, Hash: b.MAC})
		v.skipped = b.Count
	}
	return nil
}

// pass moves the walk to a row, and notes the row if a known head asks for it.
func (v *verifying) pass(h Head) {
	v.head = h
	if _, asked := v.hashes[h.Hash]; asked {
		v.hashes[h.Hash] = true
	}
	if _, asked := v.at[h.Rows]; asked {
		v.at[h.Rows] = h.Hash
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
	v.pass(Head{Rows: row.ID, Hash: row.MAC})
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

// checkArchived checks the archived rows that stay in the database.
func (v *verifying) checkArchived(ctx context.Context, s *store.Store) (*Problem, error) {
	page, err := s.ArchivedAudit(ctx)
	if err != nil {
		return nil, err
	}
	if p := v.begin(page.Boundary); p != nil {
		return p, nil
	}
	digest := ""
	for _, row := range page.Rows {
		digest = keep(digest, row)
	}
	if digest != page.Boundary.Kept {
		return &Problem{What: fmt.Sprintf("of the archived rows, up to row %d, those of ended keys stay in "+
			"the database: one of them was changed, inserted or removed", page.Boundary.Count)}, nil
	}
	return nil, nil
}

// holdAgainst compares the chain with heads that were kept elsewhere.
func (v *verifying) holdAgainst(known []Known) *Problem {
	for _, k := range known {
		switch {
		case k.Rows == 0 && v.hashes[k.Hash]:
		case k.Rows == 0 && v.boundary > 0 && len(v.files) == 0:
			return &Problem{What: fmt.Sprintf("no row in the database has the hash of %s. If it is that of "+
				"an archived row, verify the archives as well", k.From)}
		case k.Rows == 0:
			return &Problem{What: fmt.Sprintf("no row has the hash of %s: rows were removed, or the hash "+
				"belongs to another chain", k.From)}
		case k.Rows > v.head.Rows:
			return &Problem{Row: v.head.Rows + 1, What: fmt.Sprintf("is missing: %s knows %d rows. Rows "+
				"were removed from the end, or the database was put back to an earlier "+
				"state", k.From, k.Rows)}
		case v.at[k.Rows] == "" && k.Rows <= v.boundary:
			v.archived = append(v.archived, k.From)
		case v.at[k.Rows] == "" && k.Rows <= v.skipped:
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
