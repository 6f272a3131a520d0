package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

// creation is the state of one ticket's creation.
type creation struct {
	tickets *Tickets
	client  crmClient
	run     *journal.Run
	plan    ticketPlan
}

// create runs a creation, new or resumed.
func (s *Tickets) create(
	ctx context.Context, client crmClient, run *journal.Run, plan ticketPlan,
) (journal.Result[record.TicketAnswer], error) {
	c := &creation{tickets: s, client: client, run: run, plan: plan}
	ticket, err := c.carryOut(ctx)
	if err != nil {
		return journal.Result[record.TicketAnswer]{}, err
	}
	s.rememberNumber(ctx, client, ticket)
	return ticketResult(ctx, ticket)
}

func ticketResult(_ context.Context, t crm.Ticket) (journal.Result[record.TicketAnswer], error) {
	answer := record.TicketAnswer{Ticket: normalize.Ticket(t)}
	return journal.Result[record.TicketAnswer]{Record: answer, Ref: t.ID}, nil
}

// carryOut opens the ticket. If creates in the CRM are not idempotent, a resumed run first looks for the
// ticket.
func (c *creation) carryOut(ctx context.Context) (crm.Ticket, error) {
	repeatable := c.client.driver.Traits().IdempotentCreate
	if c.run.Resumed() && !repeatable {
		found, err := c.find(ctx)
		if err == nil {
			return found, nil
		}
		if fault.From(err).Code != fault.NotFound {
			return crm.Ticket{}, c.saveUnknowable(ctx, err)
		}
		c.plan.Again, c.plan.Unknowable = c.tickets.opts.Now(), false
		if err := c.run.Save(ctx, c.plan); err != nil {
			return crm.Ticket{}, fault.Unacted(err)
		}
		c.run.RuleOutEffect()
	}
	c.run.ExpectEffect(repeatable)
	op := guard.Op{Name: opCreate, Repeatable: repeatable, Late: journal.Late(c.run, ticketResult)}
	wanted := c.newTicket()
	ticket, err := ask(ctx, c.client.endpoint, op, func(ctx context.Context) (crm.Ticket, error) {
		return c.client.driver.Create(ctx, wanted)
	})
	if err == nil {
		return ticket, nil
	}
	f := fault.From(err)
	if repeatable {
		return ticket, c.saveUnknowable(ctx, err)
	}
	if c.run.HadNoEffect(f) {
		return ticket, err
	}
	// The response was lost and another create could make a second ticket: look for the first.
	found, lookErr := c.find(ctx)
	switch looked := fault.From(lookErr); {
	case looked == nil:
		return found, nil
	case looked.IsUnknowable() && f.Code != fault.Timeout && f.Code != fault.Canceled:
		// After these two codes, the response to the create may still arrive.
		return found, c.saveUnknowable(ctx, lookErr)
	case looked.RetryAfter > f.RetryAfter:
		later := *f
		later.RetryAfter = looked.RetryAfter
		return found, &later
	}
	return ticket, err
}

// newTicket returns the plan in the form that drivers take.
func (c *creation) newTicket() crm.NewTicket {
	intent := c.run.Intent()
	t := c.plan.newTicket()
	t.Key, t.Since, t.Until = intent.EffectKey, intent.CreatedAt, c.tickets.opts.latestEnd(intent, c.plan.Again)
	return t
}

// find asks the CRM for the outcome of a create. It fails with fault.NotFound if there is certainly no
// ticket. Any other failure leaves the outcome unknown.
func (c *creation) find(ctx context.Context) (crm.Ticket, error) {
	finder, can := c.client.driver.(crm.Finder)
	if !can {
		return crm.Ticket{}, fault.Unknowable("The connected CRM cannot tell which tickets were opened.")
	}
	intent, rows := c.run.Intent(), c.tickets.opts.Store
	byKey := c.client.driver.Traits().FindsByKey
	wanted := c.newTicket()
	if !byKey {
		var err error
		if wanted.Others, err = rows.EffectsSince(ctx, intent, wanted.Since.Add(-2*crm.ClockSkew)); err != nil {
			return crm.Ticket{}, err
		}
	}
	look := func(ctx context.Context) (crm.Ticket, error) { return finder.Find(ctx, wanted) }
	ticket, err := ask(ctx, c.client.endpoint, read("find-ticket"), look)
	if err == nil && !byKey {
		err = rows.ClaimEffect(ctx, intent, ticket.ID, func(others []store.Intent) error {
			return c.checkOwnership(ticket, others)
		})
	}
	switch f := fault.From(err); {
	case f == nil:
		return ticket, nil
	case journal.WasTakenOver(err):
		return crm.Ticket{}, err
	case f.Code == fault.NotFound:
		if wait := wanted.Until.Sub(c.tickets.opts.Now()); wait > 0 {
			return crm.Ticket{}, fault.NotKnownYet("The ticket does not exist yet, but may still be created.", wait)
		}
		return crm.Ticket{}, f
	case c.run.HadNoEffect(f): // the lookup itself failed
		return crm.Ticket{}, unknownAfter(f)
	}
	return crm.Ticket{}, err
}

// checkOwnership returns an error if a ticket that was found by its content may not be this call's. others
// are the calls that may have made it. Among equal calls it does not matter which ticket belongs to which, as
// long as no two have the same.
func (c *creation) checkOwnership(found crm.Ticket, others []store.Intent) error {
	ours := c.run.Intent()
	for _, other := range others {
		switch {
		case other.EffectRef == found.ID:
			return fault.NotKnownYet("The ticket that was found belongs to another call.", time.Second)
		case other.EffectRef != "" || !isAlike(ours.Plan, other.Plan):
		case c.tickets.journal.IsRunning(other):
			return fault.NotKnownYet("Another call with the same content is still running.", time.Second)
		case !bytes.Equal(other.RequestHash, ours.RequestHash):
			return fault.Unknowable(
				"Two calls with the same content were cut off, and the new ticket could belong to either of them.")
		}
	}
	return nil
}

// isAlike reports whether the tickets of two plans could be confused.
func isAlike(a, b json.RawMessage) bool {
	var one, two ticketPlan
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &two) != nil {
		return true
	}
	return crm.SameText(one.Subject, two.Subject) && crm.SameText(one.Description, two.Description)
}

// saveUnknowable records whether err says that the outcome can never be learned, so that recovery does not
// look again. It returns err.
func (c *creation) saveUnknowable(ctx context.Context, err error) error {
	f := fault.From(err)
	if f.IsUnknowable() == c.plan.Unknowable {
		return err
	}
	c.plan.Unknowable = f.IsUnknowable()
	if saveErr := c.run.Save(ctx, c.plan); saveErr != nil {
		c.tickets.opts.Log.WarnContext(ctx, "the mark of an outcome that can never be learned could not be saved",
			"operation", opCreate, "error", saveErr)
	}
	return err
}

// isUnknowable reports whether the plan of a create is marked as one whose outcome can never be learned.
func isUnknowable(plan json.RawMessage) bool {
	var p ticketPlan
	return json.Unmarshal(plan, &p) == nil && p.Unknowable
}
