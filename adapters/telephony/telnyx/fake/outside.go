package fake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Number is a number of the account, as its owner sees it.
type Number struct {
	ID, E164, ConnectionID, CustomerReference, Status string
	Tags                                              []string
}

// Held returns the account's numbers, sorted by number.
func (s *Server) Held() (held []Number) {
	s.with(func() {
		s.settle(s.options.Now())
		for _, n := range s.numbers {
			if n.status != "deleted" {
				held = append(held, Number{
					ID: n.id, E164: n.e164, ConnectionID: n.connection, CustomerReference: n.reference, Status: n.status,
					Tags: slices.Clone(n.tags),
				})
			}
		}
	})
	slices.SortFunc(held, func(a, b Number) int { return cmp.Compare(a.E164, b.E164) })
	return held
}

// Remove removes a connection or an application.
func (s *Server) Remove(id string) { s.with(func() { s.removed = append(s.removed, id) }) }

// PutBack restores everything that was removed.
func (s *Server) PutBack() { s.with(func() { s.removed = nil }) }

// Order is an order, as the account's owner sees it.
type Order struct {
	ID, E164, ConnectionID, CustomerReference, Status string
}

// Orders returns all orders ever made, oldest first.
func (s *Server) Orders() (all []Order) {
	s.with(func() {
		s.settle(s.options.Now())
		for _, o := range s.orders {
			all = append(all, Order{
				ID: o.id, E164: o.e164, ConnectionID: o.connection, CustomerReference: o.reference, Status: o.status,
			})
		}
	})
	return all
}

// Purchases returns how many numbers were paid for.
func (s *Server) Purchases(context.Context) (n int, err error) {
	s.with(func() {
		s.settle(s.options.Now())
		n = s.purchases
	})
	return n, nil
}

// Snatch sells a number that is for sale in 415 to somebody else, and returns it.
func (s *Server) Snatch(context.Context) (e164 string, err error) {
	s.with(func() {
		for _, o := range s.stock {
			if o.area == "415" && !o.sold {
				o.sold, e164 = true, o.e164
				return
			}
		}
		err = fmt.Errorf("nothing is for sale in 415")
	})
	return e164, err
}

// Outbid sells the numbers of the next orders to somebody else just before they are ordered.
func (s *Server) Outbid(orders int) { s.with(func() { s.outbid = orders }) }

// FailOrders makes the next orders fail after they were accepted. Their numbers are for sale again.
func (s *Server) FailOrders(orders int) { s.with(func() { s.failing = orders }) }

// AskForDocuments makes orders wait for documents of the customer, or stops that.
func (s *Server) AskForDocuments(ask bool) { s.with(func() { s.documents = ask }) }

// AddDocuments adds the documents that orders wait for.
func (s *Server) AddDocuments() {
	s.with(func() {
		for _, o := range s.orders {
			o.documents = false
		}
		s.settle(s.options.Now())
	})
}

// CancelOrders cancels the orders that wait for documents
// (developers.telnyx.com/api-reference/phone-number-orders/cancel-a-sub-number-order).
func (s *Server) CancelOrders() {
	s.with(func() {
		for _, o := range s.orders {
			if o.status == "pending" && o.documents {
				o.fails = true
				s.finish(o, s.options.Now())
			}
		}
	})
}

// Restock puts more numbers on sale, in an area code where numbers are sold at all.
func (s *Server) Restock(areaCode string, numbers int) {
	s.with(func() { s.restock(areaCode, numbers) })
}

// SellOut takes every number of an area code off sale.
func (s *Server) SellOut(areaCode string) {
	s.with(func() {
		for _, o := range s.stock {
			o.sold = o.sold || o.area == areaCode
		}
	})
}

func (s *Server) restock(area string, numbers int) {
	for range numbers {
		s.stock = append(s.stock, &offer{e164: fmt.Sprintf("+1%s555%04d", area, 100+s.restocked[area]), area: area})
		s.restocked[area]++
	}
}

// Arrive puts a number into the account by other means than an order, such as a port.
func (s *Server) Arrive(_ context.Context, e164 string) error {
	s.with(func() {
		if o := s.findOffer(e164); o != nil {
			o.sold = true
		}
		now := s.options.Now()
		s.numbers = append(s.numbers, &number{
			id: s.nextID(), e164: e164, status: "active", bought: now, listed: now, tags: []string{"ported"},
		})
	})
	return nil
}

// Vanish takes a number out of the account.
func (s *Server) Vanish(_ context.Context, e164 string) error {
	return s.number(e164, func(n *number) { n.status = "deleted" })
}

// number calls do with a number that the account holds.
func (s *Server) number(e164 string, do func(*number)) error {
	err := fmt.Errorf("the account does not hold %s", e164)
	s.with(func() {
		for _, n := range s.numbers {
			if n.e164 == e164 && n.status != "deleted" {
				do(n)
				err = nil
			}
		}
	})
	return err
}

// Route sets the connection of a number.
func (s *Server) Route(e164, connectionID string) error {
	return s.number(e164, func(n *number) { n.connection = connectionID })
}

// Rename sets the customer reference of a number.
func (s *Server) Rename(e164, reference string) error {
	return s.number(e164, func(n *number) { n.reference = reference })
}

// Tag sets the tags of a number.
func (s *Server) Tag(e164 string, tags ...string) error {
	return s.number(e164, func(n *number) { n.tags = tags })
}

// Lock locks a number against deletion, or unlocks it.
func (s *Server) Lock(e164 string, lock bool) error {
	return s.number(e164, func(n *number) { n.lock = lock })
}

// Emergency sets the emergency status of a number: active, provisioning, deprovisioning, provisioning-failed
// or disabled.
func (s *Server) Emergency(e164, status string) error {
	return s.number(e164, func(n *number) { n.emergency = status })
}

// Status sets the status of a number, such as port-out-pending.
func (s *Server) Status(e164, status string) error {
	return s.number(e164, func(n *number) { n.status = status })
}

// Fill finishes every order that is under way, and lists its number.
func (s *Server) Fill(context.Context) error {
	s.with(func() {
		now := s.options.Now()
		for _, o := range s.orders {
			if o.status == "pending" && !o.documents {
				s.finish(o, now)
			}
		}
		for _, n := range s.numbers {
			n.listed = time.Time{}
		}
	})
	return nil
}

// OrderTime sets how long orders are under way from now on.
func (s *Server) OrderTime(d time.Duration) { s.with(func() { s.options.OrderTime = d }) }

// SetBalance sets what the account can spend. A number costs 100 cents.
func (s *Server) SetBalance(cents int) { s.with(func() { s.balance = cents }) }

// KeepSettings makes the server accept changes of numbers without making them, or stops that.
func (s *Server) KeepSettings(keep bool) { s.with(func() { s.keepSettings = keep }) }
