package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/oauth/oauthtest"
)

// deadline is the deadline of a caller (server.deadline).
const deadline = 8 * time.Second

// ask gets a token with a caller's deadline.
func (h *harness) ask(source *TokenSource) (access string, err error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), deadline)
	defer cancel()
	return source.Token(ctx, tenantID, theConnection)
}

// swallowings maps when a token endpoint swallows a request to whether it acts on the request.
var swallowings = map[string]bool{"before it acts": false, "after it acted": true}

// A refresh token that stays valid is presented again at once: a swallowed request delays its callers by
// three seconds.
func TestASwallowedRequestIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server   oauthtest.Rotation
		declared adapter.Rotation
		known    bool // an earlier redeem has shown that the refresh token stays valid
	}{
		"where the adapter declares that refresh tokens stay": {oauthtest.Keep, adapter.RotationNone, false},
		"where it declares that older ones stay good": {oauthtest.Renew,
			adapter.RotationOverlapping, false},
		"where nothing is declared, and it has stayed before": {oauthtest.Keep, adapter.RotationUnknown, true},
	} {
		for when, acting := range swallowings {
			t.Run(name+", "+when, func(t *testing.T) {
				onEveryStore(t, c.server, time.Hour, func(h *harness) {
					h.rotation = c.declared
					sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
					if c.known {
						h.token(sources[0], theConnection)
						time.Sleep(time.Hour)
					}
					calls := h.fake.TokenCalls()
					h.fake.Swallow(1, acting)
					began := time.Now()
					all(30, func(i int) {
						if _, err := h.ask(sources[i%3]); err != nil {
							h.t.Errorf("a caller is told %v", err)
						}
					})
					limits := sources[0].limits
					if took := time.Since(began); took < limits.SecondTry || took > limits.SecondTry+2*limits.LeasePoll {
						h.t.Errorf("the last caller waited %s", took)
					}
					if calls = h.fake.TokenCalls() - calls; calls != 2 {
						h.t.Errorf("%d requests", calls)
					}
					if h.fake.Reuses() != 0 {
						h.t.Error("a refresh token that was good for one use was presented again")
					}
				})
			})
		}
	}
}

// The first request to a slow endpoint is waited for, even if a second one is under way or was lost.
func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func() (*http.Response, error){
		"of two":                   nil,
		"while the second is lost": func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"while the second is refused because of it, as at Salesforce": func() (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(
					`{"error":"invalid_grant","error_description":"token request is already being processed"}`)),
			}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			onSQLite(t, oauthtest.Keep, time.Hour, func(h *harness) {
				h.rotation = adapter.RotationNone
				source := h.source("a")
				var requests atomic.Int64
				h.through(func(
					_ string, _ *http.Request, forward func() (*http.Response, error),
				) (*http.Response, error) {
					if requests.Add(1) == 2 && second != nil {
						return second()
					}
					return forward()
				})
				late := source.limits.SecondTry + time.Second
				h.fake.Delay(late)
				began := time.Now()
				if _, err := h.ask(source); err != nil || time.Since(began) != late || requests.Load() != 2 {
					h.t.Errorf("after %s and %d requests: %v", time.Since(began), requests.Load(), err)
				}
			})
		})
	}
}

// A request that never left this machine was not acted on, so it is repeated with any kind of refresh token.
func TestARequestThatWasNotSentIsMadeAgain(t *testing.T) {
	t.Parallel()
	onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		unsent := fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "It could not be reached.")
		unsent.Unsent = true
		h.through(func(_ string, _ *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			h.through(nil)
			return nil, unsent
		})
		h.token(h.source("a"), theConnection)
		h.wantFamily()
	})
}

// A single-use refresh token that may have been used is not presented again while the access token works.
func TestASwallowedRenewalEndsNoAccessThatWorks(t *testing.T) {
	t.Parallel()
	for when, acting := range swallowings {
		for _, holder := range []string{"waits for the answer", "is killed"} {
			t.Run(when+", and who made it "+holder, func(t *testing.T) {
				onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
					h.rotation = adapter.RotationNone // the first redeem shows that this is wrong
					sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
					access := h.token(sources[0], theConnection)
					end := time.Now().Add(time.Hour)
					time.Sleep(44 * time.Minute) // shortly before the token is due
					if holder == "is killed" {
						h.abandon(sources[0], acting)
					} else {
						h.fake.Swallow(1, acting)
					}
					for _, source := range sources {
						h.run(source)
					}
					for n := 0; time.Now().Before(end.Add(-10 * time.Second)); n++ {
						began := time.Now()
						got, err := h.ask(sources[n%3])
						_, works := h.fake.Bearer(bearer(got))
						if got != access || err != nil || !works || time.Since(began) > 0 {
							h.t.Fatalf("%s before its end: works: %t, after %s: %v", time.Until(end), works,
								time.Since(began), err)
						}
						time.Sleep(time.Second)
					}
					if calls := h.fake.TokenCalls(); calls != 2 {
						h.t.Errorf("asked %d times", calls)
					}
					if h.fake.Reuses() != 0 {
						h.t.Error("the refresh token was presented again")
					}
					time.Sleep(time.Minute)
					h.wantDecided(sources, acting)
				})
			})
		}
	}
}

// abandon leaves the same state as a process that is killed in the middle of a redeem.
func (h *harness) abandon(source *TokenSource, acting bool) {
	h.t.Helper()
	v, err := source.read(h.t.Context(), tenantID, theConnection)
	if err != nil {
		h.t.Fatal(err)
	}
	if leased, err := source.lease(h.t.Context(), &v); !leased || err != nil {
		h.t.Fatal(leased, err)
	}
	h.fake.Swallow(1, acting)
	ctx, kill := context.WithTimeout(h.t.Context(), time.Second)
	defer kill()
	if _, err := v.credentials.Client.Token(ctx, v.refresh()); !errors.Is(err, fault.Timeout) {
		h.t.Fatal(err)
	}
}

// wantDecided fails the test unless every replica knows the outcome of a swallowed redeem. If the provider
// did not act on it, the connection works. If it did, the tokens were lost with the response, and the account
// has to be connected again.
func (h *harness) wantDecided(sources []*TokenSource, acting bool) {
	h.t.Helper()
	for _, source := range sources {
		access, err := h.ask(source)
		if acting {
			wantReason(h.t, err, fault.ReasonReconnectRequired)
			continue
		}
		if _, works := h.fake.Bearer(bearer(access)); !works || err != nil {
			h.t.Errorf("the connection does not work: %v", err)
		}
	}
	if status := map[bool]string{false: "ok",
		true: "reconnect_required"}[acting]; h.status(theConnection) != status {
		h.t.Errorf("the connection is %s, want %s", h.status(theConnection), status)
	}
}

// Without a working access token, the renewal waits for the response for as long as it may come, but callers
// do not.
func TestCallersDoNotWaitForARenewalThatHangs(t *testing.T) {
	t.Parallel()
	for when, acting := range swallowings {
		t.Run("which was swallowed "+when, func(t *testing.T) {
			onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
				sources := []*TokenSource{h.source("a"), h.source("b"), h.source("c")}
				limits := sources[0].limits
				h.fake.Swallow(1, acting)
				began := time.Now()
				all(30, func(i int) {
					_, err := h.ask(sources[i%3])
					wantReason(h.t, err, fault.ReasonProviderUnavailable)
				})
				if took := time.Since(began); took != limits.Patience {
					h.t.Errorf("the first callers waited %s", took)
				}
				late := h.source("d") // a replica that starts after the renewal began
				for time.Since(began) < limits.Redeem {
					for _, source := range append(sources, late) {
						asked := time.Now()
						_, err := h.ask(source)
						wantReason(h.t, err, fault.ReasonProviderUnavailable)
						if waited := time.Since(asked); waited > 0 {
							h.t.Fatalf("%s after it began, a caller waited %s", time.Since(began), waited)
						}
						retryAt := time.Now().Add(fault.From(err).RetryAfter)
						early := began.Add(limits.Redeem).Sub(retryAt)
						if early.Abs() > time.Second && time.Until(retryAt) > time.Second {
							h.t.Fatalf("told to come back %s too early", early)
						}
					}
					time.Sleep(100 * time.Millisecond)
				}
				if h.fake.TokenCalls() != 1 {
					h.t.Errorf("%d requests while the answer might still have come", h.fake.TokenCalls())
				}
				for range 40 { // callers repeat their requests
					_, _ = h.ask(sources[0])
					time.Sleep(100 * time.Millisecond)
				}
				if reuses := h.fake.Reuses(); !acting && reuses != 0 {
					h.t.Errorf("%d reuses", reuses)
				}
				time.Sleep(limits.RefusalTTL)
				h.wantDecided(append(sources, late), acting)
			})
		})
	}
	t.Run("whose answer comes late is used", func(t *testing.T) {
		onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			sources := []*TokenSource{h.source("a"), h.source("b")}
			h.fake.Delay(15 * time.Second)
			for _, source := range sources {
				_, err := h.ask(source)
				wantReason(h.t, err, fault.ReasonProviderUnavailable)
			}
			time.Sleep(15 * time.Second)
			for _, source := range sources {
				h.token(source, theConnection)
			}
			h.wantFamily()
		})
	})
	t.Run("with a deadline of their own they are told by then, and the next ones at once", func(t *testing.T) {
		onSQLite(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
			source := h.source("a")
			h.fake.Swallow(1, false)
			ctx, cancel := context.WithTimeout(h.t.Context(), time.Second)
			defer cancel()
			_, err := source.Token(ctx, tenantID, theConnection)
			wantReason(h.t, err, fault.ReasonDeadlineExceeded)
			time.Sleep(6 * time.Second)
			began := time.Now()
			_, err = h.ask(source)
			if time.Since(began) > 0 {
				h.t.Errorf("waited %s", time.Since(began))
			}
			const hangs = "The sign-in service of provider has not answered for 7 s: " +
				"the connection's access could not be renewed. Repeat the request in 13 s."
			if f := fault.From(err); f.Detail != hangs || f.RetryAfter != 13*time.Second {
				h.t.Errorf("told %q, to repeat in %s", f.Detail, f.RetryAfter)
			}
		})
	})
}

// A replica with an empty cache uses the stored token, even while its own renewal hangs.
func TestARenewalThatHangsBlocksNobodyWhoseTokenWorks(t *testing.T) {
	t.Parallel()
	onEveryStore(t, oauthtest.SingleUse, time.Hour, func(h *harness) {
		access := h.token(h.source("a"), theConnection)
		time.Sleep(56 * time.Minute)
		source := h.source("b")
		h.fake.Swallow(1, false)
		h.run(source)
		for h.fake.TokenCalls() < 2 {
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		began := time.Now()
		if got, err := h.ask(source); got != access || err != nil || time.Since(began) > 0 {
			h.t.Errorf("after %s: %v", time.Since(began), err)
		}
		_, err := source.Renew(h.t.Context(), tenantID, theConnection, access) // the provider refuses it
		wantReason(h.t, err, fault.ReasonProviderUnavailable)
		if waited := time.Since(began); waited > source.limits.Patience {
			h.t.Errorf("waited %s", waited)
		}
		for range 20 { // while calls no longer wait for the renewal
			if got, err := h.ask(source); got != access || err != nil {
				h.t.Fatalf("after %s: %v", time.Since(began), err)
			}
		}
	})
}
