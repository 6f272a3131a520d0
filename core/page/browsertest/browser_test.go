package browsertest

import (
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
		_, _ = w.Write([]byte("<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1>" + body + "</main>"))
	}))
	t.Cleanup(s.Close)
	return s.URL
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
