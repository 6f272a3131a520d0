package guard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/metrics"
)

// BenchmarkDo reports what a guarded call costs as a ratio to a baseline: the same call in its own goroutine
// under a deadline, which is the least that protects against a driver that does not return.
//
//	go test -run '^$' -bench Do ./core/guard
func BenchmarkDo(b *testing.B) {
	g := New(Options{Metrics: metrics.New(metrics.Build{})})
	call := instantly(nil)
	bare := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := call(ctx)
			done <- err
		}()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	guarded := func() {
		if _, err := Do(context.Background(), g, target, read, call); err != nil {
			b.Fatal(err)
		}
	}
	compare(b, bare, guarded)
	if err := g.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

// compare runs both alternately, so that a busy machine slows both.
func compare(b *testing.B, baseline, subject func()) {
	var base, took time.Duration
	for b.Loop() {
		began := time.Now()
		for range 100 {
			baseline()
		}
		middle := time.Now()
		for range 100 {
			subject()
		}
		base += middle.Sub(began)
		took += time.Since(middle)
	}
	b.ReportMetric(float64(took)/float64(base), "ratio")
	b.ReportMetric(float64(took.Nanoseconds())/float64(100*b.N), "ns/call")
}

// BenchmarkOpenBreaker measures a call while the breaker is open.
func BenchmarkOpenBreaker(b *testing.B) {
	g := New(Options{BreakerOpenFor: time.Hour})
	for i := range 20 {
		_, _ = Do(context.Background(), g, on(fmt.Sprint("c", i)), write, instantly(failing(fault.Unavailable)))
	}
	for b.Loop() {
		if _, err := Do(context.Background(), g, target, read, instantly(nil)); err == nil {
			b.Fatal("the breaker is not open")
		}
	}
	if err := g.Close(context.Background()); err != nil {
		b.Error(err)
	}
}
