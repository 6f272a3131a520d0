package service

import (
	"fmt"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
)

// checkComplete returns the fault of a ticket that is open without a value that was asked for, nil where it
// has them all. It looks at nothing but the request and the record that is kept, so a repeat is told the
// same.
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

// actualValue returns what a ticket has in the place of a value. Texts are long and stay with get-ticket.
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
