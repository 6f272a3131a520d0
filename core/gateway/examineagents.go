package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"frontdesk/core/agents"
	"frontdesk/core/apikey"
)

// ExamineAgents calls the public address of each voice agent at a platform, or of those of one tenant, as the
// platform would. What it asks for changes nothing.
func (g *Gateway) ExamineAgents(ctx context.Context, platform, tenantName string) ([]Finding, error) {
	client := g.outside // platforms differ in whether they follow redirects, and it follows none
	defer client.CloseIdleConnections()
	findings := of(CheckPublicURL, g.examinePublicURL(ctx))
	before := len(findings)
	tenants, err := g.tenantsNamed(ctx, tenantName)
	if err != nil {
		return findings, err
	}
	for _, t := range tenants {
		all, err := g.keys.ListAgents(ctx, t.Name)
		if err != nil {
			return findings, err
		}
		for _, a := range all {
			if a.Platform == platform {
				findings = append(findings, of(CheckAgent, g.examineAgent(ctx, client, t.Name, a))...)
			}
		}
	}
	if len(findings) == before {
		findings = append(findings, of(CheckAgent, fails("platform "+platform, "no voice agent is at this platform",
			"Add one with: frontdesk agent add --tenant NAME --platform "+platform))...)
	}
	return findings, nil
}

func (g *Gateway) examineAgent(
	ctx context.Context, client *http.Client, tenantName string, a apikey.VoiceAgent,
) Finding {
	subject := "agent " + tenantName + "/" + a.Label
	agent, err := g.callers.Agent(ctx, a.ID)
	if err != nil {
		return fails(subject, detailOf(err), "Remove the agent, and add it again.")
	}
	probe := agents.Probe{
		Client: client, Platform: a.Platform, Now: g.now, Signing: agent.Signing,
		Address: g.agentURL(a.Platform, a.ID),
	}
	if err := probe.Forge(ctx); err != nil {
		return fails(subject, probe.Address+": "+err.Error(),
			"Check that frontdesk serve runs, and that server.public_url leads to it: the name, the proxy and the "+
				"certificate. The proxy must pass on paths below /alpha/agents.")
	}
	if len(agent.Signing) == 0 {
		return fine(subject, probe.Address+" answers, and asks for an API key: the agent has no signing secret")
	}
	took, err := probe.Ring(ctx)
	if err != nil {
		return fails(subject, probe.Address+": "+err.Error(),
			"If a proxy changes bodies or takes headers away, let it not. Otherwise look at: frontdesk request list "+
				"--tenant "+tenantName)
	}
	var times []string
	for _, t := range took {
		times = append(times, t.Round(time.Millisecond).String())
	}
	says := fmt.Sprintf("%s answers what the platform signs (in %s), and refuses what it does not",
		probe.Address, strings.Join(times, " and "))
	if at, err := url.Parse(probe.Address); a.Platform != "tools" && err == nil && isLoopbackHost(at.Hostname()) {
		return warns(subject, says+", but only to this machine", "Set server.public_url to the https address of a "+
			"proxy or a tunnel that leads to the gateway. The platform calls from servers of its own.")
	}
	return fine(subject, says)
}
