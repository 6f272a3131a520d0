package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// onBothStores runs a test on SQLite and on PostgreSQL, in parallel.
func onBothStores(t *testing.T, test func(t *testing.T, storeURL string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, storetest.Postgres(t))
	})
}

func TestDemoPrintsACallThatBooksWhenPasted(t *testing.T) {
	t.Parallel()
	r := newDeployment(t, "").serve("--demo")
	out := r.output("conferencing_type")
	_, call, found := strings.Cut(out, "\ncurl ")
	if !found {
		t.Fatalf("no call is printed:\n%s", out)
	}
	answer, err := exec.CommandContext(context.Background(), "bash", "-c", "curl "+call).CombinedOutput()
	if err != nil || !strings.Contains(string(answer), `"event_id"`) {
		t.Fatalf("the printed call: %v\n%s", err, answer)
	}
	if code := r.stop(); code != exitOK {
		t.Fatalf("SIGTERM ended it with %d:\n%s", code, r.log())
	}
}

func TestADemonstrationThatCannotListenLeavesNoKey(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	d.environ = append(d.environ, "FRONTDESK_SERVER__LISTEN="+taken.Addr().String())
	d.wantFailure("cannot listen", "serve", "--demo")
	if rows := d.audit(); len(rows) > 0 {
		t.Errorf("it has made %+v", rows)
	}
}

// demo starts a gateway with the demonstration tenant and returns a caller of the tenant.
func demo(t *testing.T, d *deployment) (*running, caller) {
	t.Helper()
	r := d.serve("--demo")
	out := r.output("conferencing_type")
	at := strings.Index(out, "fd_live_")
	if at < 0 {
		t.Fatalf("no key is printed:\n%s", out)
	}
	return r, r.as(out[at : at+len("fd_live_")+38])
}

// A closed terminal tells the gateway to end, often twice: by its shell and by the kernel. Calls are answered
// as long as after SIGTERM. A gateway that was started by nohup goes on.
func TestAClosedTerminalCutsOffNoCall(t *testing.T) {
	t.Parallel()
	// What ignores the signal in this process, such as nohup, would do so in its children. A handler would not.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	d := newDeployment(t, "", "FRONTDESK_SERVER__DRAIN=5s") // there is time for another request
	hangUp := func(r *running) {
		for range 2 {
			if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			r.as("").do(200, http.MethodGet, "/healthz", "")
		}
	}
	r := d.serve()
	hangUp(r)
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatalf("SIGHUP does not end it:\n%s", r.log())
	}
	if code := r.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("SIGHUP ended it with %d:\n%s", code, r.log())
	}

	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d.binary = filepath.Join(t.TempDir(), "nohup")
	script := "#!/bin/sh\ntrap '' HUP\nexec '" + own + "' \"$@\"\n"
	if err := os.WriteFile(d.binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r = d.serve()
	hangUp(r)
	select {
	case <-r.done:
		t.Errorf("SIGHUP ended what nohup started:\n%s", r.log())
	case <-time.After(2 * time.Second): // longer than it takes to end
	}
}

func TestLifeOfAMeeting(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		_, c := demo(t, newDeployment(t, storeURL))
		booked := c.post(200, "calendar/book-meeting",
			`{"title":"Consultation","start_time":"2027-03-02T10:00:00","end_time":"2027-03-02T10:30:00",
			"timezone":"Europe/Paris","attendee_emails":["pat@example.com"],"conferencing_type":"provider"}`)
		id := booked.text("event", "event_id")
		if got := booked.text("event", "start_time"); got != "2027-03-02T10:00:00+01:00" {
			t.Errorf("start_time is %s", got)
		}
		if got := booked.text("event", "event_url"); !strings.HasPrefix(got, "https://") {
			t.Errorf("event_url is %q", got)
		}
		moved := c.post(200, "calendar/update-meeting",
			fmt.Sprintf(`{"event_id":%q,"start_time":"2027-03-02T15:00:00+01:00"}`, id))
		if got := moved.text("event", "end_time"); !sameInstant(t, got, "2027-03-02T15:30:00+01:00") {
			t.Errorf("a moved meeting ends at %s: its length was not kept", got)
		}
		listed := c.post(200, "calendar/list-events",
			`{"start_time":"2027-03-02","end_time":"2027-03-03","timezone":"Europe/Paris"}`)
		if got := listed.text("events", 0, "event_id"); got != id {
			t.Errorf("the list holds %q: %s", got, listed.body)
		}
		if got := listed.text("events", 0, "attendees", 0, "email"); got != "pat@example.com" {
			t.Errorf("the attendee is %q", got)
		}
		for range 2 { // the second gets the same response
			cancelled := c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id":%q}`, id))
			if cancelled.get("ok") != true || cancelled.text("event_id") != id {
				t.Errorf("cancel answers %s", cancelled.body)
			}
		}
		if got := c.post(404, "calendar/update-meeting", fmt.Sprintf(`{"event_id":%q,"title":"x"}`, id)).
			reason(); got != "EVENT_NOT_FOUND" {
			t.Errorf("updating a cancelled meeting: %s", got)
		}
		if got := c.post(200, "calendar/verify-calendar-connection", `{}`); got.get("ok") != true ||
			got.text("email") == "" {
			t.Errorf("verify answers %s", got.body)
		}
		if got := c.post(200, "calendar/list-calendars", ``).text("calendars", 0, "id"); got == "" {
			t.Error("no calendar is listed")
		}
	})
}

func sameInstant(t *testing.T, a, b string) bool {
	t.Helper()
	first, err := time.Parse(time.RFC3339, a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := time.Parse(time.RFC3339, b)
	if err != nil {
		t.Fatal(err)
	}
	return first.Equal(second)
}

func TestLifeOfATicket(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		_, c := demo(t, newDeployment(t, storeURL))
		made := c.post(200, "tickets/create-ticket",
			`{"subject":"Broken handle","description":"It came off.","priority":"high"}`)
		number := made.text("ticket", "ticket_number")
		if made.text("ticket", "priority") != "High" || made.text("ticket", "status") == "" ||
			made.text("ticket", "id") == "" {
			t.Errorf("created: %s", made.body)
		}
		spoken := " #" + strings.TrimLeft(number, "0") + " "
		if got := c.post(200, "tickets/get-ticket", fmt.Sprintf(`{"ticket_number":%q}`, spoken)); got.text("ticket",
			"id") != made.text("ticket", "id") {
			t.Errorf("the ticket %q: %s", spoken, got.body)
		}
		if got := c.post(404, "tickets/get-ticket", `{"ticket_number":"99999999"}`).
			reason(); got != "TICKET_NOT_FOUND" {
			t.Errorf("an unknown number: %s", got)
		}
		refused := c.post(400, "tickets/create-ticket", `{"subject":"x","status":"Nonsense"}`)
		if refused.reason() != "INVALID_REQUEST" || !strings.Contains(string(refused.body), "Solved") {
			t.Errorf("an unknown status is refused without the valid ones: %s", refused.body)
		}
	})
}

// A contact of the sandbox is found by a number that is stored in another format, with what the tenant lets
// out. The contact's id opens a ticket, which the next look-up shows.
func TestWhoCalls(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL)
		_, c := demo(t, d)
		lookUp := func(status int, body string) answer {
			return c.do(status, http.MethodPost, "/alpha/callers/look-up", body)
		}
		found := lookUp(200, `{"phone_number":"+12025550101"}`)
		if got := fmt.Sprint(found.get("candidates")); got != "[map[match:national name:Pat Doe]]" {
			t.Errorf("candidates %s", got)
		}
		if family := lookUp(200, `{"phone_number":"+1 (202) 555-0104"}`); family.text("say") !=
			"This may be Alex Stone or Robin Stone." {
			t.Errorf("a shared number: %s", family.body)
		}
		if nobody := lookUp(200, `{"phone_number":"anonymous"}`); nobody.get("found") != false ||
			nobody.get("withheld") != true {
			t.Errorf("a withheld number: %s", nobody.body)
		}
		if refused := lookUp(400, `{"phone_number":"202 555 0101"}`); refused.reason() != "INVALID_REQUEST" {
			t.Errorf("a number without a country code: %s", refused.body)
		}
		d.must("tenant", "change", "demo", "--set", "unverified_caller_fields=name,contact_id,account,open_tickets")
		c.post(200, "tickets/create-ticket", `{"subject":"Broken handle","contact_id":"con_2"}`)
		found = lookUp(200, `{"email":"KIM@example.com"}`)
		for deadline := time.Now().Add(patience); found.text("candidates", 0, "contact_id") == "" &&
			time.Now().Before(deadline); { // a changed setting is known within 5 seconds
			time.Sleep(100 * time.Millisecond)
			found = lookUp(200, `{"email":"KIM@example.com"}`)
		}
		if found.text("candidates", 0, "account", "name") != "Rivera & Co." ||
			found.text("candidates", 0, "open_tickets", 0, "subject") != "Broken handle" {
			t.Errorf("what the tenant lets out: %s", found.body)
		}
	})
}

func TestARepeatedCallHasOneEffect(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		_, c := demo(t, newDeployment(t, storeURL))
		booking := func(title string) string {
			return fmt.Sprintf(`{"title":%q,"start_time":"2027-05-04T10:00:00Z","end_time":"2027-05-04T11:00:00Z"}`,
				title)
		}
		first := c.post(200, "calendar/book-meeting", booking("a"), "Idempotency-Key: k1")
		again := c.post(200, "calendar/book-meeting", booking("a"), "Idempotency-Key: k1")
		if string(first.body) != string(again.body) || again.header.Get("Idempotency-Replayed") != "true" ||
			first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("a repeat answers %s %v", again.body, again.header)
		}
		if got := c.post(400, "calendar/book-meeting", booking("b"), "Idempotency-Key: k1").
			reason(); got != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("another body under the key: %s", got)
		}
		if other := c.post(200, "calendar/book-meeting", booking("a"), "Idempotency-Key: k2"); other.text("event",
			"event_id") == first.text("event", "event_id") {
			t.Error("another key is another meeting")
		}

		keyless := c.post(200, "calendar/book-meeting", booking("c"))
		same := c.post(200, "calendar/book-meeting",
			strings.Replace(booking("c"), "10:00:00Z", "12:00:00+02:00", 1))
		if keyless.text("event", "event_id") != same.text("event", "event_id") ||
			same.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("an equal call without a key made a second meeting: %s %s", keyless.body, same.body)
		}
		c.post(200, "calendar/cancel-meeting", fmt.Sprintf(`{"event_id":%q}`, keyless.text("event", "event_id")))
		if after := c.post(200, "calendar/book-meeting", booking("c")); after.text("event",
			"event_id") == keyless.text("event", "event_id") {
			t.Error("a booking after a cancel was answered with the cancelled meeting")
		}
		moving := c.post(200, "calendar/book-meeting", booking("d"))
		c.post(200, "calendar/update-meeting",
			fmt.Sprintf(`{"event_id":%q,"start_time":"2027-05-05T10:00:00Z"}`, moving.text("event", "event_id")))
		if back := c.post(200, "calendar/book-meeting", booking("d")); back.text("event",
			"event_id") == moving.text("event", "event_id") {
			t.Errorf("a booking was answered with a meeting that was moved away: %s", back.body)
		}
		for range 2 {
			c.do(201, http.MethodPost, "/beta/phone-numbers", `{"area_code":"646"}`, "Idempotency-Key: n1")
		}
		if got := c.do(200, http.MethodGet, "/beta/phone-numbers", ""); len(got.get("phone_numbers").([]any)) != 1 {
			t.Errorf("two buys with one key: %s", got.body)
		}
	})
}

func TestHealthTellsWhetherTheGatewayIsReady(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	r := d.serve()
	d.environ = append(d.environ, "FRONTDESK_SERVER__OPS_LISTEN="+strings.TrimPrefix(r.ops, "http://"))
	if said := d.must("health"); said != "The gateway is ready." {
		t.Errorf("it says %q", said)
	}
	r.stop()
	_, said, code := d.do("", "health")
	if want := "frontdesk: no gateway answers at " + r.ops + "/readyz: "; code != exitFailed ||
		!strings.HasPrefix(said, want) || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d, %q, want %q", code, said, want)
	}
}

// Who stops a gateway that is still starting, here at a database that never answers, is told of no failure.
func TestAGatewayCanBeStoppedWhileItStarts(t *testing.T) {
	t.Parallel()
	database, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	c := newDeployment(t, "postgres://desk@"+database.Addr().String()+"/desk?sslmode=disable").command("serve")
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := database.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || log.Len() > 0 {
		t.Errorf("%v: %s", err, log.String())
	}
}

func TestARevokedKeyEndsWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, storetest.Postgres(t))
	r, _ := demo(t, d)
	key := d.must("key", "create", "--tenant", "demo", "--label", "short")
	c := r.as(key)
	c.post(200, "calendar/list-calendars", `{}`)
	id := strings.Fields(strings.Split(d.must("key", "list", "--tenant", "demo"), "short")[0])
	d.must("key", "revoke", id[len(id)-2])
	deadline := time.Now().Add(5 * time.Second)
	for {
		began := time.Now()
		a, err := c.call(http.MethodPost, "/v1/calendar/list-calendars", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if a.status == http.StatusUnauthorized {
			return
		}
		if began.After(deadline) {
			t.Fatal("the key still works")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// The configured limits are in force.
func TestAKeyThatAsksTooMuchIsToldToWait(t *testing.T) {
	t.Parallel()
	_, c := demo(t, newDeployment(t, "", "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=2",
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=9"))
	c.post(200, "calendar/list-calendars", "{}")
	c.post(200, "calendar/list-calendars", "{}")
	a := c.post(429, "calendar/list-calendars", "{}")
	if a.reason() != "RATE_LIMITED" || a.header.Get("RateLimit-Policy") != `"key";q=2;w=60, "tenant";q=9;w=60` ||
		a.header.Get("Retry-After") == "" {
		t.Errorf("%v %s", a.header, a.body)
	}
	a = c.do(429, http.MethodPost, "/mcp", mcpCall("tools/list", `{}`), mcpHeaders...)
	if a.reason() != "RATE_LIMITED" || a.header.Get("Retry-After") == "" {
		t.Errorf("a list of the tools: %v %s", a.header, a.body)
	}
}

// Whoever reads the log may stop, as a collector that hangs, or end before the gateway does, as systemd-journald does.
func TestNoCallWaitsForTheReaderOfTheLog(t *testing.T) {
	t.Parallel()
	c := newDeployment(t, "").command("serve")
	log, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	var ready struct{ Msg, API string }
	for lines := bufio.NewScanner(log); ready.Msg != "the gateway is ready" && lines.Scan(); {
		if err := json.Unmarshal(lines.Bytes(), &ready); err != nil {
			t.Fatal(err)
		}
	}
	client := http.Client{Timeout: patience}
	for range 1000 { // lines of a hundred bytes and more, of which a pipe holds 64 KiB on Linux
		answer, err := client.Get(ready.API + "/v1/none")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	// It tells that it is shutting down, and nobody is there.
	if err := errors.Join(log.Close(), c.Process.Signal(syscall.SIGTERM), c.Wait()); err != nil {
		t.Error(err)
	}
}
