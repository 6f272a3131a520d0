// Package conformance is the machinery that the contracts' suites share (calendartest, crmtest, telephonytest): what a
// check is, how a test runs a list of them, and how liars prove that each check bites. H is the suite's harness: an
// account under test, and what can be done to it from the provider's side.
//
//	func Checks() []Check { return []Check{{Name: "a new ticket has a number", Do: newTicketHasNumber}} }
//
// Checks answer errors and take no *testing.T, so that the same code runs in tests, against real servers and from a
// command. A check leaves the account as it found it where the contract offers a way.
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
	Name     string                               // the clause, in words
	Harmless bool                                 // it only reads, so that it may run on a customer's account
	Bound    func(H) bool                         // whether traits, capabilities and harness bind it; nil is always
	Do       func(ctx context.Context, h H) error // what breaks the clause; nil when it holds
}

// Binds reports whether the harness's driver is bound by the clause.
func (c Check[H]) Binds(h H) bool { return c.Bound == nil || c.Bound(h) }

// patience is how long one check may take. It bounds drivers that hang; no check waits for it otherwise.
const patience = time.Minute

// Run runs every check that binds the harness's driver as a test of its own, one after the other. Each gets a harness
// of its own from open, which may be the same account each time.
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

// Liar makes a harness whose driver breaks one clause: the one of the check with this name.
type Liar[H any] struct {
	Check string
	How   string // what the liar does, where one clause has several
	Lie   func(honest H) H
}

// Catch proves the checks themselves: each passes the honest driver, each has a liar, and each catches its liars.
// Every harness that open makes is fresh, in memory, and honest in every clause. Time is synctest's, so that a liar may
// hang without holding up the test.
func Catch[H any](t *testing.T, checks []Check[H], liars []Liar[H], open func(t *testing.T) H) {
	t.Helper()
	left := map[string]int{}
	for _, liar := range liars {
		left[liar.Check]++
	}
	for _, check := range checks {
		if left[check.Name] == 0 {
			t.Errorf("no liar proves that %q bites", check.Name)
		}
		delete(left, check.Name)
		t.Run("honest/"+check.Name, func(t *testing.T) {
			if err := try(t, check, open, nil); err != nil {
				t.Error(err)
			}
		})
		for _, liar := range liars {
			if liar.Check != check.Name {
				continue
			}
			t.Run("liar/"+check.Name+"/"+liar.How, func(t *testing.T) {
				if err := try(t, check, open, liar.Lie); err == nil {
					t.Error("the check does not catch this liar")
				} else if errors.Is(err, errNotBound) {
					t.Error(err)
				} else {
					t.Log("caught:", err)
				}
			})
		}
	}
	for name := range left {
		t.Errorf("a liar names the check %q, which does not exist", name)
	}
}

var errNotBound = errors.New("the check is not bound here, so nothing is proven")

func try[H any](t *testing.T, check Check[H], open func(t *testing.T) H, lie func(H) H) (err error) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t)
		if lie != nil {
			h = lie(h)
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
