// Package google connects to Google Calendar through its API, version 3.
package google

import (
	"encoding/json"
	"slices"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's name in configuration.
const name = "google"

type settings struct {
	CalendarID string `setting:"calendar_id" default:"primary" help:"Id of the default calendar, for calls that name none; primary is the account's own."`
	Subject    string `setting:"subject" help:"With service_account: address of the user whose calendars the connection uses, by domain-wide delegation."`
	ClientID   string `setting:"client_id" help:"Your own OAuth client at Google, with client_secret. The default is the gateway's."`

	RefreshToken   string `credential:"refresh_token" help:"A refresh token that you already have, of the same OAuth client. With connect-link, the customer's consent gives one instead."`
	ClientSecret   string `credential:"client_secret" help:"The secret of client_id."`
	ServiceAccount string `credential:"service_account" help:"The JSON key of a service account with domain-wide delegation, with subject. It replaces a customer's consent."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name:  name,
		Title: "Google Calendar",
		Help: "Calendars of Google Workspace and Google accounts. A customer connects by consent " +
			"(connect-link), a company by a service account with domain-wide delegation.",
		Auth: adapter.Auth{
			Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
		},
		Operator: &adapter.OperatorKeys{
			Help: "Google Calendar. The OAuth client is of the type Web application, with the redirect URI " +
				"PUBLIC_URL/oauth/callback/google.",
			ClientIDHelp: "Id of the OAuth client. Without it, tenants use their own client or a service " +
				"account.",
			ClientSecretHelp: "Secret of the OAuth client; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{
					Name: "auth_url", Default: "https://accounts.google.com/o/oauth2/v2/auth",
					Help: "Page at which customers give their consent.",
				},
				{
					Name: "token_url", Default: "https://oauth2.googleapis.com/token",
					Help: "Endpoint that issues tokens.",
				},
				{
					Name: "api_url", Default: "https://www.googleapis.com/",
					Help: "Root of the API, above calendar/v3/.",
				},
				{
					Name: "issuer", Default: "https://accounts.google.com", Optional: true,
					Help: "The iss that Google sends when a customer returns (RFC 9207); any other is " +
						"refused.",
				},
			},
		},
	}, open)
}

// scopes are the fewest that all calendar operations need: calendar.events does not allow listing calendars
// (developers.google.com/workspace/calendar/api/auth).
var scopes = []adapter.Scope{
	{Name: "https://www.googleapis.com/auth/calendar.events", Words: "See, create, change and cancel events " +
		"in your calendars"},
	{Name: "https://www.googleapis.com/auth/calendar.calendarlist.readonly",
		Words: "See the list of your calendars"},
}

// freeBusyScope allows one request to ask for the busy times of many calendars. Without it, the driver reads
// their events.
var freeBusyScope = adapter.Scope{
	Name: "https://www.googleapis.com/auth/calendar.freebusy", Words: "See when your calendars are free or busy",
	Optional: true,
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	g := adapter.Grant{
		Flow: adapter.Consent, AuthURL: at["auth_url"], TokenURL: at["token_url"], Issuer: at["issuer"],
		ClientID: s.ClientID, Scopes: append(slices.Clone(scopes), freeBusyScope),
		// Google issues a refresh token only with access_type=offline, and issues one again only if consent
		// is asked for again (developers.google.com/identity/protocols/oauth2/web-server).
		Ask: map[string]string{"access_type": "offline", "prompt": "consent"},
		// The response to a refresh has no refresh token: the one that was sent stays valid (the same page,
		// "Refreshing an access token").
		Rotation: adapter.RotationNone,
	}
	if s.ServiceAccount == "" {
		if s.Subject != "" {
			return g, fault.InvalidField("settings.subject", "is only for credentials.service_account.")
		}
		return g, nil
	}
	switch {
	case s.Subject == "":
		return g, fault.InvalidField("settings.subject",
			"is required with credentials.service_account: the address of the user to act for.")
	case s.RefreshToken != "" || s.ClientID != "":
		return g, fault.InvalidField("credentials.service_account",
			"cannot be combined with a refresh_token or client_id; choose one.")
	}
	// Google refuses an assertion for a scope that the administrators have not delegated.
	return adapter.Grant{
		Flow: adapter.JWTBearer, TokenURL: at["token_url"], Scopes: scopes,
		Assertion: &adapter.Assertion{Credential: "service_account", Key: serviceAccountKey, Subject: s.Subject},
	}, nil
}

// serviceAccountKey parses the JSON that Google's console exports. It ignores token_uri: a tenant's file does
// not decide where the gateway sends requests.
func serviceAccountKey(secret string) (adapter.SigningKey, error) {
	var file struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
	}
	if json.Unmarshal([]byte(secret), &file) != nil || file.Type != "service_account" ||
		file.ClientEmail == "" || file.PrivateKey == "" {
		return adapter.SigningKey{}, fault.InvalidField("credentials.service_account",
			"must be the JSON key of a service account, with type, client_email and private_key, as Google's "+
				"console gives it.")
	}
	return adapter.SigningKey{Issuer: file.ClientEmail, ID: file.PrivateKeyID, PEM: []byte(file.PrivateKey)}, nil
}
