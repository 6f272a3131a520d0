package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontdesk/core/oauth/oauthtest"
	"frontdesk/core/store/storetest"
)

// Three gateways on one store renew one account's tokens, each of which is good for one use: presenting one again revokes
// all of them. Whoever is stopped or killed in the middle, there is one redeem per expiry and the account stays connected.
func TestOneGatewayRenewsForAll(t *testing.T) {
	t.Parallel()
	p := newRenewals(t)
	h := p.house(storetest.Postgres(t))
	for n := range p.gateways {
		p.gateways[n] = (&house{t: t, environ: append(h.environ, fmt.Sprintf("FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL=%s/token/%d", p.url, n))}).serve()
	}
	key := h.must("key", "create", "--tenant", "acme")

	t.Run("200 callers notice no expiry", func(t *testing.T) {
		before := p.oauth.Redeems()
		const span = 24 * time.Second
		failed := p.callFor(span, 200, key)
		if n := failed.Load(); n > 0 {
			t.Errorf("%d calls failed: %v", n, p.failure.Load())
		}
		// A token of this life is renewed when 75 to 90 % of it have passed.
		least, most := int(span/tokenLife)-1, int(span/(tokenLife*3/4))+2
		if redeems := p.oauth.Redeems() - before; redeems < least || redeems > most {
			t.Errorf("%d redeems in %s, want one per expiry: %d to %d", redeems, span, least, most)
		}
		p.wantFamily(t)
	})

	t.Run("a gateway that is stopped while it renews", func(t *testing.T) {
		before := p.oauth.Redeems()
		acted, reply := p.holdReply()
		p.oauth.ExpireAccess()
		p.callSoon(key)
		n := p.await(t, acted)
		p.signal(n, syscall.SIGSTOP)
		close(reply)
		// Longer than a lease lasts.
		select {
		case other := <-acted:
			t.Errorf("gateway %d redeemed while gateway %d was stopped with the answer on its way", other, n)
		case <-time.After(36 * time.Second):
		}
		p.signal(n, syscall.SIGCONT)
		p.wantWorking(t, key)
		if redeems := p.oauth.Redeems() - before; redeems > 2 { // the held one, and one that fell due since
			t.Errorf("%d redeems", redeems)
		}
		p.wantFamily(t)
	})

	t.Run("a gateway that is killed before the provider acts", func(t *testing.T) {
		asked := p.holdRequest()
		p.oauth.ExpireAccess()
		p.callSoon(key)
		n := p.await(t, asked)
		p.gateways[n].kill()
		p.gateways[n] = nil
		p.wantWorking(t, key)
		p.wantFamily(t)
	})

	t.Run("a gateway that is told to end while it renews", func(t *testing.T) {
		acted, reply := p.holdReply()
		p.oauth.ExpireAccess()
		p.callSoon(key)
		n := p.await(t, acted)
		_ = p.gateways[n].cmd.Process.Signal(syscall.SIGTERM)
		time.AfterFunc(2*time.Second, func() { close(reply) })
		<-p.gateways[n].done
		p.gateways[n] = nil
		p.wantWorking(t, key)
		p.wantFamily(t)
	})
}

const tokenLife = 8 * time.Second

// renewals is a provider of which only the tokens matter, and the gateways that use it.
type renewals struct {
	t        *testing.T
	oauth    *oauthtest.Server
	url      string
	gateways [3]*running
	failure  atomic.Value // of a call, as a text

	mu    sync.Mutex
	token func(w http.ResponseWriter, r *http.Request, gateway int) // in place of the token endpoint; nil: it answers
}

func newRenewals(t *testing.T) *renewals {
	p := &renewals{t: t}
	p.oauth = oauthtest.New(oauthtest.Options{
		AuthorizePath: "/auth", TokenPath: "/token", Clients: map[string]string{"desk": "desk-secret"},
		Lifetime: tokenLife, Rotation: oauthtest.SingleUse,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token/{gateway}", p.serveToken)
	const calendar = `{"kind":"calendar#calendarListEntry","id":"pat@example.com","summary":"pat","primary":true,"accessRole":"owner"}`
	mux.Handle("GET /calendar/v3/users/me/calendarList/primary", p.answers(calendar))
	mux.Handle("GET /calendar/v3/users/me/calendarList", p.answers(`{"kind":"calendar#calendarList","items":[`+calendar+`]}`))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// answers answers who has a token.
func (p *renewals) answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, ok := p.oauth.Bearer(r); !ok {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"code":401,"message":"Invalid Credentials","errors":[{"domain":"global","reason":"authError","message":"Invalid Credentials"}]}}`))
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

// house has the account connected on a store.
func (p *renewals) house(storeURL string) *house {
	p.t.Helper()
	h := newHouse(p.t, storeURL, "REFRESH_TOKEN="+p.oauth.Grant("desk", "pat@example.com", "https://www.googleapis.com/auth/calendar.events"),
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=desk-secret",
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL="+p.url,
		// All callers are of one connection.
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION=100", "FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION_QUEUE=1000",
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_HOST_QUEUE=1000")
	h.must("tenant", "create", "acme")
	h.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "google", "--secret", "refresh_token=env:REFRESH_TOKEN")
	return h
}

// serveToken answers as the authorization server does, up to a second late.
func (p *renewals) serveToken(w http.ResponseWriter, r *http.Request) {
	var gateway int
	_, _ = fmt.Sscan(r.PathValue("gateway"), &gateway)
	r.URL.Path = "/token"
	p.mu.Lock()
	held := p.token
	p.mu.Unlock()
	if held != nil {
		held(w, r, gateway)
		return
	}
	answer := httptest.NewRecorder()
	p.oauth.ServeHTTP(answer, r)
	time.Sleep(rand.N(time.Second))
	pass(w, answer)
}

func pass(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (p *renewals) hold(token func(http.ResponseWriter, *http.Request, int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token = token
}

// holdReply has the authorization server act on every request from now on, tell whose it was, and answer when reply is
// closed.
func (p *renewals) holdReply() (acted chan int, reply chan struct{}) {
	acted, reply = make(chan int, 100), make(chan struct{})
	p.hold(func(w http.ResponseWriter, r *http.Request, gateway int) {
		answer := httptest.NewRecorder()
		p.oauth.ServeHTTP(answer, r)
		select {
		case <-reply: // no longer held
		default:
			acted <- gateway
			<-reply
		}
		pass(w, answer)
	})
	return acted, reply
}

// holdRequest has the next request to the authorization server wait until who made it is gone; nothing is acted upon.
func (p *renewals) holdRequest() (asked chan int) {
	asked = make(chan int, 1)
	p.hold(func(_ http.ResponseWriter, r *http.Request, gateway int) {
		p.hold(nil)
		_, _ = io.Copy(io.Discard, r.Body) // the server notices that a client is gone when it has read all of it
		asked <- gateway
		<-r.Context().Done()
	})
	return asked
}

// await answers which gateway asks for a token.
func (p *renewals) await(t *testing.T, asks chan int) int {
	t.Helper()
	select {
	case n := <-asks:
		return n
	case <-time.After(40 * time.Second):
		t.Fatal("no gateway renews the token")
		return 0
	}
}

func (p *renewals) signal(gateway int, s os.Signal) {
	if err := p.gateways[gateway].cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// verify asks a gateway whose account it is, which it asks the provider each time.
func (p *renewals) verify(ctx context.Context, g *running, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.api+"/v1/calendar/verify-calendar-connection", strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(body), `"ok":true`) {
		err = fmt.Errorf("status %d %s", res.StatusCode, body)
	}
	return err
}

// callFor has callers ask all gateways without a pause for as long, and counts the calls that fail.
func (p *renewals) callFor(span time.Duration, callers int, key string) *atomic.Int64 {
	var failed atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for i := range callers {
		wg.Go(func() {
			for n := i; time.Now().Before(end); n++ {
				if err := p.verify(context.Background(), p.gateways[n%len(p.gateways)], key); err != nil && !strings.Contains(err.Error(), "OVERLOADED") { // which is no word on tokens
					failed.Add(1)
					p.failure.Store(err.Error())
				}
				time.Sleep(rand.N(200 * time.Millisecond))
			}
		})
	}
	wg.Wait()
	return &failed
}

// callSoon asks every gateway and does not wait for the answers.
func (p *renewals) callSoon(key string) {
	for _, g := range p.gateways {
		if g != nil {
			go func() { _ = p.verify(context.Background(), g, key) }()
		}
	}
}

// wantWorking wants all gateways that are left to answer calls again within a lease and a little.
func (p *renewals) wantWorking(t *testing.T, key string) {
	t.Helper()
	p.hold(nil)
	for n, g := range p.gateways {
		if g == nil {
			continue
		}
		var err error
		for end := time.Now().Add(50 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if err = p.verify(context.Background(), g, key); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("gateway %d does not recover: %v\n%s", n, err, g.log())
		}
	}
}

func (p *renewals) wantFamily(t *testing.T) {
	t.Helper()
	if n := p.oauth.Reuses(); n > 0 {
		t.Fatalf("a refresh token was used twice, %d times: the account is lost", n)
	}
}

// A rotated refresh token outlives the gateway, and applying the file that brought the first one changes nothing.
func TestRotatedTokenIsKeptWhenTheFileIsAppliedAgain(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		p := newRenewals(t)
		h := newHouse(t, storeURL, "REFRESH_TOKEN="+p.oauth.Grant("desk", "pat@example.com", "https://www.googleapis.com/auth/calendar.events"),
			"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=desk-secret",
			"FRONTDESK_PROVIDERS__GOOGLE__API_URL="+p.url, "FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL="+p.url+"/token/0")
		file := filepath.Join(t.TempDir(), "tenants.yaml")
		if err := os.WriteFile(file, []byte(`
tenants:
  - name: acme
    connections:
      - {name: front-office, kind: calendar, provider: google, default: true, credentials: {refresh_token: "env:REFRESH_TOKEN"}}
`), 0o600); err != nil {
			t.Fatal(err)
		}
		h.must("apply", "-f", file)
		for range 3 {
			p.oauth.ExpireAccess()
			h.must("connection", "verify", "--tenant", "acme", "front-office")
			if changed := h.must("apply", "-f", file); changed != "" {
				t.Errorf("applied again, it changed: %s", changed)
			}
		}
		if p.oauth.Redeems() < 3 {
			t.Errorf("%d redeems, want one for each expiry", p.oauth.Redeems())
		}
		p.wantFamily(t)
	})
}
