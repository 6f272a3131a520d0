// Command serve runs the pretended Twilio, for trying the gateway by hand:
//
//	go run ./adapters/telephony/twilio/fake/serve --listen 127.0.0.1:9121
//
// It prints the variable that points a gateway at it, and the settings of a connection to it. What is bought is forgotten
// when it ends.
package main

import (
	"flag"
	"net/http"

	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/adapter/adaptertest"
)

func main() { adaptertest.Main("127.0.0.1:9121", program) }

const authToken = "fake-auth-token"

func program(flags *flag.FlagSet) adaptertest.Begin {
	trial := flags.Bool("trial", false, "the account is a trial, which can have one number")
	return func(base string) (http.Handler, [][2]string) {
		return fake.New(fake.Options{AuthToken: authToken, Trial: *trial}), [][2]string{
			{"FRONTDESK_PROVIDERS__TWILIO__API_URL", base},
			{"account_sid", fake.AccountSID}, {"auth_token", authToken}, {"subaccount_sid", fake.SubaccountSID},
			{"voice_application", fake.Application}, {"sip_trunk", fake.Trunk}, {"address_sid", fake.Address}, {"bundle_sid", fake.Bundle},
		}
	}
}
