package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const address = "FRONTDESK_PROVIDERS__TELNYX__API_URL"
	printed := adaptertest.Start(t, Program, address, "api_key", "connection_id")
	for key, want := range map[string]int{
		printed["api_key"]: http.StatusOK, "KEYanother": http.StatusUnauthorized,
	} {
		status, _ := adaptertest.Get(t, printed[address]+"/whoami",
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) })
		if status != want {
			t.Errorf("the key %s was answered %d, want %d", key, status, want)
		}
	}
}
