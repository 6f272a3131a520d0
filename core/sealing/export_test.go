package sealing

import (
	"context"

	"frontdesk/core/store"
)

// SealKey seals a key's row as it was read.
func (r *Rows) SealKey(ctx context.Context, k store.APIKey) (bool, error) { return r.sealKey(ctx, k) }

// ResealConnection seals one connection's row again.
func (r *Rows) ResealConnection(ctx context.Context, row store.Connection) error {
	return r.reseal(ctx, row)
}

// ResealTokens seals one connection's tokens again.
func (r *Rows) ResealTokens(ctx context.Context, row store.Tokens, primary uint32) (bool, error) {
	return r.resealTokens(ctx, row, primary)
}
