package oauth

import (
	"context"
	"log/slog"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
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
	Log     *slog.Logger
	Changed func(connectionID string) // told when the keeper marked a connection as to be reconnected; nil: nobody is
}

// Keeper holds the tokens of all connections. It is safe for concurrent use.
type Keeper struct {
	options Options
}

// NewKeeper makes a keeper. Close it when no call needs tokens any more.
func NewKeeper(o Options) *Keeper { return &Keeper{options: o} }

// Token answers an access token of the connection. It fails with fault.Disconnected, reason RECONNECT_REQUIRED, where the
// provider refuses to give one or the customer has not agreed yet.
func (k *Keeper) Token(ctx context.Context, tenantID, connectionID string) (access string, err error) {
	return "", fault.From(ctx.Err())
}

// Renew is for an access token that a provider has refused. It reports whether there is another one by now, another
// replica's or a new one.
func (k *Keeper) Renew(ctx context.Context, tenantID, connectionID, refused string) (again bool, err error) {
	return false, fault.From(ctx.Err())
}

// Keep stores what a consent gave; since is the Source.Since of the connection as it is from now on. The connection is ok
// from then on and its revision grows, so that every replica opens it anew.
func (k *Keeper) Keep(ctx context.Context, tenantID, connectionID, since string, t Tokens) error {
	return fault.From(ctx.Err())
}

// Forget drops what is remembered of a connection: it or its credentials changed. What other replicas keep, they drop when
// they see the connection's new revision.
func (k *Keeper) Forget(connectionID string) {}

// Schedule has the token of a connection fetched soon, after it was made or its credentials changed. A connection that was
// refused gets another chance.
func (k *Keeper) Schedule(ctx context.Context, tenantID, connectionID string) error {
	return fault.From(ctx.Err())
}

// Run renews tokens ahead of time until ctx ends. Redeems that are under way then are finished and committed, within
// twenty seconds.
func (k *Keeper) Run(ctx context.Context) { <-ctx.Done() }

// Close waits for what runs, for twenty seconds at most.
func (k *Keeper) Close() {}
