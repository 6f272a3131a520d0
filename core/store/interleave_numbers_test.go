package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"frontdesk/core/store"
)

// populateNumbers adds numbers and purchases, one for each state.
func populateNumbers(t *testing.T, s *store.Store, raw func(statement string)) {
	t.Helper()
	ctx := t.Context()
	connectionOf(t, s, "acme", "p1", "telephony")
	connectionOf(t, s, "beta", "p2", "telephony")
	raw("UPDATE sequences SET value = 1000 WHERE name = 'numbers'") // so that no id is one of those given below
	for id, name := range numberNames {
		got2(s.AddNumber(ctx, numberRow(name, "p1"), 0))(t)
		raw("UPDATE numbers SET id = " + string(rune('1'+id)) + " WHERE ref = '" + name + "'")
		raw("UPDATE number_claims SET number_id = " + string(rune('1'+id)) + " WHERE number_id > 10")
		if name == "used" {
			continue
		}
		until := map[string]time.Time{"parked": noon.Add(time.Hour), "due": noon,
			"going": noon.Add(-time.Hour)}[name]
		must(t, s.ParkNumber(ctx, kept(name), until))
	}
	got(s.SendBack(ctx, noon.Add(-time.Hour)))(t)
	raw("UPDATE connections SET status = 'reconnect_required' WHERE id = 'p1'") // or else acme could not be deleted
	got2(s.AddNumber(ctx, numberRow("away", "p2"), 0))(t)
	raw("UPDATE numbers SET id = 9 WHERE ref = 'away'")
	raw("UPDATE number_claims SET number_id = 9 WHERE number_id > 10")
	// New ids must not look like any other number.
	raw("UPDATE sequences SET value = 1000000 WHERE name = 'numbers'")

	for _, state := range []string{"reserved", "chosen", "ordered", "filled", "returning", "done", "a", "b"} {
		i := buying(state)
		if _, began, err := s.BeginIntent(ctx, i, time.Time{}); !began || err != nil {
			t.Fatal(state, began, err)
		}
		if state == "a" || state == "b" { // these have not reserved a purchase yet
			continue
		}
		p, _, err := s.ReservePurchase(ctx, i, "", noon, store.PurchaseLimits{PerDay: -1, Held: -1})
		must(t, err)
		for _, step := range []struct {
			to   string
			take func() error
		}{
			{"chosen", func() error { _, err := s.ChooseNumber(ctx, p, "+1"+state); return err }},
			{"ordered", func() error { return s.MarkOrdered(ctx, p) }},
			{"filled", func() error { return s.MarkFilled(ctx, p) }},
			{"returning", func() error { return s.MarkReturning(ctx, p, json.RawMessage("{}"), 1) }},
			{"done", func() error { return s.MarkReturned(ctx, p) }},
		} {
			if state == "reserved" {
				break
			}
			must(t, step.take())
			if step.to == state {
				break
			}
		}
	}
}

var numberNames = []string{"used", "parked", "due", "going"}

func numberRow(name, connectionID string) store.Number {
	n := store.Number{
		TenantID: "acme", ConnectionID: connectionID, Ref: name, E164: "+1" + name, CreatedAt: noon,
	}
	if connectionID == "p2" {
		n.TenantID = "beta"
	}
	return n
}

// kept returns a number as populateNumbers left it, without the fields that do not matter.
func kept(name string) store.Number {
	n := numberRow(name, "p1")
	n.ID, n.Version = int64(slices.Index(numberNames, name)+1), 1
	return n
}

func parked(name string) store.Number {
	n := kept(name)
	n.Version = 2
	return n
}

func buying(key string) store.Intent {
	return store.Intent{
		TenantID: "acme", Operation: store.PurchaseOperation, Key: key, ConnectionID: "p1", EffectKey: key, Owner: "owner",
		LeaseUntil: noon.Add(time.Minute), CreatedAt: noon.Add(-time.Minute), UpdatedAt: noon.Add(-time.Minute),
	}
}

func purchase(state string) store.Purchase {
	return store.Purchase{ID: state, TenantID: "acme", ConnectionID: "p1", E164: "+1" + state, Runner: "owner"}
}

func (c caller) reserve(key string, limits store.PurchaseLimits) (any, error) {
	return two(c.s.ReservePurchase(c.ctx, buying(key), "", noon, limits))
}

var numberOperations = []operation{
	{"AddNumber", func(c caller) (any, error) {
		return two(c.s.AddNumber(c.ctx, numberRow("new", "p1"), 0, c.audit()))
	}},
	{"AddNumber: of another tenant", func(c caller) (any, error) {
		return two(c.s.AddNumber(c.ctx, numberRow("new", "p2"), 0, c.audit()))
	}},
	{"ChangeRef", func(c caller) (any, error) { return one(c.s.ChangeRef(c.ctx, kept("used"), "of "+c.name)) }},
	{"Numbers", func(c caller) (any, error) { return one(c.s.Numbers(c.ctx, "acme", "p1")) }},
	{"Number", func(c caller) (any, error) { return one(c.s.Number(c.ctx, "acme", 1)) }},
	{"NumberOnce", func(c caller) (any, error) { return one(c.s.NumberOnce(c.ctx, "acme", 2)) }},
	{"NumberHolder", func(c caller) (any, error) { return two(c.s.NumberHolder(c.ctx, "", "+1used")) }},
	{"TenantNumbers", func(c caller) (any, error) { return one(c.s.TenantNumbers(c.ctx, "acme")) }},
	{"ParkedNumbers", func(c caller) (any, error) { return one(c.s.ParkedNumbers(c.ctx, "acme")) }},
	{"CheckNoneToReturn", func(c caller) (any, error) {
		return fmt.Sprint(c.s.CheckNoneToReturn(c.ctx, "beta", "")), nil
	}},
	{"UpdateNumber", func(c caller) (any, error) {
		n := kept("used")
		n.Name = "by " + c.name
		return only(c.s.UpdateNumber(c.ctx, n))
	}},
	{"ParkNumber", func(c caller) (any, error) {
		return only(c.s.ParkNumber(c.ctx, kept("used"), noon.Add(time.Hour)))
	}},
	{"ParkNumber: of a tenant that may go", func(c caller) (any, error) {
		n := numberRow("away", "p2")
		n.ID, n.Version = 9, 1
		return only(c.s.ParkNumber(c.ctx, n, noon.Add(time.Hour)))
	}},
	{"DeleteConnection: with a number", func(c caller) (any, error) {
		return only(c.s.DeleteConnection(c.ctx, "beta", "p2", c.audit()))
	}},
	{"DeleteTenant: with a number", func(c caller) (any, error) {
		return only(c.s.DeleteTenant(c.ctx, "beta", c.audit()))
	}},
	{"RestoreNumber", func(c caller) (any, error) {
		return one(c.s.RestoreNumber(c.ctx, "acme", 2, c.audit()))
	}},
	{"RestoreNumber: due", func(c caller) (any, error) {
		return one(c.s.RestoreNumber(c.ctx, "acme", 3, c.audit()))
	}},
	{"SendBack", func(c caller) (any, error) { return one(c.s.SendBack(c.ctx, noon)) }},
	{"ReleaseNumber", func(c caller) (any, error) {
		return only(c.s.ReleaseNumber(c.ctx, kept("used"), noon, c.audit()))
	}},
	{"LoseNumber", func(c caller) (any, error) {
		return only(c.s.LoseNumber(c.ctx, kept("used"), noon, c.audit()))
	}},
	{"ReleaseNumber: going", func(c caller) (any, error) {
		return only(c.s.ReleaseNumber(c.ctx, parked("going"), noon, c.audit()))
	}},

	{"ReservePurchase", func(c caller) (any, error) { // the last that the limits allow
		return c.reserve(c.name, store.PurchaseLimits{PerDay: 7, Held: 10})
	}},
	{"ReservePurchase: the last of a day", func(c caller) (any, error) {
		return c.reserve(c.name, store.PurchaseLimits{PerDay: 7, Held: -1})
	}},
	{"ReservePurchase: once more", func(c caller) (any, error) {
		return c.reserve("reserved", store.PurchaseLimits{PerDay: 7, Held: 10})
	}},
	{"ReservePurchase: after one that ended", func(c caller) (any, error) {
		return c.reserve("done", store.PurchaseLimits{PerDay: 7, Held: 10})
	}},
	{"ChooseNumber", func(c caller) (any, error) {
		return one(c.s.ChooseNumber(c.ctx, purchase("reserved"), "+1new"))
	}},
	{"ChooseNumber: another", func(c caller) (any, error) {
		return one(c.s.ChooseNumber(c.ctx, purchase("chosen"), "+1new"))
	}},
	{"ChooseNumber: what another run had", func(c caller) (any, error) {
		return one(c.s.ChooseNumber(c.ctx, purchase("ordered"), "+1chosen"))
	}},
	{"MarkOrdered", func(c caller) (any, error) { return only(c.s.MarkOrdered(c.ctx, purchase("chosen"))) }},
	{"MarkFilled", func(c caller) (any, error) { return only(c.s.MarkFilled(c.ctx, purchase("ordered"))) }},
	{"MarkReturning", func(c caller) (any, error) {
		return only(c.s.MarkReturning(c.ctx, purchase("filled"), json.RawMessage("{}"), 1))
	}},
	{"MarkReturned", func(c caller) (any, error) {
		return only(c.s.MarkReturned(c.ctx, purchase("returning")))
	}},
	{"MarkReturned: filled", func(c caller) (any, error) {
		return only(c.s.MarkReturned(c.ctx, purchase("filled")))
	}},
	{"AddPurchased", func(c caller) (any, error) {
		n := store.Number{Ref: "filled", CreatedAt: noon}
		return one(c.s.AddPurchased(c.ctx, purchase("filled"), n, c.audit()))
	}},
	{"EndPurchase", func(c caller) (any, error) { return only(c.s.EndPurchase(c.ctx, purchase("chosen"))) }},
	{"EndPurchase: reserved", func(c caller) (any, error) {
		return only(c.s.EndPurchase(c.ctx, purchase("reserved")))
	}},
	{"TakenNumbers", func(c caller) (any, error) { return one(c.s.TakenNumbers(c.ctx, "", "+1")) }},
	{"RefusedSetup", func(c caller) (any, error) { return one(c.s.RefusedSetup(c.ctx, "acme", "p1", 1)) }},
	{"NumbersOnOrder", func(c caller) (any, error) { return one(c.s.NumbersOnOrder(c.ctx, "acme", "p1")) }},
	{"OrderedPurchases", func(c caller) (any, error) { return one(c.s.OrderedPurchases(c.ctx)) }},
	{"StrayPurchases", func(c caller) (any, error) { return one(c.s.StrayPurchases(c.ctx, noon)) }},
	{"TakeStray", func(c caller) (any, error) {
		return one(c.s.TakeStray(c.ctx, purchase("chosen"), c.name))
	}},
	{"PurgePurchases", func(c caller) (any, error) {
		return one(c.s.PurgePurchases(c.ctx, noon.Add(25*time.Hour), noon.Add(time.Hour), 100))
	}},
}
