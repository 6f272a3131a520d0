package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func opened(t *testing.T, url string) *store.Store {
	t.Helper()
	s := got(store.Open(t.Context(), url))(t)
	must(t, s.Migrate(t.Context()))
	return s
}

func TestWhatWasAnsweredIsThereAfterReopening(t *testing.T) {
	bothURLs(t, func(t *testing.T, url string) {
		s := opened(t, url)
		tenant(t, s, "acme")
		fill(t, s, connectionOf(t, s, "acme", "connection-of-acme", "calendar"))
		must(t, s.Close())
		s = storetest.Open(t, url)
		equal(t, left(t, s, "acme"), belongings{tenants: 1, connections: 1, keys: 1, unsettled: 1, answers: 1, events: 1, holds: 1, numbers: 1, documents: 1})
		must(t, s.Check(t.Context()))
	})
}

// writeToUntilKilled names the store that a child of the test process writes to.
const writeToUntilKilled = "FRONTDESK_STORE_TEST_WRITES_TO"

// writeUntilKilled is the child: it says each key on standard output once the store has answered that it is kept.
func writeUntilKilled(url string) {
	ctx := context.Background()
	s, err := store.Open(ctx, url)
	for i := 0; err == nil; i++ {
		err = s.Documents("c1").Update(ctx, func(tx adapter.StorageTx) error {
			if err := tx.Put(eventKey(i), []byte(eventValue(i))); err != nil {
				return err
			}
			return tx.Put("last", []byte(eventKey(i)))
		})
		if err == nil {
			fmt.Println(eventKey(i))
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestAWriterKilledAtAnyMomentLosesAndBreaksNothing(t *testing.T) {
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		connection(t, s, "c1")
		for _, lines := range []int{1, 7, 40, 150} {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), writeToUntilKilled+"="+url)
			var complaint strings.Builder
			child.Stderr = &complaint
			said := got(child.StdoutPipe())(t)
			must(t, child.Start())
			var kept []string
			reader := bufio.NewScanner(said)
			for reader.Scan() {
				if kept = append(kept, reader.Text()); len(kept) == lines {
					must(t, child.Process.Kill()) // SIGKILL; what it wrote until then is still read
				}
			}
			_ = child.Wait() // it was killed
			if len(kept) < lines {
				t.Fatalf("the child wrote %d times: %s", len(kept), complaint.String())
			}
			must(t, s.Check(t.Context()))
			for i, key := range kept {
				equal(t, get(t, s, "c1", key), eventValue(i))
			}
			// The two documents of one update are there together: at most one update more than was said.
			last := get(t, s, "c1", "last")
			if last != kept[len(kept)-1] && last != eventKey(len(kept)) {
				t.Fatalf("last is %s after %s", last, kept[len(kept)-1])
			}
			must(t, s.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
				return tx.Scan("", "", func(key string, _ []byte) bool { return tx.Delete(key) == nil })
			}))
		}
	})
}

func TestSeveralProcessesShareOneStore(t *testing.T) {
	bothURLs(t, func(t *testing.T, url string) {
		s, other := storetest.Open(t, url), storetest.Open(t, url)
		connection(t, s, "c1")
		for _, err := range at(16, func(i int) error {
			mine := s
			if i%2 == 1 {
				mine = other
			}
			for round := range 10 {
				if err := mine.Documents("c1").Update(t.Context(), func(tx adapter.StorageTx) error {
					return tx.Put(fmt.Sprint(i, "/", round), []byte("{}"))
				}); err != nil {
					return err
				}
			}
			return nil
		}) {
			must(t, err)
		}
		equal(t, len(scan(t, s, "c1", "", "")), 160)
		equal(t, len(scan(t, other, "c1", "", "")), 160)
	})
}
