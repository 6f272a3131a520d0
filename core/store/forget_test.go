package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// marksIn counts the occurrences of a mark in the files of a database.
func marksIn(t *testing.T, url, mark string) (found int) {
	t.Helper()
	path := strings.TrimPrefix(url, "sqlite:")
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		found += bytes.Count(raw, []byte(mark))
	}
	return found
}

// No file of SQLite, not even the write-ahead log, contains what was deleted.
func TestNothingIsLeftOfWhatWasDeleted(t *testing.T) {
	t.Parallel()
	const mark = "mark-6b1e-of-a-person"
	for name, erase := range map[string]func(t *testing.T, s *store.Store){
		"a tenant": func(t *testing.T, s *store.Store) { must(t, s.DeleteTenant(t.Context(), "acme")) },
		"a connection": func(t *testing.T, s *store.Store) {
			must(t, s.DeleteConnection(t.Context(), "acme", "c1"))
		},
		"old intents": func(t *testing.T, s *store.Store) {
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error { return clearAll(tx) }))
			if n := got(s.PurgeIntents(t.Context(), noon.Add(time.Hour), noon.Add(time.Hour), 100))(t); n == 0 {
				t.Error("nothing is purged")
			}
			must(t, s.Forget(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := storetest.SQLite(t)
			s := storetest.Open(t, url)
			connection(t, s, "c1")
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
				for _, key := range []string{"a", "b", "c"} {
					if err := tx.Put(key, []byte(`"`+mark+strings.Repeat("x", 3000)+mark+`"`)); err != nil {
						return err
					}
				}
				return tx.Put("a", []byte(`"written over"`))
			}))
			if name == "old intents" {
				for _, key := range []string{"1", "2"} {
					i := begun(t, s, store.Intent{Key: key, Plan: []byte(`{"title":"` + mark + `"}`)})
					i.Answer = []byte(`{"title":"` + mark + `"}`)
					must(t, s.FinishIntent(t.Context(), i, store.Attached{}))
				}
			}
			if marksIn(t, url, mark) == 0 {
				t.Fatal("the mark is nowhere to begin with")
			}
			erase(t, s)
			if n := marksIn(t, url, mark); n != 0 {
				t.Errorf("it is still there %d times", n)
			}
		})
	}
}

func clearAll(tx adapter.StorageTx) error {
	var keys []string
	if err := tx.Scan("", "", func(key string, _ []byte) bool {
		keys = append(keys, key)
		return true
	}); err != nil {
		return err
	}
	for _, key := range keys {
		if err := tx.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// Rebuild rewrites a file of a version that did not overwrite deleted data.
func TestRebuildLeavesNothingOfWhatWasDeletedBefore(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		must(t, s.Rebuild(t.Context()))
		must(t, s.Forget(t.Context()))
	})
}
