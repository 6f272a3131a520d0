package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

const contested = "+14155550100"

// party is one of two tenants who share an account, with an open purchase of its own.
type party struct {
	tenant, connection string
	purchase           store.Purchase
}

func (p party) found() store.Number {
	return store.Number{
		TenantID: p.tenant, ConnectionID: p.connection, Ref: "ref", E164: contested, CreatedAt: noon,
	}
}

// act acts on the contested number and reports whether the party has the number afterwards.
type act func(t *testing.T, s *store.Store, p party) (has bool, err error)

func chooses(t *testing.T, s *store.Store, p party) (bool, error) {
	return s.ChooseNumber(t.Context(), p.purchase, contested)
}

func finds(t *testing.T, s *store.Store, p party) (bool, error) {
	kept, err := add(t, s, p.found())
	if err != nil && fault.From(err).Reason == fault.ReasonNumberTaken {
		return false, nil
	}
	return kept.ID != 0, err // 0: the number has been given back before, so that the provider has to be asked first
}

func buys(t *testing.T, s *store.Store, p party) (bool, error) {
	chosen, err := chooses(t, s, p)
	if err != nil || !chosen {
		return false, err
	}
	if err := s.MarkFilled(t.Context(), p.purchase); err != nil {
		return false, err
	}
	p.purchase.E164 = contested
	_, err = s.AddPurchased(t.Context(), p.purchase, p.found())
	return err == nil, err
}

// TestANumberHasOneHolderWhoeverComesBetweenTwoStatements interrupts what one tenant does to a number before
// each of its statements by what another tenant does.
func TestANumberHasOneHolderWhoeverComesBetweenTwoStatements(t *testing.T) {
	t.Parallel()
	acts := map[string]struct {
		prepare func(t *testing.T, s *store.Store, p party) // before the act
		do      act
	}{
		"choose": {do: chooses},
		"find":   {do: finds},
		"buy":    {do: buys},
		"end": {
			prepare: func(t *testing.T, s *store.Store, p party) { equal(t, got(chooses(t, s, p))(t), true) },
			do: func(t *testing.T, s *store.Store, p party) (bool, error) {
				return false, s.EndPurchase(t.Context(), p.purchase)
			},
		},
		"choose another": {
			prepare: func(t *testing.T, s *store.Store, p party) { equal(t, got(chooses(t, s, p))(t), true) },
			do: func(t *testing.T, s *store.Store, p party) (bool, error) {
				_, err := s.ChooseNumber(t.Context(), p.purchase, "+14155550199")
				return false, err
			},
		},
		"give back": {
			prepare: func(t *testing.T, s *store.Store, p party) {
				equal(t, got(chooses(t, s, p))(t), true)
				must(t, s.MarkFilled(t.Context(), p.purchase))
				must(t, s.MarkReturning(t.Context(), p.purchase, []byte("{}"), 1))
			},
			do: func(t *testing.T, s *store.Store, p party) (bool, error) {
				return false, s.MarkReturned(t.Context(), p.purchase)
			},
		},
		"release": {
			prepare: func(t *testing.T, s *store.Store, p party) { equal(t, got(finds(t, s, p))(t), true) },
			do: func(t *testing.T, s *store.Store, p party) (bool, error) {
				n, held, err := s.NumberHolder(t.Context(), "", contested)
				if err != nil || !held {
					return false, fmt.Errorf("held %t: %w", held, err)
				}
				return false, s.ReleaseNumber(t.Context(), n, noon)
			},
		},
	}
	rivals := map[string]act{"chooses": chooses, "finds": finds, "buys": buys}
	address := storetest.Postgres(t)
	s := storetest.Open(t, address)
	rivalStore := storetest.Open(t, address+"&application_name=rival")
	var before func()
	interrupted := got(store.OpenInterrupted(t.Context(), address, func() { before() }))(t)
	t.Cleanup(func() { must(t, interrupted.Close()) })

	parties := func(t *testing.T) (own, other party) {
		for _, p := range []*party{&own, &other} {
			p.tenant = map[bool]string{true: "acme", false: "bolt"}[p == &own]
			p.connection = p.tenant + "-phones"
			tenant(t, s, p.tenant)
			connectionOf(t, s, p.tenant, p.connection, "telephony")
			var err error
			p.purchase, _, err = reserved(t, s,
				store.Purchase{ID: p.tenant, TenantID: p.tenant, ConnectionID: p.connection, CreatedAt: noon},
				noon, unlimited)
			must(t, err)
		}
		return own, other
	}
	for name, victim := range acts {
		for rivalName, rival := range rivals {
			t.Run(name+" while another "+rivalName, func(t *testing.T) {
				interruptions := 0
				for at, statements := 1, 1; at <= statements; at++ {
					own, other := parties(t)
					before = func() {}
					if victim.prepare != nil {
						victim.prepare(t, s, own)
					}
					type outcome struct {
						has bool
						err error
					}
					ended := make(chan outcome, 1)
					statements = 0
					before = func() {
						if statements++; statements != at {
							return
						}
						interruptions++
						go func() {
							has, err := rival(t, rivalStore, other)
							ended <- outcome{has, err}
						}()
						for len(ended) == 0 && got(s.Count(t.Context(),
							"SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND "+
								"application_name = 'rival' AND wait_event_type = 'Lock'"))(t) == 0 {
							runtime.Gosched()
						}
					}
					mine, err := victim.do(t, interrupted, own)
					must(t, err)
					theirs := <-ended
					must(t, theirs.err)
					if mine && theirs.has {
						t.Errorf("before statement %d: both have the number", at)
					}
					if left := holders(t, s); left > 1 || (left == 1) != (mine || theirs.has) {
						t.Errorf("before statement %d: %d have the number; got it %t and %t", at, left, mine, theirs.has)
					}
					must(t, s.DeleteTenant(t.Context(), own.tenant))
					must(t, s.DeleteTenant(t.Context(), other.tenant))
					equal(t, got(s.TakenNumbers(t.Context(), "", "+1"))(t), []string{})
				}
				if interruptions < 1 {
					t.Error("nothing was interrupted")
				}
			})
		}
	}
}

// holders counts the holders of the contested number, and fails the test unless each has the claim.
func holders(t *testing.T, s *store.Store) int64 {
	t.Helper()
	n := got(s.Count(t.Context(), `SELECT (SELECT COUNT(*) FROM numbers WHERE e164 = $1 AND released_at IS NULL)
		+ (SELECT COUNT(*) FROM purchases WHERE e164 = $1 AND state IN ('chosen', 'ordered', 'filled', 'returning'))`, contested))(t)
	equal(t, got(s.Count(t.Context(), `SELECT COUNT(*) FROM number_claims c WHERE e164 = $1 AND (
		EXISTS (SELECT 1 FROM numbers n WHERE n.id = c.number_id AND n.e164 = c.e164 AND n.released_at IS NULL)
		OR EXISTS (SELECT 1 FROM purchases p WHERE p.id = c.purchase_id AND p.e164 = c.e164))`, contested))(t), n)
	return n
}

// TestARunThatLostItsIntentTakesNoStepOfThePurchase once the other run has taken the purchase over.
func TestARunThatLostItsIntentTakesNoStepOfThePurchase(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "c1")
		first := intentOf(store.Purchase{ID: "p", TenantID: "acme", ConnectionID: "c1", CreatedAt: noon})
		_, _, err := s.BeginIntent(t.Context(), first, time.Time{})
		must(t, err)
		lost, _, err := s.ReservePurchase(t.Context(), first, "", noon, unlimited)
		must(t, err)
		second := first
		second.Owner, second.LeaseUntil = "two", noon.Add(time.Minute)
		equal(t, got(s.TakeOverIntent(t.Context(), first, second, noon))(t), true)
		// The first run can take steps until the other one has taken over the purchase.
		equal(t, got(s.ChooseNumber(t.Context(), lost, contested))(t), true)
		kept, _, err := s.ReservePurchase(t.Context(), second, "", noon, unlimited)
		must(t, err)
		equal(t, kept.State, store.PurchaseChosen)
		for name, err := range map[string]error{
			"reserve": func() error {
				_, _, err := s.ReservePurchase(t.Context(), first, "", noon, unlimited)
				return err
			}(),
			"choose": func() error { _, err := s.ChooseNumber(t.Context(), lost, "+14155550101"); return err }(),
			"fill":   s.MarkFilled(t.Context(), lost),
			"end":    s.EndPurchase(t.Context(), lost),
		} {
			t.Run(name, func(t *testing.T) { refused(t, err, fault.Conflict, store.ReasonIntentLost) })
		}
		must(t, s.MarkFilled(t.Context(), kept))
	})
}

// TestPurchasesOfTheVersionBeforeAreCarriedOn writes its rows as that version wrote them.
func TestPurchasesOfTheVersionBeforeAreCarriedOn(t *testing.T) {
	t.Parallel()
	bothEmpty(t, func(t *testing.T, address string) {
		s := storetest.Connect(t, address)
		defer s.Close()
		must(t, s.MigrateTo(t.Context(), 6))
		run := func(query string, args ...any) {
			t.Helper()
			must(t, s.Execute(t.Context(), query, args...))
		}
		run("INSERT INTO tenants (id, name, settings, created_at) VALUES ('acme', 'name of acme', '{}', 0)")
		run(`INSERT INTO connections (id, tenant_id, name, kind, provider, is_default, settings, credentials, status, email,
			revision, created_at) VALUES ('c1', 'acme', 'c1', 'telephony', 'sandbox', TRUE, '{}', NULL, 'ok', '', 1, 0)`)
		purchase := func(id, e164 string, bought int, plan string) {
			run("INSERT INTO purchases (id, tenant_id, connection_id, realm, e164, bought, created_at) VALUES ($1, "+
				"'acme', 'c1', '', $2, $3, $4)", id, e164, bought, noon.UnixMilli())
			if plan == "" {
				return
			}
			i := intentOf(store.Purchase{ID: id, TenantID: "acme", ConnectionID: "c1", CreatedAt: noon})
			run(`INSERT INTO intents (tenant_id, operation, key, kept, request_hash, connection_id, effect_key, plan, state,
				owner, lease_until, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', $9, $10, $11, $11)`, i.TenantID, i.Operation, i.Key,
				i.Kept, append([]byte{}, i.RequestHash...), i.ConnectionID, i.EffectKey, plan, i.Owner,
				max(0, i.LeaseUntil.UnixMilli()), noon.UnixMilli())
		}
		number := func(id int64, e164 string, released any) {
			run("INSERT INTO numbers (id, tenant_id, connection_id, realm, ref, e164, name, created_at, "+
				"released_at) VALUES ($1, 'acme', 'c1', '', $2, $3, 'n', $4, $5)",
				id, "ref"+e164, e164, noon.UnixMilli(), released)
		}
		const undo = `{"area_code":"415","undo":{"code":"unsupported","reason":"PROVIDER_MISCONFIGURED","detail":"No such trunk."}}`
		number(1, "+14155550001", nil)
		number(2, "+14155550002", noon.UnixMilli())
		purchase("reserved", "", 0, `{"area_code":"415"}`)
		purchase("chosen", "+14155550010", 0, `{"area_code":"415","name":"a \"reached\":\"filled\" name"}`)
		purchase("ordered", "+14155550011", 0, `{"area_code":"415","reached":"under_way"}`)
		purchase("filled", "+14155550012", 0, `{"area_code":"415","reached":"filled"}`)
		purchase("returning", "+14155550013", 0, undo)
		purchase("returned", "+14155550014", 1, undo)
		purchase("done", "+14155550001", 1, "")
		purchase("stray", "+14155550015", 0, "")
		purchase("of a number that someone had", "+14155550001", 0, `{"area_code":"415"}`)
		purchase("of a number that was released", "+14155550002", 0, `{"area_code":"415"}`)
		must(t, s.Migrate(t.Context()))

		for id, want := range map[string]struct {
			state store.PurchaseState
			e164  string
			why   string
		}{
			"reserved":                      {state: store.PurchaseReserved},
			"chosen":                        {state: store.PurchaseChosen, e164: "+14155550010"},
			"ordered":                       {state: store.PurchaseOrdered, e164: "+14155550011"},
			"filled":                        {state: store.PurchaseFilled, e164: "+14155550012"},
			"returning":                     {state: store.PurchaseReturning, e164: "+14155550013", why: undo},
			"returned":                      {state: store.PurchaseReturned, e164: "+14155550014", why: undo},
			"done":                          {state: store.PurchaseDone, e164: "+14155550001"},
			"stray":                         {state: store.PurchaseChosen, e164: "+14155550015"},
			"of a number that someone had":  {state: store.PurchaseReserved},
			"of a number that was released": {state: store.PurchaseChosen, e164: "+14155550002"},
		} {
			p, _, err := reserved(t, s, store.Purchase{ID: id, TenantID: "acme", ConnectionID: "c1", CreatedAt: noon},
				noon.Add(-time.Hour), unlimited)
			must(t, err)
			if p.State != want.state || p.E164 != want.e164 || string(p.Refusal) != want.why {
				t.Errorf("%s: it is %+v", id, p)
			}
		}
		taken := got(s.TakenNumbers(t.Context(), "", "+1415555"))(t)
		slices.Sort(taken)
		equal(t, strings.Join(taken, " "),
			"+14155550001 +14155550002 +14155550010 +14155550011 +14155550012 +14155550013 +14155550015")
		held, is, err := s.NumberHolder(t.Context(), "", "+14155550001")
		must(t, err)
		equal(t, is && held.ID == 1, true)
	})
}
