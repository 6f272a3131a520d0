package api

import (
	"context"
	"net/http"

	"frontdesk/core/admin"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/webhook"
)

// TenantWebhookCreation is the body of creating a webhook of a tenant.
type TenantWebhookCreation struct {
	Tenant string   `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	URL    string   `json:"url" need:"true" bytes:"2048" doc:"Where to send events to, by https." example:"https://platform.example.com/hooks"`
	Events []string `json:"events,omitempty" bytes:"63" doc:"The types of events to send. The default is all." example:"[\"connection.reconnect_required\"]"`
}

func (r TenantWebhookCreation) input(*checks) admin.NewWebhook {
	return admin.NewWebhook{Tenant: r.Tenant, Spec: webhook.Spec{URL: r.URL, Types: r.Events}}
}

// tenantWebhookPath names a webhook of a tenant in the path.
type tenantWebhookPath struct {
	Tenant  string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Webhook string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
}

func (r tenantWebhookPath) input(*checks) admin.WebhookID {
	return admin.WebhookID{Tenant: r.Tenant, ID: r.Webhook}
}

// TenantWebhookRoll is the body of rolling the secret of a webhook of a tenant.
type TenantWebhookRoll struct {
	Tenant  string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Webhook string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
	Overlap string `json:"overlap,omitempty" bytes:"32" doc:"How long deliveries are signed with the former secret as well, from 0 to 720h. The default is 24h." example:"24h"`
}

func (r TenantWebhookRoll) input(c *checks) admin.RollWebhook {
	return admin.RollWebhook{
		WebhookID: admin.WebhookID{Tenant: r.Tenant, ID: r.Webhook}, Overlap: c.duration("overlap", r.Overlap),
	}
}

// tenantDeliveryPath names a delivery of a webhook of a tenant in the path.
type tenantDeliveryPath struct {
	Tenant   string `json:"-" path:"tenant" doc:"The tenant's name." example:"acme"`
	Webhook  string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
	Delivery string `json:"-" path:"delivery" doc:"The delivery's id." example:"msg_7f3c"`
}

func (r tenantDeliveryPath) input(*checks) admin.DeliveryID {
	return admin.DeliveryID{WebhookID: admin.WebhookID{Tenant: r.Tenant, ID: r.Webhook}, Delivery: r.Delivery}
}

// OperatorWebhookCreation is the body of creating a webhook of the operator.
type OperatorWebhookCreation struct {
	URL    string   `json:"url" need:"true" bytes:"2048" doc:"Where to send events to, by https." example:"https://platform.example.com/hooks"`
	Events []string `json:"events,omitempty" bytes:"63" doc:"The types of events to send. The default is all." example:"[\"connection.reconnect_required\"]"`
}

func (r OperatorWebhookCreation) input(*checks) admin.NewWebhook {
	return admin.NewWebhook{Spec: webhook.Spec{URL: r.URL, Types: r.Events}}
}

// operatorWebhookPath names a webhook of the operator in the path.
type operatorWebhookPath struct {
	Webhook string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
}

func (r operatorWebhookPath) input(*checks) admin.WebhookID {
	return admin.WebhookID{ID: r.Webhook}
}

// OperatorWebhookRoll is the body of rolling the secret of a webhook of the operator.
type OperatorWebhookRoll struct {
	Webhook string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
	Overlap string `json:"overlap,omitempty" bytes:"32" doc:"How long deliveries are signed with the former secret as well, from 0 to 720h. The default is 24h." example:"24h"`
}

func (r OperatorWebhookRoll) input(c *checks) admin.RollWebhook {
	return admin.RollWebhook{
		WebhookID: admin.WebhookID{ID: r.Webhook}, Overlap: c.duration("overlap", r.Overlap),
	}
}

// operatorDeliveryPath names a delivery of a webhook of the operator in the path.
type operatorDeliveryPath struct {
	Webhook  string `json:"-" path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
	Delivery string `json:"-" path:"delivery" doc:"The delivery's id." example:"msg_7f3c"`
}

func (r operatorDeliveryPath) input(*checks) admin.DeliveryID {
	return admin.DeliveryID{WebhookID: admin.WebhookID{ID: r.Webhook}, Delivery: r.Delivery}
}

// webhookOperations returns the operations on webhooks: those of a tenant, and the same for the operator's.
func webhookOperations(s Admin) []operation {
	tenants := completeWebhooks("", tenantRoot+"/webhooks", []operation{
		{endpoint: query(s, Admin.ListWebhooks, tenantPath.input)},
		{endpoint: creating(mutation(s, Admin.CreateWebhook, TenantWebhookCreation.input))},
		{endpoint: query(s, Admin.RemoveWebhook, tenantWebhookPath.input)},
		{endpoint: mutation(s, Admin.RollWebhook, TenantWebhookRoll.input)},
		{endpoint: query(s, Admin.TestWebhook, tenantWebhookPath.input)},
		{endpoint: query(s, Admin.ListDeliveries, tenantWebhookPath.input)},
		{endpoint: query(s, Admin.ResendDelivery, tenantDeliveryPath.input)},
	})
	operators := completeWebhooks("Operator", adminRoot+"/webhooks", []operation{
		{endpoint: lookup(s, listOperatorWebhooks)},
		{endpoint: creating(mutation(s, Admin.CreateWebhook, OperatorWebhookCreation.input))},
		{endpoint: query(s, Admin.RemoveWebhook, operatorWebhookPath.input)},
		{endpoint: mutation(s, Admin.RollWebhook, OperatorWebhookRoll.input)},
		{endpoint: query(s, Admin.TestWebhook, operatorWebhookPath.input)},
		{endpoint: query(s, Admin.ListDeliveries, operatorWebhookPath.input)},
		{endpoint: query(s, Admin.ResendDelivery, operatorDeliveryPath.input)},
	})
	return append(tenants, operators...)
}

func listOperatorWebhooks(s Admin, ctx context.Context, c apikey.Caller) (admin.Webhooks, error) {
	return s.ListWebhooks(ctx, c, "")
}

// completeWebhooks adds to the endpoints, in the order above, what is said of each below the path root.
func completeWebhooks(whose, root string, ops []operation) []operation {
	const one = "/{webhook}"
	notFound := []string{fault.ReasonNotFound, webhook.ReasonNotFound}
	gets, scope := "events of the tenant", "a tenant's"
	if whose != "" {
		notFound = []string{webhook.ReasonNotFound, admin.ReasonOperatorOnly}
		gets, scope = "events of all tenants", "the operator's"
	}
	for i, o := range []operation{
		{
			ID: "list" + whose + "Webhooks", Method: http.MethodGet, Path: root, Summary: "List webhooks",
			Description: "Lists " + scope + " webhooks, without their secrets.", Reasons: notFound,
		},
		{
			ID: "create" + whose + "Webhook", Method: http.MethodPost, Path: root, Summary: "Create a webhook",
			Description: "Creates a webhook, which gets " + gets + " by the scheme of Standard Webhooks. Only the " +
				"answer shows the signing secret: this one, and that to a repeat with the same Idempotency-Key.",
			Reasons: append([]string{webhook.ReasonLimit}, notFound...),
		},
		{
			ID: "remove" + whose + "Webhook", Method: http.MethodDelete, Path: root + one, Summary: "Remove a webhook",
			Description: "Removes a webhook with its deliveries.", Reasons: notFound,
		},
		{
			ID: "roll" + whose + "Webhook", Method: http.MethodPost, Path: root + one + "/roll",
			Summary: "Roll a webhook's secret",
			Description: "Gives a webhook a new signing secret. Deliveries are signed with the former one as well for " +
				"the overlap.",
			Reasons: append([]string{fault.ReasonChangedMeanwhile}, notFound...),
		},
		{
			ID: "test" + whose + "Webhook", Method: http.MethodPost, Path: root + one + "/test",
			Summary: "Test a webhook",
			Description: "Sends a message of the type webhook.test once, and says what became of it. A receiver that " +
				"does not acknowledge it is an answer with ok false, not an error.",
			Reasons: notFound,
		},
		{
			ID: "list" + whose + "Deliveries", Method: http.MethodGet, Path: root + one + "/deliveries",
			Summary:     "List a webhook's deliveries",
			Description: "Lists the newest deliveries of a webhook, with what became of them.", Reasons: notFound,
		},
		{
			ID: "resend" + whose + "Delivery", Method: http.MethodPost,
			Path: root + one + "/deliveries/{delivery}/resend", Summary: "Send a delivery again",
			Description: "Sends a delivery again, with the same id, after those about the same connection that wait. " +
				"One that still waits is tried at once.",
			Reasons: append([]string{webhook.ReasonDeliveryNotFound, webhook.ReasonDisabled}, notFound...),
		},
	} {
		o.endpoint = ops[i].endpoint
		ops[i] = o
	}
	return ops
}
