package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"

	"frontdesk/core/fault"
)

// probeBytes is about the size of a booking, so that a disk with room for the probe has room for a booking.
const probeBytes = 4 << 10

// Probe writes a meaningless row to check that the database accepts writes. A database whose disk is full, or
// that has become a standby, still responds to reads.
// SQLite goes on writing to a file that was removed or renamed, where nobody finds what it has written.
func (s *Store) Probe(ctx context.Context) error {
	if s.file != nil {
		if is, err := os.Stat(s.given); err != nil || !os.SameFile(is, s.file) {
			return fault.Newf(fault.Unavailable, fault.ReasonStoreUnavailable, "The database file %s was removed or replaced "+
				"while the gateway used it. What happens until it is restarted is in the former file.", s.path)
		}
	}
	filler := make([]byte, probeBytes)
	_, _ = rand.Read(filler) // it never fails; text that a database can compress would take no room
	_, err := s.exec(ctx, `INSERT INTO write_probe (name, filler) VALUES ('probe', $1)
		ON CONFLICT (name) DO UPDATE SET filler = excluded.filler`, hex.EncodeToString(filler))
	return err
}
