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
	{http.MethodPost, numbersRoot + "/adopt", "settings-adopt-number", (*Pages).adoptNumber},
	{http.MethodPost, numbersRoot, "settings-buy-number", (*Pages).buyNumber},
	{http.MethodGet, numbersRoot + "/{number}", "settings-phone-number", (*Pages).number},
	{http.MethodPost, numbersRoot + "/{number}", "settings-change-number", (*Pages).changeNumber},
	{http.MethodGet, numbersRoot + "/{number}/release", "settings-release-number", (*Pages).askToReleaseNumber},
	{http.MethodPost, numbersRoot + "/{number}/release", "settings-release-number", (*Pages).releaseNumber},
	{http.MethodGet, numbersRoot + "/{number}/restore", "settings-restore-number", (*Pages).askToRestoreNumber},
	{http.MethodPost, numbersRoot + "/{number}/restore", "settings-restore-number", (*Pages).restoreNumber},
}

// numberRow is a phone number as pages show it.
type numberRow struct {
	admin.PhoneNumber
	State string // in words
	Waits bool   // it was released, and can be restored
	Held  bool   // it is in use, and can be changed and released
	URL   string // the path of its page
}

func (p *Pages) numberRow(tenantName string, n admin.PhoneNumber) numberRow {
	row := numberRow{PhoneNumber: n, URL: p.root + tenantPath(tenantName, "phone-numbers", idText(n.ID))}
	switch {
	case n.Going:
		row.State = "on its way back to the provider"
	case n.ReleaseAt != nil:
		row.State, row.Waits = "goes back on "+moment(*n.ReleaseAt), true
	default:
		row.State, row.Held = "in use", true
	}
	return row
}

func idText(id int64) string { return strconv.FormatInt(id, 10) }

// The form that a fault of the page of all numbers belongs to.
const (
	formBuy   = "buy"
	formAdopt = "adopt"
)

func (p *Pages) numbers(v *visit) (reply, error) { return p.showNumbers(v, "", nil) }

func (p *Pages) showNumbers(v *visit, form string, wrong error) (reply, error) {
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
		Rows      []numberRow
		Buy       numberForm
		Adopt     numberForm
		Accounts  bool   // there is a telephony connection
		Adoption  string // the path of the form that adopts a number
		Providers string // the path of the page that connects an account
	}{layout: p.layout(v, "Phone numbers of "+v.tenant,
		"Agents buy and release numbers by the API, too.",
		shell("number", "list", "--tenant", v.tenant),
		shell("number", "buy", "--tenant", v.tenant, "415", "--name", "Front office"),
		shell("number", "adopt", "--tenant", v.tenant, "+14155550123"))}
	view.Adoption = p.root + tenantPath(v.tenant, "phone-numbers", "adopt")
	view.Providers = p.root + tenantPath(v.tenant, "add-connection")
	for _, n := range held.PhoneNumbers {
		view.Rows = append(view.Rows, p.numberRow(v.tenant, n))
	}
	var accounts []choice
	for _, c := range connections.Connections {
		if c.Kind == string(adapter.KindTelephony) {
			accounts = append(accounts, choice{Value: c.Name, Label: c.Name})
		}
	}
	view.Accounts = len(accounts) > 0
	// given returns what was typed into a form, and nothing of the other one.
	given := func(of, name string) string {
		if of != form {
			return ""
		}
		return v.form(name)
	}
	bought, adopted := buyFields(accounts, given), adoptFields(accounts, given)
	view.Buy, view.Adopt = numberForm{Fields: bought}, numberForm{Fields: adopted}
	switch form {
	case formBuy:
		view.Buy.Fields, view.Buy.Rest = withFaults(bought, wrong)
	case formAdopt:
		view.Adopt.Fields, view.Adopt.Rest = withFaults(adopted, wrong)
	}
	return formPage("numbers.html", view, wrong), nil
}

func buyFields(accounts []choice, given func(form, name string) string) []field {
	fields := []field{{
		Name: "connection", Label: "Connection", Type: "choice", Choices: accounts, Value: given(formBuy, "connection"),
	}, {
		Name: "area_code", Label: "Area code", Type: "text", Value: given(formBuy, "area_code"), Required: true,
		Help: "The first three digits of a number in the United States or Canada, such as 415.",
	}, {
		Name: "name", Label: "Name", Type: "text", Value: given(formBuy, "name"),
		Help: "What people call the number. The default is the number itself.",
	}}
	for _, e := range employees {
		fields = append(fields, field{
			Name: e.name, Label: e.label, Type: "text", Value: given(formBuy, e.name), Help: e.help,
		})
	}
	return fields
}

func adoptFields(accounts []choice, given func(form, name string) string) []field {
	return []field{{
		Name: "adopted_connection", Label: "Connection", Type: "choice", Choices: accounts,
		Value: given(formAdopt, "adopted_connection"),
	}, {
		Name: "e164", Label: "Number", Type: "text", Value: given(formAdopt, "e164"), Required: true,
		Help: "As the account at the provider holds it, with the country code: +14155550123.",
	}}
}

// numberForm is a form on a page about numbers.
type numberForm struct {
	Fields []field
	Rest   []fault.Field
}

// employees are the fields of the cloud employees of a number.
var employees = []struct{ name, label, help string }{
	{"inbound_cloud_employee_id", "Answered by", "The id of the cloud employee that answers. Empty: nobody."},
	{"outbound_cloud_employee_id", "Calls made by", "The id of the cloud employee that calls. Empty: nobody."},
}

// employees reads the ids of the cloud employees of a number; nil: nobody. It returns what is wrong with them.
func (v *visit) employees(inbound, outbound **int64) (wrong []fault.Field) {
	for i, into := range []**int64{inbound, outbound} {
		name := employees[i].name
		if v.form(name) == "" {
			continue
		}
		id, err := strconv.ParseInt(v.form(name), 10, 64)
		if *into = &id; err != nil {
			wrong = append(wrong,
				fault.Field{Path: name, Message: "must be a whole number, the id of a cloud employee."})
		}
	}
	return wrong
}

func (p *Pages) buyNumber(v *visit) (reply, error) {
	n := admin.NumberPurchase{Tenant: v.tenant, Connection: v.form("connection")}
	n.AreaCode, n.Name = v.form("area_code"), v.form("name")
	if wrong := append(n.Check(), v.employees(&n.Inbound, &n.Outbound)...); len(wrong) > 0 {
		return p.showNumbers(v, formBuy, fault.InvalidFields(wrong...))
	}
	bought, err := p.opts.Admin.BuyNumber(v.ctx, v.caller, admin.Write{IdempotencyKey: v.form("once")}, n)
	switch f := fault.From(err); {
	case f == nil:
	case f.Code == fault.Invalid:
		return p.showNumbers(v, formBuy, err)
	case f.Code == fault.Exhausted, f.Code == fault.NotFound:
		return p.showNumbers(v, formBuy, fault.InvalidField("area_code", "has no number to buy: "+f.Detail))
	}
	return p.done(v, err, bought.Record.E164+" was bought.",
		tenantPath(v.tenant, "phone-numbers", idText(bought.Record.ID)))
}

func (p *Pages) adoptNumber(v *visit) (reply, error) {
	adopted, err := p.opts.Admin.AdoptNumber(v.ctx, v.caller, admin.HeldNumber{
		Tenant: v.tenant, Connection: v.form("adopted_connection"), E164: v.form("e164"),
	})
	switch f := fault.From(err); {
	case f == nil:
	case f.Code == fault.Invalid:
		return p.showNumbers(v, formAdopt, err)
	case f.Code == fault.NotFound, f.Code == fault.Conflict:
		return p.showNumbers(v, formAdopt, fault.InvalidField("e164", "cannot be adopted: "+f.Detail))
	}
	return p.done(v, err, "The tenant holds "+adopted.E164+" now.", tenantPath(v.tenant, "phone-numbers"))
}

// heldNumber returns the number that the path names.
func (p *Pages) heldNumber(v *visit) (numberRow, error) {
	id, err := strconv.ParseInt(v.path("number"), 10, 64)
	if err != nil {
		return numberRow{}, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no such phone number.")
	}
	n, err := p.opts.Admin.GetNumber(v.ctx, v.caller, admin.NumberID{Tenant: v.tenant, ID: id})
	if err != nil {
		return numberRow{}, err
	}
	return p.numberRow(v.tenant, n), nil
}

func (p *Pages) number(v *visit) (reply, error) { return p.showNumber(v, nil) }

func (p *Pages) showNumber(v *visit, wrong error) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	id := idText(row.ID)
	view := struct {
		layout
		Number  numberRow
		Numbers string // the path of the page of all numbers
		Change  numberForm
	}{layout: p.layout(v, "Number "+row.E164, "", shell("number", "rename", "--tenant", v.tenant, id, "Night line"),
		shell("number", "assign", "--tenant", v.tenant, id, "--inbound", "7", "--outbound", "none"),
		shell("number", "release", "--tenant", v.tenant, id, "--yes"),
		shell("number", "restore", "--tenant", v.tenant, id)),
		Number: row, Numbers: p.root + tenantPath(v.tenant, "phone-numbers")}
	fields := []field{{Name: "name", Label: "Name", Type: "text", Value: row.Name, Required: true}}
	for i, now := range []*int64{row.Inbound, row.Outbound} {
		f := field{Name: employees[i].name, Label: employees[i].label, Help: employees[i].help, Type: "text"}
		if now != nil {
			f.Value = idText(*now)
		}
		fields = append(fields, f)
	}
	for i := range fields {
		fields[i].Was = new(fields[i].Value)
		if wrong != nil {
			fields[i].Value, fields[i].Was = v.form(fields[i].Name), new(v.form(wasPrefix+fields[i].Name))
		}
	}
	view.Change.Fields, view.Change.Rest = withFaults(fields, wrong)
	return formPage("number.html", view, wrong), nil
}

// changeNumber changes the fields that the person edited. What somebody else changed meanwhile stays.
func (p *Pages) changeNumber(v *visit) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	change := admin.NumberChange{Tenant: v.tenant}
	if change.ID = row.ID; v.edited("name") {
		change.Name = new(v.form("name"))
	}
	change.Inbound.Set, change.Outbound.Set = v.edited(employees[0].name), v.edited(employees[1].name)
	if change.Name == nil && !change.Inbound.Set && !change.Outbound.Set {
		p.notify(v, good("Nothing was to be changed."))
		return see(tenantPath(v.tenant, "phone-numbers", idText(row.ID)))
	}
	if wrong := append(change.Check(), v.employees(&change.Inbound.ID, &change.Outbound.ID)...); len(wrong) > 0 {
		return p.showNumber(v, fault.InvalidFields(wrong...))
	}
	_, err = p.opts.Admin.ChangeNumber(v.ctx, v.caller, admin.Write{}, change)
	if f := fault.From(err); f != nil && f.Code == fault.Invalid {
		return p.showNumber(v, err)
	}
	return p.done(v, err, "The number was changed.", tenantPath(v.tenant, "phone-numbers", idText(row.ID)))
}

func (p *Pages) askToReleaseNumber(v *visit) (reply, error) { return p.confirmRelease(v, "") }

func (p *Pages) confirmRelease(v *visit, wrong string) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	return confirmNumber(row, wrong, confirmView{
		layout: p.layout(v, "Release "+row.E164+"?", "",
			shell("number", "release", "--tenant", v.tenant, idText(row.ID), "--yes")),
		Means: []string{
			"Calls to the number are no longer answered.",
			"It goes back to the provider after the connection's release_delay, or at once if there is none. " +
				"Until then it can be restored.",
			"After that it is anybody's: nobody can promise to get it again.",
		},
		Action: "Release the number",
	}), nil
}

// confirmNumber asks for the number, typed.
func confirmNumber(row numberRow, wrong string, view confirmView) reply {
	view.Back = row.URL
	return confirm(wrong, view,
		field{Name: "e164", Label: "The number, to confirm", Help: "Type " + row.E164 + "."})
}

// notConfirmed returns what is wrong with the number that was typed to confirm a change of it, or "".
func (v *visit) notConfirmed(row numberRow) string {
	if v.form("e164") != row.E164 {
		return "must be the number, " + row.E164 + "."
	}
	return ""
}

func (p *Pages) releaseNumber(v *visit) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	if wrong := v.notConfirmed(row); wrong != "" {
		return p.confirmRelease(v, wrong)
	}
	_, err = p.opts.Admin.ReleaseNumber(v.ctx, v.caller, admin.Write{}, admin.NumberID{Tenant: v.tenant, ID: row.ID})
	return p.done(v, err, row.E164+" was released.", tenantPath(v.tenant, "phone-numbers"))
}

func (p *Pages) askToRestoreNumber(v *visit) (reply, error) { return p.confirmRestore(v, "") }

func (p *Pages) confirmRestore(v *visit, wrong string) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	return confirmNumber(row, wrong, confirmView{
		layout: p.layout(v, "Restore "+row.E164+"?", "",
			shell("number", "restore", "--tenant", v.tenant, idText(row.ID))),
		Means: []string{
			"The number is in use again, and is not given back to the provider.",
			"The provider goes on charging for it.",
		},
		Action: "Restore the number", Leave: "Leave it released",
	}), nil
}

func (p *Pages) restoreNumber(v *visit) (reply, error) {
	row, err := p.heldNumber(v)
	if err != nil {
		return reply{}, err
	}
	if wrong := v.notConfirmed(row); wrong != "" {
		return p.confirmRestore(v, wrong)
	}
	restored, err := p.opts.Admin.RestoreNumber(v.ctx, v.caller, admin.NumberID{Tenant: v.tenant, ID: row.ID})
	return p.done(v, err, restored.E164+" is in use again.",
		tenantPath(v.tenant, "phone-numbers", idText(row.ID)))
}
