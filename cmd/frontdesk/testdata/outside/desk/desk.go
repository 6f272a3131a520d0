// Package desk is an adapter that lives outside the gateway's repository.
package desk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/fault"
)

type settings struct {
	ClientID     string `setting:"client_id" help:"Your own OAuth client. The default is the gateway's."`
	ClientSecret string `credential:"client_secret" help:"The secret of client_id."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name:  "desk",
		Title: "Desk Calendar",
		Help:  "Calendars of Desk.",
		Auth: adapter.Auth{
			Scheme: adapter.OAuth2,
			OAuth:  &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
		},
		Operator: &adapter.OperatorKeys{
			Help:             "Desk Calendar. The OAuth client is an app of Desk.",
			ClientIDHelp:     "Id of the app.",
			ClientSecretHelp: "Secret of the app; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{Name: "token_url", Default: "https://desk.example/token", Help: "Endpoint that issues " +
					"tokens."},
				{Name: "api_url", Default: "https://api.desk.example/", Help: "Root of the API."},
				{Name: "realm", Default: "https://desk.example/all", Optional: true, Help: "Whose accounts."},
			},
		},
	}, open)
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	g := adapter.Grant{Flow: adapter.ClientCredentials, TokenURL: at["token_url"], ClientID: s.ClientID}
	return g, nil
}

func open(_ context.Context, _ settings, env adapter.Environment) (calendar.Driver, error) {
	return driver{at: env.Addresses, http: env.HTTP}, nil
}

// driver implements only Account and Calendars.
type driver struct {
	calendar.Driver
	at   adapter.Addresses
	http *http.Client
}

func (d driver) Account(ctx context.Context) (calendar.Account, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.at["api_url"]+"me", nil)
	if err != nil {
		return calendar.Account{}, fault.From(err)
	}
	// The header sends the provider all addresses that the driver was opened with.
	req.Header.Set("Desk-Addresses", fmt.Sprint(d.at))
	response, err := d.http.Do(req)
	if err != nil {
		return calendar.Account{}, fault.From(err)
	}
	defer response.Body.Close()
	var me struct{ Email string }
	if err := json.NewDecoder(response.Body).Decode(&me); err != nil {
		return calendar.Account{}, fault.From(err)
	}
	return calendar.Account{Email: me.Email}, nil
}

func (d driver) Calendars(context.Context) ([]calendar.Calendar, error) {
	return []calendar.Calendar{{ID: "1", Name: "Desk", IsDefault: true}}, nil
}
