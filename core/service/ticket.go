package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/spelling"
	"frontdesk/core/store"
)

// Tickets implements the two operations on tickets.
type Tickets struct {
	opts         *Options
	journal      *journal.Journal
	vocabularies *cache[crm.Vocabulary]
}

// ticketPlan is a ticket after normalization.
type ticketPlan struct {
	Subject     string `json:"subject"`
	Description string `json:"description,omitempty"`
	Status      string `json:"status,omitempty"`   // the CRM's label
	Priority    string `json:"priority,omitempty"` // the CRM's label
	OwnerID     string `json:"owner_id,omitempty"`
	AccountID   string `json:"account_id,omitempty"`
	ContactID   string `json:"contact_id,omitempty"`

	// Progress, if creates in the CRM are not idempotent: when the ticket was last created again, after a
	// lookup found for certain that there was none, and whether the outcome can never be learned.
	Again      time.Time `json:"again,omitzero"`
	Unknowable bool      `json:"unknowable,omitempty"`
}

// oneLine replaces the ends of lines in a subject. Plans have them, so that a repeat of a request that an earlier
// version recorded equals it.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

func (p ticketPlan) newTicket() crm.NewTicket {
	return crm.NewTicket{
		Subject: oneLine.Replace(p.Subject), Description: p.Description, Status: p.Status, Priority: p.Priority,
		OwnerID: p.OwnerID, AccountID: p.AccountID, ContactID: p.ContactID,
	}
}

const rememberVocabulary = 5 * time.Minute

func newTickets(o *Options, j *journal.Journal) *Tickets {
	return &Tickets{opts: o, journal: j, vocabularies: newCache[crm.Vocabulary](o.Now, rememberVocabulary)}
}

func (s *Tickets) operations() []journal.Operation {
	look := func(began string) string {
		return "Look in the CRM for a ticket with this subject that was opened at about " + began +
			"; if there is none, send the request again with a new Idempotency-Key."
	}
	return []journal.Operation{
		{Name: opCreate, Resume: resume(s.opts, s.open, s.create), GaveUp: isUnknowable, AdviseLook: look},
	}
}

// crmClient is one caller's CRM connection, opened.
type crmClient struct {
	driver     crm.Driver
	connection connection.Connection
	endpoint   endpoint
}

// open opens the caller's CRM connection.
func (s *Tickets) open(ctx context.Context, c apikey.Caller) (crmClient, error) {
	opened, err := s.opts.Drivers.CRM(ctx, c.Tenant, c.Connections)
	if err != nil {
		return crmClient{}, err
	}
	return crmClient{
		driver: opened.Driver, connection: opened.Connection,
		endpoint: newEndpoint(s.opts, opened, opened.Driver.Traits().MaxConcurrent, opened.Driver.Account),
	}, nil
}

// Create opens one ticket.
func (s *Tickets) Create(
	ctx context.Context, c apikey.Caller, w Write, in CreateTicket,
) (Answer[record.TicketAnswer], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.TicketAnswer]{}, err
	}
	plan, err := s.planTicket(ctx, c, client, in)
	if err != nil {
		return Answer[record.TicketAnswer]{}, err
	}
	answer, err := journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opCreate, Write: w, ConnectionID: client.connection.ID, Plan: plan,
		DedupeWindow: windowOf(c.Tenant.Settings.TicketDedupeWindow, s.opts.TicketDedupeWindow),
		Repeatable:   client.driver.Traits().IdempotentCreate,
	}, with(client, s.create))
	if err != nil {
		return answer, err
	}
	return answer, checkComplete(plan, answer.Record.Ticket)
}

// planTicket converts the labels into the CRM's own. It refuses an unknown label with a list of the valid
// ones, before it asks the CRM for anything but its vocabulary. Before it refuses, it rereads the vocabulary.
func (s *Tickets) planTicket(
	ctx context.Context, c apikey.Caller, client crmClient, in CreateTicket,
) (ticketPlan, error) {
	plan := ticketPlan{
		Subject: in.Subject, Description: in.Description,
		OwnerID: in.OwnerID, AccountID: in.AccountID, ContactID: in.ContactID,
	}
	if in.Status == "" && in.Priority == "" {
		return plan, nil
	}
	for try := 1; ; try++ {
		known, err := s.vocabularies.get(client.connection, func() (crm.Vocabulary, error) {
			return ask(ctx, client.endpoint, read("vocabulary"), client.driver.Vocabulary)
		})
		if err != nil {
			return plan, err
		}
		var faults []fault.Field
		own := c.Tenant.Settings
		plan.Status, faults = resolveLabel(faults, "status", in.Status, known.Statuses, own.StatusWords)
		plan.Priority, faults = resolveLabel(faults, "priority", in.Priority, known.Priorities, own.PriorityWords)
		if len(faults) == 0 {
			return plan, nil
		}
		if try == 2 {
			return plan, fault.InvalidFields(faults...)
		}
		s.vocabularies.forget(client.connection)
	}
}

// resolveLabel returns the CRM's label for the given one, or adds a fault if there is none.
func resolveLabel(
	faults []fault.Field, path, given string, valid []string, words map[string]string,
) (string, []fault.Field) {
	if given == "" {
		return "", faults
	}
	found, ok := normalize.Label(given, valid, words)
	if ok {
		return found, faults
	}
	f := fault.Field{
		Path: path, Hint: spelling.Nearest(given, valid),
		Message: fmt.Sprintf("%q is not known to the CRM; send one of %s.", given, strings.Join(valid, ", ")),
	}
	if len(valid) == 0 {
		f.Message = "cannot be set in the connected CRM; leave it out."
	}
	return "", append(faults, f)
}

// Get returns the ticket with a number as a caller says it.
func (s *Tickets) Get(ctx context.Context, c apikey.Caller, number string) (record.TicketAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.TicketAnswer{}, err
	}
	spoken := normalize.TicketNumber(number, client.driver.Traits().NumberWidth)
	if spoken == "" {
		return record.TicketAnswer{}, fault.InvalidField("ticket_number", "holds no number.")
	}
	ticket, err := ask(ctx, client.endpoint, read("get-ticket"), s.readTicket(client, spoken))
	if err != nil {
		return record.TicketAnswer{}, err
	}
	return record.TicketAnswer{Ticket: normalize.Ticket(ticket)}, nil
}

// rememberNumber stores the ticket id for a number, if the CRM reads tickets by an id that is not the number.
// The CRM's search may not find a new ticket for a while. A failure is only logged, since the call does not
// need the id.
func (s *Tickets) rememberNumber(ctx context.Context, client crmClient, t crm.Ticket) {
	if _, can := client.driver.(crm.IDFinder); !can || t.ID == "" || t.Number == "" || t.ID == t.Number {
		return
	}
	err := s.opts.Store.SeeTicket(ctx, store.TicketSeen{
		TenantID: client.connection.TenantID, ConnectionID: client.connection.ID,
		Number: t.Number, TicketID: t.ID, CreatedAt: s.opts.Now(),
	})
	if err != nil {
		s.opts.Log.WarnContext(ctx, "the number of a new ticket could not be saved",
			"connection", client.connection.ID, "error", err)
	}
}

// readTicket returns a function that reads the ticket with a number, by its id if the id is known.
func (s *Tickets) readTicket(client crmClient, number string) func(context.Context) (crm.Ticket, error) {
	return func(ctx context.Context) (crm.Ticket, error) {
		finder, can := client.driver.(crm.IDFinder)
		if !can {
			return client.driver.ByNumber(ctx, number)
		}
		id, known, err := s.opts.Store.TicketSeen(ctx, client.connection.TenantID, client.connection.ID, number)
		if err == nil && known {
			ticket, err := finder.ByID(ctx, id)
			if err == nil && ticket.Number == number {
				return ticket, nil
			}
			if err != nil && !errors.Is(err, fault.NotFound) {
				return crm.Ticket{}, err
			}
		}
		return client.driver.ByNumber(ctx, number)
	}
}
