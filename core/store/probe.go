package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// probeBytes is about what a booking writes, so that a disk that takes the probe takes a booking.
const probeBytes = 4 << 10

// Probe writes a row that means nothing. A disk that is full, or a server that has become a standby, still
// answers reads.
func (s *Store) Probe(ctx context.Context) error {
	filler := make([]byte, probeBytes)
	_, _ = rand.Read(filler) // it never fails, and what a database compresses takes no room
	_, err := s.exec(ctx, `INSERT INTO write_probe (name, filler) VALUES ('probe', $1)
		ON CONFLICT (name) DO UPDATE SET filler = excluded.filler`, hex.EncodeToString(filler))
	return err
}
