// Package oauthtest provides an authorization server for tests: stateful, strict, and able to fail on demand.
// It implements RFC 6749 (OAuth 2.0), RFC 7636 (PKCE, S256 only), RFC 7523 (JWT bearer), RFC 9207 (iss) and
// RFC 9700 (security). The fakes of providers mount it at their provider's paths:
//
//	server := oauthtest.New(oauthtest.Options{
//		AuthorizePath: "/auth", TokenPath: "/token", Clients: map[string]string{"id": "secret"},
//	})
//	mux.Handle("/auth", server)
//	mux.Handle("/token", server)
//	...
//	who, ok := server.Bearer(r)
//
// Its consent page resembles a provider's: the title is "Sign in", each scope has a checkbox, and the buttons
// are named approve and deny.
package oauthtest

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rotation is what happens to a refresh token when it is redeemed.
type Rotation int

// The rotations.
const (
	Keep  Rotation = iota // it stays valid, and no new one is issued (Google)
	Renew                 // a new one is issued, the old one stays valid (Microsoft)
	// A new one is issued; using the old one again revokes the whole family (RFC 9700 section 4.14.2).
	SingleUse
)

// Options configure a [Server].
type Options struct {
	Issuer        string            // iss of redirects (RFC 9207); "" sends none
	AuthorizePath string            // e.g. "/o/oauth2/v2/auth"
	TokenPath     string            // e.g. "/token"
	Clients       map[string]string // client id -> secret
	Redirects     []string          // registered redirect URIs, matched exactly; nil allows any
	// Accounts that can sign in. The first one does, unless login_hint or SignIn names another.
	Accounts []string
	// Of access tokens; 0 is an hour; if negative, tokens never expire and expires_in is left out.
	Lifetime time.Duration
	// The server returns expires_in, and a refresh token for a code, only to who asks for expires_in (Zendesk).
	Asked      bool
	Rotation   Rotation                        // of refresh tokens
	Offline    func(authorize url.Values) bool // whether that request gets a refresh token; nil: always
	Assertions map[string]*rsa.PublicKey       // by issuer, for the JWT bearer grant
	Granted    func(scopes []string) string    // returns "scope" of token responses; nil: joined by spaces
	Now        func() time.Time
}

// Token describes an access token.
type Token struct {
	Account  string // "" with the client credentials grant
	ClientID string // with the JWT bearer grant, the assertion's issuer
	Scopes   []string
}

// Server is an http.Handler for the authorization and token endpoints. It is safe for concurrent use.
type Server struct {
	options Options

	mu        sync.Mutex
	codes     map[string]*code
	access    map[string]accessToken
	refreshes map[string]*refreshToken
	grants    []*grant
	signIn    string
	unticked  []string
	answer    http.Handler // replaces the token endpoint; may be nil
	delay     time.Duration
	drop      bool
	swallow   int  // how many of the next requests to swallow
	acting    bool // whether to act on swallowed requests
	redeems   int
	reuses    int
	calls     int
}

// grant is the result of one consent or assertion. All tokens issued for it are its family.
type grant struct {
	Token
	revoked bool
}

type code struct {
	grant     *grant
	redirect  string
	challenge string
	offline   bool
	expires   time.Time
	used      bool
}

type accessToken struct {
	grant   *grant
	scopes  []string
	expires time.Time // zero: never
}

type refreshToken struct {
	grant *grant
	used  bool
}

// codeLife is the longest that RFC 6749 section 4.1.2 recommends.
const codeLife = 10 * time.Minute

// New returns a new Server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Granted == nil {
		o.Granted = func(scopes []string) string { return strings.Join(scopes, " ") }
	}
	o.Lifetime = cmp.Or(o.Lifetime, time.Hour)
	return &Server{
		options: o, codes: map[string]*code{}, access: map[string]accessToken{},
		refreshes: map[string]*refreshToken{},
	}
}

// ServeHTTP serves the authorization and token endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case s.options.AuthorizePath:
		s.authorize(w, r)
	case s.options.TokenPath:
		s.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Bearer returns the access token of a request (RFC 6750 section 2.1). It returns false if the token is
// missing or invalid.
func (s *Server) Bearer(r *http.Request) (Token, bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Token{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.access[secret]
	if !known || t.grant.revoked || (!t.expires.IsZero() && !s.options.Now().Before(t.expires)) {
		return Token{}, false
	}
	return Token{Account: t.grant.Account, ClientID: t.grant.ClientID, Scopes: slices.Clone(t.scopes)}, true
}

// Grant returns a refresh token as if the account had consented.
func (s *Server) Grant(clientID, account string, scopes ...string) (refresh string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newRefresh(s.newGrant(Token{Account: account, ClientID: clientID, Scopes: scopes}))
}

// Register adds a redirect URI to the registered ones.
func (s *Server) Register(redirect string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Redirects = append(s.options.Redirects, redirect)
}

// SignIn sets the account that signs in at the next consent.
func (s *Server) SignIn(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signIn = account
}

// Untick sets the scopes that the customer does not grant at the next consent.
func (s *Server) Untick(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unticked = scopes
}

// ExpireAccess invalidates all access tokens issued so far.
func (s *Server) ExpireAccess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke invalidates all access and refresh tokens issued so far, as if the customers withdrew their consent.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		g.revoked = true
	}
}

// Fail makes the token endpoint respond with status and body, without acting, until restore is called.
func (s *Server) Fail(status int, body string) (restore func()) {
	return s.Answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasPrefix(body, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
}

// Answer replaces the token endpoint with another handler until restore is called.
func (s *Server) Answer(h http.Handler) (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.answer
	s.answer = h
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answer = before
	}
}

// Delay delays the responses of the token endpoint by d, after it has acted on the requests.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// DropNextReply makes the server act on the next token request and close the connection without a response.
func (s *Server) DropNextReply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = true
}

// Swallow leaves the next n token requests without a response until the client gives up. If acting is true,
// the server acts on them nevertheless.
func (s *Server) Swallow(n int, acting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swallow, s.acting = n, acting
}

// Redeems returns how many refresh tokens were redeemed successfully.
func (s *Server) Redeems() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redeems
}

// Reuses returns how often a used-up refresh token was presented again.
func (s *Server) Reuses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reuses
}

// TokenCalls returns the number of requests to the token endpoint, successful or not.
func (s *Server) TokenCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *Server) newGrant(t Token) *grant {
	g := &grant{Token: t}
	s.grants = append(s.grants, g)
	return g
}

func (s *Server) newRefresh(g *grant) string {
	secret := "refresh-" + rand.Text()
	s.refreshes[secret] = &refreshToken{grant: g}
	return secret
}

func (s *Server) newAccess(g *grant, scopes []string) string {
	secret := "access-" + rand.Text()
	t := accessToken{grant: g, scopes: scopes}
	if s.options.Lifetime > 0 {
		t.expires = s.options.Now().Add(s.options.Lifetime)
	}
	s.access[secret] = t
	return secret
}
