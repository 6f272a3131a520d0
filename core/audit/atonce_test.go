package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
)

func TestWritersAndSealersDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		const processes, writers, each = 3, 6, 25
		logs := []*Log{w.log}
		for range processes - 1 {
			logs = append(logs, w.process())
		}
		ctx, stop := context.WithCancel(t.Context())
		var sealing, writing sync.WaitGroup
		for _, l := range logs {
			sealing.Go(func() {
				for ctx.Err() == nil {
					if err := l.Seal(ctx); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				}
			})
			for i := range writers {
				writing.Go(func() {
					for range each {
						if err := l.Record(t.Context(), Entry{
							Tenant: fmt.Sprint("t", i), Action: "a", Outcome: Done,
						}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			writing.Go(func() {
				for range each {
					if r, err := l.Verify(t.Context(), VerifyOptions{}); err != nil || !r.Sound {
						t.Errorf("while it runs: %+v %v", r.Problem, err)
					}
				}
			})
		}
		writing.Wait()
		stop()
		sealing.Wait()
		w.seal()
		if r := w.verify(w.kept()); !r.Sound || r.Head.Rows != processes*writers*each || r.Unsealed != 0 {
			t.Errorf("%+v, kept %+v\n%s", r, w.kept(), w.logged)
		}
		if strings.Contains(w.logged.String(), "level=ERROR") {
			t.Errorf("%s", w.logged)
		}
	})
}

// TestSealersOfOneProcess: a gateway that closes seals once more, whoever seals there still.
func TestSealersOfOneProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedSQLite(t))
	const sealers, each = 8, 10
	var sealing sync.WaitGroup
	for range sealers {
		sealing.Go(func() {
			for range each {
				err := w.log.Record(t.Context(), Entry{Tenant: "acme", Action: "a", Outcome: Done})
				if err := errors.Join(err, w.log.Seal(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sealing.Wait()
	w.seal()
	known, kept := w.log.lastKnown()
	if r := w.verify(w.kept()); !r.Sound || known.Rows != sealers*each || kept != known || w.kept().Head != known {
		t.Errorf("%+v, known %v, kept %v, %v in the file", r, known, kept, w.kept())
	}
}

func TestOneOfManyGatewaysArchives(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		folder := t.TempDir()
		w.record(40)
		w.seal()
		o := w.older(folder, 31, 7)
		since := w.clock.Add(-24 * time.Hour)
		full := filepath.Join(t.TempDir(), "full") // a gateway that can write no archive does not take the others' turn
		w.check(os.WriteFile(full, nil, 0o600))
		if err := w.process().ArchiveDue(t.Context(), since, w.older(full, 31, 7)); err == nil {
			t.Error("a file is taken for a directory")
		}
		var all sync.WaitGroup
		now := w.now() // each look at the clock takes a minute, but here they are at one time
		for range 3 {
			l := w.process()
			l.opts.Now = func() time.Time { return now }
			all.Go(func() {
				if err := l.ArchiveDue(t.Context(), since, o); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		w.seal()
		r := w.verifyAll(folder)
		if !r.Sound || r.Boundary != 30 || len(r.Archives) != 5 || strings.Count(w.logged.String(), "were archived") != 5 {
			t.Errorf("%+v, %v\n%s", r, r.Problem, w.logged)
		}
		w.check(w.log.ArchiveDue(t.Context(), since, w.older(folder, 0, 100)))
		if r := w.verify(); r.Boundary != 30 {
			t.Errorf("it is not time, and the boundary is %d", r.Boundary)
		}
		// A clock that was far ahead keeps nobody from it once it is set right.
		due := func(now time.Time) bool {
			is, err := w.log.opts.Store.TryArchiving(t.Context(), now.Add(-24*time.Hour), now)
			w.check(err)
			return is
		}
		if year := 365 * 24 * time.Hour; !due(w.clock.Add(year)) || !due(w.clock) || due(w.clock) {
			t.Error("after a clock that was a year ahead, it is not time once")
		}
		// Several commands at once leave a sound chain, whoever gives up.
		everything := w.older(folder, 0, 2)
		for range 3 {
			l, writer := w.process(), w.process()
			all.Go(func() {
				if _, err := l.Archive(t.Context(), everything); err != nil && fault.From(err).Reason != ReasonNotArchived {
					t.Error(err)
				}
			})
			all.Go(func() {
				for range 5 {
					if err := writer.Record(t.Context(), Entry{Tenant: "t", Action: "a", Outcome: Done}); err != nil {
						t.Error(err)
					}
					if r, err := l.Verify(t.Context(), VerifyOptions{}); err != nil || !r.Sound {
						t.Errorf("meanwhile: %v, %v", r.Problem, err)
					}
				}
			})
		}
		all.Wait()
		w.seal()
		if r := w.verifyAll(folder); !r.Sound {
			t.Errorf("%v", r.Problem)
		}
	})
}
