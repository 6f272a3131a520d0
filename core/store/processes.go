package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ProcessState is what a store can tell of a process that shares it.
type ProcessState int

// The states.
const (
	ProcessUnknown ProcessState = iota // nothing can be told: its leases count
	ProcessAlive                       // it runs, or is stopped and may go on
	ProcessGone                        // it has ended, however it ended
)

// Processes that share a file of SQLite run on one machine, and its kernel knows which of them live: each
// holds a lock (flock(2)) on a file of its own beside the database. The kernel drops the lock with the
// process, even after SIGKILL, and keeps it while the process is stopped. A file is named after its process
// and stays behind; whoever announces itself removes the old ones.
const (
	processFile     = "-process-"    // between the path of the database and the name of the process
	processFileKept = 24 * time.Hour // longer than any lease
)

// TracksProcesses reports whether the store can tell that a process is gone: on SQLite, not on PostgreSQL.
func (s *Store) TracksProcesses() bool { return s.path != "" }

// Announce makes it known to others that this process lives, until it ends or closes the store. name must be
// new for each process and fit for a file name. On PostgreSQL it does nothing.
func (s *Store) Announce(name string) error {
	if !s.TracksProcesses() {
		return nil
	}
	if s.closed.Load() {
		return unavailable(os.ErrClosed)
	}
	s.removeOldProcesses()
	// The lock comes before the name: a file without a lock means that its process is gone.
	file, err := os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+processFile+"*")
	if err != nil {
		return unavailable(cause(err))
	}
	if err = lock(file, syscall.LOCK_EX); err == nil {
		err = os.Rename(file.Name(), s.path+processFile+name)
	}
	if err != nil {
		return unavailable(errors.Join(cause(err), file.Close(), os.Remove(file.Name())))
	}
	s.announced.Store(file) // closed with the store
	return nil
}

// Process returns the state of the process that announced itself under a name.
func (s *Store) Process(name string) ProcessState {
	if !s.TracksProcesses() || name != filepath.Base(name) {
		return ProcessUnknown
	}
	file, err := os.Open(s.path + processFile + name)
	if err != nil {
		return ProcessUnknown
	}
	defer file.Close()
	switch err := lock(file, syscall.LOCK_SH); {
	case err == nil:
		return ProcessGone
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ProcessAlive
	}
	return ProcessUnknown
}

// lock takes the lock of a file at once or not at all.
func lock(file *os.File, how int) error {
	return syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
}

// removeOldProcesses removes the files of processes that ended long ago. What cannot be removed is left for
// the next.
func (s *Store) removeOldProcesses() {
	files, err := os.ReadDir(filepath.Dir(s.path))
	if err != nil {
		return
	}
	for _, file := range files {
		name, is := strings.CutPrefix(file.Name(), filepath.Base(s.path)+processFile)
		info, err := file.Info()
		if is && err == nil && time.Since(info.ModTime()) > processFileKept && s.Process(name) == ProcessGone {
			_ = os.Remove(s.path + processFile + name)
		}
	}
}
