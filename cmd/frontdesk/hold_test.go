package main

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Many callers hold one slot through three gateways that share a store. One has it, and books it. The others are
// told which slots are free. FRONTDESK_CALLERS is their number.
func TestOneSlotIsOneHoldAcrossProcesses(t *testing.T) {
	t.Parallel()
	callers := numberFrom(t, "FRONTDESK_CALLERS", 24)
	onBothStores(t, func(t *testing.T, storeURL string) {
		d := newDeployment(t, storeURL, longDeadlines()...)
		d.must("tenant", "create", "acme", "--timezone", "America/New_York")
		d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "sandbox", "--name",
			"sandbox", "--set", "timezone=America/New_York")
		key := d.must("key", "create", "--tenant", "acme")
		gateways := []caller{d.serve().as(key), d.serve().as(key), d.serve().as(key)}
		slot := gateways[0].do(http.StatusOK, http.MethodPost, "/alpha/calendar/find-slots",
			`{"start":"2037-03-09","end":"2037-03-10","limit":1}`).text("slots", 0, "slot_id")

		// hold asks until the gateway is not too busy to say.
		hold := func(i int) (a answer, err error) {
			for end := time.Now().Add(patience); time.Now().Before(end); {
				a, err = gateways[i%3].call(http.MethodPost, "/alpha/calendar/hold-slot",
					fmt.Sprintf(`{"slot_id":%q,"hold_minutes":15,"phone_number":"+1202555%04d"}`, slot, i))
				if err != nil || !slices.Contains([]string{"STORE_UNAVAILABLE", "OVERLOADED", "DEADLINE_EXCEEDED",
					"OUTCOME_UNKNOWN"}, a.reason()) {
					break
				}
			}
			return a, err
		}
		answers := make([]answer, callers)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				<-start
				var err error
				if answers[i], err = hold(i); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
		holder := -1
		for i, a := range answers {
			switch {
			case a.status == http.StatusOK && holder < 0:
				holder = i
			case a.status != http.StatusConflict || a.reason() != "SLOT_TAKEN":
				t.Errorf("caller %d: %d %s", i, a.status, a.body)
			}
		}
		if holder < 0 {
			t.Fatal("nobody has the slot")
		}
		held := answers[holder].text("hold_id")
		if again, err := hold(holder); err != nil || again.text("hold_id") != held {
			t.Errorf("the holder again: %v %s", err, again.body)
		}
		for i, c := range gateways { // whoever books by the slot comes too late at every gateway
			a := c.do(http.StatusConflict, http.MethodPost, "/alpha/calendar/book-slot",
				fmt.Sprintf(`{"slot_id":%q,"title":"Stranger %d"}`, slot, i))
			details, _ := a.get("details").([]any)
			if last := len(details) - 1; a.text("details", last, "value", "nearest_slots", 2, "slot_id") == "" {
				t.Errorf("refused without the nearest three: %s", a.body)
			}
		}
		for _, c := range gateways {
			c.do(http.StatusOK, http.MethodPost, "/alpha/calendar/book-slot",
				fmt.Sprintf(`{"hold_id":%q,"title":"Holder"}`, held))
		}
		listed := gateways[0].post(200, "calendar/list-events",
			`{"start_time":"2037-03-09","end_time":"2037-03-10"}`)
		if events := listed.get("events").([]any); len(events) != 1 ||
			listed.text("events", 0, "subject") != "Holder" {
			t.Errorf("the calendar has %s", listed.body)
		}
	})
}
