package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A credential that a server repeats in an error response must not reach a text that people read.
func TestCredentialsAreStruckOutOfRefusals(t *testing.T) {
	echo := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		status := http.StatusForbidden
		if r.URL.Path == "/fine" {
			status = http.StatusOK
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.Join([]string{user, password, r.Header.Get("Authorization"),
			r.Header.Get("X-Key"), r.Header.Get("X-Own"), r.Header.Get("User-Agent")}, "|"))
	})
	basic := func(user, password string) func(*http.Request) error {
		return func(r *http.Request) error { r.SetBasicAuth(user, password); return nil }
	}
	header := func(name, value string) func(*http.Request) error {
		return func(r *http.Request) error { r.Header.Set(name, value); return nil }
	}
	for rule, c := range map[string]struct {
		authorise  func(*http.Request) error
		path, want string
	}{
		"a password, and what carries it": {basic("operator", "s3cret-pass"), "/",
			"operator|***********|**********************************||own-value|agent"},
		"a user name that is the secret": {basic("s3cret-key", "X"), "/",
			"**********|X|**********************||own-value|agent"},
		"a token behind its scheme": {header("Authorization", "Bearer s3cret-token"), "/",
			"||*******************||own-value|agent"},
		"a token in a header of its own": {header("X-Key", "s3cret-token"), "/",
			"|||************|own-value|agent"},
		"nothing so short that any text has": {header("X-Key", "abc"), "/", "|||abc|own-value|agent"},
		"an answer that succeeds is untouched": {header("X-Key", "s3cret-token"), "/fine",
			"|||s3cret-token|own-value|agent"},
	} {
		t.Run(rule, func(t *testing.T) {
			client := newPool(t, PoolOptions{UserAgent: "agent"}).Client(ClientOptions{
				Provider: "p", Authorize: c.authorise,
			})
			req := request(t, http.MethodGet, echo.String()+c.path, "")
			req.Header.Set("X-Own", "own-value")
			_, _, body, err := Do(client, req)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(string(body), "Basic ", "******"); got != c.want {
				t.Errorf("read %q, want %q", got, c.want)
			}
		})
	}
}

func TestARefusalThatBreaksOffSaysSo(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "s3cret-token")
	})
	client := newPool(t, PoolOptions{}).Client(ClientOptions{
		Provider: "p", Authorize: func(r *http.Request) error {
			r.Header.Set("X-Key", "s3cret-token")
			return nil
		},
	})
	if _, _, _, err := Do(client, request(t, http.MethodGet, server.String(), "")); err == nil {
		t.Error("half of an answer is taken for all of it")
	}
}
