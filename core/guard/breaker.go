package guard

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// verdict is what the outcome of an attempt says about the provider's health.
type verdict int

const (
	success verdict = iota // any response of the provider, even a refusal
	failure
	excluded // says nothing about its health: the caller left, or the fault is the gateway's
)

// The errors that gobreaker gets instead of an attempt's error.
var (
	errFailure  = errors.New("failure")
	errExcluded = errors.New("excluded")
)

func (v verdict) err() error {
	switch v {
	case failure:
		return errFailure
	case excluded:
		return errExcluded
	}
	return nil
}

// judge returns the verdict on an outcome. A fault that is Unsent, and neither Unavailable nor Timeout, comes
// from the gateway itself. So does one of a prerequisite, and of an answer for which the gateway has no room.
func judge(f *fault.Error, ended bool, took, patience time.Duration) verdict {
	if f == nil {
		return success
	}
	if f.Prerequisite || f.Reason == fault.ReasonOverloaded {
		return excluded
	}
	switch f.Code {
	case fault.Timeout:
		if ended && took < patience {
			return excluded // the caller set a short deadline
		}
		return failure
	case fault.Unavailable:
		// The provider did respond, even if only to refuse a write that it takes later. Otherwise a tenant could have its
		// calls fail, and take the host from all.
		if status := f.Metadata["upstream_status"]; f.Reason == fault.ReasonOutcomeUnknown || status != "" && status < "5" {
			return success
		}
		return failure
	case fault.Canceled, fault.Internal, fault.UnknownOutcome, fault.Unauthenticated:
		return excluded
	}
	if f.Unsent {
		return excluded
	}
	return success
}

// judgeSilence returns the verdict on an attempt that was abandoned.
func judgeSilence(ctx context.Context, took, patience time.Duration) verdict {
	if errors.Is(ctx.Err(), context.Canceled) || took < patience {
		return excluded
	}
	return failure
}

// window is how far a breaker looks back.
const window = 10 * time.Second

// breaker is a circuit breaker that reset can close, after a probe that counted as failed has succeeded late.
type breaker struct {
	level, provider string
	subject         string        // the key of its entry
	open            *openBreakers // in which it is while it is not closed
	options         Options
	failed          failedConnections

	mu         sync.Mutex
	circuit    *gobreaker.TwoStepCircuitBreaker[struct{}]
	generation int             // of the circuit; changes of an earlier one are ignored
	state      gobreaker.State // of the circuit, as last reported
	openUntil  time.Time
	endProbe   func() // ends the last probe if it still hangs
}

func newBreaker(level, subject, provider string, open *openBreakers, o Options, connections int) *breaker {
	b := &breaker{
		level: level, provider: provider, subject: subject, open: open, options: o,
		failed: failedConnections{need: connections}, endProbe: func() {},
	}
	b.circuit = b.newCircuit()
	return b
}

func (b *breaker) newCircuit() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	b.generation++
	generation := b.generation
	failures := uint32(b.options.BreakerFailures)
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1, // one probe at a time
		Interval:     window,
		BucketPeriod: window / 10,
		Timeout:      b.options.BreakerOpenFor,
		// Failures in a row mean that the provider is down. Half of many calls: it fails, but not always.
		ReadyToTrip: func(c gobreaker.Counts) bool {
			if !b.failed.enough(time.Now()) {
				return false
			}
			return c.ConsecutiveFailures >= failures ||
				c.TotalFailures >= 2*failures && c.TotalFailures >= c.TotalSuccesses
		},
		IsSuccessful:  func(err error) bool { return err == nil },
		IsExcluded:    func(err error) bool { return errors.Is(err, errExcluded) },
		OnStateChange: func(_ string, _, to gobreaker.State) { b.onStateChange(generation, to) },
	})
}

// onStateChange runs while gobreaker holds its lock, so it must not call gobreaker.
func (b *breaker) onStateChange(generation int, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if generation == b.generation {
		b.become(to)
	}
}

// become records a change of state. The caller holds b.mu, so that changes are reported in order.
func (b *breaker) become(to gobreaker.State) {
	from := b.state
	b.state = to
	if to == gobreaker.StateOpen {
		b.openUntil = time.Now().Add(b.options.BreakerOpenFor)
	}
	b.open.set(b, to != gobreaker.StateClosed)
	b.options.Metrics.BreakerChanged(b.level, b.provider, stateName(from), stateName(to))
	b.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker changed",
		slog.String(b.level, b.subject),
		telemetry.Provider(b.provider), slog.String("from", stateName(from)), slog.String("to", stateName(to)))
}

func stateName(s gobreaker.State) string {
	switch s {
	case gobreaker.StateClosed:
		return "closed"
	case gobreaker.StateHalfOpen:
		return "half_open"
	}
	return "open"
}

func (b *breaker) current() (circuit *gobreaker.TwoStepCircuitBreaker[struct{}], openUntil time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.circuit, b.openUntil
}

// refused returns the fault of an open breaker.
func (b *breaker) refused() *fault.Error {
	_, until := b.current()
	after := time.Until(until)
	if after <= 0 {
		after = b.options.BreakerOpenFor // a probe is under way
	}
	return unsent(fault.Unavailable, fault.ReasonBreakerOpen,
		"The provider "+b.provider+" has been failing, so it is not called for a moment. Try again shortly.",
		after).
		With("provider", b.provider)
}

// nextProbe stores the function that ends the new probe and returns the one that ends the previous probe.
func (b *breaker) nextProbe(end func()) (before func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, b.endProbe = b.endProbe, end
	return before
}

// peek returns the state without requesting an attempt.
func (b *breaker) peek() gobreaker.State {
	circuit, _ := b.current()
	return circuit.State()
}

// allow requests an attempt. done must be called once with the verdict.
func (b *breaker) allow() (done func(error), probe bool, f *fault.Error) {
	circuit, _ := b.current()
	done, err := circuit.Allow()
	if err != nil {
		return nil, false, b.refused()
	}
	return done, circuit.State() == gobreaker.StateHalfOpen, nil
}

// reset closes the breaker at once.
func (b *breaker) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == gobreaker.StateClosed {
		return
	}
	b.circuit = b.newCircuit()
	b.become(gobreaker.StateClosed)
}

// forget removes the breaker from the metrics. Its later changes of state are not counted.
func (b *breaker) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.generation++
	b.open.set(b, false)
	b.options.Metrics.BreakerForgotten(b.level, b.provider, stateName(b.state))
}

// failedConnections holds the connections that failed last, so that the failures of one tenant do not open a
// host's breaker for all tenants.
type failedConnections struct {
	need int

	mu   sync.Mutex
	last []failedConnection // at most need entries, the latest last
}

type failedConnection struct {
	connection string
	at         time.Time
}

func (c *failedConnections) add(connection string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last,
		func(known failedConnection) bool { return known.connection == connection })
	if len(c.last) == c.need {
		c.last = slices.Delete(c.last, 0, 1)
	}
	c.last = append(c.last, failedConnection{connection, now})
}

// enough reports whether need connections failed within the window. last[0] is the oldest of their failures.
func (c *failedConnections) enough(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.need <= 1 || len(c.last) == c.need && now.Sub(c.last[0].at) <= window
}
