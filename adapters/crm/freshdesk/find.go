package freshdesk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

const ticketsPerPage = 100

// globalAccess is the scope of an agent who sees all tickets (developers.freshdesk.com/api, "Agents",
// ticket_scope).
const globalAccess = 1

// Find implements crm.Finder. It lists the tickets, newest first, back to the time of the call and compares
// them itself (developers.freshdesk.com/api, "List All Tickets"). The list reads the database, while the
// ticket filter finds a new ticket only minutes later ("Filter Tickets"). A tag made from the key would be
// certain, but every ticket would add a tag to those that agents choose from.
//
// The list leaves out tickets that are spam or deleted, unless one of them is its filter. A rule may have made a new
// ticket so (support.freshdesk.com, "Setting up automation rules to run on ticket creation").
func (d *driver) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	sent, err := newTicketOf(t, d.requester)
	if err != nil {
		return crm.Ticket{}, err
	}
	asked := t
	asked.Description = sent.text
	for _, filter := range []string{"", "spam", "deleted"} {
		found, err := d.since(ctx, t.Since.Add(-crm.ClockSkew), filter)
		if filter != "" && errors.Is(err, fault.Forbidden) {
			return crm.Ticket{}, hidden()
		}
		if err != nil {
			return crm.Ticket{}, err
		}
		chosen, err := crm.Choose(asked, found)
		if err == nil {
			found, err := d.read(ctx, chosen.Number)
			if err != nil {
				return crm.Ticket{}, err
			}
			return d.complete(ctx, found)
		}
		if !errors.Is(err, fault.NotFound) {
			return crm.Ticket{}, err
		}
	}
	return crm.Ticket{}, d.confirmNone(ctx)
}

// since returns the tickets of a filter, or of none, that were created at the time then or later.
func (d *driver) since(ctx context.Context, then time.Time, filter string) ([]crm.Ticket, error) {
	var all []crm.Ticket
	for n := range mostPages {
		query := url.Values{
			"updated_since": {then.UTC().Format(time.RFC3339)}, "order_by": {"created_at"}, "order_type": {"desc"},
			"include": {"description"}, "per_page": {strconv.Itoa(ticketsPerPage)}, "page": {strconv.Itoa(n + 1)},
		}
		if filter != "" {
			query.Set("filter", filter)
		}
		var page []ticket
		if err := d.get(ctx, "/tickets", query, &page); err != nil {
			return nil, err
		}
		if page == nil { // this is no empty list
			return nil, unreadable(http.MethodGet)
		}
		for _, t := range page {
			if t.ID <= 0 || t.CreatedAt.IsZero() {
				return nil, unreadable(http.MethodGet)
			}
			if t.CreatedAt.Before(then) {
				return all, nil
			}
			listed := ticketOf(t, labels{})
			listed.Description = crm.Plain(t.DescriptionText) // the text that was sent, but for white space
			all = append(all, listed)
		}
		if len(page) < ticketsPerPage {
			return all, nil
		}
	}
	return nil, fault.Unknowable("More tickets were opened at Freshdesk since then than the gateway looks " +
		"through.")
}

// confirmNone returns the fault for a search that found no ticket. An agent with less than global access does
// not see a ticket that was moved to another group.
func (d *driver) confirmNone(ctx context.Context) error {
	var me agent
	if err := d.get(ctx, "/agents/me", nil, &me); err != nil {
		return err
	}
	if me.Scope == globalAccess {
		return noTicket()
	}
	return hidden()
}

func hidden() *fault.Error {
	return fault.Unknowable("Freshdesk does not show every ticket to the connection's agent, so the ticket " +
		"may exist unseen. Give the agent global access.")
}
