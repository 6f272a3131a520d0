package fake

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// token handles the token endpoint. It checks the flows without a person itself, since Salesforce has its own
// rules for them, and then redeems them as a refresh token.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		oauthError(w, "invalid_request", "the body cannot be read")
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		oauthError(w, "invalid_request", "the form cannot be read")
		return
	}
	client, account := form.Get("client_id"), s.options.Accounts[0]
	switch form.Get("grant_type") {
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		var wrong string
		if client, account, wrong = s.checkAssertion(r, form.Get("assertion")); wrong != "" {
			oauthError(w, "invalid_grant", wrong)
			return
		}
		form = url.Values{"client_id": {client}, "client_secret": {s.options.OAuth.Clients[client]}}
	case "client_credentials":
		if form.Has("scope") {
			oauthError(w, "invalid_request", "scope parameter not supported")
			return
		}
	default:
		s.redeem(w, r, body)
		return
	}
	form.Set("grant_type", "refresh_token")
	form.Set("refresh_token", s.OAuth.Grant(client, account, "api"))
	s.redeem(w, r, []byte(form.Encode()))
}

// redeem passes the form to the OAuth server and adds Salesforce's own values to a successful response.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request, body []byte) {
	asked := r.Clone(r.Context())
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	s.OAuth.ServeHTTP(answer, asked)
	var claims map[string]any
	if answer.status == http.StatusOK && json.Unmarshal(answer.body.Bytes(), &claims) == nil {
		base := origin(r)
		claims["instance_url"] = base
		claims["id"] = base + "/id/" + RecordID("00D", 1) + "/" + Owner
		claims["issued_at"] = s.options.Now().UTC().Format("20060102150405")
		answer.body.Reset()
		_ = json.NewEncoder(&answer.body).Encode(claims) // it was just decoded
	}
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // the client may have left
}

// origin returns the address of the server as the client sees it.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header            { return r.header }
func (r *recorder) WriteHeader(status int)         { r.status = status }
func (r *recorder) Write(part []byte) (int, error) { return r.body.Write(part) }

// longest is how far ahead an assertion may expire. The documentation requires three minutes; clocks differ.
const longest = 5 * time.Minute

// checkAssertion checks an assertion ("OAuth 2.0 JWT Bearer Flow for Server-to-Server Integration"): iss is
// the app, sub the user, aud the authorization server, signed with RS256 by the key of the app's certificate.
func (s *Server) checkAssertion(r *http.Request, assertion string) (client, account, wrong string) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "", "", "invalid assertion"
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		Expires  int64  `json:"exp"`
	}
	if !decode(parts[0], &header) || !decode(parts[1], &claims) {
		return "", "", "invalid assertion"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	key := s.options.Certificates[claims.Issuer]
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now, end := s.options.Now(), time.Unix(claims.Expires, 0)
	switch {
	case key == nil:
		return "", "", "client identifier invalid"
	case err != nil || header.Algorithm != "RS256" ||
		rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil:
		return "", "", "invalid assertion signature"
	case !slices.Contains([]string{"https://login.salesforce.com", "https://test.salesforce.com", origin(r)},
		claims.Audience):
		return "", "", "audience is invalid"
	case !now.Before(end) || end.After(now.Add(longest)):
		return "", "", "assertion expired, or not about to"
	case !slices.Contains(s.options.Accounts, claims.Subject):
		return "", "", "user hasn't approved this consumer"
	}
	return claims.Issuer, claims.Subject, ""
}

func decode(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}

func oauthError(w http.ResponseWriter, code, description string) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(http.StatusBadRequest)
	// The client may have left.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": code, "error_description": description})
}
