package store

import (
	"encoding/json"
	"time"
)

// Tenant is a row of tenants.
type Tenant struct {
	ID        string
	Name      string // unique
	Settings  json.RawMessage
	CreatedAt time.Time
}

// Connection is a row of connections.
type Connection struct {
	ID          string
	TenantID    string
	Name        string // unique in the tenant
	Kind        string
	Provider    string
	IsDefault   bool
	Settings    json.RawMessage
	Credentials []byte // sealed by core/vault; nil when there are none
	Status      string // "ok" or "reconnect_required"
	Email       string // the account's address as last verified
	Revision    int64  // grows with every change of settings, credentials or status, and when IsDefault ends
	CreatedAt   time.Time
}

// Tokens is a row of tokens, with which a connection by OAuth calls its provider.
type Tokens struct {
	TenantID     string
	ConnectionID string
	Sealed       []byte    // by core/vault
	Version      int64     // grows with every change of the tokens; 0: none were obtained yet
	RefreshAt    time.Time // when to renew them; zero: not by itself
	Refused      bool      // the provider no longer renews them
	Failures     int       // failed renewals since the last successful one
	LeaseOwner   string
	LeaseUntil   time.Time // past: no process is renewing them
}

// longestLease is how far ahead a lease of tokens can end. One that ends later is from a clock that was set back since.
const longestLease = 2 * time.Minute

// Leased reports whether a process is renewing the tokens.
func (t Tokens) Leased(now time.Time) bool {
	return t.LeaseUntil.After(now) && !t.LeaseUntil.After(now.Add(longestLease))
}

// APIKey is a row of api_keys.
type APIKey struct {
	ID          string
	TenantID    string // "": the operator's, for the admin interface
	Prefix      string // the first characters, for people to recognise it by
	Hash        []byte // SHA-256 of the whole key; unique
	Label       string
	Scopes      []string
	Connections []string // connection ids it is bound to; empty: the tenant's defaults
	Test        bool
	Platform    string // of a voice agent; "": a key that somebody holds
	CreatedAt   time.Time
	RevokedAt   time.Time // zero: not revoked
	LastUsedAt  time.Time // zero: never; written at most once a minute
	// By core/vault, over every column but LastUsedAt. It encloses the signing secret of a voice agent. nil: a
	// row of a version without seals.
	Seal   []byte
	EndsAt time.Time // when another key has taken its place; zero: none does
	Ended  bool      // the audit records its revocation
	Rolled bool      // the audit records that another key takes its place
}

// InForce reports whether the key may be used: it is not revoked, and not yet replaced.
func (k APIKey) InForce(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.EndsAt.IsZero() || now.Before(k.EndsAt))
}

// Intent is a row of intents: one mutating call, recorded before the provider is called.
type Intent struct {
	TenantID     string
	Operation    string // "book-meeting", ...
	Key          string // the caller's Idempotency-Key, or a generated one
	Kept         bool   // the caller gave the key: the answer is kept for replay
	RequestHash  []byte // SHA-256 of the request after normalization
	ConnectionID string
	EffectKey    string          // names the effect at the provider: derived, 1 to 64 characters of [a-z0-9]
	Plan         json.RawMessage // what is needed to settle it after a crash; grows as steps are taken
	State        string          // IntentRunning, IntentDone or IntentUnknown
	Answer       []byte          // the response body, once State is done
	EffectRef    string          // the provider's id of the effect, once State is done
	DedupeKey    string          // shared by equal calls without a key; "": none
	RequestID    string          // of the request that began it
	Owner        string          // the run that holds it: the name of its process, a slash, and a unique name
	LeaseUntil   time.Time       // past: the run is over
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// The states of an intent.
const (
	IntentRunning = "running"
	IntentDone    = "done"
	IntentUnknown = "unknown" // the outcome could not be learned yet
)

// IntentLeft ends a run as IntentUnknown does, of which the outcome can never be learned: only a caller's repeat may
// take it over.
const IntentLeft = "left"

// EventSeen is a row of events_seen: where an event was seen, and whether it was cancelled through the
// gateway.
type EventSeen struct {
	TenantID     string
	ConnectionID string
	EventID      string
	CalendarID   string
	Gone         bool
	UpdatedAt    time.Time
}

// Hold is a row of holds: a time range of a calendar, taken by a booking that runs or has just been made.
type Hold struct {
	ID           string
	ConnectionID string
	CalendarID   string
	From, To     time.Time
	EventID      string    // once booked
	Moves        string    // id of the event that is being moved there
	Until        time.Time // when the hold expires

	// What must be free around it; only read when it is taken.
	Before, After time.Duration
}

// Purchase is a row of purchases: the right to buy one number, and the progress of the purchase.
type Purchase struct {
	ID           string // the intent's EffectKey
	TenantID     string
	ConnectionID string
	Realm        string
	State        PurchaseState
	E164         string // the number chosen; "" while there is none
	// Why the number could not be set up, as the service writes it; nil if nothing was refused.
	Refusal   json.RawMessage
	Runner    string // the run that may take the next step
	CreatedAt time.Time
}

// Number is a row of numbers.
type Number struct {
	ID           int64 // global, ascending with gaps, never reused
	TenantID     string
	ConnectionID string
	Realm        string // a number has one holder in it: "" for real providers, a sandbox's connection
	Ref          string // the provider's id
	E164         string
	Name         string
	Inbound      *int64 // cloud employee ids
	Outbound     *int64
	Leads        string // where the gateway last routed calls, as the service writes it; "": nowhere
	Version      int64  // grows with every change
	CreatedAt    time.Time
	ReleaseAt    time.Time // not zero: out of use, and to be returned to the provider then
	Going        bool      // being returned to the provider
}
