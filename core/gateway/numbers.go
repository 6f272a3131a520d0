package gateway

import (
	"context"
	"fmt"

	"frontdesk/core/connection"
	"frontdesk/core/service"
)

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
		return []Finding{fails(subject, detailOf(err), "Check the connection.")}
	}
	if len(found) == 0 {
		return []Finding{fine(subject, "as the provider has them")}
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
