// Package calendartest verifies that a driver fulfils the contract of core/calendar, clause by clause. An
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
// The driver's traits, its optional capabilities, the harness, and what Harness.Provider can do decide which
// checks run. The checks look only at their own events and remove what they book, so an account may hold
// others.
package calendartest

import (
	"context"
	"slices"
	"testing"
	"time"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/calendar"
)

// Check verifies one clause of the contract.
type Check = conformance.Check[Harness]

// Run runs every check that applies, each with its own harness.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	conformance.Run(t, Checks(), open)
}

// Checks returns all checks, in the order of the contract.
func Checks() []Check {
	return slices.Concat(
		conductChecks(), accountChecks(), bookChecks(), idempotenceChecks(), eventChecks(),
		changeChecks(), cancelChecks(),
		invitationChecks(), listChecks(), seriesChecks(), formChecks(), freeBusyChecks(),
	)
}

// Harness is an account under test.
type Harness struct {
	// Open opens a new driver of the account, which remembers nothing of an earlier one.
	Open func() calendar.Driver

	Calendar string // id of a calendar that can be written
	Second   string // id of another one; "" when there is none
	ReadOnly string // id of one that can only be read; "" when there is none

	UnknownCalendar string // an id in the provider's form that names no calendar; "" lets the checks make one up
	UnknownEvent    string // likewise for an event

	Email   string           // the account's address; "" if the provider reports none
	Secrets []string         // the credentials the driver was opened with: it must not hold them
	Now     func() time.Time // the provider's clock; checks book in the year after it
	AtOnce  int              // how many concurrent calls a check makes at most; 0 is 16

	// Provider acts on the account, or on the provider, without the driver. It implements as many as it can
	// of the interfaces below and of those in package conformance. It may be nil.
	Provider any
}

// SeriesMaker creates a recurring event without the driver.
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

// Inviter lets somebody else invite the account and one more guest to a meeting. The meeting then is in the
// account's calendar. A series without a Rule is a single meeting.
type Inviter interface {
	Invite(ctx context.Context, organizer, guest string, s Series) error
}

// DayMaker creates an event of whole days without the driver. The end is exclusive.
type DayMaker interface {
	MakeDays(ctx context.Context, calendarID, title string, from, to calendar.Time) error
}

// FloatingMaker creates an event at floating local times (RFC 5545 section 3.3.5, form 1).
type FloatingMaker interface {
	MakeFloating(ctx context.Context, calendarID, title string, from, to calendar.Time) error
}

// FreeMaker creates an event that does not make its owner busy.
type FreeMaker interface {
	MakeFree(ctx context.Context, calendarID, title string, from, to time.Time) error
}

// Answerer lets an attendee respond to an invitation: "accepted", "declined" or "tentative".
type Answerer interface {
	Answer(ctx context.Context, ref calendar.EventRef, email, response string) error
}

// Meddler changes an event's title without the driver.
type Meddler interface {
	Retitle(ctx context.Context, ref calendar.EventRef, title string) error
}

// Notifier returns the notices that the provider sent, in order.
type Notifier interface {
	Notices(ctx context.Context, ref calendar.EventRef) ([]Notice, error)
}

// Notice is one message to one attendee.
type Notice struct {
	To   string
	Kind string // "invitation", "update" or "cancellation"
}
