// Package calendartest proves that a driver keeps the contract of core/calendar, clause by clause. An
// adapter's test runs it against a fake of the provider, and the same checks run against real servers:
//
//	func TestContract(t *testing.T) {
//		calendartest.Run(t, func(t *testing.T) calendartest.Harness {
//			server := fake.New(t)
//			return calendartest.Harness{
//				Open:     func() calendar.Driver { return open(t, server.URL) },
//				Calendar: "work", Second: "home", Email: "me@example.com", Now: time.Now,
//				Provider: server, // implements what it can of SeriesMaker, DayMaker, Answerer, conformance.Revoker, ...
//			}
//		})
//	}
//
// A check is bound by the driver's traits, by its optional capabilities, by what the harness has, and by what
// Harness.Provider can do; what is not bound is not run. The checks look at nothing but their own events, so
// an account may hold others, and they remove what they book.
package calendartest

import (
	"context"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
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
	return slices.Concat(
		conductChecks(), accountChecks(), bookChecks(), idempotenceChecks(), eventChecks(),
		changeChecks(), cancelChecks(),
		invitationChecks(), listChecks(), seriesChecks(), formChecks(), freeBusyChecks(),
	)
}

// Harness is an account under test.
type Harness struct {
	// Open opens a driver of the account afresh, one that remembers nothing of an earlier one.
	Open func() calendar.Driver

	Calendar string // id of a calendar that can be written
	Second   string // id of another one; "" when there is none
	ReadOnly string // id of one that can only be read; "" when there is none

	UnknownCalendar string // an id in the provider's form that names no calendar; "" lets the checks make one up
	UnknownEvent    string // likewise of an event

	Email   string           // the account's address; "" when the provider tells none
	Secrets []string         // the credentials the driver was opened with: it must not hold them
	Now     func() time.Time // the provider's clock; checks book in the year after it

	// Provider is the provider's own side: what can be done to the account, or to the provider, behind the
	// driver's back. It implements what it can of the interfaces below and of those in package conformance;
	// nil can do nothing.
	Provider any
}

// SeriesMaker makes a recurring event by other means than the driver.
type SeriesMaker interface {
	MakeSeries(ctx context.Context, s Series) error
}

// Series is a recurring event.
type Series struct {
	CalendarID string
	Title      string
	Start      time.Time // the first start; its wall clock in Zone is kept
	Length     time.Duration
	Zone       string // IANA name
	Rule       string // RFC 5545 section 3.3.10, e.g. "FREQ=WEEKLY;COUNT=5"
}

// Inviter has somebody else invite the account and one more guest to a meeting, which then lies in the
// account's calendar. A series without a Rule is a single meeting.
type Inviter interface {
	Invite(ctx context.Context, organizer, guest string, s Series) error
}

// DayMaker makes an event of whole days by other means than the driver. The end is exclusive.
type DayMaker interface {
	MakeDays(ctx context.Context, calendarID, title string, from, to calendar.Time) error
}

// FloatingMaker makes an event at floating local times (RFC 5545 section 3.3.5, form 1).
type FloatingMaker interface {
	MakeFloating(ctx context.Context, calendarID, title string, from, to calendar.Time) error
}

// FreeMaker makes an event that does not make its owner busy.
type FreeMaker interface {
	MakeFree(ctx context.Context, calendarID, title string, from, to time.Time) error
}

// Answerer has an attendee answer an invitation: "accepted", "declined" or "tentative".
type Answerer interface {
	Answer(ctx context.Context, ref calendar.EventRef, email, response string) error
}

// Meddler gives an event another title behind the driver's back.
type Meddler interface {
	Retitle(ctx context.Context, ref calendar.EventRef, title string) error
}

// Notifier tells whom the provider notified, in order.
type Notifier interface {
	Notices(ctx context.Context, ref calendar.EventRef) ([]Notice, error)
}

// Notice is one message to one attendee.
type Notice struct {
	To   string
	Kind string // "invitation", "update" or "cancellation"
}
