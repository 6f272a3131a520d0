// Package servertest starts real CalDAV servers for tests. They run on loopback, with their own storage,
// until the test ends. Without the server, the test is skipped, or fails if FRONTDESK_REQUIRE_ALL=1.
package servertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter/adaptertest"
)

// Account is an account at a started server.
type Account struct {
	URL            string // of the server
	User, Password string
	Home           string // path of the calendar home
	Calendar       string // path of a calendar that can be written
	Second         string // path of another one
	ReadOnly       string // path of a read-only one; "" if the server has no access rights
}

const requireAll = "FRONTDESK_REQUIRE_ALL"

// Radicale starts a Radicale with one user, two calendars that can be written and one that can only be read.
func Radicale(tb testing.TB) Account {
	tb.Helper()
	binary := find(tb, "radicale")
	const user, password, owner = "alice@example.com", "correct horse battery", "owner"
	directory := tb.TempDir()
	users := write(tb, directory, "users", user+":"+password+"\n"+owner+":"+password+"\n")
	// Radicale's own rights from a file take a seventh of its time: it reads the file for every path.
	write(tb, directory, "calendar_rights.py", `
from radicale import pathutils, rights

class Rights(rights.BaseRights):
    def authorization(self, user, path):
        home, _, calendar = pathutils.strip_path(path).partition("/")
        if user == "owner":
            return "RrWw"
        if not user or home not in ("", user) or "/" in calendar:
            return ""
        if not calendar:
            return "RW" if home else "R"
        return "r" if calendar == "readonly" else "rw"
`)
	address := "127.0.0.1:" + adaptertest.FreePort(tb)
	// Radicale queues at most five connections to be accepted, as Python's socketserver does. On a busy
	// machine, it would drop connections of a suite. It formats the headers of each request for a log that leaves them
	// out. Python imports sitecustomize before a program.
	write(tb, directory, "sitecustomize.py", "import pprint, socketserver\n"+
		"pprint.pformat = repr\nsocketserver.TCPServer.request_queue_size = 128\n")
	config := write(tb, directory, "config", fmt.Sprintf(`
[server]
hosts = %s
max_connections = 100
[auth]
type = htpasswd
htpasswd_filename = %s
htpasswd_encryption = plain
delay = 0
[rights]
type = calendar_rights
[storage]
filesystem_folder = %s
[logging]
level = warning
`, address, users, filepath.Join(directory, "collections")))
	start(tb, address, []string{"PYTHONPATH=" + directory}, binary, "--config", config)

	a := Account{URL: "http://" + address, User: user, Password: password, Home: "/alice@example.com/"}
	a.Calendar, a.Second, a.ReadOnly = a.Home+"work/", a.Home+"home/", a.Home+"readonly/"
	// Radicale creates the principal at its user's first request.
	a.ask(tb, "PROPFIND", "/", "", http.StatusMultiStatus)
	maker := a
	maker.User = owner
	for _, path := range []string{a.Calendar, a.Second, a.ReadOnly} {
		maker.makeCalendar(tb, path)
	}
	return a
}

// Xandikos starts a Xandikos. It has no users, so it accepts any credentials. Version 0.2 applies a time
// range only to the first instance of a series, so clients have to query the series as well.
func Xandikos(tb testing.TB) Account {
	tb.Helper()
	binary := find(tb, "xandikos")
	port := adaptertest.FreePort(tb)
	address := "127.0.0.1:" + port
	directory := tb.TempDir()
	// For each change, Xandikos starts three hooks of Git, none of which is there: three copies of its process, which
	// take a quarter of its time. Python imports sitecustomize before a program.
	write(tb, directory, "sitecustomize.py", `
import subprocess

def call(*_, **_options):
    raise FileNotFoundError

subprocess.call = call
`)
	start(tb, address, []string{"PYTHONPATH=" + directory}, binary, "-d", filepath.Join(directory, "data"),
		"-l", "127.0.0.1", "-p", port, "--current-user-principal", "/alice/", "--defaults")
	a := Account{URL: "http://" + address, User: "alice", Password: "any password", Home: "/alice/calendars/"}
	a.Calendar, a.Second = a.Home+"calendar/", a.Home+"second/"
	a.makeCalendar(tb, a.Second)
	return a
}

// write writes a file that a server reads.
func write(tb testing.TB, directory, name, content string) (path string) {
	tb.Helper()
	path = filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func find(tb testing.TB, program string) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv(requireAll) == "1" {
			tb.Fatalf("%s is not installed, and %s=1 wants every server", program, requireAll)
		}
		tb.Skipf("%s is not installed", program)
	}
	return path
}

// start runs a server until the test ends. It returns when the server accepts connections.
func start(tb testing.TB, address string, environ []string, binary string, arguments ...string) {
	tb.Helper()
	log, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	command := exec.CommandContext(ctx, binary, arguments...)
	command.Env = append(os.Environ(), environ...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		stop()
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // it is killed at the end, so its status says nothing
	}()
	tb.Cleanup(func() {
		stop()
		<-ended
		_ = log.Close()
		if tb.Failed() {
			if text, err := os.ReadFile(log.Name()); err == nil && len(text) > 0 {
				tb.Logf("%s said:\n%s", filepath.Base(binary), tail(string(text)))
			}
		}
	})

	const patience, pause = 5 * time.Minute, 50 * time.Millisecond // on a machine that is busy
	deadline, tick := time.NewTimer(patience), time.NewTicker(pause)
	defer deadline.Stop()
	defer tick.Stop()
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ended:
			tb.Fatalf("%s ended at once", binary)
		case <-deadline.C:
			tb.Fatalf("%s does not answer at %s", binary, address)
		}
	}
}

func tail(text string) string {
	const most = 4000
	return text[max(0, len(text)-most):]
}

// makeCalendar creates a calendar collection (RFC 4791 section 5.3.1).
func (a Account) makeCalendar(tb testing.TB, path string) {
	tb.Helper()
	name := filepath.Base(path)
	body := `<?xml version="1.0"?>` +
		`<c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:set><d:prop>` +
		`<d:displayname>` + name + `</d:displayname>` +
		`<c:supported-calendar-component-set><c:comp name="VEVENT"/></c:supported-calendar-component-set>` +
		`</d:prop></d:set></c:mkcalendar>`
	a.ask(tb, "MKCALENDAR", path, body, http.StatusCreated)
}

func (a Account) ask(tb testing.TB, method, path, body string, want int) {
	tb.Helper()
	req, err := http.NewRequest(method, a.URL+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/xml")
	req.Header.Set("Depth", "0")
	req.Header.Set("Authorization", a.authorization())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != want {
		tb.Fatalf("%s %s answered %s", method, path, resp.Status)
	}
}

func (a Account) authorization() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(a.User+":"+a.Password))
}
