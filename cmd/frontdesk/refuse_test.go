package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"frontdesk/core/store/storetest"
)

// serve, migrate and doctor refuse a directory that others can write and a database of a later version. They
// say what to do and exit with the code of a failure.
func TestCommandsRefuseWhatIsNotTheGateways(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	refuse := func(says string) {
		t.Helper()
		for _, command := range []string{"serve", "migrate"} {
			d.wantFailure(says, command)
		}
		if out, errs, code := d.do("", "doctor"); code != exitFailed {
			t.Errorf("doctor: exit %d\n%s%s", code, out, errs)
		}
	}
	dir := filepath.Dir(d.databaseFile())
	for _, mode := range []os.FileMode{0o777, 0o770} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refuse("chmod go-w " + dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db := storetest.Database(t, "sqlite:"+d.databaseFile())
	defer db.Close()
	if _, err := db.Exec(
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000000, 1)"); err != nil {
		t.Fatal(err)
	}
	refuse("A later version of Frontdesk")
}

// A command on a full disk says so, also where SQLite finds no room for the files beside the database.
func TestAFullDiskIsNamedBeforeTheDatabaseOpens(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("migrate")
	// No file may grow beyond 4 KiB (ulimit of POSIX, in units of 512 bytes), and the index of the log has 32.
	c := d.command("tenant", "list")
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 8 && exec "$@"`, "sh"}, c.Args...)...)
	limited.Env = c.Env
	if out, err := limited.CombinedOutput(); err == nil || !strings.Contains(string(out), "Make room on its disk") {
		t.Errorf("%v\n%s", err, out)
	}
}
