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
	for lines := bufio.NewScanner(read); len(told) < 3 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "=")
		told[name] = value
	}
	if told["connection_id"] == "" {
		t.Errorf("told is %v", told)
	}
	for key, want := range map[string]int{told["api_key"]: http.StatusOK, "KEYanother": http.StatusUnauthorized} {
		ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, told["FRONTDESK_PROVIDERS__TELNYX__API_URL"]+"/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		ask.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(ask)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("the key %s was answered %d, want %d", key, answer.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
