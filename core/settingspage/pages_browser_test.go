package settingspage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"frontdesk/core/page/browsertest"
	"frontdesk/core/signin"
)

// person is somebody with a real browser.
type person struct {
	*world
	b *browsertest.Browser
}

func (p person) text(selector string) string { return p.b.Text(selector) }

func (p person) press(text string) { p.b.Press(text) }

// fill types into the field with that label.
func (p person) fill(label, value string) {
	p.t.Helper()
	p.b.Eval(fmt.Sprintf(`(() => { const it = [...document.querySelectorAll('label')].find(e => e.innerText.trim().startsWith(%q));
		if (!it) throw new Error('there is no field'); it.control.focus(); it.control.select?.() })()`, label), nil)
	p.b.Call("Input.insertText", map[string]any{"text": value}, nil)
}

func (p person) wants(heading string) {
	p.t.Helper()
	if got := p.text("h1"); got != heading {
		p.t.Fatalf("the page is %q, want %q: %s", got, heading, p.text("main"))
	}
}

// From the printed link to a booked meeting, with nothing but a browser, and back.
func TestAnOperatorSetsATenantUp(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	p := person{w, browsertest.Start(t)}
	p.b.Look(1280, 900, "light")
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat"}))
	p.wants("Sign in to Frontdesk")
	p.press("Sign in")
	p.wants("Overview")
	p.fill("Name of a new tenant", "Not Good")
	p.press("Create the tenant")
	if got := p.text(".wrong"); !strings.Contains(got, "lower-case") {
		t.Errorf("a bad name: %q", got)
	}
	p.fill("Name of a new tenant", "acme")
	p.press("Create the tenant")
	p.wants("Connections of acme")
	p.press("Add a connection")
	p.press("Sandbox calendar")
	p.wants("Connect Sandbox calendar")
	p.press("Add and verify")
	p.wants("Connection sandbox")
	if got := p.text(".notice"); !strings.Contains(got, "it works") ||
		!strings.Contains(got, "office@example.com") {
		t.Errorf("the notice is %q", got)
	}
	p.press("Verify now")
	if got := p.text(".notice"); !strings.Contains(got, "The connection works.") {
		t.Errorf("the notice is %q", got)
	}
	p.fill("Latency", "soon")
	p.press("Save and verify")
	if got := p.text(".wrong"); !strings.Contains(got, "must be a duration") {
		t.Errorf("a bad setting: %q", got)
	}
	p.fill("Latency", "1ms")
	p.press("Save and verify")
	p.b.Open(w.url + "/settings/tenants/acme/keys")
	p.fill("What the key is for", "agent")
	p.press("Create the key")
	p.wants("The new API key")
	key := p.text(".secret")
	w.books(key, http.StatusOK)

	p.b.Open(w.url + "/settings/tenants/acme/keys")
	if strings.Contains(p.text("main"), key) {
		t.Error("the key is shown again")
	}
	p.press("Roll…")
	p.press("Create the new key")
	next := p.text(".secret")
	w.books(key, http.StatusOK)
	w.books(next, http.StatusOK)
	p.press("Go to the keys")
	p.press("Revoke…")
	p.press("Revoke the key")
	w.books(next, http.StatusUnauthorized)

	p.b.Open(w.url + "/settings/tenants/acme/audit")
	for _, want := range []string{"person:pat", "create-tenant", "add-connection", "roll-key", "revoke-key",
		"book-meeting"} {
		if !strings.Contains(p.text("table"), want) {
			t.Errorf("the audit lacks %s: %s", want, p.text("table"))
		}
	}
	p.b.Open(w.url + "/settings/tenants/acme")
	p.fill("Timezone", "Europe/Paris")
	p.fill("Status words", "open = New\nclosed = Done")
	p.fill("Max phone numbers", "5")
	p.press("Save the settings")
	var status string
	p.b.Eval(`document.getElementById('settings.status_words').value`, &status)
	if !strings.Contains(p.text(".notice"), "saved") || status != "closed = Done\nopen = New" {
		t.Errorf("saved: %q %q", p.text(".notice"), status)
	}
	p.press("Delete this tenant…")
	p.fill("The tenant's name", "acme")
	p.press("Delete the tenant")
	p.wants("Overview")
	for _, complaint := range p.b.Complaints(w.url) {
		// The browser logs the status of a form with faults, and of its request for an icon.
		if !strings.Contains(complaint, "is answered with 422") && !strings.Contains(complaint, "favicon.ico") &&
			!strings.Contains(complaint, "status of 422") {
			t.Error(complaint)
		}
	}
}

// books books a meeting with a key.
func (w *world) books(key string, want int) {
	w.t.Helper()
	body := `{"title":"Consultation","start_time":"2027-03-02T10:00:00Z","end_time":"2027-03-02T10:30:00Z"}`
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/v1/calendar/book-meeting",
		bytes.NewReader([]byte(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		w.t.Errorf("book-meeting: %d %s %v, want %d", answer.StatusCode, text, err, want)
	}
	if want == http.StatusOK && !json.Valid(text) {
		w.t.Errorf("book-meeting: %s", text)
	}
}

// Every page is readable in every window and at 200 % zoom, its controls have names and can be reached by
// keyboard and by finger, its text has enough contrast, nothing is loaded from elsewhere, axe-core knows no
// barrier in it, and Tab leads through it.
func TestEveryPageCanBeReadAndUsed(t *testing.T) {
	t.Parallel()
	auditor := browsertest.NewAuditor(t)
	w := start(t, sqlite(t))
	long := strings.Repeat("acme", 16)[:63] // as long as a name can be, without a hyphen to break it at
	key := w.tenant(long)
	request := w.busy(long)
	p := person{w, browsertest.Start(t)}
	p.b.Open(w.url + w.link(signin.NewLink{Person: "pat@example.com"}))
	p.press("Sign in")
	for name, path := range w.pages(true, long, long, key, request) {
		p.b.Open(w.url + path)
		auditor.Check(p.b, name, func(look string) { p.examine(look, name) })
		p.walk(name)
		if os.Getenv("FRONTDESK_TEST_SCREENSHOTS") == "" {
			continue
		}
		for _, look := range []struct {
			name          string
			width, height int
			scheme        string
		}{{"wide-dark", 1280, 900, "dark"}, {"narrow-light", 360, 740, "light"}, {"zoomed", 640, 450, "light"}} {
			p.b.Look(look.width, look.height, look.scheme)
			p.examine(look.name, name)
		}
	}
}

func (p person) examine(look, name string) {
	p.t.Helper()
	var page struct {
		Lang, Title                         string
		Wider, Small, Pale, Nameless, Twice []string
		Skipped                             []string
	}
	p.b.Eval(examine, &page)
	if page.Lang != "en" || page.Title == "" ||
		len(page.Wider)+len(page.Small)+len(page.Pale)+len(page.Nameless)+len(page.Twice)+len(page.Skipped) > 0 {
		p.t.Errorf("%s %s: %+v", look, name, page)
	}
	p.b.Screenshot("settings-" + look + "-" + strings.ReplaceAll(strings.TrimPrefix(name, "/settings/"), "/", "-"))
}

// examine checks a page for content wider than the window, which people would scroll to and fro to read (WCAG 2.2
// success criterion 1.4.10), controls too small for a finger (24 CSS pixels, 2.5.8), text with a contrast below 4.5
// to 1 (1.4.3), controls without a name (4.1.2), ids that occur twice, and levels of headings that are left out.
const examine = `(() => {
	const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const paper = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
	const contrast = e => { const a = light(getComputedStyle(e).color), b = light(paper(e)); return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); };
	const all = [...document.querySelectorAll('body, body *')].filter(e => !e.closest('fieldset[disabled], .hidden, .skip, option, .commands pre')), name = e => e.tagName + ' ' + (e.innerText || e.id || '').slice(0, 40);
	const shown = e => e.getClientRects().length > 0, ids = [...document.querySelectorAll('[id]')].map(e => e.id);
	const levels = [...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1]);
	return {
		Lang: document.documentElement.lang, Title: document.title,
		Wider: all.filter(e => e.getBoundingClientRect().right > innerWidth + 0.5).map(name)
			.concat(document.documentElement.scrollWidth > innerWidth ? 'text in it' : []),
		Small: [...document.querySelectorAll('a:not(.skip), button, input, select, textarea')].filter(shown).filter(e => e.tabIndex < 0 || e.getBoundingClientRect().height < (['A', 'INPUT'].includes(e.tagName) ? 16 : 24)).map(name),
		Pale: all.filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && contrast(e) < 4.5).map(e => name(e) + ' ' + contrast(e)),
		Nameless: [...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(e => !e.labels.length && !e.ariaLabel).map(name),
		Twice: ids.filter((id, i) => ids.indexOf(id) !== i),
		Skipped: levels.filter((l, i) => i ? l > levels[i - 1] + 1 : l !== 1).map(String),
	};
})()`
