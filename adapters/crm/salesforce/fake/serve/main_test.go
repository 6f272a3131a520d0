package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
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
		told[strings.TrimPrefix(name, "FRONTDESK_PROVIDERS__SALESFORCE__")] = value
	}
	answer, err := http.PostForm(told["LOGIN_URL"]+"/services/oauth2/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {told["CLIENT_ID"]}, "client_secret": {told["CLIENT_SECRET"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"instance_url":"`+told["LOGIN_URL"]+`"`) {
		t.Errorf("a token is answered with %d %s", answer.StatusCode, body)
	}
	answer, err = http.Get(told["LOGIN_URL"] + "/services/data/v62.0/sobjects/Case/describe")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API answers nobody with %d", answer.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
