package oauth

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"frontdesk/core/fault"
)

// renew asks the provider for new tokens where nobody else does. The order is what the promises hang on: turn and lease,
// then the provider, then the store, and only then the callers.
func (k *Keeper) renew(ctx context.Context, f *flight, v view) (*entry, error) {
	if v.row.LeaseUntil.After(k.options.Now()) {
		return nil, errBusy
	}
	if _, err := k.options.Vault.Primary(); err != nil {
		return nil, err // what cannot be sealed is not asked for
	}
	place, err := k.enter(ctx, v.source.Client.Grant.TokenURL, f.urgent)
	if err != nil {
		return nil, err
	}
	defer k.leave(place)
	release, held, err := k.options.Store.HoldTurn(ctx, f.connectionID, k.limits.Turn)
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, errTaken
	}
	defer release()
	abandoned := v.row.LeaseOwner != ""
	leased, err := k.lease(ctx, &v)
	if err != nil {
		return nil, err
	}
	if !leased {
		return nil, errBusy
	}
	if abandoned && v.atRisk(f.refused, k.options.Now()) {
		k.postpone(ctx, f, v, errAbandoned)
		return nil, errBusy
	}
	t, err := k.redeem(ctx, v)
	place.sick.Store(errors.Is(err, fault.Timeout) || errors.Is(err, fault.Unavailable))
	k.measure(v, err)
	switch {
	case IsRefused(err):
		return k.refuse(ctx, f, v)
	case err != nil:
		k.postpone(ctx, f, v, err)
		return nil, err
	}
	return k.save(ctx, f, v, t)
}

func (k *Keeper) measure(v view, err error) {
	switch f := fault.From(err); {
	case errors.Is(err, errBusy): // another has them
	case f != nil:
		k.options.Metrics.TokenRenewal(v.source.Client.Provider, string(f.Code))
	default:
		k.options.Metrics.TokenRenewal(v.source.Client.Provider, "")
	}
}

// lease takes the lease of what was seen. It compares the version, so that it holds for nothing else.
func (k *Keeper) lease(ctx context.Context, v *view) (bool, error) {
	now := k.options.Now()
	if v.row.Sealed == nil {
		sealed, err := k.seal(v.row, kept{Since: v.source.Since})
		if err != nil {
			return false, err
		}
		v.row.Sealed = sealed
	}
	ours := v.row
	ours.LeaseOwner, ours.LeaseUntil = k.options.Owner, now.Add(k.limits.Lease)
	leased, err := k.options.Store.LeaseTokens(ctx, v.row, ours, now)
	if leased {
		v.row = ours
	}
	return leased, err
}

// redeem asks the provider, and once more after a refusal: a provider may be wrong for a moment, and what a person would
// have to do about it is the dearest of all failures. It answers errBusy where the refusal is explained by newer tokens or
// other credentials.
func (k *Keeper) redeem(ctx context.Context, v view) (Tokens, error) {
	ctx, cancel := patient(ctx, k.limits.Redeem)
	defer cancel()
	began := k.options.Now()
	t, err := k.ask(ctx, v)
	if !IsRefused(err) {
		return t, k.unanswered(ctx, v, began, err)
	}
	for _, wait := range []time.Duration{0, jitter(k.limits.Confirm)} {
		if wait > 0 && !pause(ctx, wait) {
			return Tokens{}, k.unanswered(ctx, v, began, fault.From(ctx.Err()))
		}
		now, err := k.look(ctx, v.row.TenantID, v.row.ConnectionID)
		if err != nil {
			return Tokens{}, err
		}
		if now.row.Version != v.row.Version || now.source.Since != v.source.Since {
			return Tokens{}, errBusy
		}
	}
	t, err = k.ask(ctx, v)
	return t, k.unanswered(ctx, v, began, err)
}

// unanswered makes the error of a redeem that came to its limit what it is to calls: none of them set that
// limit, so that it is no deadline of theirs.
func (k *Keeper) unanswered(ctx context.Context, v view, began time.Time, err error) error {
	if errors.Is(tooLate(ctx, err), fault.Timeout) {
		return silent(v.source.Client.Provider, k.options.Now().Sub(began)).Because(err)
	}
	return err
}

// save commits what the provider gave. There is no way back to the refresh token that was paid with, so it insists.
func (k *Keeper) save(ctx context.Context, f *flight, v view, t Tokens) (*entry, error) {
	had := k.keptOf(t, v.source.Since)
	// What the provider does not tell again stays.
	had.Rotation = rotationOf(t)
	had.Refresh, had.Instance = cmp.Or(had.Refresh, v.kept.Refresh), cmp.Or(had.Instance, v.kept.Instance)
	row := v.row
	row.RefreshAt = k.refreshAt(had)
	var saved bool
	err := k.insist(ctx, func(ctx context.Context) (err error) {
		if row.Sealed, err = k.seal(row, had); err != nil {
			return err
		}
		saved, err = k.options.Store.SaveTokens(ctx, row, v.row.Version)
		return err
	})
	if err != nil {
		k.options.Log.LogAttrs(ctx, slog.LevelError, "renewed tokens could not be stored and are lost",
			slog.String("tenant_id", row.TenantID), slog.String("connection_id", row.ConnectionID), slog.Any("error", err))
		return nil, err
	}
	if !saved { // a consent came in between, or other credentials
		return nil, errBusy
	}
	return k.entryOf(f, view{row: row, source: v.source, kept: had}), nil
}

// insist does what the store has to do until it did, for a limited time.
func (k *Keeper) insist(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := patient(ctx, k.limits.Save)
	defer cancel()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := do(ctx)
		if !errors.Is(err, fault.Unavailable) || !pause(ctx, jitter(wait)) {
			return err
		}
	}
}

// refuse marks the connection, once however many replicas and calls find out.
func (k *Keeper) refuse(ctx context.Context, f *flight, v view) (*entry, error) {
	had := v.kept
	had.Access, had.Expires, had.Since = "", time.Time{}, v.source.Since
	row := v.row
	var err error
	if row.Sealed, err = k.seal(row, had); err != nil {
		return nil, err
	}
	marked, err := k.options.Store.RefuseTokens(ctx, row, v.row.Version, v.source.Revision)
	if err != nil {
		return nil, err
	}
	if !marked { // tokens or connection changed in between: what was refused may be theirs no more
		k.postpone(ctx, f, v, errBusy)
		return nil, errBusy
	}
	k.options.Log.LogAttrs(ctx, slog.LevelWarn, "the provider does not renew the connection's tokens any more; it has to be connected again",
		slog.String("tenant_id", row.TenantID), slog.String("connection_id", row.ConnectionID), slog.String("provider", v.source.Client.Provider))
	k.options.Changed(row.ConnectionID)
	return k.refusedEntry(f, v), nil
}

// postpone ends the lease after a failure and says when to try again: later with each failure in a row, and not before the
// provider wants to be asked.
func (k *Keeper) postpone(ctx context.Context, f *flight, v view, why error) {
	wait := k.limits.Backoff
	for range min(v.row.Failures, 20) {
		wait = min(2*wait, k.limits.Longest)
	}
	wait = max(jitter(wait), min(fault.From(why).RetryAfter, time.Hour))
	now := k.options.Now()
	next := now.Add(wait)
	switch until := v.kept.goodUntil(); {
	case !v.obtainable():
		next = time.Time{}
	case mayHaveActed(why) && v.atRisk(f.refused, now) && (until.IsZero() || until.After(next)):
		next = until
	}
	if err := k.options.Store.PostponeTokens(ctx, v.row, next); err != nil {
		k.options.Log.LogAttrs(ctx, slog.LevelWarn, "a lease of tokens is left to lapse", slog.String("connection_id", v.row.ConnectionID), slog.Any("error", err))
	}
	if !errors.Is(why, errBusy) && v.row.Failures == 0 {
		k.options.Log.LogAttrs(ctx, slog.LevelWarn, "tokens could not be renewed", slog.String("tenant_id", v.row.TenantID),
			slog.String("connection_id", v.row.ConnectionID), slog.String("provider", v.source.Client.Provider), slog.Any("error", why))
	}
}
