package main

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	told := adaptertest.Start(t, program, "base_url", "requester_email", "api_key")
	for key, want := range map[string]int{told["api_key"]: http.StatusOK, "another": http.StatusUnauthorized} {
		status, _ := adaptertest.Get(t, told["base_url"]+"/api/v2/agents/me", func(r *http.Request) { r.SetBasicAuth(key, "X") })
		if status != want {
			t.Errorf("the key %q is answered %d, want %d", key, status, want)
		}
	}
}
