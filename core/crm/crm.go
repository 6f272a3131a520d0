// Package crm is the contract between the gateway and a ticket system. See package calendar for how
// contracts, optional capabilities and traits divide the work; core/crm/crmtest proves what is said here.
package crm

import (
	"context"
	"time"
)

// Driver is one tenant's CRM account. It is safe for concurrent use, never retries, never sleeps, holds no
// secret. Every error is a *fault.Error, or the context's.
type Driver interface {
	// Traits are constant for the life of the driver and cost nothing to ask.
	Traits() Traits

	// Account asks the provider live whose account this is; fault.Disconnected when the credentials are
	// refused.
	Account(ctx context.Context) (Account, error)

	// Vocabulary returns the labels a new ticket may carry, in the CRM's own order. The service caches it.
	Vocabulary(ctx context.Context) (Vocabulary, error)

	// Create makes one ticket and answers it as the CRM now has it, number included. Status and
	// Priority are labels of the Vocabulary, spelled as there, or "" for the CRM's default. Where
	// Traits().IdempotentCreate, a second Create with the same Key makes no second ticket and answers the
	// first. A related record that does not exist (owner, account, contact) is fault.Invalid with that field
	// named, and so is a field that the CRM has no place for. What the CRM drops after all is not in the
	// ticket that Create answers: the service compares the two and says so. An id that the CRM writes in
	// another way is answered as it was given, if it is the same record.
	Create(ctx context.Context, t NewTicket) (Ticket, error)

	// ByNumber returns the ticket with exactly this number, as padded by the CRM; fault.NotFound, reason
	// TICKET_NOT_FOUND, otherwise. The number is data from a caller: it never becomes part of a query
	// unescaped.
	ByNumber(ctx context.Context, number string) (Ticket, error)
}

// Finder is a Driver that can say what became of an interrupted Create.
type Finder interface {
	// Find returns the ticket that a Create of t made, and none of t.Others. Where the CRM keeps no key, that
	// is the one ticket that says what t says; see [Choose]. It fails with fault.NotFound, reason
	// TICKET_NOT_FOUND, when there is surely none; with fault.NotKnownYet while that cannot be known, because
	// a search lags; and with fault.Unknowable when it can never be known, such as where two tickets fit
	// equally. It never guesses.
	Find(ctx context.Context, t NewTicket) (Ticket, error)
}

// IDFinder is a Driver that can read a ticket by id, which does not wait for the CRM's search to catch up.
type IDFinder interface {
	ByID(ctx context.Context, id string) (Ticket, error)
}

// Explainer is a Driver that can say how it comes to its answers, for people who verify a connection that
// they described themselves.
type Explainer interface {
	// Explain asks the provider live, changes nothing there, and answers a line for each thing it did and
	// what came of it, without secrets; with an error, the lines of what went well before it.
	Explain(ctx context.Context) ([]string, error)
}

// Traits are facts about a CRM. The zero value promises nothing.
type Traits struct {
	IdempotentCreate bool // a repeated Create with the same Key makes no second ticket
	FindsByKey       bool // Find goes by the key: it never finds a ticket of another call that says the same
	NumberWidth      int  // numbers are padded with zeros to this many digits; 0 is not padded
	MaxConcurrent    int  // calls at one time on one connection that the provider allows; 0 is no limit known
}

// Account is who the provider says the credentials belong to.
type Account struct {
	Email string // "" when the provider tells none
	Name  string // the account's or organisation's name
}

// Vocabulary is the labels of the account.
type Vocabulary struct {
	Statuses   []string
	Priorities []string
}

// NewTicket is a ticket to be made. Empty strings are not given.
type NewTicket struct {
	Key   string    // 1 to 64 characters of [a-z0-9]; names the ticket across retries
	Since time.Time // for Find, by the gateway's clock: no Create of it was sent earlier
	// For Find, by the gateway's clock: every Create of it is over by then, however it ended.
	Until       time.Time
	Others      []string // for Find: ids of tickets that are known to be other calls'
	Subject     string
	Description string // plain text
	Status      string // a label of the Vocabulary
	Priority    string // a label of the Vocabulary
	OwnerID     string
	AccountID   string
	ContactID   string
}

// Ticket is a ticket as the CRM told it. What has no source is left empty, never invented.
type Ticket struct {
	ID, Number           string
	Subject              string
	Description          Text
	Status, Priority     string // labels
	OwnerID              string
	AccountID, ContactID string
	CreatedAt, UpdatedAt time.Time // zero: not known
	ClosedAt, ResolvedAt time.Time // zero: not closed, not resolved, or not known
	LastComment          Text      // the most recent public comment
}

// Text is text with its markup named.
type Text struct {
	Body string
	HTML bool
}

// Plain is text without markup.
func Plain(s string) Text { return Text{Body: s} }
