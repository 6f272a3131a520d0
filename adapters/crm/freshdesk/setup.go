package freshdesk

import (
	"context"
	"net/http"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// CheckSetup checks what the agent may do and the account's ticket fields. It cannot check the privileges of
// the agent's roles, since Freshdesk shows them only to administrators.
func (d *driver) CheckSetup(ctx context.Context) error {
	var me agent
	if err := d.get(ctx, "/agents/me", nil, &me); err != nil {
		return err
	}
	switch {
	case me.ID <= 0:
		return unreadable(http.MethodGet)
	case me.Type == "collaborator":
		return forbidden(
			"A collaborator cannot open tickets in Freshdesk. Use the API key of a support agent.")
	case me.Scope == restricted:
		return forbidden(
			"The agent sees only tickets in Freshdesk that are assigned to them, and so cannot read the " +
				"tickets they open. Give the agent access to all tickets, or to those of a group.")
	}
	known, err := d.askLabels(ctx)
	if err != nil {
		return err
	}
	return d.fields.Check(name, known.fields, func(field string) bool {
		return always[field] != "" || field == "source" || field == "status" || field == "priority"
	})
}

// restricted is the scope of an agent who sees only tickets assigned to them (developers.freshdesk.com/api,
// "Agents").
const restricted = 3

func forbidden(detail string) *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, detail)
}
