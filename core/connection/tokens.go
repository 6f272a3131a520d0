package connection

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
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

// OAuthClient returns the OAuth client that gets the tokens of a connection with these settings and
// credentials: the tenant's own, or else the operator's.
func (p Providers) OAuthClient(a adapter.Adapter, v adapter.Values) (oauth.Client, error) {
	operator := p.Operators[a.Name]
	grant, err := a.Auth.OAuth.Grant(v, operator.Addresses)
	if err != nil {
		return oauth.Client{}, err
	}
	c := oauth.Client{
		Provider: a.Name, Grant: grant, ID: operator.ClientID, Secret: operator.ClientSecret,
		HTTP: p.Pool.Client(upstream.ClientOptions{
			Provider: a.Name, TenantAddress: grant.TenantAddress, RequireTLS: grant.TenantAddress,
			CallTimeout: redeemLimit, NewConnections: true,
		}),
	}
	if grant.ClientID != "" {
		c.ID, c.Secret = grant.ClientID, v.Credentials[adapter.FieldClientSecret]
	}
	if grant.Assertion != nil {
		c.Key = v.Credentials[grant.Assertion.Credential]
	} else if c.ID == "" {
		return oauth.Client{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"There is no OAuth client for %[1]s. The gateway's operator sets providers.%[1]s.client_id and "+
				"client_secret, or the connection brings its own.", a.Name)
	}
	return c, nil
}

// redeemLimit is the timeout of a request for tokens. The token source has a shorter limit, which counts only
// the time that the process runs: after being stopped, a process must still read a response that has arrived,
// since its refresh token may be valid for one use only.
const redeemLimit = 5 * time.Minute

// TokenCredentials returns the function that reads from the store how a token source gets the tokens of a
// connection.
func (p Providers) TokenCredentials(
	rows *store.Store, v *vault.Vault,
) func(ctx context.Context, tenantID, connectionID string) (oauth.Credentials, error) {
	sealer := sealing.New(v)
	return func(ctx context.Context, tenantID, connectionID string) (oauth.Credentials, error) {
		row, err := rows.Connection(ctx, tenantID, connectionID)
		if err != nil {
			return oauth.Credentials{}, err
		}
		return p.tokenCredentials(sealer, row)
	}
}

func (p Providers) tokenCredentials(sealer sealing.Sealer, row store.Connection) (oauth.Credentials, error) {
	c, err := Of(row)
	if err != nil {
		return oauth.Credentials{}, err
	}
	a, err := p.find(c)
	if err != nil {
		return oauth.Credentials{}, err
	}
	values := adapter.Values{Settings: c.Settings}
	if values.Credentials, err = sealer.OpenConnection(row); err != nil {
		return oauth.Credentials{}, err
	}
	if a, err = a.With(values); err != nil {
		return oauth.Credentials{}, unusable(c, err)
	}
	if a.Auth.Scheme != adapter.OAuth2 {
		return oauth.Credentials{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The connection %q has no tokens.", c.Name)
	}
	client, err := p.OAuthClient(a, values)
	if err != nil {
		return oauth.Credentials{}, unusable(c, err)
	}
	return oauth.Credentials{
		Client: client, Refresh: values.Credentials[adapter.FieldRefreshToken],
		Fingerprint: GrantID(client.Grant, values), Revision: row.Revision,
	}, nil
}

// tokenAuthority returns the authority that puts a connection's access token on requests, and renews a token
// that is refused. A request is not sent again to an address that the account has left.
func tokenAuthority(tokens *oauth.TokenSource, c Connection, prefix string) authority {
	return authority{
		authorise: func(r *http.Request) error {
			access, err := tokens.Token(r.Context(), c.TenantID, c.ID)
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", prefix+access)
			return nil
		},
		renew: func(refused *http.Request) (bool, error) {
			access := strings.TrimPrefix(refused.Header.Get("Authorization"), prefix)
			again, err := tokens.Renew(refused.Context(), c.TenantID, c.ID, access)
			if err != nil || !again {
				return again, err
			}
			home, err := tokens.Instance(refused.Context(), c.TenantID, c.ID)
			if at := parseURL(home); err == nil && at != nil && hostOf(at) != hostOf(refused.URL) {
				err = fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
					"%s has moved the account to another address. Try again.", c.Provider)
			}
			return err == nil, err
		},
	}
}

// tokenOrigin is what a connection's tokens are obtained with.
type tokenOrigin struct {
	isOAuth       bool
	id            string // GrantID
	awaitsConsent bool   // the credentials given are not enough to obtain a token
}

// tokenOriginOf returns what the tokens of a connection are obtained with.
func (p Providers) tokenOriginOf(s Spec) tokenOrigin {
	g, isOAuth, err := p.grantOf(s)
	if !isOAuth || err != nil {
		return tokenOrigin{isOAuth: isOAuth}
	}
	return tokenOrigin{
		isOAuth: true, id: GrantID(g, adapter.Values{Credentials: s.Credentials}),
		awaitsConsent: g.Flow == adapter.Consent && s.Credentials[adapter.FieldRefreshToken] == "",
	}
}

// ConsentGrant returns the grant by which a connection gets its tokens. ok is false if the connection needs
// no consent of a customer, or its settings cannot be used.
func (p Providers) ConsentGrant(s Spec) (g adapter.Grant, ok bool) {
	g, isOAuth, err := p.grantOf(s)
	return g, isOAuth && err == nil && g.Flow == adapter.Consent
}

// grantOf returns the grant by which a connection gets its tokens. isOAuth is false if it has none, or if its
// settings cannot be used.
func (p Providers) grantOf(s Spec) (g adapter.Grant, isOAuth bool, err error) {
	a, found := p.Registry.Find(s.Kind, s.Provider)
	if !found {
		return g, false, nil
	}
	values := adapter.Values{Settings: s.Settings, Credentials: s.Credentials}
	if fit, wrong := a.With(values); wrong == nil && fit.Auth.Scheme == adapter.OAuth2 {
		g, err = fit.Auth.OAuth.Grant(values, p.Operators[fit.Name].Addresses)
		return g, true, err
	}
	return g, false, nil
}

// statusAfter returns the state of a connection whose tokens have a new origin, or whose credentials were
// given again. It is StatusOK, so that refused credentials are tried again. A connection by consent keeps its
// state if the origin is the same, and otherwise needs another consent.
func (o tokenOrigin) statusAfter(was tokenOrigin, status string) string {
	switch {
	case !o.awaitsConsent:
		return string(StatusOK)
	case o.id == was.id:
		return status
	}
	return string(StatusReconnectRequired)
}

// fetchToken schedules fetching the access token of a new or changed connection, before a call needs it.
func (d *Directory) fetchToken(ctx context.Context, tenantID, connectionID string, origin tokenOrigin) error {
	if !origin.isOAuth {
		return nil
	}
	d.opts.Tokens.Forget(connectionID)
	if origin.awaitsConsent {
		return nil
	}
	err := d.opts.Tokens.Schedule(ctx, tenantID, connectionID)
	if f := fault.From(err); f != nil && f.Reason == fault.ReasonProviderMisconfigured {
		// What was asked for is stored, and works once that is corrected.
		d.opts.Log.WarnContext(ctx, "a connection cannot get tokens yet", "connection", connectionID, "why", f.Detail)
		return nil
	}
	return err
}

// GrantID returns a fingerprint of what a connection's tokens are obtained with, as far as the tenant
// provided it. Tokens with another fingerprint belong to credentials that have been replaced since.
func GrantID(g adapter.Grant, v adapter.Values) string {
	parts := []string{string(g.Flow), g.ClientID, v.Credentials[adapter.FieldRefreshToken]}
	if g.Assertion != nil {
		parts = append(parts, v.Credentials[g.Assertion.Credential], g.Assertion.Subject)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
