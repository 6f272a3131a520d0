package tenant

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/singleflight"
	"frontdesk/core/store"
)

// Authenticate returns whose key it is and what the key reaches; fault.Unauthenticated when it is not a key
// in force. A key that is malformed or mistyped is refused without a query. What is answered is shared: it
// must not be changed.
func (d *Directory) Authenticate(ctx context.Context, key string) (Caller, error) {
	hash, ok := hashKey(key)
	if !ok {
		return Caller{}, badKey()
	}
	now := d.now()
	known, generation := d.callers.find(hash)
	age := now.Sub(known.at)
	if known.at.IsZero() || age >= d.cacheFor || age < 0 {
		var err error
		known, err = singleflight.Do(ctx, d.fetches, callerFetchKey(hash, generation), d.callerFetch(hash, generation))
		if err != nil {
			return Caller{}, err
		}
	} else if known.valid && age >= d.cacheFor/2 { // asked for ahead of time, so that no call waits
		singleflight.Start(d.fetches, callerFetchKey(hash, generation), d.callerFetch(hash, generation))
	}
	if !known.valid {
		return Caller{}, badKey()
	}
	d.used.touch(known.caller.KeyID, now)
	return known.caller, nil
}

// CallerOf returns a caller for work of the gateway's own on one connection, such as settling what a crash
// left open. It has no key and no scope, and reaches that connection alone.
func (d *Directory) CallerOf(ctx context.Context, tenantID, connectionID string) (Caller, error) {
	owner, err := d.store.TenantByID(ctx, tenantID)
	if err != nil {
		return Caller{}, err
	}
	row, err := d.store.Connection(ctx, tenantID, connectionID)
	if err != nil {
		return Caller{}, err
	}
	t, err := tenantOf(owner)
	if err != nil {
		return Caller{}, err
	}
	c, err := connectionOf(row)
	if err != nil {
		return Caller{}, err
	}
	return Caller{Tenant: t, Connections: map[adapter.Kind]Connection{c.Kind: c}}, nil
}

// callerFetchKey names the fetch: calls after a change here must not take an answer from before it.
func callerFetchKey(hash secret.Hash, generation uint64) string {
	return "key " + hex.EncodeToString(hash[:]) + " " + strconv.FormatUint(generation, 10)
}

// callerFetch returns what asks the store about a key and remembers the answer.
func (d *Directory) callerFetch(hash secret.Hash, generation uint64) func(context.Context) (knownKey, error) {
	return func(ctx context.Context) (knownKey, error) {
		asked := d.now()
		caller, err := d.loadCaller(ctx, hash)
		if err != nil && !errors.Is(err, fault.Unauthenticated) {
			return knownKey{}, err
		}
		answer := knownKey{caller: caller, valid: err == nil, at: asked}
		d.callers.keep(hash, answer, generation)
		return answer, nil
	}
}

// loadCaller reads the key, its tenant and its connections from the store.
func (d *Directory) loadCaller(ctx context.Context, hash secret.Hash) (Caller, error) {
	key, err := d.store.KeyByHash(ctx, hash[:])
	if errors.Is(err, fault.NotFound) {
		return Caller{}, badKey()
	}
	if err != nil {
		return Caller{}, err
	}
	if subtle.ConstantTimeCompare(key.Hash, hash[:]) != 1 || !key.RevokedAt.IsZero() {
		return Caller{}, badKey()
	}
	if what := d.wrongKey(key); what != "" {
		d.log.ErrorContext(ctx, "an API key is refused: its row is not as the gateway wrote it; run frontdesk doctor",
			"key", key.ID, "tenant", key.TenantID, "what", "the row "+what)
		return Caller{}, badKey()
	}
	row, err := d.store.TenantByID(ctx, key.TenantID)
	if errors.Is(err, fault.NotFound) { // deleted since
		return Caller{}, badKey()
	}
	if err != nil {
		return Caller{}, err
	}
	owner, err := tenantOf(row)
	if err != nil {
		return Caller{}, err
	}
	connections, err := d.connectionsOf(ctx, key.TenantID)
	if err != nil {
		return Caller{}, err
	}
	caller := Caller{Tenant: owner, KeyID: key.ID, Test: key.Test, Connections: d.reached(key, connections)}
	for _, s := range key.Scopes {
		caller.Scopes = append(caller.Scopes, Scope(s))
	}
	return caller, nil
}

// reached returns the connections a key reaches: those it is bound to, and the tenant's defaults of other
// kinds. When a connection it is bound to is gone, its kind is not known any more, so that no default may
// take its place. For a test key the sandbox connection that was made first stands in for a default that is
// not a sandbox.
func (d *Directory) reached(key store.APIKey, all []Connection) map[adapter.Kind]Connection {
	reach := make(map[adapter.Kind]Connection, len(adapter.Kinds()))
	bound := 0
	for _, c := range all {
		if !slices.Contains(key.Connections, c.ID) {
			continue
		}
		bound++
		if !key.Test || d.isSandbox(c) {
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
		if boundKinds[c.Kind] || key.Test && !d.isSandbox(c) {
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

func (d *Directory) isSandbox(c Connection) bool {
	a, found := d.registry.Find(c.Kind, c.Provider)
	return found && a.Sandbox
}

// badKey does not say whether a key is mistyped, unknown or revoked: that helps only those who try keys.
func badKey() error {
	return fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey,
		"The API key is not valid: it is mistyped, unknown or revoked.")
}

// knownKey is what is remembered of a key.
type knownKey struct {
	caller Caller
	valid  bool
	at     time.Time // when the store was asked; zero: not remembered
}

// callers remembers what the store said about keys. Keys that are not valid have a small map of their own,
// so that whoever tries keys cannot push out those in use.
type callers struct {
	mu         sync.RWMutex
	generation uint64 // grows with every change made here
	valid      map[secret.Hash]knownKey
	invalid    map[secret.Hash]knownKey
}

// How many keys are remembered.
const (
	maxValid   = 200_000
	maxInvalid = 10_000
)

func newCallers() *callers {
	return &callers{valid: map[secret.Hash]knownKey{}, invalid: map[secret.Hash]knownKey{}}
}

func (c *callers) find(hash secret.Hash) (knownKey, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k, ok := c.valid[hash]; ok {
		return k, c.generation
	}
	return c.invalid[hash], c.generation
}

// keep remembers an answer, unless something changed here since it was asked for.
func (c *callers) keep(hash secret.Hash, k knownKey, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation != c.generation {
		return
	}
	delete(c.valid, hash)
	delete(c.invalid, hash)
	keys, limit := c.valid, maxValid
	if !k.valid {
		keys, limit = c.invalid, maxInvalid
	}
	for victim := range keys {
		if len(keys) < limit {
			break
		}
		delete(keys, victim) // any one: a full map is rare, and what is dropped is asked for again
	}
	keys[hash] = k
}

// forget drops everything, since something was changed here that answers may rest on.
func (c *callers) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	clear(c.valid)
	clear(c.invalid)
}

// sweep drops what was asked before the time given.
func (c *callers) sweep(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, keys := range []map[secret.Hash]knownKey{c.valid, c.invalid} {
		for hash, k := range keys {
			if k.at.Before(before) {
				delete(keys, hash)
			}
		}
	}
}
