// Package webhook sends events to the platform that runs the gateway, or to a tenant's own systems, by the
// scheme of Standard Webhooks (https://www.standardwebhooks.com): a POST of JSON with the headers webhook-id,
// webhook-timestamp and webhook-signature.
//
//	secret, made, err := directory.Create(ctx, "acme", webhook.Spec{URL: "https://platform.example/hooks"})
//
// It promises:
//   - An event that is a change of the gateway's rows is queued in the change's own transaction, so it is
//     neither lost nor invented, whenever a process ends.
//   - A delivery is sent until it is acknowledged with a status of 2xx, for a day. It may arrive twice, with
//     the same webhook-id. Those about one connection arrive in order.
//   - A receiver that is slow or down delays nobody else's deliveries, and no caller.
//   - A webhook leads only to where a tenant's connections may lead (core/upstream).
//   - A webhook of a tenant gets events of this tenant alone.
package webhook

import (
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// Reasons of faults about webhooks.
const (
	ReasonNotFound         = store.ReasonWebhookNotFound
	ReasonDeliveryNotFound = store.ReasonDeliveryNotFound
	ReasonDisabled         = store.ReasonWebhookDisabled
	ReasonLimit            = store.ReasonWebhookLimit
)

// NotFound returns the fault for an id that no webhook has.
func NotFound() error { return fault.New(fault.NotFound, ReasonNotFound, "There is no such webhook.") }

// DeliveryNotFound returns the fault for an id that no delivery has.
func DeliveryNotFound() error {
	return fault.New(fault.NotFound, ReasonDeliveryNotFound, "There is no such delivery.")
}

// Types returns the types of events.
func Types() []string {
	return []string{
		store.EventConnected, store.EventReconnectRequired, store.EventRecovered, store.EventProviderDown,
		store.EventProviderUp, store.EventNumberGone, store.EventNumberAppeared, store.EventIntentSettled,
	}
}

// Webhook is an endpoint that events are sent to.
type Webhook struct {
	ID          string
	TenantID    string // "": the operator's, for the events of all tenants
	URL         string
	Types       []string // the events that it takes; empty: all
	CreatedAt   time.Time
	FormerUntil time.Time // the former secret signs as well until then; zero: there is none
	DisabledAt  time.Time // zero: it takes events
}

// Spec describes a webhook to be created.
type Spec struct {
	URL   string
	Types []string // empty: all
}
