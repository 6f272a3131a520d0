// Package service holds the use cases: one method per operation of the interface. A use case takes checked
// input, records what it is about to do, asks the guard to call the driver, normalizes what came back and
// returns a record. It knows no HTTP. Calendars, tickets and numbers live here. What they share with every
// mutating call is core/journal.
package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/crm"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Drivers opens the connections of callers; *connection.Drivers is one.
type Drivers interface {
	Calendar(ctx context.Context, t tenant.Tenant, s connection.Set) (connection.Opened[calendar.Driver], error)
	// CalendarToVerify opens the calendar even when its credentials are known to be refused, to ask again.
	CalendarToVerify(
		ctx context.Context, t tenant.Tenant, s connection.Set,
	) (connection.Opened[calendar.Driver], error)
	CRM(ctx context.Context, t tenant.Tenant, s connection.Set) (connection.Opened[crm.Driver], error)
	Telephony(
		ctx context.Context, t tenant.Tenant, s connection.Set,
	) (connection.Opened[telephony.Driver], error)
}

// Callers tells who asks for work that no key asks for; *apikey.Callers is one.
type Callers interface {
	// CallerOf returns the tenant with that one connection.
	CallerOf(ctx context.Context, tenantID, connectionID string) (apikey.Caller, error)
}

// Connections lists connections and notes their state; *connection.Directory is one.
type Connections interface {
	// RealOnes lists the connections of a kind, of all tenants, but for sandboxes, to which nobody else has
	// access.
	RealOnes(ctx context.Context, kind adapter.Kind) ([]connection.Connection, error)
	MarkReconnect(ctx context.Context, c connection.Connection, why string) error
	MarkVerified(ctx context.Context, c connection.Connection, email string) error
}

// Metrics counts what becomes of mutating calls; *telemetry.Metrics is one.
type Metrics = journal.Metrics

// Options are what the use cases are built from. All but Metrics and Audit are needed.
type Options struct {
	Store        *store.Store
	Drivers      Drivers
	Connections  Connections
	Callers      Callers
	Guard        *guard.Guard
	Log          *slog.Logger
	Now          func() time.Time
	Owner        string        // names this process in intents and leases
	KeepAnswers  time.Duration // how long an answer to an Idempotency-Key is kept
	DedupeWindow time.Duration // for book-meeting without a key, where the tenant sets none

	TicketDedupeWindow time.Duration // the same for create-ticket

	Deadline     time.Duration    // for work in the background
	LeaseClock   func() time.Time // see journal.Options
	Lease        time.Duration    // see journal.Options
	WaitForEqual time.Duration    // for an equal call that still runs, at most; 0: as long as Deadline
	Metrics      Metrics          // nil: nothing is counted
	Audit        *audit.Log       // of changes; nil: none is recorded
}

// Services are the use cases of all three kinds.
type Services struct {
	Calendar *Calendar
	Tickets  *Tickets
	Numbers  *Numbers
	journal  *journal.Journal
	purger   *purger
}

// New builds the use cases.
func New(o Options) *Services {
	j := journal.New(journal.Options{
		Store: o.Store, Log: o.Log, Now: o.Now, Owner: o.Owner, KeepAnswers: o.KeepAnswers, Deadline: o.Deadline,
		WriteGrace: o.Guard.WriteGrace(), LeaseClock: o.LeaseClock, Lease: o.Lease, WaitForEqual: o.WaitForEqual,
		Metrics: o.Metrics, Audit: o.Audit,
	})
	s := &Services{
		Calendar: newCalendar(&o, j), Tickets: newTickets(&o, j), Numbers: newNumbers(&o, j),
		journal: j, purger: &purger{opts: &o},
	}
	j.Register(s.Calendar.operations()...)
	j.Register(s.Tickets.operations()...)
	j.Register(s.Numbers.operations()...)
	return s
}

// Run recovers what was cut off, looks after the phone numbers and purges old records, until ctx ends.
func (s *Services) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.Numbers.maintain(ctx) })
	group.Go(func() { s.purger.run(ctx) })
	s.journal.Run(ctx)
}

// Synchronise sets the clock of leases by the database's clock, and returns how far the machine's is ahead of
// that.
func (s *Services) Synchronise(ctx context.Context) (ahead time.Duration, err error) {
	return s.journal.SyncClock(ctx)
}
