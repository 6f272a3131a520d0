package oauth

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// tokenReply is a token endpoint with a fixed response.
type tokenReply struct {
	status int
	kind   string
	body   string
}

func (s tokenReply) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}},
		Body: io.NopCloser(strings.NewReader(s.body)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(s.body)),
	}, nil
}

// FuzzTokenAnswers checks that any response of a token endpoint leads to usable tokens, or to a fault without
// secrets.
func FuzzTokenAnswers(f *testing.F) {
	for _, seed := range []tokenReply{
		{200, "application/json",
			`{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"x y"}`},
		{200, "application/json", `{"access_token":"a","expires_in":"3600"}`},
		{200, "application/json", `{"access_token":"a","expires_in":-1e99}`},
		{200, "text/plain", "access_token=a&token_type=bearer"}, {200, "text/html", "<html>"}, {204, "", ""},
		{200, "application/json", `{"access_token":"a\r\nX: y"}`},
		{400, "application/json",
			`{"error":"invalid_grant","error_description":"canary-client-secret canary-refresh"}`},
		{401, "application/json", `{"error":{"code":1}}`},
		{429, "application/json", `[]`}, {503, "text/html", "down"}, {302, "", ""},
	} {
		f.Add(seed.status, seed.kind, seed.body)
	}
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 || strings.ContainsAny(kind, "\r\n\x00") {
			return
		}
		c := Client{Provider: "provider", ID: "desk", Secret: clientSecret, HTTP: &http.Client{
			Transport:     tokenReply{status, kind, body},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}, Grant: adapter.Grant{
			Flow: adapter.Consent, AuthURL: "https://provider.example/auth",
			TokenURL: "https://provider.example/token",
		}}
		tokens, err := c.Token(t.Context(), "canary-refresh")
		if err == nil {
			if tokens.Access == "" {
				t.Fatalf("%d %q: no access token, and no fault", status, body)
			}
			return
		}
		var refused *fault.Error
		if !errors.As(err, &refused) {
			t.Fatalf("%d %q: %v is no fault", status, body, err)
		}
		for _, secret := range []string{clientSecret, "canary-refresh"} {
			if strings.Contains(err.Error()+refused.Upstream, secret) {
				t.Fatalf("%d %q: the fault shows a secret: %v, %s", status, body, err, refused.Upstream)
			}
		}
	})
}

// A token endpoint may be a tenant's own. Unknown error codes, which may be any text, are not passed on.
func TestNoTextOfATokenEndpointIsTold(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":"canary_tell_the_caller"}`, `{"error":"canary","error_description":"canary"}`,
		`{"error":"invalid_grant","error_description":"canary","error_uri":"canary"}`,
		`{"error":{"canary":1}}`, `"canary"`, `canary`, `{"error":"invalid_scope canary"}`,
	} {
		for _, status := range []int{200, 400, 401, 403, 429, 500, 503} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("X-Canary", "canary")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}))
			c := Client{
				Provider: "desk", ID: "id", Secret: "s", HTTP: server.Client(),
				Grant: adapter.Grant{Flow: adapter.ClientCredentials, TokenURL: server.URL + "/token"},
			}
			_, err := c.Token(t.Context(), "")
			server.Close()
			f := fault.From(err)
			if f == nil {
				t.Errorf("%d %s gives a token", status, body)
				continue
			}
			if text := fmt.Sprint(f.Detail, f.Reason, f.Fields, f.Metadata,
				f.Error()); strings.Contains(text, "canary") {
				t.Errorf("%d %s tells %s", status, body, text)
			}
		}
	}
}
