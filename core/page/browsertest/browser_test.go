package browsertest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// serve serves a page under a policy that allows no script.
func serve(t *testing.T, body string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte("<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>" + body +
			"</main>"))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Tests take turns at one Chromium, and none finds what another one left.
func TestBrowsersShareNothing(t *testing.T) {
	url := serve(t, "")
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b := Start(t)
			b.Open(url)
			var found string
			if b.Eval(`document.cookie + (localStorage.left ?? '')`, &found); found != "" {
				t.Errorf("the browser knows %q", found)
			}
			b.Eval(`document.cookie = 'left=1', localStorage.left = '1'`, nil)
			if found = b.Text("h1"); found != "A page" || len(b.Complaints(url)) > 0 {
				t.Errorf("the page is %q, with %q", found, b.Complaints(url))
			}
		})
	}
}

// The empty page with which a browser starts may be loaded, by a slow machine, only when another page is asked for.
func TestTheEmptyPageIsNotTakenForTheOneThatIsAskedFor(t *testing.T) {
	commands, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer commands.Close()
	from, replies, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	events := []string{
		`{"method":"Page.frameNavigated","params":{"frame":{"id":"1","url":"about:blank"}},"sessionId":"s"}`,
		`{"method":"Page.loadEventFired","sessionId":"s"}`,
		`{"id":1,"result":{"frameId":"1","loaderId":"2"},"sessionId":"s"}`,
		`{"method":"Page.frameNavigated","params":{"frame":{"id":"1","url":"http://127.0.0.1/"}},"sessionId":"s"}`,
		`{"method":"Page.loadEventFired","sessionId":"s"}`,
	}
	if _, err := replies.WriteString(strings.Join(events, "\x00") + "\x00"); err != nil {
		t.Fatal(err)
	}
	b := &Browser{t: t, process: &process{to: to, from: from}, session: "s"}
	b.Open("http://127.0.0.1/")
	if len(b.seen) != 4 {
		t.Errorf("it is taken for loaded after %d events of 4", len(b.seen))
	}
	if err := errors.Join(to.Close(), from.Close(), replies.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestBarriersAreFound(t *testing.T) {
	a, b := NewAuditor(t), Start(t)
	b.Open(serve(t, `<p>Nothing is wrong.</p>`))
	if found := a.Barriers(b); len(found) > 0 {
		t.Errorf("a good page: %q", found)
	}
	b.Open(serve(t, `<button></button>`))
	if found := a.Barriers(b); len(found) != 1 || !strings.HasPrefix(found[0], "button-name (critical)") {
		t.Errorf("a button without a name: %q", found)
	}
	if found := a.Barriers(b, "target-size"); len(found) != 0 {
		t.Errorf("by another rule: %q", found)
	}
}
