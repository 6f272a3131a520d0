package gateway

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontdesk/config"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// readyConfig returns the configuration of a gateway that has a tenant and is closed.
func readyConfig(t *testing.T, storeURL string) config.Config {
	t.Helper()
	cfg := config.Default(nil)
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.Store.URL = storeURL
	if storeURL == "" { // its migrations take longer than all else
		if err := os.Mkdir(cfg.DataDir, 0o700); err != nil {
			t.Fatal(err)
		}
		storetest.CopyTables(t, filepath.Join(cfg.DataDir, "frontdesk.db"))
	}
	g := opened(t, cfg)
	if err := g.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Tenants().Create(t.Context(), "acme", tenant.Settings{}); err != nil {
		t.Fatal(err)
	}
	g.Close()
	return cfg
}

func opened(t *testing.T, cfg config.Config) *Gateway {
	t.Helper()
	g, err := Open(t.Context(), cfg, Options{LogTo: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// starts opens a gateway and does the first steps of every start.
func starts(ctx context.Context, cfg config.Config) error {
	g, err := Open(ctx, cfg, Options{LogTo: io.Discard})
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Migrate(ctx)
}

func wantRefused(t *testing.T, err error, reason string, says ...string) {
	t.Helper()
	f, is := errors.AsType[*fault.Error](err)
	if !is || f.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	for _, words := range says {
		if !strings.Contains(f.Detail, words) {
			t.Errorf("%q does not say %q", f.Detail, words)
		}
	}
}

func TestWhatOthersCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		mode os.FileMode
		path string
		says string
	}{
		{"the directory, by its group", 0o770, "", ReasonDirectoryExposed},
		{"the directory, by everyone", 0o777, "", ReasonDirectoryExposed},
		{"the database", 0o660, "frontdesk.db", store.ReasonFileExposed},
		{"the database's log", 0o606, "frontdesk.db-wal", store.ReasonFileExposed},
	} {
		t.Run(c.what, func(t *testing.T) {
			cfg := readyConfig(t, "")
			path := filepath.Join(cfg.DataDir, c.path)
			// A closed database has no log.
			if file, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600); err == nil {
				_ = file.Close()
			}
			chmod(t, path, c.mode)
			wantRefused(t, starts(t.Context(), cfg), c.says, "chmod", path)
			chmod(t, path, 0o700)
			if err := starts(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("the key set", func(t *testing.T) {
		cfg := readyConfig(t, "")
		chmod(t, filepath.Join(cfg.DataDir, "keyset.json"), 0o620)
		if err := starts(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a directory for all users, such as /tmp, which is left to them", func(t *testing.T) {
		cfg := readyConfig(t, "")
		chmod(t, cfg.DataDir, 0o1777)
		err := starts(t.Context(), cfg)
		wantRefused(t, err, ReasonDirectoryExposed, "a directory of its own, such as "+cfg.DataDir+"/frontdesk")
		if strings.Contains(err.Error(), "chmod") {
			t.Error(err)
		}
	})
	t.Run("the directory of a database elsewhere", func(t *testing.T) {
		otherDir := t.TempDir()
		cfg := readyConfig(t, "sqlite:"+filepath.Join(otherDir, "f.db"))
		chmod(t, otherDir, 0o777)
		wantRefused(t, starts(t.Context(), cfg), ReasonDirectoryExposed, otherDir)
		link := filepath.Join(cfg.DataDir, "link.db")
		if err := os.Symlink(filepath.Join(otherDir, "f.db"), link); err != nil {
			t.Fatal(err)
		}
		cfg.Store.URL = "sqlite:" + link
		wantRefused(t, starts(t.Context(), cfg), ReasonDirectoryExposed, otherDir)
		// Nor may others turn a link to a directory of the gateway's own.
		link = filepath.Join(otherDir, "link.db")
		if err := os.Symlink(filepath.Join(cfg.DataDir, "f.db"), link); err != nil {
			t.Fatal(err)
		}
		cfg.Store.URL = "sqlite:" + link
		wantRefused(t, starts(t.Context(), cfg), ReasonDirectoryExposed, otherDir)
	})
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if mode&0o1000 != 0 {
		mode = mode&0o777 | os.ModeSticky
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// A file that a broken disk or an editor has left is no defect of the gateway's, and the operator is told the way on.
func TestAHeadThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, "")
	path := filepath.Join(cfg.DataDir, headFile)
	if err := os.WriteFile(path, []byte(`{"rows":`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, starts(t.Context(), cfg), ReasonDatabaseUnknown, path, "--begin-anew")
	g := opened(t, cfg)
	defer g.Close()
	if _, err := g.BeginAnew(); err != nil {
		t.Fatal(err)
	}
	if err := starts(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

// databases opens an empty database of either store. do runs a statement in it.
var databases = map[string]func(t *testing.T) (url string, do func(statement string)){
	"sqlite": func(t *testing.T) (string, func(string)) {
		path := filepath.Join(t.TempDir(), "f.db")
		return "sqlite:" + path, executes(t, "sqlite:"+path)
	},
	"postgres": func(t *testing.T) (string, func(string)) {
		url := storetest.EmptyPostgres(t)
		return url, executes(t, url+"&default_transaction_read_only=off")
	},
}

func executes(t *testing.T, url string) func(string) {
	return func(statement string) {
		t.Helper()
		db := storetest.Database(t, url)
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASchemaThatALaterVersionMadeIsRefused(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url, do := database(t)
			cfg := readyConfig(t, url)
			do("INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000000, TRUE)")
			wantRefused(t, starts(t.Context(), cfg), store.ReasonSchemaTooNew, "1000000", "restore a backup")
			wantDoctor(t, cfg, "later version")
			do("DELETE FROM goose_db_version WHERE version_id = 1000000")
			if err := starts(t.Context(), cfg); err != nil {
				t.Error(err)
			}
		})
	}
}

// wantDoctor fails unless the doctor finds the store wrong.
func wantDoctor(t *testing.T, cfg config.Config, says string) {
	t.Helper()
	g := opened(t, cfg)
	defer g.Close()
	found, err := g.Examine(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Subject == "store" && !f.OK && strings.Contains(f.Says, says) {
			return
		}
	}
	t.Errorf("the doctor does not say %q: %+v", says, found)
}

func TestAnotherDatabaseBesideAUsedKeySetIsRefused(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url, _ := database(t)
			cfg := readyConfig(t, url)
			if err := starts(t.Context(), cfg); err != nil { // the database belongs to this gateway
				t.Fatal(err)
			}

			emptied := cfg
			emptied.Store.URL, _ = database(t)
			wantRefused(t, starts(t.Context(), emptied), ReasonDatabaseEmpty, "audit-head.json",
				"frontdesk restore", "--begin-anew")
			wantDoctor(t, emptied, "is empty")

			another := cfg
			another.Store.URL = readyConfig(t, emptied.Store.URL).Store.URL
			wantRefused(t, starts(t.Context(), another), ReasonDatabaseUnknown, "store.url", "--begin-anew")
			wantDoctor(t, another, "belongs to another gateway")

			g := opened(t, another)
			aside, err := g.BeginAnew()
			g.Close()
			if err != nil || aside == "" {
				t.Fatalf("%q, %v", aside, err)
			}
			if err := starts(t.Context(), another); err != nil {
				t.Error(err)
			}
		})
	}
}

// A command on another machine that was not told the key set makes nothing that the gateways cannot use.
func TestANewKeySetBesideAUsedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			url, _ := database(t)
			first := readyConfig(t, url)
			another := first
			another.DataDir = filepath.Join(t.TempDir(), "data")
			for range 2 {
				wantRefused(t, starts(t.Context(), another), ReasonDatabaseUnknown, another.DataDir, "secrets.keyset")
			}
			g := opened(t, another)
			wantRefused(t, g.Adopt(t.Context()), ReasonDatabaseUnknown)
			g.Close()
			replica := another
			replica.Secrets.Keyset = "file:" + filepath.Join(first.DataDir, "keyset.json")
			for _, cfg := range []config.Config{first, replica} {
				if err := starts(t.Context(), cfg); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// If only the key set was lost, nothing makes another one beside the database: a gateway that serves would take it
// for its own, and what the new one sealed would be lost when the right one is back.
func TestALostKeySetIsNotReplaced(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, "")
	lost := filepath.Join(cfg.DataDir, "keyset.json")
	kept, err := os.ReadFile(lost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		wantRefused(t, starts(t.Context(), cfg), ReasonNoKeySet, lost, "Put it back")
	}
	if err := os.WriteFile(lost, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starts(t.Context(), cfg); err != nil {
		t.Error(err)
	}
}

// Whoever restores one copy after another, in the same second, keeps each former database.
func TestEachRestoreKeepsTheFormerDatabase(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, "")
	copied := filepath.Join(t.TempDir(), "copy.db")
	g := opened(t, cfg)
	err := g.Backup(t.Context(), copied)
	g.Close()
	now, kept := time.Date(2027, 3, 2, 8, 0, 0, 0, time.UTC), map[string]bool{}
	for range 2 {
		now = now.Add(10 * time.Millisecond)
		done, failed := Restore(t.Context(), cfg, copied, Options{LogTo: io.Discard, Now: func() time.Time { return now }})
		if err = errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		kept[done.Before] = true
	}
	if len(kept) != 2 {
		t.Errorf("one former database was put in the place of another: %v", kept)
	}
}

// A database may lie in a folder with other things of the operator's, such as a home directory.
func TestARestoreRemovesNothingOfOthers(t *testing.T) {
	t.Parallel()
	cfg := readyConfig(t, "")
	folder, copied := filepath.Join(cfg.DataDir, ".restore-points"), filepath.Join(t.TempDir(), "copy.db")
	g := opened(t, cfg)
	err := g.Backup(t.Context(), copied)
	g.Close()
	yesterday := time.Now().AddDate(0, 0, -1)
	err = errors.Join(err, os.Mkdir(folder, 0o700), os.Chtimes(folder, yesterday, yesterday))
	if _, failed := Restore(t.Context(), cfg, copied, Options{LogTo: io.Discard}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
}
