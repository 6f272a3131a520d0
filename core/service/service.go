// Package service implements the use cases: one method per operation of the interface. A use case takes
// checked input, records what it is about to do, calls the driver through the guard, normalizes the result
// and returns a record. It knows nothing about HTTP. This package has the calendars, tickets and numbers;
// what all mutating calls share is in core/journal.
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
	"frontdesk/core/parallel"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Drivers opens the connections of callers; *connection.Drivers implements it.
type Drivers interface {
	Calendar(ctx context.Context, t tenant.Tenant, s connection.Set) (connection.Opened[calendar.Driver], error)
	// CalendarToVerify opens the calendar even if the provider is known to reject its credentials.
	CalendarToVerify(
		ctx context.Context, t tenant.Tenant, s connection.Set,
	) (connection.Opened[calendar.Driver], error)
	CRM(ctx context.Context, t tenant.Tenant, s connection.Set) (connection.Opened[crm.Driver], error)
	Telephony(
		ctx context.Context, t tenant.Tenant, s connection.Set,
	) (connection.Opened[telephony.Driver], error)
}

// Callers finds the caller for work in the background; *apikey.Callers implements it.
type Callers interface {
	// CallerOf returns the tenant as a caller with only the one connection.
	CallerOf(ctx context.Context, tenantID, connectionID string) (apikey.Caller, error)
}

// Connections lists connections and records their state; *connection.Directory implements it.
type Connections interface {
	// Working lists the connections of a kind in working order, of all tenants, by id, tenant and provider.
	// Sandboxes are left out: nothing but the gateway has access to them.
	Working(ctx context.Context, kind adapter.Kind) ([]connection.Connection, error)
	MarkReconnect(ctx context.Context, c connection.Connection, why string) error
	MarkVerified(ctx context.Context, c connection.Connection, email string) error
}

// Metrics counts the outcomes of mutating calls.
type Metrics = journal.Metrics

// Options configure the use cases. All but the last six are required.
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
	DedupeWindow time.Duration // for book-meeting without a key, if the tenant sets none

	TicketDedupeWindow time.Duration // the same for create-ticket

	Deadline     time.Duration    // time limit of work in the background
	LeaseClock   func() time.Time // see journal.Options
	Lease        time.Duration    // see journal.Options
	WaitForEqual time.Duration    // how long a call waits for an equal one; 0: as long as Deadline
	Metrics      Metrics          // nil: nothing is counted
	Audit        *audit.Log       // nil: no changes are recorded

	RecordTimeout time.Duration // see journal.Options
}

// Services are the use cases of all three kinds.
type Services struct {
	Calendar *Calendar
	Tickets  *Tickets
	Numbers  *Numbers
	Contacts *Contacts
	opts     *Options
	journal  *journal.Journal
}

// New builds the use cases.
func New(o Options) *Services {
	j := journal.New(journal.Options{
		Store: o.Store, Log: o.Log, Now: o.Now, Owner: o.Owner, KeepAnswers: o.KeepAnswers, Deadline: o.Deadline,
		WriteGrace: o.Guard.WriteGrace(), LeaseClock: o.LeaseClock, Lease: o.Lease, WaitForEqual: o.WaitForEqual,
		Metrics: o.Metrics, Audit: o.Audit, RecordTimeout: o.RecordTimeout,
	})
	s := &Services{
		Calendar: newCalendar(&o, j), Tickets: newTickets(&o, j), Numbers: newNumbers(&o, j),
		Contacts: &Contacts{opts: &o, within: lookUpWithin}, opts: &o, journal: j,
	}
	j.Register(s.Calendar.operations()...)
	j.Register(s.Tickets.operations()...)
	j.Register(s.Numbers.operations()...)
	return s
}

// Run recovers interrupted calls, looks after the phone numbers and purges old records until ctx ends.
func (s *Services) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	log := s.Numbers.opts.Log
	group.Go(func() { parallel.Lasting(ctx, log, s.Numbers.maintain) })
	group.Go(func() { parallel.Lasting(ctx, log, s.keepPurging) })
	s.journal.Run(ctx)
}

// Close ends what is read and stored in the background, and waits for it. It writes what the store did not take of
// calls that have ended. Calls may go on.
func (s *Services) Close() {
	s.Calendar.kept.background.Close()
	s.journal.Close()
}

// SyncClock sets the lease clock from the database's clock. It returns how far the machine's clock is ahead
// of the database's clock.
func (s *Services) SyncClock(ctx context.Context) (ahead time.Duration, err error) {
	return s.journal.SyncClock(ctx)
}
