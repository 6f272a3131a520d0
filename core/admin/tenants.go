package admin

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/service"
	"frontdesk/core/tenant"
)

// Tenant is a tenant as the admin interface shows it.
type Tenant struct {
	ID        string          `json:"id" doc:"Its id, as the log names it." example:"tenant_7f3c"`
	Name      string          `json:"name" doc:"Its name, unique in the gateway." example:"acme"`
	Settings  tenant.Settings `json:"settings" doc:"Its settings. Those that are absent have their defaults."`
	CreatedAt time.Time       `json:"created_at" doc:"When it was created."`
}

// Tenants is the answer of ListTenants.
type Tenants struct {
	Tenants []Tenant `json:"tenants" nullable:"false" doc:"The tenants that the key reaches, by name."`
}

// TenantSpec names a tenant and settings of it.
type TenantSpec struct {
	Name     string
	Settings map[string]any // by name; null means the default
}

func tenantOf(t tenant.Tenant) Tenant {
	return Tenant{ID: t.ID, Name: t.Name, Settings: t.Settings, CreatedAt: t.CreatedAt.UTC()}
}

// ListTenants lists the tenants that the caller's key reaches.
func (s *Service) ListTenants(ctx context.Context, c apikey.Caller) (Tenants, error) {
	answer := Tenants{Tenants: []Tenant{}}
	if c.Tenant.ID != "" {
		answer.Tenants = append(answer.Tenants, tenantOf(c.Tenant))
		return answer, nil
	}
	all, err := s.opts.Tenants.List(ctx)
	for _, t := range all {
		answer.Tenants = append(answer.Tenants, tenantOf(t))
	}
	return answer, err
}

// GetTenant returns a tenant.
func (s *Service) GetTenant(ctx context.Context, c apikey.Caller, name string) (Tenant, error) {
	t, err := s.tenant(ctx, c, name)
	return tenantOf(t), err
}

// CreateTenant creates a tenant. Only the operator may.
func (s *Service) CreateTenant(
	ctx context.Context, c apikey.Caller, w Write, spec TenantSpec,
) (service.Answer[Tenant], error) {
	if err := isOperator(c); err != nil {
		return service.Answer[Tenant]{}, err
	}
	settings, faults := tenant.Settings{}.Merge("settings.", spec.Settings)
	if faults = append(tenant.CheckName("name", spec.Name), faults...); len(faults) > 0 {
		return service.Answer[Tenant]{}, fault.InvalidFields(faults...)
	}
	return once(ctx, s, w, creation[tenant.Tenant, Tenant]{
		operation: "create-tenant", input: spec,
		create: func(ctx context.Context) (string, tenant.Tenant, error) {
			made, err := s.opts.Tenants.Create(ctx, spec.Name, settings)
			return "", made, err
		},
		shown: func(_ string, made tenant.Tenant) Tenant { return tenantOf(made) },
	})
}

// ChangeTenant changes the given settings of a tenant.
func (s *Service) ChangeTenant(ctx context.Context, c apikey.Caller, spec TenantSpec) (Tenant, error) {
	if err := reaches(c, spec.Name); err != nil {
		return Tenant{}, err
	}
	t, err := s.opts.Tenants.Change(ctx, spec.Name, func(now tenant.Settings) (tenant.Settings, []fault.Field) {
		return now.Merge("settings.", spec.Settings)
	})
	return tenantOf(t), err
}

// DeleteTenant deletes a tenant and everything that is kept for it. Only the operator may.
func (s *Service) DeleteTenant(ctx context.Context, c apikey.Caller, name string) (Done, error) {
	if err := isOperator(c); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Tenants.Delete(ctx, name)
}
