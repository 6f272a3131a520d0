package admin

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/service"
)

// Key is an API key as the admin interface shows it, without the key itself.
type Key struct {
	ID          string     `json:"id" doc:"Its id." example:"key_7f3c"`
	Prefix      string     `json:"prefix" doc:"Its first characters, by which people recognise it." example:"fd_live_Ab3x"`
	Label       string     `json:"label" doc:"What it is for." example:"agent"`
	Scopes      []string   `json:"scopes" nullable:"false" doc:"What it may do."`
	Connections []string   `json:"connections" nullable:"false" doc:"The connections that it is bound to. Other kinds use the tenant's defaults."`
	Test        bool       `json:"test" doc:"Whether it reaches sandbox connections only."`
	CreatedAt   time.Time  `json:"created_at" doc:"When it was created."`
	LastUsedAt  *time.Time `json:"last_used_at,omitempty" doc:"When it was last used, to the minute. Absent: never."`
	EndsAt      *time.Time `json:"ends_at,omitempty" doc:"When it ends because another key takes its place."`
	RevokedAt   *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
}

// CreatedKey is a new API key.
type CreatedKey struct {
	Secret string `json:"key" doc:"The key itself. It cannot be read again." example:"fd_live_..."`
	Key
}

// Keys is the answer of ListKeys.
type Keys struct {
	Keys []Key `json:"keys" nullable:"false" doc:"The tenant's API keys, the newest last, with those that are revoked."`
}

// NewKey describes an API key to be created.
type NewKey struct {
	Tenant string
	apikey.Spec
}

// KeyID names an API key of a tenant.
type KeyID struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     string `path:"key" doc:"The key's id." example:"key_7f3c"`
}

// RollKey says which key another one takes the place of, and after what time.
type RollKey struct {
	KeyID
	Overlap *time.Duration // nil: apikey.DefaultOverlap
}

func (n RollKey) overlap() time.Duration {
	if n.Overlap == nil {
		return apikey.DefaultOverlap
	}
	return *n.Overlap
}

func keyOf(k apikey.Key) Key {
	shown := Key{
		ID: k.ID, Prefix: k.Prefix, Label: k.Label, Scopes: []string{},
		Connections: append([]string{}, k.Connections...), Test: k.Test, CreatedAt: k.CreatedAt.UTC(),
		LastUsedAt: when(k.LastUsedAt), EndsAt: when(k.EndsAt), RevokedAt: when(k.RevokedAt),
	}
	for _, s := range k.Scopes {
		shown.Scopes = append(shown.Scopes, string(s))
	}
	return shown
}

// ListKeys lists the API keys of a tenant.
func (s *Service) ListKeys(ctx context.Context, c apikey.Caller, tenantName string) (Keys, error) {
	answer := Keys{Keys: []Key{}}
	if err := reaches(c, tenantName); err != nil {
		return answer, err
	}
	all, err := s.opts.Keys.List(ctx, tenantName)
	for _, k := range all {
		answer.Keys = append(answer.Keys, keyOf(k))
	}
	return answer, err
}

// CreateKey creates an API key.
func (s *Service) CreateKey(
	ctx context.Context, c apikey.Caller, w Write, n NewKey,
) (service.Answer[CreatedKey], error) {
	if err := reaches(c, n.Tenant); err != nil {
		return service.Answer[CreatedKey]{}, err
	}
	return once(ctx, s, w, creation[apikey.Key, CreatedKey]{
		operation: "create-key", input: n, shown: createdKey,
		create: func(ctx context.Context) (string, apikey.Key, error) {
			return s.opts.Keys.Create(ctx, n.Tenant, n.Spec)
		},
	})
}

func createdKey(text string, made apikey.Key) CreatedKey { return CreatedKey{text, keyOf(made)} }

// RollKey creates an API key in the place of another one, which stays valid for a while.
func (s *Service) RollKey(
	ctx context.Context, c apikey.Caller, w Write, n RollKey,
) (service.Answer[CreatedKey], error) {
	if err := s.reachesKey(ctx, c, n.KeyID); err != nil {
		return service.Answer[CreatedKey]{}, err
	}
	return once(ctx, s, w, creation[apikey.Key, CreatedKey]{
		operation: "roll-key", input: n, shown: createdKey,
		create: func(ctx context.Context) (string, apikey.Key, error) {
			return s.opts.Keys.Roll(ctx, n.ID, n.overlap())
		},
	})
}

// RevokeKey revokes an API key.
func (s *Service) RevokeKey(ctx context.Context, c apikey.Caller, n KeyID) (Done, error) {
	if err := s.reachesKey(ctx, c, n); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Keys.Revoke(ctx, n.ID)
}

// reachesKey fails as for an unknown key if the key is not an API key of a tenant that the caller reaches.
func (s *Service) reachesKey(ctx context.Context, c apikey.Caller, n KeyID) error {
	owner, err := s.tenant(ctx, c, n.Tenant)
	if err != nil {
		return err
	}
	k, err := s.opts.Keys.Get(ctx, n.ID)
	if err == nil && (k.TenantID != owner.ID || k.Role() != "") {
		err = apikey.NotFound(n.ID)
	}
	return err
}

// AdminKey is a key of the admin interface, without the key itself.
type AdminKey struct {
	ID         string     `json:"id" doc:"Its id." example:"key_7f3c"`
	Prefix     string     `json:"prefix" doc:"Its first characters, by which people recognise it." example:"fd_admin_Ab3x"`
	Label      string     `json:"label" doc:"What it is for." example:"platform"`
	Role       string     `json:"role" doc:"viewer or admin." example:"admin"`
	Tenant     string     `json:"tenant,omitempty" doc:"The tenant that it is limited to. Absent: it is the operator's." example:"acme"`
	CreatedAt  time.Time  `json:"created_at" doc:"When it was created."`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"When it was last used, to the minute. Absent: never."`
	EndsAt     *time.Time `json:"ends_at,omitempty" doc:"When it ends because another key takes its place."`
	RevokedAt  *time.Time `json:"revoked_at,omitempty" doc:"When it was revoked."`
}

// CreatedAdminKey is a new key of the admin interface.
type CreatedAdminKey struct {
	Secret string `json:"key" doc:"The key itself. It cannot be read again." example:"fd_admin_..."`
	AdminKey
}

// AdminKeys is the answer of ListAdminKeys.
type AdminKeys struct {
	Keys []AdminKey `json:"keys" nullable:"false" doc:"The keys of the admin interface that the key reaches, the newest last."`
}

// NewAdminKey describes a key of the admin interface to be created.
type NewAdminKey struct {
	Tenant string // "": the operator's; a tenant's key can only name its own
	Role   apikey.Role
	Label  string
}

// ListAdminKeys lists the keys of the admin interface: all, or with a tenant's key, those for the tenant.
func (s *Service) ListAdminKeys(ctx context.Context, c apikey.Caller) (AdminKeys, error) {
	answer := AdminKeys{Keys: []AdminKey{}}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return answer, err
	}
	all, err := s.opts.Keys.ListAdmin(ctx, c.Tenant.Name)
	for _, k := range all {
		answer.Keys = append(answer.Keys, adminKeyOf(k, names[k.TenantID]))
	}
	return answer, err
}

func (s *Service) tenantNames(ctx context.Context, c apikey.Caller) (map[string]string, error) {
	if c.Tenant.ID != "" {
		return map[string]string{c.Tenant.ID: c.Tenant.Name}, nil
	}
	all, err := s.opts.Tenants.List(ctx)
	names := make(map[string]string, len(all))
	for _, t := range all {
		names[t.ID] = t.Name
	}
	return names, err
}

func adminKeyOf(k apikey.Key, tenantName string) AdminKey {
	return AdminKey{
		ID: k.ID, Prefix: k.Prefix, Label: k.Label, Role: string(k.Role()), Tenant: tenantName,
		CreatedAt: k.CreatedAt.UTC(), LastUsedAt: when(k.LastUsedAt), EndsAt: when(k.EndsAt),
		RevokedAt: when(k.RevokedAt),
	}
}

// CreateAdminKey creates a key of the admin interface. With a tenant's key it is always for that tenant.
func (s *Service) CreateAdminKey(
	ctx context.Context, c apikey.Caller, w Write, n NewAdminKey,
) (service.Answer[CreatedAdminKey], error) {
	if c.Tenant.ID != "" && n.Tenant == "" {
		return service.Answer[CreatedAdminKey]{}, fault.InvalidField("tenant", "must be the tenant of the key that creates it.")
	}
	if n.Tenant != "" {
		if err := reaches(c, n.Tenant); err != nil {
			return service.Answer[CreatedAdminKey]{}, err
		}
	}
	return once(ctx, s, w, creation[apikey.Key, CreatedAdminKey]{
		operation: "create-admin-key", input: n,
		create: func(ctx context.Context) (string, apikey.Key, error) {
			return s.opts.Keys.CreateAdmin(ctx, n.Tenant, n.Role, n.Label)
		},
		shown: func(text string, made apikey.Key) CreatedAdminKey {
			return CreatedAdminKey{text, adminKeyOf(made, n.Tenant)}
		},
	})
}

// RollAdminKey creates a key of the admin interface in the place of another one, which stays valid for a
// while. The Tenant of the KeyID is not used.
func (s *Service) RollAdminKey(
	ctx context.Context, c apikey.Caller, w Write, n RollKey,
) (service.Answer[CreatedAdminKey], error) {
	if err := s.reachesAdminKey(ctx, c, n.ID); err != nil {
		return service.Answer[CreatedAdminKey]{}, err
	}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return service.Answer[CreatedAdminKey]{}, err
	}
	return once(ctx, s, w, creation[apikey.Key, CreatedAdminKey]{
		operation: "roll-admin-key", input: n,
		create: func(ctx context.Context) (string, apikey.Key, error) {
			return s.opts.Keys.Roll(ctx, n.ID, n.overlap())
		},
		shown: func(text string, made apikey.Key) CreatedAdminKey {
			return CreatedAdminKey{text, adminKeyOf(made, names[made.TenantID])}
		},
	})
}

// RevokeAdminKey revokes a key of the admin interface.
func (s *Service) RevokeAdminKey(ctx context.Context, c apikey.Caller, id string) (Done, error) {
	if err := s.reachesAdminKey(ctx, c, id); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Keys.Revoke(ctx, id)
}

// reachesAdminKey fails as for an unknown key if the key is none of the admin interface, or not the caller's
// to change.
func (s *Service) reachesAdminKey(ctx context.Context, c apikey.Caller, id string) error {
	k, err := s.opts.Keys.Get(ctx, id)
	if err == nil && (k.Role() == "" || c.Tenant.ID != "" && k.TenantID != c.Tenant.ID) {
		err = apikey.NotFound(id)
	}
	return err
}
