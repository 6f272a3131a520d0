package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAValueAskedForIsAllOfStandardOutput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	if got := h.must("tenant", "create", "acme", "--timezone", "Europe/Paris"); got != "acme" {
		t.Errorf("tenant create prints %q", got)
	}
	key := h.must("key", "create", "--tenant", "acme", "--scope", "calendar:read", "--scope", "tickets:read")
	if len(key) != len("fd_live_")+38 || !strings.HasPrefix(key, "fd_live_") {
		t.Errorf("key create prints %q", key)
	}
	if test := h.must("key", "create", "--tenant", "acme", "--test"); !strings.HasPrefix(test, "fd_test_") {
		t.Errorf("key create --test prints %q", test)
	}
	var keys []map[string]any
	if err := json.Unmarshal([]byte(h.must("key", "list", "--tenant", "acme", "--json")), &keys); err != nil || len(keys) != 2 {
		t.Errorf("key list --json: %v %v", keys, err)
	}
	if strings.Contains(h.must("key", "list", "--tenant", "acme"), key) {
		t.Error("a key is shown again")
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	for _, c := range []struct {
		says string
		code int
		args []string
		errs string
	}{
		{"done", exitOK, []string{"tenant", "create", "acme"}, ""},
		{"refused", exitFailed, []string{"tenant", "create", "acme"}, "acme"},
		{"an unknown tenant", exitFailed, []string{"key", "create", "--tenant", "nobody"}, "nobody"},
		{"an unknown command", exitUsage, []string{"tennant"}, ""},
		{"a missing flag", exitUsage, []string{"key", "create"}, "--tenant"},
		{"a deletion without --yes", exitUsage, []string{"tenant", "delete", "acme"}, "--yes"},
		{"a literal secret", exitUsage, []string{"connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--secret", "password=hunter2"}, "env:"},
		{"an unknown provider", exitFailed, []string{"connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "outlook"}, "caldav"},
		{"an unknown scope", exitFailed, []string{"key", "create", "--tenant", "acme", "--scope", "calendar"}, "calendar:read"},
		{"help", exitOK, []string{"--help"}, ""},
		{"deleted", exitOK, []string{"tenant", "delete", "acme", "--yes"}, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			out, errs, code := h.do("", c.args...)
			if code != c.code || !strings.Contains(errs, c.errs) {
				t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, errs)
			}
			if strings.Contains(out+errs, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

func TestASecretComesFromStandardInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	h.must("tenant", "create", "acme")
	_, errs, code := h.do("s3cret-canary\n", "connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav",
		"--set", "url=https://calendar.example.com/", "--secret", "username=env:HOME", "--secret", "password=-")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	listed := h.must("connection", "list", "--tenant", "acme", "--json")
	if strings.Contains(listed, "canary") || !strings.Contains(listed, "calendar.example.com") {
		t.Errorf("connection list: %s", listed)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimPrefix(h.environ[3], "FRONTDESK_DATA_DIR="), "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("data directory: %v %v", files, err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err != nil || strings.Contains(string(raw), "canary") {
			t.Errorf("%s holds the secret in the clear, or cannot be read: %v", file, err)
		}
	}
}

func TestApplyMakesTheFileTrue(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		h := newHouse(t, storeURL, "ACME_PASSWORD=s3cret-canary")
		file := filepath.Join(t.TempDir(), "tenants.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(`
tenants:
  - name: acme
    timezone: America/New_York
    prevent_double_booking: true
    connections:
      - name: front-office
        kind: calendar
        provider: sandbox
        default: true
      - name: desk
        kind: calendar
        provider: caldav
        settings: {url: "https://calendar.example.com/"}
        credentials: {username: "env:HOME", password: "env:ACME_PASSWORD"}
`)
		if dry := h.must("apply", "-f", file, "--dry-run"); !strings.Contains(dry, "create connection acme/desk") || strings.Contains(dry, "canary") {
			t.Errorf("a dry run prints:\n%s", dry)
		}
		if got := h.must("tenant", "list", "--json"); strings.Contains(got, "acme") {
			t.Error("a dry run made a tenant")
		}
		h.must("apply", "-f", file)
		if again := h.must("apply", "-f", file); again != "" {
			t.Errorf("a second run changes:\n%s", again)
		}
		write("tenants: [{name: acme, timezone: America/New_York, prevent_double_booking: true, connections: [{name: front-office, kind: calendar, provider: sandbox, default: true}]}]")
		if kept := h.must("apply", "-f", file); strings.Contains(kept, "delete") {
			t.Errorf("without --prune it deletes:\n%s", kept)
		}
		if pruned := h.must("apply", "-f", file, "--prune"); !strings.Contains(pruned, "delete connection acme/desk") {
			t.Errorf("--prune prints:\n%s", pruned)
		}
		write("tenants: [{name: acme, timzone: UTC}]")
		if _, errs, code := h.do("", "apply", "-f", file); code != exitFailed || !strings.Contains(errs, "timzone") || !strings.Contains(errs, "timezone") {
			t.Errorf("an unknown key: exit %d\n%s", code, errs)
		}
	})
}

func TestDoctorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "PASSWORD=x")
	h.must("tenant", "create", "acme")
	h.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "sandbox")
	if out := h.must("doctor"); strings.Contains(out, "WRONG") {
		t.Errorf("a sound gateway:\n%s", out)
	}
	h.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set", "url=http://127.0.0.1:1/", "--secret", "username=env:HOME", "--secret", "password=env:PASSWORD")
	out, _, code := h.do("", "doctor")
	if code != exitFailed || !strings.Contains(out, "egress.allow") && !strings.Contains(out, "refused") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestKeysRotateWhileTheGatewayServes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "PASSWORD=x")
	h.must("tenant", "create", "acme")
	h.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set", "url=https://calendar.example.com/", "--secret", "username=env:HOME", "--secret", "password=env:PASSWORD")
	first := h.must("keyset", "rotate")
	second := h.must("keyset", "rotate")
	status := h.must("keyset", "status")
	if first == second || !strings.Contains(status, second) {
		t.Errorf("rotated from %s to %s:\n%s", first, second, status)
	}
	if keys := strings.Count(status, "\n"); keys != 2 {
		t.Errorf("the previous key alone is kept beside the primary one:\n%s", status)
	}
}

func TestTheConfigurationIsStrict(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", "FRONTDESK_SERVER__LISSTEN=x")
	if _, errs, code := h.do("", "version"); code != exitOK {
		t.Errorf("version reads the configuration: %s", errs)
	}
	if _, errs, code := h.do("", "tenant", "list"); code != exitFailed || !strings.Contains(errs, "LISSTEN") && !strings.Contains(errs, "lissten") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestOpenAPINeedsNoStore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "postgres://127.0.0.1:1/nowhere")
	var document map[string]any
	if err := json.Unmarshal([]byte(h.must("openapi", "--format", "json")), &document); err != nil || document["openapi"] == nil {
		t.Errorf("no document: %v", err)
	}
}
