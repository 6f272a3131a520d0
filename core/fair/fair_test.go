package fair

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// waiting returns once n more calls than before wait for the lock.
func waiting(m *Mutex, n int64) {
	for calls, _ := m.Waited(); calls < n; calls, _ = m.Waited() {
		time.Sleep(time.Millisecond)
	}
}

func TestTheLockGoesRoundTheTenants(t *testing.T) {
	var m Mutex
	if err := m.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	var all sync.WaitGroup
	for i, tenant := range strings.Fields("a a a b a c b -") {
		ctx := t.Context()
		if tenant != "-" { // a call without a tenant
			ctx = For(ctx, tenant)
		}
		all.Go(func() {
			if err := m.Lock(ctx); err != nil {
				t.Error(err)
			}
			mu.Lock()
			got = append(got, tenant)
			mu.Unlock()
			m.Unlock()
		})
		waiting(&m, int64(i)+1)
	}
	if m.HandOver(8) {
		t.Fatal("no more than eight wait")
	}
	if !m.HandOver(7) {
		t.Fatal("eight wait")
	}
	all.Wait()
	if want := strings.Fields("a b c - a b a a"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if calls, together := m.Waited(); calls != 8 || together <= 0 {
		t.Errorf("%d calls waited, %v together", calls, together)
	}
}

func TestACallThatGivesUpIsPassedOver(t *testing.T) {
	var m Mutex
	if err := m.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(For(t.Context(), "a"))
	gaveUp := make(chan error)
	go func() { gaveUp <- m.Lock(ctx) }()
	waiting(&m, 1)
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if m.HandOver(0) {
		t.Error("it was handed to a call that gave up")
	}
	m.Unlock()
	if err := m.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("taken under a context that has ended: %v", err)
	}
	if err := m.Lock(t.Context()); err != nil {
		t.Errorf("it is not free: %v", err)
	}
}

// Whoever gives up at the moment when it is their turn either has the lock or has not: it is never lost.
func TestTheLockIsNeverLostOrHeldTwice(t *testing.T) {
	var m Mutex
	var holders, taken atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 300 {
				ctx, cancel := context.WithTimeout(For(t.Context(), string(rune('a'+i%5))),
					time.Duration(j%7)*20*time.Microsecond)
				if m.Lock(ctx) == nil {
					if holders.Add(1) > 1 {
						t.Error("two hold it")
					}
					taken.Add(1)
					holders.Add(-1)
					if j%2 == 0 || !m.HandOver(0) {
						m.Unlock()
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever had it")
	}
	if err := m.Lock(t.Context()); err != nil || len(m.waiting) > 0 || len(m.turns) > 0 {
		t.Errorf("in the end: %v, %v wait, turns %v", err, m.waiting, m.turns)
	}
}
