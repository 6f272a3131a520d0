package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"frontdesk/core/durable"
	"frontdesk/core/fault"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// ReasonNotArchived is the reason of the fault that Archive returns for rows that it must not archive.
const ReasonNotArchived = "AUDIT_NOT_ARCHIVED"

const (
	archivedAtOnce = 100_000 // rows of a file at most, so that space is freed and little is done twice
	readAtOnce     = 200
	wrongClock     = 24 * time.Hour // how far ahead the time of a row must be to say nothing
)

// ArchiveOptions say what to archive, and where.
type ArchiveOptions struct {
	Folder string
	Before time.Time // rows that were recorded before it
	most   int       // rows of a file; 0: archivedAtOnce
}

// Archive writes the oldest rows to new files, and then removes them from the database. A row is removed only
// once its file is on the disk and was read back, so a crash loses none; what was cut off is done again.
// Files and rows are in the order of the chain: it stops before the first row that is too young, and before
// one that is not as it was written. Archive works slowly, so that callers do not notice it, and may run in
// several processes at once. The rows of ended keys are written too, and stay in the database.
func (l *Log) Archive(ctx context.Context, o ArchiveOptions) (files []File, err error) {
	if o.most == 0 {
		o.most = archivedAtOnce
	}
	if err := CheckFolder(o.Folder); err != nil {
		return nil, err
	}
	durable.RemoveLeftovers(o.Folder, unfinished)
	for {
		keys, err := l.reread(ctx)
		if err != nil {
			return files, err
		}
		file, err := l.write(ctx, keys, o)
		if err != nil || file.Path == "" {
			return files, err
		}
		if err := l.Record(ctx, Entry{
			Action: "archive-audit", Subject: filepath.Base(file.Path), Outcome: Done,
		}); err != nil {
			return files, err
		}
		if err := l.cut(ctx, keys, file.to); err != nil {
			return files, err
		}
		files = append(files, file)
	}
}

// CheckFolder returns an error if no archive can be written to the folder. It makes a folder that is missing.
func CheckFolder(path string) error {
	if err := durable.MakeFolder(path); err != nil {
		return err
	}
	file, err := os.CreateTemp(path, unfinished+"*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// write writes the oldest rows to a file. It returns no file if no row is old enough.
func (l *Log) write(ctx context.Context, keys *ring, o ArchiveOptions) (File, error) {
	v := verifying{keys: keys}
	var file *fileWriter
	defer func() { file.discard() }()
	for more := true; more; {
		began := time.Now()
		page, err := l.opts.Store.AuditChain(ctx, v.head.Rows, readAtOnce)
		if err != nil {
			return File{}, err
		}
		from := v.head
		if p := v.begin(page.Boundary); p != nil {
			return File{}, notArchived(p)
		}
		if v.head != from {
			if file != nil {
				return File{}, fault.New(fault.Conflict, ReasonNotArchived,
					"Another gateway archives the audit at this moment.")
			}
			continue
		}
		more = len(page.Rows) == readAtOnce
		wrong := l.opts.Now().Add(wrongClock)
		for _, row := range page.Rows {
			full := file != nil && v.head.Rows-file.from.Rows == int64(o.most)
			if full || !row.At.Before(o.Before) && row.At.Before(wrong) {
				more = false
				break
			}
			before := v.head
			if p := v.step(row); p != nil {
				return File{}, notArchived(p)
			}
			if file == nil {
				if file, err = createFile(o.Folder, before); err != nil {
					return File{}, err
				}
			}
			if err := file.add(row); err != nil {
				return File{}, err
			}
		}
		if err := pause.AfterWork(ctx, time.Since(began)); err != nil {
			return File{}, err
		}
	}
	if file == nil {
		return File{}, nil
	}
	if err := file.close(); err != nil {
		return File{}, err
	}
	// What is removed from the database must be readable: the file is read back before it gets its name.
	again, problem, err := readFile(ctx, keys, file.temporary.Name(), nil)
	if err != nil {
		return File{}, err
	}
	if problem != nil || again.from != file.from || again.to != v.head {
		return File{}, fault.Newf(fault.Unavailable, ReasonNotArchived,
			"The archive cannot be read back as it was written; nothing was removed. Check the disk of %s.",
			o.Folder)
	}
	return file.publish(v.head)
}

func notArchived(p *Problem) error {
	return fault.Newf(fault.Conflict, ReasonNotArchived,
		"The audit is not intact: %s. Nothing is archived from there on. Run frontdesk audit verify.", p)
}

// cut removes the rows up to the end of a file, in small batches, each with the boundary that follows from
// it.
func (l *Log) cut(ctx context.Context, keys *ring, to Head) error {
	return pause.InBatches(ctx, func(ctx context.Context, most int) (int64, error) {
		return l.cutBatch(ctx, keys, to, most)
	})
}

func (l *Log) cutBatch(ctx context.Context, keys *ring, to Head, most int) (int64, error) {
	passed, err := l.opts.Store.CutAudit(ctx, to.Rows, most, func(
		b store.AuditBoundary, rows []store.AuditRow,
	) (store.AuditBoundary, error) {
		v := verifying{keys: keys}
		if p := v.begin(b); p != nil {
			return b, notArchived(p)
		}
		for _, row := range rows {
			if p := v.step(row); p != nil {
				return b, notArchived(p)
			}
			if row.Stays() {
				b.Kept = keep(b.Kept, row)
			}
		}
		if v.head.Rows == to.Rows && v.head != to {
			return b, notArchived(&Problem{Row: to.Rows, What: "is not that of the archive"})
		}
		b.Count, b.MAC, b.KeyID = v.head.Rows, v.head.Hash, keys.current
		b.Seal = keys.sealBoundary(b)
		return b, nil
	})
	return int64(passed), err
}

// ArchiveDue calls Archive unless some gateway has done so since a time. A gateway that can write no archive leaves the
// turn to the others.
func (l *Log) ArchiveDue(ctx context.Context, since time.Time, o ArchiveOptions) error {
	if err := CheckFolder(o.Folder); err != nil {
		return err
	}
	due, err := l.opts.Store.TryArchiving(ctx, since, l.opts.Now())
	if err != nil || !due {
		return err
	}
	files, err := l.Archive(ctx, o)
	for _, file := range files {
		l.opts.Log.InfoContext(ctx, "rows of the audit were archived", "file", file.Path, "first", file.First,
			"last", file.Last)
	}
	return err
}

// File is an archive: rows of the chain without a gap.
type File struct {
	Path  string `json:"file"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`

	from, to Head // the row before the first, and the last
}

// fileName names an archive after what it holds, so that no two have the same name.
func fileName(first int64, to Head) string {
	return fmt.Sprintf("audit-%012d-%012d-%.8s%s", first, to.Rows, to.Hash, fileExtension)
}
