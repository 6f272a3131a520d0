package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"frontdesk/core/fault"
)

// Subject is a driver as seen by the clauses that all contracts share.
type Subject struct {
	Driver   any
	Calls    []Call // every method that calls the provider
	Secrets  []string
	Provider any
}

// Call is one method of a driver. It may fail in any way while no fault is injected into the provider.
type Call struct {
	Name string
	Run  func(ctx context.Context) error
}

// SetupCalls returns the check of a connection's settings (adapter.SetupChecker), if the driver has one.
func SetupCalls(driver any) []Call {
	checker, has := driver.(interface{ CheckSetup(context.Context) error })
	if !has {
		return nil
	}
	return []Call{{Name: "CheckSetup", Run: checker.CheckSetup}}
}

// Conduct returns the clauses that every contract opens with: a driver never retries, never sleeps, holds no
// secret, and reports errors as the common faults. of returns the subject of a suite's harness.
func Conduct[H any](of func(H) Subject) []Check[H] {
	on := func(prove func(context.Context, Subject) error) func(context.Context, H) error {
		return func(ctx context.Context, h H) error { return prove(ctx, of(h)) }
	}
	where := func(bound func(Subject) bool) func(H) bool {
		return func(h H) bool { return bound(of(h)) }
	}
	return []Check[H]{
		{Name: "the driver holds no secret", Bound: where(func(s Subject) bool { return len(s.Secrets) > 0 }),
			Do: on(holdsNoSecret)},
		{Name: "an ended context ends every call", Do: on(endedContext)},
		{Name: "a provider that does not answer is left at the deadline", Bound: where(can[Hanger]), Do: on(hangs)},
		{Name: "a provider that is down is Unavailable", Bound: where(can[Stopper]), Do: on(down)},
		{Name: "credentials that are refused are Disconnected", Bound: where(can[Revoker]), Do: on(revoked)},
		{Name: "what the account may not do is Forbidden", Bound: where(can[Forbidder]), Do: on(forbidden)},
		{Name: "too many calls are RateLimited, and the provider's wait is reported, not slept",
			Bound: where(can[Limiter]), Do: on(limited)},
		{Name: "a call that fails is not made again", Bound: where(countsRefusals), Do: on(noRetry)},
	}
}

func countsRefusals(s Subject) bool { return can[Stopper](s) && can[CallCounter](s) }

func can[T any](s Subject) bool { return Can[T](s.Provider) }

// CostsNothing returns an error if a method of the driver calls the provider, a [CallCounter].
func CostsNothing(provider any, method string, call func()) error {
	counter := provider.(CallCounter)
	before := counter.Calls()
	call()
	if asked := counter.Calls() - before; asked != 0 {
		return fmt.Errorf("%s called the provider %d times", method, asked)
	}
	return nil
}

// AskedLive returns an error unless each call of a method calls the provider, a [CallCounter].
func AskedLive(provider any, method string, call func() error) error {
	counter := provider.(CallCounter)
	for range 2 {
		before := counter.Calls()
		if err := call(); err != nil {
			return err
		}
		if counter.Calls() == before {
			return fmt.Errorf("%s answered without asking the provider", method)
		}
	}
	return nil
}

// promptly is longer than any call to a provider that responds at once, and shorter than a pause between
// retries.
const promptly = 2500 * time.Millisecond

func holdsNoSecret(ctx context.Context, s Subject) error {
	for _, c := range s.Calls {
		_ = c.Run(ctx) // the result does not matter: by now the driver has used what it needs
	}
	return WantNoSecret(s.Driver, s.Secrets)
}

func endedContext(ctx context.Context, s Subject) error {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range s.Calls {
		if err := WantEnded(c.Name, c.Run(ended)); err != nil {
			return err
		}
	}
	return nil
}

func hangs(ctx context.Context, s Subject) error {
	release := s.Provider.(Hanger).Hang()
	defer release()
	return FourAtATime(s.Calls, func(c Call) error { return leftAtDeadline(ctx, c) })
}

// FourAtATime waits for each of the calls, of which every driver allows four at one time.
func FourAtATime(calls []Call, wait func(Call) error) error {
	for four := range slices.Chunk(calls, 4) {
		if err := AtOnce(len(four), func(i int) error { return wait(four[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// leftAtDeadline does not wait for a call that does not return: its caller ends such a call by release.
func leftAtDeadline(ctx context.Context, c Call) error {
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(short) }()
	select {
	case err := <-done:
		if err == nil {
			return fmt.Errorf("%s succeeded while the provider does not answer", c.Name)
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, fault.Timeout) {
			return fmt.Errorf("%s failed at the deadline with %w, want the context's error or Timeout", c.Name, err)
		}
		return nil
	case <-time.After(50*time.Millisecond + promptly):
		return fmt.Errorf("%s does not end at its deadline", c.Name)
	}
}

func down(ctx context.Context, s Subject) error {
	s.Provider.(Stopper).Stop()
	return everyCall(ctx, s, "while the provider is down", fault.Unavailable)
}

func revoked(ctx context.Context, s Subject) error {
	s.Provider.(Revoker).Revoke()
	return everyCall(ctx, s, "with refused credentials", fault.Disconnected)
}

func forbidden(ctx context.Context, s Subject) error {
	s.Provider.(Forbidder).Forbid()
	return everyCall(ctx, s, "that the account may not do", fault.Forbidden)
}

func limited(ctx context.Context, s Subject) error {
	const wait = 17 * time.Second
	s.Provider.(Limiter).Limit(wait)
	for _, c := range s.Calls {
		start := time.Now()
		err := c.Run(ctx)
		if took := time.Since(start); took > promptly {
			return fmt.Errorf("%s took %s over too many calls; waiting is not the driver's", c.Name, took)
		}
		if err := WantFault(c.Name+" after too many calls", err, fault.RateLimited, ""); err != nil {
			return err
		}
		reported := fault.From(err).RetryAfter
		if exact := !can[NamesNoWait](s); exact && (reported < wait-2*time.Second || reported > wait) {
			return fmt.Errorf("%s reported a wait of %s, but the provider named %s", c.Name, reported, wait)
		}
	}
	return nil
}

func noRetry(ctx context.Context, s Subject) error {
	s.Provider.(Stopper).Stop()
	counter := s.Provider.(CallCounter)
	for _, c := range s.Calls {
		before, start := counter.Calls(), time.Now()
		if err := c.Run(ctx); err == nil {
			return fmt.Errorf("%s succeeded while the provider is down", c.Name)
		}
		if tries := counter.Calls() - before; tries > 1 {
			return fmt.Errorf("%s asked a provider that is down %d times, want once", c.Name, tries)
		}
		if took := time.Since(start); took > promptly {
			return fmt.Errorf("%s took %s to say that the provider is down", c.Name, took)
		}
	}
	return nil
}

func everyCall(ctx context.Context, s Subject, when string, code fault.Code) error {
	for _, c := range s.Calls {
		if err := WantFault(c.Name+" "+when, c.Run(ctx), code, ""); err != nil {
			return err
		}
	}
	return nil
}
