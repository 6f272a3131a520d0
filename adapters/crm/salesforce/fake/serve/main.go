// Command serve runs the pretended Salesforce with its OAuth endpoints, for trying the gateway by hand:
//
//	go run ./adapters/crm/salesforce/fake/serve --listen 127.0.0.1:9105
//
// It prints the variables that point a gateway at it. Its cases are forgotten when it ends.
package main

import (
	"flag"
	"net/http"
	"strings"

	"frontdesk/adapters/crm/salesforce/fake"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

func main() { adaptertest.Main("127.0.0.1:9105", program) }

// The OAuth client that the server knows.
const (
	clientID     = "frontdesk.fake-consumer-key"
	clientSecret = "fake-consumer-secret"
)

func program(flags *flag.FlagSet) adaptertest.Begin {
	accounts := flags.String("accounts", "alice@acme.example", "who can sign in, separated by commas; the first one does")
	keyField := flags.String("external-id-field", "Frontdesk_Key__c", "custom field of cases that keeps keys; empty is none")
	return func(base string) (http.Handler, [][2]string) {
		const prefix = "FRONTDESK_PROVIDERS__SALESFORCE__"
		return fake.New(fake.Options{
			Accounts: strings.Split(*accounts, ","), ExternalID: *keyField,
			OAuth: oauthtest.Options{Clients: map[string]string{clientID: clientSecret}},
		}), [][2]string{{prefix + "CLIENT_ID", clientID}, {prefix + "CLIENT_SECRET", clientSecret}, {prefix + "LOGIN_URL", base}}
	}
}
