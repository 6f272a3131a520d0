package settingspage

import (
	"errors"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/link"
)

// gallery is the providers of one kind.
type gallery struct {
	Title, Can string
	Providers  []admin.Provider
}

// providers shows what a connection can be made to.
func (p *Pages) providers(v *visit) (reply, error) {
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	all, err := p.opts.Admin.ListProviders(v.ctx, v.caller)
	view := struct {
		layout
		Kinds []gallery
	}{layout: p.layout(v, "Add a connection to "+v.tenant, "Choose what to connect.", shell("providers"))}
	for _, provider := range all.Providers {
		if len(view.Kinds) == 0 || view.Kinds[len(view.Kinds)-1].Title != kinds[provider.Kind] {
			view.Kinds = append(view.Kinds, gallery{Title: kinds[provider.Kind], Can: can[provider.Kind]})
		}
		last := &view.Kinds[len(view.Kinds)-1]
		last.Providers = append(last.Providers, provider)
	}
	return reply{page: "providers.html", view: view}, err
}

type addView struct {
	layout
	Provider admin.Provider
	Fields   []field
	Rest     []fault.Field
	Default  bool
	Post     string
}

func (p *Pages) askForConnection(v *visit) (reply, error) {
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	return p.showAdd(v, v.r.URL.Query().Get, nil)
}

// showAdd shows the form of a new connection, with the values given.
func (p *Pages) showAdd(v *visit, given func(string) string, wrong error) (reply, error) {
	provider, err := p.provider(v, v.path("kind"), v.providerName())
	if err != nil {
		return reply{}, err
	}
	view := addView{
		layout:   p.layout(v, "Connect "+provider.Title, provider.Help, addCommands(v.tenant, provider)...),
		Provider: provider, Post: p.root + tenantPath(v.tenant, "add-connection", provider.Kind, provider.Name),
	}
	fields := append([]field{{
		Name: "name", Label: "Name of the connection", Type: "text", Value: given("name"),
		Help: "Unique in the tenant: lower-case letters, digits and hyphens. The default is " + adapter.DefaultName(provider.Name) + ".",
	}}, providerFields(provider.Fields, given)...)
	view.Fields, view.Rest = withFaults(fields, wrong)
	view.Default = given("default") != ""
	return formPage("add-connection.html", view, wrong), nil
}

// addCommands returns the commands that connect a tenant to a provider.
func addCommands(tenantName string, provider admin.Provider) []string {
	add := []string{
		"connection", "add", "--tenant", tenantName, "--kind", provider.Kind, "--provider", provider.Name,
	}
	for _, f := range provider.Fields {
		switch {
		case f.Required && f.Secret:
			add = append(add, "--secret", f.Name+"=file:PATH")
		case f.Required:
			add = append(add, "--set", f.Name+"=VALUE")
		}
	}
	if !provider.Consent {
		return []string{shell(add...)}
	}
	return []string{
		shell(add...), shell("connect-link", "--tenant", tenantName, "--provider", provider.Name),
	}
}

// providerName returns the name of the provider in the path. A described provider's has two parts.
func (v *visit) providerName() string {
	if system := v.path("system"); system != "" {
		return v.path("provider") + "/" + system
	}
	return v.path("provider")
}

// spec returns the connection that the form describes.
func (p *Pages) spec(v *visit) (connection.Spec, error) {
	provider, err := p.provider(v, v.path("kind"), v.providerName())
	s := connection.Spec{
		Name: v.form("name"), Kind: adapter.Kind(provider.Kind), Provider: provider.Name,
		Default: v.form("default") != "",
	}
	s.Settings, s.Credentials = provided(provider.Fields, v.form)
	return s, err
}

// addConnection creates a connection and asks the provider whether it works.
func (p *Pages) addConnection(v *visit) (reply, error) {
	spec, err := p.spec(v)
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Admin.CreateConnection(v.ctx, v.caller, v.once(),
		admin.NewConnection{Tenant: v.tenant, Spec: spec})
	if isInvalid(err) {
		return p.showAdd(v, v.form, err)
	}
	if err != nil {
		return reply{}, err
	}
	return p.verify(v, made.Record.Name, "The connection was added, and it works.",
		"The connection was added, but it does not work yet.")
}

// createLink makes a link with which a customer connects an account, and shows it once.
func (p *Pages) createLink(v *visit) (reply, error) {
	spec, err := p.spec(v)
	if err != nil {
		return reply{}, err
	}
	spec.Credentials = nil
	created, err := p.opts.Admin.CreateLink(v.ctx, v.caller, v.once(), admin.NewLink{
		Tenant: v.tenant, Spec: link.Spec{Connection: spec, OtherAccount: v.form("other_account") != ""},
	})
	if isInvalid(err) || errors.Is(err, fault.Unsupported) {
		return p.showAdd(v, v.form, err)
	}
	if err != nil {
		return reply{}, err
	}
	made := created.Record
	return reply{page: "connect-link.html", view: struct {
		layout
		Made  admin.ConnectLink
		Until string
	}{p.layout(v, "Send this link to the customer", "",
		shell("connect-link", "--tenant", v.tenant, "--provider", spec.Provider, "--name", made.Connection)),
		made, moment(made.ExpiresAt)}}, nil
}
