package requestlog

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
	"frontdesk/core/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// onBoth tests a rule on each database, with the tenants acme and beta.
func onBoth(t *testing.T, o Options, rule func(t *testing.T, l *Log, said *bytes.Buffer)) {
	t.Helper()
	for name, url := range map[string]func(testing.TB) string{
		"sqlite": storetest.SQLite, "postgres": storetest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Store = storetest.Open(t, url(t))
			for _, tenant := range []string{"acme", "beta"} {
				row := store.Tenant{ID: tenant, Name: tenant, Settings: []byte("{}"), CreatedAt: noon}
				if err := o.Store.CreateTenant(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			}
			said := &bytes.Buffer{}
			o.Log = slog.New(slog.NewTextHandler(said, nil))
			rule(t, New(o), said)
		})
	}
}

func entry(tenant string, n int) Entry {
	return Entry{
		TenantID: tenant, At: noon.Add(time.Duration(n) * time.Second), RequestID: fmt.Sprint("r", n),
		KeyID: "key1", Operation: "bookMeeting", Status: 200, Took: 1500 * time.Microsecond,
	}
}

func ids(entries []Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.RequestID)
	}
	return strings.Join(all, " ")
}

func listed(t *testing.T, l *Log, f Filter) []Entry {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 100
	}
	entries, err := l.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func TestRequestsAreFoundByWhatTheyDid(t *testing.T) {
	onBoth(t, Options{PerTenant: 100}, func(t *testing.T, l *Log, said *bytes.Buffer) {
		full := Entry{
			TenantID: "acme", At: noon.Add(time.Minute), RequestID: "full", KeyID: "key2", ConnectionID: "c1",
			Operation: "createTicket", IdempotencyKey: "call 7", Replayed: true, Status: 503,
			Reason: "PROVIDER_UNAVAILABLE", Took: 2 * time.Second, MoreTries: 3,
			Tries: []telemetry.Try{{
				Operation: "create", Provider: "zendesk", Connection: "c1", After: time.Millisecond, Took: time.Second,
				Outcome: "unavailable", Reason: "PROVIDER_UNAVAILABLE",
				Exchanges: []telemetry.Exchange{{Method: "POST", Status: 503, Took: time.Second}},
			}},
		}
		for n := range 5 {
			l.Add(entry("acme", n))
		}
		l.Add(entry("beta", 9))
		l.Add(entry("gone", 9)) // a tenant that was deleted meanwhile
		l.Add(full)
		l.Close(t.Context())

		yes, no := true, false
		for _, c := range []struct {
			filter Filter
			wants  string
		}{
			{Filter{}, "full r4 r3 r2 r1 r0"},
			{Filter{Limit: 2}, "full r4"},
			{Filter{RequestID: "r3"}, "r3"},
			{Filter{KeyID: "key2"}, "full"},
			{Filter{KeyID: "key1", Limit: 1}, "r4"},
			{Filter{ConnectionID: "c1"}, "full"},
			{Filter{Operation: "createTicket"}, "full"},
			{Filter{IdempotencyKey: "call 7"}, "full"},
			{Filter{Failed: &yes}, "full"},
			{Filter{Failed: &no, Limit: 2}, "r4 r3"},
			{Filter{Reason: "PROVIDER_UNAVAILABLE"}, "full"},
			{Filter{Reason: "SLOT_TAKEN"}, ""},
			{Filter{RequestID: "r9"}, ""}, // beta's
		} {
			c.filter.TenantID = "acme"
			if got := ids(listed(t, l, c.filter)); got != c.wants {
				t.Errorf("%+v finds %q, want %q", c.filter, got, c.wants)
			}
		}

		all := listed(t, l, Filter{TenantID: "acme"})
		got, found, err := l.Get(t.Context(), "acme", all[0].ID)
		full.ID = all[0].ID
		if err != nil || !found || !got.At.Equal(full.At) || fmt.Sprint(got.Tries) != fmt.Sprint(full.Tries) {
			t.Errorf("got %+v, %v, %v", got, found, err)
		}
		got.At, got.Tries, full.At, full.Tries = time.Time{}, nil, time.Time{}, nil
		if fmt.Sprint(got) != fmt.Sprint(full) {
			t.Errorf("got %+v, want %+v", got, full)
		}
		if _, found, err := l.Get(t.Context(), "beta", all[0].ID); found || err != nil {
			t.Errorf("another tenant finds it: %v %v", found, err)
		}

		var pages []Entry
		for before := ""; ; {
			page := listed(t, l, Filter{TenantID: "acme", Limit: 4, Before: before})
			pages = append(pages, page...)
			if len(page) < 4 {
				break
			}
			before = page[3].ID
		}
		if ids(pages) != ids(all) {
			t.Errorf("page by page: %s", ids(pages))
		}
		if said.Len() > 0 {
			t.Errorf("the log says %s", said)
		}
	})
}

// Requests of one millisecond are listed in their order, whatever order the database has texts in.
func TestRequestsOfOneMillisecondKeepTheirOrder(t *testing.T) {
	onBoth(t, Options{PerTenant: 100}, func(t *testing.T, l *Log, _ *bytes.Buffer) {
		var want []string
		for n := range 40 {
			e := entry("acme", n)
			e.At = noon.Add(time.Duration(n) * time.Microsecond)
			l.Add(e)
			want = append([]string{e.RequestID}, want...)
		}
		l.Close(t.Context())
		if got := ids(listed(t, l, Filter{TenantID: "acme"})); got != strings.Join(want, " ") {
			t.Errorf("listed are %s", got)
		}
	})
}

func TestOnlyTheLastRequestsAreKept(t *testing.T) {
	onBoth(t, Options{PerTenant: 3, Age: time.Hour, Now: func() time.Time { return noon.Add(time.Hour) }},
		func(t *testing.T, l *Log, _ *bytes.Buffer) {
			for n := range 7 {
				l.Add(entry("acme", n))
			}
			l.Add(entry("beta", 1))
			l.Add(entry("beta", -1)) // too old
			l.Close(t.Context())
			l.prune(t.Context())
			next := l.age(t.Context())
			if got := ids(listed(t, l, Filter{TenantID: "acme"})); got != "r6 r5 r4" {
				t.Errorf("kept are %s", got)
			}
			if got := ids(listed(t, l, Filter{TenantID: "beta"})); got != "r1" ||
				!next.Equal(noon.Add(time.Hour+ageEvery)) {
				t.Errorf("kept are %s; next at %v", got, next)
			}
			l.Add(entry("acme", 8)) // few are soon too many where few are to be kept
			l.Close(t.Context())
			l.prune(t.Context())
			if got := ids(listed(t, l, Filter{TenantID: "acme"})); got != "r8 r6 r5" {
				t.Errorf("kept are %s", got)
			}
			for n := range pruneEvery {
				l.Add(entry("acme", 10+n))
				l.Add(entry("beta", 10+n%2))
			}
			l.Close(t.Context())
			l.prune(t.Context())
			if got := len(listed(t, l, Filter{TenantID: "acme"})); got != 3 {
				t.Errorf("%d are kept", got)
			}
		})
}

func TestNothingIsKeptWhereNothingIsToBe(t *testing.T) {
	now := func() time.Time { return noon.Add(time.Hour) }
	onBoth(t, Options{Age: 30 * 24 * time.Hour, Now: now}, func(t *testing.T, l *Log, _ *bytes.Buffer) {
		former := New(Options{Store: l.opts.Store, PerTenant: 10}) // before the configuration was changed
		former.Add(entry("acme", 0))
		former.Close(t.Context())
		l.Add(entry("acme", 1))
		l.Close(t.Context())
		l.age(t.Context())
		if got := listed(t, l, Filter{TenantID: "acme"}); len(got) != 0 {
			t.Errorf("kept are %v", got)
		}
	})
}

// While the store is away, requests wait for it, up to a bound. The log says how many are missing.
func TestRequestsWaitForTheStore(t *testing.T) {
	onBoth(t, Options{PerTenant: 10_000}, func(t *testing.T, l *Log, said *bytes.Buffer) {
		away, end := context.WithCancel(t.Context())
		end()
		for n := range maxWaiting {
			l.Add(entry("acme", n))
		}
		l.write(away)
		l.Add(entry("acme", maxWaiting))
		if len(l.waiting) != maxWaiting || l.dropped != 1 {
			t.Fatalf("%d wait, %d are dropped", len(l.waiting), l.dropped)
		}
		l.write(away)
		l.write(t.Context())
		if got := len(listed(t, l, Filter{TenantID: "acme", Limit: 2 * maxWaiting})); got != maxWaiting {
			t.Errorf("%d are kept", got)
		}
		if !strings.Contains(said.String(), "dropped=1") {
			t.Errorf("the log says %s", said)
		}
	})
}

// Run writes within a second or so, whatever the store did before.
func TestRunWrites(t *testing.T) {
	onBoth(t, Options{PerTenant: 10}, func(t *testing.T, l *Log, _ *bytes.Buffer) {
		ctx, end := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); l.Run(ctx) }()
		defer func() { end(); <-over }()
		l.Add(entry("acme", 1))
		for deadline := time.Now().Add(time.Minute); len(listed(t, l, Filter{TenantID: "acme"})) == 0; {
			if time.Now().After(deadline) {
				t.Fatal("nothing is written")
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}
