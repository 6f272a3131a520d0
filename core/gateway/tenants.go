package gateway

import (
	"context"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/apply"
	"frontdesk/core/connection"
	"frontdesk/core/link"
	"frontdesk/core/oauth"
	"frontdesk/core/sealing"
	"frontdesk/core/settingspage"
	"frontdesk/core/tenant"
)

// openTenants creates the directories of tenants, connections, keys and links, and what they need. Each
// change through them clears the cache of callers.
func (g *Gateway) openTenants() {
	g.providers = connection.Providers{Registry: g.registry, Operators: operators(g.config), Pool: g.pool,
		Budgets: g.budgets}
	g.callers = apikey.NewCallers(apikey.CallerOptions{
		Store: g.store, Vault: g.vault, Registry: g.registry, Now: g.now, Log: g.log, InUse: g.providers.Prepare,
	})
	changed := g.callers.Forget
	g.tokens = oauth.NewTokenSource(oauth.Options{
		Store: g.store, Vault: g.vault, Credentials: g.providers.TokenCredentials(g.store, g.vault), Owner: g.process,
		Now: g.now, Log: g.log, Metrics: g.metrics, Changed: func(string) { changed() },
	})
	g.drivers = connection.NewDrivers(connection.DriverOptions{
		Store: g.store, Vault: g.vault, Providers: g.providers, Tokens: g.tokens, Now: g.now,
	})
	g.tenants = tenant.NewDirectory(tenant.Options{
		Store: g.store, Now: g.now, Audit: g.audit, Changed: changed, Deleted: g.drivers.DropTenant,
	})
	g.connections = connection.NewDirectory(connection.Options{
		Store: g.store, Vault: g.vault, Providers: g.providers, Tokens: g.tokens, Drivers: g.drivers,
		Now: g.now, Log: g.log, Audit: g.audit, Changed: changed,
	})
	g.keys = apikey.NewDirectory(apikey.Options{
		Store: g.store, Vault: g.vault, Registry: g.registry, Now: g.now, Audit: g.audit, Changed: changed,
	})
	tenants := ""
	if g.config.SettingsPage.Enabled {
		tenants = settingspage.TenantsURL(g.config.Server.PublicURL)
	}
	g.links = link.NewDirectory(link.Options{
		Store: g.store, Vault: g.vault, Providers: g.providers, Connections: g.connections, Tokens: g.tokens,
		ReturnURLs: g.config.Pages.ReturnURLs, TenantsURL: tenants, Now: g.now, Log: g.log, Audit: g.audit,
		Changed: changed,
	})
	g.rows = sealing.NewRows(sealing.Options{
		Store: g.store, Vault: g.vault, Now: g.now, Log: g.log, Changed: changed,
	})
}

// closeTenants closes what openTenants opened. It may be called if openTenants was not.
func (g *Gateway) closeTenants() {
	if g.rows == nil {
		return
	}
	g.tokens.Close()
	g.drivers.Close()
	g.callers.Close()
}

// Tenants returns the directory of tenants.
func (g *Gateway) Tenants() *tenant.Directory { return g.tenants }

// Connections returns the directory of the tenants' connections.
func (g *Gateway) Connections() *connection.Directory { return g.connections }

// APIKeys returns the directory of the tenants' API keys.
func (g *Gateway) APIKeys() *apikey.Directory { return g.keys }

// Admin returns the use cases of the admin interface.
func (g *Gateway) Admin() *admin.Service { return g.admin }

// Links returns the directory of links by which customers connect accounts.
func (g *Gateway) Links() *link.Directory { return g.links }

// Apply makes tenants and connections match a file; see apply.Applier.
func (g *Gateway) Apply(ctx context.Context, file config.Tenants, o apply.Options) ([]apply.Change, error) {
	a := apply.Applier{
		Store: g.store, Sealer: sealing.New(g.vault), Providers: g.providers,
		Tenants: g.tenants, Connections: g.connections, Keys: g.keys,
		AgentURL: g.agentURL,
	}
	return a.Apply(ctx, desiredOf(file), o)
}

// desiredOf converts a file of tenants into the state that apply.Applier makes.
func desiredOf(file config.Tenants) apply.Desired {
	var want apply.Desired
	for _, t := range file.Tenants {
		d := apply.Tenant{Name: t.Name, Settings: tenant.Settings{
			DisplayName: t.DisplayName, Timezone: t.Timezone, PreventDoubleBooking: t.PreventDoubleBooking, RejectPast: t.RejectPast,
			DedupeWindow:       (*tenant.Duration)(t.DedupeWindow),
			TicketDedupeWindow: (*tenant.Duration)(t.TicketDedupeWindow), MaxPurchasesPerDay: t.MaxPurchasesPerDay,
			MaxPhoneNumbers: t.MaxPhoneNumbers, StatusWords: t.StatusWords, PriorityWords: t.PriorityWords,
			UnverifiedCallerFields: t.UnverifiedCaller,
			OpenHours:              t.OpenHours, DurationMinutes: t.DurationMinutes, SlotIntervalMinutes: t.SlotIntervalMinutes,
			BufferBeforeMinutes: t.BufferBeforeMinutes, BufferAfterMinutes: t.BufferAfterMinutes,
			MinimumNoticeMinutes: t.MinimumNoticeMinutes, BookingWindowDays: t.BookingWindowDays,
			TentativeAsBusy: t.TentativeAsBusy,
		}}
		for _, c := range t.Connections {
			d.Connections = append(d.Connections, connection.Spec{
				Name: c.Name, Kind: adapter.Kind(c.Kind), Provider: c.Provider, Default: c.Default,
				Settings: c.Settings, Credentials: c.Credentials,
			})
		}
		for _, a := range t.Agents {
			wanted := apply.Agent{KeepSigning: a.Credentials == nil, AgentSpec: apikey.AgentSpec{
				Spec: apikey.Spec{Label: a.Name, Connections: a.Connections}, Platform: a.Platform,
			}}
			if a.Credentials != nil {
				wanted.Signing = a.Credentials.Signing
			}
			for _, scope := range a.Scopes {
				wanted.Scopes = append(wanted.Scopes, apikey.Scope(scope))
			}
			d.Agents = append(d.Agents, wanted)
		}
		want.Tenants = append(want.Tenants, d)
	}
	return want
}
