package tenant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
)

// NewKey is an API key to be made.
type NewKey struct {
	Label       string
	Scopes      []Scope  // none: all
	Connections []string // names of the connections it is bound to, at most one of a kind; other kinds use the defaults
	Test        bool     // fd_test_: reaches sandbox connections only
}

// CreateKey makes an API key and answers it. It is shown this once: only its hash is kept.
func (d *Directory) CreateKey(ctx context.Context, tenantName string, k NewKey) (string, Key, error) {
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return "", Key{}, err
	}
	connections, err := d.connectionsOf(ctx, owner.ID)
	if err != nil {
		return "", Key{}, err
	}
	bound, faults := d.bind(tenantName, k, connections)
	faults = append(faults, checkScopes(k.Scopes)...)
	if len(k.Label) > 200 {
		faults = append(faults, fault.Field{Path: "label", Message: "must be at most 200 bytes."})
	}
	if len(faults) > 0 {
		return "", Key{}, fault.InvalidFields(faults...)
	}
	if len(k.Scopes) == 0 {
		k.Scopes = Scopes()
	}
	prefix := livePrefix
	if k.Test {
		prefix = testPrefix
	}
	text, id := secret.NewToken(prefix), secret.NewID("key")
	hash, _ := secret.HashToken(text, prefix)
	row := store.APIKey{
		ID: id, TenantID: owner.ID, Prefix: text[:shownLength], Hash: hash[:], Label: k.Label,
		Connections: bound, Test: k.Test, CreatedAt: d.now().UTC(),
	}
	for _, s := range Scopes() { // in one order, each once
		if slices.Contains(k.Scopes, s) {
			row.Scopes = append(row.Scopes, string(s))
		}
	}
	if row.Seal, err = d.vault.SealRow(boundKey(row), nil); err != nil {
		return "", Key{}, err
	}
	audited, err := d.audited(ctx, owner, audit.Entry{Action: createKey, Subject: id, Changed: row.Scopes})
	if err != nil {
		return "", Key{}, err
	}
	if err := d.store.CreateKey(ctx, row, audited...); err != nil {
		return "", Key{}, err
	}
	return text, keyOf(row, namesOf(connections)), nil
}

// bind returns the ids of the connections that a key is to be bound to, and what is wrong with them.
func (d *Directory) bind(tenantName string, k NewKey, connections []Connection) ([]string, []fault.Field) {
	var ids []string
	var faults []fault.Field
	taken := map[adapter.Kind]string{}
	for i, name := range k.Connections {
		wrong := func(format string, args ...any) {
			faults = append(faults, fault.Field{Path: fmt.Sprintf("connections[%d]", i), Message: fmt.Sprintf(format, args...)})
		}
		at := slices.IndexFunc(connections, func(c Connection) bool { return c.Name == name })
		if at < 0 {
			wrong("is not a connection of the tenant %q: %s", tenantName, listNames(connections))
			continue
		}
		c := connections[at]
		switch other, have := taken[c.Kind]; {
		case have && other == c.Name:
			continue
		case have:
			wrong("is a second %s connection beside %q; a key is bound to one of a kind.", c.Kind, other)
		case k.Test && !d.isSandbox(c):
			wrong("is not a sandbox, and a test key reaches sandbox connections only.")
		default:
			taken[c.Kind] = c.Name
			ids = append(ids, c.ID)
		}
	}
	return ids, faults
}

func listNames(connections []Connection) string {
	if len(connections) == 0 {
		return "it has none."
	}
	names := make([]string, 0, len(connections))
	for _, c := range connections {
		names = append(names, c.Name)
	}
	return "it has " + strings.Join(names, ", ") + "."
}

func checkScopes(scopes []Scope) []fault.Field {
	known := make([]string, 0, len(Scopes()))
	for _, s := range Scopes() {
		known = append(known, string(s))
	}
	var faults []fault.Field
	for i, s := range scopes {
		if !slices.Contains(Scopes(), s) {
			faults = append(faults, fault.Field{Path: fmt.Sprintf("scopes[%d]", i),
				Message: "must be one of " + strings.Join(known, ", ") + "."})
		}
	}
	return faults
}

// Keys lists a tenant's keys, the newest last.
func (d *Directory) Keys(ctx context.Context, tenantName string) ([]Key, error) {
	owner, err := d.tenantRow(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	connections, err := d.connectionsOf(ctx, owner.ID)
	if err != nil {
		return nil, err
	}
	rows, err := d.store.Keys(ctx, owner.ID)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, 0, len(rows))
	for _, row := range rows {
		keys = append(keys, keyOf(row, namesOf(connections)))
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return keys, nil
}

func namesOf(connections []Connection) map[string]string {
	names := make(map[string]string, len(connections))
	for _, c := range connections {
		names[c.ID] = c.Name
	}
	return names
}

// RevokeKey ends a key. It stops working here at once, and elsewhere within Options.CacheFor.
func (d *Directory) RevokeKey(ctx context.Context, id string) error {
	err := d.revokeKey(ctx, id)
	if errors.Is(err, fault.NotFound) {
		return fault.Newf(fault.NotFound, ReasonKeyNotFound, "There is no API key with the id %q.", id)
	}
	if err != nil {
		return err
	}
	d.callers.forget()
	return nil
}

func (d *Directory) revokeKey(ctx context.Context, id string) error {
	key, err := d.store.Key(ctx, id)
	if err != nil {
		return err
	}
	owner, err := d.store.TenantByID(ctx, key.TenantID)
	if err != nil {
		return err
	}
	audited, err := d.audited(ctx, owner, audit.Entry{Action: revokeKey, Subject: id})
	if err != nil {
		return err
	}
	key.RevokedAt = d.now().UTC()
	seal, err := d.vault.SealRow(boundKey(key), nil)
	if err != nil {
		return err
	}
	return d.store.RevokeKey(ctx, id, key.RevokedAt, seal, audited...)
}
