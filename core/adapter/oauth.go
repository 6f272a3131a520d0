package adapter

import (
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/fault"
)

// The fields that OAuth gives a meaning, in every adapter's settings struct that declares them.
const (
	FieldClientID     = "client_id"     // setting: the tenant's own OAuth client; "" is the operator's
	FieldClientSecret = "client_secret" // credential: its secret
	FieldRefreshToken = "refresh_token" // credential: brought in, or had by consent
)

// OAuth is how a provider gives out access tokens (RFC 6749), as data: core/oauth does the work.
type OAuth struct {
	// API names the address, of [Addresses], that access tokens are for: they are sent to its host and to
	// nothing else. Where the address is a setting, Auth.BaseURL names it; where it comes with the tokens,
	// neither.
	API string
	// Grant returns how to obtain the tokens of a connection with these settings; make it with [GrantOf]. It
	// sees only which credentials there are. It fails with fault.Invalid, with a field for each thing that
	// does not fit.
	Grant func(v Values, at Addresses) (Grant, error)
}

// GrantOf makes an OAuth.Grant of a function of the adapter's settings struct S. A grant by which a tenant's
// settings would have the secret of the operator's client told elsewhere is refused.
func GrantOf[S any](grant func(s S, at Addresses) (Grant, error)) func(Values, Addresses) (Grant, error) {
	return func(v Values, at Addresses) (Grant, error) {
		s, err := decode[S](v)
		if err != nil {
			return Grant{}, err
		}
		g, err := grant(s, at)
		if err == nil {
			err = g.showsOperatorsClient(at)
		}
		return g, err
	}
}

// showsOperatorsClient reports an address of a tenant's choice at which the secret of the operator's client
// would be told.
func (g Grant) showsOperatorsClient(at Addresses) error {
	if g.ClientID != "" || g.Assertion != nil {
		return nil
	}
	for _, address := range []string{g.AuthURL, g.TokenURL} {
		if address != "" && !at.name(address) && !isWithin(address, g.Domains) {
			return fault.InvalidField("settings.base_url",
				"must be one of the provider's own https addresses, or one that the gateway's operator "+
					"named: the secret of the gateway's OAuth client goes only to those. Or use your own "+
					"client (client_id).")
		}
	}
	return nil
}

// name reports whether the operator named the origin of an address.
func (at Addresses) name(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	for _, named := range at {
		if n, err := url.Parse(named); err == nil && strings.EqualFold(n.Scheme, u.Scheme) &&
			strings.EqualFold(n.Host, u.Host) {
			return true
		}
	}
	return false
}

// isWithin reports whether an address is of a host beneath one of the domains, by https at its usual port.
func isWithin(address string, domains []string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" {
		return false
	}
	return slices.ContainsFunc(domains, func(domain string) bool {
		return strings.HasSuffix(strings.ToLower(u.Hostname()), "."+domain)
	})
}

// Flow is a way to get access tokens.
type Flow string

// The flows.
const (
	// A person agrees once (authorization code, PKCE); then FieldRefreshToken.
	Consent           Flow = "consent"
	ClientCredentials Flow = "client_credentials" // the application for itself (RFC 6749 section 4.4)
	JWTBearer         Flow = "jwt_bearer"         // a signed assertion (RFC 7523), e.g. a Google service account
)

// Rotation is what a provider does with a refresh token that is redeemed. It decides whether a redeem whose
// answer was lost may be made again.
type Rotation string

// The rotations.
const (
	// RotationUnknown has each one taken for good for one use, until a redeem has brought no other.
	RotationUnknown     Rotation = ""
	RotationNone        Rotation = "none"        // it stays, and no other one is given
	RotationOverlapping Rotation = "overlapping" // another one is given, and those before stay good
)

// Grant is how to obtain the access tokens of one connection.
type Grant struct {
	Flow     Flow
	TokenURL string
	Scopes   []Scope
	ClientID string // the tenant's own client, with FieldClientSecret; "" is the operator's

	// TenantAddress marks addresses that come from the connection's settings: the egress rules apply to them.
	TenantAddress bool
	// Domains are those that the provider serves accounts beneath. Where the client is the operator's,
	// AuthURL and TokenURL must be https addresses beneath one of them, or be at an origin of the Addresses;
	// [GrantOf] holds them to that.
	Domains []string
	// Instance, where it is set, is what the token answer tells of where the account's API is (Salesforce's
	// instance_url).
	Instance *Instance

	// With Consent:
	AuthURL  string            // where the customer agrees
	Rotation Rotation          // of refresh tokens
	Issuer   string            // what iss says in the redirect, where it is there (RFC 9207); "" is not compared
	Ask      map[string]string // parameters of the provider's own for AuthURL, e.g. access_type=offline
	// Optionals is the parameter of AuthURL that takes the optional scopes; "": they are among the others.
	Optionals string

	Assertion *Assertion // with JWTBearer
}

// Instance is an address that comes with the tokens.
type Instance struct {
	Field string                     // of the token answer
	Check func(address string) error // whether it is one of the provider's own
}

// Scope is one permission.
type Scope struct {
	Name     string // as the provider writes it
	Words    string // what it allows, for the customer who is asked; "" where nothing needs to be said
	Optional bool   // the connection works without it
}

// Assertion says how to sign for a token.
type Assertion struct {
	Credential string // the credential that holds the key
	// Reads it; its error is fault.Invalid and holds nothing of the secret.
	Key      func(secret string) (SigningKey, error)
	Subject  string // on whose behalf
	Audience string // "" is the TokenURL
}

// SigningKey is a private key and who signs with it.
type SigningKey struct {
	Issuer string // iss of the assertion
	ID     string // kid; may be ""
	PEM    []byte // PKCS #1 or #8
}

// ScopeNames returns the names of the scopes to ask for by the parameter scope.
func (g Grant) ScopeNames() []string {
	return g.names(func(s Scope) bool { return !s.Optional || g.Optionals == "" })
}

// OptionalNames returns the names of the scopes to ask for by the parameter Optionals.
func (g Grant) OptionalNames() []string {
	return g.names(func(s Scope) bool { return s.Optional && g.Optionals != "" })
}

func (g Grant) names(of func(Scope) bool) []string {
	names := make([]string, 0, len(g.Scopes))
	for _, s := range g.Scopes {
		if of(s) {
			names = append(names, s.Name)
		}
	}
	return names
}

// CheckGrant reports what does not fit in settings and credentials that decode; nil for another scheme.
func (a Adapter) CheckGrant(v Values, at Addresses) error {
	if a.Auth.Scheme != OAuth2 {
		return nil
	}
	g, err := a.Auth.OAuth.Grant(v, at)
	if err != nil {
		return err
	}
	if g.Assertion != nil {
		if _, err := g.Assertion.Key(v.Credentials[g.Assertion.Credential]); err != nil {
			return err
		}
	}
	if g.ClientID != "" && g.Assertion == nil && v.Credentials[FieldClientSecret] == "" {
		return fault.InvalidField("credentials."+FieldClientSecret,
			"is required with settings."+FieldClientID+": the secret of that client.")
	}
	return nil
}
