package twilio

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
	"unicode/utf8"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// driver is one account.
type driver struct {
	client  *http.Client
	root    string // URL of the accounts
	owner   string // SID of the credentials' account
	account string // SID of the account that holds the numbers: the owner's, or a subaccount
	byKey   bool   // the credentials are an API key

	countries       []string // to search for numbers, in this order
	address, bundle string   // SIDs that numbers are bought with

	voiceURL, application, trunk string
}

var _ telephony.Driver = (*driver)(nil)

// mostConcurrent is a cautious choice: Twilio limits an account's concurrent calls, but does not document the
// limit (twilio.com/docs/errors/20429).
const mostConcurrent = 20

// Traits returns the traits of every account. Twilio treats buying a number that the account holds as an
// update that changes nothing (github.com/danielberkompas/ex_twilio/pull/116).
func (d *driver) Traits() telephony.Traits {
	return telephony.Traits{IdempotentBuy: true, MaxConcurrent: mostConcurrent}
}

// Account reads the account. A standard API key can read everything but the account itself
// (twilio.com/docs/iam/api-keys/keys-in-console, "Types of keys"). For it, Account checks that it can read
// the account's numbers.
func (d *driver) Account(ctx context.Context) (telephony.Account, error) {
	var a accountAnswer
	err := d.get(ctx, d.account+".json", nil, &a)
	switch {
	case err != nil && d.byKey && (errors.Is(err, fault.Disconnected) || errors.Is(err, fault.Forbidden)):
		return d.accountOfKey(ctx)
	case err != nil:
		return telephony.Account{}, accountMissing(err)
	case !strings.EqualFold(a.SID, d.account):
		return telephony.Account{}, unreadable(http.MethodGet)
	case a.Status == "suspended" || a.Status == "closed":
		return telephony.Account{}, fault.New(inactive.code, inactive.reason, inactive.detail)
	}
	return telephony.Account{Name: a.Name, Ref: a.SID}, nil
}

func (d *driver) accountOfKey(ctx context.Context) (telephony.Account, error) {
	if _, err := d.list(ctx, url.Values{"PageSize": {"1"}}); err != nil {
		return telephony.Account{}, err
	}
	return telephony.Account{Name: d.account, Ref: d.account}, nil
}

// Search searches for local numbers of the area code. It relies on Twilio to know the area code's country,
// since area codes are added every year.
func (d *driver) Search(ctx context.Context, s telephony.Search) ([]telephony.Offer, error) {
	if s.Limit <= 0 {
		return nil, nil
	}
	var none error
	for i, country := range d.countries {
		offers, err := d.offers(ctx, country, s)
		switch {
		case hasCode(err, notFound) && (i == 0 || none != nil):
			none = accountMissing(err) // nothing is sold to the account in any country so far
		case err != nil && !hasCode(err, notFound):
			return nil, err
		case len(offers) > 0:
			return offers, nil
		default:
			none = nil
		}
	}
	return nil, none
}

// offers returns the numbers for sale in one country, without those that cannot be bought with the
// connection's settings.
func (d *driver) offers(ctx context.Context, country string, s telephony.Search) ([]telephony.Offer, error) {
	query := url.Values{
		"AreaCode": {s.AreaCode}, "VoiceEnabled": {"true"}, "PageSize": {strconv.Itoa(min(s.Limit, mostPerPage))},
	}
	if d.address == "" {
		query.Set("ExcludeAllAddressRequired", "true")
	}
	var sale offersAnswer
	err := d.get(ctx, d.account+"/AvailablePhoneNumbers/"+country+"/Local.json", query, &sale)
	switch {
	case hasCode(err, noneInAreaCode, badAreaCode):
		return nil, nil
	case err != nil:
		return nil, err
	case sale.Offers == nil:
		return nil, unreadable(http.MethodGet)
	}
	var offers []telephony.Offer
	for _, o := range sale.Offers {
		free := o.Needs == "" || o.Needs == "none" || d.address != ""
		if len(offers) < s.Limit && free && o.Capabilities.Voice && e164.MatchString(o.E164) &&
			strings.HasPrefix(o.E164, "+1"+s.AreaCode) {
			offers = append(offers, telephony.Offer{E164: o.E164})
		}
	}
	return offers, nil
}

// mostPerPage is the maximum size of a page (twilio.com/docs/usage/twilios-response, "Pagination").
const mostPerPage = 1000

// Route follows the settings. As at Twilio itself, the trunk takes precedence, then the application.
func (d *driver) Route(employee int64, e164 string) (telephony.Routing, bool) {
	switch {
	case d.trunk != "":
		return telephony.Routing{SIPTrunk: d.trunk}, true
	case d.application != "":
		return telephony.Routing{Application: d.application}, true
	case d.voiceURL != "":
		return telephony.Routing{VoiceURL: telephony.VoiceURL(d.voiceURL, employee, e164)}, true
	}
	return telephony.Routing{}, false
}

// Buy orders a number, never any number of an area code: a retry would buy another one. It leaves name and
// routing to Change, since Twilio would also apply them to a number that the account held before: the gateway
// does not know whether somebody has bought it in Twilio's Console. CheckSetup reports beforehand what Change
// could not set.
func (d *driver) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if err := checkName(o.Name); err != nil {
		return telephony.Number{}, err
	}
	form := url.Values{"PhoneNumber": {o.E164}}
	if d.address != "" || d.bundle != "" {
		// Twilio would apply these to a number that the account held before, too.
		switch n, err := d.FindOrder(ctx, o); {
		case err == nil:
			return n, nil
		case !errors.Is(err, fault.NotFound):
			return telephony.Number{}, fault.Unacted(err)
		}
		if d.address != "" {
			form.Set("AddressSid", d.address)
		}
		if d.bundle != "" {
			form.Set("BundleSid", d.bundle)
		}
	}
	var bought number
	if err := d.call(ctx, http.MethodPost, d.numbers(), form, &bought); err != nil {
		return d.notBought(ctx, o, err)
	}
	return ownNumber(bought, o, http.MethodPost)
}

// notBought finds out why an order was refused. A number that is not for sale may be the account's own,
// bought by an earlier try: Twilio does not document that it treats buying it again as an update.
func (d *driver) notBought(ctx context.Context, o telephony.Order, refused error) (telephony.Number, error) {
	switch {
	case hasCode(refused, notAvailable):
		switch n, err := d.FindOrder(ctx, o); {
		case err == nil:
			return n, nil
		case errors.Is(err, fault.NotFound), hasCode(err, testCredentials): // they hold no numbers
			return telephony.Number{}, refused
		default:
			sent := *fault.From(err)
			sent.Unsent = false // an earlier try may have been sent
			return telephony.Number{}, &sent
		}
	case hasCode(refused, notFound):
		return telephony.Number{}, accountMissing(refused)
	case unexplained(refused) && d.outOfFunds(ctx):
		return telephony.Number{}, restate(fault.From(refused), noFunds)
	}
	return telephony.Number{}, refused
}

// leastFunds, in the account's currency, is less than the monthly price of a local number
// (twilio.com/en-us/voice/pricing/us).
const leastFunds = 1

// outOfFunds reports whether the balance is too low. The parent holds the balance for all its subaccounts
// (twilio.com/docs/iam/api/subaccounts, "Billing"). No error code says that a purchase failed for lack of
// funds.
func (d *driver) outOfFunds(ctx context.Context) bool {
	var b balanceAnswer
	if d.get(ctx, d.owner+"/Balance.json", nil, &b) != nil {
		return false
	}
	left, err := b.Balance.Float64()
	return err == nil && left < leastFunds
}

// clockSlack is how far the clocks of Twilio and of the gateway may differ. A number that came into the
// account at most this long before the order counts as the order's own.
const clockSlack = 5 * time.Minute

// ownNumber returns a number of the account if it is the order's own. If its creation time cannot be read,
// the outcome is unknown.
func ownNumber(n number, o telephony.Order, method string) (telephony.Number, error) {
	created, dated := n.createdAt()
	switch {
	case !n.complete() || n.E164 != o.E164 || !dated:
		return telephony.Number{}, unreadable(method)
	case created.Before(o.Since.Add(-clockSlack)):
		return telephony.Number{}, heldBefore()
	}
	return numberOf(n), nil
}

// FindOrder looks for the number in the account. Twilio fills orders at once and keeps none that it refused.
func (d *driver) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	found, err := d.list(ctx, url.Values{"PhoneNumber": {o.E164}})
	if err != nil {
		return telephony.Number{}, err
	}
	for _, n := range found.Numbers {
		if n.E164 == o.E164 { // the filter is a pattern
			return ownNumber(n, o, http.MethodGet)
		}
	}
	return telephony.Number{}, noNumber()
}

// Numbers reads a page. It is as large as Twilio allows unless q.Limit is smaller.
func (d *driver) Numbers(ctx context.Context, q telephony.Query) (telephony.Page, error) {
	query, err := pageOf(q.Cursor)
	if err != nil {
		return telephony.Page{}, err
	}
	size := mostPerPage
	if q.Limit > 0 {
		size = min(q.Limit, size)
	}
	query.Set("PageSize", strconv.Itoa(size))
	found, err := d.list(ctx, query)
	if err != nil {
		return telephony.Page{}, err
	}
	next, ok := cursorOf(found.Next)
	if !ok || next != "" && next == q.Cursor {
		return telephony.Page{}, unreadable(http.MethodGet)
	}
	page := telephony.Page{Next: next}
	for _, n := range found.Numbers {
		if n.complete() {
			page.Numbers = append(page.Numbers, numberOf(n))
		}
	}
	return page, nil
}

func (d *driver) list(ctx context.Context, query url.Values) (numbersAnswer, error) {
	var found numbersAnswer
	if err := d.get(ctx, d.numbers(), query, &found); err != nil {
		return found, accountMissing(err)
	}
	if found.Numbers == nil {
		return found, unreadable(http.MethodGet)
	}
	return found, nil
}

// Number reads one number.
func (d *driver) Number(ctx context.Context, ref string) (telephony.Number, error) {
	n, err := d.exchange(ctx, http.MethodGet, ref, nil)
	if err != nil {
		return telephony.Number{}, err
	}
	return numberOf(n), nil
}

// references matches references that can be put into a path. Twilio decides whether they exist.
var references = regexp.MustCompile(`^[0-9A-Za-z]{1,64}$`)

// exchange reads one number, or changes it as the form says, and returns it.
func (d *driver) exchange(ctx context.Context, method, ref string, form url.Values) (number, error) {
	if !references.MatchString(ref) {
		return number{}, noNumber()
	}
	var n number
	if err := d.call(ctx, method, d.number(ref), form, &n); err != nil {
		return number{}, numberMissing(err)
	}
	if !n.complete() || !strings.EqualFold(n.SID, ref) {
		return number{}, unreadable(method)
	}
	return n, nil
}

// mostNameRunes is the maximum length of a friendly name
// (twilio.com/docs/phone-numbers/api/incomingphonenumber-resource).
const mostNameRunes = 64

func checkName(given string) error {
	if utf8.RuneCountInString(given) > mostNameRunes {
		return fault.InvalidField("name", fmt.Sprintf("must have at most %d characters for Twilio.", mostNameRunes))
	}
	return nil
}

// Change makes one request, and compares the number in the response with what was requested.
func (d *driver) Change(ctx context.Context, ref string, c telephony.Change) (telephony.Number, error) {
	form := url.Values{}
	if c.Name != nil {
		if err := checkName(*c.Name); err != nil {
			return telephony.Number{}, err
		}
		form.Set("FriendlyName", *c.Name)
	}
	if c.Routing != nil {
		lead(form, *c.Routing)
	}
	if len(form) == 0 {
		return d.Number(ctx, ref)
	}
	n, err := d.exchange(ctx, http.MethodPost, ref, form)
	switch {
	case err != nil:
		return telephony.Number{}, err
	case c.Name != nil && n.Name != *c.Name, c.Routing != nil && n.routing() != *c.Routing:
		return telephony.Number{}, unheeded()
	}
	return numberOf(n), nil
}

// lead sets the one routing of a number. An empty value clears (github.com/twilio/twilio-cli-core/pull/57).
// Setting the trunk deletes the application, and vice versa
// (twilio.com/docs/phone-numbers/api/incomingphonenumber-resource), so a form that sets one must not name the
// other.
func lead(form url.Values, to telephony.Routing) {
	form.Set("VoiceUrl", to.VoiceURL)
	switch {
	case to.SIPTrunk != "":
		form.Set("TrunkSid", to.SIPTrunk)
	case to.Application != "":
		form.Set("VoiceApplicationSid", to.Application)
	default:
		form.Set("TrunkSid", "")
		form.Set("VoiceApplicationSid", "")
	}
	if to.VoiceURL != "" {
		form.Set("VoiceMethod", http.MethodPost)
	}
}

// Release first reads whether the number is blocked, since Twilio documents no error code for that.
func (d *driver) Release(ctx context.Context, ref string) error {
	n, err := d.exchange(ctx, http.MethodGet, ref, nil)
	if err != nil {
		return fault.Unacted(err)
	}
	if blocked := n.block().Fault(); blocked != nil {
		return blocked
	}
	return numberMissing(d.call(ctx, http.MethodDelete, d.number(ref), nil, nil))
}
