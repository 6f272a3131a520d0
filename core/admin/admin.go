// Package admin manages the gateway by program: tenants, connections, connect links, API keys, phone numbers
// and the audit. It is the use cases of the admin interface (core/api) over the directories that the command
// line uses too, with the rules of who may see and do what:
//
//	made, err := admin.CreateKey(ctx, caller, admin.NewKey{Tenant: "acme", Label: "agent"})
//
// The operator's keys reach everything. A tenant's keys reach what belongs to the tenant; to them, all other
// tenants do not exist.
package admin

import (
	"context"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/link"
	"frontdesk/core/requestlog"
	"frontdesk/core/service"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/webhook"
)

// ReasonOperatorOnly is the reason of the fault if a tenant's key asks for what is the operator's.
const ReasonOperatorOnly = "OPERATOR_ONLY"

// Options configure a [Service]. All fields are required.
type Options struct {
	Registry    adapter.Registry
	Store       *store.Store
	Tenants     *tenant.Directory
	Connections *connection.Directory
	Keys        *apikey.Directory
	Links       *link.Directory
	Callers     *apikey.Callers
	Numbers     *service.Numbers
	Calendar    *service.Calendar
	Audit       *audit.Log
	Webhooks    *webhook.Directory
	Requests    *requestlog.Log
	Sealer      Sealer
	Breaker     func(connectionID string) string // the state of a connection's circuit breaker in this process

	// Breakers returns the breakers of a connection, and of its provider's host, that are not closed at some
	// replica.
	Breakers    func(ctx context.Context, c connection.Connection) ([]store.Breaker, error)
	Now         func() time.Time
	KeepAnswers time.Duration                // how long an answer to an Idempotency-Key is kept
	ConnectURL  func(token string) string    // the URL of a connect link
	RedirectURI func(callback string) string // the URI to register at the provider
	AgentURL    func(platform, id string) string
	Operations  []string // the ids of the operations that the log of requests has
}

// Service is the use cases of the admin interface. It is safe for concurrent use. Create it with [New].
type Service struct{ opts Options }

// New returns a Service.
func New(o Options) *Service { return &Service{o} }

// Done is the answer of a use case that has none.
type Done struct{}

// reaches fails as for an unknown tenant if the caller's key is another tenant's.
func reaches(c apikey.Caller, tenantName string) error {
	if c.Tenant.ID != "" && c.Tenant.Name != tenantName {
		return tenant.NotFound(tenantName)
	}
	return nil
}

// isOperator fails if the caller's key is a tenant's.
func isOperator(c apikey.Caller) error {
	if c.Tenant.ID != "" {
		return fault.New(fault.Forbidden, ReasonOperatorOnly,
			"Only a key of the operator may do this. This key is for one tenant.")
	}
	return nil
}

// when returns a time in UTC, or nil for the zero time.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
