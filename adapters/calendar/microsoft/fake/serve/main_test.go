package main

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItIsAndAsksForAToken(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__MICROSOFT__"
	told := adaptertest.Start(t, program, prefix+"API_URL", prefix+"AUTHORITY", prefix+"CLIENT_ID", prefix+"CLIENT_SECRET")
	status, body := adaptertest.Get(t, told[prefix+"API_URL"]+"/me", nil)
	if status != http.StatusUnauthorized || !strings.Contains(body, "InvalidAuthenticationToken") {
		t.Errorf("%d %s", status, body)
	}
}
