package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"--listen", "127.0.0.1:0"}, write, io.Discard) }()

	told := map[string]string{}
	for lines := bufio.NewScanner(read); len(told) < 5 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		told[name] = value
	}
	for _, c := range []struct {
		rule, path, email, token string
		want                     int
	}{
		{"the agent is let in", "/api/v2/users/me", told["email"] + "/token", told["api_token"], http.StatusOK},
		{"nobody else is", "/api/v2/users/me", "", "", http.StatusUnauthorized},
		{"consent is asked for", "/oauth/authorizations/new?response_type=code&client_id=" + told["FRONTDESK_PROVIDERS__ZENDESK__CLIENT_ID"] +
			"&redirect_uri=http://localhost/back&scope=read&state=s&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256", "", "", http.StatusOK},
		{"tokens are given by POST", "/oauth/tokens", "", "", http.StatusMethodNotAllowed},
	} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, told["base_url"]+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.email != "" {
			ask.SetBasicAuth(c.email, c.token)
		}
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s: answered %d, want %d", c.rule, answer.StatusCode, c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
