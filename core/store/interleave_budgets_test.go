package store_test

import (
	"testing"
	"time"

	"frontdesk/core/store"
)

// populateBudgets adds a row that says something, and one that says nothing any more.
func populateBudgets(t *testing.T, s *store.Store) {
	t.Helper()
	must(t, s.SettleBudgets(t.Context(), []string{"spent", "over"},
		func(time.Time, []string) ([]string, []time.Time) {
			return []string{"spent", "over"}, []time.Time{noon.Add(time.Hour), noon}
		}))
}

// settle appends the caller's name to rows, and answers what they were.
func (c caller) settle(names ...string) (any, error) {
	var before []string
	err := c.s.SettleBudgets(c.ctx, names, func(_ time.Time, rows []string) ([]string, []time.Time) {
		before = rows
		after, until := make([]string, len(rows)), make([]time.Time, len(rows))
		for i, row := range rows {
			after[i], until[i] = row+" "+c.name, noon.Add(time.Hour)
		}
		return after, until
	})
	return before, err
}

var budgetOperations = []operation{
	{"SettleBudgets", func(c caller) (any, error) { return c.settle("spent", "over") }},
	{"SettleBudgets: new", func(c caller) (any, error) { return c.settle("unknown", "spent") }},
	{"PurgeBudgets", func(c caller) (any, error) {
		return one(c.s.PurgeBudgets(c.ctx, noon.Add(time.Minute), 100))
	}},
}

// populateBreakers adds a row of a replica, and one of another that was not seen for long.
func populateBreakers(t *testing.T, s *store.Store) {
	t.Helper()
	for replica, seen := range map[string]time.Time{"a": noon.Add(time.Hour), "gone": noon} {
		must(t, s.SetBreakers(t.Context(), replica, []store.Breaker{{Level: "host", Subject: "h"}}, seen))
	}
}

var breakerOperations = []operation{
	{"SetBreakers", func(c caller) (any, error) {
		rows := []store.Breaker{{Level: "host", Subject: "h"}, {Level: "connection", Subject: "c"}}
		return only(c.s.SetBreakers(c.ctx, "replica "+c.name, rows, noon))
	}},
	{"Breakers", func(c caller) (any, error) { return one(c.s.Breakers(c.ctx, noon)) }},
	{"PurgeBreakers", func(c caller) (any, error) {
		return one(c.s.PurgeBreakers(c.ctx, noon, 100))
	}},
}
