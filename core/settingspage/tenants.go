package settingspage

import (
	"net/http"
	"strings"

	"frontdesk/core/admin"
	"frontdesk/core/fault"
)

var overviewRoutes = []route{
	{http.MethodGet, Root, "settings-overview", (*Pages).overview},
	{http.MethodPost, Root + "/tenants", "settings-create-tenant", (*Pages).createTenant},
}

const tenantRoot = Root + "/tenants/{tenant}"

var tenantRoutes = []route{
	{http.MethodGet, tenantRoot, "settings-tenant", (*Pages).tenant},
	{http.MethodPost, tenantRoot, "settings-change-tenant", (*Pages).changeTenant},
	{http.MethodGet, tenantRoot + "/delete", "settings-delete-tenant", (*Pages).askToDeleteTenant},
	{http.MethodPost, tenantRoot + "/delete", "settings-delete-tenant", (*Pages).deleteTenant},
}

// maxTenantsShown keeps the page small; a search finds the others.
const maxTenantsShown = 200

type overviewView struct {
	layout
	Attention []admin.Attention
	Tenants   []admin.Tenant
	More      int // tenants that are not shown
	Search    string
	Operator  bool
	Create    []field
	Rest      []fault.Field
}

// overview shows what needs attention, and the tenants.
func (p *Pages) overview(v *visit) (reply, error) { return p.showOverview(v, "", nil) }

func (p *Pages) showOverview(v *visit, name string, wrong error) (reply, error) {
	view := overviewView{
		layout: p.layout(v, "Overview", "", shell("tenant", "list"), shell("tenant", "create", "NAME"),
			shell("doctor")),
		Search: strings.TrimSpace(v.r.URL.Query().Get("search")), Operator: v.caller.Tenant.ID == "",
	}
	if !view.Operator {
		view.Commands = nil
	}
	if f := fault.From(wrong); f != nil && len(f.Fields) == 0 {
		wrong = fault.InvalidField("name", f.Detail)
	}
	view.Create, view.Rest = withFaults([]field{{
		Name: "name", Label: "Name of a new tenant", Type: "text", Required: true, Value: name,
		Help: "Lower-case letters, digits and hyphens, such as acme.",
	}}, wrong)
	var err error
	if view.Attention, err = p.opts.Admin.ListAttention(v.ctx, v.caller); err != nil {
		return reply{}, err
	}
	all, err := p.opts.Admin.ListTenants(v.ctx, v.caller)
	for _, t := range all.Tenants {
		switch {
		case !strings.Contains(t.Name, strings.ToLower(view.Search)): // names have no capitals
		case len(view.Tenants) == maxTenantsShown:
			view.More++
		default:
			view.Tenants = append(view.Tenants, t)
		}
	}
	if err != nil {
		return reply{}, err
	}
	if view.Steps, err = p.overviewSteps(v, all.Tenants); err != nil {
		return reply{}, err
	}
	return formPage("overview.html", view, wrong), nil
}

// overviewSteps returns the steps of a newcomer, who has one tenant at most.
func (p *Pages) overviewSteps(v *visit, all []admin.Tenant) ([]step, error) {
	switch len(all) {
	case 0:
		return p.steps(v, "")
	case 1:
		return p.steps(v, all[0].Name)
	}
	return nil, nil
}

func (p *Pages) createTenant(v *visit) (reply, error) {
	name := v.form("name")
	made, err := p.opts.Admin.CreateTenant(v.ctx, v.caller, v.once(), admin.TenantSpec{Name: name})
	if isInvalid(err) {
		return p.showOverview(v, name, err)
	}
	return p.done(v, err, "The tenant "+made.Record.Name+" was created.",
		tenantPath(made.Record.Name, "connections"))
}

type tenantView struct {
	layout
	Fields   []field
	Rest     []fault.Field
	Created  string
	Operator bool
}

// tenant shows the settings of a tenant.
func (p *Pages) tenant(v *visit) (reply, error) {
	found, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	stored, err := written(found.Settings)
	if err != nil {
		return reply{}, err
	}
	return p.showTenant(v, found, stored, stored, nil)
}

func (p *Pages) showTenant(
	v *visit, t admin.Tenant, stored, value func(name string) string, wrong error,
) (reply, error) {
	view := tenantView{
		layout: p.layout(v, "Settings of "+t.Name, "What is left empty has its default.",
			shell("tenant", "change", t.Name, "--set", "timezone=Europe/Paris"), shell("apply", "-f", "tenants.yaml")),
		Created: moment(t.CreatedAt), Operator: v.caller.Tenant.ID == "",
	}
	var err error
	if view.Steps, err = p.steps(v, t.Name); err != nil {
		return reply{}, err
	}
	view.Fields, view.Rest = withFaults(ofStored(tenantFields(value), stored), wrong)
	return formPage("tenant.html", view, wrong), nil
}

func (p *Pages) changeTenant(v *visit) (reply, error) {
	found, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	stored, err := written(found.Settings)
	if err != nil {
		return reply{}, err
	}
	_, err = p.opts.Admin.ChangeTenant(v.ctx, v.caller,
		admin.TenantSpec{Name: v.tenant, Settings: v.tenantSettings()})
	if isInvalid(err) {
		return p.showTenant(v, found, stored, v.over(stored), err)
	}
	return p.done(v, err, "The settings were saved.", tenantPath(v.tenant))
}

// confirmView is a page that asks before something is removed.
type confirmView struct {
	layout
	Means   []string // what it means
	Action  string   // the button
	Back    string   // the page to go back to
	Leave   string   // the words of the link there; "": "Keep it"
	Confirm []field
}

// confirm asks for something typed. wrong says what is wrong with what was typed, or is "".
func confirm(wrong string, view confirmView, typed field) reply {
	typed.Type, typed.Required, typed.Error, typed.Focus = "text", true, wrong, wrong != ""
	view.Confirm = []field{typed}
	answer := reply{page: "confirm.html", view: view}
	if wrong != "" {
		answer.status = http.StatusUnprocessableEntity
	}
	return answer
}

func (p *Pages) askToDeleteTenant(v *visit) (reply, error) { return p.confirmDeletion(v, "") }

func (p *Pages) confirmDeletion(v *visit, wrong string) (reply, error) {
	if v.caller.Tenant.ID != "" {
		return reply{}, fault.New(fault.Forbidden, admin.ReasonOperatorOnly,
			"Only the operator may delete a tenant.")
	}
	if _, err := p.opts.Admin.GetTenant(v.ctx, v.caller, v.tenant); err != nil {
		return reply{}, err
	}
	return confirm(wrong, confirmView{
		layout: p.layout(v, "Delete the tenant "+v.tenant+"?", "", shell("tenant", "delete", v.tenant, "--yes")),
		Means: []string{
			"Its connections, API keys and records are deleted, and cannot be brought back.",
			"What it has at its providers stays there: meetings, tickets, and phone numbers, which go on costing.",
			"The audit stays.",
			"It is refused while a released number waits to go back.",
		},
		Action: "Delete the tenant", Back: p.root + tenantPath(v.tenant),
	}, field{Name: "name", Label: "The tenant's name, to confirm"}), nil
}

func (p *Pages) deleteTenant(v *visit) (reply, error) {
	if v.form("name") != v.tenant {
		return p.confirmDeletion(v, "must be the name of the tenant, "+v.tenant+".")
	}
	_, err := p.opts.Admin.DeleteTenant(v.ctx, v.caller, v.tenant)
	return p.done(v, err, "The tenant "+v.tenant+" was deleted.", "/")
}
