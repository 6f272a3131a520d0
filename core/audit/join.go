package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"frontdesk/core/store"
)

// walkArchives checks that the archives are as they were written, and that they join each other and the
// database without a gap. Archives may overlap: after a crash, or after a backup was restored, rows are
// archived again.
func (v *verifying) walkArchives(ctx context.Context, s *store.Store, o VerifyOptions) (*Problem, error) {
	// The boundary is read first: whatever is up to it, was in a file before.
	page, err := s.AuditChain(ctx, 0, 1)
	if err != nil {
		return nil, err
	}
	if p := v.begin(page.Boundary); p != nil {
		return p, nil
	}
	end := v.head
	v.head, v.skipped = Head{}, 0
	paths, err := findFiles(o.Archives)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		file, problem, err := readFile(ctx, v.keys, path, v)
		if err != nil || problem != nil {
			return problem, err
		}
		v.files = append(v.files, file)
	}
	slices.SortStableFunc(v.files, func(a, b File) int { return cmp.Compare(a.First, b.First) })
	if problem, err := v.joinFiles(max(o.First, 1)); err != nil || problem != nil {
		return problem, err
	}
	return v.joinDatabase(ctx, s, end)
}

// joinFiles checks that the archives begin with a row, and that each continues from those before it.
func (v *verifying) joinFiles(first int64) (*Problem, error) {
	if len(v.files) == 0 {
		return nil, nil
	}
	if begins := v.files[0].First; begins > first {
		return &Problem{Row: first, What: fmt.Sprintf("is missing: the archives begin with row %d. If "+
			"earlier ones were disposed of, say which row they begin with", begins)}, nil
	}
	if begins := v.files[0]; begins.First == 1 && begins.from.Hash != "" {
		return &Problem{Row: 1, What: "does not begin the chain (in the archive " + begins.Path + ")"}, nil
	}
	longest := v.files[0]
	for _, file := range v.files[1:] {
		if file.from.Rows > longest.to.Rows {
			return &Problem{Row: longest.Last + 1, What: fmt.Sprintf("is missing: no archive has the rows "+
				"between %s and %s", longest.Path, file.Path)}, nil
		}
		shorter := file
		if file.Last > longest.Last {
			shorter, longest = longest, file
		}
		// The last row that both have is the same only if all before it are. Where they only touch, that is
		// the row before the first.
		if problem, err := shares(longest, shorter.to, shorter.Path); err != nil || problem != nil {
			return problem, err
		}
	}
	return nil, nil
}

// shares checks that a file has that row, or continues from it.
func shares(file File, row Head, of string) (*Problem, error) {
	hash, err := hashIn(file, row.Rows)
	if err != nil {
		return nil, err
	}
	if hash != row.Hash {
		return &Problem{Row: row.Rows, What: fmt.Sprintf("of %s differs from that of %s: one of them belongs "+
			"to another chain, or to one that ended when an earlier backup was restored", of, file.Path)}, nil
	}
	return nil, nil
}

// joinDatabase checks that the archives reach the boundary, and have the same rows as the database beyond it.
func (v *verifying) joinDatabase(ctx context.Context, s *store.Store, boundary Head) (*Problem, error) {
	var longest File
	for _, file := range v.files {
		if file.Last > longest.Last {
			longest = file
		}
	}
	if longest.Last < boundary.Rows {
		return &Problem{Row: longest.Last + 1, What: fmt.Sprintf("is missing: the archives end with row %d, and "+
			"the database begins after row %d", longest.Last, boundary.Rows)}, nil
	}
	at := slices.IndexFunc(v.files, func(f File) bool {
		return f.from.Rows <= boundary.Rows && boundary.Rows <= f.Last
	})
	if at >= 0 && boundary.Rows > 0 {
		if problem, err := shares(v.files[at], boundary, "the database"); err != nil || problem != nil {
			return problem, err
		}
	}
	if longest.Last == boundary.Rows {
		return nil, nil
	}
	page, err := s.AuditChain(ctx, longest.Last-1, 1)
	switch {
	case err != nil:
		return nil, err
	case page.Boundary.Count >= longest.Last: // it was archived meanwhile
	case len(page.Rows) == 0 || page.Rows[0].ID != longest.Last || page.Rows[0].MAC != longest.to.Hash:
		return &Problem{Row: longest.Last, What: fmt.Sprintf("of %s is not in the database: the archive belongs "+
			"to another chain, or the database was put back to an earlier state", longest.Path)}, nil
	}
	return nil, nil
}
