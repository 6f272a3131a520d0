package salesforce

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// mostCases is the most new cases that Find looks through.
const mostCases = 200

// Find implements crm.Finder for an organisation without a field for keys. It reads the cases that the
// connected user opened since t.Since and compares them itself. SOQL cannot filter by a long text such as
// Description ("SELECT", SOQL and SOSL Reference), and a rule of the organisation may have changed the
// subject. A query sees everything that is committed, so nothing lags.
func (d *driver) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	conditions := " WHERE CreatedDate >= " + t.Since.Add(-crm.ClockSkew).UTC().Format("2006-01-02T15:04:05Z")
	user, err := d.user(ctx)
	if err != nil {
		return crm.Ticket{}, err
	}
	if user != "" {
		conditions += " AND CreatedById = " + quote(user)
	}
	conditions += " ORDER BY CreatedDate DESC LIMIT " + strconv.Itoa(mostCases+1)
	found, whole, err := queryBatches[record](ctx, d, d.selected+conditions)
	if err != nil {
		return crm.Ticket{}, err
	}
	if len(found) > mostCases || !whole {
		return crm.Ticket{}, fault.Unknowable("More cases were opened at Salesforce since then than the "+
			"gateway looks through.").
			With("provider", name)
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
	found, err := query[struct{ DefaultCaseAccess string }](ctx, d,
		"SELECT DefaultCaseAccess FROM Organization LIMIT 1")
	if err != nil {
		return err
	}
	if len(found) == 1 && slices.Contains([]string{"Read", "Edit", "ReadEditTransfer"},
		found[0].DefaultCaseAccess) {
		return noTicket()
	}
	return fault.Unknowable("Salesforce does not show every case to the connected user, so the case may "+
		"exist unseen. The connection's external_id_field avoids that.").With("provider", name)
}

var userID = regexp.MustCompile(`/(005[a-zA-Z0-9]{12}(?:[a-zA-Z0-9]{3})?)$`)

// user returns the id of the connected user, which is the end of the identity URL in the list of resources
// ("List Available REST Resources", REST API Developer Guide). It returns "" if an older version does not
// list that URL.
func (d *driver) user(ctx context.Context) (string, error) {
	var resources struct {
		Identity string `json:"identity"`
	}
	if err := d.call(ctx, http.MethodGet, "/", nil, &resources); err != nil {
		return "", err
	}
	if end := userID.FindStringSubmatch(resources.Identity); end != nil {
		return end[1], nil
	}
	return "", nil
}
