package freshdesk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// driver is one account, seen by one agent. It remembers labels only to save requests.
type driver struct {
	client    *http.Client
	base      string
	requester string
	fields    adapter.TicketFields
	now       func() time.Time
	labels    crm.Remembered[labels]
}

var (
	_ crm.Driver = (*driver)(nil)
	_ crm.Finder = (*driver)(nil)
)

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	base := strings.TrimRight(s.BaseURL, "/") + "/api/v2"
	return &driver{client: env.HTTP, base: base, requester: s.RequesterEmail, fields: s.Fields, now: env.Now}, nil
}

// Traits implements crm.Driver. Freshdesk promises nothing.
func (d *driver) Traits() crm.Traits { return crm.Traits{} }

// Account implements crm.Driver. It returns the agent that the API key belongs to.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	var me agent
	if err := d.get(ctx, "/agents/me", nil, &me); err != nil {
		return crm.Account{}, err
	}
	if me.ID <= 0 {
		return crm.Account{}, unreadable(http.MethodGet)
	}
	return crm.Account{Email: me.Contact.Email, Name: me.Contact.Name}, nil
}

// Vocabulary implements crm.Driver. It always requests the labels.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	known, err := d.askLabels(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return known.vocabulary(), nil
}

// askLabels requests the ticket fields and remembers their labels.
func (d *driver) askLabels(ctx context.Context) (labels, error) {
	var fields []field
	if err := d.get(ctx, "/ticket_fields", nil, &fields); err != nil {
		return labels{}, err
	}
	known := labelsOf(fields)
	d.labels.Put(known, d.now().Add(crm.LabelsLast))
	return known, nil
}

// knownLabels returns the remembered labels if enough accepts them. Otherwise it requests them.
func (d *driver) knownLabels(ctx context.Context, enough func(labels) bool) (labels, error) {
	return d.labels.Look(ctx, d.now(), d.askLabels, enough)
}

// Create implements crm.Driver. It reads the labels first, so that only reading the response can fail later.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	wanted, err := newTicketOf(t, d.requester)
	if err != nil {
		return crm.Ticket{}, err
	}
	known, err := d.knownLabels(ctx, func(known labels) bool {
		_, unfit := d.fields.Fill(name, known.fields, t)
		return unfit == nil && len(known.put(t.Status, t.Priority, &wanted)) == 0
	})
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	own, err := d.fields.Fill(name, known.fields, t)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	if faults := known.put(t.Status, t.Priority, &wanted); len(faults) > 0 {
		return crm.Ticket{}, fault.InvalidFields(faults...)
	}
	body, err := wanted.body(own)
	if err != nil {
		return crm.Ticket{}, fault.From(err)
	}
	var made ticket
	if err := d.call(ctx, http.MethodPost, "/tickets", nil, body, &made); err != nil {
		return crm.Ticket{}, d.fields.Attribute(name, err, t, fields)
	}
	if made.ID <= 0 {
		return crm.Ticket{}, unreadable(http.MethodPost)
	}
	return ticketOf(made, known), nil
}

// included is the number of conversations that come with a ticket: the first ones.
const included = 10

// ByNumber implements crm.Driver. A deleted ticket is none.
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	found, err := d.read(ctx, number)
	switch {
	case err != nil:
		return crm.Ticket{}, err
	case found.Deleted:
		return crm.Ticket{}, noTicket()
	}
	return d.complete(ctx, found)
}

// read reads a ticket. A ticket's number is its id. A closed ticket that nobody touched for 120 days moves to the
// archive, where it has a path of its own, and comes without conversations and times (developers.freshdesk.com/api,
// "Archive Tickets").
func (d *driver) read(ctx context.Context, number string) (found ticket, _ error) {
	id, ok := crm.ParseNumericID(number)
	if !ok {
		return found, noTicket()
	}
	err := d.get(ctx, "/tickets/"+number, url.Values{"include": {"conversations,stats"}}, &found)
	if errors.Is(err, fault.NotFound) {
		err = d.get(ctx, archivePath+number, nil, &found)
		if errors.Is(err, fault.Forbidden) { // there may be no archive
			return found, noTicket()
		}
	}
	switch {
	case err != nil:
		return found, crm.TicketMissing(err, noTicket())
	case found.ID != id:
		return found, unreadable(http.MethodGet)
	}
	return found, nil
}

const archivePath = "/tickets/archived/"

// complete returns a ticket that was read, with its labels and its last comment.
func (d *driver) complete(ctx context.Context, found ticket) (crm.Ticket, error) {
	known, err := d.knownLabels(ctx, func(known labels) bool { return known.statuses.knows(found.Status) })
	if err != nil {
		return crm.Ticket{}, err
	}
	answer := ticketOf(found, known)
	path := "/tickets/" + answer.Number
	if found.Archived {
		path = archivePath + answer.Number
	} else if len(found.Conversations) < included {
		answer.LastComment = lastPublic(found.Conversations)
		return answer, nil
	}
	if answer.LastComment, err = d.lastComment(ctx, path); err != nil {
		return crm.Ticket{}, crm.TicketMissing(err, noTicket())
	}
	return answer, nil
}

const (
	conversationsPerPage = 100
	mostPages            = 5
)

// lastComment reads all conversations, since they come oldest first and in no other order. If there are more
// than mostPages pages, the newest comment is not known, and lastComment returns none rather than an older
// one.
func (d *driver) lastComment(ctx context.Context, path string) (crm.Text, error) {
	var all []conversation
	for n := range mostPages {
		var page []conversation
		query := url.Values{"per_page": {strconv.Itoa(conversationsPerPage)}, "page": {strconv.Itoa(n + 1)}}
		if err := d.get(ctx, path+"/conversations", query, &page); err != nil {
			return crm.Text{}, err
		}
		all = append(all, page...)
		if len(page) < conversationsPerPage {
			return lastPublic(all), nil
		}
	}
	return crm.Text{}, nil
}
