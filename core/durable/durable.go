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
	"runtime"
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
