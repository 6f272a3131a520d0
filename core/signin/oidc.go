package signin

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Reasons of faults about signing in at an OpenID provider.
const (
	ReasonProvider   = "OPENID_PROVIDER_FAILED" // the provider does not answer as the settings make one expect
	ReasonNotBegun   = "OPENID_SIGN_IN_UNKNOWN" // this browser has begun no such sign-in
	ReasonDeclined   = "OPENID_SIGN_IN_DECLINED"
	ReasonNotAllowed = "OPENID_PERSON_NOT_ALLOWED" // no entry of the configuration lets the person in
)

// Sealer seals what a browser keeps of a sign-in that it has begun. [*vault.Vault] implements it.
type Sealer interface {
	SealColumn(table, column string, row []string, plain []byte) ([]byte, error)
	OpenColumn(table, column string, row []string, sealed []byte) ([]byte, error)
}

// OpenIDOptions configure an [OpenID]. All fields are required.
type OpenIDOptions struct {
	Options
	Sealer       Sealer
	Issuer       string
	ClientID     string
	ClientSecret string
	Grants       []string // WHO=ROLE or WHO=ROLE@TENANT; see [OpenID]
	RedirectURI  string
}

// OpenID signs people in at an OpenID provider (OpenID Connect Core 1.0, with PKCE). Grants say who is let
// in:
//
//	pat@example.com=admin         the person with this address, if the provider has verified it
//	groups:support=viewer         whoever has this value in this claim, of the ID token or the UserInfo endpoint
//	lee@acme.example=admin@acme   limited to the tenant acme
//
// The first that fits counts. It is safe for concurrent use. Create it with [NewOpenID].
type OpenID struct {
	opts   OpenIDOptions
	client *http.Client
	known  atomic.Pointer[known] // nil: the provider was not asked yet
}

// known is what the provider says of itself, and the client that follows from it. The client learns from the first code
// that is redeemed how the provider authenticates it. Until then, it sends one that is refused in another way again.
type known struct {
	provider *oidc.Provider
	config   *oauth2.Config
}

const (
	providerTimeout = 10 * time.Second // for each request to the provider
	signInLife      = 10 * time.Minute // for the person to sign in at the provider
	beginCookie     = "__Host-frontdesk-openid"
)

// NewOpenID returns a new OpenID. It asks the provider nothing until somebody signs in.
func NewOpenID(o OpenIDOptions) *OpenID {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	return &OpenID{opts: o, client: &http.Client{Timeout: providerTimeout, Transport: transport}}
}

// Host returns the host of the provider, for people.
func (o *OpenID) Host() string {
	issuer, err := url.Parse(o.opts.Issuer)
	if err != nil {
		return o.opts.Issuer
	}
	return issuer.Host
}

// Origin returns the scheme and host of the provider.
func (o *OpenID) Origin() string {
	issuer, err := url.Parse(o.opts.Issuer)
	if err != nil {
		return o.opts.Issuer
	}
	return issuer.Scheme + "://" + issuer.Host
}

// Close closes the connections to the provider.
func (o *OpenID) Close() { o.client.CloseIdleConnections() }

// begun is what a browser keeps, sealed, of a sign-in that it has begun.
type begun struct {
	State     string    `json:"state"`
	Nonce     string    `json:"nonce"`
	Verifier  string    `json:"verifier"` // of PKCE (RFC 7636)
	ExpiresAt time.Time `json:"expires_at"`
}

// Begin returns where a browser goes to sign in, and the cookie that binds the sign-in to the browser. may is called
// before the provider is asked for anything, and its error is returned.
func (o *OpenID) Begin(ctx context.Context, may func() error) (string, *http.Cookie, error) {
	if o.known.Load() == nil {
		if err := may(); err != nil {
			return "", nil, err
		}
	}
	config, _, err := o.config(ctx)
	if err != nil {
		return "", nil, err
	}
	b := begun{
		State: secret.Text(32), Nonce: secret.Text(32), Verifier: oauth2.GenerateVerifier(),
		ExpiresAt: o.opts.Now().Add(signInLife),
	}
	plain, err := json.Marshal(b)
	if err != nil {
		return "", nil, fault.From(err)
	}
	sealed, err := o.opts.Sealer.SealColumn("browser", "openid", nil, plain)
	if err != nil {
		return "", nil, err
	}
	to := config.AuthCodeURL(b.State, oidc.Nonce(b.Nonce), oauth2.S256ChallengeOption(b.Verifier))
	return to, bindingCookie(base64.RawURLEncoding.EncodeToString(sealed), signInLife), nil
}

// bindingCookie is Lax, since the provider's site sends the browser back.
func bindingCookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: beginCookie, Value: value, Path: "/", MaxAge: int(life / time.Second), Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode,
	}
}

// Forget returns the cookie that removes the binding of a sign-in that is over.
func (o *OpenID) Forget() *http.Cookie { return bindingCookie("", -time.Second) }

// Finish returns who signed in, from the request with which the provider sends a browser back. may is as with Begin.
func (o *OpenID) Finish(r *http.Request, may func() error) (Person, error) {
	ctx, query := r.Context(), r.URL.Query()
	b, err := o.begunBy(r)
	if err != nil {
		return Person{}, err
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != o.opts.Issuer { // RFC 9207
		return Person{}, wrongProvider("issuer", fmt.Errorf("the answer comes from %q", shown(issuer)))
	}
	if query.Get("error") != "" {
		return Person{}, fault.Newf(fault.Forbidden, ReasonDeclined, "%s answered %q. Sign in again, or ask the "+
			"operator to look at the client there.", o.Host(), shown(query.Get("error")))
	}
	if err := may(); err != nil {
		return Person{}, err
	}
	config, provider, err := o.config(ctx)
	if err != nil {
		return Person{}, err
	}
	tokens, err := config.Exchange(oidc.ClientContext(ctx, o.client), query.Get("code"),
		oauth2.VerifierOption(b.Verifier))
	if err != nil {
		return Person{}, o.refused(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	verifier := provider.VerifierContext(context.WithoutCancel(oidc.ClientContext(ctx, o.client)),
		&oidc.Config{ClientID: o.opts.ClientID, Now: o.opts.Now})
	id, err := verifier.Verify(oidc.ClientContext(ctx, o.client), raw)
	if err != nil {
		return Person{}, wrongProvider("issuer and settings_page.oidc.client_id", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(b.Nonce)) != 1 {
		return Person{}, notBegun()
	}
	claims, err := o.claims(ctx, provider, tokens, id)
	if err != nil {
		return Person{}, wrongProvider("issuer", err)
	}
	return o.person(ctx, claims)
}

// claims returns what the provider says of who signed in. A provider may tell the address and more at its
// UserInfo endpoint only (OpenID Connect Core 1.0 section 5.4). Where both tell a claim, the ID token counts.
// If the endpoint fails, so does the sign-in: without its claims, another grant could be the first that fits.
func (o *OpenID) claims(ctx context.Context, provider *oidc.Provider, tokens *oauth2.Token,
	id *oidc.IDToken,
) (map[string]any, error) {
	signed, told := map[string]any{}, map[string]any{}
	if err := id.Claims(&signed); err != nil || provider.UserInfoEndpoint() == "" {
		return signed, err
	}
	info, err := provider.UserInfo(oidc.ClientContext(ctx, o.client), oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("its UserInfo endpoint answered %w", err)
	}
	if err := info.Claims(&told); err != nil {
		return nil, err
	}
	if info.Subject != id.Subject { // section 5.3.2
		return nil, fmt.Errorf("its ID token is about %q, its UserInfo endpoint tells of %q", id.Subject,
			info.Subject)
	}
	if address, has := signed["email"]; has && address != told["email"] {
		delete(told, "email_verified") // which is another address
	}
	maps.Copy(told, signed)
	return told, nil
}

// begunBy returns the sign-in that the browser has begun and whose state the provider sends back.
func (o *OpenID) begunBy(r *http.Request) (begun, error) {
	var b begun
	cookies := r.CookiesNamed(beginCookie)
	if len(cookies) != 1 {
		return b, notBegun()
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return b, notBegun()
	}
	plain, err := o.opts.Sealer.OpenColumn("browser", "openid", nil, sealed)
	if vault.IsAway(err) { // the sign-in may be right
		return b, err
	}
	if err != nil || json.Unmarshal(plain, &b) != nil {
		return b, notBegun()
	}
	if subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("state")), []byte(b.State)) != 1 ||
		!o.opts.Now().Before(b.ExpiresAt) {
		return b, notBegun()
	}
	return b, nil
}

func notBegun() *fault.Error {
	return fault.New(fault.Forbidden, ReasonNotBegun, "This browser has begun no such sign-in, or it took "+
		"longer than ten minutes, or is over. Sign in again.")
}

// config returns the OAuth client and the provider, whose description it asks for until it has it. Nobody waits for
// somebody else's question: each has a time of its own.
func (o *OpenID) config(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	if k := o.known.Load(); k != nil {
		return k.config, k.provider, nil
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, o.client), o.opts.Issuer)
	if err != nil {
		return nil, nil, wrongProvider("issuer", err)
	}
	k := &known{provider, &oauth2.Config{
		ClientID: o.opts.ClientID, ClientSecret: o.opts.ClientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: o.opts.RedirectURI, Scopes: o.scopes(provider),
	}}
	o.known.CompareAndSwap(nil, k)
	return k.config, k.provider, nil
}

// scopes returns what is asked for. A provider may tell a claim only to those who ask for the scope of its name, as
// Dex and Okta do with groups ("Custom Scopes, Claims and Client Features", dexidp.io). It is asked for such a scope
// only if it lists it, since some refuse scopes that they do not know (RFC 6749 section 4.1.2.1).
func (o *OpenID) scopes(provider *oidc.Provider) []string {
	all := []string{oidc.ScopeOpenID, "email", "profile"}
	var described struct {
		Scopes []string `json:"scopes_supported"`
	}
	if provider.Claims(&described) != nil {
		return all
	}
	for _, entry := range o.opts.Grants {
		g, err := ParseGrant(entry)
		if err == nil && slices.Contains(described.Scopes, g.Claim) && !slices.Contains(all, g.Claim) {
			all = append(all, g.Claim)
		}
	}
	return all
}

// wrongProvider says which setting is wrong, and what was received.
func wrongProvider(setting string, err error) error {
	return fault.Newf(fault.Unavailable, ReasonProvider, "The OpenID provider does not answer as "+
		"settings_page.oidc.%s makes one expect: %s. Correct the setting, or sign in with a link.", setting,
		shown(err.Error())).Because(err)
}

// refused returns the fault for a code that the provider did not redeem.
func (o *OpenID) refused(err error) error {
	answer, is := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case is && answer.ErrorCode == "invalid_grant": // it was used, or has expired (RFC 6749 section 5.2)
		return notBegun().Because(errors.New("the token endpoint answered invalid_grant"))
	case is && answer.ErrorCode != "":
		o.known.Store(nil) // the provider may authenticate the client in another way by now
		return wrongProvider("client_id and settings_page.oidc.client_secret",
			fmt.Errorf("its token endpoint answered %q", answer.ErrorCode))
	}
	return fault.Newf(fault.Unavailable, ReasonProvider,
		"%s does not redeem the sign-in. Sign in again, or with a link.", o.Host()).Because(err)
}

// shown shortens what somebody else said.
func shown(text string) string {
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// person returns who has these claims, by the first grant that fits.
func (o *OpenID) person(ctx context.Context, claims map[string]any) (Person, error) {
	email, _ := claims["email"].(string)
	verified := claims["email_verified"] == true
	subject, _ := claims["sub"].(string)
	name := subject
	if verified && named.MatchString(email) {
		name = strings.ToLower(email)
	}
	for _, entry := range o.opts.Grants {
		g, err := ParseGrant(entry)
		if err != nil || !g.fits(claims) {
			continue
		}
		p := Person{Name: name, Role: g.Role, Grant: entry}
		if g.Tenant != "" {
			owner, err := tenant.ByName(ctx, o.opts.Store, g.Tenant)
			if err != nil {
				return Person{}, err
			}
			p.TenantID = owner.ID
		}
		audited, err := signedIn(ctx, o.opts.Options, p, g.Tenant)
		if err != nil {
			return Person{}, err
		}
		return p, o.opts.Store.AddAudit(ctx, audited...)
	}
	state := "verified"
	if !verified {
		state = "not verified"
	}
	return Person{}, fault.Newf(fault.Forbidden, ReasonNotAllowed,
		"You are signed in at %s as %q (sub %q), and "+
			"the address is %s there. No entry of settings_page.oidc.roles lets you in. Ask the operator for one.",
		o.Host(), shown(email), shown(subject), state)
}
