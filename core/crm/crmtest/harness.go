// Package crmtest proves that a driver keeps the contract of core/crm, clause by clause. An adapter's test
// runs it against a fake of the provider, and the same checks run against real servers:
//
//	func TestContract(t *testing.T) {
//		crmtest.Run(t, func(t *testing.T) crmtest.Harness {
//			server := fake.New(t)
//			return crmtest.Harness{
//				Open:     func() crm.Driver { return open(t, server.URL) },
//				Known:    crmtest.Related{OwnerID: "7"}, Unknown: crmtest.Related{OwnerID: "999"}, Now: time.Now,
//				Provider: server, // implements what it can of Counter, Commenter, Mover, conformance.Revoker, ...
//			}
//		})
//	}
//
// A check is bound, and runs, only if the driver's traits, its optional capabilities, the values that the
// harness knows and Harness.Provider allow it. The checks look only at their own tickets, so the account may
// hold others. They leave those tickets behind, since the contract has no way to remove one. Harmless checks
// create none.
package crmtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

// Check proves one clause of the contract.
type Check = conformance.Check[Harness]

// Run runs every check that is bound, each with its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	conformance.Run(t, Checks(), open)
}

// Checks lists the checks, in the order of the contract.
func Checks() []Check {
	return slices.Concat(conductChecks(), accountChecks(), createChecks(), relatedChecks(), idempotenceChecks(),
		readChecks(), agentChecks(), contactChecks())
}

// Harness is an account under test.
type Harness struct {
	// Open opens a new driver of the account, which shares no state with an earlier one.
	Open func() crm.Driver

	Account    crm.Account    // whose account it is; the zero value if not known
	Vocabulary crm.Vocabulary // as the provider's own pages show it, in order; the zero value if not known

	DefaultStatus   string // the status of a ticket created without one; "" if not known
	DefaultPriority string // the priority of a ticket created without one; "" if not known

	Known   Related // records that exist
	Unknown Related // well-formed ids of records that do not exist, if the provider checks them

	Number string // a number as the provider writes them, of a ticket that need not exist; the default is "1"

	Secrets []string         // the credentials the driver was opened with: it must not hold them
	Now     func() time.Time // the provider's clock
	AtOnce  int              // the most calls at one time in checks of concurrent calls; the default is 16

	// Provider changes the account or the provider behind the driver's back. It implements those interfaces
	// below and in package conformance that it supports. If it is nil, it supports none.
	Provider any
}

// Related holds the ids of records that a ticket refers to. Each of them can be "".
type Related struct{ OwnerID, AccountID, ContactID string }

// Counter counts the tickets of the account.
type Counter interface {
	Tickets(ctx context.Context) (int, error)
}

// Commenter has an agent comment on a ticket.
type Commenter interface {
	Comment(ctx context.Context, ticketID string, c Comment) error
}

// Comment is a comment that an agent writes.
type Comment struct {
	Body   string
	HTML   bool
	Public bool
}

// ValueDropper has the provider silently drop values of new tickets, as it does if the account's rights or
// rules do not allow them.
type ValueDropper interface {
	// DropValues returns a ticket. From now on the provider drops every value of that ticket except the
	// subject.
	DropValues(ctx context.Context) (crm.NewTicket, error)
}

// Mover has an agent change the status of a ticket.
type Mover interface {
	// Move sets the status of a ticket.
	Move(ctx context.Context, ticketID, status string) error
	// Labels returns the statuses of a resolved ticket, of a closed one, and of one reopened after it was
	// resolved. Each is "" if the provider has no such status.
	Labels() (resolved, closed, reopened string)
}

// TellsTimes marks a Mover whose provider records the times of resolution and of closing.
type TellsTimes interface{ TellsTimes() }

func provides[T any](h Harness) bool { return conformance.Can[T](h.Provider) }

func traits(h Harness) crm.Traits { return h.Open().Traits() }
