package store

import (
	"context"
	"time"
)

// TryLease takes the lease of that name until then, or lengthens it for the owner who has it. It answers false while
// another owner's has not passed.
func (s *Store) TryLease(ctx context.Context, name, owner string, now, until time.Time) (bool, error) {
	touched, err := s.exec(ctx, `INSERT INTO leases (name, owner, valid_until) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, valid_until = excluded.valid_until
		WHERE leases.owner = excluded.owner OR leases.valid_until <= $4`, name, owner, millis(until), millis(now))
	return touched == 1, err
}

// DropLease ends the owner's lease early.
func (s *Store) DropLease(ctx context.Context, name, owner string) error {
	_, err := s.exec(ctx, "DELETE FROM leases WHERE name = $1 AND owner = $2", name, owner)
	return err
}
