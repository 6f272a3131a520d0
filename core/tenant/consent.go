package tenant

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

const (
	consentLife    = 10 * time.Minute // from the click on our page to the provider's answer
	consentTimeout = 20 * time.Second // of the provider, once it has answered
	keepTimeout    = 15 * time.Second // of storing what it gave
	claimLife      = time.Minute      // longer than keepTimeout, so that nobody who lost a link still stores

	// finishAttempts is how often a connection that others change at the same time is read again.
	finishAttempts = 20

	// secretLength is that of a state and of what is put into the browser: 255 bits.
	secretLength = 43
	// maxCode bounds what a provider sends as a code; Microsoft's are beyond 1,000 characters.
	maxCode = 8 << 10
)

// tokenStore stores the tokens that a consent gave; *oauth.TokenSource is one.
type tokenStore interface {
	Keep(ctx context.Context, tenantID, connectionID, since string, t oauth.Tokens) error
}

// BegunConsent is a consent that is under way.
type BegunConsent struct {
	URL     string // where the customer is to be sent
	Browser string // a secret that the browser must show when it comes back, under the name that ConsentName tells
	Name    string // ConsentName of its state
	Life    time.Duration
}

// ConsentAnswer is what a provider sent a customer's browser back with.
type ConsentAnswer struct {
	Callback string     // what of the address it came to is behind that of all callbacks
	Query    url.Values // code, state, iss, error
	Browser  string     // what BeginConsent put into the browser; "" nothing
}

// Consented is what came of a consent, as far as it got.
type Consented struct {
	Link       ConnectLink // zero until the browser has shown that it began the consent
	Token      string      // of the link, for the way back; "" as long
	Connection Connection
	Email      string   // of the account
	Name       string   // of the account; may be ""
	Calendar   string   // the calendar that is meant when none is named; "" for other kinds
	Missing    []string // what the customer did not allow, in words
}

// ConsentName is the name under which a browser keeps what shows that it began the consent of a state: each
// has its own, so that two windows do not disturb each other.
func ConsentName(state string) string {
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:8])
}

// BeginConsent begins a consent with a link that is good. The provider is to send the customer back to the
// address that is callbacks with the link's own attached.
func (d *Directory) BeginConsent(ctx context.Context, token, callbacks string) (BegunConsent, error) {
	l, err := d.goodLink(ctx, token)
	if err != nil {
		return BegunConsent{}, err
	}
	state, browser := secret.Text(secretLength), secret.Text(secretLength)
	verifier, hash := oauth.NewVerifier(), hashOf(state)
	sealed, err := d.vault.Seal(l.tenant.ID, consentID(hash), map[string]string{"verifier": verifier, "token": token})
	if err != nil {
		return BegunConsent{}, err
	}
	now, redirect := d.now().UTC(), callbacks+l.callback()
	err = d.store.BeginConsent(ctx, store.Consent{
		Hash: hash, LinkHash: l.row.Hash, BrowserHash: hashOf(browser), Sealed: sealed, Redirect: redirect, ExpiresAt: now.Add(consentLife),
	}, now)
	if errors.Is(err, fault.NotFound) { // deleted in between
		return BegunConsent{}, linkUnknown()
	}
	if err != nil {
		return BegunConsent{}, err
	}
	return BegunConsent{
		URL: l.hinting().AuthCodeURL(redirect, state, verifier), Browser: browser, Name: ConsentName(state), Life: consentLife,
	}, nil
}

// hinting returns the client with the address of the account that is expected, which spares its owner
// choosing (OpenID Connect Core section 3.1.2.1; Google and Microsoft know it also in plain OAuth).
func (l linked) hinting() oauth.Client {
	c := l.client
	if l.there.Email == "" || l.row.OtherAccount {
		return c
	}
	c.Grant.Ask = maps.Clone(c.Grant.Ask)
	if c.Grant.Ask == nil {
		c.Grant.Ask = map[string]string{}
	}
	c.Grant.Ask["login_hint"] = l.there.Email
	return c
}

// FinishConsent takes what a provider answered, and makes or mends the connection of the link. Whatever comes
// of it, the consent is no longer under way; the link stays good until it has led to a connection. Nothing is
// stored until the provider has told whose account it is.
func (d *Directory) FinishConsent(ctx context.Context, a ConsentAnswer) (Consented, error) {
	taken, l, err := d.takeConsent(ctx, a)
	if err != nil {
		return Consented{}, err
	}
	// From here on the browser is the one that began it.
	done := Consented{Link: l.shown()}
	secrets, err := d.vault.Unseal(l.tenant.ID, consentID(taken.Hash), taken.Sealed)
	if err != nil {
		return Consented{}, notThisConsent("what was sealed with it cannot be opened").Because(err)
	}
	done.Token = secrets["token"]
	code, err := l.codeIn(a.Query)
	if err != nil {
		return done, err
	}
	asking, cancel := context.WithTimeout(ctx, consentTimeout)
	defer cancel()
	tokens, err := l.client.Exchange(asking, code, taken.Redirect, secrets["verifier"])
	if err != nil {
		return done, err
	}
	for _, s := range l.client.Missing(tokens.Scopes) {
		words := s.Words
		if words == "" {
			words = s.Name
		}
		done.Missing = append(done.Missing, words)
	}
	if len(done.Missing) > 0 {
		return done, fault.New(fault.Forbidden, ReasonScopesMissing,
			"The customer did not grant everything that the connection needs.")
	}
	if tokens.Refresh == "" {
		return done, fault.Newf(fault.Unsupported, ReasonNotLasting,
			"%s gave access for a short time only, without a refresh token.", l.adapter.Title)
	}
	if err := d.whose(asking, l, tokens, &done); err != nil {
		return done, err
	}
	done.Connection, err = d.connect(ctx, l, done.Email, tokens)
	return done, err
}

// takeConsent ends the consent that an answer is for, and answers it with its link. What it is refused for is
// told in the log only: to whoever brings a state that is not his, all of it is the same.
func (d *Directory) takeConsent(ctx context.Context, a ConsentAnswer) (store.Consent, linked, error) {
	states := a.Query["state"]
	if len(states) > 1 {
		for _, state := range states[:2] { // sent about like this, they are not good any more
			if _, err := d.store.TakeConsent(ctx, hashOf(state)); err != nil && !errors.Is(err, fault.NotFound) {
				return store.Consent{}, linked{}, err
			}
		}
		return store.Consent{}, linked{}, notThisConsent("the answer has several states")
	}
	if len(states) == 0 || len(states[0]) != secretLength {
		return store.Consent{}, linked{}, notThisConsent("the answer has no state, or none of ours")
	}
	taken, err := d.store.TakeConsent(ctx, hashOf(states[0]))
	if errors.Is(err, fault.NotFound) {
		return taken, linked{}, notThisConsent("the state is unknown, or was used before")
	}
	if err != nil {
		return taken, linked{}, err
	}
	if !d.now().Before(taken.ExpiresAt) {
		return taken, linked{}, notThisConsent("the state has expired")
	}
	if subtle.ConstantTimeCompare(hashOf(a.Browser), taken.BrowserHash) != 1 {
		return taken, linked{}, notThisConsent("it was begun in another browser")
	}
	l, err := d.goodLinkOf(ctx, taken.LinkHash)
	if err != nil {
		return taken, l, err
	}
	// RFC 9700 section 4.4.2.2. What the link leads to may have changed since the consent was begun.
	if a.Callback != l.callback() || !strings.HasSuffix(taken.Redirect, "/"+a.Callback) {
		return taken, l, notThisConsent("it was begun with another authorization server or client")
	}
	return taken, l, nil
}

// codeIn returns the code of a provider's answer (RFC 6749 section 4.1.2) after looking whether it is one,
// and from that provider.
func (l linked) codeIn(query url.Values) (string, error) {
	for _, name := range []string{"code", "iss", "error", "error_description", "error_uri"} {
		if len(query[name]) > 1 { // section 3.1 forbids it
			return "", malformed("the parameter " + name + " is there twice")
		}
	}
	// RFC 9207 section 2.4, against mixing up authorization servers.
	if issuer := l.client.Grant.Issuer; query.Has("iss") && issuer != "" && query.Get("iss") != issuer {
		return "", fault.Newf(fault.Forbidden, ReasonConsentIssuer, "The answer did not come from %s.", l.adapter.Title)
	}
	switch refusal := query.Get("error"); {
	case refusal == "access_denied":
		return "", fault.New(fault.Forbidden, ReasonConsentDeclined, "The customer declined.")
	case refusal == "server_error", refusal == "temporarily_unavailable":
		return "", fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable, "%s is not available at the moment.", l.adapter.Title)
	case query.Has("error"):
		return "", fault.Newf(fault.Forbidden, ReasonConsentFailed, "%s did not accept the consent.", l.adapter.Title).With("oauth_error", errorCode(refusal))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCode {
		return "", malformed("there is no code, or an endless one")
	}
	return code, nil
}

// errorCode is what may be logged of an error's code: the RFCs' codes are letters and underscores.
func errorCode(code string) string {
	if len(code) > 64 || strings.ContainsFunc(code, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		return "none of the known ones"
	}
	return code
}

// whose asks the provider, with nothing but the new tokens, whose account it is and what is in it.
func (d *Directory) whose(ctx context.Context, l linked, tokens oauth.Tokens, done *Consented) error {
	env := adapter.Environment{
		TenantID: l.tenant.ID, ConnectionID: l.connectionID(), Zone: zoneOf(l.tenant), Now: d.now, Addresses: d.operators[l.adapter.Name].Addresses,
	}
	env.Instance = func(context.Context) (string, error) { return tokens.Instance, nil }
	env.HTTP = d.pool.Client(d.clientOptions(l.adapter, Connection{ID: env.ConnectionID, Provider: l.adapter.Name, Settings: l.settings}, authority{
		authorise: func(r *http.Request) error { r.Header.Set("Authorization", bearer+tokens.Access); return nil },
	}))
	seen := adapter.Values{Settings: l.settings, Credentials: allWithheld(l.values.Credentials)}
	switch l.adapter.Kind {
	case adapter.KindCalendar:
		driver, err := l.adapter.OpenCalendar(ctx, seen, env)
		if err != nil {
			return err
		}
		account, err := driver.Account(ctx)
		if err != nil {
			return err
		}
		done.Email, done.Name = account.Email, account.Name
		calendars, err := driver.Calendars(ctx)
		for _, c := range calendars {
			if c.IsDefault {
				done.Calendar = c.Name
			}
		}
		return err
	case adapter.KindCRM:
		driver, err := l.adapter.OpenCRM(ctx, seen, env)
		if err != nil {
			return err
		}
		account, err := driver.Account(ctx)
		done.Email, done.Name = account.Email, account.Name
		return err
	default:
		driver, err := l.adapter.OpenTelephony(ctx, seen, env)
		if err != nil {
			return err
		}
		account, err := driver.Account(ctx)
		done.Name = account.Name
		return err
	}
}

func (l linked) owner() store.Tenant { return store.Tenant{ID: l.tenant.ID, Name: l.tenant.Name} }

func (l linked) connectionID() string {
	if l.there.ID != "" {
		return l.there.ID
	}
	return l.row.ConnectionID
}

// connect stores what a consent gave. The customer may have left meanwhile; that does not end it. The order
// keeps anything from claiming to work that does not: the connection is first one that is to be reconnected,
// then its tokens are kept, and with its being in order the link is used up. Of several consents with one
// link one gets here at a time.
func (d *Directory) connect(ctx context.Context, l linked, email string, tokens oauth.Tokens) (Connection, error) {
	ctx, cancel := context.WithTimeout(audit.By(context.WithoutCancel(ctx), audit.Consent), keepTimeout)
	defer cancel()
	claim := make([]byte, 16)
	rand.Read(claim)
	now := d.now().UTC()
	if err := d.store.ClaimConnectLink(ctx, l.row.Hash, claim, now, now.Add(claimLife)); err != nil {
		return Connection{}, d.claimed(ctx, l.row.Hash, err)
	}
	made, err := d.connectClaimed(ctx, l.row.Hash, claim, email, tokens)
	if err != nil {
		if failed := d.store.ReleaseConnectLink(ctx, l.row.Hash, claim); failed != nil {
			d.log.WarnContext(ctx, "a link could not be released; it works again in a minute", "error", failed)
		}
		return Connection{}, err
	}
	d.callers.forget()
	d.log.InfoContext(ctx, "a customer connected an account", "tenant", made.TenantID, "connection", made.ID, "provider", made.Provider)
	return made, nil
}

// claimed says why a link could not be claimed.
func (d *Directory) claimed(ctx context.Context, hash []byte, err error) error {
	if !errors.Is(err, fault.Conflict) {
		return err
	}
	if _, gone := d.goodLinkOf(ctx, hash); gone != nil {
		return gone
	}
	return fault.New(fault.Conflict, ReasonLinkBusy, "Another consent for this connection is being finished.")
}

// connectClaimed is connect for who holds the claim. What the link leads to is looked at once more: an answer
// of the provider is a while ago.
func (d *Directory) connectClaimed(ctx context.Context, linkHash, claim []byte, email string, tokens oauth.Tokens) (Connection, error) {
	l, err := d.goodLinkOf(ctx, linkHash)
	if err != nil {
		return Connection{}, err
	}
	if known := l.there.Email; known != "" && !strings.EqualFold(known, email) && !l.row.OtherAccount {
		return Connection{}, fault.New(fault.Conflict, ReasonOtherAccount,
			"The consent is for a different account from the connected one.")
	}
	if err := d.prepare(ctx, l, email); err != nil {
		return Connection{}, err
	}
	id := l.connectionID()
	if err := d.consented.Keep(ctx, l.tenant.ID, id, grantID(l.client.Grant, l.values), tokens); err != nil {
		return Connection{}, err
	}
	for attempt := 1; ; attempt++ {
		row, err := d.store.Connection(ctx, l.tenant.ID, id)
		if err != nil {
			return Connection{}, err
		}
		row.Email = email
		audited, err := d.audited(ctx, l.owner(), audit.Entry{Action: connectAccount, ConnectionID: id, Subject: row.Name})
		if err != nil {
			return Connection{}, err
		}
		err = d.store.FinishConnectLink(ctx, linkHash, claim, d.now().UTC(), row, row.Revision, audited...)
		if err == nil {
			row.Status, row.Revision = string(StatusOK), row.Revision+1
			return connectionOf(row)
		}
		if fault.From(err).Reason != fault.ReasonChangedMeanwhile || attempt == finishAttempts {
			return Connection{}, err
		}
	}
}

// prepare makes the connection of a link, or gives it the link's settings, as one of that account that is to
// be reconnected.
func (d *Directory) prepare(ctx context.Context, l linked, email string) error {
	defer d.callers.forget()
	if l.there.ID == "" {
		settings, err := settingsJSON(l.settings)
		if err != nil {
			return err
		}
		audited, err := d.audited(ctx, l.owner(), audit.Entry{
			Action: addConnection, ConnectionID: l.row.ConnectionID, Subject: l.row.Name, Changed: namesIn(NewConnection{Settings: l.settings, Default: l.row.IsDefault}),
		})
		if err != nil {
			return err
		}
		row := store.Connection{
			ID: l.row.ConnectionID, TenantID: l.tenant.ID, Name: l.row.Name, Kind: l.row.Kind, Provider: l.row.Provider, IsDefault: l.row.IsDefault,
			Settings: settings, Status: string(StatusReconnectRequired), Email: email, CreatedAt: d.now().UTC(),
		}
		if err := d.sealConnection(&row, nil); err != nil {
			return err
		}
		return d.store.CreateConnection(ctx, row, audited...)
	}
	_, err := d.changeConnection(ctx, l.there, d.auditedChange(l.owner(), ConnectionChange{}), func(row *store.Connection) error {
		now, err := connectionOf(*row)
		if err != nil {
			return err
		}
		plain, err := d.openConnection(*row)
		if err != nil {
			return err
		}
		all, err := merged(now.Settings, l.row)
		if err != nil {
			return err
		}
		row.Status, row.Email, row.IsDefault = string(StatusReconnectRequired), email, row.IsDefault || l.row.IsDefault
		settings, err := settingsJSON(all)
		if err != nil || bytes.Equal(settings, row.Settings) {
			return err
		}
		row.Settings = settings
		return d.sealConnection(row, plain)
	})
	return err
}

// consentID is what the secrets of a consent are sealed for, in place of a connection.
func consentID(hash []byte) string { return "consent " + hex.EncodeToString(hash) }

// hashOf is what is stored of a secret that somebody shows. They are random enough for a plain hash; see
// secret.Hash.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func notThisConsent(why string) *fault.Error {
	return fault.New(fault.Forbidden, ReasonNotThisConsent,
		"This does not answer a consent that is in progress in this browser.").Because(errors.New(why))
}

func malformed(why string) error {
	return fault.New(fault.Forbidden, ReasonConsentMalformed, "The provider's answer cannot be read.").Because(errors.New(why))
}
