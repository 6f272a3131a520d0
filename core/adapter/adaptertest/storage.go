// Package adaptertest holds what the tests of adapters share.
//
//	env := adapter.Environment{Storage: adaptertest.Storage(), Zone: "Europe/Berlin", Now: time.Now}
package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"frontdesk/core/adapter"
)

// Storage returns an empty in-memory document store. It is stricter than [adapter.Storage] requires: every
// change runs twice, with the first run undone; keys and values are checked; returned values are copies.
func Storage() adapter.Storage { return &storage{docs: map[string][]byte{}} }

type storage struct {
	mu   sync.RWMutex
	keys []string // sorted
	docs map[string][]byte
}

// View implements adapter.Storage.
func (s *storage) View(ctx context.Context, read func(adapter.StorageTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return read(view{s})
}

// Update implements adapter.Storage.
func (s *storage) Update(ctx context.Context, change func(adapter.StorageTx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rehearsal := &update{view: view{s}, was: map[string][]byte{}}
	err := change(rehearsal)
	rehearsal.undo()
	if err != nil {
		return err
	}
	tx := &update{view: view{s}, was: map[string][]byte{}}
	if err := change(tx); err != nil {
		tx.undo()
		return err
	}
	return nil
}

type view struct{ *storage }

func (v view) Get(key string) ([]byte, error) { return slices.Clone(v.docs[key]), nil }

func (v view) Scan(prefix, after string, each func(key string, value []byte) bool) error {
	i, _ := slices.BinarySearch(v.keys, max(prefix, after))
	for _, key := range slices.Clone(v.keys[i:]) {
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		value, there := v.docs[key]
		if !there || key == after && after != "" {
			continue
		}
		if !each(key, slices.Clone(value)) {
			return nil
		}
	}
	return nil
}

var errView = errors.New("adaptertest: a view cannot be written to")

func (view) Put(string, []byte) error { return errView }
func (view) Delete(string) error      { return errView }

type update struct {
	view
	was map[string][]byte // the values before this update; nil if there was none
}

func (u *update) Put(key string, value []byte) error {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("adaptertest: the key %q is not printable", key)
	}
	if !json.Valid(value) {
		return fmt.Errorf("adaptertest: the value of %q is no JSON: %.80q", key, value)
	}
	u.remember(key)
	u.set(key, slices.Clone(value))
	return nil
}

func (u *update) Delete(key string) error {
	u.remember(key)
	u.set(key, nil)
	return nil
}

func (u *update) remember(key string) {
	if _, known := u.was[key]; !known {
		u.was[key] = u.docs[key]
	}
}

func (u *update) undo() {
	for key, value := range u.was {
		u.set(key, value)
	}
}

func (s *storage) set(key string, value []byte) {
	i, there := slices.BinarySearch(s.keys, key)
	switch {
	case value == nil && there:
		s.keys = slices.Delete(s.keys, i, i+1)
		delete(s.docs, key)
	case value != nil && !there:
		s.keys = slices.Insert(s.keys, i, key)
		s.docs[key] = value
	case value != nil:
		s.docs[key] = value
	}
}
