// Package zendesk opens and reads tickets of Zendesk Support through its Ticketing API.
package zendesk

import (
	"net/url"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's name in the configuration.
const name = "zendesk"

type settings struct {
	BaseURL  string `setting:"base_url" kind:"url" required:"true" help:"Address of the account, such as https://acme.zendesk.com."`
	ClientID string `setting:"client_id" help:"Unique identifier of your own OAuth client (Admin Center, Apps and integrations, APIs, OAuth clients), with client_secret. The default is the gateway's."`

	Fields adapter.TicketFields `setting:"fields" help:"Values for every new ticket, by field: the id of a custom field, or type, priority, status, custom_status_id, group_id, assignee_id, organization_id, requester_id, brand_id, ticket_form_id or tags. Text may contain the call's {subject}, {description}, {status}, {priority}, {owner_id}, {account_id} and {contact_id}. Values of the call itself take precedence. Tickets show the channel api: Zendesk advises against setting another."`

	Email        string `credential:"email" help:"With api_token: address of the agent in whose name tickets are opened."`
	APIToken     string `credential:"api_token" help:"An API token, with email. Zendesk issues no new ones, and ends all of them on 30 April 2027; prefer connect-link."`
	AccessToken  string `credential:"access_token" help:"An OAuth access token that does not expire, instead of consent or api_token. Zendesk requires that all expire from 1 April 2027; prefer connect-link."`
	RefreshToken string `credential:"refresh_token" help:"A refresh token that you already have, of the same OAuth client. With connect-link, an agent's consent gives one instead."`
	ClientSecret string `credential:"client_secret" help:"The secret of client_id."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "Zendesk",
		Help: "Tickets of Zendesk Support. An agent connects by consent (connect-link), with an OAuth access " +
			"token, or, until April 2027, with an API token.",
		AuthOf: adapter.AuthBy(authOf),
		Operator: &adapter.OperatorKeys{
			Help: "Zendesk. The OAuth client is a global one, with the redirect URL " +
				"PUBLIC_URL/oauth/callback/zendesk. Each connection has the address of its account " +
				"(base_url). The secret goes only to addresses under zendesk.com, and to base_url here.",
			ClientIDHelp: "Id of the global OAuth client. Without it, tenants use their own client or an " +
				"API token.",
			ClientSecretHelp: "Secret of the OAuth client; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{
					Name: "base_url", Optional: true,
					Help: "One more address, besides those under zendesk.com, that may receive the client's " +
						"secret, such as the address of a fake Zendesk.",
				},
			},
		},
	}, open)
}

// Validate checks the settings.
func (s settings) Validate() []fault.Field {
	faults := append(s.Fields.Without(untaken), unknownNames(s.Fields)...)
	if _, err := root(s.BaseURL); err != nil {
		faults = append(faults, fault.From(err).Fields...)
	}
	return faults
}

// authOf chooses the authentication by the credentials that are set.
func authOf(s settings) (adapter.Auth, error) {
	consent := s.RefreshToken != "" || s.ClientID != "" || s.ClientSecret != ""
	switch {
	case s.APIToken != "" && s.Email == "":
		return adapter.Auth{}, fault.InvalidField("credentials.email",
			"is required with credentials.api_token: the address of the agent to act for.")
	case s.APIToken == "" && s.Email != "":
		return adapter.Auth{}, fault.InvalidField("credentials.email", "is only for credentials.api_token.")
	case s.APIToken != "" && (consent || s.AccessToken != ""):
		return adapter.Auth{}, fault.InvalidField("credentials.api_token",
			"cannot be combined with an access_token, refresh_token or OAuth client; choose one.")
	case s.AccessToken != "" && consent:
		return adapter.Auth{}, fault.InvalidField("credentials.access_token",
			"cannot be combined with a refresh_token or OAuth client; choose one.")
	case s.APIToken != "":
		// developer.zendesk.com/api-reference/introduction/security-and-auth, "API token".
		return adapter.Auth{
			Scheme: adapter.Basic, Username: "email", UsernameSuffix: "/token", Password: "api_token",
			BaseURL: "base_url",
		}, nil
	case s.AccessToken != "":
		return adapter.Auth{Scheme: adapter.Bearer, Password: "access_token", BaseURL: "base_url"}, nil
	}
	return adapter.Auth{
		Scheme: adapter.OAuth2, BaseURL: "base_url", OAuth: &adapter.OAuth{Grant: adapter.GrantOf(grant)},
	}, nil
}

// scopes are the fewest that suffice. Ticket fields and custom statuses have no scope of their own, so
// reading them requires the scope read (developer.zendesk.com/api-reference/ticketing/oauth/oauth_tokens,
// "Scopes").
var scopes = []adapter.Scope{
	{Name: "read", Words: "See your tickets, and the statuses and priorities they can have"},
	{Name: "tickets:write", Words: "Open tickets"},
}

// grant returns the OAuth grant, which uses the account's endpoints (support.zendesk.com, "Using OAuth
// authentication with your application"). A refresh token is valid for one use, and the access token ends
// with it (developer.zendesk.com/api-reference/ticketing/oauth/grant_type_tokens).
func grant(s settings, _ adapter.Addresses) (adapter.Grant, error) {
	base, err := root(s.BaseURL)
	if err != nil {
		return adapter.Grant{}, err
	}
	return adapter.Grant{
		Flow: adapter.Consent, AuthURL: base + "/oauth/authorizations/new", TokenURL: base + "/oauth/tokens",
		TenantAddress: true, Domains: []string{"zendesk.com"}, ClientID: s.ClientID, Scopes: scopes, Redeem: lives,
	}, nil
}

// lives are how long tokens live: as long as Zendesk allows, since each renewal uses up a refresh token. Without
// expires_in, Zendesk does not tell when an access token ends, so that none would be renewed ahead of time and an
// idle connection would end with its refresh token; and an older OAuth client would get no refresh token
// (support.zendesk.com, 9182123625370 and 10212201463962, on refresh tokens and expirations; NangoHQ/nango#6775).
var lives = map[string]string{"expires_in": "172800", "refresh_token_expires_in": "7776000"}

// root returns the address that all paths follow. It rejects an address with a path, such as /agent/dashboard
// copied from a browser, since the API is not beneath it.
func root(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fault.InvalidField("settings.base_url",
			"must be the address of the account alone, without a path, such as https://acme.zendesk.com.")
	}
	return u.Scheme + "://" + u.Host, nil
}
