package gateway

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/calendar"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant/tenanttest"
)

// What a start refuses for the sake of the rows that are there, and what it only tells of. The operator made
// the key set, so that no start adopts rows by itself.
func TestWhatAStartSaysOfTheRows(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, do := database(t)
			cfg := readyConfig(t, url)
			own, elsewhere := filepath.Join(cfg.DataDir, "keyset.json"), filepath.Join(t.TempDir(), "keyset.json")
			keys, err := os.ReadFile(own)
			tenanttest.Must(t, err)
			tenanttest.Must(t, os.WriteFile(elsewhere, keys, 0o600))
			tenanttest.Must(t, os.Remove(own))
			cfg.Secrets.Keyset = "file:" + elsewhere

			desk := &tenanttest.Provider{}
			desk.Says(calendar.Account{Email: "desk@acme.example"}, nil)
			log := &tenanttest.Buffer{}
			g, err := Open(t.Context(), cfg, Options{LogTo: log, Adapters: []adapter.Adapter{desk.Calendar(tenanttest.Dav())}})
			tenanttest.Must(t, err)
			t.Cleanup(g.Close)
			for _, name := range []string{"front", "back"} {
				_, err := g.Connections().Add(t.Context(), "acme", connection.Spec{Name: name, Kind: adapter.KindCalendar,
					Provider: "dav", Settings: map[string]any{"url": "https://calendar.example.com/"},
					Credentials: map[string]string{"username": "desk", "password": tenanttest.Canary}})
				tenanttest.Must(t, err)
			}
			_, _, err = g.APIKeys().Create(t.Context(), "acme", apikey.Spec{})
			tenanttest.Must(t, err)

			starts := func(says string) {
				t.Helper()
				before := len(log.String())
				tenanttest.Must(t, g.Migrate(t.Context()))
				tenanttest.Must(t, g.checkKeys(t.Context()))
				g.tellOfRows(t.Context())
				if said := log.String()[before:]; !strings.Contains(said, says) || says == "" && strings.Contains(said, "doctor") {
					t.Errorf("it said %q, not %q", said, says)
				}
			}
			starts("")
			do("UPDATE api_keys SET seal = NULL")
			starts(`some rows are refused because they are not sealed; run frontdesk doctor","rows":1`)
			do("DELETE FROM api_keys")
			others := map[string]string{"sqlite": `x'0201deadbeef00'`, "postgres": `'\x0201deadbeef00'`}[name]
			do("UPDATE connections SET credentials = " + others + " WHERE name = 'back'")
			starts(`the key set lacks keys that some credentials are sealed with; run frontdesk doctor","keys":[3735928559]`)
			do("UPDATE connections SET credentials = " + others)
			tenanttest.Must(t, g.Migrate(t.Context()))
			if err := g.checkKeys(t.Context()); err == nil || !strings.Contains(err.Error(), "opens none of the stored") {
				t.Errorf("with no credentials that can be opened: %v", err)
			}
			do("UPDATE connections SET credentials = NULL")
			wantRefused(t, g.Migrate(t.Context()), "ROWS_NOT_SEALED", "2 rows", "migrate --adopt")
			if n, err := g.rows.Adopt(t.Context()); n != 2 || err != nil {
				t.Errorf("adopted %d, %v", n, err)
			}
			starts("")
		})
	}
}

// Whoever interrupts a rotation is told that it is not finished, and the audit has it.
func TestAnInterruptedRotationIsToldAndRecorded(t *testing.T) {
	t.Parallel()
	g := opened(t, readyConfig(t, storetest.SQLite(t)))
	defer g.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := g.RotateKeys(ctx)
	if f := fault.From(err); f == nil || f.Reason != fault.ReasonCanceled ||
		!strings.Contains(err.Error(), "run frontdesk keyset rotate again, and before it keyset rotate --prepare") {
		t.Errorf("the error is %v", err)
	}
	rows, err := g.Audit(t.Context(), AuditFilter{Action: "rotate-keyset", Limit: 10})
	tenanttest.Must(t, err)
	if len(rows) != 1 || rows[0].Outcome != "failed:CANCELED" {
		t.Errorf("the audit has %+v", rows)
	}
}
