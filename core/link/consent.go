package link

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

const (
	consentLife    = 10 * time.Minute // from the click on our page to the provider's response
	consentTimeout = 20 * time.Second // for the requests to the provider once its response has arrived
	keepTimeout    = 15 * time.Second // for storing the tokens and the connection
	claimLife      = time.Minute      // longer than keepTimeout, so that nothing is stored after a claim ends

	// finishAttempts is how often a connection is read and written if it is changed concurrently.
	finishAttempts = 20

	// secretLength is the length of a state and of the browser's secret: 255 bits.
	secretLength = 43
	// maxCode bounds the length of a code; Microsoft's codes are longer than 1,000 characters.
	maxCode = 8 << 10
)

// Begun is a consent that has begun.
type Begun struct {
	URL     string // where to send the customer
	Browser string // a secret that the browser must present when it comes back
	Name    string // the name under which the browser keeps the secret: ConsentName of the state
	Life    time.Duration
}

// Answer is a provider's authorization response, as the customer's browser brings it back.
type Answer struct {
	Callback string     // the path of the request, relative to the base address of all callbacks
	Query    url.Values // code, state, iss, error
	Browser  string     // the browser's secret of BeginConsent; "": none
}

// Consented is the result of a consent. If the consent failed, only the fields known by then are set.
type Consented struct {
	Link       Link   // zero until the browser has proved that it began the consent
	Token      string // of the link, for the way back; "" as long as Link is zero
	Connection connection.Connection
	Email      string   // of the account
	Name       string   // of the account; may be ""
	Calendar   string   // name of the account's default calendar; "" for other kinds
	Missing    []string // descriptions of the scopes that the customer did not grant
}

// ConsentName returns the name under which a browser keeps the secret of the consent with the given state.
// Each consent has its own name, so that two windows do not interfere with each other.
func ConsentName(state string) string {
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:8])
}

// BeginConsent begins a consent for the link with the given token, which must be valid. The provider sends
// the customer back to the address callbacks with the link's callback appended.
func (d *Directory) BeginConsent(ctx context.Context, token, callbacks string) (Begun, error) {
	l, err := d.goodLink(ctx, token)
	if err != nil {
		return Begun{}, err
	}
	state, browser := secret.Text(secretLength), secret.Text(secretLength)
	verifier, hash := oauth.NewVerifier(), hashOf(state)
	secrets := map[string]string{"verifier": verifier, "token": token}
	sealed, err := d.opts.Vault.Seal(l.tenant.ID, consentID(hash), secrets)
	if err != nil {
		return Begun{}, err
	}
	redirect := callbacks + l.callback()
	err = d.opts.Store.BeginConsent(ctx, store.Consent{
		Hash: hash, LinkHash: l.row.Hash, BrowserHash: hashOf(browser), Sealed: sealed, Redirect: redirect,
		ExpiresAt: d.opts.Now().UTC().Add(consentLife),
	})
	if errors.Is(err, fault.NotFound) { // the link was deleted meanwhile
		return Begun{}, linkUnknown()
	}
	if err != nil {
		return Begun{}, err
	}
	return Begun{
		URL:     l.hinting().AuthCodeURL(redirect, state, verifier),
		Browser: browser, Name: ConsentName(state), Life: consentLife,
	}, nil
}

// hinting returns the client with the expected account as the login hint, which spares the customer choosing
// an account (OpenID Connect Core section 3.1.2.1; Google and Microsoft accept it in plain OAuth as well).
func (l linked) hinting() oauth.Client {
	c := l.client
	if l.there.Email == "" || l.row.OtherAccount {
		return c
	}
	ask := map[string]string{}
	maps.Copy(ask, c.Grant.Ask)
	ask["login_hint"] = l.there.Email
	c.Grant.Ask = ask
	return c
}

// FinishConsent processes a provider's answer, and creates or reconnects the connection of the link. The
// consent ends even if FinishConsent fails; the link stays valid until it has led to a connection. Nothing is
// stored until the provider has reported whose account it is.
func (d *Directory) FinishConsent(ctx context.Context, a Answer) (Consented, error) {
	taken, l, err := d.takeConsent(ctx, a)
	if err != nil {
		return Consented{}, err
	}
	// From here on, this is known to be the browser that began the consent.
	done, err := d.finish(ctx, a, taken, l)
	return done, forLog(l.row, err)
}

// finish is FinishConsent for a consent that was taken, with its link.
func (d *Directory) finish(ctx context.Context, a Answer, taken store.Consent, l linked) (Consented, error) {
	done := Consented{Link: l.shown()}
	secrets, err := d.opts.Vault.Unseal(l.tenant.ID, consentID(taken.Hash), taken.Sealed)
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
		done.Missing = append(done.Missing, cmp.Or(s.Words, s.Name))
	}
	if len(done.Missing) > 0 {
		return done, fault.New(fault.Forbidden, ReasonScopesMissing,
			"The customer did not grant everything that the connection needs.")
	}
	if tokens.Refresh == "" {
		return done, fault.Newf(fault.Unsupported, ReasonNotLasting,
			"%s gave access for a short time only, without a refresh token.", l.adapter.Title)
	}
	if err := d.whose(asking, l, &tokens, &done); err != nil {
		return done, err
	}
	done.Connection, err = d.connect(ctx, l, done.Email, tokens)
	return done, err
}

// takeConsent ends the consent that an answer is for, and returns it with its link. The reason for a refusal
// is only logged: an attacker who presents someone else's state learns nothing.
func (d *Directory) takeConsent(ctx context.Context, a Answer) (store.Consent, linked, error) {
	states := a.Query["state"]
	if len(states) > 1 {
		for _, state := range states[:2] { // states that were passed around like this are no longer valid
			if _, err := d.opts.Store.TakeConsent(ctx, hashOf(state)); err != nil && !errors.Is(err, fault.NotFound) {
				return store.Consent{}, linked{}, err
			}
		}
		return store.Consent{}, linked{}, notThisConsent("the answer has several states")
	}
	if len(states) == 0 || len(states[0]) != secretLength {
		return store.Consent{}, linked{}, notThisConsent("the answer has no state, or none of ours")
	}
	taken, err := d.opts.Store.TakeConsent(ctx, hashOf(states[0]))
	if errors.Is(err, fault.NotFound) {
		return taken, linked{}, notThisConsent("the state is unknown, or was used before")
	}
	if err != nil {
		return taken, linked{}, err
	}
	if !d.opts.Now().Before(taken.ExpiresAt) {
		return taken, linked{}, notThisConsent("the state has expired")
	}
	if subtle.ConstantTimeCompare(hashOf(a.Browser), taken.BrowserHash) != 1 {
		return taken, linked{}, notThisConsent("it was begun in another browser")
	}
	l, err := d.goodLinkOf(ctx, taken.LinkHash)
	if err != nil {
		return taken, l, err
	}
	// RFC 9700 section 4.4.2.2. The link's client may have changed since the consent began.
	if a.Callback != l.callback() || !strings.HasSuffix(taken.Redirect, "/"+a.Callback) {
		return taken, l, notThisConsent("it was begun with another authorization server or client")
	}
	return taken, l, nil
}

// codeIn returns the code of a provider's answer (RFC 6749 section 4.1.2). It returns an error if the answer
// reports one, is malformed, or comes from another issuer.
func (l linked) codeIn(query url.Values) (string, error) {
	for _, name := range []string{"code", "iss", "error", "error_description", "error_uri"} {
		if len(query[name]) > 1 { // section 3.1 forbids it
			return "", malformed("the parameter " + name + " is there twice")
		}
	}
	// RFC 9207 section 2.4, against mixing up authorization servers.
	if issuer := l.client.Grant.Issuer; query.Has("iss") && issuer != "" && query.Get("iss") != issuer {
		return "", fault.Newf(fault.Forbidden, ReasonConsentIssuer,
			"The answer did not come from %s.", l.adapter.Title)
	}
	switch refusal := query.Get("error"); {
	case refusal == "access_denied":
		return "", fault.New(fault.Forbidden, ReasonConsentDeclined, "The customer declined.")
	case refusal == "server_error", refusal == "temporarily_unavailable":
		return "", fault.Newf(fault.Unavailable, fault.ReasonProviderUnavailable,
			"%s is not available at the moment.", l.adapter.Title)
	case query.Has("error"):
		return "", fault.Newf(fault.Forbidden, ReasonConsentFailed,
			"%s did not accept the consent.", l.adapter.Title).
			With("oauth_error", errorCode(refusal))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxCode {
		return "", malformed("there is no code, or an endless one")
	}
	return code, nil
}

// errorCode returns an error code in a form that is safe to log: the RFCs' codes are letters and underscores.
func errorCode(code string) string {
	if len(code) > 64 ||
		strings.ContainsFunc(code, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		return "none of the known ones"
	}
	return code
}

// whose asks the provider for the account's details, using only the new tokens, and sets them in these and in
// done.
func (d *Directory) whose(ctx context.Context, l linked, tokens *oauth.Tokens, done *Consented) error {
	c := connection.Connection{
		ID: l.connectionID(), TenantID: l.tenant.ID, Provider: l.adapter.Name, Settings: l.values.Settings,
	}
	seen, env := d.opts.Providers.Trial(l.adapter, c, l.values.Credentials, *tokens, l.tenant.Zone(), d.opts.Now)
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
		done.Email, done.Name, tokens.Account = account.Email, account.Name, account.Ref
		return err
	default:
		driver, err := l.adapter.OpenTelephony(ctx, seen, env)
		if err != nil {
			return err
		}
		account, err := driver.Account(ctx)
		done.Name, tokens.Account = account.Name, account.Ref
		return err
	}
}

func (l linked) connectionID() string {
	return cmp.Or(l.there.ID, l.row.ConnectionID)
}

// connect stores the connection and its tokens, even if the customer has left meanwhile. The order ensures
// that a connection is not reported as working before it works: first the connection is stored as one that
// awaits consent, then its tokens are stored, then it is marked as working and the link as used. A claim on
// the link ensures that only one consent for a connection is stored at a time.
func (d *Directory) connect(
	ctx context.Context, l linked, email string, tokens oauth.Tokens,
) (connection.Connection, error) {
	ctx, cancel := context.WithTimeout(audit.By(context.WithoutCancel(ctx), audit.Consent), keepTimeout)
	defer cancel()
	claim := make([]byte, 16)
	rand.Read(claim)
	now := d.opts.Now().UTC()
	if err := d.opts.Store.ClaimConnectLink(ctx, l.row.Hash, claim, now, now.Add(claimLife)); err != nil {
		return connection.Connection{}, d.claimFailure(ctx, l.row.Hash, err)
	}
	made, err := d.connectClaimed(ctx, l.row.Hash, claim, email, tokens)
	if err != nil {
		if failed := d.opts.Store.ReleaseConnectLink(ctx, l.row.Hash, claim); failed != nil {
			d.opts.Log.WarnContext(ctx, "a link could not be released; it works again in a minute", "error", failed)
		}
		return connection.Connection{}, err
	}
	d.opts.Changed()
	d.opts.Log.InfoContext(ctx, "a customer connected an account",
		"tenant_id", made.TenantID, "connection", made.ID, "provider", made.Provider)
	return made, nil
}

// claimFailure returns the reason why a link could not be claimed.
func (d *Directory) claimFailure(ctx context.Context, hash []byte, err error) error {
	if !errors.Is(err, fault.Conflict) {
		return err
	}
	if _, gone := d.goodLinkOf(ctx, hash); gone != nil {
		return gone
	}
	return fault.New(fault.Conflict, ReasonBusy, "Another consent for this connection is being finished.")
}

// connectClaimed is connect for the holder of the claim. It reads the link and its connection again, as they
// may have changed during the requests to the provider.
func (d *Directory) connectClaimed(
	ctx context.Context, linkHash, claim []byte, email string, tokens oauth.Tokens,
) (connection.Connection, error) {
	l, err := d.goodLinkOf(ctx, linkHash)
	if err != nil {
		return connection.Connection{}, err
	}
	if err := d.checkAccount(ctx, l, email, tokens.Account); err != nil {
		return connection.Connection{}, err
	}
	err = d.opts.Connections.AwaitConsent(ctx, l.tenant, l.there, l.row.ConnectionID, l.spec(), email)
	if err != nil {
		return connection.Connection{}, err
	}
	id, grantID := l.connectionID(), connection.GrantID(l.client.Grant, l.values)
	if err := d.opts.Tokens.Keep(ctx, l.tenant.ID, id, grantID, tokens); err != nil {
		return connection.Connection{}, err
	}
	for attempt := 1; ; attempt++ {
		row, err := d.opts.Store.Connection(ctx, l.tenant.ID, id)
		if err != nil {
			return connection.Connection{}, err
		}
		row.Email = email
		audited, err := d.opts.Audit.Change(ctx, l.tenant.ID, l.tenant.Name, audit.Entry{
			Action: actionConnect, ConnectionID: id, Subject: row.Name,
		})
		if err != nil {
			return connection.Connection{}, err
		}
		err = d.opts.Store.FinishConnectLink(ctx, linkHash, claim, d.opts.Now().UTC(), row,
			row.Revision, audited...)
		if err == nil {
			row.Status, row.Revision = string(connection.StatusOK), row.Revision+1
			return connection.Of(row)
		}
		if fault.From(err).Reason != fault.ReasonChangedMeanwhile || attempt == finishAttempts {
			return connection.Connection{}, err
		}
	}
}

// checkAccount returns a fault if a consent is for another account than the connected one and the link does not
// allow that. The same person may have several accounts at a CRM, so its own id counts besides the address.
func (d *Directory) checkAccount(ctx context.Context, l linked, email, ref string) error {
	if l.there.ID == "" || l.row.OtherAccount {
		return nil
	}
	known, err := d.opts.Tokens.Account(ctx, l.tenant.ID, l.there.ID)
	if err != nil {
		return err
	}
	if l.there.Email != "" && !strings.EqualFold(l.there.Email, email) || known != "" && known != ref {
		return fault.New(fault.Conflict, ReasonOtherAccount,
			"The consent is for a different account from the connected one.")
	}
	return nil
}

// spec returns the connection that the link creates, or the changes to the existing one.
func (l linked) spec() connection.Spec {
	return connection.Spec{
		Name: l.row.Name, Kind: adapter.Kind(l.row.Kind), Provider: l.row.Provider,
		Default: l.row.IsDefault, Settings: l.own,
	}
}

// consentID returns the id that the secrets of a consent are sealed for, instead of a connection id.
func consentID(hash []byte) string { return "consent " + hex.EncodeToString(hash) }

// hashOf returns the hash under which a state or a browser's secret is stored. They are random enough for a
// plain hash; see secret.Hash.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func notThisConsent(why string) *fault.Error {
	return fault.New(fault.Forbidden, ReasonNotThisConsent,
		"This does not answer a consent that is in progress in this browser.").Because(errors.New(why))
}

func malformed(why string) error {
	return fault.New(fault.Forbidden, ReasonConsentMalformed,
		"The provider's answer cannot be read.").Because(errors.New(why))
}
