package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// Reasons of faults about links and the consents that customers give with them.
const (
	ReasonLinkUnknown      = "CONNECT_LINK_UNKNOWN"
	ReasonLinkExpired      = "CONNECT_LINK_EXPIRED"
	ReasonLinkUsed         = "CONNECT_LINK_USED"
	ReasonLinkBusy         = "CONNECT_LINK_BUSY"     // another consent for its connection is just being finished
	ReasonLinkObsolete     = "CONNECT_LINK_OBSOLETE" // what it was made for has changed since
	ReasonNoConsent        = "NO_CONSENT"            // customers do not consent to this
	ReasonNotThisConsent   = "CONSENT_UNKNOWN"       // none that is under way in this browser
	ReasonConsentMalformed = "CONSENT_MALFORMED"     // the provider's answer is not one
	ReasonConsentIssuer    = "CONSENT_ISSUER"        // the answer comes from another server
	ReasonConsentDeclined  = "CONSENT_DECLINED"
	ReasonConsentFailed    = "CONSENT_FAILED" // the provider says that it could not be given
	ReasonScopesMissing    = "CONSENT_INCOMPLETE"
	ReasonNotLasting       = "CONSENT_NOT_LASTING" // no refresh token came with it
	ReasonOtherAccount     = "CONSENT_OTHER_ACCOUNT"
)

// linkPrefix begins the token of a link.
const linkPrefix = "fdc_"

// How long a link may be good.
const (
	DefaultLinkLife = 24 * time.Hour
	maxLinkLife     = 30 * 24 * time.Hour
	minLinkLife     = time.Minute
)

// NewLink is a link to be made.
type NewLink struct {
	Connection   NewConnection // Settings are merged into those of a connection that is there; it has no Credentials
	OtherAccount bool          // a connection that is there may become one to another account
	Life         time.Duration // how long it is good; 0 is DefaultLinkLife
}

// ConnectLink is what a link is for, as far as whoever opens it may know.
type ConnectLink struct {
	Tenant     string   // who asks
	Provider   string   // the adapter's name
	Title      string   // the adapter's title
	Connection string   // its name
	Reconnects bool     // the connection is there already
	Email      string   // the account that was connected before; "" none, or not known
	Free       bool     // another account than that may be chosen
	Allows     []string // what the customer will be asked to allow, in words
	SignIn     string   // scheme and host of where the customer will be asked
	Callback   string   // where the customer is sent back to, behind the address of all callbacks
	ExpiresAt  time.Time
}

// linked is a link with everything that it leads to.
type linked struct {
	row      store.ConnectLink
	tenant   Tenant
	there    store.Connection // the connection as it is; without ID when it is to be made
	adapter  adapter.Adapter
	settings map[string]any // as the connection is to have them
	values   adapter.Values // with them
	client   oauth.Client
}

// NewConnectLink makes a link with which a customer connects an account by consent, and answers its token,
// which is shown this once. It is refused where consent would lead nowhere: no such provider, none that
// customers consent to, no OAuth client, settings that do not fit.
func (d *Directory) NewConnectLink(ctx context.Context, tenantName string, n NewLink) (token string, made ConnectLink, err error) {
	if n.Life == 0 {
		n.Life = DefaultLinkLife
	}
	if n.Life < minLinkLife || n.Life > maxLinkLife {
		return "", made, fault.InvalidField("expires", fmt.Sprintf("must be from %s to %s.", minLinkLife, maxLinkLife))
	}
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return "", made, err
	}
	settings, err := settingsJSON(n.Connection.Settings)
	if err != nil {
		return "", made, err
	}
	row := store.ConnectLink{
		TenantID: owner.ID, Kind: string(n.Connection.Kind), Provider: n.Connection.Provider, Name: n.Connection.Name, Settings: settings,
		IsDefault: n.Connection.Default, OtherAccount: n.OtherAccount, CreatedAt: d.now().UTC(), ExpiresAt: d.now().UTC().Add(n.Life),
	}
	l, err := d.follow(ctx, row)
	if err != nil {
		return "", made, err
	}
	if row.ConnectionID = l.there.ID; row.ConnectionID != "" {
		row.Reconnects = true
	} else {
		row.ConnectionID = secret.NewID("conn")
	}
	token = secret.NewToken(linkPrefix)
	hash, _ := secret.HashToken(token, linkPrefix)
	row.Hash = hash[:]
	if row.Seal, err = d.vault.SealRow(boundLink(row), nil); err != nil {
		return "", made, err
	}
	audited, err := d.auditedLink(ctx, l, row, n.Connection.Settings)
	if err != nil {
		return "", made, err
	}
	if err := d.store.CreateConnectLink(ctx, row, audited...); err != nil {
		return "", made, err
	}
	l.row = row
	return token, l.shown(), nil
}

// ConnectLink returns what a link is for, while it is good. A mistyped one is refused without a query.
func (d *Directory) ConnectLink(ctx context.Context, token string) (ConnectLink, error) {
	l, err := d.goodLink(ctx, token)
	if err != nil {
		return ConnectLink{}, err
	}
	return l.shown(), nil
}

// goodLink returns the link of a token with all it leads to, while it is good.
func (d *Directory) goodLink(ctx context.Context, token string) (linked, error) {
	hash, ok := secret.HashToken(token, linkPrefix)
	if !ok {
		return linked{}, linkUnknown()
	}
	return d.goodLinkOf(ctx, hash[:])
}

func (d *Directory) goodLinkOf(ctx context.Context, hash []byte) (linked, error) {
	row, err := d.store.ConnectLink(ctx, hash)
	if errors.Is(err, fault.NotFound) {
		return linked{}, linkUnknown()
	}
	if err != nil {
		return linked{}, err
	}
	if !d.genuineLink(row) {
		d.log.ErrorContext(ctx, "a link is refused: its row was changed or inserted; run frontdesk doctor",
			"tenant", row.TenantID)
		return linked{}, linkUnknown()
	}
	if !row.UsedAt.IsZero() {
		return linked{}, fault.New(fault.NotFound, ReasonLinkUsed,
			"This link has been used. It works for one connection.")
	}
	if !d.now().Before(row.ExpiresAt) {
		return linked{}, fault.New(fault.NotFound, ReasonLinkExpired, "This link has expired.")
	}
	l, err := d.follow(ctx, row)
	switch f := fault.From(err); {
	case f == nil:
		return l, nil
	case errors.Is(f, fault.NotFound), errors.Is(f, fault.Conflict), errors.Is(f, fault.Invalid), f.Reason == ReasonNoConsent:
		return linked{}, fault.New(fault.NotFound, ReasonLinkObsolete,
			"Something has changed since this link was made.").Because(err)
	}
	return linked{}, err
}

// follow finds what a link leads to. It fails where a consent would lead to no connection that works.
func (d *Directory) follow(ctx context.Context, row store.ConnectLink) (linked, error) {
	l := linked{row: row}
	owner, err := d.store.TenantByID(ctx, row.TenantID)
	if err != nil {
		return l, err
	}
	if l.tenant, err = tenantOf(owner); err != nil {
		return l, err
	}
	if l.there, err = d.connectionFor(ctx, row); err != nil {
		return l, err
	}
	now, err := connectionOf(l.there)
	if err != nil {
		return l, err
	}
	if l.settings, err = merged(now.Settings, row); err != nil {
		return l, err
	}
	l.values = adapter.Values{Settings: l.settings}
	if l.there.ID != "" {
		if l.values.Credentials, err = d.openConnection(l.there); err != nil {
			return l, err
		}
	}
	kind := adapter.Kind(row.Kind)
	l.adapter, _ = d.registry.Find(kind, row.Provider)
	// One whose settings do not fit is told of that below.
	if chosen, err := l.adapter.With(l.values); err == nil {
		l.adapter = chosen
	}
	if l.adapter.Name != "" && !l.adapter.MayConsent() {
		return l, fault.Newf(fault.Unsupported, ReasonNoConsent,
			"Customers do not give consent at %s: its connections have credentials. Make one with connection add.", l.adapter.Title)
	}
	faults := d.checkConnection("", NewConnection{
		Name: row.Name, Kind: kind, Provider: row.Provider, Settings: l.settings, Credentials: l.values.Credentials,
	})
	if len(faults) > 0 {
		return l, fault.InvalidFields(faults...)
	}
	l.client, err = d.consentClient(l)
	return l, err
}

// connectionFor returns the connection that a link leads to as it is now, none where it is to be made.
func (d *Directory) connectionFor(ctx context.Context, row store.ConnectLink) (store.Connection, error) {
	all, err := d.store.Connections(ctx, row.TenantID)
	if err != nil {
		return store.Connection{}, err
	}
	at := slices.IndexFunc(all, func(c store.Connection) bool { return c.ID == row.ConnectionID })
	if at < 0 && row.Reconnects {
		return store.Connection{}, noConnection(row.TenantID, row.Name)
	}
	if at < 0 {
		at = slices.IndexFunc(all, func(c store.Connection) bool { return c.Name == row.Name })
	}
	if at < 0 {
		return store.Connection{}, nil
	}
	if there := all[at]; there.Kind != row.Kind || there.Provider != row.Provider {
		return store.Connection{}, fault.Newf(fault.Conflict, ReasonNameTaken,
			"The tenant already has a connection %q to %s (%s). Choose another name.", there.Name, there.Provider, there.Kind)
	}
	return all[at], nil
}

// merged returns the settings of a connection with those of a link put in.
func merged(now map[string]any, row store.ConnectLink) (map[string]any, error) {
	added, err := connectionOf(store.Connection{ID: "a link", Settings: row.Settings})
	if err != nil {
		return nil, err
	}
	all := maps.Clone(now)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, added.Settings)
	return all, nil
}

// consentClient returns the OAuth client that a customer gives consent to.
func (d *Directory) consentClient(l linked) (oauth.Client, error) {
	name := l.adapter.Name
	grant, err := l.adapter.Auth.OAuth.Grant(l.values, d.operators[name].Addresses)
	if err != nil {
		return oauth.Client{}, err
	}
	if grant.Flow != adapter.Consent {
		return oauth.Client{}, fault.Newf(fault.Unsupported, ReasonNoConsent,
			"The connection %q gets its tokens by itself (%s), as its settings say: there is nothing for a customer to consent to.", l.row.Name, grant.Flow)
	}
	operator := d.operators[name]
	if grant.ClientID == "" && (operator.ClientID == "" || operator.ClientSecret == "") {
		return oauth.Client{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"There is no OAuth client that customers of %[2]s could give consent to. Set "+
				"providers.%[1]s.client_id and providers.%[1]s.client_secret in the configuration, or give "+
				"the connection a client of the tenant's own: connection add with the setting client_id and "+
				"the credential client_secret.",
			name, l.adapter.Title)
	}
	return d.oauthClient(l.adapter, l.values)
}

func (l linked) shown() ConnectLink {
	shown := ConnectLink{
		Tenant: l.tenant.Name, Provider: l.row.Provider, Title: l.adapter.Title, Connection: l.row.Name,
		Reconnects: l.row.Reconnects || l.there.ID != "", Email: l.there.Email, Free: l.row.OtherAccount,
		ExpiresAt: l.row.ExpiresAt, SignIn: originOf(l.client.Grant.AuthURL),
		Callback: l.callback(),
	}
	for _, s := range l.client.Grant.Scopes {
		if s.Words != "" {
			shown.Allows = append(shown.Allows, s.Words)
		}
	}
	return shown
}

// callback is what of the address where customers are sent back to is behind that of all callbacks.
func (l linked) callback() string { return callbackOf(l.tenant.ID, l.row.Provider, l.client.Grant) }

// callbackOf is the provider's name where the OAuth client is the operator's: its redirect URI is registered,
// and the server is the provider's. A tenant's own client or server has an address of its own, which is the
// same for as long as the server is: nothing that such a server sends on elsewhere comes back as an answer of
// its own.
func callbackOf(tenantID, provider string, g adapter.Grant) string {
	if g.ClientID == "" {
		return provider
	}
	parts := []string{tenantID, provider}
	if g.TenantAddress {
		parts = append(parts, g.AuthURL, g.TokenURL)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return provider + "/" + hex.EncodeToString(sum[:12])
}

// Callbacks returns, by the names of a tenant's connections, where customers who give consent for them are
// sent back to, behind the address of all callbacks. Connections that customers do not consent to are not
// among them.
func (d *Directory) Callbacks(ctx context.Context, tenantName string) (map[string]string, error) {
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	rows, err := d.store.Connections(ctx, owner.ID)
	if err != nil {
		return nil, err
	}
	callbacks := map[string]string{}
	for _, row := range rows {
		if g, ok := d.consentGrant(row); ok {
			callbacks[row.Name] = callbackOf(owner.ID, row.Provider, g)
		}
	}
	return callbacks, nil
}

// consentGrant returns how a connection gets its tokens; ok is false where no customer consents to it, or it
// cannot be used as it is.
func (d *Directory) consentGrant(row store.Connection) (g adapter.Grant, ok bool) {
	c, err := connectionOf(row)
	if err != nil {
		return g, false
	}
	values := adapter.Values{Settings: c.Settings}
	if values.Credentials, err = d.openConnection(row); err != nil {
		return g, false
	}
	a, found := d.registry.Find(c.Kind, c.Provider)
	if !found {
		return g, false
	}
	if a, err = a.With(values); err != nil || a.Auth.Scheme != adapter.OAuth2 {
		return g, false
	}
	g, err = a.Auth.OAuth.Grant(values, d.operators[a.Name].Addresses)
	return g, err == nil && g.Flow == adapter.Consent
}

// originOf returns the scheme and host of an address; "" where it is none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// linkUnknown does not say whether a link is mistyped or was never made: that helps only those who try links.
func linkUnknown() error {
	return fault.New(fault.NotFound, ReasonLinkUnknown,
		"There is no such link. It may be mistyped or incomplete.")
}
