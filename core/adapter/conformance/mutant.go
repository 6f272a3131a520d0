package conformance

import (
	"context"
	"time"

	"frontdesk/core/fault"
)

// ConductMutant breaks a clause of [Conduct] by wrapping every call.
type ConductMutant struct {
	Check, How string
	Around     func(ctx context.Context, call func(context.Context) error) error
}

// ConductMutants returns the mutants of the clauses of [Conduct]. The clause about secrets has none, since
// drivers differ in where they could hold a secret.
func ConductMutants() []ConductMutant {
	return []ConductMutant{
		{"an ended context ends every call", "goes on", ignoreCancel},
		{"an ended context ends every call", "blames the provider", answer(fault.Unavailable)},
		{"a provider that does not answer is left at the deadline", "waits", ignoreCancel},
		{"a provider that does not answer is left at the deadline", "blames the provider",
			answer(fault.Unavailable)},
		{"a provider that is down is Unavailable", "takes it for its own defect", answer(fault.Internal)},
		{"a provider that is down is Unavailable", "finds nothing", answer(fault.NotFound)},
		{"a provider that is down is Unavailable", "says nothing", func(
			ctx context.Context, call func(context.Context) error,
		) error {
			_ = call(ctx)
			return nil
		}},
		{"credentials that are refused are Disconnected", "blames our caller", answer(fault.Unauthenticated)},
		{"what the account may not do is Forbidden", "asks to reconnect", answer(fault.Disconnected)},
		{"too many calls are RateLimited, and the provider's wait is reported, not slept", "blames the provider",
			answer(fault.Unavailable)},
		{"too many calls are RateLimited, and the provider's wait is reported, not slept",
			"keeps the wait to itself", answer(fault.RateLimited)},
		{"too many calls are RateLimited, and the provider's wait is reported, not slept", "sleeps", func(
			ctx context.Context, call func(context.Context) error,
		) error {
			err := call(ctx)
			if f := fault.From(err); f != nil {
				time.Sleep(f.RetryAfter)
			}
			return err
		}},
		{"a call that fails is not made again", "tries again", func(
			ctx context.Context, call func(context.Context) error,
		) error {
			if err := call(ctx); err == nil {
				return nil
			}
			return call(ctx)
		}},
		{"a call that fails is not made again", "pauses", func(
			ctx context.Context, call func(context.Context) error,
		) error {
			err := call(ctx)
			if err != nil {
				time.Sleep(3 * time.Second)
			}
			return err
		}},
	}
}

// ignoreCancel runs a call with a context that is never cancelled.
func ignoreCancel(ctx context.Context, call func(context.Context) error) error {
	return call(context.WithoutCancel(ctx))
}

// answer returns the same error for every failure.
func answer(code fault.Code) func(context.Context, func(context.Context) error) error {
	return func(ctx context.Context, call func(context.Context) error) error {
		if err := call(ctx); err == nil {
			return nil
		}
		return fault.New(code, "MUTANT", "Something went wrong.")
	}
}
