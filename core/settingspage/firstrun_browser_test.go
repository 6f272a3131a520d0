package settingspage_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// send sends the HTTP request of a curl command, as a page shows it, and returns the response's status and
// body.
func (w *world) send(command string) (int, string) {
	w.t.Helper()
	match := func(pattern string) string {
		found := regexp.MustCompile(`(?s)` + pattern).FindStringSubmatch(command)
		if found == nil {
			w.t.Fatalf("the command has no %s: %s", pattern, command)
		}
		return found[1]
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, match(`curl -sS '([^']+)'`),
		strings.NewReader(match(`-d '([^']+)'`)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", match(`-H 'X-Api-Key: ([^']+)'`))
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// From an empty gateway to a booked meeting and a working key, by nothing but the steps that the pages show.
func TestTheFirstRun(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 900, "light")
	done := func(want int, next string) {
		t.Helper()
		if got := strings.Count(p.text(".steps"), "done"); got != want {
			t.Errorf("%d steps are done, want %d: %s", got, want, p.text(".steps"))
		}
		if got := p.text(".steps [aria-current]"); !strings.Contains(got, next) {
			t.Errorf("the next step is %q, want %q", got, next)
		}
	}
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat"}))
	p.press("Sign in")
	done(0, "Create a tenant")
	p.b.Screenshot("settings-first-run-1")
	p.fill("Name of a new tenant", "acme")
	p.press("Create the tenant")
	done(1, "Connect a calendar")
	p.b.Screenshot("settings-first-run-2")
	p.press("Use the sandbox")
	p.press("Add and verify")
	done(2, "Create an API key")
	p.press("Create a key")
	p.press("Create the key")
	done(3, "Book a first meeting")
	p.b.Screenshot("settings-first-run-4")
	if status, body := w.send(p.text(".steps pre")); status != http.StatusOK ||
		!strings.Contains(body, "event_id") {
		t.Errorf("the command books: %d %s", status, body)
	}
	w.g.Close() // which writes the log of requests
	w.open()
	for _, path := range []string{"", "/tenants/acme", "/tenants/acme/connections", "/tenants/acme/keys"} {
		p.b.Open(w.url + "/settings" + path)
		if got := p.text("main"); strings.Contains(got, "first meeting") {
			t.Errorf("%q still shows the steps: %s", path, got)
		}
	}
}
