package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestNoBadInputIsA500 sends generated requests to all operations. FRONTDESK_FUZZ_REQUESTS sets their number,
// and FRONTDESK_FUZZ_SEED the seed.
func TestNoBadInputIsA500(t *testing.T) {
	count, seed := envNumber(t, "FRONTDESK_FUZZ_REQUESTS", 5000), envNumber(t, "FRONTDESK_FUZZ_SEED", 1)
	g := startGateway(t)
	gen := generator{rand.New(rand.NewPCG(seed, 0)), operations(Services{})}
	statuses := map[int]int{}
	for n := range count {
		req := gen.request()
		sent := fmt.Sprintf("request %d of seed %d: %s %s %v", n, seed, req.Method, req.URL, req.Header)
		w := httptest.NewRecorder()
		g.handler.ServeHTTP(w, req)
		statuses[w.Code]++
		a := answer{t: t, status: w.Code, header: w.Header(), body: w.Body.String()}
		if w.Code >= http.StatusInternalServerError {
			t.Fatalf("%s: %d %s", sent, w.Code, a.body)
		}
		if req.Method != http.MethodHead {
			conforms(t, g.router, req, a)
		}
		if t.Failed() {
			t.Fatal(sent)
		}
	}
	t.Logf("statuses %v", statuses)
	for _, status := range []int{200, 201, 204, 400, 401, 403, 404, 405, 415, 422} {
		if count >= 5000 && statuses[status] == 0 {
			t.Errorf("the requests never led to %d, so they prove less than they should", status)
		}
	}
}

func envNumber(t *testing.T, name string, usual uint64) uint64 {
	t.Helper()
	given := os.Getenv(name)
	if given == "" {
		return usual
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// generator generates requests. Most are nearly valid, since those get furthest.
type generator struct {
	*rand.Rand
	ops []operation
}

func (g generator) request() *http.Request {
	op := g.ops[g.IntN(len(g.ops))]
	method, path := op.Method, strings.ReplaceAll(op.Path, "{id}", g.id())
	if g.IntN(40) == 0 {
		method = pick(g, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
	}
	if g.IntN(40) == 0 {
		path = pick(g, "/", path+"/", "/"+path, strings.ToUpper(path), path+"x", path+"%2f", path+"/..", "/v1",
			"/problems/internal", "/docs", "/healthz")
	}
	u, err := url.Parse("http://gateway" + path)
	if err != nil {
		u = &url.URL{Scheme: "http", Host: "gateway", Path: path}
	}
	req := httptest.NewRequest(method, "http://gateway/", strings.NewReader(g.body(op)))
	req.URL = u
	req.Header.Set("X-Api-Key", pick(g, testKey, testKey, testKey, testKey, testKey, readerKey, "", "fd_live_x"))
	for name, values := range map[string][]string{
		"Content-Type": {"application/json", "application/json; charset=utf-8", "text/plain", "",
			"application/json; charset=utf-16", ";"},
		"Content-Encoding":     {"gzip", "identity"},
		"Authorization":        {"Bearer " + testKey, "Bearer", "Basic x", "\x00"},
		"Idempotency-Key":      {"k", "", strings.Repeat("k", 300), "a b", "\xff"},
		"X-Request-Id":         {"id", "\x7f", strings.Repeat("x", 500)},
		"X-Request-Timeout-Ms": {"5000", "0", "-1", "x", "99999999999999999999", ""},
		"Traceparent":          {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "x"},
		"Accept":               {"text/html", "*/*;q=0"},
	} {
		if g.IntN(20) == 0 {
			req.Header.Set(name, pick(g, values...))
		}
	}
	return req
}

func (g generator) id() string {
	return pick(g, "4711", "4711", "1", "0", "-1", "9223372036854775807", "9223372036854775808", "abc", "1.0",
		"1e3", "+1", "%20", "%00", "%ff", "..", "%2e", "é", strings.Repeat("9", 400))
}

// body returns an example of the operation with random changes.
func (g generator) body(op operation) string {
	if g.IntN(15) == 0 {
		return pick(g, "", " ", "{", "}", "[]", "null", "1", `"x"`, "{}{}", "\xff", `{"a":1,"a":1}`,
			strings.Repeat("[", 100), strings.Repeat(`{"a":`, 50), `{"\ud800":1}`)
	}
	members := map[string]any{}
	example, err := json.Marshal(op.Examples[g.IntN(len(op.Examples))].Request)
	if err == nil {
		_ = json.Unmarshal(example, &members) // null leaves it empty
	}
	if members == nil {
		members = map[string]any{}
	}
	names := append([]string{"x", "title", "", "id", "body", "path.id"}, op.request.names...)
	for range g.IntN(4) {
		members[pick(g, names...)] = g.value(3)
	}
	if g.IntN(10) == 0 {
		delete(members, pick(g, names...))
	}
	text, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	if g.IntN(20) == 0 {
		at := g.IntN(len(text))
		text[at] = byte(g.IntN(256))
	}
	return string(text)
}

func (g generator) value(depth int) any {
	scalars := []any{
		nil, true, 0, -1, 1.5, 1e300, int64(9223372036854775807), json.Number("1e3"),
		json.Number("9223372036854775808"), "", " ", "x", "\u0000", "\u202e", "\ufffd", "2026-12-01T10:00:00-05:00",
		"2026-12-01T10:00:00", "2026-12-01", "0000-00-00T00:00:00Z", "9999-12-31T23:59:60Z", "2026-02-30T10:00:00Z",
		"2026-03-08T02:30:00", "2026-11-01T01:30:00", "10:00", "America/New_York", "Local", "../../etc/passwd",
		"UTC+1", "a@example.com", "a@b@c", "<a@example.com>", "provider", "url", "nylas",
		"https://meet.example.com/x", "http://", "javascript:x", "%zz", "415", "999", "#1042",
		strings.Repeat("é", 600), strings.Repeat("x", 9000),
	}
	switch g.IntN(5) {
	case 0:
		if depth > 0 {
			list := []any{}
			for range g.IntN(5) {
				list = append(list, g.value(depth-1))
			}
			return list
		}
	case 1:
		if depth > 0 {
			return map[string]any{"k": g.value(depth - 1)}
		}
	}
	return scalars[g.IntN(len(scalars))]
}

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

// FuzzDecode compares the decoder with encoding/json: it never panics, and bodies that both accept have the
// same values.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, with(nil), with(fields{"attendee_emails": []string{"a@example.com"}}),
		`{"title":null,"attendee_emails":[]}`, `{"title":"\ud83d\ude00"}`,
		`{"title":"\ud83d"}`, `{"a":1,"a":2}`, `[[[[`, `{"title":"a","title":"b"}`, " \n{}\t",
		`{"title":"\\ud800"}`, `{"x":{"y":[1,2,{"z":null}]}}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	in := shapeOf[bookMeetingRequest]()
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &call{body: body, checks: newChecks(surfaceV1, nil)}
		var got, want bookMeetingRequest
		if err := decode(c, in, &got); err != nil {
			return
		}
		got.input(c.checks)
		if err := c.checks.err(); err != nil {
			return
		}
		if err := json.Unmarshal(body, &want); err != nil {
			return
		}
		if len(want.AttendeeEmails) == 0 {
			want.AttendeeEmails = nil
		}
		if len(want.SelectedCalendarIDs) == 0 {
			want.SelectedCalendarIDs = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, encoding/json says %+v", body, got, want)
		}
	})
}
