package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// The gateway is not ready while the store answers reads but accepts no writes. Afterwards it is ready again.
func TestReadyzFailsWhileWritesFail(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url, do := database(t)
			g := opened(t, readyConfig(t, url))
			defer g.Close()
			readyz := func(want int) {
				t.Helper()
				// A probe waits for the store as long as a call does. This probe must not.
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				if want == http.StatusOK {
					ctx = t.Context()
				}
				g.probe(ctx)
				w := httptest.NewRecorder()
				g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
				if w.Code != want {
					t.Errorf("/readyz answers %d, want %d", w.Code, want)
				}
			}
			readyz(http.StatusOK)
			writesEnd := map[string]func() (again func()){
				"sqlite": func() func() { return lockedElsewhere(t, url) },
				"postgres": func() func() {
					// As after a failover: connections end, and new ones can only read.
					becomes := func(readOnly string) {
						do("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = " + readOnly +
							"', current_database()); END $$")
						do(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
							WHERE datname = current_database() AND pid <> pg_backend_pid()`)
					}
					becomes("on")
					return func() { becomes("off") }
				},
			}[name]()
			readyz(http.StatusServiceUnavailable)
			writesEnd()
			readyz(http.StatusOK)
		})
	}
}

func lockedElsewhere(t *testing.T, url string) (unlock func()) {
	t.Helper()
	db := storetest.Database(t, url)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback(); _ = db.Close() }
}
