package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
)

// agentPlatforms lists the platforms that sign their requests, or send a bearer token, for the flag.
func agentPlatforms() string { return strings.Join(apikey.Platforms(), ",") }

type agentAdd struct {
	Tenant     string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	Platform   string            `required:"" help:"Where the agent runs: ${enum}. Use tools for another platform that posts plain JSON." enum:"${agent_platforms}" placeholder:"P"`
	Name       string            `help:"The agent's name, unique in the tenant. The default is the platform's name." placeholder:"N"`
	Secret     map[string]string `help:"signing=SOURCE: what the platform signs its requests with, or sends as a bearer token. SOURCE is env:VAR, file:PATH, or - for standard input." placeholder:"signing=SOURCE" mapsep:"none"`
	Scope      []apikey.Scope    `help:"What the agent may do, such as calendar:read. Repeat for more; the default is everything." placeholder:"S"`
	Connection []string          `help:"Bind the agent to this connection. Repeat for one of each kind." placeholder:"NAME"`
	Test       bool              `help:"Let the agent reach sandbox connections only."`
}

// Help returns the text that is shown with the flags.
func (agentAdd) Help() string {
	return "The signing secret is, for Retell, the API key of the account there; for Vapi, the secret key of an " +
		"HMAC credential or the token of a bearer credential; for the others, a bearer token of your choice. " +
		"Without one, requests to the address need an API key of the tenant.\n\n" +
		"Where the body names no tool, its name follows the address, as in .../book_slot. What the platform asks " +
		"before the first word goes to .../call-started."
}

// Run creates the agent. It prints only the address on standard output.
func (c agentAdd) Run(ctx context.Context, s *session) error {
	signing, err := s.signing(c.Secret)
	if err != nil {
		return err
	}
	n := admin.NewAgent{Tenant: c.Tenant, AgentSpec: apikey.AgentSpec{Platform: c.Platform, Spec: apikey.Spec{
		Label: c.Name, Test: c.Test, Scopes: c.Scope, Connections: c.Connection,
	}}}
	if signing != nil {
		n.Signing = *signing
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		made, err := g.Admin().CreateAgent(ctx, operator(), admin.Write{}, n)
		if err != nil {
			return err
		}
		agent := made.Record
		fmt.Fprintf(s.err, "Created the agent %s (%s).", agent.Name, agent.ID)
		if !agent.Signed {
			fmt.Fprint(s.err, " Requests to its address need an API key of the tenant, in X-Api-Key or as a bearer "+
				"token.")
		}
		fmt.Fprintln(s.err)
		_, err = fmt.Fprintln(s.out, agent.Address)
		return err
	})
}

type agentList struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON."`
}

// Run lists the agents.
func (c agentList) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		all, err := g.Admin().ListAgents(ctx, operator(), c.Tenant)
		if err != nil {
			return err
		}
		rows := make([][]string, 0, len(all.Agents))
		for _, a := range all.Agents {
			proof := "API key"
			if a.Signed {
				proof = "signing secret"
			}
			rows = append(rows, []string{
				a.ID, a.Name, a.Platform, proof, strings.Join(a.Scopes, ","),
				cmp.Or(strings.Join(a.Connections, ","), "-"), moment(valueOf(a.LastUsedAt)), a.Address,
			})
		}
		return s.list(c.JSON, all.Agents,
			[]string{"ID", "NAME", "PLATFORM", "PROOF", "SCOPES", "CONNECTIONS", "LAST USED", "ADDRESS"}, rows)
	})
}

type agentChange struct {
	Tenant     string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID         string            `arg:"" help:"The agent's id, as \"agent list\" shows it."`
	Secret     map[string]string `help:"signing=SOURCE: the platform's new secret. SOURCE is env:VAR, file:PATH, or - for standard input." placeholder:"signing=SOURCE" mapsep:"none"`
	Scope      []apikey.Scope    `help:"What the agent may do from now on. Repeat for more." placeholder:"S"`
	Connection []string          `help:"Bind the agent to this connection, and to no other of its kind. Repeat for more." placeholder:"NAME"`
}

// Run changes the agent.
func (c agentChange) Run(ctx context.Context, s *session) error {
	signing, err := s.signing(c.Secret)
	if err != nil {
		return err
	}
	n := admin.AgentChange{AgentName: admin.AgentName{Tenant: c.Tenant, ID: c.ID}}
	n.Scopes, n.Connections, n.Signing = c.Scope, c.Connection, signing
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().ChangeAgent(ctx, operator(), n)
		return err
	})
}

// signing returns the signing secret among the secrets of an agent, or nil if there is none.
func (s *session) signing(sources map[string]string) (*string, error) {
	for name := range sources {
		if name != "signing" {
			return nil, usage("--secret %s: an agent has no other secret than signing", name)
		}
	}
	secrets, err := s.secrets(sources)
	if secret, given := secrets["signing"]; given {
		return &secret, err
	}
	return nil, err
}

type agentRemove struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	ID     string `arg:"" help:"The agent's id, as \"agent list\" shows it."`
}

// Run removes the agent.
func (c agentRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		_, err := g.Admin().RemoveAgent(ctx, operator(), admin.AgentName{Tenant: c.Tenant, ID: c.ID})
		return err
	})
}
