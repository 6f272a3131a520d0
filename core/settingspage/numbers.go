package settingspage

import (
	"net/http"
	"strconv"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/fault"
)

const numbersRoot = tenantRoot + "/phone-numbers"

var numberRoutes = []route{
	{http.MethodGet, numbersRoot, "settings-phone-numbers", (*Pages).numbers},
	{http.MethodPost, numbersRoot, "settings-adopt-number", (*Pages).adoptNumber},
	{http.MethodPost, numbersRoot + "/{number}/restore", "settings-restore-number", (*Pages).restoreNumber},
}

// numberRow is a phone number in a list.
type numberRow struct {
	admin.PhoneNumber
	State   string // in words
	Waits   bool   // it was released, and can be restored
	Restore string // the path of the form that restores it
}

func (p *Pages) numberRow(tenantName string, n admin.PhoneNumber) numberRow {
	row := numberRow{PhoneNumber: n, State: "in use"}
	switch {
	case n.Going:
		row.State = "on its way back to the provider"
	case n.ReleaseAt != nil:
		row.State, row.Waits = "goes back on "+moment(*n.ReleaseAt), true
		row.Restore = p.root + "/tenants/" + tenantName + "/phone-numbers/" + strconv.FormatInt(n.ID, 10) +
			"/restore"
	}
	return row
}

func (p *Pages) numbers(v *visit) (reply, error) { return p.showNumbers(v, nil) }

func (p *Pages) showNumbers(v *visit, wrong error) (reply, error) {
	held, err := p.opts.Admin.ListNumbers(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	connections, err := p.opts.Admin.ListConnections(v.ctx, v.caller, v.tenant)
	if err != nil {
		return reply{}, err
	}
	view := struct {
		layout
		Rows     []numberRow
		Fields   []field
		Rest     []fault.Field
		Accounts bool // there is a telephony connection
	}{layout: p.layout(v, "Phone numbers of "+v.tenant,
		"Agents buy and release numbers by the API. A released number waits before it goes back.",
		shell("number", "list", "--tenant", v.tenant), shell("number", "adopt", "--tenant", v.tenant,
			"+14155550123"),
		shell("number", "restore", "--tenant", v.tenant, "ID"))}
	for _, n := range held.PhoneNumbers {
		view.Rows = append(view.Rows, p.numberRow(v.tenant, n))
	}
	account := field{Name: "connection", Label: "Connection", Type: "choice", Value: v.form("connection")}
	for _, c := range connections.Connections {
		if c.Kind == string(adapter.KindTelephony) {
			view.Accounts = true
			account.Choices = append(account.Choices, choice{Value: c.Name, Label: c.Name})
		}
	}
	view.Fields, view.Rest = withFaults([]field{account, {
		Name: "e164", Label: "Number", Type: "text", Value: v.form("e164"), Required: true,
		Help: "As the account at the provider holds it, with the country code: +14155550123.",
	}}, wrong)
	answer := reply{page: "numbers.html", view: view}
	if wrong != nil {
		answer.status = http.StatusUnprocessableEntity
	}
	return answer, nil
}

func (p *Pages) adoptNumber(v *visit) (reply, error) {
	adopted, err := p.opts.Admin.AdoptNumber(v.ctx, v.caller, admin.HeldNumber{
		Tenant: v.tenant, Connection: v.form("connection"), E164: v.form("e164"),
	})
	switch f := fault.From(err); {
	case f == nil:
	case f.Code == fault.Invalid:
		return p.showNumbers(v, err)
	case f.Code == fault.NotFound, f.Code == fault.Conflict:
		return p.showNumbers(v, fault.InvalidField("e164", "cannot be adopted: "+f.Detail))
	default:
		return reply{}, err
	}
	p.notify(v, good("The tenant holds "+adopted.E164+" now."))
	return see("tenants", v.tenant, "phone-numbers")
}

func (p *Pages) restoreNumber(v *visit) (reply, error) {
	id, err := strconv.ParseInt(v.path("number"), 10, 64)
	if err != nil {
		return reply{}, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no such phone number.")
	}
	restored, err := p.opts.Admin.RestoreNumber(v.ctx, v.caller, admin.NumberID{Tenant: v.tenant, ID: id})
	if err != nil {
		return reply{}, err
	}
	p.notify(v, good(restored.E164+" is in use again."))
	return see("tenants", v.tenant, "phone-numbers")
}
