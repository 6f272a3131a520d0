package adaptertest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
)

func put(t *testing.T, s adapter.Storage, keys ...string) {
	t.Helper()
	for _, key := range keys {
		err := s.Update(t.Context(), func(tx adapter.StorageTx) error { return tx.Put(key, []byte(`"`+key+`"`)) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

func scan(t *testing.T, s adapter.Storage, prefix, after string) (keys []string) {
	t.Helper()
	err := s.View(t.Context(), func(tx adapter.StorageTx) error {
		return tx.Scan(prefix, after, func(key string, value []byte) bool {
			if string(value) != `"`+key+`"` {
				t.Errorf("the value of %s is %s", key, value)
			}
			keys = append(keys, key)
			return true
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestScanIsInOrderOfKeysWithThePrefixAfterTheKey(t *testing.T) {
	s := adaptertest.Storage()
	put(t, s, "b/2", "a/1", "b/10", "c", "b/1", "b")
	for _, c := range []struct {
		prefix, after string
		want          []string
	}{
		{"", "", []string{"a/1", "b", "b/1", "b/10", "b/2", "c"}},
		{"b/", "", []string{"b/1", "b/10", "b/2"}},
		{"b/", "b/1", []string{"b/10", "b/2"}},
		{"b/", "b/11", []string{"b/2"}},
		{"b/", "a", []string{"b/1", "b/10", "b/2"}},
		{"b/", "c", nil},
		{"d", "", nil},
	} {
		if got := scan(t, s, c.prefix, c.after); !slices.Equal(got, c.want) {
			t.Errorf("prefix %q after %q: %q, want %q", c.prefix, c.after, got, c.want)
		}
	}
}

func TestAnUpdateThatFailsLeavesNothing(t *testing.T) {
	s, no := adaptertest.Storage(), errors.New("no")
	put(t, s, "kept", "also")
	runs := 0
	err := s.Update(t.Context(), func(tx adapter.StorageTx) error {
		if err := errors.Join(tx.Put("kept", []byte("1")), tx.Delete("also"),
			tx.Put("new", []byte("1"))); err != nil {
			return err
		}
		if runs++; runs == 2 {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) {
		t.Fatalf("got %v", err)
	}
	if got := scan(t, s, "", ""); !slices.Equal(got, []string{"also", "kept"}) {
		t.Errorf("left are %q", got)
	}
}

func TestAChangeRunsTwiceAndCountsOnce(t *testing.T) {
	s, runs := adaptertest.Storage(), 0
	err := s.Update(t.Context(), func(tx adapter.StorageTx) error {
		runs++
		seen, err := tx.Get("n")
		if err != nil || seen != nil {
			t.Errorf("run %d sees %s, error %v", runs, seen, err)
		}
		return tx.Put("n", []byte("1"))
	})
	if err != nil || runs != 2 {
		t.Errorf("ran %d times, error %v", runs, err)
	}
}

func TestWhatAStoreRefuses(t *testing.T) {
	s := adaptertest.Storage()
	ended, end := context.WithCancel(t.Context())
	end()
	update := func(ctx context.Context, key, value string) error {
		return s.Update(ctx, func(tx adapter.StorageTx) error { return tx.Put(key, []byte(value)) })
	}
	for rule, err := range map[string]error{
		"a value that is no JSON":        update(t.Context(), "a", "{"),
		"a key with a control character": update(t.Context(), "a\nb", "1"),
		"an empty key":                   update(t.Context(), "", "1"),
		"an update on an ended context":  update(ended, "a", "1"),
		"a view on an ended context":     s.View(ended, func(adapter.StorageTx) error { return nil }),
		"a view that writes": s.View(t.Context(),
			func(tx adapter.StorageTx) error { return tx.Put("a", []byte("1")) }),
		"a view that deletes what is there": s.View(t.Context(),
			func(tx adapter.StorageTx) error { return tx.Delete("a") }),
	} {
		if err == nil {
			t.Errorf("%s is not refused", rule)
		}
	}
}

func TestWhatIsHandedOutIsACopy(t *testing.T) {
	s := adaptertest.Storage()
	put(t, s, "a")
	_ = s.View(t.Context(), func(tx adapter.StorageTx) error {
		value, err := tx.Get("a")
		value[1] = 'x'
		return err
	})
	scan(t, s, "", "")
}
