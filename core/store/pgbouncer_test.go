package store_test

import (
	"fmt"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// Through a pooler in transaction mode, what one call does on several connections to the server is what it
// does on one. FRONTDESK_PGBOUNCER=all has every rule of an open store tested through it as well.
func TestThroughPgBouncer(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.PgBouncer(t))
	connection(t, s, "front")
	for name, rule := range map[string]func(t *testing.T){
		"budgets are settled in turns": func(t *testing.T) {
			errs := at(30, func(i int) error {
				return s.SettleBudgets(t.Context(), []string{"b", "a"}, func(now time.Time, rows []string) ([]string, []time.Time) {
					return []string{rows[0] + "x", rows[1] + "x"}, []time.Time{now.Add(time.Minute), now.Add(time.Minute)}
				})
			})
			for _, err := range errs {
				must(t, err)
			}
			must(t, s.SettleBudgets(t.Context(), []string{"a"}, func(now time.Time, rows []string) ([]string, []time.Time) {
				equal(t, len(rows[0]), 30)
				return rows, []time.Time{now}
			}))
		},
		"one of many takes a slot": func(t *testing.T) {
			taken := at(30, func(i int) bool {
				h := store.Hold{
					ID: fmt.Sprint("hold ", i), ConnectionID: "front", CalendarID: "c", From: noon, To: noon.Add(time.Hour),
					Until: noon.Add(time.Minute),
				}
				by, err := s.TakeHolds(t.Context(), []store.Hold{h}, nil, noon)
				if err != nil {
					t.Error(err)
				}
				return by == nil
			})
			n := 0
			for _, mine := range taken {
				if mine {
					n++
				}
			}
			equal(t, n, 1)
		},
		"a booking's statements are sent together": func(t *testing.T) {
			errs := at(30, func(i int) error {
				mine := intent(store.Intent{TenantID: "acme", ConnectionID: "front", Key: fmt.Sprint("k", i)})
				from := noon.Add(time.Duration(i) * time.Hour)
				hold := store.Hold{
					ID: mine.Key, ConnectionID: "front", CalendarID: "d", From: from, To: from.Add(time.Hour),
					Until: from,
				}
				with := store.Holding{Holds: []store.Hold{hold}}
				_, began, holds, err := s.BeginIntentHolding(t.Context(), mine, with, noon.Add(-time.Hour))
				if err != nil || !began || !holds {
					return fmt.Errorf("began %v, holds %v: %w", began, holds, err)
				}
				return s.FinishIntent(t.Context(), mine, store.Attached{
					Meetings: []store.Meeting{{
						TenantID: "acme", ConnectionID: "front", Reference: mine.Key, EventID: "e", EndsAt: from,
					}},
					Holds: store.HoldsKept{IDs: []string{mine.Key}, EventID: "e", Until: from},
				}, store.AuditRow{UID: mine.Key, At: noon})
			})
			for _, err := range errs {
				must(t, err)
			}
			equal(t, len(got(s.HoldsOfEvent(t.Context(), "front", "e"))(t)), 30)
		},
		"a turn is one process's": func(t *testing.T) {
			release, held, err := s.HoldTurn(t.Context(), "front", time.Minute)
			must(t, err)
			_, second, err := s.HoldTurn(t.Context(), "front", time.Minute)
			must(t, err)
			equal(t, []bool{held, second}, []bool{true, false})
			release()
			release, held, err = s.HoldTurn(t.Context(), "front", time.Minute)
			must(t, err)
			equal(t, held, true)
			release()
		},
		"settings of a transaction end with it": func(t *testing.T) {
			for range 20 { // each connection to the server gets some
				release, _, err := s.HoldTurn(t.Context(), "front", time.Minute)
				must(t, err)
				release()
				must(t, s.SettleBudgets(t.Context(), []string{"a"}, func(now time.Time, rows []string) ([]string, []time.Time) {
					return rows, []time.Time{now}
				}))
			}
			for _, setting := range [][2]string{{"lock_timeout", "0"}, {"synchronous_commit", "on"}} {
				for range 20 {
					equal(t, got(store.Setting(t.Context(), s, setting[0]))(t), setting[1])
				}
			}
		},
	} {
		t.Run(name, rule)
	}
}
