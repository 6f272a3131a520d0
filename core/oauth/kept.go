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

// kept is what is sealed of a connection's tokens.
type kept struct {
	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"` // "": the one among the credentials
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"`
	Since   string    `json:"since"`

	Instance string `json:"instance,omitempty"`
	// Rotation is what the last redeem has shown of refresh tokens: whether they stay; "" before the first.
	Rotation string `json:"rotation,omitempty"`
}

// keptOf makes the kept form of what was just given. Expires is counted by our clock from now, like all of our times.
func (k *Keeper) keptOf(t Tokens, since string) kept {
	now := k.options.Now()
	had := kept{Access: t.Access, Refresh: t.Refresh, Issued: now, Scopes: t.Scopes, Since: since, Instance: t.Instance}
	if left := time.Until(t.Expires); left > 0 { // less than nothing tells nothing: a refusal will
		had.Expires = now.Add(left)
	}
	return had
}

// refreshAt is a point between 75 and 90 % of the token's life, but where there is room for it early enough that whoever
// looks for what is due gets there in time; zero for one without end.
func (k *Keeper) refreshAt(had kept) time.Time {
	if had.Expires.IsZero() {
		return time.Time{}
	}
	life := had.Expires.Sub(had.Issued)
	at := time.Duration(float64(life) * (earliest + span*rand.Float64()))
	return had.Issued.Add(min(at, max(life-4*k.limits.Poll, life*3/5)))
}

// goodUntil leaves time for a request to arrive; zero for a token without end.
func (had kept) goodUntil() time.Time {
	if had.Expires.IsZero() {
		return time.Time{}
	}
	return had.Expires.Add(-min(5*time.Second, had.Expires.Sub(had.Issued)/20))
}

func (had kept) usable(now time.Time, refused string) bool {
	until := had.goodUntil()
	return had.Access != "" && had.Access != refused && (until.IsZero() || now.Before(until))
}

func (k *Keeper) seal(row store.Tokens, had kept) ([]byte, error) {
	plain, err := json.Marshal(had)
	if err != nil {
		return nil, fault.From(err)
	}
	defer clear(plain)
	return k.options.Vault.SealTokens(row.TenantID, row.ConnectionID, plain)
}

func (k *Keeper) unseal(row store.Tokens) (had kept, err error) {
	plain, err := k.options.Vault.UnsealTokens(row.TenantID, row.ConnectionID, row.Sealed)
	if err != nil {
		return kept{}, err
	}
	defer clear(plain)
	if json.Unmarshal(plain, &had) != nil { // the decoder's text may quote what it read
		return kept{}, fault.New(fault.Unavailable, vault.ReasonUnreadable,
			"The stored tokens of this connection cannot be read. Connect the account again.")
	}
	return had, nil
}

// What holds secrets shows none of them, whatever it is printed with.
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
func (s Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue implements slog.LogValuer.
func (s Source) LogValue() slog.Value { return slog.StringValue(hidden) }

// Format implements fmt.Formatter.
func (had kept) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }
