//go:build attack

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/tenant"
)

// attacker is one key that tries, within its quota, to take a gateway from the others.
type attacker struct {
	t    *testing.T
	r    *running
	key  string // of a tenant whose providers respond
	hung string // of a tenant whose providers never respond

	inPlace func() // called once the attack holds what it can, or goes on
}

// way is one way to attack. hold calls inPlace, and goes on until ctx ends.
type way struct {
	name string
	hold func(attacker, context.Context)
}

// One key tries to hold places, memory or processors in many ways. In each case a neighbour is served as
// before. The test prints what each way takes of memory and processors, and how long the neighbour waits. A
// gateway that is not attacked shows at the same time what the machine has left, since the attack runs on the
// same machine.
func TestOneKeyCannotTakeTheGateFromOthers(t *testing.T) {
	t.Parallel()
	s := newAttack(t)
	s.under(noAttack(), s.lasting) // a warm-up
	t.Log(s.under(noAttack(), s.lasting))
	all := ways()
	if len(all) < 40 {
		t.Errorf("only %d ways", len(all))
	}
	for _, w := range all {
		lasting := s.lasting
		got := s.under(w, lasting)
		for range 5 { // other processes may have been using the machine
			if got.late() == 0 && got.refused() == 0 {
				break
			}
			lasting = min(2*lasting, 3*time.Second) // so that a burst of theirs weighs less
			got = s.under(w, lasting)
		}
		t.Log(got)
		if got.late() > 0 {
			t.Errorf("%s: a neighbour waits %v too long", w.name, got.late())
		}
		if got.refused() > 0 {
			t.Errorf("%s: a neighbour is answered %s", w.name, outcomes(got.neighbour))
		}
	}
}

// attack holds a gateway that is attacked and one that is not, each with a neighbour of the attacker.
type attack struct {
	attacker
	neighbour, control *load
	lasting            time.Duration
	baseline           time.Duration // the 99th percentile at rest
}

func newAttack(t *testing.T) *attack {
	limits := []string{
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_KEY=60000",
		"FRONTDESK_LIMITS__REQUESTS_PER_MINUTE_PER_TENANT=120000",
		fmt.Sprint("FRONTDESK_LIMITS__MAX_IN_FLIGHT=", scaled(places)),
	}
	gateway := func() (*running, []string) {
		d := newDeployment(t, "", limits...)
		keys := d.createTenants(tenant.Settings{}, sandboxes(nil), sandboxes(map[string]any{"fault": "hang"}),
			sandboxes(nil), sandboxes(nil))
		return d.serve(), keys
	}
	attacked, keys := gateway()
	other, others := gateway()
	s := &attack{
		attacker:  attacker{t: t, r: attacked, key: keys[0], hung: keys[1]},
		neighbour: newLoad(t, attacked.api, mixedCalls(keys[2:])),
		control:   newLoad(t, other.api, mixedCalls(others[2:])),
		lasting:   100 * time.Millisecond,
	}
	if fullSize() {
		s.lasting = 3 * time.Second
	}
	return s
}

// places is the default of limits.max_in_flight, how many requests a gateway takes at once.
const places = 1024

// held is the measurement of one way.
type held struct {
	way                string
	memory, grown      float64 // MiB
	processor          float64 // as a share of one processor
	neighbour, control []loadResponse
	baseline           time.Duration
}

// under measures a way for some time.
func (s *attack) under(w way, lasting time.Duration) held {
	perSecond := 200.0
	if !fullSize() {
		perSecond = 100
	}
	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	before := s.r.measured()
	began := time.Now()
	x, inPlace := s.attacker, make(chan struct{})
	x.inPlace = func() { close(inPlace) }
	work.Go(func() { w.hold(x, ctx) })
	<-inPlace
	time.Sleep(lasting / 3) // the gateway has read it
	var control []loadResponse
	var controlled sync.WaitGroup
	controlled.Go(func() { control = s.control.steady(perSecond, lasting) })
	neighbour := s.neighbour.steady(perSecond, lasting)
	controlled.Wait()
	took := time.Since(began)
	after := s.r.measured()
	stop()
	work.Wait()
	const cpu, memory = "process_cpu_seconds_total", "process_resident_memory_bytes"
	if w.name == noAttack().name {
		s.baseline = quantile(neighbour, .99)
	}
	return held{
		way: w.name, memory: after[memory] / (1 << 20), grown: (after[memory] - before[memory]) / (1 << 20),
		processor: (after[cpu] - before[cpu]) / took.Seconds(), neighbour: neighbour, control: control,
		baseline: s.baseline,
	}
}

// late returns how much longer the neighbour waits than the limit: twice as long as at rest, plus 20 ms. It
// returns 0 if the gateway at rest exceeds that limit too, because then the machine is too busy.
func (h held) late() time.Duration {
	rest := quantile(h.control, .99)
	bar := 2*max(h.baseline, rest) + 20*time.Millisecond
	if rest > 2*h.baseline+20*time.Millisecond {
		return 0
	}
	return max(0, quantile(h.neighbour, .99)-bar)
}

// refused returns how many of the neighbour's requests were not served.
func (h held) refused() int { return len(h.neighbour) - count(h.neighbour, served) }

func (h held) String() string {
	return fmt.Sprintf("%-50s %4.0f MiB (%+4.0f), processor %3.0f %%, neighbour p50 %4.1f ms, p99 %5.1f ms; "+
		"p99 at a gateway at rest %5.1f ms",
		h.way, h.memory, h.grown, 100*h.processor, milliseconds(quantile(h.neighbour, .5)),
		milliseconds(quantile(h.neighbour, .99)),
		milliseconds(quantile(h.control, .99)))
}

func noAttack() way {
	return way{"nothing", func(x attacker, ctx context.Context) {
		x.inPlace()
		<-ctx.Done()
	}}
}

// ways returns the ways of all families.
func ways() []way {
	return slices.Concat(withheld(), equalCalls(), heavyBodies(), floods(), oddConnections())
}

const (
	bookAt  = "/v1/calendar/book-meeting"
	listAt  = "/v1/calendar/list-calendars"
	writeAt = "/v1/tickets/create-ticket"
)

// withheld returns ways with connections that begin a request and do not end it.
func withheld() []way {
	head := func(method, path, key, more string) string {
		return method + " " + path + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + key + "\r\n" + more
	}
	of := func(name string, connections int, begin func(x attacker) string) way {
		return way{fmt.Sprintf("%d connections: %s", connections, name), func(x attacker, ctx context.Context) {
			x.connections(ctx, connections, begin(x))
		}}
	}
	// More than all places and all bodies that are read at a time, of which there are 512 at each size; and than those
	// of one tenant.
	whole, half := max(scaled(1100), 600), scaled(600)
	return []way{
		of("no body", whole, func(x attacker) string {
			return head("POST", listAt, x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("no body of a booking", whole,
			func(x attacker) string { return head("POST", bookAt, x.key, "Content-Length: 100\r\n\r\n") }),
		of("all but the last byte", half, func(x attacker) string {
			return head("POST", bookAt, x.key, "Content-Length: 100001\r\n\r\n") + strings.Repeat(" ", 100_000)
		}),
		of("no chunk", half, func(x attacker) string {
			return head("POST", listAt, x.key, "Transfer-Encoding: chunked\r\n\r\n")
		}),
		of("no last chunk", half, func(x attacker) string {
			return head("POST", listAt, x.key, "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")
		}),
		of("a body that waits to be asked for", half, func(x attacker) string {
			return head("POST", listAt, x.key, "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
		}),
		of("a read with a body", half, func(x attacker) string {
			return head("GET", "/beta/phone-numbers", x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("a removal with a body", half, func(x attacker) string {
			return head("DELETE", "/beta/phone-numbers/1", x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("a change without its body", half, func(x attacker) string {
			return head("PATCH", "/beta/phone-numbers/1", x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("a long deadline", half, func(x attacker) string {
			return head("POST", listAt, x.key, "X-Request-Timeout-Ms: 600000\r\nContent-Length: 100\r\n\r\n")
		}),
		of("the wrong key", half, func(x attacker) string {
			return head("POST", listAt, x.key+"x", "Content-Length: 100\r\n\r\n")
		}),
		of("no key", half, func(x attacker) string {
			return "POST " + listAt + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"
		}),
		of("no such path", half, func(x attacker) string {
			return head("POST", "/v1/nothing", x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("a page with a body", half, func(x attacker) string {
			return head("GET", "/docs", x.key, "Content-Length: 100\r\n\r\n")
		}),
		of("no end of the headers", half, func(x attacker) string { return head("POST", listAt, x.key, "") }),
		of("nothing at all", half, func(attacker) string { return "" }),
	}
}

// connections holds many connections open after sending the same bytes on each, until ctx ends.
func (x attacker) connections(ctx context.Context, many int, begin string) {
	for range many {
		conn, err := net.Dial("tcp", strings.TrimPrefix(x.r.api, "http://"))
		if err != nil {
			x.t.Error(err)
			break
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, begin) // the gateway may have refused it meanwhile
	}
	x.inPlace()
	<-ctx.Done()
}

// equalCalls returns ways with many calls that wait for one call or for a provider that never responds.
func equalCalls() []way {
	of := func(name string, requests func(i int) loadRequest) way {
		many := scaled(700)
		return way{fmt.Sprint(many, " ", name), func(x attacker, ctx context.Context) {
			flood := newLoad(x.t, x.r.api, func(i int) loadRequest {
				s := requests(i)
				s.key = x.hung
				return s
			})
			x.burst(ctx, flood, many)
		}}
	}
	book := func(title any) string {
		return fmt.Sprintf(
			`{"title":"Call %v","start_time":"2027-01-04T08:00:00Z","end_time":"2027-01-04T08:05:00Z"}`, title)
	}
	ticket := func(subject any) string { return fmt.Sprintf(`{"subject":"Call %v"}`, subject) }
	return []way{
		of("equal bookings", func(int) loadRequest { return loadRequest{path: bookAt, body: book("A")} }),
		of("equal tickets", func(int) loadRequest { return loadRequest{path: writeAt, body: ticket("A")} }),
		of("bookings of one key", func(int) loadRequest {
			return loadRequest{path: bookAt, body: book("B"), idem: "b"}
		}),
		of("tickets of one key", func(int) loadRequest {
			return loadRequest{path: writeAt, body: ticket("B"), idem: "b"}
		}),
		of("purchases of one key", func(int) loadRequest {
			return loadRequest{path: "/beta/phone-numbers", body: `{"area_code":"415"}`, idem: "b"}
		}),
		of("bookings of a hundred calls",
			func(i int) loadRequest { return loadRequest{path: bookAt, body: book(fmt.Sprint("C", i%100))} }),
		of("bookings that differ", func(i int) loadRequest {
			return loadRequest{path: bookAt, body: book(fmt.Sprint("D", i))}
		}),
		of("reads", func(int) loadRequest { return loadRequest{path: listAt, body: "{}"} }),
		of("tickets read", func(int) loadRequest {
			return loadRequest{path: "/v1/tickets/get-ticket", body: `{"ticket_number":"1"}`}
		}),
	}
}

// burst sends many requests within half a second and hangs up when ctx ends.
func (x attacker) burst(ctx context.Context, l *load, many int) {
	var flying sync.WaitGroup
	lines := make(chan net.Conn, many)
	host := strings.TrimPrefix(x.r.api, "http://")
	for i := range many {
		if i%100 == 99 {
			time.Sleep(10 * time.Millisecond)
		}
		c, err := l.wire(host)
		if err != nil {
			x.t.Error(err)
			break
		}
		lines <- c
		flying.Go(func() { _, _, _ = c.exchange(host, l.requests(i)) })
	}
	close(lines)
	x.inPlace()
	<-ctx.Done()
	for c := range lines {
		c.Close()
	}
	flying.Wait()
}

// heavyBodies returns ways with bodies that cost as much as a body can.
func heavyBodies() []way {
	of := func(name string, perSecond float64, body string) way {
		return way{fmt.Sprintf("%.0f a second: %s", perSecond, name), func(x attacker, ctx context.Context) {
			l := newLoad(x.t, x.r.api, func(int) loadRequest {
				return loadRequest{key: x.key, path: bookAt, body: body}
			})
			x.inPlace()
			l.until(ctx, perSecond)
		}}
	}
	names := func(n int, each string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, each, i)
		}
		return "{" + all.String() + `"x":1}`
	}
	const most = 128 << 10
	fill := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (most-len(begin)-len(end))/len(each)) + end
	}
	return []way{
		of("60,000 unknown names", 20, names(60_000, `"f%d":1,`)),
		of("9,000 unknown names", 100, names(9_000, `"field%d":1,`)),
		of("60 unknown names", 300, names(60, `"field%d":1,`)),
		of("60 names nearly known", 300, names(60, `"start_timf%d":1,`)),
		of("60 names of 64 letters", 300, names(60, `"`+strings.Repeat("start_", 10)+`%d":1,`)),
		of("64,000 numbers", 100, fill(`{"attendee_emails":[0`, ",0", "]}")),
		of("32,000 empty texts", 100, fill(`{"attendee_emails":[""`, `,""`, "]}")),
		of("900 addresses that are none", 100, `{"attendee_emails":["x"`+strings.Repeat(`,"x"`, 900)+"]}"),
		of("200 long addresses", 100, `{"attendee_emails":["x"`+
			strings.Repeat(`,"`+strings.Repeat("a.", 150)+`@example.com"`, 200)+"]}"),
		of("a text of 128 KiB", 100, fill(`{"description":"`, "x", `"}`)),
		of("a text of escapes", 100, fill(`{"description":"`, `\u0041`, `"}`)),
		of("a text of surrogate pairs", 100, fill(`{"description":"`, `\ud83d\ude00`, `"}`)),
		of("a time zone of 128 KiB", 100, fill(`{"timezone":"`, "Europe/", `"}`)),
		of("a time of 128 KiB", 100, fill(`{"start_time":"`, "2027-", `"}`)),
		of("a number of 128 KiB", 100, fill(`{"title":`, "9", `}`)),
		of("a name of 128 KiB", 100, fill(`{"`, "start_time", `":1}`)),
		of("128 KiB of blanks", 100, fill("{", " ", "}")),
		of("128 KiB of brackets", 100, fill("", "[", "")),
		of("128 KiB of objects", 100, fill("", `{"a":`, "")),
		of("128 KiB of noise", 100, fill("", "\x80\x00\xff{", "")),
		of("a megabyte", 20, strings.Repeat(" ", 1<<20)),
	}
}

// floods returns ways with very many usual requests.
func floods() []way {
	of := func(name string, perSecond float64, requests func(x attacker, i int) loadRequest) way {
		return way{fmt.Sprintf("%.0f a second: %s", perSecond, name), func(x attacker, ctx context.Context) {
			began := time.Now().UnixNano()
			l := newLoad(x.t, x.r.api, func(i int) loadRequest {
				s := requests(x, int(began/1000)+i)
				s.key = x.key
				return s
			})
			x.inPlace()
			l.until(ctx, perSecond)
		}}
	}
	many := 900.0
	if !fullSize() {
		many = 450 // a slow machine that serves 900 bookings a second serves nobody else
	}
	at := func(i int) (string, string) {
		begin := time.Date(2027, 1, 4, 8, 0, 0, 0, time.UTC).Add(time.Duration(i%100_000) * 5 * time.Minute)
		return begin.Format(time.RFC3339), begin.Add(5 * time.Minute).Format(time.RFC3339)
	}
	book := func(_ attacker, i int) loadRequest {
		begin, end := at(i)
		return loadRequest{
			path: bookAt, body: fmt.Sprintf(`{"title":"Flood %d","start_time":%q,"end_time":%q}`, i, begin, end),
		}
	}
	return []way{
		of("calendars", many, func(attacker, int) loadRequest { return loadRequest{path: listAt, body: "{}"} }),
		of("events of a year", 300, func(attacker, int) loadRequest {
			return loadRequest{
				path: "/v1/calendar/list-events", body: `{"start_time":"2027-01-01","end_time":"2027-12-31"}`,
			}
		}),
		of("bookings", many, book),
		of("bookings with keys", 500, func(x attacker, i int) loadRequest {
			s := book(x, i)
			s.idem = fmt.Sprint("flood ", i)
			return s
		}),
		of("equal bookings", many, func(x attacker, _ int) loadRequest { return book(x, 7) }),
		of("tickets", 500, func(_ attacker, i int) loadRequest {
			return loadRequest{path: writeAt, body: fmt.Sprintf(`{"subject":"Flood %d"}`, i)}
		}),
		of("tickets that are none", many, func(_ attacker, i int) loadRequest {
			return loadRequest{path: "/v1/tickets/get-ticket", body: fmt.Sprintf(`{"ticket_number":"9%d"}`, i)}
		}),
		of("numbers", many, func(attacker, int) loadRequest {
			return loadRequest{method: http.MethodGet, path: "/beta/phone-numbers"}
		}),
		of("purchases", 300, func(_ attacker, i int) loadRequest {
			return loadRequest{path: "/beta/phone-numbers", body: `{"area_code":"415"}`, idem: fmt.Sprint(i)}
		}),
		of("faults of input", many, func(attacker, int) loadRequest {
			return loadRequest{path: bookAt, body: `{"titel":"x"}`}
		}),
		of("paths that are none", many,
			func(attacker, int) loadRequest { return loadRequest{path: "/v1/calendar/nothing", body: "{}"} }),
	}
}

// oddConnections returns ways that use connections as no client does.
func oddConnections() []way {
	again := func(name string, perSecond int, do func(x attacker, conn net.Conn)) way {
		return way{fmt.Sprintf("%d a second: %s", perSecond, name), func(x attacker, ctx context.Context) {
			var open sync.WaitGroup
			every := time.NewTicker(time.Second / time.Duration(perSecond))
			defer every.Stop()
			x.inPlace()
			for ctx.Err() == nil {
				<-every.C
				conn, err := net.Dial("tcp", strings.TrimPrefix(x.r.api, "http://"))
				if err != nil {
					x.t.Error(err)
					break
				}
				open.Go(func() {
					defer conn.Close()
					do(x, conn)
				})
			}
			open.Wait()
		}}
	}
	list := func(x attacker, more, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n%sContent-Length: %d\r\n\r\n%s", listAt,
			x.key, more, len(body), body)
	}
	return []way{
		again("a connection for each request", 300, func(x attacker, conn net.Conn) {
			_, _ = io.WriteString(conn, list(x, "Connection: close\r\n", "{}"))
			_, _ = io.Copy(io.Discard, conn)
		}),
		again("connections that hang up at once", 300, func(attacker, net.Conn) {}),
		again("requests whose caller leaves", 300,
			func(x attacker, conn net.Conn) { _, _ = io.WriteString(conn, list(x, "", "{}")) }),
		again("bookings at a provider that hangs, whose caller leaves", 200, func(x attacker, conn net.Conn) {
			x.key = x.hung
			begin := strings.Replace(list(x, "",
				`{"title":"x","start_time":"2027-01-04T08:00:00Z","end_time":"2027-01-04T08:05:00Z"}`), listAt, bookAt, 1)
			_, _ = io.WriteString(conn, begin)
		}),
		again("twenty requests at once on a connection", 20, func(x attacker, conn net.Conn) {
			_, _ = io.WriteString(conn, strings.Repeat(list(x, "", "{}"), 19)+list(x, "Connection: close\r\n", "{}"))
			_, _ = io.Copy(io.Discard, conn)
		}),
		again("a hundred requests, no answer read", 5, func(x attacker, conn net.Conn) {
			_, _ = io.WriteString(conn, strings.Repeat(list(x, "", "{}"), 100))
			time.Sleep(500 * time.Millisecond)
		}),
		again("headers of 30 KiB", 200, func(x attacker, conn net.Conn) {
			_, _ = io.WriteString(conn, list(x, strings.Repeat("X-H: v\r\n", 3_700)+"Connection: close\r\n", "{}"))
			_, _ = io.Copy(io.Discard, conn)
		}),
		again("bodies of one byte's chunks", 50, func(x attacker, conn net.Conn) {
			_, _ = io.WriteString(conn, "POST "+listAt+" HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+x.key+
				"\r\nTransfer-Encoding: chunked\r\n\r\n"+
				strings.Repeat("1\r\n \r\n", 20_000)+"0\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
		}),
	}
}
