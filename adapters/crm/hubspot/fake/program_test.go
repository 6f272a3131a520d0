package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const prefix, marker = "FRONTDESK_PROVIDERS__HUBSPOT__", "# access_token"
	printed := adaptertest.Start(t, Program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"AUTH_URL",
		prefix+"TOKEN_URL", prefix+"API_URL", marker)
	if printed[prefix+"CLIENT_ID"] != demoClientID || printed[prefix+"CLIENT_SECRET"] != demoClientSecret ||
		printed[marker] != "pat-na1-fake key_property=frontdesk_key" {
		t.Errorf("printed %v", printed)
	}
	for _, c := range []struct {
		address, token string
		want           int
	}{
		{printed[prefix+"API_URL"] + "/account-info/2026-09/details", "", http.StatusUnauthorized},
		{printed[prefix+"API_URL"] + "/account-info/2026-09/details", demoPrivateToken, http.StatusOK},
		{printed[prefix+"AUTH_URL"] + "?response_type=code&client_id=" + demoClientID +
			"&redirect_uri=http://localhost/back&scope=tickets&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256",
			"", http.StatusOK},
		{printed[prefix+"TOKEN_URL"], "", http.StatusMethodNotAllowed},
	} {
		status, _ := adaptertest.Get(t, c.address,
			func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+c.token) })
		if status != c.want {
			t.Errorf("%s answers %d, want %d", c.address, status, c.want)
		}
	}
}
