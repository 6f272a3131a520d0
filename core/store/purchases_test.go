package store_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

var unlimited = store.PurchaseLimits{PerDay: -1, Held: -1}

func TestPurchases(t *testing.T) {
	purchase := func(id string) store.Purchase {
		return store.Purchase{ID: id, TenantID: "acme", ConnectionID: "c1", CreatedAt: noon}
	}
	bought := func(t *testing.T, s *store.Store, p store.Purchase, e164 string) store.Number {
		t.Helper()
		equal(t, got(s.ChooseNumber(t.Context(), p, e164))(t), true)
		return got(s.AddNumber(t.Context(), store.Number{TenantID: p.TenantID, ConnectionID: p.ConnectionID, Realm: p.Realm, Ref: "ref" + e164, E164: e164, CreatedAt: noon}, p.ID))(t)
	}
	reserve := func(t *testing.T, s *store.Store, p store.Purchase, limits store.PurchaseLimits) (store.Purchase, store.LimitReached) {
		t.Helper()
		kept, reached, err := s.ReservePurchase(t.Context(), p, p.CreatedAt.Add(-time.Hour), limits)
		must(t, err)
		return kept, reached
	}
	none := store.LimitReached{}

	t.Run("an open purchase is answered as far as it got", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first, reached := reserve(t, s, purchase("p"), unlimited)
			equal(t, reached, none)
			equal(t, first, purchase("p"))
			equal(t, got(s.ChooseNumber(t.Context(), first, "+14155550100"))(t), true)
			again, reached := reserve(t, s, purchase("p"), store.PurchaseLimits{}) // which limits no more
			equal(t, reached, none)
			equal(t, again.E164, "+14155550100")
		})
	})
	t.Run("a done purchase is answered for a while, and then counts beside another of its key", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first, _ := reserve(t, s, purchase("p"), unlimited)
			bought(t, s, first, "+14155550100")
			own, _ := reserve(t, s, purchase("p"), unlimited)
			equal(t, own.Bought, true)
			equal(t, own.E164, "+14155550100")
			later := purchase("p")
			later.CreatedAt = noon.Add(time.Hour - time.Millisecond)
			same, _ := reserve(t, s, later, unlimited)
			equal(t, same, own)
			later.CreatedAt = noon.Add(time.Hour)
			next, _ := reserve(t, s, later, unlimited)
			equal(t, next, later)
			later.ID = "another"
			_, reached := reserve(t, s, later, store.PurchaseLimits{PerDay: 2, Held: -1})
			equal(t, reached, store.LimitReached{PerDay: true, Until: noon.Add(24 * time.Hour)})
		})
	})
	t.Run("a number is chosen once in a realm, and not where it is held", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			one, _ := reserve(t, s, purchase("one"), unlimited)
			two, _ := reserve(t, s, purchase("two"), unlimited)
			elsewhere := purchase("three")
			elsewhere.Realm = "sandbox"
			three, _ := reserve(t, s, elsewhere, unlimited)
			equal(t, got(s.ChooseNumber(t.Context(), one, "+14155550100"))(t), true)
			equal(t, got(s.ChooseNumber(t.Context(), one, "+14155550100"))(t), true)
			equal(t, got(s.ChooseNumber(t.Context(), two, "+14155550100"))(t), false)
			equal(t, got(s.ChooseNumber(t.Context(), three, "+14155550100"))(t), true)
			_, err := s.AddNumber(t.Context(), store.Number{TenantID: "acme", ConnectionID: "c1", Ref: "r", E164: "+14155550100", CreatedAt: noon}, "")
			refused(t, err, fault.Conflict, fault.ReasonNumberTaken) // a list does not take in what is on order
			n := bought(t, s, one, "+14155550100")
			equal(t, got(s.ChooseNumber(t.Context(), two, "+14155550100"))(t), false)
			must(t, s.ReleaseNumber(t.Context(), "acme", n.ID, noon))
			equal(t, got(s.ChooseNumber(t.Context(), two, "+14155550100"))(t), true)
			_, err = s.ChooseNumber(t.Context(), one, "+14155550101")
			refused(t, err, fault.Conflict, store.ReasonIntentLost) // it is done
		})
	})
	t.Run("taken in a realm is what is held or chosen there, until it is given back", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			choose := func(id, realm, e164 string) store.Purchase {
				p := purchase(id)
				p.Realm = realm
				p, _ = reserve(t, s, p, unlimited)
				equal(t, got(s.ChooseNumber(t.Context(), p, e164))(t), true)
				return p
			}
			choose("chosen", "", "+14155550100")
			choose("in another realm", "sandbox", "+14155550101")
			choose("with another prefix", "", "+16285550102")
			held := bought(t, s, choose("held", "", "+14155550103"), "+14155550103")
			equal(t, slices.Sorted(slices.Values(got(s.TakenNumbers(t.Context(), "", "+1415"))(t))), []string{"+14155550100", "+14155550103"})
			must(t, s.ReleaseNumber(t.Context(), "acme", held.ID, noon))
			must(t, s.EndPurchase(t.Context(), "chosen", false))
			equal(t, got(s.TakenNumbers(t.Context(), "", "+1415"))(t), []string{})
		})
	})
	t.Run("of many who choose one number at once, one gets it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			var chosen atomic.Int32
			at(20, func(i int) bool {
				p, _, err := s.ReservePurchase(t.Context(), purchase(fmt.Sprint(i)), noon, unlimited)
				if err != nil {
					t.Error(err)
					return false
				}
				won, err := s.ChooseNumber(t.Context(), p, "+14155550100")
				if err != nil {
					t.Error(err)
				}
				if won {
					chosen.Add(1)
				}
				return won
			})
			equal(t, chosen.Load(), 1)
		})
	})
	t.Run("of 50 who buy at once, no more than the limit may", func(t *testing.T) {
		for name, limits := range map[string]store.PurchaseLimits{"of a day": {PerDay: 10, Held: -1}, "of all": {PerDay: -1, Held: 10}} {
			t.Run(name, func(t *testing.T) {
				both(t, func(t *testing.T, s *store.Store) {
					connection(t, s, "c1")
					may := at(50, func(i int) bool {
						_, reached, err := s.ReservePurchase(t.Context(), purchase(fmt.Sprint(i)), noon, limits)
						if err != nil {
							t.Error(err)
						}
						return reached == none
					})
					equal(t, len(slices.DeleteFunc(may, func(b bool) bool { return !b })), 10)
				})
			})
		}
	})
	t.Run("a limit counts what is held and waits, and what was spent, and no more after a day", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			one, _ := reserve(t, s, purchase("one"), unlimited)
			n := bought(t, s, one, "+14155550100")
			must(t, s.ParkNumber(t.Context(), n, noon.Add(time.Hour)))
			_, reached := reserve(t, s, purchase("two"), store.PurchaseLimits{PerDay: -1, Held: 1})
			equal(t, reached, store.LimitReached{Held: true})
			must(t, s.ReleaseNumber(t.Context(), "acme", n.ID, noon))
			_, reached = reserve(t, s, purchase("two"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, none)
			must(t, s.EndPurchase(t.Context(), "two", false)) // nothing was bought
			_, reached = reserve(t, s, purchase("three"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, none)
			must(t, s.EndPurchase(t.Context(), "three", true)) // bought and given back
			_, reached = reserve(t, s, purchase("four"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, store.LimitReached{PerDay: true, Until: noon.Add(24 * time.Hour)})
			late := purchase("four")
			late.CreatedAt = noon.Add(24 * time.Hour)
			_, reached = reserve(t, s, late, store.PurchaseLimits{PerDay: 1, Held: 1})
			equal(t, reached, none)
		})
	})
	t.Run("a purchase that is done goes when it is old enough and no limit counts it, and an open one stays", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			reserve(t, s, purchase("open"), unlimited)
			done, _ := reserve(t, s, purchase("done"), unlimited)
			bought(t, s, done, "+14155550100")
			for _, purge := range []struct {
				now, before time.Time
				left        bool
			}{
				{noon.Add(72 * time.Hour), noon.Add(-time.Millisecond), true},
				{noon.Add(24*time.Hour - time.Millisecond), noon.Add(23 * time.Hour), true},
				{noon.Add(72 * time.Hour), noon, false},
			} {
				must(t, s.PurgePurchases(t.Context(), purge.now, purge.before))
				there, _ := reserve(t, s, purchase("done"), unlimited)
				equal(t, there.Bought, purge.left)
			}
			must(t, s.EndPurchase(t.Context(), "done", false))
			equal(t, got(s.StrayPurchases(t.Context(), noon.Add(time.Hour)))(t), []store.Purchase{purchase("open")})
		})
	})
	t.Run("an open purchase without an unfinished intent is a stray", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			reserve(t, s, purchase("effect"), unlimited)
			intent := store.Intent{TenantID: "acme", Operation: "buy", Key: "k", ConnectionID: "c1", EffectKey: "effect", Plan: []byte("{}"),
				State: store.IntentRunning, Owner: "o", LeaseUntil: noon, CreatedAt: noon, UpdatedAt: noon}
			_, _, err := s.BeginIntent(t.Context(), intent)
			must(t, err)
			equal(t, got(s.StrayPurchases(t.Context(), noon.Add(time.Hour)))(t), []store.Purchase{})
			must(t, s.ReleaseIntent(t.Context(), intent, ""))
			equal(t, got(s.StrayPurchases(t.Context(), noon))(t), []store.Purchase{})
			equal(t, got(s.StrayPurchases(t.Context(), noon.Add(time.Hour)))(t), []store.Purchase{purchase("effect")})
		})
	})
}
