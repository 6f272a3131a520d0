package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// looks are the windows that pages are made for.
var looks = []struct {
	name          string
	width, height int
	scheme        string
}{
	{"wide-light", 1280, 800, "light"}, {"wide-dark", 1280, 800, "dark"},
	{"narrow-light", 360, 740, "light"}, {"narrow-dark", 360, 740, "dark"},
}

func TestPagesFitEveryWindowAndAskForNothingElse(t *testing.T) {
	b, origin := startBrowser(t), startSite(t)
	for _, look := range looks {
		for _, path := range []string{"/docs", "/problems/slot-taken", "/problems/reconnect-required"} {
			name := look.name + strings.ReplaceAll(path, "/", "-")
			b.look(look.width, look.height, look.scheme)
			b.open(origin + path)
			var page struct {
				Heading, Font, Paper string
				Wider                []string
			}
			b.eval(`({
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
			if want := map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 26)"}[look.scheme]; page.Paper != want {
				t.Errorf("%s: the paper is %s, want %s", name, page.Paper, want)
			}
			if len(page.Wider) > 0 {
				t.Errorf("%s: wider than the window: %q", name, page.Wider)
			}
			b.screenshot(name)
		}
	}
	if complaints := b.complaints(origin); len(complaints) > 0 {
		t.Errorf("%s", strings.Join(complaints, "\n"))
	}
}

// inView tells whether an element, found by its id, is in the window.
func inView(id string) string {
	return fmt.Sprintf(`(r => r.height > 0 && r.bottom > 0 && r.top < innerHeight)(document.getElementById(%q).getBoundingClientRect())`, id)
}

func TestLinksLeadAReaderToWhatTheyName(t *testing.T) {
	b, origin := startBrowser(t), startSite(t)
	b.look(1280, 800, "light")
	b.open(origin + "/docs")
	var anchors []string
	b.eval(`[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))`, &anchors)
	if len(anchors) < len(operations(Services{})) {
		t.Fatalf("contents %v", anchors)
	}
	for _, id := range anchors {
		var there bool
		b.eval(fmt.Sprintf(`document.querySelector('nav a[href="#%s"]').click(), location.hash === '#%s' && %s`, id, id, inView(id)), &there)
		if !there {
			t.Errorf("#%s is not shown", id)
		}
	}

	// A reader opens the errors of an operation, follows one to the table, from there to its page, and comes back.
	var shown []bool
	b.eval(`(() => {
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
	b.loading(func() { b.eval(`document.querySelector('#slot-taken a').click()`, nil) })
	if b.eval(`location.pathname + ' ' + document.title`, &at); at != "/problems/slot-taken The slot is taken" {
		t.Errorf("the page of an error: %q", at)
	}
	b.loading(func() { b.eval(`[...document.querySelectorAll('a')].at(-1).click()`, nil) })
	if b.eval(`location.pathname + location.hash + ' ' + `+inView("errors"), &at); at != "/docs#errors true" {
		t.Errorf("back: %q", at)
	}
	if complaints := b.complaints(origin); len(complaints) > 0 {
		t.Errorf("%s", strings.Join(complaints, "\n"))
	}
}

// What a page might be tricked into holding does nothing there.
func TestThePolicyIsInForceInTheBrowser(t *testing.T) {
	b, origin := startBrowser(t), startSite(t)
	for _, path := range []string{"/docs", "/problems/slot-taken"} {
		b.open(origin + path)
		var got struct {
			Refused     []string
			Ran, Hidden bool
		}
		b.eval(`(async () => {
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
		want := []string{"connect-src", "frame-src", "img-src", "script-src-elem", "style-src-attr", "style-src-elem"}
		if !slices.Equal(got.Refused, want) || got.Ran || got.Hidden {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
