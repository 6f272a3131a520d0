package store

import (
	"context"
	"fmt"
)

// GiveBack returns a batch of free pages of the SQLite file to the disk, and reports its size. A quarter of
// the file may stay free, since freed pages are soon needed again. A file from before version 9 of the schema
// gives pages back only after it was restored from a backup. On PostgreSQL, GiveBack does nothing: autovacuum
// does what is needed.
func (s *Store) GiveBack(ctx context.Context, most int) (given int64, err error) {
	if s.path == "" {
		return 0, nil
	}
	err = s.try(ctx, func(ctx context.Context) error {
		conn, err := s.write.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		all, _, err := find(ctx, conn, scanInt, "PRAGMA page_count")
		if err != nil {
			return err
		}
		free, _, err := find(ctx, conn, scanInt, "PRAGMA freelist_count")
		if err != nil || free <= all/4 {
			return err
		}
		// Pages from the end of the file are moved into free ones. A pragma takes no parameter.
		if _, err := exec(ctx, conn, fmt.Sprintf("PRAGMA incremental_vacuum(%d)",
			min(int64(most), free-all/4))); err != nil {
			return err
		}
		left, _, err := find(ctx, conn, scanInt, "PRAGMA freelist_count")
		given = free - left
		return err
	})
	return given, err
}
