package api

import (
	"strings"
	"testing"
)

func TestACurlCommandMakesTheRequest(t *testing.T) {
	got := CurlOf("https://desk.example/base/", "PATCH", "/beta/phone-numbers/1", "call-7", `{"name": "it's"}`)
	for _, want := range []string{"curl -sS -X PATCH 'https://desk.example/base/beta/phone-numbers/1'",
		"-H 'X-Api-Key: YOUR_KEY'", "-H 'Idempotency-Key: call-7'", `-d '{"name": "it'\''s"}'`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}
