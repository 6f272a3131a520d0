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
	t.Parallel()
	purchase := func(id string) store.Purchase {
		return store.Purchase{
			ID: id, TenantID: "acme", ConnectionID: "c1", State: store.PurchaseReserved, Runner: "o", CreatedAt: noon,
		}
	}
	reserve := func(
		t *testing.T, s *store.Store, p store.Purchase, limits store.PurchaseLimits,
	) (store.Purchase, store.LimitReached) {
		t.Helper()
		kept, reached, err := reserved(t, s, p, p.CreatedAt.Add(-time.Hour), limits)
		must(t, err)
		return kept, reached
	}
	bought := func(t *testing.T, s *store.Store, p store.Purchase, e164 string) store.Number {
		t.Helper()
		equal(t, got(s.ChooseNumber(t.Context(), p, e164))(t), true)
		must(t, s.MarkFilled(t.Context(), p))
		p.E164 = e164
		return got(s.AddPurchased(t.Context(), p, store.Number{Ref: "ref" + e164, CreatedAt: noon}))(t)
	}
	none := store.LimitReached{}

	t.Run("an open purchase is answered as far as it got", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first, reached := reserve(t, s, purchase("p"), unlimited)
			equal(t, reached, none)
			equal(t, first, purchase("p"))
			equal(t, got(s.ChooseNumber(t.Context(), first, "+14155550100"))(t), true)
			again, reached := reserve(t, s, purchase("p"), store.PurchaseLimits{}) // no limit applies to it
			equal(t, reached, none)
			equal(t, again.E164, "+14155550100")
		})
	})
	t.Run("a done purchase is answered for a while, and then counts beside "+
		"another of its key", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			first, _ := reserve(t, s, purchase("p"), unlimited)
			bought(t, s, first, "+14155550100")
			own, _ := reserve(t, s, purchase("p"), unlimited)
			equal(t, own.State, store.PurchaseDone)
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
			_, err := add(t, s, store.Number{
				TenantID: "acme", ConnectionID: "c1", Ref: "r", E164: "+14155550100", CreatedAt: noon,
			})
			refused(t, err, fault.Conflict, fault.ReasonNumberTaken) // a list adds no number on order
			n := bought(t, s, one, "+14155550100")
			equal(t, got(s.ChooseNumber(t.Context(), two, "+14155550100"))(t), false)
			must(t, s.ReleaseNumber(t.Context(), n, noon))
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
			chosen := choose("chosen", "", "+14155550100")
			choose("in another realm", "sandbox", "+14155550101")
			choose("with another prefix", "", "+16285550102")
			held := bought(t, s, choose("held", "", "+14155550103"), "+14155550103")
			equal(t, slices.Sorted(slices.Values(got(s.TakenNumbers(t.Context(), "", "+1415"))(t))), []string{
				"+14155550100", "+14155550103",
			})
			must(t, s.ReleaseNumber(t.Context(), held, noon))
			must(t, s.EndPurchase(t.Context(), chosen))
			equal(t, got(s.TakenNumbers(t.Context(), "", "+1415"))(t), []string{})
		})
	})
	t.Run("of many who choose one number at once, one gets it", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			var chosen atomic.Int32
			at(20, func(i int) bool {
				p, _, err := reserved(t, s, purchase(fmt.Sprint(i)), noon, unlimited)
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
		for name, limits := range map[string]store.PurchaseLimits{
			"of a day": {PerDay: 10, Held: -1}, "of all": {PerDay: -1, Held: 10},
		} {
			t.Run(name, func(t *testing.T) {
				both(t, func(t *testing.T, s *store.Store) {
					connection(t, s, "c1")
					may := at(50, func(i int) bool {
						_, reached, err := reserved(t, s, purchase(fmt.Sprint(i)), noon, limits)
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
	t.Run("a limit counts what is held and waits, and what was spent, "+
		"and no more after a day", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			one, _ := reserve(t, s, purchase("one"), unlimited)
			n := bought(t, s, one, "+14155550100")
			must(t, s.ParkNumber(t.Context(), n, noon.Add(time.Hour)))
			n.Version++
			_, reached := reserve(t, s, purchase("two"), store.PurchaseLimits{PerDay: -1, Held: 1})
			equal(t, reached, store.LimitReached{Held: true})
			must(t, s.ReleaseNumber(t.Context(), n, noon))
			two, reached := reserve(t, s, purchase("two"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, none)
			must(t, s.EndPurchase(t.Context(), two)) // nothing was bought
			three, reached := reserve(t, s, purchase("three"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, none)
			equal(t, got(s.ChooseNumber(t.Context(), three, "+14155550101"))(t), true)
			must(t, s.MarkFilled(t.Context(), three))
			must(t, s.MarkReturning(t.Context(), three, []byte(`{}`), 1))
			must(t, s.MarkReturned(t.Context(), three)) // bought and given back
			_, reached = reserve(t, s, purchase("four"), store.PurchaseLimits{PerDay: 2, Held: 1})
			equal(t, reached, store.LimitReached{PerDay: true, Until: noon.Add(24 * time.Hour)})
			late := purchase("four")
			late.CreatedAt = noon.Add(24 * time.Hour)
			_, reached = reserve(t, s, late, store.PurchaseLimits{PerDay: 1, Held: 1})
			equal(t, reached, none)
		})
	})
	t.Run("a purchase that is done goes when it is old enough and no limit counts it, "+
		"and an open one stays", func(t *testing.T) {
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
				got(s.PurgePurchases(t.Context(), purge.now, purge.before, 10))(t)
				there, _ := reserve(t, s, purchase("done"), unlimited)
				equal(t, there.State == store.PurchaseDone, purge.left)
			}
			kept, _ := reserve(t, s, purchase("open"), unlimited)
			equal(t, kept, purchase("open"))
		})
	})
	t.Run("an open purchase without an unfinished intent is a stray", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			reserve(t, s, purchase("effect"), unlimited)
			intent := intentOf(purchase("effect"))
			equal(t, got(s.StrayPurchases(t.Context(), noon.Add(time.Hour)))(t), []store.Purchase{})
			must(t, s.ReleaseIntent(t.Context(), intent, ""))
			equal(t, got(s.StrayPurchases(t.Context(), noon))(t), []store.Purchase{})
			equal(t, got(s.StrayPurchases(t.Context(), noon.Add(time.Hour)))(t), []store.Purchase{purchase("effect")})
			_, _, err := s.ReservePurchase(t.Context(), intent, "", noon, unlimited) // by the run that lost the intent
			refused(t, err, fault.Conflict, store.ReasonIntentLost)
			equal(t, got(s.TakeStray(t.Context(), purchase("effect"), "one"))(t), true)
			equal(t, got(s.TakeStray(t.Context(), purchase("effect"), "two"))(t), false)
			_, err = s.ChooseNumber(t.Context(), purchase("effect"), "+14155550100")
			refused(t, err, fault.Conflict, store.ReasonIntentLost)
		})
	})
	t.Run("a day's limit ends when the purchases above it are a day old", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			for i := range 5 {
				p := purchase(fmt.Sprint(i))
				p.CreatedAt = noon.Add(time.Duration(i) * time.Hour)
				reserve(t, s, p, unlimited)
			}
			next := purchase("next")
			next.CreatedAt = noon.Add(6 * time.Hour)
			_, reached := reserve(t, s, next, store.PurchaseLimits{PerDay: 2, Held: -1})
			equal(t, reached, store.LimitReached{PerDay: true, Until: noon.Add(27 * time.Hour)})
			_, reached = reserve(t, s, next, store.PurchaseLimits{PerDay: 0, Held: -1})
			equal(t, reached, store.LimitReached{PerDay: true}) // no waiting helps
			_, reached = reserve(t, s, next, store.PurchaseLimits{PerDay: 6, Held: -1})
			equal(t, reached, none)
		})
	})
	t.Run("each transition is made from its states, and by the run that has the purchase", func(t *testing.T) {
		both(t, func(t *testing.T, s *store.Store) {
			connection(t, s, "c1")
			const e164 = "+14155550100"
			steps := map[string]func(p store.Purchase) error{
				"choose": func(p store.Purchase) error { _, err := s.ChooseNumber(t.Context(), p, e164); return err },
				"order":  func(p store.Purchase) error { return s.MarkOrdered(t.Context(), p) },
				"fill":   func(p store.Purchase) error { return s.MarkFilled(t.Context(), p) },
				"refuse": func(p store.Purchase) error { return s.MarkReturning(t.Context(), p, []byte(`{}`), 1) },
				"return": func(p store.Purchase) error { return s.MarkReturned(t.Context(), p) },
				"add": func(p store.Purchase) error {
					p.E164 = e164
					_, err := s.AddPurchased(t.Context(), p, store.Number{Ref: "r", CreatedAt: noon})
					return err
				},
				"end": func(p store.Purchase) error { return s.EndPurchase(t.Context(), p) },
			}
			for state, reach := range map[store.PurchaseState]struct {
				by   []string
				next []string
			}{
				store.PurchaseReserved:  {nil, []string{"choose", "end"}},
				store.PurchaseChosen:    {[]string{"choose"}, []string{"choose", "end", "fill", "order"}},
				store.PurchaseOrdered:   {[]string{"choose", "order"}, []string{"choose", "end", "fill", "return"}},
				store.PurchaseFilled:    {[]string{"choose", "order", "fill"}, []string{"add", "refuse", "return"}},
				store.PurchaseReturning: {[]string{"choose", "fill", "refuse"}, []string{"return"}},
				store.PurchaseReturned:  {[]string{"choose", "fill", "refuse", "return"}, nil},
				store.PurchaseDone:      {[]string{"choose", "fill", "add"}, nil},
			} {
				for name, take := range steps {
					p, _ := reserve(t, s, purchase(string(state)+" "+name), unlimited)
					for _, earlier := range reach.by {
						must(t, steps[earlier](p))
					}
					stranger := p
					stranger.Runner = "another"
					refused(t, take(stranger), fault.Conflict, store.ReasonIntentLost)
					if err := take(p); slices.Contains(reach.next, name) {
						must(t, err)
					} else {
						refused(t, err, fault.Conflict, store.ReasonIntentLost)
					}
					for _, clear := range []string{"end", "fill", "return"} { // so that the number is free for the next one
						_ = steps[clear](p)
					}
					if n, held, err := s.NumberHolder(t.Context(), "", e164); err != nil {
						t.Fatal(err)
					} else if held {
						must(t, s.ReleaseNumber(t.Context(), n, noon))
					}
					equal(t, got(s.TakenNumbers(t.Context(), "", "+1"))(t), []string{})
				}
			}
		})
	})
}

// intentOf returns the intent of a purchase, as held by the run of the tests' purchases.
func intentOf(p store.Purchase) store.Intent {
	return store.Intent{TenantID: p.TenantID, Operation: store.PurchaseOperation, Key: p.ID, ConnectionID: p.ConnectionID,
		EffectKey: p.ID, Plan: []byte("{}"),
		State: store.IntentRunning, Owner: "o", LeaseUntil: noon, CreatedAt: p.CreatedAt, UpdatedAt: p.CreatedAt}
}

// reserved begins the intent of a purchase and reserves the purchase.
func reserved(
	t *testing.T, s *store.Store, p store.Purchase, since time.Time, limits store.PurchaseLimits,
) (store.Purchase, store.LimitReached, error) {
	t.Helper()
	if _, _, err := s.BeginIntent(t.Context(), intentOf(p), time.Time{}); err != nil {
		return p, store.LimitReached{}, err
	}
	return s.ReservePurchase(t.Context(), intentOf(p), p.Realm, since, limits)
}
