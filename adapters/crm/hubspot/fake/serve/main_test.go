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

	told, last := map[string]string{}, ""
	for lines := bufio.NewScanner(read); last == "" && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			last = lines.Text()
			continue
		}
		name, value, _ := strings.Cut(lines.Text(), "=")
		told[strings.TrimPrefix(name, "FRONTDESK_PROVIDERS__HUBSPOT__")] = value
	}
	if told["CLIENT_ID"] != clientID || told["CLIENT_SECRET"] != clientSecret || last != "# access_token=pat-na1-fake key_property=frontdesk_key" {
		t.Errorf("told %v and %q", told, last)
	}
	for _, c := range []struct {
		address, token string
		want           int
	}{
		{told["API_URL"] + "/account-info/2026-09/details", "", http.StatusUnauthorized},
		{told["API_URL"] + "/account-info/2026-09/details", privateToken, http.StatusOK},
		{told["AUTH_URL"] + "?response_type=code&client_id=" + clientID + "&redirect_uri=http://localhost/back&scope=tickets&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256", "", http.StatusOK},
		{told["TOKEN_URL"], "", http.StatusMethodNotAllowed},
	} {
		r, err := http.NewRequest(http.MethodGet, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s answers %d, want %d", c.address, answer.StatusCode, c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
