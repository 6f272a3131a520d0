//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// KeepOwner gives a new file the owner of the file that it will replace at path. If there is none, it gives it the
// owner of the folder. Otherwise a command that root runs in the directory of a service would leave files there that
// the service cannot read. Users other than root cannot give files away, so for them it does nothing.
//
// It goes by the open file: the owner of the folder may put a link in the place of its name.
func KeepOwner(file *os.File, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	before, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = os.Stat(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	now, err := file.Stat()
	if err != nil {
		return err
	}
	is, ok := now.Sys().(*syscall.Stat_t)
	wanted, known := before.Sys().(*syscall.Stat_t)
	if !ok || !known || is.Uid == wanted.Uid && is.Gid == wanted.Gid {
		return nil
	}
	return file.Chown(int(wanted.Uid), int(wanted.Gid))
}
