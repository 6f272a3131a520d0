package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

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
