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
	for lines := bufio.NewScanner(read); len(told) < 8 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		told[name] = value
	}
	for _, c := range []struct {
		rule, account, token string
		want                 int
	}{
		{"the account is let in", told["account_sid"], told["auth_token"], http.StatusOK},
		{"its subaccount is there", told["subaccount_sid"], told["auth_token"], http.StatusOK},
		{"nobody else is let in", told["account_sid"], "", http.StatusUnauthorized},
	} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			told["FRONTDESK_PROVIDERS__TWILIO__API_URL"]+"/2010-04-01/Accounts/"+c.account+".json", nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.SetBasicAuth(told["account_sid"], c.token)
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
