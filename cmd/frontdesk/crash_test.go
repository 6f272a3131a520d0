package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/store/storetest"
)

// A gateway that is killed at any moment loses nothing that it acknowledged, and a repeated request has no
// second effect. This holds for bookings and purchases, and for the changes, cancellations and releases that
// follow. FRONTDESK_KILLS sets the number of kills on each store.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL)
		r, c := demo(t, d)
		key := c.key
		random := rand.New(rand.NewPCG(1, 2))
		asked := map[string]request{}
		acknowledged := map[string]string{}
		rounds := numberFrom(t, "FRONTDESK_KILLS", 4)
		if testing.Short() {
			rounds = 2
		}
		for round := range rounds {
			var wg sync.WaitGroup
			var mu sync.Mutex
			answered := make(chan struct{}, 3) // a kill before anything was answered proves little
			for worker := range 6 {
				wg.Go(func() {
					for i := 0; ; i++ {
						id := fmt.Sprintf("r%d-w%d-%d", round, worker, i)
						for q := requestOf(id, worker); q.path != ""; {
							mu.Lock()
							asked[id] = q
							mu.Unlock()
							a, err := c.send(q, "Idempotency-Key: "+id)
							if err != nil {
								return // it was killed
							}
							if a.status/100 != 2 {
								break
							}
							mu.Lock()
							acknowledged[id] = q.idOf(a)
							mu.Unlock()
							select {
							case answered <- struct{}{}:
							default:
							}
							id, q = id+"+", q.next(id, i, q.idOf(a))
						}
					}
				})
			}
			for range cap(answered) {
				<-answered
			}
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			r.kill()
			wg.Wait()
			d.wantSound()
			r = d.serve()
			c = r.as(key)
		}

		// Send every request again under its key. An acknowledged request gets the same response, one that
		// was cut off is settled, and no caller has to come back because a dead process may still work on it.
		outcomes := map[string]string{}
		var waits []time.Duration
		for id, q := range asked {
			began := time.Now()
			if first, err := c.send(q, "Idempotency-Key: "+id); err == nil &&
				(first.reason() == "IDEMPOTENCY_IN_PROGRESS" ||
					strings.Contains(string(first.body), "idempotency-in-progress")) {
				t.Errorf("%s is told that its call goes on: %s", id, first.body)
			}
			a := c.settle(q, id)
			waits = append(waits, time.Since(began))
			outcomes[id] = q.idOf(a)
			if firstAnswer, ok := acknowledged[id]; ok && firstAnswer != outcomes[id] {
				t.Errorf("%s was acknowledged as %s and is now %s", id, firstAnswer, outcomes[id])
			}
		}
		if len(acknowledged) < rounds {
			t.Fatalf("only %d calls were acknowledged: the test proves nothing", len(acknowledged))
		}
		slices.Sort(waits)
		t.Logf("%d calls, %d acknowledged before a kill, %d kills; repeats take %s, p99 %s", len(asked),
			len(acknowledged), rounds,
			waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)*99/100].Round(time.Millisecond))
		c.countEffects(outcomes, asked)
	})
}

// request is a call with one effect.
type request struct {
	verb             string // "" is POST
	path, body, list string
	follows          string // "change" or "end" of the thing with the id in made
	made, title      string
}

func (q request) method() string { return cmp.Or(q.verb, http.MethodPost) }

// next returns the request that follows one that made the thing with that id: a change for two of three
// meetings and numbers, an end for one of three.
func (q request) next(id string, i int, made string) request {
	events := q.list == "events"
	switch {
	case q.list == "" || i%3 == 0 || q.follows == "end" || strings.HasPrefix(made, "none"):
		return request{}
	case q.follows == "change" && i%3 == 1:
		return request{}
	case q.follows == "" && events:
		return request{
			"", "/v1/calendar/update-meeting", fmt.Sprintf(`{"event_id":%q,"title":"changed %s"}`, made, id), q.list,
			"change", made, "changed " + id,
		}
	case q.follows == "":
		return request{
			http.MethodPatch, "/beta/phone-numbers/" + made, fmt.Sprintf(`{"name":"changed %s"}`, id), q.list,
			"change", made, "changed " + id,
		}
	case events:
		return request{
			"", "/v1/calendar/cancel-meeting", fmt.Sprintf(`{"event_id":%q}`, made), q.list, "end", made, "",
		}
	}
	return request{http.MethodDelete, "/beta/phone-numbers/" + made, "", q.list, "end", made, ""}
}

func requestOf(id string, worker int) request {
	switch worker % 3 {
	case 0:
		return request{path: "/v1/tickets/create-ticket", body: fmt.Sprintf(`{"subject":%q}`, id)}
	case 1:
		return request{
			path: "/beta/phone-numbers", body: `{"area_code":"` + areaCodes[len(id)%len(areaCodes)] + `"}`,
			list: "numbers",
		}
	}
	return request{
		path: "/v1/calendar/book-meeting",
		body: fmt.Sprintf(`{"title":%q,"start_time":"2027-06-01T10:00:00Z","end_time":"2027-06-01T10:05:00Z"}`, id),
		list: "events",
	}
}

var areaCodes = []string{"415", "312", "206", "305", "503", "617"}

// idOf returns the id of the effect in an answer.
func (q request) idOf(a answer) string {
	switch {
	case q.follows != "":
		return q.made
	case strings.Contains(q.path, "tickets"):
		return a.text("ticket", "ticket_number")
	case strings.Contains(q.path, "calendar"):
		return a.text("event", "event_id")
	}
	var n struct {
		ID   json.Number `json:"id"`
		Type string      `json:"type"`
	}
	_ = json.Unmarshal(a.body, &n)
	if n.ID == "" {
		return "none: " + n.Type
	}
	return n.ID.String()
}

// settle repeats the request until it gets a final response. The last number of an area code is on order until
// recovery has dropped a purchase that was cut off, after half a minute.
func (c caller) settle(q request, id string) answer {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		a, err := c.send(q, "Idempotency-Key: "+id)
		if err != nil {
			c.t.Fatal(err)
		}
		soldOut := strings.Contains(string(a.body), "no-numbers-available")
		if a.status/100 == 2 || soldOut {
			return a
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s is not settled: %d %s", id, a.status, a.body)
		}
	}
}

// countEffects compares the things at the providers with the responses.
func (c caller) countEffects(outcomes map[string]string, asked map[string]request) {
	c.t.Helper()
	want := map[string]map[string]string{"events": {}, "numbers": {}} // by id: the title or name, "" any
	owners := map[string]string{}
	for id, effect := range outcomes {
		q := asked[id]
		if strings.HasPrefix(effect, "none") || q.follows != "" {
			continue
		}
		if other, twice := owners[q.list+effect]; twice {
			c.t.Errorf("%s and %s have the same effect %s", id, other, effect)
		}
		owners[q.list+effect] = id
		if q.list != "" {
			want[q.list][effect] = ""
		}
	}
	for id := range outcomes { // a change comes before its end
		if q := asked[id]; q.follows == "change" {
			want[q.list][q.made] = q.title
		}
	}
	for id := range outcomes {
		if q := asked[id]; q.follows == "end" {
			delete(want[q.list], q.made)
		}
	}
	hold := func(list, id, title string) {
		expected, there := want[list][id]
		if !there || expected != "" && expected != title {
			c.t.Errorf("%s called %q is there; want %q (%v)", id, title, expected, there)
		}
		delete(want[list], id)
	}
	events := c.post(200, "calendar/list-events",
		`{"start_time":"2027-06-01T09:00:00Z","end_time":"2027-06-01T11:00:00Z"}`)
	for i := range events.get("events").([]any) {
		if events.get("events", i, "is_cancelled") != true {
			hold("events", events.text("events", i, "event_id"), events.text("events", i, "subject"))
		}
	}
	numbers := c.do(200, http.MethodGet, "/beta/phone-numbers", "")
	var list struct {
		Numbers []struct {
			ID   json.Number `json:"id"`
			Name string      `json:"name"`
		} `json:"phone_numbers"`
	}
	if err := json.Unmarshal(numbers.body, &list); err != nil {
		c.t.Fatal(err)
	}
	for _, n := range list.Numbers {
		hold("numbers", n.ID.String(), n.Name)
	}
	for kind, missing := range want {
		for id := range missing {
			c.t.Errorf("lost from %s: %s", kind, id)
		}
	}
}

// numberFrom returns the number in an environment variable, or the usual one if it is not set.
func numberFrom(t testing.TB, name string, usual int) int {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return usual
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// wantSound checks the SQLite file after a kill. PostgreSQL checks its own files.
func (d *deployment) wantSound() {
	d.t.Helper()
	file := d.databaseFile()
	if file == "" {
		return
	}
	db := storetest.Database(d.t, "sqlite:"+file)
	defer db.Close()
	var says string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&says); err != nil || says != "ok" {
		d.t.Fatalf("after a kill the file is not sound: %s, %v", says, err)
	}
}

// databaseFile returns the deployment's SQLite file, or "" for PostgreSQL.
func (d *deployment) databaseFile() string {
	for _, v := range d.environ {
		if strings.HasPrefix(v, "FRONTDESK_STORE__URL=") {
			return ""
		}
	}
	return filepath.Join(d.dataDir(), "frontdesk.db")
}

// dataDir returns the deployment's data directory.
func (d *deployment) dataDir() string {
	const variable = "FRONTDESK_DATA_DIR="
	is := func(v string) bool { return strings.HasPrefix(v, variable) }
	return strings.TrimPrefix(d.environ[slices.IndexFunc(d.environ, is)], variable)
}
