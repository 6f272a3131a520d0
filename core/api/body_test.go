package api

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestABodyThatIsNoJSONIs400OnBothSurfaces(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct{ rule, body string }{
		{"cut off", `{"title":`},
		{"not JSON at all", `title=x`},
		{"text after the end", `{} {}`},
		{"a comma too many", `{"a":1,}`},
		{"a comment", "{} // x"},
		{"single quotes", `{'a':1}`},
		{"NaN", `{"name":NaN}`},
		{"a leading zero", `{"inbound_cloud_employee_id":007}`},
		{"a raw newline in a string", "{\"name\":\"a\nb\"}"},
		{"bytes that are no UTF-8", "{\"name\":\"\xff\"}"},
		{"a byte order mark", "\ufeff{}"},
		{"UTF-16", "\xfe\xff\x00{\x00}"},
		{"a lone high surrogate", `{"name":"\ud83d"}`},
		{"a lone low surrogate", `{"name":"\ude00 x"}`},
		{"a high surrogate before another escape", `{"name":"\ud83d\u0041"}`},
		{"a high surrogate before another one", `{"name":"\ud83d\udbff"}`},
		{"a high surrogate before an escape after the low ones", `{"name":"\ud83d\ue000"}`},
		{"a name twice", `{"name":"a","name":"b"}`},
		{"a name twice by an escape", `{"name":"a","n\u0061me":"b"}`},
		{"a name twice further in", `{"x":[{"a":1,"a":2}]}`},
		{"nesting too deep", strings.Repeat("[", 33) + strings.Repeat("]", 33)},
		{"nesting far too deep", `{"a":` + strings.Repeat("[", 100_000)},
		{"blanks and garbage", "   x"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := g.post(bookPath, c.body)
			if e := a.v1(); a.status != http.StatusBadRequest || e.Code != 3 || e.reason() != "INVALID_REQUEST" ||
				e.violations()["body"] == "" {
				t.Errorf("v1: %d %s", a.status, a.body)
			}
			b := g.patch(c.body)
			if p := b.problem(); b.status != http.StatusBadRequest || p.slug() != "malformed-json" ||
				p.locations()["body"] == "" {
				t.Errorf("beta: %d %s", b.status, b.body)
			}
		})
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached a use case", g.calls)
	}
}

func TestAWellFormedBodyIsTakenWhateverItsSpelling(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct{ rule, body string }{
		{"blanks around", " \r\n\t{\"name\" : \"Night line\"} \n"},
		{"an escaped name", `{"n\u0061me":"x"}`},
		{"a surrogate pair", `{"name":"\ud83d\ude00"}`},
		{"the first and the last surrogate pair", `{"name":"\ud800\udc00 \udbff\udfff"}`},
		{"an escaped backslash before u", `{"name":"\\ud83d"}`},
		{"characters beyond ASCII", `{"name":"Empfang Zürich ☎"}`},
	} {
		if a := g.patch(c.body); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", c.rule, a.status, a.body)
		}
	}
}

func TestABodyThatIsNoObjectIsAFaultOfTheInput(t *testing.T) {
	g := startGateway(t)
	for body, kind := range map[string]string{
		`[]`: "an array", `"x"`: "a string", `1`: "a number", `true`: "a boolean", `null`: "null",
	} {
		want := "must be an object, not " + kind + "."
		for _, op := range operations(Services{}) {
			if !op.takesBody() {
				continue
			}
			status := http.StatusUnprocessableEntity
			if op.surface().likeV1() {
				status = http.StatusBadRequest
			}
			a := g.send(op.Method, strings.ReplaceAll(op.Path, "{id}", "4711"), body)
			if got := a.faults(); a.status != status || len(got) != 1 || got["body"] != want {
				t.Errorf("%s %s: %d %v", op.ID, body, a.status, got)
			}
		}
	}
}

func TestAnEmptyBodyCountsAsAnEmptyObjectOnV1Only(t *testing.T) {
	g := startGateway(t)
	for _, body := range []string{"", "  \n"} {
		for _, path := range []string{calendarsPath, verifyPath, eventsPath} {
			if a := g.post(path, body); a.status != http.StatusOK {
				t.Errorf("%s %q: %d %s", path, body, a.status, a.body)
			}
		}
		if a := g.patch(body); a.status != http.StatusBadRequest || a.problem().slug() != "malformed-json" {
			t.Errorf("beta %q: %d %s", body, a.status, a.body)
		}
	}
	if a := g.post(calendarsPath, "", "Content-Type",
		"application/x-www-form-urlencoded"); a.status != http.StatusOK {
		t.Errorf("a client that announces a form and posts nothing: %d", a.status)
	}
}

func TestABodyMayHave128KiB(t *testing.T) {
	g := startGateway(t)
	exact := `{"name":"x"` + strings.Repeat(" ", 128<<10-len(`{"name":"x"}`)) + `}`
	if a := g.patch(exact); a.status != http.StatusOK {
		t.Errorf("128 KiB: %d", a.status)
	}
	for rule, send := range map[string]func(path, method string) answer{
		"with a length": func(path, method string) answer { return g.send(method, path, exact+" ") },
		"in chunks": func(path, method string) answer {
			req, err := http.NewRequest(method, g.url+path,
				struct{ *bytes.Reader }{bytes.NewReader([]byte(exact + " "))})
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Api-Key", testKey)
			return g.do(req)
		},
		"by far": func(path, method string) answer { return g.send(method, path, strings.Repeat(" ", 3<<20)) },
	} {
		if a := send(bookPath, "POST"); a.status != http.StatusRequestEntityTooLarge ||
			a.v1().reason() != "BODY_TOO_LARGE" {
			t.Errorf("v1, %s: %d %s", rule, a.status, a.body)
		}
		if a := send(numberPath, "PATCH"); a.status != http.StatusRequestEntityTooLarge ||
			a.problem().slug() != "body-too-large" {
			t.Errorf("beta, %s: %d %s", rule, a.status, a.body)
		}
	}
}

func TestTheMediaTypeIsJSONInUTF8(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		contentType, coding string
		ok                  bool
	}{
		{"", "", true},
		{"application/json", "", true},
		{"application/json; charset=utf-8", "", true},
		{`Application/JSON;charset="UTF-8"`, "identity", true},
		{"application/json; charset=utf8", "", true},
		{"application/json; charset=iso-8859-1", "", false},
		{"application/merge-patch+json", "", false},
		{"text/plain", "", false},
		{"application/x-www-form-urlencoded", "", false},
		{"application/json, text/plain", "", false},
		{"nonsense", "", false},
		{"application/json", "gzip", false},
	} {
		name := fmt.Sprintf("%q %q", c.contentType, c.coding)
		a := g.post(eventsPath, "{}", "Content-Type", c.contentType, "Content-Encoding", c.coding)
		b := g.send(http.MethodPatch, numberPath, "{}", "Content-Type", c.contentType, "Content-Encoding", c.coding)
		if c.ok {
			if a.status != http.StatusOK || b.status != http.StatusOK {
				t.Errorf("%s: %d, %d", name, a.status, b.status)
			}
			continue
		}
		if a.status != http.StatusUnsupportedMediaType || a.v1().reason() != "UNSUPPORTED_MEDIA_TYPE" ||
			a.v1().Code != 3 {
			t.Errorf("v1 %s: %d %s", name, a.status, a.body)
		}
		if b.status != http.StatusUnsupportedMediaType || b.problem().slug() != "unsupported-media-type" {
			t.Errorf("beta %s: %d %s", name, b.status, b.body)
		}
	}
}

func TestAcceptIsNotLookedAt(t *testing.T) {
	g := startGateway(t)
	if a := g.send(http.MethodGet, numbersPath, "", "Accept", "text/html"); a.status != http.StatusOK {
		t.Errorf("status %d", a.status)
	}
}

func TestTheLimitsOfABodyAreDocumented(t *testing.T) {
	limits, err := os.ReadFile("../../deploy/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("| body of a request | %d KiB, within %.0f seconds | |", maxBodyBytes>>10, bodyWithin.Seconds()),
		fmt.Sprintf("| names, values and levels in a body | %d, %s and %d | |", maxBodyNames,
			thousands(maxBodyValues), maxBodyDepth),
	} {
		if !strings.Contains(string(limits), row) {
			t.Errorf("deploy/limits.md does not say %s", row)
		}
	}
}
