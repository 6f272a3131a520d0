package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
)

// progress tracks how far a request got, and keeps net/http from repeating one that changes something.
//
// net/http repeats requests by itself in three cases: (1) on a reused HTTP/1 connection that failed before a
// byte was written, which is harmless; (2) on a reused HTTP/1 connection that failed before a byte of the
// response, when the request is "replayable": a safe method, or any with an Idempotency-Key header
// (Request.isReplayable); (3) on HTTP/2 after GOAWAY, REFUSED_STREAM and a PROTOCOL_ERROR of the peer, the
// last without any promise that nothing was done. In (2) and (3) the request may have taken effect. Only the
// guard may decide to repeat it: it knows whether the operation is repeatable, and counts its repeats. So
// hideIdempotencyKey prevents (2), and (3) is prevented by ending the exchange when it gets a second
// connection after bytes were written.
type progress struct {
	safe bool
	stop context.CancelCauseFunc

	mu      sync.Mutex
	earlier bool // a byte was written on an earlier connection
	headers bool // the header is being written on the current one
	conn    *countedConn
	base    int64 // what conn had written when we got it
}

// errWouldRepeat ends an exchange that net/http was about to repeat.
var errWouldRepeat = errors.New("the connection was lost after the request was sent")

func (p *progress) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:          p.gotConn,
		WroteHeaderField: func(string, []string) { p.writing() },
	})
}

func (p *progress) gotConn(info httptrace.GotConnInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.earlier = p.earlier || p.written()
	p.headers = false
	p.conn = countable(info.Conn)
	p.base = 0
	if p.conn != nil {
		p.base = p.conn.wrote.Load()
	}
	if p.earlier && !p.safe {
		p.stop(errWouldRepeat)
	}
}

func (p *progress) writing() {
	p.mu.Lock()
	p.headers = true
	p.mu.Unlock()
}

// sent reports whether a byte of the request may have left this machine.
func (p *progress) sent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.earlier || p.written()
}

// written is like sent, but for the current connection only. The header is written to a buffer first, so the
// beginning of that proves little: the bytes handed to the kernel decide. On HTTP/2, which other requests
// share, there is no such count, and the beginning of the header decides.
func (p *progress) written() bool {
	if !p.headers {
		return false
	}
	return p.conn == nil || p.conn.wrote.Load() > p.base
}

// countedConn counts the bytes that were handed to the kernel.
type countedConn struct {
	net.Conn
	wrote atomic.Int64
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.wrote.Add(int64(n))
	return n, err
}

// countable returns the counter below a connection, or nil if the connection is shared or not ours.
func countable(conn net.Conn) *countedConn {
	for {
		switch c := conn.(type) {
		case *countedConn:
			return c
		case *tls.Conn:
			if c.ConnectionState().NegotiatedProtocol == "h2" {
				return nil
			}
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// safe reports whether a method changes nothing (RFC 9110 section 9.2.1; PROPFIND: RFC 4918 section 9.1;
// REPORT: RFC 3253 section 3.6; SEARCH: RFC 5323).
func safe(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, "PROPFIND",
		"REPORT", "SEARCH":
		return true
	}
	return false
}

// hideIdempotencyKey writes the header's name in lower case. Names are compared without case (RFC 9110
// section 5.1), so the provider sees the same header. Request.isReplayable looks for the canonical spelling
// and does not find it.
func hideIdempotencyKey(h http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
