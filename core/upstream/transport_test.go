package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/telemetry"
)

// rawServer runs a function for each connection.
func rawServer(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			done.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		done.Wait()
	})
	return l.Addr().String()
}

func closedPort(t *testing.T) string {
	t.Helper()
	// The port stays bound until the test ends, so that no other server gets it.
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
}

// TestFilesThatRanOutAreNotTheProvidersFault checks that what the process lacks opens no breaker (core/guard).
func TestFilesThatRanOutAreNotTheProvidersFault(t *testing.T) {
	for _, limit := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		none := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", limit)}
		client := newPool(t, PoolOptions{Resolver: &net.Resolver{
			PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, none },
		}}).Client(ClientOptions{Provider: "rest"})
		_, _, _, err := Do(client, request(t, http.MethodPost, "http://crm.example.com/", "{}"))
		wantFault(t, err, fault.Unavailable, fault.ReasonOverloaded, true)

		dialled := (&transport{client: ClientOptions{Provider: "rest"}}).failure(t.Context(),
			parse(t, "http://192.0.2.1/"), none, false)
		wantFault(t, dialled, fault.Unavailable, fault.ReasonOverloaded, true)
	}
}

// TestWhatWasSent checks the only claim that allows a write to be repeated.
func TestWhatWasSent(t *testing.T) {
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	hangUp := func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
	}
	cases := map[string]struct {
		address string
		header  http.Header
		timeout time.Duration
		code    fault.Code
		unsent  bool
	}{
		"nobody listens": {address: "http://" + closedPort(t),
			code: fault.Unavailable, unsent: true},
		"no such host": {address: "http://nowhere.example.com",
			code: fault.Unavailable, unsent: true},
		"TLS does not begin": {address: "https://" + rawServer(t, silent),
			timeout: 50 * time.Millisecond, code: fault.Timeout, unsent: true},
		"TLS is broken off": {address: "https://" + rawServer(t, func(net.Conn) {}),
			code: fault.Unavailable, unsent: true},
		"the deadline has passed before": {address: "http://" + rawServer(t, silent), timeout: time.Nanosecond,
			code: fault.Timeout, unsent: true},
		"hung up instead of an answer": {address: "http://" + rawServer(t, hangUp), code: fault.Unavailable},
		"an answer that is none": {address: "http://" + rawServer(t,
			func(c net.Conn) { hangUp(c); _, _ = c.Write([]byte("220 smtp ready\r\n")) }), code: fault.Unavailable},
	}
	dns := &names{}
	client := newPool(t, PoolOptions{Resolver: dns.resolver()}).Client(ClientOptions{Provider: "rest"})
	for rule, c := range cases {
		t.Run(rule, func(t *testing.T) {
			ctx := t.Context()
			if c.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.timeout)
				defer cancel()
			}
			req := request(t, http.MethodPost, c.address+"/x?token=s3cret", "body").WithContext(ctx)
			_, _, _, err := Do(client, req)
			f := faultOf(t, err)
			if f.Code != c.code || f.Unsent != c.unsent {
				t.Errorf("got %s unsent=%t, want %s unsent=%t: %v", f.Code, f.Unsent, c.code, c.unsent, f)
			}
			if f.Metadata["provider"] != "rest" {
				t.Errorf("metadata %v", f.Metadata)
			}
		})
	}
	t.Run("no answer", func(t *testing.T) {
		ctx := faulttest.NewDeadline(t.Context())
		address := rawServer(t, func(conn net.Conn) {
			hangUp(conn)
			ctx.Pass()
			silent(conn)
		})
		_, _, _, err := Do(client, request(t, http.MethodPost, "http://"+address+"/x", "body").WithContext(ctx))
		if f := faultOf(t, err); f.Code != fault.Timeout || f.Unsent {
			t.Errorf("got %s unsent=%t", f.Code, f.Unsent)
		}
	})
	t.Run("the caller leaves", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		address := rawServer(t, func(conn net.Conn) {
			hangUpAfter := bufio.NewReader(conn)
			_, _ = http.ReadRequest(hangUpAfter)
			cancel()
			_, _ = io.Copy(io.Discard, conn)
		})
		_, err := client.Do(request(t, http.MethodPost, "http://"+address, "body").WithContext(ctx))
		wantFault(t, err, fault.Canceled, fault.ReasonCanceled, false)
	})
	t.Run("a refusal to authorise sends nothing", func(t *testing.T) {
		refusing := newPool(t, PoolOptions{}).Client(ClientOptions{
			Provider: "rest", Authorize: func(*http.Request) error {
				return fault.New(fault.Disconnected, fault.ReasonReconnectRequired, "The token is gone.")
			},
		})
		_, err := refusing.Do(request(t, http.MethodPost, "http://"+closedPort(t), "body"))
		wantFault(t, err, fault.Disconnected, fault.ReasonReconnectRequired, true)
	})
}

func TestACallEndsWithoutADeadline(t *testing.T) {
	silent := rawServer(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	client := newPool(t, PoolOptions{CallTimeout: time.Second}).Client(ClientOptions{Provider: "rest"})
	for rule, address := range map[string]string{
		"no answer": "http://" + silent, "a body that never comes": slow.String(),
	} {
		t.Run(rule, func(t *testing.T) {
			_, _, _, err := Do(client, request(t, http.MethodGet, address, ""))
			wantFault(t, err, fault.Timeout, fault.ReasonDeadlineExceeded, false)
		})
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	address := rawServer(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":")
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	_, _, _, err := Do(client, request(t, http.MethodPost, "http://"+address, "x"))
	wantFault(t, err, fault.Unavailable, fault.ReasonProviderUnavailable, false)
}

// TestNothingIsRepeatedThatChangesSomething lets a server accept a request on a reused connection and hang
// up. Then net/http repeats requests that it considers replayable.
func TestNothingIsRepeatedThatChangesSomething(t *testing.T) {
	for _, c := range []struct {
		method, body string
		repeats      bool
	}{
		{"GET", "", true}, // shows that the server provokes a repeat
		{"POST", "x", false}, {"POST", "", false}, {"PUT", "x", false}, {"PATCH", "x", false},
		{"DELETE", "", false}, {"MKCALENDAR", "x", false},
	} {
		t.Run(c.method+" "+c.body, func(t *testing.T) {
			var mu sync.Mutex
			requests := 0
			var key string
			address := rawServer(t, func(conn net.Conn) {
				r := bufio.NewReader(conn)
				for i := 0; ; i++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if req.URL.Path == "/warm-up" {
						_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
						continue
					}
					mu.Lock()
					requests++
					key = req.Header.Get("Idempotency-Key")
					mu.Unlock()
					if i > 0 {
						return // reused: hang up
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			})
			client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
			if _, _, _, err := Do(client, request(t, http.MethodGet, "http://"+address+"/warm-up", "")); err != nil {
				t.Fatal(err)
			}
			req := request(t, c.method, "http://"+address+"/act", c.body)
			req.Header.Set("Idempotency-Key", "k1")
			req.Header.Set("X-Idempotency-Key", "k1")
			_, _, _, err := Do(client, req)
			mu.Lock()
			defer mu.Unlock()
			if key != "k1" {
				t.Errorf("the server saw the key %q", key)
			}
			if c.repeats {
				if err != nil || requests != 2 {
					t.Errorf("arrived %d times, %v", requests, err)
				}
				return
			}
			wantFault(t, err, fault.Unavailable, fault.ReasonProviderUnavailable, false)
			if requests != 1 {
				t.Errorf("arrived %d times", requests)
			}
		})
	}
}

// TestNothingIsRepeatedOverHTTP2 lets a server accept a request and end its stream with the error after which
// net/http repeats, though the error does not promise that nothing was done.
func TestNothingIsRepeatedOverHTTP2(t *testing.T) {
	for _, c := range []struct {
		method, body string
		atLeast      int
		atMost       int
	}{
		{"GET", "", 2, 2}, // the second gets a response
		{"POST", "x", 1, 1}, {"DELETE", "", 1, 1}, {"PUT", "", 1, 1},
	} {
		t.Run(c.method+" "+c.body, func(t *testing.T) {
			var mu sync.Mutex
			requests := 0
			next := func() int {
				mu.Lock()
				defer mu.Unlock()
				requests++
				return requests
			}
			server := httptest.NewUnstartedServer(nil)
			server.EnableHTTP2 = true
			server.StartTLS() // for its certificate only
			tlsConfig := server.TLS.Clone()
			roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
			server.Close()
			tlsConfig.NextProtos = []string{"h2"}
			address := rawServer(t, func(conn net.Conn) { speakHTTP2(tls.Server(conn, tlsConfig), next) })

			client := newPool(t, PoolOptions{RootCAs: roots}).Client(ClientOptions{Provider: "rest"})
			_, _, _, err := Do(client, request(t, c.method, "https://"+address, c.body))
			mu.Lock()
			defer mu.Unlock()
			if requests < c.atLeast || requests > c.atMost {
				t.Errorf("arrived %d times: %v", requests, err)
			}
			if c.atMost == 1 {
				wantFault(t, err, fault.Unavailable, fault.ReasonProviderUnavailable, false)
			}
		})
	}
}

// speakHTTP2 resets the first stream with PROTOCOL_ERROR and responds to later ones with 204.
func speakHTTP2(conn net.Conn, next func() int) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	fr := http2.NewFramer(conn, conn)
	if fr.WriteSettings() != nil {
		return
	}
	var ok bytes.Buffer
	_ = hpack.NewEncoder(&ok).WriteField(hpack.HeaderField{Name: ":status", Value: "204"})
	for {
		frame, err := fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = fr.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			if next() == 1 {
				err = fr.WriteRSTStream(f.StreamID, http2.ErrCodeProtocol)
				break
			}
			err = fr.WriteHeaders(http2.HeadersFrameParam{
				StreamID: f.StreamID, BlockFragment: ok.Bytes(), EndStream: true, EndHeaders: true,
			})
		}
		if err != nil {
			return
		}
	}
}

func TestBodiesAreCapped(t *testing.T) {
	const limit = 1000
	bomb := zipped(t, strings.Repeat("\x00", 1000*limit))
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			_, _ = w.Write(make([]byte, limit))
		case "/declared":
			_, _ = w.Write(make([]byte, limit+1))
		case "/streamed":
			for range 10 {
				_, _ = w.Write(make([]byte, limit/5))
				_ = http.NewResponseController(w).Flush()
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}
	})
	client := newPool(t, PoolOptions{MaxResponseBytes: limit}).Client(ClientOptions{Provider: "rest"})
	do := func(method, path string) ([]byte, error) {
		req := request(t, method, server.JoinPath(path).String(), "")
		// If a driver sets it, net/http does not decompress the body.
		req.Header.Set("Accept-Encoding", "gzip")
		_, _, body, err := Do(client, req)
		return body, err
	}
	if body, err := do("GET", "fits"); err != nil || len(body) != limit {
		t.Errorf("a body of the limit: %d bytes, %v", len(body), err)
	}
	for _, path := range []string{"declared", "streamed", "bomb"} {
		t.Run("a read of too much finds nothing: "+path, func(t *testing.T) {
			_, err := do("REPORT", path)
			wantFault(t, err, fault.Exhausted, ReasonAnswerTooLarge, false)
		})
		t.Run("a write of which too much is told has happened: "+path, func(t *testing.T) {
			_, err := do("POST", path)
			wantFault(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown, false)
		})
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var mu sync.Mutex
	peers := map[string]bool{}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		peers[r.RemoteAddr] = true
		mu.Unlock()
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "no")
	})
	pool := newPool(t, PoolOptions{AllowTenantNetworks: loopback})
	for range 3 {
		client := pool.Client(ClientOptions{Provider: "caldav", TenantAddress: true})
		if _, _, _, err := Do(client, request(t, http.MethodGet, server.JoinPath("moved").String(),
			"")); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for calls one after the other", len(peers))
	}
}

func TestRequestsCarryWhatAllDo(t *testing.T) {
	r := &recorder{}
	server := serve(t, r.handle)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	client := newPool(t, PoolOptions{UserAgent: "frontdesk/1"}).Client(ClientOptions{Provider: "rest"})
	req := request(t, http.MethodGet, server.String(), "")
	req = req.WithContext(telemetry.ContinueTrace(req.Context(), http.Header{"Traceparent": {parent}}))
	if _, _, _, err := Do(client, req); err != nil {
		t.Fatal(err)
	}
	if got := r.last().header; got.Get("User-Agent") != "frontdesk/1" || got.Get("Traceparent") != "" {
		t.Errorf("got %v", got)
	}
	if req.Header.Get("User-Agent") != "" {
		t.Error("the driver's request was changed")
	}
}

func TestJSON(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			_, _ = fmt.Fprintf(w, `{"method":%q,"accept":%q,"type":%q,"body":%q}`, r.Method, r.Header.Get("Accept"),
				r.Header.Get("Content-Type"), body)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/page":
			_, _ = io.WriteString(w, "<html>Sign in</html>")
		default:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":"slow down","token":"s3cret"}`)
		}
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{Provider: "rest"})
	call := func(method, path string, in, out any) error {
		return Exchange{
			Method: method, URL: server.JoinPath(path).String() + "?token=s3cret", In: in, Out: out, Provider: "rest",
		}.Do(t.Context(), client)
	}

	var got map[string]string
	if err := call("POST", "echo", map[string]int{"a": 1}, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"method": "POST", "accept": "application/json", "type": "application/json", "body": `{"a":1}`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := call("DELETE", "empty", nil, &got); err != nil {
		t.Errorf("no content: %v", err)
	}
	if err := call("GET", "page", nil, nil); err != nil {
		t.Errorf("an answer that is not wanted is not read: %v", err)
	}
	wantFault(t, call("GET", "page", nil, &got), fault.Unsupported, fault.ReasonProviderMisconfigured, false)
	wantFault(t, call("POST", "page", nil, &got), fault.UnknownOutcome, fault.ReasonOutcomeUnknown, false)
	err := call("GET", "limited", nil, &got)
	wantFault(t, err, fault.RateLimited, fault.ReasonProviderRateLimited, false)
	if f := faultOf(t, err); f.RetryAfter != 7*time.Second ||
		f.Upstream != `429 {"error":"slow down","token":REDACTED}` {
		t.Errorf("got %v, %q", f.RetryAfter, f.Upstream)
	}
	err = Exchange{Method: "GET", URL: "http://[::1?token=s3cret", Provider: "rest"}.Do(t.Context(), client)
	wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured, true)
	if err := call("POST", "echo", func() {}, nil); !errors.Is(err, fault.Internal) {
		t.Errorf("what cannot be encoded is our defect: %v", err)
	}
}

func TestExchangesAreLoggedWithoutSecrets(t *testing.T) {
	r := &recorder{}
	server := serve(t, r.handle)
	var out strings.Builder
	log, err := telemetry.NewLogger(&out, telemetry.LogOptions{Level: "debug"})
	if err != nil {
		t.Fatal(err)
	}
	pool := newPool(t, PoolOptions{Log: log})
	client := pool.Client(ClientOptions{Provider: "rest", Connection: "c1", Authorize: bearer})
	if _, _, _, err := Do(client, request(t, http.MethodGet, server.JoinPath("a").String()+"?token=s3cret",
		"")); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := Do(client, request(t, http.MethodGet, "http://"+closedPort(t)+"/b?token=s3cret",
		"")); err == nil {
		t.Fatal("a closed port answers")
	}
	got := out.String()
	for _, want := range []string{
		`"method":"GET"`, `/a"`, `"status":200`, `"took_ms":`, `"connection":"c1"`, `/b"`, `PROVIDER_UNAVAILABLE`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "s3cret") {
		t.Errorf("a secret is in %s", got)
	}
}

func TestTheIdempotencyKeyIsNotSpelledAsNetHTTPLooksForIt(t *testing.T) {
	h := http.Header{"Idempotency-Key": {"a"}, "X-Idempotency-Key": {"b"}, "Other": {"c"}}
	hideIdempotencyKey(h)
	want := http.Header{"idempotency-key": {"a"}, "x-idempotency-key": {"b"}, "Other": {"c"}}
	if fmt.Sprint(h) != fmt.Sprint(want) {
		t.Errorf("got %v", h)
	}
}
