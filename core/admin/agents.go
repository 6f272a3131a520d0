package admin

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/service"
)

// Agent is a voice agent as the admin interface shows it, without its signing secret.
type Agent struct {
	ID          string     `json:"id" doc:"Its id." example:"agent_7f3c"`
	Name        string     `json:"name" doc:"Its name, unique in the tenant." example:"reception"`
	Platform    string     `json:"platform" doc:"The platform that it is at: vapi, retell, elevenlabs, telnyx, or tools for another that posts plain JSON." example:"retell"`
	Address     string     `json:"address" doc:"The address for the platform. Where the body names no tool, the name of the tool follows; call-started follows for what the platform asks before the first word." example:"https://frontdesk.example.com/alpha/agents/retell/agent_7f3c"`
	Signed      bool       `json:"signed" doc:"Whether the platform signs its requests, or sends the signing secret as a bearer token. Otherwise requests need an API key of the tenant."`
	Scopes      []string   `json:"scopes" nullable:"false" doc:"What it may do."`
	Connections []string   `json:"connections" nullable:"false" doc:"The connections that it is bound to. Other kinds use the tenant's defaults."`
	CreatedAt   time.Time  `json:"created_at" doc:"When it was created."`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty" doc:"When it was last used, to the minute. Absent: never."`
}

// Agents is the answer of ListAgents.
type Agents struct {
	Agents []Agent `json:"agents" nullable:"false" doc:"The tenant's voice agents, the newest last."`
}

// NewAgent describes a voice agent to be created. Name "": the platform's name.
type NewAgent struct {
	Tenant string
	apikey.AgentSpec
}

// AgentName names a voice agent of a tenant, by its id.
type AgentName struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     string `path:"agent" doc:"The agent's id." example:"agent_7f3c"`
}

// AgentChange describes a change of a voice agent.
type AgentChange struct {
	AgentName
	apikey.AgentChange
}

func (s *Service) agentOf(a apikey.VoiceAgent) Agent {
	k := keyOf(a.Key)
	return Agent{
		ID: k.ID, Name: k.Label, Platform: a.Platform, Address: s.opts.AgentURL(a.Platform, k.ID), Signed: a.Signed,
		Scopes: k.Scopes, Connections: k.Connections, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt,
	}
}

// ListAgents lists the voice agents of a tenant.
func (s *Service) ListAgents(ctx context.Context, c apikey.Caller, tenantName string) (Agents, error) {
	answer := Agents{Agents: []Agent{}}
	if err := reaches(c, tenantName); err != nil {
		return answer, err
	}
	all, err := s.opts.Keys.ListAgents(ctx, tenantName)
	for _, a := range all {
		answer.Agents = append(answer.Agents, s.agentOf(a))
	}
	return answer, err
}

// CreateAgent creates a voice agent.
func (s *Service) CreateAgent(
	ctx context.Context, c apikey.Caller, w Write, n NewAgent,
) (service.Answer[Agent], error) {
	if err := reaches(c, n.Tenant); err != nil {
		return service.Answer[Agent]{}, err
	}
	return once(ctx, s, w, creation[apikey.VoiceAgent, Agent]{
		operation: "create-agent", input: n,
		shown: func(_ string, made apikey.VoiceAgent) Agent { return s.agentOf(made) },
		create: func(ctx context.Context) (string, apikey.VoiceAgent, error) {
			made, err := s.opts.Keys.CreateAgent(ctx, n.Tenant, n.AgentSpec)
			return "", made, err
		},
	})
}

// ChangeAgent changes a voice agent.
func (s *Service) ChangeAgent(ctx context.Context, c apikey.Caller, n AgentChange) (Agent, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return Agent{}, err
	}
	changed, err := s.opts.Keys.ChangeAgent(ctx, n.Tenant, n.ID, n.AgentChange)
	if err != nil {
		return Agent{}, err
	}
	return s.agentOf(changed), nil
}

// RemoveAgent removes a voice agent. Its address stops working.
func (s *Service) RemoveAgent(ctx context.Context, c apikey.Caller, n AgentName) (Done, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Keys.RemoveAgent(ctx, n.Tenant, n.ID)
}
