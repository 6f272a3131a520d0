package oauth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// Credentials are what is needed to request the tokens of one connection, as currently configured.
type Credentials struct {
	Client  Client
	Refresh string // the configured refresh token; used until the store holds a newer one
	// Fingerprint identifies the configured credentials. It is sealed with the tokens, and tokens with
	// another fingerprint are not used. So a rotated refresh token is neither mixed with another grant nor
	// lost when the same credentials are set again.
	Fingerprint string
	Revision    int64 // revision of the connection's row that the credentials were read from
}

// Options configure a TokenSource.
type Options struct {
	Store *store.Store
	Vault *vault.Vault
	// Credentials reads the credentials of a connection. Nothing is cached.
	Credentials func(ctx context.Context, tenantID, connectionID string) (Credentials, error)
	Owner       string                    // identifies this process in leases
	Now         func() time.Time          // nil: time.Now
	Log         *slog.Logger              // nil: nothing is logged
	Metrics     Metrics                   // nil: nothing is counted
	Changed     func(connectionID string) // called when a connection was marked as to be reconnected; may be nil
	Limits      Limits                    // the zero value: StandardLimits
}

// Metrics counts requests for access tokens.
type Metrics interface {
	TokenRenewal(provider, code string) // code: the fault's, or "" for success
}

type noMetrics struct{}

func (noMetrics) TokenRenewal(string, string) {}

// TokenSource holds the tokens of all connections. One replica at a time renews a connection's tokens, and
// new tokens are committed to the store before they are used. It is safe for concurrent use.
type TokenSource struct {
	options Options
	limits  Limits
	cache   cache

	base context.Context // of renewals; ended by Close
	end  context.CancelFunc

	workers chan struct{} // holds one value for each renewal that Run started

	mu        sync.Mutex
	closed    bool
	renewals  map[string]*renewal  // by connection id: the renewals that a call may join
	running   map[*renewal]bool    // all renewals, including those that Forget removed from renewals
	bulkheads map[string]*bulkhead // by key
}

// Limits are the time limits and intervals of a token source. Replicas that share a store must use the same.
type Limits struct {
	Lease time.Duration // how long a replica may hold a connection's tokens to renew them; longer than Redeem
	// How long a stopped process keeps its turn at most; longer than Redeem and a write to the store together.
	Turn    time.Duration
	Redeem  time.Duration // for getting tokens from the provider, including all tries
	Save    time.Duration // for storing renewed tokens while the store is unavailable
	Renewal time.Duration // for a whole renewal, including the wait for other replicas; longer than Redeem and Save

	// When a token request without a response is repeated, if that is safe.
	SecondTry    time.Duration
	Patience     time.Duration // how long a call waits for a renewal; later calls fail at once
	Confirm      time.Duration // between a refusal and the second try
	LeasePoll    time.Duration // between reads of a row that another replica renews
	TakeoverPoll time.Duration // between tries to take over from a replica whose lease has expired
	Queue        time.Duration // how long a renewal ahead of time waits for a slot at an endpoint

	FailureTTL time.Duration // how long a failure is cached
	// A failure that took longer than this stays cached while the request is tried again.
	SlowFailure time.Duration
	RefusalTTL  time.Duration // how long a refusal is cached before the row is read again

	ForcedWindow time.Duration // the period to which MaxForced applies
	MaxForced    int           // how many renewals a provider's 401 responses may force in that period

	Poll       time.Duration // between queries for tokens that are due
	Backoff    time.Duration // wait after the first failure
	MaxBackoff time.Duration
	Drain      time.Duration // how long Close waits for the renewals under way
}

// StandardLimits returns the limits for production. SecondTry and Patience fit into the time of one try of a
// read (resilience.try_timeout, 5 s): within it, the caller gets the token of the second request, or an error
// that explains the failure.
func StandardLimits() Limits {
	return Limits{
		Lease: 30 * time.Second, Turn: 2 * time.Minute, Redeem: 20 * time.Second, Save: time.Hour,
		Renewal:   time.Hour + 2*time.Minute,
		SecondTry: 3 * time.Second, Patience: 4500 * time.Millisecond, Confirm: 1500 * time.Millisecond,
		LeasePoll: 150 * time.Millisecond, TakeoverPoll: time.Second, Queue: 5 * time.Second,
		FailureTTL: time.Second, SlowFailure: 2 * time.Second, RefusalTTL: 30 * time.Second,
		ForcedWindow: 30 * time.Second, MaxForced: 10,
		Poll: 3 * time.Second, Backoff: 5 * time.Second, MaxBackoff: 10 * time.Minute, Drain: 20 * time.Second,
	}
}

const (
	keepLimit      = time.Minute // for storing the tokens of a consent, for which a person waits
	workersAtOnce  = 8           // renewals that Run runs at a time
	sweepPage      = 64          // rows
	earliest, span = 0.75, 0.15
)

// NewTokenSource returns a new TokenSource. Close it when no call needs tokens any more.
func NewTokenSource(o Options) *TokenSource {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Limits == (Limits{}) {
		o.Limits = StandardLimits()
	}
	base, end := context.WithCancel(context.Background())
	return &TokenSource{
		options: o, limits: o.Limits, base: base, end: end, workers: make(chan struct{}, workersAtOnce),
		renewals: map[string]*renewal{}, running: map[*renewal]bool{}, bulkheads: map[string]*bulkhead{},
	}
}

// Token returns an access token of the connection. It fails with fault.Disconnected, reason
// RECONNECT_REQUIRED, if the provider refuses to issue one or the customer has not consented yet. It returns
// the cached token for as long as that is valid.
func (s *TokenSource) Token(ctx context.Context, tenantID, connectionID string) (access string, err error) {
	e, err := s.current(ctx, tenantID, connectionID)
	if err != nil {
		return "", err
	}
	return e.access, nil
}

// Instance returns the address of the account's API that came with the access token.
func (s *TokenSource) Instance(
	ctx context.Context, tenantID, connectionID string,
) (address string, err error) {
	e, err := s.current(ctx, tenantID, connectionID)
	if err != nil {
		return "", err
	}
	return e.instance, nil
}

// Account returns the provider's own id of the account that the connection's tokens are for, whether they still
// work or not; "" if it is not known, as after the credentials were replaced.
func (s *TokenSource) Account(ctx context.Context, tenantID, connectionID string) (ref string, err error) {
	v, err := s.read(ctx, tenantID, connectionID)
	if f := fault.From(err); f != nil && f.Reason == vault.ReasonUnreadable && !vault.IsAway(err) {
		return "", nil // as if there were none: the consent brings new ones
	}
	return v.stored.Account, err
}

func (s *TokenSource) current(ctx context.Context, tenantID, connectionID string) (*entry, error) {
	now := s.options.Now()
	if e := s.cache.get(connectionID, now); e != nil {
		if e.dueToCheck(now) {
			s.begin(ctx, &renewal{tenantID: tenantID, connectionID: connectionID, urgent: e.err != nil})
		}
		return e, e.err
	}
	return s.get(ctx, &renewal{tenantID: tenantID, connectionID: connectionID, urgent: true})
}

// Renew replaces an access token that a provider refused. It reports whether there is a different token now,
// newly issued or from another replica. If too many tokens in a row are refused within a short time, it
// requests no more: the provider does not refuse them for their age.
func (s *TokenSource) Renew(
	ctx context.Context, tenantID, connectionID, refused string,
) (again bool, err error) {
	now := s.options.Now()
	r := &renewal{
		tenantID: tenantID, connectionID: connectionID, refused: refused, urgent: true,
		forced: forcedRenewals{since: now},
	}
	if e := s.cache.get(connectionID, now); e != nil && e.access == refused {
		if now.Sub(e.forced.since) < s.limits.ForcedWindow {
			r.forced = e.forced
		}
		if r.forced.times >= s.limits.MaxForced {
			return false, nil
		}
		s.cache.drop(e)
	}
	r.forced.times++
	e, err := s.get(ctx, r)
	if err != nil {
		return false, err
	}
	isSame := e.access == refused // some providers issue the same token again as long as it lasts
	return !isSame, nil
}

// Keep stores the tokens of a consent; fingerprint is the Credentials.Fingerprint of the connection from now
// on. The connection's state becomes ok and its revision grows, so that every replica opens it again.
func (s *TokenSource) Keep(ctx context.Context, tenantID, connectionID, fingerprint string, t Tokens) error {
	stored := s.storedForm(t, fingerprint)
	row := store.Tokens{
		TenantID: tenantID, ConnectionID: connectionID, RefreshAt: s.refreshAt(stored, stored.Refresh),
	}
	var err error
	if row.Sealed, err = s.seal(row, stored); err != nil {
		return err
	}
	err = s.persist(ctx, keepLimit, func(ctx context.Context) error { return s.options.Store.PutTokens(ctx, row) })
	s.Forget(connectionID)
	return err
}

// RefreshEnds returns when a connection's refresh token ends, whatever is done, or zero if the provider does
// not say so.
func (s *TokenSource) RefreshEnds(ctx context.Context, tenantID, connectionID string) (time.Time, error) {
	row, found, err := s.options.Store.Tokens(ctx, tenantID, connectionID)
	if err != nil || !found || len(row.Sealed) == 0 {
		return time.Time{}, err
	}
	stored, err := s.unseal(row)
	return stored.RefreshEnds, err
}

// Forget drops the cached state of a connection. Call it after the connection or its credentials changed.
// Other replicas drop theirs when they see the connection's new revision.
func (s *TokenSource) Forget(connectionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.renewals[connectionID]; ok {
		r.forgotten = true
		delete(s.renewals, connectionID)
	}
	s.cache.forget(connectionID)
}

// Schedule makes the tokens of a connection due now, after it was added or its credentials changed. A
// connection that was refused gets another chance. One whose customer has not consented yet is skipped.
func (s *TokenSource) Schedule(ctx context.Context, tenantID, connectionID string) error {
	defer s.Forget(connectionID)
	v, err := s.read(ctx, tenantID, connectionID)
	if f := fault.From(err); f != nil && (f.Reason != vault.ReasonUnreadable || v.row.Sealed == nil) {
		return err
	}
	row := v.row
	row.RefreshAt = s.options.Now()
	switch {
	case !v.obtainable():
		return nil
	case !v.known: // no tokens, tokens of other credentials, or tokens whose sealing key is lost
		if row.Sealed, err = s.seal(row, storedTokens{Fingerprint: v.credentials.Fingerprint}); err != nil {
			return err
		}
		return s.options.Store.ResetTokens(ctx, row)
	case v.row.Refused:
		_, err = s.options.Store.SaveTokens(ctx, row, row.Version)
		return err
	}
	return nil
}

// Retry gives a connection that was refused another chance, for who asks whether it is still refused. What was
// refused here within Limits.RefusalTTL is.
func (s *TokenSource) Retry(ctx context.Context, tenantID, connectionID string) error {
	if s.cache.get(connectionID, s.options.Now()) != nil {
		return nil
	}
	row, found, err := s.options.Store.Tokens(ctx, tenantID, connectionID)
	if err != nil || !found || !row.Refused {
		return err
	}
	return s.Schedule(ctx, tenantID, connectionID)
}

// Close waits for the renewals under way, for twenty seconds at most, and cancels the rest.
func (s *TokenSource) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.finish()
	s.end()
	s.finish()
}

// finish waits for the renewals under way, no longer than Limits.Drain.
func (s *TokenSource) finish() {
	timer := time.NewTimer(s.limits.Drain)
	defer timer.Stop()
	for {
		r := s.anyRunning()
		if r == nil {
			return
		}
		select {
		case <-r.done:
		case <-timer.C:
			return
		}
	}
}

func (s *TokenSource) anyRunning() *renewal {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.running {
		return r
	}
	return nil
}
