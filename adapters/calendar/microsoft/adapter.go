// Package microsoft connects to the calendars of Microsoft 365 and Outlook.com through Microsoft Graph,
// version 1.0.
package microsoft

import (
	"net/url"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
)

// name is the adapter's name in configuration.
const name = "microsoft"

type settings struct {
	CalendarID string `setting:"calendar_id" help:"Id of the default calendar, for calls that name none. Without it, the default is the mailbox's own."`
	Mailbox    string `setting:"mailbox" help:"With application permissions: address of the mailbox whose calendars the connection uses. It requires directory, and an OAuth client whose permissions an administrator has granted."`
	Directory  string `setting:"directory" help:"Id or domain of the Microsoft Entra directory (tenant) of the account. Without it, the account may belong to any."`
	ClientID   string `setting:"client_id" help:"Your own OAuth client at Microsoft, with client_secret. The default is the gateway's."`

	RefreshToken string `credential:"refresh_token" help:"A refresh token that you already have, of the same OAuth client. With connect-link, the customer's consent gives one instead."`
	ClientSecret string `credential:"client_secret" help:"The secret of client_id."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.Calendar(adapter.Declaration{
		Name:  name,
		Title: "Microsoft 365 and Outlook.com",
		Help: "Calendars of Microsoft 365 and Outlook.com. A customer connects by consent (connect-link), a " +
			"company by application permissions.",
		Auth: adapter.Auth{
			Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
		},
		Operator: &adapter.OperatorKeys{
			Help: "Microsoft 365 and Outlook.com. The OAuth client is an app registration of the platform " +
				"Web, with the redirect URI PUBLIC_URL/oauth/callback/microsoft.",
			ClientIDHelp:     "Id of the app registration. Without it, tenants use their own.",
			ClientSecretHelp: "Secret of the app registration; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{
					Name: "authority", Default: "https://login.microsoftonline.com/common",
					Help: "Server for consent and tokens. Its last part says which accounts: common, " +
						"organizations, consumers or a directory.",
				},
				{
					Name: "api_url", Default: "https://graph.microsoft.com/v1.0",
					Help: "Microsoft Graph, or the Graph of a national cloud.",
				},
			},
		},
	}, open)
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	authority := at["authority"]
	if s.Directory != "" {
		if strings.ContainsAny(s.Directory, "/?#%\\ ") || strings.Trim(s.Directory, ".") == "" {
			return adapter.Grant{}, fault.InvalidField("settings.directory",
				"must be a directory's id or domain, such as contoso.onmicrosoft.com.")
		}
		at, err := url.Parse(authority)
		if err != nil {
			return adapter.Grant{}, fault.From(err)
		}
		authority = at.JoinPath("..", s.Directory).String()
	}
	endpoint := strings.TrimRight(authority, "/") + "/oauth2/v2.0/"
	if s.Mailbox == "" {
		return adapter.Grant{
			Flow: adapter.Consent, AuthURL: endpoint + "authorize", TokenURL: endpoint + "token", ClientID: s.ClientID,
			Ask: map[string]string{"response_mode": "query", "prompt": "select_account"},
			// Each refresh returns a new refresh token and revokes none
			// (learn.microsoft.com/entra/identity-platform/refresh-tokens).
			Rotation: adapter.RotationOverlapping,
			// offline_access is the scope for a refresh token. Microsoft does not list it among the granted
			// scopes (learn.microsoft.com/entra/identity-platform/scopes-oidc).
			Scopes: []adapter.Scope{
				{Name: "offline_access", Optional: true},
				{Name: "User.Read", Words: "See your name and address"},
				{Name: "Calendars.ReadWrite", Words: "See, create, change and cancel events in your " +
					"calendars"},
			},
		}, nil
	}
	switch {
	case s.RefreshToken != "":
		return adapter.Grant{}, fault.InvalidField("settings.mailbox",
			"is only for application permissions, not for a refresh_token.")
	case s.Directory == "":
		return adapter.Grant{}, fault.InvalidField("settings.directory",
			"is required with settings.mailbox: the directory whose administrator granted the permissions.")
	}
	return adapter.Grant{
		Flow: adapter.ClientCredentials, TokenURL: endpoint + "token", ClientID: s.ClientID,
		Scopes: []adapter.Scope{{Name: resource(at["api_url"]) + "/.default"}},
	}, nil
}

// resource returns the resource to request tokens for: that of Graph, or of a national cloud
// (learn.microsoft.com/graph/deployments).
func resource(apiURL string) string {
	for _, national := range []string{
		"https://graph.microsoft.us", "https://dod-graph.microsoft.us", "https://microsoftgraph.chinacloudapi.cn",
	} {
		if strings.HasPrefix(apiURL, national+"/") {
			return national
		}
	}
	return "https://graph.microsoft.com"
}
