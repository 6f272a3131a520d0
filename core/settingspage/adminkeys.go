package settingspage

import (
	"net/http"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

const adminKeysRoot = Root + "/admin-keys"

var adminKeyRoutes = []route{
	{http.MethodGet, adminKeysRoot, "settings-admin-keys", (*Pages).adminKeys},
	{http.MethodPost, adminKeysRoot, "settings-create-admin-key", (*Pages).createAdminKey},
	{http.MethodGet, adminKeysRoot + "/{key}/roll", "settings-roll-admin-key", (*Pages).askToRollAdminKey},
	{http.MethodPost, adminKeysRoot + "/{key}/roll", "settings-roll-admin-key", (*Pages).rollAdminKey},
	{http.MethodGet, adminKeysRoot + "/{key}/revoke", "settings-revoke-admin-key", (*Pages).askToRevokeAdminKey},
	{http.MethodPost, adminKeysRoot + "/{key}/revoke", "settings-revoke-admin-key", (*Pages).revokeAdminKey},
}

// adminKeyRow is a key of the admin interface in a list.
type adminKeyRow struct {
	admin.AdminKey
	keyState
	For string
}

func (p *Pages) adminKeyRow(k admin.AdminKey) adminKeyRow {
	row := adminKeyRow{k, p.keyState(k.Label, k.LastUsedAt, k.EndsAt, k.RevokedAt), "the whole gateway"}
	if k.Tenant != "" {
		row.For = "the tenant " + k.Tenant
	}
	return row
}

type adminKeysView struct {
	layout
	keyTables[adminKeyRow]
	Fields []field
	Rest   []fault.Field
}

func (p *Pages) adminKeys(v *visit) (reply, error) { return p.showAdminKeys(v, nil) }

func (p *Pages) showAdminKeys(v *visit, wrong error) (reply, error) {
	all, err := p.opts.Admin.ListAdminKeys(v.ctx, v.caller)
	if err != nil {
		return reply{}, err
	}
	view := adminKeysView{
		layout: p.layout(v, "Keys of the admin interface",
			"With such a key, a program manages tenants as these pages do.",
			shell("admin", "key", "list"), shell("admin", "key", "create", "--label", "platform", "--role", "admin")),
		keyTables: tablesOf(v, p.root+"/admin-keys", all.Keys, p.adminKeyRow),
	}
	fields := []field{
		{Name: "label", Label: "What the key is for", Type: "text", Value: v.form("label"),
			Help: "Such as the platform's name."},
		{Name: "role", Label: "What it may do", Type: "choice", Value: v.form("role"), Choices: []choice{
			{string(apikey.RoleViewer), "see everything but secrets"}, {string(apikey.RoleAdmin), "change everything"},
		}},
	}
	if v.caller.Tenant.ID == "" {
		fields = append(fields, field{Name: "tenant", Label: "Limited to the tenant", Type: "text",
			Value: v.form("tenant"),
			Help:  "Its name. Empty: the key is for the whole gateway."})
	}
	view.Fields, view.Rest = withFaults(fields, wrong)
	return formPage("admin-keys.html", view, wrong), nil
}

func (p *Pages) createAdminKey(v *visit) (reply, error) {
	spec := admin.NewAdminKey{Tenant: v.form("tenant"), Role: apikey.Role(v.form("role")),
		Label: v.form("label")}
	if v.caller.Tenant.ID != "" {
		spec.Tenant = v.caller.Tenant.Name
	}
	made, err := p.opts.Admin.CreateAdminKey(v.ctx, v.caller, v.once(), spec)
	switch f := fault.From(err); {
	case f == nil:
		return p.showNewAdminKey(v, made.Record)
	case f.Code == fault.Invalid:
		return p.showAdminKeys(v, err)
	case f.Code == fault.NotFound:
		return p.showAdminKeys(v, fault.InvalidField("tenant", "is not the name of a tenant."))
	}
	return reply{}, err
}

func (p *Pages) showNewAdminKey(v *visit, made admin.CreatedAdminKey, means ...string) (reply, error) {
	return reply{page: "secret.html", view: secretView{
		layout: p.layout(v, "The new key of the admin interface", ""), Label: "Key", Secret: made.Secret,
		Means: append([]string{"It is for " + p.adminKeyRow(made.AdminKey).For + ", as " + made.Role + "."},
			means...),
		Back: p.root + "/admin-keys", Action: "Go to the keys",
	}}, nil
}

// adminKey returns the key that the path names.
func (p *Pages) adminKey(v *visit) (adminKeyRow, error) {
	all, err := p.opts.Admin.ListAdminKeys(v.ctx, v.caller)
	if err != nil {
		return adminKeyRow{}, err
	}
	id := v.path("key")
	k, err := pick(all.Keys, func(k admin.AdminKey) bool { return k.ID == id }, apikey.NotFound(shorten(id)))
	return p.adminKeyRow(k), err
}

// rollPage asks how long what is replaced works beside its successor.
type rollPage struct {
	layout
	Label    string
	Action   string
	Overlaps []choice
	Back     string
}

// askForOverlap asks how long what is replaced may work beside its successor.
func askForOverlap(view rollPage) reply {
	view.Overlaps = []choice{
		{"24h", "in a day"}, {"1h", "in an hour"}, {"168h", "in a week"}, {"720h", "in 30 days"}, {"0s", "at once"},
	}
	return reply{page: "roll.html", view: view}
}

// overlap returns how long what is replaced shall work.
func (v *visit) overlap() (time.Duration, error) {
	overlap, err := time.ParseDuration(v.form("overlap"))
	if err != nil {
		return 0, fault.InvalidField("overlap", `must be a duration such as "24h".`)
	}
	return overlap, nil
}

func (p *Pages) askToRollAdminKey(v *visit) (reply, error) {
	k, err := p.adminKey(v)
	if err != nil {
		return reply{}, err
	}
	return askForOverlap(rollPage{
		layout: p.layout(v, "Roll the key "+k.Prefix+"…",
			"A new key takes its place. Both work until the old one ends.",
			shell("key", "roll", k.ID, "--overlap", "24h")),
		Label: "The old key ends", Action: "Create the new key", Back: p.root + "/admin-keys",
	}), nil
}

func (p *Pages) rollAdminKey(v *visit) (reply, error) {
	overlap, err := v.overlap()
	if err != nil {
		return reply{}, err
	}
	made, err := p.opts.Admin.RollAdminKey(v.ctx, v.caller, v.once(), admin.RollKey{
		KeyID: admin.KeyID{ID: v.path("key")}, Overlap: &overlap,
	})
	if err != nil {
		return reply{}, err
	}
	return p.showNewAdminKey(v, made.Record,
		"The key that it replaces works until "+moment(made.Record.CreatedAt.Add(overlap))+".")
}

func (p *Pages) askToRevokeAdminKey(v *visit) (reply, error) {
	k, err := p.adminKey(v)
	if err != nil {
		return reply{}, err
	}
	return reply{page: "confirm.html", view: confirmView{
		layout: p.layout(v, "Revoke the key "+k.Prefix+"…?", "", shell("admin", "key", "revoke", k.ID)),
		Means:  []string{"It stops working within 5 seconds, and cannot be brought back.", k.use},
		Action: "Revoke the key", Back: p.root + "/admin-keys",
	}}, nil
}

func (p *Pages) revokeAdminKey(v *visit) (reply, error) {
	_, err := p.opts.Admin.RevokeAdminKey(v.ctx, v.caller, v.path("key"))
	return p.done(v, err, "The key was revoked.", "/admin-keys")
}
