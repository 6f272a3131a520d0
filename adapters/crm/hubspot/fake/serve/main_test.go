package main

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	const prefix, beside = "FRONTDESK_PROVIDERS__HUBSPOT__", "# access_token"
	told := adaptertest.Start(t, program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"AUTH_URL", prefix+"TOKEN_URL", prefix+"API_URL", beside)
	if told[prefix+"CLIENT_ID"] != clientID || told[prefix+"CLIENT_SECRET"] != clientSecret || told[beside] != "pat-na1-fake key_property=frontdesk_key" {
		t.Errorf("told %v", told)
	}
	for _, c := range []struct {
		address, token string
		want           int
	}{
		{told[prefix+"API_URL"] + "/account-info/2026-09/details", "", http.StatusUnauthorized},
		{told[prefix+"API_URL"] + "/account-info/2026-09/details", privateToken, http.StatusOK},
		{told[prefix+"AUTH_URL"] + "?response_type=code&client_id=" + clientID + "&redirect_uri=http://localhost/back&scope=tickets&state=s" +
			"&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256", "", http.StatusOK},
		{told[prefix+"TOKEN_URL"], "", http.StatusMethodNotAllowed},
	} {
		status, _ := adaptertest.Get(t, c.address, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+c.token) })
		if status != c.want {
			t.Errorf("%s answers %d, want %d", c.address, status, c.want)
		}
	}
}
