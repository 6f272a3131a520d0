package fake

import (
	"fmt"
	"slices"
	"strconv"
)

// What happens outside of the API: in Twilio's Console, and by other customers.

// Numbers returns the numbers that the accounts hold, newest first.
func (s *Server) Numbers() (all []Number) {
	s.with(func() {
		for _, n := range s.numbers {
			all = append(all, *n)
		}
	})
	return all
}

// Number returns a number that an account holds.
func (s *Server) Number(e164 string) (n Number, held bool) {
	all := s.Numbers()
	i := slices.IndexFunc(all, func(n Number) bool { return n.E164 == e164 })
	if i < 0 {
		return Number{}, false
	}
	return all[i], true
}

// Purchases returns how many numbers were paid for.
func (s *Server) Purchases() (n int) {
	s.with(func() { n = s.purchases })
	return n
}

// ForSale returns the numbers that can be bought in an area code.
func (s *Server) ForSale(areaCode string) (all []string) {
	s.with(func() {
		for _, one := range s.stock {
			if areaCodeOf(one.e164) == areaCode {
				all = append(all, one.e164)
			}
		}
	})
	return all
}

// Restock puts numbers of the US up for sale that no account holds. They need no address and no bundle.
func (s *Server) Restock(e164s ...string) {
	s.with(func() {
		for _, e164 := range e164s {
			s.stock = append(s.stock, stocked{e164: e164, country: "US", needs: "none"})
		}
	})
}

// SellOut sells every number of an area code to somebody else.
func (s *Server) SellOut(areaCode string) {
	s.with(func() {
		s.stock = slices.DeleteFunc(s.stock, func(one stocked) bool { return areaCodeOf(one.e164) == areaCode })
	})
}

// Snatch sells a number of an area code to somebody else, and returns it.
func (s *Server) Snatch(areaCode string) (e164 string, err error) {
	s.with(func() {
		one, there := s.takeFromStock(func(one stocked) bool { return areaCodeOf(one.e164) == areaCode })
		if e164 = one.e164; !there {
			err = fmt.Errorf("nothing is for sale in %s", areaCode)
		}
	})
	return e164, err
}

// SnatchNext sells the numbers of the next purchases to somebody else first.
func (s *Server) SnatchNext(purchases int) { s.with(func() { s.snatches = purchases }) }

// Arrive puts a number into an account as if it were ported, or bought in the Console.
func (s *Server) Arrive(account, e164 string) {
	s.with(func() {
		s.takeFromStock(func(one stocked) bool { return one.e164 == e164 })
		n := call{Server: s, account: account}.newNumber(e164)
		s.numbers = slices.Insert(s.numbers, 0, n)
	})
}

// Vanish takes a number out of the accounts, as if it were released in the Console.
func (s *Server) Vanish(e164 string) {
	s.with(func() {
		s.numbers = slices.DeleteFunc(s.numbers, func(n *Number) bool { return n.E164 == e164 })
	})
}

// Alter changes a number in the Console.
func (s *Server) Alter(e164 string, change func(*Number)) error {
	var there bool
	s.with(func() {
		for _, n := range s.numbers {
			if n.E164 == e164 {
				change(n)
				there = true
			}
		}
	})
	if !there {
		return fmt.Errorf("no account holds %s", e164)
	}
	return nil
}

// RegisterEmergencyAddress registers an emergency address for a number.
func (s *Server) RegisterEmergencyAddress(e164 string) error {
	return s.Alter(e164, func(n *Number) { n.EmergencyAddress, n.EmergencyNow = Address, "registered" })
}

// UnregisterEmergencyAddress starts removing the emergency address of a number; done completes that.
func (s *Server) UnregisterEmergencyAddress(e164 string) (done func() error, err error) {
	err = s.Alter(e164, func(n *Number) { n.EmergencyAddress, n.EmergencyNow = "", "pending-unregistration" })
	return func() error {
		return s.Alter(e164, func(n *Number) { n.EmergencyNow = "unregistered" })
	}, err
}

// SetStatus sets the account's status: "active", "suspended" or "closed".
func (s *Server) SetStatus(status string) { s.with(func() { s.status = status }) }

// SetBalance sets the account's balance, such as "0.05". At 0 or below, nothing is sold to the account.
func (s *Server) SetBalance(balance string) { s.with(func() { s.balance = balance }) }

func (s *Server) funds() float64 {
	left, err := strconv.ParseFloat(s.balance, 64)
	if err != nil {
		return 0
	}
	return left
}
