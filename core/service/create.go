package service

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
)

// creation opens tickets of one connection.
type creation struct {
	tickets *Tickets
	opened  crmClient
}

func (s *Tickets) creation(o crmClient) creation { return creation{s, o} }

// run opens a ticket, first or resumed. Where the CRM does not take a repeated create for the first one, a
// resumed run looks whether the ticket is there before it creates anything.
func (c creation) run(ctx context.Context, a *attempt, plan ticketPlan) (outcome[record.TicketAnswer], error) {
	var none outcome[record.TicketAnswer]
	repeatable := c.opened.driver.Traits().IdempotentCreate
	if a.resumed && !repeatable {
		found, err := c.find(ctx, a, plan)
		if err == nil {
			return c.made(ctx, found)
		}
		if fault.From(err).Code != fault.NotFound {
			return none, c.ended(ctx, a, plan, err)
		}
		plan.Again, plan.Unknowable = c.tickets.opts.Now(), false
		if err := a.save(ctx, plan); err != nil {
			return none, fault.Unacted(err)
		}
		a.clear()
	}
	a.act(repeatable)
	op := guard.Op{Name: opCreate, Repeatable: repeatable, Late: late(a, created)}
	wanted := c.wanted(a, plan)
	ticket, err := ask(ctx, c.opened.endpoint, op, func(ctx context.Context) (crm.Ticket, error) {
		return c.opened.driver.Create(ctx, wanted)
	})
	if err == nil {
		return c.made(ctx, ticket)
	}
	f := fault.From(err)
	if repeatable || a.harmless(f) {
		return none, err
	}
	// The answer was lost and creating again could make a second ticket: look whether it is there.
	found, lookErr := c.find(ctx, a, plan)
	switch looked := fault.From(lookErr); {
	case looked == nil:
		return c.made(ctx, found)
	case looked.IsUnknowable() && f.Code != fault.Timeout && f.Code != fault.Canceled: // those may be answered late
		return none, c.ended(ctx, a, plan, lookErr)
	case looked.RetryAfter > f.RetryAfter:
		later := *f
		later.RetryAfter = looked.RetryAfter
		return none, &later
	}
	return none, err
}

// wanted is the plan as drivers know it.
func (c creation) wanted(a *attempt, plan ticketPlan) crm.NewTicket {
	t := plan.newTicket()
	t.Key, t.Since, t.Until = a.intent.EffectKey, a.intent.CreatedAt, c.over(a, plan)
	return t
}

// over is when the last create of a plan is over, however it ended: it goes on for a while after its caller
// has gone.
func (c creation) over(a *attempt, plan ticketPlan) time.Time {
	sent := a.intent.CreatedAt
	if plan.Again.After(sent) {
		sent = plan.Again
	}
	return sent.Add(c.tickets.opts.Deadline + c.tickets.opts.Guard.WriteGrace())
}

// made is the outcome of a ticket that is there.
func (c creation) made(ctx context.Context, t crm.Ticket) (outcome[record.TicketAnswer], error) {
	c.tickets.remember(ctx, c.opened, t)
	return created(ctx, t)
}

func created(_ context.Context, t crm.Ticket) (outcome[record.TicketAnswer], error) {
	return outcome[record.TicketAnswer]{record: record.TicketAnswer{Ticket: normalize.Ticket(t)}, ref: t.ID}, nil
}

// find asks the CRM what became of a create; fault.NotFound when there is surely no ticket. What it fails
// with otherwise leaves the outcome unknown.
func (c creation) find(ctx context.Context, a *attempt, plan ticketPlan) (crm.Ticket, error) {
	finder, can := c.opened.driver.(crm.Finder)
	if !can {
		return crm.Ticket{}, fault.Unknowable("The connected CRM cannot tell which tickets were opened.")
	}
	byKey := c.opened.driver.Traits().FindsByKey
	wanted := c.wanted(a, plan)
	if !byKey {
		var err error
		if wanted.Others, err = c.tickets.opts.Store.EffectsSince(ctx, a.intent, wanted.Since.Add(-2*crm.ClockSkew)); err != nil {
			return crm.Ticket{}, err
		}
	}
	ticket, err := ask(ctx, c.opened.endpoint, read("find-ticket"), func(ctx context.Context) (crm.Ticket, error) {
		return finder.Find(ctx, wanted)
	})
	if err == nil && !byKey {
		err = c.tickets.opts.Store.ClaimEffect(ctx, a.intent, ticket.ID, func(others []store.Intent) error {
			return c.ours(a.intent, ticket, others)
		})
	}
	switch f := fault.From(err); {
	case f == nil:
		return ticket, nil
	case wasTakenOver(err):
		return crm.Ticket{}, err
	case f.Code == fault.NotFound:
		if wait := wanted.Until.Sub(c.tickets.opts.Now()); wait > 0 {
			return crm.Ticket{}, fault.NotKnownYet("The ticket is not there, and may still be on its way.", wait)
		}
		return crm.Ticket{}, f
	case a.harmless(f): // it is the look that failed
		return crm.Ticket{}, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, f.Detail).Because(f)
	}
	return crm.Ticket{}, err
}

// ours reports why a ticket that was found by what it says cannot be taken for this call's. Others are the
// calls that may have made it. Of calls that are equal it does not matter which ticket is whose, as long as
// no two have the same.
func (c creation) ours(ours store.Intent, found crm.Ticket, others []store.Intent) error {
	for _, other := range others {
		switch {
		case other.EffectRef == found.ID:
			return fault.NotKnownYet("The ticket that was found is another call's.", time.Second)
		case other.EffectRef != "" || !alike(ours.Plan, other.Plan):
		case c.tickets.journal.runs(other):
			return fault.NotKnownYet("Another call that says the same is under way.", time.Second)
		case !bytes.Equal(other.RequestHash, ours.RequestHash):
			return fault.Unknowable(
				"Two calls that say the same were cut off, and the ticket that was opened may be either's.")
		}
	}
	return nil
}

// alike reports whether the tickets of two plans may be taken for each other.
func alike(a, b json.RawMessage) bool {
	var one, two ticketPlan
	if json.Unmarshal(a, &one) != nil || json.Unmarshal(b, &two) != nil {
		return true
	}
	return crm.SameText(one.Subject, two.Subject) && crm.SameText(one.Description, two.Description)
}

// ended remembers of a look that it told that nothing will ever be known, so that nobody looks again unasked.
func (c creation) ended(ctx context.Context, a *attempt, plan ticketPlan, err error) error {
	f := fault.From(err)
	if f.IsUnknowable() == plan.Unknowable {
		return err
	}
	plan.Unknowable = f.IsUnknowable()
	if saveErr := a.save(ctx, plan); saveErr != nil {
		c.tickets.opts.Log.WarnContext(ctx, "that an outcome will never be known could not be kept",
			"operation", opCreate, "error", saveErr)
	}
	return err
}

// isUnknowable reports whether the plan of a create says that nothing will tell what became of it.
func isUnknowable(plan json.RawMessage) bool {
	var p ticketPlan
	return json.Unmarshal(plan, &p) == nil && p.Unknowable
}
