package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
