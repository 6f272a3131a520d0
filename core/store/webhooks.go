package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// Webhook is a row of webhooks.
type Webhook struct {
	ID         string
	TenantID   string // "": the operator's, for the events of all tenants
	URL        string
	Types      []string // the events that it takes; empty: all
	Sealed     []byte   // the signing secrets, sealed by core/sealing with the other columns
	CreatedAt  time.Time
	DisabledAt time.Time // zero: it takes events
}

// Delivery is a row of deliveries: one event for one webhook.
type Delivery struct {
	WebhookID    string
	ID           string
	ConnectionID string
	TenantID     string // of the connection
	Type         string
	Payload      []byte
	State        string // DeliveryWaiting, DeliveryDelivered or DeliveryFailed
	Attempts     int
	Status       int    // of the last response; 0: there was none
	Reason       string // why the last attempt failed
	CreatedAt    time.Time
	QueuedAt     time.Time // when it was created, or sent again
	EndedAt      time.Time // zero: it waits
	NextAt       time.Time // of the queue; zero: nothing of it waits
	Unreadable   error     // why the payload is left out; nil if it is there
}

// The states of a delivery.
const (
	DeliveryWaiting   = "waiting"
	DeliveryDelivered = "delivered" // acknowledged
	DeliveryFailed    = "failed"    // given up
)

// Reasons of faults about webhooks.
const (
	ReasonWebhookNotFound  = "WEBHOOK_NOT_FOUND"
	ReasonDeliveryNotFound = "DELIVERY_NOT_FOUND"
	ReasonWebhookDisabled  = "WEBHOOK_DISABLED"
	ReasonWebhookLimit     = "WEBHOOK_LIMIT"
)

const (
	webhookColumns  = "id, tenant_id, url, types, sealed, created_at, disabled_at"
	deliveryColumns = "d.webhook_id, d.id, d.connection_id, q.tenant_id, d.type, d.payload, d.state, d.attempts, " +
		"d.status, d.reason, d.created_at, d.queued_at, d.ended_at, q.next_at"
	deliveryTables = " FROM deliveries d JOIN webhook_queues q ON q.webhook_id = d.webhook_id AND " +
		"q.connection_id = d.connection_id"
)

func scanWebhook(row scanner) (w Webhook, err error) {
	var tenantID *string
	var types string
	var created int64
	var disabled *int64
	err = row.Scan(&w.ID, &tenantID, &w.URL, &types, &w.Sealed, &created, &disabled)
	w.TenantID, w.Types = textOf(tenantID), strings.Fields(types)
	w.CreatedAt, w.DisabledAt = instant(created), optionalInstant(disabled)
	return w, err
}

// deliveryRow returns the keys of the row that a delivery's payload is bound to.
func deliveryRow(d Delivery) []string { return []string{d.WebhookID, d.ID} }

// scanDelivery leaves the payload out if it cannot be opened, so that such a row can be listed and ended.
func (s *Store) scanDelivery(row scanner) (d Delivery, err error) {
	var created, queued int64
	var ended, next *int64
	err = row.Scan(&d.WebhookID, &d.ID, &d.ConnectionID, &d.TenantID, &d.Type, &d.Payload, &d.State, &d.Attempts,
		&d.Status, &d.Reason, &created, &queued, &ended, &next)
	if err != nil {
		return d, err
	}
	d.CreatedAt, d.QueuedAt, d.EndedAt, d.NextAt = instant(created), instant(queued), optionalInstant(ended),
		optionalInstant(next)
	if d.Payload, err = s.open(sealedDeliveries, 0, deliveryRow(d), d.Payload); isUnreadable(err) {
		d.Unreadable = err
		return d, nil
	}
	return d, err
}

// typesText returns the form in which the store keeps a list of types.
func typesText(types []string) string {
	if len(types) == 0 {
		return ""
	}
	return " " + strings.Join(types, " ") + " "
}

// CreateWebhook adds a webhook. A tenant that has most of them already is a Conflict.
func (s *Store) CreateWebhook(ctx context.Context, w Webhook, most int, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if w.TenantID != "" {
			if err := lockTenant(ctx, tx, w.TenantID); err != nil {
				return err
			}
			has, _, err := find(ctx, tx, scanInt, "SELECT COUNT(*) FROM webhooks WHERE tenant_id = $1", w.TenantID)
			if err != nil {
				return err
			}
			if has >= int64(most) {
				return webhookLimit(most)
			}
		}
		_, err := exec(ctx, tx, "INSERT INTO webhooks ("+webhookColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
			w.ID, text(w.TenantID), w.URL, typesText(w.Types), w.Sealed, millis(w.CreatedAt), optional(w.DisabledAt))
		if err != nil {
			return err
		}
		if err := s.recordCreation(ctx, tx, w.TenantID, w); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
}

// Webhook returns the webhook of that id.
func (s *Store) Webhook(ctx context.Context, id string) (Webhook, error) {
	return getIn(ctx, s, webhookNotFound, scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE id = $1", id)
}

// Webhooks lists the webhooks of all tenants and of the operator, oldest first.
func (s *Store) Webhooks(ctx context.Context) ([]Webhook, error) {
	all, err := listOf(ctx, s, scanWebhook, "SELECT "+webhookColumns+" FROM webhooks")
	slices.SortFunc(all, func(a, b Webhook) int {
		if by := a.CreatedAt.Compare(b.CreatedAt); by != 0 {
			return by
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, err
}

// DeleteWebhook removes a webhook with its deliveries.
func (s *Store) DeleteWebhook(ctx context.Context, id string, audit ...AuditRow) error {
	affected, err := s.execAudited(ctx, audit, "DELETE FROM webhooks WHERE id = $1", id)
	return orNone(affected, err, webhookNotFound)
}

// SealWebhook replaces the sealed secrets of a webhook and returns true, unless they have changed since the
// webhook was read.
func (s *Store) SealWebhook(ctx context.Context, w Webhook, sealed []byte, audit ...AuditRow) (bool, error) {
	was := w.Sealed
	w.Sealed = sealed
	affected, err := s.execCreating(ctx, w.TenantID, w, audit,
		"UPDATE webhooks SET sealed = $2 WHERE id = $1 AND sealed = $3", w.ID, sealed, was)
	return affected == 1, err
}

// DisableWebhook records that a webhook takes no events any more.
func (s *Store) DisableWebhook(ctx context.Context, id string, at time.Time) error {
	_, err := s.exec(ctx, "UPDATE webhooks SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL", id,
		millis(at))
	return err
}

// QueueID names a queue: the deliveries of one webhook about one connection.
type QueueID struct{ WebhookID, ConnectionID string }

const (
	// LongestDelivery is how long after a delivery was queued it is given up.
	LongestDelivery = 24 * time.Hour

	// LongestDeliveryWait is how far ahead a delivery can be due, by the clock of the replica that writes it.
	LongestDeliveryWait = 2 * time.Hour
)

// clocksDiffer is more than the clocks of two replicas do.
const clocksDiffer = time.Minute

// latestDue returns after when no delivery is due, by the clock of any replica. One that is due later is from a clock
// that was set back since, and is due now.
func latestDue(now time.Time) int64 { return millis(now.Add(LongestDeliveryWait + clocksDiffer)) }

// DueQueues lists queues whose first delivery is due, those of different webhooks in turn: at most a number of one
// webhook, and one more that a wrong clock made due later than latestDue. The webhooks that come after the given one
// have the first turns.
func (s *Store) DueQueues(
	ctx context.Context, now time.Time, after string, ofWebhook, most int,
) ([]QueueID, error) {
	return listOf(ctx, s, func(row scanner) (q QueueID, err error) {
		return q, row.Scan(&q.WebhookID, &q.ConnectionID)
	}, dueQueues(ofWebhook), millis(now), most, after, latestDue(now))
}

// dueQueues returns the query for the first queues of each webhook. It reads those by the index, however many
// are due: a window function would read all of them. In SQLite, an offset cannot come from a row.
func dueQueues(ofWebhook int) string {
	turn := func(n int, due string) string {
		return "SELECT " + strconv.Itoa(n) + ` AS turn, w.id, (SELECT q.connection_id FROM webhook_queues q
			WHERE q.webhook_id = w.id AND ` + due + ") AS connection_id FROM webhooks w"
	}
	turns := []string{turn(0, "q.next_at > $4 ORDER BY q.next_at DESC LIMIT 1")}
	for i := range ofWebhook {
		turns = append(turns, turn(i, "q.next_at <= $1 ORDER BY q.next_at, q.connection_id LIMIT 1 OFFSET "+strconv.Itoa(i)))
	}
	return "SELECT id, connection_id FROM (" + strings.Join(turns, " UNION ALL ") + `) due
		WHERE connection_id IS NOT NULL ORDER BY turn, id <= $3, id LIMIT $2`
}

// LeaseQueue takes the lease of a due queue, and returns its first delivery. It returns false if another
// process has the lease, nothing waits, or the tenant was deleted.
func (s *Store) LeaseQueue(
	ctx context.Context, q QueueID, owner string, now, until time.Time,
) (d Delivery, leased bool, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		d, leased = Delivery{}, false
		_, due, err := find(ctx, tx, scanText, `SELECT owner FROM webhook_queues
			WHERE webhook_id = $1 AND connection_id = $2 AND (next_at <= $3 OR next_at > $4)`+
			s.dialect.lockRows, q.WebhookID, q.ConnectionID, millis(now), latestDue(now))
		if err != nil || !due {
			return err
		}
		d, leased, err = find(ctx, tx, s.scanDelivery, "SELECT "+deliveryColumns+deliveryTables+
			" WHERE d.webhook_id = $1 AND d.connection_id = $2 AND d.state = 'waiting' AND "+ofLivingTenant+
			" ORDER BY d.place LIMIT 1", q.WebhookID, q.ConnectionID)
		if err != nil {
			return err
		}
		if leased {
			if d.QueuedAt, err = queuedAt(ctx, tx, d, now); err != nil {
				return err
			}
		}
		holder, next := owner, optional(until)
		if !leased {
			holder, next = "", nil
		}
		_, err = exec(ctx, tx, "UPDATE webhook_queues SET owner = $3, next_at = $4 WHERE webhook_id = $1 AND "+
			"connection_id = $2", q.WebhookID, q.ConnectionID, holder, next)
		return err
	})
	return d, leased, err
}

// queuedAt returns when the first delivery of a queue counts as queued. That is now if a wrong clock queued it: one
// that was ahead, so that it would be sent for longer, or far behind, so that its first failure would be its last. A
// delivery that was to be given up long ago is such a one, or no gateway ran meanwhile; unless it has waited behind
// others that were given up just now.
func queuedAt(ctx context.Context, tx *sql.Tx, d Delivery, now time.Time) (time.Time, error) {
	latest, earliest := now.Add(clocksDiffer), now.Add(-LongestDelivery-LongestDeliveryWait-clocksDiffer)
	switch {
	case d.QueuedAt.Before(earliest):
		_, refused, err := find(ctx, tx, scanText, `SELECT id FROM deliveries WHERE webhook_id = $1 AND connection_id = $2
			AND state = 'failed' AND ended_at > $3 LIMIT 1`, d.WebhookID, d.ConnectionID, millis(now.Add(-LongestDeliveryWait)))
		if err != nil || refused {
			return d.QueuedAt, err
		}
	case !d.QueuedAt.After(latest):
		return d.QueuedAt, nil
	}
	_, err := exec(ctx, tx, `UPDATE deliveries SET queued_at = $3 WHERE webhook_id = $1 AND connection_id = $2
		AND state = 'waiting' AND (queued_at > $4 OR queued_at < $5)`,
		d.WebhookID, d.ConnectionID, millis(now), millis(latest), millis(earliest))
	return now, err
}

// EndAttempt records an attempt: State, Status, Reason and EndedAt of d. If owner still has the lease of the
// queue, it ends, and the next attempt of what waits is due at next. What was acknowledged is recorded even
// if the lease was lost.
func (s *Store) EndAttempt(ctx context.Context, d Delivery, owner string, next time.Time) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The row of the queue is locked first, and updated once: at a second update of a row, PostgreSQL locks
		// what the row refers to.
		holder, found, err := find(ctx, tx, scanText, `SELECT owner FROM webhook_queues
			WHERE webhook_id = $1 AND connection_id = $2`+s.dialect.lockRows, d.WebhookID, d.ConnectionID)
		owned := found && holder == owner
		if err != nil || !owned && d.State != DeliveryDelivered {
			return err
		}
		if _, err := exec(ctx, tx, `UPDATE deliveries SET state = $3, attempts = attempts + 1, status = $4,
			reason = $5, ended_at = $6 WHERE webhook_id = $1 AND id = $2 AND state = 'waiting'`,
			d.WebhookID, d.ID, d.State, d.Status, d.Reason, optional(d.EndedAt)); err != nil || !owned {
			return err
		}
		_, err = exec(ctx, tx, `UPDATE webhook_queues SET owner = '', next_at = (SELECT CAST($3 AS BIGINT) WHERE EXISTS
			(SELECT 1 FROM deliveries d WHERE d.webhook_id = $1 AND d.connection_id = $2 AND d.state = 'waiting'))
			WHERE webhook_id = $1 AND connection_id = $2`, d.WebhookID, d.ConnectionID, millis(next))
		return err
	})
}

// Deliveries lists the newest deliveries of a webhook, the oldest of them first.
func (s *Store) Deliveries(ctx context.Context, webhookID string, most int) ([]Delivery, error) {
	all, err := listOf(ctx, s, s.scanDelivery, "SELECT "+deliveryColumns+deliveryTables+
		" WHERE d.webhook_id = $1 AND "+ofLivingTenant+` ORDER BY d.created_at DESC, d.connection_id DESC, d.place DESC
		LIMIT $2`, webhookID, most)
	slices.Reverse(all)
	return all, err
}

// Delivery returns the delivery of that id.
func (s *Store) Delivery(ctx context.Context, id string) (Delivery, error) {
	return getIn(ctx, s, deliveryNotFound, s.scanDelivery,
		"SELECT "+deliveryColumns+deliveryTables+" WHERE d.id = $1 AND "+ofLivingTenant, id)
}

// ResendDelivery puts a delivery that ended at the end of its queue, to be sent again. One that still waits
// is due at once. Its attempts count anew, and so do the waits between them. A webhook that was disabled is a Conflict.
func (s *Store) ResendDelivery(ctx context.Context, d Delivery, at time.Time, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		w, found, err := find(ctx, tx, scanWebhook, "SELECT "+webhookColumns+" FROM webhooks WHERE id = $1"+
			s.dialect.lockParent, d.WebhookID)
		if err == nil && found && !w.DisabledAt.IsZero() {
			err = webhookDisabled()
		}
		if err != nil {
			return err
		}
		place, found, err := find(ctx, tx, scanInt, `UPDATE webhook_queues SET last = last + 1,
			next_at = CASE WHEN owner = '' THEN $3 ELSE next_at END
			WHERE webhook_id = $1 AND connection_id = $2 RETURNING last`, d.WebhookID, d.ConnectionID, millis(at))
		if err == nil && !found {
			err = deliveryNotFound()
		}
		if err != nil {
			return err
		}
		affected, err := exec(ctx, tx, `UPDATE deliveries SET place = CASE WHEN state = 'waiting' THEN place ELSE $3 END,
			state = 'waiting', attempts = 0, queued_at = $4, ended_at = NULL WHERE webhook_id = $1 AND id = $2`,
			d.WebhookID, d.ID, place, millis(at))
		if err := orNone(affected, err, deliveryNotFound); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
}

const oldestWaiting = "SELECT MIN(queued_at) FROM deliveries WHERE state = 'waiting'"

// OldestWaiting returns when the oldest delivery that waits was queued, or zero if none waits.
func (s *Store) OldestWaiting(ctx context.Context) (time.Time, error) {
	at, _, err := findIn(ctx, s, func(row scanner) (at *int64, err error) { return at, row.Scan(&at) },
		oldestWaiting)
	return optionalInstant(at), err
}

// PurgeDeliveries removes a batch of deliveries that ended before a time, and returns its size.
func (s *Store) PurgeDeliveries(ctx context.Context, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM deliveries WHERE id IN ("+purgeableDeliveries+s.dialect.lockFree+")",
		millis(before), most)
}

const purgeableDeliveries = "SELECT id FROM deliveries WHERE ended_at < $1 LIMIT $2"

func webhookNotFound() error {
	return fault.New(fault.NotFound, ReasonWebhookNotFound, "There is no such webhook.")
}

func deliveryNotFound() error {
	return fault.New(fault.NotFound, ReasonDeliveryNotFound, "There is no such delivery.")
}

func webhookLimit(most int) error {
	return fault.Newf(fault.Conflict, ReasonWebhookLimit,
		"The tenant has %d webhooks, which is the limit. Remove one first.", most)
}

func webhookDisabled() error {
	return fault.New(fault.Conflict, ReasonWebhookDisabled,
		"The webhook's receiver answered 410, so the webhook is disabled. Remove it, and add it again.")
}
