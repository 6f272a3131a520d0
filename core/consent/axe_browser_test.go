package consent

import (
	"testing"

	"frontdesk/core/page/browsertest"
)

// No page that a customer sees has a barrier that axe-core knows, in light and in dark.
func TestNoPageHasABarrier(t *testing.T) {
	auditor := browsertest.NewAuditor(t)
	w := start(t)
	p := person{w, browsertest.Start(t)}
	shows := func(heading string) {
		t.Helper()
		if got := p.heading(); got != heading {
			t.Fatalf("the page is %q, want %q", got, heading)
		}
		auditor.Check(p.b, heading)
	}
	p.b.Open(w.url + "/connect/" + w.link())
	shows("Connect Meet Calendar")
	p.press("button")
	p.press("button[name=deny]")
	shows("You declined")
	w.meet.Untick("https://meet.example/auth/list")
	p.press("main a")
	p.press("button")
	p.press("button[name=approve]")
	shows("Some access is missing")
	w.meet.SignIn("other@acme.example")
	p.press("main a")
	p.press("button")
	p.press("button[name=approve]")
	shows("Meet Calendar is connected")
	p.b.Loading(func() { p.b.Call("Page.reload", nil, nil) })
	shows("This sign-in cannot be completed")
}
