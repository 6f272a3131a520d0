package tenant

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a zone must be known wherever the gateway runs

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// CreateTenant makes a tenant.
func (d *Directory) CreateTenant(ctx context.Context, name string, s Settings) (Tenant, error) {
	if faults := append(checkName("name", name), checkSettings("", s)...); len(faults) > 0 {
		return Tenant{}, fault.InvalidFields(faults...)
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return Tenant{}, fault.From(err)
	}
	t := Tenant{ID: secret.NewID("tenant"), Name: name, Settings: s, CreatedAt: d.now().UTC()}
	row := store.Tenant{ID: t.ID, Name: t.Name, Settings: settings, CreatedAt: t.CreatedAt}
	audited, err := d.audited(ctx, row, audit.Entry{Action: createTenant, Subject: t.ID, Changed: audit.Differing("", Settings{}, s)})
	if err != nil {
		return Tenant{}, err
	}
	err = d.store.CreateTenant(ctx, row, audited...)
	if errors.Is(err, fault.Conflict) {
		return Tenant{}, fault.Newf(fault.Conflict, ReasonNameTaken, "There is already a tenant %q.", name).Because(err)
	}
	if err != nil {
		return Tenant{}, err
	}
	return t, nil
}

// Tenants lists all tenants by name.
func (d *Directory) Tenants(ctx context.Context) ([]Tenant, error) {
	rows, err := d.store.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Tenant, 0, len(rows))
	for _, row := range rows {
		t, err := tenantOf(row)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// TenantByName returns a tenant; fault.NotFound, reason TENANT_NOT_FOUND, when there is none.
func (d *Directory) TenantByName(ctx context.Context, name string) (Tenant, error) {
	row, err := d.tenantRow(ctx, name)
	if err != nil {
		return Tenant{}, err
	}
	return tenantOf(row)
}

// UpdateTenant replaces a tenant's settings.
func (d *Directory) UpdateTenant(ctx context.Context, name string, s Settings) (Tenant, error) {
	if faults := checkSettings("", s); len(faults) > 0 {
		return Tenant{}, fault.InvalidFields(faults...)
	}
	t, err := d.TenantByName(ctx, name)
	if err != nil {
		return Tenant{}, err
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return Tenant{}, fault.From(err)
	}
	audited, err := d.audited(ctx, store.Tenant{ID: t.ID, Name: t.Name}, audit.Entry{Action: updateTenant, Subject: t.ID, Changed: audit.Differing("", t.Settings, s)})
	if err != nil {
		return Tenant{}, err
	}
	if err := d.store.UpdateTenant(ctx, t.ID, settings, audited...); err != nil {
		return Tenant{}, err
	}
	d.callers.forget()
	t.Settings = s
	return t, nil
}

// DeleteTenant deletes a tenant with its connections, keys and everything that is kept for them but for the
// audit.
func (d *Directory) DeleteTenant(ctx context.Context, name string) error {
	t, err := d.tenantRow(ctx, name)
	if err != nil {
		return err
	}
	gone, err := d.store.Connections(ctx, t.ID)
	if err != nil {
		return err
	}
	audited, err := d.audited(ctx, t, audit.Entry{Action: deleteTenant, Subject: t.ID})
	if err != nil {
		return err
	}
	if err := d.store.DeleteTenant(ctx, t.ID, audited...); err != nil {
		return err
	}
	for _, c := range gone {
		d.drivers.drop(c.ID)
	}
	d.callers.forget()
	return nil
}

// named is how tenants and connections may be called: what is safe in a path, a metric's label and a file's
// name.
var named = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func checkName(path, name string) []fault.Field {
	if named.MatchString(name) {
		return nil
	}
	return []fault.Field{{Path: path,
		Message: "must be 1 to 63 lower-case letters, digits and hyphens, and must begin with a letter or " +
			"digit."}}
}

// checkSettings reports every unusable setting of a tenant; prefix is what their paths begin with.
func checkSettings(prefix string, s Settings) []fault.Field {
	var faults []fault.Field
	if !isZone(s.Timezone) {
		faults = append(faults, fault.Field{Path: prefix + "timezone",
			Message: "must be an IANA time zone name such as America/New_York."})
	}
	for _, window := range []struct {
		path  string
		given *Duration
	}{{"dedupe_window", s.DedupeWindow}, {"ticket_dedupe_window", s.TicketDedupeWindow}} {
		if window.given != nil && *window.given < 0 {
			faults = append(faults, fault.Field{Path: prefix + window.path, Message: "must not be negative."})
		}
	}
	for _, limit := range []struct {
		path  string
		given *int
	}{{"max_purchases_per_day", s.MaxPurchasesPerDay}, {"max_phone_numbers", s.MaxPhoneNumbers}} {
		if limit.given != nil && *limit.given < 0 {
			faults = append(faults, fault.Field{Path: prefix + limit.path, Message: "must not be negative."})
		}
	}
	for _, words := range []struct {
		path  string
		given map[string]string
	}{{"status_words", s.StatusWords}, {"priority_words", s.PriorityWords}} {
		for word, label := range words.given {
			if strings.TrimSpace(word) == "" || strings.TrimSpace(label) == "" {
				faults = append(faults, fault.Field{Path: prefix + words.path, Message: "must map words to labels; neither may be empty."})
			}
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
