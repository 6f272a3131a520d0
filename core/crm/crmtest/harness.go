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
// A check is bound by the driver's traits, by its optional capabilities, by what the harness knows, and by
// what Harness.Provider can do; what is not bound is not run. The checks look at nothing but their own
// tickets, so an account may hold others. They leave those tickets behind, since the contract cannot remove
// one; the harmless ones make none.
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

// Run runs every check that is bound, each with a harness of its own.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	conformance.Run(t, Checks(), open)
}

// Checks lists the checks, in the order of the contract.
func Checks() []Check {
	return slices.Concat(conductChecks(), accountChecks(), createChecks(), relatedChecks(), idempotenceChecks(),
		readChecks(), agentChecks())
}

// Harness is an account under test.
type Harness struct {
	// Open opens a driver of the account afresh, one that remembers nothing of an earlier one.
	Open func() crm.Driver

	Account    crm.Account    // whose account it is; the zero value is not known
	Vocabulary crm.Vocabulary // as the provider's own pages show it, in their order; the zero value is not known

	DefaultStatus   string // the label of a ticket that is given none; "" is not known
	DefaultPriority string // likewise

	Known   Related // records that exist
	Unknown Related // well-formed ids of records that do not exist, where the provider checks them

	Secrets []string         // the credentials the driver was opened with: it must not hold them
	Now     func() time.Time // the provider's clock

	// Provider is the provider's own side: what can be done to the account, or to the provider, behind the
	// driver's back. It implements what it can of the interfaces below and of those in package conformance;
	// nil can do nothing.
	Provider any
}

// Related is the records that a ticket may name. Each may be "" alone.
type Related struct{ OwnerID, AccountID, ContactID string }

// Counter counts the tickets of the account.
type Counter interface {
	Tickets(ctx context.Context) (int, error)
}

// Commenter has an agent comment on a ticket.
type Commenter interface {
	Comment(ctx context.Context, ticketID string, c Comment) error
}

// Comment is what an agent writes.
type Comment struct {
	Body   string
	HTML   bool
	Public bool
}

// ValueDropper has the provider drop values of new tickets without a word, as it does where the account's
// rights or rules do not allow them.
type ValueDropper interface {
	// DropValues returns a ticket of which the provider drops everything that it has beside a subject,
	// from now on.
	DropValues(ctx context.Context) (crm.NewTicket, error)
}

// Mover has an agent move a ticket through its life.
type Mover interface {
	// Move gives the ticket a status.
	Move(ctx context.Context, ticketID, status string) error
	// Labels returns the statuses of a ticket that is resolved, that is closed, and that was opened again after
	// being resolved; each may be "" where there is none.
	Labels() (resolved, closed, reopened string)
}

// TellsTimes marks a Mover whose provider keeps the times of resolution and of closing.
type TellsTimes interface{ TellsTimes() }

func provides[T any](h Harness) bool { return conformance.Can[T](h.Provider) }

func traits(h Harness) crm.Traits { return h.Open().Traits() }
