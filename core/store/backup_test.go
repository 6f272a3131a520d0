package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// A backup that is killed leaves a copy of the whole database under a hidden name. Each night's would fill the disk.
func TestABackupRemovesWhatAKilledOneLeft(t *testing.T) {
	s, folder := storetest.Open(t, storetest.SQLite(t)), t.TempDir()
	for name, age := range map[string]time.Duration{
		".frontdesk-backup-1": 24 * time.Hour, ".frontdesk-backup-1-journal": 24 * time.Hour, "monday.db": 24 * time.Hour,
		".frontdesk-backup-2": time.Hour, // one that may still run
	} {
		path, at := filepath.Join(folder, name), time.Now().Add(-age)
		if err := os.WriteFile(path, []byte("SQLite"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Backup(t.Context(), filepath.Join(folder, "tuesday.db")); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".frontdesk-backup-2", "monday.db", "tuesday.db"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// An operator keeps the database on another disk than the data directory, behind a link. A restored one belongs there,
// not in the link's place: the directory may have little room, or not last.
func TestALinkToTheDatabaseStaysOne(t *testing.T) {
	data, disk := t.TempDir(), t.TempDir()
	file, link := filepath.Join(data, "volume", "desk.db"), filepath.Join(data, "frontdesk.db")
	if err := os.Symlink("volume/desk.db", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk, filepath.Join(data, "volume")); err != nil {
		t.Fatal(err)
	}
	url := "sqlite:" + link
	if path, err := store.PathOf(url); path != file || err != nil { // of a file that is yet to be made
		t.Fatalf("the link leads to %s, %v; want %s", path, err, file)
	}
	s := storetest.Open(t, url)
	copied := filepath.Join(disk, "copy.db")
	if err := s.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	point := func(to string) {
		if err := errors.Join(os.Remove(link), os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
	}
	if point(copied); s.Probe(t.Context()) == nil {
		t.Error("nobody notices that the link leads elsewhere")
	}
	point("volume/desk.db")
	if err := errors.Join(s.Probe(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	want, err := os.Stat(copied)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Replace(t.Context(), url, copied, file+".former"); err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(file); err != nil || !os.SameFile(is, want) {
		t.Errorf("the link does not lead to the copy: %v", err)
	}
	if to, err := os.Readlink(link); to != "volume/desk.db" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}
