package store_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"frontdesk/core/store"
)

// publisher returns a publisher whose payloads are the events.
func publisher(at time.Time) store.Publisher {
	return store.Publisher{
		Now: func() time.Time { return at }, NewID: func() string { return "msg_" + rand.Text() },
		Payload: func(e store.Event) ([]byte, error) { return json.Marshal(e) },
	}
}

func webhookRow(id, tenantID string) store.Webhook {
	return store.Webhook{
		ID: id, TenantID: tenantID, URL: "https://example.com/" + id, Sealed: []byte("sealed"), CreatedAt: noon,
	}
}

// populateWebhooks adds a webhook of a tenant with two deliveries that wait and one that ended, and one of
// the operator.
func populateWebhooks(t *testing.T, s *store.Store, raw func(statement string)) {
	t.Helper()
	for _, w := range []store.Webhook{webhookRow("hook", "acme"), webhookRow("of all", "")} {
		must(t, s.CreateWebhook(t.Context(), w, 9))
	}
	ms := noon.UnixMilli()
	for _, queue := range []string{"'hook', 'acme', 'c1', 2, %d, ''", "'hook', 'acme', 'c2', 1, %d, 'owner'",
		"'of all', 'acme', 'k1', 1, NULL, ''"} {
		if queue[len(queue)-8:] != "NULL, ''" {
			queue = fmt.Sprintf(queue, ms)
		}
		raw("INSERT INTO webhook_queues (webhook_id, tenant_id, connection_id, last, next_at, owner) VALUES (" +
			queue +
			")")
	}
	for _, row := range []string{
		"'hook', 'first', 'c1', 1, 'waiting', NULL", "'hook', 'second', 'c1', 2, 'waiting', NULL",
		"'hook', 'leased', 'c2', 1, 'waiting', NULL", "'of all', 'ended', 'k1', 1, 'failed', 1",
	} {
		raw("INSERT INTO deliveries (webhook_id, id, connection_id, place, state, ended_at, type, payload, attempts, " +
			"status, reason, created_at, queued_at) VALUES (" + row +
			fmt.Sprintf(", 'provider.up', '{}', 0, 0, '', %d, %[1]d)", ms))
	}
	raw(fmt.Sprintf("INSERT INTO provider_health (connection_id, down, changed_at) VALUES ('c3', TRUE, %d)", ms))
}

func deliveryIn(webhookID, id, connectionID, state string) store.Delivery {
	d := store.Delivery{WebhookID: webhookID, ID: id, ConnectionID: connectionID, State: state, Status: 500}
	if state != store.DeliveryWaiting {
		d.EndedAt = noon
	}
	return d
}

func (c caller) lease(connectionID string) (any, error) {
	q := store.QueueID{WebhookID: "hook", ConnectionID: connectionID}
	return two(c.s.LeaseQueue(c.ctx, q, "owner "+c.name, noon, noon.Add(time.Minute)))
}

func (c caller) endAttempt(state string) (any, error) {
	return only(c.s.EndAttempt(c.ctx, deliveryIn("hook", "leased", "c2", state), "owner", noon.Add(time.Minute)))
}

func (c caller) resend(d store.Delivery) (any, error) {
	return only(c.s.ResendDelivery(c.ctx, d, noon.Add(time.Minute), c.audit()))
}

var webhookOperations = []operation{
	{"CreateWebhook", func(c caller) (any, error) {
		return only(c.s.CreateWebhook(c.ctx, webhookRow("new of "+c.name, "acme"), 2, c.audit()))
	}},
	{"Webhook", func(c caller) (any, error) { return one(c.s.Webhook(c.ctx, "hook")) }},
	{"Webhooks", func(c caller) (any, error) { return one(c.s.Webhooks(c.ctx)) }},
	{"DeleteWebhook", func(c caller) (any, error) { return only(c.s.DeleteWebhook(c.ctx, "hook", c.audit())) }},
	{"SealWebhook", func(c caller) (any, error) {
		return one(c.s.SealWebhook(c.ctx, webhookRow("hook", "acme"), []byte("by "+c.name), c.audit()))
	}},
	{"DisableWebhook", func(c caller) (any, error) { return only(c.s.DisableWebhook(c.ctx, "hook", noon)) }},
	{"DueQueues", func(c caller) (any, error) { return one(c.s.DueQueues(c.ctx, noon, "", 4, 10)) }},
	{"LeaseQueue", func(c caller) (any, error) { return c.lease("c1") }},
	{"LeaseQueue: whose lease has ended", func(c caller) (any, error) { return c.lease("c2") }},
	{"EndAttempt: acknowledged", func(c caller) (any, error) { return c.endAttempt(store.DeliveryDelivered) }},
	{"EndAttempt: to be repeated", func(c caller) (any, error) { return c.endAttempt(store.DeliveryWaiting) }},
	{"Deliveries", func(c caller) (any, error) { return one(c.s.Deliveries(c.ctx, "hook", 2)) }},
	{"Delivery", func(c caller) (any, error) { return one(c.s.Delivery(c.ctx, "first")) }},
	{"ResendDelivery", func(c caller) (any, error) {
		return c.resend(deliveryIn("of all", "ended", "k1", store.DeliveryFailed))
	}},
	{"ResendDelivery: one that waits", func(c caller) (any, error) {
		return c.resend(deliveryIn("hook", "leased", "c2", store.DeliveryWaiting))
	}},
	{"OldestWaiting", func(c caller) (any, error) { return one(c.s.OldestWaiting(c.ctx)) }},
	{"PurgeDeliveries", func(c caller) (any, error) { return one(c.s.PurgeDeliveries(c.ctx, noon, 100)) }},
	{"SetProviderHealth: down", func(c caller) (any, error) {
		return one(c.s.SetProviderHealth(c.ctx, "c1", true))
	}},
	{"SetProviderHealth: up", func(c caller) (any, error) {
		return one(c.s.SetProviderHealth(c.ctx, "c3", false))
	}},
	{"UpdateConnection: refused", func(c caller) (any, error) {
		return c.updateConnection("c2", func(row *store.Connection) { row.Status = "reconnect_required" })
	}},
	{"RefuseTokens: told", func(c caller) (any, error) {
		return one(c.s.RefuseTokens(c.ctx, tokensBy(c, "c1"), 1, 1))
	}},
	{"DownConnections", func(c caller) (any, error) { return one(c.s.DownConnections(c.ctx)) }},
	{"FinishIntent: settles", func(c caller) (any, error) {
		return only(c.s.FinishIntent(c.ctx, intentRow("unknown"), store.Attached{Settles: true}, c.audit()))
	}},
	{"Settle", func(c caller) (any, error) {
		failed := store.Settled{Outcome: "failed", Reason: "REASON"}
		return only(c.s.Settle(c.ctx, intentRow("running"), failed, c.audit()))
	}},
}
