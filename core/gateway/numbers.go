package gateway

import (
	"context"
	"fmt"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/service"
	"frontdesk/core/tenant"
)

// HeldNumber is a phone number that a tenant holds.
type HeldNumber struct {
	ID         int64      `json:"id"`
	E164       string     `json:"e164"`
	Name       string     `json:"name"`
	Connection string     `json:"connection"`
	Inbound    *int64     `json:"inbound_cloud_employee_id,omitempty"`
	Outbound   *int64     `json:"outbound_cloud_employee_id,omitempty"`
	ReleaseAt  *time.Time `json:"release_at,omitempty"` // set if the number is released and waits until then
	Going      bool       `json:"going,omitempty"`      // on its way back to the provider
}

// Numbers returns the phone numbers of a tenant from the gateway's table, including those that wait to go
// back.
func (g *Gateway) Numbers(ctx context.Context, tenantName string) ([]HeldNumber, error) {
	t, err := tenant.ByName(ctx, g.store, tenantName)
	if err != nil {
		return nil, err
	}
	connections, err := g.connections.List(ctx, tenantName)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, c := range connections {
		names[c.ID] = c.Name
	}
	rows, err := g.services.Numbers.Held(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	held := make([]HeldNumber, 0, len(rows))
	for _, row := range rows {
		n := HeldNumber{
			ID: row.ID, E164: row.E164, Name: row.Name, Connection: names[row.ConnectionID], Inbound: row.Inbound,
			Outbound: row.Outbound, Going: row.Going,
		}
		if !row.ReleaseAt.IsZero() {
			n.ReleaseAt = &row.ReleaseAt
		}
		held = append(held, n)
	}
	return held, nil
}

// RestoreNumber puts a released number that still waits back into use, and returns the number.
func (g *Gateway) RestoreNumber(ctx context.Context, tenantName string, id int64) (e164 string, err error) {
	t, err := tenant.ByName(ctx, g.store, tenantName)
	if err != nil {
		return "", err
	}
	n, err := g.services.Numbers.Restore(ctx, t.ID, id)
	return n.E164, err
}

// AdoptNumber gives a connection a number that its account already holds, and returns the number's id.
func (g *Gateway) AdoptNumber(
	ctx context.Context, tenantName, connection, e164 string,
) (id int64, err error) {
	c, err := g.phoneCaller(ctx, tenantName, connection)
	if err != nil {
		return 0, err
	}
	n, err := g.services.Numbers.Adopt(ctx, c, e164)
	return n.ID, err
}

// phoneCaller returns the caller for work on a telephony connection. If name is "", it uses the tenant's
// default telephony connection.
func (g *Gateway) phoneCaller(ctx context.Context, tenantName, name string) (apikey.Caller, error) {
	connections, err := g.connections.List(ctx, tenantName)
	if err != nil {
		return apikey.Caller{}, err
	}
	for _, c := range connections {
		if c.Kind == adapter.KindTelephony && (c.Name == name || name == "" && c.IsDefault) {
			return g.callers.CallerOf(ctx, c.TenantID, c.ID)
		}
	}
	if name == "" {
		return apikey.Caller{}, fault.Newf(fault.NotFound, connection.ReasonNotFound,
			"The tenant %q has no telephony connection.", tenantName)
	}
	return apikey.Caller{}, fault.Newf(fault.NotFound, connection.ReasonNotFound,
		"The tenant %q has no telephony connection %q.", tenantName, name)
}

// examineNumbers compares the account of a telephony connection with the gateway's table.
func (g *Gateway) examineNumbers(
	ctx context.Context, tenantName string, c connection.Connection, repair bool,
) []Finding {
	ctx, cancel := context.WithTimeout(ctx, doctorWait)
	defer cancel()
	subject := "numbers of " + tenantName + "/" + c.Name
	caller, err := g.callers.CallerOf(ctx, c.TenantID, c.ID)
	var found []service.Drift
	if err == nil {
		how := service.RepairNothing
		if repair {
			how = service.RepairAll
		}
		found, err = g.services.Numbers.Reconcile(ctx, caller, how)
	}
	if err != nil {
		return []Finding{{Subject: subject, Says: fault.From(err).Detail, Advice: "Check the connection."}}
	}
	if len(found) == 0 {
		return []Finding{{Subject: subject, OK: true, Says: "as the provider has them"}}
	}
	findings := make([]Finding, 0, len(found))
	for _, d := range found {
		// Unknown and renamed numbers count as OK: the gateway takes them over later, or need not know them.
		f := Finding{
			Subject: subject, OK: d.Repaired || d.Kind == service.DriftUnknown || d.Kind == service.DriftRenamed,
			Says: fmt.Sprintf("%s: %s", d.E164, d.Says), Advice: d.Advice,
		}
		if d.Repaired {
			f.Says += " This is corrected now."
		}
		findings = append(findings, f)
	}
	return findings
}
