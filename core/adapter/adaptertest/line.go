package adaptertest

import (
	"context"

	"frontdesk/core/adapter"
)

// Line is a storage behind a [Gate]: the provider's side of a sandbox, whose provider is its storage.
type Line struct {
	Gate
	Storage adapter.Storage // without the gate
}

// NewLine puts a storage behind a gate.
func NewLine(s adapter.Storage) *Line { return &Line{Storage: s} }

// View implements adapter.Storage.
func (l *Line) View(ctx context.Context, read func(adapter.StorageTx) error) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	return l.Storage.View(ctx, read)
}

// Update implements adapter.Storage.
func (l *Line) Update(ctx context.Context, change func(adapter.StorageTx) error) error {
	if err := l.Enter(ctx); err != nil {
		return err
	}
	if err := l.Storage.Update(ctx, change); err != nil {
		return err
	}
	return l.Leave()
}
