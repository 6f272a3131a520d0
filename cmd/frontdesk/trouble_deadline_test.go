//go:build attack

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	salesforcefake "frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/oauth/oauthtest"
)

// connected runs a function for each connection to a new port.
func connected(t testing.TB, handle func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// full returns a port whose connection queue is full: the kernel drops new connections, as a firewall does.
func full(t testing.TB) (address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 8 {
		conn, err := net.DialTimeout("tcp", address, 50*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Skip("this kernel takes connections beyond the queue")
	return ""
}

func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// begun returns a handler that sends the beginning of a response. If trickle is true, it goes on byte by
// byte.
func begun(trickle bool) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		_, err := io.WriteString(conn,
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"ticket\":")
		for ; err == nil && trickle; time.Sleep(10 * time.Millisecond) {
			_, err = io.WriteString(conn, " ")
		}
		silent(conn)
	}
}

// Wherever a provider hangs, the caller gets a response by its deadline. FRONTDESK_TROUBLE=full makes 2,000
// calls and prints how late the latest are.
func TestWhereverAProviderHangsItsCallerIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	const deadline = 400 * time.Millisecond
	calls := 8
	if fullSize() {
		calls = 143
	}
	fake := salesforcefake.New(
		salesforcefake.Options{OAuth: oauthtest.Options{Clients: map[string]string{"app": "desk-secret"}}})
	signIn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !ofAPI(r) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client left
			<-r.Context().Done()
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(signIn.Close)
	const signIns = "at its sign-in"
	hangs := map[string]connection.Spec{
		"at connecting":             zendeskAt("http://" + full(t)),
		"at the TLS handshake":      zendeskAt("https://" + connected(t, silent)),
		"before the headers":        zendeskAt("http://" + connected(t, silent)),
		"in the body":               zendeskAt("http://" + connected(t, begun(false))),
		"with a body that trickles": zendeskAt("http://" + connected(t, begun(true))),
		signIns: {Kind: adapter.KindCRM, Provider: "salesforce",
			Credentials: map[string]string{"client_secret": "desk-secret"},
			Settings:    map[string]any{"flow": "client_credentials", "client_id": "app", "base_url": signIn.URL}},
	}
	d := newDeployment(t, "", "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8",
		"FRONTDESK_RESILIENCE__BULKHEAD__PER_CONNECTION=64",
		"FRONTDESK_RESILIENCE__BREAKER__FAILURES=1000000") // the breaker would respond sooner
	var names []string
	var connections []connection.Spec
	for name, c := range hangs {
		names, connections = append(names, name), append(connections, c)
	}
	keys := d.createTenantEach(connections...)
	r := d.serve()
	var mu sync.Mutex
	var all sample
	t.Run("providers", func(t *testing.T) {
		for i, name := range names {
			for what, q := range map[string]request{
				"read":  {path: ticketPath, body: `{"ticket_number":"1"}`},
				"write": {path: "/v1/tickets/create-ticket", body: `{"subject":"Door NUMBER"}`},
			} {
				t.Run(name+" "+what, func(t *testing.T) {
					t.Parallel()
					for n := range calls {
						body := strings.ReplaceAll(q.body, "NUMBER", strconv.Itoa(n)) // equal tickets would be one
						began := time.Now()
						a, err := r.as(keys[i]).call(http.MethodPost, q.path, body,
							fmt.Sprintf("X-Request-Timeout-Ms: %d", deadline.Milliseconds()))
						late := time.Since(began) - deadline
						mu.Lock()
						all = append(all, late)
						mu.Unlock()
						// While a sign-in is known to hang, further callers are told at once.
						hangsThere := name == signIns && a.status == http.StatusServiceUnavailable &&
							a.reason() == "PROVIDER_UNAVAILABLE"
						if err != nil || (a.status != http.StatusGatewayTimeout || a.reason() != "DEADLINE_EXCEEDED") &&
							!hangsThere {
							t.Errorf("answered %d %s, %v", a.status, a.body, err)
						}
						if late > 2*time.Second { // 50 ms on a machine with nothing else to do
							t.Errorf("answered %v after the deadline", late)
						}
						// Calls after a slow one are refused at once.
						if late < -deadline/2 && name != signIns {
							t.Errorf("answered %v before the deadline", -late)
						}
					}
				})
			}
		}
	})
	t.Logf("after the deadline: %v", all)
}

// After its caller was told that the deadline has passed, a write that was sent is followed to its end. A
// repeat gets the write's outcome.
func TestAWriteThatIsAnsweredLateIsSettled(t *testing.T) {
	t.Parallel()
	for name, open := range accounts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t)
			d := newDeployment(t, "", append(a.environ, "FRONTDESK_EGRESS__ALLOW=127.0.0.0/8")...)
			keys := d.createTenantEach(a.connection)
			c := d.serve().as(keys[0])
			if _, err := c.send(a.read); err != nil { // the gateway now has tokens, labels and calendars
				t.Fatal(err)
			}
			made := a.late(t, c, "create", a.create("Once"))
			if a.made != nil && a.made() != 1 {
				t.Errorf("%d were made", a.made())
			}
			if a.change != nil {
				a.late(t, c, "change", a.change(made, "Changed"))
				a.late(t, c, "remove", a.remove(made))
			}
			if a.connection.Kind != adapter.KindCalendar {
				return
			}
			listed := c.post(200, "calendar/list-events", a.read.body)
			for i := range listed.get("events").([]any) {
				if listed.get("events", i, "is_cancelled") != true {
					t.Errorf("there is one left: %s", listed.body)
				}
			}
		})
	}
}

// late has the provider act at once but respond only after the caller has gone. It returns the response to
// the repeat. Until its deadline, a call makes its write once. From then on recovery may make one again that has no
// second effect, and on a busy machine the caller's answer comes later than that.
func (a account) late(t *testing.T, c caller, operation string, q request) answer {
	t.Helper()
	const within = time.Second
	answered, acted := make(chan struct{}), make(chan time.Time, 100)
	a.put(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !mutates(req) {
			serve.ServeHTTP(w, req)
			return
		}
		acted <- time.Now()
		kept := httptest.NewRecorder()
		serve.ServeHTTP(kept, req)
		<-answered
		for name, values := range kept.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(kept.Code)
		_, _ = w.Write(kept.Body.Bytes())
	})
	key := "Idempotency-Key: " + operation
	began := time.Now()
	first, err := c.send(q, key, fmt.Sprintf("X-Request-Timeout-Ms: %d", within.Milliseconds()))
	if err != nil || first.status != http.StatusGatewayTimeout ||
		!strings.Contains(string(first.body), "not known") {
		t.Errorf("%s: answered %d %s, %v", operation, first.status, first.body, err)
	}
	all, inTime := len(acted), 0
	for range all {
		if at := <-acted; at.Before(began.Add(within)) {
			inTime++
		}
	}
	if all == 0 || inTime > 1 {
		t.Errorf("%s: the provider acted %d times, %d of them within the call", operation, all, inTime)
	}
	close(answered)
	a.put(nil)
	var settled answer
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		settled, err = c.send(q, key)
		if err != nil {
			t.Fatal(err)
		}
		if settled.status/100 == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: it is not settled: %d %s", operation, settled.status, settled.body)
		}
	}
	again, err := c.send(q, key)
	if err != nil || again.status != settled.status || string(again.body) != string(settled.body) ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s: repeated once more: %d %s, first %d %s", operation, again.status, again.body,
			settled.status, settled.body)
	}
	return settled
}
