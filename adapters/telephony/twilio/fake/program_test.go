package fake

import (
	"net/http"
	"testing"

	"frontdesk/core/adapter/adaptertest"
)

func TestTheProgramPrintsHowToConnect(t *testing.T) {
	const address = "FRONTDESK_PROVIDERS__TWILIO__API_URL"
	printed := adaptertest.Start(t, Program, address, "account_sid", "auth_token", "subaccount_sid",
		"voice_application", "sip_trunk", "address_sid", "bundle_sid")
	for _, c := range []struct {
		rule, account, token string
		want                 int
	}{
		{"the account is let in", printed["account_sid"], printed["auth_token"], http.StatusOK},
		{"its subaccount is there", printed["subaccount_sid"], printed["auth_token"], http.StatusOK},
		{"nobody else is let in", printed["account_sid"], "", http.StatusUnauthorized},
	} {
		status, _ := adaptertest.Get(t, printed[address]+"/2010-04-01/Accounts/"+c.account+".json", func(
			r *http.Request,
		) {
			r.SetBasicAuth(printed["account_sid"], c.token)
		})
		if status != c.want {
			t.Errorf("%s: answered %d, want %d", c.rule, status, c.want)
		}
	}
}
