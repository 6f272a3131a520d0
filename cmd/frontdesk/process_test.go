package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"frontdesk/adapters/all"
	"frontdesk/core/adapter"
	"frontdesk/core/store/storetest"
)

// The tests run the real command in its own process, so that it can be killed. With this variable set, the
// test binary is the command.
const asCommand = "FRONTDESK_TEST_RUN_COMMAND"

// A command collects no garbage while its packages are initialised, which takes a fifth of a gateway's start. The
// command itself does not see the variable, so that a gateway paces its collector as in use.
const garbage = "GOGC"

// extra holds the additional adapters that the command knows, each by the variable that requests it.
var extra = map[string]func() adapter.Adapter{}

func TestMain(m *testing.M) {
	// The gateway refuses data directories that others can write, which some systems create by default.
	syscall.Umask(0o022)
	if os.Getenv(asCommand) != "" {
		w := system(nil)
		w.adapters, w.environ = known(w.environ)
		stop := profile(os.Getenv(profiled))
		code := run(os.Args[1:], w)
		stop()
		os.Exit(code)
	}
	if provider := os.Getenv(asFloor); provider != "" {
		runFloor(provider)
	}
	storetest.ManyAtATime()
	// A server of httptest that closes would close the idle connections of this transport, if it can. One that is about
	// to tell an answer without a body is idle already (net/http, persistConn.readLoop): the answer would be lost.
	http.DefaultTransport = struct{ http.RoundTripper }{http.DefaultTransport}
	os.Exit(m.Run())
}

// known returns the adapters that the command knows in an environment, and the environment without the
// variables that only the tests set.
func known(environ []string) ([]adapter.Adapter, []string) {
	adapters, rest := all.Adapters(), []string{}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if more, ok := extra[name]; ok {
			adapters = append(adapters, more())
		} else if name != asCommand && name != profiled && name != garbage {
			rest = append(rest, variable)
		}
	}
	return adapters, rest
}

// deployment is a gateway's configuration and data, which outlive its processes.
type deployment struct {
	t       testing.TB
	environ []string
	binary  string // of its processes; "": this test's
}

// newDeployment creates a deployment on the store ("" is SQLite in a new directory), with its tables.
func newDeployment(t testing.TB, storeURL string, more ...string) *deployment {
	dir := t.TempDir()
	if storeURL == "" {
		storetest.CopyTables(t, filepath.Join(dir, "frontdesk.db"))
	}
	environ := []string{
		asCommand + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"FRONTDESK_DATA_DIR=" + dir, "FRONTDESK_SERVER__LISTEN=127.0.0.1:0",
		"FRONTDESK_SERVER__OPS_LISTEN=127.0.0.1:0",
		// The tests send with one key, as fast as they can.
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=0", "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=0",
		"FRONTDESK_SERVER__DRAIN=100ms", // no load balancer is in front of the tests' gateways
		"GORACE=atexit_sleep_ms=0",      // under the race detector, a command would take a second longer to end
	}
	if storeURL != "" {
		environ = append(environ, "FRONTDESK_STORE__URL="+storeURL)
	}
	return &deployment{t: t, environ: append(environ, more...)}
}

func (d *deployment) command(args ...string) *exec.Cmd {
	d.t.Helper()
	if d.binary != "" {
		c := exec.Command(d.binary, args...)
		c.Env = d.environ
		return c
	}
	own, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	c := exec.Command(own, args...)
	c.Env = slices.Concat(d.environ, []string{garbage + "=off"})
	return c
}

// do runs a command to its end and returns its standard output, standard error and exit code. It runs in
// this process, which saves the start of another, unless it serves or something can only be told to a whole
// process.
func (d *deployment) do(stdin string, args ...string) (string, string, int) {
	d.t.Helper()
	if !slices.Contains(args, "serve") && !slices.ContainsFunc(d.environ, ofTheProcess) {
		var out, errs bytes.Buffer
		w := world{in: strings.NewReader(stdin), out: &out, err: &errs}
		w.adapters, w.environ = known(d.environ)
		code := run(args, w)
		return out.String(), errs.String(), code
	}
	c := d.command(args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = c.Process.Kill() }) // such as a gateway that should not have started
	_ = c.Wait()
	late.Stop()
	wantNoRace(d.t, errs.String())
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// ofTheProcess reports whether a variable is read from the process's own environment.
func ofTheProcess(variable string) bool {
	return strings.Contains(strings.ToUpper(variable), "_PROXY=") || strings.Contains(variable, "__KEYSET=env:") ||
		strings.Contains(variable, "-kms://") || strings.Contains(variable, "hcvault://")
}

// wantNoRace fails the test if the race detector reported something in a process. Exit codes do not show it,
// because serving processes are killed.
func wantNoRace(t testing.TB, log string) {
	t.Helper()
	if strings.Contains(log, "WARNING: DATA RACE") {
		t.Errorf("the race detector reports:\n%s", log)
	}
}

// must is do for commands that must succeed. It returns the standard output without the last line break.
func (d *deployment) must(args ...string) string {
	d.t.Helper()
	out, errs, code := d.do("", args...)
	if code != 0 {
		d.t.Fatalf("frontdesk %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return strings.TrimSuffix(out, "\n")
}

// patience is how long a test waits for events whose time does not matter. It is far more than a busy machine
// takes.
const patience = 2 * time.Minute

// longDeadlines returns settings with which no call fails for lack of time, however busy the machine is.
func longDeadlines() []string {
	return []string{"FRONTDESK_RESILIENCE__DEADLINE=60s", "FRONTDESK_RESILIENCE__TRY_TIMEOUT=50s"}
}

// running is a gateway that serves.
type running struct {
	t    testing.TB
	cmd  *exec.Cmd
	api  string
	ops  string
	mu   sync.Mutex
	out  bytes.Buffer
	logs bytes.Buffer
	done chan struct{}
}

// serve starts the gateway and waits until it is ready.
func (d *deployment) serve(args ...string) *running {
	d.t.Helper()
	r := &running{t: d.t, cmd: d.command(append([]string{"serve"}, args...)...), done: make(chan struct{})}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	errs, err := r.cmd.StderrPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	ready := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() { r.copyOut(out) })
	reading.Go(func() { r.readLogs(errs, ready) })
	go func() {
		reading.Wait()
		_ = r.cmd.Wait()
		close(r.done)
	}()
	d.t.Cleanup(func() {
		r.kill()
		wantNoRace(d.t, r.log())
	})
	select {
	case <-ready:
	case <-r.done:
		d.t.Fatalf("the gateway did not start:\n%s", r.log())
	case <-time.After(patience):
		d.t.Fatalf("the gateway was not ready in time:\n%s", r.log())
	}
	return r
}

func (r *running) copyOut(from io.Reader) {
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		r.mu.Lock()
		r.out.Write(buffer[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// readLogs keeps the log and finds the addresses in it.
func (r *running) readLogs(from io.Reader, ready chan struct{}) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.mu.Lock()
		r.logs.Write(lines.Bytes())
		r.logs.WriteByte('\n')
		r.mu.Unlock()
		var line struct{ Msg, API, Ops string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "the gateway is ready" && r.api == "" {
			r.api, r.ops = line.API, line.Ops
			close(ready)
		}
	}
}

func (r *running) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logs.String()
}

// output waits until the standard output holds a text, and returns the output.
func (r *running) output(has string) string {
	r.t.Helper()
	return r.await("standard output", &r.out, has)
}

// logged is output for the log.
func (r *running) logged(has string) string {
	r.t.Helper()
	return r.await("the log", &r.logs, has)
}

func (r *running) await(name string, output *bytes.Buffer, has string) string {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		text := output.String()
		r.mu.Unlock()
		if strings.Contains(text, has) {
			return text
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s never held %q:\n%s", name, has, text)
		}
	}
}

// kill ends the process as a power cut would.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
}

// stop asks the process to end and returns its exit code.
func (r *running) stop() int {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.done
	return r.cmd.ProcessState.ExitCode()
}

// caller calls a gateway with one key.
type caller struct {
	t    testing.TB
	base string
	key  string
}

func (r *running) as(key string) caller { return caller{t: r.t, base: r.api, key: key} }

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request; headers are "Name: value". It fails only if there is no response at all.
func (c caller) call(method, path, body string, headers ...string) (answer, error) {
	req, err := http.NewRequest(method, c.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("X-Api-Key", c.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, raw}, err
}

// send is call for a request.
func (c caller) send(q request, headers ...string) (answer, error) {
	return c.call(q.method(), q.path, q.body, headers...)
}

// do sends a request and fails the test unless the response has that status.
func (c caller) do(status int, method, path, body string, headers ...string) answer {
	c.t.Helper()
	a, err := c.call(method, path, body, headers...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		c.t.Fatalf("%s %s %s: status %d, want %d\n%s", method, path, body, a.status, status, a.body)
	}
	return a
}

// post is do for the v1 operations.
func (c caller) post(status int, operation, body string, headers ...string) answer {
	c.t.Helper()
	return c.do(status, http.MethodPost, "/v1/"+operation, body, headers...)
}

// get returns the value in the body at a path of names and indexes: get("event", "event_id").
func (a answer) get(path ...any) any {
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		return fmt.Sprintf("no JSON: %s", a.body)
	}
	for _, step := range path {
		switch at := step.(type) {
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				return nil
			}
			v = object[at]
		case int:
			list, ok := v.([]any)
			if !ok || at >= len(list) {
				return nil
			}
			v = list[at]
		}
	}
	return v
}

// text is get for strings.
func (a answer) text(path ...any) string {
	s, _ := a.get(path...).(string)
	return s
}

// reason returns the reason of a v1 fault.
func (a answer) reason() string {
	details, _ := a.get("details").([]any)
	for i := range details {
		if a.text("details", i, "@type") == "type.googleapis.com/google.rpc.ErrorInfo" {
			return a.text("details", i, "reason")
		}
	}
	return ""
}
