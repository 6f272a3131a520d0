package main

import (
	"errors"
	"fmt"
	"io"
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

// Three gateways on one store renew one account's tokens. Each refresh token is good for one use: presenting
// one again revokes all of them. core/oauth proves that a stopped or killed gateway costs no token, even
// after its lease has lapsed.
func TestOneGatewayRenewsForAll(t *testing.T) {
	t.Parallel()
	p := newRenewals(t, oauthtest.SingleUse, time.Hour)
	d := p.deployment(storetest.Postgres(t))
	for n := range p.gateways {
		p.gateways[n] = (&deployment{
			t: t, environ: append(d.environ,
				fmt.Sprintf("FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL=%s/token/%d", p.url, n)),
		}).serve()
	}
	p.key = d.must("key", "create", "--tenant", "acme")
	p.wantWorking(t)

	t.Run("callers of all three notice nothing when the token is refused", func(t *testing.T) {
		before := p.oauth.Redeems()
		p.oauth.ExpireAccess()
		var calls sync.WaitGroup
		for i := range 60 {
			calls.Go(func() {
				if err := p.verify(p.gateways[i%3], ""); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		p.wantRedeems(t, before+1)
	})

	t.Run("a gateway that is stopped while it renews", func(t *testing.T) {
		before := p.oauth.Redeems()
		acted, reply := p.holdReply()
		p.oauth.ExpireAccess()
		p.callSoon()
		n := p.await(t, acted)
		p.stop(n)
		close(reply)
		for other, g := range p.gateways {
			if other != n && p.verify(g, "1000") == nil {
				t.Errorf("gateway %d has a token while gateway %d is stopped with the answer on its way", other, n)
			}
		}
		p.signal(n, syscall.SIGCONT)
		p.wantWorking(t)
		p.wantRedeems(t, before+1)
	})

	t.Run("a gateway that is told to end while it renews", func(t *testing.T) {
		before := p.oauth.Redeems()
		acted, reply := p.holdReply()
		p.oauth.ExpireAccess()
		p.callSoon()
		n := p.await(t, acted)
		ends := p.gateways[n]
		p.signal(n, syscall.SIGTERM)
		ends.logged("shutting down")
		close(reply)
		<-ends.done
		p.gateways[n] = nil
		p.wantWorking(t)
		p.wantRedeems(t, before+1)
	})
}

// A gateway renews tokens even if nobody calls.
func TestTokensAreRenewedAheadOfTime(t *testing.T) {
	t.Parallel()
	p := newRenewals(t, oauthtest.SingleUse, 3*time.Second)
	p.serve()
	for end := time.Now().Add(time.Minute); p.oauth.Redeems() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d redeems", p.oauth.Redeems())
		}
	}
}

// A token endpoint accepts a request and never responds. If refresh tokens stay good, the waiting caller
// still gets the token, by another connection. If they are good for one use, callers are told at once that
// the endpoint hangs.
func TestATokenRequestIsSwallowed(t *testing.T) {
	t.Parallel()
	t.Run("where refresh tokens stay good", func(t *testing.T) {
		t.Parallel()
		p := newRenewals(t, oauthtest.Keep, time.Hour)
		p.serve()
		p.wantWorking(t)
		before, connections := p.oauth.TokenCalls(), p.connections.Load()
		p.oauth.Swallow(1, true)
		p.oauth.ExpireAccess()
		if err := p.verify(p.gateways[0], ""); err != nil {
			t.Error(err)
		}
		if calls := p.oauth.TokenCalls() - before; calls != 2 || p.connections.Load()-connections != 2 {
			t.Errorf("%d requests on %d connections", calls, p.connections.Load()-connections)
		}
	})
	t.Run("where they are good for one use", func(t *testing.T) {
		t.Parallel()
		p := newRenewals(t, oauthtest.SingleUse, time.Hour)
		p.serve()
		p.wantWorking(t)
		before := p.oauth.TokenCalls()
		p.oauth.Swallow(1, true)
		p.oauth.ExpireAccess()
		for range 3 {
			err := p.verify(p.gateways[0], "")
			const hangs = "The sign-in service of google has not answered for"
			if err == nil || !strings.HasPrefix(err.Error(), "status 503") || !strings.Contains(err.Error(), hangs) {
				t.Errorf("the caller is told %v", err)
			}
		}
		if calls := p.oauth.TokenCalls() - before; calls != 1 || p.oauth.Reuses() != 0 {
			t.Errorf("%d requests, %d reuses", calls, p.oauth.Reuses())
		}
	})
}

// renewals is a provider of which only the tokens are used, and the gateways that use it.
type renewals struct {
	t        *testing.T
	oauth    *oauthtest.Server
	url      string
	gateways [3]*running
	key      string

	connections atomic.Int64 // those that token requests came by
	peers       sync.Map     // their addresses

	mu sync.Mutex
	// Handles token requests instead of the token endpoint, unless nil.
	token func(w http.ResponseWriter, r *http.Request, gateway int)
}

func newRenewals(t *testing.T, rotation oauthtest.Rotation, life time.Duration) *renewals {
	p := &renewals{t: t}
	p.oauth = oauthtest.New(oauthtest.Options{
		AuthorizePath: "/auth", TokenPath: "/token", Clients: map[string]string{"desk": "desk-secret"},
		Lifetime: life, Rotation: rotation,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token/{gateway}", p.serveToken)
	const calendar = `{"kind":"calendar#calendarListEntry","id":"pat@example.com","summary":"pat","primary":true,"accessRole":"owner"}`
	mux.Handle("GET /calendar/v3/users/me/calendarList/primary", p.answers(calendar))
	mux.Handle("GET /calendar/v3/users/me/calendarList",
		p.answers(`{"kind":"calendar#calendarList","items":[`+calendar+`]}`))
	const events = `{"kind":"calendar#events","accessRole":"owner","items":[]}`
	mux.Handle("GET /calendar/v3/calendars/{calendar}/events", p.answers(events))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// serve starts one gateway, on SQLite.
func (p *renewals) serve() {
	p.t.Helper()
	d := p.deployment("")
	d.environ = append(d.environ, "FRONTDESK_PROVIDERS__GOOGLE__TOKEN_URL="+p.url+"/token/0")
	p.gateways[0] = d.serve()
	p.key = d.must("key", "create", "--tenant", "acme")
}

// answers returns a handler that sends body to requests with a valid token.
func (p *renewals) answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if _, ok := p.oauth.Bearer(r); !ok {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(
				[]byte(
					`{"error":{"code":401,"message":"Invalid Credentials","errors":[{"domain":"global","reason":"authError","message":"Invalid Credentials"}]}}`))
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

// deployment returns a deployment on a store, with the account connected.
func (p *renewals) deployment(storeURL string) *deployment {
	p.t.Helper()
	d := newDeployment(p.t, storeURL,
		"REFRESH_TOKEN="+p.oauth.Grant("desk", "pat@example.com",
			"https://www.googleapis.com/auth/calendar.events"),
		"FRONTDESK_PROVIDERS__GOOGLE__CLIENT_ID=desk", "FRONTDESK_PROVIDERS__GOOGLE__CLIENT_SECRET=desk-secret",
		"FRONTDESK_PROVIDERS__GOOGLE__API_URL="+p.url,
		// All callers use one connection.
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION=100",
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION_QUEUE=1000",
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_HOST_QUEUE=1000")
	d.must("tenant", "create", "acme")
	d.must("connection", "add", "--tenant", "acme", "--kind", "calendar", "--provider", "google", "--secret",
		"refresh_token=env:REFRESH_TOKEN")
	return d
}

// serveToken responds as the authorization server does.
func (p *renewals) serveToken(w http.ResponseWriter, r *http.Request) {
	var gateway int
	_, _ = fmt.Sscan(r.PathValue("gateway"), &gateway)
	r.URL.Path = "/token"
	if _, known := p.peers.LoadOrStore(r.RemoteAddr, true); !known {
		p.connections.Add(1)
	}
	p.mu.Lock()
	held := p.token
	p.mu.Unlock()
	if held != nil {
		held(w, r, gateway)
		return
	}
	p.oauth.ServeHTTP(w, r)
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

// holdReply has the authorization server act on every request from now on, send the gateway's number to
// acted, and respond once reply is closed.
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

// await returns the number of the gateway that asks for a token.
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

// stop stops a gateway, and waits until it has stopped: it may run on for a moment after the signal.
func (p *renewals) stop(gateway int) {
	p.signal(gateway, syscall.SIGSTOP)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.gateways[gateway].cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			p.t.Fatalf("the gateway does not stop: %v", err)
		}
		return
	}
}

// verify asks a gateway for its account, for which the gateway asks the provider each time. within is the
// timeout in milliseconds; "" is the usual one.
func (p *renewals) verify(g *running, within string) error {
	address := g.api + "/v1/calendar/verify-calendar-connection"
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	req.Header.Set("X-Api-Key", p.key)
	if within != "" {
		req.Header.Set("X-Request-Timeout-Ms", within)
	}
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

// callSoon calls every gateway and does not wait for the responses.
func (p *renewals) callSoon() {
	for _, g := range p.gateways {
		if g != nil {
			go func() { _ = p.verify(g, "") }()
		}
	}
}

// wantWorking fails unless all remaining gateways answer calls within a minute.
func (p *renewals) wantWorking(t *testing.T) {
	t.Helper()
	p.hold(nil)
	for n, g := range p.gateways {
		if g == nil {
			continue
		}
		var err error
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if err = p.verify(g, ""); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("gateway %d does not work: %v\n%s", n, err, g.log())
		}
	}
}

func (p *renewals) wantRedeems(t *testing.T, want int) {
	t.Helper()
	if got := p.oauth.Redeems(); got != want {
		t.Errorf("%d redeems, want %d", got, want)
	}
	p.wantFamily(t)
}

func (p *renewals) wantFamily(t *testing.T) {
	t.Helper()
	if n := p.oauth.Reuses(); n > 0 {
		t.Fatalf("a refresh token was used twice, %d times: the account is lost", n)
	}
}

// A rotated refresh token outlives the gateway. Applying the file with the first token again changes nothing.
func TestRotatedTokenIsKeptWhenTheFileIsAppliedAgain(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, storeURL string) {
		p := newRenewals(t, oauthtest.SingleUse, time.Hour)
		d := newDeployment(t, storeURL,
			"REFRESH_TOKEN="+p.oauth.Grant("desk", "pat@example.com",
				"https://www.googleapis.com/auth/calendar.events"),
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
		d.must("apply", "-f", file)
		for range 3 {
			p.oauth.ExpireAccess()
			d.must("connection", "verify", "--tenant", "acme", "front-office")
			if changed := d.must("apply", "-f", file); changed != "" {
				t.Errorf("applied again, it changed: %s", changed)
			}
		}
		if p.oauth.Redeems() < 3 {
			t.Errorf("%d redeems, want one for each expiry", p.oauth.Redeems())
		}
		p.wantFamily(t)
	})
}
