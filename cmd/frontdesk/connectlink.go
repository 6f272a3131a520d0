package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/gateway"
	"frontdesk/core/tenant"
)

type connectLink struct {
	Tenant       string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	Provider     string            `required:"" help:"The provider's name, as \"frontdesk providers\" lists it." placeholder:"P"`
	Kind         string            `help:"calendar, crm or telephony; needed only where the provider has several." placeholder:"KIND"`
	Name         string            `help:"The connection's name; the provider's name when it is not given. One that is there is reconnected: it keeps its id, its settings and all that is remembered for it." placeholder:"N"`
	Default      bool              `help:"Make it the tenant's default of its kind."`
	Set          map[string]string `help:"A setting: NAME=VALUE, or NAME.KEY=VALUE for a key of a setting that has keys. Others that the connection has stay." placeholder:"K=V" mapsep:"none"`
	Expires      time.Duration     `help:"How long the link is good, unless it has led to a connection before: 1m to 720h." default:"24h" placeholder:"24h"`
	OtherAccount bool              `help:"Let a connection that is there become one to another account. Without it the customer has to choose the account that was connected before."`
}

// Help is shown with the flags.
func (connectLink) Help() string {
	return "Prints a link for a customer, who opens it in a browser, sees who asks for what, and agrees at the provider. " +
		"No password is seen here, and the customer can take the access back there at any time. " +
		"The link is good for one connection; a customer who declines can open it again. " +
		"Whoever has it can connect an account of theirs: send it to the customer alone.\n\n" +
		"The provider's OAuth client is in the configuration (providers.P.client_id and providers.P.client_secret), or is a tenant's own, " +
		"given before with: connection add --set client_id=ID --secret client_secret=SOURCE. " +
		"It has to be registered with the redirect URI that is printed beside the link: {server.public_url}/oauth/callback/P " +
		"for the configuration's, and an address of its own for a tenant's."
}

// Run makes the link and prints it, and nothing else, on standard output.
func (c connectLink) Run(ctx context.Context, s *session) error {
	if c.Kind != "" && !slices.Contains(adapter.Kinds(), adapter.Kind(c.Kind)) {
		return usage("--kind must be calendar, crm or telephony")
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	n := tenant.NewConnection{Kind: adapter.Kind(c.Kind), Provider: c.Provider, Name: c.Name, Default: c.Default}
	if n.Settings, err = settingsOf(c.Set); err != nil {
		return err
	}
	return s.with(ctx, func(g *gateway.Gateway) error {
		if n.Kind == "" {
			if n.Kind, err = kindOf(g.Registry(), c.Provider); err != nil {
				return err
			}
		}
		if _, err := s.existing(ctx, g, c.Tenant, &n); err != nil {
			return err
		}
		token, link, err := g.Directory().NewConnectLink(ctx, c.Tenant, tenant.NewLink{Connection: n, OtherAccount: c.OtherAccount, Life: c.Expires})
		if err != nil {
			return err
		}
		public := cfg.Server.PublicURL
		fmt.Fprintln(s.err, purpose(link))
		fmt.Fprintf(s.err, "It is good until %s, for one connection. Send it to the customer alone: it is shown this once.\n",
			link.ExpiresAt.Format(time.RFC3339))
		fmt.Fprintf(s.err, redirectURI, gateway.RedirectURI(public, link.Callback))
		_, err = fmt.Fprintln(s.out, gateway.ConnectURL(public, token))
		return err
	})
}

func purpose(l tenant.ConnectLink) string {
	switch {
	case !l.Reconnects:
		return fmt.Sprintf("This link connects an account at %s to the tenant %s, as the new connection %q.", l.Title, l.Tenant, l.Connection)
	case l.Email == "":
		return fmt.Sprintf("This link connects an account at %s to the connection %q of the tenant %s.", l.Title, l.Connection, l.Tenant)
	}
	return fmt.Sprintf("This link reconnects the connection %q of the tenant %s, so far %s at %s.", l.Connection, l.Tenant, l.Email, l.Title)
}

// kindOf is the kind of a provider that has one, or that customers consent to with one.
func kindOf(registry adapter.Registry, provider string) (adapter.Kind, error) {
	var all, names []string
	var consented []adapter.Kind
	for _, a := range registry.All() {
		if a.MayConsent() && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
		if a.Name != provider {
			continue
		}
		all = append(all, string(a.Kind))
		if a.MayConsent() {
			consented = append(consented, a.Kind)
		}
	}
	switch {
	case len(consented) == 1:
		return consented[0], nil
	case len(consented) == 0 && len(all) > 0: // of whichever kind, it is refused for another reason
		return adapter.Kind(all[0]), nil
	case len(names) == 0:
		return "", fault.New(fault.NotFound, "PROVIDER_UNKNOWN", "This build has no provider that customers could give consent at.")
	case len(all) == 0:
		return "", fault.Newf(fault.NotFound, "PROVIDER_UNKNOWN", "There is no provider %q. Customers can give consent at %s.", provider, strings.Join(names, ", "))
	}
	return "", usage("the provider %q has several kinds of connections; say which with --kind: %s", provider, strings.Join(all, ", "))
}
