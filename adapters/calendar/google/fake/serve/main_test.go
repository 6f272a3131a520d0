package main

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__GOOGLE__"
	told := adaptertest.Start(t, program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"AUTH_URL", prefix+"TOKEN_URL", prefix+"API_URL", prefix+"ISSUER")
	if told[prefix+"CLIENT_ID"] != clientID || told[prefix+"CLIENT_SECRET"] != clientSecret || told[prefix+"ISSUER"]+"/" != told[prefix+"API_URL"] {
		t.Errorf("told %v", told)
	}
	for address, want := range map[string]int{
		told[prefix+"API_URL"] + "calendar/v3/users/me/calendarList": http.StatusUnauthorized,
		told[prefix+"AUTH_URL"] + "?response_type=code&client_id=" + clientID + "&redirect_uri=http://localhost/back&scope=x&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256": http.StatusOK,
		told[prefix+"TOKEN_URL"]: http.StatusMethodNotAllowed,
	} {
		if status, _ := adaptertest.Get(t, address, nil); status != want {
			t.Errorf("%s answers %d, want %d", address, status, want)
		}
	}
}
