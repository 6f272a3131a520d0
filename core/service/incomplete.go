package service

import (
	"fmt"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
)

// checkComplete returns an error if an open ticket lacks a value that was requested, or nil if it has them
// all. The result depends only on the request and the recorded answer, so a repeat gets the same error.
func checkComplete(plan ticketPlan, t record.Ticket) error {
	names := normalize.NotTaken(plan.newTicket(), t)
	if len(names) == 0 {
		return nil
	}
	var facts []string
	for _, name := range names {
		facts = append(facts, name+actualValue(name, t))
	}
	f := fault.Newf(fault.Conflict, fault.ReasonTicketIncomplete,
		"The ticket %s is open, but the CRM does not have it as asked: %s. "+
			"Do not open it again; set what is missing in the CRM.", t.TicketNumber, strings.Join(facts, ", "))
	f = f.With("ticket_id", t.ID).With("ticket_number", t.TicketNumber)
	return f.With("not_set", strings.Join(names, ","))
}

// actualValue describes the value that a ticket has instead of the requested one. Texts are long and are left
// to get-ticket.
func actualValue(name string, t record.Ticket) string {
	has, short := map[string]string{
		"status": t.Status, "priority": t.Priority,
		"owner_id": t.OwnerID, "account_id": t.AccountID, "contact_id": t.ContactID,
	}[name]
	switch {
	case !short:
		return " (it is incomplete)"
	case has == "":
		return " (it is empty)"
	}
	return fmt.Sprintf(" (it is %q)", has)
}
