package audit

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/vault"
)

// archive archives the rows before one, or all for 0, with so many in a file.
func (w *world) archive(folder string, young int64, most int) []File {
	w.t.Helper()
	files, err := w.log.Archive(w.t.Context(), w.older(folder, young, most))
	w.check(err)
	return files
}

// older returns the options for archiving the rows before one, or all for 0.
func (w *world) older(folder string, young int64, most int) ArchiveOptions {
	w.t.Helper()
	o := ArchiveOptions{Folder: folder, Before: w.now().Add(time.Hour), most: most}
	if young > 0 {
		page, err := w.log.opts.Store.AuditChain(w.t.Context(), young-1, 1)
		w.check(err)
		o.Before = page.Rows[0].At
	}
	return o
}

// verifyAll verifies the database with archives.
func (w *world) verifyAll(paths ...string) Report {
	w.t.Helper()
	r, err := w.log.Verify(w.t.Context(), VerifyOptions{Archives: paths, Known: []Known{w.kept()}})
	w.check(err)
	return r
}

// end records the end of a key, whose row stays in the database.
func (w *world) end(action string) {
	w.t.Helper()
	w.check(w.log.Record(w.t.Context(), Entry{Tenant: "acme", Action: action, Subject: "key", Outcome: Done}))
}

// ids lists the ids of the rows in the database.
func (w *world) ids() (ids []int64) {
	w.t.Helper()
	rows, err := w.log.opts.Store.AuditRows(w.t.Context(), store.AuditFilter{Limit: 1000})
	w.check(err)
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// archived is a database of which eight rows are in files, and rows 3 and 6, those of ended keys, in the
// database as well. Row 9 is behind the boundary, and a row for each file.
func (w *world) archived(folder string, most int) []File {
	w.t.Helper()
	w.record(2)
	w.end("revoke-key")
	w.record(2)
	w.end("roll-key")
	w.record(3)
	w.seal()
	files := w.archive(folder, 9, most)
	w.seal()
	return files
}

func TestWhatIsArchivedAndWhatStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := filepath.Join(t.TempDir(), "archives")
		files := w.archived(folder, 3)
		var names []string
		for _, f := range files {
			names = append(names, filepath.Base(f.Path)[:32])
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", f.Path, info.Mode(), err)
			}
		}
		if want := []string{
			"audit-000000000001-000000000003-", "audit-000000000004-000000000006-", "audit-000000000007-000000000008-",
		}; !slices.Equal(names, want) {
			t.Errorf("the files are %q", names)
		}
		if ids := w.ids(); !slices.Equal(ids, []int64{3, 6, 9, 10, 11, 12}) {
			t.Errorf("in the database are %v", ids)
		}
		if r := w.verify(w.kept()); !r.Sound || r.Boundary != 8 || r.Head.Rows != 12 {
			t.Errorf("the database alone: %+v", r)
		}
		r := w.verifyAll(folder)
		if !r.Sound || len(r.Archives) != 3 || r.Head.Rows != 12 {
			t.Errorf("with the archives: %+v, %v", r, r.Problem)
		}
		// The doctor looks at the last rows only, wherever they begin.
		for last := range int64(14) {
			if r, err := w.log.Verify(t.Context(), VerifyOptions{Last: last, Known: []Known{w.kept()}}); err != nil || !r.Sound {
				t.Errorf("the last %d rows: %+v %v", last, r.Problem, err)
			}
		}
		// Nothing is old enough any more.
		if again := w.archive(folder, 9, 3); len(again) != 0 {
			t.Errorf("again: %+v", again)
		}
		// All are, and the chain goes on from the boundary.
		if all := w.archive(folder, 0, 100); len(all) != 1 || all[0].First != 9 || all[0].Last != 12 {
			t.Errorf("the rest: %+v", all)
		}
		w.restart()
		w.record(2)
		w.seal()
		if r := w.verifyAll(folder); !r.Sound || r.Boundary != 12 || r.Head.Rows != 15 || len(r.Archives) != 4 {
			t.Errorf("in the end: %+v, %v", r, r.Problem)
		}
	})
}

func TestHeadsOfArchivedRowsAreComparedWithArchives(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.record(4)
		w.seal()
		early := w.kept()
		w.record(4)
		w.seal()
		at := w.kept()
		w.record(1)
		w.seal()
		w.archive(folder, 9, 100)
		w.seal()
		other := Known{From: "other", Head: Head{Rows: 4, Hash: strings.Repeat("0", 64)}}
		hash := Known{From: "a hash", Head: Head{Hash: early.Hash}}
		if r := w.verify(early, other, at); !r.Sound || !slices.Equal(r.Archived, []string{early.From, other.From}) {
			t.Errorf("without archives: %+v", r)
		}
		if r := w.verify(hash); r.Sound || !strings.Contains(r.Problem.What, "archives as well") {
			t.Errorf("a hash without archives: %+v", r)
		}
		if r := w.verify(Known{From: "at", Head: Head{Rows: 8, Hash: other.Hash}}); r.Sound || r.Problem.Row != 8 {
			t.Errorf("another head at the boundary: %+v", r)
		}
		all := func(known ...Known) Report {
			r, err := w.log.Verify(t.Context(), VerifyOptions{Archives: []string{folder}, Known: known})
			w.check(err)
			return r
		}
		if r := all(early, at, hash); !r.Sound || len(r.Archived) > 0 {
			t.Errorf("with archives: %+v %v", r, r.Problem)
		}
		if r := all(other); r.Sound || r.Problem.Row != 4 {
			t.Errorf("another chain's head with archives: %+v", r)
		}
		// A gateway whose file was left behind goes on, and its log has the head for whoever wants to
		// compare.
		w.check(writeHead(w.headFile, early.Head))
		w.restart()
		w.record(1)
		w.seal()
		if w.kept().Rows != 11 || !strings.Contains(w.logged.String(), early.Head.String()) ||
			strings.Contains(w.logged.String(), "level=ERROR") {
			t.Errorf("kept %+v\n%s", w.kept(), w.logged)
		}
	})
}

func TestTamperingWithTheBoundaryIsFound(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		do   []string
		row  int64
		what string
	}{
		{"the boundary is taken away", []string{"DELETE FROM audit_boundary"}, 1, "missing"},
		{"the boundary is made to look new", []string{
			"UPDATE audit_boundary SET count = 0, mac = '', kept = '', key_id = '', seal = ''"}, 1, "missing"},
		{"its count is edited", []string{"UPDATE audit_boundary SET count = 9"}, 0, "boundary"},
		{"its MAC is edited", []string{"UPDATE audit_boundary SET mac = 'x'"}, 0, "boundary"},
		{"its digest is edited", []string{"UPDATE audit_boundary SET kept = ''"}, 0, "boundary"},
		{"its key is edited", []string{"UPDATE audit_boundary SET key_id = 'mine'"}, 0, "boundary"},
		{"its seal is edited", []string{"UPDATE audit_boundary SET seal = ''"}, 0, "boundary"},
		{"rows behind it are cut off, and it is moved", []string{"DELETE FROM audit WHERE id = 10",
			"UPDATE audit_boundary SET count = 10, mac = (SELECT mac FROM audit WHERE id = 9)"}, 0, "boundary"},
		{"rows behind it are cut off", []string{"DELETE FROM audit WHERE id = 9"}, 9, "missing"},
		{"a row that stays is taken away", []string{"DELETE FROM audit WHERE id = 3"}, 0, "ended keys"},
		{"a row that stays is edited", []string{"UPDATE audit SET subject = 'other' WHERE id = 3"}, 0, "ended keys"},
		{"a row that stays is moved", []string{"UPDATE audit SET id = 4 WHERE id = 3"}, 0, "ended keys"},
		{"a row that stays is taken out of the chain", []string{"UPDATE audit SET id = NULL WHERE id = 3"}, 0, "ended keys"},
		{"a row is put in among those that stay", []string{
			"INSERT INTO audit (id, uid, " + copied + ") SELECT 5, 'put-in', " + copied + " FROM audit WHERE id = 6",
		}, 0, "ended keys"},
		{"the last rows are taken away", []string{"DELETE FROM audit WHERE id > 9"}, 10, "missing"},
		{"all rows are taken away", []string{"DELETE FROM audit"}, 9, "missing"},
		{"all is taken away", []string{"DELETE FROM audit", "DELETE FROM audit_boundary", "DELETE FROM audit_head"},
			0, "head"},
		{"the head is put back before the boundary", []string{"DELETE FROM audit WHERE id > 8",
			"DELETE FROM audit_head"}, 0, "head"},
	}
	onBoth(t, func(t *testing.T, w *world) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				w.t = t
				w.anew()
				folder := t.TempDir()
				w.archived(folder, 100)
				if r := w.verify(w.kept()); !r.Sound {
					t.Fatalf("before: %v", r.Problem)
				}
				w.does(c.do...)
				r := w.verify()
				if r.Sound || r.Problem.Row != c.row || !strings.Contains(r.Problem.String(), c.what) {
					t.Fatalf("got %+v (%v), want row %d and %q", r, r.Problem, c.row, c.what)
				}
				w.nothingCoversItUp(func() {
					_, _ = w.log.Archive(t.Context(), w.older(folder, 0, 100)) // it may refuse
					w.seal()
				})
			})
		}
	})
}

// An attacker has every genuine boundary that there was.
func TestAnEarlierBoundaryCoversNothingUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.archived(folder, 3)
		boundary := func() (b store.AuditBoundary) {
			page, err := w.log.opts.Store.AuditChain(t.Context(), 0, 1)
			w.check(err)
			return page.Boundary
		}
		early := boundary()
		w.archive(folder, 11, 100)
		late := boundary()
		put := func(b store.AuditBoundary) {
			_, err := w.attacker.ExecContext(t.Context(),
				"UPDATE audit_boundary SET count = $1, mac = $2, kept = $3, key_id = $4, seal = $5",
				b.Count, b.MAC, b.Kept, b.KeyID, b.Seal)
			w.check(err)
		}
		put(early)
		if r := w.verify(); r.Sound || r.Problem.Row != early.Count+1 {
			t.Errorf("an earlier boundary: %+v", r)
		}
		put(late)
		if r := w.verifyAll(folder); !r.Sound {
			t.Errorf("put right: %v", r.Problem)
		}
	})
}

// edited replaces the text of an archive.
func edited(t *testing.T, path string, edit func(lines []string) []string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	again := gzip.NewWriter(&out)
	_, _ = again.Write([]byte(strings.Join(edit(strings.SplitAfter(string(text), "\n")), "")))
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTamperingWithArchivesIsFound(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		original := t.TempDir()
		files := w.archived(original, 3)
		foreign := newWorld(t, storetest.SQLite(t)).archived(t.TempDir(), 3)
		line := func(n int, edit func(string) string) func(lines []string) []string {
			return func(lines []string) []string {
				lines[n] = edit(lines[n])
				return lines
			}
		}
		replaced := func(from, to string) func(string) string {
			return func(s string) string {
				if !strings.Contains(s, from) {
					t.Fatalf("%q is not in %q", from, s)
				}
				return strings.Replace(s, from, to, 1)
			}
		}
		for _, c := range []struct {
			name string
			do   func(paths []string)
			row  int64 // the first faulty row; 0: the problem is a file's
			what string
		}{
			{"a row is edited", func(p []string) { edited(t, p[1], line(2, replaced("key:k1", "key:k2"))) }, 5, "changed"},
			{"a row gets a second actor", func(p []string) {
				edited(t, p[1], line(2, replaced(`"actor"`, `"actor":"key:k2","actor"`)))
			}, 0, "not as it was written"},
			{"a row gets a field", func(p []string) { edited(t, p[1], line(2, replaced(`{`, `{"note":"x",`))) },
				0, "not as it was written"},
			{"a row is removed", func(p []string) {
				edited(t, p[1], func(l []string) []string { return slices.Delete(l, 2, 3) })
			}, 5, "missing"},
			{"the first row is removed", func(p []string) {
				edited(t, p[1], func(l []string) []string { return slices.Delete(l, 1, 2) })
			}, 4, "missing"},
			{"the first row is removed, and the first line made to fit", func(p []string) {
				edited(t, p[0], func(l []string) []string {
					l = slices.Delete(l, 1, 2)
					l[0] = replaced(`"rows":0`, `"rows":1`)(l[0])
					return l
				})
			}, 2, "changed"},
			{"the last row is removed", func(p []string) {
				edited(t, p[1], func(l []string) []string { return slices.Delete(l, 3, 4) })
			}, 6, "missing"},
			{"the last row of all is removed", func(p []string) {
				edited(t, p[2], func(l []string) []string { return slices.Delete(l, 2, 3) })
			}, 8, "missing"},
			{"all rows are removed", func(p []string) {
				edited(t, p[2], func(l []string) []string { return l[:1] })
			}, 0, "no row"},
			{"two rows are exchanged", func(p []string) {
				edited(t, p[1], func(l []string) []string { l[1], l[2] = l[2], l[1]; return l })
			}, 4, "missing"},
			{"the first line is edited", func(p []string) {
				edited(t, p[1], line(0, replaced(`"hash":"`, `"hash":"0`)))
			}, 4, "changed"},
			{"the file is cut off", func(p []string) {
				if err := os.Truncate(p[1], 200); err != nil {
					t.Fatal(err)
				}
			}, 0, "the file"},
			{"the file is another one", func(p []string) {
				if err := os.WriteFile(p[1], []byte("nothing"), 0o600); err != nil {
					t.Fatal(err)
				}
			}, 0, "no archive"},
			{"the first file is removed", func(p []string) { _ = os.Remove(p[0]) }, 1, "missing"},
			{"a file is removed", func(p []string) { _ = os.Remove(p[1]) }, 4, "missing"},
			{"the last file is removed", func(p []string) { _ = os.Remove(p[2]) }, 7, "missing"},
			{"all files are removed", func(p []string) {
				for _, path := range p {
					_ = os.Remove(path)
				}
			}, 1, "missing"},
			{"a file is that of another gateway", func(p []string) { _ = copyFile(foreign[1].Path, p[1]) }, 4, "does not open"},
			{"all are those of another gateway", func(p []string) {
				for i := range p {
					_ = copyFile(foreign[i].Path, p[i])
				}
			}, 1, "does not open"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w.t = t
				folder := t.TempDir()
				paths := make([]string, len(files))
				for i, f := range files {
					paths[i] = filepath.Join(folder, filepath.Base(f.Path))
					w.check(copyFile(f.Path, paths[i]))
				}
				if r := w.verifyAll(folder); !r.Sound {
					t.Fatalf("before: %v", r.Problem)
				}
				c.do(paths)
				r := w.verifyAll(folder)
				if r.Sound || r.Problem.Row != c.row || !strings.Contains(r.Problem.String(), c.what) {
					t.Fatalf("got %+v (%v), want row %d and %q", r, r.Problem, c.row, c.what)
				}
				if r := w.verify(); !r.Sound {
					t.Errorf("the database alone: %v", r.Problem)
				}
			})
		}
		w.t = t
		t.Run("what is no tampering", func(t *testing.T) {
			later := []string{files[2].Path, files[1].Path} // in any order, under any name
			r, err := w.log.Verify(t.Context(), VerifyOptions{Archives: later, First: files[1].First})
			if err != nil || !r.Sound || r.Archives[0].First != 4 {
				t.Errorf("the first was disposed of: %+v, %v", r, err)
			}
			if r, err := w.log.Verify(t.Context(), VerifyOptions{Archives: later, First: 3}); err != nil || r.Sound {
				t.Errorf("more is expected: %+v, %v", r, err)
			}
			twice := t.TempDir()
			w.check(copyFile(files[0].Path, filepath.Join(twice, "same"+fileExtension)))
			if r := w.verifyAll(original, twice); !r.Sound {
				t.Errorf("a file that is there twice: %v", r.Problem)
			}
			if _, err := w.log.Verify(t.Context(), VerifyOptions{Archives: []string{"/none"}}); err == nil {
				t.Error("a file that is not there is overlooked")
			}
		})
	})
}

// copyFile copies a small file.
func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}

// Wherever a process dies, each row is in the database or in a readable archive, and the next one ends the
// work.
func TestACrashWhileArchivingLosesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	steps := map[string]func(w *world, o ArchiveOptions){
		"before the file has its name": func(w *world, o ArchiveOptions) {
			f, err := createFile(o.Folder, Head{})
			w.check(err)
			w.check(f.close())
			old := time.Now().Add(-24 * time.Hour)
			w.check(os.Chtimes(f.temporary.Name(), old, old))
		},
		"before the row that records it": func(w *world, o ArchiveOptions) {
			_, err := w.log.write(ctx, w.log.ring, o)
			w.check(err)
		},
		"before any row is removed": func(w *world, o ArchiveOptions) {
			_, err := w.log.write(ctx, w.log.ring, o)
			w.check(err)
			w.record(1)
		},
		"while rows are removed": func(w *world, o ArchiveOptions) {
			file, err := w.log.write(ctx, w.log.ring, o)
			w.check(err)
			_, err = w.log.cutBatch(ctx, w.log.ring, file.to, 4)
			w.check(err)
		},
		"while rows are removed, and less is to be archived then": func(w *world, o ArchiveOptions) {
			o.Before = o.Before.Add(3 * time.Minute)
			file, err := w.log.write(ctx, w.log.ring, o)
			w.check(err)
			_, err = w.log.cutBatch(ctx, w.log.ring, file.to, 4)
			w.check(err)
		},
	}
	onBoth(t, func(t *testing.T, w *world) {
		for name, dies := range steps {
			t.Run(name, func(t *testing.T) {
				w.t = t
				w.anew()
				folder := t.TempDir()
				w.record(2)
				w.end("revoke-key")
				w.record(9)
				w.seal()
				o := w.older(folder, 9, 100)
				dies(w, o)
				w.restart()
				before := w.verify(w.kept())
				if !before.Sound {
					t.Fatalf("after the crash: %v", before.Problem)
				}
				if before.Boundary > 0 {
					if r := w.verifyAll(folder); !r.Sound {
						t.Fatalf("after the crash, with archives: %v", r.Problem)
					}
				}
				files, err := w.log.Archive(t.Context(), o)
				w.check(err)
				w.seal()
				r := w.verifyAll(folder)
				if !r.Sound || r.Boundary != 8 {
					t.Errorf("after the next: %+v, %v", r, r.Problem)
				}
				if len(files) != 1 || files[0].Last != 8 {
					t.Errorf("the next archives %+v", files)
				}
				if left, _ := filepath.Glob(filepath.Join(folder, unfinished+"*")); len(left) > 0 {
					t.Errorf("%v is left", left)
				}
			})
		}
	})
}

func TestWhatIsNotAsItWasWrittenIsNotArchived(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.record(8)
		w.seal()
		w.does("UPDATE audit SET subject = 'x' WHERE id = 6")
		files, err := w.log.Archive(t.Context(), w.older(folder, 0, 3))
		if fault.From(err).Reason != ReasonNotArchived || !strings.Contains(err.Error(), "row 6") || len(files) != 1 {
			t.Errorf("%+v, %v", files, err)
		}
		if r := w.verifyAll(folder); r.Sound || r.Problem.Row != 6 || r.Boundary != 3 {
			t.Errorf("%+v", r)
		}
		// Nor is a row removed that was changed after it was archived.
		w.anew()
		w.record(8)
		w.seal()
		file, err := w.log.write(t.Context(), w.log.ring, w.older(folder, 0, 100))
		w.check(err)
		w.does("UPDATE audit SET subject = 'x' WHERE id = 2")
		if err := w.log.cut(t.Context(), w.log.ring, file.to); fault.From(err).Reason != ReasonNotArchived {
			t.Errorf("%v", err)
		}
		if ids := w.ids(); len(ids) != 8 {
			t.Errorf("%v are left", ids)
		}
		if _, err := w.log.Archive(t.Context(), ArchiveOptions{Folder: "/proc/none"}); err == nil {
			t.Error("a folder that cannot be made is no error")
		}
	})
}

func TestAClockThatWasWrongDoesNotKeepRowsForEver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.record(2)
		right := w.clock
		w.clock = right.Add(10 * 365 * 24 * time.Hour)
		w.record(1)
		w.clock = right
		w.record(3)
		w.seal()
		if files := w.archive(folder, 5, 100); len(files) != 1 || files[0].Last != 4 {
			t.Errorf("%+v", files)
		}
	})
}

func TestArchivesAreVerifiedAfterRotations(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.archived(folder, 3)
		for range 3 { // the first key is dropped
			_, err := w.vault.Rotate()
			w.check(err)
			w.check(w.log.Reseal(t.Context()))
			used, err := w.log.SealedWith(t.Context())
			w.check(err)
			_, err = w.vault.Prune(func(id uint32) bool { return used[id] })
			w.check(err)
			w.log = w.process()
			w.record(2)
			w.seal()
			w.archive(folder, w.kept().Rows, 100)
		}
		w.seal()
		if r := w.verifyAll(folder); !r.Sound || len(r.Archives) != 6 {
			t.Errorf("%+v, %v", r, r.Problem)
		}
		other, err := vault.Open("", t.TempDir())
		w.check(err)
		w.vault = other
		w.log = w.process()
		if r := w.verifyAll(folder); r.Sound || !strings.Contains(r.Problem.What, "boundary") {
			t.Errorf("with another key set: %+v", r)
		}
	})
}
