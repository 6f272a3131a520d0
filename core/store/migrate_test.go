package store_test

import (
	"slices"
	"testing"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// bothEmpty runs a rule on each database, without tables.
func bothEmpty(t *testing.T, rule func(t *testing.T, url string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { rule(t, storetest.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { rule(t, storetest.EmptyPostgres(t)) })
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	t.Run("a new database has steps pending, and none once migrated", func(t *testing.T) {
		bothEmpty(t, func(t *testing.T, url string) {
			s := storetest.Connect(t, url)
			defer s.Close()
			if got(s.Pending(t.Context()))(t) == 0 {
				t.Fatal("nothing is pending")
			}
			must(t, s.Migrate(t.Context()))
			equal(t, got(s.Pending(t.Context()))(t), 0)
		})
	})
	t.Run("migrating again changes nothing", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			tenant(t, s, "acme")
			must(t, s.Migrate(t.Context()))
			equal(t, len(got(s.Tenants(t.Context()))(t)), 1)
		})
	})
	t.Run("replicas that start at once all come up", func(t *testing.T) {
		bothEmpty(t, func(t *testing.T, url string) {
			var replicas []*store.Store
			for range 6 {
				replicas = append(replicas, storetest.Connect(t, url))
			}
			for _, err := range at(len(replicas), func(i int) error {
				s := replicas[i]
				defer s.Close()
				if err := s.Migrate(t.Context()); err != nil {
					return err
				}
				_, err := s.Tenants(t.Context())
				return err
			}) {
				must(t, err)
			}
		})
	})
}

// The operator's documents move the rows from SQLite to PostgreSQL as they are.
func TestBothDatabasesHaveTheSameColumns(t *testing.T) {
	t.Parallel()
	columns := func(url, query string) []string {
		db := storetest.Database(t, url)
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), query)
		must(t, err)
		defer rows.Close()
		var list []string
		for rows.Next() {
			var column string
			must(t, rows.Scan(&column))
			list = append(list, column)
		}
		must(t, rows.Err())
		slices.Sort(list)
		return list
	}
	sqlite := storetest.SQLite(t)
	s := storetest.Open(t, sqlite)
	defer s.Close()
	of := columns(sqlite, `SELECT t.name || '.' || c.name || ' ' || lower(c.type)
		FROM sqlite_master AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT IN ('goose_db_version', 'directory_changes')
		AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	equal(t, of, columns(storetest.Postgres(t), `SELECT table_name || '.' || column_name || ' ' || data_type
		FROM information_schema.columns WHERE table_schema = 'public'
		AND table_name NOT IN ('goose_db_version', 'directory_changes')`)) // which are not moved
	if len(of) < 100 {
		t.Errorf("there are %d columns", len(of))
	}
}
