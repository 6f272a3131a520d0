package singleflight

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"frontdesk/core/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManyCallsOfOneKeyFetchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewGroup()
		release, asked := make(chan struct{}), 0
		var done sync.WaitGroup
		for range 50 {
			done.Go(func() {
				got, err := Do(t.Context(), f, "k", func(context.Context) (int, error) {
					asked++ // by one goroutine, else the race detector reports it
					<-release
					return 7, nil
				})
				if got != 7 || err != nil {
					t.Errorf("got %d, %v", got, err)
				}
			})
		}
		synctest.Wait()
		left, leave := context.WithCancel(t.Context())
		leave()
		_, err := Do(left, f, "k", func(context.Context) (int, error) { return 0, nil })
		if f := fault.From(err); f == nil || f.Code != fault.Canceled {
			t.Errorf("who left gets %v", err)
		}
		close(release)
		done.Wait()
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		f.Close()
	})
}

func TestFetchThatPanicsFailsItsCallers(t *testing.T) {
	f := NewGroup()
	defer f.Close()
	for range 2 {
		_, err := Do(t.Context(), f, "k", func(context.Context) (int, error) { panic("defect") })
		if f := fault.From(err); f == nil || f.Code != fault.Internal {
			t.Errorf("got %v", err)
		}
	}
}
