package zendesk

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// driver is one account, seen by one agent. What it remembers is only ever a saving.
type driver struct {
	client *http.Client
	base   string
	oauth  bool // by OAuth, not by an API token
	fields adapter.TicketFields
	labels atomic.Pointer[labels]
}

var (
	_ crm.Driver = (*driver)(nil)
	_ crm.Finder = (*driver)(nil)
)

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	base, err := root(s.BaseURL)
	if err != nil {
		return nil, err
	}
	return &driver{client: env.HTTP, base: base + "/api/v2", oauth: s.APIToken == "", fields: s.Fields}, nil
}

// Traits are Zendesk's, of any account.
func (d *driver) Traits() crm.Traits { return crm.Traits{IdempotentCreate: true, FindsByKey: true} }

// Account asks who the agent is. Zendesk answers a request without credentials in the name of nobody.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	var me userAnswer
	if err := d.get(ctx, "/users/me", nil, &me); err != nil {
		return crm.Account{}, err
	}
	if me.User.ID == nil {
		return crm.Account{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"Zendesk does not know who the connection's credentials belong to. Connect the account again.").
			With("provider", name)
	}
	return crm.Account{Email: me.User.Email, Name: me.User.Name}, nil
}

// Vocabulary asks for the labels anew.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	known, err := d.askLabels(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return known.vocabulary(), nil
}

// askLabels reads statuses and fields, and remembers them. An account without custom statuses, or an agent
// who may not see them, has the system's.
func (d *driver) askLabels(ctx context.Context) (labels, error) {
	var statuses customStatusesAnswer
	err := d.get(ctx, "/custom_statuses", nil, &statuses)
	if err != nil && !hasStatus(err, http.StatusNotFound) && !hasStatus(err, http.StatusForbidden) {
		return labels{}, err
	}
	var fields fieldsAnswer
	if err := d.get(ctx, "/ticket_fields", nil, &fields); err != nil {
		return labels{}, err
	}
	known := labelsOf(statuses, fields)
	d.labels.Store(&known)
	return known, nil
}

// knownLabels returns those remembered, where enough does with them, and else asked for.
func (d *driver) knownLabels(ctx context.Context, enough func(labels) bool) (labels, error) {
	if known := d.labels.Load(); known != nil && enough(*known) {
		return *known, nil
	}
	return d.askLabels(ctx)
}

// Create makes a ticket under two names of its key. The Idempotency-Key lives for two hours, and Zendesk has
// all tries of that time make one ticket (developer.zendesk.com/api-reference/ticketing/introduction,
// "Idempotency"). A try that is later, such as one that a gateway takes up when it is started again the next
// day, finds the ticket by its external id.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	wanted, err := newTicketOf(t)
	if err != nil {
		return crm.Ticket{}, err
	}
	switch found, err := d.Find(ctx, t); {
	case err == nil:
		return found, nil
	case !isCode(err, fault.NotFound):
		return crm.Ticket{}, fault.Unacted(err)
	}
	own, err := d.label(ctx, t, &wanted)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	body, err := wanted.body(own)
	if err != nil {
		return crm.Ticket{}, fault.From(err)
	}
	var made ticketAnswer
	header := http.Header{"Idempotency-Key": {externalID(t.Key)}}
	if err := d.call(ctx, http.MethodPost, "/tickets", nil, header, newTicketRequest{body}, &made); err != nil {
		return crm.Ticket{}, d.fields.Attribute(name, err, t, fields)
	}
	if made.Ticket.ID <= 0 {
		return crm.Ticket{}, unreadable(http.MethodPost)
	}
	return d.readCreated(ctx, made.Ticket), nil
}

// label puts the labels on a ticket and answers the setting's fields for it, which takes a look at the
// account's only where there are any.
func (d *driver) label(ctx context.Context, t crm.NewTicket, on *newTicket) (own map[string]any, err error) {
	if t.Status == "" && t.Priority == "" && len(d.fields) == 0 {
		return nil, nil
	}
	known, err := d.knownLabels(ctx, func(known labels) bool {
		_, unfit := d.fields.Fill(name, known.fields, t)
		return unfit == nil && len(known.put(t.Status, t.Priority, on)) == 0
	})
	if err != nil {
		return nil, err
	}
	var faults []fault.Field
	for _, path := range known.put(t.Status, t.Priority, on) {
		faults = append(faults, fault.Field{Path: path, Message: "is no longer a label of the Zendesk " +
			"account."})
	}
	if len(faults) > 0 {
		return nil, fault.InvalidFields(faults...)
	}
	return d.fields.Fill(name, known.fields, t)
}

// readCreated returns a ticket from the answer that created it. It was made, whatever else cannot be read: no
// error may hide that.
func (d *driver) readCreated(ctx context.Context, made ticket) crm.Ticket {
	known, err := d.knownLabels(ctx, func(known labels) bool { return known.knows(made) })
	if err != nil {
		known = labels{}
		if remembered := d.labels.Load(); remembered != nil {
			known = *remembered
		}
	}
	answer := ticketOf(made, known)
	if made.done() {
		_ = d.readEnd(ctx, made, &answer)
	}
	return answer
}

// Find lists the tickets of the key's external id. The list is of the database: the search is not asked.
func (d *driver) Find(ctx context.Context, wanted crm.NewTicket) (crm.Ticket, error) {
	var found ticketsAnswer
	if err := d.get(ctx, "/tickets", url.Values{"external_id": {externalID(wanted.Key)}}, &found); err != nil {
		return crm.Ticket{}, err
	}
	for _, t := range found.Tickets {
		if t.ID > 0 && t.ExternalID == externalID(wanted.Key) {
			return d.complete(ctx, t)
		}
	}
	return crm.Ticket{}, noTicket()
}

// ByNumber reads a ticket by its id, which is the number that people see.
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	id, ok := parseID(number)
	if !ok {
		return crm.Ticket{}, noTicket()
	}
	var found ticketAnswer
	if err := d.get(ctx, path(id, ""), nil, &found); err != nil {
		return crm.Ticket{}, ticketMissing(err)
	}
	if found.Ticket.ID != id {
		return crm.Ticket{}, unreadable(http.MethodGet)
	}
	return d.complete(ctx, found.Ticket)
}

func path(id int64, part string) string { return "/tickets/" + strconv.FormatInt(id, 10) + part }

// complete adds to a ticket what is asked for separately.
func (d *driver) complete(ctx context.Context, t ticket) (crm.Ticket, error) {
	known, err := d.knownLabels(ctx, func(known labels) bool { return known.knows(t) })
	if err != nil {
		return crm.Ticket{}, err
	}
	answer := ticketOf(t, known)
	if answer.LastComment, err = d.lastComment(ctx, t.ID); err != nil {
		return crm.Ticket{}, ticketMissing(err)
	}
	if t.done() {
		if err := d.readEnd(ctx, t, &answer); err != nil {
			return crm.Ticket{}, ticketMissing(err)
		}
	}
	return answer, nil
}

// readEnd reads when a ticket was solved and closed. Zendesk keeps no time of closing of its own; but nothing
// changes the status of a closed ticket any more, so that the time of the last change of status is it.
func (d *driver) readEnd(ctx context.Context, t ticket, into *crm.Ticket) error {
	var m metricsAnswer
	if err := d.get(ctx, path(t.ID, "/metrics"), nil, &m); err != nil {
		return err
	}
	into.ResolvedAt = m.Metric.SolvedAt
	if t.Status == closed {
		into.ClosedAt = m.Metric.StatusUpdatedAt
	}
	return nil
}

const (
	commentsPerPage = 50
	mostPages       = 4
)

// lastComment looks for the newest public comment, since Zendesk does not pick comments by that. The ticket's
// first comment is its description and none. Beyond so many notes for colleagues nobody looks for what was
// said before them.
func (d *driver) lastComment(ctx context.Context, id int64) (crm.Text, error) {
	query := url.Values{"sort": {"-created_at"}, "page[size]": {strconv.Itoa(commentsPerPage)}}
	for range mostPages {
		var page commentsAnswer
		if err := d.get(ctx, path(id, "/comments"), query, &page); err != nil {
			return crm.Text{}, err
		}
		more := page.Meta.HasMore && page.Meta.AfterCursor != ""
		if !more && len(page.Comments) > 0 {
			page.Comments = page.Comments[:len(page.Comments)-1]
		}
		for _, c := range page.Comments {
			if c.Public {
				return c.text(), nil
			}
		}
		if !more {
			break
		}
		query.Set("page[after]", page.Meta.AfterCursor)
	}
	return crm.Text{}, nil
}
