package store_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"frontdesk/core/store"
)

// The queries of each round of the sender read what they return, and a little of each webhook, however much
// waits: 5,000 deliveries in 1,000 queues here.
func TestARoundOfTheSenderReadsNoWholeQueues(t *testing.T) {
	t.Parallel()
	const webhooks, queues, waiting = 5, 1_000, 5_000
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "front")
		must(t, store.FillQueues(t.Context(), s, webhooks, queues, waiting))
		for name, q := range map[string]struct {
			sql   string
			args  []any
			index string
			never []string
		}{
			"DueQueues": {store.DueQueuesSQL(4), []any{int64(1) << 40, 128, "", int64(1) << 41}, "webhook_queues_first",
				[]string{"Seq Scan on webhook_queues", "SCAN q", "WindowAgg"}},
			"OldestWaiting": {store.OldestWaitingSQL, nil, "deliveries_oldest",
				[]string{"Seq Scan", "SCAN deliveries\n"}},
		} {
			plan := got(store.Explain(t.Context(), s, q.sql, q.args...))(t)
			t.Logf("%s:\n%s", name, plan)
			if !strings.Contains(plan, q.index) {
				t.Errorf("%s does not use the index %s", name, q.index)
			}
			for _, bad := range q.never {
				if strings.Contains(plan+"\n", bad) {
					t.Errorf("%s has %q", name, bad)
				}
			}
		}
	})
}

// Each webhook has its turn before another has its second one, and none has more than its number.
func TestWebhooksTakeTurns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, s *store.Store) {
		connection(t, s, "front")
		must(t, store.FillQueues(t.Context(), s, 3, 30, 30))
		due := got(s.DueQueues(t.Context(), time.UnixMilli(1<<40), "", 4, 8))(t)
		var order []string
		for _, q := range due {
			order = append(order, q.WebhookID+"/"+q.ConnectionID)
		}
		var want []string
		for i := range 8 {
			want = append(want, "w"+strconv.Itoa(i%3)+"/c"+strconv.Itoa(i/3*3+i%3))
		}
		if len(order) != 8 || strings.Join(order, " ") != strings.Join(want, " ") {
			t.Errorf("got  %v\nwant %v", order, want)
		}
		first := func(after string) string {
			return got(s.DueQueues(t.Context(), time.UnixMilli(1<<40), after, 4, 1))(t)[0].WebhookID
		}
		if a, b, c := first("w0"), first("w1"), first("w2"); a != "w1" || b != "w2" || c != "w0" {
			t.Errorf("after w0 comes %s, after w1 %s, after w2 %s", a, b, c)
		}
		if all := got(s.DueQueues(t.Context(), time.UnixMilli(1<<40), "", 4, 100))(t); len(all) != 12 {
			t.Errorf("%d queues of three webhooks", len(all))
		}
		if none := got(s.DueQueues(t.Context(), time.UnixMilli(-1), "", 4, 100))(t); len(none) != 0 {
			t.Errorf("not due: %v", none)
		}
	})
}
