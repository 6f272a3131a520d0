package settingspage_test

import (
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// stop is a control on which the keyboard's focus rests.
type stop struct {
	Name   string   // as a screen reader says it
	At     int      // its place among those that can be focused, in the order of the document; -1: none of them
	Faults []string // why somebody might not see that the focus is here
}

// focused describes the control with the focus. Its outline must be there, at least two pixels wide, and have
// a contrast of 3 to 1 to what is around it (WCAG 2.2 success criteria 1.4.11, 2.4.7 and 2.4.13); the control
// must be in the window, at least a line of it, and not behind anything (2.4.11).
const focused = `(() => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const paper = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
	const e = document.activeElement, style = getComputedStyle(e), box = e.getClientRects()[0], Faults = [];
	if (e === document.body) return {Name: '', At: -1, Faults};
	const a = light(style.outlineColor), b = light(paper(e.parentElement)), contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	if (style.outlineStyle !== 'auto' && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 || contrast < 3))
		Faults.push('outline ' + style.outline + ', contrast ' + contrast);
	const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
	const there = document.elementFromPoint(box.left + Math.min(box.width / 2, 40), (top + bottom) / 2);
	if (bottom - top < 16) Faults.push('outside the window');
	else if (!there || !e.contains(there) && !there.contains(e)) Faults.push('behind ' + there?.outerHTML.slice(0, 60));
	return {Name: (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || '').trim(), At: focusable().indexOf(e), Faults};
})()`

// order lists what can be focused, in the order of the document, and says where that is not the order in
// which people read: downwards, and from left to right. Of a group of radio buttons, one can be reached with
// Tab: the chosen one, or else the first.
const order = `(() => {
	const group = e => [...document.getElementsByName(e.name)], reached = e => e.checked || !group(e).some(o => o.checked) && group(e)[0] === e;
	window.focusable = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(e =>
		e.checkVisibility() && !e.matches(':disabled') && e.tabIndex >= 0 && (e.type !== 'radio' || reached(e)));
	const all = focusable(), Odd = [];
	for (let i = 1; i < all.length; i++) {
		const region = e => e.closest('nav, header, main'), a = all[i - 1].getBoundingClientRect(), b = all[i].getBoundingClientRect();
		if (region(all[i - 1]) === region(all[i]) && (b.bottom <= a.top || b.top < a.bottom && a.top < b.bottom && b.right <= a.left))
			Odd.push(all[i - 1].outerHTML + ' before ' + all[i].outerHTML);
	}
	return {Stops: all.length, Odd, Wider: document.documentElement.scrollWidth > innerWidth};
})()`

// zoomed is a window of 1280 by 800 at 200 % zoom.
func (p person) zoomed(scheme string) { p.b.Look(640, 400, scheme) }

// Tab leads through the controls of every page in the order in which they are read, through each once, and
// out again; where the focus is can be seen; and at 200 % zoom nothing is lost.
func TestTabLeadsThroughEveryPage(t *testing.T) {
	w := start(t, sqlite(t))
	key := w.tenant("acme")
	request := w.busy("acme")
	p := person{w, browsertest.Start(t)}
	p.zoomed("light")
	walk := func(name, path string) {
		t.Helper()
		p.b.Open(w.url + path)
		var page struct {
			Stops int
			Odd   []string
			Wider bool
		}
		if p.b.Eval(order, &page); len(page.Odd) > 0 || page.Wider {
			t.Errorf("%s: wider than the window: %v; not in the order of reading: %q", name, page.Wider, page.Odd)
		}
		s := stop{At: -1}
		tab := func(at int) {
			p.b.Key("Tab")
			p.b.Eval(focused, &s)
			for parts := 0; at > 0 && s.At == at-1 && parts < 6; parts++ { // of a field for a date or a time
				p.b.Key("Tab")
				p.b.Eval(focused, &s)
			}
		}
		for at := range page.Stops {
			if tab(at); s.At != at || s.Name == "" || len(s.Faults) > 0 {
				t.Errorf("%s: after %d times Tab, the focus is on %+v", name, at+1, s)
			}
			if at == 0 && s.Name != "Skip to the content" {
				t.Errorf("%s begins with %q", name, s.Name)
			}
		}
		if tab(page.Stops); s.At > 0 {
			t.Errorf("%s: the focus is held on %+v", name, s)
		}
	}
	for name, path := range w.pages(false, "acme", "acme", key, request) {
		walk(name, path)
	}
	walk("a link that works", w.link(signin.NewLink{}))
	p.b.Open(w.url + w.link(signin.NewLink{}))
	p.press("Sign in")
	for name, path := range w.pages(true, "acme", "acme", key, request) {
		walk(name, path)
	}
}

// tab presses Tab until the control with that name has the focus.
func (p person) tab(name string) {
	p.t.Helper()
	p.b.Eval(order, nil)
	var seen []string
	for range 100 {
		var s stop
		p.b.Key("Tab")
		p.b.Eval(focused, &s)
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
