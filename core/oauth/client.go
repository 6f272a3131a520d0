// Package oauth gets access tokens from providers and keeps them fresh (RFC 6749, RFC 7636, RFC 7523, RFC
// 9207). A [Client] talks to one provider's authorization server for one connection. A [TokenSource] holds
// the tokens of all connections and renews them ahead of time.
//
// The package guarantees that no error contains a token, a code or a secret, and that token endpoints are
// called through the gateway's own HTTP client, so that its limits and rules apply. It repeats a request that
// the provider may have acted on only if nothing can be lost, since a second redeem of a single-use refresh
// token can end the connection.
package oauth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/oauth2/jwt"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// Client is an OAuth client at one provider's authorization server, as one connection uses it.
type Client struct {
	Provider   string // the adapter's name, used in error messages
	Grant      adapter.Grant
	ID, Secret string       // of the tenant's or the operator's client
	Key        string       // with JWTBearer: the credential that holds the key
	HTTP       *http.Client // must not add credentials
}

// Tokens are the tokens of an authorization server's response.
type Tokens struct {
	Access  string
	Refresh string    // "" if the response has none: the current one stays valid
	Expires time.Time // zero if the response does not contain it
	// When the refresh token ends, whatever is done; zero if the response does not say.
	RefreshEnds time.Time
	// Granted scopes; nil if the response has none, which means all requested ones (RFC 6749 section 5.1).
	Scopes []string
	// Instance is the address of the account's API, with adapter.Grant.Instance; "" if the response has none.
	Instance string
	// Account is the provider's own id of the account, for [TokenSource.Account]; "" if it reports none. It is
	// not part of the response: whoever keeps tokens has asked the provider.
	Account string
}

// NewVerifier returns a new PKCE code verifier (RFC 7636 section 4.1).
func NewVerifier() string { return oauth2.GenerateVerifier() }

// AuthCodeURL returns the URL of the provider's page on which the customer gives consent.
func (c Client) AuthCodeURL(redirect, state, verifier string) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for name, value := range c.Grant.Ask {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	if optional := c.Grant.OptionalNames(); len(optional) > 0 {
		options = append(options, oauth2.SetAuthURLParam(c.Grant.Optionals, strings.Join(optional, " ")))
	}
	return c.config(redirect).AuthCodeURL(state, options...)
}

// Exchange redeems the code of a consent for tokens. A code can be used only once.
func (c Client) Exchange(ctx context.Context, code, redirect, verifier string) (Tokens, error) {
	w := &wire{ctx: ctx, next: c.HTTP.Transport}
	options := []oauth2.AuthCodeOption{oauth2.VerifierOption(verifier)}
	for name, value := range c.Grant.Redeem {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	t, err := c.config(redirect).Exchange(c.context(ctx, w), code, options...)
	return c.tokensOf(t, err, w, code, verifier)
}

// Token gets an access token. With adapter.Consent it redeems the refresh token; with other flows it uses the
// client's own credentials.
func (c Client) Token(ctx context.Context, refresh string) (Tokens, error) {
	w := &wire{ctx: ctx, next: c.HTTP.Transport}
	var source oauth2.TokenSource
	switch c.Grant.Flow {
	case adapter.ClientCredentials:
		source = (&clientcredentials.Config{
			ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.Grant.TokenURL, Scopes: c.Grant.ScopeNames(),
			AuthStyle: oauth2.AuthStyleInParams,
		}).TokenSource(c.context(ctx, w))
	case adapter.JWTBearer:
		key, err := c.Grant.Assertion.Key(c.Key)
		if err != nil { // unexpected: the key was checked when the credentials were set
			return Tokens{}, c.misfit("cannot be asked: the key among the connection's credentials is none").
				Because(err)
		}
		source = (&jwt.Config{
			Email: key.Issuer, PrivateKey: key.PEM, PrivateKeyID: key.ID, Subject: c.Grant.Assertion.Subject,
			// Salesforce rejects assertions that live longer than some minutes; Google allows an hour.
			Expires: 3 * time.Minute, Audience: c.Grant.Assertion.Audience, TokenURL: c.Grant.TokenURL,
			Scopes: c.Grant.ScopeNames(),
		}).TokenSource(c.context(ctx, w))
	default:
		form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
		for name, value := range c.Grant.Redeem {
			form.Set(name, value)
		}
		// The only grant for which x/oauth2 sends further parameters. It lets them name another one.
		source = (&clientcredentials.Config{
			ClientID: c.ID, ClientSecret: c.Secret, TokenURL: c.Grant.TokenURL, EndpointParams: form,
			AuthStyle: oauth2.AuthStyleInParams,
		}).TokenSource(c.context(ctx, w))
	}
	t, err := source.Token()
	answer, err := c.tokensOf(t, err, w, refresh)
	if answer.Refresh == refresh { // x/oauth2 fills in the redeemed token if the response has none
		answer.Refresh = ""
	}
	return answer, err
}

func (c Client) config(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirect, Scopes: c.Grant.ScopeNames(),
		// AuthStyle is set because detecting it sends a code or refresh token twice.
		Endpoint: oauth2.Endpoint{
			AuthURL: c.Grant.AuthURL, TokenURL: c.Grant.TokenURL, AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

func (c Client) context(ctx context.Context, w *wire) context.Context {
	client := *c.HTTP
	client.Transport = w
	return context.WithValue(ctx, oauth2.HTTPClient, &client)
}

// wire is the transport of one request for a token. It applies the caller's context, which x/oauth2 does not
// do for assertions, and keeps the transport's error, which x/oauth2 turns into text.
type wire struct {
	ctx    context.Context
	next   http.RoundTripper
	failed error
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	next := w.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r.WithContext(w.ctx))
	if err != nil {
		w.failed = err
		return nil, err
	}
	answer.Body = &wireBody{ReadCloser: answer.Body, wire: w}
	return answer, nil
}

type wireBody struct {
	io.ReadCloser
	wire *wire
}

func (b *wireBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.wire.failed = err
	}
	return n, err
}

// mostSeconds is ten years. A refresh token that lasts longer does not end for our purposes.
const mostSeconds = 10 * 365 * 24 * 3600

// tokensOf converts a response into Tokens. The secrets are those of the request: they are removed from
// errors, since servers may repeat them.
func (c Client) tokensOf(t *oauth2.Token, err error, w *wire, secrets ...string) (Tokens, error) {
	if err != nil {
		return Tokens{}, c.fault(err, w, append(secrets, c.Secret, c.Key))
	}
	if t.AccessToken == "" { // x/oauth2 accepts that in the answer to an assertion
		return Tokens{}, c.misfit("answered a request for a token with something that is none").
			With("provider", c.Provider)
	}
	answer := Tokens{Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry}
	// Google sends this for access of limited time ("Using OAuth 2.0 for Web Server Applications").
	if seconds, _ := t.Extra("refresh_token_expires_in").(float64); seconds > 0 && seconds < mostSeconds {
		answer.RefreshEnds = time.Now().Add(time.Duration(seconds) * time.Second)
	}
	if scope, _ := t.Extra("scope").(string); scope != "" {
		answer.Scopes = strings.Fields(scope)
	}
	if in := c.Grant.Instance; in != nil {
		answer.Instance, _ = t.Extra(in.Field).(string)
		if answer.Instance != "" && in.Check(answer.Instance) != nil {
			return Tokens{}, c.misfit("names an address for the account that is not one of its own").
				With("provider", c.Provider)
		}
	}
	return answer, nil
}

// Missing returns the required scopes that were not granted: customers may untick them. It returns nil if
// granted is nil. Names are compared by their last part, ignoring case, since Microsoft returns
// "Calendars.ReadWrite" for "https://graph.microsoft.com/Calendars.ReadWrite".
func (c Client) Missing(granted []string) []adapter.Scope {
	if granted == nil {
		return nil
	}
	have := map[string]bool{}
	for _, name := range granted {
		have[lastPart(name)] = true
	}
	var missing []adapter.Scope
	for _, s := range c.Grant.Scopes {
		if !s.Optional && !have[lastPart(s.Name)] {
			missing = append(missing, s)
		}
	}
	return missing
}

func lastPart(scope string) string {
	return strings.ToLower(scope[strings.LastIndexByte(scope, '/')+1:])
}

// IsRefused reports whether err means that the authorization server no longer accepts the authorization of
// the customer or administrator, so that a person has to connect the account again. RFC 6749 section 5.2 and
// OpenID Connect Core section 3.1.2.6 define the codes.
func IsRefused(err error) bool { return errors.Is(err, fault.Disconnected) }

// fault converts an error of x/oauth2 into a fault. It does not use the text of err, which quotes the server.
func (c Client) fault(err error, w *wire, secrets []string) *fault.Error {
	var (
		known   *fault.Error
		refused *oauth2.RetrieveError
	)
	switch {
	case errors.As(err, &refused) && refused.Response != nil:
		return c.refusal(refused, secrets)
	case errors.As(w.failed, &known):
		return known.Because(errors.Join(errUnanswered, known.Err))
	case w.ctx.Err() != nil:
		return fault.From(w.ctx.Err()).Because(errors.Join(errUnanswered, w.ctx.Err()))
	case w.failed != nil:
		return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The connection to the sign-in service of %s was lost.", c.Provider).
			With("provider", c.Provider).Because(errUnanswered)
	}
	return c.misfit("answered a request for a token with something that is none").With("provider", c.Provider)
}

func (c Client) refusal(e *oauth2.RetrieveError, secrets []string) *fault.Error {
	var body refusalBody
	_ = json.Unmarshal(e.Body, &body)              // what is there, is there
	e.ErrorCode = cmp.Or(body.code(), e.ErrorCode) // x/oauth2 does not read it from the response to an assertion
	for _, secret := range secrets {
		if secret != "" {
			e.Body = bytes.ReplaceAll(e.Body, []byte(secret), []byte("[secret]"))
			e.ErrorCode = strings.ReplaceAll(e.ErrorCode, secret, "[secret]")
		}
	}
	plain := upstream.StatusFault(c.Provider, e.Response.StatusCode, e.Response.Header, e.Body)
	code, status := e.ErrorCode, e.Response.StatusCode
	if plain.Code == fault.RateLimited {
		code = "" // Microsoft has sent it with invalid_grant (microsoft/azure-pipelines-tasks#17620)
	}
	refused := c.meaning(code, body, plain, status).With("provider", c.Provider)
	if isErrorCode(code) {
		refused = refused.With("oauth_error", code)
	}
	refused.RetryAfter, refused.Upstream = cmp.Or(plain.RetryAfter, refused.RetryAfter), plain.Upstream
	// A response with an OAuth error code issued no tokens (RFC 6749 section 5.2). A plain 5xx other than 503
	// may come from a proxy that lost the response.
	refused.Unsent = e.ErrorCode != "" || status < http.StatusInternalServerError ||
		status == http.StatusServiceUnavailable
	return refused
}

// refusalBody is the body of an error (RFC 6749 section 5.2).
type refusalBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Codes       []int  `json:"error_codes"` // Microsoft's own
	Status      string `json:"status"`      // HubSpot's own
}

// code returns the error code. HubSpot tells of a refresh token or a code that it does not accept in its own way, at
// times without an error code (nango.dev/blog/hubspot-oauth-bad-refresh-token; HGData/mk-node-hubspot#64). ServiceNow
// tells of all that it does not accept as a server_error with the status 401 (demisto/content-docs#1301). Zoho gives
// ten tokens in ten minutes (zoho.com/accounts/protocol/oauth/web-apps/access-token-expiry.html), and has no code of
// its own for more.
func (b refusalBody) code() string {
	switch {
	case b.Error == "" && (b.Status == "BAD_REFRESH_TOKEN" || b.Status == "BAD_AUTH_CODE"):
		return "invalid_grant"
	case b.Error == "server_error" && b.Description == "access_denied":
		return b.Description
	case b.Error == "Access Denied" && b.Status == "failure":
		return limitReached
	}
	return b.Error
}

// limitReached is Salesforce's code for too many requests (Salesforce Help, "OAuth 2.0 Authorization Errors").
const limitReached = "rate_limit_exceeded"

// limitWait is how long to wait for another token where the answer does not say.
const limitWait = time.Minute

// Errors with invalid_grant that say nothing of the grant.
const (
	// loopDetected is Microsoft's code for too many requests in a short time (learn.microsoft.com/entra/
	// identity-platform/reference-error-codes, AADSTS50196; "What's new for authentication", "Looping clients will be
	// interrupted"). It comes with invalid_grant where a customer consented.
	loopDetected = 50196
	// besideAnother is Salesforce's answer to a request that comes while another with the same refresh token is being
	// answered (Salesforce Winter '25 Release Notes, "Simultaneous Token Requests Are Blocked During the Refresh Token
	// Flow").
	besideAnother = "token request is already being processed"
)

// meaning returns the fault for an error code, or for an answer without one.
func (c Client) meaning(code string, body refusalBody, plain *fault.Error, status int) *fault.Error {
	switch isGrant := code == "invalid_grant"; {
	case code == limitReached, isGrant && slices.Contains(body.Codes, loopDetected):
		f := fault.Newf(fault.RateLimited, fault.ReasonProviderRateLimited,
			"The sign-in service of %s limits how often it is called. Try again later.", c.Provider)
		f.RetryAfter = limitWait
		return f
	case isGrant && body.Description == besideAnother:
		return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The sign-in service of %s is still busy with an earlier request.", c.Provider).Because(errUnanswered)
	}
	switch code {
	// invalid_code is Zoho's, also for a refresh token that is wrong or was revoked, with status 200 (help.zoho.com,
	// "Kaizen #4: Troubleshooting OAuth2.0"; schmorrison/Zoho#18). inactive_user is Salesforce's for a user who was
	// deactivated (Salesforce Help, "OAuth 2.0 Authorization Errors").
	case "invalid_grant", "invalid_code", "inactive_user", "interaction_required", "login_required",
		"consent_required", "access_denied":
		return refusedFault(c.Provider)
	case "invalid_client", "unauthorized_client":
		return c.misfit(
			"does not accept the OAuth client. Check client_id and client_secret, and what the client is allowed at " +
				"the provider")
	case "invalid_scope", "unsupported_grant_type", "invalid_request", "invalid_target":
		return c.misfit("refuses the request for a token (" + code +
			"). Check the OAuth client's registration and the connection's settings")
	case "inactive_org": // Salesforce's, of an organisation that is locked, closed or suspended (ibid.)
		return fault.Newf(fault.Forbidden, fault.ReasonPermissionDenied,
			"%s has locked or suspended the account. Put it in order there.", c.Provider)
	case "temporarily_unavailable", "server_error", "internal_failure":
		return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The sign-in service of %s is not available at the moment.", c.Provider)
	case "":
		switch {
		case plain.Code == fault.Timeout: // a proxy's timeout, not the caller's
			return fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
				"The sign-in service of %s did not answer in time.", c.Provider)
		case status < 500 && plain.Code != fault.RateLimited:
			return c.misfit("answered a request for a token with something that is none")
		}
	default:
		if status < 500 {
			return c.misfit(
				"refuses the request for a token. Check the OAuth client's registration and the connection's settings")
		}
	}
	return plain
}

// isErrorCode reports whether a code is defined by RFC 6749, RFC 8707 or OpenID Connect Core. Any other is
// the server's own text, which is not passed on to callers.
func isErrorCode(code string) bool {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
		"invalid_scope",
		"invalid_target", "interaction_required", "login_required", "consent_required", "access_denied",
		"temporarily_unavailable", "server_error":
		return true
	}
	return false
}

func (c Client) misfit(what string) *fault.Error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured, "The sign-in service of %s %s.",
		c.Provider, what)
}
