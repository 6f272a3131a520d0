package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A gateway that is killed at any moment loses nothing it acknowledged and doubles nothing it was asked again.
func TestKillLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		h := newHouse(t, storeURL)
		r, c := demo(t, h)
		key := c.key
		random := rand.New(rand.NewPCG(1, 2))
		asked := map[string]request{}
		acknowledged := map[string]string{}
		rounds := 8
		if testing.Short() {
			rounds = 2
		}
		for round := range rounds {
			var wg sync.WaitGroup
			var mu sync.Mutex
			for worker := range 6 {
				wg.Go(func() {
					for i := 0; ; i++ {
						id := fmt.Sprintf("r%d-w%d-%d", round, worker, i)
						q := requestOf(id, worker)
						mu.Lock()
						asked[id] = q
						mu.Unlock()
						a, err := c.call(http.MethodPost, q.path, q.body, "Idempotency-Key: "+id)
						if err != nil {
							return // it was killed
						}
						if a.status/100 == 2 {
							mu.Lock()
							acknowledged[id] = q.idOf(a)
							mu.Unlock()
						}
					}
				})
			}
			time.Sleep(time.Duration(100+random.IntN(400)) * time.Millisecond)
			r.kill()
			wg.Wait()
			r = h.serve()
			c = r.as(key)
		}

		// Every request is asked again under its key. What was acknowledged is answered the same; what was cut off is
		// settled, which may take until the lease of the dead process ends.
		settled := map[string]string{}
		for id, q := range asked {
			a := c.settle(q, id)
			settled[id] = q.idOf(a)
			if told, ok := acknowledged[id]; ok && told != settled[id] {
				t.Errorf("%s was acknowledged as %s and is now %s", id, told, settled[id])
			}
		}
		if len(acknowledged) < rounds {
			t.Fatalf("only %d calls were acknowledged: the test proves nothing", len(acknowledged))
		}
		t.Logf("%d calls, %d acknowledged before a kill, %d kills", len(asked), len(acknowledged), rounds)
		c.countEffects(settled, asked)
	})
}

// request is a call with one effect.
type request struct{ path, body, list string }

func requestOf(id string, worker int) request {
	switch worker % 3 {
	case 0:
		return request{"/v1/tickets/create-ticket", fmt.Sprintf(`{"subject":%q}`, id), ""}
	case 1:
		return request{"/beta/phone-numbers", `{"area_code":"` + areaCodes[len(id)%len(areaCodes)] + `"}`, "numbers"}
	}
	return request{"/v1/calendar/book-meeting", fmt.Sprintf(`{"title":%q,"start_time":"2027-06-01T10:00:00Z","end_time":"2027-06-01T10:05:00Z"}`, id), "events"}
}

var areaCodes = []string{"415", "312", "206", "305", "503", "617"}

// idOf is the id of the effect in an answer.
func (q request) idOf(a answer) string {
	switch {
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

// settle asks again until there is a final answer.
func (c caller) settle(q request, id string) answer {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		a, err := c.call(http.MethodPost, q.path, q.body, "Idempotency-Key: "+id)
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

// countEffects compares what the providers hold with what was answered.
func (c caller) countEffects(settled map[string]string, asked map[string]request) {
	c.t.Helper()
	want := map[string]map[string]bool{"events": {}, "numbers": {}}
	owners := map[string]string{}
	for id, effect := range settled {
		list := asked[id].list
		if strings.HasPrefix(effect, "none") {
			continue
		}
		if other, twice := owners[list+effect]; twice {
			c.t.Errorf("%s and %s have the same effect %s", id, other, effect)
		}
		owners[list+effect] = id
		if list != "" {
			want[list][effect] = true
		}
	}
	events := c.post(200, "calendar/list-events", `{"start_time":"2027-06-01T09:00:00Z","end_time":"2027-06-01T11:00:00Z"}`)
	for i, e := range events.get("events").([]any) {
		if id := events.text("events", i, "event_id"); !want["events"][id] {
			c.t.Errorf("an event nobody was told of, or a second one: %v", e)
		}
		delete(want["events"], events.text("events", i, "event_id"))
	}
	numbers := c.do(200, http.MethodGet, "/beta/phone-numbers", "")
	var list struct {
		Numbers []struct {
			ID json.Number `json:"id"`
		} `json:"phone_numbers"`
	}
	if err := json.Unmarshal(numbers.body, &list); err != nil {
		c.t.Fatal(err)
	}
	for _, n := range list.Numbers {
		if !want["numbers"][n.ID.String()] {
			c.t.Errorf("a number nobody was told of, or a second one: %s", n.ID)
		}
		delete(want["numbers"], n.ID.String())
	}
	for kind, missing := range want {
		for id := range missing {
			c.t.Errorf("lost from %s: %s", kind, id)
		}
	}
}
