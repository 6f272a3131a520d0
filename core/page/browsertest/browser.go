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
	"testing"
	"time"
)

const (
	chromium       = "/usr/bin/chromium" // from Debian's package chromium
	browserPatient = 60 * time.Second    // how long a browser may take on a busy machine
)

// Browser is a headless Chromium, controlled over its debugging pipe: messages of the Chrome DevTools
// Protocol, each ended by a zero byte. Commands and events are read in turn, so nothing runs concurrently
// with the test.
type Browser struct {
	t       testing.TB
	to      *os.File
	from    *os.File
	unread  []byte
	last    int
	session string
	seen    []message // events, in the order they came
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct{ Message string }
}

// Start opens a browser with one empty page. The browser resolves no names, so no request can leave the
// machine. If Chromium is not installed, the test is skipped, or fails if FRONTDESK_REQUIRE_ALL is set.
func Start(t testing.TB) *Browser {
	t.Helper()
	if _, err := os.Stat(chromium); err != nil {
		if os.Getenv("FRONTDESK_REQUIRE_ALL") != "" {
			t.Fatalf("Chromium is required: %v", err)
		}
		t.Skipf("Chromium is not installed: %v", err)
	}
	profile, err := os.MkdirTemp("", "frontdesk-browser-")
	if err != nil {
		t.Fatal(err)
	}
	commands, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, replies, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, to: to, from: from}
	cmd := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
		"--remote-debugging-pipe",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+profile, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.ExtraFiles = []*os.File{commands, replies} // descriptors 3 and 4, where the browser expects them
	err = cmd.Start()
	commands.Close()
	replies.Close()
	t.Cleanup(func() {
		to.Close() // which ends the browser
		from.Close()
		if cmd.Process != nil {
			stuck := time.AfterFunc(browserPatient, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			stuck.Stop()
		}
		_ = os.RemoveAll(profile)
	})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ TargetID, SessionID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	b.Call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	b.session = made.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

// Call sends a command of the DevTools Protocol and waits for its result.
func (b *Browser) Call(method string, params map[string]any, into any) {
	b.t.Helper()
	b.last++
	command := map[string]any{"id": b.last, "method": method, "params": params}
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
	if _, err := b.to.Write(append(raw, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.read()
		switch {
		case m.ID != b.last:
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

func (b *Browser) read() message {
	b.t.Helper()
	if err := b.from.SetReadDeadline(time.Now().Add(browserPatient)); err != nil {
		b.t.Fatal(err)
	}
	for {
		if raw, rest, whole := bytes.Cut(b.unread, []byte{0}); whole {
			b.unread = rest
			var m message
			if err := json.Unmarshal(raw, &m); err != nil {
				b.t.Fatalf("%s: %v", raw, err)
			}
			return m
		}
		chunk := make([]byte, 64<<10)
		n, err := b.from.Read(chunk)
		if err != nil {
			b.t.Fatalf("the browser said no more: %v", err)
		}
		b.unread = append(b.unread, chunk[:n]...)
	}
}

// Open loads a page to its end.
func (b *Browser) Open(url string) {
	b.t.Helper()
	b.Loading(func() { b.Call("Page.navigate", map[string]any{"url": url}, nil) })
}

// Loading calls do, which loads a page, and waits for the page's load event.
func (b *Browser) Loading(do func()) {
	b.t.Helper()
	from := len(b.seen)
	do()
	for {
		for ; from < len(b.seen); from++ {
			if b.seen[from].Method == "Page.loadEventFired" {
				return
			}
		}
		b.seen = append(b.seen, b.read())
	}
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

// Text returns the text of the first element that matches the selector, or what is typed in if it is a field, or
// "" if there is none.
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

// Picture returns a picture of the window, or of the whole page, as PNG.
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
