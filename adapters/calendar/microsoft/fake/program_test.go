package fake

import (
	"net/http"
	"strings"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__MICROSOFT__"
	printed := adaptertest.Start(t, Program, prefix+"API_URL", prefix+"AUTHORITY", prefix+"CLIENT_ID",
		prefix+"CLIENT_SECRET")
	status, body := adaptertest.Get(t, printed[prefix+"API_URL"]+"/me", nil)
	if status != http.StatusUnauthorized || !strings.Contains(body, "InvalidAuthenticationToken") {
		t.Errorf("%d %s", status, body)
	}
}
