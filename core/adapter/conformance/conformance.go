// Package conformance is the machinery that the contracts' suites share (calendartest, crmtest,
// telephonytest). It defines checks, runs lists of them as tests, and proves by mutants that each check
// detects a fault. H is the suite's harness: an account under test, and the faults that can be injected from
// the provider's side.
//
//	func Checks() []Check { return []Check{{Name: "a new ticket has a number", Do: newTicketHasNumber}} }
//
// Checks return errors and take no *testing.T, so that the same code runs in tests, against real servers and
// from a command. A check restores the account to its earlier state if the contract offers a way.
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
	// Bound reports whether the clause applies, by the driver's traits and capabilities and the harness; nil
	// means always.
	Bound func(H) bool
	Do    func(ctx context.Context, h H) error // returns how the clause is broken; nil if it holds
}

// Binds reports whether the harness's driver is bound by the clause.
func (c Check[H]) Binds(h H) bool { return c.Bound == nil || c.Bound(h) }

// patience is how long one check may take. It bounds drivers that hang; no check waits for it otherwise.
const patience = time.Minute

// Run runs every check that binds the harness's driver as a subtest, one after the other. Each gets a new
// harness from open, possibly for the same account.
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

// Mutant gives a driver one fault, which breaks the clause of the check with this name.
type Mutant[H any] struct {
	Check  string
	How    string // the fault, if one clause can be broken in several ways
	Mutate func(reference H) H
}

// Catch tests the checks themselves: the reference driver passes each check, each check has a mutant, and
// each check catches its mutants. open must return a new harness, in memory, that keeps every clause. Checks
// run in synctest bubbles, so that a mutant may hang without delaying the test.
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
