package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func opened(t *testing.T, url string) *store.Store {
	t.Helper()
	s := storetest.Connect(t, url)
	must(t, s.Migrate(t.Context()))
	return s
}

func TestWhatWasAnsweredIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := opened(t, url)
		tenant(t, s, "acme")
		fill(t, s, connectionOf(t, s, "acme", "connection-of-acme", "calendar"))
		must(t, s.Close())
		s = storetest.Open(t, url)
		equal(t, left(t, s, "acme"), belongings{
			tenants: 1, connections: 1, keys: 1, unsettled: 1, answers: 1, events: 1, holds: 1, numbers: 1,
			documents: 1,
		})
		must(t, s.Check(t.Context()))
	})
}

// writeToUntilKilled names the store that a child of the test process writes to.
const writeToUntilKilled = "FRONTDESK_STORE_TEST_WRITES_TO"

// writeUntilKilled is the child. It prints each key once the store has returned without an error.
func writeUntilKilled(url string) {
	ctx := context.Background()
	s, err := store.Open(ctx, url)
	if err == nil {
		s.BoundCalls(time.Minute) // on a machine that is busy with other tests, a call may take its time
	}
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
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		connection(t, s, "c1")
		for _, lines := range []int{1, 7, 40, 150} {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), writeToUntilKilled+"="+url)
			var complaint strings.Builder
			child.Stderr = &complaint
			output := got(child.StdoutPipe())(t)
			must(t, child.Start())
			var kept []string
			reader := bufio.NewScanner(output)
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
			// The two documents of one update exist together. At most one update more exists than was
			// printed.
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
	t.Parallel()
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

// announceUntilKilled names a store to which a child of the test process announces itself.
const announceUntilKilled = "FRONTDESK_STORE_TEST_ANNOUNCES_TO"

// announceAndWait is that child. It prints when it is announced, and stays.
func announceAndWait(url string) {
	s, err := store.Open(context.Background(), url)
	if err == nil {
		err = s.Announce("child")
	}
	fmt.Println(err)
	time.Sleep(time.Hour)
}

func TestTheStateOfAProcessIsItsKernels(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	s := storetest.Open(t, url)
	equal(t, s.Process("child"), store.ProcessUnknown)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), announceUntilKilled+"="+url)
	output := bufio.NewScanner(got(child.StdoutPipe())(t))
	must(t, child.Start())
	output.Scan()
	equal(t, output.Text(), "<nil>")
	equal(t, s.Process("child"), store.ProcessAlive)
	must(t, child.Process.Signal(syscall.SIGSTOP))
	equal(t, s.Process("child"), store.ProcessAlive)
	must(t, child.Process.Kill())
	_ = child.Wait() // it was killed
	equal(t, s.Process("child"), store.ProcessGone)
}

func TestAProcessEndsWithItsStore(t *testing.T) {
	t.Parallel()
	url := storetest.SQLite(t)
	s, own := storetest.Open(t, url), storetest.Connect(t, url)
	must(t, own.Announce("own"))
	equal(t, s.Process("own"), store.ProcessAlive)
	must(t, own.Close())
	equal(t, s.Process("own"), store.ProcessGone)
	refused(t, own.Announce("again"), fault.Unavailable, fault.ReasonStoreUnavailable)
	equal(t, s.Process("../frontdesk.db"), store.ProcessUnknown)
	t.Run("its file goes when it is old", func(t *testing.T) {
		file := strings.TrimPrefix(url, "sqlite:") + "-process-own"
		must(t, s.Announce("next"))
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		must(t, os.Chtimes(file, noon.AddDate(-1, 0, 0), noon.AddDate(-1, 0, 0)))
		third := storetest.Connect(t, url)
		defer third.Close()
		must(t, third.Announce("third"))
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file of a process that ended a year ago: %v", err)
		}
	})
}

func TestPostgresTellsNothingOfProcesses(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.Postgres(t))
	must(t, s.Announce("one"))
	equal(t, []any{s.Process("one"), s.TracksProcesses()}, []any{store.ProcessUnknown, false})
}
