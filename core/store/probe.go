package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// probeBytes is about the size of a booking, so that a disk with room for the probe has room for a booking.
const probeBytes = 4 << 10

// Probe writes a meaningless row to check that the database accepts writes. A database whose disk is full, or
// that has become a standby, still responds to reads.
func (s *Store) Probe(ctx context.Context) error {
	filler := make([]byte, probeBytes)
	_, _ = rand.Read(filler) // it never fails; text that a database can compress would take no room
	_, err := s.exec(ctx, `INSERT INTO write_probe (name, filler) VALUES ('probe', $1)
		ON CONFLICT (name) DO UPDATE SET filler = excluded.filler`, hex.EncodeToString(filler))
	return err
}
