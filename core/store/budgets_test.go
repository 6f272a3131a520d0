package store_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"frontdesk/core/store"
)

// Many who settle the same rows at once, in whatever order they name them, take turns: none is lost.
func TestBudgetsAreSettledInTurns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		const callers, times = 8, 10
		errs := at(callers, func(i int) error {
			for range times {
				names := []string{"a", "b"}
				if i%2 == 1 {
					names = []string{"b", fmt.Sprint("own of ", i), "a"}
				}
				err := s.SettleBudgets(t.Context(), names, func(now time.Time, rows []string) ([]string, []time.Time) {
					after, until := make([]string, len(rows)), make([]time.Time, len(rows))
					for j, row := range rows {
						n, _ := strconv.Atoi(row)
						after[j], until[j] = strconv.Itoa(n+1), now.Add(time.Minute)
					}
					return after, until
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		for _, err := range errs {
			must(t, err)
		}
		must(t, s.SettleBudgets(t.Context(), []string{"b", "a"}, func(now time.Time, rows []string) ([]string, []time.Time) {
			equal(t, rows, []string{strconv.Itoa(callers * times), strconv.Itoa(callers * times)})
			return rows, []time.Time{now, now}
		}))
	})
}

func TestBudgetsThatSayNothingArePurged(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		populateBudgets(t, s)
		equal(t, got(s.PurgeBudgets(t.Context(), noon.Add(time.Second), 10))(t), 1)
		equal(t, got(s.PurgeBudgets(t.Context(), noon.Add(time.Second), 10))(t), 0)
	})
}
