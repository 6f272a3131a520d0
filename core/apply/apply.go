// Package apply brings a gateway's tenants, their connections and their voice agents into the state that a file describes.
//
//	changes, err := applier.Apply(ctx, desired, apply.Options{DryRun: true})
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// Desired is the desired state of the tenants.
type Desired struct {
	Tenants []Tenant
}

// Tenant is the desired state of one tenant. Credentials of a connection that are nil stay unchanged.
type Tenant struct {
	Name        string
	Settings    tenant.Settings
	Connections []connection.Spec
	Agents      []Agent
}

// Agent is the desired state of one voice agent. Without a name, its platform's is its name.
type Agent struct {
	apikey.AgentSpec
	KeepSigning bool // an existing agent keeps its signing secret
}

// Options configure Apply.
type Options struct {
	DryRun bool // change nothing, return what would change
	Prune  bool // also delete tenants, connections and voice agents that are not desired
}

// Action is what a Change does.
type Action string

// The actions.
const (
	ActionCreate Action = "create"
	ActionUpdate Action = "update"
	ActionDelete Action = "delete"
)

// Change is one difference between the desired and the current state. It holds no secret.
type Change struct {
	Action     Action `json:"action"`
	Tenant     string `json:"tenant"`
	Connection string `json:"connection,omitempty"` // "": the tenant itself, or an agent
	Agent      string `json:"agent,omitempty"`
	// What is different, e.g. `settings.url: "a" -> "b"`, "credentials changed".
	Details []string `json:"details,omitempty"`
}

// Title returns what is done to what, without the details.
func (c Change) Title() string {
	switch {
	case c.Connection != "":
		return fmt.Sprintf("%s connection %s/%s", c.Action, c.Tenant, c.Connection)
	case c.Agent != "":
		return fmt.Sprintf("%s agent %s/%s", c.Action, c.Tenant, c.Agent)
	}
	return fmt.Sprintf("%s tenant %s", c.Action, c.Tenant)
}

// String returns the change as one line.
func (c Change) String() string {
	line := c.Title()
	if len(c.Details) > 0 {
		line += ": " + strings.Join(c.Details, "; ")
	}
	return line
}

// Applier applies a desired state. All fields are required.
type Applier struct {
	Store       *store.Store
	Sealer      sealing.Sealer
	Providers   connection.Providers
	Tenants     *tenant.Directory
	Connections *connection.Directory
	Keys        *apikey.Directory
	AgentURL    func(platform, id string) string
}

// Apply brings tenants, their connections and their voice agents into the desired state and returns what it
// changed, or would change. It reports every fault of the desired state before it changes anything. It
// deletes nothing unless o.Prune is set. It changes several tenants at once. A second run finds nothing to do.
// If a run was interrupted, the next one completes it. With an error, Apply returns the changes made until
// then.
func (a Applier) Apply(ctx context.Context, want Desired, o Options) ([]Change, error) {
	p := planner{applier: a, prune: o.Prune}
	if err := p.plan(ctx, want); err != nil {
		return nil, err
	}
	if len(p.faults) > 0 {
		return nil, fault.InvalidFields(p.faults...)
	}
	if !o.DryRun {
		p.take(ctx)
	}
	changes := make([]Change, 0, len(p.steps))
	var err error
	for _, s := range p.steps {
		if o.DryRun || s.done {
			changes = append(changes, s.change)
		}
		if err == nil && s.err != nil {
			err = fmt.Errorf("%s: %w", s.change.Title(), s.err)
		}
	}
	return changes, err
}

// tenantsAtOnce is how many tenants are brought into the desired state at once. The store lets concurrent
// writes share commits.
const tenantsAtOnce = 64

// take takes the steps: new tenants many at once, then those of each other tenant one after another, and
// deletions after everything else. After a failure, no further step begins.
func (p *planner) take(ctx context.Context) {
	if !p.addTenants(ctx) {
		return
	}
	var failed atomic.Bool
	inOrder := func(steps []*step) {
		for _, s := range steps {
			if s.done {
				continue
			}
			if failed.Load() {
				return
			}
			s.err = s.do(ctx)
			s.done = s.err == nil
			if s.err != nil {
				failed.Store(true)
			}
		}
	}
	var group errgroup.Group
	group.SetLimit(tenantsAtOnce)
	creations := len(p.steps) - len(p.deletions)
	for from, to := 0, 0; from < creations; from = to {
		for to = from; to < creations && p.steps[to].change.Tenant == p.steps[from].change.Tenant; {
			to++
		}
		group.Go(func() error { inOrder(p.steps[from:to]); return nil })
	}
	_ = group.Wait() // no function returns an error
	inOrder(p.deletions)
}

// planner compares the desired with the current state.
type planner struct {
	applier   Applier
	prune     bool
	steps     []*step // in order; nothing is deleted before its replacement is created
	deletions []*step
	added     []addition
	leaving   []string // ids of the agents that are deleted or get other connections, in one tenant
	faults    []fault.Field
}

// step is one change and how to make it, and what became of it.
type step struct {
	change Change
	do     func(context.Context) error
	done   bool
	err    error
}

// join adds what was planned for a tenant.
func (p *planner) join(of *planner) {
	p.steps = append(p.steps, of.steps...)
	p.deletions = append(p.deletions, of.deletions...)
	p.added = append(p.added, of.added...)
	p.faults = append(p.faults, of.faults...)
}

func (p *planner) wrong(path, format string, args ...any) {
	p.faults = append(p.faults, fault.Field{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (p *planner) plan(ctx context.Context, want Desired) error {
	now, err := p.present(ctx, want)
	if err != nil {
		return err
	}
	plans := make([]*planner, len(want.Tenants))
	wanted := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range want.Tenants {
		prefix := fmt.Sprintf("tenants[%d].", i)
		of := &planner{applier: p.applier, prune: p.prune}
		plans[i] = of
		if wanted[t.Name] {
			of.wrong(prefix+"name", "is the name of another tenant here too.")
			continue
		}
		wanted[t.Name] = true
		there, isThere := now.byName[t.Name]
		if !isThere {
			group.Go(func() error { of.newTenant(prefix, t); return nil })
			continue
		}
		group.Go(func() error { return of.tenant(ctx, prefix, t, there, now) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, of := range plans {
		p.join(of)
	}
	if p.prune {
		for _, t := range now.tenants {
			if !wanted[t.Name] {
				if err := p.applier.Store.CheckNoneToReturn(ctx, t.ID, ""); err != nil {
					return err
				}
				staying, err := p.numbersStaying(ctx, t.ID, "")
				if err != nil {
					return err
				}
				p.deletions = append(p.deletions, &step{
					change: Change{Action: ActionDelete, Tenant: t.Name, Details: staying},
					do:     func(ctx context.Context) error { return p.applier.Tenants.Delete(ctx, t.Name) },
				})
			}
		}
	}
	p.steps = append(p.steps, p.deletions...)
	return nil
}

// present is the present state, read in a few queries.
type present struct {
	tenants     []tenant.Tenant
	byName      map[string]tenant.Tenant
	connections map[string][]store.Connection // by the id of the tenant, sorted by name
	agents      map[string]bool               // ids of the tenants that have voice agents
}

func (p *planner) present(ctx context.Context, want Desired) (present, error) {
	now := present{
		byName: map[string]tenant.Tenant{}, connections: map[string][]store.Connection{}, agents: map[string]bool{},
	}
	var err error
	if now.tenants, err = p.applier.Tenants.List(ctx); err != nil {
		return now, err
	}
	for _, t := range now.tenants {
		now.byName[t.Name] = t
	}
	var ids []string
	for _, t := range want.Tenants {
		if there, isThere := now.byName[t.Name]; isThere {
			ids = append(ids, there.ID)
		}
	}
	rows, err := p.applier.Store.ConnectionsOf(ctx, ids)
	if err != nil {
		return now, err
	}
	for _, row := range rows {
		now.connections[row.TenantID] = append(now.connections[row.TenantID], row)
	}
	if !p.prune {
		return now, nil
	}
	keys, err := p.applier.Store.AllKeys(ctx)
	for _, k := range keys {
		now.agents[k.TenantID] = now.agents[k.TenantID] || k.Platform != ""
	}
	return now, err
}

// newTenant plans a tenant that does not exist, and its connections.
func (p *planner) newTenant(prefix string, want Tenant) {
	p.check(prefix, want)
	p.steps = append(p.steps, &step{
		change: Change{
			Action: ActionCreate, Tenant: want.Name, Details: difference("", tenant.Settings{}, want.Settings),
		},
		do: func(ctx context.Context) error {
			_, err := p.applier.Tenants.Create(ctx, want.Name, want.Settings)
			return err
		}})
	for i, c := range want.Connections {
		p.newConnection(fmt.Sprintf("%sconnections[%d].", prefix, i), want.Name, c)
	}
	p.added = append(p.added, addition{want, slices.Clone(p.steps)})
	for i, a := range want.Agents {
		p.newAgent(fmt.Sprintf("%sagents[%d].", prefix, i), want, a, nil)
	}
}

// tenant plans an existing tenant and its connections.
func (p *planner) tenant(
	ctx context.Context, prefix string, want Tenant, now tenant.Tenant, all present,
) error {
	p.check(prefix, want)
	if details := difference("", now.Settings, want.Settings); len(details) > 0 {
		p.steps = append(p.steps, &step{
			change: Change{Action: ActionUpdate, Tenant: want.Name, Details: details},
			do: func(ctx context.Context) error {
				_, err := p.applier.Tenants.Update(ctx, want.Name, want.Settings)
				return err
			}})
	}
	there := all.connections[now.ID]
	for i, c := range want.Connections {
		at := slices.IndexFunc(there, func(row store.Connection) bool { return row.Name == c.Name })
		path := fmt.Sprintf("%sconnections[%d].", prefix, i)
		if at < 0 {
			p.newConnection(path, want.Name, c)
			continue
		}
		if err := p.connection(path, want.Name, c, there[at]); err != nil {
			return err
		}
	}
	if len(want.Agents) > 0 || all.agents[now.ID] {
		if err := p.agents(ctx, prefix, want, there); err != nil {
			return err
		}
	}
	if !p.prune {
		return nil
	}
	return p.pruneConnections(ctx, want, there)
}

// check checks a tenant, and that no two of its connections share a name or are the default of one kind.
func (p *planner) check(prefix string, want Tenant) {
	for _, f := range append(tenant.CheckName("name", want.Name), want.Settings.Check("")...) {
		p.wrong(prefix+f.Path, "%s", f.Message)
	}
	names, defaults := map[string]bool{}, map[adapter.Kind]bool{}
	for i, c := range want.Connections {
		path := fmt.Sprintf("%sconnections[%d].", prefix, i)
		if names[c.Name] {
			p.wrong(path+"name", "is the name of another connection of the tenant too.")
		}
		if c.Default && defaults[c.Kind] {
			p.wrong(path+"default", "is true for another %s connection of the tenant too.", c.Kind)
		}
		names[c.Name] = true
		defaults[c.Kind] = defaults[c.Kind] || c.Default
	}
}

// newConnection plans a connection that does not exist.
func (p *planner) newConnection(path, tenantName string, want connection.Spec) {
	p.faults = append(p.faults, p.applier.Providers.Check(path, want)...)
	details := []string{string(want.Kind), want.Provider}
	if want.Default {
		details = append(details, "default")
	}
	details = append(details, difference("settings.", map[string]any{}, want.Settings)...)
	if len(want.Credentials) > 0 {
		details = append(details, "with credentials")
	}
	created := Change{Action: ActionCreate, Tenant: tenantName, Connection: want.Name, Details: details}
	p.steps = append(p.steps, &step{change: created, do: func(ctx context.Context) error {
		_, err := p.applier.Connections.Add(ctx, tenantName, want)
		return err
	}})
}

// connection plans an existing connection.
func (p *planner) connection(path, tenantName string, want connection.Spec, row store.Connection) error {
	now, err := connection.Of(row)
	if err != nil {
		return err
	}
	if now.Kind != want.Kind || now.Provider != want.Provider {
		p.wrong(path+"provider", "is another than the existing connection's (%s, %s). "+
			"Give the new one another name, or remove the old one first.", now.Kind, now.Provider)
		return nil
	}
	plain, unreadable := p.applier.Sealer.OpenConnection(row)
	if unreadable != nil && want.Credentials == nil {
		return fmt.Errorf("connection %s/%s: %w", tenantName, want.Name, unreadable)
	}
	var change connection.Change
	details := difference("settings.", now.Settings, want.Settings)
	if len(details) > 0 || unreadable != nil {
		// Settings that were changed in the database cannot be trusted.
		change.Settings = want.Settings
		if change.Settings == nil {
			change.Settings = map[string]any{}
		}
	}
	switch {
	case want.Credentials == nil:
		want.Credentials = plain
	case unreadable != nil || !maps.Equal(plain, want.Credentials):
		change.Credentials = want.Credentials
		details = append(details, "credentials changed")
	}
	if want.Default && !now.IsDefault {
		change.Default = true
		details = append(details, "made the default")
	}
	p.faults = append(p.faults, p.applier.Providers.Check(path, want)...)
	if len(details) == 0 {
		return nil
	}
	updated := Change{Action: ActionUpdate, Tenant: tenantName, Connection: want.Name, Details: details}
	p.steps = append(p.steps, &step{change: updated, do: func(ctx context.Context) error {
		_, err := p.applier.Connections.Update(ctx, tenantName, want.Name, change)
		return err
	}})
	return nil
}

// pruneConnections plans the deletion of connections that are not desired. It fails if a key is bound to one,
// or an agent that the plan leaves bound. Agents are changed, and deleted, before any connection is deleted.
func (p *planner) pruneConnections(ctx context.Context, want Tenant, there []store.Connection) error {
	for _, row := range there {
		if slices.ContainsFunc(want.Connections, func(c connection.Spec) bool { return c.Name == row.Name }) {
			continue
		}
		if err := p.applier.Connections.CheckUnused(ctx, row, p.leaving...); err != nil {
			return err
		}
		details, err := p.numbersStaying(ctx, row.TenantID, row.ID)
		if err != nil {
			return err
		}
		if heir := heirOf(row, want, there); heir != "" {
			details = append(details, heir+" becomes the default")
		}
		deleted := Change{Action: ActionDelete, Tenant: want.Name, Connection: row.Name, Details: details}
		p.deletions = append(p.deletions, &step{change: deleted, do: func(ctx context.Context) error {
			err := p.applier.Connections.Remove(ctx, want.Name, row.Name)
			if errors.Is(err, fault.NotFound) {
				return nil // another process was faster
			}
			return err
		}})
	}
	return nil
}

// numbersStaying says which phone numbers stay at the provider when a connection is deleted, or with "" the tenant.
func (p *planner) numbersStaying(ctx context.Context, tenantID, connectionID string) ([]string, error) {
	held, err := p.applier.Store.TenantNumbers(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	var numbers []string
	for _, n := range held {
		if connectionID == "" || n.ConnectionID == connectionID {
			numbers = append(numbers, n.E164)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	return []string{"phone numbers that stay at the provider, and go on to cost money: " + joined(numbers)}, nil
}

// heirOf returns the name of the connection that becomes the default of its kind when another is deleted, as
// [store.Store.DeleteConnection] chooses it, or "" if none does: the oldest that stays, or else the first new one.
func heirOf(deleted store.Connection, want Tenant, there []store.Connection) (heir string) {
	if !deleted.IsDefault {
		return ""
	}
	var oldest store.Connection
	for _, c := range want.Connections {
		if c.Kind != adapter.Kind(deleted.Kind) {
			continue
		}
		if c.Default {
			return "" // it is by then
		}
		at := slices.IndexFunc(there, func(row store.Connection) bool { return row.Name == c.Name })
		switch {
		case at < 0 && heir == "":
			heir = c.Name
		case at >= 0 && (oldest.ID == "" ||
			cmp.Or(there[at].CreatedAt.Compare(oldest.CreatedAt), cmp.Compare(there[at].ID, oldest.ID)) < 0):
			oldest = there[at]
		}
	}
	return cmp.Or(oldest.Name, heir)
}

// difference describes the values in which two JSON objects differ, removed ones last. A value that JSON
// cannot hold is reported by the check of the connection.
func difference(prefix string, now, want any) []string {
	var details, removed []string
	for _, d := range audit.Differences(now, want) {
		switch {
		case d.Is == "":
			removed = append(removed, fmt.Sprintf("%s%s: %s removed", prefix, d.Name, d.Was))
		case d.Was == "":
			details = append(details, fmt.Sprintf("%s%s: %s", prefix, d.Name, d.Is))
		default:
			details = append(details, fmt.Sprintf("%s%s: %s -> %s", prefix, d.Name, d.Was, d.Is))
		}
	}
	return append(details, removed...)
}
