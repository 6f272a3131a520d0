package zendesk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

// driver is one account, seen by one agent. It remembers labels only to save requests.
type driver struct {
	client *http.Client
	base   string
	oauth  bool // connected by OAuth, not by an API token
	fields adapter.TicketFields
	now    func() time.Time
	labels crm.Remembered[labels]
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
	return &driver{client: env.HTTP, base: base + "/api/v2", oauth: s.APIToken == "", fields: s.Fields, now: env.Now}, nil
}

// Traits implements crm.Driver. They are the same for every account.
func (d *driver) Traits() crm.Traits { return crm.Traits{IdempotentCreate: true, FindsByKey: true} }

// Account implements crm.Driver. Without credentials, Zendesk responds with a user who has no id.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	var me userAnswer
	if err := d.get(ctx, "/users/me", nil, &me); err != nil {
		return crm.Account{}, err
	}
	if me.User.ID == nil {
		return crm.Account{}, fault.New(fault.Disconnected, fault.ReasonReconnectRequired,
			"Zendesk does not know who the connection's credentials belong to. Connect the account again.")
	}
	return crm.Account{Email: me.User.Email, Name: me.User.Name}, nil
}

// Vocabulary implements crm.Driver. It always requests the labels.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	known, err := d.askLabels(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return known.vocabulary(), nil
}

// askLabels requests the statuses and fields and remembers their labels. If the account has no custom
// statuses or the agent may not see them, those of the system apply.
func (d *driver) askLabels(ctx context.Context) (labels, error) {
	var statuses customStatusesAnswer
	err := d.get(ctx, "/custom_statuses", nil, &statuses)
	if err != nil && !upstream.HasStatus(err, http.StatusNotFound, http.StatusForbidden) {
		return labels{}, err
	}
	var fields fieldsAnswer
	if err := d.get(ctx, "/ticket_fields", nil, &fields); err != nil {
		return labels{}, err
	}
	known := labelsOf(statuses, fields)
	d.labels.Put(known, d.now().Add(crm.LabelsLast))
	return known, nil
}

// knownLabels returns the remembered labels if enough accepts them. Otherwise it requests them.
func (d *driver) knownLabels(ctx context.Context, enough func(labels) bool) (labels, error) {
	return d.labels.Look(ctx, d.now(), d.askLabels, enough)
}

// keyLife is how long Zendesk creates only one ticket for all requests with the same Idempotency-Key
// (developer.zendesk.com/api-reference/ticketing/introduction, "Idempotency").
const keyLife = 2 * time.Hour

// Create implements crm.Driver. It sends the key twice. After the life of an Idempotency-Key, a retry, such as
// one by a gateway that is started again the next day, finds the ticket by its external id.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	wanted, err := newTicketOf(t)
	if err != nil {
		return crm.Ticket{}, err
	}
	switch found, err := d.Find(ctx, t); {
	case err == nil:
		return found, nil
	case !errors.Is(err, fault.NotFound):
		return crm.Ticket{}, fault.Unacted(err)
	}
	if !t.Since.IsZero() && d.now().Sub(t.Since) > keyLife-crm.ClockSkew {
		if err := d.confirmNone(ctx); err != nil {
			return crm.Ticket{}, fault.Unacted(err)
		}
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

// label sets the labels of a ticket and returns the setting's fields for it. It reads the account's labels
// only if the ticket has a label or the setting has entries.
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
	if faults := known.put(t.Status, t.Priority, on); len(faults) > 0 {
		return nil, fault.InvalidFields(faults...)
	}
	return d.fields.Fill(name, known.fields, t)
}

// readCreated converts the response that created a ticket. It returns no error: the ticket exists, whatever
// else cannot be read.
func (d *driver) readCreated(ctx context.Context, made ticket) crm.Ticket {
	known, err := d.knownLabels(ctx, func(known labels) bool { return known.knows(made) })
	if err != nil {
		known, _ = d.labels.Get(d.now())
	}
	answer := ticketOf(made, known)
	if made.done() {
		_ = d.readEnd(ctx, made, &answer)
	}
	return answer
}

// Find implements crm.Finder. It lists the tickets with the key's external id from the database, not the
// search.
func (d *driver) Find(ctx context.Context, wanted crm.NewTicket) (crm.Ticket, error) {
	var found ticketsAnswer
	if err := d.get(ctx, "/tickets", url.Values{"external_id": {externalID(wanted.Key)}}, &found); err != nil {
		return crm.Ticket{}, err
	}
	if found.Tickets == nil { // an error inside a 200 does not say that there is none
		return crm.Ticket{}, unreadable(http.MethodGet)
	}
	for _, t := range found.Tickets {
		if t.ID > 0 && t.ExternalID == externalID(wanted.Key) {
			own, _, err := d.complete(ctx, t)
			return own, err
		}
	}
	return crm.Ticket{}, noTicket()
}

// confirmNone returns an error if a ticket that Find does not find may exist: an agent with less than access to all
// tickets does not see one that a trigger moved to another group
// (developer.zendesk.com/api-reference/ticketing/users/users, ticket_restriction).
func (d *driver) confirmNone(ctx context.Context) error {
	var me userAnswer
	if err := d.get(ctx, "/users/me", nil, &me); err != nil {
		return err
	}
	if me.User.Restriction == "" {
		return nil
	}
	return fault.Unknowable("Zendesk does not show every ticket to the connection's agent, so the ticket may " +
		"exist unseen. Give the agent access to all tickets.")
}

// ByNumber implements crm.Driver. A ticket's number is its id. A description that is an internal note is not told:
// customers do not see it (developer.zendesk.com/api-reference/ticketing/tickets/tickets, is_public, and
// ticket_comments, public).
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	id, ok := crm.ParseNumericID(number)
	if !ok {
		return crm.Ticket{}, noTicket()
	}
	var found ticketAnswer
	if err := d.get(ctx, path(id, ""), nil, &found); err != nil {
		return crm.Ticket{}, crm.TicketMissing(err, noTicket())
	}
	if found.Ticket.ID != id {
		return crm.Ticket{}, unreadable(http.MethodGet)
	}
	answer, isNote, err := d.complete(ctx, found.Ticket)
	if isNote {
		answer.Description = crm.Text{}
	}
	return answer, err
}

func path(id int64, part string) string { return "/tickets/" + strconv.FormatInt(id, 10) + part }

// complete adds the parts of a ticket that take further requests. It reports whether the description is known to be an
// internal note.
func (d *driver) complete(ctx context.Context, t ticket) (answer crm.Ticket, isNote bool, err error) {
	known, err := d.knownLabels(ctx, func(known labels) bool { return known.knows(t) })
	if err != nil {
		return crm.Ticket{}, false, err
	}
	answer = ticketOf(t, known)
	if answer.LastComment, isNote, err = d.lastComment(ctx, t.ID); err != nil {
		return crm.Ticket{}, false, crm.TicketMissing(err, noTicket())
	}
	if t.done() {
		if err := d.readEnd(ctx, t, &answer); err != nil {
			return crm.Ticket{}, false, crm.TicketMissing(err, noTicket())
		}
	}
	return answer, isNote || t.IsPublic != nil && !*t.IsPublic, nil
}

// readEnd reads when a ticket was solved and closed. Zendesk records no time of closing. The status of a
// closed ticket never changes again, so the time of its last change is the time of closing.
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
	commentsPerPage = 30 // a comment has up to 64 KiB, in three forms
	mostPages       = 4
)

// lastComment looks for the newest public comment, since Zendesk cannot filter comments by that. The ticket's
// first comment is its description and does not count, and lastComment reports whether it is known to be an internal
// note. It reads mostPages pages at most.
func (d *driver) lastComment(ctx context.Context, id int64) (text crm.Text, isNote bool, err error) {
	query := url.Values{"sort": {"-created_at"}, "page[size]": {strconv.Itoa(commentsPerPage)}}
	for range mostPages {
		var page commentsAnswer
		if err := d.get(ctx, path(id, "/comments"), query, &page); err != nil {
			return crm.Text{}, false, err
		}
		more := page.Meta.HasMore && page.Meta.AfterCursor != ""
		if last := len(page.Comments) - 1; !more && last >= 0 {
			page.Comments, isNote = page.Comments[:last], !page.Comments[last].Public
		}
		for _, c := range page.Comments {
			if c.Public {
				return c.text(), isNote, nil
			}
		}
		if !more {
			break
		}
		query.Set("page[after]", page.Meta.AfterCursor)
	}
	return crm.Text{}, isNote, nil
}
