package telnyx

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// Buy orders a number that a recent search has returned. Telnyx does not sell other numbers, nor those of the
// account itself (developers.telnyx.com/docs/numbers/phone-numbers/number-orders, step 1). The order sets the
// connection but leaves the name to Change, since it needs the field of the name for its reference. A name
// that Change would refuse is refused before the order.
func (d *driver) Buy(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	if _, err := changeOf(telephony.Change{Name: &o.Name, Routing: &o.Routing}); err != nil {
		return telephony.Number{}, err
	}
	var made orderAnswer
	err := d.call(ctx, http.MethodPost, "/number_orders", nil, anOrder, newOrder{
		PhoneNumbers: []orderedNumber{{o.E164}}, Reference: reference(o.Key), ConnectionID: o.Routing.Application,
	}, &made)
	switch {
	case isRefusal(err):
		return d.explainRefusal(ctx, o, err)
	case err != nil:
		return telephony.Number{}, err
	}
	if _, listed := made.Data.lineOf(o.E164); made.Data.ID == "" || !listed {
		return telephony.Number{}, unreadable(http.MethodPost)
	}
	n, err := d.became(ctx, o, made.Data)
	switch {
	case isFault(err, fault.Conflict, fault.ReasonNumberTaken):
		return d.explainRefusal(ctx, o, err)
	case err != nil && !errors.Is(err, fault.UnknownOutcome):
		// The order stands, and only its number could not be read. Buy's fault would say that nothing was bought.
		return telephony.Number{E164: o.E164, Pending: true}, nil
	}
	return n, err
}

// isRefusal reports whether Telnyx rejected the order itself.
func isRefusal(err error) bool {
	return isFault(err, fault.Invalid, fault.ReasonProviderRefused) ||
		isFault(err, fault.Conflict, fault.ReasonProviderConflict) ||
		isFault(err, fault.NotFound, fault.ReasonNotFound)
}

// explainRefusal finds out why an order was refused, since Telnyx documents no code for it: the number is
// this order's already, it is no longer for sale, or the order is wrong in another way.
func (d *driver) explainRefusal(
	ctx context.Context, o telephony.Order, refusal error,
) (telephony.Number, error) {
	n, err := d.FindOrder(ctx, o)
	switch {
	case err == nil, errors.Is(err, fault.Conflict), errors.Is(err, fault.UnknownOutcome):
		return n, err
	case !isFault(err, fault.NotFound, fault.ReasonNumberNotFound):
		return telephony.Number{}, refusal
	}
	parts := national.FindStringSubmatch(o.E164)
	if parts == nil {
		return telephony.Number{}, refusal
	}
	rest := strings.TrimPrefix(o.E164, "+1"+parts[1])
	offers, err := d.search(ctx, telephony.Search{AreaCode: parts[1], Limit: 1},
		url.Values{"filter[phone_number][starts_with]": {rest}})
	if err != nil || len(offers) > 0 && offers[0].E164 == o.E164 {
		return telephony.Number{}, refusal
	}
	return telephony.Number{}, numberTaken()
}

// FindOrder looks for an order of the key and, if there is none, for the number: the list of orders may lag
// behind. It does not use o.Since: a number that the account got in another way belongs to no order of the
// key.
func (d *driver) FindOrder(ctx context.Context, o telephony.Order) (telephony.Number, error) {
	made, err := d.order(ctx, o)
	if err != nil {
		return telephony.Number{}, err
	}
	if made.ID != "" {
		return d.became(ctx, o, made)
	}
	n, err := d.holding(ctx, o.E164)
	switch {
	case err != nil:
		return telephony.Number{}, err
	case n.ID == "":
		return telephony.Number{}, noNumber()
	case n.Reference != reference(o.Key):
		return telephony.Number{}, numberTaken()
	}
	return n.number(), nil
}

// order returns the order of a key and a number; its id is "" if there is none. One key may have ordered
// several numbers, one after the other, and a number again after its order failed.
func (d *driver) order(ctx context.Context, o telephony.Order) (order, error) {
	var listed ordersAnswer
	if err := d.get(ctx, "/number_orders", url.Values{
		"filter[customer_reference]": {reference(o.Key)}, "page[size]": {strconv.Itoa(mostPerPage)},
	}, anything, &listed); err != nil {
		return order{}, err
	}
	if listed.Data == nil { // treating it as an empty list would lead to another order
		return order{}, unreadable(http.MethodGet)
	}
	var best order
	for _, l := range listed.Data {
		if l.Reference != reference(o.Key) || l.ID == "" {
			continue
		}
		// The documentation leaves open what the list contains of an order's lines.
		var whole orderAnswer
		if err := d.get(ctx, "/number_orders/"+url.PathEscape(l.ID), nil, anything, &whole); err != nil {
			return order{}, err
		}
		// An order without numbers has failed at most. Any other is no reason to order again.
		if whole.Data.ID != l.ID || len(whole.Data.Lines) == 0 && whole.Data.Status != failed {
			return order{}, unreadable(http.MethodGet)
		}
		if _, ours := whole.Data.lineOf(o.E164); ours &&
			(best.ID == "" || best.Status == failed || whole.Data.Status == succeeded) {
			best = whole.Data
		}
	}
	return best, nil
}

// lag is how far the account's list may lag behind an order that is filled. An order activates "momentarily"
// (developers.telnyx.com/docs/numbers/phone-numbers/number-orders, step 3).
const lag = 15 * time.Minute

// became returns the outcome of an order.
func (d *driver) became(ctx context.Context, o telephony.Order, made order) (telephony.Number, error) {
	line, _ := made.lineOf(o.E164)
	unmet := made.Met != nil && !*made.Met && len(line.Requirements) > 0
	switch {
	case made.Status == failed || line.Status == failed:
		return telephony.Number{}, numberTaken()
	case unmet && made.Status != succeeded:
		// The order stays like this until somebody acts, and is cancelled after its deadline
		// (developers.telnyx.com/docs/numbers/phone-numbers/number-orders, steps 3 and 4).
		return telephony.Number{}, waiting(o.E164, line.addressAlone())
	case made.Status != succeeded:
		return telephony.Number{E164: o.E164, Pending: true}, nil
	}
	n, err := d.holding(ctx, o.E164)
	switch {
	case err != nil:
		return telephony.Number{}, err
	case n.ID != "":
		return n.number(), nil
	case made.changedAt().IsZero() || d.now().Sub(made.changedAt()) < lag:
		return telephony.Number{E164: o.E164, Pending: true}, nil
	}
	return telephony.Number{}, noNumber()
}

// addressAlone reports whether nothing but addresses is required.
func (l orderLine) addressAlone() bool {
	for _, r := range l.Requirements {
		if r.FieldType != "address" {
			return false
		}
	}
	return true
}

// holding returns a number of the account; its id is "" if there is none. The filter takes only digits, and
// may find other numbers that contain them.
func (d *driver) holding(ctx context.Context, e164 string) (number, error) {
	var found numbersAnswer
	if err := d.get(ctx, "/phone_numbers", url.Values{
		"filter[phone_number]": {strings.TrimPrefix(e164, "+")}, "page[size]": {strconv.Itoa(mostPerPage)},
	}, anything, &found); err != nil {
		return number{}, err
	}
	if found.Data == nil { // in an empty list, the number would count as never ordered, or as given back
		return number{}, unreadable(http.MethodGet)
	}
	for _, n := range found.Data {
		switch {
		case n.PhoneNumber != e164 || n.standing() == gone:
		case !n.readable():
			return number{}, unreadable(http.MethodGet)
		default:
			return n, nil
		}
	}
	return number{}, nil
}
