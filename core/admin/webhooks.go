package admin

import (
	"context"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/service"
	"frontdesk/core/store"
	"frontdesk/core/webhook"
)

// Webhook is a webhook as the admin interface shows it, without its secret.
type Webhook struct {
	ID          string     `json:"id" doc:"Its id." example:"wh_7f3c"`
	Tenant      string     `json:"tenant,omitempty" doc:"The tenant whose events it gets. Absent: it is the operator's, and gets those of all tenants." example:"acme"`
	URL         string     `json:"url" doc:"Where events are sent to." example:"https://platform.example.com/hooks"`
	Events      []string   `json:"events" nullable:"false" doc:"The types of events that it gets. Empty: all."`
	CreatedAt   time.Time  `json:"created_at" doc:"When it was created."`
	FormerUntil *time.Time `json:"former_secret_until,omitempty" doc:"Until when deliveries are signed with the former secret as well."`
	DisabledAt  *time.Time `json:"disabled_at,omitempty" doc:"When its receiver answered 410, and asked for no more events by that."`
}

// Webhooks is the answer of ListWebhooks.
type Webhooks struct {
	Webhooks []Webhook `json:"webhooks" nullable:"false" doc:"The webhooks, the newest last."`
}

// CreatedWebhook is a webhook with a new secret.
type CreatedWebhook struct {
	Secret string `json:"secret" doc:"The signing secret. It cannot be read again." example:"whsec_..."`
	Webhook
}

// Delivery is one event for one webhook.
type Delivery struct {
	ID        string     `json:"id" doc:"Its id, which the receiver gets as webhook-id." example:"msg_7f3c"`
	Type      string     `json:"type" doc:"The type of the event." example:"connection.reconnect_required"`
	Tenant    string     `json:"tenant,omitempty" doc:"The tenant that it is about." example:"acme"`
	State     string     `json:"state" doc:"waiting, delivered (acknowledged), or failed (given up after a day, or because the webhook is disabled)." example:"delivered"`
	Attempts  int        `json:"attempts" doc:"How often it was sent, since it was last sent again by hand." example:"1"`
	Status    int        `json:"status,omitempty" doc:"The HTTP status of the last answer. Absent: there was none." example:"200"`
	Reason    string     `json:"reason,omitempty" doc:"Why the last attempt failed." example:"HTTP_500"`
	CreatedAt time.Time  `json:"created_at" doc:"When the event happened."`
	EndedAt   *time.Time `json:"ended_at,omitempty" doc:"When it was acknowledged or given up."`
	NextAt    *time.Time `json:"next_at,omitempty" doc:"When its queue is sent on. Deliveries about one connection wait for those before them."`
}

// Deliveries is the answer of ListDeliveries.
type Deliveries struct {
	Deliveries []Delivery `json:"deliveries" nullable:"false" doc:"The newest deliveries, at most 200, the oldest of them first. Those that ended are kept for a week."`
}

// WebhookTest is what became of a test.
type WebhookTest struct {
	OK     bool   `json:"ok" doc:"Whether the receiver acknowledged it." example:"true"`
	Status int    `json:"status,omitempty" doc:"The HTTP status of the answer. Absent: there was none." example:"200"`
	Reason string `json:"reason,omitempty" doc:"Why it failed." example:"ADDRESS_REFUSED"`
}

// NewWebhook describes a webhook to be created.
type NewWebhook struct {
	Tenant string // "": the operator's
	webhook.Spec
}

// WebhookID names a webhook of a tenant, or of the operator if Tenant is "".
type WebhookID struct {
	Tenant string `path:"tenant" doc:"The tenant's name." example:"acme"`
	ID     string `path:"webhook" doc:"The webhook's id." example:"wh_7f3c"`
}

// RollWebhook says which webhook gets another secret, and how long the former one signs as well.
type RollWebhook struct {
	WebhookID
	Overlap *time.Duration // nil: webhook.DefaultOverlap
}

// DeliveryID names a delivery of a webhook.
type DeliveryID struct {
	WebhookID
	Delivery string `path:"delivery" doc:"The delivery's id." example:"msg_7f3c"`
}

// mostDeliveries is how many deliveries one answer has.
const mostDeliveries = 200

func webhookOf(w webhook.Webhook, tenantName string) Webhook {
	return Webhook{
		ID: w.ID, Tenant: tenantName, URL: w.URL, Events: append([]string{}, w.Types...),
		CreatedAt: w.CreatedAt.UTC(), FormerUntil: when(w.FormerUntil), DisabledAt: when(w.DisabledAt),
	}
}

func deliveryOf(d store.Delivery, tenantName string) Delivery {
	shown := Delivery{
		ID: d.ID, Type: d.Type, Tenant: tenantName, State: d.State, Attempts: d.Attempts, Status: d.Status,
		Reason: d.Reason, CreatedAt: d.CreatedAt.UTC(), EndedAt: when(d.EndedAt),
	}
	if d.State == store.DeliveryWaiting {
		shown.NextAt = when(d.NextAt)
	}
	return shown
}

// reachesWebhooks is reaches for the webhooks of a tenant, and isOperator for those of the operator.
func reachesWebhooks(c apikey.Caller, tenantName string) error {
	if tenantName == "" {
		return isOperator(c)
	}
	return reaches(c, tenantName)
}

// ownerOf is reachesWebhooks, and returns the id of the tenant, or "" for the operator.
func (s *Service) ownerOf(ctx context.Context, c apikey.Caller, tenantName string) (string, error) {
	if tenantName == "" {
		return "", isOperator(c)
	}
	owner, err := s.tenant(ctx, c, tenantName)
	return owner.ID, err
}

// webhook is like reachesWebhooks, and fails as for an unknown webhook if the webhook is not theirs.
func (s *Service) webhook(ctx context.Context, c apikey.Caller, n WebhookID) error {
	owner, err := s.ownerOf(ctx, c, n.Tenant)
	if err != nil {
		return err
	}
	w, err := s.opts.Store.Webhook(ctx, n.ID)
	if err == nil && w.TenantID != owner {
		err = webhook.NotFound()
	}
	return err
}

// ListWebhooks lists the webhooks of a tenant, or of the operator if tenantName is "".
func (s *Service) ListWebhooks(ctx context.Context, c apikey.Caller, tenantName string) (Webhooks, error) {
	answer := Webhooks{Webhooks: []Webhook{}}
	owner, err := s.ownerOf(ctx, c, tenantName)
	if err != nil {
		return answer, err
	}
	all, err := s.opts.Webhooks.List(ctx)
	for _, w := range all {
		if w.TenantID == owner {
			answer.Webhooks = append(answer.Webhooks, webhookOf(w, tenantName))
		}
	}
	return answer, err
}

// ListAllWebhooks lists the webhooks of the operator and of all tenants. Only the operator may.
func (s *Service) ListAllWebhooks(ctx context.Context, c apikey.Caller) (Webhooks, error) {
	answer := Webhooks{Webhooks: []Webhook{}}
	if err := isOperator(c); err != nil {
		return answer, err
	}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return answer, err
	}
	all, err := s.opts.Webhooks.List(ctx)
	for _, w := range all {
		answer.Webhooks = append(answer.Webhooks, webhookOf(w, names[w.TenantID]))
	}
	return answer, err
}

// CreateWebhook creates a webhook.
func (s *Service) CreateWebhook(
	ctx context.Context, c apikey.Caller, w Write, n NewWebhook,
) (service.Answer[CreatedWebhook], error) {
	if err := reachesWebhooks(c, n.Tenant); err != nil {
		return service.Answer[CreatedWebhook]{}, err
	}
	return once(ctx, s, w, creation[webhook.Webhook, CreatedWebhook]{
		operation: "create-webhook", input: n, shown: createdWebhook(n.Tenant),
		create: func(ctx context.Context) (string, webhook.Webhook, error) {
			return s.opts.Webhooks.Create(ctx, n.Tenant, n.Spec)
		},
	})
}

// createdWebhook returns the function that shows a webhook of a tenant with its new secret.
func createdWebhook(tenantName string) func(secret string, made webhook.Webhook) CreatedWebhook {
	return func(secret string, made webhook.Webhook) CreatedWebhook {
		return CreatedWebhook{secret, webhookOf(made, tenantName)}
	}
}

// RemoveWebhook removes a webhook with its deliveries.
func (s *Service) RemoveWebhook(ctx context.Context, c apikey.Caller, n WebhookID) (Done, error) {
	if err := s.webhook(ctx, c, n); err != nil {
		return Done{}, err
	}
	return Done{}, s.opts.Webhooks.Remove(ctx, n.ID)
}

// RollWebhook gives a webhook another secret. The former one signs as well for a while.
func (s *Service) RollWebhook(
	ctx context.Context, c apikey.Caller, w Write, n RollWebhook,
) (service.Answer[CreatedWebhook], error) {
	if err := s.webhook(ctx, c, n.WebhookID); err != nil {
		return service.Answer[CreatedWebhook]{}, err
	}
	overlap := webhook.DefaultOverlap
	if n.Overlap != nil {
		overlap = *n.Overlap
	}
	return once(ctx, s, w, creation[webhook.Webhook, CreatedWebhook]{
		operation: "roll-webhook", input: n, shown: createdWebhook(n.Tenant),
		create: func(ctx context.Context) (string, webhook.Webhook, error) {
			return s.opts.Webhooks.Roll(ctx, n.ID, overlap)
		},
	})
}

// TestWebhook sends a test to a webhook.
func (s *Service) TestWebhook(ctx context.Context, c apikey.Caller, n WebhookID) (WebhookTest, error) {
	if err := s.webhook(ctx, c, n); err != nil {
		return WebhookTest{}, err
	}
	done, err := s.opts.Webhooks.Test(ctx, n.ID)
	return WebhookTest{OK: done.Acknowledged(), Status: done.Status, Reason: done.Reason}, err
}

// ListDeliveries lists the newest deliveries of a webhook.
func (s *Service) ListDeliveries(ctx context.Context, c apikey.Caller, n WebhookID) (Deliveries, error) {
	answer := Deliveries{Deliveries: []Delivery{}}
	if err := s.webhook(ctx, c, n); err != nil {
		return answer, err
	}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return answer, err
	}
	all, err := s.opts.Store.Deliveries(ctx, n.ID, mostDeliveries)
	for _, d := range all {
		answer.Deliveries = append(answer.Deliveries, deliveryOf(d, names[d.TenantID]))
	}
	return answer, err
}

// ResendDelivery sends a delivery again, with the same id.
func (s *Service) ResendDelivery(ctx context.Context, c apikey.Caller, n DeliveryID) (Delivery, error) {
	if err := s.webhook(ctx, c, n.WebhookID); err != nil {
		return Delivery{}, err
	}
	was, err := s.opts.Store.Delivery(ctx, n.Delivery)
	if err == nil && was.WebhookID != n.ID {
		err = webhook.DeliveryNotFound()
	}
	if err != nil {
		return Delivery{}, err
	}
	names, err := s.tenantNames(ctx, c)
	if err != nil {
		return Delivery{}, err
	}
	d, err := s.opts.Webhooks.Resend(ctx, n.Delivery)
	return deliveryOf(d, names[d.TenantID]), err
}

// FindDelivery returns the webhook of a delivery. Only the operator may.
func (s *Service) FindDelivery(ctx context.Context, c apikey.Caller, id string) (DeliveryID, error) {
	if err := isOperator(c); err != nil {
		return DeliveryID{}, err
	}
	d, err := s.opts.Store.Delivery(ctx, id)
	if err != nil {
		return DeliveryID{}, err
	}
	n, err := s.FindWebhook(ctx, c, d.WebhookID)
	return DeliveryID{WebhookID: n, Delivery: id}, err
}

// FindWebhook returns whose a webhook is. Only the operator may.
func (s *Service) FindWebhook(ctx context.Context, c apikey.Caller, id string) (WebhookID, error) {
	if err := isOperator(c); err != nil {
		return WebhookID{}, err
	}
	w, err := s.opts.Store.Webhook(ctx, id)
	if err != nil {
		return WebhookID{}, err
	}
	names, err := s.tenantNames(ctx, c)
	return WebhookID{Tenant: names[w.TenantID], ID: id}, err
}
