// Package telephony is the contract between the gateway and a provider of phone numbers. See package calendar
// for how contracts, optional capabilities and traits divide the work; core/telephony/telephonytest proves
// what is said here.
package telephony

import (
	"context"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// Driver is one tenant's telephony account. It is safe for concurrent use, never retries, never sleeps, holds
// no secret. Every error is a *fault.Error, or the context's.
type Driver interface {
	// Traits are constant for the life of the driver and cost nothing to ask.
	Traits() Traits

	// Account asks the provider live whose account this is; fault.Disconnected when the credentials are
	// refused.
	Account(ctx context.Context) (Account, error)

	// Search offers numbers for sale in a NANP area code, at most s.Limit. No stock is an empty answer, not a
	// fault.
	Search(ctx context.Context, s Search) ([]Offer, error)

	// Route returns where inbound calls of a number go that an employee answers, by the connection's
	// settings; false where they do not say. It costs nothing to ask.
	Route(employee int64, e164 string) (Routing, bool)

	// Buy orders exactly the number o.E164, which nobody else behind this gateway has. Name and routing come
	// with it where the provider can give them in the same call without touching a number that is not this
	// order's; else they are left to a Change: the number answered says what it has. A name that Change would
	// surely refuse is refused before. A number that someone else took in the meantime is fault.Conflict,
	// reason NUMBER_TAKEN, and so is one that the account held before o.Since: it must be left as it is.
	// Where Traits().IdempotentBuy, ordering again what this order has bought already answers it and costs
	// nothing. With Traits().AsyncBuy the number answered may have Pending set; its Ref may then be "".
	Buy(ctx context.Context, o Order) (Number, error)

	// FindOrder returns what became of an order: the number, Pending while the order is under way;
	// fault.Conflict, reason NUMBER_TAKEN, where it was refused or the number is someone else's;
	// fault.NotFound where the provider knows of no such order and the account does not hold the number. An
	// order that Buy was told of is known at once.
	FindOrder(ctx context.Context, o Order) (Number, error)

	// Numbers reads one page of the account's numbers, in any order.
	Numbers(ctx context.Context, q Query) (Page, error)

	// Number reads one number by Number.Ref; fault.NotFound, reason PHONE_NUMBER_NOT_FOUND, when the account
	// has it not.
	Number(ctx context.Context, ref string) (Number, error)

	// Change changes what c names: the display name, or where inbound calls go. It answers the number as it
	// is after. A name that is refused is a fault of the field "name".
	Change(ctx context.Context, ref string, c Change) (Number, error)

	// Release gives the number back for good; fault.NotFound when the account has it not, fault.Conflict with
	// the reason of Number.Block where the provider does not take it back.
	Release(ctx context.Context, ref string) error
}

// Traits are facts about a provider. The zero value promises nothing.
type Traits struct {
	IdempotentBuy bool // buying a number again under the same key does not buy twice
	AsyncBuy      bool // an order may be answered before it is filled
	MaxConcurrent int  // calls at one time on one connection that the provider allows; 0 is no limit known
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
	E164     string
	AreaCode string
}

// Order buys one number.
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

// The reasons. BlockNone is a number that can be.
const (
	BlockNone      Block = ""
	BlockEmergency Block = "emergency" // an emergency address is registered for it
	BlockLock      Block = "lock"      // it is locked against deletion at the provider
)

// Fault returns the refusal to release a number that is blocked; nil for one that is not.
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
// is set.
type Routing struct {
	VoiceURL    string // webhook asked for each inbound call
	Application string // the provider's id of what answers calls: a voice application, a connection
	SIPTrunk    string // the provider's id of a SIP trunk
}

// VoiceURL fills an employee's id and a number into a template of addresses, which has {cloud_employee_id}
// and {e164} in their places. The plus of the number is escaped: in a query it would mean a space.
func VoiceURL(template string, employee int64, e164 string) string {
	return strings.NewReplacer("{cloud_employee_id}", strconv.FormatInt(employee, 10), "{e164}",
		strings.Replace(e164, "+", "%2B", 1)).Replace(template)
}

// Change is what to change: nil fields stay. A *Routing of the zero value detaches the number.
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
