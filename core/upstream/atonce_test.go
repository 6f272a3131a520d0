package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
)

func TestResponsesReadAtOnceKeepToTheBudget(t *testing.T) {
	t.Parallel()
	const part = maxReadingShare / 2
	b := newBudget()
	var all atomic.Int64
	each := make([]atomic.Int64, 4)
	var reading sync.WaitGroup
	for i := range 16 {
		reading.Go(func() {
			name, own := fmt.Sprint("connection ", i%len(each)), &each[i%len(each)]
			for range 200 {
				if !b.reads(name, part) {
					continue
				}
				if all.Add(part) > maxReadingBytes || own.Add(part) > maxReadingShare {
					t.Error("more is read than there is room for")
				}
				own.Add(-part)
				all.Add(-part)
				b.hasRead(name, part)
			}
		})
	}
	reading.Wait()
	if b.reading != 0 || len(b.shares) != 0 {
		t.Errorf("%d bytes of %v are taken at the end", b.reading, b.shares)
	}
}

// TestProgressIsFollowedWhileItIsMade: net/http writes a request in a goroutine of its own, and may be at the next
// connection when the call gives up.
func TestProgressIsFollowedWhileItIsMade(t *testing.T) {
	t.Parallel()
	server, client := net.Pipe()
	defer server.Close()
	defer client.Close()
	var received sync.WaitGroup
	received.Go(func() { _, _ = server.Read(make([]byte, 1)) })
	var stopped error
	p := &progress{stop: func(cause error) { stopped = errors.Join(stopped, cause) }}
	conn := &countedConn{Conn: client}
	var made sync.WaitGroup
	for range 4 {
		made.Go(func() {
			for range 100 {
				p.gotConn(httptrace.GotConnInfo{Conn: conn})
				p.writing()
			}
		})
		made.Go(func() {
			for range 100 {
				if p.sent() {
					t.Error("nothing was written")
				}
			}
		})
	}
	made.Wait()
	if _, err := conn.Write([]byte("G")); err != nil {
		t.Fatal(err)
	}
	received.Wait()
	if !p.sent() || stopped != nil {
		t.Errorf("sent: %t, stopped: %v", p.sent(), stopped)
	}
	p.gotConn(httptrace.GotConnInfo{Conn: conn})
	if !p.sent() || !errors.Is(stopped, errWouldRepeat) {
		t.Errorf("on another connection, sent: %t, stopped: %v", p.sent(), stopped)
	}
}
