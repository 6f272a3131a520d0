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
	others, err := fs.Glob(files, "*"+s.dialect.others)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.dialect.goose, s.write, files, goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()), goose.WithExcludeNames(others))
}

// Version returns the number of the last step taken, or 0 in a database without tables. It changes nothing. A
// step that this program does not know, and that does not say that it suits this program, is an error.
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
		_, err = s.isLater(ctx, version, migrator)
	}
	return version, err
}

func (s *Store) version(ctx context.Context) (version int64, err error) {
	if counted, _, err := find(ctx, s.read, scanInt, s.dialect.versioned); err != nil || counted == 0 {
		return 0, err
	}
	version, _, err = find(ctx, s.read, scanInt,
		"SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied")
	return version, err
}

// isLater reports whether the schema is a later program's, which has taken every step that this one knows. It
// fails if one of the later steps does not say that it suits this program: rows may have another meaning.
func (s *Store) isLater(ctx context.Context, version int64, migrator *goose.Provider) (bool, error) {
	steps := migrator.ListSources()
	last := steps[len(steps)-1].Version
	if version <= last {
		return false, nil
	}
	unsuited, _, err := find(ctx, s.read, scanInt, `SELECT COUNT(*) FROM goose_db_version AS step
		WHERE step.version_id > $1 AND step.is_applied AND NOT EXISTS (SELECT 1 FROM schema_compatibility AS suits
			WHERE suits.version = step.version_id AND suits.least <= $1)`, last)
	if err == nil && unsuited > 0 {
		err = tooNew(version, last)
	}
	return true, err
}

// knowing returns a migrator, and whether the schema is a later program's that suits this one.
func (s *Store) knowing(ctx context.Context) (_ *goose.Provider, later bool, err error) {
	migrator, err := s.migrator()
	if err != nil {
		return nil, false, err
	}
	version, err := s.version(ctx)
	if err != nil {
		return nil, false, err
	}
	later, err = s.isLater(ctx, version, migrator)
	return migrator, later, err
}

func (s *Store) up(ctx context.Context) error {
	migrator, later, err := s.knowing(ctx)
	if err != nil || later {
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
	migrator, later, err := s.knowing(ctx)
	if err != nil || later {
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
