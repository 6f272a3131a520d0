package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/fault"
)

// hole is a TCP proxy that can swallow its present connections, like a firewall that has forgotten them:
// nothing passes any more, and neither side is notified. Later connections work.
type hole struct {
	address string
	opened  atomic.Int32

	mu    sync.Mutex
	swept *atomic.Bool // of the connections that are opened from now on
}

func holeBefore(t *testing.T, server string) *hole {
	t.Helper()
	h := &hole{swept: &atomic.Bool{}}
	h.address = rawServer(t, func(near net.Conn) {
		far, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		h.mu.Lock()
		swept := h.swept
		h.mu.Unlock()
		h.opened.Add(1)
		var back sync.WaitGroup
		defer back.Wait()
		back.Go(func() {
			pass(far, near, swept)
			if !swept.Load() {
				_ = near.Close()
			}
		})
		defer far.Close()
		pass(near, far, swept)
	})
	return h
}

// pass copies until the connection is swept. From then on it only reads, so that the sender notices nothing.
func pass(from, to net.Conn, swept *atomic.Bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if swept.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// swallow stops all traffic on the connections that are open now.
func (h *hole) swallow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.swept.Store(true)
	h.swept = &atomic.Bool{}
}

// TestADeadHTTP2ConnectionIsNoticed swallows the one connection that all calls share. A tenth of the
// configured time keeps the test short; FRONTDESK_DEAD_PEER=full waits as long as the gateway does.
func TestADeadHTTP2ConnectionIsNoticed(t *testing.T) {
	scale := time.Duration(10)
	if os.Getenv("FRONTDESK_DEAD_PEER") == "full" {
		scale = 1
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	between := holeBefore(t, server.Listener.Addr().String())
	pool := newPool(t, PoolOptions{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs})
	http2 := pool.operator.kept.HTTP2
	noticed := (http2.SendPingTimeout + http2.PingTimeout) / scale
	http2.SendPingTimeout /= scale
	http2.PingTimeout /= scale
	client := pool.Client(ClientOptions{Provider: "rest"})
	ask := func(patience time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, _, body, err := Do(client, request(t, http.MethodPost, "https://"+between.address, "x").WithContext(ctx))
		return string(body), err
	}

	for range 3 {
		if proto, err := ask(time.Minute); err != nil || proto != "HTTP/2.0" {
			t.Fatalf("%s, %v", proto, err)
		}
	}
	if n := between.opened.Load(); n != 1 {
		t.Fatalf("%d connections for calls of HTTP/2", n)
	}
	between.swallow()
	dead := time.Now()

	// The call on the dead connection fails as soon as that is detected. Its fault must not be Unsent.
	_, err := ask(time.Minute)
	if f := fault.From(err); !errors.Is(err, fault.Unavailable) || f.Unsent {
		t.Errorf("the call on the dead connection: %v, unsent %v", err, f != nil && f.Unsent)
	}
	if took := time.Since(dead); took > noticed+2*time.Second {
		t.Errorf("noticed after %v, want about %v at most", took, noticed)
	}
	t.Logf("noticed after %v; pings allow %v", time.Since(dead), noticed)
	if proto, err := ask(time.Minute); err != nil || proto != "HTTP/2.0" || between.opened.Load() != 2 {
		t.Errorf("the next call: %s, %v, %d connections", proto, err, between.opened.Load())
	}
}

// A read whose one try was on a dead connection must leave time for another: by default, the guard gives a
// try 5 s and the whole call 8 s.
func TestADeadConnectionLeavesTimeForAnotherTry(t *testing.T) {
	const tryTimeout = 5 * time.Second
	for _, transport := range []*http.Transport{
		newPool(t, PoolOptions{}).operator.kept, newPool(t, PoolOptions{}).tenant.kept,
	} {
		if noticed := transport.HTTP2.SendPingTimeout + transport.HTTP2.PingTimeout; noticed <= 0 ||
			noticed >= tryTimeout {
			t.Errorf("a dead connection is noticed after %v", noticed)
		}
	}
}
