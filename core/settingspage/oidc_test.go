package settingspage_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"frontdesk/config"
	"frontdesk/core/signin"
)

const (
	openIDCookie = "__Host-frontdesk-openid"
	clientID     = "frontdesk"
	clientSecret = "Canary-openid"
	accessToken  = "Canary-access"
)

// openID is a pretended OpenID provider, written from OpenID Connect Core 1.0 and RFC 7636. Whoever is sent
// to it is signed in already.
type openID struct {
	*httptest.Server
	key    *ecdsa.PrivateKey
	signer *ecdsa.PrivateKey // of ID tokens
	claims func(map[string]any)
	info   map[string]any // what the UserInfo endpoint tells; nil: there is none
	issuer string         // what the description says; "": its address
	scopes []string       // what the description says; nil: nothing
	asked  url.Values
	codes  map[string]bool
}

func startOpenID(t *testing.T) *openID {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	o := &openID{key: key, signer: key, claims: func(map[string]any) {}, codes: map[string]bool{}}
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(value); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		issuer := o.issuer
		if issuer == "" {
			issuer = o.URL
		}
		described := map[string]any{
			"issuer": issuer, "authorization_endpoint": o.URL + "/authorize", "token_endpoint": o.URL + "/token",
			"jwks_uri": o.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
		}
		if o.scopes != nil {
			described["scopes_supported"] = o.scopes
		}
		if o.info != nil {
			described["userinfo_endpoint"] = o.URL + "/me"
		}
		say(w, http.StatusOK, described)
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accessToken || len(o.info) == 0 {
			say(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
			return
		}
		say(w, http.StatusOK, o.info)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256",
			Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, given, basic := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		switch {
		case !basic || id != clientID || given != clientSecret:
			say(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		case !o.codes[r.PostFormValue("code")] || r.PostFormValue("redirect_uri") != o.asked.Get("redirect_uri") ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != o.asked.Get("code_challenge"):
			say(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		default:
			delete(o.codes, r.PostFormValue("code"))
			say(w, http.StatusOK, map[string]string{"access_token": accessToken, "token_type": "Bearer",
				"id_token": o.token(t)})
		}
	})
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

// token returns a signed ID token.
func (o *openID) token(t *testing.T) string {
	now := time.Now()
	claims := map[string]any{
		"iss": o.URL, "aud": clientID, "sub": "248289761001", "nonce": o.asked.Get("nonce"), "iat": now.Unix(),
		"exp": now.Add(time.Hour).Unix(), "email": "Pat@example.com", "email_verified": true,
		"groups": []string{"staff", "support"}, "cognito:groups": []string{"a:b"},
	}
	o.claims(claims)
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: o.signer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// visitor is a browser that keeps the binding of a sign-in, too.
type visitor struct {
	*browser
	binding string
}

// begin begins a sign-in, and returns the path with which the provider sends the browser back.
func (v *visitor) begin(o *openID) string {
	v.w.t.Helper()
	p := v.post("/settings/oidc", nil)
	to, err := url.Parse(p.to)
	if err != nil || p.status != http.StatusSeeOther || !strings.HasPrefix(p.to, o.URL+"/authorize?") {
		v.w.t.Fatalf("%d to %q: %s", p.status, p.to, p.body)
	}
	for _, c := range (&http.Response{Header: p.header}).Cookies() {
		if c.Name == openIDCookie {
			if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				v.w.t.Errorf("the cookie is %s", c)
			}
			v.binding = c.Value
		}
	}
	o.asked = to.Query()
	o.codes["code"] = true
	return "/settings/oidc/callback?" + url.Values{"code": {"code"}, "state": {o.asked.Get("state")}}.Encode()
}

// come comes back from the provider.
func (v *visitor) come(path string) shown {
	v.header = http.Header{"Sec-Fetch-Site": {"cross-site"}, "Cookie": {openIDCookie + "=" + v.binding}}
	if v.binding == "" {
		v.header.Del("Cookie")
	}
	p := v.send(http.MethodGet, path, nil)
	v.header = http.Header{"Sec-Fetch-Site": {"same-origin"}}
	return p
}

func withOpenID(o *openID, roles ...string) func(*config.Config) {
	return func(c *config.Config) {
		c.SettingsPage.OIDC = config.OIDC{
			Issuer: o.URL, ClientID: clientID, ClientSecret: clientSecret, Roles: roles,
		}
	}
}

// People of an OpenID provider get the role that the first fitting entry of the configuration gives them.
func TestSignInAtAnOpenIDProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ grant, shows string }{
		"by address":  {"pat@example.com=admin", "pat@example.com, admin of the whole gateway"},
		"by a claim":  {"groups:support=viewer", "pat@example.com, viewer of the whole gateway"},
		"with colons": {"cognito:groups:a:b=viewer", "pat@example.com, viewer of the whole gateway"},
		"of a tenant": {"sub:248289761001=admin@acme", "pat@example.com, admin of the tenant acme"},
		"not allowed": {"lee@example.com=admin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startOpenID(t)
			w := start(t, sqlite(t), withOpenID(o, "groups:none=admin", c.grant))
			w.tenant("acme")
			v := &visitor{browser: w.browser()}
			if p := v.get("/settings/sign-in"); !strings.Contains(p.body, "Sign in at 127.0.0.1") ||
				!strings.Contains(p.header.Get("Content-Security-Policy"), "form-action 'self' https: "+o.URL) {
				t.Errorf("the page is %s, %v", p.body, p.header)
			}
			path := v.begin(o)
			p := v.come(path)
			if c.shows == "" {
				if p.status != http.StatusForbidden || v.cookie != "" || !strings.Contains(p.body, "Pat@example.com") ||
					!strings.Contains(p.body, "settings_page.oidc.roles") {
					t.Errorf("%d %s", p.status, p.body)
				}
				return
			}
			if p.to != "/settings/signed-in" || !strings.Contains(v.get("/settings/session").body, c.shows) {
				t.Errorf("%d to %q: %s", p.status, p.to, p.body)
			}
			if got := w.audit(); !strings.Contains(got, "person:pat@example.com sign-in") {
				t.Errorf("the audit has %s", got)
			}
			again := &visitor{w.browser(), v.binding}
			if p := again.come(path); p.status < 400 || again.cookie != "" {
				t.Errorf("replayed: %d to %q", p.status, p.to)
			}
			for _, v.binding = range []string{v.binding, ""} { // it comes twice, before and after the first answer
				if p := v.come(path); p.to != "/settings/signed-in" {
					t.Errorf("again: %d to %q: %s", p.status, p.to, p.body)
				}
			}
			w.g.Close()
			w.change = withOpenID(o, "groups:none=admin", "lee@example.com=admin") // the entry is gone
			w.open()
			if v.isSignedIn() {
				t.Error("the session outlives the entry that let the person in")
			}
			if log := w.log.String(); strings.Contains(log, clientSecret) || strings.Contains(log, accessToken) {
				t.Error("the log has a secret")
			}
		})
	}
}

// What a provider tells of a person at its UserInfo endpoint counts like the ID token, but not against it,
// and only if it tells of the same person.
func TestAProviderTellsMoreAtItsUserInfoEndpoint(t *testing.T) {
	t.Parallel()
	thin := func(c map[string]any) {
		for _, name := range []string{"email", "email_verified", "groups"} {
			delete(c, name)
		}
	}
	const sub = "248289761001"
	for name, c := range map[string]struct {
		claims func(map[string]any)
		info   map[string]any
		shows  string // of the page of the session; "": nobody is signed in
		tells  string // the page of the failure
	}{
		"address": {thin, map[string]any{"sub": sub, "email": "pat@example.com", "email_verified": true},
			"pat@example.com, admin of", ""},
		"a claim": {thin, map[string]any{"sub": sub, "groups": []string{"support"}}, sub + ", viewer of", ""},
		"an address that is not verified": {thin, map[string]any{"sub": sub, "email": "pat@example.com"},
			"", signin.ReasonNotAllowed},
		"against the ID token": {func(c map[string]any) { c["email"], c["groups"] = "lee@example.com", "none" },
			map[string]any{"sub": sub, "email": "pat@example.com", "email_verified": true, "groups": "support"},
			"", "lee@example.com"},
		"that another address is verified": {func(c map[string]any) {
			c["groups"] = "none"
			delete(c, "email_verified")
		}, map[string]any{"sub": sub, "email": "lee@example.com", "email_verified": true}, "", signin.ReasonNotAllowed},
		"another person": {thin, map[string]any{"sub": "2", "email": "pat@example.com", "email_verified": true},
			"", "UserInfo"},
		"nothing": {func(map[string]any) {}, map[string]any{}, "", "invalid_token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startOpenID(t)
			o.claims, o.info = c.claims, c.info
			w := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin", "groups:support=viewer"))
			v := &visitor{browser: w.browser()}
			p := v.come(v.begin(o))
			if c.shows == "" {
				if p.status < 400 || v.cookie != "" || !strings.Contains(p.body, c.tells) {
					t.Errorf("%d to %q: %s", p.status, p.to, p.body)
				}
			} else if got := v.get("/settings/session").body; !strings.Contains(got, c.shows) {
				t.Errorf("%d to %q: %s", p.status, p.to, got)
			}
		})
	}
}

// Dex and Okta tell groups to those who ask for the scope only.
func TestAScopeIsAskedForIfAGrantNeedsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lists []string // the provider's scopes
		want  string
	}{
		{[]string{"openid", "email", "groups", "profile", "offline_access"}, "openid email profile groups"},
		{[]string{"openid", "email", "profile"}, "openid email profile"},
		{nil, "openid email profile"},
	} {
		o := startOpenID(t)
		o.scopes = c.lists
		w := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin", "groups:support=viewer", "groups:staff=viewer"))
		(&visitor{browser: w.browser()}).begin(o)
		if got := o.asked.Get("scope"); got != c.want {
			t.Errorf("of %v, %q is asked for, want %q", c.lists, got, c.want)
		}
	}
}

// Nothing signs in but an ID token that the provider made for this client and this sign-in, in the browser
// that began it.
func TestForgedSignInsAreRefused(t *testing.T) {
	t.Parallel()
	o := startOpenID(t)
	w := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin", "email:pat@example.com=admin",
		"groups:support=viewer"))
	right := &visitor{browser: w.browser()} // by whom the gateway learns how it is authenticated
	if right.come(right.begin(o)); !right.isSignedIn() {
		t.Fatal("nobody signs in")
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, value any) func() {
		return func() { o.claims = func(c map[string]any) { c[name] = value } }
	}
	for name, c := range map[string]struct {
		change func()
		path   func(string) string
		bound  string // another binding
		reason string
	}{
		"another audience": {change: set("aud", "another"), reason: signin.ReasonProvider},
		"another issuer":   {change: set("iss", "https://evil.example"), reason: signin.ReasonProvider},
		"another nonce":    {change: set("nonce", "another"), reason: signin.ReasonNotBegun},
		"expired":          {change: set("exp", time.Now().Add(-time.Hour).Unix()), reason: signin.ReasonProvider},
		"another key":      {change: func() { o.signer = other }, reason: signin.ReasonProvider},
		"an address that is not verified": {change: func() {
			o.claims = func(c map[string]any) { c["email_verified"], c["groups"] = false, "none" }
		}, reason: signin.ReasonNotAllowed},
		"an address that is said to be verified": {change: func() {
			o.claims = func(c map[string]any) { c["email_verified"], c["groups"] = "true", []string{} }
		}, reason: signin.ReasonNotAllowed},
		"another state":   {path: func(p string) string { return p + "x" }, reason: signin.ReasonNotBegun},
		"another browser": {bound: "none", reason: signin.ReasonNotBegun},
		"an invented one": {bound: "AAAA", reason: signin.ReasonNotBegun},
		"another's answer": {path: func(p string) string { return p + "&iss=https%3A%2F%2Fevil.example" },
			reason: signin.ReasonProvider},
		"declined": {path: func(p string) string { return p + "&error=access_denied" },
			reason: signin.ReasonDeclined},
		"an unknown code": {path: func(p string) string { return strings.Replace(p, "code=code", "code=x", 1) },
			reason: signin.ReasonNotBegun},
		"begun an hour ago": {change: func() { w.advance(time.Hour) }, reason: signin.ReasonNotBegun},
	} {
		w.advance(time.Minute) // for the throttle
		o.claims, o.signer = func(map[string]any) {}, o.key
		v := &visitor{browser: w.browser()}
		path := v.begin(o)
		if c.change != nil {
			c.change()
		}
		if c.path != nil {
			path = c.path(path)
		}
		if c.bound != "" {
			v.binding = strings.TrimPrefix(c.bound, "none")
		}
		if p := v.come(path); p.status < 400 || v.cookie != "" || !strings.Contains(p.body, c.reason) {
			t.Errorf("%s: %d to %q: %s", name, p.status, p.to, p.body)
		}
		if name == "begun an hour ago" {
			w.advance(-time.Hour)
		}
	}
}

// People behind one address do not lock each other out of the OpenID provider: what does not ask it does not count.
func TestBeginningToSignInIsNotThrottled(t *testing.T) {
	t.Parallel()
	o := startOpenID(t)
	w := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin"))
	for range 30 {
		(&visitor{browser: w.browser()}).begin(o)
		(&visitor{browser: w.browser()}).come("/settings/oidc/callback?code=x&state=y")
	}
	v := &visitor{browser: w.browser()}
	if p := v.come(v.begin(o)); p.status != http.StatusSeeOther || v.cookie == "" {
		t.Errorf("%d to %q: %s", p.status, p.to, p.body)
	}
	asked := map[int]int{}
	for range 30 {
		v := &visitor{browser: w.browser()}
		asked[v.come(strings.Replace(v.begin(o), "code=code", "code=x", 1)).status]++
	}
	if asked[http.StatusTooManyRequests] < 15 {
		t.Errorf("with codes that are none, the answers are %v", asked)
	}
}

// Wrong settings of an OpenID provider are named, with what was received, and links go on working.
func TestWrongOpenIDSettingsAreNamed(t *testing.T) {
	t.Parallel()
	o := startOpenID(t)
	o.issuer = "https://login.example.com"
	w := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin"))
	if p := w.browser().post("/settings/oidc", nil); p.status != http.StatusServiceUnavailable ||
		!strings.Contains(p.body, "settings_page.oidc.issuer") || !strings.Contains(p.body,
		"https://login.example.com") {
		t.Errorf("%d %s", p.status, p.body)
	}
	w.signedIn(signin.NewLink{})
	o.issuer = ""
	wrong := start(t, sqlite(t), withOpenID(o, "pat@example.com=admin"),
		func(c *config.Config) { c.SettingsPage.OIDC.ClientSecret = "another" })
	v := &visitor{browser: wrong.browser()}
	if p := v.come(v.begin(o)); !strings.Contains(p.body, "settings_page.oidc.client_secret") ||
		!strings.Contains(p.body, "invalid_client") {
		t.Errorf("%d %s", p.status, p.body)
	}
	none := start(t, sqlite(t))
	if p := none.browser().post("/settings/oidc", nil); p.status != http.StatusNotFound {
		t.Errorf("%d", p.status)
	}
}
