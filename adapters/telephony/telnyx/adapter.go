// Package telnyx buys and manages phone numbers of a Telnyx account through its API v2
// (developers.telnyx.com/api-reference).
//
// An order is asynchronous. Its customer reference carries the purchase's key: orders can be listed by it, so
// the outcome of an order can always be found. The reference of a number holds its display name, since Telnyx
// has no field for names; one left by an order is not a name. The adapter does not change tags.
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

// name is the adapter's name in the configuration.
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

// connections matches ids of connections: numbers of as many digits as 64 bits have, and in examples UUIDs as
// well (developers.telnyx.com/api-reference/phone-number-configurations/update-a-phone-number).
var connections = regexp.MustCompile(`^([0-9]{1,20}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// Validate checks the settings.
func (s settings) Validate() []fault.Field {
	if s.ConnectionID != "" && !connections.MatchString(s.ConnectionID) {
		return []fault.Field{{
			Path: "settings.connection_id", Message: "must be the id of a connection or application as the portal " +
				"shows it, such as 1521916448077776306.",
		}}
	}
	return nil
}

func open(_ context.Context, s settings, env adapter.Environment) (telephony.Driver, error) {
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

// apiBase returns the configured URL, with the version added if it has no path.
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
