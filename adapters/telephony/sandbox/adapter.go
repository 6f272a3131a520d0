// Package sandbox is the built-in provider of phone numbers: an account that needs no provider, for building
// and testing a voice agent. Its numbers are kept in the gateway's own store. It behaves like a real provider
// (stock that runs out and comes back, numbers that somebody else takes first, routing, pages) and can be
// made to fail.
//
// Five numbers are for sale in every area code (the stock setting says how many), +1 AAA 555-0100 to 555-0104
// for area code AAA. They ring nowhere: 555-0100 to 555-0199 are reserved for fiction in every area code.
// Each connection has its own stock. Some area codes are special:
//
//	area code  what happens
//	212        nothing is for sale, only in the neighbouring 646 and 332
//	213        the first number offered is always taken by somebody else before it is bought
//	214        a number cannot be released, since an emergency address is registered for it
//	215        a number cannot be released, since it is locked against deletion
//
// With the order_time setting, a number that is bought is on order until that time is over. It has no
// reference until then, is not listed and is not for sale.
//
// A magic value in the name of a number that is bought or renamed, or the connection's fault setting for
// every call, makes a call fail:
//
//	value                     where         what the call does
//	sandbox:slow              any           takes three seconds more, then acts
//	sandbox:hang              any           never responds; only the deadline ends it
//	sandbox:rate_limited      any           is refused: too many calls, again in 30 s
//	sandbox:revoked           any           is refused: the credentials are no longer valid
//	sandbox:forbidden         any           is refused: the account may not do this
//	sandbox:down              any           does not reach the provider
//	sandbox:reply_lost        any write     acts, then loses the reply, once: a repeat finds what was done
//	sandbox:outcome_unknown   any write     acts, then loses the reply, and the number stays out of reach for
//	                                        10 s
//	sandbox:taken             buy           is refused: somebody else was faster, whichever number is tried
//	sandbox:no_funds          buy           is refused: the account's balance is too low
//	sandbox:trial             buy           is refused: a trial account has all the numbers it may have
//	sandbox:suspended         buy           is refused: the account is suspended
//	sandbox:address_required  buy           is refused: the provider wants an address of the customer first
//
// So a number named "Front office sandbox:taken" cannot be bought anywhere.
package sandbox

import (
	"context"
	"fmt"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

type settings struct {
	Account     string        `setting:"account" default:"Sandbox account" help:"The name of the account."`
	VoiceURL    string        `setting:"voice_url_template" help:"URL that is requested for each inbound call to a number with an inbound employee. {cloud_employee_id} and {e164} are filled in."`
	Application string        `setting:"voice_application" help:"The voice application for inbound calls, instead of voice_url_template."`
	SIPTrunk    string        `setting:"sip_trunk" help:"The SIP trunk for inbound calls, instead of both."`
	Stock       int           `setting:"stock" default:"5" help:"How many numbers are for sale in each area code, 0 to 99."`
	OrderTime   time.Duration `setting:"order_time" help:"How long an order takes, such as 2s. By default orders are immediate."`
	Fault       string        `setting:"fault" choices:"slow,hang,rate_limited,revoked,forbidden,down,reply_lost,outcome_unknown,taken,no_funds,trial,suspended,address_required" help:"How every call fails, until this setting is empty again."`
	Latency     time.Duration `setting:"latency" help:"How long each call takes, such as 250ms."`
}

// The scenarios of this sandbox, in addition to those of every sandbox.
const (
	taken           scenario.Name = "taken"
	noFunds         scenario.Name = "no_funds"
	trial           scenario.Name = "trial"
	suspended       scenario.Name = "suspended"
	addressRequired scenario.Name = "address_required"
)

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Telephony(adapter.Declaration{
		Name: "sandbox", Title: "Sandbox telephony", Sandbox: true,
		Help: "A provider of phone numbers inside the gateway, for building and testing without an account. " +
			"It needs no credentials, and its numbers ring nowhere.",
	}, open)
}

// Validate checks the settings.
func (s settings) Validate() []fault.Field {
	if s.Stock < 0 || s.Stock > mostStock {
		return []fault.Field{{Path: "settings.stock", Message: fmt.Sprintf("must be 0 to %d.", mostStock)}}
	}
	return nil
}

func open(_ context.Context, s settings, env adapter.Environment) (telephony.Driver, error) {
	d := &driver{settings: s, connection: env.ConnectionID, storage: env.Storage, now: env.Now}
	d.scenarios = scenario.Provider{
		Always: scenario.Name(s.Fault), Latency: s.Latency, Storage: env.Storage, Now: env.Now,
	}
	d.purchases = d.scenarios
	d.purchases.Own = map[scenario.Name]*fault.Error{
		taken: numberTaken("as sandbox:taken asked"),
		noFunds: fault.New(fault.Exhausted, fault.ReasonInsufficientFunds,
			"The balance of the account is too low, as sandbox:no_funds asked."),
		trial: fault.New(fault.Exhausted, fault.ReasonTrialLimit,
			"The account is on trial and has all the numbers that it may have, as sandbox:trial asked."),
		suspended: fault.New(fault.Forbidden, fault.ReasonAccountSuspended,
			"The account is suspended, as sandbox:suspended asked."),
		addressRequired: fault.New(fault.Conflict, fault.ReasonAddressRequired,
			"Numbers of this kind are sold only to an account with an address, as sandbox:address_required asked."),
	}
	if d.purchases.Own[d.scenarios.Always] != nil {
		d.scenarios.Always = "" // only Buy can fail like this
	}
	return d, nil
}
