package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
	"frontdesk/core/tenant"
)

type tenantCreate struct {
	Name                 string            `arg:"" help:"Lower-case letters, digits and hyphens."`
	DisplayName          string            `help:"What customers know the tenant by, on the pages where they connect accounts." placeholder:"NAME"`
	Timezone             string            `help:"IANA time zone for requests where neither the request nor the calendar gives one." placeholder:"ZONE"`
	PreventDoubleBooking bool              `help:"Refuse a meeting when one of the selected calendars is busy."`
	RejectPast           bool              `help:"Refuse meetings that start in the past."`
	DedupeWindow         *tenant.Duration  `help:"How long equal book-meeting calls without a key count as one meeting; 0 turns this off." placeholder:"10m"`
	TicketDedupeWindow   *tenant.Duration  `help:"How long equal create-ticket calls without a key count as one ticket; 0 turns this off." placeholder:"10m"`
	MaxPurchasesPerDay   *int              `help:"How many phone numbers the tenant may buy within 24 hours; 0 forbids buying." placeholder:"10"`
	MaxPhoneNumbers      *int              `help:"How many phone numbers the tenant may hold. At this number it can buy no more." placeholder:"100"`
	StatusWord           map[string]string `help:"The tenant's own word for a ticket status, with the CRM's label. Repeat for more." placeholder:"WORD=LABEL" mapsep:"none"`
	PriorityWord         map[string]string `help:"The tenant's own word for a ticket priority, with the CRM's label. Repeat for more." placeholder:"WORD=LABEL" mapsep:"none"`
	CallerField          []string          `help:"A field of a contact, or of the caller's meetings, that may be told for an unverified number or address: name, contact_id, email, phone_numbers, account, open_tickets or meeting_titles. Repeat for more; the default is the name." placeholder:"FIELD"`
	OpenHours            map[string]string `help:"When meetings may take place on a day of the week or a date, such as monday=09:00-17:00. Repeat for more." placeholder:"DAY=HOURS" mapsep:"none"`
	DurationMinutes      *int              `help:"How long a meeting takes for which find-slots looks." placeholder:"30"`
	SlotIntervalMinutes  *int              `help:"How many minutes after one slot the next one may begin." placeholder:"30"`
	BufferBeforeMinutes  *int              `help:"How many minutes before a slot must be free." placeholder:"0"`
	BufferAfterMinutes   *int              `help:"How many minutes after a slot must be free." placeholder:"0"`
	MinimumNoticeMinutes *int              `help:"How many minutes from now a slot may begin at the earliest." placeholder:"0"`
	BookingWindowDays    *int              `help:"How many days after today a slot may begin at the latest; 0 means without limit." placeholder:"0"`
	TentativeAsBusy      *bool             `help:"Whether a time is busy while the calendar's owner has a meeting that was accepted only tentatively." placeholder:"true"`
}

// Run creates the tenant and prints its name.
func (c tenantCreate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		t, err := g.Tenants().Create(ctx, c.Name, tenant.Settings{
			DisplayName: c.DisplayName, Timezone: c.Timezone, PreventDoubleBooking: c.PreventDoubleBooking, RejectPast: c.RejectPast,
			DedupeWindow: c.DedupeWindow, TicketDedupeWindow: c.TicketDedupeWindow,
			MaxPurchasesPerDay: c.MaxPurchasesPerDay, MaxPhoneNumbers: c.MaxPhoneNumbers,
			StatusWords: c.StatusWord, PriorityWords: c.PriorityWord,
			UnverifiedCallerFields: c.CallerField,
			OpenHours:              c.OpenHours, DurationMinutes: c.DurationMinutes, SlotIntervalMinutes: c.SlotIntervalMinutes,
			BufferBeforeMinutes: c.BufferBeforeMinutes, BufferAfterMinutes: c.BufferAfterMinutes,
			MinimumNoticeMinutes: c.MinimumNoticeMinutes, BookingWindowDays: c.BookingWindowDays,
			TentativeAsBusy: c.TentativeAsBusy,
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, t.Name)
		return err
	})
}

type tenantList struct {
	JSON bool `help:"Print JSON."`
}

// Run lists the tenants.
func (c tenantList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		all, err := g.Admin().ListTenants(ctx, operator())
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all.Tenants))
		for _, t := range all.Tenants {
			rows = append(rows, []string{
				t.Name, t.Settings.Timezone, yes(t.Settings.PreventDoubleBooking), moment(t.CreatedAt), t.ID,
			})
		}
		return s.list(c.JSON, all.Tenants,
			[]string{"NAME", "TIMEZONE", "PREVENTS DOUBLE BOOKING", "CREATED", "ID"}, rows)
	})
}

type tenantChange struct {
	Name  string            `arg:"" help:"The tenant's name."`
	Set   map[string]string `help:"A setting and its value, such as timezone=Europe/Paris, prevent_double_booking=true or status_words.open=New. Repeat for more." placeholder:"NAME=VALUE" mapsep:"none"`
	Unset []string          `help:"A setting to put back to its default. Repeat for more." placeholder:"NAME"`
}

// Help returns the text that is shown with the flags.
func (tenantChange) Help() string {
	return "The settings are those of the file that apply reads. Settings that are not given stay as they are. One " +
		"that has keys, such as status_words or open_hours, is set as a whole: keys that are not given go."
}

// Run changes the tenant's settings.
func (c tenantChange) Run(ctx context.Context, s *session) error {
	given, err := changesOf(c.Set, c.Unset)
	if err != nil {
		return err
	}
	for name, value := range given {
		text, isText := value.(string)
		if scalar := any(nil); isText && json.Unmarshal([]byte(text), &scalar) == nil && scalar != nil {
			given[name] = scalar
		}
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().ChangeTenant(ctx, operator(), admin.TenantSpec{Name: c.Name, Settings: given})
		return err
	})
}

type tenantExport struct {
	Name   string `arg:"" help:"The tenant's name."`
	Output string `help:"The file to write, which must not exist. The default, and -, is standard output." placeholder:"FILE" type:"path"`
}

// Help returns the text that is shown with the flags.
func (tenantExport) Help() string {
	return "Writes one JSON object a line, with the record's kind and its fields. Secrets are left out."
}

// Run writes everything that is kept for the tenant.
func (c tenantExport) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) (err error) {
		out := s.out
		if c.Output != "" && c.Output != "-" {
			file, failed := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if failed != nil {
				return failed
			}
			defer func() {
				if err = errors.Join(err, file.Close()); err != nil {
					_ = os.Remove(c.Output) // half an export is none
				}
			}()
			out = file
		}
		q := admin.ExportQuery{Tenant: c.Name, Limit: admin.MaxExportLimit}
		lines := json.NewEncoder(out)
		for {
			page, err := g.Admin().ExportTenant(ctx, operator(), q)
			if err != nil {
				return err
			}
			for _, record := range page.Records {
				if err := lines.Encode(record); err != nil {
					return err
				}
			}
			if page.Next == "" {
				return nil
			}
			q.After = page.Next
		}
	})
}

type tenantDelete struct {
	Name string `arg:"" help:"The tenant's name."`
	Yes  bool   `help:"Confirm the deletion. What the tenant has at its providers stays there."`
}

// Run deletes the tenant.
func (c tenantDelete) Run(ctx context.Context, s *session) error {
	if !c.Yes {
		return usage("this deletes the tenant %q with its connections, keys and records, but nothing at its providers: "+
			"phone numbers stay there, and go on to cost money; add --yes to confirm", c.Name)
	}
	return s.with(ctx, func(g *gateway.Gateway) error { return g.Tenants().Delete(ctx, c.Name) })
}

type keyCreate struct {
	Tenant     string         `required:"" help:"The tenant's name." placeholder:"NAME"`
	Label      string         `help:"What the key is for."`
	Scope      []apikey.Scope `help:"What the key may do: calendar:read, calendar:write, tickets:read, tickets:write, numbers:read or numbers:write. Repeat for more; the default is all." placeholder:"SCOPE"`
	Test       bool           `help:"Create an fd_test_ key, which reaches only sandbox connections."`
	Connection []string       `help:"Bind the key to this connection instead of the tenant's default of that kind. Repeat for other kinds." placeholder:"NAME"`
}

// Run creates the key. It prints only the key on standard output.
func (c keyCreate) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		plain, key, err := g.APIKeys().Create(ctx, c.Tenant, apikey.Spec{
			Label: c.Label, Scopes: c.Scope, Connections: c.Connection, Test: c.Test,
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Created key %s for the tenant %s. It is shown only once; keep it in a safe "+
			"place.\n", key.ID, c.Tenant)
		_, err = fmt.Fprintln(s.out, plain)
		return err
	})
}

type keyList struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON."`
}

// Run lists a tenant's keys.
func (c keyList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		all, err := g.Admin().ListKeys(ctx, operator(), c.Tenant)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all.Keys))
		for _, k := range all.Keys {
			rows = append(rows, []string{
				k.ID, k.Prefix, k.Label, strings.Join(k.Scopes, ","), strings.Join(k.Connections, ","),
				moment(valueOf(k.LastUsedAt)), moment(valueOf(k.RevokedAt)), moment(valueOf(k.EndsAt)),
			})
		}
		return s.list(c.JSON, all.Keys, []string{"ID", "PREFIX", "LABEL", "SCOPES", "CONNECTIONS", "LAST USED",
			"REVOKED", "ENDS"}, rows)
	})
}

type keyRoll struct {
	ID      string        `arg:"" help:"The key's id, as \"key list\" shows it."`
	Overlap time.Duration `help:"How long the key stays valid beside the new one, from 0 to 720h." default:"24h" placeholder:"24h"`
}

// Run creates the new key. It prints only the key on standard output.
func (c keyRoll) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		plain, key, err := g.APIKeys().Roll(ctx, c.ID, c.Overlap)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.err, "Created key %s in the place of %s, which stops working at %s. It is shown only once; "+
			"keep it in a safe place.\n", key.ID, c.ID, moment(key.CreatedAt.Add(c.Overlap)))
		_, err = fmt.Fprintln(s.out, plain)
		return err
	})
}

type keyRevoke struct {
	ID string `arg:"" help:"The key's id, as \"key list\" shows it."`
}

// Run revokes the key.
func (c keyRevoke) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		// A voice agent is a key that nobody holds. To end one, say so: agent remove.
		if _, err := g.APIKeys().Get(ctx, c.ID); err != nil {
			return err
		}
		return g.APIKeys().Revoke(ctx, c.ID)
	})
}
