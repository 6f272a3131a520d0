package crm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A label that is remembered serves on where it cannot be read anew, and nobody waits long for that.
func TestWhatIsRememberedServesUntilItIsReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Remembered[string]
		var asked atomic.Int32
		outage, says := errors.New("outage"), "Open"
		var fails error
		ask := func(ctx context.Context) (string, error) {
			asked.Add(1)
			if fails == nil {
				r.Put(says, time.Now().Add(LabelsLast))
				return says, nil
			}
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Second):
				return "", fails
			}
		}
		look := func(wanted string) (string, error) {
			return r.Look(t.Context(), time.Now(), ask, func(known string) bool { return wanted == "" || known == wanted })
		}
		want := func(rule, wanted, value string, requests int32, err error) {
			t.Helper()
			asked.Store(0)
			got, gotErr := look(wanted)
			if got != value || asked.Load() != requests || !errors.Is(gotErr, err) {
				t.Errorf("%s: %q, %v, with %d requests", rule, got, gotErr, asked.Load())
			}
		}
		fails = outage
		want("nothing is remembered", "", "", 1, outage)
		fails = nil
		want("it is asked for", "", "Open", 1, nil)
		want("it is remembered", "", "Open", 0, nil)
		want("what is missed is asked for", "Waiting", "Open", 1, nil)
		time.Sleep(LabelsLast)
		fails = outage
		want("in an outage", "", "Open", 1, nil)
		want("in an outage, once more", "", "Open", 0, nil)
		want("what is missed in an outage", "Waiting", "", 1, outage)
		time.Sleep(LabelsLast)
		asked.Store(0)
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() { _, _ = look("") })
		}
		all.Wait()
		if asked.Load() != 1 {
			t.Errorf("many callers asked %d times", asked.Load())
		}
		fails, says = nil, "New"
		time.Sleep(renewAgain)
		want("after the outage", "", "New", 1, nil)
		time.Sleep(LabelsLast)
		ask = func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		before := time.Now()
		want("where nothing answers", "", "New", 0, nil)
		if waited := time.Since(before); waited != renewWithin {
			t.Errorf("waited for %v", waited)
		}
		r.Forget()
		ask = func(context.Context) (string, error) { return "Anew", nil }
		want("what was forgotten", "", "Anew", 0, nil)
	})
}
