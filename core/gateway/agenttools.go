package gateway

import (
	"context"
	"errors"
	"slices"
	"time"

	"frontdesk/core/agents"
	"frontdesk/core/agenttools"
	"frontdesk/core/api"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/tenant"
)

// AgentTools returns what an agent on a platform needs to call the gateway at a public URL, with the tools
// that the scopes allow. It needs no open gateway.
func AgentTools(platform, publicURL, timeZone string, scopes []apikey.Scope) (agenttools.Made, error) {
	return toolsFor(platform, agenttools.Setup{PublicURL: publicURL, TimeZone: timeZone}, scopes)
}

func toolsFor(platform string, setup agenttools.Setup, scopes []apikey.Scope) (agenttools.Made, error) {
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

// AgentToolsOf is AgentTools for an API key, with the time zone of the business.
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
	return g.agentToolsFor(ctx, platform, owner, apikey.Spec{
		Scopes: key.Scopes, Connections: key.Connections, Test: key.Test,
	})
}

func (g *Gateway) agentToolsFor(
	ctx context.Context, platform string, of tenant.Tenant, key apikey.Spec,
) (agenttools.Made, error) {
	as, err := g.callers.Person(ctx, "", of, key)
	if err != nil {
		return agenttools.Made{}, err
	}
	return AgentTools(platform, g.config.Server.PublicURL, g.zoneFor(ctx, as), key.Scopes)
}

// zoneWithin is how long whoever asks for an agent's tools waits for the zone of a calendar that is not known yet.
const zoneWithin = 2 * time.Second

// zoneFor returns the name of the time zone of the business that a caller acts for, or "".
func (g *Gateway) zoneFor(ctx context.Context, c apikey.Caller) string {
	ctx, cancel := context.WithTimeout(ctx, zoneWithin)
	defer cancel()
	return g.services.Calendar.ZoneName(ctx, c)
}

// AgentToolsAt is AgentTools for a voice agent of a tenant, with the agent's address.
func (g *Gateway) AgentToolsAt(ctx context.Context, platform, agentID string) (agenttools.Made, error) {
	agent, err := g.callers.Agent(ctx, agentID)
	if err != nil {
		return agenttools.Made{}, err
	}
	made, err := toolsFor(platform, agenttools.Setup{
		PublicURL: g.config.Server.PublicURL, TimeZone: g.zoneFor(ctx, agent.Caller), Agent: agenttools.Agent{
			Platform: agent.Platform, Address: g.agentURL(agent.Platform, agentID),
			Signed: len(agent.Signing) > 0,
		},
	}, agent.Caller.Scopes)
	if errors.Is(err, agenttools.ErrOther) {
		err = fault.InvalidField("platform", "must be "+agent.Platform+", where the agent is.")
	}
	return made, err
}

// agentURL returns the address of a voice agent.
func (g *Gateway) agentURL(platform, id string) string {
	return g.config.Server.PublicURL + agents.Path(platform, id)
}
