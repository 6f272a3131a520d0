package adaptertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Get requests an address and returns the status and the body. A non-nil as can change the request first.
func Get(t testing.TB, address string, as func(*http.Request)) (status int, body string) {
	t.Helper()
	return ask(t, http.MethodGet, address, "", as)
}

// AccessToken redeems a grant at a token endpoint (RFC 6749 section 3.2).
func AccessToken(t testing.TB, endpoint string, grant url.Values) string {
	t.Helper()
	status, body := ask(t, http.MethodPost, endpoint, grant.Encode(), func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	var granted struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &granted); err != nil || granted.Token == "" {
		t.Fatalf("no access token, but %d: %v", status, err)
	}
	return granted.Token
}

func ask(t testing.TB, method, address, given string, as func(*http.Request)) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(given))
	if err != nil {
		t.Fatal(err)
	}
	if as != nil {
		as(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
