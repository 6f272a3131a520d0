//go:build attack

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// target is a gateway under attack, and the key of a caller who uses it meanwhile.
type target struct {
	t   *testing.T
	r   *running
	key string
}

// say sends bytes on a new connection and returns the statuses of the responses, until the gateway closes the
// connection or is quiet.
func (a target) say(raw string) []int {
	a.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.r.api, "http://"))
	if err != nil {
		a.t.Error(err)
		return nil
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	go func() { _, _ = io.WriteString(conn, raw) }() // ends with the connection
	var statuses []int
	answers := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.t.Errorf("neither answered nor closed: %.200q", raw)
			}
			return statuses
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		statuses = append(statuses, res.StatusCode)
		if res.Close {
			return statuses
		}
		_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)) // time for a second response
		if _, err := answers.Peek(1); err != nil {
			return statuses
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	}
}

// post returns a request with a body, and the headers that go with it.
func (a target) post(path, body string, headers ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: %d\r\n%s\r\n%s", path,
		a.key, len(body),
		strings.Join(append(headers, ""), "\r\n"), body)
}

func (a target) get(target string, headers ...string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n%s\r\n", target, a.key,
		strings.Join(append(headers, ""), "\r\n"))
}

// chunked returns a request with its own framing headers.
func (a target) chunked(headers, body string) string {
	return "POST /v1/calendar/list-calendars HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + a.key + "\r\n" + headers +
		"\r\n" + body
}

// fine fails unless a usual caller is served.
func (a target) fine(when string) {
	a.t.Helper()
	began := time.Now()
	if got, err := a.r.as(a.key).call(http.MethodPost, "/v1/calendar/list-calendars", `{}`); err != nil ||
		got.status != http.StatusOK {
		a.t.Fatalf("%s, a usual caller is answered %v %d %s\n%s", when, err, got.status, got.body, a.r.log())
	}
	if took := time.Since(began); took > 10*time.Second {
		a.t.Errorf("%s, a usual caller waits %s", when, took)
	}
}

// resident returns the memory that the process holds, in MiB.
func (a target) resident() float64 {
	a.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.r.cmd.Process.Pid))
	if err != nil {
		a.t.Fatal(err)
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(raw)
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		a.t.Fatal(err)
	}
	return float64(kib) / 1024
}

// goroutines waits up to 15 s until the gateway has at most that many goroutines, and returns their number.
func (a target) goroutines(most int) int {
	a.t.Helper()
	number := regexp.MustCompile(`(?m)^go_goroutines (\d+)`)
	n := 0
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		metrics := caller{t: a.t, base: a.r.ops}.do(200, http.MethodGet, "/metrics", "").body
		found := number.FindSubmatch(metrics)
		if found == nil {
			a.t.Fatal("the metrics do not tell the goroutines")
		}
		if n, _ = strconv.Atoi(string(found[1])); n <= most {
			break
		}
	}
	return n
}

// attacks returns requests that no decent client sends, each with the allowed statuses. No status means that
// the connection may close without a response.
func (a target) attacks() map[string]struct {
	raw  string
	want []int
} {
	const list, book = "/v1/calendar/list-calendars", "/v1/calendar/book-meeting"
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = z.Write(bytes.Repeat([]byte(" "), 50<<20))
	_ = z.Close()
	mib, most := 1<<20, 128<<10
	many := func(n int, each string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, each, i)
		}
		return all.String()
	}
	ok := []int{200}
	bad, none, large := []int{400}, []int{404}, []int{413}
	type attack = struct {
		raw  string
		want []int
	}
	return map[string]attack{
		"arrays nested as deep as there is room": {a.post(book, strings.Repeat("[", most)), bad},
		"objects nested deep":                    {a.post(book, strings.Repeat(`{"a":`, most/5)), bad},
		"deep and closed": {a.post(book,
			strings.Repeat("[", 50_000)+strings.Repeat("]", 50_000)), bad},
		"a byte over the limit": {a.post(book, `"`+strings.Repeat("x", most)+`"`), large},
		"a hundred megabytes promised": {"POST " + book + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + a.key +
			"\r\nContent-Length: 104857600\r\n\r\n{", large},
		"nine thousand fields":  {a.post(book, "{"+many(9_000, `"f%d":1,`)+`"x":1}`), bad},
		"sixty thousand fields": {a.post(book, "{"+many(60_000, `"f%d":1,`)+`"x":1}`), large},
		"thirty thousand attendees": {a.post(book,
			`{"attendee_emails":["x"`+strings.Repeat(`,"x"`, 30_000)+`]}`), bad},
		"one name twice":             {a.post(book, `{"title":"a","title":"b"}`), bad},
		"one name twice, escaped":    {a.post(book, `{"title":"a","\u0074itle":"b"}`), bad},
		"invalid UTF-8":              {a.post(book, "{\"title\":\"\xff\xfe\"}"), bad},
		"overlong UTF-8":             {a.post(book, "{\"title\":\"\xc0\xaf\"}"), bad},
		"half a surrogate pair":      {a.post(book, `{"title":"\ud800"}`), bad},
		"a NUL byte":                 {a.post(book, "{\"title\":\"a\x00b\"}"), bad},
		"an escaped NUL":             {a.post(book, `{"title":"a\u0000b"}`), bad},
		"a byte order mark":          {a.post(book, "\xef\xbb\xbf{}"), bad},
		"a number without an end":    {a.post(book, `{"title":`+strings.Repeat("9", 100_000)+`}`), bad},
		"a number beyond all floats": {a.post(book, `{"title":1e999999999}`), bad},
		"two values":                 {a.post(book, `{}{}`), bad},
		"nothing but noise":          {a.post(book, strings.Repeat("\x80\x00\xff{", most/4)), bad},
		"a compressed bomb": {a.post(list, compressed.String(), "Content-Encoding: gzip"),
			[]int{415}},
		"an unknown encoding": {a.post(list, "{}", "Content-Encoding: zstd"), []int{415}},
		"many encodings": {a.post(list, "{}",
			"Content-Encoding: "+strings.Repeat("gzip, ", 100)+"gzip"), []int{415}},
		"a form with files": {a.post(list,
			strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n", 15_000),
			"Content-Type: multipart/form-data; boundary=b"), []int{415}},
		"a form with endless files": {a.post(list,
			strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nx\r\n", 50_000),
			"Content-Type: multipart/form-data; boundary=b"), []int{413, 415}},
		"a charset that is none": {a.post(list, "{}",
			"Content-Type: application/json; charset=utf-7"), []int{415}},
		"XML with entities": {a.post(list, `<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>`,
			"Content-Type: application/xml"), []int{415}},
		"a path with dots":             {a.post("/v1/../v1/calendar/list-calendars", "{}"), none},
		"a path with encoded dots":     {a.post("/v1/%2e%2e/v1/calendar/list-calendars", "{}"), none},
		"a path encoded twice":         {a.post("/v1/calendar/%256cist-calendars", "{}"), none},
		"a path with an encoded slash": {a.post("/v1/calendar%2flist-calendars", "{}"), none},
		"a path with a backslash":      {a.post(`/v1\calendar\list-calendars`, "{}"), none},
		"a path with two slashes":      {a.post("//v1/calendar/list-calendars", "{}"), none},
		"a path with a NUL":            {a.post("/v1/calendar/list-calendars%00", "{}"), none},
		"a path in overlong UTF-8":     {a.post("/v1/calendar/list%c0%afcalendars", "{}"), none},
		"a path with a semicolon":      {a.post("/v1/calendar/list-calendars;x=1", "{}"), none},
		"an id that climbs":            {a.get("/beta/phone-numbers/..%2f..%2fetc%2fpasswd"), none},
		"an id of dots":                {a.get("/beta/phone-numbers/%2e%2e"), []int{422}},
		"an id beyond all integers": {a.get("/beta/phone-numbers/" + strings.Repeat("9", 5_000)),
			[]int{422}},
		"a page that climbs":            {a.get("/problems/../../../etc/passwd"), none},
		"a page of encoded dots":        {a.get("/problems/%2e%2e%5c%2e%2e"), none},
		"a link that climbs":            {a.get("/connect/..%252f..%252fhealthz"), none},
		"a path that cannot be decoded": {a.get("/%zz"), bad},
		"a path of 20 kilobytes":        {a.get("/" + strings.Repeat("a/", 10_000)), none},
		"a path of a megabyte":          {a.get("/" + strings.Repeat("a", mib)), []int{431, 0}},
		"a query of 30 kilobytes":       {a.post(list+"?"+strings.Repeat("a=b&", 7_000), "{}"), ok},
		"an absolute address":           {a.post("http://169.254.169.254/latest/meta-data", "{}"), none},
		"another host's address":        {a.post("http://evil.example"+list, "{}"), ok},
		"a path without a slash":        {a.get("v1/calendar"), bad},
		"a proxy's request": {"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: " +
			"169.254.169.254:80\r\n\r\n", []int{404, 405, 400}},
		"a star": {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", []int{200, 204, 404}},
		"a thousand headers": {a.post(list, "{}",
			strings.TrimSuffix(many(1_000, "X-H%d: v\r\n"), "\r\n")), ok},
		"ten thousand headers": {a.post(list, "{}",
			strings.TrimSuffix(many(10_000, "X-H%d: v\r\n"), "\r\n")), []int{431, 0}},
		"a header of a megabyte": {a.post(list, "{}", "X-H: "+strings.Repeat("v", mib)),
			[]int{431, 0}},
		"a folded header":                 {a.post(list, "{}", "X-H: a\r\n b"), []int{200, 400}},
		"a folded header first":           {"GET /healthz HTTP/1.1\r\n X: y\r\nHost: x\r\n\r\n", bad},
		"a blank before the colon":        {a.post(list, "{}", "Transfer-Encoding : chunked"), bad},
		"a NUL in a header":               {a.post(list, "{}", "X-H: a\x00b"), bad},
		"a line break in a header's name": {a.post(list, "{}", "X\nH: a"), bad},
		"two hosts":                       {a.post(list, "{}", "Host: y"), bad},
		"no host":                         {"GET /healthz HTTP/1.1\r\n\r\n", bad},
		"a host that is none":             {"GET /healthz HTTP/1.1\r\nHost: a b<>\r\n\r\n", bad},
		"two lengths": {a.chunked("Content-Length: 2\r\nContent-Length: 3\r\n", "{}x"),
			bad},
		"two lengths in one line": {a.chunked("Content-Length: 2, 3\r\n", "{}x"), bad},
		"a signed length":         {a.chunked("Content-Length: +2\r\n", "{}"), bad},
		"a negative length":       {a.chunked("Content-Length: -2\r\n", "{}"), bad},
		"a length beyond all integers": {a.chunked("Content-Length: 99999999999999999999\r\n", "{}"),
			bad},
		"an encoding that is not quite chunked": {a.chunked("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
			[]int{501, 400}},
		"chunked and something": {a.chunked("Transfer-Encoding: chunked, identity\r\n",
			"0\r\n\r\n"), []int{501, 400}},
		"chunked twice": {a.chunked("Transfer-Encoding: chunked\r\nTransfer-Encoding: "+
			"chunked\r\n", "0\r\n\r\n"), []int{501, 400}},
		"chunked with a tab": {a.chunked("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"),
			[]int{501, 400}},
		"a chunk without an end": {a.chunked("Transfer-Encoding: chunked\r\n",
			"FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"), bad},
		"a chunk of negative size": {a.chunked("Transfer-Encoding: chunked\r\n",
			"-2\r\n{}\r\n0\r\n\r\n"), bad},
		"a chunk with a megabyte of extension": {a.chunked("Transfer-Encoding: chunked\r\n",
			"2;"+strings.Repeat("x", mib)+"\r\n{}\r\n0\r\n\r\n"), []int{400, 413}},
		"chunks of one byte": {a.chunked("Transfer-Encoding: chunked\r\n",
			strings.Repeat("1\r\n \r\n", 50_000)+"0\r\n\r\n"), []int{200, 400}},
		"more chunks than the limit": {a.chunked("Transfer-Encoding: chunked\r\n",
			strings.Repeat("10000\r\n"+strings.Repeat(" ", 65536)+"\r\n", 40)), large},
		"a key in the trailer": {"POST " + list +
			" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: " +
			"X-Api-Key\r\n\r\n2\r\n{}\r\n0\r\nX-Api-Key: " + a.key + "\r\n\r\n", []int{401}},
		"HTTP/0.9": {"GET /healthz\r\n\r\n", bad},
		"HTTP/1.0": {"GET /healthz HTTP/1.0\r\n\r\n", ok},
		"HTTP/2 without TLS": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
			[]int{400, 404, 405, 505, 0}},
		"HTTP/9.9": {"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", []int{400, 505}},
		"TLS": {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" +
			strings.Repeat("\x00", 512), []int{400, 0}},
		"noise":                 {strings.Repeat("\x00\xff\r\n", 20_000), []int{400, 431, 0}},
		"a method that is none": {"BREW " + list + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{405}},
		"a method of a kilobyte": {strings.Repeat("X",
			1024) + " " + list + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{405}},
		"TRACE": {"TRACE " + list + " HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + a.key +
			"\r\n\r\n", []int{405}},
		"an expectation that is none": {a.post(list, "{}", "Expect: magic"), []int{417}},
		"an upgrade": {a.post(list, "{}", "Connection: Upgrade", "Upgrade: h2c",
			"HTTP2-Settings: AAMAAABkAAQAAP__"), ok},
		"a deadline beyond all integers": {a.post(list, "{}", "X-Request-Timeout-Ms: 99999999999999999999"),
			bad},
		"an idempotency key of a kilobyte": {a.post(book, "{}",
			"Idempotency-Key: "+strings.Repeat("k", 1024)), bad},
		"a request id with colours": {a.post(list, "{}", "X-Request-Id: \x1b[31mred"), bad},
		"a trace that is none": {a.post(list, "{}", "Traceparent: "+strings.Repeat("0", 10_000)),
			ok},
		"a key of 30 kilobytes": {"GET /beta/phone-numbers HTTP/1.1\r\nHost: x\r\nX-Api-Key: " +
			strings.Repeat("k", 30_000) + "\r\n\r\n", []int{401}},
		"many ranges": {a.get("/docs",
			"Range: bytes="+strings.TrimSuffix(many(3_000, "%d-,"), ",")), ok},
		// In these, the second request is smuggled in the body of the first and must not be answered.
		"a length beside chunked": {a.chunked("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
			"0\r\n\r\n"+a.get("/beta/phone-numbers")), []int{200, 400}},
		"a length beside chunked, late": {a.chunked("Transfer-Encoding: chunked\r\nContent-Length: 500\r\n",
			"2\r\n{}\r\n0\r\n\r\n"+a.get("/beta/phone-numbers")), []int{200, 400}},
		"a body on GET": {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /", ok},
	}
}

// No request causes a defect, takes down a worker or holds memory. Each is refused for what it is, and usual
// callers are served meanwhile. FRONTDESK_HOSTILE_ROUNDS sets how often all are sent (2),
// FRONTDESK_IDLE_CONNECTIONS how many connections are held open at once (400).
func TestHostileRequestsAreRefusedAndHoldNothing(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, "")
	d.must("tenant", "create", "acme")
	for _, kind := range []string{"calendar", "telephony"} {
		d.must("connection", "add", "--tenant", "acme", "--kind", kind, "--provider", "sandbox", "--name", kind)
	}
	a := target{t: t, r: d.serve(), key: d.must("key", "create", "--tenant", "acme")}
	a.fine("before all")
	goroutines := a.goroutines(1 << 20)

	attacks := a.attacks()
	var first, highest float64
	for round := range numberFrom(t, "FRONTDESK_HOSTILE_ROUNDS", 2) {
		var all sync.WaitGroup
		turns := make(chan struct{}, 16)
		for rule, attack := range attacks {
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				statuses := a.say(attack.raw)
				got := 0
				if len(statuses) > 0 {
					got = statuses[0]
				}
				if !slices.Contains(attack.want, got) {
					t.Errorf("%s: %d, want one of %d", rule, statuses, attack.want)
				}
				if len(statuses) > 1 {
					t.Errorf("%s: %d answers to one request: %d", rule, len(statuses), statuses)
				}
				if got == http.StatusInternalServerError {
					t.Errorf("%s is a defect: %s", rule, a.r.log())
				}
			})
		}
		all.Wait()
		highest = max(highest, a.resident())
		a.fine("after the attacks")
		if round == 0 {
			first = a.resident() // one-time allocations do not count as growth
		}
	}
	grown := a.resident() - first
	if grown > 64 {
		t.Errorf("%d hostile requests left %.0f MiB", len(attacks), grown)
	}

	idle := numberFrom(t, "FRONTDESK_IDLE_CONNECTIONS", 400)
	before := a.resident()
	a.idleConnections(idle)
	held := a.resident() - before
	a.fine("after the attack")
	if left := a.goroutines(goroutines + 20); left > goroutines+20 {
		t.Errorf("%d goroutines are left of %d", left, goroutines)
	}
	for line := range strings.Lines(a.r.log()) {
		var entry struct{ Level, Msg, Reason string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("a line of the log is none: %s", line)
		}
		if entry.Level == "ERROR" || strings.Contains(entry.Msg, "panic") {
			t.Errorf("a defect: %s", line)
		}
	}
	t.Logf("%d kinds of hostile requests, %.1f MiB more after all rounds, at most %.1f MiB held; %d slow or "+
		"idle connections held %.1f MiB",
		len(attacks), grown, highest, idle, held)
}

// idleConnections holds connections open that send nothing, a header now and then, or a body now and then,
// while a usual caller is served. Then it waits until the gateway has closed the slow ones.
func (a target) idleConnections(connections int) {
	a.t.Helper()
	var lines []net.Conn
	defer func() {
		for _, l := range lines {
			l.Close()
		}
	}()
	var slow sync.WaitGroup
	closed := make(chan time.Duration, connections)
	for i := range connections {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.r.api, "http://"))
		if err != nil {
			a.t.Fatalf("connection %d: %v", i, err)
		}
		lines = append(lines, conn)
		switch {
		case i%4 == 0: // used once, kept open
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		case i%4 == 1: // nothing at all
		case i < 200: // a header or a body that trickles
			begin := "POST /v1/calendar/list-calendars HTTP/1.1\r\nHost: x\r\n"
			if i%4 == 3 {
				begin += "X-Api-Key: " + a.key + "\r\nX-Request-Timeout-Ms: 1000\r\nContent-Length: 1000\r\n\r\n"
			}
			slow.Go(func() {
				began := time.Now()
				if _, err := io.WriteString(conn, begin); err != nil {
					return
				}
				for range time.Tick(250 * time.Millisecond) {
					if _, err := io.WriteString(conn, " "); err != nil {
						break
					}
					if time.Since(began) > 30*time.Second {
						break
					}
				}
				closed <- time.Since(began)
			})
		}
	}
	a.fine("while " + strconv.Itoa(connections) + " connections are held open")
	slow.Wait()
	close(closed)
	for took := range closed {
		if took > 25*time.Second { // headers have 5 s, and a busy machine some more
			a.t.Errorf("a sender that trickles was let go after %s", took)
		}
	}
	a.fine("after the slow ones")
}
