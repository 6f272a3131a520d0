package api

import (
	"fmt"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/link"
	"frontdesk/core/service"
)

// Admin is the service of the admin operations.
type Admin = *admin.Service

// tenantPath names a tenant in the path.
type tenantPath struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
}

func (r tenantPath) input(*checks) string { return r.Tenant }

// exportQuery asks for a page of what is kept for a tenant.
type exportQuery struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	After  string `json:"-" query:"after" doc:"Only what follows another page, which the same key got within a day of the first: its next." example:"AgEAAABx7s2fKq"`
	Limit  int    `json:"-" query:"limit" doc:"How many records at most, up to 500. The default is 100." example:"100"`
}

func (r exportQuery) input(c *checks) admin.ExportQuery {
	c.limit(r.Limit, admin.MaxExportLimit)
	return admin.ExportQuery(r)
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
	Tenant   string         `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Settings map[string]any `json:"settings,omitempty" doc:"Settings to change, by name; null means the default. Absent ones stay."`
}

func (r TenantChange) input(*checks) admin.TenantSpec {
	return admin.TenantSpec{Name: r.Tenant, Settings: r.Settings}
}

// ConnectionCreation is the body of creating a connection.
type ConnectionCreation struct {
	Tenant      string            `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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

// connectionPath names a connection in the path.
type connectionPath struct {
	Tenant     string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Connection string `json:"-" path:"connection" doc:"The connection's name." example:"office"`
}

func (r connectionPath) input(*checks) admin.ConnectionName {
	return admin.ConnectionName{Tenant: r.Tenant, Name: r.Connection}
}

// ConnectionChange is the body of changing a connection.
type ConnectionChange struct {
	Tenant      string            `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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
	Tenant       string         `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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
	Tenant      string   `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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
	Tenant      string            `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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
	Tenant      string            `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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

// agentPath names a voice agent in the path.
type agentPath struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Agent  string `json:"-" path:"agent" doc:"The agent's id." example:"agent_7f3c"`
}

func (r agentPath) input(*checks) admin.AgentName {
	return admin.AgentName{Tenant: r.Tenant, ID: r.Agent}
}

// keyPath names an API key in the path.
type keyPath struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Key    string `json:"-" path:"key" doc:"The key's id." example:"key_7f3c"`
}

func (r keyPath) input(*checks) admin.KeyID { return admin.KeyID{Tenant: r.Tenant, ID: r.Key} }

// KeyRoll is the body of rolling an API key.
type KeyRoll struct {
	Tenant  string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
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
	Tenant     string  `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	AreaCode   string  `json:"area_code" need:"true" pattern:"^[2-9][0-9]{2}$" doc:"NANP area code, assigned and geographic." example:"415"`
	Connection string  `json:"connection,omitempty" bytes:"63" doc:"The telephony connection. The default is the tenant's default one." example:"twilio"`
	Name       *string `json:"name,omitempty" doc:"Display name, 1 to 64 characters after trimming. The default is the number itself." example:"Front office"`
	Inbound    *int64  `json:"inbound_cloud_employee_id,omitempty" doc:"Cloud employee to handle inbound calls." example:"7"`
	Outbound   *int64  `json:"outbound_cloud_employee_id,omitempty" doc:"Cloud employee to handle outbound calls." example:"7"`
}

func (r NumberPurchase) input(c *checks) admin.NumberPurchase {
	n := admin.NumberPurchase{Tenant: r.Tenant, Connection: r.Connection}
	n.AreaCode, n.Inbound, n.Outbound = c.areaCode("area_code", r.AreaCode), r.Inbound, r.Outbound
	if name := c.displayName(r.Name); name != nil {
		n.Name = *name
	}
	return n
}

// NumberChange is the body of changing a tenant's phone number. It is a merge: absent fields stay unchanged.
type NumberChange struct {
	Tenant   string   `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	ID       int64    `json:"-" path:"id" doc:"The phone number's id." example:"4711"`
	Name     *string  `json:"name,omitempty" doc:"New display name, 1 to 64 characters after trimming." example:"Night line"`
	Inbound  employee `json:"inbound_cloud_employee_id,omitzero" doc:"Cloud employee to handle inbound calls; null unassigns." example:"7"`
	Outbound employee `json:"outbound_cloud_employee_id,omitzero" doc:"Cloud employee to handle outbound calls; null unassigns." example:"7"`
}

func (r NumberChange) input(c *checks) admin.NumberChange {
	return admin.NumberChange{Tenant: r.Tenant, UpdateNumber: service.UpdateNumber{
		ID: r.ID, Name: c.displayName(r.Name), Inbound: service.EmployeeChange(r.Inbound),
		Outbound: service.EmployeeChange(r.Outbound),
	}}
}

// NumberAdoption is the body of adopting a phone number.
type NumberAdoption struct {
	Tenant     string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	E164       string `json:"e164" need:"true" bytes:"16" doc:"The number, which the connection's account holds already." example:"+14155550123"`
	Connection string `json:"connection,omitempty" bytes:"63" doc:"The telephony connection. The default is the tenant's default one." example:"twilio"`
}

func (r NumberAdoption) input(*checks) admin.HeldNumber {
	return admin.HeldNumber{Tenant: r.Tenant, Connection: r.Connection, E164: r.E164}
}

// adminNumberPath names a tenant's phone number in the path.
type adminNumberPath struct {
	Tenant string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     int64  `json:"-" path:"id" doc:"The phone number's id." example:"4711"`
}

func (r adminNumberPath) input(*checks) admin.NumberID { return admin.NumberID(r) }

// AdminKeyCreation is the body of creating a key of the admin interface.
type AdminKeyCreation struct {
	Role   string `json:"role" need:"true" bytes:"63" doc:"viewer sees everything but secrets; admin changes it, too." example:"viewer"`
	Tenant string `json:"tenant,omitempty" bytes:"63" doc:"The tenant that it is limited to. The default is none: it is the operator's." example:"acme"`
	Label  string `json:"label,omitempty" bytes:"200" doc:"What the key is for." example:"platform"`
}

func (r AdminKeyCreation) input(*checks) admin.NewAdminKey {
	return admin.NewAdminKey{Tenant: r.Tenant, Role: apikey.Role(r.Role), Label: r.Label}
}

// AdminKeyRoll is the body of rolling a key of the admin interface.
type AdminKeyRoll struct {
	Key     string `json:"-" path:"key" doc:"The key's id." example:"key_7f3c"`
	Overlap string `json:"overlap,omitempty" bytes:"32" doc:"How long the key stays valid beside the new one, from 0 to 720h. The default is 24h." example:"24h"`
}

func (r AdminKeyRoll) input(c *checks) admin.RollKey {
	return admin.RollKey{KeyID: admin.KeyID{ID: r.Key}, Overlap: c.duration("overlap", r.Overlap)}
}

// adminKeyPath names a key of the admin interface in the path.
type adminKeyPath struct {
	Key string `json:"-" path:"key" doc:"The key's id." example:"key_7f3c"`
}

func (r adminKeyPath) input(*checks) string { return r.Key }

// auditQuery selects changes in the query.
type auditQuery struct {
	Tenant string `json:"-" query:"tenant" doc:"Only changes of this tenant." example:"acme"`
	Action string `json:"-" query:"action" doc:"Only changes of this kind. Of what callers do, such as book-meeting, the newest 100,000 changes are looked through." example:"create-key"`
	Limit  int    `json:"-" query:"limit" doc:"How many at most, up to 1000. The default is 100." example:"100"`
}

func (r auditQuery) input(c *checks) admin.AuditQuery {
	c.limit(r.Limit, admin.MaxAuditLimit)
	return admin.AuditQuery(r)
}

// requestQuery selects requests of a tenant in the query.
type requestQuery struct {
	Tenant         string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	RequestID      string `json:"-" query:"request_id" doc:"Only requests with this X-Request-Id." example:"01JABCDEF"`
	KeyID          string `json:"-" query:"key_id" doc:"Only requests of this API key." example:"key_7f3c"`
	Connection     string `json:"-" query:"connection" doc:"Only requests that use the connection of this name." example:"office"`
	Operation      string `json:"-" query:"operation" doc:"Only requests for this operation." example:"bookMeeting"`
	IdempotencyKey string `json:"-" query:"idempotency_key" doc:"Only requests with this Idempotency-Key." example:"call-7f3c"`
	Outcome        string `json:"-" query:"outcome" doc:"ok: only those that succeeded; failed: only the others." example:"failed"`
	Reason         string `json:"-" query:"reason" doc:"Only requests that failed for this reason." example:"SLOT_TAKEN"`
	Before         string `json:"-" query:"before" doc:"Only requests that are older than the one with this id: next of the page before." example:"K7Q2"`
	Limit          int    `json:"-" query:"limit" doc:"How many at most, up to 500. The default is 50." example:"50"`
}

func (r requestQuery) input(c *checks) admin.RequestQuery {
	c.limit(r.Limit, admin.MaxRequestLimit)
	if r.Outcome != "" && r.Outcome != admin.OutcomeOK && r.Outcome != admin.OutcomeFailed {
		c.fail(prefixOfQuery+"outcome", "must be ok or failed")
	}
	return admin.RequestQuery(r)
}

// requestPath names a request of a tenant in the path.
type requestPath struct {
	Tenant  string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Request string `json:"-" path:"request" doc:"The request's id in the log." example:"K7Q2"`
}

func (r requestPath) input(*checks) admin.RequestName {
	return admin.RequestName{Tenant: r.Tenant, ID: r.Request}
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
