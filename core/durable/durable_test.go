package durable_test

import (
	"errors"
	"io/fs"
	"path/filepath"
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
