// Package oauthtest is an authorization server for tests: stateful, strict, and able to fail on demand. It is
// written from RFC 6749 (OAuth 2.0), RFC 7636 (PKCE, S256 only), RFC 7523 (JWT bearer), RFC 9207 (iss) and
// RFC 9700 (security). The fakes of providers mount it for the paths that their provider has:
//
//	server := oauthtest.New(oauthtest.Options{
//		AuthorizePath: "/auth", TokenPath: "/token", Clients: map[string]string{"id": "secret"},
//	})
//	mux.Handle("/auth", server)
//	mux.Handle("/token", server)
//	...
//	who, ok := server.Bearer(r)
//
// Its page asks as a provider's does: title "Sign in", a checkbox for each scope, buttons named approve and
// deny.
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

// Rotation is what becomes of a refresh token when it is redeemed.
type Rotation int

// The rotations.
const (
	Keep  Rotation = iota // it stays, and no new one is given (Google)
	Renew                 // a new one is given, the old one stays good (Microsoft)
	// A new one is given; using the old one again revokes the whole family (RFC 9700 section 4.14.2).
	SingleUse
)

// Options say how the server is.
type Options struct {
	Issuer        string            // iss of redirects (RFC 9207); "" sends none
	AuthorizePath string            // e.g. "/o/oauth2/v2/auth"
	TokenPath     string            // e.g. "/token"
	Clients       map[string]string // client id -> secret
	Redirects     []string          // registered redirect URIs, matched exactly; nil takes any
	// Who can sign in; the first one does unless login_hint or SignIn says otherwise.
	Accounts []string
	// Of access tokens; 0 is an hour, less than 0 is not told and without end.
	Lifetime   time.Duration
	Rotation   Rotation                        // of refresh tokens
	Offline    func(authorize url.Values) bool // whether that request gets a refresh token; nil: always
	Assertions map[string]*rsa.PublicKey       // by issuer, for the JWT bearer grant
	Granted    func(scopes []string) string    // how the token answer writes "scope"; nil: joined by a space
	Now        func() time.Time
}

// Token is what an access token stands for.
type Token struct {
	Account  string // "" where an application asked for itself
	ClientID string // with the JWT bearer grant the assertion's issuer
	Scopes   []string
}

// Server is an http.Handler for its two paths; safe for concurrent use.
type Server struct {
	options Options

	mu        sync.Mutex
	codes     map[string]*code
	access    map[string]accessToken
	refreshes map[string]*refreshToken
	grants    []*grant
	signIn    string
	unticked  []string
	answer    http.Handler // in place of the token endpoint
	delay     time.Duration
	drop      bool
	swallow   int  // of the next requests
	acting    bool // on those that are swallowed
	redeems   int
	reuses    int
	calls     int
}

// grant is what one consent or assertion gave; all tokens that came of it are its family.
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

// New makes a server.
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

// ServeHTTP serves the two paths.
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

// Bearer returns who asks with an access token (RFC 6750 section 2.1); false where there is none, or none
// that is good.
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

// SignIn says who signs in at the next consent.
func (s *Server) SignIn(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signIn = account
}

// Untick says which scopes the customer does not grant at the next consent.
func (s *Server) Untick(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unticked = scopes
}

// ExpireAccess makes every access token given so far one that is refused.
func (s *Server) ExpireAccess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke makes every token and refresh token given so far one that is refused, as when the customers take
// their consent back.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		g.revoked = true
	}
}

// Fail makes the token endpoint answer that, without acting, until restore is called.
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

// Answer puts another handler in the place of the token endpoint until restore is called.
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

// Delay makes token replies come that late, after acting.
func (s *Server) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// DropNextReply makes the next token request be acted on and its connection closed without an answer.
func (s *Server) DropNextReply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop = true
}

// Swallow makes the next n token requests get no answer at all, until who made them gives up. Acting, the
// server acts on them nevertheless.
func (s *Server) Swallow(n int, acting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swallow, s.acting = n, acting
}

// Redeems counts refresh tokens redeemed with success.
func (s *Server) Redeems() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redeems
}

// Reuses counts how often a refresh token that was used up was presented again.
func (s *Server) Reuses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reuses
}

// TokenCalls counts requests to the token endpoint, whatever became of them.
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
