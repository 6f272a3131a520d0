// Package guard protects every call of a driver. It is one function, so that a driver's optional capabilities
// stay visible to its caller:
//
//	event, err := guard.Do(ctx, g, target, guard.Op{Name: "book", Repeatable: traits.IdempotentBook},
//		func(ctx context.Context) (calendar.Event, error) { return driver.Book(ctx, booking) })
//
// From the outside in it measures, sets the total deadline, takes a permit from the bulkheads, retries, asks
// the circuit breakers, and sets the deadline of one attempt. It promises:
//   - Do returns no later than 50 ms after the deadline, whatever the driver does.
//   - A write is never sent a second time unless the first attempt certainly did not reach the provider, was
//     refused by its rate limit, or the operation is repeatable. If an earlier attempt may have taken effect,
//     the fault says so (Unsent is false, the code Unavailable or Timeout), whatever a later attempt
//     returned.
//   - A write that was begun is finished, not cancelled, when its caller gives up. Op.Late receives its
//     outcome.
//   - No retry starts before the provider's Retry-After, or if the deadline would cut it off. After a rate
//     limit, no other call of the connection starts that operation earlier either.
//   - A host whose breaker is open gets one probe at a time. A read that still hangs when the next probe
//     starts is cancelled.
//   - A panic of a driver is a fault.Internal.
//
// Breakers, budgets of retries and permits belong to this process. Only how many calls at once a provider
// allows one account (Target.MaxConcurrent) replicas share, by Options.Permits. The guard knows nothing of
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

// Target describes what a call goes to.
type Target struct {
	Kind       string // "calendar", "crm" or "telephony"
	Provider   string // the adapter's name
	Host       string // the provider's host, which connections share; "" for a provider inside the process
	Connection string // the connection's id

	// MaxConcurrent is how many concurrent calls the provider allows one account (Graph: 4); 0: the default.
	MaxConcurrent int
}

// Op is the operation that is called.
type Op struct {
	Name string // as in the metrics: "book", "events"

	Read       bool // changes nothing, so it may be cancelled and repeated
	Repeatable bool // a write that carries a key, if the driver's traits call it idempotent

	// Late receives the outcome of a write that was still running when Do returned Timeout or Canceled. It is
	// called at most once, from a goroutine that Close waits for, possibly before the caller has seen what Do
	// returned.
	Late func(result any, err error)
}

// Options configure a Guard. Zero values take the defaults.
type Options struct {
	Deadline   time.Duration // of a whole call, if the context ends later or never; 8 s
	TryTimeout time.Duration // of one attempt of a read, so that a retry still fits; 5 s
	WriteGrace time.Duration // how long a write may go on after its caller's deadline; 15 s

	MaxTries    int           // including the first; 3
	BackoffBase time.Duration // upper bound of the first wait, doubled for each further one; 100 ms
	BackoffMax  time.Duration // upper bound of any wait; 1 s

	RetryRatio   float64 // of retries to first attempts at one host, over 10 s; 0.1
	RetryMinimum int     // retries in 10 s that are allowed however few calls there are; 3

	ConnectionConcurrency int // concurrent calls of one connection, if the target sets no limit; 8
	ConnectionQueue       int // calls of one connection that wait for its permits; 32
	HostConcurrency       int // concurrent calls at one host; 256
	HostQueue             int // calls at one host that wait for its permits or their connection's; 256

	BreakerFailures    int           // failures in a row that open a breaker; 10
	BreakerOpenFor     time.Duration // until an open breaker lets a probe through; 1.5 s
	BreakerConnections int           // connections that must fail before their host's breaker opens; 3
	Patience           time.Duration // an attempt abandoned earlier is not counted as a failure; 2 s

	MaxHosts       int // hosts remembered; 5,000
	MaxConnections int // connections remembered; 20,000

	Permits Permits        // nil: this process has what its providers allow for itself
	Health  Health         // may be nil
	Random  func() float64 // in [0, 1); nil is math/rand/v2
	Metrics Metrics        // nil: nothing is counted
	Log     *slog.Logger   // may be nil
}

// Permits shares among all replicas how many calls at once a provider allows one account. A permit has to be
// released once.
type Permits interface {
	// Acquire waits for a permit until the context ends.
	Acquire(ctx context.Context, connectionID string, limit int) (release func(), err error)
	// TryAcquire takes a permit only if one is there at once.
	TryAcquire(connectionID string, limit int) (release func(), taken bool)
}

// Health is told which connections' providers answer. Its methods are called again and again while nothing
// changes, so they must be quick, and must not wait.
type Health interface {
	// Down is called when calls of a connection are refused because a breaker is open.
	Down(connectionID string)
	// Up is called when a provider has answered a call of a connection.
	Up(connectionID string)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Deadline, 8*time.Second)
	setDefault(&o.TryTimeout, 5*time.Second)
	setDefault(&o.WriteGrace, 15*time.Second)
	setDefault(&o.MaxTries, 3)
	setDefault(&o.BackoffBase, 100*time.Millisecond)
	setDefault(&o.BackoffMax, time.Second)
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
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
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

// Guard holds the breakers, budgets and permits. Safe for concurrent use.
type Guard struct {
	options     Options
	hosts       *registry
	connections *registry
	open        openBreakers

	stopping context.Context // ends when Close gives up waiting
	stop     context.CancelFunc

	mu      sync.Mutex
	running int // calls and attempts that have not ended
	closed  bool
	idle    chan struct{} // closed by the last exit after Close
}

// New returns a guard.
func New(o Options) *Guard {
	o = o.withDefaults()
	g := &Guard{options: o, idle: make(chan struct{})}
	g.stopping, g.stop = context.WithCancel(context.Background())
	g.hosts = newRegistry("host", &g.open, o, o.MaxHosts, o.BreakerConnections)
	g.connections = newRegistry("connection", &g.open, o, o.MaxConnections, 1)
	return g
}

// WriteGrace returns how long a write may go on after its caller's deadline. A lease on what the write
// changes has to last that much longer.
func (g *Guard) WriteGrace() time.Duration { return g.options.WriteGrace }

// Breaker returns the state of a connection's circuit breaker: "closed", "half-open" or "open".
func (g *Guard) Breaker(connectionID string) string { return g.connections.peek(connectionID).String() }

// Do calls a driver under the guard's rules. The error is a *fault.Error. The driver runs in its own
// goroutine, may run several times, and may still be running when Do has returned. So it must return its
// result and must not set variables of its caller.
func Do[T any](
	ctx context.Context, g *Guard, t Target, op Op, call func(context.Context) (T, error),
) (T, error) {
	var none T
	result, f := g.do(ctx, t, op, func(ctx context.Context) (any, error) { return call(ctx) })
	if f != nil {
		return none, f
	}
	typed, _ := result.(T) // fails only for a nil interface, where the zero value is right
	return typed, nil
}

// do makes a call and records its metrics.
func (g *Guard) do(ctx context.Context, t Target, op Op, driver driverCall) (any, *fault.Error) {
	labels := telemetry.CallLabels{Kind: t.Kind, Provider: t.Provider, Operation: op.Name}
	started := time.Now()
	ctx, span := telemetry.StartCall(ctx, labels, t.Connection, 0)
	result, f := g.callWithPermit(ctx, &call{guard: g, target: t, op: op, labels: labels, driver: driver})
	span.End(outcome(f), reason(f))
	g.options.Metrics.Call(labels, outcome(f), time.Since(started))
	return result, f
}

func outcome(f *fault.Error) string {
	if f == nil {
		return "ok"
	}
	return string(f.Code)
}

func reason(f *fault.Error) string {
	if f == nil {
		return ""
	}
	return f.Reason
}

// callWithPermit sets the total deadline and takes a permit.
func (g *Guard) callWithPermit(ctx context.Context, c *call) (any, *fault.Error) {
	if !g.enter() {
		return nil, unsent(fault.Unavailable, fault.ReasonOverloaded,
			"The gateway is shutting down. Try again.", time.Second)
	}
	defer g.exit()
	ctx, cancel := context.WithTimeout(ctx, g.options.Deadline)
	defer cancel()

	c.host = g.hosts.pin(HostOf(c.target.Kind, c.target.Provider, c.target.Host), c.target.Provider)
	defer g.hosts.unpin(c.host)
	c.connection = g.connections.pin(c.target.Connection, c.target.Provider)
	defer g.connections.unpin(c.connection)

	permit, f := c.admit(ctx)
	if f != nil {
		return nil, f
	}
	c.permit = permit
	defer func() { c.permit.release() }()
	c.host.budget.first(time.Now())
	return c.retrying(ctx)
}

// admit takes a permit. If a breaker is not closed, admit does not queue: the queue behind calls that hang is
// long, and waiting in it is useless.
func (c *call) admit(ctx context.Context) (*permit, *fault.Error) {
	doubtful, open := c.inDoubt()
	if open {
		c.report(failure)
		return nil, doubtful.refused()
	}
	if doubtful == nil {
		return c.acquire(ctx)
	}
	permit := c.tryAcquire(ctx, probeWait)
	if permit == nil {
		return nil, doubtful.refused()
	}
	return permit, nil
}
