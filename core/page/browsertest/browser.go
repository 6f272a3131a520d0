// Package browsertest opens pages in a real browser, as a person would: tests click, type and see.
//
//	b := browsertest.Start(t)
//	b.Open(origin + "/docs")
//	b.Eval(`document.title`, &title)
//
// If Chromium is not installed, tests that need it are skipped; with FRONTDESK_REQUIRE_ALL they fail.
package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// browserPatient is how long a browser may take on a busy machine.
const browserPatient = 5 * time.Minute

// headlessShell is Chromium without the parts that show windows, of Debian's package chromium-headless-shell. It
// takes two thirds of the processor's time.
const headlessShell = "/usr/bin/chromium-headless-shell"

// chromium finds the browser: the headless shell, or else that of Debian's package chromium; "" if there is none.
func chromium() string {
	for _, path := range []string{headlessShell, "/usr/bin/chromium"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// Browser is a browser of a test's own, with one page: cookies, cache and storage are those of no other. It
// is a context of the test binary's one headless Chromium, which tests use in turn. It is controlled by
// messages of the Chrome DevTools Protocol; commands and events are read in turn, so nothing runs
// concurrently with the test.
type Browser struct {
	t       testing.TB
	process *process
	context string
	session string
	seen    []message // events, in the order they came
}

// process is a headless Chromium, controlled over its debugging pipe, where a zero byte ends each message.
type process struct {
	turn   sync.Mutex // held by the test that uses it
	to     *os.File
	from   *os.File
	unread []byte
	last   int
	blind  bool // it draws nothing
	ended  bool // it does not answer any more
}

// blind and seeing start the process's Chromium of that kind at its first use.
var (
	blind  = sync.OnceValues(func() (*process, error) { return launch(chromium() == headlessShell) })
	seeing = sync.OnceValues(func() (*process, error) { return launch(false) })
)

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	// Of the page that the message is about; "": none.
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
	Error     *struct{ Message string }
}

// Start opens a browser with one empty page. The browser resolves no names, so no request can leave the
// machine. It lays pages out, but draws them only if FRONTDESK_TEST_SCREENSHOTS is set: nobody looks, and drawing
// takes a quarter of the processor's time. If Chromium is not installed, the test is skipped, or fails if
// FRONTDESK_REQUIRE_ALL is set.
func Start(t testing.TB) *Browser {
	t.Helper()
	if os.Getenv("FRONTDESK_TEST_SCREENSHOTS") != "" {
		return start(t, seeing)
	}
	return start(t, blind)
}

// StartDrawing is [Start] with a browser that draws its pages, for [Browser.Picture].
func StartDrawing(t testing.TB) *Browser {
	t.Helper()
	return start(t, seeing)
}

func start(t testing.TB, shared func() (*process, error)) *Browser {
	t.Helper()
	if chromium() == "" {
		if os.Getenv("FRONTDESK_REQUIRE_ALL") != "" {
			t.Fatal("Chromium is required")
		}
		t.Skip("Chromium is not installed")
	}
	p, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, process: p}
	p.turn.Lock()
	t.Cleanup(func() {
		defer p.turn.Unlock()
		if b.session = ""; b.context != "" && !p.ended {
			b.Call("Target.disposeBrowserContext", map[string]any{"browserContextId": b.context}, nil)
		}
	})
	var made struct{ BrowserContextID, TargetID, SessionID string }
	b.Call("Target.createBrowserContext", nil, &made)
	b.context = made.BrowserContextID
	b.Call("Target.createTarget", map[string]any{
		"url": "about:blank", "browserContextId": b.context, "enableBeginFrameControl": p.blind,
	}, &made)
	b.Call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	b.session = made.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

// launch starts a Chromium. A blind one draws what is ordered over the DevTools Protocol, and nothing is. Its
// scripts are not optimized, since the pages' and axe-core's run for less time than that takes: a fifth of the
// processor's. Another twelfth is what collecting garbage seldom saves. It ends when its pipe is closed, at the
// latest by the end of this process, even by a crash; a shell then removes its profile.
func launch(blind bool) (*process, error) {
	profile, err := os.MkdirTemp("", "frontdesk-browser-")
	if err != nil {
		return nil, err
	}
	commands, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer commands.Close()
	from, replies, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer replies.Close()
	args := []string{
		"-c", `"$@"; rm -rf "$HOME"`, "sh",
		chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--in-process-gpu", "--hide-scrollbars",
		"--js-flags=--no-opt,--no-maglev,--min-semi-space-size=64", "--remote-debugging-pipe",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir=" + profile, "about:blank",
	}
	if blind {
		args = append(args, "--enable-begin-frame-control")
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.ExtraFiles = []*os.File{commands, replies} // descriptors 3 and 4, where the browser expects them
	return &process{to: to, from: from, blind: blind}, cmd.Start()
}

// Call sends a command of the DevTools Protocol and waits for its result.
func (b *Browser) Call(method string, params map[string]any, into any) {
	b.t.Helper()
	p := b.process
	p.last++
	command := map[string]any{"id": p.last, "method": method, "params": params}
	if params == nil {
		command["params"] = map[string]any{}
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	raw, err := json.Marshal(command)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := p.to.Write(append(raw, 0)); err != nil {
		p.ended = true
		b.t.Fatal(err)
	}
	for {
		m := b.read()
		switch {
		case m.ID != p.last:
			b.seen = append(b.seen, m)
			continue
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(m.Result, into); err != nil {
				b.t.Fatalf("%s: %s: %v", method, m.Result, err)
			}
		}
		return
	}
}

// read returns the next message to the browser or about its page.
func (b *Browser) read() message {
	b.t.Helper()
	for {
		m, err := b.process.read()
		if err != nil {
			b.process.ended = true
			b.t.Fatalf("the browser said no more: %v", err)
		}
		if m.SessionID == b.session {
			return m
		}
	}
}

func (p *process) read() (m message, err error) {
	if err := p.from.SetReadDeadline(time.Now().Add(browserPatient)); err != nil {
		return m, err
	}
	for {
		if raw, rest, whole := bytes.Cut(p.unread, []byte{0}); whole {
			p.unread = rest
			return m, json.Unmarshal(raw, &m)
		}
		chunk := make([]byte, 64<<10)
		n, err := p.from.Read(chunk)
		if err != nil {
			return m, err
		}
		p.unread = append(p.unread, chunk[:n]...)
	}
}

// Open loads a page to its end.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.Loading(func() { b.Call("Page.navigate", map[string]any{"url": url}, nil) })
}

// Loading calls do, which loads a page, and waits for the page's load event. That of the empty page with which a
// browser starts may come as late as now; the page's own comes after its frame has navigated.
func (b *Browser) Loading(do func()) {
	b.t.Helper()
	from, navigated := len(b.seen), false
	do()
	for {
		for ; from < len(b.seen); from++ {
			m := b.seen[from]
			navigated = navigated || m.isNavigation()
			if navigated && m.Method == "Page.loadEventFired" {
				return
			}
		}
		b.seen = append(b.seen, b.read())
	}
}

// isNavigation reports whether the window shows another page than the empty one from then on.
func (m message) isNavigation() bool {
	var p struct {
		Frame struct{ ParentID, URL string }
	}
	return m.Method == "Page.frameNavigated" && json.Unmarshal(m.Params, &p) == nil && p.Frame.ParentID == "" &&
		p.Frame.URL != "about:blank"
}

// Eval evaluates an expression in the page and decodes its value into into. It waits for promises.
func (b *Browser) Eval(expression string, into any) {
	b.t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true,
		"returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(got.Result.Value, into); err != nil {
		b.t.Fatalf("%s: %s: %v", expression, got.Result.Value, err)
	}
}

// Text returns the text of the first element that matches the selector, or what is typed in if it is a field,
// or "" if there is none.
func (b *Browser) Text(selector string) (text string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf(`(it => it?.matches('input') ? it.value : it?.innerText ?? "")(document.querySelector(%q))`,
		selector), &text)
	return text
}

// Press follows the link or presses the button of the main content that has the text, and waits for the next
// page.
func (b *Browser) Press(text string) {
	b.t.Helper()
	b.Loading(func() {
		b.Eval(fmt.Sprintf(`(() => { const it = [...document.querySelectorAll('main a, main button')].find(e => e.innerText.trim() === %q);
			if (!it) throw new Error('there is no %s on ' + location + ': ' + document.querySelector('main').innerText); it.click() })()`, text, text), nil)
	})
}

// Look sets the size of the window and the preferred colour scheme, "light" or "dark".
func (b *Browser) Look(width, height int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Call("Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Screenshot writes a picture of the whole page to the directory that FRONTDESK_TEST_SCREENSHOTS names, for
// people to look at.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("FRONTDESK_TEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), b.Picture(true), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// Picture returns a picture of the window, or of the whole page, as PNG. The browser must be drawing.
func (b *Browser) Picture(whole bool) []byte {
	b.t.Helper()
	var shot struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": whole}, &shot)
	return shot.Data
}

// Complaints returns what the pages wrote to the console, and every request that was not for one of the
// origins or failed.
func (b *Browser) Complaints(origins ...string) []string {
	var out []string
	for _, m := range b.seen {
		var p struct {
			Request  struct{ URL string }
			Response struct {
				URL    string
				Status int
			}
		}
		_ = json.Unmarshal(m.Params, &p) // other events have other members
		switch m.Method {
		case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed":
			out = append(out, m.Method+" "+string(m.Params))
		case "Network.requestWillBeSent":
			if !slices.ContainsFunc(origins,
				func(origin string) bool { return strings.HasPrefix(p.Request.URL, origin+"/") }) {
				out = append(out, "a request for "+p.Request.URL)
			}
		case "Network.responseReceived":
			if p.Response.Status != http.StatusOK {
				out = append(out, fmt.Sprintf("%s is answered with %d", p.Response.URL, p.Response.Status))
			}
		}
	}
	return out
}
