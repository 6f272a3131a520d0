package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/pause"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
)

// renewal gets a token for a connection; several calls may wait for it. It continues when they leave, since a
// cancelled redeem may have used up its refresh token.
type renewal struct {
	tenantID, connectionID string
	// A call waits for it. If false, it only renews a token that is due, and waits for no other replica.
	urgent  bool
	refused string // an access token that the provider refused, whatever the store says
	forced  forcedRenewals
	onDone  func()

	// Guarded by TokenSource.mu:
	forgotten bool      // its result is not cached
	provider  string    // the provider whose token endpoint is called; "" until it is known
	since     time.Time // when the renewal began, here or at the replica that holds the lease
	unsaved   error     // why the store did not take the new tokens yet, or nil

	usable  chan struct{} // closed once there is an entry that calls can use meanwhile
	stalled chan struct{} // closed once calls no longer wait for it
	done    chan struct{}

	meanwhile *entry // set before usable is closed
	entry     *entry // set before done is closed; nil without err: there is nothing to report
	err       error
}

// get returns an entry with an access token other than the refused one, unless the provider issues that again. If none
// is cached, it starts a renewal or joins the one under way.
func (s *TokenSource) get(ctx context.Context, wanted *renewal) (*entry, error) {
	refused := wanted.refused
	for {
		if e := s.cache.get(wanted.connectionID, s.options.Now()); e != nil &&
			(e.err != nil || e.access != refused) {
			return e, e.err
		}
		own := *wanted
		waiting, span := telemetry.StartSpan(ctx, "wait for a token")
		r := s.begin(waiting, &own)
		if r == nil {
			span.End("", fault.ReasonOverloaded)
			return nil, closing()
		}
		e, err := s.await(waiting, r, refused)
		span.End("", fault.ReasonOf(err))
		if e != nil || err != nil {
			return e, err
		}
	}
}

// await returns the result of a renewal, or the entry that may be used meanwhile. It returns nil if neither
// helps, because the renewal was started for another purpose. It stops waiting once the renewal has stalled.
func (s *TokenSource) await(ctx context.Context, r *renewal, refused string) (*entry, error) {
	usable := r.usable
	for {
		select { // the result takes precedence over all other channels that are ready
		case <-r.done:
			return r.outcome(refused)
		default:
		}
		select { // and the entry over the end of the wait
		case <-usable:
			if e := r.meanwhile; e.access != refused {
				return e, nil
			}
			usable = nil
		default:
		}
		select {
		case <-r.done:
		case <-usable:
		case <-r.stalled:
			return nil, s.stalledFault(r)
		case <-ctx.Done():
			return nil, fault.From(ctx.Err())
		}
	}
}

// outcome returns the result of a renewal that is done.
func (r *renewal) outcome(refused string) (*entry, error) {
	switch {
	case r.urgent && r.err != nil:
		return nil, r.err
	case r.entry != nil && r.entry.err != nil:
		return nil, r.entry.err
	case r.entry != nil && (r.entry.access != refused || r.refused == refused):
		return r.entry, nil
	}
	return nil, nil
}

// stalledFault returns the error for calls that no longer wait for a renewal. It is the store's if the provider has
// answered. Otherwise, its RetryAfter is what is left of the redeem's time limit, at least one second.
func (s *TokenSource) stalledFault(r *renewal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.unsaved != nil {
		return r.unsaved
	}
	waited := s.options.Now().Sub(r.since)
	left := max(s.limits.Redeem-waited, time.Second).Round(time.Second)
	f := silent(cmp.Or(r.provider, "the provider"), waited)
	f.Detail += fmt.Sprintf(" Repeat the request in %d s.", int(left.Seconds()))
	f.RetryAfter = left
	return f
}

// silent returns the error for a token endpoint that has not answered for some time.
func silent(provider string, waited time.Duration) *fault.Error {
	return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
		"The sign-in service of %s has not answered for %d s: the connection's access could not be renewed.",
		provider, int(waited.Round(time.Second).Seconds())).With("provider", provider)
}

func closing() error {
	return fault.Unacted(fault.New(fault.Unavailable, fault.ReasonOverloaded,
		"The gateway is shutting down. Repeat the request shortly."))
}

// begin starts a renewal, or returns the one under way for the connection. It returns nil after Close. The
// renewal outlives ctx, and belongs to its trace.
func (s *TokenSource) begin(ctx context.Context, r *renewal) *renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if there, ok := s.renewals[r.connectionID]; ok {
		return there
	}
	r.done, r.usable, r.stalled = make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.since = s.options.Now()
	s.renewals[r.connectionID], s.running[r] = r, true
	go s.run(telemetry.FollowTrace(s.base, ctx), r)
	return r
}

func (s *TokenSource) run(ctx context.Context, r *renewal) {
	ctx, span := telemetry.StartWork(ctx, "renew tokens")
	span.Connection(r.connectionID)
	ctx, cancel := withLiveTimeout(ctx, s.limits.Renewal)
	defer cancel()
	began := r.since
	impatience := time.AfterFunc(s.limits.Patience, func() { s.stall(r) })
	r.err = parallel.Try(ctx, s.options.Log, func() (err error) { r.entry, err = s.obtain(ctx, r); return err })
	impatience.Stop()
	if r.err = asTimeout(ctx, r.err); r.err != nil && s.base.Err() != nil {
		r.err = closing()
	}
	span.End("", fault.ReasonOf(r.err))
	s.mu.Lock()
	if s.renewals[r.connectionID] == r {
		delete(s.renewals, r.connectionID)
	}
	if !r.forgotten {
		s.remember(r, s.options.Now().Sub(began))
	}
	delete(s.running, r)
	s.mu.Unlock()
	close(r.done)
	if r.onDone != nil {
		r.onDone()
	}
}

// stall ends the wait of calls for a renewal. The renewal itself continues.
func (s *TokenSource) stall(r *renewal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-r.stalled:
	default:
		close(r.stalled)
	}
}

// renewing records the provider whose token endpoint the renewal is about to call or wait for.
func (s *TokenSource) renewing(r *renewal, v view) {
	s.mu.Lock()
	r.provider = v.credentials.Client.Provider
	s.mu.Unlock()
}

// notSaved records that the store does not take the new tokens, which end with the process until it does.
func (s *TokenSource) notSaved(ctx context.Context, r *renewal, why error) {
	s.mu.Lock()
	first := r.unsaved == nil
	r.unsaved = why
	s.mu.Unlock()
	if first {
		s.options.Log.LogAttrs(ctx, slog.LevelWarn, "renewed tokens could not be stored yet; that is tried again until the "+
			"store is back", slog.String("tenant_id", r.tenantID), slog.String("connection", r.connectionID),
			slog.Any("error", why))
	}
}

// waiting stalls the renewal if another replica has held the lease for longer than a call's patience.
func (s *TokenSource) waiting(r *renewal, v view) {
	now := s.options.Now()
	since := v.row.LeaseUntil.Add(-s.limits.Lease)
	if !v.row.Leased(now) || now.Sub(since) < s.limits.Patience {
		return
	}
	s.mu.Lock()
	r.since = since
	s.mu.Unlock()
	s.stall(r)
}

// remember caches the result of a renewal. A connection that no call on this replica asks for is not cached.
func (s *TokenSource) remember(r *renewal, took time.Duration) {
	now := s.options.Now()
	switch {
	case r.entry != nil:
		if r.urgent || s.cache.has(r.connectionID) {
			s.cache.put(r.entry)
		}
	case r.err != nil && r.urgent:
		if there := s.cache.get(r.connectionID, now); there != nil && there.err == nil {
			return
		}
		// A response with status 429 may set the time of the next try.
		recall := max(s.limits.FailureTTL, min(fault.From(r.err).RetryAfter, time.Minute))
		e := &entry{connectionID: r.connectionID, err: r.err, until: now.Add(recall)}
		if took > s.limits.SlowFailure { // calls fail at once; one of them starts a new try every checkEvery
			e.until = now.Add(s.limits.RefusalTTL)
			e.checkAt.Store(now.Add(recall).UnixMilli())
		}
		s.cache.put(e)
	}
}

// view is the state of a connection's tokens at the time of a read.
type view struct {
	row         store.Tokens
	credentials Credentials
	known       bool         // there is a row, and its fingerprint matches the credentials
	stored      storedTokens // zero unless known
}

// refresh returns the refresh token in force, or "" if there is none.
func (v view) refresh() string {
	return cmp.Or(v.stored.Refresh, v.credentials.Refresh)
}

// obtainable reports whether a token can be requested: Consent needs a refresh token, other flows need none.
func (v view) obtainable() bool {
	return v.credentials.Client.Grant.Flow != adapter.Consent || v.refresh() != ""
}

// read reads the row before the credentials. If the credentials change in between, the row changes too and
// leasing it fails, so the two never get mixed up.
func (s *TokenSource) read(ctx context.Context, tenantID, connectionID string) (v view, err error) {
	var found bool
	if v.row, found, err = s.options.Store.Tokens(ctx, tenantID, connectionID); err != nil {
		return v, err
	}
	if !found {
		v.row = store.Tokens{TenantID: tenantID, ConnectionID: connectionID}
	}
	if v.credentials, err = s.options.Credentials(ctx, tenantID, connectionID); err != nil ||
		v.row.Sealed == nil {
		return v, err
	}
	stored, err := s.unseal(v.row)
	if err == nil && stored.Fingerprint == v.credentials.Fingerprint {
		v.stored, v.known = stored, true
	}
	return v, err
}

var (
	// errBusy means that another replica renews the tokens, or that there are newer ones.
	errBusy = errors.New("oauth: someone else renews the tokens")
	// errTaken is the errBusy for a turn that is still held although the lease has expired: its holder is
	// stopped, or about to end.
	errTaken = fmt.Errorf("%w, and does not go on", errBusy)
)

// obtain reads usable tokens from the store, or renews them.
func (s *TokenSource) obtain(ctx context.Context, r *renewal) (*entry, error) {
	for {
		v, err := s.read(ctx, r.tenantID, r.connectionID)
		if err != nil {
			s.setAside(ctx, r, v, err)
			return nil, err
		}
		now := s.options.Now()
		usable := v.stored.usable(now, r.refused)
		due := !v.row.RefreshAt.IsZero() && !now.Before(v.row.RefreshAt)
		switch {
		case v.known && v.row.Refused:
			return s.refusedEntry(r, v), nil
		case usable && (r.urgent || !due):
			return s.entryOf(r, v), nil
		case !r.urgent && !due:
			return nil, nil
		case !v.obtainable():
			err := notYet(v.credentials)
			s.setAside(ctx, r, v, err)
			return nil, err
		}
		s.renewing(r, v)
		if usable { // renewed ahead of time: no call has to wait for the provider
			r.meanwhile = s.entryOf(r, v)
			close(r.usable)
		}
		e, err := s.renew(ctx, r, v)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, errBusy):
			return nil, err
		case !r.urgent && usable:
			return s.entryOf(r, v), nil
		case !r.urgent:
			return nil, nil
		}
		s.waiting(r, v)
		wait := s.limits.LeasePoll
		if errors.Is(err, errTaken) {
			wait = s.limits.TakeoverPoll
		}
		if pause.For(ctx, jitter(wait)) != nil {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
				"The connection's access could not be renewed in time. Repeat the request shortly.")
		}
	}
}

func (s *TokenSource) entryOf(r *renewal, v view) *entry {
	e := &entry{
		connectionID: r.connectionID, access: v.stored.Access, instance: v.stored.Instance,
		until: v.stored.goodUntil(), forced: r.forced,
	}
	if !v.row.RefreshAt.IsZero() {
		// The jitter gives Run time to renew it first.
		e.checkAt.Store(v.row.RefreshAt.Add(jitter(checkEvery)).UnixMilli())
	}
	return e
}

func (s *TokenSource) refusedEntry(r *renewal, v view) *entry {
	return &entry{
		connectionID: r.connectionID, err: refusedFault(v.credentials.Client.Provider),
		until: s.options.Now().Add(s.limits.RefusalTTL),
	}
}

func refusedFault(provider string) *fault.Error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"%s does not accept the connection's authorization any more. Connect the account again.", provider).
		With("provider", provider)
}

func notYet(s Credentials) *fault.Error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"The connection was not connected to %s yet: its customer has to agree once.", s.Client.Provider).
		With("provider", s.Client.Provider)
}

// setAside postpones a row that is due but cannot be renewed for reasons within the gateway.
func (s *TokenSource) setAside(ctx context.Context, r *renewal, v view, why error) {
	if r.urgent || v.row.RefreshAt.IsZero() {
		return
	}
	leased, err := s.lease(ctx, &v)
	if err != nil || !leased {
		return // it stays due
	}
	s.postpone(ctx, r, v, why)
}
