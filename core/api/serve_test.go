package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/telemetry"
)

func TestEveryOperationAnswersAsTheContractSays(t *testing.T) {
	g := startGateway(t)
	for _, op := range operations(Services{}) {
		for _, e := range op.Examples {
			body := ""
			if op.takesBody() {
				body = indent(e.Request)
			}
			a := g.send(op.Method, strings.ReplaceAll(op.Path, "{id}", "4711"), body)
			if a.status != op.success() {
				t.Errorf("%s, %s: %d %s", op.ID, e.Name, a.status, a.body)
			}
			if op.response == nil && a.body != "" ||
				op.response != nil && a.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %q %q", op.ID, a.header.Get("Content-Type"), a.body)
			}
		}
	}
}

func TestTheAnswerIsSentByteForByte(t *testing.T) {
	g := startGateway(t)
	want, err := json.Marshal(sampleMeeting)
	if err != nil {
		t.Fatal(err)
	}
	if a := g.post(bookPath, with(nil)); a.body != string(want) ||
		a.header.Get("Content-Length") != fmt.Sprint(len(want)) {
		t.Errorf("%s, want %s", a.body, want)
	}
}

func TestAReplayIsMarked(t *testing.T) {
	g := startGateway(t)
	if a := g.post(bookPath, with(nil)); a.header.Get("Idempotency-Replayed") != "" {
		t.Error("a first answer is marked")
	}
	g.replayed = true
	for _, a := range []answer{
		g.post(bookPath, with(nil)), g.send("DELETE", numberPath, ""), g.post(numbersPath, `{"area_code":"415"}`),
	} {
		if a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

func TestABoughtNumberSaysWhereItIs(t *testing.T) {
	g := startGateway(t)
	if a := g.post(numbersPath, `{"area_code":"415"}`); a.status != http.StatusCreated ||
		a.header.Get("Location") != numberPath {
		t.Errorf("%d %q", a.status, a.header.Get("Location"))
	}
}

func TestTheIdempotencyKeyReachesTheUseCase(t *testing.T) {
	g := startGateway(t)
	for _, key := range []string{"a", `"quoted"`, "call 7, booking 1", strings.Repeat("k", 255)} {
		if a := g.post(bookPath, with(nil), "Idempotency-Key", key); a.status != http.StatusOK ||
			g.write.IdempotencyKey != key {
			t.Errorf("%q: %d, got %q", key, a.status, g.write.IdempotencyKey)
		}
	}
	if g.post(bookPath, with(nil)); g.write.IdempotencyKey != "" {
		t.Errorf("no key: got %q", g.write.IdempotencyKey)
	}
}

func TestAnUnusableIdempotencyKeyIsAFaultOfTheInput(t *testing.T) {
	g := startGateway(t)
	for rule, keys := range map[string][]string{
		"empty": {""}, "too long": {strings.Repeat("k", 256)}, "a tab": {"a\tb"}, "not ASCII": {"ü"},
		"two": {"a", "b"},
	} {
		req, err := http.NewRequest(http.MethodPost, g.url+bookPath, strings.NewReader(`{"titel":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", testKey)
		req.Header["Idempotency-Key"] = keys
		got := g.do(req).faults()
		if got["header.Idempotency-Key"] == "" || got["titel"] == "" {
			t.Errorf("%s: %v", rule, got)
		}
	}
	a := g.send("DELETE", numberPath, "", "Idempotency-Key", "a\tb")
	if got := a.faults(); a.status != http.StatusUnprocessableEntity || got["header.Idempotency-Key"] == "" {
		t.Errorf("beta: %d %v", a.status, got)
	}
	if a := g.post(eventsPath, "", "Idempotency-Key", "a\tb"); a.status != http.StatusOK {
		t.Errorf("an operation that reads looks at it: %d", a.status)
	}
}

func TestARequestIDIsEchoedOrMade(t *testing.T) {
	g := startGateway(t)
	for given, want := range map[string]string{
		"call-7": "call-7", "": fixedID, "two words": fixedID, "ümlaut": fixedID,
		strings.Repeat("x", 128): strings.Repeat("x", 128), strings.Repeat("x", 129): fixedID,
	} {
		for _, path := range []string{calendarsPath, "/nowhere", numbersPath} {
			if a := g.post(path, "", "X-Request-Id", given); a.header.Get("X-Request-Id") != want {
				t.Errorf("%s, %q: got %q", path, given, a.header.Get("X-Request-Id"))
			}
		}
	}
}

func TestMadeRequestIDsSortByTimeAndDiffer(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	first, second, later := newRequestID(at), newRequestID(at), newRequestID(at.Add(time.Millisecond))
	if first == second || len(first) != 26 || first[:9] != second[:9] || first >= later || second >= later {
		t.Errorf("%s, %s, %s", first, second, later)
	}
}

func TestADeadlineCanBeShortenedNotLengthened(t *testing.T) {
	g := startGateway(t, func(o *Options) { o.Deadline = time.Minute })
	for given, want := range map[string]time.Duration{
		"": time.Minute, "5000": 5 * time.Second, "600000": time.Minute, "60000": time.Minute,
	} {
		before := time.Now()
		if a := g.post(calendarsPath, "", "X-Request-Timeout-Ms", given); a.status != http.StatusOK {
			t.Fatalf("%q: %d", given, a.status)
		}
		if left := g.deadline.Sub(before); left < want || left > want+10*time.Second {
			t.Errorf("%q: %v left", given, left)
		}
	}
}

func TestAnUnusableDeadlineIsAFaultOfTheInput(t *testing.T) {
	g := startGateway(t)
	for _, given := range []string{"0", "-1", "1.5", "soon", "99999999999999999999"} {
		a := g.post(bookPath, `{}`, "X-Request-Timeout-Ms", given)
		if got := a.faults(); a.status != http.StatusBadRequest || got["header.X-Request-Timeout-Ms"] == "" ||
			got["title"] == "" {
			t.Errorf("v1 %q: %d %v", given, a.status, got)
		}
		b := g.send("GET", numbersPath, "", "X-Request-Timeout-Ms", given)
		if got := b.faults(); b.status != http.StatusUnprocessableEntity ||
			got["header.X-Request-Timeout-Ms"] == "" {
			t.Errorf("beta %q: %d %v", given, b.status, got)
		}
	}
}

// untilEnded waits until ctx ends, like a call to a provider that never responds.
func untilEnded(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestARequestEndsAtItsDeadline(t *testing.T) {
	g := startGateway(t)
	g.hook = untilEnded
	if a := g.post(calendarsPath, "", "X-Request-Timeout-Ms", "20"); a.status != http.StatusGatewayTimeout ||
		a.v1().reason() != "DEADLINE_EXCEEDED" || a.v1().Code != 4 {
		t.Errorf("v1: %d %s", a.status, a.body)
	}
	if b := g.send("GET", numbersPath, "", "X-Request-Timeout-Ms",
		"20"); b.status != http.StatusGatewayTimeout || b.problem().slug() != "deadline-exceeded" {
		t.Errorf("beta: %d %s", b.status, b.body)
	}
}

func TestTheDeadlineIsEightSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeServices{hook: untilEnded}
		h, err := New(Options{
			PublicURL: publicURL, Keys: fakeKeys{},
			Services: Services{
				Calendar: fakeCalendar{fake}, Tickets: fakeTickets{fake}, Numbers: fakeNumbers{fake},
				Contacts: fakeContacts{fake}, Admin: &admin.Service{},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, calendarsPath, nil)
		req.Header.Set("X-Api-Key", testKey)
		h.ServeHTTP(w, req)
		if took := time.Since(started); took != 8*time.Second || w.Code != http.StatusGatewayTimeout {
			t.Errorf("%d after %v", w.Code, took)
		}
	})
}

func TestACallerWhoLeavesIsNoTimeout(t *testing.T) {
	g := startGateway(t)
	entered := make(chan struct{})
	g.hook = func(ctx context.Context) error {
		close(entered)
		return untilEnded(ctx)
	}
	ctx, leave := context.WithCancel(context.Background())
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, calendarsPath, nil).WithContext(ctx)
	req.Header.Set("X-Api-Key", testKey)
	go func() {
		<-entered
		leave()
	}()
	g.handler.ServeHTTP(w, req)
	if w.Code != 499 || !strings.Contains(w.Body.String(), `"code":1,`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestABodyThatTricklesEndsAtTheDeadline(t *testing.T) {
	g := startGateway(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nX-Request-Timeout-Ms: "+
		"50\r\nContent-Length: 100\r\n\r\n{", bookPath, testKey)
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(answer), "HTTP/1.1 504 ") ||
		!strings.Contains(string(answer), "DEADLINE_EXCEEDED") {
		t.Errorf("%s", answer)
	}
}

// pipe is a listener of one connection, whose deadlines go by the clock of a synctest bubble.
type pipe struct {
	net.Conn
	ended chan struct{}
	once  *sync.Once
}

func (p pipe) Accept() (net.Conn, error) {
	var first net.Conn
	p.once.Do(func() { first = p.Conn })
	if first != nil {
		return first, nil
	}
	<-p.ended
	return nil, net.ErrClosed
}

func (p pipe) Addr() net.Addr { return p.LocalAddr() }

func (p pipe) Close() error {
	close(p.ended)
	return nil
}

// The body of a protocol is bounded in time and size as that of an operation is, and its faults are the same. Once
// it has arrived, the answer may take its time, and the next request on the connection has its own.
func TestTheBodyOfAProtocolIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		path, rest string
		status     int
		wants      string
		after      time.Duration
	}{
		"it never ends": {"/mcp", "Content-Length: 9\r\n\r\n{", 408, "BODY_TOO_SLOW", bodyWithin},
		"it never ends, of a tool": {"/alpha/agents/x", "Content-Length: 9\r\n\r\n{", 408, "BODY_TOO_SLOW",
			bodyWithin},
		"it never ends, of a stranger": {"/alpha/agents/strange", "Content-Length: 9\r\n\r\n{", 401,
			"INVALID_API_KEY", bodyWithin},
		"it never ends, and nobody reads": {"/alpha/agents/refused", "Content-Length: 9\r\n\r\n{", 403,
			"SCOPE_MISSING", bodyWithin},
		"broken chunks": {"/mcp", "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", 400, "INVALID_REQUEST", 0},
		"broken chunks, of a tool": {"/alpha/agents/x", "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", 400,
			"INVALID_REQUEST", 0},
		"too large": {"/mcp", "Content-Length: 11\r\n\r\n[1,2,3,4,5]", 413, "BODY_TOO_LARGE", 0},
		"too large, in chunks": {"/alpha/agents/x",
			"Transfer-Encoding: chunked\r\n\r\nb\r\n[1,2,3,4,5]\r\n0\r\n\r\n", 413, "BODY_TOO_LARGE", 0},
		"whole":            {"/mcp", "Content-Length: 10\r\n\r\n[1,2,3,45]", 200, "[1,2,3,45]", time.Minute},
		"whole, in chunks": {"/mcp", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, "{}", time.Minute},
		"none":             {"/mcp", "Content-Length: 0\r\n\r\n", 200, "", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				echo := func(w http.ResponseWriter, r *http.Request, _ apikey.Caller) error {
					body, err := ReadBody(w, r, 10)
					if err != nil {
						return err
					}
					select {
					case <-time.After(time.Minute):
					case <-r.Context().Done():
						t.Error("the request ended before its answer")
					}
					_, err = w.Write(body)
					return err
				}
				refuse := func(http.ResponseWriter, *http.Request, apikey.Caller) error {
					return fault.New(fault.Forbidden, fault.ReasonScopeMissing, "")
				}
				handler, err := New(Options{
					PublicURL: publicURL, Keys: fakeKeys{}, Protocols: []Protocol{
						{Path: "/mcp", Serve: echo}, {Path: "/alpha/agents/x", Serve: echo},
						{Path: "/alpha/agents/strange", Serve: echo}, {Path: "/alpha/agents/refused", Serve: refuse},
					},
					Services: Services{
						Calendar: fakeCalendar{}, Tickets: fakeTickets{}, Numbers: fakeNumbers{}, Contacts: fakeContacts{},
						Admin: &admin.Service{},
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				client, conn := net.Pipe()
				server := &http.Server{Handler: handler, ReadTimeout: 15 * time.Second}
				go server.Serve(pipe{conn, make(chan struct{}), new(sync.Once)})
				defer server.Close()
				defer client.Close()
				key := testKey
				if strings.HasSuffix(c.path, "strange") {
					key = "fd_live_none"
				}
				answers := bufio.NewReader(client)
				for range 2 {
					began := time.Now()
					go fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\n%s", c.path, key, c.rest)
					res, err := http.ReadResponse(answers, nil)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					if err != nil {
						t.Fatal(err)
					}
					if res.StatusCode != c.status || !strings.Contains(string(body), c.wants) || time.Since(began) != c.after {
						t.Errorf("%d after %v: %s", res.StatusCode, time.Since(began), body)
					}
					if c.status != http.StatusOK || res.Close { // the connection is of no more use
						return
					}
				}
			})
		})
	}
}

// slowKeys knows a key only after the time that a body has.
type slowKeys struct{ fakeKeys }

func (s slowKeys) Authenticate(ctx context.Context, key string) (apikey.Caller, error) {
	time.Sleep(bodyWithin + time.Second)
	return s.fakeKeys.Authenticate(ctx, key)
}

// A body that was sent at once is not late because the store took long to tell whose key it is.
func TestABodyIsNotLateForItsSendersKey(t *testing.T) {
	for _, path := range []string{"/mcp", bookPath} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				echo := func(w http.ResponseWriter, r *http.Request, _ apikey.Caller) error {
					body, err := ReadBody(w, r, 10)
					if err == nil {
						_, err = w.Write(body)
					}
					return err
				}
				services := &fakeServices{}
				handler, err := New(Options{
					PublicURL: publicURL, Keys: slowKeys{}, Protocols: []Protocol{{Path: "/mcp", Serve: echo}},
					Deadline: time.Minute, Services: Services{
						Calendar: fakeCalendar{services}, Tickets: fakeTickets{}, Numbers: fakeNumbers{},
						Contacts: fakeContacts{}, Admin: &admin.Service{},
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				client, conn := net.Pipe()
				server := &http.Server{Handler: handler}
				go server.Serve(pipe{conn, make(chan struct{}), new(sync.Once)})
				defer server.Close()
				defer client.Close()
				go func() { // in two parts: net/http has the beginning of a body in its buffer
					fmt.Fprintf(client, "POST %s HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: 2\r\n\r\n", path,
						testKey)
					_, _ = io.WriteString(client, "{}")
				}()
				res, err := http.ReadResponse(bufio.NewReader(client), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				if err != nil || res.StatusCode == http.StatusRequestTimeout {
					t.Errorf("%s: %d %v %s", path, res.StatusCode, err, body)
				}
			})
		})
	}
}

func TestAConnectionIsKeptAfterAnAnswer(t *testing.T) {
	g := startGateway(t)
	for range 3 {
		if a := g.post(bookPath, with(nil), "X-Request-Timeout-Ms", "1000"); a.status != http.StatusOK {
			t.Fatalf("%d", a.status)
		}
	}
}

func TestAPanicIsAnsweredInTheStyleOfTheSurface(t *testing.T) {
	g := startGateway(t)
	g.hook = func(context.Context) error { panic("boom") }
	if a := g.post(calendarsPath, ""); a.status != http.StatusInternalServerError ||
		a.v1().reason() != "INTERNAL" || strings.Contains(a.body, "boom") {
		t.Errorf("v1: %d %s", a.status, a.body)
	}
	if b := g.send("GET", numbersPath, ""); b.status != http.StatusInternalServerError ||
		b.problem().slug() != "internal" || strings.Contains(b.body, "boom") {
		t.Errorf("beta: %d %s", b.status, b.body)
	}
	if log := g.log.String(); strings.Contains(log, "boom") ||
		!strings.Contains(log, "a value of type string") || !strings.Contains(log, "serve_test.go") {
		t.Errorf("the log has no stack, or what the panic held: %s", log)
	}
	g.hook = nil
	if a := g.post(calendarsPath, ""); a.status != http.StatusOK {
		t.Errorf("the place of a panic is not given back: %d", a.status)
	}
}

func TestReadsAreRefusedBeforeWrites(t *testing.T) {
	g := startGateway(t, func(o *Options) { o.MaxInFlight = 10 }) // one tenant may have half
	entered, release := make(chan struct{}), make(chan struct{})
	g.hook = func(context.Context) error {
		entered <- struct{}{}
		<-release
		return nil
	}
	done := make(chan int)
	occupy := func(path, body string) {
		go func() {
			w := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			req.Header.Set("X-Api-Key", testKey)
			g.handler.ServeHTTP(w, req)
			done <- w.Code
		}()
		<-entered
	}
	for range 4 {
		occupy(calendarsPath, "")
	}
	if a := g.post(calendarsPath, ""); a.status != http.StatusServiceUnavailable ||
		a.v1().reason() != "OVERLOADED" || a.header.Get("Retry-After") != "1" {
		t.Errorf("a fifth read: %d %s", a.status, a.body)
	}
	occupy(bookPath, with(nil))
	if a := g.post(bookPath, with(nil)); a.status != http.StatusServiceUnavailable ||
		a.v1().reason() != "OVERLOADED" {
		t.Errorf("a sixth request: %d %s", a.status, a.body)
	}
	if a := g.send("GET", "/healthz", ""); a.status != http.StatusOK {
		t.Errorf("health is refused: %d", a.status)
	}
	close(release)
	for range 5 {
		if status := <-done; status != http.StatusOK {
			t.Errorf("one that was let in: %d", status)
		}
	}
	g.hook = nil
	if a := g.post(calendarsPath, ""); a.status != http.StatusOK {
		t.Errorf("after the rush: %d", a.status)
	}
}

func TestDeprecatedUseIsAnnounced(t *testing.T) {
	sunset := time.Date(2027, 11, 1, 0, 0, 0, 0, time.UTC)
	link := "<" + publicURL + `/docs#deprecations>; rel="deprecation"; type="text/html"`
	g := startGateway(t)
	a := g.post(bookPath, with(fields{"conferencing_type": "nylas"}))
	if a.header.Get("Deprecation") != "@1793491200" || a.header.Get("Link") != link ||
		a.header.Get("Sunset") != "" {
		t.Errorf("headers %v", a.header)
	}
	dated := startGateway(t, func(o *Options) { o.LegacySunset = sunset })
	b := dated.post(bookPath, with(fields{"conferencing_type": "nylas", "title": nil}))
	if b.status != http.StatusBadRequest || b.header.Get("Deprecation") != "@1793491200" ||
		b.header.Get("Sunset") != "Mon, 01 Nov 2027 00:00:00 GMT" {
		t.Errorf("%d, headers %v", b.status, b.header)
	}
}

func TestTheLogTellsOfEveryRequest(t *testing.T) {
	g := startGateway(t)
	g.err = &fault.Error{
		Code: fault.Unavailable, Reason: fault.ReasonProviderUnavailable, Detail: "d",
		Upstream: "HTTP 502 from calendars",
	}
	g.post(calendarsPath, "", "X-Request-Id", "call-7", "traceparent",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	g.send("GET", "/nowhere", "")
	lines := strings.Split(strings.TrimSpace(g.log.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), g.log)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"level": "WARN", "msg": "request answered", "request_id": "call-7", "tenant": "acme", "key": "key_1",
		"connection": "con_1", "provider": "sandbox", "operation": "listCalendars", "method": "POST",
		"status": float64(503), "reason": "PROVIDER_UNAVAILABLE", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if text, _ := line["error"].(string); !strings.Contains(text, "HTTP 502") || line["took_ms"] == nil {
		t.Errorf("line %v", line)
	}
	if !strings.Contains(lines[1], `"path":"/nowhere"`) || !strings.Contains(lines[1], `"status":404`) {
		t.Errorf("line %s", lines[1])
	}
}

// An operator who looks for why a tenant's calls fail finds the key that its agent was left with. The caller learns no
// more than of a key that never was.
func TestTheLogTellsWhoseFormerKeyIsSent(t *testing.T) {
	for path, operation := range map[string]string{calendarsPath: "listCalendars", "/speaks": "speaks"} {
		answer := func(err error) (string, string) {
			g := startGateway(t, func(o *Options) {
				o.Keys = fakeKeys{err: err}
				o.Protocols = []Protocol{{Path: "/speaks", Operation: "speaks"}}
			})
			got := g.post(path, "", "X-Request-Id", "call-7")
			return fmt.Sprintln(got.status, got.header["Www-Authenticate"], got.body), g.log.String()
		}
		unknown, _ := answer(apikey.ErrKey)
		former, log := answer(&apikey.FormerKey{ID: "key_7", Tenant: "acme", Err: apikey.ErrKey})
		if former != unknown {
			t.Errorf("%s tells more of a former key: %s", path, former)
		}
		if want := `"tenant":"acme","key":"key_7","operation":"` + operation + `"`; !strings.Contains(log, want) {
			t.Errorf("%s: the log has no %s: %s", path, want, log)
		}
	}
}

func TestTheLogTellsWhyAKeyIsRefused(t *testing.T) {
	g := startGateway(t)
	g.err = fault.New(fault.Unauthenticated, fault.ReasonInvalidAPIKey, "The API key is not valid.")
	g.post(calendarsPath, "")
	if log := g.log.String(); !strings.Contains(log, "The API key is not valid.") {
		t.Errorf("the reason, which ends with the word key, hides the sentence: %s", log)
	}
}

func TestUseCasesLogWithTheIdentityOfTheRequest(t *testing.T) {
	g := startGateway(t)
	g.hook = func(ctx context.Context) error {
		keys := []string{}
		for _, a := range telemetry.Attrs(ctx) {
			keys = append(keys, a.Key)
		}
		slices.Sort(keys)
		return fault.New(fault.NotFound, fault.ReasonEventNotFound, strings.Join(keys, " "))
	}
	if got, want := g.post(calendarsPath, "").v1().Message,
		"connection key operation provider request_id tenant"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRequestsAreMeasured(t *testing.T) {
	g := startGateway(t)
	g.post(calendarsPath, "")
	g.post(bookPath, "{}")
	g.send("GET", numbersPath+"/x", "")
	g.send("GET", "/v1/nowhere", "")
	g.send("GET", "/healthz", "")
	g.send("GET", "/docs", "")
	want := []string{
		"v1|listCalendars|OK|", "v1|bookMeeting|Bad Request|INVALID_REQUEST",
		"beta|Beta_getPhoneNumber|Unprocessable Entity|INVALID_REQUEST", "v1|none|Not Found|PATH_NOT_FOUND",
	}
	if !slices.Equal(g.metrics.seen, want) || g.metrics.running != 0 {
		t.Errorf("seen %q, running %d", g.metrics.seen, g.metrics.running)
	}
}

func TestAnswersAreNotStoredSniffedOrFramed(t *testing.T) {
	g := startGateway(t)
	for _, a := range []answer{
		g.post(calendarsPath, ""), g.send("GET", "/nowhere", ""), g.send("GET", numbersPath, "", "X-Api-Key", ""),
	} {
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" ||
			a.header.Get("Content-Security-Policy") != "default-src 'none'; frame-ancestors 'none'" ||
			a.header.Get("Server") != "" {
			t.Errorf("headers %v", a.header)
		}
	}
}

func TestTheKeyIsInNoAnswerAndNoLog(t *testing.T) {
	g := startGateway(t)
	answers := []answer{
		g.post(bookPath, with(fields{"title": 1})),
		g.post(bookPath, "garbage "+testKey[:4]),
		g.send("GET", numbersPath, "", "X-Api-Key", testKey+"x"),
		g.send("GET", numbersPath, "", "Authorization", "Bearer "+readerKey),
		g.send("POST", createPath, "{}", "X-Api-Key", readerKey),
	}
	g.hook = func(context.Context) error { panic("boom") }
	answers = append(answers, g.post(calendarsPath, ""))
	g.hook = nil
	g.err = fmt.Errorf("a cause that quotes its request: X-Api-Key: %s", testKey)
	answers = append(answers, g.post(calendarsPath, ""))
	for _, secret := range []string{testKey, readerKey} {
		for _, a := range answers {
			if strings.Contains(a.body, secret) || strings.Contains(fmt.Sprint(a.header), secret) {
				t.Errorf("an answer: %s %v", a.body, a.header)
			}
		}
		if strings.Contains(g.log.String(), secret) {
			t.Errorf("the log: %s", g.log)
		}
	}
}

func TestHealth(t *testing.T) {
	g := startGateway(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := g.send("GET", path, "", "X-Api-Key", ""); a.status != http.StatusOK || a.body != `{"status":"ok"}` {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	down := startGateway(t, func(o *Options) {
		o.Ready = func(context.Context) error {
			return fmt.Errorf("password authentication failed for user frontdesk")
		}
	})
	if a := down.send("GET", "/readyz", ""); a.status != http.StatusServiceUnavailable ||
		a.body != `{"status":"unavailable"}` {
		t.Errorf("readyz: %d %s", a.status, a.body)
	}
	if a := down.send("GET", "/healthz", ""); a.status != http.StatusOK {
		t.Errorf("healthz: %d", a.status)
	}
}

func TestNewRefusesToBeIncomplete(t *testing.T) {
	fake := &fakeServices{}
	whole := Options{
		PublicURL: publicURL, Keys: fakeKeys{},
		Services: Services{
			Calendar: fakeCalendar{fake}, Tickets: fakeTickets{fake}, Numbers: fakeNumbers{fake}, Admin: &admin.Service{},
		},
	}
	for rule, spoil := range map[string]func(*Options){
		"no keys": func(o *Options) { o.Keys = nil }, "no services": func(o *Options) { o.Services.Numbers = nil },
		"no address":         func(o *Options) { o.PublicURL = "" },
		"a relative address": func(o *Options) { o.PublicURL = "/x" },
	} {
		o := whole
		if spoil(&o); func() error { _, err := New(o); return err }() == nil {
			t.Errorf("%s: no error", rule)
		}
	}
}
