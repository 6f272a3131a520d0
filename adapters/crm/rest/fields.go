package rest

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	for _, source := range sources(s.Steps) {
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

// namesSubject reports whether a step uses the subject of a new ticket, by its name or with all the rest.
func namesSubject(s stepSettings) bool {
	return slices.ContainsFunc(sources([]stepSettings{s}), func(source string) bool {
		return slices.ContainsFunc(use.FindAllStringSubmatch(source, -1), func(found []string) bool {
			name := found[1] + found[2]
			return name == "subject" || name == ""
		})
	})
}

// reads records what an expression reads that does not exist. Which steps of an operation were done before is not
// checked: several operations may share an expression.
func (c *compiled) reads(path string, r reads) {
	for _, name := range r.steps {
		if !slices.Contains(c.stepNames, name) {
			c.wrong(path, "uses .steps."+name+", which does not exist.")
		}
	}
	for _, name := range r.fields {
		if _, known := asInput(crm.NewTicket{})[name]; !known && strings.HasPrefix(path, "create.steps") {
			c.wrong(path, "uses .ticket."+name+", which does not exist.")
		}
	}
	if r.all {
		c.readAll = append(c.readAll, path)
	}
}

// stepNames returns the names of the steps of all operations.
func (s settings) stepNames() (names []string) {
	for _, steps := range [][]stepSettings{
		s.Account.Steps, s.Vocabulary.Steps, s.Create.Steps, s.Get.Steps, s.ByKey.Steps, s.FindContacts.Steps,
		s.OpenTickets.Steps, s.Check.Steps,
	} {
		for _, step := range steps {
			names = append(names, step.Name)
		}
	}
	return names
}

// inputs checks that operations use what they are about, where a caller would get another's ticket otherwise, or
// a second one.
func (c *compiled) inputs(s settings) {
	uses := func(name, operation string, steps []stepSettings, more ...string) bool {
		used := regexp.MustCompile(`\b` + name + `\b`)
		more = slices.AppendSeq(append(more, sources(steps)...), maps.Values(s.Headers))
		return slices.ContainsFunc(more, used.MatchString) || slices.ContainsFunc(c.readAll, func(path string) bool {
			return strings.HasPrefix(path, operation+".") || strings.HasPrefix(path, "headers.")
		})
	}
	if len(s.OpenTickets.Steps) > 0 && !uses("contact_id", "open_tickets", s.OpenTickets.Steps, s.OpenTickets.Tickets) {
		c.wrong("open_tickets", "must use .contact_id: otherwise everybody has the same tickets.")
	}
	if !c.keyNumber.given() {
		return
	}
	if !uses("key", "by_key", s.ByKey.Steps, s.ByKey.Number) {
		c.wrong("by_key", "must use .key: otherwise every call has the same ticket.")
	}
	if s.IdempotencyHeader == "" && !uses("key", "create", s.Create.Steps) {
		c.wrong("create.steps", "must send .key: otherwise by_key finds no ticket, and each is opened once more.")
	}
}

// sources returns the texts of steps that can use what an operation is about.
func sources(steps []stepSettings) []string {
	var texts []string
	for _, step := range steps {
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
