package guard

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/fault"
)

// TestALimitedOperationIsLeftAlone makes calls at regular intervals while the provider asks for a wait.
func TestALimitedOperationIsLeftAlone(t *testing.T) {
	for name, wait := range map[string]time.Duration{
		"a second": time.Second, "half a minute": 30 * time.Second, "hours": 2 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{RetryRatio: 1}, func(t *testing.T, g *Guard) {
				s := &script{answers: []error{after(failing(fault.RateLimited), wait), nil}}
				begun := time.Now()
				every := max(100*time.Millisecond, wait/500)
				served := false
				for time.Since(begun) < 2*wait && !served {
					asked := time.Now()
					_, err := Do(t.Context(), g, target, read, s.call)
					left := wait - asked.Sub(begun)
					if served = err == nil; served {
						break
					}
					f := wantFault(t, err, fault.RateLimited, "")
					if f.RetryAfter <= 0 || len(s.calls) > 1 && !f.Unsent {
						t.Fatalf("told %v, unsent %v", f.RetryAfter, f.Unsent)
					}
					if f.RetryAfter < left-wait/500 || f.RetryAfter > wait {
						t.Fatalf("told %v with %v left", f.RetryAfter, left)
					}
					wantElapsed(t, asked, 0, 8*time.Second)
					time.Sleep(every)
				}
				if !served || len(s.calls) != 2 {
					t.Fatalf("served %v after %d calls", served, len(s.calls))
				}
				if gap := s.calls[1].Sub(s.calls[0]); gap < wait || gap > wait+every+time.Second {
					t.Errorf("called again after %v", gap)
				}
			})
		})
	}
}

// TestALimitHoldsForItsOperationAndConnection: a limit stops nothing that the provider did not limit.
func TestALimitHoldsForItsOperationAndConnection(t *testing.T) {
	inside := target
	inside.Host = ""
	unsentLimit := after(failingUnsent(fault.RateLimited), time.Minute)
	signIn := after(failingUnsent(fault.RateLimited), time.Minute)
	signIn.Prerequisite = true
	for rule, c := range map[string]struct {
		limited *fault.Error
		to      Target
		op      Op
		free    bool
	}{
		"the same operation": {after(failing(fault.RateLimited), time.Minute),
			target, read, false},
		"another operation": {after(failing(fault.RateLimited), time.Minute),
			target, write, true},
		"another connection": {after(failing(fault.RateLimited), time.Minute),
			on("c2"), read, true},
		"a limit of what the call needs first":  {signIn, target, read, true},
		"a limit without a wait":                {failing(fault.RateLimited), target, read, true},
		"a limit that surely kept the call out": {unsentLimit, target, read, false},
		"a provider that is unavailable may try": {after(failing(fault.Unavailable), time.Minute),
			target, read, true},
	} {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				_, _ = Do(t.Context(), g, target, read, instantly(c.limited))
				if _, err := Do(t.Context(), g, c.to, c.op, instantly(nil)); (err == nil) != c.free {
					t.Errorf("answered %v", err)
				}
			})
		})
	}
	t.Run("a provider within the process", func(t *testing.T) {
		bubble(t, Options{}, func(t *testing.T, g *Guard) {
			_, _ = Do(t.Context(), g, inside, read, instantly(after(failing(fault.RateLimited), time.Minute)))
			if _, err := Do(t.Context(), g, inside, read, instantly(nil)); err != nil {
				t.Error(err)
			}
		})
	})
}

// TestALateLimitIsHeeded: a write that its caller abandoned is rate limited later.
func TestALateLimitIsHeeded(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := Do(ctx, g, target, write, func(context.Context) (string, error) {
			time.Sleep(2 * time.Second)
			return "", after(failing(fault.RateLimited), time.Minute)
		})
		wantFault(t, err, fault.Timeout, "")
		time.Sleep(2 * time.Second)
		_, err = Do(t.Context(), g, target, write, instantly(nil))
		wantFault(t, err, fault.RateLimited, "")
	})
}
