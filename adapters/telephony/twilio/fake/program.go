package fake

import (
	"flag"
	"net/http"

	"frontdesk/core/adapter/adaptertest"
)

const demoAuthToken = "fake-auth-token"

// Program serves the fake on its own.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	trial := flags.Bool("trial", false, "the account is a trial, which can have one number")
	return func(base string) (http.Handler, [][2]string) {
		return New(Options{AuthToken: demoAuthToken, Trial: *trial}), [][2]string{
			{"FRONTDESK_PROVIDERS__TWILIO__API_URL", base},
			{"account_sid", AccountSID}, {"auth_token", demoAuthToken}, {"subaccount_sid", SubaccountSID},
			{"voice_application", Application}, {"sip_trunk", Trunk}, {"address_sid", Address}, {"bundle_sid", Bundle},
		}
	}
}
