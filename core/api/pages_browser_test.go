package api

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
)

// looks are the window sizes and colour schemes that pages support.
var looks = []struct {
	name          string
	width, height int
	scheme        string
}{
	{"wide-light", 1280, 800, "light"}, {"wide-dark", 1280, 800, "dark"},
	{"narrow-light", 360, 740, "light"}, {"narrow-dark", 360, 740, "dark"},
}

func TestPagesFitEveryWindowAndAskForNothingElse(t *testing.T) {
	b, origin := browsertest.Start(t), servePages(t)
	for _, look := range looks {
		for _, path := range []string{"/docs", "/problems/slot-taken", "/problems/reconnect-required"} {
			name := look.name + strings.ReplaceAll(path, "/", "-")
			b.Look(look.width, look.height, look.scheme)
			b.Open(origin + path)
			var page struct {
				Heading, Font, Paper string
				Wider                []string
			}
			b.Eval(`({
				Heading: document.querySelector('h1').innerText,
				Font: getComputedStyle(document.body).fontFamily,
				Paper: getComputedStyle(document.body).backgroundColor,
				Wider: [...document.querySelectorAll('body, body *')]
					.filter(e => !e.closest('pre') && e.getBoundingClientRect().right > innerWidth + 0.5)
					.map(e => e.tagName + ' ' + e.innerText.slice(0, 40)),
			})`, &page)
			if page.Heading == "" || !strings.Contains(page.Font, "system-ui") {
				t.Errorf("%s: heading %q, font %q: the style is not applied", name, page.Heading, page.Font)
			}
			if want := map[string]string{"light": "rgb(255, 255, 255)",
				"dark": "rgb(20, 23, 26)"}[look.scheme]; page.Paper != want {
				t.Errorf("%s: the paper is %s, want %s", name, page.Paper, want)
			}
			if len(page.Wider) > 0 {
				t.Errorf("%s: wider than the window: %q", name, page.Wider)
			}
			b.Screenshot(name)
		}
	}
	if complaints := b.Complaints(origin); len(complaints) > 0 {
		t.Errorf("%s", strings.Join(complaints, "\n"))
	}
}

// inView reports whether an element, found by its id, is in the window.
func inView(id string) string {
	return fmt.Sprintf(`(r => r.height > 0 && r.bottom > 0 && r.top < innerHeight)(document.getElementById(%q).getBoundingClientRect())`, id)
}

func TestLinksLeadAReaderToWhatTheyName(t *testing.T) {
	b, origin := browsertest.Start(t), servePages(t)
	b.Look(1280, 800, "light")
	b.Open(origin + "/docs")
	var anchors []string
	b.Eval(`[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))`, &anchors)
	if len(anchors) < len(operations(Services{})) {
		t.Fatalf("contents %v", anchors)
	}
	for _, id := range anchors {
		var there bool
		b.Eval(fmt.Sprintf(`document.querySelector('nav a[href="#%s"]').click(), location.hash === '#%s' && %s`, id,
			id, inView(id)), &there)
		if !there {
			t.Errorf("#%s is not shown", id)
		}
	}

	// A reader opens the errors of an operation, follows the link of one to the table and from there to its
	// page, and returns.
	var shown []bool
	b.Eval(`(() => {
		const details = document.getElementById('bookMeeting').closest('section').querySelector('details');
		const link = details.querySelector('a[href="#slot-taken"]');
		const before = link.checkVisibility();
		details.querySelector('summary').click();
		const open = link.checkVisibility();
		link.click();
		return [before, open, `+inView("slot-taken")+`];
	})()`, &shown)
	if !slices.Equal(shown, []bool{false, true, true}) {
		t.Errorf("the errors of an operation: link visible before, after opening, row shown: %v", shown)
	}
	var at string
	b.Loading(func() { b.Eval(`document.querySelector('#slot-taken a').click()`, nil) })
	if b.Eval(`location.pathname + ' ' + document.title`, &at); at != "/problems/slot-taken The slot is taken" {
		t.Errorf("the page of an error: %q", at)
	}
	b.Loading(func() { b.Eval(`[...document.querySelectorAll('a')].at(-1).click()`, nil) })
	if b.Eval(`location.pathname + location.hash + ' ' + `+inView("errors"), &at); at != "/docs#errors true" {
		t.Errorf("back: %q", at)
	}
	if complaints := b.Complaints(origin); len(complaints) > 0 {
		t.Errorf("%s", strings.Join(complaints, "\n"))
	}
}

// Scripts and other content that is injected into a page have no effect.
func TestThePolicyIsInForceInTheBrowser(t *testing.T) {
	b, origin := browsertest.Start(t), servePages(t)
	for _, path := range []string{"/docs", "/problems/slot-taken"} {
		b.Open(origin + path)
		var got struct {
			Refused     []string
			Ran, Hidden bool
		}
		b.Eval(`(async () => {
			const refused = [];
			const all = new Promise(done => addEventListener('securitypolicyviolation',
				e => { refused.push(e.effectiveDirective); if (refused.length === 6) done(); }));
			const add = (tag, members) => document.body.appendChild(Object.assign(document.createElement(tag), members));
			add('style', {textContent: 'body { display: none }'});
			add('script', {textContent: 'window.ran = true'});
			add('img', {src: '/healthz'});
			add('iframe', {src: '/healthz'});
			add('p', {}).setAttribute('style', 'display: none');
			await fetch('/openapi.json').catch(() => 0);
			await all;
			return {Refused: refused.sort(), Ran: window.ran === true, Hidden: getComputedStyle(document.body).display === 'none'};
		})()`, &got)
		want := []string{
			"connect-src", "frame-src", "img-src", "script-src-elem", "style-src-attr", "style-src-elem",
		}
		if !slices.Equal(got.Refused, want) || got.Ran || got.Hidden {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// servePages serves the API at the address that its pages link to.
func servePages(t *testing.T) (origin string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	origin = "http://" + server.Listener.Addr().String()
	g := startGateway(t, func(o *Options) {
		o.PublicURL, o.SettingsURL, o.PerMinuteOfKey, o.PerMinuteOfTenant = origin, origin+"/docs", 6000, 12000
	})
	server.Config.Handler = g.handler
	server.Start()
	t.Cleanup(server.Close)
	return origin
}

// No page has a barrier that axe-core knows.
func TestNoPageHasABarrier(t *testing.T) {
	auditor := browsertest.NewAuditor(t)
	b, origin := browsertest.Start(t), servePages(t)
	for _, path := range []string{"/docs", "/problems/slot-taken"} {
		b.Open(origin + path)
		auditor.Check(b, path)
	}
}
