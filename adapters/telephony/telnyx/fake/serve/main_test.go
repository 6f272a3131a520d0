package main

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	const address = "FRONTDESK_PROVIDERS__TELNYX__API_URL"
	told := adaptertest.Start(t, program, address, "api_key", "connection_id")
	for key, want := range map[string]int{told["api_key"]: http.StatusOK, "KEYanother": http.StatusUnauthorized} {
		status, _ := adaptertest.Get(t, told[address]+"/whoami", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) })
		if status != want {
			t.Errorf("the key %s was answered %d, want %d", key, status, want)
		}
	}
}
