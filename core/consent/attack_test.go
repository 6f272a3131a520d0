package consent

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontdesk/core/consent/consenttest"
	"frontdesk/core/link"
)

// attempt is a consent that the customer has given. The browser has not yet followed the redirect.
type attempt struct {
	*world
	token string
	back  *url.URL
}

// mistyped returns a token with its last character changed.
func mistyped(token string) string {
	last := len(token) - 1
	if token[last] == 'x' {
		return token[:last] + "y"
	}
	return token[:last] + "x"
}

// with returns the callback URL with a changed query.
func (a attempt) with(change func(q url.Values)) string {
	u := *a.back
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	return u.String()
}

// after is the state that an attack leaves behind.
type after int

const (
	usedUp after = iota // the attack used up the state, so the genuine answer is refused
	good                // the state is not used up, so the genuine answer is accepted
	over                // the link's target was changed before, or the link has expired
)

// TestAttacks sends what a stranger, a thief or a careless customer can send. Each request is refused with
// the given status and words, and nothing is stored.
func TestAttacks(t *testing.T) {
	get := func(a attempt, address string) answer { return a.send(http.MethodGet, address) }
	set := func(name, value string) func(a attempt) answer {
		return func(a attempt) answer { return get(a, a.with(func(q url.Values) { q.Set(name, value) })) }
	}
	without := func(name string) func(a attempt) answer {
		return func(a attempt) answer { return get(a, a.with(func(q url.Values) { q.Del(name) })) }
	}
	twice := func(name, value string) func(a attempt) answer {
		return func(a attempt) answer { return get(a, a.with(func(q url.Values) { q.Add(name, value) })) }
	}
	const notHere, unreadable, wrongPlace = "This sign-in cannot be completed", "The answer could not be read",
		"The answer came from the wrong place"
	for _, c := range []struct {
		rule   string
		do     func(a attempt) answer
		status int
		says   string
		after  after
	}{
		{"a state used before", func(a attempt) answer {
			get(a, a.with(func(q url.Values) { q.Set("error", "access_denied") }))
			return get(a, a.back.String())
		}, 400, notHere, usedUp},
		{"a forged state", set("state", strings.Repeat("A", 43)), 400, notHere, good},
		{"a state with something attached", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) { q.Set("state", q.Get("state")+"x") }))
		}, 400, notHere, good},
		{"a state cut off", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) { q.Set("state", q.Get("state")[:42]) }))
		}, 400, notHere, good},
		{"an endless state", set("state", strings.Repeat("A", 10_000)), 400, notHere, good},
		{"a state of SQL", set("state", "' OR 1=1 --"+strings.Repeat("x", 32)), 400, notHere, good},
		{"a code without state", without("state"), 400, notHere, good},
		{"an empty state", set("state", ""), 400, notHere, good},
		{"two states", twice("state", "other"), 400, notHere, usedUp},
		{"the same state twice", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) { q.Add("state", q.Get("state")) }))
		}, 400, notHere, usedUp},
		{"an expired state", func(a attempt) answer {
			a.advance(10 * time.Minute)
			return get(a, a.back.String())
		}, 400, notHere, usedUp},
		{"the state of another browser", func(a attempt) answer {
			a.newBrowser()
			return get(a, a.back.String())
		}, 400, notHere, usedUp},
		{"a thief's cookie with the victim's state", func(a attempt) answer {
			name := cookieOf(a, a.back.Query().Get("state")).Name
			a.newBrowser()
			return a.send(http.MethodGet, a.back.String(), "Cookie", name+"="+strings.Repeat("A", 43))
		}, 400, notHere, usedUp},
		{"the cookie of another consent in the same browser", func(a attempt) answer {
			first := cookieOf(a, a.back.Query().Get("state"))
			next, _ := url.Parse(a.begin(a.token))
			second := cookieOf(a, next.Query().Get("state"))
			a.newBrowser()
			return a.send(http.MethodGet, a.back.String(), "Cookie", first.Name+"="+second.Value)
		}, 400, notHere, usedUp},
		{"the cookie twice", func(a attempt) answer {
			mine := cookieOf(a, a.back.Query().Get("state"))
			a.newBrowser()
			return a.send(http.MethodGet, a.back.String(), "Cookie",
				mine.Name+"="+mine.Value+"; "+mine.Name+"=stranger")
		}, 400, notHere, usedUp},
		{"the callback of another provider", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/dial", 1))
		}, 400, notHere, usedUp},
		{"the callback of no provider", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/nobody", 1))
		}, 400, notHere, usedUp},
		{"a wrong iss", set("iss", "https://evil.example"), 400, wrongPlace, usedUp},
		{"an iss that only begins like the right one", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) { q.Set("iss", q.Get("iss")+".evil.example") }))
		}, 400, wrongPlace, usedUp},
		{"an empty iss", set("iss", ""), 400, wrongPlace, usedUp},
		{"the iss of another provider, mixed up", func(a attempt) answer { return set("iss", a.dial.URL)(a) }, 400,
			wrongPlace, usedUp},
		{"two iss", twice("iss", "https://evil.example"), 400, unreadable, usedUp},
		{"two codes", twice("code", "other"), 400, unreadable, usedUp},
		{"no code", without("code"), 400, unreadable, usedUp},
		{"an empty code", set("code", ""), 400, unreadable, usedUp},
		{"an endless code", set("code", strings.Repeat("x", 9_000)), 400, unreadable, usedUp},
		{"a query that cannot be read", func(a attempt) answer { return get(a, a.back.String()+"&x=%zz") }, 400,
			unreadable, good},
		{"semicolons in the query", func(a attempt) answer { return get(a, a.back.String()+";x=1") }, 400,
			unreadable, good},
		{"nothing at all", func(a attempt) answer { return get(a, a.url+"/oauth/callback/meet") },
			400, notHere, good},
		{"a forged code", set("code", "code-forged"), 400, "did not accept the sign-in", usedUp},
		{"a code that was redeemed before", func(a attempt) answer {
			other := attempt{world: a.world, token: a.token, back: a.meet.Decide(a.t, a.begin(a.token), "approve")}
			stolen := other.back.Query().Get("code")
			form := url.Values{
				"grant_type": {"authorization_code"}, "code": {stolen}, "client_id": {consenttest.ClientID},
				"client_secret": {consenttest.ClientSecret},
			}
			response, err := a.client.PostForm(a.meet.URL+"/token", form)
			if err != nil {
				a.t.Fatal(err)
			}
			response.Body.Close()
			return set("code", stolen)(a)
		}, 400, "did not accept the sign-in", usedUp},
		{"a code injected from another consent: the verifier does not fit", func(a attempt) answer {
			other := a.meet.Decide(a.t, a.begin(a.token), "approve")
			return set("code", other.Query().Get("code"))(a)
		}, 400, "did not accept the sign-in", usedUp},
		{"a code of a request whose PKCE was taken out", func(a attempt) answer {
			ask, _ := url.Parse(a.begin(a.token))
			q := ask.Query()
			q.Del("code_challenge")
			q.Del("code_challenge_method")
			ask.RawQuery = q.Encode()
			return get(a, a.meet.Decide(a.t, ask.String(), "approve").String())
		}, 400, "did not accept the sign-in", good},
		{"a request whose PKCE was made plain", func(a attempt) answer {
			ask, _ := url.Parse(a.begin(a.token))
			q := ask.Query()
			q.Set("code_challenge_method", "plain")
			ask.RawQuery = q.Encode()
			return get(a, a.meet.Decide(a.t, ask.String(), "approve").String())
		}, 403, "did not give access", good},
		{"the customer declines", func(a attempt) answer {
			return get(a, a.meet.Decide(a.t, a.begin(a.token), "deny").String())
		}, 403, "You declined", good},
		{"an error together with a code", set("error", "access_denied"), 403, "You declined", usedUp},
		{"an empty error together with a code", set("error", ""), 403, "did not give access", usedUp},
		{"an error of the provider", set("error", "server_error"), 503, "not working at the moment", usedUp},
		{"two errors", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) { q["error"] = []string{"access_denied", "server_error"} }))
		}, 400, unreadable, usedUp},
		{"script in the error", set("error", "<script>alert(1)</script>"), 403, "did not give access", usedUp},
		{"script in the error's description", func(a attempt) answer {
			return get(a, a.with(func(q url.Values) {
				q.Set("error", "access_denied")
				q.Set("error_description", "<script>alert(1)</script>")
				q.Set("error_uri", "javascript:alert(1)")
			}))
		}, 403, "You declined", usedUp},
		{"line breaks for headers in the error", set("error", "x\r\nSet-Cookie: evil=1\r\n\r\n<script>"), 403,
			"did not give access", usedUp},
		{"line breaks for headers in the provider's name", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet",
				"/callback/meet%0d%0aSet-Cookie:%20evil=1", 1))
		}, 404, "", good},
		{"a slash in the provider's name", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/x%2fmeet", 1))
		}, 404, "", good},
		{"something attached to the path", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/meet/x", 1))
		}, 400, notHere, usedUp}, // the path has the form of the callback of a tenant's own client
		{"more attached to the path", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/meet/x/y", 1))
		}, 404, "", good},
		{"the provider's name in capitals", func(a attempt) answer {
			return get(a, strings.Replace(a.back.String(), "/callback/meet", "/callback/MEET", 1))
		}, 400, notHere, usedUp},
		{"HEAD of the callback", func(a attempt) answer { return a.send(http.MethodHead, a.back.String()) },
			405, "", good},
		{"POST to the callback", func(a attempt) answer { return a.send(http.MethodPost, a.back.String()) },
			405, "", good},
		{"a scope was unticked", func(a attempt) answer {
			a.meet.Untick(consenttest.ScopeList)
			return get(a, a.meet.Decide(a.t, a.begin(a.token), "approve").String())
		}, 403, "Some access is missing", good},
		{"the link has expired meanwhile", func(a attempt) answer {
			a.advance(24 * time.Hour)
			return get(a, a.back.String())
		}, 400, notHere, usedUp}, // the state has expired as well
		{"a link that ends while the customer signs in", func(a attempt) answer {
			short := a.world.link(func(n *link.Spec) { n.Life = 5 * time.Minute })
			back := a.world.back(short, "approve")
			a.advance(5 * time.Minute)
			return get(a, back.String())
		}, 410, "This link has expired", good},
		{"the link has led to a connection meanwhile", func(a attempt) answer {
			a.connect(a.token)
			return get(a, a.back.String())
		}, 410, "This link has been used", over},
		{"the tenant is gone meanwhile", func(a attempt) answer {
			if err := a.kit.Tenants.Delete(a.t.Context(), "acme"); err != nil {
				a.t.Fatal(err)
			}
			return get(a, a.back.String())
		}, 400, notHere, over},
		{"the API does not let the account in", func(a attempt) answer {
			a.meet.Refuse(http.StatusForbidden)
			return get(a, a.back.String())
		}, 403, "This account cannot be used", usedUp},
		{"the API is down", func(a attempt) answer {
			a.meet.Refuse(http.StatusServiceUnavailable)
			return get(a, a.back.String())
		}, 503, "not working at the moment", usedUp},
		{"the token endpoint answers with nonsense", func(a attempt) answer {
			a.meet.Fail(200, "<html>")
			return get(a, a.back.String())
		}, 502, "is set up wrongly", usedUp},
		{"the token endpoint does not know the client", func(a attempt) answer {
			a.meet.Fail(401, `{"error":"invalid_client","error_description":"`+consenttest.ClientSecret+`"}`)
			return get(a, a.back.String())
		}, 502, "is set up wrongly", usedUp},
		{"the token endpoint gives no refresh token", func(a attempt) answer {
			a.meet.Fail(200, `{"access_token":"canary-access","token_type":"Bearer","expires_in":3600}`)
			return get(a, a.back.String())
		}, 502, "would not last", usedUp},
		{"another site's page presses the button", func(a attempt) answer {
			return a.send(http.MethodPost, a.url+"/connect/"+a.token, "Sec-Fetch-Site", "cross-site", "Origin",
				"https://evil.example")
		}, 403, "This request came from another page", good},
		{"another site's page presses the button, in an old browser", func(a attempt) answer {
			return a.send(http.MethodPost, a.url+"/connect/"+a.token, "Sec-Fetch-Site", "", "Origin",
				"https://evil.example")
		}, 403, "This request came from another page", good},
		{"a sandboxed frame presses the button", func(a attempt) answer {
			return a.send(http.MethodPost, a.url+"/connect/"+a.token, "Sec-Fetch-Site", "", "Origin", "null")
		}, 403, "This request came from another page", good},
		{"a neighbour of the same domain presses the button", func(a attempt) answer {
			return a.send(http.MethodPost, a.url+"/connect/"+a.token, "Sec-Fetch-Site", "same-site")
		}, 403, "This request came from another page", good},
		{"a mistyped link", func(a attempt) answer { return get(a, a.url+"/connect/"+mistyped(a.token)) }, 404,
			"This link does not work", good},
		{"a link that was never made", func(a attempt) answer {
			return get(a, a.url+"/connect/fdc_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA1Y6Bwo")
		}, 404, "This link does not work", good},
		{"an API key for a link", func(a attempt) answer {
			return get(a, a.url+"/connect/fd_live_0123456789abcdefghijABCDEFGHIJ01abcdef")
		}, 404, "This link does not work", good},
		{"a link with something attached", func(a attempt) answer { return get(a, a.url+"/connect/"+a.token+"/") },
			404, "", good},
		{"another method at a link", func(a attempt) answer {
			return a.send(http.MethodDelete, a.url+"/connect/"+a.token)
		}, 405, "", good},
		{"script in a link", func(a attempt) answer { return get(a, a.url+"/connect/<script>alert(1)<script>") },
			404, "This link does not work", good},
		{"the button of an expired link", func(a attempt) answer {
			a.advance(25 * time.Hour)
			return a.send(http.MethodPost, a.url+"/connect/"+a.token)
		}, 410, "This link has expired", over},
		{"the button of a used link", func(a attempt) answer {
			a.connect(a.token)
			return a.send(http.MethodPost, a.url+"/connect/"+a.token)
		}, 410, "This link has been used", over},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			a := attempt{world: w, token: w.link()}
			a.back = w.back(a.token, "approve")
			before := w.stored()
			got := c.do(a)
			if got.status != c.status || !strings.Contains(got.body, c.says) {
				t.Errorf("answered %d %q\n%s", got.status, c.says, got.text())
			}
			if strings.Contains(got.body, "<script") ||
				got.header.Get("Set-Cookie") != "" && strings.Contains(got.header.Get("Set-Cookie"), "evil") {
				t.Errorf("what was sent came back: %v\n%s", got.header, got.text())
			}
			if got.status != http.StatusNotFound && got.status != http.StatusMethodNotAllowed {
				wantPage(t, got)
			}
			if c.after != over && w.stored() != before {
				t.Errorf("stored\n%s\nbefore\n%s", w.stored(), before)
			}
			secrets := append(w.meet.Secrets(), "canary-access", a.back.Query().Get("state"),
				a.back.Query().Get("code"))
			for _, secret := range secrets {
				if strings.Contains(w.log.String(), secret) || strings.Contains(w.seen.String(), secret) {
					t.Errorf("%s is shown or logged\n%s\n%s", secret, w.seen, w.log)
				}
			}
			if strings.Contains(w.log.String(), a.token) {
				t.Errorf("the link is logged: %s", w.log)
			}
			if c.after == over {
				return
			}
			// The genuine answer, from the right browser.
			w.meet.Refuse(0)
			again := w.send(http.MethodGet, a.back.String())
			if (again.status == http.StatusOK) != (c.after == good) {
				t.Errorf("then the right answer: %d %s", again.status, again.text())
			}
		})
	}
}

// cookieOf returns the browser's cookie for a state.
func cookieOf(a attempt, state string) *http.Cookie {
	a.t.Helper()
	for _, c := range a.jar.Cookies(a.back) {
		if strings.HasSuffix(c.Name, link.ConsentName(state)) {
			return c
		}
	}
	a.t.Fatal("the browser has no cookie of the state")
	return nil
}

func wantPage(t *testing.T, a answer) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Robots-Tag": "noindex", "X-Content-Type-Options": "nosniff",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	policy := a.header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if a.status >= 400 && !strings.Contains(a.body, a.header.Get("X-Request-Id")) {
		t.Error("the page does not name its request")
	}
}
