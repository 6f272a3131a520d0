package store

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// notExported are the tables and columns that no export has, and the reasons.
var notExported = map[string]string{
	"sequences": "it is the gateway's", "audit_head": "it is the gateway's", "audit_keys": "it is the gateway's",
	"audit_boundary": "it is the gateway's",
	"hash_keys":      "it is the gateway's", "write_probe": "it is the gateway's",
	"goose_db_version": "it is the gateway's", "schema_compatibility": "it is the gateway's",
	"connection_turns": "it orders processes", "token_turns": "it orders processes",
	"webhook_queues":    "it orders processes",
	"number_claims":     "it repeats numbers and purchases",
	"consents":          "they are secrets for the minutes of a consent",
	"sign_in_links":     "they are secrets, and say nothing else",
	"budgets":           "they say for seconds who may make how many calls",
	"directory_changes": "it tells processes for a second what to read again",
	"breakers":          "they say for seconds which providers are down",
	"call_notes":        "they repeat references from answers, for hours",
	"creations":         "they repeat what was created, with secrets that are shown once",

	"tenants.deleted_at":      "a deleted tenant has no export",
	"connections.credentials": "it is a secret", "connections.tenant_id": "it is the tenant",
	"connections.reported_status": "it orders events", "connections.reported_before": "it orders events",
	"tokens.sealed": "it is a secret", "tokens.version": "it orders processes",
	"tokens.lease_owner": "it orders processes", "tokens.lease_until": "it orders processes",
	"connect_links.seal": "it proves the row", "connect_links.claim": "it orders processes",
	"connect_links.claimed_until": "it orders processes",
	"api_keys.hash":               "it is of a secret", "api_keys.seal": "it proves the row",
	"sessions.sealed": "it is a secret", "sessions.tenant_id": "it is the tenant",
	"webhooks.sealed":      "it is a secret",
	"deliveries.place":     "it orders deliveries",
	"deliveries.queued_at": "it orders deliveries",
	"numbers.realm":        "it is the gateway's", "numbers.version": "it orders processes",
	"numbers.leads": "it is the address of the connection's settings", "numbers.going": "it orders processes",
	"purchases.realm": "it is the gateway's", "purchases.revision": "it orders processes",
	"purchases.runner":     "it orders processes",
	"intents.request_hash": "it repeats what was asked", "intents.effect_key": "it repeats the key",
	"intents.dedupe_key": "it repeats what was asked", "intents.owner": "it orders processes",
	"intents.lease_until": "it orders processes", "intents.kept": "it says how long the row is kept",
	"audit.id": "it proves the row", "audit.mac": "it proves the row",
}

// For every table, the operator can read what bounds it.
func TestEveryTableHasABound(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	document, err := os.ReadFile("../../deploy/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "## Of what is stored")
	section, _, _ = strings.Cut(section, "\n## ")
	tables, err := listOf(t.Context(), s, scanText,
		"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	if err != nil || len(tables) < 30 {
		t.Fatalf("the tables are %v, %v", tables, err)
	}
	named := map[string]bool{}
	for _, row := range strings.Split(section, "\n| ")[1:] {
		first, _, _ := strings.Cut(row, " | ")
		for i, name := range strings.Split(first, "`") {
			if i%2 == 1 {
				named[name] = true
			}
		}
	}
	for _, table := range tables {
		if !named[table] {
			t.Errorf("deploy/limits.md does not say what bounds the table %s", table)
		}
		delete(named, table)
	}
	for name := range named {
		t.Errorf("deploy/limits.md has a table %s, which is not there", name)
	}
}

// Whatever the schema has of tenants is exported, or there is a reason.
func TestEverythingOfATenantIsExported(t *testing.T) {
	t.Parallel()
	s := sqliteStore(t)
	type column struct{ table, name string }
	schema, err := listOf(t.Context(), s, func(row scanner) (c column, err error) {
		return c, row.Scan(&c.table, &c.name)
	}, "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'")
	if err != nil || len(schema) < 100 {
		t.Fatalf("the schema is %v, %v", schema, err)
	}
	used := map[string]bool{}
	for _, c := range schema {
		if notExported[c.table] != "" {
			used[c.table] = true
			continue
		}
		at := slices.IndexFunc(exports, func(e exported) bool { return strings.HasPrefix(e.from, c.table+" ") })
		if at < 0 {
			t.Errorf("the table %s is not exported", c.table)
			continue
		}
		names, _ := exports[at].columns()
		name := c.table + "." + c.name
		switch is := slices.Contains(names, c.name); {
		case notExported[name] != "":
			used[name] = true
			if is {
				t.Errorf("%s is exported, and said not to be", name)
			}
		case !is && c.name != "tenant_id" && !slices.Contains(exports[at].keys, c.name):
			t.Errorf("%s is not exported", name)
		}
	}
	for name := range notExported {
		if !used[name] {
			t.Errorf("%s is not there", name)
		}
	}
	described, err := os.ReadFile("../admin/export.go")
	if err != nil {
		t.Fatal(err)
	}
	_, kindsOfRecords, _ := strings.Cut(string(described), "What it is: ")
	kindsOfRecords, _, _ = strings.Cut(kindsOfRecords, ".")
	for _, e := range exports {
		if !slices.Contains(strings.Split(strings.ReplaceAll(kindsOfRecords, " or ", ", "), ", "), e.record) {
			t.Errorf("the interface does not describe a %s among %s", e.record, kindsOfRecords)
		}
		names, kinds := e.columns()
		for i, name := range names {
			if slices.Contains([]string{"hash", "seal", "sealed", "credentials", "mac"}, name) {
				t.Errorf("%s of %s is a secret", name, e.record)
			}
			if !slices.Contains([]string{"", kindTime, kindJSON, kindSealed, kindWords}, kinds[i]) ||
				kinds[i] == kindSealed && e.sealed.at(name) < 0 {
				t.Errorf("%s of %s is %q", name, e.record, kinds[i])
			}
		}
	}
}
