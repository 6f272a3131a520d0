// Package durable makes the names of files survive a power loss, and their owners a command that root runs.
//
//	err := durable.KeepOwner(temporary, path)
//	err = os.Rename(temporary.Name(), path)
//	err = durable.SyncFolder(filepath.Dir(path))
//
// A file's own Sync makes its content durable. The file's name belongs to its folder, which has a Sync of its own
// (Linux, fsync(2)).
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// SyncFolder waits until the names in a folder are on the disk. On Windows, which cannot sync folders, it does
// nothing.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// leftover is the age at which a file that nobody finished is removed. What is written each day finds that of the day
// before.
const leftover = 12 * time.Hour

// RemoveLeftovers removes what processes that were killed did not finish: the files and folders whose names begin with
// the prefix, and that nobody has changed for half a day. The prefix names the gateway: others may have files there.
func RemoveLeftovers(folder, prefix string) {
	left, _ := filepath.Glob(filepath.Join(folder, prefix+"*"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > leftover {
			_ = os.RemoveAll(path)
		}
	}
}
