package store

import (
	"context"
	"database/sql"
	"time"

	"frontdesk/core/pause"
)

// ofLivingTenant is the condition that a row's tenant has not been deleted.
const ofLivingTenant = "tenant_id IN (SELECT id FROM tenants WHERE deleted_at IS NULL)"

// accessTables are the tables by which somebody, or a worker, acts for a tenant.
var accessTables = []string{"api_keys", "sessions", "sign_in_links", "connect_links", "tokens"}

// historyTables are the tables that can have very many rows of a tenant, with their primary keys. All other rows
// are erased together with the tenant's own. Intents come last: see intentsStay.
var historyTables = []historyTable{
	{"requests", "id", "tenant_id = $1"},
	{"call_notes", "tenant_id, call, kind", "tenant_id = $1"},
	{"slots_offered", "tenant_id, connection_id, id", "tenant_id = $1"},
	{"meetings", "tenant_id, connection_id, reference, person", "tenant_id = $1"},
	{"tickets_seen", "tenant_id, connection_id, number", "tenant_id = $1"},
	{"events_seen", "tenant_id, connection_id, event_id", "tenant_id = $1"},
	{"documents", "connection_id, key", "connection_id IN (SELECT id FROM connections WHERE tenant_id = $1)"},
	{
		"deliveries", "webhook_id, id",
		"(webhook_id, connection_id) IN (SELECT webhook_id, connection_id FROM webhook_queues WHERE tenant_id = $1)",
	},
}

var intentHistory = historyTable{"intents", "tenant_id, operation, key", "tenant_id = $1"}

type historyTable struct{ table, key, ofTenant string }

// intentsStay is how long the intents of a deleted tenant stay. Another process may know its keys for as long
// (core/apikey): a request that it repeats in that time must find that it was carried out.
const intentsStay = 5 * time.Second

// eraseBatch is how many rows are erased in one transaction when a tenant is deleted.
const eraseBatch = 500

// DeleteTenant removes a tenant and everything that belongs to it, except its audit rows. The tenant is gone at
// once, for everybody, and its name is free. Its rows are erased in batches, so that nobody waits for all of them
// to write. If ctx ends or the process dies before the last batch, EraseTenants erases the rest. It is a Conflict
// while numbers of the tenant wait to be returned (CheckNoneToReturn).
func (s *Store) DeleteTenant(ctx context.Context, id string, audit ...AuditRow) error {
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, _, err := find(ctx, tx, scanInt, s.dialect.clock)
		if err != nil {
			return err
		}
		affected, err := exec(ctx, tx, `UPDATE tenants SET deleted_at = $2, name = 'deleted ' || id
			WHERE id = $1 AND deleted_at IS NULL`, id, now)
		if err != nil {
			return err
		}
		if affected == 0 {
			return tenantNotFound()
		}
		if err := letGo(ctx, tx, id, ""); err != nil {
			return err
		}
		for _, table := range accessTables {
			if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE tenant_id = $1", id); err != nil {
				return err
			}
		}
		if _, err := exec(ctx, tx, "UPDATE webhook_queues SET next_at = NULL WHERE tenant_id = $1", id); err != nil {
			return err // nothing is sent of it any more
		}
		return addAudit(ctx, tx, audit)
	})
	if err != nil {
		return err
	}
	for {
		erased, wait, err := s.eraseTenant(ctx, id, eraseBatch)
		if err != nil || erased == 0 && wait == 0 {
			break // the tenant is gone in any case
		}
		if pause.For(ctx, wait) != nil {
			break
		}
	}
	return s.afterErase(ctx, nil)
}

// EraseTenants erases a batch of what is left of deleted tenants, and returns its size.
func (s *Store) EraseTenants(ctx context.Context, most int) (int64, error) {
	ids, err := listOf(ctx, s, scanText, deletedTenants)
	for _, id := range ids {
		if erased, _, err := s.eraseTenant(ctx, id, most); erased > 0 || err != nil {
			return erased, err
		}
	}
	return 0, err
}

const deletedTenants = "SELECT id FROM tenants WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT 100"

// eraseTenant erases a batch of a deleted tenant's rows, and returns most, or 0 if nothing is left. If the intents
// must stay for a while, wait is how long.
func (s *Store) eraseTenant(
	ctx context.Context, id string, most int,
) (erased int64, wait time.Duration, err error) {
	for _, h := range historyTables {
		if erased, err = s.eraseHistory(ctx, h, id, most); err != nil || erased == int64(most) {
			return erased, 0, err
		}
	}
	intents, _, err := findIn(ctx, s, scanInt,
		"SELECT COUNT(*) FROM (SELECT 1 FROM intents WHERE tenant_id = $1 LIMIT $2) AS counted", id, most)
	if err == nil && intents == int64(most) { // too many to be erased with the tenant
		if wait, err = s.intentsWait(ctx, id); err != nil || wait > 0 {
			return 0, wait, err
		}
		if erased, err = s.eraseHistory(ctx, intentHistory, id, most); err != nil || erased == int64(most) {
			return erased, 0, err
		}
	}
	if err == nil {
		_, err = s.exec(ctx, "DELETE FROM tenants WHERE id = $1 AND deleted_at IS NOT NULL", id)
	}
	return 0, 0, err
}

func (s *Store) eraseHistory(ctx context.Context, h historyTable, tenantID string, most int) (int64, error) {
	keys := "SELECT " + h.key + " FROM " + h.table + " WHERE " + h.ofTenant + " LIMIT $2"
	return s.exec(ctx, "DELETE FROM "+h.table+" WHERE ("+h.key+") IN ("+keys+s.dialect.lockFree+")",
		tenantID, most)
}

// intentsWait returns how long the intents of a deleted tenant must stay from now on.
func (s *Store) intentsWait(ctx context.Context, id string) (time.Duration, error) {
	age, found, err := findIn(ctx, s, scanInt,
		"SELECT ("+s.dialect.clock+") - deleted_at FROM tenants WHERE id = $1 AND deleted_at IS NOT NULL", id)
	if err != nil || !found || age < 0 { // below 0: the clock was set back since
		return 0, err
	}
	return max(0, intentsStay-time.Duration(age)*time.Millisecond), nil
}
