// Package telnyx buys and keeps phone numbers of a Telnyx account by its API v2
// (developers.telnyx.com/api-reference).
//
// An order is asynchronous and carries the purchase's key as its customer reference: orders can be listed by
// it, so that what became of one can always be told. The number itself has its display name there, Telnyx
// having no field for names; what an order left in it is no name. Tags are left to the people who set them.
package telnyx

import (
	"context"
	"net/url"
	"regexp"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// name is the adapter's configuration word.
const name = "telnyx"

type settings struct {
	ConnectionID string `setting:"connection_id" help:"Id of the SIP connection, Voice API application or TeXML application for inbound calls to a number with an inbound employee."`
	Country      string `setting:"country" choices:"US,CA" default:"US" help:"The country to search first for numbers in an area code. If it has none, the gateway searches the other one."`

	APIKey string `credential:"api_key" required:"true" help:"An API key (Mission Control Portal, API Keys). It begins with KEY."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Telephony(adapter.Declaration{
		Name:  name,
		Title: "Telnyx",
		Help:  "Phone numbers of a Telnyx account in the United States and Canada. An API key connects it.",
		Auth:  adapter.Auth{Scheme: adapter.Bearer, Password: "api_key"},
		Operator: &adapter.OperatorKeys{
			Help: "Telnyx. Each connection has its own account.",
			Addresses: []adapter.Address{
				{
					Name: "api_url", Default: "https://api.telnyx.com/v2",
					Help: "Root of the API, including its version.",
				},
			},
		},
	}, open)
}

// connections are known by numbers of up to 19 digits, and in examples by UUIDs as well
// (developers.telnyx.com/api-reference/phone-number-configurations/update-a-phone-number).
var connections = regexp.MustCompile(`^([0-9]{1,20}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

func open(_ context.Context, s settings, env adapter.Environment) (telephony.Driver, error) {
	if s.ConnectionID != "" && !connections.MatchString(s.ConnectionID) {
		return nil, fault.InvalidField("settings.connection_id",
			"must be the id of a connection or application as the portal shows it, such as 1521916448077776306.")
	}
	base, err := apiBase(env.Addresses["api_url"])
	if err != nil {
		return nil, err
	}
	countries := [2]string{"US", "CA"}
	if s.Country == countries[1] {
		countries = [2]string{"CA", "US"}
	}
	return &driver{
		client: env.HTTP, base: base, connection: s.ConnectionID, countries: countries, now: env.Now,
	}, nil
}

// apiBase returns the configured address, with the version under it where it has no path.
func apiBase(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The operator's address of Telnyx cannot be read: providers.telnyx.api_url.")
	}
	if u.Path = strings.TrimRight(u.Path, "/"); u.Path == "" {
		u.Path = "/v2"
	}
	return u.String(), nil
}
