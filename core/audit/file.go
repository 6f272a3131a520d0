package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"frontdesk/core/durable"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

// An archive is JSON lines, compressed by gzip. The first line says which row the chain continues from.

const (
	fileFormat    = "frontdesk audit archive 1"
	fileExtension = ".jsonl.gz"
	unfinished    = ".frontdesk-archive-" // begins the name of a file that is being written
	mostLine      = 1 << 20               // bytes; a row has at most a few texts of mostText
)

type firstLine struct {
	Format string `json:"format"`
	After  Head   `json:"after"` // the row before the first
}

// line is a row in an archive, under the names of frontdesk audit list --json.
type line struct {
	ID         int64     `json:"id"`
	At         time.Time `json:"at"`
	TenantID   string    `json:"tenant_id"`
	Tenant     string    `json:"tenant"`
	Actor      string    `json:"actor"`
	Action     string    `json:"action"`
	Connection string    `json:"connection_id"`
	Subject    string    `json:"subject"`
	Changed    []string  `json:"changed"`
	Outcome    string    `json:"outcome"`
	Effect     string    `json:"effect"`
	RequestID  string    `json:"request_id"`
	UID        string    `json:"uid"`
	KeyID      string    `json:"key_id"`
	Hash       string    `json:"hash"`
}

// fileWriter writes an archive under a temporary name.
type fileWriter struct {
	from      Head
	temporary *os.File
	zip       *gzip.Writer
	open      bool
}

func createFile(folder string, from Head) (*fileWriter, error) {
	temporary, err := os.CreateTemp(folder, unfinished+"*") // mode 0600
	if err != nil {
		return nil, err
	}
	w := &fileWriter{from: from, temporary: temporary, zip: gzip.NewWriter(temporary), open: true}
	return w, w.encode(firstLine{fileFormat, from})
}

func (w *fileWriter) encode(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.zip.Write(append(text, '\n'))
	return err
}

func (w *fileWriter) add(r store.AuditRow) error {
	return w.encode(line{
		r.ID, r.At.UTC(), r.TenantID, r.Tenant, r.Actor, r.Action, r.ConnectionID, r.Subject, r.Changed,
		r.Outcome, r.Effect, r.RequestID, r.UID, r.KeyID, r.MAC,
	})
}

// close ends the file and waits until it is on the disk. The file belongs to the owner of the folder, so that
// a gateway reads what a command that root runs has archived.
func (w *fileWriter) close() error {
	w.open = false
	owner := durable.KeepOwner(w.temporary, filepath.Dir(w.temporary.Name()))
	return errors.Join(w.zip.Close(), owner, w.temporary.Sync(), w.temporary.Close())
}

// publish gives the file its name, and waits until the name is on the disk.
func (w *fileWriter) publish(to Head) (File, error) {
	folder := filepath.Dir(w.temporary.Name())
	file := File{First: w.from.Rows + 1, Last: to.Rows, from: w.from, to: to}
	file.Path = filepath.Join(folder, fileName(file.First, to))
	if err := os.Rename(w.temporary.Name(), file.Path); err != nil {
		return File{}, err
	}
	return file, durable.SyncFolder(folder)
}

// discard removes the file if it has no name yet.
func (w *fileWriter) discard() {
	if w == nil {
		return
	}
	if w.open {
		_ = w.temporary.Close()
	}
	_ = os.Remove(w.temporary.Name())
}

// errFile is the error of a file that is no archive, or not as it was written.
type errFile struct{ what string }

func (e errFile) Error() string { return e.what }

// fileReader reads an archive.
type fileReader struct {
	from  Head
	file  *os.File
	lines *bufio.Scanner
}

// openFile opens an archive and reads its first line.
func openFile(path string) (*fileReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &fileReader{file: file}
	if err := r.begin(); err != nil {
		_ = file.Close()
		return nil, err
	}
	return r, nil
}

func (r *fileReader) begin() error {
	zip, err := gzip.NewReader(r.file)
	if err != nil {
		return errFile{"is no archive: " + err.Error()}
	}
	r.lines = bufio.NewScanner(zip)
	r.lines.Buffer(nil, mostLine)
	var first firstLine
	if err := r.decode(&first); err != nil {
		return err
	}
	if first.Format != fileFormat {
		return errFile{"is no archive of the audit that this version knows"}
	}
	r.from = first.After
	return nil
}

// decode reads the next line. It accepts only what encode writes, so that nobody reads in the file what is
// not in the row.
func (r *fileReader) decode(into any) error {
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return errFile{"cannot be read to its end: " + err.Error()}
		}
		return errEnd
	}
	if err := json.Unmarshal(r.lines.Bytes(), into); err != nil {
		return errFile{"has a line that is not as it was written: " + err.Error()}
	}
	if text, err := json.Marshal(into); err != nil || !bytes.Equal(text, r.lines.Bytes()) {
		return errFile{"has a line that is not as it was written"}
	}
	return nil
}

// errEnd is the error of decode behind the last line.
var errEnd = errors.New("the archive has ended")

func (r *fileReader) next() (store.AuditRow, error) {
	var l line
	if err := r.decode(&l); err != nil {
		return store.AuditRow{}, err
	}
	return store.AuditRow{
		ID: l.ID, At: l.At, TenantID: l.TenantID, Tenant: l.Tenant, Actor: l.Actor, Action: l.Action,
		ConnectionID: l.Connection, Subject: l.Subject, Changed: l.Changed, Outcome: l.Outcome,
		Effect: l.Effect, RequestID: l.RequestID, UID: l.UID, KeyID: l.KeyID, MAC: l.Hash,
	}, nil
}

// readFile checks each row of an archive. known may be nil; its rows and hashes are noted.
func readFile(ctx context.Context, keys *ring, path string, known *verifying) (File, *Problem, error) {
	file := File{Path: path}
	wrong := func(p *Problem) (File, *Problem, error) {
		p.What += " (in the archive " + path + ")"
		return file, p, nil
	}
	r, err := openFile(path)
	if is, ok := errors.AsType[errFile](err); ok {
		return wrong(&Problem{What: "the file " + is.what})
	}
	if err != nil {
		return file, nil, err
	}
	defer r.file.Close()
	v := verifying{keys: keys}
	if known != nil {
		v.at, v.hashes = known.at, known.hashes
	}
	v.head = r.from
	for began := time.Now(); ; {
		row, err := r.next()
		if is, ok := errors.AsType[errFile](err); ok {
			return wrong(&Problem{What: fmt.Sprintf("after row %d, the file %s", v.head.Rows, is.what)})
		}
		if err != nil {
			file.First, file.Last, file.from, file.to = r.from.Rows+1, v.head.Rows, r.from, v.head
			if file.Last < file.First {
				return wrong(&Problem{What: "the file has no row"})
			}
			return file, nil, nil
		}
		if p := v.step(row); p != nil {
			return wrong(p)
		}
		if row.ID%readAtOnce != 0 {
			continue
		}
		if known != nil { // somebody waits for the answer
			if ctx.Err() != nil {
				return file, nil, ctx.Err()
			}
			continue
		}
		if err := pause.AfterWork(ctx, time.Since(began)); err != nil {
			return file, nil, err
		}
		began = time.Now()
	}
}

// hashIn returns the hash of a row in an archive that was checked.
func hashIn(file File, id int64) (string, error) {
	switch id {
	case file.from.Rows:
		return file.from.Hash, nil
	case file.to.Rows:
		return file.to.Hash, nil
	}
	r, err := openFile(file.Path)
	if err != nil {
		return "", err
	}
	defer r.file.Close()
	for {
		row, err := r.next()
		if err != nil {
			return "", err
		}
		if row.ID == id {
			return row.MAC, nil
		}
	}
}

// findFiles returns the files among paths, and the archives in the folders among them.
func findFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), fileExtension) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files, nil
}
