package api

import (
	"net/http"

	"frontdesk/core/admin"
	"frontdesk/core/fault"
	"frontdesk/core/webhook"
)

// TenantWebhookCreation is the body of creating a webhook of a tenant.
type TenantWebhookCreation struct {
	tenantPath
	URL    string   `json:"url" need:"true" bytes:"2048" doc:"Where to send events to, by https." example:"https://platform.example.com/hooks"`
	Events []string `json:"events,omitempty" bytes:"63" doc:"The types of events to send. The default is all." example:"[\"connection.reconnect_required\"]"`
}

func (r TenantWebhookCreation) input(*checks) admin.NewWebhook {
	return admin.NewWebhook{Tenant: r.Tenant, Spec: webhook.Spec{URL: r.URL, Types: r.Events}}
}

// TenantWebhookRoll is the body of rolling the secret of a webhook of a tenant.
type TenantWebhookRoll struct {
	tenantPath
	Webhook string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
	Overlap string `json:"overlap,omitempty" bytes:"32" doc:"How long deliveries are signed with the former secret as well, from 0 to 720h. The default is 24h." example:"24h"`
}

func (r TenantWebhookRoll) input(c *checks) admin.RollWebhook {
	return admin.RollWebhook{
		WebhookID: admin.WebhookID{Tenant: r.Tenant, ID: r.Webhook}, Overlap: c.duration("overlap", r.Overlap),
	}
}

// OperatorWebhookCreation is the body of creating a webhook of the operator. Its path names no tenant.
type OperatorWebhookCreation struct{ TenantWebhookCreation }

// OperatorWebhookRoll is the body of rolling the secret of a webhook of the operator. Its path names no tenant.
type OperatorWebhookRoll struct{ TenantWebhookRoll }

// webhookOperations returns the operations on webhooks: those of a tenant, and the same for the operator's.
func webhookOperations(s Admin) []operation {
	return append(
		webhooksAt(s, "", tenantRoot+"/webhooks", mutation(s, Admin.CreateWebhook, TenantWebhookCreation.input),
			mutation(s, Admin.RollWebhook, TenantWebhookRoll.input)),
		webhooksAt(s, "Operator", adminRoot+"/webhooks", mutation(s, Admin.CreateWebhook, OperatorWebhookCreation.input),
			mutation(s, Admin.RollWebhook, OperatorWebhookRoll.input))...)
}

// webhooksAt returns the operations below the path root. Those with a body have a type of their own for each root.
func webhooksAt(s Admin, whose, root string, create, roll endpoint) []operation {
	const one = "/{webhook}"
	notFound := []string{fault.ReasonNotFound, webhook.ReasonNotFound}
	gets, scope := "events of the tenant", "a tenant's"
	if whose != "" {
		notFound = []string{webhook.ReasonNotFound, admin.ReasonOperatorOnly}
		gets, scope = "events of all tenants", "the operator's"
	}
	return []operation{
		{
			ID: "list" + whose + "Webhooks", Method: http.MethodGet, Path: root, Summary: "List webhooks",
			Description: "Lists " + scope + " webhooks, without their secrets.", Reasons: notFound,
			endpoint: query(s, Admin.ListWebhooks, tenantPath.input),
		},
		{
			ID: "create" + whose + "Webhook", Method: http.MethodPost, Path: root, Summary: "Create a webhook",
			Description: "Creates a webhook, which gets " + gets + " by the scheme of Standard Webhooks. Only the " +
				"answer shows the signing secret: this one, and that to a repeat with the same Idempotency-Key.",
			Reasons:  append([]string{webhook.ReasonLimit}, notFound...),
			endpoint: creating(create),
		},
		{
			ID: "remove" + whose + "Webhook", Method: http.MethodDelete, Path: root + one, Summary: "Remove a webhook",
			Description: "Removes a webhook with its deliveries.", Reasons: notFound,
			endpoint: query(s, Admin.RemoveWebhook, asGiven),
		},
		{
			ID: "roll" + whose + "Webhook", Method: http.MethodPost, Path: root + one + "/roll",
			Summary: "Roll a webhook's secret",
			Description: "Gives a webhook a new signing secret. Deliveries are signed with the former one as well for " +
				"the overlap.",
			Reasons:  append([]string{fault.ReasonChangedMeanwhile}, notFound...),
			endpoint: roll,
		},
		{
			ID: "test" + whose + "Webhook", Method: http.MethodPost, Path: root + one + "/test",
			Summary: "Test a webhook",
			Description: "Sends a message of the type webhook.test once, and says what became of it. A receiver that " +
				"does not acknowledge it is an answer with ok false, not an error.",
			Reasons:  notFound,
			endpoint: query(s, Admin.TestWebhook, asGiven),
		},
		{
			ID: "list" + whose + "Deliveries", Method: http.MethodGet, Path: root + one + "/deliveries",
			Summary:     "List a webhook's deliveries",
			Description: "Lists the newest deliveries of a webhook, with what became of them.", Reasons: notFound,
			endpoint: query(s, Admin.ListDeliveries, asGiven),
		},
		{
			ID: "resend" + whose + "Delivery", Method: http.MethodPost,
			Path: root + one + "/deliveries/{delivery}/resend", Summary: "Send a delivery again",
			Description: "Sends a delivery again, with the same id, after those about the same connection that wait. " +
				"One that still waits is tried at once.",
			Reasons:  append([]string{webhook.ReasonDeliveryNotFound, webhook.ReasonDisabled}, notFound...),
			endpoint: query(s, Admin.ResendDelivery, asGiven),
		},
	}
}
