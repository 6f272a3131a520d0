package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"frontdesk/core/fault"
)

// PurchaseState is the state of a purchase.
type PurchaseState string

// The states of a purchase, and the one statement or transaction that leads from each to the next:
//
//	            ReservePurchase
//	(no row) -----------------> reserved   the right to buy one number is taken
//	                               |
//	                               | ChooseNumber, which also chooses another number if someone else
//	                               | has the first
//	                               v
//	                            chosen     the number is claimed; it may have been ordered
//	                               |  \
//	                               |   \  MarkOrdered
//	                    MarkFilled |    v
//	                               |   ordered   its provider took the order and has not filled it yet
//	                               |    |
//	                               v    v  MarkFilled
//	                            filled     the account has the number
//	                               |  \
//	                 AddPurchased  |   \  MarkReturning
//	                               |    v
//	                               |   returning   its set-up was refused; it goes back to the provider
//	                               v    |
//	                            done    v  MarkReturned, also of a number that went back by other means
//	                                   returned
//
// done and returned are final: money was spent, and the purchase counts for a day. EndPurchase removes a
// purchase that is reserved, chosen or ordered and led to no number. Only the run that took the purchase last
// (Runner) can make a transition, and only from the states named here. A run that lost the purchase gets a
// Conflict with the reason INTENT_LOST.
//
// From chosen on, a row of number_claims assigns the number to the purchase. done passes the row on to the
// number; returned and EndPurchase remove it.
const (
	PurchaseReserved  PurchaseState = "reserved"
	PurchaseChosen    PurchaseState = "chosen"
	PurchaseOrdered   PurchaseState = "ordered"
	PurchaseFilled    PurchaseState = "filled"
	PurchaseReturning PurchaseState = "returning"
	PurchaseDone      PurchaseState = "done"
	PurchaseReturned  PurchaseState = "returned"
)

const (
	purchaseColumns = "id, tenant_id, connection_id, realm, state, e164, refusal, runner, created_at"
	ended           = "state IN ('done', 'returned')"
	unended         = "state NOT IN ('done', 'returned')" // as in the index purchases_open
	// The purchase, if it still belongs to the run and is in one of the states that follow.
	run = "id = $1 AND runner = $2 AND state IN "
)

func scanPurchase(row scanner) (p Purchase, err error) {
	var refusal string
	var created int64
	err = row.Scan(&p.ID, &p.TenantID, &p.ConnectionID, &p.Realm, &p.State, &p.E164, &refusal,
		&p.Runner, &created)
	if p.CreatedAt = instant(created); refusal != "" {
		p.Refusal = json.RawMessage(refusal)
	}
	return p, err
}

// PurchaseLimits are how many numbers a tenant may buy and hold. A negative value means no limit.
type PurchaseLimits struct {
	PerDay int // bought within 24 hours, including purchases under way
	Held   int // held, including numbers waiting to be returned and purchases under way
}

// LimitReached is the limit that prevents a purchase. The zero value is none.
type LimitReached struct {
	PerDay bool
	Held   bool
	Until  time.Time // with PerDay: when the tenant may buy again; zero: waiting does not help
}

const purchaseDay = 24 * time.Hour

// ReservePurchase reserves the right to buy one number for the intent. If the intent's effect key has a
// purchase that is open, or that ended and began after since, it returns that purchase. From then on, only
// the run that holds the intent can take the purchase's steps; a run that no longer holds the intent gets a
// Conflict with the reason INTENT_LOST. Of concurrent calls, no more get the right than the limits allow.
func (s *Store) ReservePurchase(
	ctx context.Context, i Intent, realm string, since time.Time, limits PurchaseLimits,
) (kept Purchase, reached LimitReached, err error) {
	p := Purchase{
		ID: i.EffectKey, TenantID: i.TenantID, ConnectionID: i.ConnectionID, Realm: realm,
		State: PurchaseReserved, Runner: i.Owner, CreatedAt: instant(millis(i.CreatedAt)),
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		reached = LimitReached{}
		// The update makes the tenant's purchases take turns.
		affected, err := exec(ctx, tx, "UPDATE tenants SET settings = settings WHERE id = $1", p.TenantID)
		if err := orNone(affected, err, tenantNotFound); err != nil {
			return err
		}
		// A run that takes the intent over waits for this transaction, and reserves after it.
		affected, err = exec(ctx, tx, "UPDATE intents SET owner = owner WHERE "+held, heldBy(i)...)
		if err := orNone(affected, err, intentLost); err != nil {
			return err
		}
		there, found, err := find(ctx, tx, scanPurchase, `UPDATE purchases SET runner = $2
			WHERE id = $1 AND (NOT `+ended+" OR created_at > $3) RETURNING "+purchaseColumns, p.ID, p.Runner,
			millis(since))
		if err != nil || found {
			kept = there
			return err
		}
		// A purchase of an earlier use of the key gives up the id, and only counts for the limits.
		_, err = exec(ctx, tx, "UPDATE purchases SET id = $2 WHERE id = $1", p.ID, p.ID+"/"+rand.Text())
		if err != nil {
			return err
		}
		if reached, err = limitReached(ctx, tx, p, limits); err != nil || reached != (LimitReached{}) {
			return err
		}
		kept = p
		_, err = exec(ctx, tx, "INSERT INTO purchases ("+purchaseColumns+`, revision)
			VALUES ($1, $2, $3, $4, $5, '', '', $6, $7, 0)`,
			p.ID, p.TenantID, p.ConnectionID, p.Realm, p.State, p.Runner, millis(p.CreatedAt))
		return err
	})
	return kept, reached, err
}

func limitReached(ctx context.Context, tx *sql.Tx, p Purchase, limits PurchaseLimits) (LimitReached, error) {
	switch {
	case limits.PerDay == 0:
		return LimitReached{PerDay: true}, nil
	case limits.PerDay > 0:
		// The purchase that must be a day old before there is room for another.
		last, found, err := find(ctx, tx, scanInt, `SELECT created_at FROM purchases
			WHERE tenant_id = $1 AND created_at > $2 ORDER BY created_at DESC LIMIT 1 OFFSET $3`,
			p.TenantID, millis(p.CreatedAt.Add(-purchaseDay)), limits.PerDay-1)
		if err != nil || found {
			return LimitReached{PerDay: true, Until: instant(last).Add(purchaseDay)}, err
		}
	}
	if limits.Held >= 0 {
		// One statement sees one moment, so a purchase that is done meanwhile is counted once.
		count, _, err := find(ctx, tx, scanInt, `SELECT
			(SELECT COUNT(*) FROM numbers WHERE tenant_id = $1 AND released_at IS NULL)
			+ (SELECT COUNT(*) FROM purchases WHERE tenant_id = $1 AND NOT `+ended+")", p.TenantID)
		if err != nil || count >= int64(limits.Held) {
			return LimitReached{Held: true}, err
		}
	}
	return LimitReached{}, nil
}

// ChooseNumber claims a number for an open purchase, in place of the number chosen before. If someone in the
// realm has the number, it returns false and leaves the purchase unchanged.
func (s *Store) ChooseNumber(ctx context.Context, p Purchase, e164 string) (chosen bool, err error) {
	taken := errors.New("the number is claimed")
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := step(ctx, tx, p, `UPDATE purchases SET state = 'chosen', e164 = $3
			WHERE `+run+"('reserved', 'chosen', 'ordered')", e164)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, "DELETE FROM number_claims WHERE purchase_id = $1", p.ID); err != nil {
			return err
		}
		affected, err := exec(ctx, tx, `INSERT INTO number_claims (realm, e164, purchase_id) VALUES ($1, $2, $3)
			ON CONFLICT (realm, e164) DO NOTHING`, p.Realm, e164, p.ID)
		if err == nil && affected == 0 {
			err = taken
		}
		return err
	})
	if errors.Is(err, taken) {
		return false, nil
	}
	return err == nil, err
}

// MarkOrdered records that the provider took the order.
func (s *Store) MarkOrdered(ctx context.Context, p Purchase) error {
	return s.step(ctx, p, "UPDATE purchases SET state = 'ordered' WHERE "+run+"('chosen')")
}

// MarkFilled records that the account has the number.
func (s *Store) MarkFilled(ctx context.Context, p Purchase) error {
	return s.step(ctx, p, "UPDATE purchases SET state = 'filled' WHERE "+run+"('chosen', 'ordered')")
}

// MarkReturning records that the number could not be set up and is being returned, and why. The revision is
// that of the connection whose settings were refused, or 0 if something else was refused.
func (s *Store) MarkReturning(
	ctx context.Context, p Purchase, refusal json.RawMessage, revision int64,
) error {
	return s.step(ctx, p, `UPDATE purchases SET state = 'returning', refusal = $3, revision = $4
		WHERE `+run+"('filled')", string(refusal), revision)
}

// MarkReturned ends a purchase whose number was returned: money was spent on it. It removes the claim.
func (s *Store) MarkReturned(ctx context.Context, p Purchase) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := step(ctx, tx, p, `UPDATE purchases SET state = 'returned'
			WHERE `+run+"('ordered', 'filled', 'returning')")
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, "DELETE FROM number_claims WHERE purchase_id = $1", p.ID)
		return err
	})
}

// AddPurchased ends a purchase with the number that it bought. It adds the number with a new id, passes the
// claim on to it, and adds the audit rows.
func (s *Store) AddPurchased(
	ctx context.Context, p Purchase, n Number, audit ...AuditRow,
) (kept Number, err error) {
	n.TenantID, n.ConnectionID, n.Realm, n.E164 = p.TenantID, p.ConnectionID, p.Realm, p.E164
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.takeTurn(ctx, tx, n.ConnectionID); err != nil {
			return err
		}
		if err := step(ctx, tx, p, "UPDATE purchases SET state = 'done' WHERE "+run+"('filled')"); err != nil {
			return err
		}
		if kept, err = insertNumber(ctx, tx, n); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `UPDATE number_claims SET purchase_id = NULL, number_id = $2
			WHERE purchase_id = $1`, p.ID, kept.ID)
		if err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
	return kept, err
}

// EndPurchase removes a purchase that led to no number, with its claim. The purchase no longer counts.
func (s *Store) EndPurchase(ctx context.Context, p Purchase) error {
	return s.step(ctx, p, "DELETE FROM purchases WHERE "+run+"('reserved', 'chosen', 'ordered')")
}

// step makes one transition of a purchase.
func (s *Store) step(ctx context.Context, p Purchase, query string, more ...any) error {
	return s.changeOnce(ctx, oneStatement, func(ctx context.Context, q querier) error {
		return step(ctx, q, p, query, more...)
	})
}

func step(ctx context.Context, q querier, p Purchase, query string, more ...any) error {
	affected, err := exec(ctx, q, query, append([]any{p.ID, p.Runner}, more...)...)
	if err == nil && affected == 0 {
		return fault.New(fault.Conflict, ReasonIntentLost, "Another run has taken over this purchase.")
	}
	return err
}

// TakenNumbers lists the claimed numbers of a realm that begin with prefix.
func (s *Store) TakenNumbers(ctx context.Context, realm, prefix string) ([]string, error) {
	return listOf(ctx, s, scanText, "SELECT e164 FROM number_claims WHERE realm = $1 AND e164 LIKE $2",
		realm, prefix+"%")
}

// RefusedSetup returns why the last number of a connection could not be set up with the connection's settings
// of this revision, or nil if none was refused.
func (s *Store) RefusedSetup(
	ctx context.Context, tenantID, connectionID string, revision int64,
) (json.RawMessage, error) {
	p, _, err := findIn(ctx, s, scanPurchase, "SELECT "+purchaseColumns+` FROM purchases
		WHERE tenant_id = $1 AND connection_id = $2 AND revision = $3 AND refusal <> ''
		ORDER BY created_at DESC LIMIT 1`, tenantID, connectionID, revision)
	return p.Refusal, err
}

// NumbersOnOrder lists the numbers that a connection may have ordered and does not hold yet, the oldest order first.
func (s *Store) NumbersOnOrder(ctx context.Context, tenantID, connectionID string) ([]string, error) {
	return listOf(ctx, s, scanText, "SELECT e164 FROM purchases WHERE tenant_id = $1 AND connection_id = $2 AND "+unended+
		" AND state <> 'reserved' ORDER BY created_at, id", tenantID, connectionID)
}

// OrderedPurchases lists the ids of the purchases whose orders are known to be under way.
func (s *Store) OrderedPurchases(ctx context.Context) ([]string, error) {
	return listOf(ctx, s, scanText, "SELECT id FROM purchases WHERE state = 'ordered'")
}

// StrayPurchases lists the open purchases that began before the time and belong to no unfinished intent.
func (s *Store) StrayPurchases(ctx context.Context, before time.Time) ([]Purchase, error) {
	return listOf(ctx, s, scanPurchase, strayPurchases, millis(before))
}

// PurchaseOperation is the operation of the intents of purchases. The index by which these are looked up has no others.
const PurchaseOperation = "buy-phone-number"

const strayPurchases = "SELECT " + purchaseColumns + " FROM purchases p WHERE " + unended +
	` AND created_at < $1 AND NOT EXISTS (SELECT 1 FROM intents i WHERE i.tenant_id = p.tenant_id
		AND i.effect_key = p.id AND i.state <> 'done' AND i.operation = '` + PurchaseOperation + `')
	ORDER BY created_at`

// TakeStray assigns a stray purchase to runner, unless another run took it since it was listed.
func (s *Store) TakeStray(ctx context.Context, p Purchase, runner string) (bool, error) {
	affected, err := s.exec(ctx, "UPDATE purchases SET runner = $3 WHERE id = $1 AND runner = $2 AND "+unended,
		p.ID, p.Runner, runner)
	return affected == 1, err
}

// PurgePurchases removes a batch of purchases that ended, began before the time, and count for no limit.
func (s *Store) PurgePurchases(ctx context.Context, now, before time.Time, most int) (int64, error) {
	return s.exec(ctx, "DELETE FROM purchases WHERE id IN ("+purgeablePurchases+s.dialect.lockFree+")",
		min(millis(before), millis(now.Add(-purchaseDay))), most)
}

const purgeablePurchases = "SELECT id FROM purchases WHERE " + ended + " AND created_at <= $1 LIMIT $2"
