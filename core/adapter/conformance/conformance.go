// Package conformance is the machinery that the contracts' suites share (calendartest, crmtest,
// telephonytest): what a check is, how a test runs a list of them, and how mutants prove that each check
// detects a fault. H is the suite's harness: an account under test, and what can be done to it from the
// provider's side.
//
//	func Checks() []Check { return []Check{{Name: "a new ticket has a number", Do: newTicketHasNumber}} }
//
// Checks answer errors and take no *testing.T, so that the same code runs in tests, against real servers and
// from a command. A check leaves the account as it found it where the contract offers a way.
package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Check proves one clause of a contract.
type Check[H any] struct {
	Name     string // the clause, in words
	Harmless bool   // it only reads, so that it may run on a customer's account
	// Whether traits, capabilities and harness bind it; nil is always.
	Bound func(H) bool
	Do    func(ctx context.Context, h H) error // what breaks the clause; nil when it holds
}

// Binds reports whether the harness's driver is bound by the clause.
func (c Check[H]) Binds(h H) bool { return c.Bound == nil || c.Bound(h) }

// patience is how long one check may take. It bounds drivers that hang; no check waits for it otherwise.
const patience = time.Minute

// Run runs every check that binds the harness's driver as a test of its own, one after the other. Each gets a
// harness of its own from open, which may be the same account each time.
func Run[H any](t *testing.T, checks []Check[H], open func(t *testing.T) H) {
	t.Helper()
	for _, check := range checks {
		t.Run(check.Name, func(t *testing.T) {
			h := open(t)
			if !check.Binds(h) {
				t.Log("not bound: the driver's traits, its capabilities or the provider's side do not reach this clause")
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := check.Do(ctx, h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Mutant makes a driver with one fault: it breaks the clause of the check with this name.
type Mutant[H any] struct {
	Check  string
	How    string // the fault, where one clause can be broken in several ways
	Mutate func(reference H) H
}

// Catch proves the checks themselves. Each passes the reference driver, each has a mutant, and each catches
// its mutants. Every harness that open makes is fresh, in memory, and keeps every clause. Time is synctest's,
// so that a mutant may hang without delaying the test.
func Catch[H any](t *testing.T, checks []Check[H], mutants []Mutant[H], open func(t *testing.T) H) {
	t.Helper()
	left := map[string]int{}
	for _, mutant := range mutants {
		left[mutant.Check]++
	}
	for _, check := range checks {
		if left[check.Name] == 0 {
			t.Errorf("no mutant proves that %q detects a fault", check.Name)
		}
		delete(left, check.Name)
		t.Run("reference/"+check.Name, func(t *testing.T) {
			if err := try(t, check, open, nil); err != nil {
				t.Error(err)
			}
		})
		for _, mutant := range mutants {
			if mutant.Check != check.Name {
				continue
			}
			t.Run("mutant/"+check.Name+"/"+mutant.How, func(t *testing.T) {
				if err := try(t, check, open, mutant.Mutate); err == nil {
					t.Error("the check does not catch this mutant")
				} else if errors.Is(err, errNotBound) {
					t.Error(err)
				} else {
					t.Log("caught:", err)
				}
			})
		}
	}
	for name := range left {
		t.Errorf("a mutant names the check %q, which does not exist", name)
	}
}

var errNotBound = errors.New("the check is not bound here, so nothing is proven")

func try[H any](t *testing.T, check Check[H], open func(t *testing.T) H, mutate func(H) H) (err error) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		if mutate != nil {
			h = mutate(h)
		}
		if !check.Binds(h) {
			err = errNotBound
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		err = check.Do(ctx, h)
	})
	return err
}
