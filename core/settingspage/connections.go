package settingspage

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/link"
)

const (
	connectionsRoot = tenantRoot + "/connections"
	connectionRoot  = connectionsRoot + "/{connection}"
	addRoot         = tenantRoot + "/add-connection"
	providerRoot    = addRoot + "/{kind}/{provider}"
	systemRoot      = providerRoot + "/{system}" // of a described provider
)

var connectionRoutes = []route{
	{http.MethodGet, connectionsRoot, "settings-connections", (*Pages).connections},
	{http.MethodGet, addRoot, "settings-providers", (*Pages).providers},
	{http.MethodGet, providerRoot, "settings-add-connection", (*Pages).askForConnection},
	{http.MethodPost, providerRoot, "settings-add-connection", (*Pages).addConnection},
	{http.MethodPost, providerRoot + "/link", "settings-connect-link", (*Pages).createLink},
	{http.MethodGet, systemRoot, "settings-add-connection", (*Pages).askForConnection},
	{http.MethodPost, systemRoot, "settings-add-connection", (*Pages).addConnection},
	{http.MethodPost, systemRoot + "/link", "settings-connect-link", (*Pages).createLink},
	{http.MethodGet, connectionRoot, "settings-connection", (*Pages).connection},
	{http.MethodPost, connectionRoot, "settings-change-connection", (*Pages).changeConnection},
	{http.MethodPost, connectionRoot + "/verify", "settings-verify-connection", (*Pages).verifyConnection},
	{http.MethodPost, connectionRoot + "/reconnect", "settings-reconnect", (*Pages).reconnect},
	{http.MethodPost, connectionRoot + "/default", "settings-default-connection", (*Pages).makeDefault},
	{http.MethodGet, connectionRoot + "/remove", "settings-remove-connection", (*Pages).askToRemove},
	{http.MethodPost, connectionRoot + "/remove", "settings-remove-connection", (*Pages).removeConnection},
}

// kinds are the names of kinds for people.
var kinds = map[string]string{
	string(adapter.KindCalendar): "Calendars", string(adapter.KindCRM): "Ticket systems",
	string(adapter.KindTelephony): "Phone numbers",
}

// can says what a kind of connection is for.
var can = map[string]string{
	string(adapter.KindCalendar):  "Book, update and cancel meetings; list events and calendars.",
	string(adapter.KindCRM):       "Create tickets, and read one by its number.",
	string(adapter.KindTelephony): "List, buy, route and release phone numbers.",
}

// connectionRow is a connection in a list.
type connectionRow struct {
	admin.Connection
	ProviderTitle string
}

// Works says in words whether the connection works.
func (c connectionRow) Works() string {
	if c.Status == string(connection.StatusReconnectRequired) {
		return "needs reconnecting"
	}
	return "in use"
}

// Bad reports whether a person must act.
func (c connectionRow) Bad() bool { return c.Status != string(connection.StatusOK) }

func (p *Pages) connections(v *visit) (reply, error) {
	all, err := p.opts.Admin.ListConnections(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	view := struct {
		layout
		Rows []connectionRow
	}{layout: p.layout(v, "Connections of "+v.tenant, "The accounts at providers that this tenant's agents use.",
		shell("connection", "list", "--tenant", v.tenant))}
	for _, c := range all.Connections {
		row, err := p.row(v, c)
		if err != nil {
			return reply{}, err
		}
		view.Rows = append(view.Rows, row)
	}
	view.Steps, err = p.steps(v, v.tenant)
	return reply{page: "connections.html", view: view}, err
}

// row returns a connection for people.
func (p *Pages) row(v *visit, c admin.Connection) (connectionRow, error) {
	row := connectionRow{Connection: c, ProviderTitle: c.Provider}
	known, err := p.provider(v, c.Kind, c.Provider)
	switch {
	case err == nil:
		row.ProviderTitle = known.Title
	case !errors.Is(err, fault.NotFound): // an adapter may be missing in this build
		return row, err
	}
	return row, nil
}

// provider returns a provider of this gateway.
func (p *Pages) provider(v *visit, kind, name string) (admin.Provider, error) {
	all, err := p.opts.Admin.ListProviders(v.ctx, v.caller)
	if err != nil {
		return admin.Provider{}, err
	}
	return pick(all.Providers, func(p admin.Provider) bool { return p.Kind == kind && p.Name == name },
		fault.Newf(fault.NotFound, "PROVIDER_UNKNOWN", "This gateway has no provider %q of the kind %q.",
			shorten(name), shorten(kind)))
}

// verify asks the provider whether a connection works, and leads to its page, which tells the result.
func (p *Pages) verify(v *visit, name, works, fails string) (reply, error) {
	found, err := p.opts.Admin.VerifyConnection(v.ctx, v.caller,
		admin.ConnectionName{Tenant: v.tenant, Name: name})
	if err != nil {
		return reply{}, err
	}
	told := notice{Good: found.OK, Text: works, Details: slices.Clone(found.Details)}
	if account := cmp.Or(found.Email, found.Name); account != "" {
		told.Details = append([]string{"account: " + account}, told.Details...)
	}
	if !found.OK {
		told.Text, told.Advice = fails+" "+found.Problem, found.Advice
	}
	const most = 20
	if more := len(told.Details) - most; more > 0 {
		told.Details = append(told.Details[:most], "and more")
	}
	p.notify(v, told)
	return see(tenantPath(v.tenant, "connections", name))
}

type connectionView struct {
	layout
	connectionRow
	Health   admin.Health
	State    string // of its health, in words
	Since    string
	Provider admin.Provider
	Fields   []field
	Rest     []fault.Field
	Created  string
	Base     string // its path
	Add      string // the path of its provider's form
	Plot     *plot
	Median   string // of how long answers took in the last hour
	Requests string // the address of the requests that used it
}

// healthWords are the states of a connection's health in words.
var healthWords = map[string]string{
	admin.HealthOK: "It works", admin.HealthFailing: "It fails",
	admin.HealthReconnect: "It needs reconnecting", admin.HealthUnknown: "It was not used lately",
}

// connection shows whether a connection works, since when, and what must be done.
func (p *Pages) connection(v *visit) (reply, error) { return p.showConnection(v, nil, nil) }

func (p *Pages) showConnection(v *visit, given func(string) string, wrong error) (reply, error) {
	at := admin.ConnectionName{Tenant: v.tenant, Name: v.path("connection")}
	found, err := p.opts.Admin.GetConnection(v.ctx, v.caller, at)
	if err != nil {
		return reply{}, err
	}
	name := found.Name
	view := connectionView{
		layout: p.layout(v, "Connection "+name, "", shell("connection", "verify", name, "--tenant", v.tenant),
			shell("connection", "remove", name, "--tenant", v.tenant)),
		Created: moment(found.CreatedAt), Base: p.root + tenantPath(v.tenant, "connections", name),
		Add: p.root + tenantPath(v.tenant, "add-connection", found.Kind, found.Provider),
	}
	if view.Health, err = p.opts.Admin.ConnectionHealth(v.ctx, v.caller, at); err != nil {
		return reply{}, err
	}
	view.Plot = plotOf(view.Health.LastHour, p.opts.Now())
	view.Requests = p.requestsBy(v, "connection", name)
	view.Median = duration(view.Health.LastHour.P50Ms)
	view.State, view.Since = healthWords[view.Health.State], momentOf(view.Health.Since)
	if view.Steps, err = p.steps(v, v.tenant); err != nil {
		return reply{}, err
	}
	if view.connectionRow, err = p.row(v, found); err != nil {
		return reply{}, err
	}
	stored := func(name string) string { return writeSetting(found.Settings, name) }
	if given == nil {
		given = stored
	}
	if view.Provider, err = p.provider(v, found.Kind, found.Provider); err == nil {
		view.Fields, view.Rest = withFaults(ofStored(providerFields(view.Provider.Fields, given), stored), wrong)
		for i := range view.Fields {
			if f := &view.Fields[i]; f.Type == "secret" {
				f.Required, f.Help = false, f.Help+" Leave all of them empty to keep what is stored."
			}
		}
	}
	// The button to reconnect leads to the gateway's public URL, whatever address the page was opened at.
	answer := formPage("connection.html", view, wrong)
	answer.forms = []string{p.base.Scheme + "://" + p.base.Host}
	return answer, nil
}

// writeSetting writes a setting of a connection as its form shows it: a list with commas, other values with
// parts as JSON.
func writeSetting(settings map[string]any, name string) string {
	value := settings[strings.TrimPrefix(name, settingsPrefix)]
	items, isList := value.([]any)
	parts, isMap := value.(map[string]any)
	switch {
	case isMap:
		raw, err := json.MarshalIndent(parts, "", "  ")
		if err != nil {
			return ""
		}
		return string(raw)
	case isList && !slices.ContainsFunc(items, func(item any) bool { _, text := item.(string); return !text }):
		texts := make([]string, len(items))
		for i, item := range items {
			texts[i] = writeValue(item)
		}
		return strings.Join(texts, ", ")
	}
	return writeValue(value)
}

// changeConnection stores the settings in the form, and the credentials if any are given, and asks the
// provider whether the connection works with them.
func (p *Pages) changeConnection(v *visit) (reply, error) {
	at := admin.ConnectionName{Tenant: v.tenant, Name: v.path("connection")}
	found, err := p.opts.Admin.GetConnection(v.ctx, v.caller, at)
	if err != nil {
		return reply{}, err
	}
	provider, err := p.provider(v, found.Kind, found.Provider)
	if err != nil {
		return reply{}, err
	}
	change, stored := connection.Change{}, func(name string) string { return writeSetting(found.Settings, name) }
	given := v.over(stored)
	change.Settings, change.Credentials = provided(provider.Fields, given)
	for name, was := range found.Settings { // what was not touched stays exactly as it is
		if name == adapter.SettingSlots || given(settingsPrefix+name) == strings.TrimSpace(stored(name)) {
			change.Settings[name] = was
		}
	}
	if len(change.Credentials) == 0 {
		change.Credentials = nil
	}
	_, err = p.opts.Admin.ChangeConnection(v.ctx, v.caller,
		admin.ConnectionChange{ConnectionName: at, Change: change})
	if isInvalid(err) {
		return p.showConnection(v, given, err)
	}
	if err != nil {
		return reply{}, err
	}
	return p.verify(v, at.Name, "The connection was changed, and it works.",
		"The connection was changed, but it does not work.")
}

func (p *Pages) verifyConnection(v *visit) (reply, error) {
	return p.verify(v, v.path("connection"), "The connection works.", "The connection does not work.")
}

// reconnectWithin is how long somebody may take to go from the connection's page to the provider.
const reconnectWithin = time.Hour

// reconnect leads to the consent with which whoever is at the browser connects the account again, and from
// there back to the connection's page.
func (p *Pages) reconnect(v *visit) (reply, error) {
	found, err := p.opts.Admin.GetConnection(v.ctx, v.caller,
		admin.ConnectionName{Tenant: v.tenant, Name: v.path("connection")})
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Admin.CreateLink(v.ctx, v.caller, admin.Write{}, admin.NewLink{
		Tenant: v.tenant, Spec: link.Spec{
			Connection: connection.Spec{
				Name: found.Name, Kind: adapter.Kind(found.Kind), Provider: found.Provider,
			},
			Life:      reconnectWithin,
			ReturnURL: TenantsURL(p.opts.PublicURL) + "/" + v.tenant + "/connections/" + found.Name,
		},
	})
	return reply{to: made.Record.URL}, err
}

func (p *Pages) makeDefault(v *visit) (reply, error) {
	at := admin.ConnectionName{Tenant: v.tenant, Name: v.path("connection")}
	changed, err := p.opts.Admin.ChangeConnection(v.ctx, v.caller,
		admin.ConnectionChange{ConnectionName: at, Change: connection.Change{Default: true}})
	return p.done(v, err, "API keys that are bound to no connection of this kind now use "+changed.Name+".",
		tenantPath(v.tenant, "connections", changed.Name))
}

func (p *Pages) askToRemove(v *visit) (reply, error) {
	name := v.path("connection")
	found, err := p.opts.Admin.GetConnection(v.ctx, v.caller, admin.ConnectionName{Tenant: v.tenant, Name: name})
	if err != nil {
		return reply{}, err
	}
	return reply{page: "confirm.html", view: confirmView{
		layout: p.layout(v, "Remove the connection "+found.Name+"?", "",
			shell("connection", "remove", found.Name, "--tenant", v.tenant)),
		Means: []string{
			"Its credentials and everything that is kept for it are deleted, and cannot be brought back.",
			"What is in the account at the provider stays there. Phone numbers go on costing.",
			"It is refused while an API key is bound to the connection, or a released number waits to go back.",
		},
		Action: "Remove the connection", Back: p.root + tenantPath(v.tenant, "connections", found.Name),
	}}, nil
}

func (p *Pages) removeConnection(v *visit) (reply, error) {
	name := v.path("connection")
	_, err := p.opts.Admin.RemoveConnection(v.ctx, v.caller,
		admin.ConnectionName{Tenant: v.tenant, Name: name})
	return p.done(v, err, "The connection "+name+" was removed.", tenantPath(v.tenant, "connections"))
}
