package main

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"frontdesk/core/adapter/adaptertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItPrintsWhereItServes(t *testing.T) {
	const address = "FRONTDESK_PROVIDERS__TWILIO__API_URL"
	told := adaptertest.Start(t, program, address, "account_sid", "auth_token", "subaccount_sid", "voice_application", "sip_trunk", "address_sid", "bundle_sid")
	for _, c := range []struct {
		rule, account, token string
		want                 int
	}{
		{"the account is let in", told["account_sid"], told["auth_token"], http.StatusOK},
		{"its subaccount is there", told["subaccount_sid"], told["auth_token"], http.StatusOK},
		{"nobody else is let in", told["account_sid"], "", http.StatusUnauthorized},
	} {
		status, _ := adaptertest.Get(t, told[address]+"/2010-04-01/Accounts/"+c.account+".json", func(r *http.Request) {
			r.SetBasicAuth(told["account_sid"], c.token)
		})
		if status != c.want {
			t.Errorf("%s: answered %d, want %d", c.rule, status, c.want)
		}
	}
}
