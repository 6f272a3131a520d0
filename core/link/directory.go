// Package link manages the links with which customers connect accounts, and the consents that they give
// through these links.
//
//	token, made, err := links.Create(ctx, "acme", link.Spec{Connection: connection.Spec{...}})
//	begun, err := links.BeginConsent(ctx, token, callbacks) // the customer goes to begun.URL
//	done, err := links.FinishConsent(ctx, answer)           // and comes back with the provider's answer
//
// The package guarantees that the target of a link never changes and is a single connection, that an answer
// is accepted only in the browser that began the consent and from the authorization server that was asked,
// and that nothing is stored until the provider has reported whose account it is. The pages are in
// core/consent.
package link

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Options configure a [Directory]. All fields but Audit, ReturnURLs and TenantsURL are required.
type Options struct {
	Store       *store.Store
	Vault       *vault.Vault
	Providers   connection.Providers
	Connections *connection.Directory
	Tokens      TokenStore
	ReturnURLs  []string // addresses below which customers may return; may be empty
	TenantsURL  string   // of the settings page's tenants, below which administrators may return; may be ""
	Now         func() time.Time
	Log         *slog.Logger
	Audit       *audit.Log // records changes; nil: changes are not recorded
	Changed     func()     // called after a change that makes cached connections out of date
}

// TokenStore stores the tokens that a consent yields. [*oauth.TokenSource] implements it.
type TokenStore interface {
	Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error
	Account(ctx context.Context, tenantID, connectionID string) (ref string, err error)
}

// Directory manages the links of all tenants. It is safe for concurrent use. Create one with [NewDirectory].
type Directory struct {
	opts   Options
	sealer sealing.Sealer
}

// NewDirectory returns a new Directory.
func NewDirectory(o Options) *Directory { return &Directory{o, sealing.New(o.Vault)} }

// Actions of audit entries about links and consents.
const (
	actionCreate  = "create-connect-link"
	actionConnect = "connect-account" // a customer's consent has led to a connection
)

// Reasons of faults about links and the consents that customers give with them.
const (
	ReasonUnknown          = "CONNECT_LINK_UNKNOWN"
	ReasonExpired          = "CONNECT_LINK_EXPIRED"
	ReasonUsed             = "CONNECT_LINK_USED"
	ReasonBusy             = "CONNECT_LINK_BUSY"     // another consent for its connection is just being finished
	ReasonObsolete         = "CONNECT_LINK_OBSOLETE" // something that the link depends on has changed since
	ReasonNoConsent        = "NO_CONSENT"            // the provider or connection does not use consent
	ReasonNotThisConsent   = "CONSENT_UNKNOWN"       // no such consent is in progress in this browser
	ReasonConsentMalformed = "CONSENT_MALFORMED"     // the provider's answer cannot be read
	ReasonConsentIssuer    = "CONSENT_ISSUER"        // the answer comes from another server
	ReasonConsentDeclined  = "CONSENT_DECLINED"
	ReasonConsentFailed    = "CONSENT_FAILED" // the provider returned another error
	ReasonScopesMissing    = "CONSENT_INCOMPLETE"
	ReasonNotLasting       = "CONSENT_NOT_LASTING" // no refresh token came with it
	ReasonOtherAccount     = "CONSENT_OTHER_ACCOUNT"
)

// tokenPrefix begins the token of a link.
const tokenPrefix = "fdc_"

// Limits on how long a link is valid.
const (
	DefaultLife = 24 * time.Hour
	maxLife     = 30 * 24 * time.Hour
	minLife     = time.Minute
)

// Spec describes a link to be created.
type Spec struct {
	// Its Settings are merged into those of an existing connection. Its Credentials are not used.
	Connection   connection.Spec
	OtherAccount bool          // an existing connection may be changed to another account
	Life         time.Duration // how long it is valid; 0 is DefaultLife
	// Where the customer goes once the consent is over; "": nowhere. It must lie below one of the ReturnURLs,
	// or below TenantsURL.
	ReturnURL string
}

// Link describes a link to whoever opens it.
type Link struct {
	Tenant     string   // what customers know the tenant by
	Provider   string   // the adapter's name
	Title      string   // the adapter's title
	Connection string   // the connection's name
	Reconnects bool     // the connection already exists
	Email      string   // the account that was connected before; "": none, or unknown
	Free       bool     // the customer may choose another account than Email
	Allows     []string // descriptions of the scopes that the customer will be asked to grant
	SignIn     string   // scheme and host of the provider's authorization endpoint
	ReturnURL  string   // where the customer goes once the consent is over; "": nowhere
	Callback   string   // path of the redirect URI, relative to the base address of all callbacks
	ExpiresAt  time.Time
}

// linked is a link with everything that it leads to.
type linked struct {
	row     store.ConnectLink
	tenant  tenant.Tenant
	there   store.Connection // the existing connection; without ID if there is none yet
	adapter adapter.Adapter
	own     map[string]any // the link's settings
	values  adapter.Values // the values that the connection will have
	client  oauth.Client

	returnURL string // that of the link, while the configuration allows it
}

// Create creates a link with which a customer connects an account by consent, and returns its token, which
// cannot be read again. It fails if a consent could not succeed: the provider is unknown or does not use
// customers' consent, there is no OAuth client, or the settings are invalid.
func (d *Directory) Create(
	ctx context.Context, tenantName string, s Spec,
) (token string, made Link, err error) {
	if s.Life == 0 {
		s.Life = DefaultLife
	}
	if s.Life < minLife || s.Life > maxLife {
		return "", made, fault.InvalidField("expires", fmt.Sprintf("must be from %s to %s.", minLife, maxLife))
	}
	if err := d.checkReturn(s.ReturnURL); err != nil {
		return "", made, err
	}
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return "", made, err
	}
	c := s.Connection
	settings, err := connection.MarshalSettings(c.Settings)
	if err != nil {
		return "", made, err
	}
	row := store.ConnectLink{
		TenantID: owner.ID, Kind: string(c.Kind), Provider: c.Provider, Name: c.Name, Settings: settings,
		IsDefault: c.Default, OtherAccount: s.OtherAccount, ReturnURL: s.ReturnURL,
		CreatedAt: d.opts.Now().UTC(), ExpiresAt: d.opts.Now().UTC().Add(s.Life),
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
	token = secret.NewToken(tokenPrefix)
	hash, _ := secret.HashToken(token, tokenPrefix)
	row.Hash = hash[:]
	if err := d.sealer.SealLink(&row); err != nil {
		return "", made, err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionCreate, ConnectionID: row.ConnectionID, Subject: row.Name, Changed: c.Given(),
	})
	if err != nil {
		return "", made, err
	}
	creating := store.Creating(ctx, token, func(row store.ConnectLink) (Link, error) {
		l.row = row
		return l.shown(), nil
	})
	if err := d.opts.Store.CreateConnectLink(creating, row, audited...); err != nil {
		return "", made, err
	}
	l.row = row
	return token, l.shown(), nil
}

// Get returns the link of a token, if it is still valid. A mistyped token is refused without a query.
func (d *Directory) Get(ctx context.Context, token string) (Link, error) {
	l, err := d.goodLink(ctx, token)
	if err != nil {
		return Link{}, err
	}
	return l.shown(), nil
}

// goodLink returns the link of a token with everything that it leads to, if it is still valid.
func (d *Directory) goodLink(ctx context.Context, token string) (linked, error) {
	hash, ok := secret.HashToken(token, tokenPrefix)
	if !ok {
		return linked{}, linkUnknown()
	}
	return d.goodLinkOf(ctx, hash[:])
}

func (d *Directory) goodLinkOf(ctx context.Context, hash []byte) (linked, error) {
	row, err := d.opts.Store.ConnectLink(ctx, hash)
	if errors.Is(err, fault.NotFound) {
		return linked{}, linkUnknown()
	}
	if err != nil {
		return linked{}, err
	}
	genuine, err := d.sealer.Genuine(row)
	if err != nil { // the link may be valid
		d.opts.Log.ErrorContext(ctx, "a link cannot be checked, because the key set cannot be read; make it "+
			"readable for the user that the gateway runs as", "tenant_id", row.TenantID,
			"error", errors.Unwrap(err))
		return linked{}, err
	}
	if !genuine {
		d.opts.Log.ErrorContext(ctx, "a link is refused: its row was changed or inserted; run frontdesk doctor",
			"tenant_id", row.TenantID)
		return linked{}, linkUnknown()
	}
	l, err := d.lasting(ctx, row)
	return l, forLog(row, err)
}

// forLog returns an error about a link whose text for the log tells whose it is. What people are told is the same.
func forLog(row store.ConnectLink, err error) error {
	f := fault.From(err)
	switch {
	case f == nil:
		return nil
	case f.Err == nil:
		return f.Because(fmt.Errorf("%s, connection %s", row.TenantID, row.ConnectionID))
	}
	return f.Because(fmt.Errorf("%s, connection %s: %w", row.TenantID, row.ConnectionID, f.Err))
}

// lasting returns a genuine link with everything that it leads to, if it is still valid.
func (d *Directory) lasting(ctx context.Context, row store.ConnectLink) (linked, error) {
	if !row.UsedAt.IsZero() {
		return linked{}, fault.New(fault.NotFound, ReasonUsed,
			"This link has been used. It works for one connection.")
	}
	if !d.opts.Now().Before(row.ExpiresAt) {
		return linked{}, fault.New(fault.NotFound, ReasonExpired, "This link has expired.")
	}
	l, err := d.follow(ctx, row)
	switch f := fault.From(err); {
	case f == nil:
		return l, nil
	case errors.Is(f, fault.NotFound), errors.Is(f, fault.Conflict), errors.Is(f, fault.Invalid),
		f.Reason == ReasonNoConsent:
		return linked{}, fault.New(fault.NotFound, ReasonObsolete,
			"Something has changed since this link was made.").Because(err)
	}
	return linked{}, err
}

// follow finds what a link leads to. It fails if a consent could not lead to a working connection.
func (d *Directory) follow(ctx context.Context, row store.ConnectLink) (linked, error) {
	l := linked{row: row}
	if d.mayReturn(row.ReturnURL) { // the configuration may have changed
		l.returnURL = row.ReturnURL
	}
	var err error
	if l.tenant, err = tenant.ByID(ctx, d.opts.Store, row.TenantID); err != nil {
		return l, err
	}
	if l.there, err = d.connectionFor(ctx, row); err != nil {
		return l, err
	}
	now, err := connection.Of(l.there)
	if err != nil {
		return l, err
	}
	added, err := connection.Of(store.Connection{ID: "a link", Settings: row.Settings})
	if err != nil {
		return l, err
	}
	l.own = added.Settings
	l.values.Settings = connection.Merge(now.Settings, l.own)
	if l.there.ID != "" {
		if l.values.Credentials, err = d.sealer.OpenConnection(l.there); err != nil {
			return l, err
		}
	}
	kind := adapter.Kind(row.Kind)
	l.adapter, _ = d.opts.Providers.Registry.Find(kind, row.Provider)
	// Invalid settings are refused below.
	if chosen, err := l.adapter.With(l.values); err == nil {
		l.adapter = chosen
	}
	if l.adapter.Name != "" && !l.adapter.MayConsent() {
		return l, fault.Newf(fault.Unsupported, ReasonNoConsent,
			"Customers do not give consent at %s: its connections have credentials. Make one with connection add.",
			l.adapter.Title)
	}
	faults := d.opts.Providers.Check("", connection.Spec{
		Name: row.Name, Kind: kind, Provider: row.Provider,
		Settings: l.values.Settings, Credentials: l.values.Credentials,
	})
	if len(faults) > 0 {
		return l, fault.InvalidFields(faults...)
	}
	l.client, err = d.consentClient(l)
	return l, err
}

// connectionFor returns the connection that a link leads to, or a zero one if it does not exist yet.
func (d *Directory) connectionFor(ctx context.Context, row store.ConnectLink) (store.Connection, error) {
	all, err := d.opts.Store.Connections(ctx, row.TenantID)
	if err != nil {
		return store.Connection{}, err
	}
	at := slices.IndexFunc(all, func(c store.Connection) bool { return c.ID == row.ConnectionID })
	if at < 0 && row.Reconnects {
		return store.Connection{}, connection.NotFound(row.TenantID, row.Name)
	}
	if at < 0 {
		at = slices.IndexFunc(all, func(c store.Connection) bool { return c.Name == row.Name })
	}
	if at < 0 {
		return store.Connection{}, nil
	}
	if there := all[at]; there.Kind != row.Kind || there.Provider != row.Provider {
		return store.Connection{}, fault.Newf(fault.Conflict, tenant.ReasonNameTaken,
			"The tenant already has a connection %q to %s (%s). Choose another name.",
			there.Name, there.Provider, there.Kind)
	}
	return all[at], nil
}

// consentClient returns the OAuth client that a customer gives consent to.
func (d *Directory) consentClient(l linked) (oauth.Client, error) {
	name := l.adapter.Name
	grant, err := l.adapter.Auth.OAuth.Grant(l.values, d.opts.Providers.Operators[name].Addresses)
	if err != nil {
		return oauth.Client{}, err
	}
	if grant.Flow != adapter.Consent {
		return oauth.Client{}, fault.Newf(fault.Unsupported, ReasonNoConsent,
			"The connection %q gets its tokens by itself (%s), as its settings say: "+
				"there is nothing for a customer to consent to.", l.row.Name, grant.Flow)
	}
	operator := d.opts.Providers.Operators[name]
	if grant.ClientID == "" && (operator.ClientID == "" || operator.ClientSecret == "") {
		return oauth.Client{}, fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"There is no OAuth client that customers of %[2]s could give consent to. Set "+
				"providers.%[1]s.client_id and providers.%[1]s.client_secret in the configuration, or give "+
				"the connection a client of the tenant's own: connection add with the setting client_id and "+
				"the credential client_secret.",
			name, l.adapter.Title)
	}
	return d.opts.Providers.OAuthClient(l.adapter, l.values)
}

func (l linked) shown() Link {
	shown := Link{
		Tenant: l.tenant.Display(), Provider: l.row.Provider, Title: l.adapter.Title, Connection: l.row.Name,
		Reconnects: l.row.Reconnects || l.there.ID != "", Email: l.there.Email, Free: l.row.OtherAccount,
		ExpiresAt: l.row.ExpiresAt, SignIn: originOf(l.client.Grant.AuthURL),
		Callback: l.callback(), ReturnURL: l.returnURL,
	}
	for _, s := range l.client.Grant.Scopes {
		if s.Words != "" {
			shown.Allows = append(shown.Allows, s.Words)
		}
	}
	return shown
}

// callback returns the path of the link's redirect URI, relative to the base address of all callbacks.
func (l linked) callback() string { return callbackOf(l.tenant.ID, l.row.Provider, l.client.Grant) }

// callbackOf returns the callback path for a grant. If the OAuth client is the operator's, it is the
// provider's name: the redirect URI is registered, and the server is the provider's. A tenant's own client or
// server has its own path, which stays the same for as long as the server does. So if such a server redirects
// a customer to another server, that server's answer is not taken for its own.
func callbackOf(tenantID, provider string, g adapter.Grant) string {
	if g.ClientID == "" {
		return provider
	}
	parts := []string{tenantID, provider}
	if g.TenantAddress {
		parts = append(parts, g.AuthURL, g.TokenURL)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return adapter.Family(provider) + "/" + hex.EncodeToString(sum[:12])
}

// Callbacks returns the callback paths of a tenant's connections by name, relative to the base address of all
// callbacks. Connections that do not use customers' consent are left out.
func (d *Directory) Callbacks(ctx context.Context, tenantName string) (map[string]string, error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return nil, err
	}
	rows, err := d.opts.Store.Connections(ctx, owner.ID)
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

// consentGrant returns the grant of a connection; see connection.Providers.ConsentGrant.
func (d *Directory) consentGrant(row store.Connection) (g adapter.Grant, ok bool) {
	c, err := connection.Of(row)
	if err != nil {
		return g, false
	}
	credentials, err := d.sealer.OpenConnection(row)
	if err != nil {
		return g, false
	}
	return d.opts.Providers.ConsentGrant(connection.Spec{
		Kind: c.Kind, Provider: c.Provider, Settings: c.Settings, Credentials: credentials,
	})
}

// originOf returns the scheme and host of an address, or "" if the address is invalid.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"") {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// linkUnknown does not report whether a link is mistyped or never existed: that would only help an attacker.
func linkUnknown() error {
	return fault.New(fault.NotFound, ReasonUnknown,
		"There is no such link. It may be mistyped or incomplete.")
}
