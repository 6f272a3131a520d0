// Package telephony is the contract between the gateway and a provider of phone numbers. See package calendar for how
// contracts, optional capabilities and traits divide the work; core/telephony/telephonytest proves what is said here.
package telephony

import "context"

// Driver is one tenant's telephony account. It is safe for concurrent use, never retries, never sleeps, holds no secret.
// Every error is a *fault.Error, or the context's.
type Driver interface {
	// Traits are constant for the life of the driver and cost nothing to ask.
	Traits() Traits

	// Account asks the provider live whose account this is; fault.Disconnected when the credentials are refused.
	Account(ctx context.Context) (Account, error)

	// Search offers numbers for sale in a NANP area code, at most s.Limit. No stock is an empty answer, not a fault.
	Search(ctx context.Context, s Search) ([]Offer, error)

	// Buy orders exactly the number o.E164. Where Traits().IdempotentBuy, buying a number the account already holds
	// under the same Key answers it and costs nothing. A number that someone else took in the meantime is
	// fault.Conflict, reason NUMBER_TAKEN. With Traits().AsyncBuy the number answered may have Pending set.
	Buy(ctx context.Context, o Order) (Number, error)

	// Numbers reads one page of the account's numbers, in any order.
	Numbers(ctx context.Context, q Query) (Page, error)

	// Number reads one number by Number.Ref; fault.NotFound, reason PHONE_NUMBER_NOT_FOUND, when the account has it not.
	Number(ctx context.Context, ref string) (Number, error)

	// Change changes what c names: the display name, or where inbound calls go. It answers the number as it is after.
	Change(ctx context.Context, ref string, c Change) (Number, error)

	// Release gives the number back for good; fault.NotFound when the account has it not.
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
	Key     string // 1 to 64 characters of [a-z0-9]; names the order across retries
	E164    string // exactly this number
	Name    string
	Routing Routing
}

// Number is a number the account holds.
type Number struct {
	Ref     string // the provider's own id
	E164    string
	Name    string // the provider's display name
	Routing Routing
	Pending bool // ordered, not yet usable
}

// Routing is where inbound calls go. The zero value leaves the provider's default. At most one is set.
type Routing struct {
	VoiceURL string // webhook asked for each inbound call
	SIPTrunk string // the provider's id of a SIP trunk
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
