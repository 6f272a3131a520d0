// Package guard is the decoration around every call of a driver. It is one function, so that a driver's optional
// capabilities stay visible to who calls it:
//
//	event, err := guard.Do(ctx, g, target, guard.Op{Name: "book", Repeatable: traits.IdempotentBook},
//		func(ctx context.Context) (calendar.Event, error) { return driver.Book(ctx, booking) })
//
// From the outside in it measures, sets the total deadline, takes a place in the bulkheads, retries, asks the circuit
// breakers, and sets the deadline of one try. It promises:
//   - Do answers no later than 50 ms after the deadline, whatever the driver does.
//   - A write is never sent a second time unless the first try surely did not reach the provider, was refused by it
//     for its rate, or the operation is repeatable. When an earlier try may have taken effect, the fault says so
//     (Unsent is false, the code Unavailable or Timeout), whatever a later try answered.
//   - A write that was begun is finished, not cancelled, when its caller gives up: Op.Late learns how it ended.
//   - No retry is earlier than the provider's Retry-After, and none is made that the deadline would cut off. Where the
//     provider limited the rate, no other call of the connection makes that operation earlier either.
//   - A host whose breaker is open gets one probe at a time. A read that still hangs when the next probe goes out is ended.
//   - A panic of a driver is a fault.Internal.
//
// It keeps its breakers, budgets and places in this process: replicas find out each for themselves. It does not know
// idempotency keys, intents or HTTP.
package guard

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

// Target is whom a call goes to.
type Target struct {
	Kind       string // "calendar", "crm" or "telephony"
	Provider   string // the adapter's name
	Host       string // the provider's host; connections that share it share its fate. "" for a provider inside the process
	Connection string // the connection's id

	// MaxConcurrent is how many calls at once the provider allows to one account (Graph: 4). 0 takes the default.
	MaxConcurrent int
}

// Op is what is called.
type Op struct {
	Name string // as in the metrics: "book", "events"

	Read       bool // changes nothing, so it may be cancelled and repeated
	Repeatable bool // a write that carries a key and whose trait says idempotent

	// Late learns the outcome of a write that was still running when Do answered with Timeout or Canceled. It is called at
	// most once, from a goroutine that Close waits for, and possibly before the caller has seen what Do answered.
	Late func(result any, err error)
}

// Options configure a Guard. Zero values take the defaults.
type Options struct {
	Deadline   time.Duration // of a whole call, where the context ends later or never; 8 s
	TryTimeout time.Duration // of one try of a read, so that a retry still fits; 5 s
	WriteGrace time.Duration // how long a write may go on after its caller's deadline; 15 s

	MaxTries      int           // first try included; 3
	BackoffBase   time.Duration // upper edge of the first wait, doubled for each further one; 100 ms
	BackoffMax    time.Duration // upper edge of any wait; 1 s
	MaxRetryAfter time.Duration // what is told a caller at most; 1 h

	RetryRatio   float64 // retries to first tries at one host, over 10 s; 0.1
	RetryMinimum int     // retries in 10 s that are allowed however few calls there are; 3

	ConnectionConcurrency int // calls at once of one connection, where the target names none; 8
	ConnectionQueue       int // calls that wait for one of those places; 32
	HostConcurrency       int // calls at once at one host; 256
	HostQueue             int // calls that wait for one of those, or for their connection's; 256

	BreakerFailures    int           // sick answers in a row that open a breaker; 10
	BreakerOpenFor     time.Duration // until an open breaker lets a probe through; 1.5 s
	BreakerConnections int           // connections that must fail before their host's breaker opens; 3
	Patience           time.Duration // silence shorter than this says nothing about the provider; 2 s

	MaxHosts       int // hosts remembered; 5,000
	MaxConnections int // connections remembered; 20,000

	Random  func() float64     // in [0, 1); nil is math/rand/v2
	Metrics *telemetry.Metrics // may be nil
	Log     *slog.Logger       // may be nil
}

func (o Options) withDefaults() Options {
	setDefault(&o.Deadline, 8*time.Second)
	setDefault(&o.TryTimeout, 5*time.Second)
	setDefault(&o.WriteGrace, 15*time.Second)
	setDefault(&o.MaxTries, 3)
	setDefault(&o.BackoffBase, 100*time.Millisecond)
	setDefault(&o.BackoffMax, time.Second)
	setDefault(&o.MaxRetryAfter, time.Hour)
	setDefault(&o.RetryRatio, 0.1)
	setDefault(&o.RetryMinimum, 3)
	setDefault(&o.ConnectionConcurrency, 8)
	setDefault(&o.ConnectionQueue, 32)
	setDefault(&o.HostConcurrency, 256)
	setDefault(&o.HostQueue, 256)
	setDefault(&o.BreakerFailures, 10)
	setDefault(&o.BreakerOpenFor, 1500*time.Millisecond)
	setDefault(&o.BreakerConnections, 3)
	setDefault(&o.Patience, 2*time.Second)
	setDefault(&o.MaxHosts, 5_000)
	setDefault(&o.MaxConnections, 20_000)
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T int | float64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// Guard holds the breakers, budgets and places. Safe for concurrent use.
type Guard struct {
	options     Options
	hosts       *sites
	connections *sites

	stopping context.Context // ends when Close gives up waiting
	stop     context.CancelFunc

	mu      sync.Mutex
	running int // calls, and tries that outlived theirs
	closed  bool
	idle    chan struct{} // closed by the last leave after Close
}

// New makes a guard.
func New(o Options) *Guard {
	o = o.withDefaults()
	g := &Guard{options: o, idle: make(chan struct{})}
	g.stopping, g.stop = context.WithCancel(context.Background())
	g.hosts = newSites("host", o, o.MaxHosts, o.BreakerConnections)
	g.connections = newSites("connection", o, o.MaxConnections, 1)
	return g
}

// WriteGrace is how long a write may go on after the deadline of its caller: who leases what the write touches has to
// lease it so much longer.
func (g *Guard) WriteGrace() time.Duration { return g.options.WriteGrace }

// Do calls a driver under the guard's rules. The error is a *fault.Error. The call runs in a goroutine of its own, may run
// several times, and may still be running when Do has answered: what it learns it returns, and it sets no variable of
// its caller's.
func Do[T any](ctx context.Context, g *Guard, t Target, op Op, call func(context.Context) (T, error)) (T, error) {
	var none T
	result, f := g.do(ctx, t, op, func(ctx context.Context) (any, error) { return call(ctx) })
	if f != nil {
		return none, f
	}
	typed, _ := result.(T) // fails only for a nil interface, whose zero value it then is
	return typed, nil
}

// do measures.
func (g *Guard) do(ctx context.Context, t Target, op Op, call driverCall) (any, *fault.Error) {
	labels := telemetry.CallLabels{Kind: t.Kind, Provider: t.Provider, Operation: op.Name}
	started := time.Now()
	result, f := g.guarded(ctx, &run{guard: g, target: t, op: op, labels: labels, call: call})
	if f != nil && f.RetryAfter > g.options.MaxRetryAfter {
		c := *f
		c.RetryAfter = g.options.MaxRetryAfter
		f = &c
	}
	g.options.Metrics.Call(labels, outcome(f), time.Since(started))
	return result, f
}

func outcome(f *fault.Error) string {
	if f == nil {
		return "ok"
	}
	return string(f.Code)
}

// guarded sets the total deadline and takes the places.
func (g *Guard) guarded(ctx context.Context, r *run) (any, *fault.Error) {
	if !g.enter() {
		return nil, unsent(fault.Unavailable, fault.ReasonOverloaded, "The gateway is about to stop. Try again.", time.Second)
	}
	defer g.leave()
	ctx, cancel := context.WithTimeout(ctx, g.options.Deadline)
	defer cancel()

	r.host = g.hosts.pin(r.target.Kind+"/"+r.target.Provider+"/"+r.target.Host, r.target.Provider)
	defer g.hosts.unpin(r.host)
	r.connection = g.connections.pin(r.target.Connection, r.target.Provider)
	defer g.connections.unpin(r.connection)

	place, f := r.admitted(ctx)
	if f != nil {
		return nil, f
	}
	r.place = place
	defer func() { r.place.release() }()
	r.host.budget.first(time.Now())
	return r.retrying(ctx)
}

// admitted takes a place. A provider that is in doubt is not queued for: behind calls that hang, the queue is longest just
// then, and whoever waits in it would wait for nothing.
func (r *run) admitted(ctx context.Context) (*place, *fault.Error) {
	doubtful, open := r.inDoubt()
	if open {
		return nil, doubtful.refused()
	}
	if doubtful == nil {
		return r.takePlace(ctx)
	}
	place := r.takeFreePlace()
	if place == nil {
		return nil, doubtful.refused()
	}
	return place, nil
}

// Close refuses new calls and waits for those that run, writes that outlived their callers among them. When the context
// ends first, they are cancelled, and the error says how many had not ended even then.
func (g *Guard) Close(ctx context.Context) error {
	g.mu.Lock()
	first := !g.closed
	g.closed = true
	if first && g.running == 0 {
		close(g.idle)
	}
	g.mu.Unlock()
	defer g.stop()
	return g.waitIdle(ctx)
}

func (g *Guard) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running++
	return true
}

// stay counts a try, which may outlive its call. The call is counted, so the guard cannot be idle here.
func (g *Guard) stay() {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
}

func (g *Guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.closed && g.running == 0 {
		close(g.idle)
	}
}
