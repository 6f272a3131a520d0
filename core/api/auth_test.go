package api

import (
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
)

func TestAKeyIsNeededEverywhere(t *testing.T) {
	g := startGateway(t)
	const unknown = "fd_live_unknown"
	for _, c := range []struct {
		rule, apiKey, authorization string
		status                      int
		challenge                   string
	}{
		{"none", "", "", 401, `Bearer realm="frontdesk"`},
		{"an empty bearer", "", "Bearer ", 401, `Bearer realm="frontdesk"`},
		{"an unknown one", unknown, "", 401, `Bearer realm="frontdesk", error="invalid_token"`},
		{"an unknown bearer", "", "Bearer " + unknown, 401, `Bearer realm="frontdesk", error="invalid_token"`},
		{"two that differ", testKey, "Bearer " + readerKey, 401, `Bearer realm="frontdesk", error="invalid_token"`},
		{"another scheme", "", "Basic Zm9v", 401, `Bearer realm="frontdesk", error="invalid_token"`},
		{"a bearer of another kind beside a key", testKey, "Bearer eyJhbGciOi", 401,
			`Bearer realm="frontdesk", error="invalid_token"`},
		{"the header", testKey, "", 200, ""},
		{"the header, beside another scheme", testKey, "Basic Zm9v", 200, ""},
		{"a bearer", "", "Bearer " + testKey, 200, ""},
		{"the scheme without case", "", "bearer  " + testKey, 200, ""},
		{"the same one twice", testKey, "Bearer " + testKey, 200, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a := g.send("POST", calendarsPath, "{}", "X-Api-Key", c.apiKey, "Authorization", c.authorization)
			if a.status != c.status || a.header.Get("WWW-Authenticate") != c.challenge {
				t.Fatalf("v1: %d, %q, %s", a.status, a.header.Get("WWW-Authenticate"), a.body)
			}
			b := g.send("GET", numbersPath, "", "X-Api-Key", c.apiKey, "Authorization", c.authorization)
			if b.status != c.status {
				t.Fatalf("beta: %d %s", b.status, b.body)
			}
			if c.status == 401 && (a.v1().reason() != "INVALID_API_KEY" || a.v1().Code != 16 ||
				b.problem().slug() != "invalid-api-key") {
				t.Errorf("%s, %s", a.body, b.body)
			}
		})
	}
}

func TestAuthenticationComesBeforeTheBody(t *testing.T) {
	g := startGateway(t)
	for _, body := range []string{"garbage", strings.Repeat("x", 200_000)} {
		if a := g.post(bookPath, body, "X-Api-Key", "", "Content-Type",
			"text/plain"); a.status != http.StatusUnauthorized {
			t.Errorf("status %d", a.status)
		}
	}
}

func TestAScopeThatIsMissingIsNamed(t *testing.T) {
	g := startGateway(t)
	for _, op := range operations(Services{}) {
		path := strings.ReplaceAll(op.Path, "{id}", "4711")
		a := g.send(op.Method, path, "garbage", "X-Api-Key", readerKey)
		if op.Scope == "calendar:read" {
			if a.status == http.StatusForbidden {
				t.Errorf("%s: the scope is there", op.ID)
			}
			continue
		}
		if a.status != http.StatusForbidden || !strings.Contains(a.body, string(op.Scope)) ||
			!strings.Contains(a.header.Get("WWW-Authenticate"),
				`error="insufficient_scope", scope="`+string(op.Scope)+`"`) {
			t.Errorf("%s: %d %q %s", op.ID, a.status, a.header.Get("WWW-Authenticate"), a.body)
		}
	}
}

// This process calls as somebody without a key, and may do what the scopes say; a key beside it is not looked
// at.
func TestThisProcessCallsAsSomebody(t *testing.T) {
	g := startGateway(t)
	as := As(t.Context(), apikey.Caller{KeyID: "person:pat", Scopes: []apikey.Scope{apikey.ScopeCalendarRead}}, "person:pat")
	for path, want := range map[string]int{calendarsPath: http.StatusOK, bookPath: http.StatusForbidden} {
		r, err := http.NewRequestWithContext(as, http.MethodPost, path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Api-Key", "fd_live_unknown")
		a := NewRecorder()
		g.handler.ServeHTTP(a, r)
		if a.Status != want || a.Header().Get("X-Request-Id") != fixedID {
			t.Errorf("%s: %d %s", path, a.Status, a.Body.String())
		}
	}
	if g.calls != 1 || g.caller.KeyID != "person:pat" {
		t.Errorf("%d calls, the last by %q", g.calls, g.caller.KeyID)
	}
}

func TestAStoreThatIsDownIsNotABadKey(t *testing.T) {
	g := startGateway(t, func(o *Options) {
		o.Keys = fakeKeys{err: fault.New(fault.Unavailable, fault.ReasonStoreUnavailable, "The store is down.")}
	})
	a := g.post(calendarsPath, "")
	if a.status != http.StatusServiceUnavailable || a.v1().reason() != "STORE_UNAVAILABLE" ||
		a.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}
