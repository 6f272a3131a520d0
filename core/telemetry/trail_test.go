package telemetry

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestTrail(t *testing.T) {
	began := time.Now()
	ctx, trail := WithTrail(t.Context(), began)
	labels := CallLabels{Kind: "calendar", Provider: "google", Operation: "book"}
	first, try := Begin(ctx, labels, "c1", began.Add(time.Second))
	Exchanged(first, Exchange{Method: "POST", Status: 503, Took: time.Millisecond})
	try.End("unavailable", "PROVIDER_UNAVAILABLE", began.Add(3*time.Second))
	second, late := Begin(ctx, labels, "c1", began.Add(4*time.Second))

	tries, more := trail.Tries()
	late.End("ok", "", began.Add(5*time.Second)) // once the request was answered
	Exchanged(second, Exchange{Method: "POST", Status: 200})
	if len(tries) != 2 || more != 0 {
		t.Fatalf("%d tries and %d more", len(tries), more)
	}
	if got := tries[0]; got.Operation != "book" || got.Provider != "google" || got.Connection != "c1" ||
		got.After != time.Second || got.Took != 2*time.Second || got.Outcome != "unavailable" ||
		got.Reason != "PROVIDER_UNAVAILABLE" || len(got.Exchanges) != 1 || got.Exchanges[0].Status != 503 {
		t.Errorf("the first try is %+v", got)
	}
	if got := tries[1]; got.Outcome != "" || got.Took != 0 || len(got.Exchanges) != 0 {
		t.Errorf("a try that had not ended is %+v", got)
	}
}

func TestNobodyCollectsWithoutATrail(t *testing.T) {
	ctx, try := Begin(t.Context(), CallLabels{}, "c1", time.Now())
	try.End("ok", "", time.Now())
	Exchanged(ctx, Exchange{})
	var none *Trail
	if tries, more := none.Tries(); ctx != t.Context() || try != nil || tries != nil || more != 0 {
		t.Errorf("there are %v, %v and %d", try, tries, more)
	}
}

// A request that calls its provider for ever, from many goroutines, costs no more than the first calls.
func TestATrailIsBounded(t *testing.T) {
	ctx, trail := WithTrail(context.Background(), time.Now())
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range maxTries {
				in, try := Begin(ctx, CallLabels{}, "c1", time.Now())
				for range maxExchanges + 1 {
					Exchanged(in, Exchange{})
				}
				try.End("ok", "", time.Now())
				trail.Tries()
			}
		})
	}
	calls.Wait()
	tries, more := trail.Tries()
	if len(tries) != maxTries || more != 3*maxTries {
		t.Errorf("%d tries and %d more", len(tries), more)
	}
	for _, try := range tries {
		if len(try.Exchanges) != maxExchanges {
			t.Errorf("a try has %d exchanges", len(try.Exchanges))
		}
	}
}
