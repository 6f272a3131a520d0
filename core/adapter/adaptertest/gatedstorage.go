package adaptertest

import (
	"context"

	"frontdesk/core/adapter"
)

// GatedStorage is a storage behind a [Gate]. It is the harness's Provider for a sandbox, whose provider is
// its storage.
type GatedStorage struct {
	Gate
	Storage adapter.Storage // the storage itself, without the gate
}

// NewGatedStorage returns the storage behind an open gate.
func NewGatedStorage(s adapter.Storage) *GatedStorage { return &GatedStorage{Storage: s} }

// View implements adapter.Storage.
func (s *GatedStorage) View(ctx context.Context, read func(adapter.StorageTx) error) error {
	if err := s.Enter(ctx); err != nil {
		return err
	}
	return s.Storage.View(ctx, read)
}

// Update implements adapter.Storage.
func (s *GatedStorage) Update(ctx context.Context, change func(adapter.StorageTx) error) error {
	if err := s.Enter(ctx); err != nil {
		return err
	}
	if err := s.Storage.Update(ctx, change); err != nil {
		return err
	}
	return s.Leave()
}
