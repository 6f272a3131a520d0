// Package tenant manages tenants. A tenant is a customer of a gateway's operator, with its own connections,
// API keys and phone numbers. Packages above this one manage these: core/connection, core/apikey, core/link.
//
//	tenants := tenant.NewDirectory(tenant.Options{...})
//	acme, err := tenants.Create(ctx, "acme", tenant.Settings{Timezone: "Europe/Berlin"})
package tenant

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // time zones must be known wherever the gateway runs
	"unicode"
	"unicode/utf8"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/slots"
	"frontdesk/core/spelling"
	"frontdesk/core/store"
)

// Reasons of faults about names.
const (
	ReasonNotFound  = "TENANT_NOT_FOUND"
	ReasonNameTaken = "NAME_TAKEN" // of a tenant, or of a connection within its tenant
)

// Tenant is one customer of the gateway's operator.
type Tenant struct {
	ID        string
	Name      string
	Settings  Settings
	CreatedAt time.Time
}

// Settings are the settings of a tenant. The store keeps them as JSON, and "apply" reads the same form.
type Settings struct {
	DisplayName          string            `json:"display_name,omitempty" yaml:"display_name" help:"What customers know the tenant by, on the pages where they connect accounts. The default is its name."`
	Timezone             string            `json:"timezone,omitempty" yaml:"timezone" help:"IANA time zone for requests where neither the request nor the calendar gives one. The default is UTC."`
	PreventDoubleBooking bool              `json:"prevent_double_booking,omitempty" yaml:"prevent_double_booking" help:"Refuse a meeting when one of the selected calendars is busy."`
	RejectPast           bool              `json:"reject_past,omitempty" yaml:"reject_past" help:"Refuse meetings that start in the past."`
	DedupeWindow         *Duration         `json:"dedupe_window,omitempty" yaml:"dedupe_window" help:"How long equal book-meeting calls without a key count as one meeting; 0 turns this off. The default is idempotency.dedupe_window of the configuration."`
	TicketDedupeWindow   *Duration         `json:"ticket_dedupe_window,omitempty" yaml:"ticket_dedupe_window" help:"How long equal create-ticket calls without a key count as one ticket; 0 turns this off. The default is idempotency.ticket_dedupe_window."`
	StatusWords          map[string]string `json:"status_words,omitempty" yaml:"status_words" help:"The tenant's own words for ticket statuses, each with the CRM's label."`
	MaxPurchasesPerDay   *int              `json:"max_purchases_per_day,omitempty" yaml:"max_purchases_per_day" help:"How many phone numbers the tenant may buy within 24 hours; 0 forbids buying. The default is 10."`
	MaxPhoneNumbers      *int              `json:"max_phone_numbers,omitempty" yaml:"max_phone_numbers" help:"How many phone numbers the tenant may hold. At this number it can buy no more. The default is 100."`
	PriorityWords        map[string]string `json:"priority_words,omitempty" yaml:"priority_words" help:"The tenant's own words for ticket priorities, each with the CRM's label."`
	OpenHours            map[string]string `json:"open_hours,omitempty" yaml:"open_hours" help:"When meetings may take place: days of the week and dates, each with its openings in the calendar's own time zone, such as monday: 09:00-12:30, 14:00-18:00 or 2026-12-25: closed. The default is the working hours of the calendar's owner where the provider tells them, as Microsoft 365 does, or else Monday to Friday, 09:00 to 17:00."`
	DurationMinutes      *int              `json:"duration_minutes,omitempty" yaml:"duration_minutes" help:"How long a meeting takes for which find-slots looks. The default is 30."`
	SlotIntervalMinutes  *int              `json:"slot_interval_minutes,omitempty" yaml:"slot_interval_minutes" help:"How many minutes after one slot the next one may begin. The default is the duration."`
	BufferBeforeMinutes  *int              `json:"buffer_before_minutes,omitempty" yaml:"buffer_before_minutes" help:"How many minutes before a slot must be free. The default is 0."`
	BufferAfterMinutes   *int              `json:"buffer_after_minutes,omitempty" yaml:"buffer_after_minutes" help:"How many minutes after a slot must be free. The default is 0."`
	MinimumNoticeMinutes *int              `json:"minimum_notice_minutes,omitempty" yaml:"minimum_notice_minutes" help:"How many minutes from now a slot may begin at the earliest. The default is 0."`
	BookingWindowDays    *int              `json:"booking_window_days,omitempty" yaml:"booking_window_days" help:"How many days after today a slot may begin at the latest; 0 means without limit, which is the default."`
	TentativeAsBusy      *bool             `json:"tentative_as_busy,omitempty" yaml:"tentative_as_busy" help:"Whether a time is busy while the calendar's owner has a meeting that was accepted only tentatively. The default is true."`

	UnverifiedCallerFields List `json:"unverified_caller_fields,omitzero" yaml:"unverified_caller_fields" help:"Which fields of a contact, or of the caller's meetings, may be told for a telephone number or an e-mail address that nobody has verified: name, contact_id, email, phone_numbers, account, open_tickets or meeting_titles. The default is the name."`
}

// The fields of a contact and of meetings, for Settings.UnverifiedCallerFields.
const (
	CallerName         = "name"
	CallerContactID    = "contact_id"
	CallerEmail        = "email"
	CallerPhoneNumbers = "phone_numbers"
	CallerAccount      = "account"
	CallerOpenTickets  = "open_tickets"

	CallerMeetingTitles = "meeting_titles" // of the meetings that find-meetings finds
)

// CallerFields returns the fields that may be told for an unverified number or address.
func (s Settings) CallerFields() []string {
	if s.UnverifiedCallerFields == nil {
		return []string{CallerName}
	}
	return s.UnverifiedCallerFields
}

// Display returns what customers know the tenant by.
func (t Tenant) Display() string { return cmp.Or(t.Settings.DisplayName, t.Name) }

// Zone returns the tenant's time zone.
func (t Tenant) Zone() string {
	if t.Settings.Timezone == "" {
		return "UTC"
	}
	return t.Settings.Timezone
}

// SlotDefaults returns the settings about slots.
func (s Settings) SlotDefaults() slots.Defaults {
	return slots.Defaults{
		OpenHours: s.OpenHours, DurationMinutes: s.DurationMinutes, SlotIntervalMinutes: s.SlotIntervalMinutes,
		BufferBeforeMinutes: s.BufferBeforeMinutes, BufferAfterMinutes: s.BufferAfterMinutes,
		MinimumNoticeMinutes: s.MinimumNoticeMinutes, BookingWindowDays: s.BookingWindowDays,
		TentativeAsBusy: s.TentativeAsBusy,
	}
}

// SlotRules returns the rules for slots. Settings that [Settings.Check] refuses say nothing.
func (s Settings) SlotRules() slots.Rules {
	rules, _ := s.SlotDefaults().Rules()
	return rules
}

// ByName returns a tenant. It fails with fault.NotFound, reason TENANT_NOT_FOUND, if there is none.
func ByName(ctx context.Context, s *store.Store, name string) (Tenant, error) {
	row, err := rowByName(ctx, s, name)
	if err != nil {
		return Tenant{}, err
	}
	return Of(row)
}

// Changes returns the newest rows of the audit that match the filter, oldest first. An empty answer says that nobody
// did it. So an action that no row can have is refused, as a fault of the field, and so is a name that no tenant has
// or had. The rows of a tenant stay when it is deleted.
func Changes(ctx context.Context, s *store.Store, f store.AuditFilter, field string) ([]store.AuditRow, error) {
	if err := audit.CheckAction(field, f.Action); err != nil {
		return nil, err
	}
	rows, err := s.AuditRows(ctx, f)
	if err != nil || len(rows) > 0 || f.Tenant == "" {
		return rows, err
	}
	known, err := s.AuditRows(ctx, store.AuditFilter{Tenant: f.Tenant, Limit: 1})
	if err == nil && len(known) == 0 {
		_, err = rowByName(ctx, s, f.Tenant)
	}
	return nil, err
}

func rowByName(ctx context.Context, s *store.Store, name string) (store.Tenant, error) {
	row, err := s.TenantByName(ctx, name)
	if errors.Is(err, fault.NotFound) {
		return row, NotFound(name)
	}
	return row, err
}

// NotFound returns the fault for a name that no tenant has.
func NotFound(name string) error {
	return fault.Newf(fault.NotFound, ReasonNotFound, "There is no tenant %q.", name)
}

// ByID returns a tenant. It fails with fault.NotFound if there is none.
func ByID(ctx context.Context, s *store.Store, id string) (Tenant, error) {
	row, err := s.TenantByID(ctx, id)
	if err != nil {
		return Tenant{}, err
	}
	return Of(row)
}

// Of converts a row of the store into a tenant.
func Of(row store.Tenant) (Tenant, error) {
	t := Tenant{ID: row.ID, Name: row.Name, CreatedAt: row.CreatedAt}
	if len(row.Settings) > 0 {
		if err := json.Unmarshal(row.Settings, &t.Settings); err != nil {
			return t, fault.From(fmt.Errorf("tenant: stored settings of %s: %w", row.ID, err))
		}
	}
	return t, nil
}

// named matches the names that tenants and connections may have, which are safe in a path, a metric's label
// and a file's name.
var named = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// CheckName returns a fault of the field at path if a tenant or a connection cannot have the name.
func CheckName(path, name string) []fault.Field {
	if named.MatchString(name) {
		return nil
	}
	return []fault.Field{{Path: path,
		Message: "must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or " +
			"digit."}}
}

// maxDisplayName is how many characters a display name has at most.
const maxDisplayName = 80

// checkDisplayName returns what is wrong with a display name, or "". A character that is not seen could make
// a page say something else than the name.
func checkDisplayName(name string) string {
	switch {
	case name != "" && strings.TrimSpace(name) != name, utf8.RuneCountInString(name) > maxDisplayName:
		return fmt.Sprintf("must be at most %d characters, without spaces around them.", maxDisplayName)
	case !utf8.ValidString(name), !isSeen([]rune(name)):
		return "must not contain control characters or others that are not seen."
	}
	return ""
}

// isSeen reports whether each character of a name is seen. Two that are not are part of how scripts such as Sinhala and
// Persian are written, and of emoji: the joiners (The Unicode Standard, section 23.2, "Cursive Connection and
// Ligatures"). They join their neighbours, so each stands between two, which are not ASCII.
func isSeen(name []rune) bool {
	joined := func(at int) bool {
		return at >= 0 && at < len(name) && name[at] > unicode.MaxASCII && unicode.IsGraphic(name[at])
	}
	for i, r := range name {
		if !unicode.IsGraphic(r) && !(unicode.Is(unicode.Join_Control, r) && joined(i-1) && joined(i+1)) {
			return false
		}
	}
	return true
}

// The largest values that settings can have, which are those of the file that apply reads.
const (
	maxWindow          = Duration(24 * time.Hour) // finished calls without a key are kept so long
	maxPurchasesPerDay = 10_000
	maxPhoneNumbers    = 5_000 // as many numbers of an account are read
)

// Check returns a fault for every unusable setting. Their paths begin with prefix.
func (s Settings) Check(prefix string) []fault.Field {
	var faults []fault.Field
	if wrong := checkDisplayName(s.DisplayName); wrong != "" {
		faults = append(faults, fault.Field{Path: prefix + "display_name", Message: wrong})
	}
	if !isZone(s.Timezone) {
		faults = append(faults, fault.Field{Path: prefix + "timezone",
			Message: "must be an IANA time zone name such as America/New_York."})
	}
	for _, window := range []struct {
		path  string
		given *Duration
	}{{"dedupe_window", s.DedupeWindow}, {"ticket_dedupe_window", s.TicketDedupeWindow}} {
		if window.given != nil && (*window.given < 0 || *window.given > maxWindow) {
			faults = append(faults, fault.Field{Path: prefix + window.path,
				Message: fmt.Sprintf("must be from 0 to %s.", maxWindow)})
		}
	}
	for _, limit := range []struct {
		path  string
		given *int
		most  int
	}{
		{"max_purchases_per_day", s.MaxPurchasesPerDay, maxPurchasesPerDay},
		{"max_phone_numbers", s.MaxPhoneNumbers, maxPhoneNumbers},
	} {
		if limit.given != nil && (*limit.given < 0 || *limit.given > limit.most) {
			faults = append(faults, fault.Field{Path: prefix + limit.path,
				Message: fmt.Sprintf("must be from 0 to %d.", limit.most)})
		}
	}
	_, wrong := s.SlotDefaults().Rules()
	for _, w := range wrong {
		faults = append(faults, fault.Field{Path: prefix + w.Name, Message: w.Err.Error() + "."})
	}
	for _, words := range []struct {
		path  string
		given map[string]string
	}{{"status_words", s.StatusWords}, {"priority_words", s.PriorityWords}} {
		for word, label := range words.given {
			if strings.TrimSpace(word) == "" || strings.TrimSpace(label) == "" {
				faults = append(faults, fault.Field{
					Path: prefix + words.path, Message: "must map words to labels; neither may be empty.",
				})
			}
		}
	}
	known := []string{
		CallerName, CallerContactID, CallerEmail, CallerPhoneNumbers, CallerAccount, CallerOpenTickets,
		CallerMeetingTitles,
	}
	for _, name := range s.UnverifiedCallerFields {
		if !slices.Contains(known, name) {
			faults = append(faults, fault.Field{
				Path: prefix + "unverified_caller_fields", Hint: spelling.Nearest(name, known),
				Message: fmt.Sprintf("must be of %s, not %q.", strings.Join(known, ", "), name),
			})
		}
	}
	return faults
}

func isZone(name string) bool {
	if name == "" {
		return true
	}
	_, err := time.LoadLocation(name)
	return err == nil && name != "Local"
}
