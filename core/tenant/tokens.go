package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/upstream"
)

// oauthClient returns the OAuth client that a connection with these settings and credentials has its tokens
// by: the tenant's own, else the operator's.
func (d *Directory) oauthClient(a adapter.Adapter, v adapter.Values) (oauth.Client, error) {
	operator := d.operators[a.Name]
	grant, err := a.Auth.OAuth.Grant(v, operator.Addresses)
	if err != nil {
		return oauth.Client{}, err
	}
	c := oauth.Client{
		Provider: a.Name, Grant: grant, ID: operator.ClientID, Secret: operator.ClientSecret,
		HTTP: d.pool.Client(upstream.ClientOptions{
			Provider: a.Name, TenantAddress: grant.TenantAddress, CallTimeout: redeemLimit, NewConnections: true,
		}),
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

// redeemLimit ends a redeem that nothing else ends. The token source bounds redeems by the time that the
// process lived through: an answer that waits for one that was stopped is to be read, since its refresh token
// may be good for one use.
const redeemLimit = 5 * time.Minute

// tokenCredentials returns how to get the tokens of a connection, as the store has it now.
func (d *Directory) tokenCredentials(ctx context.Context, tenantID, connectionID string) (oauth.Credentials, error) {
	row, err := d.store.Connection(ctx, tenantID, connectionID)
	if err != nil {
		return oauth.Credentials{}, err
	}
	c, err := connectionOf(row)
	if err != nil {
		return oauth.Credentials{}, err
	}
	a, found := d.registry.Find(c.Kind, c.Provider)
	if !found {
		return oauth.Credentials{}, noAdapter(c)
	}
	values := adapter.Values{Settings: c.Settings}
	if values.Credentials, err = d.openConnection(row); err != nil {
		return oauth.Credentials{}, err
	}
	if a, err = a.With(values); err != nil {
		return oauth.Credentials{}, unusable(c, err)
	}
	if a.Auth.Scheme != adapter.OAuth2 {
		return oauth.Credentials{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured, "The connection %q has no tokens.", c.Name)
	}
	client, err := d.oauthClient(a, values)
	if err != nil {
		return oauth.Credentials{}, unusable(c, err)
	}
	return oauth.Credentials{
		Client: client, Refresh: values.Credentials[adapter.FieldRefreshToken],
		Fingerprint: grantID(client.Grant, values), Revision: row.Revision,
	}, nil
}

// tokenAuthority puts a connection's access token on requests, and another one in the place of one that is
// refused.
func (d *Directory) tokenAuthority(c Connection) authority {
	return authority{
		authorise: func(r *http.Request) error {
			access, err := d.tokens.Token(r.Context(), c.TenantID, c.ID)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", bearer+access)
			return nil
		},
		renew: func(refused *http.Request) (bool, error) {
			access := strings.TrimPrefix(refused.Header.Get("Authorization"), bearer)
			return d.tokens.Renew(refused.Context(), c.TenantID, c.ID, access)
		},
	}
}

// growth is what a connection's tokens grow from.
type growth struct {
	isOAuth       bool
	id            string // grantID
	awaitsConsent bool   // nothing was given that tokens could be had by
}

// growthOf returns what the tokens of a connection with these settings and credentials grow from.
func (d *Directory) growthOf(kind adapter.Kind, provider string, v adapter.Values) growth {
	a, found := d.registry.Find(kind, provider)
	if !found {
		return growth{}
	}
	a, err := a.With(v)
	if err != nil || a.Auth.Scheme != adapter.OAuth2 {
		return growth{}
	}
	g, err := a.Auth.OAuth.Grant(v, d.operators[a.Name].Addresses)
	if err != nil {
		return growth{isOAuth: true}
	}
	return growth{isOAuth: true, id: grantID(g, v), awaitsConsent: g.Flow == adapter.Consent && v.Credentials[adapter.FieldRefreshToken] == ""}
}

// statusAfter returns the state of a connection whose tokens grow from something else now, or whose
// credentials were given again: another chance for what was refused. One that lives by a consent keeps its
// state until there is another one.
func (g growth) statusAfter(was growth, status string) string {
	switch {
	case !g.awaitsConsent:
		return string(StatusOK)
	case g.id == was.id:
		return status
	}
	return string(StatusReconnectRequired)
}

// fetchToken has the access token of a new or changed connection fetched before a call needs it.
func (d *Directory) fetchToken(ctx context.Context, tenantID, connectionID string, g growth) error {
	if !g.isOAuth {
		return nil
	}
	d.tokens.Forget(connectionID)
	if g.awaitsConsent {
		return nil
	}
	return d.tokens.Schedule(ctx, tenantID, connectionID)
}

// grantID is a fingerprint of what a connection's tokens grow from, as far as the tenant gave it. Tokens with
// another one belong to credentials that were replaced since.
func grantID(g adapter.Grant, v adapter.Values) string {
	parts := []string{string(g.Flow), g.ClientID, v.Credentials[adapter.FieldRefreshToken]}
	if g.Assertion != nil {
		parts = append(parts, v.Credentials[g.Assertion.Credential], g.Assertion.Subject)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
