package api

import (
	"fmt"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/link"
)

// Admin is the service of the admin operations.
type Admin = *admin.Service

// tenantPath names a tenant in the path.
type tenantPath struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
}

func (r tenantPath) input(*checks) string { return r.Tenant }

// asGiven is for requests that are declared in core/admin, and have nothing to be checked here.
func asGiven[T any](in T, _ *checks) T { return in }

func exportQuery(q admin.ExportQuery, c *checks) admin.ExportQuery {
	c.limit(q.Limit, admin.MaxExportLimit)
	return q
}

// TenantCreation is the body of creating a tenant.
type TenantCreation struct {
	Name     string         `json:"name" need:"true" bytes:"63" doc:"Lower-case letters, digits and hyphens." example:"acme"`
	Settings map[string]any `json:"settings,omitempty" doc:"Its settings, by name. Absent ones have their defaults."`
}

func (r TenantCreation) input(*checks) admin.TenantSpec {
	return admin.TenantSpec{Name: r.Name, Settings: r.Settings}
}

// TenantChange is the body of changing a tenant.
type TenantChange struct {
	tenantPath
	Settings map[string]any `json:"settings,omitempty" doc:"Settings to change, by name; null means the default. Absent ones stay."`
}

func (r TenantChange) input(*checks) admin.TenantSpec {
	return admin.TenantSpec{Name: r.Tenant, Settings: r.Settings}
}

// ConnectionCreation is the body of creating a connection.
type ConnectionCreation struct {
	tenantPath
	Name        string            `json:"name,omitempty" bytes:"63" doc:"Its name, unique in the tenant. The default is the provider's name." example:"office"`
	Kind        string            `json:"kind" need:"true" bytes:"63" doc:"calendar, crm or telephony." example:"calendar"`
	Provider    string            `json:"provider" need:"true" bytes:"63" doc:"The provider's name, as the list of providers has it." example:"caldav"`
	Default     bool              `json:"default,omitempty" doc:"Make it the tenant's default connection of this kind. The first of a kind always is."`
	Settings    map[string]any    `json:"settings,omitempty" doc:"Its settings, as the provider declares them."`
	Credentials map[string]string `json:"credentials,omitempty" doc:"Its credentials, as the provider declares them. They are sealed, and never shown."`
}

func (r ConnectionCreation) input(*checks) admin.NewConnection {
	return admin.NewConnection{Tenant: r.Tenant, Spec: connection.Spec{
		Name: r.Name, Kind: adapter.Kind(r.Kind), Provider: r.Provider, Default: r.Default, Settings: r.Settings,
		Credentials: r.Credentials,
	}}
}

// ConnectionChange is the body of changing a connection.
type ConnectionChange struct {
	tenantPath
	Connection  string            `json:"-" path:"connection" doc:"The connection's name." example:"office"`
	Default     bool              `json:"default,omitempty" doc:"true makes it the tenant's default connection of its kind."`
	Settings    map[string]any    `json:"settings,omitempty" doc:"Replaces all settings."`
	Credentials map[string]string `json:"credentials,omitempty" doc:"Replaces all credentials, and lets a connection that must be reconnected be tried again."`
}

func (r ConnectionChange) input(*checks) admin.ConnectionChange {
	return admin.ConnectionChange{
		ConnectionName: admin.ConnectionName{Tenant: r.Tenant, Name: r.Connection},
		Change:         connection.Change{Default: r.Default, Settings: r.Settings, Credentials: r.Credentials},
	}
}

// ConnectLinkCreation is the body of creating a connect link.
type ConnectLinkCreation struct {
	tenantPath
	Name         string         `json:"name,omitempty" bytes:"63" doc:"The connection's name; the default is the provider's. One that exists is reconnected." example:"office"`
	Kind         string         `json:"kind" need:"true" bytes:"63" doc:"calendar, crm or telephony." example:"calendar"`
	Provider     string         `json:"provider" need:"true" bytes:"63" doc:"The provider's name, as the list of providers has it." example:"google"`
	Default      bool           `json:"default,omitempty" doc:"Make it the tenant's default connection of this kind."`
	Settings     map[string]any `json:"settings,omitempty" doc:"Settings that the connection gets. Others of an existing one stay."`
	Expires      string         `json:"expires,omitempty" bytes:"32" doc:"How long the link can be opened, from 1m to 720h. The default is 24h." example:"24h"`
	ReturnURL    string         `json:"return_url,omitempty" bytes:"2048" doc:"Where the customer goes once the consent is over, with connection, outcome (connected or failed) and reason in the query. It must lie below one of the gateway's pages.return_urls." example:"https://platform.example.com/connections"`
	OtherAccount bool           `json:"other_account,omitempty" doc:"Let the customer choose another account for an existing connection."`
}

func (r ConnectLinkCreation) input(c *checks) admin.NewLink {
	s := link.Spec{OtherAccount: r.OtherAccount, ReturnURL: r.ReturnURL, Connection: connection.Spec{
		Name: r.Name, Kind: adapter.Kind(r.Kind), Provider: r.Provider, Default: r.Default, Settings: r.Settings,
	}}
	if life := c.duration("expires", r.Expires); life != nil {
		s.Life = *life
	}
	return admin.NewLink{Tenant: r.Tenant, Spec: s}
}

// KeyCreation is the body of creating an API key.
type KeyCreation struct {
	tenantPath
	Label       string   `json:"label,omitempty" bytes:"200" doc:"What the key is for." example:"agent"`
	Scopes      []string `json:"scopes,omitempty" bytes:"63" doc:"What it may do. The default is everything." example:"[\"calendar:read\"]"`
	Connections []string `json:"connections,omitempty" bytes:"63" doc:"Names of connections to bind it to, at most one of each kind. Other kinds use the defaults." example:"[\"office\"]"`
	Test        bool     `json:"test,omitempty" doc:"Make a key that reaches sandbox connections only."`
}

func (r KeyCreation) input(*checks) admin.NewKey {
	return admin.NewKey{Tenant: r.Tenant, Spec: apikey.Spec{
		Label: r.Label, Test: r.Test, Connections: r.Connections, Scopes: scopesOf(r.Scopes),
	}}
}

func scopesOf(names []string) (scopes []apikey.Scope) {
	for _, name := range names {
		scopes = append(scopes, apikey.Scope(name))
	}
	return scopes
}

// AgentCreation is the body of creating a voice agent.
type AgentCreation struct {
	tenantPath
	Name        string            `json:"name,omitempty" bytes:"63" doc:"The agent's name, unique in the tenant. The default is the platform's." example:"reception"`
	Platform    string            `json:"platform" need:"true" bytes:"63" doc:"vapi, retell, elevenlabs, telnyx, or tools for another platform that posts plain JSON." example:"retell"`
	Credentials *AgentCredentials `json:"credentials,omitempty" doc:"What the platform proves itself with."`
	Scopes      []string          `json:"scopes,omitempty" bytes:"63" doc:"What it may do. The default is everything." example:"[\"calendar:read\"]"`
	Connections []string          `json:"connections,omitempty" bytes:"63" doc:"Names of connections to bind it to, at most one of each kind. Other kinds use the defaults." example:"[\"office\"]"`
	Test        bool              `json:"test,omitempty" doc:"Make an agent that reaches sandbox connections only."`
}

// AgentCredentials is what a platform proves itself with.
type AgentCredentials struct {
	Signing string `json:"signing,omitempty" bytes:"1024" doc:"What the platform signs its requests with (Retell: the account's API key; Vapi: the secret key of an HMAC credential), or sends as a bearer token. Without it, requests need an API key of the tenant." example:"key_..."`
}

func (r AgentCreation) input(*checks) admin.NewAgent {
	s := apikey.AgentSpec{
		Spec: apikey.Spec{
			Label: r.Name, Test: r.Test, Connections: r.Connections, Scopes: scopesOf(r.Scopes),
		},
		Platform: r.Platform,
	}
	if r.Credentials != nil {
		s.Signing = r.Credentials.Signing
	}
	return admin.NewAgent{Tenant: r.Tenant, AgentSpec: s}
}

// AgentChange is the body of changing a voice agent.
type AgentChange struct {
	tenantPath
	Agent       string            `json:"-" path:"agent" doc:"The agent's id." example:"agent_7f3c"`
	Credentials *AgentCredentials `json:"credentials,omitempty" doc:"What the platform proves itself with."`
	Scopes      []string          `json:"scopes,omitempty" bytes:"63" doc:"What it may do." example:"[\"calendar:read\"]"`
	Connections []string          `json:"connections,omitempty" bytes:"63" doc:"Names of connections to bind it to, at most one of each kind; none for the defaults." example:"[\"office\"]"`
}

func (r AgentChange) input(*checks) admin.AgentChange {
	n := admin.AgentChange{AgentName: admin.AgentName{Tenant: r.Tenant, ID: r.Agent}}
	n.Connections, n.Scopes = r.Connections, scopesOf(r.Scopes)
	if r.Credentials != nil {
		n.Signing = &r.Credentials.Signing
	}
	return n
}

// KeyRoll is the body of rolling an API key.
type KeyRoll struct {
	tenantPath
	Key     string `json:"-" path:"key" doc:"The key's id." example:"key_7f3c"`
	Overlap string `json:"overlap,omitempty" bytes:"32" doc:"How long the key stays valid beside the new one, from 0 to 720h. The default is 24h." example:"24h"`
}

func (r KeyRoll) input(c *checks) admin.RollKey {
	return admin.RollKey{
		KeyID: admin.KeyID{Tenant: r.Tenant, ID: r.Key}, Overlap: c.duration("overlap", r.Overlap),
	}
}

// NumberPurchase is the body of buying a phone number for a tenant.
type NumberPurchase struct {
	tenantPath
	BuyPhoneNumberRequest
	Connection string `json:"connection,omitempty" bytes:"63" doc:"The telephony connection. The default is the tenant's default one." example:"twilio"`
}

func (r NumberPurchase) input(c *checks) admin.NumberPurchase {
	return admin.NumberPurchase{
		Tenant: r.Tenant, Connection: r.Connection, BuyNumber: r.BuyPhoneNumberRequest.input(c),
	}
}

// NumberChange is the body of changing a tenant's phone number. It is a merge: absent fields stay unchanged.
type NumberChange struct {
	tenantPath
	UpdatePhoneNumberRequest
}

func (r NumberChange) input(c *checks) admin.NumberChange {
	return admin.NumberChange{Tenant: r.Tenant, UpdateNumber: r.UpdatePhoneNumberRequest.input(c)}
}

// NumberAdoption is the body of adopting a phone number.
type NumberAdoption struct {
	tenantPath
	E164       string `json:"e164" need:"true" bytes:"16" doc:"The number, which the connection's account holds already." example:"+14155550123"`
	Connection string `json:"connection,omitempty" bytes:"63" doc:"The telephony connection. The default is the tenant's default one." example:"twilio"`
}

func (r NumberAdoption) input(*checks) admin.HeldNumber {
	return admin.HeldNumber{Tenant: r.Tenant, Connection: r.Connection, E164: r.E164}
}

// AdminKeyCreation is the body of creating a key of the admin interface.
type AdminKeyCreation struct {
	Role   string `json:"role" need:"true" bytes:"63" doc:"viewer sees everything but secrets; admin changes it, too." example:"viewer"`
	Tenant string `json:"tenant,omitempty" bytes:"63" doc:"The tenant that it is limited to. The default is none: it is the operator's." example:"acme"`
	Label  string `json:"label,omitempty" bytes:"200" doc:"What the key is for." example:"platform"`
}

func (r AdminKeyCreation) input(*checks) admin.NewAdminKey {
	return admin.NewAdminKey{Tenant: r.Tenant, Role: apikey.Role(r.Role), Label: r.Label}
}

// AdminKeyRoll is the body of rolling a key of the admin interface. Its path names no tenant.
type AdminKeyRoll struct{ KeyRoll }

// adminKeyPath names a key of the admin interface in the path.
type adminKeyPath struct {
	Key string `json:"-" path:"key" doc:"The key's id." example:"key_7f3c"`
}

func (r adminKeyPath) input(*checks) string { return r.Key }

func auditQuery(q admin.AuditQuery, c *checks) admin.AuditQuery {
	c.limit(q.Limit, admin.MaxAuditLimit)
	return q
}

func requestQuery(q admin.RequestQuery, c *checks) admin.RequestQuery {
	c.limit(q.Limit, admin.MaxRequestLimit)
	if q.Outcome != "" && q.Outcome != admin.OutcomeOK && q.Outcome != admin.OutcomeFailed {
		c.fail(prefixOfQuery+"outcome", "must be ok or failed")
	}
	return q
}

// limit checks how many records a query asks for at most; 0 means the default.
func (c *checks) limit(given, most int) {
	if given < 0 || given > most {
		c.fail(prefixOfQuery+"limit", fmt.Sprintf("must be from 1 to %d", most))
	}
}

// duration parses a duration such as "24h". It returns nil if there is none, or it is invalid.
func (c *checks) duration(path, given string) *time.Duration {
	if given == "" {
		return nil
	}
	d, err := time.ParseDuration(given)
	if err != nil || d < 0 {
		c.fail(path, `must be a duration such as "24h" or "30m"`)
		return nil
	}
	return &d
}
