package salesforce

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/parallel"
	"frontdesk/core/phonenumber"
	"frontdesk/core/upstream"
)

// contact is a contact as Salesforce returns it ("Contact", Object Reference). Person accounts are contacts
// too. Empty fields are null.
type contact struct {
	ID        string `json:"Id"`
	Name      string
	Email     string
	Phone     string
	Mobile    string                `json:"MobilePhone"`
	Home      string                `json:"HomePhone"`
	Other     string                `json:"OtherPhone"`
	AccountID string                `json:"AccountId"`
	Account   struct{ Name string } // null if there is none, or if the user does not see it
}

const contactFields = "Id, Name, Email, Phone, MobilePhone, HomePhone, OtherPhone, AccountId, Account.Name"

// phoneFields are the fields of a contact that hold numbers of telephones.
var phoneFields = []string{"Phone", "MobilePhone", "HomePhone", "OtherPhone"}

// indexLag is longer than the search index takes to know a contact. It usually takes up to three minutes, and
// longer after bulk loads (developer.salesforce.com/blogs, "Salesforce Bulk Data Loads and Full-Text Search
// Indexes").
const indexLag = time.Hour

// mostByPhone is the most contacts to compare with a number, since the search and the query are loose.
const mostByPhone = 200

// FindContacts implements crm.ContactFinder. An address is found by a query: the database has an index of
// addresses. A number is found by the search, since a query for it would read every contact, and beside it by
// a query among the contacts that the search may not know yet.
func (d *driver) FindContacts(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	if q.Phone != (phonenumber.Number{}) {
		return d.byPhone(ctx, q)
	}
	if strings.ContainsFunc(q.Email, unicode.IsControl) { // no address has them, and SOQL would need escapes
		return crm.Contacts{}, nil
	}
	found, more, err := d.contacts(ctx, "Email = "+quote(q.Email), q.Limit+1)
	if err != nil {
		return crm.Contacts{}, err
	}
	all := upTo(q.Limit, found)
	all.More = all.More || more
	return all, nil
}

func (d *driver) byPhone(ctx context.Context, q crm.ContactQuery) (crm.Contacts, error) {
	var recent []contact
	var moreRecent bool
	var recentErr error
	beside := parallel.New()
	beside.Go(func() error {
		recent, moreRecent, recentErr = d.changedLately(ctx, q.Phone)
		return nil
	})
	known, knownErr := d.search(ctx, q.Phone)
	_ = beside.Wait() // the error is in recentErr
	failed := slices.DeleteFunc([]error{knownErr, recentErr}, func(err error) bool { return err == nil })
	if len(failed) == 2 {
		return crm.Contacts{}, failed[0]
	}
	found := upTo(q.Limit, bestFirst(q.Phone, slices.Concat(known, recent)))
	found.More = found.More || moreRecent || max(len(known), len(recent)) == mostByPhone
	found.Incomplete = len(failed) > 0
	return found, nil
}

// bestFirst returns those contacts whose number may be n, so that the limit leaves out the least likely.
func bestFirst(n phonenumber.Number, found []contact) []contact {
	var best [phonenumber.Exact + 1][]contact
	for _, c := range found {
		match := max(n.Compare(c.Phone), n.Compare(c.Mobile), n.Compare(c.Home), n.Compare(c.Other))
		best[match] = append(best[match], c)
	}
	return slices.Concat(best[phonenumber.Exact], best[phonenumber.National], best[phonenumber.Suffix])
}

// search finds contacts by SOSL ("Search", REST API Developer Guide).
func (d *driver) search(ctx context.Context, n phonenumber.Number) ([]contact, error) {
	sosl := "FIND {" + strings.Join(searchTerms(n), " OR ") + "} IN PHONE FIELDS RETURNING Contact(" +
		contactFields + " LIMIT " + strconv.Itoa(mostByPhone) + ")"
	var found struct {
		Records []contact `json:"searchRecords"`
	}
	if err := d.call(ctx, http.MethodGet, "/search/?q="+url.QueryEscape(sosl), nil, &found); err != nil {
		return nil, ofContacts(err)
	}
	if found.Records == nil {
		return nil, unreadable(nil)
	}
	return found.Records, nil
}

// searchTerms returns the usual ways to write a number as terms of a search: its digits as one word, and its
// groups of digits as a phrase, which stands for any punctuation between them ("FIND {SearchQuery}", SOQL and
// SOSL Reference). A local number stands without its area. The terms hold nothing but digits, so that nothing
// needs an escape.
func searchTerms(n phonenumber.Number) []string {
	terms := []string{local(n)}
	for _, format := range n.Formats() {
		groups := strings.FieldsFunc(format, func(r rune) bool { return r < '0' || r > '9' })
		term := strings.Join(groups, " ")
		if len(groups) > 1 {
			term = `"` + term + `"`
		}
		if !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	return terms
}

// local returns the last seven digits, the fewest that phonenumber.Compare takes for a number's end.
func local(n phonenumber.Number) string { return n.National[max(0, len(n.National)-7):] }

// changedLately finds contacts that were changed so recently that the search may not know it. The database
// has an index of SystemModstamp.
func (d *driver) changedLately(ctx context.Context, n phonenumber.Number) (_ []contact, more bool, _ error) {
	pattern := quote("%" + strings.Join(strings.Split(local(n), ""), "%") + "%") // in any format
	has := make([]string, 0, len(phoneFields))
	for _, field := range phoneFields {
		has = append(has, field+" LIKE "+pattern)
	}
	return d.contacts(ctx, "SystemModstamp >= "+
		d.now().Add(-indexLag).UTC().Format(time.RFC3339)+
		" AND ("+strings.Join(has, " OR ")+")", mostByPhone)
}

// contacts queries contacts, up to the limit. It also reports whether more were found than it returns.
func (d *driver) contacts(
	ctx context.Context, condition string, limit int,
) (found []contact, more bool, err error) {
	found, whole, err := queryBatches[contact](ctx, d, existing, "SELECT "+contactFields+" FROM Contact WHERE "+
		condition+" ORDER BY Id LIMIT "+strconv.Itoa(limit))
	if err != nil {
		return nil, false, ofContacts(err)
	}
	return found, !whole, nil
}

// upTo returns each contact once, up to the limit.
func upTo(limit int, found []contact) crm.Contacts {
	var all crm.Contacts
	for _, c := range found {
		if slices.ContainsFunc(all.Contacts, func(known crm.Contact) bool { return known.ID == c.ID }) {
			continue
		}
		if len(all.Contacts) == limit {
			all.More = true
			break
		}
		all.Contacts = append(all.Contacts, c.contact())
	}
	return all
}

func (c contact) contact() crm.Contact {
	given := func(values ...string) []string {
		return slices.DeleteFunc(values, func(v string) bool { return v == "" })
	}
	return crm.Contact{
		ID: c.ID, Name: c.Name, Emails: given(c.Email), Phones: given(c.Phone, c.Mobile, c.Home, c.Other),
		AccountID: c.AccountID, AccountName: c.Account.Name,
	}
}

// ofContacts names what the connected user may not see, if that is why err came: a field, or contacts as a
// whole, which Salesforce then calls unknown with status 400.
func ofContacts(err error) error {
	if f := fault.From(err); errors.Is(err, fault.Forbidden) && upstream.HasStatus(err, http.StatusBadRequest) {
		return f.Restate(f.Code, f.Reason, "Salesforce does not let the connected user see contacts with their "+
			"name, email, numbers (Phone, MobilePhone, HomePhone, OtherPhone) and account. Give the user read "+
			"access to contacts, accounts and these fields.")
	}
	return err
}

// OpenTickets implements crm.ContactFinder. The tickets have no comments, which would take longer to query.
func (d *driver) OpenTickets(ctx context.Context, contactID string, limit int) ([]crm.Ticket, error) {
	const prefix, short = "003", 15 // of the ids of contacts; the last three characters only repeat the case
	if !recordID.MatchString(contactID) || !strings.HasPrefix(contactID, prefix) {
		return nil, nil
	}
	found, err := query[record](ctx, d, existing, "SELECT "+fields+" FROM Case WHERE ContactId = "+
		quote(contactID[:short])+" AND IsClosed = false ORDER BY LastModifiedDate DESC LIMIT "+strconv.Itoa(limit))
	if err != nil {
		return nil, err
	}
	tickets := make([]crm.Ticket, 0, len(found))
	for _, r := range found {
		tickets = append(tickets, r.ticket())
	}
	return tickets, nil
}
