package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// bookingAt returns a booking of the numbered hour, and its own idempotency key.
func bookingAt(hour int) (body, key string) {
	return fmt.Sprintf(`{"title":"Consultation %[1]d","start_time":"2027-03-%02[2]dT%02[3]d:00:00Z","end_time":"2027-03-%02[2]dT%02[3]d:30:00Z"}`,
		hour, 1+hour/24, hour%24), fmt.Sprintf("Idempotency-Key: hour-%d", hour)
}

// An operator makes a copy while callers book, loses the database, and goes on from the copy. Bookings
// answered before the copy began are there, repeats get the same response, and new calls work.
func TestWhatWasBackedUpIsRestored(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", longDeadlines()...)
	r, c := demo(t, d)
	copied := filepath.Join(t.TempDir(), "copy.db")
	var answered atomic.Int64
	answers := make([]answer, 600)
	stop := make(chan struct{})
	var booking sync.WaitGroup
	booking.Go(func() {
		for hour := range answers {
			body, key := bookingAt(hour)
			answers[hour] = c.post(200, "calendar/book-meeting", body, key)
			answered.Store(int64(hour + 1))
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for answered.Load() < 20 {
		time.Sleep(time.Millisecond)
	}
	before := int(answered.Load())
	d.must("backup", copied)
	close(stop)
	booking.Wait()
	t.Logf("%d bookings before the copy, %d after it", before, answered.Load())
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", info.Mode(), err)
	}
	d.wantFailure("not overwritten", "backup", copied)
	for _, args := range [][]string{{"backup", "-"}, {"keyset", "copy", "--cleartext", "-"}} {
		if _, errs, code := d.do("", args...); code != exitUsage || !strings.Contains(errs, "standard output") {
			t.Errorf("frontdesk %s: exit %d, %s", strings.Join(args, " "), code, errs)
		}
	}
	d.wantFailure("in use", "restore", copied)

	r.kill()
	if err := os.Remove(d.databaseFile()); err != nil { // its log stays, and must not be replayed later
		t.Fatal(err)
	}
	d.wantFailure("audit-head.json knows", "serve")
	if output := d.wants("restore", copied); !strings.Contains(output, "1 tenants") {
		t.Errorf("restore says: %s", output)
	}
	c.base = d.serve().api
	for hour := range before {
		body, key := bookingAt(hour)
		again := c.post(200, "calendar/book-meeting", body, key)
		if string(again.body) != string(answers[hour].body) || again.header.Get("Idempotency-Replayed") != "true" {
			t.Fatalf("hour %d is answered anew: %s", hour, again.body)
		}
	}
	body, key := bookingAt(700)
	booked := c.post(200, "calendar/book-meeting", body, key).text("event", "event_id")
	listed := c.post(200, "calendar/list-events", `{"start_time":"2027-03-30","end_time":"2027-03-31"}`)
	if listed.text("events", 0, "event_id") != booked {
		t.Errorf("the new meeting is not listed: %s", listed.body)
	}
	if out, _, code := d.do("", "doctor"); code != exitOK {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	d.wantSound()
	d.must("audit", "verify")
}

const itsUser = 4001

// deploymentOfItsUser returns a deployment whose data directory belongs to a user other than root. Only root can make
// one.
func deploymentOfItsUser(t *testing.T) *deployment {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	d := newDeployment(t, "")
	if err := errors.Join(os.Remove(d.databaseFile()), os.Chown(d.dataDir(), itsUser, itsUser)); err != nil {
		t.Fatal(err)
	}
	return d
}

// An operator runs commands as root, beside a gateway that runs as a user of its own: what a command makes or replaces
// in the data directory belongs to that user, or the gateway could not start again.
func TestWhatRootMakesBelongsToTheUserOfTheDataDirectory(t *testing.T) {
	t.Parallel()
	d := deploymentOfItsUser(t)
	dir := d.dataDir()
	wantOwner := func(after string) {
		t.Helper()
		files := 0
		if err := filepath.WalkDir(dir, func(path string, file fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			files++
			info, err := file.Info()
			if err != nil {
				return err
			}
			if owner := info.Sys().(*syscall.Stat_t); owner.Uid != itsUser || owner.Gid != itsUser {
				t.Errorf("after %s, %s belongs to %d:%d", after, path, owner.Uid, owner.Gid)
			}
			return nil
		}); err != nil || files < 3 {
			t.Fatalf("%d files, %v", files, err)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, command := range [][]string{
		{"tenant", "create", "acme"}, {"admin", "link"}, {"tenant", "create", "beta"}, {"keyset", "rotate"},
		{"keyset", "copy", "--cleartext", filepath.Join(dir, "copy.json")}, {"backup", copied}, {"restore", copied},
		{"tenant", "create", "gamma"}, {"migrate", "--begin-anew"},
		{"audit", "archive", "--older-than", "0s", "--dir", filepath.Join(dir, "kept", "archives")},
	} {
		d.must(command...)
		wantOwner(strings.Join(command, " "))
	}
}

// The user of the gateway may put a link in the place of a file that a command of root's makes. Root then gives away
// nothing that the link leads to.
func TestRootGivesAwayNothingThatALinkLeadsTo(t *testing.T) {
	t.Parallel()
	d := deploymentOfItsUser(t)
	roots := filepath.Join(t.TempDir(), "of-root")
	if err := os.Symlink(roots, filepath.Join(d.dataDir(), "rows-sealed")); err != nil {
		t.Fatal(err)
	}
	d.must("tenant", "create", "acme")
	if _, err := os.Stat(roots); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the link leads to is made: %v", err)
	}
	if err := os.WriteFile(roots, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.must("migrate", "--adopt")
	info, err := os.Stat(roots)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
		t.Errorf("what the link leads to belongs to %d", owner)
	}
}

// The same on PostgreSQL, by its own tools: what was in the copy is there, and what came after it is not. The
// data directory knows the later state, so the doctor reports the loss until the operator accepts it.
func TestWhatPostgresDumpedIsRestored(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, storetest.Postgres(t), longDeadlines()...)
	r, c := demo(t, d)
	body, key := bookingAt(0)
	before := c.post(200, "calendar/book-meeting", body, key)
	copied := filepath.Join(t.TempDir(), "frontdesk.dump")
	storetest.Dump(t, storeOf(d), copied) // while it serves
	later, laterKey := bookingAt(1)
	c.post(200, "calendar/book-meeting", later, laterKey)
	if code := r.stop(); code != exitOK {
		t.Fatalf("exit %d:\n%s", code, r.log())
	}

	restored := *d
	restored.environ = append(slices.Clone(d.environ), "FRONTDESK_STORE__URL="+storetest.EmptyPostgres(t))
	storetest.Load(t, storeOf(&restored), copied)
	if out, _, code := restored.do("", "doctor"); code != exitFailed || !strings.Contains(out, "migrate --begin-anew") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	restored.must("migrate", "--begin-anew")
	c.base = restored.serve().api
	if again := c.post(200, "calendar/book-meeting", body, key); string(again.body) != string(before.body) ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a booking in the copy is answered anew: %s", again.body)
	}
	if again := c.post(200, "calendar/book-meeting", later, laterKey); again.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("a booking after the copy is answered as if it were in it: %s", again.body)
	}
	restored.must("audit", "verify")
	if out, _, code := restored.do("", "doctor"); code != exitOK {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}

// storeOf returns the address of a deployment's database.
func storeOf(d *deployment) string {
	address := ""
	for _, variable := range d.environ { // the last one counts
		if value, ok := strings.CutPrefix(variable, "FRONTDESK_STORE__URL="); ok {
			address = value
		}
	}
	return address
}

// wantFailure runs a command that must fail with that text.
func (d *deployment) wantFailure(says string, args ...string) {
	d.t.Helper()
	if out, errs, code := d.do("", args...); code != exitFailed || !strings.Contains(errs, says) {
		d.t.Errorf("frontdesk %s: exit %d, want %q\n%s%s", strings.Join(args, " "), code, says, out, errs)
	}
}

// wants is must for commands whose messages matter.
func (d *deployment) wants(args ...string) (says string) {
	d.t.Helper()
	out, errs, code := d.do("", args...)
	if code != exitOK {
		d.t.Fatalf("frontdesk %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return errs
}

// A disk that does not take the copy is not taken for that of the database.
func TestABackupWithoutRoomBlamesItsOwnDisk(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("migrate")
	folder := t.TempDir()
	// No file may grow beyond 64 KiB (ulimit of POSIX, in units of 512 bytes), so the copy cannot be written.
	c := d.command("backup", filepath.Join(folder, "copy.db"))
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 128 && exec "$@"`, "sh"}, c.Args...)...)
	limited.Env = c.Env
	out, err := limited.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "copied to the folder "+folder) {
		t.Errorf("%v\n%s", err, out)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// A copy of the database file alone lacks the changes in the log. The doctor reports this.
func TestTheDoctorKnowsACopyWithoutItsLog(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	r, c := demo(t, d)
	body, key := bookingAt(0)
	c.post(200, "calendar/book-meeting", body, key)
	if code := r.stop(); code != exitOK { // everything is in the file now
		t.Fatalf("exit %d:\n%s", code, r.log())
	}
	head := func() string {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(d.databaseFile()), "audit-head.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	sealed := head()
	r = d.serve()
	c.base = r.api
	body, key = bookingAt(1)
	c.post(200, "calendar/book-meeting", body, key)
	databaseOnly, err := os.ReadFile(d.databaseFile())
	if err != nil {
		t.Fatal(err)
	}
	for head() == sealed { // until the head includes the second booking
		time.Sleep(10 * time.Millisecond)
	}
	r.kill()
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Remove(d.databaseFile() + end); err != nil {
			t.Log(err)
		}
	}
	if err := os.WriteFile(d.databaseFile(), databaseOnly, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, code := d.do("", "doctor"); code != exitFailed || !strings.Contains(out, "-wal") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	d.wants("migrate", "--begin-anew")
	if out, _, code := d.do("", "doctor"); code != exitOK {
		t.Errorf("doctor, once it is accepted: exit %d\n%s", code, out)
	}
}

// Rotating drops keys that older copies need. Who restores one is told to bring its key set.
func TestACopyNeedsTheKeySetOfItsTime(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox")
	copied := filepath.Join(t.TempDir(), "copy.db")
	d.must("backup", copied)
	for range 2 {
		d.must("keyset", "rotate")
	}
	d.wantFailure("that of the time of a copy", "restore", copied)
}

// A file that is no good copy is not restored, and the database stays.
func TestABadCopyIsNotRestored(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	good := filepath.Join(t.TempDir(), "good.db")
	d.must("backup", good)
	raw, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for why, content := range map[string][]byte{
		"a damaged copy":  append(slices.Clone(raw[:len(raw)/2]), make([]byte, len(raw)-len(raw)/2)...),
		"the first half":  raw[:len(raw)/2],
		"another file":    []byte(strings.Repeat("this is no database ", 100)),
		"an empty file":   nil,
		"less than a row": raw[:50],
	} {
		bad := filepath.Join(t.TempDir(), "bad.db")
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, code := d.do("", "restore", bad)
		if code != exitFailed || !strings.Contains(errs, bad+" is not a sound backup of Frontdesk") ||
			!strings.Contains(errs, "The gateway's database was not touched") {
			t.Errorf("%s: exit %d\n%s", why, code, errs)
		}
	}
	d.must("tenant", "create", "beta")
	if out := d.must("tenant", "list"); !strings.Contains(out, "acme") {
		t.Errorf("the tenant is gone: %s", out)
	}
	if output := d.wants("restore", good); !strings.Contains(output, "made after the copy are not in it") {
		t.Errorf("restore says: %s", output)
	}
	if aside, err := filepath.Glob(d.databaseFile() + ".until-*"); err != nil || len(aside) != 1 {
		t.Errorf("beside the former database there is more: %v, %v", aside, err)
	}
	if out := d.must("tenant", "list"); strings.Contains(out, "beta") {
		t.Errorf("what was made after the copy is there: %s", out)
	}
	d.must("audit", "verify")
	another := newDeployment(t, "")
	another.wantFailure("no key set", "restore", good)
	another.must("tenant", "create", "other")
	another.wantFailure("does not open", "restore", good)
	onPostgres := newDeployment(t, storetest.Postgres(t))
	onPostgres.wantFailure("pg_dump", "backup", good+".2")
	for _, part := range []string{"Stop every gateway", "an empty database", "pg_restore", "migrate --begin-anew"} {
		onPostgres.wantFailure(part, "restore", good)
	}
}
