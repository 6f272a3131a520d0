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
	return giveOwner(file, before)
}

// MakeFolder makes a folder, and those above it, unless they are there. As with KeepOwner, a new one that
// root makes has the owner of the folder that it is in.
//
// It goes by the open folders, and gives away none that a link led to: the owner of a folder may put a link in
// the place of a name meanwhile.
func MakeFolder(path string) error {
	if _, err := os.Stat(path); err == nil || os.Geteuid() != 0 {
		return os.MkdirAll(path, 0o700) // which fails if it is no folder
	}
	above := filepath.Dir(filepath.Clean(path))
	if err := MakeFolder(above); err != nil {
		return err
	}
	root, err := os.OpenRoot(above)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.Base(path)
	if root.Mkdir(name, 0o700) != nil {
		return os.MkdirAll(path, 0o700) // another process was faster, or the error tells the whole path
	}
	made, err := root.OpenRoot(name) // opens nothing but folders
	if err != nil {
		return err
	}
	defer made.Close()
	folder, err := made.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	opened, err := folder.Stat()
	if err != nil {
		return err
	}
	named, err := root.Lstat(name)
	if err != nil || !os.SameFile(named, opened) { // a link led elsewhere
		return err
	}
	owner, err := root.Stat(".")
	if err != nil {
		return err
	}
	return giveOwner(folder, owner)
}

// giveOwner gives an open file the owner of another.
func giveOwner(file *os.File, before fs.FileInfo) error {
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
