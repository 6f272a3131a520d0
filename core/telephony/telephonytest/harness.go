// Package telephonytest proves that a driver keeps the contract of core/telephony, clause by clause. An
// adapter's test runs it against a fake of the provider, and the same checks run against real servers:
//
//	func TestContract(t *testing.T) {
//		telephonytest.Run(t, func(t *testing.T) telephonytest.Harness {
//			server := fake.New(t)
//			return telephonytest.Harness{
//				Open:     func() telephony.Driver { return open(t, server.URL) },
//				AreaCode: "415", Empty: "212",
//				// It implements what it can of Spender, Rival, Mover, Filler, Blocker, conformance.Revoker, ...
//				Provider: server,
//			}
//		})
//	}
//
// A check is bound by the driver's traits, by what the harness knows, and by what Harness.Provider can do;
// what is not bound is not run. The checks look at nothing but their own numbers, so an account may hold
// others, and they release what they buy: all but the harmless ones cost money at a real provider.
package telephonytest

import (
	"context"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
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
	return slices.Concat(conductChecks(), accountChecks(), searchChecks(), routeChecks(),
		buyChecks(), keyChecks(),
		sinceChecks(), findOrderChecks(), listChecks(), changeChecks(), releaseChecks())
}

// Harness is an account under test.
type Harness struct {
	// Open opens a driver of the account afresh, one that remembers nothing of an earlier one.
	Open func() telephony.Driver

	AreaCode string // where four numbers or more are for sale
	Empty    string // where none is for sale; "" is not known

	Account telephony.Account // whose account it is; the zero value is not known
	Default telephony.Routing // where a number leads that was bought without routing
	// Where the settings lead +1 415 555 0100 when employee 7 answers it; the zero value is nowhere.
	Leads telephony.Routing

	// Where a number can lead.
	Trunk string // the id of a SIP trunk of the account; "" when there is none
	// The id of a voice application, or of a connection, of the account; "" when there is none.
	Application string
	NoVoiceURL  bool // the provider asks no webhook of a number's own

	Secrets []string // the credentials the driver was opened with: it must not hold them

	Now func() time.Time // the gateway's clock; nil is the machine's

	// Provider is the provider's own side: what can be done to the account, or to the provider, behind the
	// driver's back. It implements what it can of the interfaces below and of those in package conformance;
	// nil can do nothing.
	Provider any
}

// Spender counts the purchases that the account has paid for.
type Spender interface {
	Purchases(ctx context.Context) (int, error)
}

// Rival is somebody else who buys at the same provider.
type Rival interface {
	// Snatch makes a number that was for sale until now somebody else's, and answers it.
	Snatch(ctx context.Context) (e164 string, err error)
}

// Mover moves numbers into the account and out of it by other means than the driver.
type Mover interface {
	Arrive(ctx context.Context, e164 string) error
	Vanish(ctx context.Context, e164 string) error
}

// Filler is a provider of orders that take their time, where the checks need not wait for it.
type Filler interface {
	// Fill fills every order that is under way.
	Fill(ctx context.Context) error
}

// Blocker has the provider not take a number of the account back.
type Blocker interface {
	// Block returns errors.ErrUnsupported where the provider knows nothing of this kind.
	Block(ctx context.Context, e164 string, why telephony.Block) error
	Unblock(ctx context.Context, e164 string) error
}

func (h Harness) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

// routes returns where a number can lead, one of each kind; at least one.
func (h Harness) routes() []telephony.Routing {
	var all []telephony.Routing
	if !h.NoVoiceURL {
		all = append(all, telephony.Routing{VoiceURL: voiceURL})
	}
	if h.Application != "" {
		all = append(all, telephony.Routing{Application: h.Application})
	}
	if h.Trunk != "" {
		all = append(all, telephony.Routing{SIPTrunk: h.Trunk})
	}
	return all
}

func provides[T any](h Harness) bool { return conformance.Can[T](h.Provider) }
