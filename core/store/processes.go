package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"frontdesk/core/durable"
)

// ProcessState is what a store knows about a process that shares it.
type ProcessState int

// The states.
const (
	ProcessUnknown ProcessState = iota // not known: its leases count
	ProcessAlive                       // it runs, or is stopped and may go on
	ProcessGone                        // it has ended, however it ended
)

// Processes that share a SQLite file run on one machine, whose kernel knows which of them are alive: each
// holds a lock (flock(2)) on its own file beside the database. The kernel drops the lock with the process,
// even after SIGKILL, and keeps it while the process is stopped. A file is named after its process and stays
// behind. Announce removes old files.
const (
	processFile     = "-process-"    // between the path of the database and the name of the process
	processFileKept = 24 * time.Hour // longer than any lease
)

// TracksProcesses reports whether the store can detect that a process is gone: on SQLite, not on PostgreSQL.
func (s *Store) TracksProcesses() bool { return s.path != "" }

// Announce shows other processes that this process is alive, until it ends or closes the store. name must be
// new for each process and valid as a file name. On PostgreSQL it does nothing.
func (s *Store) Announce(name string) error {
	if !s.TracksProcesses() {
		return nil
	}
	if s.closed.Load() {
		return unavailable(os.ErrClosed)
	}
	s.removeOldProcesses()
	// The file is locked before it is named, because a file without a lock means that its process is gone.
	file, err := os.CreateTemp(filepath.Dir(s.path), "."+filepath.Base(s.path)+processFile+"*")
	if err != nil {
		return unavailable(cause(err))
	}
	if err = lock(file, syscall.LOCK_EX); err == nil {
		err = durable.KeepOwner(file, s.path) // so that those who share the database can see the lock
	}
	if err == nil {
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

// lock locks a file, or fails if it cannot do so at once.
func lock(file *os.File, how int) error {
	return syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
}

// removeOldProcesses removes the files of processes that ended long ago. A file that it cannot remove is left
// for the next call.
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
