// Package hubspot opens and reads HubSpot tickets by its dated API
// (developers.hubspot.com/docs/api-reference).
package hubspot

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

// name is the adapter's name in the configuration.
const name = "hubspot"

type settings struct {
	Pipeline    string `setting:"pipeline" help:"Label or id of the pipeline for new tickets, whose stages are the statuses. The default is the account's first one."`
	KeyProperty string `setting:"key_property" help:"Internal name of a custom ticket property: single-line text that requires unique values. With it, a ticket whose creation was cut off is found again, and never created twice."`
	APIVersion  string `setting:"api_version" default:"2026-09" help:"Version of HubSpot's API, as in its URLs."`
	ClientID    string `setting:"client_id" help:"Your own OAuth client (app) at HubSpot, with client_secret. The default is the gateway's."`

	Fields adapter.TicketFields `setting:"fields" help:"Values for every new ticket, by the internal name of a ticket property. Text may contain the call's {subject}, {description}, {status}, {priority}, {owner_id}, {account_id} and {contact_id}. Values of the call itself take precedence. The default for source_type is PHONE, if the account offers it."`

	AccessToken  string `credential:"access_token" help:"A service key, or the access token of a private app from before 26 October 2026. It replaces a customer's consent."`
	RefreshToken string `credential:"refresh_token" help:"A refresh token that you already have, of the same OAuth client. With connect-link, the customer's consent gives one instead."`
	ClientSecret string `credential:"client_secret" help:"The secret of client_id."`
}

// Adapter returns the adapter's declaration.
func Adapter() adapter.Adapter {
	return adapter.CRM(adapter.Declaration{
		Name:  name,
		Title: "HubSpot",
		Help: "Tickets of a HubSpot account. A customer connects by consent (connect-link), or by a " +
			"service key with the same scopes. HubSpot makes no new private apps, but their access tokens still work.",
		AuthOf: adapter.AuthBy(func(s settings) (adapter.Auth, error) {
			if s.AccessToken == "" {
				return adapter.Auth{
					Scheme: adapter.OAuth2, OAuth: &adapter.OAuth{API: "api_url", Grant: adapter.GrantOf(grant)},
				}, nil
			}
			if s.RefreshToken != "" || s.ClientID != "" || s.ClientSecret != "" {
				return adapter.Auth{}, fault.InvalidField("credentials.access_token",
					"cannot be combined with a refresh_token, client_id or client_secret; choose one.")
			}
			return adapter.Auth{Scheme: adapter.Bearer, Password: "access_token"}, nil
		}),
		// developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm, "Rate limits".
		Quotas: []adapter.Quota{{
			Name: "searches", PerSecond: searchesPerSecond,
			Counts: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/search") },
		}},
		Operator: &adapter.OperatorKeys{
			Help: "HubSpot. The OAuth client is an app with the redirect URL " +
				"PUBLIC_URL/oauth/callback/hubspot.",
			ClientIDHelp:     "Id of the app. Without it, tenants use their own app or a service key.",
			ClientSecretHelp: "Secret of the app; env:VAR or file:PATH reads it from there.",
			Addresses: []adapter.Address{
				{
					Name: "auth_url", Default: "https://app.hubspot.com/oauth/authorize",
					Help: "Page at which customers give their consent.",
				},
				{
					Name: "token_url", Default: "https://api.hubapi.com/oauth/2026-09/token",
					Help: "Endpoint that issues tokens.",
				},
				{Name: "api_url", Default: "https://api.hubapi.com", Help: "Root of the API."},
			},
		},
	}, open)
}

// scopes are the fewest that all ticket operations need. The scope tickets includes the pipelines and
// properties of tickets. Owners need none: tickets name them by id, and HubSpot itself checks the ids
// (developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/scopes).
var scopes = []adapter.Scope{
	{Name: "oauth"}, // every app has it; the account's details need it
	{Name: "tickets", Words: "See and create tickets"},
	{Name: "crm.objects.contacts.read", Words: "See contacts: who calls, and whom a ticket is about"},
	{Name: "crm.objects.companies.read", Words: "See which company a contact or a ticket belongs to"},
	{Name: "conversations.read", Words: "See the last message to the customer about a ticket", Optional: true},
}

func grant(s settings, at adapter.Addresses) (adapter.Grant, error) {
	return adapter.Grant{Flow: adapter.Consent, AuthURL: at["auth_url"], TokenURL: at["token_url"],
		ClientID: s.ClientID, Scopes: scopes,
		// As a required scope, one that the account's plan does not have would end the consent
		// (developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/oauth/working-with-oauth,
		// "optional_scope").
		Optionals: "optional_scope"}, nil
}

var (
	// versions matches a version: a date, or a date and the word of a beta ("2026-09-beta").
	versions = regexp.MustCompile(`^20[0-9]{2}-[0-9]{2}(-beta)?$`)
	// properties matches property names
	// (developers.hubspot.com/docs/api-reference/latest/crm/properties/guide).
	properties = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
)

// Validate checks the settings.
func (s settings) Validate() []fault.Field {
	faults := s.Fields.Without(map[string]string{
		subjectProperty:  "is set by the call.",
		pipelineProperty: "is set by the connection's pipeline.",
		stageProperty:    "is the call's status, or else the first stage of the pipeline.",
		s.KeyProperty:    "is the connection's key_property, where the gateway keeps the call's key.",
	})
	for _, entry := range slices.Sorted(maps.Keys(s.Fields)) {
		if !properties.MatchString(entry) {
			faults = append(faults, fault.Field{
				Path:    "settings.fields." + entry,
				Message: "must be a property's internal name: lower-case letters, digits and underscores.",
			})
		}
	}
	if !versions.MatchString(s.APIVersion) {
		faults = append(faults, fault.Field{
			Path:    "settings.api_version",
			Message: "must be a version as HubSpot's addresses have it, such as 2026-09.",
		})
	}
	if s.KeyProperty != "" && !properties.MatchString(s.KeyProperty) {
		faults = append(faults, fault.Field{
			Path:    "settings.key_property",
			Message: "must be a property's internal name: lower-case letters, digits and underscores.",
		})
	}
	return faults
}

func open(_ context.Context, s settings, env adapter.Environment) (crm.Driver, error) {
	d := &driver{
		client: env.HTTP, base: strings.TrimSuffix(env.Addresses["api_url"], "/"), version: s.APIVersion,
		pipeline: strings.TrimSpace(s.Pipeline), fields: s.Fields, keyProperty: s.KeyProperty, now: env.Now,
	}
	if s.KeyProperty == "" {
		return d, nil
	}
	return &keyed{driver: d, property: s.KeyProperty}, nil
}
