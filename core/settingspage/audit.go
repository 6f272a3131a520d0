package settingspage

import (
	"net/http"
	"slices"
	"strings"

	"frontdesk/core/admin"
)

var auditRoutes = []route{
	{http.MethodGet, Root + "/audit", "settings-audit", (*Pages).audit},
	{http.MethodGet, tenantRoot + "/audit", "settings-audit", (*Pages).audit},
}

// maxAuditShown keeps the page small.
const maxAuditShown = 200

type auditRow struct {
	admin.AuditEntry
	Moment string
	What   string // names of what was changed
}

// audit shows the newest changes first: those of a tenant, or all that the person reaches.
func (p *Pages) audit(v *visit) (reply, error) {
	action := strings.TrimSpace(v.r.URL.Query().Get("action"))
	all, err := p.opts.Admin.ListAudit(v.ctx, v.caller,
		admin.AuditQuery{Tenant: v.tenant, Action: action, Limit: maxAuditShown})
	if err != nil {
		return reply{}, err
	}
	title, command := "Audit", shell("audit", "list")
	if v.tenant != "" {
		title, command = "Audit of "+v.tenant, shell("audit", "list", "--tenant", v.tenant)
	}
	view := struct {
		layout
		Rows   []auditRow
		Action string
		Most   int
	}{
		layout: p.layout(v, title, "Who changed what, the newest change first.", command, shell("audit", "verify")),
		Action: action, Most: maxAuditShown,
	}
	for _, e := range slices.Backward(all.Entries) {
		view.Rows = append(view.Rows, auditRow{e, moment(e.At), strings.Join(e.Changed, ", ")})
	}
	return reply{page: "audit.html", view: view}, nil
}
