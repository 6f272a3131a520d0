//go:build attack

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/store/storetest"
	"frontdesk/core/tenant"
)

// TestOneSlotIsOneMeetingAtEveryProvider has many callers book one slot through three gateways that share a
// store. One gets the meeting. The others are refused while the provider still books it, which here lasts until
// the last one was refused. FRONTDESK_CALLERS is their number.
func TestOneSlotIsOneMeetingAtEveryProvider(t *testing.T) {
	t.Parallel()
	callers := numberFrom(t, "FRONTDESK_CALLERS", 24)
	for _, name := range []string{"google", "microsoft", "caldav", "sandbox"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := account{
				fakeProvider: &fakeProvider{name: "sandbox"}, connection: connection.Spec{
					Kind: adapter.KindCalendar, Provider: "sandbox",
				},
			}
			if open, there := accounts()[name]; there {
				a = open(t)
			}
			d := newDeployment(t, storetest.Postgres(t),
				append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8", "FRONTDESK_RESILIENCE__DEADLINE=30s")...)
			key := d.createTenants(tenant.Settings{PreventDoubleBooking: true}, []connection.Spec{a.connection})[0]
			gateways := []caller{d.serve().as(key), d.serve().as(key), d.serve().as(key)}
			for _, c := range gateways {
				c.post(200, "calendar/list-events", `{}`)
			}
			var refusals atomic.Int32
			everyone := make(chan struct{})
			a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
				if mutates(req) {
					select {
					case <-everyone:
					case <-time.After(patience):
						t.Error("those who came second wait for the meeting")
					}
				}
				serve.ServeHTTP(w, req)
			})

			answers, took := make([]answer, callers), make([]time.Duration, callers)
			start := make(chan struct{})
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					<-start
					began := time.Now()
					a, err := bookUntilSettled(gateways[i%3], i)
					if err != nil {
						t.Error(err)
					}
					answers[i], took[i] = a, time.Since(began)
					if a.status != http.StatusOK && int(refusals.Add(1)) == callers-1 {
						close(everyone)
					}
				})
			}
			close(start)
			all.Wait()

			won, refused := -1, []time.Duration{}
			for i, a := range answers {
				switch {
				case a.status == http.StatusOK && won < 0:
					won = i
				case a.status == http.StatusConflict && a.reason() == "SLOT_TAKEN":
					refused = append(refused, took[i])
				default:
					t.Errorf("caller %d: %d %s", i, a.status, a.body)
				}
			}
			if won < 0 || len(refused) != callers-1 {
				t.Fatalf("%d were told that the slot is taken", len(refused))
			}
			listed := gateways[1].post(200, "calendar/list-events",
				`{"start_time": "2027-03-02", "end_time": "2027-03-03"}`)
			if events := listed.get("events").([]any); len(events) != 1 ||
				listed.text("events", 0, "event_id") != answers[won].text("event", "event_id") {
				t.Errorf("the calendar has %s", listed.body)
			}
			slices.Sort(refused)
			t.Logf("the meeting took %v, those who came second were told after %v (median; longest %v)",
				took[won].Round(time.Millisecond), refused[len(refused)/2].Round(time.Millisecond),
				refused[len(refused)-1].Round(time.Millisecond))
		})
	}
}

// unsettledReasons are those with which the same key is to be sent again. The first request may still run when its
// caller was told that the store is slow.
var unsettledReasons = []string{
	"STORE_UNAVAILABLE", "OUTCOME_UNKNOWN", "DEADLINE_EXCEEDED", "IDEMPOTENCY_IN_PROGRESS",
}

// bookUntilSettled books the slot for a caller. On a busy machine the store can be too slow for all callers at once. A
// caller that is told so waits as long as the answer says, and repeats the request with the same key until the outcome
// is known.
func bookUntilSettled(c caller, i int) (answer, error) {
	for deadline := time.Now().Add(patience); ; {
		a, err := c.call(http.MethodPost, "/v1/calendar/book-meeting", fmt.Sprintf(
			`{"title": "Caller %d", "start_time": "2027-03-02T10:00:00Z", "end_time": "2027-03-02T10:30:00Z"}`, i),
			fmt.Sprint("Idempotency-Key: caller-", i))
		if err != nil || a.status == http.StatusOK || time.Now().After(deadline) ||
			!slices.Contains(unsettledReasons, a.reason()) {
			return a, err
		}
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil {
			return a, err
		}
		time.Sleep(time.Duration(wait) * time.Second)
	}
}
