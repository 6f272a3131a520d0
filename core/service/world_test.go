package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// world is one installation: a store, the providers' accounts, a clock, and any number of gateway processes
// that share them. A process can be killed at any call of a driver.
type world struct {
	tb    testing.TB
	url   string
	clock *clock
	store *store.Store // the test's own view

	meetings *calendarAccount
	tickets  *crmAccount
	phones   *phoneAccount

	mu      sync.Mutex
	tenants map[string]apikey.Caller       // by tenant id
	status  map[string]connection.Status   // by connection id
	marked  map[string]int                 // by connection id: how often it was marked to be reconnected
	emails  map[string]string              // as last verified
	lives   map[*process]struct{}          // processes not stopped
	renewed int                            // how often the world was renewed
	options func(*Options, *guard.Options) // may change the options of a process
	reach   func(*process) string          // returns the store's address for the next process; nil: url
}

// clock stands still unless it is advanced.
type clock struct{ millis atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMilli(c.millis.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.millis.Add(d.Milliseconds()) }

func newWorld(tb testing.TB, open func(testing.TB) string) *world {
	tb.Helper()
	w := &world{
		tb: tb, url: open(tb), clock: &clock{}, tenants: map[string]apikey.Caller{},
		status: map[string]connection.Status{}, marked: map[string]int{}, emails: map[string]string{},
		lives: map[*process]struct{}{},
	}
	w.clock.millis.Store(time.Now().UnixMilli())
	w.meetings, w.tickets, w.phones = newCalendarAccount(), newCRMAccount(), newPhoneAccount()
	w.store = storetest.Open(tb, w.url)
	tb.Cleanup(func() {
		for p := range maps.Clone(w.lives) {
			p.stop()
		}
	})
	return w
}

// sqliteWorld returns a world on SQLite with one process and one tenant.
func sqliteWorld(tb testing.TB) (*world, *process, apikey.Caller) {
	tb.Helper()
	w := newWorld(tb, storetest.ReusedSQLite)
	return w, w.start(), w.tenant("acme")
}

// tenant makes a tenant with a connection of each kind and returns a caller of it.
func (w *world) tenant(name string) apikey.Caller {
	w.tb.Helper()
	c := apikey.Caller{
		Tenant: tenant.Tenant{ID: "t-" + name, Name: name}, KeyID: "k-" + name,
		Connections: map[adapter.Kind]connection.Connection{},
	}
	ctx := context.Background()
	w.check(w.store.CreateTenant(ctx, store.Tenant{
		ID: c.Tenant.ID, Name: name, Settings: json.RawMessage("{}"), CreatedAt: w.clock.now(),
	}))
	for _, kind := range adapter.Kinds() {
		id := fmt.Sprintf("c-%s-%s", name, kind)
		w.check(w.store.CreateConnection(ctx, store.Connection{
			ID: id, TenantID: c.Tenant.ID, Name: string(kind), Kind: string(kind), Provider: "fake", IsDefault: true,
			Settings: json.RawMessage("{}"), Status: "ok", Revision: 1, CreatedAt: w.clock.now(),
		}))
		c.Connections[kind] = connection.Connection{
			ID: id, TenantID: c.Tenant.ID, Name: string(kind), Kind: kind, Provider: "fake", IsDefault: true,
			Settings: map[string]any{}, Status: connection.StatusOK, Email: "office@example.com", Revision: 1,
		}
	}
	return w.with(c)
}

// renew gives the world new accounts and one new tenant in place of those before, and returns its caller: to make a
// new database, and to open it, takes several times as long.
func (w *world) renew() apikey.Caller {
	w.tb.Helper()
	w.mu.Lock()
	before := w.tenants
	w.tenants = map[string]apikey.Caller{}
	w.mu.Unlock()
	for id := range before {
		w.check(w.store.DeleteTenant(background, id))
	}
	w.meetings, w.tickets, w.phones = newCalendarAccount(), newCRMAccount(), newPhoneAccount()
	w.renewed++
	return w.tenant(fmt.Sprint("acme-", w.renewed))
}

// with makes the caller's settings visible to recovery, too.
func (w *world) with(c apikey.Caller) apikey.Caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tenants[c.Tenant.ID] = c
	return c
}

func (w *world) check(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// process is one running gateway.
type process struct {
	*Services
	world *world
	store *store.Store
	guard *guard.Guard
	owner string
	dead  atomic.Bool

	purged time.Time
}

var processes atomic.Int64

func (w *world) start() *process {
	w.tb.Helper()
	p := &process{world: w, owner: fmt.Sprintf("process-%d", processes.Add(1))}
	address := w.url
	if w.reach != nil {
		address = w.reach(p)
	}
	p.store = storetest.Connect(w.tb, address)
	keys, err := keySet()
	w.check(err)
	p.store.SealWith(keys)
	// As a gateway does before it serves. If this fails, the first call does it.
	_, _ = p.store.Digest(context.Background(), "")
	guarding := guard.Options{
		Deadline: 5 * time.Second, WriteGrace: 2 * time.Second, BackoffBase: time.Millisecond,
		BackoffMax: 2 * time.Millisecond, BreakerFailures: 1000, RetryMinimum: 1000, ConnectionQueue: 1000,
		HostQueue: 1000,
	}
	o := Options{
		Store: p.store, Log: slog.New(slog.DiscardHandler), Now: w.clock.now, LeaseClock: w.clock.now,
		Owner: p.owner, KeepAnswers: 72 * time.Hour, DedupeWindow: 10 * time.Minute,
		TicketDedupeWindow: 10 * time.Minute, Deadline: 5 * time.Second, Audit: w.audit(p.store),
		// As long as calls of the store may take in tests. On a machine that is busy, two seconds have run out, and
		// recovery would have recorded the outcome later.
		RecordTimeout: 2 * time.Minute,
	}
	if w.options != nil {
		w.options(&o, &guarding)
	}
	p.guard = guard.New(guarding)
	d := &directory{world: w, process: p}
	o.Guard, o.Drivers, o.Connections, o.Callers = p.guard, d, d, d
	p.Services = New(o)
	p.Numbers.firstPoll = time.Millisecond
	w.mu.Lock()
	w.lives[p] = struct{}{}
	w.mu.Unlock()
	return p
}

// stop shuts the process down gracefully.
func (p *process) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := p.guard.Close(ctx); err != nil {
		p.world.tb.Errorf("the guard of %s does not close: %v", p.owner, err)
	}
	p.Close()
	p.kill()
	p.world.mu.Lock()
	delete(p.world.lives, p)
	p.world.mu.Unlock()
}

// kill cuts the process off from the store and the providers. What its goroutines still do has no effect.
func (p *process) kill() {
	if p.dead.CompareAndSwap(false, true) {
		_ = p.store.Close()
		p.Close()
	}
}

// recover makes the process settle what is due once, and fails the test if the round fails.
func (p *process) recover(tb testing.TB) {
	tb.Helper()
	if err := p.recoverOnce(); err != nil {
		tb.Fatalf("the round of recovery: %v", err)
	}
}

// recoverOnce settles what is due, and purges when it begins and every ten minutes, as a gateway does.
func (p *process) recoverOnce() error {
	if err := p.journal.RecoverOnce(context.Background()); err != nil {
		return err
	}
	now := p.world.clock.now()
	if now.Sub(p.purged) < purgeEvery {
		return nil
	}
	p.purged = now
	return p.purge(context.Background())
}

// directory opens the connections to the world's accounts.
type directory struct {
	world   *world
	process *process
}

func openFake[D any](
	d *directory, s connection.Set, kind adapter.Kind, anyState bool, driver D,
) (connection.Opened[D], error) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	conn, ok := s[kind]
	if !ok {
		return connection.Opened[D]{},
			fault.New(fault.Disconnected, fault.ReasonNotConnected, "Nothing is connected.")
	}
	if d.world.status[conn.ID] == connection.StatusReconnectRequired && !anyState {
		return connection.Opened[D]{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "Reconnect.")
	}
	if email, ok := d.world.emails[conn.ID]; ok {
		conn.Email = email
	}
	return connection.Opened[D]{
		Driver: driver, Connection: conn,
		Target: connection.Target{Kind: string(kind), Provider: conn.Provider, Host: "fake", Connection: conn.ID},
	}, nil
}

func (d *directory) Calendar(
	_ context.Context, _ tenant.Tenant, s connection.Set,
) (connection.Opened[calendar.Driver], error) {
	return openFake(d, s, adapter.KindCalendar, false, d.world.meetings.driver(d.process))
}

func (d *directory) CalendarToVerify(
	_ context.Context, _ tenant.Tenant, s connection.Set,
) (connection.Opened[calendar.Driver], error) {
	return openFake(d, s, adapter.KindCalendar, true, d.world.meetings.driver(d.process))
}

func (d *directory) CRM(
	_ context.Context, _ tenant.Tenant, s connection.Set,
) (connection.Opened[crm.Driver], error) {
	return openFake(d, s, adapter.KindCRM, false, d.world.tickets.driver(d.process))
}

func (d *directory) Telephony(
	_ context.Context, _ tenant.Tenant, s connection.Set,
) (connection.Opened[telephony.Driver], error) {
	driver := &phoneDriver{d.world.phones, d.process, s[adapter.KindTelephony].ID}
	if d.world.phones.checks {
		return openFake[telephony.Driver](d, s, adapter.KindTelephony, false, checkingPhone{driver})
	}
	return openFake[telephony.Driver](d, s, adapter.KindTelephony, false, driver)
}

func (d *directory) Working(_ context.Context, kind adapter.Kind) (all []connection.Connection, err error) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.world.tenants)) {
		all = append(all, d.world.tenants[id].Connections[kind])
	}
	return all, nil
}

func (d *directory) CallerOf(ctx context.Context, tenantID, connectionID string) (apikey.Caller, error) {
	if _, err := d.process.store.Connection(ctx, tenantID, connectionID); err != nil {
		return apikey.Caller{}, err
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	c := d.world.tenants[tenantID]
	for kind, conn := range c.Connections {
		if conn.ID == connectionID {
			return apikey.Caller{
				Tenant: c.Tenant, Connections: map[adapter.Kind]connection.Connection{kind: conn},
			}, nil
		}
	}
	return apikey.Caller{}, errors.New("no such connection")
}

func (d *directory) MarkReconnect(_ context.Context, c connection.Connection, _ string) error {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.world.status[c.ID] = connection.StatusReconnectRequired
	d.world.marked[c.ID]++
	return nil
}

func (d *directory) MarkVerified(_ context.Context, c connection.Connection, email string) error {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.world.status[c.ID] = connection.StatusOK
	if email != "" {
		d.world.emails[c.ID] = email
	}
	return nil
}

// reaction is what happens in one call of a driver before and after the account acts. An error is what the
// call returns.
type reaction struct {
	before, after func(context.Context) error
}

// account is the part that the three fakes share: a lock, and the script of failures.
type account struct {
	mu    sync.Mutex
	react func(p *process, call string) reaction // nil: all goes well
	calls map[string]int
}

// script sets the failures from now on; nil means none.
func (a *account) script(react func(p *process, call string) reaction) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.react = react
}

// once makes the next call with that name react so. All other calls succeed.
func (a *account) once(call string, r reaction) { a.times(1, call, r) }

func (a *account) times(n int64, call string, r reaction) {
	var left atomic.Int64
	left.Store(n)
	a.script(func(_ *process, made string) reaction {
		if made == call && left.Add(-1) >= 0 {
			return r
		}
		return reaction{}
	})
}

func (a *account) called(call string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[call]
}

// step runs one call of a driver. act runs under the account's lock.
func step[T any](ctx context.Context, a *account, p *process, call string, act func() (T, error)) (T, error) {
	var none T
	a.mu.Lock()
	a.calls[call]++
	react := a.react
	a.mu.Unlock()
	var r reaction
	if react != nil {
		r = react(p, call)
	}
	if r.before != nil {
		if err := r.before(ctx); err != nil {
			return none, err
		}
	}
	if p.dead.Load() {
		return none, errors.New("the process is dead")
	}
	a.mu.Lock()
	answer, err := act()
	a.mu.Unlock()
	if r.after != nil {
		if lostErr := r.after(ctx); lostErr != nil {
			return none, lostErr
		}
	}
	return answer, err
}

// Failures of providers.

func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func down() *fault.Error {
	f := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider is down.")
	f.Unsent = true
	return f
}

func answers503() *fault.Error {
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider answers 503.").
		With("upstream_status", "503")
}

func cutOff() *fault.Error {
	return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The connection broke.")
}

func refusesCredentials() *fault.Error {
	return fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The provider refuses the credentials.")
}

func hang(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// faultOf returns the fault of a call, and fails the test if the call succeeded.
func faultOf(tb testing.TB, err error) *fault.Error {
	tb.Helper()
	if err == nil {
		tb.Fatal("the call succeeds")
	}
	return fault.From(err)
}

func wantReason(tb testing.TB, err error, code fault.Code, reason string) {
	tb.Helper()
	if f := faultOf(tb, err); f.Code != code || f.Reason != reason {
		tb.Fatalf("got %v, want %s %s", err, code, reason)
	}
}

func key(k string) Write { return Write{IdempotencyKey: k} }

// atOnce runs n calls that start together.
func atOnce[T any](n int, call func(i int) (T, error)) ([]T, []error) {
	answers, errs := make([]T, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			answers[i], errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	return answers, errs
}
