package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/settingspage"
	"frontdesk/core/signin"
	"frontdesk/core/tenant"
)

// The demonstration: a tenant with a sandbox connection of each kind.
const (
	DemoTenant   = "demo"
	demoProvider = "sandbox"
)

// Demo creates the demonstration tenant if there is none, and a new API key for this run.
func (g *Gateway) Demo(ctx context.Context) (key string, err error) {
	if err := g.Migrate(ctx); err != nil {
		return "", err
	}
	_, err = g.tenants.Create(ctx, DemoTenant, tenant.Settings{Timezone: "America/New_York"})
	if err != nil && fault.From(err).Code != fault.Conflict {
		return "", err
	}
	for _, kind := range adapter.Kinds() {
		_, err := g.connections.Add(ctx, DemoTenant, connection.Spec{
			Name: fmt.Sprintf("sandbox-%s", kind), Kind: kind, Provider: demoProvider,
		})
		if err != nil && fault.From(err).Code != fault.Conflict {
			return "", err
		}
	}
	key, _, err = g.keys.Create(ctx, DemoTenant, apikey.Spec{Label: "serve --demo"})
	return key, err
}

// DemoCurl returns a curl command that books a meeting through the gateway tomorrow at ten.
func (g *Gateway) DemoCurl(at Addresses, key string) string {
	day := g.now().Add(24 * time.Hour).Format(time.DateOnly)
	return fmt.Sprintf(`curl -sS %s/v1/calendar/book-meeting \
  -H 'X-Api-Key: %s' -H 'Content-Type: application/json' \
  -d '{"title": "Consultation", "start_time": "%sT10:00:00", "end_time": "%sT10:30:00",
       "timezone": "America/New_York", "attendee_emails": ["pat@example.com"], "conferencing_type": "provider"}'`, g.CallersBase(at), key, day, day)
}

// DemoLink returns a link that signs the operator in at the settings page of a demonstration, or "" if the
// page is turned off.
func (g *Gateway) DemoLink(ctx context.Context, at Addresses) (string, error) {
	if !g.config.SettingsPage.Enabled {
		return "", nil
	}
	token, _, err := g.signInLinks.Create(ctx, signin.NewLink{Role: apikey.RoleAdmin})
	base := g.config.Server.PublicURL
	if listening, err := url.Parse(g.CallersBase(at)); err == nil {
		if ip, err := netip.ParseAddr(listening.Hostname()); err == nil && ip.IsLoopback() {
			base = g.CallersBase(at) // whatever port the system chose
		}
	}
	return settingspage.SignInURL(base, token), err
}
