package store

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"

	"frontdesk/core/pause"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateLimit bounds Migrate if its context does not.
const migrateLimit = 5 * time.Minute

// Migrate brings the schema up to date. Replicas may run it at the same time. Each step and its entry in the
// table of versions are one transaction, so a replica that is killed leaves only whole steps. If several
// replicas try the same step, one succeeds; the others fail because its changes exist already, check again
// and go on with the remaining steps.
func (s *Store) Migrate(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, migrateLimit)
	defer cancel()
	before := -1
	for {
		err := s.up(bounded)
		if err == nil {
			return nil
		}
		left, failed := s.pending(bounded)
		switch {
		case failed == nil && left == 0:
			return nil
		case failed != nil && s.classify(failed) != again && s.classify(failed) != unique:
			return s.fault(ctx, failed)
		case failed == nil && left == before && s.classify(err) != again:
			return s.fault(ctx, err) // the step itself fails
		}
		if failed == nil {
			before = left
		}
		if pause.For(bounded, rand.N(50*time.Millisecond)) != nil {
			return s.fault(ctx, err)
		}
	}
}

// Pending returns how many steps Migrate would take.
func (s *Store) Pending(ctx context.Context) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, longLimit)
	defer cancel()
	left, err := s.pending(bounded)
	if err != nil {
		return 0, s.fault(ctx, err)
	}
	return left, nil
}

func (s *Store) migrator() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.dialect.goose, s.write, files, goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
}

// Version returns the number of the last step taken, or 0 in a database without tables. It changes nothing. A
// step that this program does not know is an error.
func (s *Store) Version(ctx context.Context) (version int64, err error) {
	migrator, err := s.migrator()
	if err != nil {
		return 0, s.fault(ctx, err)
	}
	err = s.try(ctx, func(ctx context.Context) error {
		version, err = s.version(ctx)
		return err
	})
	if err == nil {
		err = checkVersion(version, migrator)
	}
	return version, err
}

func (s *Store) version(ctx context.Context) (version int64, err error) {
	number := func(row scanner) (n int64, err error) { return n, row.Scan(&n) }
	if counted, _, err := find(ctx, s.read, number, s.dialect.versioned); err != nil || counted == 0 {
		return 0, err
	}
	version, _, err = find(ctx, s.read, number,
		"SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied")
	return version, err
}

// checkVersion returns an error for the version of a later program, whose rows may have another meaning.
func checkVersion(version int64, migrator *goose.Provider) error {
	steps := migrator.ListSources()
	if last := steps[len(steps)-1].Version; version > last {
		return tooNew(version, last)
	}
	return nil
}

// knowing returns a migrator. It fails if a step was taken that the migrator does not know.
func (s *Store) knowing(ctx context.Context) (*goose.Provider, error) {
	migrator, err := s.migrator()
	if err != nil {
		return nil, err
	}
	version, err := s.version(ctx)
	if err != nil {
		return nil, err
	}
	return migrator, checkVersion(version, migrator)
}

func (s *Store) up(ctx context.Context) error {
	migrator, err := s.knowing(ctx)
	if err != nil {
		return err
	}
	_, err = migrator.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		return partial.Err
	}
	return err
}

func (s *Store) pending(ctx context.Context) (int, error) {
	migrator, err := s.knowing(ctx)
	if err != nil {
		return 0, err
	}
	steps, err := migrator.Status(ctx)
	if err != nil {
		return 0, err
	}
	left := 0
	for _, step := range steps {
		if step.State == goose.StatePending {
			left++
		}
	}
	return left, nil
}
