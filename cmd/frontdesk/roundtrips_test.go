//go:build attack

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// requestTable is how many requests each operation makes at each provider. Requests for tokens, and those that only
// keep a connection open, are not counted.
const requestTable = "testdata/provider_requests.txt"

// counting counts an account's requests to the provider's API.
type counting struct {
	account
	n     atomic.Int64
	named int // things that were given a name
}

// counted returns how many requests to the provider an operation makes.
func (a *counting) counted(c caller, q request) int64 {
	c.t.Helper()
	before := a.n.Load()
	got, err := c.send(q)
	if err != nil || got.status >= http.StatusInternalServerError {
		c.t.Fatalf("%s: %s: %v %d %s", a.name, q.path, err, got.status, got.body)
	}
	return a.n.Load() - before
}

// operation is a row of the table.
type operation struct {
	name string
	make func(c caller) request // may first make what the operation needs
}

func (a *counting) operations() []operation {
	fixed := func(q request) func(caller) request { return func(caller) request { return q } }
	post := func(path, body string) func(caller) request { return fixed(request{path: path, body: body}) }
	named := func(op string) func(caller) request {
		return func(c caller) request {
			a.named++
			return a.request(c, op, fmt.Sprint("thing ", a.named))
		}
	}
	list := []operation{{"read", fixed(a.read)}, {"create", named("create")}}
	if a.change != nil {
		list = append(list, operation{"change", named("change")}, operation{"remove", named("remove")})
	}
	if a.connection.Kind != adapter.KindCalendar {
		return list
	}
	return append([]operation{
		{"verify", post("/v1/calendar/verify-calendar-connection", `{}`)},
		{"list-calendars", post("/v1/calendar/list-calendars", `{}`)},
		{"list-events", post("/v1/calendar/list-events", `{"start_time":"2027-03-01","end_time":"2027-03-09"}`)},
		{"find-slots", post("/alpha/calendar/find-slots", `{"start":"2027-03-01","end":"2027-03-06"}`)},
	}, list...)
}

// Whoever makes an operation ask a provider more often has to write it into the table.
func TestRequestsOfEachOperationAreAsInTheTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.CopyTables(t, filepath.Join(dir, "frontdesk.db"))
	environ := []string{
		"FRONTDESK_DATA_DIR=" + dir, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=0", "FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=0",
	}
	opened := accounts()
	var list []*counting
	for _, name := range slices.Sorted(maps.Keys(opened)) {
		a := &counting{account: opened[name](t)}
		a.put(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if ofAPI(r) && r.Method != http.MethodHead {
				a.n.Add(1)
				time.Sleep(25 * time.Millisecond) // as a provider does: what is asked at once overlaps
			}
			next.ServeHTTP(w, r)
		})
		environ = append(environ, a.environ...)
		list = append(list, a)
	}
	rows, keys := map[string][]int64{}, map[string]string{}
	each := func(base string, do func(row string, a *counting, op operation, c caller)) {
		for _, a := range list {
			for _, op := range a.operations() {
				row := a.name + " " + op.name
				do(row, a, op, caller{t: t, base: base, key: keys[row]})
			}
		}
	}
	ctx := context.Background()
	g, base, end := openGateway(t, environ)
	number := 0
	each("", func(row string, a *counting, _ operation, _ caller) {
		name := fmt.Sprint("tenant-", number)
		number++
		if _, err := g.Tenants().Create(ctx, name, tenant.Settings{Timezone: "America/New_York"}); err != nil {
			t.Fatal(err)
		}
		spec := a.connection
		spec.Name = string(spec.Kind)
		if _, err := g.Connections().Add(ctx, name, spec); err != nil {
			t.Fatal(err)
		}
		key, _, err := g.APIKeys().Create(ctx, name, apikey.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		keys[row] = key
	})
	each(base, func(row string, a *counting, op operation, c caller) {
		rows[row] = append(rows[row], a.counted(c, op.make(c)), a.counted(c, op.make(c)))
	})
	end()
	_, base, end = openGateway(t, environ)
	defer end()
	each(base, func(row string, a *counting, op operation, c caller) {
		rows[row] = append(rows[row], a.counted(c, op.make(c)))
	})

	var table bytes.Buffer
	fmt.Fprintf(&table, "%-28s %6s %6s %13s\n", "", "first", "next", "after restart")
	each("", func(row string, _ *counting, _ operation, _ caller) {
		n := rows[row]
		fmt.Fprintf(&table, "%-28s %6d %6d %13d\n", row, n[0], n[1], n[2])
	})
	if *update {
		if err := os.WriteFile(requestTable, table.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(requestTable)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.String(); strings.TrimSpace(got) != strings.TrimSpace(string(want)) {
		t.Errorf("the requests are not those of %s (-update writes it anew):\n%s", requestTable, got)
	}
}
