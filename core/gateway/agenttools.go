package gateway

import (
	"context"
	"slices"

	"frontdesk/core/agenttools"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/tenant"
)

// AgentTools returns what an agent on a platform needs to call the gateway at a public URL, with the tools
// that the scopes allow. It needs no open gateway.
func AgentTools(platform, publicURL, timeZone string, scopes []apikey.Scope) (agenttools.Made, error) {
	setup := agenttools.Setup{PublicURL: publicURL, TimeZone: timeZone}
	for _, t := range api.Tools() {
		if slices.Contains(scopes, t.Scope) {
			setup.Tools = append(setup.Tools, agenttools.Tool{
				Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.Schema,
				Writes: t.Writes, Destructive: t.Destructive, CallerNumber: t.CallerNumber,
				AboutCaller: t.AboutCaller,
			})
		}
	}
	return agenttools.For(platform, setup)
}

// AgentToolsOf is AgentTools for an API key, with the time zone of its tenant.
func (g *Gateway) AgentToolsOf(ctx context.Context, platform, keyID string) (agenttools.Made, error) {
	key, err := g.keys.Get(ctx, keyID)
	if err == nil && key.Role() != "" {
		err = apikey.NotFound(keyID) // a key of the admin interface
	}
	if err != nil {
		return agenttools.Made{}, err
	}
	owner, err := tenant.ByID(ctx, g.store, key.TenantID)
	if err != nil {
		return agenttools.Made{}, err
	}
	return AgentTools(platform, g.config.Server.PublicURL, owner.Zone(), key.Scopes)
}
