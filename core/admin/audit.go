package admin

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
)

// AuditEntry is a change that the audit records.
type AuditEntry struct {
	At           time.Time `json:"at" doc:"When it was made."`
	Tenant       string    `json:"tenant,omitempty" doc:"The tenant's name." example:"acme"`
	Actor        string    `json:"actor" doc:"Who made it: key:ID, operator:COMMAND, consent or the gateway itself." example:"key:key_7f3c"`
	Action       string    `json:"action" doc:"What was done." example:"book-meeting"`
	ConnectionID string    `json:"connection_id,omitempty" doc:"The connection it was made through, or is about."`
	Subject      string    `json:"subject,omitempty" doc:"What was changed: the provider's id, a key's id, a connection's name."`
	Changed      []string  `json:"changed,omitempty" doc:"The names of what was changed, never the values."`
	Outcome      string    `json:"outcome" doc:"done, failed:REASON or unknown:REASON." example:"done"`
	RequestID    string    `json:"request_id,omitempty" doc:"The request that made it."`
}

// AuditEntries is the answer of ListAudit.
type AuditEntries struct {
	Entries []AuditEntry `json:"entries" nullable:"false" doc:"The newest changes that match, the oldest of them first."`
}

// AuditQuery selects changes.
type AuditQuery struct {
	Tenant string `query:"tenant" doc:"Only changes of this tenant." example:"acme"`
	Action string `query:"action" doc:"Only changes of this kind. Of what callers do, such as book-meeting, the newest 100,000 changes are looked through." example:"create-key"`
	Limit  int    `query:"limit" doc:"How many at most, up to 1000. The default is 100." example:"100"`
}

const (
	defaultAuditLimit = 100
	// MaxAuditLimit is how many changes one answer can have.
	MaxAuditLimit = 1000
)

// ListAudit lists the newest changes.
func (s *Service) ListAudit(ctx context.Context, c apikey.Caller, q AuditQuery) (AuditEntries, error) {
	answer := AuditEntries{Entries: []AuditEntry{}}
	filter := store.AuditFilter{Tenant: q.Tenant, TenantID: c.Tenant.ID, Action: q.Action, Limit: q.Limit}
	if q.Tenant != "" {
		if err := reaches(c, q.Tenant); err != nil {
			return answer, err
		}
	}
	if filter.Tenant == "" {
		filter.Tenant = c.Tenant.Name // the index of a tenant's rows is that of its name
	}
	if filter.Limit == 0 {
		filter.Limit = defaultAuditLimit
	}
	rows, err := tenant.Changes(ctx, s.opts.Store, filter, "query.action")
	for _, r := range rows {
		answer.Entries = append(answer.Entries, AuditEntry{
			At: r.At.UTC(), Tenant: r.Tenant, Actor: r.Actor, Action: r.Action, ConnectionID: r.ConnectionID,
			Subject: r.Subject, Changed: r.Changed, Outcome: r.Outcome, RequestID: r.RequestID,
		})
	}
	return answer, err
}
