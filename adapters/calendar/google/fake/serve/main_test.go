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
	for lines := bufio.NewScanner(read); len(told) < 6 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		told[strings.TrimPrefix(name, "FRONTDESK_PROVIDERS__GOOGLE__")] = value
	}
	if told["CLIENT_ID"] != clientID || told["CLIENT_SECRET"] != clientSecret || told["ISSUER"]+"/" != told["API_URL"] {
		t.Errorf("told %v", told)
	}
	for address, want := range map[string]int{
		told["API_URL"] + "calendar/v3/users/me/calendarList": http.StatusUnauthorized,
		told["AUTH_URL"] + "?response_type=code&client_id=" + clientID + "&redirect_uri=http://localhost/back&scope=x&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256": http.StatusOK,
		told["TOKEN_URL"]: http.StatusMethodNotAllowed,
	} {
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s answers %d, want %d", address, answer.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
