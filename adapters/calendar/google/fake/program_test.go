package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__GOOGLE__"
	printed := adaptertest.Start(t, Program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"AUTH_URL",
		prefix+"TOKEN_URL", prefix+"API_URL", prefix+"ISSUER")
	if printed[prefix+"CLIENT_ID"] != demoClientID || printed[prefix+"CLIENT_SECRET"] != demoClientSecret ||
		printed[prefix+"ISSUER"]+"/" != printed[prefix+"API_URL"] {
		t.Errorf("printed %v", printed)
	}
	for address, want := range map[string]int{
		printed[prefix+"API_URL"] + "calendar/v3/users/me/calendarList": http.StatusUnauthorized,
		printed[prefix+"AUTH_URL"] + "?response_type=code&client_id=" + demoClientID +
			"&redirect_uri=http://localhost/back&scope=x&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256": http.StatusOK,
		printed[prefix+"TOKEN_URL"]: http.StatusMethodNotAllowed,
	} {
		if status, _ := adaptertest.Get(t, address, nil); status != want {
			t.Errorf("%s answers %d, want %d", address, status, want)
		}
	}
}
