package settingspage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/signin"
	"frontdesk/core/store/storetest"
)

// refuse makes the store refuse an action on a table ("INSERT ON sessions") until the returned function is
// called.
func (w *world) refuse(action string) (restore func()) {
	w.t.Helper()
	db := storetest.Database(w.t, w.store)
	execute := func(statement string) {
		w.t.Helper()
		if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
			w.t.Fatal(err)
		}
	}
	_, table, _ := strings.Cut(action, " ON ")
	if strings.HasPrefix(w.store, "sqlite:") {
		execute("CREATE TRIGGER refusal BEFORE " + action + " BEGIN SELECT RAISE(ABORT, 'refused'); END")
		return func() { execute("DROP TRIGGER refusal") }
	}
	execute("CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS " +
		"$$ BEGIN RAISE EXCEPTION 'refused'; END $$")
	execute("CREATE TRIGGER refusal BEFORE " + action + " FOR EACH ROW EXECUTE FUNCTION refuse()")
	return func() { execute("DROP TRIGGER refusal ON " + table) }
}

// Wherever the store fails during a sign-in, nobody is signed in, and the link goes on working.
func TestASignInThatTheStoreFailsCanBeRepeated(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		for _, action := range []string{"INSERT ON sessions", "DELETE ON sign_in_links", "INSERT ON audit"} {
			path := w.link(signin.NewLink{Person: "pat"})
			restore := w.refuse(action)
			b := w.browser()
			if p := b.post(path, nil); p.status < 500 || strings.Contains(p.body, "refused") ||
				len(p.header["Set-Cookie"]) > 0 {
				t.Errorf("%s fails: %d to %q, %v: %s", action, p.status, p.to, p.header, p.body)
			}
			restore()
			if b.isSignedIn() {
				t.Errorf("%s fails: somebody is signed in", action)
			}
			if p := b.post(path, nil); p.status != http.StatusSeeOther || !b.isSignedIn() {
				t.Errorf("%s failed: repeated, the sign-in is %d %s", action, p.status, p.body)
			}
			var sessions int
			if err := storetest.Database(t, w.store).QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM sessions").Scan(&sessions); err != nil || sessions != 1 {
				t.Errorf("%s failed: %d sessions, %v", action, sessions, err)
			}
			b.post("/settings/sign-out", nil)
		}
	})
}

// Headers with which proxies speak of the request before them change nothing: not where a page leads, not who
// may be asked from where, and not from whom an attempt to sign in is counted.
func TestHeadersOfProxiesAreNotBelieved(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	w.tenant("acme")
	operator := w.signedIn(signin.NewLink{})
	claims := http.Header{
		"Sec-Fetch-Site": {"same-origin"}, "X-Forwarded-Host": {"attacker.example"}, "X-Host": {"attacker.example"},
		"X-Forwarded-Server": {"attacker.example"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Prefix": {"//attacker.example"},
		"Forwarded": {"host=attacker.example;proto=https"}, "X-Original-Url": {"/settings/sign-out"},
		"X-Rewrite-Url": {"/settings/sign-out"}, "X-Http-Method-Override": {http.MethodPost},
		"Referer": {"https://attacker.example/"},
	}
	nobody, pat := &browser{w: w, header: claims}, &browser{w, operator.cookie, claims}
	for _, r := range routes(t) {
		path := w.at(r.Path, "acme", "acme", "key_none")
		for who, b := range map[string]*browser{"nobody": nobody, "the operator": pat} {
			if strings.Contains(path, "sign-out") || who == "the operator" && r.Method == http.MethodPost {
				continue
			}
			p := b.send(r.Method, path, nil)
			if strings.Contains(p.body+p.to, "attacker.example") || p.to != "" &&
				!strings.HasPrefix(p.to, "/settings") {
				t.Errorf("%s %s by %s: %d to %q: %s", r.Method, r.Path, who, p.status, p.to, p.body)
			}
		}
	}
	if !operator.isSignedIn() {
		t.Error("a header ended the session")
	}
	if p := (&browser{w, operator.cookie, http.Header{"Host": {"attacker.example"},
		"X-Forwarded-Host": {"127.0.0.1"}}}).
		get("/settings"); p.status != http.StatusForbidden {
		t.Errorf("another host is allowed by a header: %d", p.status)
	}
	w.advance(time.Minute)
	statuses := map[int]int{}
	for i := range 30 {
		b := &browser{w: w, header: http.Header{"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d", i)},
			"X-Real-Ip": {fmt.Sprintf("192.0.2.%d", i)}}}
		statuses[b.post("/settings/sign-in/fds_none", nil).status]++
	}
	if statuses[http.StatusTooManyRequests] < 15 {
		t.Errorf("guesses from one address that claims to be many are answered %v", statuses)
	}
}

// Of whoever is not signed in, nothing is read that takes memory: a quarter of a megabyte, as thousands of fields, of
// each of as many connections as there can be.
func TestNoFormOfAStrangerIsRead(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	for _, r := range routes(t) {
		if r.Method != http.MethodPost {
			continue
		}
		form := strings.NewReader(strings.Repeat("name=&", 40_000))
		request := httptest.NewRequest(http.MethodPost, w.at(r.Path, "acme", "acme", "key_none"), form)
		request.Host = strings.TrimPrefix(w.url, "http://")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		w.g.Handler().ServeHTTP(answer, request)
		if form.Len() < int(form.Size()) || answer.Code >= 500 {
			t.Errorf("%s: %d, and %d bytes were read", r.Path, answer.Code, form.Size()-int64(form.Len()))
		}
	}
	if link := w.link(signin.NewLink{Person: "pat"}); w.browser().post(link, nil).status != http.StatusSeeOther {
		t.Error("nobody can sign in")
	}
}

// A cookie that another host of the domain plants beside the session's is not the session, and neither is one
// that was changed, cut or put together.
func TestNoMadeUpCookieIsASession(t *testing.T) {
	t.Parallel()
	w := start(t, sqlite(t))
	operator := w.signedIn(signin.NewLink{})
	good := operator.cookie
	for _, cookie := range []string{
		good[:len(good)-1], good + "A", strings.ToLower(good), strings.Repeat(good, 2), "'" + good, good + "%00",
		strings.Repeat("A", len(good)), "../" + good, strings.Repeat("A", 60_000),
		good + "; " + sessionCookie + "=another", "another; " + sessionCookie + "=" + good,
	} {
		b := w.browser()
		b.cookie = cookie
		if p := b.get("/settings"); p.status < 300 || p.status >= 500 {
			t.Errorf("%.80q is answered %d", cookie, p.status)
		}
	}
	if !operator.isSignedIn() {
		t.Error("guessing ended the session")
	}
}

// PostgreSQL fails where a text has a NUL, or bytes that are not UTF-8. Neither a page nor an operation of the admin
// interface passes such a text on.
func TestBytesThatAreNoTextAreRefused(t *testing.T) {
	onEveryStore(t, func(t *testing.T, w *world) {
		w.tenant("acme")
		b := w.signedIn(signin.NewLink{})
		key, err := w.g.Admin().CreateAdminKey(t.Context(), apikey.Caller{}, admin.Write{},
			admin.NewAdminKey{Role: apikey.RoleAdmin})
		if err != nil {
			t.Fatal(err)
		}
		api := &browser{w: w, header: http.Header{"Authorization": {"Bearer " + key.Record.Secret}}}
		for _, wrong := range []string{"\x00", "\xff"} {
			in := url.QueryEscape(wrong)
			for _, r := range routes(t) {
				path := strings.NewReplacer("{tenant}", "acme", "{", "", "}", "").Replace(r.Path)
				queries := "?action=" + in + "&operation=" + in + "&reason=" + in + "&before=" + in
				form := url.Values{}
				for _, name := range []string{"label", "name", "tenant", "role", "scopes", "connections", "url"} {
					form.Set(name, wrong)
				}
				if strings.Contains(r.Path, "sign-out") || r.Method == http.MethodHead {
					continue
				}
				for _, path := range []string{path + queries, w.at(r.Path, in, in, in)} {
					if p := b.send(r.Method, path, form); p.status >= 500 {
						t.Errorf("%s %s: %d", r.Method, path, p.status)
					}
				}
			}
			for _, path := range []string{
				"/audit?action=", "/audit?tenant=", "/tenants/acme/requests?reason=", "/tenants/acme/requests?before=",
				"/tenants/", "/tenants/acme/requests/",
			} {
				p := api.get("/alpha/admin" + path + in)
				if p.status != http.StatusNotFound && p.status != http.StatusUnprocessableEntity {
					t.Errorf("GET %s%s: %d %s", path, in, p.status, p.body)
				}
			}
		}
	})
}
