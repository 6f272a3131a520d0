// Package telephonytest checks that a driver keeps the contract of core/telephony, clause by clause. An
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
// Which checks are bound depends on the driver's traits, on what the harness knows, and on what
// Harness.Provider can do. Others are not run. The checks use only their own numbers, so an account may hold
// others, and release what they buy. All but the harmless ones cost money at a real provider.
package telephonytest

import (
	"context"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

// Check checks one clause of the contract.
type Check = conformance.Check[Harness]

// Run runs every check that is bound, each with its own harness.
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
	// Open returns a new driver of the account, which remembers nothing of an earlier one.
	Open func() telephony.Driver

	AreaCode string // where at least four numbers are for sale
	Empty    string // where no number is for sale; "": not known

	Account telephony.Account // what Account returns; the zero value: not known
	Default telephony.Routing // routing of a number that was bought without one
	// What Route returns for +1 415 555 0100 and employee 7; the zero value: the settings do not say.
	Leads telephony.Routing

	// Where a number can lead.
	Trunk string // the id of a SIP trunk of the account; "" when there is none
	// The id of a voice application, or of a connection, of the account; "" when there is none.
	Application string
	NoVoiceURL  bool // a number cannot have its own webhook

	Secrets []string // the credentials the driver was opened with: it must not hold them

	Now func() time.Time // the gateway's clock; nil: time.Now

	// Provider is the provider's side: it acts on the account, or on the provider, other than through the
	// driver. It implements those of the interfaces below and in package conformance that it can; nil
	// implements none.
	Provider any
}

// Spender counts the purchases that the account has paid for.
type Spender interface {
	Purchases(ctx context.Context) (int, error)
}

// Rival is another customer of the same provider.
type Rival interface {
	// Snatch sells a number that was for sale until now to somebody else, and returns it.
	Snatch(ctx context.Context) (e164 string, err error)
}

// Mover moves numbers into the account and out of it by other means than the driver.
type Mover interface {
	Arrive(ctx context.Context, e164 string) error
	Vanish(ctx context.Context, e164 string) error
}

// Filler is a provider that fills orders later, or at once when a check tells it to.
type Filler interface {
	// Fill fills every order that is under way.
	Fill(ctx context.Context) error
}

// Blocker makes the provider refuse to take a number of the account back.
type Blocker interface {
	// Block returns errors.ErrUnsupported if the provider has no block of this kind.
	Block(ctx context.Context, e164 string, why telephony.Block) error
	Unblock(ctx context.Context, e164 string) error
}

func (h Harness) now() time.Time {
	if h.Now == nil {
		return time.Now()
	}
	return h.Now()
}

// routes returns one routing of each kind that a number can have; at least one.
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
