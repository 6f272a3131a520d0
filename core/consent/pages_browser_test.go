package consent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/connection"
	"frontdesk/core/link"
	"frontdesk/core/page/browsertest"
)

// person is a customer with a real browser.
type person struct {
	*world
	b *browsertest.Browser
}

func (p person) heading() (text string) {
	p.t.Helper()
	p.b.Eval(`document.querySelector('h1').innerText`, &text)
	return text
}

// press clicks the element that matches a selector, and waits for the next page.
func (p person) press(selector string) {
	p.t.Helper()
	p.b.Loading(func() { p.b.Eval(fmt.Sprintf(`document.querySelector(%q).click()`, selector), nil) })
}

func TestACustomerConnectsAnAccount(t *testing.T) {
	w := start(t)
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 800, "light")
	p.b.Open(w.url + "/connect/" + w.link())
	if got := p.heading(); got != "Connect Meet Calendar" {
		t.Fatalf("the link leads to %q", got)
	}
	p.press("button")
	if got := p.heading(); got != "Sign in" {
		t.Fatalf("the button leads to %q", got)
	}
	// A browser without Sec-Fetch-Site sends only Origin.
	if got := w.posted.Load(); got != w.url+" same-origin" {
		t.Errorf("the form says that it comes from %q", got)
	}
	p.press("button[name=deny]")
	if got := p.heading(); got != "You declined" {
		t.Fatalf("declining leads to %q", got)
	}
	p.press("main a")
	p.press("button")
	p.press("button[name=approve]")
	if got := p.heading(); got != "Meet Calendar is connected" {
		t.Fatalf("agreeing leads to %q", got)
	}
	var text string
	if p.b.Eval(`document.querySelector('dl').innerText`, &text); !strings.Contains(text, "desk@acme.example") ||
		!strings.Contains(text, "Front desk") {
		t.Errorf("the page tells %q", text)
	}
	p.b.Loading(func() { p.b.Call("Page.reload", nil, nil) })
	if got := p.heading(); got != "This sign-in cannot be completed" {
		t.Errorf("loaded again: %q", got)
	}
	p.connected()
	var bad []string
	for _, complaint := range p.b.Complaints(w.url, w.meet.URL) {
		// The browser logs the error status of failure pages, and of its request for an icon.
		if !strings.Contains(complaint, "is answered with 40") &&
			!strings.Contains(complaint, "Failed to load resource") {
			bad = append(bad, complaint)
		}
	}
	if len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
}

func (p person) connected() {
	p.t.Helper()
	all, err := p.kit.Connections.List(p.t.Context(), "acme")
	if err != nil || len(all) != 1 || all[0].Status != connection.StatusOK ||
		all[0].Email != "desk@acme.example" {
		p.t.Errorf("connections %+v, %v", all, err)
	}
}

// Every page is readable in every window, its controls can be reached by keyboard and by finger, and its text
// has enough contrast.
func TestEveryPageCanBeReadAndUsed(t *testing.T) {
	w := start(t)
	p := person{w, browsertest.Start(t)}
	for _, look := range []struct {
		name          string
		width, height int
		scheme, lang  string
	}{
		{"wide-light", 1280, 800, "light", "en"}, {"wide-dark", 1280, 800, "dark", "es"},
		{"narrow-light", 320, 740, "light", "de"}, {"narrow-dark", 320, 740, "dark", "fr"},
	} {
		p.b.Look(look.width, look.height, look.scheme)
		p.b.Call("Network.enable", nil, nil)
		p.b.Call("Network.setExtraHTTPHeaders", map[string]any{"headers": map[string]string{"Accept-Language": look.lang}},
			nil)
		shown := func(name string) {
			t.Helper()
			var page struct {
				Lang, Title, Font  string
				Wider, Small, Pale []string
				Headings           []int
			}
			p.b.Eval(examine, &page)
			if page.Lang != look.lang || page.Title == "" || !strings.Contains(page.Font, "system-ui") ||
				len(page.Wider)+len(page.Small)+len(page.Pale) > 0 ||
				len(page.Headings) == 0 || page.Headings[0] != 1 || !slices.IsSorted(page.Headings) {
				t.Errorf("%s %s: %+v", look.name, name, page)
			}
			p.b.Screenshot("consent-" + look.name + "-" + name)
		}
		token := w.link()
		p.b.Open(w.url + "/connect/" + token)
		shown("ask")
		p.press("button")
		p.press("button[name=deny]")
		shown("declined")
		w.meet.Untick("https://meet.example/auth/list")
		p.press("main a")
		p.press("button")
		p.press("button[name=approve]")
		shown("incomplete")
		w.meet.SignIn("other@acme.example")
		p.press("main a")
		p.press("button")
		p.press("button[name=approve]")
		if look.name == "wide-light" { // the first run connects an account; the others use another account
			w.connect(w.link(func(n *link.Spec) { n.OtherAccount = true }))
		} else {
			shown("other-account")
			p.b.Open(w.url + "/connect/" + token)
			p.press("button")
			p.press("button[name=approve]")
		}
		shown("connected")
		p.b.Open(w.url + "/connect/" + token)
		shown("used")
	}
}

// examine checks a page for content wider than the window, controls too small for a finger (24 CSS pixels,
// WCAG 2.2 success criterion 2.5.8), and text with a contrast below 4.5 to 1 (1.4.3).
const examine = `(() => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const paper = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
	const contrast = e => { const a = light(getComputedStyle(e).color), b = light(paper(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
	const all = [...document.querySelectorAll('body, body *')], name = e => e.tagName + ' ' + e.innerText.slice(0, 40);
	return {
		Lang: document.documentElement.lang, Title: document.title, Font: getComputedStyle(document.body).fontFamily,
		Wider: all.filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(name),
		Small: [...document.querySelectorAll('a, button')].filter(e => e.tabIndex < 0 || e.getBoundingClientRect().height < (e.tagName === 'A' ? 16 : 24)).map(name),
		Pale: all.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && contrast(e) < 4.5).map(e => name(e) + ' ' + contrast(e)),
		Headings: [...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1]),
	};
})()`
