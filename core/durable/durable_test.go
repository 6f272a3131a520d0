package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"frontdesk/core/durable"
)

func TestSyncFolder(t *testing.T) {
	folder := t.TempDir()
	if err := durable.SyncFolder(folder); err != nil {
		t.Error(err)
	}
	if err := durable.SyncFolder(filepath.Join(folder, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestANewFileHasTheOwnerOfTheOneThatItReplacesElseOfItsFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	folder := t.TempDir()
	there := filepath.Join(folder, "there")
	if err := errors.Join(os.WriteFile(there, nil, 0o600), os.Chown(there, 4001, 4002),
		os.Chown(folder, 4003, 4004)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][2]uint32{
		there: {4001, 4002}, filepath.Join(folder, "missing"): {4003, 4004}, folder: {4003, 4004},
	} {
		file, err := os.CreateTemp(folder, "new")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := durable.KeepOwner(file, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if of := info.Sys().(*syscall.Stat_t); [2]uint32{of.Uid, of.Gid} != want {
			t.Errorf("in place of %s, it belongs to %d:%d; want %v", path, of.Uid, of.Gid, want)
		}
	}
}

func TestANewFolderHasTheOwnerOfTheOneThatItIsIn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give folders away")
	}
	folder := t.TempDir()
	there, lost := filepath.Join(folder, "there"), filepath.Join(folder, "lost")
	if err := errors.Join(os.Mkdir(there, 0o700), os.Symlink(filepath.Join(folder, "missing"), lost),
		os.Chown(folder, 4003, 4004)); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(folder, "new", "deep")
	for path, want := range map[string][2]uint32{
		there: {}, filepath.Join(there, "new"): {}, deep: {4003, 4004}, filepath.Dir(deep): {4003, 4004},
		filepath.Join(folder, "slash") + "/": {4003, 4004},
	} {
		if err := durable.MakeFolder(path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		of := info.Sys().(*syscall.Stat_t)
		if [2]uint32{of.Uid, of.Gid} != want || info.Mode().Perm() != 0o700 {
			t.Errorf("%s belongs to %d:%d, %s; want %v", path, of.Uid, of.Gid, info.Mode(), want)
		}
	}
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", lost, file, filepath.Join(file, "below")} {
		if durable.MakeFolder(path) == nil {
			t.Errorf("a folder is made at %q", path)
		}
	}
}
