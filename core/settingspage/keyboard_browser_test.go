package settingspage_test

import (
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// zoomed is a window of 1280 by 800 at 200 % zoom.
func (p person) zoomed(scheme string) { p.b.Look(640, 400, scheme) }

// walk checks that Tab leads through the controls of a page that was just opened, in the order in which they are
// read, through each once, and out again; that where the focus is can be seen; and that at 200 % zoom nothing is
// lost.
func (p person) walk(name string) {
	p.t.Helper()
	p.zoomed("light")
	if first := p.b.WalkByTab(name); first != "Skip to the content" {
		p.t.Errorf("%s begins with %q", name, first)
	}
}

// tab presses Tab until the control with that name has the focus.
func (p person) tab(name string) {
	p.t.Helper()
	p.b.Order()
	var seen []string
	for range 100 {
		p.b.Key("Tab")
		s := p.b.Focused()
		if len(s.Faults) > 0 {
			p.t.Errorf("%+v", s)
		}
		if strings.HasPrefix(s.Name, name) {
			return
		}
		seen = append(seen, s.Name)
	}
	p.t.Fatalf("Tab does not lead to %q, but to %q", name, seen)
}

// key goes to a control and presses a key that leads to another page.
func (p person) key(key, control string) {
	p.t.Helper()
	p.tab(control)
	p.b.Loading(func() { p.b.Key(key) })
}

// Whoever has only a keyboard, and zooms to 200 %, does everything: signs in, sets a tenant up, makes keys
// and takes them back, reads the story of a request, and signs out.
func TestEverythingIsDoneByKeyboard(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	p := person{w, browsertest.Start(t)}
	p.zoomed("dark")
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat"}))
	p.key("Enter", "Sign in")
	p.wants("Overview")
	p.tab("Name of a new tenant")
	p.b.Type("acme")
	p.b.Loading(func() { p.b.Key("Enter") })
	p.wants("Connections of acme")
	p.key("Enter", "Add a connection")
	p.key("Enter", "Sandbox calendar")
	p.tab("Latency")
	p.b.Type("1ms")
	p.key("Space", "Add and verify")
	p.wants("Connection sandbox")
	if got := p.text(".notice"); !strings.Contains(got, "it works") {
		t.Errorf("the notice is %q", got)
	}

	p.key("Enter", "API keys")
	p.tab("What the key is for")
	p.b.Type("agent")
	p.tab("calendar:read")
	p.b.Key("Space")
	p.tab("Live")
	p.b.Key("ArrowDown")
	p.key("Enter", "Create the key")
	p.wants("The new API key")
	if got := p.text("dl"); strings.Contains(got, "calendar:read") || !strings.Contains(got, "tickets:read") {
		t.Errorf("Space does not untick a box: %s", got)
	}
	first := p.taken()
	if !strings.HasPrefix(first, "fd_test_") {
		t.Errorf("the arrow does not choose a test key: %s", first)
	}
	w.books(first, http.StatusOK)
	p.key("Enter", "Go to the keys")
	p.key("Enter", "Roll fd_test_")
	p.tab("The old key ends")
	p.b.Key("End")
	p.key("Enter", "Create the new key")
	second := p.taken()
	w.books(first, http.StatusUnauthorized)
	w.books(second, http.StatusOK)
	p.key("Enter", "Go to the keys")
	p.key("Enter", "Revoke fd_test_")
	p.key("Enter", "Revoke the key")
	w.books(second, http.StatusUnauthorized)
	w.g.Close() // which writes the log of requests
	w.open()

	p.key("Enter", "Requests")
	p.tab("More to search by")
	p.b.Key("Space")
	p.tab("Operation")
	p.b.Type("bookMeeting")
	p.b.Loading(func() { p.b.Key("Enter") })
	var when string
	p.b.Eval(`document.querySelector('tbody a').innerText`, &when)
	p.key("Enter", when)
	if got := p.text("main"); !strings.Contains(got, "What it did at the provider") {
		t.Errorf("the story of a request: %s", got)
	}
	p.tab("Skip to the content")
	p.b.Key("Enter")
	p.tab("The same by command")
	p.b.Key("Enter")
	if got := p.text("details pre"); got == "" {
		t.Error("Enter does not open what is folded")
	}
	p.key("Enter", "Sign out")
	p.wants("Sign in")
	p.b.Open(w.url + "/settings")
	p.wants("Sign in")
}

// taken returns the secret that the page shows once, as somebody copies it who has only a keyboard.
func (p person) taken() (secret string) {
	p.t.Helper()
	p.tab("API key") // the one in the navigation comes first
	p.tab("API key")
	p.b.Eval(`getSelection().toString()`, &secret)
	return secret
}
