package settingspage

import (
	"errors"
	"net/http"
	"slices"

	"frontdesk/core/admin"
	"frontdesk/core/agenttools"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

const (
	agentRoot    = tenantRoot + "/agent"
	platformRoot = agentRoot + "/{platform}"
)

var agentRoutes = []route{
	{http.MethodGet, agentRoot, "settings-agent", (*Pages).platforms},
	{http.MethodGet, platformRoot, "settings-platform", (*Pages).platform},
	{http.MethodPost, platformRoot, "settings-test-request", (*Pages).testRequest},
}

// platforms lists the platforms on which an agent may run.
func (p *Pages) platforms(v *visit) (reply, error) {
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	view := struct {
		layout
		Platforms []item
		Agents    string // the page with the agents that have addresses of their own
	}{Agents: p.root + tenantPath(v.tenant, "agents"), layout: p.layout(v, "Use it from your agent",
		"Where does the agent run? The page shows what to paste there, and sends a test request.",
		shell("agent-tools", "--platform", "vapi", "--key", "ID"))}
	for _, each := range agenttools.Platforms() {
		view.Platforms = append(view.Platforms,
			item{Name: each.Name, URL: p.root + tenantPath(v.tenant, "agent", each.ID)})
	}
	return reply{page: "agent.html", view: view}, nil
}

// agentKey is the name of the field that chooses the key.
const agentKey = "key"

func (p *Pages) platform(v *visit) (reply, error) {
	return p.showPlatform(v, v.r.URL.Query().Get(agentKey), nil)
}

// showPlatform shows what an agent with a key needs on a platform. Without a key, it is what a key with every
// scope has.
func (p *Pages) showPlatform(v *visit, keyID string, answer *answerView) (reply, error) {
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	key := field{Name: agentKey, Label: "API key", Type: "choice", Value: keyID,
		Choices: []choice{{"", "any key that may do everything"}}}
	scopes, err := p.keysOf(v, &key)
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Tools(v.ctx, v.path("platform"), v.tenant, keyID)
	if errors.Is(err, agenttools.ErrUnknown) {
		return reply{}, fault.Newf(fault.NotFound, fault.ReasonNotFound, "There is no platform %q.",
			shorten(v.path("platform")))
	}
	if err != nil {
		return reply{}, err
	}
	command := []string{"agent-tools", "--platform", made.Platform.ID}
	if keyID != "" {
		command = append(command, "--key", keyID)
	}
	test, _ := p.testOperation(scopes)
	return reply{page: "platform.html", view: struct {
		layout
		Made   agenttools.Made
		Key    field
		Test   string // what the test request does; "": the key may do nothing
		Keys   string // the address where keys are made
		All    string // the address of all platforms
		Answer *answerView
	}{
		layout: p.layout(v, "Your agent on "+made.Platform.Name, "", shell(command...)), Made: made, Key: key,
		Test: test.Title, Keys: p.root + tenantPath(v.tenant, "keys"),
		All: p.root + tenantPath(v.tenant, "agent"), Answer: answer,
	}}, nil
}

// keysOf adds the tenant's keys that work to a choice, and returns the scopes of the one that is chosen.
func (p *Pages) keysOf(v *visit, f *field) ([]apikey.Scope, error) {
	all, err := p.opts.Admin.ListKeys(v.ctx, v.caller, v.tenant)
	if err != nil {
		return nil, err
	}
	scopes := apikey.Scopes()
	found := f.Value == ""
	for _, k := range slices.Backward(all.Keys) {
		if !p.keyRow(k).Works {
			continue
		}
		name := k.Prefix + "…"
		if k.Label != "" {
			name += " for " + k.Label
		}
		f.Choices = append(f.Choices, choice{k.ID, name})
		if k.ID == f.Value {
			found, scopes = true, nil
			for _, s := range k.Scopes {
				scopes = append(scopes, apikey.Scope(s))
			}
		}
	}
	if !found {
		return nil, apikey.NotFound(shorten(f.Value))
	}
	return scopes, nil
}

// testOperation returns the first operation that an agent with the scopes can call.
func (p *Pages) testOperation(scopes []apikey.Scope) (Operation, bool) {
	return p.opts.Trial.find(func(o Operation) bool { return o.Tool && slices.Contains(scopes, o.Scope) })
}

// testRequest sends a documented request to the sandbox, with the scopes of the key.
func (p *Pages) testRequest(v *visit) (reply, error) {
	of, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	scopes, err := p.keysOf(v, &field{Value: v.form(agentKey)})
	if err != nil {
		return reply{}, err
	}
	o, has := p.testOperation(scopes)
	if !has {
		return reply{}, fault.New(fault.Conflict, fault.ReasonScopeMissing,
			"The key may call nothing that an agent calls. Choose another one.")
	}
	as, err := p.opts.Admin.CallerByHand(v.ctx, v.caller, admin.ByHand{
		Tenant: v.tenant, Person: v.person.Name, Scopes: scopes,
	})
	if err != nil {
		return reply{}, err
	}
	answer, err := p.attempt(v, as, o, Attempt{
		Method: o.Method, Path: o.Path, Body: example(o.Example, nil, of.Settings.Timezone, p.opts.Now()),
	})
	if err != nil {
		return reply{}, err
	}
	return p.showPlatform(v, v.form(agentKey), answer)
}
