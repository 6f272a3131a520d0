package apikey

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/pause"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/singleflight"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

const (
	housekeeping = time.Minute // how often last uses are written and expired keys are dropped from memory
	lookEvery    = time.Second // how often it is asked what has changed
)

// CallerOptions configure [Callers]. All fields but InUse are required.
type CallerOptions struct {
	Store    *store.Store
	Vault    *vault.Vault
	Registry adapter.Registry
	Now      func() time.Time
	Log      *slog.Logger

	// InUse is called when a key is used after a pause, such as with the first request of a telephone call. It
	// must not wait. May be nil.
	InUse func(connection.Set)
}

// Callers identifies the callers of requests, mostly from a cache in memory. It is safe for concurrent use.
// Create it with [NewCallers].
type Callers struct {
	opts    CallerOptions
	sealer  sealing.Sealer
	answers *answers
	fetches *singleflight.Group
	used    *usage

	stop context.CancelFunc
	done sync.WaitGroup // waits for maintain and follow to return
}

// NewCallers returns new Callers and starts their housekeeping; Close ends it.
func NewCallers(o CallerOptions) *Callers {
	ctx, stop := context.WithCancel(context.Background())
	c := &Callers{
		opts: o, sealer: sealing.New(o.Vault), answers: newAnswers(), fetches: singleflight.NewGroup(),
		used: &usage{at: map[string]time.Time{}}, stop: stop,
	}
	c.done.Go(func() { parallel.Lasting(ctx, c.opts.Log, c.maintain) })
	c.done.Go(func() { parallel.Lasting(ctx, c.opts.Log, c.follow) })
	return c
}

// Close ends the housekeeping and all fetches, waits for them, and writes the last uses of keys. Afterwards
// Authenticate fails for keys that are not cached.
func (c *Callers) Close() {
	c.stop()
	c.fetches.Close()
	c.done.Wait()
}

// maintain writes when keys were used and drops old answers from memory, until ctx ends.
func (c *Callers) maintain(ctx context.Context) {
	tick := time.NewTicker(housekeeping)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			used := c.used.take()
			c.answers.sweep(c.opts.Now(), used)
			c.writeUsage(ctx, used)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			c.writeUsage(last, c.used.take())
			return
		}
	}
}

// follow looks for changes that other processes make to what is cached, until ctx ends. As long as it hears of them in
// time, calls wait for no query. Otherwise each key is looked up again every two seconds.
func (c *Callers) follow(ctx context.Context) {
	for pause.For(ctx, lookEvery) == nil {
		c.look(ctx)
	}
}

func (c *Callers) look(ctx context.Context) {
	from, needed := c.answers.place()
	if !needed {
		return
	}
	began := c.opts.Now()
	changed, now, whole, err := c.opts.Store.DirectoryChanges(ctx, from)
	if err == nil { // else whoever calls is told, when the key is looked up
		c.answers.learn(began, c.opts.Now(), changed, now, whole)
	}
}

// Forget drops all cached keys. Call it after this process has changed keys, tenants or connections.
func (c *Callers) Forget() { c.answers.forget() }

// ErrKey is the error for a key that is not valid. It does not say whether the key is mistyped, unknown or revoked:
// that would only help an attacker.
var ErrKey = fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey,
	"The API key is not valid: it is mistyped, unknown or revoked.")

// FormerKey is the error for a key or a voice agent that was valid before. For the operator's log, it tells whose.
type FormerKey struct {
	ID     string
	Tenant string // its name; "" for a key of the operator
	Why    string
	Err    error // what its caller may know: that it is not valid
}

// Error returns a text for logs.
func (f *FormerKey) Error() string { return f.Err.Error() + " [" + f.Why + "]" }

// Unwrap returns what its caller may know.
func (f *FormerKey) Unwrap() error { return f.Err }

// Authenticate returns the caller that a key belongs to, or [ErrKey] or a [FormerKey] if the key is not valid. A
// malformed or mistyped key is refused without a query. The returned Caller is shared and must not be
// modified.
func (c *Callers) Authenticate(ctx context.Context, key string) (Caller, error) {
	hash, ok := hashKey(key)
	if !ok {
		return Caller{}, ErrKey
	}
	known, err := c.known(ctx, hash, func(ctx context.Context) (knownKey, error) { return c.load(ctx, hash) })
	if err != nil {
		return Caller{}, err
	}
	if known.invalid != nil {
		return Caller{}, known.invalid
	}
	c.Used(known.caller)
	return known.caller, nil
}

// known returns a cached answer, or what load returns.
func (c *Callers) known(
	ctx context.Context, hash secret.Hash, load func(context.Context) (knownKey, error),
) (knownKey, error) {
	now := c.opts.Now()
	known, life, generation := c.answers.find(hash, now)
	age := now.Sub(known.at)
	if known.at.IsZero() || !within(age, life) {
		var err error
		known, err = singleflight.Do(ctx, c.fetches, fetchKey(hash, generation), c.fetch(hash, generation, load))
		if err != nil {
			return knownKey{}, err
		}
	} else if known.invalid == nil && age >= life/2 { // refreshed ahead of time, so that no call waits
		singleflight.Start(c.fetches, fetchKey(hash, generation), c.fetch(hash, generation, load))
	}
	return known, nil
}

// Used notes that a caller makes a request. For a voice agent, it is called once the request has proved to come from
// the agent's platform; for a key, Authenticate does it.
func (c *Callers) Used(caller Caller) {
	if c.used.touch(caller.KeyID, c.opts.Now()) && c.opts.InUse != nil {
		c.opts.InUse(caller.Connections)
	}
}

// CallerOf returns a caller for the gateway's own work on one connection, such as settling operations that a
// crash left open. The caller has no key and no scopes, and reaches only that connection.
func (c *Callers) CallerOf(ctx context.Context, tenantID, connectionID string) (Caller, error) {
	t, err := tenant.ByID(ctx, c.opts.Store, tenantID)
	if err != nil {
		return Caller{}, err
	}
	row, err := c.opts.Store.Connection(ctx, tenantID, connectionID)
	if err != nil {
		return Caller{}, err
	}
	reached, err := connection.Of(row)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Tenant: t, Connections: connection.Set{reached.Kind: reached}}, nil
}

// Person returns the caller for what somebody tries by hand: like a key of the tenant with these scopes and
// connections, without being one. In the place of a key's id, its KeyID names the person as the audit does.
func (c *Callers) Person(ctx context.Context, name string, of tenant.Tenant, s Spec) (Caller, error) {
	all, err := connection.OfTenant(ctx, c.opts.Store, of.ID)
	if err != nil {
		return Caller{}, err
	}
	as := store.APIKey{Test: s.Test}
	for _, each := range all {
		if slices.Contains(s.Connections, each.Name) {
			as.Connections = append(as.Connections, each.ID)
		}
	}
	return Caller{
		Tenant: of, KeyID: audit.Person(name), Scopes: s.Scopes, Test: s.Test,
		Connections: reach(as, all, c.opts.Registry),
	}, nil
}

// fetchKey returns the single-flight key of a fetch. It contains the generation, so that a call made after
// Forget does not share a fetch that began before it.
func fetchKey(hash secret.Hash, generation uint64) string {
	return hex.EncodeToString(hash[:]) + " " + strconv.FormatUint(generation, 10)
}

// fetch returns a function that looks a key up with load and caches the result.
func (c *Callers) fetch(
	hash secret.Hash, generation uint64, load func(context.Context) (knownKey, error),
) func(context.Context) (knownKey, error) {
	return func(ctx context.Context) (knownKey, error) {
		asked := c.opts.Now()
		answer, err := load(ctx)
		if err != nil && !errors.Is(err, fault.Unauthenticated) {
			return knownKey{}, err
		}
		answer.invalid, answer.at = err, asked
		c.answers.keep(hash, answer, generation)
		return answer, nil
	}
}

// load reads the key of a hash.
func (c *Callers) load(ctx context.Context, hash secret.Hash) (knownKey, error) {
	owner, err := c.opts.Store.KeyOwnerByHash(ctx, hash[:])
	if errors.Is(err, fault.NotFound) {
		return knownKey{}, ErrKey
	}
	if err != nil {
		return knownKey{}, err
	}
	if subtle.ConstantTimeCompare(owner.Key.Hash, hash[:]) != 1 || owner.Key.Platform != "" {
		return knownKey{}, ErrKey
	}
	caller, err := c.callerOf(ctx, owner)
	return knownKey{caller: caller, ends: owner.Key.EndsAt, server: owner.Server}, err
}

// callerOf returns the caller of a key. It fails with fault.Unauthenticated if the key is not in force or not
// as the gateway wrote it, and with fault.Unavailable if the key set, which tells that, cannot be read.
func (c *Callers) callerOf(ctx context.Context, owner store.KeyOwner) (Caller, error) {
	key := owner.Key
	if !key.InForce(c.opts.Now()) {
		why := key.ID + " was rolled, and has ended"
		if !key.RevokedAt.IsZero() {
			why = key.ID + " was revoked at " + key.RevokedAt.UTC().Format(time.RFC3339)
		}
		return Caller{}, &FormerKey{ID: key.ID, Tenant: owner.Tenant.Name, Why: why, Err: ErrKey}
	}
	what, err := c.sealer.WrongKey(key)
	if err != nil { // the key may be in force
		c.opts.Log.ErrorContext(ctx, "an API key cannot be checked, because the key set cannot be read; make it "+
			"readable for the user that the gateway runs as", "key", key.ID, "tenant_id", key.TenantID,
			"error", errors.Unwrap(err))
		return Caller{}, err
	}
	if what != "" {
		c.opts.Log.ErrorContext(ctx,
			"an API key is refused: its row is not as the gateway wrote it; run frontdesk doctor",
			"key", key.ID, "tenant_id", key.TenantID, "what", "the row "+what)
		return Caller{}, ErrKey
	}
	caller := Caller{KeyID: key.ID, Test: key.Test}
	for _, s := range key.Scopes {
		caller.Scopes = append(caller.Scopes, Scope(s))
	}
	if key.TenantID == "" {
		return caller, nil
	}
	if owner.Tenant.ID == "" { // deleted since
		return Caller{}, ErrKey
	}
	if caller.Tenant, err = tenant.Of(owner.Tenant); err != nil {
		return Caller{}, err
	}
	connections, err := connection.OfRows(owner.Connections)
	if err != nil {
		return Caller{}, err
	}
	if !slices.Contains(caller.Scopes, ScopeAdminRead) {
		caller.Connections = reach(key, connections, c.opts.Registry)
	}
	return caller, nil
}

// reach returns the connections a key reaches: those it is bound to, and the tenant's defaults for other
// kinds. If a connection it is bound to was removed, the kind of that connection is unknown, so no defaults
// are used at all. For a test key, the oldest sandbox connection of a kind replaces a default that is not a
// sandbox.
func reach(key store.APIKey, all []connection.Connection, r adapter.Registry) connection.Set {
	reach := make(connection.Set, len(adapter.Kinds()))
	bound := 0
	for _, c := range all {
		if !slices.Contains(key.Connections, c.ID) {
			continue
		}
		bound++
		if !key.Test || c.IsSandbox(r) {
			reach[c.Kind] = c
		}
	}
	if bound < len(key.Connections) {
		return reach
	}
	boundKinds := make(map[adapter.Kind]bool, bound)
	for _, c := range all {
		boundKinds[c.Kind] = boundKinds[c.Kind] || slices.Contains(key.Connections, c.ID)
	}
	for _, c := range all {
		if boundKinds[c.Kind] || key.Test && !c.IsSandbox(r) {
			continue
		}
		chosen, have := reach[c.Kind]
		better := !have || c.CreatedAt.Before(chosen.CreatedAt) && !chosen.IsDefault
		if c.IsDefault || key.Test && better {
			reach[c.Kind] = c
		}
	}
	return reach
}
