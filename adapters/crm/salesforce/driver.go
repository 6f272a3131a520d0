package salesforce

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

var (
	_ crm.Driver        = (*driver)(nil)
	_ crm.Finder        = (*driver)(nil)
	_ crm.ContactFinder = (*driver)(nil)
	_ crm.Driver        = keyed{}
	_ crm.Finder        = keyed{}
	_ crm.ContactFinder = keyed{}
)

// driver is a connection to one organisation.
type driver struct {
	http     *http.Client
	instance func(context.Context) (string, error) // used if base is ""
	base     string
	version  string
	number   *regexp.Regexp
	width    int
	keyField string // the field that stores keys; "" is none
	selected string // the beginning of a query for cases
	fields   adapter.TicketFields
	now      func() time.Time
	labels   crm.Remembered[*picklists]
}

// keyed is a driver of an organisation with a field for keys.
type keyed struct{ *driver }

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	number, err := adapter.WholePattern(s.NumberFormat)
	if err != nil {
		return nil, fault.From(err)
	}
	d := &driver{
		http: env.HTTP, instance: env.Instance, base: strings.TrimRight(s.BaseURL, "/"), version: s.APIVersion,
		number: number, width: s.NumberWidth, keyField: s.ExternalIDField, selected: selection(s.Comments),
		fields: s.Fields, now: env.Now,
	}
	if d.keyField != "" {
		return keyed{d}, nil
	}
	return d, nil
}

// Traits implements crm.Driver. Salesforce limits only concurrent calls that take 20 s or more ("API Request
// Limits and Allocations").
func (d *driver) Traits() crm.Traits {
	return crm.Traits{IdempotentCreate: d.keyField != "", FindsByKey: d.keyField != "", NumberWidth: d.width}
}

// Account implements crm.Driver. It returns the name of the organisation. Only /services/oauth2/userinfo
// reports who signed in. Its response to an expired access token is 403 ("Query for User Information",
// Salesforce Help), which looks like a refusal, so that the token would not be renewed.
func (d *driver) Account(ctx context.Context) (crm.Account, error) {
	found, err := query[struct{ ID, Name string }](ctx, d, existing, "SELECT Id, Name FROM Organization LIMIT 1")
	if err != nil {
		return crm.Account{}, err
	}
	if len(found) == 0 {
		return crm.Account{}, unreadable(nil)
	}
	return crm.Account{Name: found[0].Name, Ref: found[0].ID}, nil
}

// Vocabulary implements crm.Driver. It reads the description of cases.
func (d *driver) Vocabulary(ctx context.Context) (crm.Vocabulary, error) {
	lists, err := d.describe(ctx)
	if err != nil {
		return crm.Vocabulary{}, err
	}
	return crm.Vocabulary{Statuses: lists.status.labels(), Priorities: lists.priority.labels()}, nil
}

// describe requests the description of cases and remembers its picklists.
func (d *driver) describe(ctx context.Context) (*picklists, error) {
	var described description
	if err := d.call(ctx, http.MethodGet, "/sobjects/Case/describe", nil, &described); err != nil {
		return nil, err
	}
	lists := described.picklists()
	d.labels.Put(lists, d.now().Add(crm.LabelsLast))
	return lists, nil
}

// body returns the fields of a new case. Before it refuses a label or an entry of the setting, it requests
// the description of cases again.
func (d *driver) body(ctx context.Context, t crm.NewTicket) (map[string]any, error) {
	lists, err := d.labels.Look(ctx, d.now(), d.describe, func(known *picklists) bool {
		_, err := known.body(t, d.fields)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return lists.body(t, d.fields)
}

// Create implements crm.Driver. It creates the case and reads it back in one call, which succeeds or fails as
// a whole ("Send Multiple Requests Using Composite", REST API Developer Guide). With a field for keys it is
// an upsert, which creates no second case for a key.
func (d *driver) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	if faults := checkIDs(t); len(faults) > 0 {
		return crm.Ticket{}, fault.InvalidFields(faults...)
	}
	body, err := d.body(ctx, t)
	if err != nil {
		return crm.Ticket{}, fault.Unacted(err)
	}
	write := part{Method: http.MethodPost, URL: d.path("/sobjects/Case"), ReferenceID: made, Body: body}
	if d.keyField != "" {
		write.Method, write.URL = http.MethodPatch, d.path("/sobjects/Case/"+d.keyField+"/"+url.PathEscape(t.Key))
	}
	if body["OwnerId"] != nil {
		// Otherwise the organisation's rules or its default owner would replace the given owner. A part of a
		// composite call has its own headers ("Composite Subrequest"; "Assignment Rule Header").
		write.Headers = map[string]string{"Sforce-Auto-Assign": "FALSE"}
	}
	read := part{
		Method: http.MethodGet, URL: d.path("/query?q=" + escapedQuery(d.selected+" WHERE Id = '"+reference+"'")),
		ReferenceID: "read",
	}
	var answer compositeAnswer
	err = d.call(ctx, http.MethodPost, "/composite", composite{AllOrNone: true, Parts: []part{write, read}},
		&answer)
	if err != nil {
		return crm.Ticket{}, err
	}
	if refused, f := answer.refusal(t, d.fields); f != nil {
		if d.keyField != "" && refused == duplicateValue { // another call with this key came first
			found, err := keyed{d}.Find(ctx, t)
			if err == nil || fault.From(err).Code != fault.NotFound { // otherwise another field is unique, too
				return found, err
			}
		}
		d.labels.Forget() // outdated labels may be why the case was refused
		return crm.Ticket{}, d.fields.Attribute(name, f, t, paths)
	}
	ticket, err := answer.ticket()
	return withShortIDs(t, ticket), err
}

// Create looks for the key first. An upsert would undo what agents have changed in the case since and assign
// it again. If two calls look at the same time, the upsert still creates one case.
func (d keyed) Create(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	switch found, err := d.Find(ctx, t); {
	case err == nil:
		return found, nil
	case fault.From(err).Code != fault.NotFound:
		return crm.Ticket{}, fault.Unacted(err)
	}
	return d.driver.Create(ctx, t)
}

// ByNumber implements crm.Driver. SOQL ignores case in comparisons; the contract does not.
func (d *driver) ByNumber(ctx context.Context, number string) (crm.Ticket, error) {
	if !d.number.MatchString(number) {
		return crm.Ticket{}, noTicket()
	}
	found, err := d.find(ctx, existing, "CaseNumber", number)
	if err != nil {
		return crm.Ticket{}, err
	}
	var exact []crm.Ticket
	for _, t := range found {
		if t.Number == number {
			exact = append(exact, t)
		}
	}
	if len(exact) == 0 {
		return d.merged(ctx, number)
	}
	return only(exact)
}

// mostMerges is how many merges, each of a case into the next, are followed.
const mostMerges = 5

// merged returns the case that the case with a number was merged into. A merge deletes the losing case, unless the
// organisation keeps it ("Triggers and Merge Statements", Apex Developer Guide). Where nobody merges cases, the field
// may be missing.
func (d *driver) merged(ctx context.Context, number string) (crm.Ticket, error) {
	condition := "CaseNumber = " + quote(number)
	for range mostMerges {
		lost, err := query[struct {
			CaseNumber string
			Master     string `json:"MasterRecordId"`
		}](ctx, d, orDeleted, "SELECT CaseNumber, MasterRecordId FROM Case WHERE "+condition+" LIMIT 1")
		if err != nil && !errors.Is(err, fault.Forbidden) {
			return crm.Ticket{}, err
		}
		if len(lost) == 0 || lost[0].Master == "" || number != "" && lost[0].CaseNumber != number {
			break
		}
		found, err := d.find(ctx, existing, "Id", lost[0].Master)
		if err != nil {
			return crm.Ticket{}, err
		}
		if len(found) > 0 {
			return only(found)
		}
		number, condition = "", "Id = "+quote(lost[0].Master)
	}
	return crm.Ticket{}, noTicket()
}

// Find implements crm.Finder. What was deleted since was created, too.
func (d keyed) Find(ctx context.Context, t crm.NewTicket) (crm.Ticket, error) {
	found, err := d.find(ctx, orDeleted, d.keyField, t.Key)
	if err != nil {
		return crm.Ticket{}, err
	}
	ticket, err := only(found)
	return withShortIDs(t, ticket), err
}

// find reads the cases whose field has the value, up to two: more than one is an error.
func (d *driver) find(ctx context.Context, among resource, field, value string) ([]crm.Ticket, error) {
	found, err := query[record](ctx, d, among, d.selected+" WHERE "+field+" = "+quote(value)+" LIMIT 2")
	if err != nil {
		return nil, err
	}
	tickets := make([]crm.Ticket, 0, len(found))
	for _, r := range found {
		tickets = append(tickets, r.ticket())
	}
	return tickets, nil
}

func only(found []crm.Ticket) (crm.Ticket, error) {
	switch len(found) {
	case 0:
		return crm.Ticket{}, noTicket()
	case 1:
		return found[0], nil
	}
	return crm.Ticket{}, ambiguous()
}

// resource is where a query is sent. QueryAll also returns what was deleted or merged, as long as it is in the recycle
// bin ("QueryAll", REST API Developer Guide).
type resource string

const (
	existing  resource = "/query"
	orDeleted resource = "/queryAll"
)

// query returns all records that a query finds.
func query[T any](ctx context.Context, d *driver, among resource, soql string) ([]T, error) {
	found, whole, err := queryBatches[T](ctx, d, among, soql)
	if err != nil {
		return nil, err
	}
	if !whole {
		return nil, unreadable(nil)
	}
	return found, nil
}

// mostBatches is the most batches of a list that are read.
const mostBatches = 10

// locator matches what leads to the next batch ("Query More Results", REST API Developer Guide).
var locator = regexp.MustCompile(`\A/query/[A-Za-z0-9-]+\z`)

// queryBatches returns the records that a query finds, and whether these are all of them. Salesforce may
// return fewer in one response than the query's limit, "based on the size and complexity of records queried"
// ("Query", REST API Developer Guide). A response without a list of records is an error. So is one that
// neither ends the list nor leads to its rest: what is missing would seem not to exist.
func queryBatches[T any](
	ctx context.Context, d *driver, among resource, soql string,
) (records []T, whole bool, err error) {
	next := string(among) + "?q=" + url.QueryEscape(soql)
	for range mostBatches {
		var found result[T]
		if err := d.call(ctx, http.MethodGet, next, nil, &found); err != nil {
			return nil, false, err
		}
		if found.Records == nil {
			return nil, false, unreadable(nil)
		}
		records = append(records, found.Records...)
		if found.isLast() {
			return records, true, nil
		}
		next = strings.TrimPrefix(found.Next, d.path(""))
		if !locator.MatchString(next) {
			return nil, false, unreadable(nil)
		}
	}
	return records, false, nil
}

func (d *driver) path(resource string) string { return "/services/data/" + d.version + resource }

// home returns the base address of the organisation's API.
func (d *driver) home(ctx context.Context) (string, error) {
	if d.base != "" {
		return d.base, nil
	}
	if d.instance == nil {
		return "", noInstance()
	}
	address, err := d.instance(ctx)
	if err != nil {
		return "", fault.Unprepared(err)
	}
	if address == "" {
		return "", noInstance()
	}
	return strings.TrimRight(address, "/"), nil
}

// call sends one request to the API and decodes the response into out. What it reads is mostly a list, of cases or of
// the fields of cases.
func (d *driver) call(ctx context.Context, method, resource string, in, out any) error {
	if method == http.MethodGet {
		ctx = upstream.ForListing(ctx)
	}
	home, err := d.home(ctx)
	if err != nil {
		return err
	}
	req, err := upstream.JSONRequest(ctx, method, home+d.path(resource), nil, in)
	if err != nil {
		return err
	}
	return upstream.Read(d.http, req, func(answer *http.Response, body []byte) error {
		if answer.StatusCode < 200 || answer.StatusCode > 299 {
			return refusal(answer.StatusCode, answer.Header, body)
		}
		if err := decode(body, out); err != nil {
			if method != http.MethodGet {
				return unknown(err)
			}
			return unreadable(err)
		}
		return nil
	})
}
