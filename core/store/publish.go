package store

import (
	"context"
	"database/sql"
	"time"
)

// The types of events.
const (
	EventConnected         = "connection.connected"
	EventReconnectRequired = "connection.reconnect_required"
	EventRecovered         = "connection.recovered"
	EventProviderDown      = "provider.down"
	EventProviderUp        = "provider.up"
	EventNumberGone        = "number.gone"
	EventNumberAppeared    = "number.appeared"
	EventIntentSettled     = "intent.settled"
)

// Event is a change that webhooks are told of.
type Event struct {
	Type         string
	At           time.Time
	Tenant       string // its name
	Connection   string // its name
	ConnectionID string
	Kind         string
	Provider     string

	Number Number // of the events about numbers

	Settled Settled // of EventIntentSettled
}

// Settled is the outcome of a call that was unknown before.
type Settled struct {
	Operation string
	RequestID string
	Outcome   string // "done", "failed", or "unknown" for good
	Reason    string // why it is not "done"
	EffectRef string // the provider's id of the effect
}

// Publisher is what the store needs to write events.
type Publisher struct {
	Now     func() time.Time
	NewID   func() string
	Payload func(Event) ([]byte, error) // what is sent
}

// PublishWith makes the store write the deliveries of an event in the transaction of the change that the
// event tells. Without it no events are written. It must be called before the store is used.
func (s *Store) PublishWith(p Publisher) { s.publisher = &p }

// publishes reports whether events are written.
func (s *Store) publishes() bool { return s.publisher != nil }

// publish adds a delivery of an event about a connection to the queue of each webhook that takes the event.
// The transaction must have locked the connection already, because a removal locks it before its queues. If
// there is no such connection, nobody is told.
func (s *Store) publish(ctx context.Context, tx *sql.Tx, tenantID, connectionID string, e Event) error {
	if !s.publishes() {
		return nil
	}
	// The webhooks are locked, so that none is removed before its deliveries are added; they are ordered, so
	// that no two transactions deadlock.
	webhooks, err := list(ctx, tx, scanText, `SELECT id FROM webhooks
		WHERE (tenant_id = $1 OR tenant_id IS NULL) AND disabled_at IS NULL
		AND (types = '' OR types LIKE '% ' || $2 || ' %') ORDER BY id`+s.dialect.lockParent, tenantID, e.Type)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	e.At, e.ConnectionID = s.publisher.Now(), connectionID
	_, found, err := find(ctx, tx, func(row scanner) (none struct{}, err error) {
		return none, row.Scan(&e.Tenant, &e.Connection, &e.Kind, &e.Provider)
	}, `SELECT t.name, c.name, c.kind, c.provider FROM connections c JOIN tenants t ON t.id = c.tenant_id
		WHERE c.tenant_id = $1 AND c.id = $2`, tenantID, connectionID)
	if err != nil || !found {
		return err
	}
	payload, err := s.publisher.Payload(e)
	if err != nil {
		return err
	}
	for _, webhookID := range webhooks {
		d := Delivery{
			WebhookID: webhookID, ID: s.publisher.NewID(), ConnectionID: connectionID, Type: e.Type, Payload: payload,
			CreatedAt: e.At,
		}
		if err := s.enqueue(ctx, tx, tenantID, d); err != nil {
			return err
		}
	}
	return nil
}

// enqueue adds a delivery at the end of its queue.
func (s *Store) enqueue(ctx context.Context, tx *sql.Tx, tenantID string, d Delivery) error {
	sealed, err := s.seal(sealedDeliveries, 0, deliveryRow(d), d.Payload)
	if err != nil {
		return err
	}
	// The row of the queue is locked first, by everybody who changes its deliveries.
	place, _, err := find(ctx, tx, scanInt,
		`INSERT INTO webhook_queues (webhook_id, tenant_id, connection_id, last, next_at, owner)
		VALUES ($1, $2, $3, 1, $4, '') ON CONFLICT (webhook_id, connection_id) DO UPDATE
		SET last = webhook_queues.last + 1, next_at = COALESCE(webhook_queues.next_at, excluded.next_at)
		RETURNING last`, d.WebhookID, tenantID, d.ConnectionID, millis(d.CreatedAt))
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, `INSERT INTO deliveries (webhook_id, id, connection_id, place, type, payload, state,
		attempts, status, reason, created_at, queued_at) VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0, 0, '', $7, $7)`,
		d.WebhookID, d.ID, d.ConnectionID, place, d.Type, string(sealed), millis(d.CreatedAt))
	return err
}

// lockConnection keeps a connection from being removed until the transaction ends, and reports whether it
// exists.
func (s *Store) lockConnection(ctx context.Context, tx *sql.Tx, tenantID, id string) (bool, error) {
	_, found, err := find(ctx, tx, scanText,
		"SELECT id FROM connections WHERE tenant_id = $1 AND id = $2"+s.dialect.lockParent, tenantID, id)
	return found, err
}

// statusChange is the status of a connection that was told before a statement, and the one that is told now.
type statusChange struct{ before, after string }

// reporting returns the part of an UPDATE of connections that keeps the status that is told. status is the
// expression for the new status. A statement returns what it replaced, since a second update of the row in
// one transaction would make PostgreSQL lock the tenant after the connection.
func reporting(status string) string {
	return "reported_before = reported_status, reported_status = CASE WHEN " + status +
		" = 'ok' OR reported_status <> '' THEN " + status + " ELSE '' END"
}

// changeStatus runs an UPDATE of one connection with the part reporting. It returns false if there was no
// row.
func changeStatus(ctx context.Context, tx *sql.Tx, query string, args ...any) (statusChange, bool, error) {
	return find(ctx, tx, func(row scanner) (c statusChange, err error) {
		return c, row.Scan(&c.before, &c.after)
	}, query+" RETURNING reported_before, reported_status", args...)
}

// publishStatus tells webhooks that a connection's status has changed.
func (s *Store) publishStatus(
	ctx context.Context, tx *sql.Tx, tenantID, id string, change statusChange,
) error {
	e := Event{Type: EventReconnectRequired}
	switch {
	case change.before == change.after:
		return nil
	case change.before == "":
		e.Type = EventConnected
	case change.after == "ok":
		e.Type = EventRecovered
	}
	return s.publish(ctx, tx, tenantID, id, e)
}

// SetProviderHealth records whether the provider of a connection answers, and tells webhooks if that is a
// change. It reports whether it was one. It writes nothing if the tenant's events go to no webhook.
func (s *Store) SetProviderHealth(
	ctx context.Context, connectionID string, down bool,
) (changed bool, err error) {
	if !s.publishes() {
		return false, nil
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		changed = false
		tenantID, found, err := find(ctx, tx, scanText,
			"SELECT tenant_id FROM connections WHERE id = $1"+s.dialect.lockParent, connectionID)
		if err != nil || !found {
			return err
		}
		query, e := markUp, Event{Type: EventProviderUp}
		if down {
			query, e.Type = markDown, EventProviderDown
		}
		affected, err := exec(ctx, tx, query, connectionID, millis(s.publisher.Now()))
		if err != nil || affected == 0 {
			return err
		}
		changed = true
		return s.publish(ctx, tx, tenantID, connectionID, e)
	})
	return changed, err
}

const (
	markDown = `INSERT INTO provider_health (connection_id, down, changed_at)
		SELECT c.id, TRUE, CAST($2 AS BIGINT) FROM connections c WHERE c.id = $1 AND EXISTS
			(SELECT 1 FROM webhooks w WHERE (w.tenant_id = c.tenant_id OR w.tenant_id IS NULL) AND w.disabled_at IS NULL)
		ON CONFLICT (connection_id) DO UPDATE SET down = TRUE, changed_at = excluded.changed_at
		WHERE NOT provider_health.down`

	markUp = `UPDATE provider_health SET down = FALSE, changed_at = $2
		WHERE connection_id = $1 AND down`
)

// DownConnections lists the ids of the connections whose providers do not answer.
func (s *Store) DownConnections(ctx context.Context) ([]string, error) {
	return listOf(ctx, s, scanText,
		"SELECT connection_id FROM provider_health WHERE down ORDER BY connection_id")
}
