package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/gateway"
	"frontdesk/core/link"
)

type connectLink struct {
	Tenant       string            `required:"" help:"The tenant's name." placeholder:"NAME"`
	Provider     string            `required:"" help:"The provider's name, as \"frontdesk providers\" lists it." placeholder:"P"`
	Kind         string            `help:"calendar, crm or telephony. Needed only for a provider with several kinds." placeholder:"KIND"`
	Name         string            `help:"The connection's name; the default is the provider's name. An existing connection is reconnected: it keeps its id, settings and records." placeholder:"N"`
	Default      bool              `help:"Make it the tenant's default connection of this kind."`
	Set          map[string]string `help:"A setting: NAME=VALUE, or NAME.KEY=VALUE for one key of a setting that has keys. Repeat for more. The connection's other settings stay." placeholder:"K=V" mapsep:"none"`
	Expires      time.Duration     `help:"How long the link is valid, from 1m to 720h. It ends earlier once it has led to a connection." default:"24h" placeholder:"24h"`
	ReturnURL    string            `name:"return-url" help:"Where the customer goes once the consent is over, with the connection's name and the outcome in the query. It must lie below one of pages.return_urls." placeholder:"URL"`
	OtherAccount bool              `help:"Let the customer choose another account for an existing connection. Otherwise it must be the account that was connected before."`
}

// Help returns the text that is shown with the flags.
func (connectLink) Help() string {
	return "Prints a link for a customer. The customer opens it in a browser, sees who asks for what, and " +
		"gives consent at the provider. The gateway sees no password, and the customer can withdraw the " +
		"consent at the provider at any time. The link is valid for one connection; a customer who declines " +
		"can open it again. Anybody who has it can connect an account of their own, so send it only to the " +
		"customer.\n\n" +
		"The provider's OAuth client is the one in the configuration (providers.P.client_id and " +
		"providers.P.client_secret), or the tenant's own, added before with: connection add --set " +
		"client_id=ID --secret client_secret=SOURCE. Register the client with the redirect URI that is " +
		"printed beside the link: {server.public_url}/oauth/callback/P for the configuration's client, and a " +
		"different one for each tenant's own client."
}

// Run creates the link. It prints only the link on standard output.
func (c connectLink) Run(ctx context.Context, s *session) error {
	if c.Kind != "" && !slices.Contains(adapter.Kinds(), adapter.Kind(c.Kind)) {
		return usage("--kind must be calendar, crm or telephony")
	}
	cfg, err := s.config()
	if err != nil {
		return err
	}
	n := connection.Spec{Kind: adapter.Kind(c.Kind), Provider: c.Provider, Name: c.Name, Default: c.Default}
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
		token, link, err := g.Links().Create(ctx, c.Tenant, link.Spec{
			Connection: n, OtherAccount: c.OtherAccount, Life: c.Expires, ReturnURL: c.ReturnURL,
		})
		if err != nil {
			return err
		}
		public := cfg.Server.PublicURL
		fmt.Fprintln(s.err, purpose(link))
		fmt.Fprintf(s.err, "It is valid until %s, for one connection. Send it only to the customer. It is "+
			"shown only once.\n",
			link.ExpiresAt.Format(time.RFC3339))
		fmt.Fprintf(s.err, redirectURI, gateway.RedirectURI(public, link.Callback))
		_, err = fmt.Fprintln(s.out, gateway.ConnectURL(public, token))
		return err
	})
}

func purpose(l link.Link) string {
	switch {
	case !l.Reconnects:
		return fmt.Sprintf("This link connects an account at %s to the tenant %s, as the new connection %q.",
			l.Title, l.Tenant, l.Connection)
	case l.Email == "":
		return fmt.Sprintf("This link connects an account at %s to the connection %q of the tenant %s.", l.Title,
			l.Connection, l.Tenant)
	}
	return fmt.Sprintf("This link reconnects the connection %q of the tenant %s, which is %s at %s.",
		l.Connection, l.Tenant, l.Email, l.Title)
}

// kindOf returns the provider's only kind that takes consent, or any of its kinds if none takes consent.
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
	case len(consented) == 0 && len(all) > 0: // every kind is refused later, for taking no consent
		return adapter.Kind(all[0]), nil
	case len(names) == 0:
		return "", fault.New(fault.NotFound, "PROVIDER_UNKNOWN",
			"This build has no provider that takes a customer's consent.")
	case len(all) == 0:
		return "", fault.Newf(fault.NotFound, "PROVIDER_UNKNOWN",
			"There is no provider %q. Providers that take a customer's consent: %s.", provider, strings.Join(names,
				", "))
	}
	return "", usage("the provider %q has several kinds of connection; choose one with --kind: %s",
		provider, strings.Join(all, ", "))
}
