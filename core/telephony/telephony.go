// Package telephony is the contract between the gateway and a provider of phone numbers. Package calendar
// explains how contracts, optional capabilities and traits divide the work. Package
// core/telephony/telephonytest tests drivers against the contract.
package telephony

import (
	"context"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// Driver is one tenant's telephony account. It is safe for concurrent use, never retries, never sleeps and
// holds no secret. Every error is a *fault.Error or the context's.
type Driver interface {
	// Traits returns facts that are constant for the life of the driver. It does not call the provider.
	Traits() Traits

	// Account asks the provider live whose account this is. It fails with fault.Disconnected if the
	// credentials are refused.
	Account(ctx context.Context) (Account, error)

	// Search returns numbers for sale in a NANP area code, at most s.Limit. If there are none, it returns no
	// offers and no error.
	Search(ctx context.Context, s Search) ([]Offer, error)

	// Route returns where the connection's settings send inbound calls of a number that an employee answers;
	// false if they do not say. It does not call the provider.
	Route(employee int64, e164 string) (Routing, bool)

	// Buy orders exactly the number o.E164, which nobody else behind this gateway holds. It also sets name
	// and routing if the provider can do so in the same call without changing a number that is not this
	// order's. Otherwise it leaves them to Change; the returned number shows what is set. A name that Change
	// would certainly refuse is refused first. A number that someone else took in the meantime is
	// fault.Conflict, reason NUMBER_TAKEN. So is one that the account held before o.Since, which must stay
	// unchanged. With Traits().IdempotentBuy, repeating an order that bought its number returns it and costs
	// nothing. With Traits().AsyncBuy, the returned number may have Pending set; its Ref may then be "".
	Buy(ctx context.Context, o Order) (Number, error)

	// FindOrder returns the outcome of an order: the number, Pending while the order is under way. It fails
	// with fault.Conflict, reason NUMBER_TAKEN, if the order was refused or the number is someone else's, and
	// with fault.NotFound if the provider has no such order and the account does not hold the number. An
	// order that waits for a person, who has to give the provider an address or documents, is
	// fault.UnknownOutcome, reason ORDER_PENDING, here and in Buy. FindOrder finds an order as soon as Buy
	// has made it.
	FindOrder(ctx context.Context, o Order) (Number, error)

	// Numbers reads one page of the account's numbers, in any order.
	Numbers(ctx context.Context, q Query) (Page, error)

	// Number reads one number by Number.Ref. It fails with fault.NotFound, reason PHONE_NUMBER_NOT_FOUND, if
	// the account does not hold it.
	Number(ctx context.Context, ref string) (Number, error)

	// Change changes the display name, the routing of inbound calls, or both, as c says. It returns the
	// changed number. A name that is refused is a fault of the field "name".
	Change(ctx context.Context, ref string, c Change) (Number, error)

	// Release gives the number back for good. It fails with fault.NotFound if the account does not hold it,
	// and with fault.Conflict and the reason of Number.Block if the provider does not take it back.
	Release(ctx context.Context, ref string) error
}

// Traits are facts about a provider. The zero value promises nothing.
type Traits struct {
	IdempotentBuy bool // buying a number again under the same key does not buy twice
	AsyncBuy      bool // Buy may return before the order is filled
	MaxConcurrent int  // concurrent calls on one connection that the provider allows; 0: no known limit
}

// Account is who the provider says the credentials belong to.
type Account struct {
	Name string
	Ref  string // the provider's account id
}

// Search asks for numbers for sale.
type Search struct {
	AreaCode string // three digits
	Limit    int    // the most offers wanted
}

// Offer is a number for sale.
type Offer struct {
	E164 string
}

// Order describes the purchase of one number.
type Order struct {
	Key     string    // 1 to 64 characters of [a-z0-9]; names the order across retries
	Since   time.Time // when the purchase began, by the gateway's clock
	E164    string    // exactly this number
	Name    string
	Routing Routing
}

// Number is a number the account holds.
type Number struct {
	Ref     string // the provider's own id
	E164    string
	Name    string // the provider's display name
	Routing Routing
	Pending bool  // ordered, not yet usable
	Block   Block // why the provider would not take it back now
}

// Block is why a number cannot be released.
type Block string

// The reasons. A number with BlockNone can be released.
const (
	BlockNone      Block = ""
	BlockEmergency Block = "emergency" // an emergency address is registered for it
	BlockLock      Block = "lock"      // it is locked against deletion at the provider
)

// Fault returns the refusal to release a number with this block; nil for BlockNone.
func (b Block) Fault() *fault.Error {
	switch b {
	case BlockEmergency:
		return fault.New(fault.Conflict, fault.ReasonEmergencyAddress,
			"An emergency address is registered for the number. Remove it at the provider, wait until it is "+
				"gone, and then release the number.")
	case BlockLock:
		return fault.New(fault.Conflict, fault.ReasonNumberLocked,
			"The number is locked against deletion at the provider. Unlock it there first.")
	}
	return nil
}

// Routing is where inbound calls go. The zero value leads nowhere, or to the provider's default. At most one
// field is set.
type Routing struct {
	VoiceURL    string // webhook requested for each inbound call
	Application string // the provider's id of the voice application or connection for calls
	SIPTrunk    string // the provider's id of a SIP trunk
}

// VoiceURL returns a template of a URL with an employee's id and a number in place of {cloud_employee_id} and
// {e164}. The plus sign of the number is escaped, since in a query it would mean a space.
func VoiceURL(template string, employee int64, e164 string) string {
	return strings.NewReplacer("{cloud_employee_id}", strconv.FormatInt(employee, 10), "{e164}",
		strings.Replace(e164, "+", "%2B", 1)).Replace(template)
}

// Change describes a change of a number: nil fields stay. A *Routing of the zero value detaches the number.
type Change struct {
	Name    *string
	Routing *Routing
}

// Query asks for one page.
type Query struct {
	Cursor string // Page.Next of the page before; "" for the first
	Limit  int    // the most numbers wanted in the page; 0 leaves it to the driver
}

// Page is a part of the account's numbers.
type Page struct {
	Numbers []Number
	Next    string
}
