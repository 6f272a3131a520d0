package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const prefix = "FRONTDESK_PROVIDERS__ZENDESK__"
	printed := adaptertest.Start(t, Program, prefix+"CLIENT_ID", prefix+"CLIENT_SECRET", prefix+"BASE_URL",
		"base_url", "email", "api_token")
	for _, c := range []struct {
		rule, path, email, token string
		want                     int
	}{
		{"the agent is let in", "/api/v2/users/me", printed["email"] + "/token",
			printed["api_token"], http.StatusOK},
		{"nobody else is", "/api/v2/users/me", "", "", http.StatusUnauthorized},
		{"consent is asked for", "/oauth/authorizations/new?response_type=code&client_id=" +
			printed[prefix+"CLIENT_ID"] +
			"&redirect_uri=http://localhost/back&scope=read&state=s&" +
			"code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256", "", "",
			http.StatusOK},
		{"tokens are given by POST", "/oauth/tokens", "", "", http.StatusMethodNotAllowed},
	} {
		status, _ := adaptertest.Get(t, printed["base_url"]+c.path, func(r *http.Request) {
			if c.email != "" {
				r.SetBasicAuth(c.email, c.token)
			}
		})
		if status != c.want {
			t.Errorf("%s: answered %d, want %d", c.rule, status, c.want)
		}
	}
}
