package apikey

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// ReasonAgentNotFound is the reason of the fault if there is no voice agent with an id.
const ReasonAgentNotFound = "AGENT_NOT_FOUND"

// AgentID is the prefix of the ids of voice agents.
const AgentID = "agent"

// Platforms returns the platforms that a voice agent can be at. "tools" is any that posts plain JSON.
func Platforms() []string { return []string{"vapi", "retell", "elevenlabs", "telnyx", "tools"} }

// minSigning is the fewest bytes of a signing secret: one that is shorter could be guessed.
const minSigning = 16

// AgentSpec describes a voice agent to be created. Its label is its name, unique in the tenant.
type AgentSpec struct {
	Spec
	Platform string
	// What the platform signs its requests with, or sends as a bearer token. "": requests need an API key of
	// the tenant.
	Signing string
}

// Check returns what is wrong with the name, the platform and the secret.
func (s AgentSpec) Check(prefix string) []fault.Field {
	faults := tenant.CheckName(prefix+"name", s.Label)
	if !slices.Contains(Platforms(), s.Platform) {
		faults = append(faults, fault.Field{Path: prefix + "platform",
			Message: "must be one of " + strings.Join(Platforms(), ", ") + "."})
	}
	switch path := prefix + "credentials.signing"; {
	case s.Signing != "" && len(s.Signing) < minSigning:
		faults = append(faults, fault.Field{Path: path,
			Message: fmt.Sprintf("must have at least %d bytes.", minSigning)})
	case strings.ContainsFunc(s.Signing, unicode.IsControl):
		faults = append(faults, fault.Field{Path: path,
			Message: "must be one line without control characters; check how it was copied."})
	}
	return faults
}

// VoiceAgent describes a voice agent. Its label is its name.
type VoiceAgent struct {
	Key
	Platform string
	Signed   bool // it has a signing secret
}

// CreateAgent creates a voice agent: an API key that nobody holds. Requests to the agent's address prove by
// the signing secret that they come from its platform.
func (d *Directory) CreateAgent(ctx context.Context, tenantName string, s AgentSpec) (VoiceAgent, error) {
	s.Label = cmp.Or(s.Label, s.Platform)
	row, owner, names, err := d.describe(ctx, tenantName, s.Spec, s.Check("")...)
	if err != nil {
		return VoiceAgent{}, err
	}
	row.Platform = s.Platform
	ctx = store.Creating(ctx, "", func(row store.APIKey) (VoiceAgent, error) {
		return VoiceAgent{keyOf(row, names), row.Platform, s.Signing != ""}, nil
	})
	_, err = d.create(ctx, &row, owner.Name, names, []byte(s.Signing))
	if errors.Is(err, fault.Conflict) {
		return VoiceAgent{}, fault.Newf(fault.Conflict, tenant.ReasonNameTaken,
			"The tenant %q already has an agent with the name %q.", tenantName, s.Label)
	}
	return VoiceAgent{keyOf(row, names), row.Platform, s.Signing != ""}, err
}

// AgentChange is a change of a voice agent. What is nil stays.
type AgentChange struct {
	Scopes      []Scope
	Connections []string
	Signing     *string // "": requests need an API key of the tenant
}

const actionChangeAgent = "change-agent"

// ChangeAgent changes a voice agent. Its address stays, and so does its platform. It fails with fault.NotFound
// if the tenant has no such agent, and with fault.Conflict if the agent changes at the same time.
func (d *Directory) ChangeAgent(
	ctx context.Context, tenantName, id string, change AgentChange,
) (VoiceAgent, error) {
	was, owner, err := d.findAgent(ctx, tenantName, id)
	if err != nil {
		return VoiceAgent{}, err
	}
	signing, err := d.sealer.Signing(was)
	if err != nil {
		return VoiceAgent{}, err
	}
	names, err := d.connectionNames(ctx, owner.ID)
	if err != nil {
		return VoiceAgent{}, err
	}
	now := keyOf(was, names)
	wanted := AgentSpec{Platform: was.Platform, Signing: string(signing), Spec: Spec{
		Label: was.Label, Test: was.Test, Scopes: now.Scopes, Connections: now.Connections,
	}}
	var changed []string
	if change.Scopes != nil {
		wanted.Scopes, changed = change.Scopes, append(changed, "scopes")
	}
	if change.Connections != nil {
		wanted.Connections, changed = change.Connections, append(changed, "connections")
	}
	if change.Signing != nil {
		wanted.Signing, changed = *change.Signing, append(changed, "credentials.signing")
	}
	described, _, names, err := d.describe(ctx, tenantName, wanted.Spec, wanted.Check("")...)
	if err != nil {
		return VoiceAgent{}, err
	}
	is := was
	is.Scopes, is.Connections = described.Scopes, described.Connections
	if err := d.sealer.SealKey(&is, []byte(wanted.Signing)); err != nil {
		return VoiceAgent{}, err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionChangeAgent, Subject: id, Changed: changed,
	})
	if err != nil {
		return VoiceAgent{}, err
	}
	err = d.opts.Store.ChangeAgent(ctx, was, is, audited...)
	d.opts.Changed() // even after a failure: the commit may have succeeded although its reply was lost
	return VoiceAgent{keyOf(is, names), is.Platform, wanted.Signing != ""}, err
}

// RemoveAgent removes a voice agent. Its address stops working in this process at once, and elsewhere within
// two seconds.
func (d *Directory) RemoveAgent(ctx context.Context, tenantName, id string) error {
	if _, _, err := d.findAgent(ctx, tenantName, id); err != nil {
		return err
	}
	return d.Revoke(ctx, id)
}

// SignsWith reports whether a secret is the signing secret of a voice agent.
func (d *Directory) SignsWith(ctx context.Context, id, secret string) (bool, error) {
	row, _, err := d.find(ctx, id)
	if err != nil {
		return false, err
	}
	signing, err := d.sealer.Signing(row)
	return subtle.ConstantTimeCompare(signing, []byte(secret)) == 1, err
}

// findAgent returns the row of a tenant's voice agent, and the tenant.
func (d *Directory) findAgent(
	ctx context.Context, tenantName, id string,
) (store.APIKey, store.Tenant, error) {
	row, owner, err := d.find(ctx, id)
	if err == nil && (owner.Name != tenantName || row.Platform == "" || !row.RevokedAt.IsZero()) ||
		errors.Is(err, fault.NotFound) {
		return row, owner, NoAgent()
	}
	return row, owner, err
}

// ListAgents returns a tenant's voice agents, the newest last, without those that were removed.
func (d *Directory) ListAgents(ctx context.Context, tenantName string) ([]VoiceAgent, error) {
	rows, names, err := d.rowsOf(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	all := []VoiceAgent{}
	for _, row := range rows {
		if row.Platform == "" || !row.RevokedAt.IsZero() {
			continue
		}
		signing, err := d.sealer.Signing(row) // a row that is not genuine is listed, so that it can be removed
		all = append(all, VoiceAgent{keyOf(row, names), row.Platform, err == nil && len(signing) > 0})
	}
	return all, nil
}

// Agent is a voice agent as the caller of requests that its platform makes.
type Agent struct {
	Caller   Caller
	Platform string
	Signing  []byte // what the platform proves itself with; empty: requests need an API key of the tenant
}

// Agent returns the voice agent of an id, or fault.NotFound. It is shared and must not be modified. Anybody may know
// the id, so that this is no use of the agent; see [Callers.Used].
func (c *Callers) Agent(ctx context.Context, id string) (Agent, error) {
	// Agents are cached beside keys, which no id of an agent can be.
	hash := sha256.Sum256([]byte(id))
	known, err := c.known(ctx, hash, func(ctx context.Context) (knownKey, error) { return c.loadAgent(ctx, id) })
	if err != nil {
		return Agent{}, err
	}
	if former, is := errors.AsType[*FormerKey](known.invalid); is {
		removed := *former
		removed.Err = NoAgent()
		return Agent{}, &removed
	}
	if known.invalid != nil {
		return Agent{}, NoAgent()
	}
	return Agent{known.caller, known.platform, known.signing}, nil
}

func (c *Callers) loadAgent(ctx context.Context, id string) (knownKey, error) {
	owner, err := c.opts.Store.KeyOwnerByID(ctx, id)
	if errors.Is(err, fault.NotFound) || err == nil && owner.Key.Platform == "" {
		return knownKey{}, ErrKey
	}
	if err != nil {
		return knownKey{}, err
	}
	caller, err := c.callerOf(ctx, owner)
	if err != nil {
		return knownKey{}, err
	}
	signing, err := c.sealer.Signing(owner.Key)
	return knownKey{
		caller: caller, platform: owner.Key.Platform, signing: signing, ends: owner.Key.EndsAt,
		server: owner.Server,
	}, err
}

// NoAgent returns the fault for an id that no voice agent has.
func NoAgent() error {
	return fault.New(fault.NotFound, ReasonAgentNotFound, "There is no such voice agent.")
}
