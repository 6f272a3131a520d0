package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"frontdesk/adapters/calendar/microsoft/fake"
)

func TestItPrintsWhereItIsAndAsksForAToken(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, in, "127.0.0.1:0", fake.Options{Clients: map[string]string{clientID: clientSecret}, Account: "alice@example.com"})
		_ = in.Close()
		done <- err
	}()
	text := make([]byte, 0, 512)
	for part := make([]byte, 512); strings.Count(string(text), "\n") < 4; {
		n, err := out.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part[:n]...)
	}
	api := ""
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if !strings.HasPrefix(name, "FRONTDESK_PROVIDERS__MICROSOFT__") || value == "" {
			t.Errorf("printed %q", line)
		}
		if strings.HasSuffix(name, "API_URL") {
			api = value
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(body), "InvalidAuthenticationToken") {
		t.Errorf("%d %s, %v", resp.StatusCode, body, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
