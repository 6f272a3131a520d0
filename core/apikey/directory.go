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
	actionRoll   = "roll-key"
)

// Create creates an API key and returns it. It cannot be read again: the store keeps only its hash.
func (d *Directory) Create(ctx context.Context, tenantName string, s Spec) (string, Key, error) {
	row, owner, names, err := d.describe(ctx, tenantName, s)
	if err != nil {
		return "", Key{}, err
	}
	text, err := d.create(ctx, &row, owner.Name, names, nil)
	return text, keyOf(row, names), err
}

// describe returns the row of a key as it is described, its tenant and the names of the tenant's connections.
// It fails if something is wrong with the description, or already known to be wrong.
func (d *Directory) describe(
	ctx context.Context, tenantName string, s Spec, wrong ...fault.Field,
) (row store.APIKey, owner tenant.Tenant, names map[string]string, err error) {
	if owner, err = tenant.ByName(ctx, d.opts.Store, tenantName); err != nil {
		return row, owner, nil, err
	}
	connections, err := connection.OfTenant(ctx, d.opts.Store, owner.ID)
	if err != nil {
		return row, owner, nil, err
	}
	bound, faults := d.bind(tenantName, s, connections)
	faults = append(append(wrong, faults...), checkScopes(s.Scopes)...)
	if faults = append(faults, checkLabel(s.Label)...); len(faults) > 0 {
		return row, owner, nil, fault.InvalidFields(faults...)
	}
	if len(s.Scopes) == 0 {
		s.Scopes = Scopes()
	}
	row = store.APIKey{TenantID: owner.ID, Label: s.Label, Connections: bound, Test: s.Test}
	for _, scope := range Scopes() { // in a fixed order, without duplicates
		if slices.Contains(s.Scopes, scope) {
			row.Scopes = append(row.Scopes, string(scope))
		}
	}
	return row, owner, namesOf(connections), nil
}

// CreateAdmin creates a key of the admin interface and returns it: for what belongs to one tenant, or for
// everything if tenantName is "".
func (d *Directory) CreateAdmin(
	ctx context.Context, tenantName string, r Role, label string,
) (string, Key, error) {
	var faults []fault.Field
	if !slices.Contains(Roles(), r) {
		faults = append(faults, fault.Field{Path: "role", Message: "must be viewer or admin."})
	}
	if faults = append(faults, checkLabel(label)...); len(faults) > 0 {
		return "", Key{}, fault.InvalidFields(faults...)
	}
	row := store.APIKey{Label: label}
	if tenantName != "" {
		owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
		if err != nil {
			return "", Key{}, err
		}
		row.TenantID = owner.ID
	}
	for _, s := range r.Scopes() {
		row.Scopes = append(row.Scopes, string(s))
	}
	text, err := d.create(ctx, &row, tenantName, nil, nil)
	return text, keyOf(row, nil), err
}

// create gives a row a new key, stores it and returns the key. The names are those of the tenant's connections.
func (d *Directory) create(
	ctx context.Context, row *store.APIKey, tenantName string, names map[string]string, signing []byte,
) (text string, err error) {
	if text, err = d.generate(row, signing); err != nil {
		return "", err
	}
	audited, err := d.opts.Audit.Change(ctx, row.TenantID, tenantName, audit.Entry{
		Action: actionCreate, Subject: row.ID, Changed: row.Scopes,
	})
	if err != nil {
		return "", err
	}
	return text, d.opts.Store.CreateKey(creating(ctx, text, names), *row, audited...)
}

// creating is store.Creating for a key.
func creating(ctx context.Context, text string, names map[string]string) context.Context {
	return store.Creating(ctx, text, func(row store.APIKey) (Key, error) { return keyOf(row, names), nil })
}

// generate gives a row a new key and returns the key. Nobody gets the key of a voice agent: the row encloses
// its signing secret instead.
func (d *Directory) generate(row *store.APIKey, signing []byte) (text string, err error) {
	prefix, id := livePrefix, "key"
	switch {
	case row.Platform != "":
		prefix, id = agentPrefix, AgentID
	case slices.Contains(row.Scopes, string(ScopeAdminRead)):
		prefix = adminPrefix
	case row.Test:
		prefix = testPrefix
	}
	text = secret.NewToken(prefix)
	hash, _ := secret.HashToken(text, prefix)
	row.ID, row.Prefix, row.Hash = secret.NewID(id), text[:len(prefix)+shownLength], hash[:]
	row.CreatedAt = d.opts.Now().UTC()
	row.RevokedAt, row.EndsAt, row.LastUsedAt = time.Time{}, time.Time{}, time.Time{}
	return text, d.sealer.SealKey(row, signing)
}

// Limits on how long a key stays valid beside the one that takes its place.
const (
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

// Roll creates a key with the label, scopes and connections of another one and returns it. The other one
// stays valid for the overlap, so that its users can change to the new one, and ends then; it can be revoked
// earlier. Roll fails with fault.Conflict if the other one is revoked or was rolled before.
func (d *Directory) Roll(ctx context.Context, id string, overlap time.Duration) (string, Key, error) {
	if overlap < 0 || overlap > maxOverlap {
		return "", Key{}, fault.InvalidField("overlap", fmt.Sprintf("must be from 0 to %s.", maxOverlap))
	}
	old, owner, err := d.find(ctx, id)
	if err != nil {
		return "", Key{}, err
	}
	names, err := d.connectionNames(ctx, owner.ID)
	if err != nil {
		return "", Key{}, err
	}
	if old.Platform != "" {
		return "", Key{}, NotFound(id)
	}
	switch what, err := d.sealer.WrongKey(old); {
	case err != nil:
		return "", Key{}, err
	case what != "": // a new seal would make the row pass for genuine
		return "", Key{}, fault.Newf(fault.Unavailable, vault.ReasonUnreadable,
			"The row of the API key %s %s. Run frontdesk doctor, and create a new key.", id, what)
	}
	next := old
	text, err := d.generate(&next, nil)
	if err != nil {
		return "", Key{}, err
	}
	old.EndsAt = next.CreatedAt.Add(overlap)
	if err := d.sealer.SealKey(&old, nil); err != nil {
		return "", Key{}, err
	}
	created, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionCreate, Subject: next.ID, Changed: next.Scopes,
	})
	if err != nil {
		return "", Key{}, err
	}
	rolled, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionRoll, Subject: old.ID, Changed: []string{"ends_at"},
	})
	if err != nil {
		return "", Key{}, err
	}
	audited := slices.Concat(created, rolled)
	if err := d.opts.Store.ReplaceKey(creating(ctx, text, names), old, next, audited...); err != nil {
		return "", Key{}, err
	}
	d.opts.Changed()
	return text, keyOf(next, names), nil
}

// find returns the row of a key that an administrator names, and its tenant.
func (d *Directory) find(ctx context.Context, id string) (store.APIKey, store.Tenant, error) {
	key, err := d.opts.Store.Key(ctx, id)
	if errors.Is(err, fault.NotFound) {
		return key, store.Tenant{}, NotFound(id)
	}
	if err != nil {
		return key, store.Tenant{}, err
	}
	if key.TenantID == "" {
		return key, store.Tenant{}, nil
	}
	owner, err := d.opts.Store.TenantByID(ctx, key.TenantID)
	return key, owner, err
}

// NotFound returns the fault for an id that no key has.
func NotFound(id string) error {
	return fault.Newf(fault.NotFound, ReasonNotFound, "There is no API key with the id %q.", id)
}

// Get returns a key that somebody holds, of the admin interface or not, with the names of its connections.
func (d *Directory) Get(ctx context.Context, id string) (Key, error) {
	row, owner, err := d.find(ctx, id)
	if err == nil && row.Platform != "" {
		err = NotFound(id)
	}
	if err != nil {
		return Key{}, err
	}
	names, err := d.connectionNames(ctx, owner.ID)
	return keyOf(row, names), err
}

func (d *Directory) connectionNames(ctx context.Context, tenantID string) (map[string]string, error) {
	if tenantID == "" {
		return nil, nil
	}
	connections, err := connection.OfTenant(ctx, d.opts.Store, tenantID)
	return namesOf(connections), err
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

// CheckConnections returns the faults in the names of the connections that a key is to be bound to, where the tenant
// has these connections.
func (d *Directory) CheckConnections(tenantName string, k Spec, has []connection.Connection) []fault.Field {
	_, faults := d.bind(tenantName, k, has)
	return faults
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

func checkLabel(label string) []fault.Field {
	if len(label) > 200 {
		return []fault.Field{{Path: "label", Message: "must be at most 200 bytes."}}
	}
	return nil
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

// List returns a tenant's API keys, the newest last.
func (d *Directory) List(ctx context.Context, tenantName string) ([]Key, error) {
	rows, names, err := d.rowsOf(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	return keysOf(rows, names, func(k Key) bool { return k.Role() == "" }), nil
}

// rowsOf returns the rows of a tenant's keys, and the names of its connections.
func (d *Directory) rowsOf(
	ctx context.Context, tenantName string,
) (rows []store.APIKey, names map[string]string, err error) {
	owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
	if err != nil {
		return nil, nil, err
	}
	if names, err = d.connectionNames(ctx, owner.ID); err != nil {
		return nil, nil, err
	}
	rows, err = d.opts.Store.Keys(ctx, owner.ID)
	return rows, names, err
}

// ListAdmin returns the keys of the admin interface, the newest last: those for one tenant, or all if
// tenantName is "".
func (d *Directory) ListAdmin(ctx context.Context, tenantName string) ([]Key, error) {
	var rows []store.APIKey
	if tenantName == "" {
		all, err := d.opts.Store.AllKeys(ctx)
		if err != nil {
			return nil, err
		}
		rows = all
	} else {
		owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
		if err != nil {
			return nil, err
		}
		if rows, err = d.opts.Store.Keys(ctx, owner.ID); err != nil {
			return nil, err
		}
	}
	return keysOf(rows, nil, func(k Key) bool { return k.Role() != "" }), nil
}

// keysOf converts the rows of the keys that somebody holds and that are meant, the newest last.
func keysOf(rows []store.APIKey, names map[string]string, meant func(Key) bool) []Key {
	keys := make([]Key, 0, len(rows))
	for _, row := range rows {
		if k := keyOf(row, names); row.Platform == "" && meant(k) {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return keys
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
		CreatedAt: row.CreatedAt, RevokedAt: row.RevokedAt, EndsAt: row.EndsAt, LastUsedAt: row.LastUsedAt,
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
	for try := 1; ; try++ {
		err := d.revoke(ctx, id)
		if !errors.Is(err, fault.Conflict) || try == revokeTries {
			return err
		}
	}
}

// revokeTries is how often Revoke tries to revoke a key that is rolled or changed at the same time.
const revokeTries = 5

func (d *Directory) revoke(ctx context.Context, id string) error {
	key, owner, err := d.find(ctx, id)
	if err != nil {
		return err
	}
	audited, err := d.opts.Audit.Change(ctx, owner.ID, owner.Name, audit.Entry{
		Action: actionRevoke, Subject: id,
	})
	if err != nil {
		return err
	}
	was := key
	key.RevokedAt = d.opts.Now().UTC()
	if err := d.sealer.SealKey(&key, nil); err != nil { // an agent that is removed needs no signing secret
		return err
	}
	if err := d.opts.Store.RevokeKey(ctx, was, key.RevokedAt, key.Seal, audited...); err != nil {
		return err
	}
	d.opts.Changed()
	return nil
}
