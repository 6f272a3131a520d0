package tenant

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/upstream"
)

// oauthClient answers the OAuth client that a connection with these settings and credentials has its tokens by: the
// tenant's own, else the operator's.
func (d *Directory) oauthClient(a adapter.Adapter, v adapter.Values) (oauth.Client, error) {
	operator := d.operators[a.Name]
	grant, err := a.Auth.OAuth.Grant(v, operator.Addresses)
	if err != nil {
		return oauth.Client{}, err
	}
	c := oauth.Client{
		Provider: a.Name, Grant: grant, ID: operator.ClientID, Secret: operator.ClientSecret,
		HTTP: d.pool.Client(upstream.ClientOptions{Provider: a.Name}),
	}
	if grant.ClientID != "" {
		c.ID, c.Secret = grant.ClientID, v.Credentials[adapter.FieldClientSecret]
	}
	if grant.Assertion != nil {
		c.Key = v.Credentials[grant.Assertion.Credential]
	} else if c.ID == "" {
		return oauth.Client{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"There is no OAuth client for %[1]s. The gateway's operator sets providers.%[1]s.client_id and client_secret, or the connection brings its own.", a.Name)
	}
	return c, nil
}

// grantID is a fingerprint of what a connection's tokens grow from, as far as the tenant gave it. Tokens with another one
// belong to credentials that were replaced since.
func grantID(g adapter.Grant, v adapter.Values) string {
	parts := []string{string(g.Flow), g.ClientID, v.Credentials[adapter.FieldRefreshToken]}
	if g.Assertion != nil {
		parts = append(parts, v.Credentials[g.Assertion.Credential], g.Assertion.Subject)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
