package store

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// exported describes the rows of a table that are a tenant's.
type exported struct {
	record string // what a row is called
	from   string // what follows FROM; the tenant's id is $1
	// keys are the columns that order the rows and tell them apart. If values are sealed, they are those that
	// the values are bound to.
	keys   []string
	fields string // the columns to export, each with its kind, if it is not itself
	sealed sealedTable
}

// The kinds of columns in exported.fields.
const (
	kindTime   = "time"   // milliseconds since 1970, exported as in RFC 3339
	kindJSON   = "json"   // a JSON text
	kindSealed = "sealed" // a column of exported.sealed with a JSON text
	kindWords  = "words"  // words between spaces, exported as a list
)

// exports are all tables with rows of tenants. Columns with credentials, seals and hashes of secrets are left
// out, and so are those that only order the work of processes.
var exports = []exported{
	{record: "tenant", from: "tenants WHERE id = $1", keys: []string{"id"},
		fields: "id name settings:json created_at:time"},
	{record: "connection", from: "connections WHERE tenant_id = $1", keys: []string{"id"},
		fields: "id name kind provider is_default settings:json status email revision created_at:time"},
	{record: "tokens", from: "tokens WHERE tenant_id = $1", keys: []string{"connection_id"},
		fields: "connection_id refresh_at:time refused failures"},
	{record: "provider_health", keys: []string{"connection_id"}, fields: "connection_id down changed_at:time",
		from: "provider_health WHERE connection_id IN (SELECT id FROM connections WHERE tenant_id = $1)"},
	{record: "connect_link", from: "connect_links WHERE tenant_id = $1", keys: []string{"hash"},
		fields: "connection_id reconnects kind provider name settings:json is_default other_account return_url " +
			"created_at:time expires_at:time used_at:time"},
	{record: "key", from: "api_keys WHERE tenant_id = $1", keys: []string{"id"},
		fields: "id prefix label platform scopes:json connections:json test created_at:time revoked_at:time " +
			"last_used_at:time ends_at:time"},
	{record: "session", from: "sessions WHERE tenant_id = $1", keys: []string{"hash"},
		fields: "person expires_at:time"},
	{record: "webhook", from: "webhooks WHERE tenant_id = $1", keys: []string{"id"},
		fields: "id url types:words created_at:time disabled_at:time"},
	{record: "delivery", keys: []string{"webhook_id", "id"}, sealed: sealedDeliveries,
		fields: "id webhook_id connection_id type payload:sealed state attempts status reason created_at:time ended_at:time",
		from:   "deliveries WHERE connection_id IN (SELECT id FROM connections WHERE tenant_id = $1)"},
	{record: "number", from: "numbers WHERE tenant_id = $1", keys: []string{"id"},
		fields: "id connection_id ref e164 name inbound outbound created_at:time release_at:time released_at:time"},
	{record: "purchase", from: "purchases WHERE tenant_id = $1", keys: []string{"id"},
		fields: "id connection_id state e164 refusal created_at:time"},
	{record: "hold", keys: []string{"id"},
		fields: "id connection_id calendar_id starts_at:time ends_at:time event_id moves valid_until:time",
		from:   "holds WHERE connection_id IN (SELECT id FROM connections WHERE tenant_id = $1)"},
	{record: "slot", from: "slots_offered WHERE tenant_id = $1", keys: []string{"connection_id", "id"},
		fields: "id connection_id starts_at:time ends_at:time calendar_ids:json offered_at:time time_zone " +
			"availability buffer_before buffer_after tentative_is_free rules:json"},
	{record: "meeting", from: "meetings WHERE tenant_id = $1",
		keys:   []string{"connection_id", "reference", "person"},
		fields: "connection_id reference event_id calendar_id ends_at:time"},
	{record: "event", from: "events_seen WHERE tenant_id = $1", keys: []string{"connection_id", "event_id"},
		fields: "connection_id event_id calendar_id gone updated_at:time"},
	{record: "ticket", from: "tickets_seen WHERE tenant_id = $1", keys: []string{"connection_id", "number"},
		fields: "connection_id number ticket_id created_at:time"},
	{record: "document", keys: []string{"connection_id", "key"}, sealed: sealedDocuments,
		fields: "connection_id value:sealed",
		from:   "documents WHERE connection_id IN (SELECT id FROM connections WHERE tenant_id = $1)"},
	{record: "call", from: "intents WHERE tenant_id = $1", keys: []string{"tenant_id", "operation", "key"},
		sealed: sealedIntents,
		fields: "operation key request_id connection_id state plan:sealed answer:sealed effect_ref created_at:time " +
			"updated_at:time"},
	{record: "request", from: "requests WHERE tenant_id = $1", keys: []string{"at", "id"},
		fields: "id at:time request_id key_id connection_id operation idempotency_key replayed status reason " +
			"took tries:json"},
	{record: "audit", keys: []string{"at", "uid"},
		from:   "audit WHERE tenant = (SELECT name FROM tenants WHERE id = $1) AND tenant_id = $1",
		fields: "at:time tenant actor action connection_id subject changed:json outcome effect request_id key_id"},
}

// TenantRecord is one row of a tenant.
type TenantRecord struct {
	Record string // what the row is: "connection", "call"
	Fields map[string]any
}

// ExportMark is a position among the rows of a tenant, from an earlier call of TenantRecords. The zero value
// is the beginning.
type ExportMark struct {
	Table int           `json:"t"`
	After []exportValue `json:"a,omitempty"` // the keys of the last row; none: the table was not begun
}

// exportValue is a key of a row. Exactly one of its fields is set.
type exportValue struct {
	Text   *string `json:"s,omitempty"`
	Number *int64  `json:"n,omitempty"`
	Bytes  []byte  `json:"b,omitempty"`
}

func (v exportValue) value() any {
	switch {
	case v.Text != nil:
		return *v.Text
	case v.Number != nil:
		return *v.Number
	}
	return v.Bytes
}

func markOf(key any) exportValue {
	switch k := key.(type) {
	case string:
		return exportValue{Text: &k}
	case int64:
		return exportValue{Number: &k}
	case []byte:
		return exportValue{Bytes: k}
	}
	panic(fmt.Sprintf("store: a key is a %T", key))
}

// TenantRecords returns up to limit rows of everything that is kept for a tenant, but for secrets, after a
// position, and the next position. It returns no next position with the last rows. Rows that are written
// meanwhile may be among them or not.
func (s *Store) TenantRecords(
	ctx context.Context, tenantID string, from ExportMark, limit int,
) ([]TenantRecord, *ExportMark, error) {
	var all []TenantRecord
	for at := max(from.Table, 0); at < len(exports); at++ {
		var after []exportValue
		if at == from.Table {
			after = from.After
		}
		t := exports[at]
		if len(after) != 0 && len(after) != len(t.keys) {
			after = nil // of another version; its rows are repeated rather than left out
		}
		names, kinds := t.columns()
		rows, err := s.exportPage(ctx, t, names, tenantID, after, limit-len(all))
		if err != nil {
			return nil, nil, err
		}
		next := ExportMark{Table: at}
		for _, row := range rows {
			fields, err := s.exportRow(t, names, kinds, row)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, TenantRecord{t.record, fields})
		}
		if len(all) == limit {
			for _, key := range rows[len(rows)-1].keys {
				next.After = append(next.After, markOf(key))
			}
			return all, &next, nil
		}
	}
	return all, nil, nil
}

// columns returns the names of the columns to export, with their kinds.
func (t exported) columns() (names, kinds []string) {
	for field := range strings.FieldsSeq(t.fields) {
		name, kind, _ := strings.Cut(field, ":")
		names, kinds = append(names, name), append(kinds, kind)
	}
	return names, kinds
}

// exportedRow is a row as it is stored.
type exportedRow struct{ keys, values []any }

func (s *Store) exportPage(
	ctx context.Context, t exported, names []string, tenantID string, after []exportValue, limit int,
) ([]exportedRow, error) {
	keys, args := strings.Join(t.keys, ", "), []any{tenantID}
	query := "SELECT " + keys + ", " + strings.Join(names, ", ") + " FROM " + t.from
	if len(after) > 0 {
		query += " AND (" + keys + ") > (" + places(2, len(after)) + ")"
		for _, key := range after {
			args = append(args, key.value())
		}
	}
	scan := func(row scanner) (exportedRow, error) {
		r := exportedRow{keys: make([]any, len(t.keys)), values: make([]any, len(names))}
		var into []any
		for i := range r.keys {
			into = append(into, &r.keys[i])
		}
		for i := range r.values {
			into = append(into, &r.values[i])
		}
		return r, row.Scan(into...)
	}
	return listOf(ctx, s, scan, fmt.Sprintf("%s ORDER BY %s LIMIT %d", query, keys, limit), args...)
}

// exportRow returns the fields of a row. Fields without a value are left out.
func (s *Store) exportRow(t exported, names, kinds []string, row exportedRow) (map[string]any, error) {
	fields := map[string]any{}
	for i, name := range names {
		value := row.values[i]
		if value == nil {
			continue
		}
		switch kinds[i] {
		case kindTime:
			if at, isNumber := value.(int64); isNumber {
				value = instant(at)
			}
		case kindWords:
			value = strings.Fields(string(bytesOf(value)))
		case kindJSON:
			value = jsonOf(bytesOf(value))
		case kindSealed:
			plain, err := s.open(t.sealed, t.sealed.at(name), sealedRow{keys: row.keys}.names(), bytesOf(value))
			if err != nil {
				return nil, err
			}
			value = jsonOf(plain)
		}
		fields[name] = value
	}
	return fields, nil
}

// at returns the index of a sealed column.
func (t sealedTable) at(name string) int {
	for i, c := range t.columns {
		if c.name == name {
			return i
		}
	}
	panic("store: " + t.name + "." + name + " is not sealed")
}

func bytesOf(value any) []byte {
	if raw, isBytes := value.([]byte); isBytes {
		return raw
	}
	return fmt.Append(nil, value)
}

// jsonOf returns a JSON text as it is, and anything else as a text, in base64.
func jsonOf(text []byte) any {
	switch {
	case len(text) == 0:
		return nil
	case json.Valid(text):
		return json.RawMessage(text)
	}
	return base64.StdEncoding.EncodeToString(text)
}
