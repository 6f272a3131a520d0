package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// A program goes on beside a later one whose steps are compatible with it: it starts, and finds nothing to do.
// Every step that it does not know has to say so.
func TestALaterSchemaMaySuitAnEarlierProgram(t *testing.T) {
	t.Parallel()
	bothURLs(t, func(t *testing.T, url string) {
		s := storetest.Open(t, url)
		last := got(s.Version(t.Context()))(t)
		db := storetest.Database(t, url)
		do := func(query string, args ...any) {
			t.Helper()
			_, err := db.Exec(query, args...)
			must(t, err)
		}
		later := last + 1000
		do("INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, TRUE)", later)
		refused(t, s.Migrate(t.Context()), fault.Unavailable, store.ReasonSchemaTooNew)
		do("INSERT INTO schema_compatibility (version, least) VALUES ($1, $2)", later, last)
		must(t, s.Migrate(t.Context()))
		equal(t, got(s.Pending(t.Context()))(t), 0)
		equal(t, got(s.Version(t.Context()))(t), later)
		do("INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, TRUE)", later+1)
		refused(t, s.Migrate(t.Context()), fault.Unavailable, store.ReasonSchemaTooNew)
		do("INSERT INTO schema_compatibility (version, least) VALUES ($1, $2)", later+1, last+1)
		_, err := s.Pending(t.Context())
		refused(t, err, fault.Unavailable, store.ReasonSchemaTooNew)
	})
}

// Whoever writes a step decides whether the version before it can go on.
func TestEveryStepSaysWhichProgramsItSuits(t *testing.T) {
	t.Parallel()
	files := got(filepath.Glob("migrations/*.sql"))(t)
	for _, file := range files {
		if filepath.Base(file) <= "00030" || strings.Contains(file, "00030_") {
			continue
		}
		text := got(os.ReadFile(file))(t)
		if !strings.Contains(string(text), "schema_compatibility") {
			t.Errorf("%s does not say in schema_compatibility which programs it suits, nor in a comment why none", file)
		}
	}
}
