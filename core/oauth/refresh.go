package oauth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/pause"
)

// renew requests new tokens from the provider, unless another replica is doing so. The guarantees of
// [TokenSource] depend on this order: turn and lease, then the provider, then the store, then the callers.
func (s *TokenSource) renew(ctx context.Context, r *renewal, v view) (*entry, error) {
	if v.row.Leased(s.options.Now()) {
		return nil, errBusy
	}
	if _, err := s.options.Vault.Primary(); err != nil {
		return nil, err // never request tokens that cannot be sealed
	}
	permit, err := s.acquire(ctx, r.tenantID, v.credentials.Client.Grant.TokenURL, r.urgent)
	if err != nil {
		return nil, err
	}
	defer s.release(permit)
	release, held, err := s.options.Store.HoldTurn(ctx, r.connectionID, s.limits.Turn)
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, errTaken
	}
	defer release()
	abandoned := v.row.LeaseOwner != ""
	leased, err := s.lease(ctx, &v)
	if err != nil {
		return nil, err
	}
	if !leased {
		return nil, errBusy
	}
	if abandoned && v.atRisk(r.refused, s.options.Now()) {
		s.postpone(ctx, r, v, errAbandoned)
		return nil, errBusy
	}
	t, err := s.redeem(ctx, v)
	permit.record(!errors.Is(err, fault.Timeout) && !errors.Is(err, fault.Unavailable))
	s.measure(v, err)
	switch {
	case IsRefused(err):
		return s.refuse(ctx, r, v)
	case err != nil:
		s.postpone(ctx, r, v, err)
		return nil, err
	}
	return s.save(ctx, r, v, t)
}

func (s *TokenSource) measure(v view, err error) {
	switch f := fault.From(err); {
	case errors.Is(err, errBusy): // another replica counts the renewal
	case f != nil:
		s.options.Metrics.TokenRenewal(v.credentials.Client.Provider, string(f.Code))
	default:
		s.options.Metrics.TokenRenewal(v.credentials.Client.Provider, "")
	}
}

// lease takes the lease of the row, unless the row's version has changed since it was read.
func (s *TokenSource) lease(ctx context.Context, v *view) (bool, error) {
	now := s.options.Now()
	if v.row.Sealed == nil {
		sealed, err := s.seal(v.row, storedTokens{Fingerprint: v.credentials.Fingerprint})
		if err != nil {
			return false, err
		}
		v.row.Sealed = sealed
	}
	ours := v.row
	ours.LeaseOwner, ours.LeaseUntil = s.options.Owner, now.Add(s.limits.Lease)
	leased, err := s.options.Store.LeaseTokens(ctx, v.row, ours, now)
	if leased {
		v.row = ours
	}
	return leased, err
}

// redeem requests tokens from the provider, and once more after a refusal: a provider may be wrong for a
// moment, and a person has to repair a connection that is marked as refused. It returns errBusy if newer
// tokens or other credentials explain the refusal.
func (s *TokenSource) redeem(ctx context.Context, v view) (Tokens, error) {
	ctx, cancel := withLiveTimeout(ctx, s.limits.Redeem)
	defer cancel()
	began := s.options.Now()
	t, err := s.ask(ctx, v)
	if !IsRefused(err) {
		return t, s.timeoutFault(ctx, v, began, err)
	}
	for _, wait := range []time.Duration{0, jitter(s.limits.Confirm)} {
		if wait > 0 && pause.For(ctx, wait) != nil {
			return Tokens{}, s.timeoutFault(ctx, v, began, fault.From(ctx.Err()))
		}
		now, err := s.read(ctx, v.row.TenantID, v.row.ConnectionID)
		if err != nil {
			return Tokens{}, err
		}
		if now.row.Version != v.row.Version || now.credentials.Fingerprint != v.credentials.Fingerprint {
			return Tokens{}, errBusy
		}
	}
	t, err = s.ask(ctx, v)
	return t, s.timeoutFault(ctx, v, began, err)
}

// timeoutFault converts the error of a redeem that reached its time limit into fault.Unavailable: the limit
// is not a caller's deadline.
func (s *TokenSource) timeoutFault(ctx context.Context, v view, began time.Time, err error) error {
	if errors.Is(asTimeout(ctx, err), fault.Timeout) {
		return silent(v.credentials.Client.Provider, s.options.Now().Sub(began)).Because(err)
	}
	return err
}

// save commits the provider's tokens. The old refresh token may be used up, so save retries a failed write.
func (s *TokenSource) save(ctx context.Context, r *renewal, v view, t Tokens) (*entry, error) {
	stored := s.storedForm(t, v.credentials.Fingerprint)
	// Values missing from the response stay in force.
	stored.Rotation = rotationOf(t)
	stored.Refresh, stored.Instance = cmp.Or(stored.Refresh, v.stored.Refresh),
		cmp.Or(stored.Instance, v.stored.Instance)
	stored.Account = v.stored.Account
	if t.Refresh == "" && stored.RefreshEnds.IsZero() {
		stored.RefreshEnds = v.stored.RefreshEnds
	}
	row := v.row
	row.RefreshAt = s.refreshAt(stored, cmp.Or(stored.Refresh, v.credentials.Refresh))
	var saved bool
	err := s.persist(ctx, s.limits.Save, func(ctx context.Context) (err error) {
		if row.Sealed, err = s.seal(row, stored); err != nil {
			return err
		}
		if saved, err = s.options.Store.SaveTokens(ctx, row, v.row.Version); errors.Is(err, fault.Unavailable) {
			s.notSaved(ctx, r, err)
		}
		return err
	})
	if err != nil {
		s.options.Log.LogAttrs(ctx, slog.LevelError, "renewed tokens could not be stored and are lost",
			slog.String("tenant_id", row.TenantID), slog.String("connection", row.ConnectionID),
			slog.Any("error", err))
		return nil, err
	}
	if !saved { // a consent or other credentials were stored meanwhile
		return nil, errBusy
	}
	return s.entryOf(r, view{row: row, credentials: v.credentials, stored: stored}), nil
}

// persist repeats a write while the store is unavailable, for a limited time.
func (s *TokenSource) persist(
	ctx context.Context, limit time.Duration, do func(context.Context) error,
) error {
	ctx, cancel := withLiveTimeout(ctx, limit)
	defer cancel()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := do(ctx)
		if !errors.Is(err, fault.Unavailable) || pause.For(ctx, jitter(wait)) != nil {
			return err
		}
	}
}

// refuse marks the connection as to be reconnected, only once even if several replicas and calls get refused.
func (s *TokenSource) refuse(ctx context.Context, r *renewal, v view) (*entry, error) {
	stored := v.stored
	stored.Access, stored.Expires, stored.Fingerprint = "", time.Time{}, v.credentials.Fingerprint
	row := v.row
	var err error
	if row.Sealed, err = s.seal(row, stored); err != nil {
		return nil, err
	}
	marked, err := s.options.Store.RefuseTokens(ctx, row, v.row.Version, v.credentials.Revision)
	if err != nil {
		return nil, err
	}
	if !marked { // the tokens or the connection changed meanwhile
		s.postpone(ctx, r, v, errBusy)
		return nil, errBusy
	}
	s.options.Log.LogAttrs(ctx, slog.LevelWarn, "the provider no longer renews the connection's tokens; the "+
		"account must be connected again",
		slog.String("tenant_id", row.TenantID), slog.String("connection", row.ConnectionID),
		slog.String("provider", v.credentials.Client.Provider))
	s.options.Changed(row.ConnectionID)
	return s.refusedEntry(r, v), nil
}

// postpone ends the lease after a failure and sets when to try again: later with each failure in a row, and
// not before the provider's Retry-After.
func (s *TokenSource) postpone(ctx context.Context, r *renewal, v view, why error) {
	wait := s.limits.Backoff
	for range min(v.row.Failures, 20) {
		wait = min(2*wait, s.limits.MaxBackoff)
	}
	wait = max(jitter(wait), min(fault.From(why).RetryAfter, time.Hour))
	now := s.options.Now()
	next := now.Add(wait)
	switch until := v.stored.goodUntil(); {
	case !v.obtainable():
		next = time.Time{}
	case mayHaveActed(why) && v.atRisk(r.refused, now) && (until.IsZero() || until.After(next)):
		next = until
	}
	if err := s.options.Store.PostponeTokens(ctx, v.row, next); err != nil {
		s.options.Log.LogAttrs(ctx, slog.LevelWarn,
			"a lease of tokens could not be released, and will lapse",
			slog.String("connection", v.row.ConnectionID), slog.Any("error", err))
	}
	if !errors.Is(why, errBusy) && v.row.Failures == 0 {
		s.options.Log.LogAttrs(ctx, slog.LevelWarn, "tokens could not be renewed",
			slog.String("tenant_id", v.row.TenantID),
			slog.String("connection", v.row.ConnectionID), slog.String("provider", v.credentials.Client.Provider),
			slog.Any("error", why))
	}
}
