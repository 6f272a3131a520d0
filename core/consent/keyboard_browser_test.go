package consent

import (
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
)

// key goes to a control by Tab and presses a key that leads to another page.
func (p person) key(key, control string) {
	p.t.Helper()
	p.b.Order()
	for range 10 {
		p.b.Key("Tab")
		if strings.HasPrefix(p.b.Focused().Name, control) {
			p.b.Loading(func() { p.b.Key(key) })
			return
		}
	}
	p.t.Fatalf("Tab does not lead to %q on %q", control, p.heading())
}

// Whoever has only a keyboard connects an account, and starts again after declining. On every page, Tab leads
// through the controls in the order in which they are read, where the focus is can be seen, and out again.
// The pages have no navigation to skip: the first control is the one that matters.
func TestACustomerConnectsByKeyboard(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			w := start(t)
			p := person{w, browsertest.Start(t)}
			p.b.Look(640, 400, scheme) // 1280 by 800 at 200 % zoom
			walk := func(heading, first string) {
				t.Helper()
				if got := p.heading(); got != heading {
					t.Fatalf("the page is %q, want %q", got, heading)
				}
				if got := p.b.WalkByTab(heading); got != first {
					t.Errorf("%s begins with %q, want %q", heading, got, first)
				}
			}
			p.b.Open(w.url + "/connect/" + w.link())
			walk("Connect Meet Calendar", "Continue to Meet Calendar")
			p.key("Space", "Continue")
			p.press("button[name=deny]") // the provider's page
			walk("You declined", "Try again")
			p.key("Enter", "Try again")
			p.key("Enter", "Continue")
			p.press("button[name=approve]")
			walk("Meet Calendar is connected", "+49 30 1234-5")
		})
	}
}
