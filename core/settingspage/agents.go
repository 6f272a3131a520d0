package settingspage

import (
	"net/http"
	"slices"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

const (
	agentsRoot      = tenantRoot + "/agents"
	removeAgentPath = agentsRoot + "/{agent}/remove"
)

var voiceAgentRoutes = []route{
	{http.MethodGet, agentsRoot, "settings-agents", (*Pages).agents},
	{http.MethodPost, agentsRoot, "settings-create-agent", (*Pages).createAgent},
	{http.MethodGet, removeAgentPath, "settings-remove-agent", (*Pages).askToRemoveAgent},
	{http.MethodPost, removeAgentPath, "settings-remove-agent", (*Pages).removeAgent},
}

// agentRow is a voice agent in a list.
type agentRow struct {
	admin.Agent
	LastUsed string
}

func (p *Pages) agents(v *visit) (reply, error) { return p.showAgents(v, nil) }

func (p *Pages) showAgents(v *visit, wrong error) (reply, error) {
	all, err := p.opts.Admin.ListAgents(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	view := struct {
		layout
		Agents []agentRow
		Fields []field
		Scopes []check
		Rest   []fault.Field
	}{Scopes: v.scopeChecks(), layout: p.layout(v, "Voice agents of "+v.tenant,
		"A voice agent has an address of its own. There, its platform's signature takes the place of an API key.",
		shell("agent", "list", "--tenant", v.tenant),
		shell("agent", "add", "--tenant", v.tenant, "--platform", "retell", "--secret", "signing=env:VAR"),
		shell("agent", "remove", "--tenant", v.tenant, "ID"))}
	for _, a := range slices.Backward(all.Agents) {
		view.Agents = append(view.Agents, agentRow{a, lastUsed(a.LastUsedAt)})
	}
	platform := field{Name: "platform", Label: "Platform", Type: "choice", Value: v.form("platform")}
	for _, each := range apikey.Platforms() {
		platform.Choices = append(platform.Choices, choice{each, platformNames[each]})
	}
	view.Fields, view.Rest = withFaults([]field{
		platform,
		{Name: "name", Label: "Name", Type: "text", Value: v.form("name"),
			Help: "The default is the platform's name."},
		{Name: credentialsPrefix + "signing", Label: "Signing secret", Type: "secret",
			Help: "Retell: the account's API key. Vapi: the secret of an HMAC or bearer credential. Others: a bearer " +
				"token of your choice. Without one, requests need an API key."},
	}, wrong)
	return formPage("agents.html", view, wrong), nil
}

var platformNames = map[string]string{
	"vapi": "Vapi", "retell": "Retell AI", "elevenlabs": "ElevenLabs Agents", "telnyx": "Telnyx AI Assistants",
	"tools": "another that posts plain JSON",
}

func (p *Pages) createAgent(v *visit) (reply, error) {
	spec := apikey.AgentSpec{
		Spec: apikey.Spec{Label: v.form("name"), Scopes: v.scopes()}, Platform: v.form("platform"),
		Signing: v.form(credentialsPrefix + "signing"),
	}
	if len(spec.Scopes) == 0 {
		return p.showAgents(v, fault.InvalidField("scopes", "must name at least one thing that the agent may do."))
	}
	made, err := p.opts.Admin.CreateAgent(v.ctx, v.caller, v.once(),
		admin.NewAgent{Tenant: v.tenant, AgentSpec: spec})
	if isInvalid(err) {
		return p.showAgents(v, err)
	}
	return p.done(v, err, "The agent "+made.Record.Name+" was created. Give its platform the address below.",
		tenantPath(v.tenant, "agents"))
}

// agent returns the voice agent that the path names.
func (p *Pages) agent(v *visit) (admin.Agent, error) {
	all, err := p.opts.Admin.ListAgents(v.ctx, v.caller, v.tenant)
	if err != nil {
		return admin.Agent{}, err
	}
	return pick(all.Agents, func(a admin.Agent) bool { return a.ID == v.path("agent") }, apikey.NoAgent())
}

func (p *Pages) askToRemoveAgent(v *visit) (reply, error) {
	a, err := p.agent(v)
	if err != nil {
		return reply{}, err
	}
	return reply{page: "confirm.html", view: confirmView{
		layout: p.layout(v, "Remove the voice agent "+a.Name+"?", "",
			shell("agent", "remove", "--tenant", v.tenant, a.ID)),
		Means: []string{
			"Its address stops working within 5 seconds, and cannot be brought back.",
			"A new agent of the same name has another address.",
		},
		Action: "Remove the agent", Back: p.root + tenantPath(v.tenant, "agents"),
	}}, nil
}

func (p *Pages) removeAgent(v *visit) (reply, error) {
	_, err := p.opts.Admin.RemoveAgent(v.ctx, v.caller, admin.AgentName{Tenant: v.tenant, ID: v.path("agent")})
	return p.done(v, err, "The agent was removed.", tenantPath(v.tenant, "agents"))
}
