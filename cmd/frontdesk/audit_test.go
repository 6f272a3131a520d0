package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// audited is a row in the output of audit list --json.
type audited struct {
	ID                                            int64
	Tenant, Actor, Action, Subject, Outcome, Hash string
	RequestID                                     string `json:"request_id"`
	ConnectionID                                  string `json:"connection_id"`
	Changed                                       []string
}

func (d *deployment) audit(args ...string) []audited {
	d.t.Helper()
	var rows []audited
	out := d.must(append([]string{"audit", "list", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
	return rows
}

// A gateway that is killed at any moment leaves a sound audit, in which every acknowledged call is done once.
func TestAKilledGatewayLeavesASoundAudit(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL)
		r, c := demo(t, d)
		key := c.key
		var mu sync.Mutex
		acknowledged := map[string]bool{}
		for round := range numberFrom(t, "FRONTDESK_KILLS", 2) {
			var wg sync.WaitGroup
			enough := make(chan struct{})
			began := len(acknowledged)
			for worker := range 4 {
				wg.Go(func() {
					for i := 0; ; i++ {
						a, err := c.call(http.MethodPost, "/v1/calendar/book-meeting",
							fmt.Sprintf(`{"title":"canary-%d-%d-%d","start_time":"2027-06-01T10:00:00Z","end_time":"2027-06-01T10:05:00Z","attendee_emails":["canary@example.com"]}`, round, worker, i))
						if err != nil {
							return // it was killed
						}
						if a.status == 200 {
							mu.Lock()
							if acknowledged[a.text("event", "event_id")] = true; len(acknowledged) == began+25 {
								close(enough)
							}
							mu.Unlock()
						}
					}
				})
			}
			select {
			case <-enough:
			case <-time.After(20 * time.Second):
			}
			r.kill()
			wg.Wait()
			if out, errs, code := d.do("", "audit", "verify"); code != exitOK {
				t.Fatalf("after a kill: exit %d\n%s%s", code, out, errs)
			}
			r = d.serve()
			c = r.as(key)
		}
		if code := r.stop(); code != exitOK {
			t.Fatalf("exit %d\n%s", code, r.log())
		}
		head := d.must("audit", "verify")
		done := map[string]int{}
		for _, row := range d.audit("--action", "book-meeting", "--tenant", "demo", "--limit", "1000000") {
			if row.ID == 0 {
				t.Errorf("a row is not sealed after the gateway ended: %+v", row)
			}
			if row.Outcome == "done" {
				done[row.Subject]++
			}
		}
		for id := range acknowledged {
			if done[id] != 1 {
				t.Errorf("%s was acknowledged, and is %d times done", id, done[id])
			}
		}
		if len(acknowledged) < 50 {
			t.Fatalf("only %d calls were acknowledged: the test proves nothing", len(acknowledged))
		}
		if all := d.must("audit", "list", "--json", "--limit", "1000000"); strings.Contains(all, "canary") ||
			strings.Contains(all, key) {
			t.Error("the audit holds a title, an e-mail address or a key")
		}
		if again := d.must("audit", "verify", "--head", head); again != head {
			t.Errorf("the head was %s and is %s", head, again)
		}
	})
}

func TestAuditOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "PASSWORD=s3cret-canary")
	if out, errs, code := d.do("", "audit", "verify"); code != exitOK || !strings.Contains(errs, "0 rows") {
		t.Errorf("an empty one: exit %d\n%s%s", code, out, errs)
	}
	d.must("tenant", "create", "acme", "--timezone", "Europe/Paris")
	key := d.must("key", "create", "--tenant", "acme", "--scope", "calendar:read", "--label", "label-canary")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "caldav", "--set",
		"url=https://canary.example.com/",
		"--secret", "username=env:HOME", "--secret", "password=env:PASSWORD")
	d.must("keyset", "rotate")
	d.must("tenant", "create", "bolt")
	d.must("tenant", "delete", "bolt", "--yes")

	var lines []string
	for i, row := range d.audit() {
		if row.ID != int64(i+1) || row.Outcome != "done" || len(row.Hash) != 64 {
			t.Errorf("row %d is %+v", i+1, row)
		}
		lines = append(lines, strings.TrimSpace(row.Actor+" "+row.Action+" "+row.Tenant+" "+
			strings.Join(row.Changed, ",")))
	}
	if want := []string{
		"operator:tenant create create-tenant acme timezone", "operator:key create create-key acme calendar:read",
		"operator:connection add add-connection acme settings.url,credentials.password,credentials.username",
		"operator:keyset rotate rotate-keyset", "operator:tenant create create-tenant bolt",
		"operator:tenant delete delete-tenant bolt",
	}; !slices.Equal(lines, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if all := d.must("audit", "list", "--json") + d.must("audit", "list"); strings.Contains(all, "canary") ||
		strings.Contains(all, key) || strings.Contains(all, "Paris") {
		t.Errorf("it holds a secret or a setting: %s", all)
	}
	if got := d.audit("--tenant", "bolt", "--action", "delete-tenant", "--since", "1h", "--limit",
		"1"); len(got) != 1 || got[0].ID != 6 {
		t.Errorf("filtered: %+v", got)
	}
	if got := d.audit("--tenant", "bolt", "--action", "create-key"); len(got) != 0 {
		t.Errorf("of a tenant that was deleted, what nobody did: %+v", got)
	}
	if got := d.must("audit", "list", "--limit", "1"); !strings.Contains(got, "delete-tenant") ||
		strings.Contains(got, "create-tenant") {
		t.Errorf("the newest:\n%s", got)
	}
	if _, said, code := d.do("", "audit", "list", "--action", "creat-key"); code != exitFailed ||
		!strings.Contains(said, "did you mean create-key?") {
		t.Errorf("an action that nobody can take: %d %s", code, said)
	}
	d.wantFailure(`There is no tenant "nobody".`, "audit", "list", "--tenant", "nobody")
	if out, _, code := d.do("", "audit", "list", "--since=-1h"); code != exitUsage || out != "" {
		t.Errorf("since an hour that is to come: exit %d\n%s", code, out)
	}
	if _, _, code := d.do("", "audit", "list", "--limit", "0"); code != exitUsage {
		t.Errorf("--limit 0: exit %d", code)
	}
	for range 2 { // the second drops the key that the audit began with
		d.must("keyset", "rotate")
	}
	head := d.must("audit", "verify")
	if !strings.HasPrefix(head, "8:") {
		t.Errorf("the head is %s", head)
	}
}

func TestAuditVerifyFailsOnTampering(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	dir := d.dataDir()
	for _, name := range []string{"a", "b", "c"} {
		d.must("tenant", "create", name)
	}
	head := d.must("audit", "verify")
	_, hash, _ := strings.Cut(head, ":")
	kept := filepath.Join(t.TempDir(), "kept.json")
	raw, err := os.ReadFile(filepath.Join(dir, "audit-head.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{head, hash, kept} {
		if out, errs, code := d.do("", "audit", "verify", "--head", good); code != exitOK {
			t.Errorf("--head %s: exit %d\n%s%s", good, code, out, errs)
		}
	}
	for _, bad := range []string{
		"4:" + hash, "3:" + strings.Repeat("0", 64), strings.Repeat("0", 64), filepath.Join(dir, "keyset.json"),
		"nonsense",
	} {
		if out, _, code := d.do("", "audit", "verify", "--head", bad); code != exitFailed {
			t.Errorf("--head %s: exit %d\n%s", bad, code, out)
		}
	}
	if out, _, _ := d.do("", "doctor"); !strings.Contains(out, "intact, 3 rows") {
		t.Errorf("%s", out)
	}
	db := storetest.Database(t, "sqlite:"+filepath.Join(dir, "frontdesk.db"))
	defer db.Close()
	if _, err := db.Exec("UPDATE audit SET actor = 'operator:nobody' WHERE id = 2"); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := d.do("", "audit", "verify"); code != exitFailed || !strings.Contains(errs, "row 2") {
		t.Errorf("exit %d: %s", code, errs)
	}
	var report struct {
		Sound   bool
		Problem struct{ Row int64 }
	}
	out, _, code := d.do("", "audit", "verify", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFailed || report.Sound ||
		report.Problem.Row != 2 {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	if out, _, code := d.do("", "doctor"); code != exitFailed ||
		!strings.Contains(out, "row 2 is not as it was written") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	if _, err := db.Exec("DELETE FROM audit"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DELETE FROM audit_keys"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE audit_head SET count = 0, mac = '', key_id = '', seal = ''"); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := d.do("", "audit", "verify"); code != exitFailed ||
		!strings.Contains(errs, "audit-head.json knows 3 rows") {
		t.Errorf("emptied, keys and all: exit %d: %s", code, errs)
	}
}

// An operator archives the audit, loses an archive, and restores a copy of the database from before.
func TestTheAuditIsArchivedOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	folder, backup := filepath.Join(t.TempDir(), "archives"), filepath.Join(t.TempDir(), "copy.db")
	if _, _, code := d.do("", "audit", "archive", "--older-than=-1h", "--dir", folder); code != exitUsage {
		t.Errorf("a negative age: exit %d", code)
	}
	if _, _, code := d.do("", "audit", "verify", "--first", "2"); code != exitUsage {
		t.Errorf("--first without --archive: exit %d", code)
	}
	d.wantFailure("audit.keep is not set", "audit", "archive", "--dir", folder)
	d.wantFailure("audit.archive_dir is not set", "audit", "archive", "--older-than", "0s")
	d.must("tenant", "create", "acme")
	d.must("key", "create", "--tenant", "acme")
	d.must("key", "revoke", d.audit("--action", "create-key")[0].Subject)
	d.must("backup", backup)
	early := d.must("audit", "verify")
	out, errs, code := d.do("", "audit", "archive", "--older-than", "1h", "--dir", folder)
	if out != "" || code != exitOK || !strings.Contains(errs, "No row is old enough") {
		t.Errorf("young rows: exit %d\n%s%s", code, out, errs)
	}
	file := strings.TrimSpace(d.must("audit", "archive", "--older-than", "0s", "--dir", folder))
	if filepath.Dir(file) != folder || !strings.HasPrefix(filepath.Base(file), "audit-000000000001-000000000003-") {
		t.Errorf("the file is %q", file)
	}
	var actions []string
	for _, row := range d.audit() {
		actions = append(actions, row.Actor+" "+row.Action)
	}
	want := []string{"operator:key revoke revoke-key", "operator:audit archive archive-audit"}
	if !slices.Equal(actions, want) {
		t.Errorf("in the database are %q", actions)
	}
	if _, errs, code := d.do("", "audit", "verify", "--head", early); code != exitOK ||
		!strings.Contains(errs, "The rows up to 3 are archived, and not checked here") {
		t.Errorf("the database alone: exit %d: %s", code, errs)
	}
	for _, archive := range []string{folder, file} {
		if _, errs, code := d.do("", "audit", "verify", "--archive", archive, "--head", early); code != exitOK ||
			!strings.Contains(errs, "1 archives are intact: they begin with row 1 and join the database") {
			t.Errorf("with %s: exit %d: %s", archive, code, errs)
		}
	}
	d.wantFailure("row 1 is missing", "audit", "verify", "--archive", t.TempDir())

	d.must("tenant", "create", "bolt") // lost with the database
	d.must("restore", backup)
	if out, errs, code := d.do("", "audit", "verify", "--archive", folder); code != exitOK {
		t.Errorf("a restored database, with an archive of later: exit %d\n%s%s", code, out, errs)
	}
	d.must("tenant", "create", "cask")
	if again := d.must("audit", "archive", "--older-than", "0s", "--dir", folder); strings.Contains(again, file) {
		t.Errorf("%s is written again with another row: %s", file, again)
	}
	d.must("audit", "verify", "--archive", folder, "--head", early)
}
