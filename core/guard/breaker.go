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

// verdict is what an answer says about the provider's health.
type verdict int

const (
	healthy verdict = iota // any real answer, even a refusal
	sick
	neither // the caller left, or the fault is our own
)

// What gobreaker is told in the place of a try's error.
var (
	errSick    = errors.New("sick")
	errNeither = errors.New("neither")
)

func (v verdict) err() error {
	switch v {
	case sick:
		return errSick
	case neither:
		return errNeither
	}
	return nil
}

// judge reads a try's answer. A fault that is Unsent and yet not Unavailable was made on this side of the wire.
func judge(f *fault.Error, ended bool, took, patience time.Duration) verdict {
	if f == nil {
		return healthy
	}
	switch f.Code {
	case fault.Timeout:
		if ended && took < patience {
			return neither // the caller was in a hurry
		}
		return sick
	case fault.Unavailable:
		if f.Reason == fault.ReasonOutcomeUnknown { // an answer: what was asked for is not known yet
			return healthy
		}
		return sick
	case fault.Canceled, fault.Internal, fault.UnknownOutcome, fault.Unauthenticated:
		return neither
	}
	if f.Unsent {
		return neither
	}
	return healthy
}

// judgeSilence reads a try that was given up.
func judgeSilence(ctx context.Context, took, patience time.Duration) verdict {
	if errors.Is(ctx.Err(), context.Canceled) || took < patience {
		return neither
	}
	return sick
}

// window is the time that a breaker looks back.
const window = 10 * time.Second

// breaker is a circuit breaker that can also be closed from outside, by a probe that answered after all.
type breaker struct {
	level, provider string
	options         Options
	culprits        culprits

	mu         sync.Mutex
	circuit    *gobreaker.TwoStepCircuitBreaker[struct{}]
	generation int             // of the circuit; an old one's changes do not count
	state      gobreaker.State // of the circuit as last told
	openUntil  time.Time
	endProbe   func() // ends the last probe, where it still hangs
}

func newBreaker(level, provider string, o Options, connections int) *breaker {
	b := &breaker{level: level, provider: provider, options: o, culprits: culprits{need: connections}, endProbe: func() {}}
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
		// In a row, for the provider that is down; or half of many, for the one that is failing but not always.
		ReadyToTrip: func(c gobreaker.Counts) bool {
			if !b.culprits.enough(time.Now()) {
				return false
			}
			return c.ConsecutiveFailures >= failures ||
				c.TotalFailures >= 2*failures && c.TotalFailures >= c.TotalSuccesses
		},
		IsSuccessful:  func(err error) bool { return err == nil },
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeither) },
		OnStateChange: func(_ string, _, to gobreaker.State) { b.changed(generation, to) },
	})
}

// changed runs under gobreaker's own lock, so it must not ask it anything.
func (b *breaker) changed(generation int, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if generation == b.generation {
		b.become(to)
	}
}

// become records a change of state. b.mu is held, so that changes are told in their order.
func (b *breaker) become(to gobreaker.State) {
	from := b.state
	b.state = to
	if to == gobreaker.StateOpen {
		b.openUntil = time.Now().Add(b.options.BreakerOpenFor)
	}
	b.options.Metrics.BreakerChanged(b.level, b.provider, stateName(from), stateName(to))
	b.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "circuit breaker changed", slog.String("level", b.level),
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

// refused is the fault of an open breaker.
func (b *breaker) refused() *fault.Error {
	_, until := b.current()
	after := time.Until(until)
	if after <= 0 {
		after = b.options.BreakerOpenFor // a probe is under way
	}
	return unsent(fault.Unavailable, fault.ReasonBreakerOpen,
		"The provider "+b.provider+" has been failing, so it is not called for a moment. Try again shortly.", after).
		With("provider", b.provider)
}

// nextProbe takes how the probe that begins is ended, and answers how the one before is.
func (b *breaker) nextProbe(end func()) (before func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, b.endProbe = b.endProbe, end
	return before
}

// peek answers the state without taking part.
func (b *breaker) peek() gobreaker.State {
	circuit, _ := b.current()
	return circuit.State()
}

// allow asks to make a try. done must be called once with the verdict.
func (b *breaker) allow() (done func(error), probe bool, f *fault.Error) {
	circuit, _ := b.current()
	done, err := circuit.Allow()
	if err != nil {
		return nil, false, b.refused()
	}
	return done, circuit.State() == gobreaker.StateHalfOpen, nil
}

// heal closes the breaker at once.
func (b *breaker) heal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == gobreaker.StateClosed {
		return
	}
	b.circuit = b.newCircuit()
	b.become(gobreaker.StateClosed)
}

// forgotten takes the breaker out of the metrics; what it still does is not counted.
func (b *breaker) forgotten() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.generation++
	b.options.Metrics.BreakerForgotten(b.level, b.provider, stateName(b.state))
}

// culprits remember which connections failed lately, so that one tenant's trouble does not close a host to all.
type culprits struct {
	need int

	mu   sync.Mutex
	last []culprit // at most need, the latest last
}

type culprit struct {
	connection string
	at         time.Time
}

func (c *culprits) blame(connection string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = slices.DeleteFunc(c.last, func(known culprit) bool { return known.connection == connection })
	if len(c.last) == c.need {
		c.last = slices.Delete(c.last, 0, 1)
	}
	c.last = append(c.last, culprit{connection, now})
}

// enough reports whether all of them failed within the window: the oldest tells.
func (c *culprits) enough(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.need <= 1 || len(c.last) == c.need && now.Sub(c.last[0].at) <= window
}
