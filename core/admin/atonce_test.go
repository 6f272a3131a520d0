package admin_test

import (
	"sync"
	"testing"

	"frontdesk/core/admin"
	"frontdesk/core/tenant/tenanttest"
)

func TestOneKeyOfManyCreationsAtOnceIsOneCreation(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := open(t, url)
		for _, c := range creations {
			t.Run(c.name, func(t *testing.T) {
				h.t = t
				before := h.changes()
				type result struct {
					answer
					err error
				}
				results, start := make(chan result, 8), make(chan struct{})
				var callers sync.WaitGroup
				for range cap(results) {
					callers.Go(func() {
						<-start
						a, err := c.do(h, h.as("key_a"), admin.Write{IdempotencyKey: "k"}, "office")
						results <- result{a, err}
					})
				}
				close(start)
				callers.Wait()
				close(results)
				bodies, firsts := map[string]bool{}, 0
				for r := range results {
					h.must(r.err)
					bodies[string(r.body)] = true
					if !r.replayed {
						firsts++
					}
				}
				if len(bodies) != 1 || firsts != 1 {
					t.Errorf("%d were told that they were the first, and the answers are %v", firsts, bodies)
				}
				made := h.changes() - before
				alone, err := c.do(h, h.as("key_a"), admin.Write{IdempotencyKey: "k"}, "office")
				if err != nil || !bodies[string(alone.body)] || made != c.rows {
					t.Errorf("there were %d changes, and later the answer is %s, %v", made, alone.body, err)
				}
			})
		}
	})
}
