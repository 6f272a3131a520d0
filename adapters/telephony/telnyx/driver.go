package telnyx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// driver is one account.
type driver struct {
	client     *http.Client
	base       string
	connection string
	countries  [2]string // in the order they are searched
	now        func() time.Time
}

var (
	_ telephony.Driver     = (*driver)(nil)
	_ adapter.SetupChecker = (*driver)(nil)
)

// mostAtOnce is the adapter's choice: Telnyx limits the rate of calls, but documents no concurrency limit.
const mostAtOnce = 10

// Traits returns the traits of every account.
func (d *driver) Traits() telephony.Traits {
	return telephony.Traits{AsyncBuy: true, MaxConcurrent: mostAtOnce}
}

// Account returns the account that the API key belongs to.
func (d *driver) Account(ctx context.Context) (telephony.Account, error) {
	var who whoAmI
	if err := d.get(ctx, "/whoami", nil, anything, &who); err != nil {
		return telephony.Account{}, err
	}
	account := who.account()
	if account.Ref == "" {
		return telephony.Account{}, unreadable(http.MethodGet)
	}
	return account, nil
}

// leadsTo are the paths of what numbers can lead to
// (developers.telnyx.com/api-reference/connections/retrieve-a-connection,
// developers.telnyx.com/api-reference/call-control-applications/retrieve-a-call-control-application,
// developers.telnyx.com/api-reference/texml-applications/retrieve-a-texml-application). The documentation
// leaves open whether applications are found among the connections, too.
var leadsTo = []string{"/connections/", "/call_control_applications/", "/texml_applications/"}

// CheckSetup reads the connection or application that the settings name. A key that may not read it can still
// use it, so that is no error.
func (d *driver) CheckSetup(ctx context.Context) error {
	if d.connection == "" {
		return nil
	}
	var missing error
	for _, kind := range leadsTo {
		var there struct {
			Data struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		err := d.get(ctx, kind+d.connection, nil, aConnection, &there)
		switch {
		case err == nil && there.Data.ID == "":
			return unreadable(http.MethodGet)
		case err == nil, errors.Is(err, fault.Forbidden):
			return nil
		case !isNoConnection(err):
			return err
		}
		missing = err
	}
	return missing
}

// Search searches one country and, if that has none, the other. A search must name a country
// (developers.telnyx.com/docs/numbers/phone-numbers/number-search, "Constraints"), and a table of the
// countries of area codes would become outdated.
func (d *driver) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	return d.search(ctx, s, url.Values{})
}

// search is Search with an additional filter. A refused country may mean that there is no coverage of the
// area (developers.telnyx.com/docs/numbers/phone-numbers/advanced-orders, "Overview"), so the refusal is
// returned only if both countries are refused.
func (d *driver) search(
	ctx context.Context, s telephony.Search, filter url.Values,
) ([]telephony.Offer, error) {
	for name, value := range map[string]string{
		"filter[national_destination_code]": s.AreaCode, "filter[phone_number_type]": "local",
		"filter[features][]": "voice", "filter[limit]": strconv.Itoa(s.Limit), "filter[best_effort]": "false",
		"filter[exclude_held_numbers]": "true",
	} {
		filter.Set(name, value)
	}
	var refused error
	answered := false
	for _, country := range d.countries {
		filter.Set("filter[country_code]", country)
		var found offersAnswer
		err := d.get(ctx, "/available_phone_numbers", filter, aSearch, &found)
		if err == nil && found.Data == nil {
			err = unreadable(http.MethodGet)
		}
		switch {
		case err == nil, isFault(err, fault.NotFound, fault.ReasonNoNumbersAvailable):
			answered = true
		case errors.Is(err, fault.Invalid), errors.Is(err, fault.NotFound), errors.Is(err, fault.Forbidden):
			refused = err
		default:
			return nil, err
		}
		if offers := found.offers(s); len(offers) > 0 {
			return offers, nil
		}
	}
	if answered {
		return nil, nil
	}
	return nil, refused
}

// Route returns the connection of the settings for every number.
func (d *driver) Route(int64, string) (telephony.Routing, bool) {
	return telephony.Routing{Application: d.connection}, d.connection != ""
}

// mostPerPage is the maximum size of a page.
const mostPerPage = 250

// Numbers reads one page, sorted by number. In the default order, by creation, a number bought in the
// meantime would shift all others to later pages. A number released in the meantime shifts others to earlier
// pages, so that one would be skipped. Numbers detects this by the total count.
func (d *driver) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	at, err := positionOf(q)
	if err != nil {
		return telephony.Page{}, err
	}
	var found numbersAnswer
	if err := d.get(ctx, "/phone_numbers", url.Values{
		"sort": {"phone_number"}, "page[number]": {strconv.Itoa(at.page)}, "page[size]": {strconv.Itoa(at.size)},
	}, anything, &found); err != nil {
		return telephony.Page{}, err
	}
	if found.Data == nil { // in an empty list, every number would count as released
		return telephony.Page{}, unreadable(http.MethodGet)
	}
	if len(found.Data) > at.size {
		return telephony.Page{}, unreadable(http.MethodGet)
	}
	if found.Meta.TotalResults < at.total {
		return telephony.Page{}, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The numbers of the Telnyx account changed while they were listed. Try again.")
	}
	var page telephony.Page
	for _, n := range found.Data {
		if !n.readable() {
			return telephony.Page{}, unreadable(http.MethodGet)
		}
		if n.standing() != gone {
			page.Numbers = append(page.Numbers, n.number())
		}
	}
	more := at.page < found.Meta.TotalPages || found.Meta.TotalPages == 0 && len(found.Data) == at.size
	if more && len(found.Data) > 0 {
		at.page, at.total = at.page+1, found.Meta.TotalResults
		page.Next = at.cursor()
	}
	return page, nil
}

// pagePosition is the index of a page, the size of the pages, and the total count of numbers.
type pagePosition struct{ page, size, total int }

func (p pagePosition) cursor() string { return fmt.Sprintf("%d.%d.%d", p.page, p.size, p.total) }

// positionOf reads the cursor of a query. A cursor is valid only for pages of its own size.
func positionOf(q telephony.Query) (pagePosition, error) {
	size := mostPerPage
	if q.Limit > 0 {
		size = min(q.Limit, mostPerPage)
	}
	if q.Cursor == "" {
		return pagePosition{page: 1, size: size}, nil
	}
	var parts [3]int
	for i, part := range strings.SplitN(q.Cursor, ".", len(parts)) {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		parts[i] = n
	}
	at := pagePosition{page: parts[0], size: parts[1], total: parts[2]}
	if at.page < 2 || at.size != size || at.total < 0 || at.cursor() != q.Cursor {
		return pagePosition{}, fault.InvalidField("cursor", "does not come from a page of this size.")
	}
	return at, nil
}

// refs matches the ids of phone numbers. Telnyx also accepts phone numbers in place of ids, by which a wrong
// number could be changed.
var refs = regexp.MustCompile(`^[0-9]{1,20}$`)

func path(ref string) string { return "/phone_numbers/" + ref }

// Number reads one number.
func (d *driver) Number(ctx context.Context, ref string) (telephony.Number, error) {
	if !refs.MatchString(ref) {
		return telephony.Number{}, noNumber()
	}
	var found numberAnswer
	if err := d.get(ctx, path(ref), nil, oneNumber, &found); err != nil {
		return telephony.Number{}, err
	}
	if found.Data.ID != ref || !found.Data.readable() {
		return telephony.Number{}, unreadable(http.MethodGet)
	}
	if found.Data.standing() == gone {
		return telephony.Number{}, noNumber()
	}
	return found.Data.number(), nil
}

// Change sets the name and the connection. Telnyx's response has to show them: settings take up to three
// seconds to be everywhere (support.telnyx.com, "Understanding Configuration Propagation Delays"), and a
// change that is not shown may still take effect.
func (d *driver) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	if c.Name == nil && c.Routing == nil || !refs.MatchString(ref) {
		return d.Number(ctx, ref)
	}
	wanted, err := changeOf(c)
	if err != nil {
		return telephony.Number{}, err
	}
	var made numberAnswer
	if err := d.call(ctx, http.MethodPatch, path(ref), nil, oneNumber, wanted, &made); err != nil {
		return telephony.Number{}, err
	}
	if made.Data.ID != ref || !made.Data.readable() {
		return telephony.Number{}, unreadable(http.MethodPatch)
	}
	changed := made.Data.number()
	if c.Name != nil && changed.Name != *c.Name || c.Routing != nil && changed.Routing != *c.Routing {
		return telephony.Number{}, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
			"Telnyx accepted the change, but the number does not show it.")
	}
	return changed, nil
}

func changeOf(c telephony.Change) (numberChange, error) {
	var wanted numberChange
	if c.Name != nil {
		if references.MatchString(*c.Name) {
			return wanted, fault.InvalidField("name",
				"has the form of an order's reference at Telnyx. Choose another one.")
		}
		wanted.Reference = c.Name
	}
	if c.Routing != nil {
		if err := routable(*c.Routing); err != nil {
			return wanted, err
		}
		wanted.ConnectionID = &c.Routing.Application
	}
	return wanted, nil
}

// routable refuses a routing that a number at Telnyx cannot have.
func routable(to telephony.Routing) error {
	if to.VoiceURL != "" || to.SIPTrunk != "" {
		return fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"At Telnyx, calls go to a connection or an application. Set connection_id, and set the webhook "+
				"or trunk there.")
	}
	return nil
}

// Release reads the number first, so that it deletes none that is blocked.
func (d *driver) Release(ctx context.Context, ref string) error {
	n, err := d.Number(ctx, ref)
	if err != nil {
		return fault.Unacted(err)
	}
	if f := n.Block.Fault(); f != nil {
		return f
	}
	var deleted numberAnswer
	if err := d.call(ctx, http.MethodDelete, path(ref), nil, oneNumber, nil, &deleted); err != nil {
		return err
	}
	if deleted.Data.ID != ref || deleted.Data.standing() != gone {
		return unreadable(http.MethodDelete)
	}
	return nil
}
