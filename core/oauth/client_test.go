package oauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/upstream"
)

const (
	redirect     = "https://frontdesk.example.com/callback"
	clientSecret = "canary-client-secret"
	events       = "https://provider.example/auth/events"
	list         = "https://provider.example/auth/list"
)

// authority starts an authorization server, and returns it with one of its clients.
func authority(t *testing.T, change ...func(*oauthtest.Options)) (*oauthtest.Server, Client) {
	t.Helper()
	o := oauthtest.Options{
		Issuer: "https://provider.example", AuthorizePath: "/auth", TokenPath: "/token",
		Clients: map[string]string{"front desk": clientSecret}, Redirects: []string{redirect},
		Accounts: []string{"ada@example.com", "bob@example.com"},
	}
	for _, c := range change {
		c(&o)
	}
	fake := oauthtest.New(o)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	pool := upstream.NewPool(upstream.PoolOptions{})
	t.Cleanup(pool.Close)
	return fake, Client{
		Provider: "provider", ID: "front desk", Secret: clientSecret,
		HTTP: pool.Client(upstream.ClientOptions{Provider: "provider"}),
		Grant: adapter.Grant{
			Flow: adapter.Consent, AuthURL: server.URL + "/auth", TokenURL: server.URL + "/token",
			Scopes: []adapter.Scope{{Name: events}, {Name: list, Optional: true}},
			Ask:    map[string]string{"access_type": "offline"},
		},
	}
}

// consent submits the consent page as a customer, and returns the query of the redirect.
func consent(t *testing.T, address string, form url.Values) url.Values {
	t.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer browser.CloseIdleConnections()
	page, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(page.Body)
	page.Body.Close()
	if page.StatusCode != http.StatusOK || !strings.Contains(string(text), "<title>Sign in</title>") {
		t.Fatalf("the page is %d %s", page.StatusCode, text)
	}
	back, err := browser.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	back.Body.Close()
	at, err := back.Location()
	if err != nil {
		t.Fatalf("%d, %v", back.StatusCode, err)
	}
	if !strings.HasPrefix(at.String(), redirect+"?") {
		t.Fatalf("sent to %s", at)
	}
	return at.Query()
}

var approve = url.Values{"approve": {"yes"}}

func bearer(access string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": {"Bearer " + access}}}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	fake, c := authority(t, func(o *oauthtest.Options) { o.Rotation = oauthtest.Renew })
	verifier := NewVerifier()
	address := c.AuthCodeURL(redirect, "state & co", verifier)
	if asked, _ := url.Parse(address); asked.Query().Get("access_type") != "offline" ||
		strings.Contains(address, verifier) {
		t.Errorf("the address is %s", address)
	}
	fake.SignIn("bob@example.com")
	fake.Untick(list)
	back := consent(t, address, approve)
	if back.Get("state") != "state & co" || back.Get("iss") != "https://provider.example" {
		t.Errorf("came back with %v", back)
	}
	before := time.Now()
	given, err := c.Exchange(t.Context(), back.Get("code"), redirect, verifier)
	if err != nil {
		t.Fatal(err)
	}
	if given.Access == "" || given.Refresh == "" || !slices.Equal(given.Scopes, []string{events}) {
		t.Error("an access token, a refresh token and the scopes that were ticked are expected")
	}
	if life := given.Expires.Sub(before); life < time.Hour || life > time.Hour+time.Minute {
		t.Errorf("it lives %s", life)
	}
	if who, ok := fake.Bearer(bearer(given.Access)); !ok || who.Account != "bob@example.com" ||
		who.ClientID != "front desk" {
		t.Errorf("the access token is of %v, %t", who, ok)
	}
	renewed, err := c.Token(t.Context(), given.Refresh)
	if err != nil || renewed.Access == given.Access || renewed.Refresh == "" ||
		renewed.Refresh == given.Refresh || fake.Redeems() != 1 {
		t.Errorf("redeemed %d times, %v", fake.Redeems(), err)
	}

	t.Run("a code is good once, and its replay ends what it gave", func(t *testing.T) {
		_, err := c.Exchange(t.Context(), back.Get("code"), redirect, verifier)
		if !IsRefused(err) {
			t.Errorf("a replay: %v", err)
		}
		if _, ok := fake.Bearer(bearer(renewed.Access)); ok {
			t.Error("the tokens still work")
		}
		if _, err := c.Token(t.Context(), renewed.Refresh); !IsRefused(err) {
			t.Errorf("the refresh token: %v", err)
		}
	})
	for name, bad := range map[string]func(code string) error{
		"another verifier": func(code string) error {
			_, err := c.Exchange(t.Context(), code, redirect, NewVerifier())
			return err
		},
		"another redirect": func(code string) error {
			_, err := c.Exchange(t.Context(), code, redirect+"/", verifier)
			return err
		},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			back := consent(t, c.AuthCodeURL(redirect, "s", verifier), approve)
			if err := bad(back.Get("code")); !IsRefused(err) {
				t.Error(err)
			}
			if _, err := c.Exchange(t.Context(), back.Get("code"), redirect, verifier); !IsRefused(err) {
				t.Errorf("and then it was good: %v", err)
			}
		})
	}
	t.Run("who denies gives nothing", func(t *testing.T) {
		back := consent(t, c.AuthCodeURL(redirect, "s", verifier), url.Values{"deny": {"yes"}})
		if back.Get("error") != "access_denied" || back.Has("code") || back.Get("state") != "s" {
			t.Errorf("came back with %v", back)
		}
	})
}

func TestGrantsWithoutAPerson(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	fake, c := authority(t, func(o *oauthtest.Options) {
		o.Assertions = map[string]*rsa.PublicKey{"robot@example.com": &key.PublicKey}
	})
	t.Run("client credentials", func(t *testing.T) {
		c := c
		c.Grant.Flow, c.Grant.Scopes = adapter.ClientCredentials,
			[]adapter.Scope{{Name: "https://provider.example/.default"}}
		given, err := c.Token(t.Context(), "")
		if err != nil || given.Refresh != "" {
			t.Fatal(err)
		}
		if who, ok := fake.Bearer(bearer(given.Access)); !ok || who.Account != "" ||
			!slices.Equal(who.Scopes, []string{"https://provider.example/.default"}) {
			t.Errorf("the token is of %v, %t", who, ok)
		}
	})
	signing := func(subject string, with *rsa.PrivateKey) Client {
		c := c
		c.Key = "canary-key"
		c.Grant.Flow = adapter.JWTBearer
		c.Grant.Assertion = &adapter.Assertion{
			Subject: subject, Key: func(secret string) (adapter.SigningKey, error) {
				if with == nil {
					return adapter.SigningKey{}, fault.InvalidField("credentials.key", "is none")
				}
				block := pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(with)}
				return adapter.SigningKey{
					Issuer: "robot@example.com", ID: "k1", PEM: pem.EncodeToMemory(&block),
				}, nil
			},
		}
		return c
	}
	t.Run("a signed assertion", func(t *testing.T) {
		given, err := signing("ada@example.com", key).Token(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if who, ok := fake.Bearer(bearer(given.Access)); !ok || who.Account != "ada@example.com" ||
			who.ClientID != "robot@example.com" || !slices.Contains(who.Scopes, events) {
			t.Errorf("the token is of %v, %t", who, ok)
		}
		if life := time.Until(given.Expires); life < 59*time.Minute || life > time.Hour {
			t.Errorf("it lives %s", life)
		}
	})
	t.Run("on behalf of somebody unknown it is refused", func(t *testing.T) {
		if _, err := signing("eve@example.com", key).Token(t.Context(), ""); !IsRefused(err) {
			t.Error(err)
		}
	})
	t.Run("signed by another key it is refused", func(t *testing.T) {
		other, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := signing("ada@example.com", other).Token(t.Context(), ""); !IsRefused(err) {
			t.Error(err)
		}
	})
	for _, body := range []string{`{}`, `{"access_token":null}`, `{"token_type":"Bearer","expires_in":3600}`} {
		t.Run("an answer without a token is none: "+body, func(t *testing.T) {
			c := signing("ada@example.com", key)
			c.HTTP = &http.Client{Transport: tokenReply{http.StatusOK, "application/json", body}}
			given, err := c.Token(t.Context(), "")
			if f := fault.From(err); err == nil || f.Reason != fault.ReasonProviderMisconfigured {
				t.Errorf("the token is %q, %v", given.Access, err)
			}
		})
	}
	t.Run("a key that cannot be read is no fault of the call", func(t *testing.T) {
		if _, err := signing("ada@example.com", nil).Token(t.Context(),
			""); fault.From(err).Reason != fault.ReasonProviderMisconfigured {
			t.Error(err)
		}
	})
	t.Run("an assertion ends with its caller's context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer fake.Answer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // net/http detects a disconnect only after the body is read
			cancel()
			<-r.Context().Done()
		}))()
		if _, err := signing("ada@example.com", key).Token(ctx, ""); !errors.Is(err, fault.Canceled) {
			t.Error(err)
		}
	})
}

func TestEachAnswerOfATokenEndpointIsItsFault(t *testing.T) {
	t.Parallel()
	const refresh = "canary-refresh-token"
	answer := func(status int, header, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	for _, c := range []struct {
		name   string
		with   http.Handler
		code   fault.Code
		reason string
		after  time.Duration
	}{
		{"invalid_grant", answer(400, "",
			`{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"interaction_required", answer(400, "", `{"error":"interaction_required","suberror":"consent_required"}`),
			fault.Disconnected, fault.ReasonReconnectRequired, 0},
		{"invalid_client", answer(401, "", `{"error":"invalid_client"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"unauthorized_client", answer(400, "", `{"error":"unauthorized_client"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"invalid_scope", answer(400, "", `{"error":"invalid_scope"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"a code of its own", answer(400, "", `{"error":"because"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"an error with status 200", answer(200, "", `{"error":"invalid_grant"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"HubSpot's own status", answer(400, "",
			`{"status":"BAD_REFRESH_TOKEN","message":"missing or invalid refresh token"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"a status that is a number", answer(400, "", `{"status":400,"error":"invalid_grant"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"Zoho's invalid_code", answer(200, "", `{"error":"invalid_code"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"Zoho's limit of tokens", answer(400, "", `{"error_description":"You have made too many requests `+
			`continuously. Please try again after some time.","error":"Access Denied","status":"failure"}`),
			fault.RateLimited, fault.ReasonProviderRateLimited, time.Minute},
		{"Salesforce's limit of sign-ins", answer(400, "", `{"error":"rate_limit_exceeded"}`), fault.RateLimited,
			fault.ReasonProviderRateLimited, time.Minute},
		{"ServiceNow's access_denied", answer(401, "",
			`{"error_description":"access_denied","error":"server_error"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"a server_error", answer(400, "", `{"error":"server_error","error_description":"oops"}`), fault.Unavailable,
			fault.ReasonProviderUnavailable, 0},
		{"Salesforce's inactive_user", answer(400, "",
			`{"error":"inactive_user","error_description":"user is inactive"}`), fault.Disconnected,
			fault.ReasonReconnectRequired, 0},
		{"Salesforce's inactive_org", answer(400, "", `{"error":"inactive_org"}`), fault.Forbidden,
			fault.ReasonPermissionDenied, 0},
		{"temporarily_unavailable", answer(400, "", `{"error":"temporarily_unavailable"}`), fault.Unavailable,
			fault.ReasonProviderUnavailable, 0},
		// google-auth-library-python, google/oauth2/_client.py, takes it for one that passes.
		{"Google's internal_failure", answer(400, "", `{"error":"internal_failure","error_description":"Backend Error"}`),
			fault.Unavailable, fault.ReasonProviderUnavailable, 0},
		{"429 with invalid_grant", answer(429, "Retry-After: 60", `{"error":"invalid_grant"}`), fault.RateLimited,
			fault.ReasonProviderRateLimited, time.Minute},
		{"Microsoft's limit of requests", answer(400, "Retry-After: 60", `{"error":"invalid_grant",`+
			`"error_description":"AADSTS50196: The server terminated an operation because it encountered a client request `+
			`loop. Please contact your app vendor.","error_codes":[50196]}`), fault.RateLimited,
			fault.ReasonProviderRateLimited, time.Minute},
		{"a grant that Microsoft revoked", answer(400, "", `{"error":"invalid_grant","error_codes":[50173]}`),
			fault.Disconnected, fault.ReasonReconnectRequired, 0},
		{"Salesforce's other request", answer(400, "", `{"error":"invalid_grant",`+
			`"error_description":"token request is already being processed"}`), fault.Unavailable,
			fault.ReasonProviderUnavailable, 0},
		{"429 with Retry-After", answer(429, "Retry-After: 7", `{}`), fault.RateLimited,
			fault.ReasonProviderRateLimited, 7 * time.Second},
		{"503 with Retry-After", answer(503, "Retry-After: 3", `no`), fault.Unavailable,
			fault.ReasonProviderUnavailable, 3 * time.Second},
		{"502 in HTML", answer(502, "Content-Type: text/html", `<h1>Bad Gateway</h1>`), fault.Unavailable,
			fault.ReasonProviderUnavailable, 0},
		{"504", answer(504, "", ``), fault.Unavailable, fault.ReasonProviderUnavailable, 0},
		{"401 without a code", answer(401, "", `{}`), fault.Unsupported, fault.ReasonProviderMisconfigured, 0},
		{"404 in HTML", answer(404, "Content-Type: text/html", `<h1>Not found</h1>`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"HTML with status 200", answer(200, "Content-Type: text/html", `<h1>Sign in</h1>`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"nothing with status 200", answer(200, "", ``), fault.Unsupported, fault.ReasonProviderMisconfigured, 0},
		{"an object without a token", answer(200, "", `{"token_type":"Bearer"}`), fault.Unsupported,
			fault.ReasonProviderMisconfigured, 0},
		{"half an answer", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"access_token":"canary-access`))
		}), fault.Unavailable, fault.ReasonProviderUnavailable, 0},
		{"a connection that is closed",
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			fault.Unavailable, fault.ReasonProviderUnavailable, 0},
		{"one that repeats what was sent", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"what is %s of %s?"}`,
				r.PostForm.Get("refresh_token"), r.PostForm.Get("client_secret"))
		}), fault.Disconnected, fault.ReasonReconnectRequired, 0},
		{"one that repeats it as the code", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":"%s"}`, r.PostForm.Get("refresh_token"))
		}), fault.Unsupported, fault.ReasonProviderMisconfigured, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake, client := authority(t)
			fake.Answer(c.with)
			_, err := client.Token(t.Context(), refresh)
			f := fault.From(err)
			if f == nil || f.Code != c.code || f.Reason != c.reason || f.RetryAfter != c.after {
				t.Errorf("got %v, retry after %s", err, f.RetryAfter)
			}
			if text := fmt.Sprintf("%v %+v %#v", err, *f, *f); strings.Contains(text, "canary") {
				t.Errorf("it tells a secret: %s", text)
			}
			if fake.TokenCalls() != 1 {
				t.Errorf("asked %d times", fake.TokenCalls())
			}
		})
	}
	t.Run("no answer in time", func(t *testing.T) {
		fake, client := authority(t)
		fake.Delay(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := client.Token(ctx, refresh); !errors.Is(err, fault.Timeout) {
			t.Error(err)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		_, client := authority(t)
		client.Grant.TokenURL = "http://127.0.0.1:1/token"
		if _, err := client.Token(t.Context(), refresh); fault.From(err).Reason != fault.ReasonProviderUnavailable {
			t.Error(err)
		}
	})
	t.Run("another secret", func(t *testing.T) {
		fake, client := authority(t)
		client.Secret = "another"
		if _, err := client.Token(t.Context(),
			fake.Grant("front desk", "ada@example.com")); fault.From(err).Reason != fault.ReasonProviderMisconfigured {
			t.Error(err)
		}
	})
}

func TestARefreshTokenThatStaysIsNotToldAsNew(t *testing.T) {
	t.Parallel()
	fake, c := authority(t) // like Google, it issues no refresh token with a refresh
	given, err := c.Token(t.Context(), fake.Grant("front desk", "ada@example.com", events))
	if err != nil || given.Access == "" || given.Refresh != "" {
		t.Errorf("a refresh token is told: %t, %v", given.Refresh != "", err)
	}
}

// Zendesk tells how long an access token lives, and gives a refresh token, to whom asks for it.
func TestWhatAGrantAsksOfTokensIsSent(t *testing.T) {
	t.Parallel()
	_, c := authority(t, func(o *oauthtest.Options) { o.Rotation, o.Asked = oauthtest.SingleUse, true })
	c.Grant.Redeem = map[string]string{"expires_in": "3600"}
	verifier := NewVerifier()
	back := consent(t, c.AuthCodeURL(redirect, "state", verifier), approve)
	given, err := c.Exchange(t.Context(), back.Get("code"), redirect, verifier)
	if err != nil || given.Refresh == "" || given.Expires.IsZero() {
		t.Fatalf("a refresh token came: %t; the access token ends at %s; %v", given.Refresh != "", given.Expires, err)
	}
	renewed, err := c.Token(t.Context(), given.Refresh)
	if err != nil || renewed.Refresh == "" || renewed.Expires.IsZero() {
		t.Errorf("a refresh token came: %t; the access token ends at %s; %v", renewed.Refresh != "", renewed.Expires,
			err)
	}
}

func TestMissingScopes(t *testing.T) {
	t.Parallel()
	c := Client{Grant: adapter.Grant{Scopes: []adapter.Scope{
		{Name: "offline_access", Optional: true}, {Name: "https://graph.microsoft.com/User.Read"},
		{Name: "Calendars.ReadWrite"},
	}}}
	for _, row := range []struct {
		granted []string
		missing []string
	}{
		{nil, nil}, // all requested scopes (RFC 6749 section 5.1)
		{[]string{}, []string{"https://graph.microsoft.com/User.Read", "Calendars.ReadWrite"}},
		{[]string{"user.read", "https://graph.microsoft.com/calendars.readwrite", "openid"}, nil},
		{[]string{"User.Read", "Calendars.Read"}, []string{"Calendars.ReadWrite"}},
	} {
		var missing []string
		for _, s := range c.Missing(row.granted) {
			missing = append(missing, s.Name)
		}
		if !slices.Equal(missing, row.missing) {
			t.Errorf("of %q are missing %q, want %q", row.granted, missing, row.missing)
		}
	}
}

func TestNothingThatHoldsSecretsShowsThem(t *testing.T) {
	t.Parallel()
	tokens := Tokens{Access: "canary", Refresh: "canary"}
	client := Client{Provider: "provider", Secret: "canary", Key: "canary"}
	credentials := Credentials{Client: client, Refresh: "canary"}
	var log strings.Builder
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).Info("all", "tokens", tokens, "client", client, "credentials", credentials)
	}
	for _, value := range []any{
		tokens, &tokens, client, credentials, storedTokens{Access: "canary", Refresh: "canary"}, []any{tokens},
		view{credentials: credentials, stored: storedTokens{Access: "canary"}}.credentials,
	} {
		fmt.Fprintf(&log, "%v %+v %#v %s %q", value, value, value, value, value)
	}
	if strings.Contains(log.String(), "canary") {
		t.Error(log.String())
	}
}
