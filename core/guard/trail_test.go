package guard

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// The trail of a request has each try with its duration and its outcome.
func TestTriesAreCollected(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		ctx, trail := telemetry.WithTrail(t.Context(), time.Now())
		results := []error{failing(fault.Unavailable), nil}
		if _, err := Do(ctx, g, target, read, func(context.Context) (string, error) {
			time.Sleep(time.Second)
			err := results[0]
			results = results[1:]
			return "", err
		}); err != nil {
			t.Fatal(err)
		}
		tries, _ := trail.Tries()
		if len(tries) != 2 {
			t.Fatalf("there are %d tries", len(tries))
		}
		for i, outcome := range []string{"unavailable", "ok"} {
			if got := tries[i]; got.Outcome != outcome || got.Took != time.Second || got.Connection != "c1" ||
				got.Provider != "caldav" || got.Operation != "events" {
				t.Errorf("try %d is %+v", i, got)
			}
		}
		if tries[0].Reason != "REASON" || tries[1].Reason != "" || tries[1].After <= tries[0].Took {
			t.Errorf("the tries are %+v", tries)
		}
	})
}

// A write that its caller no longer waits for is a try that timed out.
func TestAnAbandonedTryIsCollected(t *testing.T) {
	bubble(t, Options{Deadline: time.Second}, func(t *testing.T, g *Guard) {
		ctx, trail := telemetry.WithTrail(t.Context(), time.Now())
		if _, err := Do(ctx, g, target, write, func(context.Context) (string, error) {
			time.Sleep(2 * time.Second)
			return "", nil
		}); err == nil {
			t.Fatal("the call did not time out")
		}
		tries, _ := trail.Tries()
		if len(tries) != 1 || tries[0].Outcome != "timeout" || tries[0].Took != time.Second ||
			tries[0].Reason != fault.ReasonDeadlineExceeded {
			t.Errorf("the tries are %+v", tries)
		}
	})
}

func TestBreakerOfAConnection(t *testing.T) {
	bubble(t, Options{BreakerFailures: 2, MaxTries: 1}, func(t *testing.T, g *Guard) {
		if got := g.Breaker("c1"); got != "closed" {
			t.Errorf("before any call it is %s", got)
		}
		for range 2 {
			_, _ = Do(t.Context(), g, target, read, func(context.Context) (string, error) {
				return "", failing(fault.Unavailable)
			})
		}
		if got := g.Breaker("c1"); got != "open" {
			t.Errorf("after the failures it is %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := g.Breaker("c1"); got != "half-open" {
			t.Errorf("later it is %s", got)
		}
		if got := g.Breaker("c2"); got != "closed" {
			t.Errorf("another connection's is %s", got)
		}
	})
}
