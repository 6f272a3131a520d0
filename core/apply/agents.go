package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// agents plans the voice agents of an existing tenant, which has connections already. Without the option to
// prune, it needs no call for a tenant that wants none.
func (p *planner) agents(
	ctx context.Context, prefix string, want Tenant, connected []store.Connection,
) error {
	there, err := p.applier.Keys.ListAgents(ctx, want.Name)
	if err != nil {
		return err
	}
	for i, a := range want.Agents {
		path := fmt.Sprintf("%sagents[%d].", prefix, i)
		at := slices.IndexFunc(there, func(now apikey.VoiceAgent) bool { return now.Label == a.Label })
		if at < 0 {
			p.newAgent(path, want, a, connected)
			continue
		}
		if err := p.agent(ctx, path, want, a, there[at], connected); err != nil {
			return err
		}
	}
	if !p.prune {
		return nil
	}
	for _, now := range there {
		if slices.ContainsFunc(want.Agents, func(a Agent) bool { return a.Label == now.Label }) {
			continue
		}
		p.leaving = append(p.leaving, now.ID)
		p.deletions = append(p.deletions, &step{
			change: Change{Action: ActionDelete, Tenant: want.Name, Agent: now.Label},
			do: func(ctx context.Context) error {
				err := p.applier.Keys.RemoveAgent(ctx, want.Name, now.ID)
				if errors.Is(err, fault.NotFound) {
					return nil // another process was faster
				}
				return err
			}})
	}
	return nil
}

// checkAgent checks an agent, and that its connections will be there.
func (p *planner) checkAgent(path string, want Tenant, a Agent, connected []store.Connection) {
	p.faults = append(p.faults, a.Check(path)...)
	var has []connection.Connection // the tenant will have
	for _, c := range want.Connections {
		has = append(has, connection.Connection{Name: c.Name, Kind: c.Kind, Provider: c.Provider})
	}
	for _, c := range connected {
		if !p.prune && !slices.ContainsFunc(has, func(h connection.Connection) bool { return h.Name == c.Name }) {
			has = append(has, connection.Connection{Name: c.Name, Kind: adapter.Kind(c.Kind), Provider: c.Provider})
		}
	}
	for _, f := range p.applier.Keys.CheckConnections(want.Name, a.Spec, has) {
		p.wrong(path+f.Path, "%s", f.Message)
	}
	for i, scope := range a.Scopes {
		if !slices.Contains(apikey.Scopes(), scope) {
			p.wrong(fmt.Sprintf("%sscopes[%d]", path, i), "must be one of %s.", joined(apikey.Scopes()))
		}
	}
	if 1 < len(slices.DeleteFunc(slices.Clone(want.Agents), func(b Agent) bool { return a.Label != b.Label })) {
		p.wrong(path+"name", "is the name of another agent of the tenant too.")
	}
}

// newAgent plans an agent that does not exist.
func (p *planner) newAgent(path string, want Tenant, a Agent, connected []store.Connection) {
	p.checkAgent(path, want, a, connected)
	details := []string{a.Platform}
	if len(a.Scopes) > 0 {
		details = append(details, "scopes: "+joined(a.Scopes))
	}
	if len(a.Connections) > 0 {
		details = append(details, "connections: "+joined(a.Connections))
	}
	if a.Signing != "" {
		details = append(details, "with credentials")
	}
	create := &step{change: Change{Action: ActionCreate, Tenant: want.Name, Agent: a.Label, Details: details}}
	create.do = func(ctx context.Context) error {
		made, err := p.applier.Keys.CreateAgent(ctx, want.Name, a.AgentSpec)
		if err != nil {
			return err
		}
		create.change.Details = append(details, "address: "+p.applier.AgentURL(made.Platform, made.ID))
		return nil
	}
	p.steps = append(p.steps, create)
}

// agent plans an existing agent.
func (p *planner) agent(
	ctx context.Context, path string, want Tenant, a Agent, now apikey.VoiceAgent, connected []store.Connection,
) error {
	p.checkAgent(path, want, a, connected)
	if a.Platform != now.Platform {
		p.wrong(path+"platform", "is another than the existing agent's (%s). Give the new one another name, or "+
			"remove the old one first.", now.Platform)
		return nil
	}
	wanted := a.Scopes
	if len(wanted) == 0 {
		wanted = apikey.Scopes()
	}
	var change apikey.AgentChange
	var details []string
	if !sameSet(wanted, now.Scopes) {
		change.Scopes = wanted
		details = append(details, fmt.Sprintf("scopes: %s -> %s", joined(now.Scopes), joined(wanted)))
	}
	if !sameSet(a.Connections, now.Connections) {
		change.Connections = append([]string{}, a.Connections...)
		p.leaving = append(p.leaving, now.ID) // what it is bound to then is desired, or checkAgent reports it
		details = append(details, fmt.Sprintf("connections: %s -> %s", joined(now.Connections),
			joined(a.Connections)))
	}
	if !a.KeepSigning {
		same, err := p.applier.Keys.SignsWith(ctx, now.ID, a.Signing)
		if err != nil {
			return fmt.Errorf("agent %s/%s: %w", want.Name, a.Label, err)
		}
		if !same {
			change.Signing = &a.Signing
			details = append(details, "credentials changed")
		}
	}
	if len(details) == 0 {
		return nil
	}
	p.steps = append(p.steps, &step{
		change: Change{Action: ActionUpdate, Tenant: want.Name, Agent: a.Label, Details: details},
		do: func(ctx context.Context) error {
			_, err := p.applier.Keys.ChangeAgent(ctx, want.Name, now.ID, change)
			return err
		}})
	return nil
}

func sameSet[T ~string](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))),
		slices.Compact(slices.Sorted(slices.Values(b))))
}

// joined lists names for people.
func joined[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(names))
	for _, name := range names {
		texts = append(texts, string(name))
	}
	return strings.Join(texts, ", ")
}
