package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"time"

	"frontdesk/core/fault"
)

const purchaseColumns = "id, tenant_id, connection_id, realm, e164, bought, created_at"

func scanPurchase(row scanner) (p Purchase, err error) {
	var bought, created int64
	err = row.Scan(&p.ID, &p.TenantID, &p.ConnectionID, &p.Realm, &p.E164, &bought, &created)
	p.Bought, p.CreatedAt = bought != 0, instant(created)
	return p, err
}

// PurchaseLimits are how many numbers a tenant may buy and hold; a negative one is no limit.
type PurchaseLimits struct {
	PerDay int // bought within 24 hours, those under way among them
	Held   int // held, those waiting to go back and those under way among them
}

// LimitReached says which limit stands in the way of a purchase. The zero value: none.
type LimitReached struct {
	PerDay bool
	Held   bool
	Until  time.Time // with PerDay: when the oldest purchase no longer counts
}

const purchaseDay = 24 * time.Hour

// ReservePurchase takes the right to buy one number, or answers the purchase of that id as far as it got: one that is open,
// or one that is done and began after since. Of many that come at once, no more get one than the limits allow.
func (s *Store) ReservePurchase(ctx context.Context, p Purchase, since time.Time, limits PurchaseLimits) (kept Purchase, reached LimitReached, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		reached = LimitReached{}
		// The tenant's purchases come one after the other.
		touched, err := exec(ctx, tx, "UPDATE tenants SET settings = settings WHERE id = $1", p.TenantID)
		if err == nil && touched == 0 {
			err = tenantNotFound()
		}
		if err != nil {
			return err
		}
		there, found, err := find(ctx, tx, scanPurchase, "SELECT "+purchaseColumns+" FROM purchases WHERE id = $1", p.ID)
		if err != nil {
			return err
		}
		if found && (!there.Bought || there.CreatedAt.After(since)) {
			kept = there
			return nil
		}
		if found { // of an earlier use of the key: it only counts
			if _, err := exec(ctx, tx, "UPDATE purchases SET id = $2 WHERE id = $1", p.ID, p.ID+"/"+rand.Text()); err != nil {
				return err
			}
		}
		if reached, err = limitReached(ctx, tx, p, limits); err != nil || reached != (LimitReached{}) {
			return err
		}
		kept = Purchase{ID: p.ID, TenantID: p.TenantID, ConnectionID: p.ConnectionID, Realm: p.Realm, CreatedAt: instant(millis(p.CreatedAt))}
		_, err = exec(ctx, tx, "INSERT INTO purchases ("+purchaseColumns+") VALUES ($1, $2, $3, $4, '', 0, $5)",
			kept.ID, kept.TenantID, kept.ConnectionID, kept.Realm, millis(kept.CreatedAt))
		return err
	})
	return kept, reached, err
}

func limitReached(ctx context.Context, tx *sql.Tx, p Purchase, limits PurchaseLimits) (LimitReached, error) {
	type tally struct{ count, oldest int64 }
	count := func(query string, args ...any) (tally, error) {
		t, _, err := find(ctx, tx, func(row scanner) (t tally, err error) { return t, row.Scan(&t.count, &t.oldest) }, query, args...)
		return t, err
	}
	if limits.PerDay >= 0 {
		day, err := count("SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM purchases WHERE tenant_id = $1 AND created_at > $2",
			p.TenantID, millis(p.CreatedAt.Add(-purchaseDay)))
		if err != nil {
			return LimitReached{}, err
		}
		if day.count >= int64(limits.PerDay) {
			reached := LimitReached{PerDay: true}
			if day.count > 0 {
				reached.Until = instant(day.oldest).Add(purchaseDay)
			}
			return reached, nil
		}
	}
	if limits.Held >= 0 {
		// In one statement, and so at one moment: a purchase that is done meanwhile is counted as one or as the other.
		held, err := count(`SELECT (SELECT COUNT(*) FROM numbers WHERE tenant_id = $1 AND released_at IS NULL)
			+ (SELECT COUNT(*) FROM purchases WHERE tenant_id = $1 AND bought = 0), 0`, p.TenantID)
		if err != nil {
			return LimitReached{}, err
		}
		if held.count >= int64(limits.Held) {
			return LimitReached{Held: true}, nil
		}
	}
	return LimitReached{}, nil
}

// ChooseNumber makes a number that of an open purchase, in the place of the one chosen before. It answers false where
// somebody in the realm holds the number or has chosen it, too.
func (s *Store) ChooseNumber(ctx context.Context, p Purchase, e164 string) (chosen bool, err error) {
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		chosen = false
		_, taken, err := find(ctx, tx, scanText, `SELECT id FROM purchases WHERE realm = $1 AND e164 = $2 AND bought = 0 AND id <> $3
			UNION ALL SELECT tenant_id FROM numbers WHERE realm = $1 AND e164 = $2 AND released_at IS NULL`, p.Realm, e164, p.ID)
		if err != nil || taken {
			return err
		}
		touched, err := exec(ctx, tx, "UPDATE purchases SET e164 = $2 WHERE id = $1 AND bought = 0", p.ID, e164)
		if err == nil && touched == 0 {
			err = purchaseNotFound()
		}
		chosen = err == nil
		return err
	})
	if f := fault.From(err); err != nil && f.Reason == ReasonAlreadyExists { // chosen by someone else at this moment
		return false, nil
	}
	return chosen, err
}

func scanText(row scanner) (s string, err error) { return s, row.Scan(&s) }

// TakenNumbers lists the numbers of a realm with a prefix that somebody holds or has chosen.
func (s *Store) TakenNumbers(ctx context.Context, realm, prefix string) ([]string, error) {
	return listOf(ctx, s, scanText, `SELECT e164 FROM purchases WHERE realm = $1 AND e164 LIKE $2 AND bought = 0
		UNION ALL SELECT e164 FROM numbers WHERE realm = $1 AND e164 LIKE $2 AND released_at IS NULL`, realm, prefix+"%")
}

// EndPurchase closes a purchase that led to no number: it no longer counts, unless money was spent on it.
func (s *Store) EndPurchase(ctx context.Context, id string, spent bool) error {
	query := "DELETE FROM purchases WHERE id = $1 AND bought = 0"
	if spent {
		query = "UPDATE purchases SET bought = 1 WHERE id = $1 AND bought = 0"
	}
	_, err := s.exec(ctx, query, id)
	return err
}

// StrayPurchases lists the open purchases that began before and that no unfinished intent carries any more.
func (s *Store) StrayPurchases(ctx context.Context, before time.Time) ([]Purchase, error) {
	return listOf(ctx, s, scanPurchase, "SELECT "+purchaseColumns+` FROM purchases p WHERE bought = 0 AND created_at < $1 AND NOT EXISTS (
		SELECT 1 FROM intents i WHERE i.tenant_id = p.tenant_id AND i.effect_key = p.id AND i.state <> 'done') ORDER BY created_at`, millis(before))
}

// PurgePurchases lets purchases go that are done, began before, and that no limit counts any more.
func (s *Store) PurgePurchases(ctx context.Context, now, before time.Time) error {
	_, err := s.exec(ctx, "DELETE FROM purchases WHERE bought = 1 AND created_at <= $1", min(millis(before), millis(now.Add(-purchaseDay))))
	return err
}
