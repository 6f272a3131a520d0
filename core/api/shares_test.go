package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fair"
	"frontdesk/core/fault"
)

// There is always something left for the next tenant. A tenant alone may hold half.
func TestATenantHasItsShareAndLeavesSome(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	queue := 0.0
	gated := newGate(1000, func() float64 { return queue })
	gated.fewest = 100
	bodies := fair.NewShares(1000)
	for name, take := range map[string]func(tenant string) bool{
		"places": func(tenant string) bool { return gated.enter(now, tenant, true) },
		"bodies": func(tenant string) bool { return bodies.Take(tenant, 1) },
	} {
		for _, step := range []struct {
			tenant string
			has    int
		}{{"a", 500}, {"b", 250}, {"c", 125}, {"d", 63}} {
			had := 0
			for take(step.tenant) {
				had++
			}
			if had != step.has {
				t.Errorf("%s: tenant %s holds %d, want %d", name, step.tenant, had, step.has)
			}
		}
		if !take("e") {
			t.Errorf("%s: none is left for a fifth tenant", name)
		}
	}
	bodies.Give("a", 1)
	if !bodies.Take("e", 1) || bodies.Take("a", 1) {
		t.Error("what a tenant gives back is not there for the one that has least")
	}

	// The limit falls below the number inside. Tenants with more than an equal part are refused, others not.
	queue = 2
	for range 100 {
		now = now.Add(lookEvery)
		gated.enter(now, "a", true)
	}
	if gated.limit != 100 || gated.inside < 900 {
		t.Fatalf("the limit is %d with %d inside", gated.limit, gated.inside)
	}
	for _, writes := range []bool{true, false} {
		if !gated.enter(now, fmt.Sprint("new ", writes), writes) {
			t.Errorf("writes %v: a neighbour is refused while others hold more than the limit", writes)
		}
		if gated.enter(now, "a", writes) || gated.enter(now, "b", writes) {
			t.Errorf("writes %v: who holds more than its part gets more", writes)
		}
	}
}

// A tenant whose writes are refused gives up its own reads. The reads of other tenants are not affected.
func TestRefusedWritesTakeNoReadsOfANeighbour(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := newGate(100, func() float64 { return 0 })
	for range 50 {
		now = now.Add(lookEvery)
		for g.enter(now, "a", true) {
		}
	}
	reads := 0
	for g.enter(now, "b", false) {
		reads++
	}
	if reads != 22 { // four fifths of the 28 that are free
		t.Errorf("%d reads of a neighbour are let in", reads)
	}
}

// Connections whose bodies do not arrive take no places in the gate.
func TestARequestEntersTheGateWithItsBody(t *testing.T) {
	g := startGateway(t, func(o *Options) { o.MaxInFlight = 2 })
	for _, begin := range []string{
		"POST " + bookPath + " HTTP/1.1\r\nContent-Length: 100\r\n",
		"POST " + calendarsPath + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
		"PATCH " + numberPath + " HTTP/1.1\r\nContent-Length: 100\r\n",
		"GET " + numbersPath + " HTTP/1.1\r\nContent-Length: 100\r\n",
		"DELETE " + numberPath + " HTTP/1.1\r\nContent-Length: 100\r\n",
	} {
		for range 4 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%sHost: x\r\nX-Api-Key: %s\r\n\r\n", begin, testKey)
		}
		if a := g.post(bookPath, with(nil)); a.status != http.StatusOK {
			t.Errorf("beside %q: %d %s", begin, a.status, a.body)
		}
	}
}

// Whoever names a voice agent of a tenant, and has not proved to be its platform, takes nothing of what the tenant's
// own requests may have.
func TestAClaimTakesNoShareOfTheTenant(t *testing.T) {
	inside, end := make(chan struct{}), make(chan struct{})
	g := startGateway(t, func(o *Options) {
		speak := func(path string, claimed bool, serve func(http.ResponseWriter)) Protocol {
			return Protocol{
				Path: path, Operation: "x",
				Identify: func(r *http.Request) (apikey.Caller, bool, error) {
					caller, err := fakeKeys{}.Authenticate(r.Context(), testKey)
					return caller, claimed, err
				},
				Serve: func(w http.ResponseWriter, _ *http.Request, _ apikey.Caller) error {
					serve(w)
					return nil
				},
			}
		}
		o.Protocols = []Protocol{
			speak("/alpha/agents/x", true, func(http.ResponseWriter) {
				inside <- struct{}{} // and waits for its body
				<-end
			}),
			speak("/alpha/agents/proven", false, func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }),
		}
	})
	var all sync.WaitGroup
	for range maxBodiesAtOnce / 2 {
		all.Go(func() {
			g.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/alpha/agents/x", nil))
		})
		<-inside
	}
	if a := g.post(bookPath, with(nil)); a.status != http.StatusOK {
		t.Errorf("beside claims: %d %s", a.status, a.body)
	}
	if a := g.post("/alpha/agents/proven", "{}"); a.status != http.StatusNoContent {
		t.Errorf("from a platform that has proved itself, beside claims: %d %s", a.status, a.body)
	}
	close(end)
	all.Wait()
}

// The bodies of a tenant use no more memory for being large, such as those of voice platforms.
func TestALargeBodyTakesTheRoomOfSeveral(t *testing.T) {
	const most = 1 << 20
	inside, end := make(chan struct{}), make(chan struct{})
	g := startGateway(t, func(o *Options) {
		o.Protocols = []Protocol{{Path: "/alpha/agents/x", Operation: "x",
			Serve: func(w http.ResponseWriter, r *http.Request, _ apikey.Caller) error {
				if _, err := ReadBody(w, r, most); err != nil {
					return err
				}
				inside <- struct{}{}
				<-end
				return nil
			}}}
	})
	var all sync.WaitGroup
	send := func(size int, length int64) (status int) {
		r := httptest.NewRequest(http.MethodPost, "/alpha/agents/x", strings.NewReader(strings.Repeat(" ", size)))
		r.Header.Set("X-Api-Key", testKey)
		r.ContentLength = length
		w, answered := httptest.NewRecorder(), make(chan struct{})
		all.Go(func() { g.handler.ServeHTTP(w, r); close(answered) })
		select {
		case <-inside:
			return http.StatusOK
		case <-answered:
			return w.Code
		}
	}
	for i := range 31 {
		if status := send(most, most); status != http.StatusOK {
			t.Errorf("the body %d: %d", i, status)
		}
	}
	if status := send(10, -1); status != http.StatusOK { // and gives back what it does not need
		t.Errorf("a small one in chunks: %d", status)
	}
	if status := send(most, most); status != http.StatusServiceUnavailable {
		t.Errorf("one that would be more than 32 MiB of a tenant: %d", status)
	}
	for i := range 7 {
		if status := send(10, 10); status != http.StatusOK {
			t.Errorf("the small one %d: %d", i, status)
		}
	}
	close(end)
	all.Wait()
	if status := send(most, -1); status != http.StatusOK {
		t.Errorf("after all: %d", status)
	}
	all.Wait()
}

// What a protocol does beside operations takes processors from others, too.
func TestARequestOfAProtocolIsLetInAsARead(t *testing.T) {
	g := startGateway(t, func(o *Options) {
		o.MaxInFlight = 2 // of which one tenant gets one
		o.Protocols = []Protocol{{Path: "/mcp", Operation: "x",
			Serve: func(w http.ResponseWriter, r *http.Request, _ apikey.Caller) error {
				leave, err := Admit(r.Context())
				if err == nil {
					defer leave()
					_, err = Admit(r.Context())
				}
				return err
			}}}
	})
	for range 2 { // the places are given back
		a := g.post("/mcp", "{}")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, fault.ReasonOverloaded) {
			t.Errorf("two at once: %d %s", a.status, a.body)
		}
		if a := g.post(calendarsPath, "{}"); a.status != http.StatusOK {
			t.Errorf("an operation after it: %d %s", a.status, a.body)
		}
	}
}

// lateBody is a body that does not arrive within the read deadline.
type lateBody struct{ *httptest.ResponseRecorder }

func (lateBody) Read([]byte) (int, error)          { return 0, os.ErrDeadlineExceeded }
func (lateBody) Close() error                      { return nil }
func (lateBody) SetReadDeadline(_ time.Time) error { return nil }

func TestABodyHasTwoSeconds(t *testing.T) {
	g := startGateway(t)
	for path, method := range map[string]string{bookPath: "POST", numberPath: "PATCH", numbersPath: "GET"} {
		late := lateBody{httptest.NewRecorder()}
		req := httptest.NewRequest(method, path, late)
		req.Header.Set("X-Api-Key", testKey)
		g.handler.ServeHTTP(late, req)
		if late.Code != http.StatusRequestTimeout ||
			!strings.Contains(late.Body.String(), "The body did not arrive within 2s.") ||
			late.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: %d %v %s", path, late.Code, late.Header(), late.Body)
		}
	}
	if g.calls != 0 {
		t.Errorf("%d reached a use case", g.calls)
	}
}

// A body with many names and values costs about as little as one that is refused at its first byte.
func TestABodyIsBoundedBeforeAnythingIsCollected(t *testing.T) {
	names := func(n int) string { return `{"n0":1` + nth(n-1, `,"f%d":1`) + "}" }
	for rule, c := range map[string]struct{ body, want string }{
		"9,000 names": {names(9_000), "it has more than 256 names"},
		"257 names":   {names(257), "it has more than 256 names"},
		"names in objects within": {`{"a":[` + strings.Repeat(`{"a":1},`, 256) + `{"a":1}]}`,
			"it has more than 256 names"},
		"1,001 values":  {`{"a":[1` + strings.Repeat(",1", 999) + "]}", "it has more than 1,000 values"},
		"60,000 values": {`{"a":[` + strings.Repeat(",", 60_000), "it has more than 1,000 values"},
		"empty arrays": {`{"a":[` + strings.Repeat("[],", 60_000/2) + "[]]}",
			"it has more than 1,000 values"},
		"33 levels": {strings.Repeat("[", 33) + strings.Repeat("]", 33),
			"it nests deeper than 32 levels"},
		"100,000 levels": {strings.Repeat(`{"`, 50_000), "it nests deeper than 32 levels"},
	} {
		var err error
		allocations := testing.AllocsPerRun(10, func() { err = checkForm([]byte(c.body)) })
		if f := fault.From(err); err == nil || !strings.Contains(f.Detail, c.want) {
			t.Errorf("%s: %v, want %q", rule, err, c.want)
		}
		if allocations > 20 {
			t.Errorf("%s: %v allocations", rule, allocations)
		}
	}
	for rule, body := range map[string]string{
		"256 names": names(256), "1,000 values": `{"a":[1` + strings.Repeat(",1", 998) + "]}",
		"32 levels":                     strings.Repeat("[", 32) + strings.Repeat("]", 32),
		"signs in texts are no values":  `{"a":"` + strings.Repeat(`:,[{\"`, 10_000) + `"}`,
		"a text that ends in a reverse": `{"a":"\\","b":["\\\"",{}]}`,
	} {
		if err := checkForm([]byte(body)); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func nth(n int, each string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, each, i)
	}
	return all.String()
}

// Only a few faults are reported, and only some of them have hints.
func TestAFloodOfUnknownNamesIsComparedInPart(t *testing.T) {
	g := startGateway(t)
	faults := g.post(bookPath, "{"+nth(62, `"start_tim%d":1,`)+`"x":1}`).faults()
	hints := 0
	for _, message := range faults {
		if strings.Contains(message, "did you mean") {
			hints++
		}
	}
	if len(faults) != maxFaults || hints != maxHints {
		t.Errorf("%d faults are told, %d of them with a nearest name", len(faults), hints)
	}
}

// FuzzMembers checks that membersIn finds the same members as encoding/json.
func FuzzMembers(f *testing.F) {
	for _, body := range []string{
		`{}`, `{ }`, `{"a":1}`, ` {"a" : "x" , "b":[1,{"c":"d"},"]"],"c":{"a":{}}} `, `{"\u0061":"\"","b":"\\"}`,
		`{"a":"b:c","":""}`,
		`{"a":[[],[{}]],"b":{"x":[",",":"]}}`, "{\"a\"\n:\t1\r}", `{"a":1,"a":2}`, `{"x":[{"a":1,"a":2}]}`,
		`{"a":-1.5e3,"b":true,"c":null}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		object := []byte(strings.TrimSpace(body))
		if len(object) == 0 || object[0] != '{' || checkForm(object) != nil {
			return
		}
		members, err := membersIn(object)
		if err != nil { // a duplicate name
			return
		}
		got, want := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		for _, m := range members {
			got[m.name] = m.value
		}
		if err := json.Unmarshal(object, &want); err != nil {
			t.Fatal(err)
		}
		if len(members) != len(want) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q has %v, want %v", body, got, want)
		}
	})
}

// A write gives up its place while it waits for an equal one. The number of waiting writes is bounded for
// each tenant.
func TestWhoWaitsForAnEqualCallHoldsNoPlace(t *testing.T) {
	a := &api{now: time.Now, gate: newGate(10, func() float64 { return 0 }), waiting: fair.NewShares(8)}
	other := errors.New("what the other call came to")
	var wait func(deep int) error
	wait = func(deep int) error {
		if !a.gate.enter(a.now(), "a", true) {
			t.Fatalf("no place for a call beside %d that wait", deep)
		}
		defer a.gate.leave("a", true)
		return a.aside("a")(func() error {
			if a.gate.inside != 0 {
				t.Errorf("%d places are held while %d wait", a.gate.inside, deep)
			}
			if deep == 4 {
				return other
			}
			return wait(deep + 1)
		})
	}
	if err := wait(1); !errors.Is(err, other) {
		t.Errorf("four that wait: %v", err)
	}
	for range 4 {
		a.waiting.Take("a", 1)
	}
	for tenant, want := range map[string]string{"a": fault.ReasonOverloaded, "b": ""} {
		a.gate.enter(a.now(), tenant, true)
		waited := false
		err := a.aside(tenant)(func() error { waited = true; return nil })
		if f := fault.From(err); f != nil && f.Reason != want || waited != (want == "") ||
			(f == nil) != (want == "") {
			t.Errorf("a fifth of tenant %s: %v", tenant, err)
		}
		a.gate.leave(tenant, true)
	}
	if a.gate.inside != 0 {
		t.Errorf("%d places are held at the end", a.gate.inside)
	}
}

// A write gives up its place only for the wait, and takes one again before the use case continues.
func TestWritesAreHandedAWayToWait(t *testing.T) {
	g := startGateway(t)
	g.hook = func(context.Context) error { return g.write.Aside(func() error { return nil }) }
	if a := g.post(bookPath, with(nil)); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
}
