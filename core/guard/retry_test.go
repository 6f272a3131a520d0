package guard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/fault"
)

func TestWhatIsTriedAgain(t *testing.T) {
	cases := map[string]struct {
		op    Op
		first error
		tries int
	}{
		"a read that is unavailable":                {read, failing(fault.Unavailable), 3},
		"a read that timed out there":               {read, failing(fault.Timeout), 3},
		"a read that is limited":                    {read, failing(fault.RateLimited), 3},
		"a write that is limited was not done":      {write, failing(fault.RateLimited), 3},
		"what is limited for longer":                {read, final(failing(fault.RateLimited)), 1},
		"a write that was not sent":                 {write, failingUnsent(fault.Unavailable), 3},
		"a write that was not sent in time":         {write, failingUnsent(fault.Timeout), 3},
		"a write that may have happened":            {write, failing(fault.Unavailable), 1},
		"a write that may have happened in silence": {write, failing(fault.Timeout), 1},
		"a repeatable write that may have happened": {keyed, failing(fault.Unavailable), 3},
		"a repeatable write that timed out":         {keyed, failing(fault.Timeout), 3},
		"a repeatable write of unknown outcome":     {keyed, failing(fault.UnknownOutcome), 1},
		"a defect":                                  {read, failing(fault.Internal), 1},
		"a refused credential":                      {read, failing(fault.Disconnected), 1},
		"what is not there":                         {read, failing(fault.NotFound), 1},
		"what is not allowed":                       {read, failingUnsent(fault.Forbidden), 1},
		"what is not valid":                         {read, failing(fault.Invalid), 1},
		"what is taken":                             {keyed, failing(fault.Conflict), 1},
		"what is used up":                           {read, failing(fault.Exhausted), 1},
		"what does not exist":                       {read, failing(fault.Unsupported), 1},
		"a call its caller left":                    {read, failing(fault.Canceled), 1},
		"an inner guard's open breaker": {read,
			fault.New(fault.Unavailable, fault.ReasonBreakerOpen, "."), 1},
		"an answer that there was no room for": {read,
			fault.New(fault.Unavailable, fault.ReasonOverloaded, "."), 1},
		"an answer too large to be read": {read,
			fault.New(fault.Exhausted, "PROVIDER_ANSWER_TOO_LARGE", "."), 1},
		"an error of no kind":                         {read, errors.New("bug"), 1},
		"an ended context that nobody here has ended": {read, context.DeadlineExceeded, 3},
	}
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				s := &script{answers: []error{c.first}}
				if _, err := Do(t.Context(), g, target, c.op, s.call); err == nil {
					t.Error("it succeeded")
				}
				if len(s.calls) != c.tries {
					t.Errorf("%d tries, want %d", len(s.calls), c.tries)
				}
			})
		})
	}
}

func TestARetryThatSucceedsIsTheAnswer(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		s := &script{answers: []error{failing(fault.Unavailable), failing(fault.RateLimited), nil}}
		got, err := Do(t.Context(), g, target, keyed, s.call)
		if got != "done" || err != nil || len(s.calls) != 3 {
			t.Errorf("%q, %v after %d tries", got, err, len(s.calls))
		}
	})
}

// TestALaterRefusalDoesNotHideWhatMayHaveHappened: the first try's reply was lost, so the caller must not
// take the write for refused.
func TestALaterRefusalDoesNotHideWhatMayHaveHappened(t *testing.T) {
	for _, later := range []*fault.Error{failing(fault.RateLimited), failing(fault.Conflict),
		failing(fault.Disconnected),
		failingUnsent(fault.Unavailable), failingUnsent(fault.UnknownOutcome), failing(fault.Invalid)} {
		t.Run(string(later.Code), func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, g *Guard) {
				s := &script{answers: []error{failing(fault.Timeout), after(later, 20*time.Second)}}
				_, err := Do(t.Context(), g, target, keyed, s.call)
				f := wantFault(t, err, fault.Timeout, "")
				if f.Unsent || f.RetryAfter != 20*time.Second || len(s.calls) != 2 {
					t.Errorf("unsent %t, retry after %v, %d tries", f.Unsent, f.RetryAfter, len(s.calls))
				}
			})
		})
	}
}

func TestRetryAfterIsHonouredOrReturned(t *testing.T) {
	for _, code := range []fault.Code{fault.RateLimited, fault.Unavailable} {
		cases := map[string]struct {
			asked      time.Duration
			tries      int
			retryAfter time.Duration
		}{
			"one second fits":                       {time.Second, 3, time.Second},
			"five seconds fit once":                 {5 * time.Second, 2, 5 * time.Second},
			"thirty do not fit":                     {30 * time.Second, 1, 30 * time.Second},
			"just what is left does not fit either": {7990 * time.Millisecond, 1, 7990 * time.Millisecond},
			"a day is reported as it is":            {24 * time.Hour, 1, 24 * time.Hour},
			"none is a short wait":                  {0, 3, 0},
		}
		for rule, c := range cases {
			t.Run(string(code)+" "+rule, func(t *testing.T) {
				bubble(t, Options{}, func(t *testing.T, g *Guard) {
					given := after(failing(code), c.asked)
					s := &script{answers: []error{given}}
					started := time.Now()
					_, err := Do(t.Context(), g, target, read, s.call)
					if f := wantFault(t, err, code, ""); f.RetryAfter != c.retryAfter || len(s.calls) != c.tries {
						t.Errorf("told %v after %d tries, want %v after %d", f.RetryAfter, len(s.calls), c.retryAfter, c.tries)
					}
					if given.RetryAfter != c.asked {
						t.Error("the driver's own fault was changed")
					}
					for i := 1; i < len(s.calls); i++ {
						if gap := s.calls[i].Sub(s.calls[i-1]); gap < c.asked {
							t.Errorf("try %d came %v after the one before", i+1, gap)
						}
					}
					if c.tries == 1 {
						wantElapsed(t, started, 0, 0)
					}
				})
			})
		}
	}
}

func TestBackoffIsFullJitter(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999} {
		bubble(t, Options{Random: func() float64 { return random }}, func(t *testing.T, g *Guard) {
			s := &script{answers: []error{failing(fault.Unavailable)}}
			_, _ = Do(t.Context(), g, target, read, s.call)
			for i, bound := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond} {
				if gap, want := s.calls[i+1].Sub(s.calls[i]), time.Duration(random*float64(bound)); gap != want {
					t.Errorf("random %v: wait %d is %v, want %v", random, i+1, gap, want)
				}
			}
		})
	}
}

func TestACallerWhoLeavesEndsTheWaiting(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, g *Guard) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		started := time.Now()
		s := &script{answers: []error{after(failingUnsent(fault.Unavailable), 5*time.Second)}}
		_, err := Do(ctx, g, target, write, s.call)
		if f := wantFault(t, err, fault.Unavailable, ""); !f.Unsent || len(s.calls) != 1 {
			t.Errorf("unsent %t after %d tries: nothing happened, and that must stay known", f.Unsent, len(s.calls))
		}
		wantElapsed(t, started, time.Second, time.Second)
	})
}

// TestRetriesStayWithinTheirBudget runs 500 calls a second against a provider that refuses them all.
func TestRetriesStayWithinTheirBudget(t *testing.T) {
	bubble(t, Options{BreakerFailures: 1 << 30}, func(t *testing.T, g *Guard) {
		const calls = 5000
		tries := 0
		for range calls {
			_, _ = Do(t.Context(), g, target, read, func(context.Context) (string, error) {
				tries++
				return "", failing(fault.Unavailable)
			})
			time.Sleep(2 * time.Millisecond)
		}
		if ratio := float64(tries) / calls; ratio > 1.10 || ratio < 1.05 {
			t.Errorf("%d tries for %d calls: %.3f", tries, calls, ratio)
		}
	})
}

func TestBudget(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	t.Run("a quiet host has the minimum", func(t *testing.T) {
		b := &budget{ratio: 0.1, minimum: 3}
		b.first(at(0))
		for i := range 3 {
			if !b.retry(at(0.5)) {
				t.Errorf("retry %d denied", i+1)
			}
		}
		if b.retry(at(0.9)) || b.retry(at(9)) {
			t.Error("a fourth within ten seconds")
		}
		if !b.retry(at(10)) {
			t.Error("denied though the window has passed")
		}
	})
	t.Run("a busy host has its share, without the minimum on top", func(t *testing.T) {
		b := &budget{ratio: 0.1, minimum: 3}
		for range 100 {
			b.first(at(0))
		}
		allowed := 0
		for range 100 {
			if b.retry(at(1)) {
				allowed++
			}
		}
		if allowed != 10 {
			t.Errorf("%d allowed", allowed)
		}
	})
	t.Run("what comes a moment late counts as the last", func(t *testing.T) {
		b := &budget{ratio: 0.1, minimum: 1}
		b.first(at(100))
		if !b.retry(at(99.5)) || b.retry(at(101)) {
			t.Error("counted wrongly")
		}
	})
	t.Run("a clock that is set back holds up no retry", func(t *testing.T) {
		b := &budget{ratio: 0.1, minimum: 1}
		b.retry(at(3600))
		if !b.retry(at(0)) || !b.retry(at(10)) {
			t.Error("denied though the window has passed")
		}
		if b.retry(at(15)) {
			t.Error("a second within ten seconds")
		}
	})
}

// withoutDeadline is a test that hides its own deadline, which has no meaning in a bubble.
type withoutDeadline struct{ *testing.T }

func (withoutDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestRetryRules makes random operations with random results, and checks what holds for all of them.
func TestRetryRules(t *testing.T) {
	codes := []fault.Code{fault.Invalid, fault.Disconnected, fault.Forbidden, fault.NotFound, fault.Conflict,
		fault.Exhausted,
		fault.Unsupported, fault.RateLimited, fault.Unavailable, fault.Timeout,
		fault.UnknownOutcome, fault.Internal}
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(withoutDeadline{t}, func(t *rapid.T) {
			g := New(Options{})
			op := Op{Name: "x", Read: rapid.Bool().Draw(t, "read")}
			op.Repeatable = !op.Read && rapid.Bool().Draw(t, "repeatable")
			deadline := time.Duration(rapid.IntRange(1, 10_000).Draw(t, "deadline ms")) * time.Millisecond
			type step struct {
				f     *fault.Error
				takes time.Duration
			}
			steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
				s := step{takes: time.Duration(rapid.IntRange(0, 3000).Draw(t, "takes ms")) * time.Millisecond}
				if rapid.IntRange(0, 9).Draw(t, "succeeds") > 0 {
					s.f = failing(rapid.SampledFrom(codes).Draw(t, "code"))
					s.f.Unsent = rapid.Bool().Draw(t, "unsent")
					s.f.RetryAfter = time.Duration(rapid.IntRange(0, 4).Draw(t, "retry after s")) * time.Second
				}
				return s
			}), 4, 4).Draw(t, "steps")

			ctx, cancel := context.WithTimeout(context.Background(), deadline)
			defer cancel()
			started := time.Now()
			var begun, ended []time.Time
			result, err := Do(ctx, g, target, op, func(ctx context.Context) (string, error) {
				s := steps[len(begun)]
				begun = append(begun, time.Now())
				timer := time.NewTimer(s.takes)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
					return "", ctx.Err()
				}
				ended = append(ended, time.Now())
				if s.f == nil {
					return "done", nil
				}
				return "", s.f
			})
			took := time.Since(started)
			closing, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			if err := g.Close(closing); err != nil {
				t.Fatal(err)
			}
			tries := len(begun) // read after Close, which waits for the goroutine that wrote it

			if tries < 1 || tries > 3 {
				t.Fatalf("%d tries", tries)
			}
			if took > min(deadline, 8*time.Second)+50*time.Millisecond {
				t.Fatalf("took %v of %v", took, deadline)
			}
			doubt := false
			for i := 1; i < tries; i++ {
				before := steps[i-1].f
				switch {
				case before == nil:
					t.Fatal("tried again after a success")
				case before.Code != fault.RateLimited && before.Code != fault.Unavailable && before.Code != fault.Timeout:
					t.Fatalf("tried again after %s", before.Code)
				case before.Code != fault.RateLimited && !before.Unsent && !op.Read && !op.Repeatable:
					t.Fatalf("a write that may have happened was sent again")
				case begun[i].Sub(ended[i-1]) < before.RetryAfter:
					t.Fatalf("try %d was early", i+1)
				case begun[i].Sub(started) > deadline:
					t.Fatalf("try %d began after the deadline", i+1)
				}
				doubt = doubt || before.Code != fault.RateLimited && !before.Unsent
			}
			if err == nil {
				if result != "done" || steps[tries-1].f != nil {
					t.Fatal("a success out of nothing")
				}
				return
			}
			f := fault.From(err)
			if doubt && !op.Read && (f.Unsent ||
				f.Code != fault.Unavailable && f.Code != fault.Timeout && f.Code != fault.UnknownOutcome &&
					f.Code != fault.Internal) {
				t.Fatalf("an earlier try may have happened, and the answer is %s unsent=%t", f.Code, f.Unsent)
			}
		})
	})
}

func ExampleDo() {
	g := New(Options{})
	title, err := Do(context.Background(), g,
		Target{Kind: "calendar", Provider: "caldav", Host: "dav.example.com", Connection: "c1"},
		Op{Name: "event", Read: true}, func(context.Context) (string, error) { return "Check-up", nil })
	fmt.Println(title, err, g.Close(context.Background()))
	// Output: Check-up <nil> <nil>
}
