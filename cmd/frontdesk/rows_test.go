package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/store/storetest"
)

// tamper changes the database as somebody without the key set could.
func (d *deployment) tamper(statements ...string) {
	d.t.Helper()
	db := storetest.Database(d.t, "sqlite:"+d.databaseFile())
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			d.t.Fatalf("%s: %v", s, err)
		}
	}
}

// unseal puts a database back to before its rows were sealed, which needs no key set.
var unseal = []string{"UPDATE api_keys SET seal = NULL", "UPDATE connections SET credentials = NULL"}

func (d *deployment) createRows() {
	d.t.Helper()
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox")
	d.must("key", "create", "--tenant", "acme")
}

// doctor and audit verify name the changed rows, and no step of a start makes them valid.
func TestChangedRowsAreNamed(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.createRows()
	for _, command := range [][]string{{"doctor"}, {"audit", "verify"}} {
		if out, errs, code := d.do("", command...); code != exitOK || strings.Contains(out, "refused") {
			t.Fatalf("%v: exit %d\n%s%s", command, code, out, errs)
		}
	}
	d.tamper("UPDATE api_keys SET label = 'x'", `UPDATE connections SET settings = '{"fault":"down"}'`)
	d.must("migrate")
	d.must("tenant", "list")
	for _, command := range [][]string{{"doctor"}, {"audit", "verify"}, {"audit", "verify", "--json"}} {
		out, errs, code := d.do("", command...)
		for _, id := range []string{"key_", "conn_", "api_keys", "connections"} {
			if code != exitFailed || !strings.Contains(out+errs, id) {
				t.Errorf("%v does not say %s: exit %d\n%s%s", command, id, code, out, errs)
			}
		}
	}
}

// A gateway that created its key set itself adopts rows of the previous version at its first start, and never
// again. With another key set, an operator must request it.
func TestRowsAreAdoptedOnce(t *testing.T) {
	t.Parallel()
	t.Run("a key set of its own", func(t *testing.T) {
		t.Parallel()
		d := newDeployment(t, "")
		d.createRows()
		d.tamper(unseal...)
		if _, errs, code := d.do("", "tenant", "list"); code != exitFailed ||
			!strings.Contains(errs, "migrate --adopt") {
			t.Errorf("taken back to before: exit %d\n%s", code, errs)
		}
		// As after an upgrade.
		if err := os.Remove(filepath.Join(filepath.Dir(d.databaseFile()), "rows-sealed")); err != nil {
			t.Fatal(err)
		}
		d.must("tenant", "list")
		d.must("doctor")
		d.tamper("UPDATE api_keys SET seal = NULL")
		d.must("tenant", "list")
		if out, _, code := d.do("", "doctor"); code != exitFailed || !strings.Contains(out, "api_keys") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
	t.Run("the operator's key set", func(t *testing.T) {
		t.Parallel()
		first := newDeployment(t, "")
		first.must("tenant", "list")
		keys, err := os.ReadFile(filepath.Join(filepath.Dir(first.databaseFile()), "keyset.json"))
		if err != nil {
			t.Fatal(err)
		}
		d := newDeployment(t, "", "FRONTDESK_SECRETS__KEYSET=env:KEYS", "KEYS="+string(keys))
		d.createRows()
		d.tamper(unseal...)
		for _, command := range []string{"migrate", "serve"} {
			if _, errs, code := d.do("", command); code != exitFailed || !strings.Contains(errs, "migrate --adopt") {
				t.Errorf("%s: exit %d\n%s", command, code, errs)
			}
		}
		d.must("migrate", "--adopt")
		d.must("doctor")
	})
}

// Somebody with the files of the database, but not the key set, learns nothing of what callers said: neither
// from kept responses and plans nor from the sandboxes.
func TestTheFilesDoNotTellWhatCallersSaid(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	r, c := demo(t, d)
	const mark = "zanzibar-4711"
	c.post(200, "calendar/book-meeting",
		`{"title":"`+mark+`","description":"`+mark+`","start_time":"2027-03-02T10:00:00Z",
		"end_time":"2027-03-02T10:30:00Z","attendee_emails":["`+mark+`@example.com"]}`)
	c.post(200, "tickets/create-ticket", `{"subject":"`+mark+`","description":"`+mark+`"}`)
	look := func() {
		t.Helper()
		for _, name := range []string{"", "-wal", "-shm"} {
			raw, err := os.ReadFile(d.databaseFile() + name)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), mark) {
				t.Errorf("frontdesk.db%s has it", name)
			}
		}
	}
	look()
	d.must("keyset", "rotate") // while it serves
	d.must("keyset", "rotate")
	listed := c.post(200, "calendar/list-events",
		`{"start_time":"2027-03-02","end_time":"2027-03-03","timezone":"UTC"}`)
	if got := listed.text("events", 0, "subject"); got != mark {
		t.Errorf("after two rotations the list holds %q", got)
	}
	if out, errs, code := d.do("", "doctor"); code != exitOK {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	r.stop()
	look()
}
