package oauthtest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// reply is a response of the token endpoint.
type reply struct {
	status int
	body   map[string]any
}

func refusal(status int, name, description string) reply {
	return reply{status, map[string]any{"error": name, "error_description": description}}
}

// token is the token endpoint (RFC 6749 section 3.2).
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls++
	if instead := s.answer; instead != nil {
		s.mu.Unlock()
		instead.ServeHTTP(w, r)
		return
	}
	swallow := s.swallow > 0
	if swallow {
		s.swallow--
	}
	if swallow && !s.acting {
		s.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // net/http detects a disconnect only after the body has been read
		<-r.Context().Done()
		return
	}
	answer, delay, drop := s.answerTo(r), s.delay, s.drop
	s.drop = false
	s.mu.Unlock()

	if swallow {
		<-r.Context().Done()
		return
	}
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
		}
	}
	if drop {
		panic(http.ErrAbortHandler) // the server closes the connection
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.Header().Set("Cache-Control", "no-store")
	if _, _, basic := r.BasicAuth(); basic && answer.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
	}
	w.WriteHeader(answer.status)
	_ = json.NewEncoder(w).Encode(answer.body) // the client may have disconnected
}

func (s *Server) answerTo(r *http.Request) reply {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		return refusal(http.StatusMethodNotAllowed, "invalid_request", "The token endpoint is asked by POST.")
	case kind != "application/x-www-form-urlencoded":
		return refusal(http.StatusBadRequest, "invalid_request", "The body must be a form.")
	case r.ParseForm() != nil:
		return refusal(http.StatusBadRequest, "invalid_request", "The form cannot be read.")
	}
	form := r.PostForm
	if name := repeatedParameter(form); name != "" {
		return refusal(http.StatusBadRequest, "invalid_request", "The parameter "+name+" is there twice.")
	}
	client, wrong := s.client(r)
	if wrong != nil {
		return *wrong
	}
	switch kind := form.Get("grant_type"); {
	case kind == jwtBearer:
		return s.byAssertion(r)
	case client == "":
		return refusal(http.StatusUnauthorized, "invalid_client", "The client is not named.")
	case kind == "authorization_code":
		return s.asAsked(s.byCode(client, form), form)
	case kind == "refresh_token":
		return s.asAsked(s.byRefresh(client, form), form)
	case kind == "client_credentials":
		return s.byClient(client, form)
	case kind == "":
		return refusal(http.StatusBadRequest, "invalid_request", "grant_type is missing.")
	}
	return refusal(http.StatusBadRequest, "unsupported_grant_type", "The grant type is not known.")
}

// client authenticates the client, by HTTP Basic or in the body but not both (RFC 6749 section 2.3.1). It
// returns "" if the request names no client.
func (s *Server) client(r *http.Request) (string, *reply) {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if name, password, basic := r.BasicAuth(); basic {
		if secret != "" {
			no := refusal(http.StatusBadRequest, "invalid_request", "The client authenticates in two ways.")
			return "", &no
		}
		var err1, err2 error
		id, err1 = url.QueryUnescape(name)
		secret, err2 = url.QueryUnescape(password)
		if err1 != nil || err2 != nil {
			id = "?"
		}
	}
	if id == "" {
		return "", nil
	}
	want, known := s.options.Clients[id]
	if !known || subtle.ConstantTimeCompare([]byte(secret), []byte(want)) != 1 {
		no := refusal(http.StatusUnauthorized, "invalid_client",
			"The OAuth client was not found, or its secret is wrong.")
		return "", &no
	}
	return id, nil
}

func (s *Server) byCode(client string, form url.Values) reply {
	c, known := s.codes[form.Get("code")]
	switch {
	case form.Get("code") == "":
		return refusal(http.StatusBadRequest, "invalid_request", "code is missing.")
	case !known:
		return invalidGrant("The code is not known.")
	case c.used: // a thief may hold the tokens that it was redeemed for (RFC 6749 section 4.1.2)
		c.grant.revoked = true
		return invalidGrant("The code was used already.")
	}
	c.used = true // even if this request is invalid: a code allows one try
	switch {
	case c.grant.revoked || !s.options.Now().Before(c.expires):
		return invalidGrant("The code has expired.")
	case c.grant.ClientID != client:
		return invalidGrant("The code was given to another client.")
	case form.Get("redirect_uri") != c.redirect:
		return invalidGrant("redirect_uri is not the one of the authorization request.")
	case !verifyChallenge(c.challenge, form):
		return invalidGrant("The code verifier does not fit.")
	}
	answer := s.give(c.grant, c.grant.Scopes)
	if c.offline {
		answer.body["refresh_token"] = s.newRefresh(c.grant)
	}
	return answer
}

// verifyChallenge compares a PKCE verifier with its challenge (RFC 7636 section 4.6). A verifier without a
// challenge is refused as well (RFC 9700 section 2.1.1, downgrade).
func verifyChallenge(challenge string, form url.Values) bool {
	verifier := form.Get("code_verifier")
	if challenge == "" {
		return verifier == ""
	}
	sum := sha256.Sum256([]byte(verifier))
	return len(verifier) >= 43 && len(verifier) <= 128 &&
		base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}

func (s *Server) byRefresh(client string, form url.Values) reply {
	t, known := s.refreshes[form.Get("refresh_token")]
	switch {
	case form.Get("refresh_token") == "":
		return refusal(http.StatusBadRequest, "invalid_request", "refresh_token is missing.")
	case !known || t.grant.ClientID != client:
		return invalidGrant("The refresh token is not known.")
	case t.used:
		s.reuses++
		t.grant.revoked = true
		return invalidGrant("The refresh token was used already.")
	case t.grant.revoked:
		return invalidGrant("Token has been expired or revoked.")
	}
	scopes := t.grant.Scopes
	if narrower := strings.Fields(form.Get("scope")); len(narrower) > 0 {
		for _, name := range narrower {
			if !slices.Contains(scopes, name) {
				return refusal(http.StatusBadRequest, "invalid_scope", "The scope was not granted.")
			}
		}
		scopes = narrower
	}
	s.redeems++
	answer := s.give(t.grant, scopes)
	if s.options.Rotation != Keep {
		answer.body["refresh_token"] = s.newRefresh(t.grant)
		t.used = s.options.Rotation == SingleUse
	}
	return answer
}

// asAsked removes from a response what the client did not ask for.
func (s *Server) asAsked(answer reply, form url.Values) reply {
	if s.options.Asked && !form.Has("expires_in") {
		delete(answer.body, "expires_in")
		if form.Get("grant_type") == "authorization_code" {
			delete(answer.body, "refresh_token")
		}
	}
	return answer
}

// byClient serves the client credentials grant, which issues no refresh token (RFC 6749 section 4.4.3).
func (s *Server) byClient(client string, form url.Values) reply {
	scopes := strings.Fields(form.Get("scope"))
	if len(scopes) == 0 {
		return refusal(http.StatusBadRequest, "invalid_scope", "scope is missing.")
	}
	return s.give(s.newGrant(Token{ClientID: client, Scopes: scopes}), scopes)
}

// give issues an access token. The grant is the token's family, through which it can be revoked.
func (s *Server) give(g *grant, scopes []string) reply {
	body := map[string]any{
		"access_token": s.newAccess(g, scopes), "token_type": "Bearer", "scope": s.options.Granted(scopes),
	}
	if s.options.Lifetime > 0 {
		body["expires_in"] = int(s.options.Lifetime.Seconds())
	}
	return reply{http.StatusOK, body}
}

func invalidGrant(description string) reply {
	return refusal(http.StatusBadRequest, "invalid_grant", description)
}
