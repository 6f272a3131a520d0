package store_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

func put(t *testing.T, s *store.Store, connectionID, key, value string) {
	t.Helper()
	must(t, s.Documents(connectionID).Update(t.Context(),
		func(tx adapter.StorageTx) error { return tx.Put(key, []byte(value)) }))
}

func get(t *testing.T, s *store.Store, connectionID, key string) (value string) {
	t.Helper()
	must(t, s.Documents(connectionID).View(t.Context(), func(tx adapter.StorageTx) error {
		raw, err := tx.Get(key)
		value = string(raw)
		return err
	}))
	return value
}

func scan(t *testing.T, s *store.Store, connectionID, prefix, after string) (keys []string) {
	t.Helper()
	must(t, s.Documents(connectionID).View(t.Context(), func(tx adapter.StorageTx) error {
		keys = nil
		return tx.Scan(prefix, after, func(key string, _ []byte) bool {
			keys = append(keys, key)
			return true
		})
	}))
	return keys
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	t.Run("a document is what was put last, and nil when there is none", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
				return errors.Join(tx.Put("a", []byte("1")), tx.Put("a", []byte(`{"ü":"\u0000"}`)),
					tx.Put("b", []byte("3")), tx.Delete("b"), tx.Delete("none"))
			}))
			equal(t, get(t, s, "c1", "a"), `{"ü":"\u0000"}`)
			must(t, s.Documents("c1").View(t.Context(), func(tx adapter.StorageTx) error {
				none, err := tx.Get("b")
				equal(t, none, nil)
				return err
			}))
		})
	})
	t.Run("connections do not see each other's documents", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			connectionOf(t, s, "acme", "c2", "crm")
			put(t, s, "c1", "k", "one")
			put(t, s, "c2", "k", "two")
			equal(t, get(t, s, "c1", "k"), "one")
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error { return tx.Delete("k") }))
			equal(t, scan(t, s, "c1", "", ""), nil)
			equal(t, get(t, s, "c2", "k"), "two")
		})
	})
	t.Run("an update sees its own writes, and an error of the caller undoes it and "+
		"comes back as it is", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			put(t, s, "c1", "k", "before")
			mine := errors.New("mine")
			err := s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
				must(t, tx.Put("k", []byte("after")))
				seen, err := tx.Get("k")
				must(t, err)
				equal(t, string(seen), "after")
				return mine
			})
			if err != mine {
				t.Fatalf("got %v", err)
			}
			equal(t, get(t, s, "c1", "k"), "before")
		})
	})
	t.Run("a panic undoes an update, and the next one works", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			func() {
				defer func() { equal(t, recover(), any("oops")) }()
				_ = s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
					must(t, tx.Put("k", []byte("1")))
					panic("oops")
				})
			}()
			equal(t, scan(t, s, "c1", "", ""), nil)
			put(t, s, "c1", "k", "2")
		})
	})
	t.Run("updates of one connection take turns", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			put(t, s, "c1", "count", "0")
			const writers, times = 16, 10
			for _, err := range at(writers, func(int) error {
				for range times {
					err := s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
						raw, err := tx.Get("count")
						if err != nil {
							return err
						}
						n, err := strconv.Atoi(string(raw))
						if err != nil {
							return err
						}
						return tx.Put("count", fmt.Append(nil, n+1))
					})
					if err != nil {
						return err
					}
				}
				return nil
			}) {
				must(t, err)
			}
			equal(t, get(t, s, "c1", "count"), strconv.Itoa(writers*times))
		})
	})
	t.Run("a view has one picture while others write", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			put(t, s, "c1", "a", "1")
			must(t, s.Documents("c1").View(t.Context(), func(tx adapter.StorageTx) error {
				first, err := tx.Get("a")
				must(t, err)
				must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
					return errors.Join(tx.Put("a", []byte("2")), tx.Put("b", []byte("2")))
				}))
				second, err := tx.Get("a")
				must(t, err)
				equal(t, string(second), string(first))
				none, err := tx.Get("b")
				equal(t, none, nil)
				return err
			}))
			equal(t, get(t, s, "c1", "a"), "2")
		})
	})
	t.Run("a view cannot write", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			must(t, s.Documents("c1").View(t.Context(), func(tx adapter.StorageTx) error {
				refused(t, tx.Put("k", nil), fault.Internal, fault.ReasonInternal)
				refused(t, tx.Delete("k"), fault.Internal, fault.ReasonInternal)
				return nil
			}))
		})
	})
	t.Run("without its connection nothing is kept", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			err := s.Documents("nothing").Update(t.Context(),
				func(tx adapter.StorageTx) error { return tx.Put("k", nil) })
			refused(t, err, fault.NotFound, store.ReasonConnectionNotFound)
			equal(t, scan(t, s, "nothing", "", ""), nil)
		})
	})
}

func TestScan(t *testing.T) {
	t.Parallel()
	keys := []string{
		"B", "a", "a/", "a/1", "a/10", "a/2", "a/Z", "a/a", "a/\xc3\xa4", "a0", "b", "\xc3\xa4", "\xff",
		"\xff\xffz",
	}
	filled := func(t *testing.T, s *store.Store) {
		t.Helper()
		connection(t, s, "c1")
		must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
			for i := range keys {
				if err := tx.Put(keys[(i*5)%len(keys)], []byte("{}")); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	t.Run("the order is that of bytes, within the prefix and after the key", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			filled(t, s)
			for _, c := range []struct{ prefix, after string }{
				{"", ""}, {"", "a/10"}, {"a", ""}, {"a/", ""}, {"a/", "a/"}, {"a/", "a/1"}, {"a/", "a/11"}, {"a/", "B"},
				{"a/", "b"}, {"a/", "a/\xff"}, {"\xff", ""}, {"\xff\xff", ""}, {"none", ""},
			} {
				var want []string
				for _, key := range keys {
					if strings.HasPrefix(key, c.prefix) && key > c.after {
						want = append(want, key)
					}
				}
				equal(t, scan(t, s, "c1", c.prefix, c.after), want)
			}
		})
	})
	t.Run("each may stop, read and write", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			filled(t, s)
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
				var seen []string
				err := tx.Scan("a", "", func(key string, value []byte) bool {
					same, err := tx.Get(key)
					must(t, err)
					equal(t, same, value)
					must(t, tx.Delete(key))
					seen = append(seen, key)
					return len(seen) < 3
				})
				equal(t, seen, []string{"a", "a/", "a/1"})
				return err
			}))
			equal(t, scan(t, s, "c1", "a/1", ""), []string{"a/10"})
		})
	})
	t.Run("thousands are each seen once, with their values", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			fillEvents(t, s, 2345)
			next := 0
			must(t, s.Documents("c1").View(t.Context(), func(tx adapter.StorageTx) error {
				return tx.Scan("event/", "", func(key string, value []byte) bool {
					equal(t, key, eventKey(next))
					equal(t, string(value), eventValue(next))
					next++
					return true
				})
			}))
			equal(t, next, 2345)
		})
	})
}

func eventKey(i int) string   { return fmt.Sprintf("event/primary/%06d", i) }
func eventValue(i int) string { return fmt.Sprintf(`{"id":%d,"text":%q}`, i, strings.Repeat("x", 480)) }

// fillEvents gives the connection "c1" n documents of about 500 bytes.
func fillEvents(tb testing.TB, s *store.Store, n int) {
	tb.Helper()
	if err := s.CreateTenant(tb.Context(), store.Tenant{ID: "acme", Name: "acme", CreatedAt: noon}); err != nil {
		tb.Fatal(err)
	}
	c := store.Connection{
		ID: "c1", TenantID: "acme", Name: "c1", Kind: "calendar", Provider: "sandbox", CreatedAt: noon,
	}
	if err := s.CreateConnection(tb.Context(), c); err != nil {
		tb.Fatal(err)
	}
	const atOnce = 250 // an update may take four seconds
	for first := 0; first < n; first += atOnce {
		err := s.Documents("c1").Update(tb.Context(), func(tx adapter.StorageTx) error {
			for i := first; i < min(first+atOnce, n); i++ {
				if err := tx.Put(eventKey(i), []byte(eventValue(i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}
