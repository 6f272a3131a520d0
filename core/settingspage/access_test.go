package settingspage_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"frontdesk/config"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/secret"
	"frontdesk/core/signin"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// A link signs in once, for fifteen minutes, and only by its button: messengers open links for previews.
func TestALinkSignsInOnce(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		path := w.link(signin.NewLink{Person: "pat@example.com"})
		b := w.browser()
		for range 2 {
			p := b.get(path)
			if p.status != http.StatusOK || !strings.Contains(p.body, "pat@example.com") || b.cookie != "" {
				t.Fatalf("%d %s", p.status, p.body)
			}
		}
		for range 2 { // people click twice
			if p := b.post(path, nil); p.status != http.StatusSeeOther || p.to != "/settings/signed-in" {
				t.Fatalf("%d %s", p.status, p.body)
			}
		}
		if p := b.get("/settings/signed-in"); p.to != "/settings" || !b.isSignedIn() {
			t.Errorf("led to %q", p.to)
		}
		late, signedIn := w.link(signin.NewLink{}), w.signedIn(signin.NewLink{Person: "lee"})
		for name, path := range map[string]string{
			"replayed": path, "mistyped": path[:len(path)-1], "unknown": "/settings/sign-in/fds_nothing",
			"expired": late,
		} {
			w.advance(10 * time.Second) // so that it is not the number of tries that is refused
			if name == "expired" {
				w.advance(signin.LinkLife)
			}
			other := w.browser()
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				p := other.send(method, path, nil)
				if p.status != http.StatusNotFound || !strings.Contains(p.body, signin.ReasonLinkUnusable) {
					t.Errorf("%s, %s: %d", name, method, p.status)
				}
			}
			if other.cookie != "" {
				t.Errorf("%s: there is a session", name)
			}
			if p := signedIn.post(path, nil); p.status != http.StatusNotFound {
				t.Errorf("%s, by who is signed in as somebody else: %d", name, p.status)
			}
			if name == "expired" {
				w.advance(-signin.LinkLife)
			}
		}
		if strings.Contains(w.log.String(), path[len("/settings/sign-in/"):]) {
			t.Error("the log has the link's token")
		}
		w.tenant("acme")
		gone := w.link(signin.NewLink{Tenant: "acme"})
		if _, err := w.g.Admin().DeleteTenant(t.Context(), apikey.Caller{}, "acme"); err != nil {
			t.Fatal(err)
		}
		if p := w.browser().post(gone, nil); p.status != http.StatusNotFound {
			t.Errorf("the link of a deleted tenant: %d", p.status)
		}
	})
}

// Of those who use a link at once, one is signed in.
func TestOneOfManySignsIn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		path, in := w.link(signin.NewLink{}), make(chan int)
		for range 5 {
			go func() { in <- w.browser().post(path, nil).status }()
		}
		statuses := map[int]int{}
		for range 5 {
			statuses[<-in]++
		}
		if statuses[http.StatusSeeOther] != 1 || statuses[http.StatusNotFound] != 4 {
			t.Errorf("answers %v", statuses)
		}
	})
}

// Sessions outlive a restart, and end by themselves, by sign-out, and everywhere at once.
func TestSessionsEnd(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		pat := signin.NewLink{Person: "pat"}
		first, second, other := w.signedIn(pat), w.signedIn(pat), w.signedIn(signin.NewLink{Person: "lee"})
		w.g.Close()
		w.open()
		stolen := *first
		for _, b := range []*browser{first, second, other} {
			if !b.isSignedIn() {
				t.Fatal("the session did not outlive a restart")
			}
		}
		if p := first.post("/settings/sign-out", nil); p.to != "/settings/sign-in" || first.cookie != "" {
			t.Errorf("signed out: to %q, cookie %q", p.to, first.cookie)
		}
		if stolen.isSignedIn() || !second.isSignedIn() {
			t.Error("sign-out ends one session")
		}
		third := w.signedIn(pat)
		second.post("/settings/sign-out-everywhere", nil)
		if third.isSignedIn() || !other.isSignedIn() {
			t.Error("sign-out everywhere ends the sessions of one person")
		}
		w.advance(29 * time.Minute)
		if !other.isSignedIn() {
			t.Error("the session ended early")
		}
		w.advance(2 * time.Minute) // the manager of sessions reckons with the machine's clock
		if other.isSignedIn() {
			t.Error("an idle session goes on")
		}
	})
}

// What a tenant's administrator may do ends with the tenant.
func TestASessionEndsWithItsTenant(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	b := w.signedIn(signin.NewLink{Tenant: "acme"})
	if _, err := w.g.Admin().DeleteTenant(t.Context(), apikey.Caller{}, "acme"); err != nil {
		t.Fatal(err)
	}
	if b.isSignedIn() {
		t.Error("the session goes on")
	}
}

// A session that somebody knew before the sign-in is not the session of who signed in.
func TestNoSessionIsFixed(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	for name, known := range map[string]string{
		"invented": "attackers-choice", "the attacker's own": w.signedIn(signin.NewLink{Role: apikey.RoleViewer}).cookie,
	} {
		victim, attacker := w.browser(), w.browser()
		victim.cookie, attacker.cookie = known, known
		victim.post(w.link(signin.NewLink{Person: "pat"}), nil)
		if victim.cookie == known || !victim.isSignedIn() || attacker.isSignedIn() {
			t.Errorf("%s: the session is known", name)
		}
	}
}

// Whoever writes the database, but lacks the key set, neither signs in nor makes a session last or reach
// more.
func TestNoEditOfTheDatabaseSignsIn(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		b := w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer})
		intruder := storetest.Open(t, w.store) // without the key set
		db := storetest.Database(t, w.store)
		edit := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		edit("UPDATE sessions SET expires_at = 4000000000000, tenant_id = NULL")
		if p := b.get("/settings/audit"); !strings.Contains(p.body, "of the tenant acme") {
			t.Errorf("the session reaches more: %d", p.status)
		}
		w.advance(13 * time.Hour)
		if b.isSignedIn() {
			t.Error("the session lasts")
		}
		w.advance(-13 * time.Hour)

		b = w.signedIn(signin.NewLink{Tenant: "acme", Role: apikey.RoleViewer})
		edit("UPDATE sessions SET person = 'operator'")
		if b.isSignedIn() {
			t.Error("a session of another person's name is taken")
		}
		b = w.signedIn(signin.NewLink{})
		mine := w.signedIn(signin.NewLink{Tenant: "acme"})
		edit(`UPDATE sessions SET person = 'operator', sealed = (SELECT sealed FROM sessions WHERE person = 'operator' LIMIT 1)
			WHERE person = 'administrator'`)
		if mine.isSignedIn() || !b.isSignedIn() {
			t.Error("a session takes another one's seal")
		}
		inserted := w.browser()
		inserted.cookie = "known"
		sum := sha256.Sum256([]byte(inserted.cookie))
		if err := intruder.CreateSession(t.Context(), store.Session{
			Hash: base64.RawURLEncoding.EncodeToString(sum[:]), Person: "operator", ExpiresAt: w.now().Add(time.Hour),
			Data: []byte(`{"person":{"name":"operator","role":"admin"},"expires_at":"2999-01-01T00:00:00Z","values":""}`),
		}); err != nil {
			t.Fatal(err)
		}
		if inserted.isSignedIn() || !strings.Contains(w.log.String(), "a session is refused") {
			t.Error("a session that was inserted is good")
		}
		token := secret.NewToken("fds_")
		sum = sha256.Sum256([]byte(token))
		if err := intruder.CreateSignInLink(t.Context(), store.SignInLink{
			Hash: hex.EncodeToString(sum[:]), ExpiresAt: w.now().Add(time.Hour),
			Opens: []byte(`{"person":{"name":"operator","role":"admin"},"expires_at":"2999-01-01T00:00:00Z"}`),
		}); err != nil {
			t.Fatal(err)
		}
		if p := w.browser().post("/settings/sign-in/"+token, nil); p.status != http.StatusNotFound ||
			!strings.Contains(w.log.String(), "a sign-in link is refused") {
			t.Errorf("a link that was inserted signs in: %d", p.status)
		}
		late := w.link(signin.NewLink{Role: apikey.RoleViewer})
		edit("UPDATE sign_in_links SET expires_at = 4000000000000")
		w.advance(signin.LinkLife)
		if p := w.browser().post(late, nil); p.status != http.StatusNotFound {
			t.Errorf("a link was made to last: %d", p.status)
		}
	})
}

// Every route leads who is not signed in to the sign-in page, is kept out of caches and frames, and refuses
// other sites and other hosts.
func TestEveryRouteIsGuarded(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	operator := w.signedIn(signin.NewLink{})
	for _, r := range routes(t) {
		path, name := w.at(r.Path, "acme", "acme", "key_none"), r.Method+" "+r.Path
		nobody := w.browser().send(r.Method, path, nil)
		open := strings.Contains(r.Path, "/sign-in") || strings.Contains(r.Path, "/oidc") ||
			strings.HasSuffix(r.Path, "/signed-in")
		isChange := r.Method == http.MethodPost && r.Path != "/settings/sign-out"
		to := "/settings/sign-in" + map[bool]string{true: "?ended=yes"}[isChange]
		if !open && (nobody.status != http.StatusSeeOther || nobody.to != to) {
			t.Errorf("%s by nobody: %d to %q", name, nobody.status, nobody.to)
		}
		for _, h := range []http.Header{{"Host": {"attacker.example"}},
			{"Host": {"127.0.0.1.attacker.example:80"}}} {
			foreign := &browser{w, operator.cookie, h}
			if p := foreign.send(r.Method, path, nil); p.status != http.StatusForbidden {
				t.Errorf("%s for %v: %d", name, h, p.status)
			}
		}
		if r.Method == http.MethodPost {
			for _, h := range []http.Header{
				{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://attacker.example"}},
				{"Origin": {"null"}},
			} {
				foreign := &browser{w, operator.cookie, h}
				if p := foreign.send(r.Method, path, nil); p.status != http.StatusForbidden {
					t.Errorf("%s from %v: %d", name, h, p.status)
				}
			}
		} else {
			got := operator.send(r.Method, path, nil)
			if len(got.body) > 150_000 {
				t.Errorf("%s has %d bytes", name, len(got.body))
			}
			policy := got.header.Get("Content-Security-Policy")
			for _, rule := range []string{"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'",
				"form-action 'self'"} {
				if got.status == http.StatusOK && !strings.Contains(policy, rule) {
					t.Errorf("%s: the policy %q lacks %s", name, policy, rule)
				}
			}
			if strings.Contains(policy, "unsafe") || got.header.Get("Cache-Control") != "no-store" ||
				got.header.Get("X-Content-Type-Options") != "nosniff" ||
				got.header.Get("Referrer-Policy") != "same-origin" ||
				got.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %v", name, got.header)
			}
			if strings.Contains(got.body, "<script") || strings.Contains(got.body, " style=") {
				t.Errorf("%s has a script or a style of its own", name)
			}
		}
	}
	if !operator.isSignedIn() {
		t.Error("another site ended the session")
	}
	for _, host := range []string{"localhost:8080", "127.0.0.1", "[::1]:9999"} {
		b := &browser{w, operator.cookie, http.Header{"Host": {host}}}
		if !b.isSignedIn() {
			t.Errorf("%s is refused", host)
		}
	}
}

// The address of the session page's cookie is never told, and headers cannot be split by what is typed.
func TestWhatIsTypedStaysText(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	operator := w.signedIn(signin.NewLink{})
	hostile := "x\r\nSet-Cookie: a=b\"><script>alert(1)</script>"
	for _, r := range routes(t) {
		path := w.at(r.Path, "acme", "acme", "key_none")
		if !strings.Contains(r.Path, "{token}") {
			path = strings.NewReplacer("key_none", url.PathEscape("<b>"), "/calendar/",
				"/"+url.PathEscape("<b>")+"/").Replace(path)
		}
		if strings.Contains(path, "sign-out") {
			continue
		}
		form := url.Values{}
		for _, name := range []string{"name", "label", "scopes", "connections", "overlap", "settings.email",
			"settings.timezone", "default"} {
			form.Set(name, hostile)
		}
		if r.Method == http.MethodGet {
			path += "?search=" + url.QueryEscape(hostile) + "&action=" + url.QueryEscape(hostile) + "&name=" +
				url.QueryEscape(hostile)
		}
		p := operator.send(r.Method, path, form)
		if strings.Contains(p.body, "<script>") || strings.Contains(p.body, "<b>") ||
			strings.Contains(strings.Join(p.header["Set-Cookie"], ""), "a=b") || p.status >= 500 {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, p.status, p.body)
		}
	}
}

// Attempts with links that do not work are throttled for one address, which behind a proxy is that of all people: a
// link that works does all the same.
func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	statuses := map[int]int{}
	for range 30 {
		statuses[w.browser().post("/settings/sign-in/fds_none", nil).status]++
	}
	if statuses[http.StatusTooManyRequests] < 15 || statuses[http.StatusNotFound] < 5 || len(statuses) != 2 {
		t.Errorf("answers %v", statuses)
	}
	w.signedIn(signin.NewLink{})
}

// Over plain http, a browser keeps no session at another host than loopback. The page says so, and the link
// stays good.
func TestPlainHTTPIsExplained(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t), func(c *config.Config) { c.Server.PublicURL = "http://desk.example:8080" })
	path := strings.TrimPrefix(w.link(signin.NewLink{}), "http://desk.example:8080")
	b := &browser{w, "", http.Header{"Host": {"desk.example:8080"}}}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, path := range []string{path, "/settings/sign-in"} {
			got := b.send(method, path, nil)
			if got.status != http.StatusForbidden && got.status != http.StatusMethodNotAllowed ||
				got.status == http.StatusForbidden && !strings.Contains(got.body, "Use https") {
				t.Errorf("%s: %d %s", method, got.status, got.body)
			}
		}
	}
	if p := w.browser().post(path, nil); p.status != http.StatusSeeOther { // on loopback
		t.Errorf("the link was used up: %d", p.status)
	}
	if got := w.browser().get("/settings/signed-in"); got.status != http.StatusForbidden ||
		!strings.Contains(got.body, "Use https") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// A viewer sees every page and changes nothing.
func TestAViewerChangesNothing(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	key := w.tenant("acme")
	request := w.busy("acme")
	viewer := w.signedIn(signin.NewLink{Role: apikey.RoleViewer, Person: "vera"})
	before := w.audit()
	for _, r := range routes(t) {
		if strings.Contains(r.Path, "/sign") || strings.Contains(r.Path, "/oidc") || r.Operation == above {
			continue
		}
		path := w.at(strings.ReplaceAll(r.Path, "{request}", request), "acme", "acme", key)
		want := http.StatusOK
		if r.Method == http.MethodPost {
			want = http.StatusForbidden
		}
		p := viewer.send(r.Method, path, url.Values{"name": {"acme"}, "scopes": {"calendar:read"},
			"overlap": {"1h"}})
		if p.status != want {
			t.Errorf("%s %s: %d, want %d", r.Method, r.Path, p.status, want)
		}
		if buttons := posting.FindAllString(p.body, -1); len(buttons) != 1 && r.Method == http.MethodGet &&
			!strings.HasSuffix(r.Path, "/session") && !strings.Contains(p.body, "<fieldset disabled>") {
			t.Errorf("%s offers a viewer %q", r.Path, buttons)
		}
	}
	if after := w.audit(); after != before {
		t.Errorf("something was changed: %s, before %s", after, before)
	}
}

// posting matches forms that change something; one is the sign-out of every page.
var posting = regexp.MustCompile(`<form[^>]* method="post"[^>]*>`)

// A tenant's administrator sees and reaches nothing of other tenants, on any route.
func TestATenantsAdministratorReachesNoOther(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		own, others := w.tenant("acme"), w.tenant("zebra")
		b := w.signedIn(signin.NewLink{Tenant: "acme", Person: "pat"})
		before := w.audit()
		form := url.Values{"name": {"zebra"}, "scopes": {"calendar:read"}, "overlap": {"1h"}}
		for _, r := range routes(t) {
			if strings.Contains(r.Path, "/sign") || strings.Contains(r.Path, "/oidc") || r.Operation == above {
				continue
			}
			name := r.Method + " " + r.Path
			p := b.send(r.Method, w.at(r.Path, "zebra", "zebra", others), form)
			switch {
			case r.Method == http.MethodPost && r.Path == "/settings/tenants",
				strings.HasSuffix(r.Path, "{tenant}/delete"):
				if p.status != http.StatusForbidden {
					t.Errorf("%s: %d", name, p.status)
				}
			case strings.HasPrefix(r.Path, "/settings/webhooks"): // the operator's
				if p.status != http.StatusForbidden {
					t.Errorf("%s: %d", name, p.status)
				}
			case strings.HasPrefix(r.Path, "/settings/admin-keys/"): // another tenant's
				if p.status != http.StatusNotFound {
					t.Errorf("%s: %d", name, p.status)
				}
			case r.Method == http.MethodPost && r.Path == "/settings/admin-keys": // without a role
				if p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, "zebra") {
					t.Errorf("%s: %d %s", name, p.status, p.body)
				}
			case strings.Contains(r.Path, "{tenant}"):
				unknown := b.send(r.Method, w.at(r.Path, "nobody", "zebra", others), form)
				if p.status != http.StatusNotFound || plain(p.body) != strings.ReplaceAll(plain(unknown.body), "nobody",
					"zebra") {
					t.Errorf("%s: %d %s\nunknown: %d %s", name, p.status, plain(p.body), unknown.status, plain(unknown.body))
				}
				if strings.Contains(r.Path, "{agent}") {
					below := strings.ReplaceAll(r.Path, "{agent}", w.agents["zebra"])
					if p := b.send(r.Method, w.at(below, "acme", "acme", others), form); p.status != http.StatusNotFound {
						t.Errorf("%s with another's agent: %d", name, p.status)
					}
				}
				if strings.Contains(r.Path, "{key}") { // another tenant's key below the own tenant
					if p := b.send(r.Method, w.at(r.Path, "acme", "acme", others), form); p.status != http.StatusNotFound {
						t.Errorf("%s with another's key: %d", name, p.status)
					}
				}
			default:
				if p.status != http.StatusOK || strings.Contains(p.body, "zebra") {
					t.Errorf("%s: %d %s", name, p.status, p.body)
				}
			}
		}
		if after := w.audit(); after != before {
			t.Errorf("something was changed: %s, before %s", after, before)
		}
		made := b.post("/settings/admin-keys", url.Values{"role": {"admin"}, "label": {"mine"},
			"tenant": {"zebra"}})
		if made.status != http.StatusOK || !strings.Contains(made.body, "the tenant acme") {
			t.Errorf("a key of the admin interface for another tenant: %d %s", made.status, plain(made.body))
		}
		if p := b.get("/settings/tenants/acme/keys"); !strings.Contains(p.body, own) {
			t.Errorf("the own key is not shown: %s", p.body)
		}
	})
}

// plain returns a page without what differs from request to request.
func plain(body string) string {
	return regexp.MustCompile(`request: <code>.*?</code>`).ReplaceAllString(body, "")
}

// audit returns the newest change of all.
func (w *world) audit() string {
	w.t.Helper()
	all, err := w.g.Admin().ListAudit(w.t.Context(), apikey.Caller{}, admin.AuditQuery{Limit: 1})
	if err != nil || len(all.Entries) != 1 {
		w.t.Fatal(all, err)
	}
	e := all.Entries[0]
	return e.At.String() + " " + e.Actor + " " + e.Action + " " + e.Subject
}

// Sessions and links go on working when the keys that sealed them are rotated out of the key set.
func TestSessionsOutliveTheKeyThatSealedThem(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		b, link := w.signedIn(signin.NewLink{}), w.link(signin.NewLink{Tenant: "acme"})
		before, err := w.g.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dropped := map[uint32]bool{}
		for range 2 {
			rotation, err := w.g.RotateKeys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range rotation.Dropped {
				dropped[id] = true
			}
		}
		if !dropped[before[0].ID] {
			t.Errorf("the key %x stays; dropped are %v", before[0].ID, dropped)
		}
		if !b.isSignedIn() {
			t.Error("the session ended")
		}
		if p := w.browser().post(link, nil); p.status != http.StatusSeeOther {
			t.Errorf("the link is answered %d: %s", p.status, p.body)
		}
	})
}

// formOf returns what a browser sends of the form of a page in which nothing was typed.
func formOf(t *testing.T, page string) url.Values {
	t.Helper()
	form := url.Values{}
	find := func(pattern, in string) [][]string {
		return regexp.MustCompile("(?s)"+pattern).FindAllStringSubmatch(in, -1)
	}
	put := func(name, value string) {
		form.Set(name, strings.ReplaceAll(html.UnescapeString(value), "\n", "\r\n")) // as browsers do
	}
	for _, f := range find(`<input [^>]*name="([^"]+)"(?:[^>]* value="([^"]*)")?`, page) {
		put(f[1], f[2])
	}
	for _, f := range find(`<textarea [^>]*name="([^"]+)"[^>]*>(.*?)</textarea>`, page) {
		put(f[1], f[2])
	}
	for _, f := range find(`<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>`, page) {
		put(f[1], "")
		for _, chosen := range find(`value="([^"]*)" selected`, f[2]) {
			put(f[1], chosen[1])
		}
	}
	return form
}

// Two administrators have the page of a tenant, of its hours or of its connection open at one time, or one of them
// goes back to it. A form changes what was changed in it, and nothing that others changed since it was shown.
func TestAFormChangesNothingThatWasLeftAsItWasShown(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	one, other := w.signedIn(signin.NewLink{Person: "one"}), w.signedIn(signin.NewLink{Person: "other"})
	const page, connectionPage = "/settings/tenants/acme", "/settings/tenants/acme/connections/acme"
	sayings := map[string]any{"a=b": "High", " soon ": "Low"} // which the form reads otherwise than it shows them
	if _, err := w.g.Admin().ChangeTenant(t.Context(), apikey.Caller{}, admin.TenantSpec{
		Name: "acme", Settings: map[string]any{"priority_words": sayings},
	}); err != nil {
		t.Fatal(err)
	}
	forms := map[string]url.Values{}
	for _, path := range []string{page, acmeHours, connectionPage} {
		forms[path] = formOf(t, one.get(path).body)
	}
	submit := func(b *browser, path string, changed url.Values) {
		t.Helper()
		form := maps.Clone(forms[path])
		maps.Copy(form, changed)
		if p := b.post(path, form); p.status != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", path, p.status, p.body)
		}
	}
	submit(other, page, url.Values{
		"settings.timezone": {"Europe/Paris"}, "settings.status_words": {"open = New\r\nb = C"},
	})
	submit(one, page, url.Values{"settings.display_name": {"Acme"}})
	submit(other, acmeHours, url.Values{"duration_minutes": {"45"}, "monday": {"10:00-12:00"}})
	submit(one, acmeHours, url.Values{"buffer_after_minutes": {"5"}})
	submit(other, connectionPage, url.Values{"settings.email": {"pat@example.com"}})
	submit(one, connectionPage, url.Values{"settings.latency": {"5ms"}})
	of, at := w.settings()
	s := of.Settings
	if s.Timezone != "Europe/Paris" || s.DisplayName != "Acme" || s.StatusWords["b"] != "C" ||
		s.DurationMinutes == nil || *s.DurationMinutes != 45 || s.OpenHours["monday"] != "10:00-12:00" ||
		s.BufferAfterMinutes == nil || *s.BufferAfterMinutes != 5 || s.PriorityWords["a=b"] != "High" ||
		s.PriorityWords[" soon "] != "Low" {
		t.Errorf("the tenant has %+v", s)
	}
	if at["email"] != "pat@example.com" || at["latency"] != "5ms" {
		t.Errorf("the connection has %v", at)
	}
	forms[page] = formOf(t, one.get(page).body)
	refused := maps.Clone(forms[page])
	refused.Set("settings.timezone", "Nowhere")
	if p := one.post(page, refused); p.status != http.StatusUnprocessableEntity ||
		formOf(t, p.body).Get("was_settings.timezone") != "Europe/Paris" {
		t.Errorf("refused: %d %s", p.status, p.body)
	}
	submit(one, page, url.Values{"settings.timezone": {""}, "settings.status_words": {""}})
	of, _ = w.settings()
	if s := of.Settings; s.Timezone != "" || len(s.StatusWords) > 0 || s.DisplayName != "Acme" {
		t.Errorf("what was emptied is %+v", s)
	}
}

// Somebody clicks twice on a button, and the browser shows the answer to the second click: it is that to the first,
// with the secret that is shown once. Another form of the same page creates something else.
func TestAFormThatIsSentTwiceCreatesOnce(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	key := w.tenant("acme")
	b := w.signedIn(signin.NewLink{})
	const page = "/settings/tenants/acme"
	one := func(p shown) string {
		secret := regexp.MustCompile(`class="secret"[^>]* value="([^"]+)"`).FindStringSubmatch(p.body)
		if p.status >= http.StatusBadRequest || secret == nil && p.to == "" {
			t.Errorf("%d %s", p.status, p.body)
		}
		return fmt.Sprint(secret, p.to)
	}
	for at, changed := range map[string]url.Values{
		"/settings":                     {"name": {"new"}},
		page + "/keys":                  {"label": {"agent"}},
		page + "/keys/" + key + "/roll": {"overlap": {"0s"}},
		"/settings/admin-keys":          {"role": {"viewer"}},
		"/settings/admin-keys/" + w.adminKeys["acme"] + "/roll": {"overlap": {"0s"}},
		"/settings/webhooks": {"url": {"https://127.0.0.1:1/new"}},
		page + "/webhooks/" + w.webhooks["acme"] + "/roll": {"overlap": {"0s"}},
		page + "/agents": {"platform": {"tools"}},
		page + "/add-connection/calendar/sandbox": {"name": {"second"}},
	} {
		form := formOf(t, b.get(at).body)
		form.Del("connections")
		maps.Copy(form, changed)
		if at == "/settings" {
			at = "/settings/tenants"
		}
		if first, second := one(b.post(at, form)), one(b.post(at, form)); first != second {
			t.Errorf("%s: %s, and then %s", at, first, second)
		}
	}
	form := formOf(t, b.get(page+"/keys").body)
	form.Del("connections")
	first := one(b.post(page+"/keys", form))
	if form.Set("label", "another"); one(b.post(page+"/keys", form)) == first {
		t.Error("a form that was filled in otherwise creates nothing")
	}
}
