package config

import (
	"fmt"
	"time"
)

// Tenants is the content of the file for the apply command.
type Tenants struct {
	Tenants []Tenant `yaml:"tenants" help:"The tenants."`
}

// Tenant is the desired state of one tenant.
type Tenant struct {
	Name                 string            `yaml:"name" required:"true" help:"The tenant's name: lower-case letters, digits and hyphens."`
	DisplayName          string            `yaml:"display_name" help:"What customers know the tenant by, on the pages where they connect accounts. The default is its name."`
	Timezone             string            `yaml:"timezone" help:"IANA time zone for requests where neither the request nor the calendar gives one. The default is UTC."`
	PreventDoubleBooking bool              `yaml:"prevent_double_booking" help:"Refuse a meeting when one of the selected calendars is busy."`
	RejectPast           bool              `yaml:"reject_past" help:"Refuse meetings that start in the past."`
	DedupeWindow         *time.Duration    `yaml:"dedupe_window" min:"0s" max:"24h" help:"How long equal book-meeting calls without a key count as one meeting; 0 turns this off. The default is idempotency.dedupe_window of the configuration."`
	TicketDedupeWindow   *time.Duration    `yaml:"ticket_dedupe_window" min:"0s" max:"24h" help:"How long equal create-ticket calls without a key count as one ticket; 0 turns this off. The default is idempotency.ticket_dedupe_window."`
	MaxPurchasesPerDay   *int              `yaml:"max_purchases_per_day" min:"0" max:"10000" help:"How many phone numbers the tenant may buy within 24 hours; 0 forbids buying. The default is 10."`
	MaxPhoneNumbers      *int              `yaml:"max_phone_numbers" min:"0" max:"5000" help:"How many phone numbers the tenant may hold. At this number it can buy no more. The default is 100."`
	StatusWords          map[string]string `yaml:"status_words" help:"The tenant's own words for ticket statuses, each with the CRM's label."`
	PriorityWords        map[string]string `yaml:"priority_words" help:"The tenant's own words for ticket priorities, each with the CRM's label."`
	UnverifiedCaller     []string          `yaml:"unverified_caller_fields" choices:"name,contact_id,email,phone_numbers,account,open_tickets,meeting_titles" help:"Which fields of a contact, or of the caller's meetings, may be told for a telephone number or an e-mail address that nobody has verified: name, contact_id, email, phone_numbers, account, open_tickets or meeting_titles. The default is the name."`
	OpenHours            map[string]string `yaml:"open_hours" help:"When meetings may take place: days of the week and dates, each with its openings in the calendar's own time zone, such as monday: 09:00-12:30, 14:00-18:00 or 2026-12-25: closed. The default is the working hours of the calendar's owner where the provider tells them, as Microsoft 365 does, or else Monday to Friday, 09:00 to 17:00."`
	DurationMinutes      *int              `yaml:"duration_minutes" min:"1" max:"1440" help:"How long a meeting takes for which find-slots looks. The default is 30."`
	SlotIntervalMinutes  *int              `yaml:"slot_interval_minutes" min:"1" max:"1440" help:"How many minutes after one slot the next one may begin. The default is the duration."`
	BufferBeforeMinutes  *int              `yaml:"buffer_before_minutes" min:"0" max:"1440" help:"How many minutes before a slot must be free. The default is 0."`
	BufferAfterMinutes   *int              `yaml:"buffer_after_minutes" min:"0" max:"1440" help:"How many minutes after a slot must be free. The default is 0."`
	MinimumNoticeMinutes *int              `yaml:"minimum_notice_minutes" min:"0" max:"86400" help:"How many minutes from now a slot may begin at the earliest. The default is 0."`
	BookingWindowDays    *int              `yaml:"booking_window_days" min:"0" max:"730" help:"How many days after today a slot may begin at the latest; 0 means without limit, which is the default."`
	TentativeAsBusy      *bool             `yaml:"tentative_as_busy" help:"Whether a time is busy while the calendar's owner has a meeting that was accepted only tentatively. The default is true."`
	Connections          []Connection      `yaml:"connections" help:"The tenant's connections to accounts at providers."`
	Agents               []Agent           `yaml:"agents" help:"The tenant's voice agents, whose platforms prove by a signature who they are."`
}

// Connection is the desired state of one connection.
type Connection struct {
	Name     string         `yaml:"name" required:"true" help:"The connection's name, unique in the tenant."`
	Kind     string         `yaml:"kind" required:"true" choices:"calendar,crm,telephony" help:"What the connection is for."`
	Provider string         `yaml:"provider" required:"true" help:"The adapter's name, such as caldav or sandbox."`
	Default  bool           `yaml:"default" help:"Whether the connection serves API keys that are bound to no connection of this kind."`
	Settings map[string]any `yaml:"settings" help:"The provider's settings, as JSON values."`

	// Credentials holds the secrets themselves, which LoadTenants has read. It is nil if the file has none.
	// An existing connection then keeps its credentials.
	Credentials map[string]string `yaml:"credentials" kind:"secret" help:"Where the provider's credentials are: env:VAR or file:PATH, never the secret itself."`
}

// Agent is the desired state of one voice agent.
type Agent struct {
	Name        string   `yaml:"name" required:"true" help:"The agent's name, unique in the tenant."`
	Platform    string   `yaml:"platform" required:"true" choices:"vapi,retell,elevenlabs,telnyx,tools" help:"Where the agent runs: vapi, retell, elevenlabs, telnyx, or tools for another platform that posts plain JSON."`
	Scopes      []string `yaml:"scopes" help:"What the agent may do, such as calendar:read. The default is everything."`
	Connections []string `yaml:"connections" help:"Names of the connections that the agent is bound to, at most one of each kind. Other kinds use the tenant's defaults."`

	// Credentials is nil if the file has none. An existing agent then keeps its secret.
	Credentials *AgentCredentials `yaml:"credentials" help:"How the platform proves who it is."`
}

// AgentCredentials holds the secret itself, as the credentials of a connection do.
type AgentCredentials struct {
	Signing string `yaml:"signing" kind:"secret" help:"What the platform signs its requests with, or sends as a bearer token, as env:VAR or file:PATH. Without it, requests need an API key of the tenant."`
}

// LoadTenants reads a file of tenants, or standard input if path is "-". It reads the credentials from
// environ (NAME=VALUE) and from files. If the file can be read, an error is an *Error with every fault.
func LoadTenants(path string, environ []string) (Tenants, error) {
	raw, err := readFile(path)
	if err != nil {
		return Tenants{}, err
	}
	return parseTenants(path, raw, environ)
}

func parseTenants(source string, raw []byte, environ []string) (Tenants, error) {
	d := decoder{environ: variables(environ)}
	var t Tenants
	d.file(raw, &t)
	if t.Tenants == nil && len(d.faults) == 0 { // an empty file must not mean that no tenants are wanted
		d.wrong("tenants", "is required: a list, which may be empty ([]).")
	}
	if len(d.faults) > 0 {
		return Tenants{}, &Error{Source: source, Faults: d.sortFaults()}
	}
	return t, nil
}

// String returns a description of the connection without its credentials.
func (c Connection) String() string {
	return fmt.Sprintf("%s connection %s at %s", c.Kind, c.Name, c.Provider)
}
