package link_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/tenant/tenanttest"
)

func TestOfCallbacksAtOnceOneMakesTheConnection(t *testing.T) {
	tenanttest.OnEveryStore(t, func(t *testing.T, url string) {
		h := buildConsent(t, url)
		token := h.link()
		answers := make([]link.Answer, 6)
		for i := range answers {
			answers[i] = h.answered(token, "approve")
		}
		answers = append(answers, answers...) // each of them twice
		results := make([]error, len(answers))
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for i := range answers {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				_, results[i] = h.Links.FinishConsent(context.Background(), answers[i])
			})
		}
		ready.Wait()
		close(start)
		done.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
			} else if r := fault.From(err).Reason; !slices.Contains(
				[]string{link.ReasonUsed, link.ReasonBusy, link.ReasonNotThisConsent}, r) {
				t.Errorf("refused with %v", err)
			}
		}
		if all := h.connections(); won != 1 || len(all) != 1 || all[0].Status != connection.StatusOK {
			t.Errorf("%d won: %+v", won, all)
		}
		h.works("desk@acme.example")
	})
}
