package gateway

import "frontdesk/core/webhook"

// openWebhooks creates what manages webhooks and sends to them. plainHTTP allows addresses by http.
func (g *Gateway) openWebhooks(plainHTTP bool) {
	g.webhooks = webhook.NewDirectory(webhook.Options{
		Store: g.store, Vault: g.vault, Pool: g.pool, Now: g.now, Audit: g.audit, PlainHTTP: plainHTTP,
	})
	g.sender = webhook.NewSender(webhook.SenderOptions{
		Store: g.store, Vault: g.vault, Pool: g.pool, Owner: g.process, Now: g.now, Log: g.log, Metrics: g.metrics,
	})
}
