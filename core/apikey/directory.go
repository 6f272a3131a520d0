package apikey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/audit"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Options configure a [Directory]. All fields but Audit are required.
type Options struct {
	Store    *store.Store
	Vault    *vault.Vault
	Registry adapter.Registry
	Now      func() time.Time
	Audit    *audit.Log // records changes; nil: changes are not recorded
	Changed  func()     // called after a change that makes cached keys out of date
}

// Directory manages the API keys of all tenants. It is safe for concurrent use. Create one with
// [NewDirectory].
type Directory struct {
	opts   Options
	sealer sealing.Sealer
}

// NewDirectory returns a new Directory.
func NewDirectory(o Options) *Directory { return &Directory{o, sealing.New(o.Vault)} }

// Actions of audit entries about keys.
const (
	actionCreate = "create-key"
	actionRevoke = "revoke-key"
)

// Create creates an API key and returns it. It cannot be read again: the store keeps only its hash.
func (d *Directory) Create(ctx context.Context, tenantName string, s Spec) (string, Key, error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return "", Key{}, err
	}
	connections, err := connection.OfTenant(ctx, d.opts.Store, owner.ID)
	if err != nil {
		return "", Key{}, err
	}
	bound, faults := d.bind(tenantName, s, connections)
	faults = append(faults, checkScopes(s.Scopes)...)
	if len(s.Label) > 200 {
		faults = append(faults, fault.Field{Path: "label", Message: "must be at most 200 bytes."})
	}
	if len(faults) > 0 {
		return "", Key{}, fault.InvalidFields(faults...)
	}
	if len(s.Scopes) == 0 {
		s.Scopes = Scopes()
	}
	prefix := livePrefix
	if s.Test {
		prefix = testPrefix
	}
	text := secret.NewToken(prefix)
	hash, _ := secret.HashToken(text, prefix)
	row := store.APIKey{
		ID: secret.NewID("key"), TenantID: owner.ID, Prefix: text[:shownLength], Hash: hash[:], Label: s.Label,
		Connections: bound, Test: s.Test, CreatedAt: d.opts.Now().UTC(),
	}
	for _, scope := range Scopes() { // in a fixed order, without duplicates
		if slices.Contains(s.Scopes, scope) {
			row.Scopes = append(row.Scopes, string(scope))
		}
	}
	if err := d.sealer.SealKey(&row); err != nil {
		return "", Key{}, err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionCreate, Subject: row.ID, Changed: row.Scopes,
	})
	if err != nil {
		return "", Key{}, err
	}
	if err := d.opts.Store.CreateKey(ctx, row, audited...); err != nil {
		return "", Key{}, err
	}
	return text, keyOf(row, namesOf(connections)), nil
}

// bind returns the ids of the connections that a key is to be bound to, and the faults in their names.
func (d *Directory) bind(
	tenantName string, k Spec, connections []connection.Connection,
) ([]string, []fault.Field) {
	var ids []string
	var faults []fault.Field
	taken := map[adapter.Kind]string{}
	for i, name := range k.Connections {
		wrong := func(format string, args ...any) {
			faults = append(faults, fault.Field{
				Path: fmt.Sprintf("connections[%d]", i), Message: fmt.Sprintf(format, args...),
			})
		}
		at := slices.IndexFunc(connections, func(c connection.Connection) bool { return c.Name == name })
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
		case k.Test && !c.IsSandbox(d.opts.Registry):
			wrong("is not a sandbox, and a test key reaches sandbox connections only.")
		default:
			taken[c.Kind] = c.Name
			ids = append(ids, c.ID)
		}
	}
	return ids, faults
}

func listNames(connections []connection.Connection) string {
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

// List returns a tenant's keys, the newest last.
func (d *Directory) List(ctx context.Context, tenantName string) ([]Key, error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return nil, err
	}
	connections, err := connection.OfTenant(ctx, d.opts.Store, owner.ID)
	if err != nil {
		return nil, err
	}
	rows, err := d.opts.Store.Keys(ctx, owner.ID)
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

func namesOf(connections []connection.Connection) map[string]string {
	names := make(map[string]string, len(connections))
	for _, c := range connections {
		names[c.ID] = c.Name
	}
	return names
}

// keyOf converts a row into a Key. The names are those of the tenant's connections, by id.
func keyOf(row store.APIKey, names map[string]string) Key {
	k := Key{
		ID: row.ID, TenantID: row.TenantID, Prefix: row.Prefix, Label: row.Label, Test: row.Test,
		CreatedAt: row.CreatedAt, RevokedAt: row.RevokedAt, LastUsedAt: row.LastUsedAt,
	}
	for _, s := range row.Scopes {
		k.Scopes = append(k.Scopes, Scope(s))
	}
	for _, id := range row.Connections {
		name, there := names[id]
		if !there {
			name = "(removed)"
		}
		k.Connections = append(k.Connections, name)
	}
	return k
}

// Revoke revokes a key. The key stops working in this process at once, and elsewhere within two seconds.
func (d *Directory) Revoke(ctx context.Context, id string) error {
	err := d.revoke(ctx, id)
	if errors.Is(err, fault.NotFound) {
		return fault.Newf(fault.NotFound, ReasonNotFound, "There is no API key with the id %q.", id)
	}
	if err != nil {
		return err
	}
	d.opts.Changed()
	return nil
}

func (d *Directory) revoke(ctx context.Context, id string) error {
	key, err := d.opts.Store.Key(ctx, id)
	if err != nil {
		return err
	}
	owner, err := d.opts.Store.TenantByID(ctx, key.TenantID)
	if err != nil {
		return err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionRevoke, Subject: id,
	})
	if err != nil {
		return err
	}
	key.RevokedAt = d.opts.Now().UTC()
	if err := d.sealer.SealKey(&key); err != nil {
		return err
	}
	return d.opts.Store.RevokeKey(ctx, id, key.RevokedAt, key.Seal, audited...)
}
