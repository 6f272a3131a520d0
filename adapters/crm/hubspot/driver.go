package hubspot

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/timezone"
	"frontdesk/core/upstream"
)

var (
	_ crm.Driver        = (*driver)(nil)
	_ crm.Finder        = (*driver)(nil)
	_ crm.IDFinder      = (*driver)(nil)
	_ crm.ContactFinder = (*driver)(nil)
	_ crm.Driver        = (*keyed)(nil)
	_ crm.Finder        = (*keyed)(nil)
	_ crm.IDFinder      = (*keyed)(nil)
	_ crm.ContactFinder = (*keyed)(nil)
)

// driver is one HubSpot account. It remembers values only to save requests: the driver of another replica
// returns the same results. Of tickets, it searches only for one whose creation was interrupted, since
// HubSpot's search misses new ones.
type driver struct {
	client        *http.Client
	base, version string
	pipeline      string // label or id, or "" for the first
	fields        adapter.TicketFields
	keyProperty   string // "" is none; see [keyed]
	now           func() time.Time

	zone       atomic.Pointer[time.Location] // the account's, once it is known
	pipelines  crm.Remembered[[]pipeline]
	priorities crm.Remembered[[]option]
	sources    crm.Remembered[[]option]
	silence    crm.Remembered[struct{}] // while it lasts, conversations cannot be read
}

// Traits implements crm.Driver.
func (d *driver) Traits() crm.Traits { return crm.Traits{} }

// Account implements crm.Driver. The details have no email address, and a name only in newer versions.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	var details struct {
		PortalID   int64  `json:"portalId"`
		PortalName string `json:"portalName"`
		TimeZone   string `json:"timeZone"`
	}
	if err := d.get(ctx, "/account-info/"+d.version+"/details", nil, &details); err != nil {
		return crm.Account{}, err
	}
	if details.PortalID == 0 {
		return crm.Account{}, unreadable(http.MethodGet)
	}
	if zone, err := timezone.Load(details.TimeZone); err == nil && details.TimeZone != "" {
		d.zone.Store(zone)
	}
	ref := strconv.FormatInt(details.PortalID, 10)
	if details.PortalName != "" {
		return crm.Account{Name: details.PortalName, Ref: ref}, nil
	}
	return crm.Account{Name: "HubSpot account " + ref, Ref: ref}, nil
}

// Vocabulary implements crm.Driver. The statuses are the stages of the chosen pipeline.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	list, err := d.askPipelines(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	p, err := d.selectPipeline(list)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	options, err := d.askPriorities(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return crm.Vocabulary{
		Statuses:   labels(p.Stages, func(s stage) (string, bool) { return s.Label, true }),
		Priorities: labels(options, func(o option) (string, bool) { return o.Label, !o.Hidden }),
	}, nil
}

// Create implements crm.Driver. HubSpot does not recognise a repeated request: see [keyed].
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	return d.create(ctx, t, nil)
}

// create creates a ticket with its associations and the properties in more, in one request.
func (d *driver) create(ctx context.Context, t crm.NewTicket, more map[string]string) (crm.Ticket, error) {
	if err := wellFormed(t); err != nil {
		return crm.Ticket{}, err
	}
	p, s, err := d.opening(ctx, t.Status)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	priority, err := d.priorityNamed(ctx, t.Priority)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	own, err := d.own(t)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	if own[sourceProperty] == "" {
		own[sourceProperty] = d.source(ctx)
	}
	body := newCreation(t, p.ID, s.ID, priority)
	for property, value := range own {
		if _, given := body.Properties[property]; !given && value != "" {
			body.Properties[property] = value
		}
	}
	for property, value := range more {
		body.Properties[property] = value
	}
	var made record
	if err := d.ask(ctx, http.MethodPost, d.objects(), nil, body, &made); err != nil {
		if upstream.HasStatus(err, http.StatusBadRequest) { // a stage or priority may have gone since it was remembered
			d.pipelines.Forget()
			d.priorities.Forget()
			d.sources.Forget()
		}
		if t.Status == "" {
			err = beginning(err, p, s)
		}
		return crm.Ticket{}, d.fields.Attribute(name, err, t, paths)
	}
	if !isID(made.ID) {
		return crm.Ticket{}, unreadable(http.MethodPost)
	}
	return d.readCreated(ctx, t, body, made), nil
}

// readCreated returns the new ticket. It does not read the ticket again, since that could fail although the
// ticket was created. For the same reason it leaves labels empty that it cannot get. Values that the response
// leaves out are as they were sent, since HubSpot accepted them.
func (d *driver) readCreated(ctx context.Context, t crm.NewTicket, sent creation, made record) crm.Ticket {
	for property, value := range sent.Properties {
		if _, isSet := made.Properties[property]; !isSet {
			if made.Properties == nil {
				made.Properties = map[string]*string{}
			}
			made.Properties[property] = &value
		}
	}
	s, _ := d.stageOf(ctx, made.property(pipelineProperty), made.property(stageProperty))
	priority, _ := d.priorityOf(ctx, made.property(priorityProperty))
	ticket := made.ticket(s, priority)
	ticket.AccountID, ticket.ContactID = t.AccountID, t.ContactID
	return asSent(t, ticket)
}

// ByNumber implements crm.Driver. A ticket's number is its id. For a ticket that was merged, HubSpot returns the one
// that came of it, without associations, which need its own id
// (developers.hubspot.com/changelog/announcement-deals-now-support-merging).
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	if !isID(number) {
		return crm.Ticket{}, noTicket()
	}
	t, err := d.read(ctx, number, nil)
	if err == nil && t.ID != number {
		return d.read(ctx, t.ID, nil)
	}
	return t, err
}

// ByID implements crm.IDFinder.
func (d *driver) ByID(ctx context.Context, id string) (crm.Ticket, error) { return d.ByNumber(ctx, id) }

// read returns a ticket by its id, or, with more parameters, by the value of a property that is unique.
func (d *driver) read(ctx context.Context, id string, more url.Values) (crm.Ticket, error) {
	query := url.Values{"properties": {strings.Join(wanted, ",")}, "associations": {"contacts,companies"}}
	maps.Copy(query, more)
	var r record
	if err := d.get(ctx, d.objects()+"/"+url.PathEscape(id), query, &r); err != nil {
		return crm.Ticket{}, crm.TicketMissing(err, noTicket())
	}
	if !isID(r.ID) {
		return crm.Ticket{}, unreadable(http.MethodGet)
	}
	s, err := d.stageOf(ctx, r.property(pipelineProperty), r.property(stageProperty))
	if err != nil {
		return crm.Ticket{}, err
	}
	priority, err := d.priorityOf(ctx, r.property(priorityProperty))
	if err != nil {
		return crm.Ticket{}, err
	}
	t := r.ticket(s, priority)
	t.LastComment, err = d.lastComment(ctx, t.ID, t.ContactID)
	return t, err
}

func (d *driver) objects() string { return d.path("tickets") }

func (d *driver) path(kind string) string { return "/crm/objects/" + d.version + "/" + kind }

// keyed is a driver whose account stores the key of each ticket in a property with unique values, so that
// HubSpot refuses a second ticket. It does not use batch/upsert, which takes the same property: that has no
// associations, and sets an existing ticket back to its first values.
type keyed struct {
	*driver
	property string
	unique   atomic.Bool // the property is known to be fit
}

// lateRepeat is how long after its call an attempt looks first. The call's own attempts come sooner.
const lateRepeat = 10 * time.Second

// Traits implements crm.Driver.
func (k *keyed) Traits() crm.Traits { return crm.Traits{IdempotentCreate: true, FindsByKey: true} }

// Create implements crm.Driver. It does not infer from HubSpot's message whether a refusal is because of the
// key, but looks for the ticket of the key. The ticket may exist although the request is no longer valid,
// such as when a stage was removed since. Only a late repeat looks first: somebody may have deleted the ticket by then,
// and HubSpot is not known to keep the value of a deleted ticket from another.
func (k *keyed) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	if err := k.fit(ctx); err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	if !t.Since.IsZero() && k.now().Sub(t.Since) > lateRepeat {
		switch first, err := k.Find(ctx, t); {
		case err == nil:
			return first, nil
		case !errors.Is(err, fault.NotFound):
			return crm.Ticket{}, fault.Unacted(err)
		}
	}
	made, err := k.create(ctx, t, map[string]string{k.property: t.Key})
	if !errors.Is(err, fault.Invalid) && !errors.Is(err, fault.Conflict) &&
		!upstream.HasStatus(err, http.StatusBadRequest) {
		return made, err
	}
	first, lookErr := k.Find(ctx, t)
	if errors.Is(lookErr, fault.NotFound) {
		return crm.Ticket{}, err
	}
	return first, lookErr
}

// Find implements crm.Finder. What was deleted since was created, too: it is in the recycling bin, of which HubSpot
// tells only where that is asked for (developers.hubspot.com/docs/api-reference/latest/crm/objects/tickets,
// "Retrieve a ticket", archived).
func (k *keyed) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	if err := k.fit(ctx); err != nil {
		return crm.Ticket{}, err
	}
	by := url.Values{"idProperty": {k.property}}
	found, err := k.read(ctx, t.Key, by)
	if errors.Is(err, fault.NotFound) {
		by.Set("archived", "true")
		found, err = k.read(ctx, t.Key, by)
	}
	return asSent(t, found), err
}

// fit checks once that the property requires unique values. Otherwise HubSpot would silently accept a second
// ticket.
func (k *keyed) fit(ctx context.Context) error {
	if k.unique.Load() {
		return nil
	}
	property, err := k.askProperty(ctx, k.property)
	if err != nil && !errors.Is(err, fault.NotFound) {
		return err
	}
	if err != nil || !property.Unique {
		return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The HubSpot account has no ticket property %s that requires unique values. Create it as "+
				"single-line text, or correct the connection's setting key_property.",
			k.property)
	}
	k.unique.Store(true)
	return nil
}
