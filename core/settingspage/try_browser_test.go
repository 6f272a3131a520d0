package settingspage_test

import (
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// Somebody books a meeting in the sandbox, moves on to cancelling it, and sets an agent up, with nothing but
// clicks.
func TestSomebodyTriesABooking(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 900, "light")
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat"}))
	p.press("Sign in")
	p.b.Open(w.url + "/settings/tenants/acme/try")
	p.wants("Try it for acme")
	p.press("Book a meeting")
	p.wants("Book a meeting")
	p.press("Send the request")
	if got := p.text("main"); !strings.Contains(got, "200 OK") || !strings.Contains(got, `"event_id"`) {
		t.Fatalf("the answer is %s", got)
	}
	p.examine("wide-light", "try-answer")
	p.b.Look(320, 700, "dark")
	p.examine("narrow-dark", "try-answer")
	p.press("Cancel a meeting")
	p.wants("Cancel a meeting")
	p.press("Send the request")
	if got := p.text("main"); !strings.Contains(got, "200 OK") {
		t.Errorf("the answer is %s", got)
	}
	p.b.Look(1280, 900, "dark")
	p.b.Open(w.url + "/settings/tenants/acme/agent")
	p.wants("Use it from your agent")
	p.press("Retell AI")
	p.wants("Your agent on Retell AI")
	p.press("Send a test request")
	for _, want := range []string{"200 OK", "speak_during_execution", "wait for a yes"} {
		if got := p.text("main"); !strings.Contains(got, want) {
			t.Errorf("the page lacks %q: %s", want, got)
		}
	}
	p.examine("wide-dark", "agent-answer")
	for _, complaint := range p.b.Complaints(w.url) {
		if !strings.Contains(complaint, "favicon.ico") {
			t.Error(complaint)
		}
	}
}
