package service

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/guard"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Directory opens the callers' connections; *tenant.Directory is one.
type Directory interface {
	Calendar(ctx context.Context, c tenant.Caller) (tenant.Opened[calendar.Driver], error)
	// CalendarToVerify opens the calendar even when its credentials are known to be refused, to ask again.
	CalendarToVerify(ctx context.Context, c tenant.Caller) (tenant.Opened[calendar.Driver], error)
	CRM(ctx context.Context, c tenant.Caller) (tenant.Opened[crm.Driver], error)
	Telephony(ctx context.Context, c tenant.Caller) (tenant.Opened[telephony.Driver], error)
	// CallerOf is the tenant with that one connection, for work that no key asks for.
	CallerOf(ctx context.Context, tenantID, connectionID string) (tenant.Caller, error)
	// RealOnes lists the connections of a kind, of all tenants, but for sandboxes, to which nobody else has access.
	RealOnes(ctx context.Context, kind adapter.Kind) ([]tenant.Connection, error)
	MarkReconnect(ctx context.Context, c tenant.Connection, why string) error
	MarkVerified(ctx context.Context, c tenant.Connection, email string) error
}

// Metrics are told what becomes of mutating calls; *telemetry.Metrics is one.
type Metrics interface {
	// Intent is what became of a call, of a repeat ("replayed"), or of one that the gateway carried on by itself ("settled").
	Intent(operation, outcome string)
	// UnsettledIntents is how many intents nobody carries on, of those that a round looks at.
	UnsettledIntents(count int)
}

// nobody is told.
type nobody struct{}

func (nobody) Intent(string, string) {}
func (nobody) UnsettledIntents(int)  {}

// Options are what the use cases are built from. All but Metrics and Audit are needed.
type Options struct {
	Store        *store.Store
	Directory    Directory
	Guard        *guard.Guard
	Log          *slog.Logger
	Now          func() time.Time
	Owner        string        // names this process in intents and leases
	KeepAnswers  time.Duration // how long an answer to an Idempotency-Key is kept
	DedupeWindow time.Duration // for book-meeting without a key, where the tenant sets none

	TicketDedupeWindow time.Duration // the same for create-ticket

	Deadline     time.Duration    // for work in the background
	LeaseClock   func() time.Time // of leases; nil: one that follows the database's clock
	Lease        time.Duration    // of runs that can be taken over without harm; 0: two seconds
	WaitForEqual time.Duration    // for an equal call that still runs, at most; 0: as long as the caller's deadline allows
	Metrics      Metrics          // nil: nobody is told
	Audit        *audit.Log       // of changes; nil: none is recorded
}

// Services are the use cases of all three kinds.
type Services struct {
	Calendar *Calendar
	Tickets  *Tickets
	Numbers  *Numbers
	settler  *settler
	clock    *leaseClock
}

// New builds the use cases.
func New(o Options) *Services {
	if o.Metrics == nil {
		o.Metrics = nobody{}
	}
	clock := newLeaseClock()
	if o.LeaseClock == nil {
		o.LeaseClock = clock.now
	}
	opts, j := &o, &journal{
		store: o.Store, owner: o.Owner, now: o.Now, keep: o.KeepAnswers, deadline: o.Deadline, grace: o.Guard.WriteGrace(),
		leases: o.LeaseClock, short: cmp.Or(o.Lease, shortLease), patience: cmp.Or(o.WaitForEqual, o.Deadline),
		log: o.Log, metrics: o.Metrics, audit: o.Audit,
	}
	s := &Services{
		clock:    clock,
		Calendar: &Calendar{opts: opts, journal: j, calendars: newCache[[]calendar.Calendar](o.Now, rememberCalendars), known: newKnownSet()},
		Tickets:  &Tickets{opts: opts, journal: j, vocabularies: newCache[crm.Vocabulary](o.Now, rememberVocabulary)},
		Numbers:  &Numbers{opts: opts, journal: j, firstLook: firstLook, setups: newCache[struct{}](o.Now, rememberSetup)},
	}
	s.settler = &settler{opts: opts, journal: j, overtaken: map[string]writeOver{opUpdate: nil, opChange: s.Numbers.realign}, resume: map[string]resume{
		opBook:   s.Calendar.resumeBook,
		opUpdate: s.Calendar.resumeUpdate,
		opCancel: s.Calendar.resumeCancel,
		opCreate: s.Tickets.resumeCreate,
		opBuy:    s.Numbers.resumeBuy,
		opChange: s.Numbers.resumeUpdate,
		opReturn: s.Numbers.resumeRelease,
	}}
	return s
}

// The names of the mutating operations, as intents, logs and metrics know them.
const (
	opBook   = "book-meeting"
	opUpdate = "update-meeting"
	opCancel = "cancel-meeting"
	opCreate = "create-ticket"
	opBuy    = "buy-phone-number"
	opChange = "update-phone-number"
	opReturn = "release-phone-number"
)

const (
	rememberCalendars  = 5 * time.Minute
	rememberVocabulary = 5 * time.Minute
)

// zoneOf answers the tenant's zone.
func zoneOf(t tenant.Tenant) string {
	if t.Settings.Timezone == "" {
		return "UTC"
	}
	return t.Settings.Timezone
}

// windowOf answers a tenant's own setting, else the default.
func windowOf(own *tenant.Duration, standard time.Duration) time.Duration {
	if own == nil {
		return standard
	}
	return time.Duration(*own)
}
