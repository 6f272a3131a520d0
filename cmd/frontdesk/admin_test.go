package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"frontdesk/core/store/storetest"
)

func TestAValueAskedForIsAllOfStandardOutput(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	if got := d.must("tenant", "create", "acme", "--timezone", "Europe/Paris"); got != "acme" {
		t.Errorf("tenant create prints %q", got)
	}
	key := d.must("key", "create", "--tenant", "acme", "--scope", "calendar:read", "--scope", "tickets:read")
	if len(key) != len("fd_live_")+38 || !strings.HasPrefix(key, "fd_live_") {
		t.Errorf("key create prints %q", key)
	}
	if test := d.must("key", "create", "--tenant", "acme", "--test"); !strings.HasPrefix(test, "fd_test_") {
		t.Errorf("key create --test prints %q", test)
	}
	var keys []map[string]any
	if err := json.Unmarshal([]byte(d.must("key", "list", "--tenant", "acme", "--json")), &keys); err != nil ||
		len(keys) != 2 {
		t.Errorf("key list --json: %v %v", keys, err)
	}
	if strings.Contains(d.must("key", "list", "--tenant", "acme"), key) {
		t.Error("a key is shown again")
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
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
		{"a literal secret", exitUsage,
			[]string{"connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--secret",
				"password=hunter2"}, "env:"},
		{"an unknown provider", exitFailed,
			[]string{"connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "outlook"},
			"caldav"},
		{"an unknown scope", exitFailed, []string{"key", "create", "--tenant", "acme", "--scope", "calendar"},
			"calendar:read"},
		{"help", exitOK, []string{"--help"}, ""},
		{"deleted", exitOK, []string{"tenant", "delete", "acme", "--yes"}, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			out, errs, code := d.do("", c.args...)
			if code != c.code || !strings.Contains(errs, c.errs) {
				t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, errs)
			}
			if strings.Contains(out+errs, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

// An operator who has a line of the log, with the ids in it, finds out whose it is.
func TestWhatTheLogNamesIsListed(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox")
	var tenantID, connectionID string
	err := storetest.Database(t, "sqlite:"+d.databaseFile()).QueryRow(
		"SELECT tenant_id, id FROM connections").Scan(&tenantID, &connectionID)
	if err != nil {
		t.Fatal(err)
	}
	for _, json := range []string{"", "--json"} {
		tenants := d.must(strings.Fields("tenant list " + json)...)
		connections := d.must(strings.Fields("connection list --tenant acme " + json)...)
		if !strings.Contains(tenants, tenantID) || !strings.Contains(connections, connectionID) {
			t.Errorf("%s and %s are not in\n%s%s", tenantID, connectionID, tenants, connections)
		}
	}
}

func TestASecretComesFromStandardInput(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	_, errs, code := d.do("s3cret-canary\n", "connection", "add", "--tenant", "acme", "--kind", "calendar",
		"--provider", "caldav",
		"--set", "url=https://calendar.example.com/", "--secret", "username=env:HOME", "--secret", "password=-")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	listed := d.must("connection", "list", "--tenant", "acme", "--json")
	if strings.Contains(listed, "canary") || !strings.Contains(listed, "calendar.example.com") {
		t.Errorf("connection list: %s", listed)
	}
	files, err := filepath.Glob(filepath.Join(d.dataDir(), "*"))
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
		d := newDeployment(t, storeURL, "ACME_PASSWORD=s3cret-canary")
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
		if dry := d.must("apply", "-f", file, "--dry-run"); !strings.Contains(dry, "create connection acme/desk") ||
			strings.Contains(dry, "canary") {
			t.Errorf("a dry run prints:\n%s", dry)
		}
		if got := d.must("tenant", "list", "--json"); strings.Contains(got, "acme") {
			t.Error("a dry run made a tenant")
		}
		d.must("apply", "-f", file)
		if again := d.must("apply", "-f", file); again != "" {
			t.Errorf("a second run changes:\n%s", again)
		}
		write(
			"tenants: [{name: acme, timezone: America/New_York, prevent_double_booking: true, connections: [{name: " +
				"front-office, kind: calendar, provider: sandbox, default: true}]}]")
		if kept := d.must("apply", "-f", file); strings.Contains(kept, "delete") {
			t.Errorf("without --prune it deletes:\n%s", kept)
		}
		if pruned := d.must("apply", "-f", file, "--prune"); !strings.Contains(pruned,
			"delete connection acme/desk") {
			t.Errorf("--prune prints:\n%s", pruned)
		}
		write("tenants: [{name: acme, timzone: UTC}]")
		if _, errs, code := d.do("", "apply", "-f", file); code != exitFailed ||
			!strings.Contains(errs, "timzone") || !strings.Contains(errs, "timezone") {
			t.Errorf("an unknown key: exit %d\n%s", code, errs)
		}
	})
}

// A connection that lacks the operator's OAuth client is stored, and told as stored.
func TestAConnectionWithoutAnOAuthClientIsToldAsAdded(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "REFRESH_TOKEN=x")
	d.must("tenant", "create", "bolt")
	_, errs, code := d.do("", "connection", "add", "--tenant", "bolt", "--kind", "calendar", "--provider", "google",
		"--secret", "refresh_token=env:REFRESH_TOKEN")
	if code != exitOK || !strings.Contains(errs, "There is no OAuth client for google") {
		t.Errorf("connection add: exit %d\n%s", code, errs)
	}
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(file, []byte(`tenants:
  - name: acme
    connections:
      - {name: desk, kind: calendar, provider: google, credentials: {refresh_token: "env:REFRESH_TOKEN"}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := d.do("", "apply", "-f", file)
	if code != exitOK || !strings.Contains(out, "create connection acme/desk") ||
		!strings.Contains(errs, "There is no OAuth client for google") {
		t.Errorf("apply: exit %d\n%s%s", code, out, errs)
	}
}

func TestApplyNamesTheAgentsThatItChanges(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	for _, step := range []struct{ file, want string }{
		{"tenants: [{name: acme, agents: [{name: rec, platform: tools, credentials: {signing: env:HOME}}]}]",
			"create agent acme/rec\n"},
		{"tenants: [{name: acme}]", "delete agent acme/rec"},
	} {
		if err := os.WriteFile(file, []byte(step.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.must("apply", "-f", file, "--prune"); !strings.Contains(got+"\n", step.want) ||
			strings.Contains(got, "delete tenant") {
			t.Errorf("%s prints:\n%s", step.file, got)
		}
	}
}

// What was done before a step failed stays done, so it is told, and so is the step.
func TestAFailedApplyTellsWhatItHasDone(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	db := storetest.Database(t, "sqlite:"+filepath.Join(d.dataDir(),
		"frontdesk.db"))
	defer db.Close()
	if _, err := db.Exec("CREATE TRIGGER kept BEFORE UPDATE OF deleted_at ON tenants BEGIN SELECT RAISE(ABORT, 'kept'); END"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	for _, c := range []struct {
		name, done string
		flags      []string
	}{
		{"beta", "create tenant beta\n", nil},
		{"gamma", `"tenant": "gamma"`, []string{"--json"}},
	} {
		if err := os.WriteFile(file, []byte("tenants: [{name: "+c.name+"}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := d.do("", append([]string{"apply", "-f", file, "--prune"}, c.flags...)...)
		if code != exitFailed || !strings.Contains(out, c.done) || strings.Contains(out, "acme") {
			t.Errorf("exit %d, and it prints:\n%s", code, out)
		}
		if !strings.Contains(errs, "frontdesk: delete tenant ") || strings.Contains(errs, "INTERNAL") {
			t.Errorf("the step that failed is not named:\n%s", errs)
		}
	}
}

func TestWhatCannotBePrintedIsAFailure(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "sandbox")
	file := filepath.Join(t.TempDir(), "tenants.yaml")
	if err := os.WriteFile(file, []byte("tenants: [{name: beta}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apply", "-f", file}, {"connection", "verify", "--tenant", "acme", "sandbox"}, {"tenant", "create", "gamma"},
	} {
		var errs bytes.Buffer
		w := world{in: strings.NewReader(""), out: fullDisk{}, err: &errs}
		w.adapters, w.environ = known(d.environ)
		if code := run(args, w); code != exitFailed || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("%v: exit %d\n%s", args, code, errs.String())
		}
	}
}

// fullDisk is where nothing can be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestDoctorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "PASSWORD=x")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "crm", "--provider", "sandbox")
	if out := d.must("doctor"); strings.Contains(out, "WRONG") {
		t.Errorf("a sound gateway:\n%s", out)
	}
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set",
		"url=http://127.0.0.1:1/", "--secret", "username=env:HOME", "--secret", "password=env:PASSWORD")
	out, _, code := d.do("", "doctor")
	if code != exitFailed || !strings.Contains(out, "egress.allow") && !strings.Contains(out, "refused") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestACommandSaysWhyTheDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "postgres://u:hunter2@127.0.0.1:1/nowhere")
	for _, args := range [][]string{{"tenant", "list"}, {"doctor"}} {
		out, errs, code := d.do("", args...)
		if code != exitFailed || !strings.Contains(out+errs, "nobody listens there. Check") {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
		}
		if strings.Contains(out+errs, "hunter2") {
			t.Errorf("%v prints the password", args)
		}
	}
}

func TestKeysRotateWhileTheGatewayServes(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "PASSWORD=x")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set",
		"url=https://calendar.example.com/", "--secret", "username=env:HOME", "--secret", "password=env:PASSWORD")
	first := d.must("keyset", "rotate")
	second := d.must("keyset", "rotate")
	status := d.must("keyset", "status")
	if first == second || !strings.Contains(status, second) {
		t.Errorf("rotated from %s to %s:\n%s", first, second, status)
	}
	if keys := strings.Count(status, "\n"); keys != 2 {
		t.Errorf("the previous key alone is kept beside the primary one:\n%s", status)
	}
}

func TestTheConfigurationIsStrict(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_SERVER__LISSTEN=x")
	if _, errs, code := d.do("", "version"); code != exitOK {
		t.Errorf("version reads the configuration: %s", errs)
	}
	if _, errs, code := d.do("", "tenant", "list"); code != exitFailed ||
		!strings.Contains(errs, "LISSTEN") && !strings.Contains(errs, "lissten") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestOpenAPINeedsNoStore(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "postgres://127.0.0.1:1/nowhere")
	var document map[string]any
	if err := json.Unmarshal([]byte(d.must("openapi", "--format", "json")), &document); err != nil ||
		document["openapi"] == nil {
		t.Errorf("no document: %v", err)
	}
}

func TestATenantIsChangedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme", "--timezone", "Europe/Paris", "--reject-past", "--priority-word", "soon=P1; P2")
	d.must("tenant", "change", "acme", "--set", "prevent_double_booking=true", "--set", "dedupe_window=5m",
		"--set", "display_name=Smith; Sons",
		"--set", "ticket_dedupe_window=0", "--set", "max_phone_numbers=7", "--set", "status_words.open=1",
		"--unset", "timezone")
	var tenants []map[string]any
	if err := json.Unmarshal([]byte(d.must("tenant", "list", "--json")), &tenants); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(tenants[0]["settings"])
	const wants = `{"dedupe_window":"5m","display_name":"Smith; Sons","max_phone_numbers":7,` +
		`"prevent_double_booking":true,"priority_words":{"soon":"P1; P2"},"reject_past":true,` +
		`"status_words":{"open":"1"},"ticket_dedupe_window":"0s"}`
	if err != nil || string(got) != wants {
		t.Errorf("the settings are %s, want %s", got, wants)
	}
	for _, c := range []struct {
		code int
		args []string
		errs string
	}{
		{exitUsage, nil, "--set"},
		{exitUsage, []string{"--set", "timezone=UTC", "--unset", "timezone"}, "timezone"},
		{exitFailed, []string{"--set", "timezon=UTC"}, "timezone"},
		{exitFailed, []string{"--set", "reject_past=perhaps"}, "true or false"},
		{exitFailed, []string{"--unset", "nothing"}, "nothing"},
	} {
		if _, errs, code := d.do("", append([]string{"tenant", "change", "acme"}, c.args...)...); code != c.code ||
			!strings.Contains(errs, c.errs) {
			t.Errorf("%v: exit %d, %s", c.args, code, errs)
		}
	}
}
