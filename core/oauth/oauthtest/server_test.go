package oauthtest_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/oauth/oauthtest"
)

const (
	back     = "https://frontdesk.example.com/callback"
	verifier = "a-verifier-of-more-than-forty-three-characters-it-is"
)

func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func server(change ...func(*oauthtest.Options)) *oauthtest.Server {
	o := oauthtest.Options{
		Issuer: "https://provider.example", AuthorizePath: "/auth", TokenPath: "/token",
		Clients: map[string]string{"desk & co": "secret"}, Redirects: []string{back},
		Accounts: []string{"ada@example.com", "bob@example.com"},
	}
	for _, c := range change {
		c(&o)
	}
	return oauthtest.New(o)
}

// asking returns a valid authorization request with changes: "" removes a parameter.
func asking(changes ...string) string {
	query := url.Values{
		"client_id": {"desk & co"}, "redirect_uri": {back}, "response_type": {"code"}, "scope": {"events list"},
		"state": {"s&t"}, "code_challenge": {challenge()}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(changes); i += 2 {
		if query.Del(changes[i]); changes[i+1] != "" {
			query.Set(changes[i], changes[i+1])
		}
	}
	return "/auth?" + query.Encode()
}

func do(
	s *oauthtest.Server, method, target string, form url.Values, change ...func(*http.Request),
) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

// redirected returns the query of a redirect, or nil if there is none.
func redirected(r *http.Response) url.Values {
	at, err := r.Location()
	if err != nil {
		return nil
	}
	return at.Query()
}

func code(t *testing.T, s *oauthtest.Server, changes ...string) string {
	t.Helper()
	got := redirected(do(s, http.MethodPost, asking(changes...), url.Values{"approve": {"yes"}}))
	if got.Get("code") == "" || got.Get("state") != "s&t" || got.Get("iss") != "https://provider.example" {
		t.Fatalf("came back with %v", got)
	}
	return got.Get("code")
}

// redeem calls the token endpoint, and returns the status and body of its response.
func redeem(s *oauthtest.Server, pairs ...string) (int, map[string]any) {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	answer := do(s, http.MethodPost, "/token", form)
	var body map[string]any
	_ = json.NewDecoder(answer.Body).Decode(&body)
	return answer.StatusCode, body
}

func TestAuthorizationRequestsAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		status  int
		err     string // in the redirect; "": only the person sees the error
	}{
		"a good one":              {nil, http.StatusOK, ""},
		"no client":               {[]string{"client_id", ""}, http.StatusUnauthorized, ""},
		"another client":          {[]string{"client_id", "eve"}, http.StatusUnauthorized, ""},
		"another redirect":        {[]string{"redirect_uri", back + "/../eve"}, http.StatusBadRequest, ""},
		"a redirect with a slash": {[]string{"redirect_uri", back + "/"}, http.StatusBadRequest, ""},
		"a redirect with a query": {[]string{"redirect_uri", back + "?x=y"}, http.StatusBadRequest, ""},
		"no redirect":             {[]string{"redirect_uri", ""}, http.StatusBadRequest, ""},
		"the implicit flow": {[]string{"response_type", "token"}, http.StatusSeeOther,
			"unsupported_response_type"},
		"no response type": {[]string{"response_type", ""}, http.StatusSeeOther, "invalid_request"},
		"no scope":         {[]string{"scope", ""}, http.StatusSeeOther, "invalid_scope"},
		"a plain challenge": {[]string{"code_challenge_method", "plain"}, http.StatusSeeOther,
			"invalid_request"},
		"a challenge without method": {[]string{"code_challenge_method", ""}, http.StatusSeeOther,
			"invalid_request"},
		"a method without challenge": {[]string{"code_challenge", ""}, http.StatusSeeOther, "invalid_request"},
		"no page wanted":             {[]string{"prompt", "none"}, http.StatusSeeOther, "interaction_required"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := do(server(), http.MethodGet, asking(c.changes...), nil)
			if got := redirected(answer); answer.StatusCode != c.status || got.Get("error") != c.err ||
				got.Has("code") || (got != nil && got.Get("state") != "s&t") {
				t.Errorf("%d %v", answer.StatusCode, got)
			}
		})
	}
	t.Run("a parameter that is there twice", func(t *testing.T) {
		if answer := do(server(), http.MethodGet, asking()+"&state=other",
			nil); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%d", answer.StatusCode)
		}
	})
}

func TestThePageOfAConsent(t *testing.T) {
	s := server()
	s.Untick("list")
	page := func(changes ...string) string {
		body, _ := io.ReadAll(do(s, http.MethodGet, asking(changes...), nil).Body)
		return string(body)
	}
	text := page("login_hint", "bob@example.com")
	for _, part := range []string{
		"<title>Sign in</title>", "bob@example.com", `value="events" checked`, `value="list">`, `name="approve"`,
		`name="deny"`, "desk &amp; co",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not on the page: %s", part, text)
		}
	}
	if !strings.Contains(page(), "ada@example.com") {
		t.Error("without a hint it is not the first account")
	}
	approved := redirected(do(s, http.MethodPost, asking(), url.Values{
		"account": {"bob@example.com"}, "scope": {"events"}, "approve": {"yes"},
	}))
	_, granted := redeem(s, "grant_type", "authorization_code", "client_id", "desk & co", "client_secret",
		"secret", "code", approved.Get("code"), "redirect_uri", back, "code_verifier", verifier)
	if granted["scope"] != "events" {
		t.Errorf("granted %v", granted["scope"])
	}
	for name, form := range map[string]url.Values{
		"denied":            {"deny": {"yes"}},
		"without any scope": {"account": {"ada@example.com"}, "approve": {"yes"}},
	} {
		if got := redirected(do(s, http.MethodPost, asking(), form)); got.Get("error") != "access_denied" ||
			got.Has("code") {
			t.Errorf("%s: %v", name, got)
		}
	}
	if answer := do(s, http.MethodPost, asking(), url.Values{}); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("neither button: %d", answer.StatusCode)
	}
}

func TestTokenRequestsAreChecked(t *testing.T) {
	good := func(code string) []string {
		return []string{
			"grant_type", "authorization_code", "client_id", "desk & co", "client_secret", "secret", "code", code,
			"redirect_uri", back, "code_verifier", verifier,
		}
	}
	with := func(pairs []string, name, value string) []string {
		pairs = append([]string(nil), pairs...)
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				pairs[i+1] = value
				return pairs
			}
		}
		return append(pairs, name, value)
	}
	for name, c := range map[string]struct {
		change [2]string
		status int
		err    string
	}{
		"a wrong secret": {[2]string{"client_secret", "guess"}, http.StatusUnauthorized, "invalid_client"},
		"no client":      {[2]string{"client_id", ""}, http.StatusUnauthorized, "invalid_client"},
		"another grant type": {[2]string{"grant_type", "password"}, http.StatusBadRequest,
			"unsupported_grant_type"},
		"a code that is none": {[2]string{"code", "guess"}, http.StatusBadRequest, "invalid_grant"},
		"another redirect":    {[2]string{"redirect_uri", back + "/"}, http.StatusBadRequest, "invalid_grant"},
		"another verifier":    {[2]string{"code_verifier", verifier + "x"}, http.StatusBadRequest, "invalid_grant"},
		"the plain challenge": {[2]string{"code_verifier", challenge()}, http.StatusBadRequest, "invalid_grant"},
		"no verifier":         {[2]string{"code_verifier", ""}, http.StatusBadRequest, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server()
			status, body := redeem(s, with(good(code(t, s)), c.change[0], c.change[1])...)
			if status != c.status || body["error"] != c.err || body["access_token"] != nil {
				t.Errorf("%d %v", status, body)
			}
		})
	}
	t.Run("a verifier where no challenge was", func(t *testing.T) {
		s := server()
		if _, body := redeem(s, good(code(t, s, "code_challenge", "", "code_challenge_method",
			""))...); body["error"] != "invalid_grant" {
			t.Error(body)
		}
	})
	t.Run("a code that expired", func(t *testing.T) {
		now := time.Now()
		s := server(func(o *oauthtest.Options) { o.Now = func() time.Time { return now } })
		secret := code(t, s)
		now = now.Add(10 * time.Minute)
		if _, body := redeem(s, good(secret)...); body["error"] != "invalid_grant" {
			t.Error(body)
		}
	})
	t.Run("another's code", func(t *testing.T) {
		s := server(func(o *oauthtest.Options) { o.Clients["eve"] = "secret" })
		if _, body := redeem(s, with(good(code(t, s)), "client_id", "eve")...); body["error"] != "invalid_grant" {
			t.Error(body)
		}
	})
	t.Run("a parameter that is there twice", func(t *testing.T) {
		s := server()
		if _, body := redeem(s, append(good(code(t, s)), "scope", "a", "scope",
			"b")...); body["error"] != "invalid_request" {
			t.Error(body)
		}
	})
	t.Run("by Basic, as RFC 6749 encodes it", func(t *testing.T) {
		s := server()
		form := url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {s.Grant("desk & co", "ada@example.com", "events")},
		}
		basic := func(r *http.Request) { r.SetBasicAuth(url.QueryEscape("desk & co"), "secret") }
		if answer := do(s, http.MethodPost, "/token", form, basic); answer.StatusCode != http.StatusOK {
			t.Errorf("%d", answer.StatusCode)
		}
		form.Set("client_secret", "secret")
		if answer := do(s, http.MethodPost, "/token", form, basic); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("in two ways: %d", answer.StatusCode)
		}
	})
	t.Run("not by GET", func(t *testing.T) {
		if answer := do(server(), http.MethodGet, "/token?grant_type=refresh_token",
			nil); answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%d", answer.StatusCode)
		}
	})
}

func TestRotations(t *testing.T) {
	for name, c := range map[string]struct {
		rotation           oauthtest.Rotation
		another, stillGood bool
		reuses             int
	}{
		"keep":       {oauthtest.Keep, false, true, 0},
		"renew":      {oauthtest.Renew, true, true, 0},
		"single use": {oauthtest.SingleUse, true, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(func(o *oauthtest.Options) { o.Rotation = c.rotation })
			refresh := func(token string) map[string]any {
				_, body := redeem(s, "grant_type", "refresh_token", "client_id", "desk & co", "client_secret", "secret",
					"refresh_token", token)
				return body
			}
			first := s.Grant("desk & co", "ada@example.com", "events")
			body := refresh(first)
			next, another := body["refresh_token"].(string)
			if another != c.another {
				t.Errorf("another one is given: %t", another)
			}
			if again := refresh(first)["access_token"] != nil; again != c.stillGood {
				t.Errorf("the old one is good: %t", again)
			}
			if s.Reuses() != c.reuses {
				t.Errorf("%d reuses", s.Reuses())
			}
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+body["access_token"].(string))
			if _, good := s.Bearer(r); good != c.stillGood {
				t.Errorf("after it, the family lives: %t", good)
			}
			if another && (refresh(next)["access_token"] != nil) != c.stillGood {
				t.Error("the new one shares its fate")
			}
			s.Revoke()
			if refresh(first)["error"] != "invalid_grant" {
				t.Error("a revoked one is good")
			}
		})
	}
}

func TestASwallowedRequest(t *testing.T) {
	for name, acting := range map[string]bool{"is not acted on": false, "is acted on": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := server(func(o *oauthtest.Options) { o.Rotation = oauthtest.SingleUse })
				form := url.Values{
					"grant_type": {"refresh_token"}, "client_id": {"desk & co"}, "client_secret": {"secret"},
					"refresh_token": {s.Grant("desk & co", "ada@example.com", "events")},
				}
				s.Swallow(1, acting)
				ctx, leave := context.WithCancel(t.Context())
				answered := false
				go func() {
					do(s, http.MethodPost, "/token", form, func(r *http.Request) { *r = *r.WithContext(ctx) })
					answered = true
				}()
				synctest.Wait()
				if answered || s.TokenCalls() != 1 || (s.Redeems() == 1) != acting {
					t.Errorf("answered: %t, %d calls, %d redeems", answered, s.TokenCalls(), s.Redeems())
				}
				leave()
				if answer := do(s, http.MethodPost, "/token", form); (answer.StatusCode == http.StatusOK) == acting {
					t.Errorf("the next one is answered %d", answer.StatusCode)
				}
			})
		})
	}
}
