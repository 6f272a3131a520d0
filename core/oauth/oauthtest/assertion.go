package oauthtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// longestAssertion is Google's limit between iat and exp
// (developers.google.com/identity/protocols/oauth2/service-account, "Preparing the JWT claim set").
const longestAssertion = time.Hour

type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Scope    string `json:"scope"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// byAssertion serves the JWT bearer grant (RFC 7523 section 2.1 and 3) as Google does: the assertion is
// signed with RS256, its audience is the token endpoint, and the scopes are in a claim.
func (s *Server) byAssertion(r *http.Request) reply {
	text := r.PostForm.Get("assertion")
	if text == "" {
		return refusal(http.StatusBadRequest, "invalid_request", "assertion is missing.")
	}
	signed, signature, _ := cutLast(text, ".")
	head, body, _ := strings.Cut(signed, ".")
	var header struct {
		Algorithm string `json:"alg"`
	}
	var c claims
	if !decode(head, &header) || !decode(body, &c) {
		return invalidGrant("The assertion is not a JWT.")
	}
	key, known := s.options.Assertions[c.Issuer]
	now := s.options.Now()
	issued, expires := time.Unix(c.Issued, 0), time.Unix(c.Expires, 0)
	switch {
	case !known:
		return invalidGrant("Invalid grant: account not found")
	case header.Algorithm != "RS256" || !signedBy(key, signed, signature):
		return invalidGrant("Invalid JWT Signature.")
	case c.Audience != "https://"+r.Host+r.URL.Path && c.Audience != "http://"+r.Host+r.URL.Path:
		return invalidGrant("The audience is not this endpoint.")
	case !now.Before(expires) || issued.After(now.Add(time.Minute)) || expires.Sub(issued) > longestAssertion:
		return invalidGrant(
			"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.")
	case c.Subject != "" && !slices.Contains(s.options.Accounts, c.Subject):
		return invalidGrant("Invalid email or User ID")
	}
	scopes := strings.Fields(c.Scope)
	if len(scopes) == 0 {
		return refusal(http.StatusBadRequest, "invalid_scope", "scope is missing.")
	}
	account := c.Subject
	if account == "" {
		account = c.Issuer
	}
	return s.give(s.newGrant(Token{Account: account, ClientID: c.Issuer, Scopes: scopes}), scopes)
}

func cutLast(s, separator string) (before, after string, found bool) {
	at := strings.LastIndex(s, separator)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(separator):], true
}

func decode(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}

func signedBy(key *rsa.PublicKey, signed, signature string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	sum := sha256.Sum256([]byte(signed))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) == nil
}
