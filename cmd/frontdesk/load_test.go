//go:build attack

package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/tenant"
)

// load sends requests to a gateway, each at its time, whatever happens to earlier ones (an open loop):
// callers of a front desk do not wait for each other. It writes to connections itself, because the sender
// must not need more processor time than the gateway that it measures.
type load struct {
	host     func() string // where the next request goes
	requests func(i int) loadRequest
	sent     int // in all runs, so that no two requests are equal

	mu   sync.Mutex
	idle map[string][]*wire // by host
}

// wire is a connection that is kept open.
type wire struct {
	net.Conn
	from *bufio.Reader
}

// loadRequest is one request of a load.
type loadRequest struct {
	key    string
	method string // "" is POST
	path   string
	body   string
	writes bool
	idem   string // its Idempotency-Key; "" for none
}

// loadResponse is the outcome of a loadRequest.
type loadResponse struct {
	loadRequest
	status     int // 0 if there was no response
	retryAfter string
	reason     string        // of an unsuccessful response with a v1 body
	took       time.Duration // from when it was sent
	err        error
}

func newLoad(t testing.TB, base string, requests func(i int) loadRequest) *load {
	host := strings.TrimPrefix(base, "http://")
	return newLoadOn(t, func() string { return host }, requests)
}

// newLoadOn returns a load on several gateways.
func newLoadOn(t testing.TB, host func() string, requests func(i int) loadRequest) *load {
	l := &load{host: host, requests: requests, idle: map[string][]*wire{}}
	t.Cleanup(l.closeIdle)
	return l
}

func (l *load) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for host, wires := range l.idle {
		for _, c := range wires {
			c.Close()
		}
		delete(l.idle, host)
	}
}

// steady sends perSecond requests a second for that long and waits for every response.
func (l *load) steady(perSecond float64, lasting time.Duration) []loadResponse {
	ctx, cancel := context.WithTimeout(context.Background(), lasting)
	defer cancel()
	return l.until(ctx, perSecond)
}

// until sends perSecond requests a second until ctx ends and waits for every response.
func (l *load) until(ctx context.Context, perSecond float64) []loadResponse {
	var responses []*loadResponse
	var flying sync.WaitGroup
	began := time.Now()
	for ctx.Err() == nil {
		due := began.Add(time.Duration(float64(len(responses)) / perSecond * float64(time.Second)))
		time.Sleep(time.Until(due))
		s, h := l.requests(l.sent), new(loadResponse)
		responses = append(responses, h)
		l.sent++
		flying.Go(func() { *h = l.send(s) })
	}
	flying.Wait()
	all := make([]loadResponse, len(responses))
	for i, h := range responses {
		all[i] = *h
	}
	return all
}

// pressed sends from many senders at once, each waiting for its last response before the next request. It
// returns the requests per second that succeeded: what the gateway can do.
func (l *load) pressed(senders int, lasting time.Duration) (perSecond float64) {
	ctx, cancel := context.WithTimeout(context.Background(), lasting)
	defer cancel()
	var mu sync.Mutex
	var sending sync.WaitGroup
	succeeded := 0
	for range senders {
		sending.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				s := l.requests(l.sent)
				l.sent++
				mu.Unlock()
				h := l.send(s)
				mu.Lock()
				if served(h) && ctx.Err() == nil {
					succeeded++
				}
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	return float64(succeeded) / lasting.Seconds()
}

// capacity returns what the gateway can do once its caches are filled.
func (l *load) capacity(senders int, lasting time.Duration) (perSecond float64) {
	best := 0.0
	for range 4 {
		now := l.pressed(senders, lasting)
		if now < 1.1*best {
			return max(best, now)
		}
		best = now
	}
	return best
}

// send sends one request and reads its response. It never sends a request twice.
func (l *load) send(s loadRequest) (h loadResponse) {
	h.loadRequest = s
	host := l.host()
	c, err := l.wire(host)
	if err != nil {
		h.err = err
		return h
	}
	sent := time.Now()
	res, body, err := c.exchange(host, s)
	h.took = time.Since(sent)
	if err != nil || res.Close {
		c.Close()
	} else {
		l.mu.Lock()
		l.idle[host] = append(l.idle[host], c)
		l.mu.Unlock()
	}
	if err != nil {
		h.err = err
		return h
	}
	h.status, h.retryAfter = res.StatusCode, res.Header.Get("Retry-After")
	if !served(h) {
		h.reason = answer{body: body}.reason()
	}
	return h
}

// wire returns the free connection that was used last, or a new one.
func (l *load) wire(host string) (*wire, error) {
	l.mu.Lock()
	if n := len(l.idle[host]); n > 0 {
		c := l.idle[host][n-1]
		l.idle[host] = l.idle[host][:n-1]
		l.mu.Unlock()
		return c, nil
	}
	l.mu.Unlock()
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReaderSize(c, 2048)}, nil
}

func (c *wire) exchange(host string, s loadRequest) (*http.Response, []byte, error) {
	method := cmp.Or(s.method, http.MethodPost)
	request := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n", method,
		s.path, host, s.key, len(s.body))
	if s.idem != "" {
		request = fmt.Appendf(request, "Idempotency-Key: %s\r\n", s.idem)
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(append(append(request, "\r\n"...), s.body...)); err != nil {
		return nil, nil, err
	}
	res, err := http.ReadResponse(c.from, nil)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

func served(h loadResponse) bool     { return h.status/100 == 2 }
func overloaded(h loadResponse) bool { return h.reason == "OVERLOADED" }
func failed(h loadResponse) bool     { return h.err != nil || !served(h) && !overloaded(h) }

func count(responses []loadResponse, which func(loadResponse) bool) int {
	n := 0
	for _, h := range responses {
		if which(h) {
			n++
		}
	}
	return n
}

func only(responses []loadResponse, which func(loadResponse) bool) []loadResponse {
	return slices.DeleteFunc(slices.Clone(responses), func(h loadResponse) bool { return !which(h) })
}

// quantile returns the time within which that share of the requests was answered; 0 if there are none.
func quantile(responses []loadResponse, share float64) time.Duration {
	if len(responses) == 0 {
		return 0
	}
	took := make([]time.Duration, len(responses))
	for i, h := range responses {
		took[i] = h.took
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(share*float64(len(took))))]
}

// outcomes describes for a message how often each outcome came.
func outcomes(responses []loadResponse) string {
	seen := map[string]int{}
	for _, h := range responses {
		what := strconv.Itoa(h.status) + " " + h.reason
		if h.err != nil {
			what = h.err.Error()
		}
		seen[strings.TrimSpace(what)]++
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		all = append(all, fmt.Sprintf("%d× %s", seen[what], what))
	}
	return strings.Join(all, ", ")
}

// createSandboxTenants creates tenants whose sandboxes have that latency, and returns a key of each tenant.
func (d *deployment) createSandboxTenants(tenants int, latency time.Duration) (keys []string) {
	d.t.Helper()
	settings := map[string]any{}
	if latency > 0 {
		settings["latency"] = latency.String()
	}
	return d.createTenants(tenant.Settings{},
		slices.Repeat([][]connection.Spec{sandboxes(settings)}, tenants)...)
}

// sandboxes returns a sandbox connection of each kind.
func sandboxes(settings map[string]any) (all []connection.Spec) {
	for _, kind := range adapter.Kinds() {
		all = append(all, connection.Spec{Kind: kind, Provider: "sandbox", Settings: settings})
	}
	return all
}

// bookings returns requests that only book.
func bookings(keys []string) func(i int) loadRequest {
	calls := mixedCalls(keys)
	return func(i int) loadRequest {
		s := calls(i / len(keys) * 4 * len(keys))
		s.key = keys[i%len(keys)]
		return s
	}
}

// mixedCalls returns the requests of voice agents of many tenants: three look-ups for each booking.
func mixedCalls(keys []string) func(i int) loadRequest {
	return func(i int) loadRequest {
		s := loadRequest{key: keys[i%len(keys)]}
		at := time.Date(2027, 1, 4, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 5 * time.Minute)
		switch i / len(keys) % 4 {
		case 0:
			s.path, s.writes = "/v1/calendar/book-meeting", true
			s.body = fmt.Sprintf(
				`{"title":"Call %d","start_time":%q,"end_time":%q,"attendee_emails":["pat@example.com"]}`,
				i, at.Format(time.RFC3339), at.Add(5*time.Minute).Format(time.RFC3339))
		case 1:
			s.path, s.body = "/v1/calendar/list-calendars", "{}"
		default:
			s.path = "/v1/calendar/list-events"
			s.body = fmt.Sprintf(`{"start_time":%q,"end_time":%q}`, at.Format(time.RFC3339),
				at.Add(24*time.Hour).Format(time.RFC3339))
		}
		return s
	}
}
