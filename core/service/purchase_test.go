package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telephony"
)

// limited sets the limits of a tenant.
func (w *world) limited(c apikey.Caller, perDay, held int) apikey.Caller {
	c.Tenant.Settings.MaxPurchasesPerDay, c.Tenant.Settings.MaxPhoneNumbers = &perDay, &held
	return w.with(c)
}

// eachStore runs a test on a world of each store.
func eachStore(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) string{
		"SQLite": storetest.ReusedSQLite, "PostgreSQL": storetest.ReusedPostgres,
	} {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, open)) })
	}
}

func TestOfManyWhoBuyAtOnceNoMoreThanTheLimitDo(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		replicas := []*process{w.start(), w.start(), w.start()}
		for name, test := range map[string]struct {
			perDay, held int
			reason       string
		}{
			"a day": {10, 100, fault.ReasonPurchaseLimit},
			"all":   {100, 10, fault.ReasonNumberLimit},
		} {
			t.Run("of "+name, func(t *testing.T) {
				c := w.limited(w.renew(), test.perDay, test.held)
				_, errs := atOnce(50, func(i int) (Answer[record.PhoneNumber], error) {
					return replicas[i%3].Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
				})
				bought := 0
				for _, err := range errs {
					if err == nil {
						bought++
						continue
					}
					wantReason(t, err, fault.Exhausted, test.reason)
				}
				if bought != 10 || w.phones.bought != 10 {
					t.Errorf("%d of 50 were told that they bought, %d did, want 10", bought, w.phones.bought)
				}
			})
		}
	})
}

func TestALimitSaysWhenItEnds(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.limited(c, 1, 10)
	buyOne(t, p, c, BuyNumber{})
	w.clock.advance(time.Hour)
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.Exhausted, fault.ReasonPurchaseLimit)
	if wait := fault.From(err).RetryAfter; wait != 23*time.Hour {
		t.Errorf("again in %v, want 23h", wait)
	}
	w.clock.advance(23 * time.Hour)
	if _, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"}); err != nil {
		t.Errorf("after a day: %v", err)
	}
}

func TestAFailedPurchaseDoesNotCount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.limited(c, 1, 1)
	w.phones.once("buy", reaction{before: fails(fault.New(fault.Exhausted, fault.ReasonInsufficientFunds,
		"Too little."))})
	_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.Exhausted, fault.ReasonInsufficientFunds)
	buyOne(t, p, c, BuyNumber{})
}

// TestTenantsOfOneAccountNeverGetTheSameNumber uses a provider that accepts the order of a number that the
// account already holds, as some providers do.
func TestTenantsOfOneAccountNeverGetTheSameNumber(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		if strings.HasPrefix(w.url, "postgres") {
			w.slow(100*time.Millisecond, "UPDATE ON purchases", "INSERT ON number_claims")
			w.watchClaims()
		}
		w.phones.byNumber = true
		callers := []apikey.Caller{w.limited(w.tenant("acme"), 100, 100), w.limited(w.tenant("bolt"), 100, 100)}
		replicas := []*process{w.start(), w.start()}
		answers, errs := atOnce(24, func(i int) (Answer[record.PhoneNumber], error) {
			return replicas[i/2%2].Numbers.Buy(background, callers[i%2], Write{}, BuyNumber{AreaCode: "415"})
		})
		seen := map[string]bool{}
		for i, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			if e164 := answers[i].Record.E164; seen[e164] {
				t.Errorf("%s was given twice", e164)
			} else {
				seen[e164] = true
			}
		}
		for i, c := range callers {
			if got := listed(t, replicas[i], c); len(got) != 12 {
				t.Errorf("%s holds %d numbers, want 12", c.Tenant.Name, len(got))
			}
		}
	})
}

// slow delays writes on PostgreSQL by a random time up to most, so that other writes come in between. The
// writes are named as in triggers, such as "UPDATE ON purchases".
func (w *world) slow(most time.Duration, writes ...string) {
	w.tb.Helper()
	db := w.database()
	_, err := db.Exec(fmt.Sprintf(`CREATE FUNCTION linger() RETURNS trigger AS
		$$ BEGIN PERFORM pg_sleep(random() * %f); RETURN COALESCE(NEW, OLD); END $$ LANGUAGE plpgsql`,
		most.Seconds()))
	w.check(err)
	for i, write := range writes {
		for _, when := range []string{"BEFORE", "AFTER"} {
			_, err := db.Exec(fmt.Sprintf("CREATE TRIGGER linger_%d_%s %s %s FOR EACH ROW EXECUTE FUNCTION linger()",
				i, when, when, write))
			w.check(err)
		}
	}
}

// watchClaims fails the test if a number is ordered, changed or given back for a connection that has not
// claimed it.
func (w *world) watchClaims() {
	db := w.database()
	w.phones.touched = func(connection, e164 string) {
		var holder string
		err := db.QueryRow(`SELECT COALESCE(p.connection_id, n.connection_id) FROM number_claims c
			LEFT JOIN purchases p ON p.id = c.purchase_id LEFT JOIN numbers n ON n.id = c.number_id WHERE c.e164 = $1`,
			e164).Scan(&holder)
		if err != nil || holder != connection {
			w.tb.Errorf("%s touches %s, which is claimed by %q (%v)", connection, e164, holder, err)
		}
	}
}

// TestNothingTouchesANumberThatIsNotItsOwn runs three processes that buy, list, change and release for three
// tenants with a shared account of a few numbers. Every third change is rejected, so that numbers are given
// back while others look for them. Others find numbers in the account before their purchase is recorded, and
// every write to the store is delayed.
func TestNothingTouchesANumberThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storetest.ReusedPostgres)
	const any = "INSERT OR UPDATE OR DELETE ON "
	w.slow(8*time.Millisecond, any+"purchases", any+"number_claims", any+"numbers")
	w.watchClaims()
	w.phones.byNumber, w.phones.bare, w.phones.template = true, true,
		"https://voice.example.com/{cloud_employee_id}"
	w.phones.stock = w.phones.stock[:8]
	var changes atomic.Int64
	w.phones.script(func(_ *process, call string) reaction {
		switch {
		case call == "change" && changes.Add(1)%3 == 0:
			return reaction{before: fails(fault.InvalidField("name", "is refused."))}
		case call == "release": // a released number is for sale again
			return reaction{after: func(context.Context) error { w.phones.restock(8); return nil }}
		}
		return reaction{}
	})
	var callers []apikey.Caller
	for _, name := range []string{"acme", "bolt", "coil"} {
		callers = append(callers, w.limited(w.tenant(name), 1000, 1000))
	}
	replicas := []*process{w.start(), w.start(), w.start()}
	atOnce(9, func(i int) (struct{}, error) {
		c, p, dice := callers[i%3], replicas[i/3], rand.New(rand.NewPCG(uint64(i), 7))
		for range 12 {
			switch answer, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{
				AreaCode: "415", Name: c.Tenant.Name, Inbound: employeeID(7),
			}); {
			case err == nil && dice.IntN(3) > 0:
				if _, err := p.Numbers.Release(asKey(c), c, Write{}, answer.Record.ID); err != nil {
					t.Errorf("%s releases %s: %v", c.Tenant.Name, answer.Record.E164, err)
				}
			case err == nil:
				name := c.Tenant.Name + " " + fmt.Sprint(dice.IntN(100))
				if _, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
					ID: answer.Record.ID, Name: &name,
				}); err != nil && fault.From(err).Code != fault.Invalid {
					t.Errorf("%s renames %s: %v", c.Tenant.Name, answer.Record.E164, err)
				}
			case !slices.Contains([]string{fault.ReasonNumberTaken, fault.ReasonNoNumbersAvailable,
				fault.ReasonInvalidRequest}, fault.From(err).Reason):
				t.Errorf("%s buys: %v", c.Tenant.Name, err)
			}
			if _, err := p.Numbers.Reconcile(background, c, RepairAll); err != nil {
				t.Errorf("%s compares: %v", c.Tenant.Name, err)
			}
		}
		return struct{}{}, nil
	})
	owners := map[string]string{}
	for i, c := range callers {
		for _, n := range listed(t, replicas[i], c) {
			if owners[n.E164] != "" {
				t.Errorf("%s is %s's and %s's", n.E164, owners[n.E164], c.Tenant.Name)
			}
			owners[n.E164] = c.Tenant.Name
		}
	}
	for _, n := range w.phones.numbers() {
		if owner := owners[n.E164]; owner == "" || !strings.HasPrefix(n.Name, owner) {
			t.Errorf("%s is %q's and called %q", n.E164, owner, n.Name)
		}
	}
	if left, err := w.store.StrayPurchases(background, w.clock.now().Add(time.Hour)); err != nil ||
		len(left) != 0 {
		t.Errorf("still open are %+v, %v", left, err)
	}
	if w.phones.released == 0 {
		t.Error("nothing went back")
	}
}

func TestAPurchaseLooksPastTheNumbersThatOthersHereHave(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]func(t *testing.T, w *world, p *process, c apikey.Caller){
		"ordered, with an outcome that is not known": func(t *testing.T, w *world, p *process, c apikey.Caller) {
			w.phones.script(func(_ *process, call string) reaction {
				if call == "buy" {
					return reaction{before: fails(cutOff())}
				}
				return reaction{}
			})
			for range 35 {
				_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			}
			w.heal()
		},
		"held, and still offered": func(t *testing.T, w *world, p *process, c apikey.Caller) {
			stock := slices.Clone(w.phones.stock)
			for range 35 {
				buyOne(t, p, c, BuyNumber{})
			}
			w.phones.stock = stock
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.ReusedSQLite)
			p := w.start()
			others(t, w, p, w.limited(w.tenant("acme"), 100, 100))
			searches, orders := w.phones.called("search"), w.phones.called("buy")
			if mine := buyOne(t, p, w.tenant("bolt"), BuyNumber{}); mine.E164 != "+14155550035" {
				t.Errorf("got %s", mine.E164)
			}
			if n := w.phones.called("search") - searches; n != 2 {
				t.Errorf("%d searches, want 2", n)
			}
			if n := w.phones.called("buy") - orders; n != 1 {
				t.Errorf("%d orders, want 1", n)
			}
		})
	}
}

func TestAPurchaseThatNobodyIsInTheWayOfSearchesOnce(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	buyOne(t, p, c, BuyNumber{})
	buyOne(t, p, c, BuyNumber{})
	if n := w.phones.called("search"); n != 2 {
		t.Errorf("%d searches for two numbers", n)
	}
}

func TestAnOrderThatTakesAWhileIsWaitedFor(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ordersTake(2)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	if mine.Name != "Front" || w.phones.called("ordered") != 3 {
		t.Errorf("got %+v after %d looks", mine, w.phones.called("ordered"))
	}
}

func TestAnOrderThatTakesTooLongIsFinishedLater(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"a repeat", "recovery"} {
		t.Run("by "+by, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.phones.ordersTake(2)
			p.Numbers.firstPoll = time.Hour // later than the deadline
			_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
			p.Numbers.firstPoll = time.Millisecond
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
			if detail := fault.From(err).Detail; !strings.Contains(detail, "+14155550000") ||
				!strings.Contains(detail, "same Idempotency-Key") {
				t.Errorf("it says %q", detail)
			}
			if by == "recovery" {
				for range 4 {
					w.clock.advance(time.Minute)
					p.recover(t)
				}
				if got := listed(t, p, c); len(got) != 1 || got[0].Name != "Front" {
					t.Errorf("listed are %+v", got)
				}
			}
			answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
			if err != nil || answer.Record.E164 != "+14155550000" || answer.Record.Name != "Front" ||
				w.phones.bought != 1 || answer.Replayed != (by == "recovery") {
				t.Errorf("the repeat answers %+v, replayed %v, %v; %d bought", answer.Record, answer.Replayed, err,
					w.phones.bought)
			}
		})
	}
}

// A look that fails says nothing about the order, whatever the provider answers to it.
func TestALookForAnOrderThatFailsDoesNotEndThePurchase(t *testing.T) {
	t.Parallel()
	for _, code := range []fault.Code{fault.Unsupported, fault.Invalid, fault.Conflict, fault.NotFound,
		fault.Exhausted, fault.RateLimited, fault.Disconnected, fault.Forbidden, fault.Timeout} {
		for _, by := range []string{"a repeat", "recovery", "a repeat without the intent"} {
			w, p, c := sqliteWorld(t)
			w.phones.ordersTake(0)
			buy := func() (record.PhoneNumber, error) {
				answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
				return answer.Record, err
			}
			w.phones.once("buy", reaction{after: fails(cutOff())})
			_, err := buy()
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.phones.script(func(_ *process, call string) reaction {
				if call == "ordered" {
					return reaction{before: fails(fault.New(code, "REFUSED", "No."))}
				}
				return reaction{}
			})
			w.clock.advance(time.Hour)
			switch by {
			case "a repeat without the intent":
				w.clock.advance(73 * time.Hour) // answers are kept for less
				fallthrough
			case "a repeat":
				if _, err = buy(); err == nil {
					t.Errorf("%s, by %s: answered although nobody could look", code, by)
				}
			default:
				p.recover(t)
			}
			w.phones.script(nil)
			w.clock.advance(time.Hour)
			p.recover(t)
			if mine, err := buy(); err != nil || mine.E164 != "+14155550000" || mine.Name != "Front" || w.phones.bought != 1 {
				t.Errorf("%s, by %s: answered %+v, %v; %d bought", code, by, mine, err, w.phones.bought)
			}
		}
	}
}

// waitsForDocuments is a driver's fault for an order that waits for a person.
func waitsForDocuments() error {
	return fault.New(fault.UnknownOutcome, fault.ReasonOrderPending, "+14155550000 is ordered, but needs documents.")
}

func TestAnOrderThatWaitsForAPersonIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"buy", "ordered"} {
		t.Run(at, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.phones.ordersTake(1)
			wait := func(calls ...string) {
				w.phones.script(func(_ *process, call string) reaction {
					if slices.Contains(calls, call) {
						return reaction{after: fails(waitsForDocuments())}
					}
					return reaction{}
				})
			}
			wait(at, "ordered")
			for range 3 {
				_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
				if f := fault.From(err); !strings.Contains(f.Detail, "needs documents. Repeat the request with the "+
					"same Idempotency-Key") || f.Metadata[metaNumber] != "+14155550000" ||
					f.RetryAfter != journal.PendingInterval {
					t.Errorf("it says %+v", f)
				}
			}
			w.clock.advance(time.Hour)
			p.recover(t)
			wait() // somebody has added the documents
			w.clock.advance(time.Hour)
			p.recover(t)
			answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
			if err != nil || answer.Record.E164 != "+14155550000" || answer.Record.Name != "Front" ||
				w.phones.bought != 1 {
				t.Errorf("answered %+v, %v; %d bought", answer.Record, err, w.phones.bought)
			}
		})
	}
}

func TestAnOrderKnownToBeUnderWayIsLookedAtEveryHalfMinute(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		outage      []string // the calls that fail
		least, most int      // number of looks in ten minutes, after an hour
	}{
		"one that is under way":             {least: 19, most: 20},
		"one that is, but cannot be asked":  {outage: []string{"ordered"}, least: 19, most: 20},
		"one that may not have been placed": {outage: []string{"buy", "ordered"}, least: 1, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.phones.ordersTake(1000)
			fail := func(calls ...string) {
				w.phones.script(func(_ *process, call string) reaction {
					if slices.Contains(calls, call) {
						return reaction{after: fails(cutOff())}
					}
					return reaction{}
				})
			}
			if slices.Contains(test.outage, "buy") {
				fail("buy", "ordered")
			}
			p.Numbers.firstPoll = time.Hour // later than the deadline
			_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			p.Numbers.firstPoll = time.Millisecond
			if f := faultOf(t, err); f.Code != fault.UnknownOutcome {
				t.Fatal(err)
			}
			fail(test.outage...)
			w.clock.advance(time.Hour)
			p.recover(t)
			looks := 0
			for range 10 * time.Minute / recoveryInterval {
				before := w.phones.called("ordered")
				w.clock.advance(recoveryInterval)
				p.recover(t)
				if w.phones.called("ordered") > before {
					looks++
				}
			}
			if looks < test.least || looks > test.most {
				t.Errorf("%d looks, want %d to %d", looks, test.least, test.most)
			}
		})
	}
}

func TestAnOrderThatFollowsAFailedOneIsNotKnownToBeUnderWay(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ordersTake(1000)
	known := func() bool {
		t.Helper()
		ordered, err := w.store.OrderedPurchases(background)
		w.check(err)
		return len(ordered) == 1
	}
	p.Numbers.firstPoll = time.Hour // later than the deadline
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	p.Numbers.firstPoll = time.Millisecond
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
	if !known() {
		t.Error("the first one is not")
	}
	w.phones.script(func(_ *process, call string) reaction {
		switch call {
		case "ordered":
			return reaction{before: fails(fault.New(fault.Conflict, fault.ReasonNumberTaken, "The order failed."))}
		case "buy":
			return reaction{before: fails(cutOff())}
		}
		return reaction{}
	})
	_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if known() {
		t.Error("the second one is")
	}
}

func TestAnOrderThatFailsLaterIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ordersTake(1)
	w.phones.once("ordered", reaction{before: func(context.Context) error {
		w.phones.mu.Lock()
		defer w.phones.mu.Unlock()
		w.phones.held, w.phones.bought = nil, 0
		return fault.New(fault.Conflict, fault.ReasonNumberTaken, "The order failed.")
	}})
	if mine := buyOne(t, p, c, BuyNumber{}); mine.E164 != "+14155550001" || w.phones.bought != 1 {
		t.Errorf("got %+v; %d bought", mine, w.phones.bought)
	}
}

func TestANumberThatCannotBeSetUpGoesBack(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Invalid, fault.ReasonProviderRefused, "There is no such trunk.")
	for name, test := range map[string]struct {
		release error // how the first release fails
	}{
		"at once": {},
		"later":   {release: answers503()},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			c = w.limited(c, 2, 2)
			w.phones.bare, w.phones.trunk = true, "TK1"
			failed := atomic.Bool{}
			w.phones.script(func(_ *process, call string) reaction {
				switch {
				case call == "change":
					return reaction{before: fails(refused)}
				case call == "release" && test.release != nil && failed.CompareAndSwap(false, true):
					return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "Not now."))}
				}
				return reaction{}
			})
			_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Inbound: employeeID(7)})
			if test.release != nil {
				wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
				w.clock.advance(time.Minute)
				p.recover(t)
				if w.unsettled() != 0 {
					t.Error("it is not settled")
				}
			} else {
				wantReason(t, err, fault.Invalid, fault.ReasonProviderRefused)
				if detail := fault.From(err).Detail; !strings.Contains(detail, "given back") ||
					!strings.Contains(detail, "no such trunk") {
					t.Errorf("it says %q", detail)
				}
			}
			if held := w.phones.numbers(); len(held) != 0 || w.phones.released != 1 || len(listed(t, p, c)) != 0 {
				t.Errorf("the account holds %+v; %d were given back", held, w.phones.released)
			}
			w.heal()
			_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Inbound: employeeID(7)})
			wantReason(t, err, fault.Invalid, fault.ReasonProviderRefused) // one key buys once
			c = w.changed(c)
			buyOne(t, p, c, BuyNumber{}) // the second of two a day, since money was spent on the first
			_, err = p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
			wantReason(t, err, fault.Exhausted, fault.ReasonPurchaseLimit)
		})
	}
}

// changed returns the caller with settings of another revision.
func (w *world) changed(c apikey.Caller) apikey.Caller {
	connections := maps.Clone(c.Connections)
	phones := connections[adapter.KindTelephony]
	phones.Revision++
	connections[adapter.KindTelephony], c.Connections = phones, connections
	return w.with(c)
}

// TestNoNumberIsBoughtToBeGivenBack checks that at most one number is given back if numbers cannot be set up.
func TestNoNumberIsBoughtToBeGivenBack(t *testing.T) {
	t.Parallel()
	wrong := fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "There is no such trunk.")
	refuse := func(w *world, how *fault.Error) {
		w.phones.bare, w.phones.trunk = true, "TK1"
		w.phones.script(func(_ *process, call string) reaction {
			if call == "change" {
				return reaction{before: fails(how)}
			}
			return reaction{}
		})
	}
	for name, test := range map[string]struct {
		prepare func(w *world)
		first   string // reasons of the errors of the first of many calls and of the others
		others  string
		bought  int
		mends   func(w *world, c apikey.Caller) apikey.Caller
		nobody  bool // the calls lead to no employee
	}{
		"a check finds it before": {
			prepare: func(w *world) { w.phones.checks, w.phones.setup = true, wrong },
			first:   fault.ReasonProviderMisconfigured, others: fault.ReasonProviderMisconfigured,
			mends: func(w *world, c apikey.Caller) apikey.Caller { w.phones.setup = nil; return c },
		},
		"a check finds it after the first": {
			prepare: func(w *world) {
				w.phones.checks = true
				refuse(w, wrong)
				w.phones.once("change", reaction{before: func(context.Context) error {
					w.phones.setup = wrong
					return wrong
				}})
			},
			first: fault.ReasonProviderMisconfigured, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { w.phones.setup = nil; return c },
		},
		"no check finds it": {
			prepare: func(w *world) { w.phones.checks = true; refuse(w, wrong) },
			first:   fault.ReasonProviderMisconfigured, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
		},
		"no check finds it, and there is no answer to the one after the refusal": {
			prepare: func(w *world) {
				w.phones.checks, w.phones.bare, w.phones.trunk = true, true, "TK1"
				away := atomic.Bool{}
				w.phones.script(func(_ *process, call string) reaction {
					switch {
					case call == "change":
						away.Store(true)
						return reaction{before: fails(wrong)}
					case call == "check" && away.Load():
						return reaction{before: fails(answers503())}
					case call == "release":
						away.Store(false)
					}
					return reaction{}
				})
			},
			first: fault.ReasonProviderMisconfigured, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
		},
		"nothing can be checked": {
			prepare: func(w *world) {
				refuse(w, fault.New(fault.Conflict, fault.ReasonProviderConflict, "Not there."))
			},
			first: fault.ReasonProviderConflict, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
		},
		"the account may not": {
			prepare: func(w *world) {
				refuse(w, fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "It may not."))
			},
			first: fault.ReasonPermissionDenied, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
		},
		"the account may not even name it": {
			prepare: func(w *world) {
				refuse(w, fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "It may not."))
			},
			first: fault.ReasonPermissionDenied, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends:  func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
			nobody: true,
		},
		"what calls are to lead to is not found": {
			prepare: func(w *world) { refuse(w, fault.New(fault.NotFound, fault.ReasonNumberNotFound, "Not there.")) },
			first:   fault.ReasonProviderMisconfigured, others: fault.ReasonProviderMisconfigured, bought: 1,
			mends: func(w *world, c apikey.Caller) apikey.Caller { return w.changed(c) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storetest.ReusedSQLite)
			c := w.limited(w.tenant("acme"), 100, 100)
			w.phones.trunk = "TK1"
			test.prepare(w)
			wanted := BuyNumber{AreaCode: "415", Inbound: employeeID(7)}
			if test.nobody {
				wanted.Inbound = nil
			}
			replicas := []*process{w.start(), w.start()}
			for i := range 6 {
				_, err := replicas[i%2].Numbers.Buy(asKey(c), c, Write{}, wanted)
				if reason := faultOf(t, err).Reason; i == 0 && reason != test.first || i > 0 && reason != test.others {
					t.Errorf("purchase %d is refused: %v", i, err)
				}
				if wait := fault.From(err).RetryAfter; wait != 0 {
					t.Errorf("again in %v", wait)
				}
			}
			if w.phones.bought != test.bought || w.phones.released != test.bought || len(w.phones.numbers()) != 0 {
				t.Errorf("%d were bought, %d given back; held are %+v", w.phones.bought, w.phones.released,
					w.phones.numbers())
			}
			w.heal()
			c = test.mends(w, c)
			if _, err := replicas[0].Numbers.Buy(asKey(c), c, Write{}, wanted); err != nil {
				t.Errorf("once it is mended: %v", err)
			}
		})
	}
}

// A repeat that finds no order, and orders none because of the settings, has certainly bought nothing.
func TestARepeatThatOrdersNothingBecauseOfTheSettingsSaysSo(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.checks = true
	buy := func() error {
		_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		return err
	}
	w.phones.times(3, "buy", reaction{before: fails(cutOff())})
	wantReason(t, buy(), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.phones.script(nil)
	w.clock.advance(rememberSetup)
	w.phones.setup = fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "There is no such trunk.")
	wantReason(t, buy(), fault.Unsupported, fault.ReasonProviderMisconfigured)
	if n := w.unsettled(); n != 0 || w.phones.bought != 0 {
		t.Errorf("%d calls are open; %d numbers were bought", n, w.phones.bought)
	}
	w.phones.setup = nil
	if err := buy(); err != nil || w.phones.bought != 1 {
		t.Errorf("once it is mended: %v; %d bought", err, w.phones.bought)
	}
}

func TestASetupThatWorksIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.checks = true
	for range 3 {
		buyOne(t, p, c, BuyNumber{})
	}
	if n := w.phones.called("check"); n != 1 {
		t.Errorf("%d checks for three numbers", n)
	}
	w.clock.advance(rememberSetup)
	buyOne(t, p, c, BuyNumber{})
	buyOne(t, p, w.changed(c), BuyNumber{})
	if n := w.phones.called("check"); n != 3 {
		t.Errorf("%d checks", n)
	}
}

// TestANameThatIsRefusedKeepsNobodyElseFromBuying rejects a name, which is a fault of one request only.
func TestANameThatIsRefusedKeepsNobodyElseFromBuying(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.bare, w.phones.trunk = true, "TK1"
	w.phones.once("change", reaction{before: fails(fault.InvalidField("name", "is too long."))})
	_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{
		AreaCode: "415", Name: "Long", Inbound: employeeID(7),
	})
	if f := faultOf(t, err); f.Code != fault.Invalid || w.phones.released != 1 ||
		f.Detail != "+14155550000 was bought and given back at once, because it could not be set up: name is too long." {
		t.Errorf("answered %v; %d given back", err, w.phones.released)
	}
	buyOne(t, p, c, BuyNumber{Inbound: employeeID(7)})
}

func TestSoldOutNamesNeighboursThatHaveSome(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.stock = []string{"+16285550100", "+12125550100"}
	_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.Exhausted, fault.ReasonNoNumbersAvailable)
	if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != "area_code" ||
		f.Fields[0].Value != "628" {
		t.Errorf("it names %+v, want 628", f.Fields)
	}
}

func TestAPurchaseOfNobodyIsNotOrderedByItself(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.times(9, "buy", reaction{before: fails(cutOff())})
	_, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.heal()
	w.clock.advance(time.Minute)
	p.recover(t)
	if w.phones.bought != 0 || w.unsettled() != 0 {
		t.Errorf("%d bought, %d not settled", w.phones.bought, w.unsettled())
	}
	if open, err := w.store.StrayPurchases(background, w.clock.now().Add(time.Hour)); err != nil ||
		len(open) != 0 {
		t.Errorf("still open are %+v, %v", open, err)
	}
}

// TestAnOrderMayArriveAfterItsCallerHasGone: recovery does not take a number that is not there yet for one that was not
// ordered. The account would get it after all, and the caller's repeat would buy another.
func TestAnOrderMayArriveAfterItsCallerHasGone(t *testing.T) {
	t.Parallel()
	tooLate := fault.New(fault.Timeout, fault.ReasonDeadlineExceeded, "No answer in time.")
	for how, reaction := range map[string]reaction{
		"the deadline has passed": {before: fails(tooLate)},
		"the connection is lost":  {before: fails(cutOff())},
	} {
		w, p, c := sqliteWorld(t)
		w.phones.byNumber = true // as at Twilio
		w.phones.times(3, "buy", reaction)
		_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		if fault.From(err) == nil {
			t.Fatal(how + ": it is answered")
		}
		w.heal()
		w.clock.advance(time.Second)
		p.recover(t)
		late := &phoneDriver{phoneAccount: w.phones, process: p}
		if _, err := late.Buy(background, telephony.Order{E164: "+14155550000"}); err != nil {
			t.Fatal(err)
		}
		answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		if err != nil || answer.Record.E164 != "+14155550000" || w.phones.bought != 1 {
			t.Errorf("%s: the repeat is answered %+v, %v; %d are bought", how, answer.Record, err, w.phones.bought)
		}
	}
}

// TestAnOrderMayBeInTheWayOfItsRepeat: a provider that is still at the first order refuses the second, and does not
// list the first yet. The caller gets that number, and no other beside it.
func TestAnOrderMayBeInTheWayOfItsRepeat(t *testing.T) {
	t.Parallel()
	taken := fault.New(fault.Conflict, fault.ReasonNumberTaken, "It is taken.")
	for name, test := range map[string]struct {
		refused error // why the second order is
		arrives bool  // whether the first does
	}{
		"it arrives":     {taken, true},
		"it never does":  {taken, false},
		"nobody is told": {fault.New(fault.Invalid, fault.ReasonProviderRefused, "It is not valid."), true}, // as at Telnyx
	} {
		w, p, c := sqliteWorld(t)
		w.phones.traits.IdempotentBuy, w.phones.byNumber = false, true
		w.phones.once("buy", reaction{before: fails(cutOff())})
		_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		w.phones.once("buy", reaction{before: fails(test.refused)})
		_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		const want = "+14155550000"
		if test.arrives {
			late := &phoneDriver{phoneAccount: w.phones, process: p}
			if _, err := late.Buy(background, telephony.Order{E164: want}); err != nil {
				t.Fatal(err)
			}
		}
		w.clock.advance(time.Minute)
		w.phones.once("buy", reaction{before: fails(taken)})
		answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		if err != nil || answer.Record.E164 != want || w.phones.bought != 1 {
			t.Errorf("%s: got %+v, %v; %d are bought", name, answer.Record, err, w.phones.bought)
		}
	}
}

// TestWhoRepeatsAPurchaseOftenIsAnsweredAsSoon as one who waits: repeats that are refused put nothing off.
func TestWhoRepeatsAPurchaseOftenIsAnsweredAsSoon(t *testing.T) {
	t.Parallel()
	taken := fault.New(fault.Conflict, fault.ReasonNumberTaken, "It is taken.")
	for _, idempotent := range []bool{false, true} { // as at Telnyx, and at Twilio
		for name, refused := range map[string]*fault.Error{
			"taken": taken, "refused": fault.New(fault.Invalid, fault.ReasonProviderRefused, "It needs an address."),
			"set up": fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured, "The account has no address."),
		} {
			w, p, c := sqliteWorld(t)
			w.phones.traits.IdempotentBuy, w.phones.byNumber = idempotent, true
			w.phones.times(9, "buy", reaction{before: fails(cutOff())})
			_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			began := w.clock.now()
			for most := time.Minute; fault.From(err) != nil && fault.From(err).Code == fault.UnknownOutcome &&
				w.clock.now().Sub(began) < most; {
				w.clock.advance(5 * time.Second)
				w.phones.once("buy", reaction{before: fails(refused)})
				_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			}
			if another := refused == taken; another != (err == nil) || !another && fault.From(err).Code != refused.Code ||
				another != (w.phones.bought == 1) {
				t.Errorf("%s (idempotent: %t), after %v: %v; %d are bought", name, idempotent, w.clock.now().Sub(began), err,
					w.phones.bought)
			}
		}
	}
}

func TestAPurchaseThatWasDoneAndReleasedIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		atConsole bool // released at the provider and noticed by a list; else through the gateway
		settled   bool // settled before the repeat
	}{
		"released through the gateway":          {},
		"released through the gateway, settled": {settled: true},
		"released at the provider":              {atConsole: true},
		"released at the provider, settled":     {atConsole: true, settled: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			db := w.database()
			_, err := db.Exec(
				"CREATE TRIGGER failing BEFORE UPDATE OF state ON intents WHEN NEW.state = 'done' BEGIN SELECT " +
					"RAISE(ABORT, 'the disk is full'); END")
			w.check(err)
			answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			w.check(err) // the caller gets the answer, which is lost with the process
			p.kill()
			p = w.start()
			_, err = db.Exec("DROP TRIGGER failing")
			w.check(err)
			if test.atConsole {
				w.phones.held = nil
				if got := listed(t, p, c); len(got) != 0 {
					t.Fatalf("listed are %+v", got)
				}
			} else if _, err := p.Numbers.Release(asKey(c), c, Write{}, answer.Record.ID); err != nil {
				t.Fatal(err)
			}
			w.clock.advance(time.Minute)
			if test.settled {
				p.recover(t)
				if w.unsettled() != 0 {
					t.Error("it is not settled")
				}
			}
			for range 2 {
				_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
				wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			}
			w.clock.advance(71 * time.Hour)
			p.Numbers.reconcileAll(background)
			_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
			wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			if w.phones.bought != 1 {
				t.Errorf("%d bought", w.phones.bought)
			}
			w.clock.advance(time.Hour)
			if _, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"}); err != nil {
				t.Errorf("after the key is free again: %v", err)
			}
		})
	}
}

// TestANumberReleasedAtTheProviderBeforeItWasRecordedIsNotBoughtAgain uses a number that no list has shown.
func TestANumberReleasedAtTheProviderBeforeItWasRecordedIsNotBoughtAgain(t *testing.T) {
	t.Parallel()
	reaches := map[string]func(w *world){
		"its order under way": func(w *world) { w.phones.ordersTake(1000) },
		"bought, and not set up": func(w *world) {
			w.phones.bare = true
			w.phones.times(9, "change", reaction{before: fails(cutOff())})
		},
	}
	for name, reach := range reaches {
		for by, settled := range map[string]bool{"a repeat": false, "recovery": true} {
			t.Run(name+", found by "+by, func(t *testing.T) {
				w, p, c := sqliteWorld(t)
				c = w.limited(c, 1, 100)
				reach(w)
				p.Numbers.firstPoll = time.Hour // later than the deadline
				_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
				p.Numbers.firstPoll = time.Millisecond
				if f := faultOf(t, err); f.Code != fault.UnknownOutcome {
					t.Fatal(err)
				}
				w.heal()
				w.phones.stock, w.phones.held = append(w.phones.stock, w.phones.held[0].E164), nil
				w.clock.advance(time.Minute)
				if settled {
					p.recover(t)
					if w.unsettled() != 0 {
						t.Error("it is not settled")
					}
				}
				for range 2 {
					_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
					wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
				}
				if w.phones.bought != 1 {
					t.Errorf("%d bought", w.phones.bought)
				}
				_, err = p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
				wantReason(t, err, fault.Exhausted, fault.ReasonPurchaseLimit) // money was spent
			})
		}
	}
}

func TestAPurchaseWhoseNumberWentBackStaysOpenUntilThatIsRecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    error // the error of setting up
		atConsole bool  // released at the provider
	}{
		"given back as it cannot be set up": {change: fault.New(fault.Invalid, fault.ReasonProviderRefused,
			"There is no such name.")},
		"released at the provider": {change: cutOff(), atConsole: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.phones.bare = true
			w.phones.times(9, "change", reaction{before: fails(test.change)})
			db := w.database()
			_, err := db.Exec(
				"CREATE TRIGGER failing BEFORE UPDATE OF state ON purchases WHEN NEW.state = 'returned' BEGIN SELECT " +
					"RAISE(ABORT, 'the disk is full'); END")
			w.check(err)
			_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
			wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
			w.heal()
			if test.atConsole {
				w.phones.held = nil
			}
			for range 2 {
				w.clock.advance(maxRetryDelay)
				p.recover(t)
				if w.unsettled() != 1 {
					t.Fatal("it is let go")
				}
			}
			_, err = db.Exec("DROP TRIGGER failing")
			w.check(err)
			w.clock.advance(maxRetryDelay)
			p.recover(t)
			if w.unsettled() != 0 {
				t.Error("it is not settled")
			}
			_, err = p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415", Name: "Front"})
			if f := faultOf(t, err); test.atConsole && f.Reason != fault.ReasonNumberNotFound ||
				!test.atConsole && f.Reason != fault.ReasonProviderRefused {
				t.Errorf("the repeat answers %v", err)
			}
			if w.phones.bought != 1 {
				t.Errorf("%d bought", w.phones.bought)
			}
		})
	}
}

func TestAStrayPurchaseIsTakenIn(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.times(9, "buy", reaction{after: fails(cutOff())})
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.heal()
	open, err := w.store.UnsettledIntents(background, w.clock.now().Add(time.Hour), w.clock.now(), 10)
	w.check(err)
	w.check(w.store.ReleaseIntent(background, open[0], "")) // no process resumes it
	w.clock.advance(time.Hour)
	p.Numbers.reconcileAll(background)
	if got := listed(t, p, c); len(got) != 1 || got[0].E164 != "+14155550000" {
		t.Errorf("listed are %+v", got)
	}
	if left, err := w.store.StrayPurchases(background, w.clock.now()); err != nil || len(left) != 0 {
		t.Errorf("still open are %+v, %v", left, err)
	}
	answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	if err != nil || answer.Record.E164 != "+14155550000" || w.phones.bought != 1 {
		t.Errorf("the repeat answers %+v, %v; %d are bought", answer.Record, err, w.phones.bought)
	}
}

func TestChangesAtOnceEndAlikeInBothPlaces(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, w *world) {
		c := w.tenant("acme")
		replicas := []*process{w.start(), w.start(), w.start()}
		w.phones.template = "https://voice.example.com/{cloud_employee_id}"
		mine := buyOne(t, replicas[0], c, BuyNumber{})
		for round := range 5 {
			_, errs := atOnce(6, func(i int) (Answer[record.PhoneNumber], error) {
				name := fmt.Sprintf("Line %d.%d", round, i)
				return replicas[i%3].Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
					ID: mine.ID, Name: &name, Inbound: EmployeeChange{Set: true, ID: employeeID(int64(i))},
				})
			})
			for _, err := range errs {
				if err != nil {
					wantReason(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
				}
			}
			kept, err := replicas[0].Numbers.Get(background, c, mine.ID)
			w.check(err)
			there := w.phones.numbers()[0]
			if want := fmt.Sprintf("https://voice.example.com/%d",
				*kept.InboundCloudEmployeeID); there.Name != kept.Name || there.Routing.VoiceURL != want {
				t.Fatalf("the table has %+v, the provider %+v", kept, there)
			}
		}
	})
}

// TestSagaSurvivesEveryKill kills processes at random calls of the provider during purchases, with providers
// of every kind, and lets repeats and recovery finish the purchases. In the end every key has bought at most
// one number, and no number is lost: each number of the account is in the table, named and routed, and each
// that a caller was told of is held. FRONTDESK_SAGA_SEED repeats one run; FRONTDESK_SAGA_RUNS is the number
// of runs, 60 by default.
func TestSagaSurvivesEveryKill(t *testing.T) {
	runs, first := 60, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("FRONTDESK_SAGA_RUNS")); err == nil {
		runs = n
	}
	if seed, err := strconv.ParseUint(os.Getenv("FRONTDESK_SAGA_SEED"), 10, 64); err == nil {
		runs, first = 1, seed
	}
	const shards = 4
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			w, kills := newWorld(t, storetest.ReusedSQLite), 0
			for i := shard; i < runs; i += shards {
				seed := first + uint64(i)
				kills += saga(t, w, seed)
				if t.Failed() {
					t.Fatalf("repeat it with FRONTDESK_SAGA_SEED=%d", seed)
				}
			}
			t.Logf("%d processes were killed", kills)
		})
	}
}

func saga(t *testing.T, w *world, seed uint64) (kills int) {
	t.Helper()
	dice := rand.New(rand.NewPCG(seed, 0))
	defer func() {
		for p := range maps.Clone(w.lives) {
			p.stop()
		}
	}()
	c := w.limited(w.renew(), 100, 100)
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	switch dice.IntN(4) {
	case 0: // like the sandbox
	case 1: // like Twilio
		w.phones.bare, w.phones.byNumber = true, true
	case 2: // like Telnyx
		w.phones.ordersTake(dice.IntN(3))
	case 3:
		w.phones.traits.IdempotentBuy = false
	}
	if dice.IntN(4) == 0 {
		w.phones.stock = w.phones.stock[:0]
		for i := range 6 {
			w.phones.stock = append(w.phones.stock, fmt.Sprintf("+1415555%04d", i))
		}
	}
	p := w.start()
	bought := map[string]string{} // key -> E.164
	keys := 1 + dice.IntN(4)
	deaths := 1 + dice.IntN(4)
	var left atomic.Int64
	left.Store(-1)
	after := false
	w.phones.script(func(p *process, call string) reaction {
		if left.Add(-1) != 0 {
			return reaction{}
		}
		die := func(context.Context) error { p.kill(); return fmt.Errorf("killed at %s", call) }
		if after {
			return reaction{after: die}
		}
		return reaction{before: die}
	})
	for range 12 {
		if deaths > 0 {
			after = dice.IntN(2) == 0
			left.Store(int64(1 + dice.IntN(4)))
		} else {
			left.Store(-1)
		}
		switch dice.IntN(6) {
		case 0:
			_, _ = p.Numbers.List(background, c)
		case 1:
			_ = p.recoverOnce()
		default:
			k := fmt.Sprint("k", dice.IntN(keys))
			if bought[k] != "" && dice.IntN(3) > 0 { // prefer a key that is not done
				k = fmt.Sprint("k", dice.IntN(keys))
			}
			answer, err := p.Numbers.Buy(asKey(c), c, key(k), BuyNumber{
				AreaCode: "415", Name: "Line " + k, Inbound: employeeID(7),
			})
			if err == nil {
				if before := bought[k]; before != "" && before != answer.Record.E164 {
					t.Errorf("the key %s was told %s, then %s", k, before, answer.Record.E164)
				}
				bought[k] = answer.Record.E164
			}
		}
		if p.dead.Load() {
			kills++
			deaths--
			w.mu.Lock()
			delete(w.lives, p)
			w.mu.Unlock()
			p = w.start()
			w.clock.advance(time.Duration(dice.IntN(30)) * time.Second)
		}
	}
	left.Store(-1)
	for range 6 { // open purchases settle without repeats
		w.clock.advance(time.Minute)
		p.recover(t)
	}
	w.clock.advance(time.Hour)
	p.Numbers.reconcileAll(background)
	checkSaga(t, w, p, c, bought, keys)
	return kills
}

func checkSaga(t *testing.T, w *world, p *process, c apikey.Caller, bought map[string]string, keys int) {
	t.Helper()
	if open := w.unsettled(); open != 0 {
		t.Errorf("%d intents are not settled", open)
	}
	if stray, err := w.store.StrayPurchases(background, w.clock.now().Add(time.Hour)); err != nil ||
		len(stray) != 0 {
		t.Errorf("open purchases are left: %+v, %v", stray, err)
	}
	listed := listed(t, p, c)
	held := w.phones.numbers()
	if len(listed) != len(held) || len(held) > keys {
		t.Errorf("the account holds %d numbers, the table %d, for %d keys", len(held), len(listed), keys)
	}
	for _, n := range held {
		i := slices.IndexFunc(listed, func(r record.PhoneNumber) bool { return r.E164 == n.E164 })
		switch {
		case i < 0:
			t.Errorf("%s is lost", n.E164)
		case listed[i].Name != n.Name || !strings.HasPrefix(n.Name, "Line k") ||
			listed[i].InboundCloudEmployeeID == nil || n.Routing.VoiceURL != "https://voice.example.com/7":
			t.Errorf("%s is half done: %+v, at the provider %+v", n.E164, listed[i], n)
		}
	}
	for k, e164 := range bought {
		if !slices.ContainsFunc(held, func(n telephony.Number) bool {
			return n.E164 == e164 && n.Name == "Line "+k
		}) {
			t.Errorf("%s, of the key %s, is not held", e164, k)
		}
	}
	names := map[string]bool{}
	for _, n := range held {
		if names[n.Name] {
			t.Errorf("a second number was bought for %s", n.Name)
		}
		names[n.Name] = true
	}
}

// telephonySettings sets the settings of the tenant's telephony connection.
func (w *world) telephonySettings(c apikey.Caller, settings map[string]any) apikey.Caller {
	connections := map[adapter.Kind]connection.Connection{}
	for kind, conn := range c.Connections {
		if kind == adapter.KindTelephony {
			conn.Settings = settings
		}
		connections[kind] = conn
	}
	c.Connections = connections
	return w.with(c)
}

func describe(t *testing.T, drifts []Drift) string {
	t.Helper()
	var kinds []string
	for _, d := range drifts {
		kinds = append(kinds, fmt.Sprintf("%s %s repaired=%v", d.E164, d.Kind, d.Repaired))
	}
	slices.Sort(kinds)
	raw, err := json.Marshal(kinds)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
