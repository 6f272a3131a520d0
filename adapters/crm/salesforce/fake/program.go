package fake

import (
	"flag"
	"net/http"
	"strings"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// The OAuth client that the server accepts.
const (
	demoClientID     = "frontdesk.fake-consumer-key"
	demoClientSecret = "fake-consumer-secret"
)

// Program is an adaptertest.Program that runs the fake.
func Program(flags *flag.FlagSet) adaptertest.Begin {
	accounts := flags.String("accounts", "alice@acme.example",
		"who can sign in, separated by commas; the first one does")
	keyField := flags.String("external-id-field", "Frontdesk_Key__c",
		"custom field of cases that keeps keys; empty is none")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__SALESFORCE__"
		return New(Options{
				Accounts: strings.Split(*accounts, ","), ExternalID: *keyField,
				OAuth: oauthtest.Options{Clients: map[string]string{demoClientID: demoClientSecret}},
			}), [][2]string{
				{prefix + "CLIENT_ID", demoClientID}, {prefix + "CLIENT_SECRET", demoClientSecret},
				{prefix + "LOGIN_URL", base},
			}
	}
}
