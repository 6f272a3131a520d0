package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store"
	"frontdesk/core/store/storetest"
)

func TestATokenInMemoryAsksNobody(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.Keep, time.Hour, func(h *harness) {
		source := h.source("a")
		access := h.token(source, theConnection)
		if err := source.options.Store.Close(); err != nil {
			h.t.Fatal(err)
		}
		for range 40 { // minutes in which the token is not due yet
			if again := h.token(source, theConnection); again != access {
				h.t.Fatal("another token")
			}
			time.Sleep(time.Minute)
		}
		if calls := h.fake.TokenCalls(); calls != 1 {
			h.t.Errorf("%d calls", calls)
		}
	})
}

func TestWhatAnotherReplicaRenewedIsNoticed(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		a, b := h.source("a"), h.source("b")
		before := h.token(b, theConnection)
		h.run(a) // b only serves calls
		time.Sleep(56 * time.Minute)
		h.token(b, theConnection) // makes b check the store
		synctest.Wait()
		if after := h.token(b, theConnection); after == before || h.fake.Redeems() != 2 {
			h.t.Errorf("%d redeems, the same token: %t", h.fake.Redeems(), after == before)
		}
		h.wantFamily()
	})
}

func TestCallsRenewWhereNobodyElseDoes(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		before := h.token(source, theConnection)
		time.Sleep(56 * time.Minute)
		if h.token(source, theConnection) != before {
			h.t.Error("a call waited for a renewal while its token lived")
		}
		synctest.Wait()
		if h.token(source, theConnection) == before {
			h.t.Error("nothing was renewed")
		}
		h.wantFamily()
	})
}

func TestTheHolderOfTheTurnIsStopped(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t) // SQLite has no turns
	synctest.Test(t, func(t *testing.T) {
		h := build(t, url, oauthtest.SingleUse, time.Hour)
		acted, resume := make(chan struct{}), make(chan struct{})
		h.through(func(
			replica string, _ *http.Request, forward func() (*http.Response, error),
		) (*http.Response, error) {
			answer, err := forward()
			if replica == "a" {
				close(acted)
				<-resume
			}
			return answer, err
		})
		a, b := h.source("a"), h.source("b")
		var work sync.WaitGroup
		work.Go(func() { h.tokenAtLast(a) })
		<-acted
		work.Go(func() { h.tokenAtLast(b) })
		h.run(b)
		time.Sleep(2 * a.limits.Lease)
		if calls := h.fake.TokenCalls(); calls != 1 {
			t.Errorf("%d calls while the holder was stopped", calls)
		}
		close(resume)
		work.Wait()
		if h.fake.Redeems() != 1 {
			t.Errorf("%d redeems", h.fake.Redeems())
		}
		h.wantFamily()
	})
}

func TestTheHolderOfTheLeaseIsKilled(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("b")
		v, err := source.read(h.t.Context(), tenantID, theConnection)
		if err != nil {
			h.t.Fatal(err)
		}
		// A killed process loses its turn, but its lease stays.
		if leased, err := source.lease(h.t.Context(), &v); !leased || err != nil {
			h.t.Fatal(leased, err)
		}
		began := time.Now()
		h.tokenAtLast(source)
		if waited := time.Since(began); waited < source.limits.Lease || waited > source.limits.Lease+time.Second {
			h.t.Errorf("taken over after %s", waited)
		}
		h.wantFamily()
	})
}

// A clock that was set back makes the lease of a process that is gone end an hour late.
func TestALeaseFromAClockThatWasSetBackIsOver(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.Renew, time.Hour, func(h *harness) {
		source := h.source("b")
		v, err := source.read(h.t.Context(), tenantID, theConnection)
		if err != nil {
			h.t.Fatal(err)
		}
		gone := h.source("a")
		gone.options.Now = func() time.Time { return time.Now().Add(time.Hour) }
		if leased, err := gone.lease(h.t.Context(), &v); !leased || err != nil {
			h.t.Fatal(leased, err)
		}
		began := time.Now()
		h.tokenAtLast(source)
		if waited := time.Since(began); waited > time.Second {
			h.t.Errorf("taken over after %s", waited)
		}
		h.wantFamily()
	})
}

func TestALostReplyIsMadeUpForByTheOldToken(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.Renew, time.Hour, func(h *harness) {
		source := h.source("a")
		h.fake.DropNextReply()
		_, err := source.Token(h.t.Context(), tenantID, theConnection)
		wantReason(h.t, err, fault.ReasonProviderUnavailable)
		time.Sleep(source.limits.FailureTTL)
		h.token(source, theConnection)
		if h.fake.Redeems() != 2 || h.status(theConnection) != "ok" {
			h.t.Errorf("%d redeems, the connection is %s", h.fake.Redeems(), h.status(theConnection))
		}
	})
}

func TestNothingIsUsedBeforeItIsStored(t *testing.T) {
	t.Parallel()
	cluster := storetest.Start(t)
	url := cluster.URL("postgres")
	synctest.Test(t, func(t *testing.T) {
		h := build(t, url, oauthtest.SingleUse, time.Hour)
		source := h.source("a")
		down := make(chan struct{})
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			answer, err := forward()
			if err := cluster.Down(); err != nil {
				t.Error(err)
			}
			close(down)
			return answer, err
		})
		var got string
		done := make(chan struct{})
		go func() {
			defer close(done)
			got = h.tokenAtLast(source)
		}()
		<-down
		time.Sleep(5 * time.Minute)
		select {
		case <-done:
			t.Error("the token was used before it was stored")
		default:
		}
		_, err := source.Token(t.Context(), tenantID, theConnection)
		wantReason(t, err, fault.ReasonStoreUnavailable) // and not that the provider has not answered
		h.through(nil)
		if err := cluster.Up(); err != nil {
			t.Fatal(err)
		}
		<-done
		if h.fake.TokenCalls() != 1 || h.token(h.source("b"), theConnection) != got {
			t.Errorf("%d calls", h.fake.TokenCalls())
		}
		h.wantFamily()
	})
}

func TestAConsentInTheMiddleOfARedeemWins(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source, settings := h.source("a"), h.source("b")
		agreed := Tokens{
			Access: "agreed", Refresh: h.fake.Grant("id", "bob@example.com", events),
			Expires: time.Now().Add(time.Hour),
		}
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			h.through(nil)
			if err := settings.Keep(h.t.Context(), tenantID, theConnection, h.given[theConnection].Fingerprint,
				agreed); err != nil {
				h.t.Error(err)
			}
			return forward()
		})
		access, err := source.Token(h.t.Context(), tenantID, theConnection)
		if access != "agreed" || err != nil {
			h.t.Errorf("the token is another one, %v", err)
		}
		time.Sleep(time.Minute)
		if _, err := source.Renew(h.t.Context(), tenantID, theConnection, "agreed"); err != nil {
			h.t.Fatal(err)
		}
		if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" {
			h.t.Errorf("renewed for %s", who.Account)
		}
		c, err := h.store.Connection(h.t.Context(), tenantID, theConnection)
		if err != nil || c.Revision != 2 || h.fake.Reuses() != 0 {
			h.t.Errorf("the revision is %d, %v", c.Revision, err)
		}
	})
}

// refusing makes the token endpoint refuse the first n requests, or all if n is negative.
func (h *harness) refusing(n int) (restore func()) {
	var restoreNow func()
	var asked atomic.Int64
	restoreNow = h.fake.Answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == int64(n) {
			restoreNow()
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
	}))
	return restoreNow
}

func TestARefusal(t *testing.T) {
	t.Parallel()
	t.Run("that is not repeated does not count", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			h.refusing(1)
			h.token(h.source("a"), theConnection)
			if h.status(theConnection) != "ok" || h.fake.TokenCalls() != 2 ||
				strings.Contains(h.logged.String(), "WARN") {
				h.t.Errorf("the connection is %s after %d calls: %s", h.status(theConnection),
					h.fake.TokenCalls(), &h.logged)
			}
			h.wantFamily()
		})
	})
	t.Run("that is repeated marks the connection once, and nobody asks again", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
			restore := h.refusing(-1)
			all(callers(), func(i int) {
				_, err := sources[i%3].Token(h.t.Context(), tenantID, theConnection)
				wantReason(h.t, err, fault.ReasonReconnectRequired)
			})
			h.run(sources[0])
			for range 10 {
				time.Sleep(5 * time.Minute)
				_, err := sources[1].Token(h.t.Context(), tenantID, theConnection)
				wantReason(h.t, err, fault.ReasonReconnectRequired)
			}
			c, err := h.store.Connection(h.t.Context(), tenantID, theConnection)
			if err != nil || c.Status != "reconnect_required" || c.Revision != 2 {
				h.t.Errorf("the connection is %s, revision %d, %v", c.Status, c.Revision, err)
			}
			if calls, warnings := h.fake.TokenCalls(), strings.Count(h.logged.String(), "WARN"); calls != 2 ||
				warnings != 1 || len(h.changed) != 1 {
				h.t.Errorf("%d calls, %d warnings, told %v", calls, warnings, h.changed)
			}

			restore()
			source := h.source("d") // with an empty cache
			_, err = source.Token(h.t.Context(), tenantID, theConnection)
			wantReason(h.t, err, fault.ReasonReconnectRequired)
			if h.fake.TokenCalls() != 2 {
				h.t.Error("it was asked again")
			}
			if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Fatal(err)
			}
			h.token(source, theConnection) // the connection gets another chance
		})
	})
	t.Run("of a connection that was changed meanwhile does not mark it", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
				if h.fake.TokenCalls() == 1 { // the second try
					h.through(nil)
					c, err := h.store.Connection(h.t.Context(), tenantID, theConnection)
					if err == nil {
						err = h.store.UpdateConnection(h.t.Context(), c, c.Revision)
					}
					if err != nil {
						h.t.Error(err)
					}
					h.give(theConnection, h.fake.Grant("id", "bob@example.com", events))
				}
				return forward()
			})
			h.refusing(2)
			if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" ||
				h.status(theConnection) != "ok" {
				h.t.Errorf("the token is of %s, the connection is %s", who.Account, h.status(theConnection))
			}
		})
	})
	t.Run("that newer tokens explain is not tried again", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source, settings := h.source("a"), h.source("b")
			h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
				agreed := Tokens{
					Access: "agreed", Refresh: h.fake.Grant("id", "bob@example.com", events),
					Expires: time.Now().Add(time.Hour),
				}
				if err := settings.Keep(h.t.Context(), tenantID, theConnection, h.given[theConnection].Fingerprint,
					agreed); err != nil {
					h.t.Error(err)
				}
				return forward()
			})
			h.refusing(-1)
			if access, err := source.Token(h.t.Context(), tenantID, theConnection); access != "agreed" || err != nil ||
				h.fake.TokenCalls() != 1 {
				h.t.Errorf("%v after %d calls", err, h.fake.TokenCalls())
			}
		})
	})
	t.Run("is asked about again for who wants to know, but not at once", func(t *testing.T) {
		onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			h.refusing(2)
			again := func() error {
				_, err := source.Token(h.t.Context(), tenantID, theConnection)
				return errors.Join(source.Retry(h.t.Context(), tenantID, theConnection), err)
			}
			for range 2 {
				wantReason(h.t, again(), fault.ReasonReconnectRequired)
			}
			time.Sleep(StandardLimits().RefusalTTL)
			if err := source.Retry(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Fatal(err)
			}
			h.token(source, theConnection)
		})
	})
	t.Run("leaves room for new credentials", func(t *testing.T) {
		onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			h.refusing(2)
			_, err := source.Token(h.t.Context(), tenantID, theConnection)
			wantReason(h.t, err, fault.ReasonReconnectRequired)
			h.give(theConnection, h.fake.Grant("id", "bob@example.com", events))
			if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Fatal(err)
			}
			h.token(source, theConnection)
		})
	})
}

func TestATokenEndpointThatIsDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		down func(h *harness) (up func())
		// Number of renewals ahead of time. Whether the provider acted on a redeem that hangs is unknown, so
		// it is not repeated.
		least, most int
	}{
		"answers 503": {func(h *harness) func() { return h.fake.Fail(http.StatusServiceUnavailable, "no") }, 2, 29},
		"hangs": {func(h *harness) func() {
			return h.fake.Answer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
			}))
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
				source := h.source("a")
				h.token(source, theConnection)
				h.run(source)
				time.Sleep(44 * time.Minute)
				up := c.down(h)
				for range 15*60 - 5 { // seconds until shortly before the token expires
					began := time.Now()
					h.token(source, theConnection)
					if time.Since(began) > 0 {
						h.t.Fatal("a call waited while its token lived")
					}
					time.Sleep(time.Second)
				}
				if calls := h.fake.TokenCalls(); calls-1 < c.least || calls-1 > c.most {
					h.t.Errorf("%d tries ahead of time", calls-1)
				}
				time.Sleep(time.Minute)
				_, _ = source.Token(h.t.Context(), tenantID, theConnection) // the first call sees the failure
				calls, failures := h.fake.TokenCalls(), 0
				const asked = 60 * 10
				for range asked {
					ctx, cancel := context.WithTimeout(h.t.Context(), 8*time.Second)
					began := time.Now()
					if _, err := source.Token(ctx, tenantID, theConnection); err != nil {
						wantReason(h.t, err, fault.ReasonProviderUnavailable)
						failures++
					}
					cancel()
					if waited := time.Since(began); waited > 0 {
						h.t.Errorf("a call waited %s", waited)
					}
					time.Sleep(100 * time.Millisecond)
				}
				if calls = h.fake.TokenCalls() - calls; failures != asked || calls == 0 || calls > 70 {
					h.t.Errorf("%d calls failed, %d tries in a minute", failures, calls)
				}
				up()
				recovered := time.Now()
				for {
					if _, err := source.Token(h.t.Context(), tenantID, theConnection); err == nil {
						break
					}
					time.Sleep(100 * time.Millisecond)
				}
				if took := time.Since(recovered); took > 22*time.Second {
					h.t.Errorf("recovered after %s", took)
				}
				if h.status(theConnection) != "ok" {
					h.t.Error("the connection is marked")
				}
				h.wantFamily()
			})
		})
	}
	t.Run("recovers without a call", func(t *testing.T) {
		onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			up := h.fake.Fail(http.StatusServiceUnavailable, "no")
			if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Fatal(err)
			}
			h.run(source)
			time.Sleep(time.Hour)
			up()
			time.Sleep(source.limits.MaxBackoff * 2)
			if h.fake.Redeems() != 1 {
				h.t.Errorf("%d redeems", h.fake.Redeems())
			}
		})
	})
	t.Run("is not asked before it wants to be", func(t *testing.T) {
		onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			h.fake.Answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "40")
				w.WriteHeader(http.StatusTooManyRequests)
			}))
			if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Fatal(err)
			}
			h.run(source)
			for range 50 {
				time.Sleep(500 * time.Millisecond)
				_, err := source.Token(h.t.Context(), tenantID, theConnection)
				wantReason(h.t, err, fault.ReasonProviderRateLimited)
			}
			if calls := h.fake.TokenCalls(); calls > 2 { // one ahead of time, and one for the first call
				h.t.Errorf("%d calls", calls)
			}
		})
	})
}

// A token is not renewed before most of its life has passed, however often replicas check for due tokens.
func TestNoTokenIsRenewedEarly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		life     time.Duration
		earliest float64 // part of life before which no token is renewed
		lives    int
	}{
		{8 * time.Second, 0.6, 20}, // Run polls every few seconds, and must find it in time
		{time.Minute, earliest, 5},
	} {
		t.Run(c.life.String(), func(t *testing.T) {
			onSQLite(t, oauthtest.SingleUse, c.life, func(h *harness) {
				var last time.Time
				h.through(func(
					_ string, _ *http.Request, forward func() (*http.Response, error),
				) (*http.Response, error) {
					least := time.Duration(c.earliest*float64(c.life)) - time.Millisecond // store precision
					if gap := time.Since(last); !last.IsZero() && gap < least {
						h.t.Errorf("renewed after %s", gap)
					}
					last = time.Now()
					return forward()
				})
				if err := h.source("a").Schedule(h.t.Context(), tenantID, theConnection); err != nil {
					h.t.Fatal(err)
				}
				for _, name := range []string{"b", "c", "d"} {
					h.run(h.source(name))
				}
				time.Sleep(time.Duration(c.lives) * c.life)
				if redeems := h.fake.Redeems(); redeems < c.lives {
					h.t.Errorf("%d redeems in %d lives", redeems, c.lives)
				}
			})
		})
	}
}

func TestManyThatAreDueAtOnce(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		const many = 100 // more than a page of a sweep
		for i := range many - 1 {
			h.connect(name(i))
		}
		var now, most atomic.Int64
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			defer now.Add(-1)
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			return forward()
		})
		h.fake.Delay(300 * time.Millisecond)
		sources := []*TokenSource{h.source("a"), h.source("b")}
		for i := range many - 1 {
			if err := sources[0].Schedule(h.t.Context(), tenantID, name(i)); err != nil {
				h.t.Fatal(err)
			}
		}
		if err := sources[0].Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		began := time.Now()
		for _, source := range sources {
			h.run(source)
		}
		for h.fake.Redeems() < many && time.Since(began) < 10*time.Minute {
			time.Sleep(time.Second)
		}
		took := time.Since(began)
		time.Sleep(time.Minute)
		if h.fake.Redeems() != many || h.fake.Reuses() != 0 || h.fake.TokenCalls() != many {
			h.t.Errorf("%d redeems, %d reuses, %d calls", h.fake.Redeems(), h.fake.Reuses(), h.fake.TokenCalls())
		}
		if most.Load() > 2*hostSlots/responsiveSlots || took > time.Minute {
			h.t.Errorf("%d at once, all after %s", most.Load(), took)
		}
	})
}

func TestAnEndpointThatHangsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		sources := source.options.Credentials
		source.options.Credentials = func(ctx context.Context, tenantID, connectionID string) (Credentials, error) {
			s, err := sources(ctx, tenantID, connectionID)
			if connectionID != theConnection {
				s.Client.Grant.TokenURL = "https://hangs.example/token"
			}
			return s, err
		}
		h.through(func(_ string, r *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			if r.URL.Host == "hangs.example" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return forward()
		})
		for i := range 100 {
			h.connect(name(i))
			if err := source.Schedule(h.t.Context(), tenantID, name(i)); err != nil {
				h.t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil { // after all others
			h.t.Fatal(err)
		}
		h.run(source)
		time.Sleep(time.Minute)
		if h.fake.Redeems() != 1 {
			h.t.Error("the other endpoint's connection was not renewed in a minute")
		}
	})
}

// TestATenantWhoseHostsHangLeavesTurnsToOthers makes calls wait for one tenant's redeems at many hosts, each
// of which is within its own bounds.
func TestATenantWhoseHostsHangLeavesTurnsToOthers(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		const neighbour = "beta"
		err := h.store.CreateTenant(h.t.Context(), store.Tenant{
			ID: neighbour, Name: neighbour, CreatedAt: time.Now(),
		})
		if err != nil {
			h.t.Fatal(err)
		}
		h.connectFor(neighbour, "theirs")
		source := h.source("a")
		credentials := source.options.Credentials
		source.options.Credentials = func(ctx context.Context, tenantID, connectionID string) (Credentials, error) {
			c, err := credentials(ctx, tenantID, connectionID)
			if connectionID != "theirs" {
				c.Client.Grant.TokenURL = "https://" + connectionID + ".example/token"
			}
			return c, err
		}
		hung := make(chan struct{}, 100)
		h.through(func(_ string, r *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			if r.URL.Host == "provider.example" {
				return forward()
			}
			hung <- struct{}{}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		var calls sync.WaitGroup
		for i := range 20 {
			h.connect(name(i))
			calls.Go(func() { _, _ = source.Token(h.t.Context(), tenantID, name(i)) })
		}
		for range tenantSlots {
			<-hung
		}
		began := time.Now()
		if _, err := source.Token(h.t.Context(), neighbour, "theirs"); err != nil ||
			time.Since(began) > time.Second {
			h.t.Errorf("a neighbour has its token after %s: %v", time.Since(began), err)
		}
		calls.Wait()
	})
}

// TestNothingIsLeftOfHostsThatNeverAnswered: tenants name them, and a removed connection asks its own no more.
func TestNothingIsLeftOfHostsThatNeverAnswered(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		credentials := source.options.Credentials
		source.options.Credentials = func(ctx context.Context, tenantID, connectionID string) (Credentials, error) {
			c, err := credentials(ctx, tenantID, connectionID)
			c.Client.Grant.TokenURL = "https://" + connectionID + ".example/token"
			return c, err
		}
		h.through(func(string, *http.Request, func() (*http.Response, error)) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		})
		remembered := func() int {
			source.mu.Lock()
			defer source.mu.Unlock()
			return len(source.bulkheads)
		}
		for i := range 5 {
			h.connect(name(i))
			if _, err := source.Token(h.t.Context(), tenantID, name(i)); err == nil {
				h.t.Fatal("no error")
			}
			if err := h.store.DeleteConnection(h.t.Context(), tenantID, name(i)); err != nil {
				h.t.Fatal(err)
			}
		}
		if remembered() == 0 {
			h.t.Error("nothing is remembered of hosts that have just failed")
		}
		h.run(source)
		time.Sleep(3 * source.limits.MaxBackoff)
		if n := remembered(); n != 0 {
			h.t.Errorf("%d hosts and tenants are remembered", n)
		}
	})
}

func TestCredentialsThatAreGivenAgain(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		access := h.token(source, theConnection)
		// With the same credentials, the rotated refresh token is used.
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		if h.token(source, theConnection) != access || h.fake.Redeems() != 1 {
			h.t.Error("the tokens were thrown away")
		}
		h.give(theConnection, h.fake.Grant("id", "bob@example.com", events))
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" {
			h.t.Errorf("the token is of %s", who.Account)
		}
		if h.fake.Reuses() != 0 {
			h.t.Error("a used refresh token was presented")
		}
	})
}

func TestWhatWasReadBeforeAChangeIsNotRemembered(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		h.token(h.source("a"), theConnection)
		source := h.source("b")
		sources, reading, proceed := source.options.Credentials, make(chan struct{}), make(chan struct{})
		var held atomic.Bool
		source.options.Credentials = func(ctx context.Context, tenantID, connectionID string) (Credentials, error) {
			s, err := sources(ctx, tenantID, connectionID)
			if held.CompareAndSwap(false, true) {
				close(reading)
				<-proceed
			}
			return s, err
		}
		var work sync.WaitGroup
		work.Go(func() { _, _ = source.Token(h.t.Context(), tenantID, theConnection) })
		<-reading
		h.give(theConnection, h.fake.Grant("id", "bob@example.com", events))
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		close(proceed)
		work.Wait()
		if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" {
			h.t.Errorf("the token is of %s", who.Account)
		}
	})
}

func TestOtherCredentialsInTheMiddleOfARedeem(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			h.through(nil)
			answer, err := forward()
			h.give(theConnection, h.fake.Grant("id", "bob@example.com", events))
			if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Error(err)
			}
			return answer, err
		})
		if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" {
			h.t.Errorf("the token is of %s", who.Account)
		}
		if who, _ := h.fake.Bearer(bearer(h.token(source, theConnection))); who.Account != "bob@example.com" {
			h.t.Errorf("and then of %s", who.Account)
		}
	})
}

func TestAConnectionBeforeItsConsent(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		refresh := h.given[theConnection].Refresh
		h.give(theConnection, "")
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		h.run(source)
		time.Sleep(time.Minute)
		_, err := source.Token(h.t.Context(), tenantID, theConnection)
		wantReason(h.t, err, fault.ReasonReconnectRequired)
		if !strings.Contains(fault.From(err).Detail, "not connected") || h.fake.TokenCalls() != 0 {
			h.t.Errorf("%v after %d calls", err, h.fake.TokenCalls())
		}
		if err := source.Keep(h.t.Context(), tenantID, theConnection, h.given[theConnection].Fingerprint, Tokens{
			Access: "agreed", Refresh: refresh, Expires: time.Now().Add(time.Hour),
		}); err != nil {
			h.t.Fatal(err)
		}
		if access, err := source.Token(h.t.Context(), tenantID, theConnection); access != "agreed" || err != nil {
			h.t.Errorf("after the consent: %v", err)
		}
		time.Sleep(time.Hour)
		h.token(source, theConnection)
	})
}

func TestTheRefreshTokenOfAConsentIsKept(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.Keep, time.Hour, func(h *harness) { // like Google, which never repeats it
		source := h.source("a")
		refresh := h.given[theConnection].Refresh
		h.give(theConnection, "")
		if err := source.Keep(h.t.Context(), tenantID, theConnection, h.given[theConnection].Fingerprint, Tokens{
			Access: "agreed", Refresh: refresh,
		}); err != nil {
			h.t.Fatal(err)
		}
		access := "agreed"
		for range 3 {
			if _, err := source.Renew(h.t.Context(), tenantID, theConnection, access); err != nil {
				h.t.Fatal(err)
			}
			access = h.token(source, theConnection)
			time.Sleep(time.Minute)
		}
	})
}

func TestACallerWhoLeavesDoesNotEndARedeem(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.fake.Delay(10 * time.Second)
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
		defer cancel()
		if _, err := source.Token(ctx, tenantID, theConnection); !errors.Is(err, fault.Timeout) {
			h.t.Errorf("the caller is told %v", err)
		}
		time.Sleep(10 * time.Second)
		h.token(source, theConnection)
		h.wantFamily()
		if h.fake.TokenCalls() != 1 {
			h.t.Errorf("%d calls", h.fake.TokenCalls())
		}
	})
}

func TestTheEndOfRunFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.fake.Delay(10 * time.Second)
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		stop := h.run(source)
		for h.fake.TokenCalls() == 0 {
			time.Sleep(time.Second)
		}
		stop()
		if row := h.row(theConnection); h.fake.Redeems() != 1 || row.Version != 2 ||
			!row.RefreshAt.After(time.Now()) { // scheduled, then renewed
			h.t.Errorf("%d redeems, the row is %+v", h.fake.Redeems(), row)
		}
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.fake.Answer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		source.limits.Redeem = time.Hour
		var err error
		var work sync.WaitGroup
		work.Go(func() { _, err = source.Token(h.t.Context(), tenantID, theConnection) })
		synctest.Wait()
		began := time.Now()
		source.Close()
		work.Wait()
		if took := time.Since(began); took != source.limits.Drain || !errors.Is(err, fault.Unavailable) {
			h.t.Errorf("closed after %s, the call is told %v", took, err)
		}
		if _, err := source.Token(h.t.Context(), tenantID, theConnection); !errors.Is(err, fault.Unavailable) {
			h.t.Errorf("after its end: %v", err)
		}
	})
}

func TestWhatAProviderAlwaysRefusesIsNotRenewedForEachCall(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		again := 0
		for range 100 {
			other, err := source.Renew(h.t.Context(), tenantID, theConnection, h.token(source, theConnection))
			if err != nil {
				h.t.Fatal(err)
			}
			if other {
				again++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if again != source.limits.MaxForced || h.fake.Redeems() != again+1 {
			h.t.Errorf("renewed %d times, %d redeems", again, h.fake.Redeems())
		}
	})
}

// Some providers issue the same access token again as long as it lasts.
func TestAProviderThatIssuesTheRefusedTokenAgainIsAskedOnce(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.fake.Answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"same","token_type":"Bearer","expires_in":3600}`))
		}))
		if _, err := source.Token(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		calls := h.fake.TokenCalls()
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
		defer cancel()
		again, err := source.Renew(ctx, tenantID, theConnection, "same")
		if again || err != nil || h.fake.TokenCalls() != calls+1 {
			h.t.Errorf("another one: %t, %v; asked %d times", again, err, h.fake.TokenCalls()-calls)
		}
	})
}

func TestATokenWithoutAnEnd(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, -1, func(h *harness) {
		source := h.source("a")
		access := h.token(source, theConnection)
		h.run(source)
		time.Sleep(20 * time.Minute)
		if h.token(source, theConnection) != access || h.fake.TokenCalls() != 1 {
			h.t.Errorf("%d calls", h.fake.TokenCalls())
		}
		h.fake.ExpireAccess()
		if again, err := source.Renew(h.t.Context(), tenantID, theConnection, access); !again || err != nil {
			h.t.Errorf("another one: %t, %v", again, err)
		}
		h.token(source, theConnection)
	})
}

// Salesforce tells no end of an access token, and ends a refresh token that nobody used for 30 days.
func TestARefreshTokenIsNotLeftUnused(t *testing.T) {
	t.Parallel()
	for _, rotation := range []oauthtest.Rotation{oauthtest.SingleUse, oauthtest.Keep} {
		onSQLite(t, rotation, -1, func(h *harness) {
			source := h.source("a")
			h.token(source, theConnection)
			at := h.row(theConnection).RefreshAt
			if at.IsZero() || time.Until(at) > 15*24*time.Hour {
				h.t.Fatalf("it is due at %s", at)
			}
			time.Sleep(time.Until(at) + time.Second)
			source.sweep(h.t.Context())
			synctest.Wait()
			if redeems := h.fake.Redeems(); redeems != 2 {
				h.t.Errorf("%d redeems", redeems)
			}
		})
	}
}

// The version before gave such tokens no time.
func TestARefreshTokenOfTheVersionBeforeIsNotLeftUnused(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, -1, func(h *harness) {
		source := h.source("a", func(s *TokenSource) { s.limits.Poll = time.Hour })
		h.token(source, theConnection)
		row := h.row(theConnection)
		row.RefreshAt = time.Time{}
		if saved, err := h.store.SaveTokens(h.t.Context(), row, row.Version); !saved || err != nil {
			h.t.Fatal(saved, err)
		}
		h.run(source)
		time.Sleep(2 * time.Hour)
		if redeems := h.fake.Redeems(); redeems != 1 {
			h.t.Errorf("%d redeems while a replica of the version before may run", redeems)
		}
		time.Sleep(25 * time.Hour)
		if redeems := h.fake.Redeems(); redeems != 2 || h.row(theConnection).RefreshAt.IsZero() {
			h.t.Errorf("%d redeems", redeems)
		}
	})
}

// It may be used up. Its access token still works, and may do so for long.
func TestARefreshTokenIsNotPresentedAgainBecauseAGatewayStarts(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, -1, func(h *harness) {
		slow := func(s *TokenSource) { s.limits.Poll = time.Hour }
		source := h.source("a", slow)
		access := h.token(source, theConnection)
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			_, _ = forward()
			return nil, io.ErrUnexpectedEOF
		})
		time.Sleep(10 * 24 * time.Hour)
		source.sweep(h.t.Context())
		synctest.Wait()
		h.through(nil)
		started := h.source("b", slow)
		h.run(started)
		time.Sleep(48 * time.Hour)
		if calls := h.fake.TokenCalls(); calls != 2 || h.token(started, theConnection) != access {
			h.t.Errorf("%d requests for tokens", calls)
		}
	})
}

func TestAConnectionThatIsRemoved(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.through(func(_ string, _ *http.Request, forward func() (*http.Response, error)) (*http.Response, error) {
			if err := h.store.DeleteConnection(h.t.Context(), tenantID, theConnection); err != nil {
				h.t.Error(err)
			}
			return forward()
		})
		_, err := source.Token(h.t.Context(), tenantID, theConnection)
		wantReason(h.t, err, store.ReasonConnectionNotFound)
		if all, err := h.store.AllTokens(h.t.Context()); len(all) != 0 || err != nil {
			h.t.Errorf("%d tokens are left, %v", len(all), err)
		}
	})
}

func TestARowOfAnotherConnectionIsNotOpened(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		source := h.source("a")
		h.connect("c2")
		h.token(source, "c2")
		stolen := h.row("c2")
		stolen.ConnectionID = theConnection
		if err := h.store.ResetTokens(h.t.Context(), stolen); err != nil {
			h.t.Fatal(err)
		}
		if _, err := source.Token(h.t.Context(), tenantID, theConnection); !errors.Is(err, fault.Unavailable) ||
			h.fake.Redeems() != 1 {
			h.t.Errorf("got %v", err)
		}
		// The operator enters the credentials again.
		if err := source.Schedule(h.t.Context(), tenantID, theConnection); err != nil {
			h.t.Fatal(err)
		}
		h.token(source, theConnection)
	})
}

// An adapter may be wrong about the settings of one connection, or about one server's answer.
func TestARenewalThatPanicsEndsNoProcess(t *testing.T) {
	for name, breaks := range map[string]func(*Credentials){
		"reading the credentials": func(*Credentials) { panic("broken settings") },
		"asking the server":       func(c *Credentials) { c.Client.HTTP = nil },
	} {
		t.Run(name, func(t *testing.T) {
			onSQLite(t, oauthtest.Keep, time.Hour, func(h *harness) {
				h.connect("broken")
				source := h.source("a", func(s *TokenSource) {
					read := s.options.Credentials
					s.options.Credentials = func(ctx context.Context, tenant, connection string) (Credentials, error) {
						c, err := read(ctx, tenant, connection)
						if connection == "broken" {
							breaks(&c)
						}
						return c, err
					}
				})
				_, err := source.Token(h.t.Context(), tenantID, "broken")
				if err == nil || fault.From(err).Code != fault.Internal {
					h.t.Errorf("got %v", err)
				}
				if h.token(source, theConnection) == "" || !strings.Contains(h.logged.String(), "background work panicked") {
					h.t.Errorf("it is not logged: %s", h.logged.String())
				}
			})
		})
	}
}
