package oauth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/vault"
)

// Source is how the tokens of one connection are had, as the directory knows it now.
type Source struct {
	Client  Client
	Refresh string // the refresh token among the credentials; used until the store holds a newer one
	// Since is a fingerprint of the credentials that were given, in any form. It is kept inside the sealed tokens, and tokens
	// of another fingerprint are not used: so a rotated refresh token is neither mixed with another grant nor lost to
	// credentials that are given a second time.
	Since    string
	Revision int64 // of the connection's row that this was read from
}

// Options are what a keeper works with.
type Options struct {
	Store   *store.Store
	Vault   *vault.Vault
	Sources func(ctx context.Context, tenantID, connectionID string) (Source, error) // reads the connection; not cached
	Owner   string                                                                   // of this process, for the leases
	Now     func() time.Time                                                         // nil: time.Now
	Log     *slog.Logger                                                             // nil: nothing is logged
	Metrics *telemetry.Metrics                                                       // may be nil
	Changed func(connectionID string)                                                // told when the keeper marked a connection as to be reconnected; nil: nobody is
	Limits  Limits                                                                   // the zero value: StandardLimits
}

// Keeper holds the tokens of all connections. Each is renewed by one replica at a time, and what a provider gave is
// committed before anyone uses it. A Keeper is safe for concurrent use.
type Keeper struct {
	options Options
	limits  Limits
	memory  memory

	base context.Context // of flights; ended by Close
	end  context.CancelFunc

	workers chan struct{} // holds one for each flight that Run began

	mu        sync.Mutex
	closed    bool
	flights   map[string]*flight // by connection: what a call may join
	running   map[*flight]bool   // with those that nobody may join any more
	endpoints map[string]*endpoint
}

// Limits are the times of a keeper's work. Replicas that share a store have the same ones.
type Limits struct {
	Lease  time.Duration // of a connection's tokens to who renews them; longer than Redeem
	Turn   time.Duration // of a process that says nothing; longer than Redeem and Save together
	Redeem time.Duration // of getting tokens from the provider, with every try
	Save   time.Duration // of keeping what was given, while the store is down
	Flight time.Duration // of a renewal as a whole, waiting for other replicas included

	SecondTry time.Duration // a request for tokens without an answer is made once more then, where that is safe
	Patience  time.Duration // of a call with a renewal; later ones are told at once that it hangs
	Confirm   time.Duration // between a refusal and the second try
	Wait      time.Duration // between looks at a row that another replica renews
	Taken     time.Duration // between tries to take over from one whose lease has lapsed
	Queue     time.Duration // a renewal ahead of time waits that long for its place at an endpoint

	Recall  time.Duration // of a failure: calls are told at once that long
	Slow    time.Duration // a failure that took longer is told to calls while the endpoint is asked again
	Refusal time.Duration // of a refusal: then the row is read again

	Again    time.Duration // in which a provider's 401 may ask for renewals
	Renewals int           // that a provider may ask for in that time

	Poll    time.Duration // between looks for tokens that are due
	Backoff time.Duration // the first, after a failure
	Longest time.Duration // backoff
	Drain   time.Duration // of what is under way when a keeper ends
}

// StandardLimits are those of a gateway. SecondTry and Patience leave room in the time of one try of a read
// (resilience.try_timeout, 5 s): its caller has the token of the second request, or learns what is wrong.
func StandardLimits() Limits {
	return Limits{
		Lease: 30 * time.Second, Turn: 2 * time.Minute, Redeem: 20 * time.Second, Save: time.Minute,
		Flight:    2 * time.Minute,
		SecondTry: 3 * time.Second, Patience: 4500 * time.Millisecond, Confirm: 1500 * time.Millisecond,
		Wait: 150 * time.Millisecond, Taken: time.Second, Queue: 5 * time.Second,
		Recall: time.Second, Slow: 2 * time.Second, Refusal: 30 * time.Second,
		Again: 30 * time.Second, Renewals: 10,
		Poll: 3 * time.Second, Backoff: 5 * time.Second, Longest: 10 * time.Minute, Drain: 20 * time.Second,
	}
}

const (
	workersAtOnce  = 8  // flights that Run has under way
	perEndpoint    = 5  // redeems at one host, so that one that hangs leaves room for the others
	sweepPage      = 64 // rows
	earliest, span = 0.75, 0.15
)

// NewKeeper makes a keeper. Close it when no call needs tokens any more.
func NewKeeper(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Limits == (Limits{}) {
		o.Limits = StandardLimits()
	}
	base, end := context.WithCancel(context.Background())
	return &Keeper{
		options: o, limits: o.Limits, base: base, end: end, workers: make(chan struct{}, workersAtOnce),
		flights: map[string]*flight{}, running: map[*flight]bool{}, endpoints: map[string]*endpoint{},
	}
}

// Token answers an access token of the connection. It fails with fault.Disconnected, reason RECONNECT_REQUIRED, where the
// provider refuses to give one or the customer has not agreed yet. While the one in memory lives it asks nobody.
func (k *Keeper) Token(ctx context.Context, tenantID, connectionID string) (access string, err error) {
	e, err := k.current(ctx, tenantID, connectionID)
	if err != nil {
		return "", err
	}
	return e.access, nil
}

// Instance answers where the account's API is, as it was told with the access token that Token answers.
func (k *Keeper) Instance(ctx context.Context, tenantID, connectionID string) (address string, err error) {
	e, err := k.current(ctx, tenantID, connectionID)
	if err != nil {
		return "", err
	}
	return e.instance, nil
}

func (k *Keeper) current(ctx context.Context, tenantID, connectionID string) (*entry, error) {
	now := k.options.Now()
	if e := k.memory.get(connectionID, now); e != nil {
		if e.timeToLook(now) {
			k.begin(&flight{tenantID: tenantID, connectionID: connectionID, urgent: e.err != nil})
		}
		return e, e.err
	}
	return k.get(ctx, &flight{tenantID: tenantID, connectionID: connectionID, urgent: true})
}

// Renew is for an access token that a provider has refused. It reports whether there is another one by now, another
// replica's or a new one. Where one after the other is refused within a short time, no further one is made: what the
// provider refuses then is not the token's age.
func (k *Keeper) Renew(ctx context.Context, tenantID, connectionID, refused string) (again bool, err error) {
	now := k.options.Now()
	f := &flight{tenantID: tenantID, connectionID: connectionID, refused: refused, urgent: true, insisted: insistence{since: now}}
	if e := k.memory.get(connectionID, now); e != nil && e.access == refused {
		if now.Sub(e.insisted.since) < k.limits.Again {
			f.insisted = e.insisted
		}
		if f.insisted.times >= k.limits.Renewals {
			return false, nil
		}
		k.memory.drop(e)
	}
	f.insisted.times++
	if _, err := k.get(ctx, f); err != nil {
		return false, err
	}
	return true, nil
}

// Keep stores what a consent gave; since is the Source.Since of the connection as it is from now on. The connection is ok
// from then on and its revision grows, so that every replica opens it anew.
func (k *Keeper) Keep(ctx context.Context, tenantID, connectionID, since string, t Tokens) error {
	had := k.keptOf(t, since)
	row := store.Tokens{TenantID: tenantID, ConnectionID: connectionID, RefreshAt: k.refreshAt(had)}
	var err error
	if row.Sealed, err = k.seal(row, had); err != nil {
		return err
	}
	err = k.insist(ctx, func(ctx context.Context) error { return k.options.Store.PutTokens(ctx, row) })
	k.Forget(connectionID)
	return err
}

// Forget drops what is remembered of a connection: it or its credentials changed. What other replicas remember, they have
// to drop when they see the connection's new revision.
func (k *Keeper) Forget(connectionID string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f, ok := k.flights[connectionID]; ok {
		f.forgotten = true
		delete(k.flights, connectionID)
	}
	k.memory.forget(connectionID)
}

// Schedule has the token of a connection fetched soon, after it was made or its credentials changed. A connection that was
// refused gets another chance; one whose customer has not agreed yet is passed over.
func (k *Keeper) Schedule(ctx context.Context, tenantID, connectionID string) error {
	defer k.Forget(connectionID)
	v, err := k.look(ctx, tenantID, connectionID)
	if f := fault.From(err); f != nil && (f.Reason != vault.ReasonUnreadable || v.row.Sealed == nil) {
		return err
	}
	row := v.row
	row.RefreshAt = k.options.Now()
	switch {
	case !v.obtainable():
		return nil
	case !v.known: // none yet, of other credentials, or lost with the key they were sealed with
		if row.Sealed, err = k.seal(row, kept{Since: v.source.Since}); err != nil {
			return err
		}
		return k.options.Store.ResetTokens(ctx, row)
	case v.row.Refused:
		_, err = k.options.Store.SaveTokens(ctx, row, row.Version)
		return err
	}
	return nil
}

// Close waits for what runs, for twenty seconds at most; what takes longer is cut off.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.finish(k.limits.Drain)
	k.end()
	k.finish(k.limits.Drain)
}

// finish waits for the flights that are under way.
func (k *Keeper) finish(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		f := k.anyRunning()
		if f == nil {
			return
		}
		select {
		case <-f.done:
		case <-timer.C:
			return
		}
	}
}

func (k *Keeper) anyRunning() *flight {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f := range k.running {
		return f
	}
	return nil
}
