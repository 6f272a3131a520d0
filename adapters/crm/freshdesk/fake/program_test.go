package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	printed := adaptertest.Start(t, Program, "base_url", "requester_email", "api_key")
	for key, want := range map[string]int{
		printed["api_key"]: http.StatusOK, "another": http.StatusUnauthorized,
	} {
		status, _ := adaptertest.Get(t, printed["base_url"]+"/api/v2/agents/me",
			func(r *http.Request) { r.SetBasicAuth(key, "X") })
		if status != want {
			t.Errorf("the key %q is answered %d, want %d", key, status, want)
		}
	}
}
