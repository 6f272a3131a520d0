package api

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPathsAreMatchedExactlyAndNeverRedirected(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct{ rule, method, path, style string }{
		{"an unknown v1 path", "POST", "/v1/calendar/book", "status"},
		{"the prefix alone", "GET", "/v1", "status"},
		{"the prefix and a slash", "GET", "/v1/", "status"},
		{"a trailing slash", "POST", bookPath + "/", "status"},
		{"other case", "POST", "/v1/Calendar/Book-Meeting", "status"},
		{"a doubled slash", "POST", "/v1//calendar/book-meeting", "status"},
		{"a dot segment", "POST", "/v1/calendar/../calendar/book-meeting", "status"},
		{"an encoded slash", "POST", "/v1/calendar%2Fbook-meeting", "status"},
		{"an encoded slash in an id", "GET", "/beta/phone-numbers/1%2f2", "problem"},
		{"bytes that are no text in an id", "GET", "/beta/phone-numbers/%ff", "problem"},
		{"a NUL in a name", "GET", "/alpha/admin/tenants/%00", "problem"},
		{"an unknown beta path", "GET", "/beta/phones", "problem"},
		{"a trailing slash on beta", "GET", "/beta/phone-numbers/", "problem"},
		{"an alpha path", "GET", "/alpha/anything", "status"},
		{"a path of the admin interface", "GET", "/alpha/admin/anything", "problem"},
		{"the root", "GET", "/", "problem"},
		{"a leading doubled slash", "POST", "//v1/calendar/book-meeting", "problem"},
		{"a path that only begins like a surface", "GET", "/v1beta/x", "problem"},
		{"an unknown problem page", "GET", "/problems/no-such", "problem"},
		{"a method nobody knows, on an unknown path", "BREW", "/coffee", "problem"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := g.send(c.method, c.path, "{}")
			if a.status != http.StatusNotFound || a.header.Get("Location") != "" {
				t.Fatalf("%s %s: %d, Location %q", c.method, c.path, a.status, a.header.Get("Location"))
			}
			if c.style == "status" {
				if e := a.v1(); e.Code != 5 || e.reason() != "PATH_NOT_FOUND" {
					t.Errorf("code %d, reason %q", e.Code, e.reason())
				}
				return
			}
			if p := a.problem(); p.slug() != "path-not-found" || p.Status != 404 {
				t.Errorf("problem %+v", p)
			}
		})
	}
	if g.calls != 0 {
		t.Errorf("%d of them reached a use case", g.calls)
	}
}

func TestAnUnreservedCharacterMayBeEncoded(t *testing.T) {
	g := startGateway(t)
	if a := g.post("/v1/calendar/list%2Dcalendars", ""); a.status != http.StatusOK {
		t.Errorf("status %d", a.status)
	}
}

func TestAWrongMethodIsToldTheRightOnes(t *testing.T) {
	g := startGateway(t)
	for _, c := range []struct {
		method, path string
		allow        []string
	}{
		{"GET", bookPath, []string{"POST"}},
		{"HEAD", bookPath, []string{"POST"}},
		{"PUT", numberPath, []string{"DELETE", "GET", "HEAD", "PATCH"}},
		{"DELETE", numbersPath, []string{"GET", "HEAD", "POST"}},
		{"POST", "/docs", []string{"GET", "HEAD"}},
		{strings.Repeat("X", 40), verifyPath, []string{"POST"}},
	} {
		a := g.send(c.method, c.path, "{}", "X-Api-Key", "")
		if a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: status %d", c.method, c.path, a.status)
			continue
		}
		if got := allowed(a); !slices.Equal(got, c.allow) {
			t.Errorf("%s %s: Allow %v, want %v", c.method, c.path, got, c.allow)
		}
		switch {
		case c.method == "HEAD":
		case strings.HasPrefix(c.path, "/v1/"):
			if e := a.v1(); e.Code != 12 || e.reason() != "METHOD_NOT_ALLOWED" || len(e.Message) > 80 {
				t.Errorf("%s %s: %+v", c.method, c.path, e)
			}
		default:
			if p := a.problem(); p.slug() != "method-not-allowed" {
				t.Errorf("%s %s: %+v", c.method, c.path, p)
			}
		}
	}
}

func TestOptionsTellsTheMethods(t *testing.T) {
	g := startGateway(t)
	a := g.send(http.MethodOptions, numbersPath, "", "X-Api-Key", "")
	if a.status != http.StatusNoContent ||
		!slices.Equal(allowed(a), []string{"GET", "HEAD", "OPTIONS", "POST"}) {
		t.Errorf("%d, Allow %v", a.status, allowed(a))
	}
	if a := g.send(http.MethodOptions, "/v1/nothing", ""); a.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", a.status)
	}
}

func TestHeadAnswersAsGetWithoutABody(t *testing.T) {
	g := startGateway(t)
	get, head := g.send(http.MethodGet, numberPath, ""), g.send(http.MethodHead, numberPath, "")
	if head.status != get.status || head.body != "" ||
		head.header.Get("Content-Length") != get.header.Get("Content-Length") {
		t.Errorf("HEAD %d %q %v, GET %d %v", head.status, head.body, head.header, get.status, get.header)
	}
}

func allowed(a answer) []string {
	methods := strings.Split(a.header.Get("Allow"), ", ")
	slices.Sort(methods)
	return methods
}

func TestWhatStandsBehindARequestInChunksIsNoRequest(t *testing.T) {
	g := startGateway(t)
	for rule, framing := range map[string]string{"chunks": "", "chunks and a length": "Content-Length: 5\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, "POST "+calendarsPath+" HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+testKey+"\r\n"+
			framing+"Transfer-Encoding: chunked\r\n\r\n"+
			"2\r\n{}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		answered, err := io.ReadAll(conn)
		if err != nil || strings.Count(string(answered), "HTTP/1.1 ") != 1 ||
			!strings.Contains(string(answered), "HTTP/1.1 200 OK") {
			t.Errorf("%s: %v %s", rule, err, answered)
		}
		conn.Close()
	}
}
