package upstream

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"frontdesk/core/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func newPool(t *testing.T, o PoolOptions) *Pool {
	t.Helper()
	p := NewPool(o)
	t.Cleanup(p.Close)
	return p
}

func serve(t *testing.T, h http.HandlerFunc) *url.URL {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return parse(t, s.URL)
}

func parse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func request(t *testing.T, method, address, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// faultOf fails unless err is a fault whose text reveals nothing of the address.
func faultOf(t *testing.T, err error) *fault.Error {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) {
		t.Fatalf("%T is not a fault: %v", err, err)
	}
	for _, secret := range []string{"s3cret", "?"} {
		if strings.Contains(f.Error(), secret) {
			t.Errorf("%q is in the fault: %v", secret, f)
		}
	}
	return f
}

func wantFault(t *testing.T, err error, code fault.Code, reason string, unsent bool) {
	t.Helper()
	f := faultOf(t, err)
	if f.Code != code || f.Reason != reason || f.Unsent != unsent {
		t.Errorf("got %s %s unsent=%t, want %s %s unsent=%t: %v", f.Code, f.Reason, f.Unsent, code,
			reason, unsent, f)
	}
}

// names is a DNS server for tests: each look-up of a name takes its next answer, and the last answer is
// repeated.
type names struct {
	mu      sync.Mutex
	answers map[string][]string // name -> answers, each a comma-separated list of addresses
	asked   map[string]int
}

func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go n.answer(server)
		return client, nil
	}}
}

// answer speaks DNS over a stream (RFC 1035 section 4.2.2).
func (n *names) answer(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		reply := n.reply(query)
		if _, err := conn.Write(binary.BigEndian.AppendUint16(nil, uint16(len(reply)))); err != nil {
			return
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

func (n *names) reply(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	addresses := n.next(strings.TrimSuffix(q.Name.String(), "."), q.Type)
	if addresses == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, Type: q.Type}
		if a.Is4() && q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		}
		if a.Is6() && q.Type == dnsmessage.TypeAAAA {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()},
			})
		}
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func (n *names) next(name string, kind dnsmessage.Type) []netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers, known := n.answers[name]
	if !known {
		return nil
	}
	if n.asked == nil {
		n.asked = map[string]int{}
	}
	now := answers[min(n.asked[name], len(answers)-1)]
	if kind == dnsmessage.TypeA {
		n.asked[name]++
	}
	list := []netip.Addr{}
	for a := range strings.SplitSeq(now, ",") {
		list = append(list, netip.MustParseAddr(a))
	}
	return list
}

// listener counts the connections it gets, and closes them.
type listener struct {
	net.Listener
	mu    sync.Mutex
	count int
}

func listen(t *testing.T, address string) *listener {
	t.Helper()
	inner, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: inner}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := inner.Accept()
			if err != nil {
				return
			}
			l.mu.Lock()
			l.count++
			l.mu.Unlock()
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = inner.Close()
		done.Wait()
	})
	return l
}

func (l *listener) connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Do sends a request and returns the response.
func Do(client *http.Client, req *http.Request) (status int, header http.Header, body []byte, err error) {
	err = Read(client, req, func(answer *http.Response, content []byte) error {
		status, header, body = answer.StatusCode, answer.Header, content
		return nil
	})
	return status, header, body, err
}
