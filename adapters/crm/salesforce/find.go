package salesforce

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// mostCases is the most new cases that Find looks through.
const mostCases = 200

// Find implements crm.Finder for an organisation without a field for keys. It reads the cases that were opened
// from t.Since to t.Until and compares them itself. They may be any user's: the connection may have been
// authorised by another one since. They may be deleted: a rule of the organisation may have done that, or merged
// the case into another. SOQL cannot filter by a long text such as Description ("SELECT", SOQL and SOSL
// Reference), and a rule of the organisation may have changed the subject. A query sees everything that is
// committed, so nothing lags.
func (d *driver) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	found, whole, err := queryBatches[record](ctx, d, orDeleted, d.selected+
		" WHERE CreatedDate >= "+t.Since.Add(-crm.ClockSkew).UTC().Format(time.RFC3339)+
		" AND CreatedDate <= "+t.Until.Add(crm.ClockSkew).UTC().Format(time.RFC3339)+
		" ORDER BY CreatedDate DESC LIMIT "+strconv.Itoa(mostCases+1))
	if err != nil {
		return crm.Ticket{}, err
	}
	if len(found) > mostCases || !whole {
		return crm.Ticket{}, fault.Unknowable("More cases were opened at Salesforce since then than the " +
			"gateway looks through.")
	}
	tickets := make([]crm.Ticket, 0, len(found))
	for _, r := range found {
		tickets = append(tickets, r.ticket())
	}
	ticket, err := crm.Choose(inFull(t, tickets), tickets)
	if f := fault.From(err); f != nil && f.Code == fault.NotFound {
		return crm.Ticket{}, d.confirmNone(ctx)
	}
	return ticket, err
}

// inFull extends ids of 15 characters to the 18 that the ids of found have. The first 15 are the id, and the
// others follow from them ("ID Field Type", Object Reference).
func inFull(t crm.NewTicket, found []crm.Ticket) crm.NewTicket {
	full := func(given, other string) string {
		if len(given) == 15 && strings.HasPrefix(other, given) {
			return other
		}
		return given
	}
	for _, f := range found {
		t.OwnerID = full(t.OwnerID, f.OwnerID)
		t.AccountID, t.ContactID = full(t.AccountID, f.AccountID), full(t.ContactID, f.ContactID)
	}
	return t
}

// confirmNone returns the fault for a search that found no case. In an organisation whose cases are private,
// the user does not see a case that was assigned to somebody else ("Organization", DefaultCaseAccess, Object
// Reference).
func (d *driver) confirmNone(ctx context.Context) error {
	found, err := query[struct{ DefaultCaseAccess string }](ctx, d, existing,
		"SELECT DefaultCaseAccess FROM Organization LIMIT 1")
	if err != nil {
		return err
	}
	if len(found) == 1 && slices.Contains([]string{"Read", "Edit", "ReadEditTransfer"},
		found[0].DefaultCaseAccess) {
		return noTicket()
	}
	return fault.Unknowable("Salesforce does not show every case to the connected user, so the case may " +
		"exist unseen. The connection's external_id_field avoids that.")
}
