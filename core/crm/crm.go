// Package crm defines the contract between the gateway and a ticket system. See package calendar for how
// contracts, optional capabilities and traits divide the work. Package crmtest checks drivers against it.
package crm

import (
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// Driver is one tenant's CRM account. It is safe for concurrent use, never retries, never sleeps and holds no
// secret. Every error is a *fault.Error or the context's error.
type Driver interface {
	// Traits returns the driver's traits, which are constant for the life of the driver, without a request.
	Traits() Traits

	// Account asks the provider whose account this is, without a cache. It fails with fault.Disconnected if
	// the provider rejects the credentials.
	Account(ctx context.Context) (Account, error)

	// Vocabulary returns the labels that a new ticket can have, in the CRM's order. The service caches it.
	Vocabulary(ctx context.Context) (Vocabulary, error)

	// Create creates one ticket and returns it as the CRM now has it, with its number. Status and Priority
	// are labels of the Vocabulary, spelled as there, or "" for the CRM's default. If
	// Traits().IdempotentCreate is set, a second Create with the same Key creates no second ticket and
	// returns the first. If a related record (owner, account, contact) does not exist or the CRM has no place
	// for a field, Create fails with fault.Invalid and names the field. A value that the CRM drops without an
	// error is not in the returned ticket: the service compares the two and reports it. If the CRM writes an
	// id in another way, Create returns it as it was given, if it is the same record.
	Create(ctx context.Context, t NewTicket) (Ticket, error)

	// ByNumber returns the ticket with exactly this number, as padded by the CRM, or the one that it was merged
	// into, if the CRM tells. If there is none, it fails with fault.NotFound, reason TICKET_NOT_FOUND. The
	// number is data from a caller: it never becomes part of a query unescaped. With Traits().CreateOnly it
	// fails with fault.Unsupported, reason NOT_SUPPORTED.
	ByNumber(ctx context.Context, number string) (Ticket, error)
}

// Finder is a Driver that can find out whether an interrupted Create created its ticket.
type Finder interface {
	// Find returns the ticket that a Create of t created. It never returns one of t.Others. If the CRM does
	// not store the key, it returns the only ticket whose content matches t; see [Choose]. Find fails with
	// fault.NotFound, reason TICKET_NOT_FOUND, if there is certainly no ticket; with fault.NotKnownYet if
	// this is not known yet because the CRM's search lags; and with fault.Unknowable if it can never be
	// known, such as when two tickets match equally. It never guesses.
	Find(ctx context.Context, t NewTicket) (Ticket, error)
}

// IDFinder is a Driver that can read a ticket by id. The read does not wait for the CRM's search to catch up.
type IDFinder interface {
	ByID(ctx context.Context, id string) (Ticket, error)
}

// Explainer is a Driver that can describe the steps behind its results. It helps people verify a connection
// that they described themselves.
type Explainer interface {
	// Explain queries the provider and changes nothing there. It returns one line for each step and its
	// result, without secrets. If a step fails, it returns the lines of the steps before it and the error.
	Explain(ctx context.Context) ([]string, error)
}

// Traits are facts about a CRM. The zero value promises nothing.
type Traits struct {
	IdempotentCreate bool // a repeated Create with the same Key creates no second ticket
	FindsByKey       bool // Find goes by the key and never returns another call's ticket with equal content
	NumberWidth      int  // numbers are padded with zeros to this many digits; 0 is not padded
	CreateOnly       bool // tickets cannot be read: ByNumber fails with fault.Unsupported
	MaxConcurrent    int  // most concurrent calls that the provider allows on one connection; 0 is unknown
}

// Account is the account that the credentials belong to, as the provider reports it.
type Account struct {
	Email string // "" if the provider reports none
	Name  string // the account's or organisation's name
	// Ref is the provider's own id of the organisation, where one person may belong to several and chooses
	// among them when consenting; "" where the connection's address already is one organisation's.
	Ref string
}

// Vocabulary holds the status and priority labels of the account.
type Vocabulary struct {
	Statuses   []string
	Priorities []string
}

// AddText adds a text to a list unless it is empty or the list has it, ignoring case. So where two values have one
// label, it stands for the first of them.
func AddText(list []string, text string) []string {
	if text == "" || slices.ContainsFunc(list, func(known string) bool { return strings.EqualFold(known, text) }) {
		return list
	}
	return append(list, text)
}

// NewTicket is a ticket to create. An empty string means that the value is not given.
type NewTicket struct {
	Key   string    // 1 to 64 characters of [a-z0-9]; names the ticket across retries
	Since time.Time // for Find, by the gateway's clock: no Create of this ticket was sent earlier
	// For Find, by the gateway's clock: every Create of this ticket had ended by then, whatever its outcome.
	Until       time.Time
	Others      []string // for Find: ids of tickets known to belong to other calls
	Subject     string
	Description string // plain text
	Status      string // a label of the Vocabulary
	Priority    string // a label of the Vocabulary
	OwnerID     string
	AccountID   string
	ContactID   string
}

// Ticket is a ticket as the CRM reports it. Fields that the CRM does not report are empty, never invented.
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

// TicketMissing restates a fault.NotFound as none, which says that there is no such ticket. It returns other errors
// unchanged.
func TicketMissing(err error, none *fault.Error) error {
	if f := fault.From(err); f != nil && f.Code == fault.NotFound {
		return f.Restate(none.Code, none.Reason, none.Detail)
	}
	return err
}

// Text is plain text or HTML.
type Text struct {
	Body string
	HTML bool
}

// Plain returns s as a Text without markup.
func Plain(s string) Text { return Text{Body: s} }
