package tenant

import (
	"time"

	"frontdesk/core/adapter"
)

// Tenant is one customer of the gateway's operator.
type Tenant struct {
	ID        string
	Name      string
	Settings  Settings
	CreatedAt time.Time
}

// Settings are what a tenant may set. The JSON form is what the store keeps and what "apply" reads.
type Settings struct {
	Timezone             string            `json:"timezone,omitempty" yaml:"timezone" help:"IANA time zone for requests where neither the request nor the calendar gives one. The default is UTC."`
	PreventDoubleBooking bool              `json:"prevent_double_booking,omitempty" yaml:"prevent_double_booking" help:"Refuse a meeting when one of the selected calendars is busy."`
	RejectPast           bool              `json:"reject_past,omitempty" yaml:"reject_past" help:"Refuse meetings that start in the past."`
	DedupeWindow         *Duration         `json:"dedupe_window,omitempty" yaml:"dedupe_window" help:"How long equal book-meeting calls without a key count as one meeting; 0 turns this off. The default is idempotency.dedupe_window of the configuration."`
	TicketDedupeWindow   *Duration         `json:"ticket_dedupe_window,omitempty" yaml:"ticket_dedupe_window" help:"How long equal create-ticket calls without a key count as one ticket; 0 turns this off. The default is idempotency.ticket_dedupe_window."`
	StatusWords          map[string]string `json:"status_words,omitempty" yaml:"status_words" help:"The tenant's own words for ticket statuses, each with the CRM's label."`
	MaxPurchasesPerDay   *int              `json:"max_purchases_per_day,omitempty" yaml:"max_purchases_per_day" help:"How many phone numbers the tenant may buy within 24 hours; 0 forbids buying. The default is 10."`
	MaxPhoneNumbers      *int              `json:"max_phone_numbers,omitempty" yaml:"max_phone_numbers" help:"How many phone numbers the tenant may hold. At this number it can buy no more. The default is 100."`
	PriorityWords        map[string]string `json:"priority_words,omitempty" yaml:"priority_words" help:"The tenant's own words for ticket priorities, each with the CRM's label."`
}

// Status says whether a connection's credentials work.
type Status string

// The states of a connection.
const (
	StatusOK                Status = "ok"
	StatusReconnectRequired Status = "reconnect_required" // the provider refuses the credentials; a person must act
)

// Connection is a tenant's link to one account at one provider, without its credentials.
type Connection struct {
	ID        string
	TenantID  string
	Name      string
	Kind      adapter.Kind
	Provider  string
	IsDefault bool
	Settings  map[string]any
	Status    Status
	Email     string // the account's address as last verified; may be ""
	Revision  int64
	CreatedAt time.Time
}

// Scope is what an API key may do.
type Scope string

// The scopes.
const (
	ScopeCalendarRead  Scope = "calendar:read"
	ScopeCalendarWrite Scope = "calendar:write"
	ScopeTicketsRead   Scope = "tickets:read"
	ScopeTicketsWrite  Scope = "tickets:write"
	ScopeNumbersRead   Scope = "numbers:read"
	ScopeNumbersWrite  Scope = "numbers:write"
)

// Scopes lists every scope; a key made without naming any has all.
func Scopes() []Scope {
	return []Scope{ScopeCalendarRead, ScopeCalendarWrite, ScopeTicketsRead, ScopeTicketsWrite, ScopeNumbersRead, ScopeNumbersWrite}
}

// Key is an API key as it can be shown: never the key itself.
type Key struct {
	ID          string
	TenantID    string
	Prefix      string
	Label       string
	Scopes      []Scope
	Connections []string // names of the connections it is bound to
	Test        bool     // reaches sandbox connections only
	CreatedAt   time.Time
	RevokedAt   time.Time // zero: not revoked
	LastUsedAt  time.Time // zero: never
}

// Caller is who makes a request: the key's tenant, with the connections the key reaches.
type Caller struct {
	Tenant      Tenant
	KeyID       string
	Scopes      []Scope
	Test        bool
	Connections map[adapter.Kind]Connection // at most one of a kind
}

// Duration is a time.Duration written as Go writes it ("10m") or as "0".
type Duration time.Duration
