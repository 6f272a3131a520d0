package store_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

// Queries that run every second or every quarter of an hour read the rows that they return, not whole tables.
func TestWhatIsAskedAgainAndAgainGoesByAnIndex(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "front")
		must(t, store.FillForCalls(t.Context(), s, 1_500))
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
	t.Parallel()
	s := storetest.Open(t, storetest.SQLite(t))
	plan := got(store.Explain(t.Context(), s, store.KeyOwnerQuery(s), []byte("hash")))(t)
	if strings.Contains(plan, "SCAN ") || strings.Count(plan, "SEARCH ") != 5 {
		t.Errorf("it reads whole tables:\n%s", plan)
	}
}

// Changes are listed by an index, of whatever kind and of whichever tenant they are, however many calls there were.
// Of what callers do, the newest rows alone are looked through.
func TestChangesAreListedByAnIndex(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		must(t, s.Execute(t.Context(), `WITH RECURSIVE n (i) AS
			(SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO audit (uid, id, at, tenant_id, tenant, actor, action, connection_id, subject, changed, outcome,
				effect, request_id, key_id, mac)
			SELECT 'u' || i, i, i, '', CASE WHEN i % 50 = 0 OR i <= 10 THEN 'acme' ELSE 'bolt' END, '',
				CASE WHEN i <= 5 THEN 'create-key' WHEN i <= 10 THEN 'create-ticket' ELSE 'book-meeting' END,
				'', '', '[]', '', '', '', '', '' FROM n`))
		must(t, store.Analyze(t.Context(), s))
		const most = 100
		calls, keys := store.AuditFilter{Action: "book-meeting"}, store.AuditFilter{Action: "create-key"}
		of := func(f store.AuditFilter, tenant string) store.AuditFilter { f.Tenant = tenant; return f }
		since := func(f store.AuditFilter, ms int64) store.AuditFilter { f.Since = time.UnixMilli(ms); return f }
		for _, c := range []struct {
			rule, index string
			filter      store.AuditFilter
			want        []int64 // the times of the rows
		}{
			{"all", "audit_by_time", store.AuditFilter{}, []int64{19_998, 19_999, 20_000}},
			{"a tenant's", "audit_of_tenant", of(store.AuditFilter{}, "acme"), []int64{19_900, 19_950, 20_000}},
			{"administrators'", "audit_of_administrators", keys, []int64{3, 4, 5}},
			{"administrators' of a tenant", "audit_of_administrators", of(keys, "acme"), []int64{3, 4, 5}},
			{"administrators' of a tenant without any", "audit_of_administrators", of(keys, "bolt"), nil},
			{"administrators' since a time", "audit_of_administrators", since(keys, 5), []int64{5}},
			{"of no known kind", "audit_of_administrators", store.AuditFilter{Action: "no-such"}, nil},
			{"callers'", "audit_by_time", since(calls, 19_900), []int64{19_998, 19_999, 20_000}},
			{"callers' of a tenant", "audit_of_tenant", of(calls, "acme"), []int64{19_900, 19_950, 20_000}},
			{"callers' long ago", "audit_by_time", since(store.AuditFilter{Action: "create-ticket"}, 19_900), nil},
			{"callers' of a tenant long ago", "audit_of_tenant",
				since(store.AuditFilter{Action: "create-ticket", Tenant: "acme"}, 15_000), nil},
		} {
			c.filter.Limit = 3
			query, args := store.AuditQuery(c.filter)
			indexed(t, s, c.rule, c.index, query, args)
			times := got(store.AuditTimes(t.Context(), s, c.filter, most))(t)
			if !slices.Equal(times, c.want) {
				t.Errorf("%s: the rows of %v, want %v", c.rule, times, c.want)
			}
		}
		query, args := store.AuditBoundQuery(calls, most)
		indexed(t, s, "how far back", "audit_by_time", query, args)
		query, args = store.AuditBoundQuery(of(calls, "acme"), most)
		indexed(t, s, "how far back of a tenant", "audit_of_tenant", query, args)
	})
}

// indexed reports a query that does not go by an index, in the order of its rows.
func indexed(t *testing.T, s *store.Store, rule, index, query string, args []any) {
	t.Helper()
	plan := got(store.Explain(t.Context(), s, query, args...))(t)
	if !strings.Contains(plan, index) {
		t.Errorf("%s: it does not go by %s:\n%s", rule, index, plan)
	}
	for _, bad := range []string{"Seq Scan", "SCAN audit\n", "TEMP B-TREE"} {
		if strings.Contains(plan+"\n", bad) {
			t.Errorf("%s: %q in\n%s", rule, bad, plan)
		}
	}
}

// What callers do is found among as many rows as the store looks through, and no further back.
func TestChangesByCallersAreLookedForAmongTheNewest(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		for i, action := range []string{"book-meeting", "create-ticket", "create-key", "book-meeting"} {
			must(t, s.AddAudit(t.Context(), store.AuditRow{
				UID: strconv.Itoa(i), At: time.UnixMilli(int64(i + 1)), Tenant: "acme", Action: action,
			}))
		}
		for _, tenant := range []string{"", "acme"} {
			for most, want := range map[int][]int64{2: nil, 3: {2}, 4: {2}, 5: {2}} {
				of := store.AuditFilter{Action: "create-ticket", Tenant: tenant, Limit: 9}
				if times := got(store.AuditTimes(t.Context(), s, of, most))(t); !slices.Equal(times, want) {
					t.Errorf("among %d rows of %q: %v, want %v", most, tenant, times, want)
				}
			}
		}
	})
}
