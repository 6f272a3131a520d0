// Package requestlog keeps the last requests of each tenant with what they did at providers, for people who
// look for what happened: who asked, each call of a provider with its duration and status, and what was
// answered. It keeps no bodies and no words of callers or providers.
//
//	requests := requestlog.New(requestlog.Options{Store: s, PerTenant: 10_000, Age: 30 * 24 * time.Hour})
//	go requests.Run(ctx)
//	requests.Add(requestlog.Entry{...}) // never waits
//
// Requests are written in batches, in the background. A process that is killed loses those of its last
// second, and one whose store is away keeps the last few thousand: the log is for people, and decides
// nothing. What was changed is in the audit (core/audit), which loses nothing.
package requestlog

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/pause"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
)

// Options configure a [Log]. Store is required.
type Options struct {
	Store     *store.Store
	PerTenant int           // how many requests of a tenant are kept; 0: none, and Add does nothing
	Age       time.Duration // how long they are kept at most; 0: as long as PerTenant allows
	Now       func() time.Time
	Log       *slog.Logger
}

// Entry is one request.
type Entry struct {
	ID             string // unique, and sorted like At; set by Add
	TenantID       string
	At             time.Time // when it came
	RequestID      string
	KeyID          string
	ConnectionID   string // the connection that its key uses for the operation; "": none
	Operation      string
	IdempotencyKey string
	Replayed       bool // it was answered with the answer to an earlier request
	Status         int
	Reason         string // of a failure
	Took           time.Duration
	Tries          []telemetry.Try
	MoreTries      int // how many tries there were beyond those
}

// Filter selects requests of one tenant. Zero values do not restrict, except TenantID and Limit.
type Filter = store.RequestFilter

const (
	writeEvery = time.Second
	maxWaiting = 4096 // entries; later ones are dropped until the store has taken some
	batch      = 64   // rows of one transaction, which other writers wait for: a few milliseconds
	pruneEvery = 500  // the most requests of a tenant between two looks at how many there are
	pruneMost  = 1000 // requests removed at a time
	ageEvery   = 10 * time.Minute
)

// Log is the log of requests. It is safe for concurrent use. Create one with [New].
type Log struct {
	opts Options

	mu      sync.Mutex
	waiting []Entry
	dropped int

	added map[string]int // by tenant, since the last look; used by Run only
}

// New returns a log.
func New(o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{opts: o, added: map[string]int{}}
}

// Add adds a request. It never waits. If the store does not take requests for a while, later ones are
// dropped.
func (l *Log) Add(e Entry) {
	if l.opts.PerTenant == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == maxWaiting {
		l.dropped++
		return
	}
	e.ID = secret.NewIDAt(e.At)
	l.waiting = append(l.waiting, e)
}

// Run writes requests and removes old ones until ctx ends.
func (l *Log) Run(ctx context.Context) {
	due := l.opts.Now()
	for pause.For(ctx, writeEvery) == nil {
		l.write(ctx)
		l.prune(ctx)
		if !l.opts.Now().Before(due) {
			due = l.age(ctx)
		}
	}
}

// Close writes the requests that wait. Call it when no more are added and Run has returned.
func (l *Log) Close(ctx context.Context) { l.write(ctx) }

// write stores what waits. What could not be stored waits on.
func (l *Log) write(ctx context.Context) {
	l.mu.Lock()
	taken, dropped := l.waiting, l.dropped
	l.waiting, l.dropped = nil, 0
	l.mu.Unlock()
	if dropped > 0 {
		l.opts.Log.WarnContext(ctx, "requests are missing in the log of requests, because the store was too slow",
			"dropped", dropped)
	}
	for len(taken) > 0 {
		some := taken[:min(batch, len(taken))]
		if err := l.opts.Store.AddRequests(ctx, rows(some)); err != nil {
			if ctx.Err() == nil {
				l.opts.Log.WarnContext(ctx, "the log of requests could not be written; the gateway will try again",
					"error", err)
			}
			l.putBack(taken)
			return
		}
		for _, e := range some {
			if _, known := l.added[e.TenantID]; !known {
				l.added[e.TenantID] = pruneEvery // nobody knows what an earlier process has left
			}
			l.added[e.TenantID]++
		}
		taken = taken[len(some):]
	}
}

func (l *Log) putBack(taken []Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(taken, l.waiting...)
	if over := len(l.waiting) - maxWaiting; over > 0 {
		l.dropped += over
		l.waiting = l.waiting[:maxWaiting]
	}
}

func rows(entries []Entry) []store.Request {
	all := make([]store.Request, 0, len(entries))
	for _, e := range entries {
		all = append(all, rowOf(e))
	}
	return all
}

// prune removes what is too much of the tenants that many requests were added of: a twentieth of what is kept.
func (l *Log) prune(ctx context.Context) {
	many := max(1, min(pruneEvery, l.opts.PerTenant/20))
	for tenantID, added := range l.added {
		if added < many {
			continue
		}
		removed, err := l.opts.Store.PurgeRequests(ctx, tenantID, l.opts.PerTenant, pruneMost)
		l.warn(ctx, err)
		if err == nil && removed < pruneMost {
			l.added[tenantID] = 0
		}
	}
}

// age removes requests that are too old, or all where none are to be kept, a batch at a time. It returns when to do so
// again.
func (l *Log) age(ctx context.Context) (next time.Time) {
	now := l.opts.Now()
	before := now.Add(-l.opts.Age)
	switch {
	case l.opts.PerTenant == 0:
		before = now
	case l.opts.Age == 0:
		return now.Add(ageEvery)
	}
	removed, err := l.opts.Store.PurgeRequestsBefore(ctx, before, pruneMost)
	l.warn(ctx, err)
	if removed == pruneMost {
		return now
	}
	return now.Add(ageEvery)
}

func (l *Log) warn(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		l.opts.Log.WarnContext(ctx, "old requests could not be removed from the log; the gateway will try again",
			"error", err)
	}
}

// List lists the newest requests that match, the newest first.
func (l *Log) List(ctx context.Context, f Filter) ([]Entry, error) {
	rows, err := l.opts.Store.Requests(ctx, f)
	entries := make([]Entry, 0, len(rows))
	for _, r := range rows {
		entries = append(entries, entryOf(r))
	}
	return entries, err
}

// Get returns a tenant's request by its ID, and whether there is one.
func (l *Log) Get(ctx context.Context, tenantID, id string) (Entry, bool, error) {
	row, found, err := l.opts.Store.Request(ctx, tenantID, id)
	return entryOf(row), found, err
}

// tries is how the calls of providers are stored.
type tries struct {
	Tries []telemetry.Try `json:"tries,omitempty"`
	More  int             `json:"more,omitempty"`
}

func rowOf(e Entry) store.Request {
	calls, err := json.Marshal(tries{e.Tries, e.MoreTries})
	if err != nil { // not for any value of these types
		calls = []byte("{}")
	}
	return store.Request{
		ID: e.ID, TenantID: e.TenantID, At: e.At, RequestID: e.RequestID, KeyID: e.KeyID,
		ConnectionID: e.ConnectionID, Operation: e.Operation, IdempotencyKey: e.IdempotencyKey,
		Replayed: e.Replayed, Status: e.Status, Reason: e.Reason, Took: e.Took, Tries: calls,
	}
}

func entryOf(r store.Request) Entry {
	var calls tries
	_ = json.Unmarshal(r.Tries, &calls) // one that cannot be read is shown without its calls
	return Entry{
		ID: r.ID, TenantID: r.TenantID, At: r.At, RequestID: r.RequestID, KeyID: r.KeyID,
		ConnectionID: r.ConnectionID, Operation: r.Operation, IdempotencyKey: r.IdempotencyKey,
		Replayed: r.Replayed, Status: r.Status, Reason: r.Reason, Took: r.Took,
		Tries: calls.Tries, MoreTries: calls.More,
	}
}
