package fake

import (
	"slices"
	"strings"
	"time"
)

// order is a number order. It is under way until done.
type order struct {
	id, line, reference, connection, e164 string
	status                                string
	item                                  *offer // nil if it was not for sale
	fails                                 bool
	documents                             bool // it waits for documents
	made, done, updated                   time.Time
}

// makeOrder serves an order. At Telnyx it can be for several numbers; here it must be for one
// (developers.telnyx.com/docs/numbers/phone-numbers/number-orders).
func (c call) makeOrder() (map[string]any, *refusal) {
	var ask struct {
		PhoneNumbers []struct {
			PhoneNumber string `json:"phone_number"`
		} `json:"phone_numbers"`
		ConnectionID      string `json:"connection_id"`
		CustomerReference string `json:"customer_reference"`
	}
	if refused := c.body(&ask); refused != nil {
		return nil, refused
	}
	switch {
	case len(ask.PhoneNumbers) != 1:
		return nil, invalid("/phone_numbers")
	case ask.ConnectionID != "" && !c.known(ask.ConnectionID):
		return nil, invalid("/connection_id")
	case c.balance < price:
		return nil, noFunds()
	}
	now := c.options.Now()
	e164 := ask.PhoneNumbers[0].PhoneNumber
	if o := c.findOffer(e164); o != nil && c.outbid > 0 {
		c.outbid--
		o.sold = true
	}
	item := c.findOffer(e164)
	if item == nil || item.shown.IsZero() || now.Sub(item.shown) > lately {
		if !c.options.LateFail {
			return nil, invalid("/phone_numbers/0/phone_number")
		}
		item = nil
	}
	made := &order{
		id: c.nextUUID(), line: c.nextUUID(), reference: ask.CustomerReference, connection: ask.ConnectionID,
		e164: e164, status: "pending", item: item, fails: item == nil, documents: c.documents, made: now,
		updated: now, done: now.Add(c.options.OrderTime),
	}
	if c.failing > 0 && item != nil {
		c.failing--
		made.fails = true
	}
	if item != nil {
		item.sold = true
	}
	c.orders = append(c.orders, made)
	c.settle(now)
	return map[string]any{"data": made.shown()}, nil
}

func (s *Server) known(connection string) bool {
	return (connection == Application || connection == Trunk) && !slices.Contains(s.removed, connection)
}

// showConnection serves the one connection or application of a kind. Applications are not found among the
// connections; the documentation leaves open whether they are.
func (c call) showConnection(id, known string) (map[string]any, *refusal) {
	if id != known || !c.known(id) {
		return nil, notFound()
	}
	return map[string]any{"data": map[string]any{"id": id, "active": true}}, nil
}

// settle finishes every order whose time has come.
func (s *Server) settle(now time.Time) {
	for _, o := range s.orders {
		if o.status == "pending" && !o.documents && !now.Before(o.done) {
			s.finish(o, now)
		}
	}
}

func (s *Server) finish(o *order, now time.Time) {
	o.updated = now
	if o.fails {
		o.status = "failure"
		if o.item != nil {
			o.item.sold = false
		}
		return
	}
	o.status = "success"
	s.purchases++
	s.balance -= price
	n := &number{
		id: s.nextID(), e164: o.e164, connection: o.connection, reference: o.reference, status: "active",
		bought: now, listed: now.Add(s.options.NumberLag), tags: []string{},
	}
	if s.options.BareNumber {
		n.reference = ""
	}
	s.numbers = append(s.numbers, n)
}

// listOrders returns orders, the newest first. Telnyx does not document whether the filter matches a part of
// a reference; here it does.
func (c call) listOrders() (map[string]any, *refusal) {
	all := slices.DeleteFunc(slices.Clone(c.orders), func(o *order) bool {
		return !strings.Contains(o.reference, c.query.Get("filter[customer_reference]"))
	})
	slices.Reverse(all)
	return page(c, all, func(o *order) map[string]any {
		shown := o.shown()
		shown["phone_numbers"] = []any{map[string]any{"id": o.line, "phone_number": o.e164}}
		return shown
	})
}

func (c call) showOrder(id string) (map[string]any, *refusal) {
	for _, o := range c.orders {
		if o.id == id {
			return map[string]any{"data": o.shown()}, nil
		}
	}
	return nil, notFound()
}

func (o *order) shown() map[string]any {
	line := map[string]any{
		"id": o.line, "record_type": "number_order_phone_number", "phone_number": o.e164, "status": o.status,
		"requirements_met": !o.documents, "regulatory_requirements": []any{},
	}
	if o.documents {
		line["regulatory_requirements"] = []any{map[string]any{
			"record_type":    "phone_number_regulatory_requirement",
			"requirement_id": "8ffb3622-7c6b-4ccc-b65f-7a3dc0099576", "field_type": "document",
		}}
	}
	shown := map[string]any{
		"id": o.id, "record_type": "number_order", "phone_numbers_count": 1, "phone_numbers": []any{line},
		"sub_number_orders_ids": []any{}, "status": o.status, "customer_reference": o.reference,
		"requirements_met": !o.documents, "created_at": stamp(o.made), "updated_at": stamp(o.updated),
		"connection_id": nil,
	}
	if o.connection != "" {
		shown["connection_id"] = o.connection
	}
	return shown
}
