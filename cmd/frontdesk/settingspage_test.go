package main

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// signIn uses a link that a command printed, and returns the session's cookie.
func (r *running) signIn(link string) string {
	r.t.Helper()
	at, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(at.Path, "/settings/sign-in/") {
		r.t.Fatalf("the link is %q", link)
	}
	answer := r.browse(http.MethodPost, at.Path, "")
	cookie, _, _ := strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	if answer.StatusCode != http.StatusSeeOther || cookie == "" {
		r.t.Fatalf("not signed in: %d", answer.StatusCode)
	}
	return cookie
}

// browse sends a request as a browser does, without following redirects.
func (r *running) browse(method, path, cookie string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequest(method, r.api+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Cookie", cookie)
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	answer.Body.Close()
	return answer
}

// The link that the command prints opens the settings page, and the session outlives a restart and new
// encryption keys.
func TestTheSettingsPageIsOpenedByAPrintedLink(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL)
		d.must("tenant", "create", "acme")
		r := d.serve()
		if a := r.browse(http.MethodGet, "/", ""); a.StatusCode != http.StatusSeeOther ||
			a.Header.Get("Location") != "/settings" {
			t.Errorf("/ leads a browser to %q with %d", a.Header.Get("Location"), a.StatusCode)
		}
		if a, err := r.as("").call(http.MethodGet, "/", ""); err != nil || a.status != http.StatusNotFound {
			t.Errorf("/ answers a program %d, %v", a.status, err)
		}
		operator := r.signIn(d.must("admin", "link", "--person", "pat@example.com"))
		acme := r.signIn(d.must("admin", "link", "--tenant", "acme", "--role", "viewer"))
		d.must("keyset", "rotate")
		r.stop()
		r = d.serve()
		for cookie, wants := range map[string]int{
			operator: http.StatusOK, acme: http.StatusOK, "": http.StatusSeeOther,
		} {
			if a := r.browse(http.MethodGet, "/settings/tenants/acme", cookie); a.StatusCode != wants {
				t.Errorf("the tenant's page is %d, want %d", a.StatusCode, wants)
			}
		}
		audit := d.must("audit", "list")
		for _, want := range []string{"operator:admin link", "create-sign-in-link", "person:pat@example.com",
			"sign-in"} {
			if !strings.Contains(audit, want) {
				t.Errorf("the audit lacks %s: %s", want, audit)
			}
		}
		if strings.Contains(r.log(), "fds_") {
			t.Error("the log has a sign-in link's token")
		}
	})
}

func TestTheSettingsPageCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "", "FRONTDESK_SETTINGS_PAGE__ENABLED=false")
	r := d.serve()
	for _, path := range []string{"/", "/settings", "/settings/sign-in"} {
		if a := r.browse(http.MethodGet, path, ""); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s is %d", path, a.StatusCode)
		}
	}
	if out, errs, code := d.do("", "admin", "link"); code != exitFailed || out != "" ||
		!strings.Contains(errs, "settings_page.enabled") {
		t.Errorf("admin link: exit %d, %s%s", code, out, errs)
	}
}

// A demonstration prints a link that signs its operator in.
func TestTheDemonstrationPrintsASignInLink(t *testing.T) {
	t.Parallel()
	r := newDeployment(t, "").serve("--demo")
	out := r.output("curl")
	begin := strings.Index(out, r.api+"/settings/sign-in/")
	if begin < 0 {
		t.Fatalf("there is no link: %s", out)
	}
	link, _, _ := strings.Cut(out[begin:], "\n")
	if a := r.browse(http.MethodGet, "/settings/tenants/demo", r.signIn(link)); a.StatusCode != http.StatusOK {
		t.Errorf("the tenant's page is %d", a.StatusCode)
	}
}

var (
	commandsOfPage = regexp.MustCompile(`(?s)<pre tabindex="0"><code>(frontdesk .*?)</code></pre>`)
	linksOfPage    = regexp.MustCompile(`href="(/settings/[^"#]*)"`)
)

// Every command that a page of the settings page shows is one of this command line, and complete.
func TestCommandsOnTheSettingsPageAreThere(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "telephony", "--provider", "sandbox", "--default")
	d.must("key", "create", "--tenant", "acme")
	d.must("agent", "add", "--tenant", "acme", "--platform", "vapi")
	d.must("webhook", "add", "--tenant", "acme", "--url", "https://platform.example.com/hooks")
	d.must("number", "buy", "--tenant", "acme", "415")
	r := d.serve()
	cookie := r.signIn(d.must("admin", "link"))
	shown := map[string]string{} // command to page
	seen, next := map[string]bool{}, []string{"/settings"}
	for len(next) > 0 {
		path := next[0]
		if next = next[1:]; seen[path] {
			continue
		}
		seen[path] = true
		page := r.page(path, cookie)
		for _, block := range commandsOfPage.FindAllStringSubmatch(page, -1) {
			for line := range strings.Lines(html.UnescapeString(block[1])) {
				shown[strings.TrimSpace(line)] = path
			}
		}
		for _, link := range linksOfPage.FindAllStringSubmatch(page, -1) {
			next = append(next, html.UnescapeString(link[1]))
		}
	}
	word := regexp.MustCompile(`'[^']*'|[^ ]+`)
	for command, path := range shown {
		words := word.FindAllString(strings.TrimPrefix(command, "frontdesk "), -1)
		for i, word := range words {
			words[i] = strings.Trim(word, "'")
		}
		if _, err := parserOf(t).Parse(words); err != nil {
			t.Errorf("%s shows %q: %v", path, command, err)
		}
	}
	if len(shown) < 40 {
		t.Errorf("only %d commands were found on %d pages", len(shown), len(seen))
	}
}

// page returns a page as a browser gets it.
func (r *running) page(path, cookie string) string {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, r.api+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Cookie", cookie)
	answer, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(body)
}
