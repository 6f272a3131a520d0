package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"frontdesk/config"
	"frontdesk/core/adapter"
	"frontdesk/core/apply"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/gateway"
)

type connectionAdd struct {
	Tenant   string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	Kind     string            `required:"" help:"calendar, crm or telephony." enum:"calendar,crm,telephony" placeholder:"KIND"`
	Provider string            `required:"" help:"The provider's name, as \"frontdesk providers\" lists it." placeholder:"P"`
	Name     string            `help:"The connection's name, unique in the tenant. The default is the provider's name, without what comes before a slash." placeholder:"N"`
	Default  bool              `help:"Make it the tenant's default connection of this kind."`
	Set      map[string]string `help:"A setting: NAME=VALUE, or NAME.KEY=VALUE for one key of a setting that has keys. Repeat for more." placeholder:"K=V" mapsep:"none"`
	Secret   map[string]string `help:"A credential: NAME=SOURCE, where SOURCE is env:VAR, file:PATH, or - for standard input. Repeat for more." placeholder:"K=SOURCE" mapsep:"none"`
}

// Run adds the connection, or replaces the settings and credentials of an existing one, and prints its name.
func (c connectionAdd) Run(ctx context.Context, s *session) error {
	n := connection.Spec{Name: c.Name, Kind: adapter.Kind(c.Kind), Provider: c.Provider, Default: c.Default}
	var err error
	if n.Settings, err = settingsOf(c.Set); err != nil {
		return err
	}
	if n.Credentials, err = s.secrets(c.Secret); err != nil {
		return err
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		there, err := s.existing(ctx, g, c.Tenant, &n)
		if err != nil {
			return err
		}
		var made connection.Connection
		if there {
			made, err = g.Connections().Update(ctx, c.Tenant, n.Name, connection.Change{
				Default: n.Default, Settings: n.Settings, Credentials: n.Credentials,
			})
		} else {
			made, err = g.Connections().Add(ctx, c.Tenant, n)
		}
		if err != nil {
			return err
		}
		if made.Status == connection.StatusReconnectRequired {
			callbacks, err := g.Links().Callbacks(ctx, c.Tenant)
			if err != nil {
				return err
			}
			if callback := callbacks[n.Name]; callback != "" {
				fmt.Fprintf(s.err, redirectURI, gateway.RedirectURI(cfg.Server.PublicURL, callback))
			}
			fmt.Fprintf(s.err, "The customer must give consent. Create the link with: frontdesk "+
				"connect-link --tenant %s --provider %s --name %s\n", c.Tenant, n.Provider, n.Name)
		} else {
			fmt.Fprintf(s.err, "Check it with: frontdesk connection verify --tenant %s %s\n", c.Tenant, n.Name)
		}
		_, err = fmt.Fprintln(s.out, n.Name)
		return err
	})
}

// settingsOf converts --set flags into settings. A flag is NAME=VALUE, or NAME.KEY=VALUE for one key of a
// setting that has keys.
func settingsOf(flags map[string]string) (map[string]any, error) {
	settings := make(map[string]any, len(flags))
	for _, flag := range slices.Sorted(maps.Keys(flags)) { // NAME comes before NAME.KEY
		name, key, isPart := strings.Cut(flag, ".")
		if !isPart {
			settings[name] = flags[flag]
			continue
		}
		if settings[name] == nil {
			settings[name] = map[string]any{}
		}
		parts, ok := settings[name].(map[string]any)
		if !ok {
			return nil, usage("--set %s: --set %s is given as well; set the value as a whole or by keys, "+
				"not both", flag, name)
		}
		parts[key] = flags[flag]
	}
	return settings, nil
}

// changesOf converts --set and --unset flags into settings, nil for those that get their default back.
func changesOf(set map[string]string, unset []string) (map[string]any, error) {
	changes, err := settingsOf(set)
	if err != nil {
		return nil, err
	}
	for _, name := range unset {
		if changes[name] != nil {
			return nil, usage("--unset %s: --set %s is given as well", name, name)
		}
		changes[name] = nil
	}
	if len(changes) == 0 {
		return nil, usage("nothing to change: give --set NAME=VALUE or --unset NAME")
	}
	return changes, nil
}

// existing reports whether the tenant has the connection. If n has no name, existing sets it to the
// provider's name or, if another connection has that name, to the provider's name and the kind. A connection
// with the name that is of another kind or provider is a conflict.
func (s *session) existing(
	ctx context.Context, g *gateway.Gateway, tenantName string, n *connection.Spec,
) (bool, error) {
	all, err := g.Connections().List(ctx, tenantName)
	if err != nil {
		return false, err
	}
	names := []string{n.Name}
	if n.Name == "" {
		name := adapter.DefaultName(n.Provider)
		names = []string{name, name + "-" + string(n.Kind)}
	}
	var other connection.Connection
	for _, n.Name = range names {
		i := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Name == n.Name })
		if i < 0 {
			return false, nil
		}
		if other = all[i]; other.Kind == n.Kind && other.Provider == n.Provider {
			return true, nil
		}
	}
	return false, fault.Newf(fault.Conflict, "CONNECTION_EXISTS",
		"The tenant already has a connection %q to %s %s. Choose another --name.", n.Name,
		other.Provider, other.Kind)
}

// secrets reads credentials from their sources. It refuses literal values, since command lines end up in
// shell histories.
func (s *session) secrets(sources map[string]string) (map[string]string, error) {
	secrets := make(map[string]string, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		value, err := config.Resolve(config.SecretSource(sources[name]), s.environ, s.in)
		if err != nil {
			return nil, usage("--secret %s: %v", name, err)
		}
		secrets[name] = value
	}
	return secrets, nil
}

type connectionList struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	JSON   bool   `help:"Print JSON."`
}

type connectionRow struct {
	ID        string            `json:"id"` // as the log names it
	Name      string            `json:"name"`
	Kind      adapter.Kind      `json:"kind"`
	Provider  string            `json:"provider"`
	Default   bool              `json:"default"`
	Status    connection.Status `json:"status"`
	Email     string            `json:"email"`
	Settings  map[string]any    `json:"settings"`
	CreatedAt time.Time         `json:"created_at"`

	RedirectURI string `json:"redirect_uri,omitempty"` // for connections that use customers' consent
}

// redirectURI is the format of the message with the redirect URI to register with an OAuth client.
const redirectURI = "Register this redirect URI with the OAuth client: %s\n"

// Run lists a tenant's connections, without their credentials.
func (c connectionList) Run(ctx context.Context, s *session) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		connections, err := g.Connections().List(ctx, c.Tenant)
		if err != nil {
			return err
		}
		var callbacks map[string]string
		if c.JSON {
			if callbacks, err = g.Links().Callbacks(ctx, c.Tenant); err != nil {
				return err
			}
		}
		values, rows := make([]connectionRow, 0, len(connections)), make([][]string, 0, len(connections))
		for _, x := range connections {
			value := connectionRow{
				ID: x.ID, Name: x.Name, Kind: x.Kind, Provider: x.Provider, Default: x.IsDefault, Status: x.Status,
				Email: x.Email, Settings: x.Settings, CreatedAt: x.CreatedAt.UTC(),
			}
			if callback := callbacks[x.Name]; callback != "" {
				value.RedirectURI = gateway.RedirectURI(cfg.Server.PublicURL, callback)
			}
			values = append(values, value)
			rows = append(rows, []string{
				x.Name, string(x.Kind), x.Provider, yes(x.IsDefault), string(x.Status), x.Email, x.ID,
			})
		}
		return s.list(c.JSON, values, []string{"NAME", "KIND", "PROVIDER", "DEFAULT", "STATUS", "ACCOUNT", "ID"}, rows)
	})
}

type connectionVerify struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	Name   string `arg:"" help:"The connection's name."`
	JSON   bool   `help:"Print JSON."`
}

// Run asks the provider whether the connection works. If not, the error says what is wrong and what to do.
func (c connectionVerify) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		v, err := g.Connections().Verify(ctx, c.Tenant, c.Name)
		if err != nil {
			return err
		}
		if c.JSON {
			if err := s.printJSON(v); err != nil {
				return err
			}
		}
		if !v.OK {
			return fmt.Errorf("%s: %s\n  %s", c.Name, plain(v.Problem), v.Advice)
		}
		if c.JSON {
			return nil
		}
		if _, err := fmt.Fprintln(s.out, strings.Join(slices.DeleteFunc([]string{"ok", plain(v.Email), plain(v.Name)},
			func(part string) bool { return part == "" }), " ")); err != nil {
			return err
		}
		for _, line := range v.Details {
			fmt.Fprintln(s.err, " ", plain(line))
		}
		return nil
	})
}

type connectionRemove struct {
	Tenant string `required:"" help:"The tenant's name." placeholder:"NAME"`
	Name   string `arg:"" help:"The connection's name."`
}

// Run removes the connection. Data at the provider stays there; phone numbers, which cost money, are named.
func (c connectionRemove) Run(ctx context.Context, s *session) error {
	return s.with(ctx, func(g *gateway.Gateway) error {
		held, err := g.Admin().ListNumbers(ctx, operator(), c.Tenant)
		if err != nil {
			return err
		}
		if err := g.Connections().Remove(ctx, c.Tenant, c.Name); err != nil {
			return err
		}
		var staying []string
		for _, n := range held.PhoneNumbers {
			if n.Connection == c.Name {
				staying = append(staying, n.E164)
			}
		}
		if len(staying) > 0 {
			fmt.Fprintf(s.err, "These phone numbers stay at the provider, and go on to cost money: %s.\n",
				strings.Join(staying, ", "))
		}
		return nil
	})
}

type providersCommand struct {
	JSON     bool   `help:"Print JSON."`
	Describe string `help:"Print the whole description of a provider that is described rather than coded, such as rest/zammad." placeholder:"P"`
}

type providerRow struct {
	Kind     adapter.Kind  `json:"kind"`
	Provider string        `json:"provider"`
	Title    string        `json:"title"`
	Help     string        `json:"help"`
	Fields   []providerFld `json:"fields"`
}

type providerFld struct {
	Name     string   `json:"name"`
	Secret   bool     `json:"secret"`
	Type     string   `json:"type"`
	Required bool     `json:"required"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	Help     string   `json:"help"`
}

// Run lists the providers that can be connected. It needs no store.
func (c providersCommand) Run(s *session) error {
	registry, err := adapter.NewRegistry(s.adapters)
	if err != nil {
		return err
	}
	if c.Describe != "" {
		return s.describe(registry, c.Describe)
	}
	var values []providerRow
	var rows [][]string
	for _, a := range registry.All() {
		value := providerRow{Kind: a.Kind, Provider: a.Name, Title: a.Title, Help: a.Help}
		rows = append(rows, []string{string(a.Kind), a.Name, a.Title, ""})
		for _, f := range a.Fields {
			value.Fields = append(value.Fields, providerFld{
				f.Name, f.Secret, f.Type, f.Required, f.Default, f.Choices, f.Help,
			})
			flag := "--set " + f.Name + "="
			if f.Secret {
				flag = "--secret " + f.Name + "="
			}
			if f.Required {
				flag += " (required)"
			}
			rows = append(rows, []string{"", "", flag, f.Help})
		}
		values = append(values, value)
	}
	return s.list(c.JSON, values, []string{"KIND", "PROVIDER", "", ""}, rows)
}

// describe prints the description of a provider.
func (s *session) describe(registry adapter.Registry, provider string) error {
	var names []string
	for _, a := range registry.All() {
		if a.Description == "" {
			continue
		}
		if a.Name == provider {
			_, err := io.WriteString(s.out, a.Description)
			return err
		}
		names = append(names, a.Name)
	}
	return fault.Newf(fault.NotFound, "PROVIDER_UNKNOWN", "There is no description of %q. Described are: %s.",
		provider, strings.Join(names, ", "))
}

type applyCommand struct {
	File   string `short:"f" required:"" help:"The file of tenants, connections and voice agents." placeholder:"FILE"`
	DryRun bool   `help:"Print what would change, and change nothing."`
	Prune  bool   `help:"Also delete tenants, connections and voice agents that the file does not name."`
	JSON   bool   `help:"Print the changes as JSON."`
}

// Run makes the tenants, connections and voice agents match the file and prints what changed.
func (c applyCommand) Run(ctx context.Context, s *session) error {
	file, err := config.LoadTenants(c.File, s.environ)
	if err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		changes, failed := g.Apply(ctx, file, apply.Options{DryRun: c.DryRun, Prune: c.Prune})
		if failed == nil || len(changes) > 0 { // what was done before a step failed stays done
			if err := c.print(s, changes); err != nil {
				return errors.Join(failed, err)
			}
		}
		switch {
		case failed != nil && len(changes) > 0:
			fmt.Fprintln(s.err, "Not everything was changed. What is printed is done, and stays.")
		case failed != nil || c.JSON:
		case len(changes) == 0:
			fmt.Fprintln(s.err, "Nothing to change.")
		case c.DryRun:
			fmt.Fprintln(s.err, "Nothing was changed: this was a dry run.")
		}
		return failed
	})
}

func (c applyCommand) print(s *session, changes []apply.Change) error {
	if c.JSON {
		return s.printJSON(append([]apply.Change{}, changes...))
	}
	for _, change := range changes {
		lines := append([]string{change.Title()}, change.Details...)
		if _, err := fmt.Fprintln(s.out, strings.Join(lines, "\n    ")); err != nil {
			return err
		}
	}
	return nil
}
