package store_test

import (
	"strings"
	"testing"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// Queries that run every second or every quarter of an hour read the rows that they return, not whole tables.
func TestWhatIsAskedAgainAndAgainGoesByAnIndex(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "front")
		must(t, store.FillForCalls(t.Context(), s, 20_000))
		for _, q := range store.RepeatedQueries() {
			plan := got(store.Explain(t.Context(), s, q.SQL, q.Args...))(t)
			t.Logf("%s:\n%s", q.Name, plan)
			for _, index := range q.Indexes {
				if !strings.Contains(plan, index) {
					t.Errorf("%s does not use the index %s", q.Name, index)
				}
			}
			for _, bad := range []string{"Seq Scan", "SCAN ", "TEMP B-TREE"} {
				if strings.Contains(plan, bad) {
					t.Errorf("%s reads whole tables", q.Name)
				}
			}
		}
	})
}

// A key is looked up by indexes alone, however many tenants there are.
func TestAKeyIsLookedUpByIndexes(t *testing.T) {
	s := storetest.Open(t, storetest.SQLite(t))
	plan := got(store.Explain(t.Context(), s, store.KeyOwnerQuery, []byte("hash")))(t)
	if strings.Contains(plan, "SCAN ") || strings.Count(plan, "SEARCH ") != 5 {
		t.Errorf("it reads whole tables:\n%s", plan)
	}
}
