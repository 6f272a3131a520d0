package rest

import (
	"context"
	"regexp"
	"slices"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// fieldNames are the fields of a new ticket, in the order of the interface.
var fieldNames = []string{
	"subject", "description", "priority", "status", "owner_id", "account_id", "contact_id",
}

// use matches where an expression uses the new ticket: one field of it, as .ticket.owner_id or
// .ticket["owner_id"], or all.
var use = regexp.MustCompile(`\.ticket\b(?:\.([a-z_]+)|\["([a-z_]+)"\])?`)

// fields finds out which fields a new ticket can have: those that a step of create uses and the mapping
// shows. If a step names a field that the mapping does not show, the settings are wrong, since nothing would
// show what became of the field.
func (c *compiled) fields(s createSettings) {
	named, all := map[string]bool{}, false
	for _, source := range s.sources() {
		for _, found := range use.FindAllStringSubmatch(source, -1) {
			name := found[1] + found[2]
			if label, isValue := map[string]string{"status_value": "status",
				"priority_value": "priority"}[name]; isValue {
				name = label
			}
			named[name], all = true, all || name == ""
		}
	}
	m, path := c.ticket, "ticket."
	if c.createTicket.number.given() {
		m, path = c.createTicket, "create.ticket."
	}
	shows := m.shows()
	c.settable = map[string]bool{}
	for _, name := range fieldNames {
		if named[name] && !shows[name] {
			c.wrong(path+name, "is required, because create uses .ticket."+name+": otherwise nothing shows "+
				"whether it was kept.")
		}
		c.settable[name] = (named[name] || all) && shows[name]
	}
}

// sources returns the texts of the steps of create that can use the new ticket.
func (s createSettings) sources() []string {
	var texts []string
	for _, step := range s.Steps {
		texts = append(texts, step.Path, step.Body, step.When)
		for _, set := range []map[string]string{step.Query, step.Headers} {
			for _, text := range set {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// shows reports which fields a mapping has.
func (m mapping) shows() map[string]bool {
	return map[string]bool{
		"subject": m.subject.given(), "description": m.description.given(), "owner_id": m.ownerID.given(),
		"status":   m.status.given() || m.statusValue.given(),
		"priority": m.priority.given() || m.priorityValue.given(), "account_id": m.accountID.given(),
		"contact_id": m.contactID.given(),
	}
}

// unsettable returns an error that names the fields of a new ticket that the settings have no place for.
// Every ticket has a subject, so it is never refused.
func (c *compiled) unsettable(ticket map[string]any) error {
	var faults []fault.Field
	for _, name := range fieldNames {
		if ticket[name] != nil && !c.settable[name] && name != "subject" {
			faults = append(faults, fault.Field{
				Path: name, Message: "cannot be set in the connected ticket system; leave it out.",
			})
		}
	}
	if len(faults) > 0 {
		return fault.InvalidFields(faults...)
	}
	return nil
}

// restoreIDs replaces the ids of a ticket with the given ones, if the expressions of create.shown say that
// they are the same records.
func (d *driver) restoreIDs(ctx context.Context, r *run, others []otherID) error {
	for _, id := range others {
		shown, err := id.shown.text(ctx, r.input)
		if err != nil {
			return err
		}
		if shown == *id.has {
			*id.has = id.given
		}
	}
	return nil
}

// otherID is an id in a ticket that differs from the given one.
type otherID struct {
	shown expression
	given string
	has   *string
}

// otherIDs returns the ids that create.shown may explain.
func (d *driver) otherIDs(wanted crm.NewTicket, t *crm.Ticket) (others []otherID) {
	for _, id := range []otherID{
		{d.shownOwner, wanted.OwnerID, &t.OwnerID}, {d.shownAccount, wanted.AccountID, &t.AccountID},
		{d.shownContact, wanted.ContactID, &t.ContactID},
	} {
		if id.given != "" && *id.has != "" && id.given != *id.has && id.shown.given() {
			others = append(others, id)
		}
	}
	return others
}

// namedAnew calls restoreIDs for a ticket that was found rather than created. It runs the steps of create
// before the first that may change something, since create.shown uses their responses.
func (d *driver) namedAnew(ctx context.Context, wanted crm.NewTicket, t *crm.Ticket) error {
	others := d.otherIDs(wanted, t)
	if len(others) == 0 {
		return nil
	}
	ticket, err := d.newTicket(ctx, wanted)
	if err != nil {
		return err
	}
	r := d.begin(map[string]any{"ticket": ticket, "key": wanted.Key})
	acts := slices.IndexFunc(d.compiled.create, func(s step) bool { return s.acts })
	if err := r.steps(ctx, d.compiled.create[:acts]); err != nil {
		return err
	}
	return d.restoreIDs(ctx, r, others)
}
