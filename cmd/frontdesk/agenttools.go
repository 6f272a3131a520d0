package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"frontdesk/config"
	"frontdesk/core/agenttools"
	"frontdesk/core/apikey"
	"frontdesk/core/gateway"
)

type agentTools struct {
	Platform  string   `required:"" help:"Where the agent runs: ${enum}." enum:"${platforms}" placeholder:"P"`
	Key       string   `help:"The id of the API key that the agent will use, as \"key list\" shows it." xor:"for" placeholder:"ID"`
	Agent     string   `help:"The id of a voice agent with an address of its own, as \"agent list\" shows it." xor:"for" placeholder:"ID"`
	KeyScopes []string `help:"What the agent may do, in the place of --key or --agent. The default is everything." xor:"for" aliases:"scopes" placeholder:"SCOPE"`
	BaseURL   string   `help:"Where the platform reaches the gateway. The default is server.public_url." placeholder:"URL"`
	Prompt    bool     `help:"Print only the lines for the agent's prompt."`
}

// Run prints the definitions. On standard error it says where they go.
func (c agentTools) Run(ctx context.Context, s *session) error {
	made, err := c.made(ctx, s)
	if err != nil {
		return err
	}
	if c.Prompt {
		_, err = fmt.Fprintln(s.out, made.Prompt)
		return err
	}
	for i, step := range made.Where {
		fmt.Fprintf(s.err, "%d. %s\n", i+1, step)
	}
	fmt.Fprintf(s.err, "\nFor the prompt:\n%s\n\n", made.Prompt)
	_, err = fmt.Fprintln(s.out, made.Definitions)
	return err
}

func (c agentTools) made(ctx context.Context, s *session) (made agenttools.Made, err error) {
	cfg, err := s.configForCommand()
	if err != nil {
		return made, err
	}
	if c.BaseURL != "" {
		var problem string
		if cfg.Server.PublicURL, problem = config.BaseURL(c.BaseURL); problem != "" {
			return made, usage("--base-url: %s", problem)
		}
	}
	if c.Agent != "" || c.Key != "" {
		err = s.withConfig(ctx, cfg, func(g *gateway.Gateway) error {
			if c.Agent != "" {
				made, err = g.AgentToolsAt(ctx, c.Platform, c.Agent)
			} else {
				made, err = g.AgentToolsOf(ctx, c.Platform, c.Key)
			}
			return err
		})
		return made, err
	}
	scopes := apikey.Scopes()
	if len(c.KeyScopes) > 0 {
		scopes = nil
	}
	for _, name := range c.KeyScopes {
		if !slices.Contains(apikey.Scopes(), apikey.Scope(name)) {
			return made, usage("--key-scopes: there is no scope %q", name)
		}
		scopes = append(scopes, apikey.Scope(name))
	}
	return gateway.AgentTools(c.Platform, cfg.Server.PublicURL, "", scopes)
}

// platforms are the names for --platform.
func platforms() string { return strings.Join(agenttools.IDs(), ",") }
