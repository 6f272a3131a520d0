package oauth

import (
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
)

// callers returns the number of callers at once, a third of them on each of three replicas. FRONTDESK_TOKEN_CALLERS
// sets it.
func callers() int {
	if n, err := strconv.Atoi(os.Getenv("FRONTDESK_TOKEN_CALLERS")); err == nil {
		return n
	}
	return 60
}

func TestOneRedeemPerExpiry(t *testing.T) {
	t.Parallel()
	t.Run("ahead of time, while many callers on three replicas notice nothing", func(t *testing.T) {
		const life, expiries = time.Minute, 5
		onEveryStore(t, oauthtest.SingleUse, life, func(h *harness) {
			var failed, late atomic.Int64
			h.fake.Delay(2 * time.Second)
			end := time.Now().Add(expiries * life)
			var work sync.WaitGroup
			var stops []func()
			for _, name := range []string{"a", "b", "c"} {
				source := h.source(name)
				h.token(source, theConnection) // a call gets the first token
				stops = append(stops, h.run(source))
				for i := range callers() / 3 {
					work.Go(func() {
						for time.Now().Before(end) {
							asked := time.Now()
							access, err := source.Token(h.t.Context(), tenantID, theConnection)
							if _, ok := h.fake.Bearer(bearer(access)); !ok || err != nil {
								failed.Add(1)
							}
							if time.Since(asked) > 0 {
								late.Add(1)
							}
							time.Sleep(3*time.Second + time.Duration(i)*2*time.Second/time.Duration(callers()/3))
						}
					})
				}
			}
			work.Wait()
			for _, stop := range stops { // stop also commits a redeem under way
				stop()
			}
			if failed.Load() != 0 || late.Load() != 0 {
				h.t.Errorf("%d calls failed, %d waited", failed.Load(), late.Load())
			}
			if redeems := h.fake.Redeems(); redeems < expiries || redeems > expiries*4/3+1 {
				h.t.Errorf("%d redeems in %d lives", redeems, expiries)
			}
			h.wantFamily()
		})
	})
	for _, delay := range []time.Duration{0, 300 * time.Millisecond, 15 * time.Second} {
		t.Run("when a provider refuses the token to many callers at once, "+
			"and answers after "+delay.String(), func(t *testing.T) {
			onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
				sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
				access := ""
				for _, source := range sources {
					access = h.token(source, theConnection)
				}
				h.fake.Delay(delay)
				for expiry := 1; expiry <= 3; expiry++ {
					time.Sleep(time.Minute) // beyond ForcedWindow: the count of forced renewals starts anew
					h.fake.ExpireAccess()
					all(callers(), func(i int) {
						again, err := sources[i%3].Renew(h.t.Context(), tenantID, theConnection, access)
						if delay > sources[0].limits.Patience {
							wantReason(h.t, err, fault.ReasonProviderUnavailable)
							time.Sleep(fault.From(err).RetryAfter) // when the renewal has ended
							again, err = sources[i%3].Renew(h.t.Context(), tenantID, theConnection, access)
						}
						if !again || err != nil {
							h.t.Errorf("no other token: %v", err)
						}
					})
					if redeems := h.fake.Redeems(); redeems != 1+expiry {
						h.t.Errorf("%d redeems after %d expiries", redeems-1, expiry)
					}
					renewed := h.token(sources[0], theConnection)
					if renewed == access {
						h.t.Error("the refused token is answered again")
					}
					access = renewed
				}
				h.wantFamily()
			})
		})
	}
	t.Run("when nobody had a token yet", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			h.fake.Delay(time.Second)
			sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
			all(callers(), func(i int) { h.token(sources[i%3], theConnection) })
			if redeems := h.fake.Redeems(); redeems != 1 {
				h.t.Errorf("%d redeems", redeems)
			}
			h.wantFamily()
		})
	})
}
