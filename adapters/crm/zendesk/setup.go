package zendesk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

var _ adapter.SetupChecker = (*driver)(nil)

// CheckSetup checks the token's scopes, the agent's role, the account's ticket fields, and that the records
// exist whose ids the setting has. Zendesk shows only administrators what a custom role may do.
func (d *driver) CheckSetup(ctx context.Context) error {
	if err := d.mayWrite(ctx); err != nil {
		return err
	}
	var me userAnswer
	if err := d.get(ctx, "/users/me", nil, &me); err != nil {
		return err
	}
	if err := me.mayOpenTickets(); err != nil {
		return err
	}
	known, err := d.askLabels(ctx)
	if err != nil {
		return err
	}
	constant, err := d.fields.Fill(name, known.fields, crm.NewTicket{})
	if err != nil {
		return err
	}
	solves := known.solve(constant)
	err = d.fields.Check(name, known.fields, func(string) bool { return !solves })
	if err != nil {
		return err
	}
	return d.recordsExist(ctx, constant)
}

// mayWrite checks the scopes of an OAuth token. An API token has every scope
// (developer.zendesk.com/api-reference/ticketing/oauth/oauth_tokens, "Show Current Token" and "Scopes").
func (d *driver) mayWrite(ctx context.Context) error {
	if !d.oauth {
		return nil
	}
	var current struct {
		Token struct {
			Scopes []string `json:"scopes"`
		} `json:"token"`
	}
	if err := d.get(ctx, "/oauth/tokens/current", nil, &current); err != nil {
		return err
	}
	granted := current.Token.Scopes
	if slices.Contains(granted, "write") || slices.Contains(granted, "tickets:write") {
		return nil
	}
	return forbidden(
		"The Zendesk token lacks the scope tickets:write. Connect the account again, or enter a token that " +
			"has it.")
}

// mayOpenTickets refuses a user whose comments no customer sees, or who would not see the tickets they open
// (developer.zendesk.com/api-reference/ticketing/users/users, "JSON format for agent or admin requests").
func (a userAnswer) mayOpenTickets() error {
	const light, chat, contributor = 1, 2, 3
	switch {
	case a.User.Role == "end-user":
		return forbidden(
			"The connection's credentials belong to a customer at Zendesk, not to an agent. Connect an " +
				"agent.")
	case a.User.RoleType == light, a.User.RoleType == chat, a.User.RoleType == contributor:
		return forbidden(
			"The connected Zendesk user has a role that cannot write public comments, such as light agent " +
				"or contributor. Connect an agent.")
	case a.User.Restriction == "assigned", a.User.Restriction == "requested":
		return forbidden(
			"The connected Zendesk agent sees only tickets that are assigned to them, and so cannot read " +
				"the tickets they open. Give the agent access to all tickets, or to those of their groups.")
	}
	return nil
}

// solve reports whether a ticket with these values is solved.
func (l labels) solve(values map[string]any) bool {
	id := fmt.Sprint(values["custom_status_id"])
	return values["status"] == solved || slices.ContainsFunc(l.custom, func(s customStatus) bool {
		return fmt.Sprint(s.id) == id && s.category == solved
	})
}

// records maps Zendesk's own fields that hold an id to the path of the record.
var records = map[string]string{
	"group_id": "/groups/", "brand_id": "/brands/", "ticket_form_id": "/ticket_forms/",
	"organization_id": "/organizations/", "assignee_id": "/users/", "requester_id": "/users/",
}

func (d *driver) recordsExist(ctx context.Context, constant map[string]any) error {
	for _, field := range slices.Sorted(maps.Keys(constant)) {
		path := records[field]
		if path == "" {
			continue
		}
		var found userAnswer
		err := d.get(ctx, path+fmt.Sprint(constant[field]), nil, &found)
		isCustomer := err == nil && found.User.Role == "end-user"
		if errors.Is(err, fault.NotFound) || field == "assignee_id" && isCustomer {
			return adapter.UnfitField(name, field)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func forbidden(detail string) *fault.Error {
	return fault.New(fault.Forbidden, fault.ReasonPermissionDenied, detail)
}
