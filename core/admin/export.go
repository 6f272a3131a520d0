package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/vault"
)

// ExportFormat names the format of exported records. It changes when their meaning does.
const ExportFormat = "frontdesk-tenant/1"

const (
	defaultExportLimit = 100
	// MaxExportLimit is how many records one answer of ExportTenant can have.
	MaxExportLimit = 500

	// exportLife is how long the pages of an export follow the first one, which the audit has.
	exportLife = 24 * time.Hour

	actionExport = "export-tenant"
)

// exportPosition is where an export goes on.
type exportPosition struct {
	store.ExportMark

	Began time.Time `json:"began"`
}

// Sealer seals the position of an export. [*vault.Vault] implements it.
type Sealer interface {
	SealColumn(table, column string, row []string, plain []byte) ([]byte, error)
	OpenColumn(table, column string, row []string, sealed []byte) ([]byte, error)
}

// ExportRecord is something that is kept for a tenant.
type ExportRecord struct {
	Record string         `json:"record" doc:"What it is: tenant, connection, tokens, provider_health, connect_link, key, session, webhook, delivery, number, purchase, hold, slot, meeting, event, ticket, document, call, request or audit." example:"connection"`
	Fields map[string]any `json:"fields" doc:"What is kept of it, by name. Fields without a value are absent."`
}

// Export is a page of an export.
type Export struct {
	Format  string         `json:"format" doc:"The format of the records." example:"frontdesk-tenant/1"`
	Records []ExportRecord `json:"records" nullable:"false" doc:"The records, those of one kind together."`
	Next    string         `json:"next,omitempty" doc:"The value of after for the records that follow. Absent: there are none."`
}

// ExportQuery asks for a page of an export.
type ExportQuery struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	After  string `query:"after" doc:"Only what follows another page, which the same key got within a day of the first: its next." example:"AgEAAABx7s2fKq"`
	Limit  int    `query:"limit" doc:"How many records at most, up to 500. The default is 100." example:"100"`
}

// ExportTenant returns everything that is kept for a tenant, page by page, but for secrets: credentials,
// tokens, the keys themselves and the signing secrets of webhooks. The first page is recorded in the audit. The
// others follow it only: their positions are sealed for the tenant and the key.
func (s *Service) ExportTenant(ctx context.Context, c apikey.Caller, q ExportQuery) (Export, error) {
	page := Export{Format: ExportFormat, Records: []ExportRecord{}}
	of, err := s.tenant(ctx, c, q.Tenant)
	if err != nil {
		return page, err
	}
	from := exportPosition{Began: s.opts.Now()}
	if q.After != "" {
		if from, err = s.openMark(of.ID, c.KeyID, q.After); err != nil {
			return page, err
		}
	} else if err := s.opts.Audit.Record(ctx, audit.Entry{
		TenantID: of.ID, Tenant: of.Name, Action: actionExport, Subject: of.ID, Outcome: audit.Done,
	}); err != nil {
		return page, err
	}
	if q.Limit == 0 {
		q.Limit = defaultExportLimit
	}
	rows, next, err := s.opts.Store.TenantRecords(ctx, of.ID, from.ExportMark, q.Limit)
	if err != nil {
		return page, err
	}
	for _, row := range rows {
		page.Records = append(page.Records, ExportRecord(row))
	}
	if next != nil {
		page.Next, err = s.sealMark(of.ID, c.KeyID, exportPosition{*next, from.Began})
	}
	return page, err
}

// sealMark returns a position as text. Nobody else can make one, so that no export begins behind the page that is
// recorded.
func (s *Service) sealMark(tenantID, keyID string, m exportPosition) (string, error) {
	plain, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	sealed, err := s.opts.Sealer.SealColumn("export", "position", []string{tenantID, keyID}, plain)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

func (s *Service) openMark(tenantID, keyID, text string) (m exportPosition, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		sealed, err = s.opts.Sealer.OpenColumn("export", "position", []string{tenantID, keyID}, sealed)
	}
	if err == nil {
		err = json.Unmarshal(sealed, &m)
	}
	if vault.IsAway(err) { // the position may be right
		return m, err
	}
	if err != nil || s.opts.Now().Sub(m.Began) > exportLife {
		return m, fault.InvalidField("query.after", "must be next of the page before, which the same key got, of an export "+
			"that began within a day. Without after, an export begins")
	}
	return m, nil
}
