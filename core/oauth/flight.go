package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// flight is one endeavour to have a token of a connection, which several calls may wait for. It goes on when they leave: a
// redeem that is cut off may have spent its refresh token.
type flight struct {
	tenantID, connectionID string
	urgent                 bool   // a call waits for it; else it only renews what is due and does not wait for others
	refused                string // an access token that is none, whatever the store says
	insisted               insistence
	landed                 func()

	// Guarded by Keeper.mu:
	forgotten bool      // what it brings is not remembered
	provider  string    // whose sign-in service is asked; "" until that is known
	since     time.Time // when the renewal began, here or at the replica that has the lease

	usable chan struct{} // closed once there is a usable entry to go on with meanwhile
	hangs  chan struct{} // closed once calls are not to wait for it any more
	done   chan struct{}

	meanwhile *entry // set before usable is closed
	entry     *entry // set before done is closed; nil without err: there is nothing to tell
	err       error
}

// get answers an entry with an access token, waiting for the wanted flight, or another one, where there is none.
func (k *Keeper) get(ctx context.Context, wanted *flight) (*entry, error) {
	refused := wanted.refused
	for {
		if e := k.memory.get(wanted.connectionID, k.options.Now()); e != nil && (e.err != nil || e.access != refused) {
			return e, e.err
		}
		own := *wanted
		f := k.begin(&own)
		if f == nil {
			return nil, closing()
		}
		if e, err := k.await(ctx, f, refused); e != nil || err != nil {
			return e, err
		}
	}
}

// await answers what a flight brings, or what may be used while it goes on; nil where that does not help:
// others may have begun it for something else. It waits until the flight is known to hang.
func (k *Keeper) await(ctx context.Context, f *flight, refused string) (*entry, error) {
	usable := f.usable
	for {
		select {
		case <-f.done:
			return f.outcome(refused)
		default: // what it brought comes before all else that is ready
		}
		select {
		case <-f.done:
		case <-usable:
			if e := f.meanwhile; e.access != refused {
				return e, nil
			}
			usable = nil
		case <-f.hangs:
			return nil, k.hanging(f)
		case <-ctx.Done():
			return nil, fault.From(ctx.Err())
		}
	}
}

// outcome is of a flight that is done.
func (f *flight) outcome(refused string) (*entry, error) {
	switch {
	case f.urgent && f.err != nil:
		return nil, f.err
	case f.entry != nil && f.entry.err != nil:
		return nil, f.entry.err
	case f.entry != nil && f.entry.access != refused:
		return f.entry, nil
	}
	return nil, nil
}

// hanging is what calls are told about a flight that they do not wait for. It says when there will be news: a
// renewal ends with its limit.
func (k *Keeper) hanging(f *flight) *fault.Error {
	k.mu.Lock()
	defer k.mu.Unlock()
	waited := k.options.Now().Sub(f.since)
	left := max(k.limits.Redeem-waited, time.Second).Round(time.Second)
	told := silent(cmp.Or(f.provider, "the provider"), waited)
	told.Detail += fmt.Sprintf(" Repeat the request in %d s.", int(left.Seconds()))
	told.RetryAfter = left
	return told
}

// silent is for a sign-in service that did not answer for a time.
func silent(provider string, waited time.Duration) *fault.Error {
	return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
		"The sign-in service of %s has not answered for %d s: the connection's access could not be renewed.",
		provider, int(waited.Round(time.Second).Seconds())).With("provider", provider)
}

func closing() error {
	f := fault.New(fault.Unavailable, fault.ReasonOverloaded, "The gateway is shutting down. Repeat the request shortly.")
	f.Unsent = true
	return f
}

// begin begins a flight, or answers the one that is under way for the connection; nil when the keeper is closed.
func (k *Keeper) begin(f *flight) *flight {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	if there, ok := k.flights[f.connectionID]; ok {
		return there
	}
	f.done, f.usable, f.hangs = make(chan struct{}), make(chan struct{}), make(chan struct{})
	f.since = k.options.Now()
	k.flights[f.connectionID], k.running[f] = f, true
	go k.fly(f)
	return f
}

func (k *Keeper) fly(f *flight) {
	ctx, cancel := patient(k.base, k.limits.Flight)
	defer cancel()
	began := f.since
	impatience := time.AfterFunc(k.limits.Patience, func() { k.giveUp(f) })
	f.entry, f.err = k.have(ctx, f)
	impatience.Stop()
	if f.err = tooLate(ctx, f.err); f.err != nil && k.base.Err() != nil {
		f.err = closing()
	}
	k.mu.Lock()
	if k.flights[f.connectionID] == f {
		delete(k.flights, f.connectionID)
	}
	if !f.forgotten {
		k.remember(f, k.options.Now().Sub(began))
	}
	delete(k.running, f)
	k.mu.Unlock()
	close(f.done)
	if f.landed != nil {
		f.landed()
	}
}

// giveUp has calls not wait for a flight any more. It goes on.
func (k *Keeper) giveUp(f *flight) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-f.hangs:
	default:
		close(f.hangs)
	}
}

// renewing notes what is known of the renewal that a flight is about to make or wait for.
func (k *Keeper) renewing(f *flight, v view) {
	k.mu.Lock()
	f.provider = v.source.Client.Provider
	k.mu.Unlock()
}

// waiting notes that another replica has had the lease for so long: what hangs there hangs for the calls here
// as well.
func (k *Keeper) waiting(f *flight, v view) {
	now := k.options.Now()
	since := v.row.LeaseUntil.Add(-k.limits.Lease)
	if !v.row.LeaseUntil.After(now) || now.Sub(since) < k.limits.Patience {
		return
	}
	k.mu.Lock()
	f.since = since
	k.mu.Unlock()
	k.giveUp(f)
}

// remember keeps what a flight brought. A connection that no call asks for on this replica takes no room in its memory.
func (k *Keeper) remember(f *flight, took time.Duration) {
	now := k.options.Now()
	switch {
	case f.entry != nil:
		if f.urgent || k.memory.has(f.connectionID) {
			k.memory.put(f.entry)
		}
	case f.err != nil && f.urgent:
		if there := k.memory.get(f.connectionID, now); there != nil && there.err == nil {
			return
		}
		// A 429 says itself when asking makes sense again.
		recall := max(k.limits.Recall, min(fault.From(f.err).RetryAfter, time.Minute))
		e := &entry{connectionID: f.connectionID, err: f.err, until: now.Add(recall)}
		if took > k.limits.Slow { // calls are answered at once, while one after the other has it tried again
			e.until = now.Add(k.limits.Refusal)
			e.look.Store(now.Add(recall).UnixMilli())
		}
		k.memory.put(e)
	}
}

// view is what there is of a connection at one time.
type view struct {
	row    store.Tokens
	source Source
	known  bool // there is a row, and it grew from these credentials
	kept   kept // zero unless known
}

// refresh is the refresh token in force; "" is none.
func (v view) refresh() string {
	if v.kept.Refresh != "" {
		return v.kept.Refresh
	}
	return v.source.Refresh
}

// obtainable reports whether there is something to ask for a token with.
func (v view) obtainable() bool {
	return v.source.Client.Grant.Flow != adapter.Consent || v.refresh() != ""
}

// look reads the row before the source: credentials that change in between then meet a row that has changed too when it is
// leased, instead of being mixed up.
func (k *Keeper) look(ctx context.Context, tenantID, connectionID string) (v view, err error) {
	var found bool
	if v.row, found, err = k.options.Store.Tokens(ctx, tenantID, connectionID); err != nil {
		return v, err
	}
	if !found {
		v.row = store.Tokens{TenantID: tenantID, ConnectionID: connectionID}
	}
	if v.source, err = k.options.Sources(ctx, tenantID, connectionID); err != nil || v.row.Sealed == nil {
		return v, err
	}
	had, err := k.unseal(v.row)
	if err == nil && had.Since == v.source.Since {
		v.kept, v.known = had, true
	}
	return v, err
}

var (
	// errBusy says that another replica renews the tokens, or that there are others by now.
	errBusy = errors.New("oauth: someone else renews the tokens")
	// errTaken is an errBusy where the turn is held though the lease is not: whoever has it is stopped, or just about to end.
	errTaken = fmt.Errorf("%w, and does not go on", errBusy)
)

// have finds or makes what the flight is for.
func (k *Keeper) have(ctx context.Context, f *flight) (*entry, error) {
	for {
		v, err := k.look(ctx, f.tenantID, f.connectionID)
		if err != nil {
			k.setAside(ctx, f, v, err)
			return nil, err
		}
		now := k.options.Now()
		usable := v.kept.usable(now, f.refused)
		due := !v.row.RefreshAt.IsZero() && !now.Before(v.row.RefreshAt)
		switch {
		case v.known && v.row.Refused:
			return k.refusedEntry(f, v), nil
		case usable && (f.urgent || !due):
			return k.entryOf(f, v), nil
		case !f.urgent && !due:
			return nil, nil
		case !v.obtainable():
			err := notYet(v.source)
			k.setAside(ctx, f, v, err)
			return nil, err
		}
		k.renewing(f, v)
		if usable { // due ahead of time: nobody has to wait for the provider
			f.meanwhile = k.entryOf(f, v)
			close(f.usable)
		}
		e, err := k.renew(ctx, f, v)
		switch {
		case err == nil:
			return e, nil
		case !errors.Is(err, errBusy):
			return nil, err
		case !f.urgent && usable:
			return k.entryOf(f, v), nil
		case !f.urgent:
			return nil, nil
		}
		k.waiting(f, v)
		wait := k.limits.Wait
		if errors.Is(err, errTaken) {
			wait = k.limits.Taken
		}
		if !pause(ctx, jitter(wait)) {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
				"The connection's access could not be renewed in time. Repeat the request shortly.")
		}
	}
}

func (k *Keeper) entryOf(f *flight, v view) *entry {
	e := &entry{connectionID: f.connectionID, access: v.kept.Access, instance: v.kept.Instance, until: v.kept.goodUntil()}
	if !v.row.RefreshAt.IsZero() {
		// Some time is left to whoever looks for what is due.
		e.look.Store(v.row.RefreshAt.Add(jitter(lookEvery)).UnixMilli())
	}
	e.insisted = f.insisted
	return e
}

func (k *Keeper) refusedEntry(f *flight, v view) *entry {
	return &entry{connectionID: f.connectionID, err: refusedFault(v.source), until: k.options.Now().Add(k.limits.Refusal)}
}

func refusedFault(s Source) *fault.Error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"%s does not accept the connection's authorization any more. Connect the account again.", s.Client.Provider).With("provider", s.Client.Provider)
}

func notYet(s Source) *fault.Error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"The connection was not connected to %s yet: its customer has to agree once.", s.Client.Provider).With("provider", s.Client.Provider)
}

// setAside puts off a row that Run found due but that cannot be renewed for reasons of our own.
func (k *Keeper) setAside(ctx context.Context, f *flight, v view, why error) {
	if f.urgent || v.row.RefreshAt.IsZero() {
		return
	}
	leased, err := k.lease(ctx, &v)
	if err != nil || !leased {
		return // it is found due again
	}
	k.postpone(ctx, f, v, why)
}
