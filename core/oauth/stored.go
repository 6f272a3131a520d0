package oauth

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// storedTokens are a connection's tokens in the form that is sealed and stored.
type storedTokens struct {
	Access      string    `json:"access,omitempty"`
	Refresh     string    `json:"refresh,omitempty"` // "": the refresh token of the credentials is used
	Issued      time.Time `json:"issued"`
	Expires     time.Time `json:"expires,omitzero"`
	Scopes      []string  `json:"scopes,omitempty"`
	Fingerprint string    `json:"since"`

	Instance string `json:"instance,omitempty"`
	Account  string `json:"account,omitempty"`
	// RefreshEnds is when the refresh token ends, if the provider says so.
	RefreshEnds time.Time `json:"refresh_ends,omitzero"`
	// Rotation is refreshStays or refreshRotates, depending on the last redeem; "" before the first one.
	Rotation string `json:"rotation,omitempty"`
}

// storedForm converts tokens that were just received into the form to store. Expires is converted to the
// clock of Options.Now, like all times here.
func (s *TokenSource) storedForm(t Tokens, fingerprint string) storedTokens {
	now := s.options.Now()
	stored := storedTokens{
		Access: t.Access, Refresh: t.Refresh, Issued: now, Scopes: t.Scopes, Fingerprint: fingerprint,
		Instance: t.Instance, Account: t.Account,
	}
	// A token that seems to have expired already is stored without expiry; the provider may refuse it.
	if left := time.Until(t.Expires); left > 0 {
		stored.Expires = now.Add(left)
	}
	if left := time.Until(t.RefreshEnds); left > 0 {
		stored.RefreshEnds = now.Add(left)
	}
	return stored
}

// unused is how long a refresh token is left unused if the life of its access token is not known. Salesforce ends one
// that nobody redeemed for 30 days ("Limit the Idle Refresh Token TTL in External Client Apps", Salesforce Help).
const unused = 10 * 24 * time.Hour

// refreshAt returns a time between 75 and 90 % of the token's life, or earlier if Run would be too late for a
// short-lived token. For a token without expiry, it returns a time before redeems, a refresh token, ends for want of
// use, or zero without one.
func (s *TokenSource) refreshAt(stored storedTokens, redeems string) time.Time {
	life := unused
	switch {
	case !stored.Expires.IsZero():
		life = stored.Expires.Sub(stored.Issued)
	case redeems == "":
		return time.Time{}
	}
	at := time.Duration(float64(life) * (earliest + span*rand.Float64()))
	return stored.Issued.Add(min(at, max(life-4*s.limits.Poll, life*3/5)))
}

// goodUntil returns the token's expiry less the time that a request needs to arrive, or zero without expiry.
func (stored storedTokens) goodUntil() time.Time {
	if stored.Expires.IsZero() {
		return time.Time{}
	}
	return stored.Expires.Add(-min(5*time.Second, stored.Expires.Sub(stored.Issued)/20))
}

func (stored storedTokens) usable(now time.Time, refused string) bool {
	until := stored.goodUntil()
	return stored.Access != "" && stored.Access != refused && (until.IsZero() || now.Before(until))
}

func (s *TokenSource) seal(row store.Tokens, stored storedTokens) ([]byte, error) {
	plain, err := json.Marshal(stored)
	if err != nil {
		return nil, fault.From(err)
	}
	defer clear(plain)
	return s.options.Vault.SealTokens(row.TenantID, row.ConnectionID, plain)
}

func (s *TokenSource) unseal(row store.Tokens) (stored storedTokens, err error) {
	plain, err := s.options.Vault.UnsealTokens(row.TenantID, row.ConnectionID, row.Sealed)
	if err != nil {
		return storedTokens{}, err
	}
	defer clear(plain)
	if json.Unmarshal(plain, &stored) != nil { // the decoder's error is dropped: it may quote the input
		return storedTokens{}, fault.New(fault.Unavailable, vault.ReasonUnreadable,
			"The stored tokens of this connection cannot be read. Connect the account again.")
	}
	return stored, nil
}

// hidden is printed in place of values that hold secrets, whatever the verb.
const hidden = "(secret)"

// Format implements fmt.Formatter.
func (t Tokens) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (t Tokens) LogValue() slog.Value { return slog.StringValue(hidden) }

// Format implements fmt.Formatter.
func (c Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "client of "+c.Provider) }

// LogValue implements slog.LogValuer.
func (c Client) LogValue() slog.Value { return slog.StringValue("client of " + c.Provider) }

// Format implements fmt.Formatter.
func (s Credentials) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (s Credentials) LogValue() slog.Value { return slog.StringValue(hidden) }

// Format implements fmt.Formatter.
func (stored storedTokens) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }
