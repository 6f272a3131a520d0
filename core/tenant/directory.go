// Package tenant knows the tenants, their connections and their API keys, and opens the drivers that
// connections stand for. A request comes in with a key and leaves with a driver:
//
//	caller, err := directory.Authenticate(ctx, key)
//	err = caller.Require(tenant.ScopeCalendarWrite)
//	open, err := directory.Calendar(ctx, caller)
//	event, err := open.Driver.Book(ctx, booking)
//
// What it promises: a key that is mistyped costs no query; one that is revoked stops working within
// Options.CacheFor on every replica; a fd_test_ key reaches sandbox connections only; a driver is opened once
// and kept until its connection changes; a credential leaves the vault only to be put on a request to the
// provider it belongs to, and is in no error, log line or listing.
//
// What it does not do: it neither guards nor retries calls, and it does not know what a driver's answers
// mean.
package tenant

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/oauth"
	"frontdesk/core/singleflight"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

// Options are what a directory works with. Store, Vault, Registry and Pool are needed.
type Options struct {
	Store    *store.Store
	Vault    *vault.Vault
	Registry adapter.Registry
	Pool     *upstream.Pool
	// Operators are what the configuration says of providers, by their names.
	Operators map[string]adapter.Operator
	Now       func() time.Time   // the clock; time.Now when nil
	Log       *slog.Logger       // nothing is logged when nil
	CacheFor  time.Duration      // how long an answer about a key may be used; 2 s when 0
	Owner     string             // names this process in leases
	Metrics   *telemetry.Metrics // may be nil
	Audit     *audit.Log         // of changes; nil: none is recorded
	Drivers   int                // how many are kept open; 10,000 when 0
}

// Directory is the tenants, connections and keys of a gateway. It is safe for concurrent use. Make one with
// [NewDirectory].
type Directory struct {
	store     *store.Store
	vault     *vault.Vault
	registry  adapter.Registry
	pool      *upstream.Pool
	operators map[string]adapter.Operator
	now       func() time.Time
	log       *slog.Logger
	cacheFor  time.Duration
	audit     *audit.Log

	tokens    *oauth.TokenSource
	consented tokenStore // of the tokens that consents give: tokens
	callers   *callers
	drivers   *drivers
	used      *usage
	fetches   *singleflight.Group

	stop context.CancelFunc
	done sync.WaitGroup // what runs until stop
}

// housekeeping is how often last uses are written and answers that are too old are dropped.
const housekeeping = time.Minute

// NewDirectory makes a directory and starts its housekeeping; Close ends it.
func NewDirectory(o Options) *Directory {
	d := &Directory{
		store: o.Store, vault: o.Vault, registry: o.Registry, pool: o.Pool, operators: o.Operators,
		now: o.Now, log: o.Log, cacheFor: o.CacheFor, audit: o.Audit,
		used: &usage{at: map[string]time.Time{}},
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.cacheFor == 0 {
		d.cacheFor = 2 * time.Second
	}
	if o.Drivers == 0 {
		o.Drivers = 10_000
	}
	d.callers, d.drivers = newCallers(), newDrivers(o.Drivers)
	d.tokens = oauth.NewTokenSource(oauth.Options{
		Store: d.store, Vault: d.vault, Credentials: d.tokenCredentials, Owner: o.Owner, Now: d.now, Log: d.log, Metrics: o.Metrics,
		Changed: func(string) { d.callers.forget() },
	})
	d.consented = d.tokens
	ctx, stop := context.WithCancel(context.Background())
	d.stop, d.fetches = stop, singleflight.NewGroup()
	d.done.Go(func() { d.keepHouse(ctx) })
	return d
}

// Run renews access tokens ahead of time until ctx ends, and finishes what it is about then.
func (d *Directory) Run(ctx context.Context) { d.tokens.Run(ctx) }

// Close ends what runs, waits for it, and writes the last uses of keys. Calls after it fail.
func (d *Directory) Close() {
	d.tokens.Close()
	d.stop()
	d.fetches.Close()
	d.done.Wait()
}

// keepHouse runs until ctx ends.
func (d *Directory) keepHouse(ctx context.Context) {
	tick := time.NewTicker(housekeeping)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.writeUsage(ctx)
			d.callers.sweep(d.now().Add(-d.cacheFor))
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			d.writeUsage(last)
			return
		}
	}
}
