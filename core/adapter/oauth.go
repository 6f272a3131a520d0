package adapter

import (
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/fault"
)

// The fields that have a meaning for OAuth in every settings struct that declares them.
const (
	FieldClientID     = "client_id"     // setting: the tenant's own OAuth client; "" means the operator's
	FieldClientSecret = "client_secret" // credential: its secret
	FieldRefreshToken = "refresh_token" // credential: entered, or obtained by consent
)

// OAuth describes how a provider issues access tokens (RFC 6749). It is only data: core/oauth does the work.
type OAuth struct {
	// API names the entry of [Addresses] that access tokens are for: they are sent there as Auth.BaseURL
	// describes. It is empty if the address is a setting, which Auth.BaseURL names, or comes with the tokens.
	API string
	// Grant returns how to obtain the tokens of a connection with these settings. Create it with [GrantOf].
	// It must rely only on which credentials are present. It fails with fault.Invalid, with a field for each
	// value that does not fit.
	Grant func(v Values, at Addresses) (Grant, error)
}

// GrantOf converts a function of the adapter's settings struct S into an OAuth.Grant. It refuses a grant that
// would send the secret of the operator's client to an address of the tenant's choice.
func GrantOf[S any](grant func(s S, at Addresses) (Grant, error)) func(Values, Addresses) (Grant, error) {
	decode := decoder[S]()
	return func(v Values, at Addresses) (Grant, error) {
		s, err := decode(v)
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

// showsOperatorsClient returns a fault if the grant would send the secret of the operator's client to an
// address of the tenant's choice.
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

// isWithin reports whether an address is an https URL, without a port, of a host below one of the domains.
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
	// A person consents once (authorization code, PKCE); FieldRefreshToken is used from then on.
	Consent           Flow = "consent"
	ClientCredentials Flow = "client_credentials" // the application for itself (RFC 6749 section 4.4)
	JWTBearer         Flow = "jwt_bearer"         // a signed assertion (RFC 7523), e.g. a Google service account
)

// Rotation is what a provider does with a refresh token that is redeemed. It decides whether a redeem may be
// repeated if its response was lost.
type Rotation string

// The rotations.
const (
	// RotationUnknown treats each refresh token as valid for one use, until a redeem returns no new one.
	RotationUnknown     Rotation = ""
	RotationNone        Rotation = "none"        // the token stays valid, and no new one is issued
	RotationOverlapping Rotation = "overlapping" // a new one is issued, and earlier ones stay valid
)

// Grant is how to obtain the access tokens of one connection.
type Grant struct {
	Flow     Flow
	TokenURL string
	Scopes   []Scope
	ClientID string // the tenant's own client, with FieldClientSecret; "" means the operator's

	// TenantAddress marks addresses that come from the connection's settings: the egress rules apply to them.
	TenantAddress bool
	// Domains are the domains below which the provider serves accounts. If the client is the operator's,
	// AuthURL and TokenURL must be https addresses below one of them, or at an origin of the Addresses;
	// [GrantOf] enforces this.
	Domains []string
	// Instance, if not nil, describes the field of the token response that holds the address of the account's
	// API (Salesforce's instance_url).
	Instance *Instance

	// With Consent:
	AuthURL  string            // where the customer agrees
	Rotation Rotation          // of refresh tokens
	Issuer   string            // the iss expected in a redirect that has one (RFC 9207); "" skips the check
	Ask      map[string]string // provider-specific parameters of AuthURL, e.g. access_type=offline
	Redeem   map[string]string // of requests to TokenURL with a code or a refresh token, e.g. expires_in=3600
	// Optionals is the parameter of AuthURL for the optional scopes; if "", they are sent with the others.
	Optionals string

	Assertion *Assertion // with JWTBearer
}

// Instance is an address that comes with the tokens.
type Instance struct {
	Field string                     // of the token response
	Check func(address string) error // returns an error unless it is one of the provider's own
}

// Scope is one permission.
type Scope struct {
	Name     string // as the provider writes it
	Words    string // what it allows, shown to the customer; "" if nothing needs to be shown
	Optional bool   // the connection works without it
}

// Assertion describes the signed assertion that is exchanged for a token.
type Assertion struct {
	Credential string // the credential that holds the key
	// Key parses the credential. Its error is fault.Invalid and contains nothing of the secret.
	Key      func(secret string) (SigningKey, error)
	Subject  string // the user to act for
	Audience string // "" means the TokenURL
}

// SigningKey is a private key and the issuer that signs with it.
type SigningKey struct {
	Issuer string // iss of the assertion
	ID     string // kid; may be ""
	PEM    []byte // PKCS #1 or #8
}

// ScopeNames returns the names of the scopes to request in the parameter scope.
func (g Grant) ScopeNames() []string {
	return g.names(func(s Scope) bool { return !s.Optional || g.Optionals == "" })
}

// OptionalNames returns the names of the scopes to request in the parameter Optionals.
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

// CheckGrant returns a fault if settings and credentials that decode do not make a valid grant. It returns
// nil for schemes other than OAuth2.
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
