package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/link"
	"frontdesk/core/service"
)

// Connection is a connection as the admin interface shows it, without its credentials.
type Connection struct {
	ID        string         `json:"id" doc:"Its id, as the log and the audit name it." example:"conn_7f3c"`
	Name      string         `json:"name" doc:"Its name, unique in the tenant." example:"office"`
	Kind      string         `json:"kind" doc:"calendar, crm or telephony." example:"calendar"`
	Provider  string         `json:"provider" doc:"The provider's name, as the list of providers has it." example:"google"`
	Default   bool           `json:"default" doc:"Whether API keys that are bound to no connection of this kind use it."`
	Status    string         `json:"status" doc:"ok, or reconnect_required if a person must act." example:"ok"`
	Email     string         `json:"email" doc:"The account's address as last verified, or empty." example:"office@example.com"`
	Settings  map[string]any `json:"settings" doc:"Its settings, as the provider declares them."`
	CreatedAt time.Time      `json:"created_at" doc:"When it was created."`
}

// Connections is the answer of ListConnections.
type Connections struct {
	Connections []Connection `json:"connections" nullable:"false" doc:"The tenant's connections, by kind and name."`
}

// ConnectionName names a connection of a tenant.
type ConnectionName struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	Name   string `path:"connection" doc:"The connection's name." example:"office"`
}

// NewConnection describes a connection to be created.
type NewConnection struct {
	Tenant string
	connection.Spec
}

// ConnectionChange is a change of a connection.
type ConnectionChange struct {
	ConnectionName
	connection.Change
}

func connectionOf(c connection.Connection) Connection {
	settings := c.Settings
	if settings == nil {
		settings = map[string]any{}
	}
	return Connection{
		ID: c.ID, Name: c.Name, Kind: string(c.Kind), Provider: c.Provider, Default: c.IsDefault,
		Status: string(c.Status), Email: c.Email, Settings: settings, CreatedAt: c.CreatedAt.UTC(),
	}
}

// ListConnections lists the connections of a tenant.
func (s *Service) ListConnections(
	ctx context.Context, c apikey.Caller, tenantName string,
) (Connections, error) {
	answer := Connections{Connections: []Connection{}}
	if err := reaches(c, tenantName); err != nil {
		return answer, err
	}
	all, err := s.opts.Connections.List(ctx, tenantName)
	for _, each := range all {
		answer.Connections = append(answer.Connections, connectionOf(each))
	}
	return answer, err
}

// GetConnection returns a connection.
func (s *Service) GetConnection(ctx context.Context, c apikey.Caller, n ConnectionName) (Connection, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return Connection{}, err
	}
	all, err := s.opts.Connections.List(ctx, n.Tenant)
	if err != nil {
		return Connection{}, err
	}
	at := slices.IndexFunc(all, func(c connection.Connection) bool { return c.Name == n.Name })
	if at < 0 {
		return Connection{}, connection.NotFound(n.Tenant, n.Name)
	}
	return connectionOf(all[at]), nil
}

// CreateConnection creates a connection. It does not ask the provider: VerifyConnection does.
func (s *Service) CreateConnection(
	ctx context.Context, c apikey.Caller, w Write, n NewConnection,
) (service.Answer[Connection], error) {
	if err := reaches(c, n.Tenant); err != nil {
		return service.Answer[Connection]{}, err
	}
	if n.Name == "" {
		n.Name = adapter.DefaultName(n.Provider)
	}
	return once(ctx, s, w, creation[connection.Connection, Connection]{
		operation: "create-connection", input: n,
		create: func(ctx context.Context) (string, connection.Connection, error) {
			made, err := s.opts.Connections.Add(ctx, n.Tenant, n.Spec)
			return "", made, err
		},
		shown: func(_ string, made connection.Connection) Connection { return connectionOf(made) },
	})
}

// ChangeConnection changes a connection.
func (s *Service) ChangeConnection(
	ctx context.Context, c apikey.Caller, n ConnectionChange,
) (Connection, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return Connection{}, err
	}
	changed, err := s.opts.Connections.Update(ctx, n.Tenant, n.Name, n.Change)
	return connectionOf(changed), err
}

// RemoveConnection removes a connection and everything that is kept for it.
func (s *Service) RemoveConnection(ctx context.Context, c apikey.Caller, n ConnectionName) (Done, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Connections.Remove(ctx, n.Tenant, n.Name)
}

// VerifyConnection asks the provider live whether a connection works, and records the result.
func (s *Service) VerifyConnection(
	ctx context.Context, c apikey.Caller, n ConnectionName,
) (connection.Verification, error) {
	if err := reaches(c, n.Tenant); err != nil {
		return connection.Verification{}, err
	}
	return s.opts.Connections.Verify(ctx, n.Tenant, n.Name)
}

// ConnectLink is a link with which a customer connects an account.
type ConnectLink struct {
	URL         string    `json:"url" doc:"What the customer opens. It cannot be read again." example:"https://desk.example.com/connect/fdc_..."`
	Connection  string    `json:"connection" doc:"The name of the connection that it makes or reconnects." example:"google"`
	Reconnects  bool      `json:"reconnects" doc:"Whether the connection exists already."`
	RedirectURI string    `json:"redirect_uri" doc:"The redirect URI that the provider's OAuth client must have." example:"https://desk.example.com/oauth/callback/google"`
	ExpiresAt   time.Time `json:"expires_at" doc:"Until when it can be opened. It ends earlier once it has led to a connection."`
}

// NewLink describes a connect link to be created.
type NewLink struct {
	Tenant string
	link.Spec
}

// CreateLink creates a link with which a customer connects an account by consent.
func (s *Service) CreateLink(
	ctx context.Context, c apikey.Caller, w Write, n NewLink,
) (service.Answer[ConnectLink], error) {
	if err := reaches(c, n.Tenant); err != nil {
		return service.Answer[ConnectLink]{}, err
	}
	if n.Connection.Name == "" {
		n.Connection.Name = adapter.DefaultName(n.Connection.Provider)
	}
	return once(ctx, s, w, creation[link.Link, ConnectLink]{
		operation: "create-connect-link", input: n,
		create: func(ctx context.Context) (string, link.Link, error) {
			return s.opts.Links.Create(ctx, n.Tenant, n.Spec)
		},
		shown: func(token string, made link.Link) ConnectLink {
			return ConnectLink{
				URL: s.opts.ConnectURL(token), Connection: made.Connection, Reconnects: made.Reconnects,
				RedirectURI: s.opts.RedirectURI(made.Callback), ExpiresAt: made.ExpiresAt.UTC(),
			}
		},
	})
}

// Provider is a provider that connections can be made to.
type Provider struct {
	Name    string  `json:"name" doc:"Its name in connections." example:"google"`
	Kind    string  `json:"kind" doc:"calendar, crm or telephony." example:"calendar"`
	Title   string  `json:"title" doc:"Its name for people." example:"Google Calendar"`
	Help    string  `json:"help" doc:"What it connects and what is needed."`
	Sandbox bool    `json:"sandbox" doc:"Whether it is built in and reaches nothing outside."`
	Consent bool    `json:"consent" doc:"Whether a customer can connect it by a link."`
	Fields  []Field `json:"fields" nullable:"false" doc:"The settings and credentials of a connection."`
}

// Field is a setting or a credential of a provider's connections.
type Field struct {
	Name     string   `json:"name" doc:"Its name in settings or credentials." example:"url"`
	Secret   bool     `json:"secret" doc:"Whether it is a credential: sealed in the store, and never shown."`
	Type     string   `json:"type" doc:"text, url, int, bool, duration, list, ints, map, fields, object or objects." example:"url"`
	Choices  []string `json:"choices,omitempty" doc:"The only values that it can have."`
	Default  string   `json:"default,omitempty" doc:"What it is if it is absent."`
	Required bool     `json:"required" doc:"Whether a connection needs it."`
	Help     string   `json:"help" doc:"What it is for."`
	Fields   []Field  `json:"fields,omitempty" doc:"The parts of an object, or of each object in a list."`
}

// Providers is the answer of ListProviders.
type Providers struct {
	Providers []Provider `json:"providers" nullable:"false" doc:"The providers of this gateway, by kind and name."`
}

// ListProviders lists the providers that connections can be made to.
func (s *Service) ListProviders(context.Context, apikey.Caller) (Providers, error) {
	answer := Providers{Providers: []Provider{}}
	for _, a := range s.opts.Registry.All() {
		answer.Providers = append(answer.Providers, Provider{
			Name: a.Name, Kind: string(a.Kind), Title: a.Title, Help: a.Help, Sandbox: a.Sandbox,
			Consent: a.MayConsent(), Fields: fieldsOf(a.Fields),
		})
	}
	slices.SortStableFunc(answer.Providers, func(a, b Provider) int {
		kind := func(p Provider) int { return slices.Index(adapter.Kinds(), adapter.Kind(p.Kind)) }
		return cmp.Or(kind(a)-kind(b), strings.Compare(a.Name, b.Name))
	})
	return answer, nil
}

func fieldsOf(declared []adapter.Field) []Field {
	fields := []Field{}
	for _, f := range declared {
		fields = append(fields, Field{
			Name: f.Name, Secret: f.Secret, Type: f.Type, Choices: f.Choices, Default: f.Default,
			Required: f.Required, Help: f.Help, Fields: fieldsOf(f.Fields),
		})
	}
	return fields
}
