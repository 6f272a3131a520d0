package service

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
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
	r := &room{Options: o, journal: &journal{
		store: o.Store, owner: o.Owner, now: o.Now, keep: o.KeepAnswers, deadline: o.Deadline, grace: o.Guard.WriteGrace(),
		leases: o.LeaseClock, short: cmp.Or(o.Lease, shortLease), patience: cmp.Or(o.WaitForEqual, o.Deadline),
		log: o.Log, metrics: o.Metrics, audit: o.Audit,
	}}
	s := &Services{
		clock:    clock,
		Calendar: &Calendar{room: r, calendars: newCache[[]calendar.Calendar](o.Now, rememberCalendars), known: newKnownSet()},
		Tickets:  &Tickets{room: r, vocabularies: newCache[crm.Vocabulary](o.Now, rememberVocabulary)},
		Numbers:  &Numbers{room: r, firstLook: firstLook, setups: newCache[struct{}](o.Now, rememberSetup)},
	}
	s.settler = &settler{room: r, overtaken: map[string]writeOver{opUpdate: nil, opChange: s.Numbers.realign}, resume: map[string]resume{
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
	cacheEntries       = 10_000
)

// room is what the use cases share.
type room struct {
	Options
	journal *journal
}

// line is an opened connection as the guard needs to know it.
type line struct {
	connection tenant.Connection
	target     guard.Target
	account    func(context.Context) error // asks the provider live whether it accepts the credentials
}

func lineTo[D any](o tenant.Opened[D], most int, account func(context.Context) error) line {
	return line{connection: o.Connection, account: account, target: guard.Target{
		Kind: o.Target.Kind, Provider: o.Target.Provider, Host: o.Target.Host, Connection: o.Target.Connection, MaxConcurrent: most,
	}}
}

// ask calls a driver through the guard. When the provider refuses the credentials, and does so again when it is asked
// for the account, the connection is marked: a person learns of it and the next caller is told at once.
func ask[T any](ctx context.Context, r *room, l line, op guard.Op, try func(context.Context) (T, error)) (T, error) {
	answer, err := guard.Do(ctx, r.Guard, l.target, op, try)
	if err == nil {
		return answer, nil
	}
	var none T
	f := fault.From(err)
	if f.Code == fault.Disconnected && r.refused(ctx, l) {
		if err := r.Directory.MarkReconnect(context.WithoutCancel(ctx), l.connection, f.Detail); err != nil {
			r.Log.ErrorContext(ctx, "a connection could not be marked", "connection", l.connection.ID, "error", err)
		}
	}
	return none, f.With("provider", l.connection.Provider)
}

// refused reports whether the provider refuses the credentials when asked for the account.
func (r *room) refused(ctx context.Context, l line) bool {
	_, err := guard.Do(ctx, r.Guard, l.target, read("confirm-credentials"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.account(ctx)
	})
	return err != nil && fault.From(err).Code == fault.Disconnected
}

// read is an operation without effect.
func read(name string) guard.Op { return guard.Op{Name: name, Read: true} }

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

// cache remembers what a provider said for a while, by connection and revision. It is bounded; what does not fit is
// asked again.
type cache[V any] struct {
	now  func() time.Time
	life time.Duration
	mu   sync.Mutex
	kept map[cacheKey]cached[V]
}

type cacheKey struct {
	connection string
	revision   int64
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[V any](now func() time.Time, life time.Duration) *cache[V] {
	return &cache[V]{now: now, life: life, kept: map[cacheKey]cached[V]{}}
}

// get answers what is remembered, else asks.
func (c *cache[V]) get(of tenant.Connection, ask func() (V, error)) (V, error) {
	key := cacheKey{of.ID, of.Revision}
	c.mu.Lock()
	have, ok := c.kept[key]
	c.mu.Unlock()
	if ok && c.now().Before(have.until) {
		return have.value, nil
	}
	value, err := ask()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= cacheEntries {
		for old := range c.kept { // any one: the map's order is as good as another
			delete(c.kept, old)
			break
		}
	}
	c.kept[key] = cached[V]{value, c.now().Add(c.life)}
	return value, nil
}

// forget makes the next get ask.
func (c *cache[V]) forget(of tenant.Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, cacheKey{of.ID, of.Revision})
}

// callerFor is the caller of work that nobody waits for.
func (r *room) callerFor(ctx context.Context, tenantID, connectionID string) (tenant.Caller, error) {
	c, err := r.Directory.CallerOf(ctx, tenantID, connectionID)
	if f := fault.From(err); err != nil && f.Code == fault.NotFound {
		return c, fault.New(fault.Disconnected, fault.ReasonNotConnected, "The connection was removed.").Because(err)
	}
	return c, err
}
