package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// The life of an intent:
//
//	          Begin                     Finish
//	(no row) -------> running (leased) --------> done, kept for replay until purged
//	    ^                |    ^    |
//	    |   Release("")  |    |    |  Release(IntentUnknown)
//	    +----------------+    |    +------------------------> unknown (or IntentLeft: not for recovery)
//	                          |                                  |
//	                          +---------- TakeOver --------------+   (also of running, once its run is over)
//
// The Owner names one run of an intent, and no two runs share a name. Only the run that the row names may
// write the plan or end the intent without an answer. A run that has an answer may always finish the intent,
// because the effect stands, whichever run holds the intent by now. The caller decides whether a run is over:
// its lease has expired, its process is gone (see ProcessState), or it was a run of this process.

const intentColumns = `tenant_id, operation, key, kept, request_hash, connection_id, effect_key, plan, state, answer, effect_ref,
	dedupe_key, owner, lease_until, created_at, updated_at, request_id`

// intentRow returns the keys of the row that an intent's sealed values are bound to.
func intentRow(i Intent) []string { return []string{i.TenantID, i.Operation, i.Key} }

func (s *Store) scanIntent(row scanner) (i Intent, err error) {
	if i, err = scanSealedIntent(row); err != nil {
		return i, err
	}
	if i.Plan, err = s.open(sealedIntents, planColumn, intentRow(i), i.Plan); err != nil {
		return i, err
	}
	if i.RequestHash, err = s.open(sealedIntents, requestColumn, intentRow(i), i.RequestHash); err != nil {
		return i, err
	}
	i.Answer, err = s.open(sealedIntents, answerColumn, intentRow(i), i.Answer)
	return i, err
}

func scanSealedIntent(row scanner) (i Intent, err error) {
	var plan string
	var connection, ref, dedupe *string
	var lease, created, updated int64
	err = row.Scan(&i.TenantID, &i.Operation, &i.Key, &i.Kept, &i.RequestHash, &connection, &i.EffectKey, &plan,
		&i.State, &i.Answer,
		&ref, &dedupe, &i.Owner, &lease, &created, &updated, &i.RequestID)
	i.ConnectionID, i.EffectRef, i.DedupeKey, i.Plan = textOf(connection), textOf(ref), textOf(dedupe),
		json.RawMessage(plan)
	i.LeaseUntil, i.CreatedAt, i.UpdatedAt = instant(lease), instant(created), instant(updated)
	return i, err
}

// BeginIntent records an intent as running, or returns the existing one of its tenant, operation and key. Of
// any number of concurrent calls, exactly one begins. Unless since is zero, an intent with the same dedupe key
// that began at since or later is an existing one as well; see RecentIntent.
func (s *Store) BeginIntent(
	ctx context.Context, i Intent, since time.Time,
) (existing Intent, began bool, err error) {
	row, err := s.sealBeginning(i)
	if err != nil {
		return Intent{}, false, err
	}
	insert := insertIntent
	if !since.IsZero() {
		insert, row = insertIntentUnlessRecent, append(row, millis(since))
		if s.batches != nil {
			insert = insertIntentAtRecent
		}
	}
	for {
		affected, err := s.execAs(ctx, oneRow, insert, row...)
		if err != nil || affected == 1 {
			return Intent{}, err == nil, err
		}
		if !since.IsZero() {
			existing, found, err := s.RecentIntent(ctx, i.TenantID, i.Operation, i.DedupeKey, since)
			if err != nil || found {
				return existing, false, err
			}
		}
		existing, found, err := s.Intent(ctx, i.TenantID, i.Operation, i.Key)
		if err != nil || found {
			return existing, false, err
		}
		// It was released between the two statements.
	}
}

// Holding is what an intent takes when it begins.
type Holding struct {
	Holds  []Hold
	Except []string        // as of TakeHolds
	Plan   json.RawMessage // of the intent if it has the holds
}

// BeginIntentHolding is BeginIntent together with TakeHolds, in one transaction. If a hold is in the way, the
// intent begins with its own plan and without holds.
func (s *Store) BeginIntentHolding(
	ctx context.Context, i Intent, with Holding, now time.Time,
) (existing Intent, began, holds bool, err error) {
	without := i
	i.Plan = with.Plan
	row, err := s.sealBeginning(i)
	if err != nil {
		return Intent{}, false, false, err
	}
	if s.batches == nil {
		if taken, err := s.together(ctx, s.beginHolding(row, with, now)); taken || err != nil {
			return Intent{}, taken, taken, err
		}
	}
	for {
		err := s.changeOften(ctx, func(ctx context.Context, tx *sql.Tx) error {
			began, holds = false, false
			// The intent comes first, because it locks its tenant.
			affected, err := exec(ctx, tx, insertIntent, row...)
			if began = affected == 1; err != nil || !began {
				return err
			}
			taken, err := s.takeHolds(ctx, tx, with.Holds, with.Except, now)
			if holds = taken == nil; err != nil || holds {
				return err
			}
			plan, err := s.sealPlan(without)
			if err == nil {
				_, err = exec(ctx, tx, savePlan, heldBy(i, plan)...)
			}
			return err
		})
		if err != nil || began {
			return Intent{}, err == nil, err == nil && holds, err
		}
		existing, found, err := s.Intent(ctx, i.TenantID, i.Operation, i.Key)
		if err != nil || found {
			return existing, false, false, err
		}
	}
}

// beginHolding returns the statements of an intent that gets all of its holds.
func (s *Store) beginHolding(row []any, with Holding, now time.Time) []statement {
	all := []statement{{query: insertIntent, args: row, must: true}}
	for _, id := range connectionsOf(with.Holds) {
		all = append(all, s.turnOf(id))
	}
	for _, h := range with.Holds {
		insert, _ := s.insertHold(h, with.Except, now)
		all = append(all, insert)
	}
	return all
}

const (
	beginning = "$1, $2, $3" + afterKey
	afterKey  = ", $4, $5, $6, $7, $8, 'running', NULL, NULL, $9, $10, $11, $12, $13, $14"

	insertIntent = "INSERT INTO intents (" + intentColumns + ") VALUES (" + beginning + `)
	ON CONFLICT (tenant_id, operation, key) DO NOTHING`

	insertIntentUnlessRecent = "INSERT INTO intents (" + intentColumns + ") SELECT " + beginning + `
	WHERE NOT EXISTS (SELECT 1` + recentOtherwise + `)
	ON CONFLICT (tenant_id, operation, key) DO NOTHING`

	// insertIntentAtRecent is the same where all who write take turns: with an equal intent that is named otherwise, it
	// conflicts by that one's key. SQLite keeps a copy of each page that INSERT ... SELECT changes, and none for VALUES.
	insertIntentAtRecent = "INSERT INTO intents (" + intentColumns + `) VALUES ($1, $2,
		COALESCE((SELECT key` + recentOtherwise + " LIMIT 1), $3)" + afterKey + `)
	ON CONFLICT (tenant_id, operation, key) DO NOTHING`

	recentOtherwise = ` FROM intents
		WHERE tenant_id = $1 AND operation = $2 AND dedupe_key = $9 AND created_at >= $15 AND ` + namedOtherwise

	// namedOtherwise is the condition that a row's key does not follow from its dedupe key; see EqualKey. Its
	// index has these rows alone. A row whose key follows is in the way of an equal one by the primary key.
	namedOtherwise = "key <> '" + equalPrefix + "' || dedupe_key"
	equalPrefix    = "same:"

	// equalIntents are the rows with a dedupe key: $3, from which the key $4 follows. One is found by its
	// primary key, and the others by intents_named_otherwise.
	equalIntents = "(SELECT " + intentColumns + ` FROM intents
		WHERE tenant_id = $1 AND operation = $2 AND key = $4 AND dedupe_key = $3
		UNION ALL SELECT ` + intentColumns + ` FROM intents
		WHERE tenant_id = $1 AND operation = $2 AND dedupe_key = $3
		AND ` + namedOtherwise + ") AS equal_intents"
)

// EqualKey returns the key under which calls without a key of their own share an intent, and which follows
// from their dedupe key.
func EqualKey(dedupeKey string) string { return equalPrefix + dedupeKey }

// sealBeginning returns the arguments of insertIntent.
func (s *Store) sealBeginning(i Intent) ([]any, error) {
	plan, err := s.sealPlan(i)
	if err != nil {
		return nil, err
	}
	request, err := s.seal(sealedIntents, requestColumn, intentRow(i), blob(i.RequestHash))
	if err != nil {
		return nil, err
	}
	return []any{
		i.TenantID, i.Operation, i.Key, i.Kept, request, text(i.ConnectionID), i.EffectKey, plan,
		text(i.DedupeKey), i.Owner, millis(i.LeaseUntil), millis(i.CreatedAt), millis(i.UpdatedAt), i.RequestID,
	}, nil
}

// Intent returns the intent under a tenant, operation and key.
func (s *Store) Intent(ctx context.Context, tenantID, operation, key string) (Intent, bool, error) {
	return findByKey(ctx, s, s.scanIntent,
		"SELECT "+intentColumns+" FROM intents WHERE tenant_id = $1 AND operation = $2 AND key = $3",
		tenantID, operation, key)
}

// TakeOverIntent assigns the intent read as there to a new run, unless its owner or state has changed since.
// The caller must know that the run of there is over. Only Owner and LeaseUntil of ours are used.
func (s *Store) TakeOverIntent(ctx context.Context, there, ours Intent, now time.Time) (bool, error) {
	affected, err := s.exec(ctx,
		`UPDATE intents SET state = 'running', owner = $4, lease_until = $5, updated_at = $6
		WHERE tenant_id = $1 AND operation = $2 AND key = $3 AND owner = $7 AND state = $8 AND state <> 'done'`,
		there.TenantID, there.Operation, there.Key, ours.Owner, millis(ours.LeaseUntil), millis(now),
		there.Owner, there.State)
	return affected == 1, err
}

// held is the condition under which the run that holds an intent may write; see heldBy.
const held = "tenant_id = $1 AND operation = $2 AND key = $3 AND owner = $4 AND state = 'running'"

func heldBy(i Intent, more ...any) []any {
	return append([]any{i.TenantID, i.Operation, i.Key, i.Owner}, more...)
}

func (s *Store) sealPlan(i Intent) (string, error) {
	sealed, err := s.seal(sealedIntents, planColumn, intentRow(i), []byte(object(i.Plan)))
	return string(sealed), err
}

const savePlan = "UPDATE intents SET plan = $5 WHERE " + held

// SaveIntentPlan stores the plan before a step is taken. A run that no longer holds the intent gets a
// Conflict with the reason INTENT_LOST, and must not take the step.
func (s *Store) SaveIntentPlan(ctx context.Context, i Intent) error {
	plan, err := s.sealPlan(i)
	if err != nil {
		return err
	}
	affected, err := s.execAs(ctx, oneRow, savePlan, heldBy(i, plan)...)
	return orNone(affected, err, intentLost)
}

// ExtendIntent extends the lease to i.LeaseUntil, but never shortens it. A run that no longer holds the
// intent gets a Conflict with the reason INTENT_LOST, and no audit rows are added.
func (s *Store) ExtendIntent(ctx context.Context, i Intent, audit ...AuditRow) error {
	affected, err := s.execAudited(ctx, audit,
		"UPDATE intents SET lease_until = CASE WHEN lease_until < $5 THEN $5 ELSE lease_until END WHERE "+held,
		heldBy(i, millis(i.LeaseUntil))...)
	return orNone(affected, err, intentLost)
}

// Attached is recorded in one transaction with an answer, besides the audit rows.
type Attached struct {
	Seen     []EventSeen
	Meetings []Meeting
	Holds    HoldsKept
	// Settles reports that the outcome was unknown so far. Webhooks are told that it is known now.
	Settles bool
}

// FinishIntent stores the answer, what is attached to it and the audit rows. If the intent has another effect
// key, is done or does not exist, it returns a Conflict with the reason INTENT_LOST and records nothing.
func (s *Store) FinishIntent(ctx context.Context, i Intent, with Attached, audit ...AuditRow) error {
	answer, err := s.seal(sealedIntents, answerColumn, intentRow(i), blob(i.Answer))
	if err != nil {
		return err
	}
	args := heldBy(i, answer, text(i.EffectRef), i.EffectKey)
	settles := with.Settles && s.publishes() && i.ConnectionID != ""
	// One statement needs no transaction, which on PostgreSQL is two more round trips.
	if len(with.Seen) == 0 && len(with.Meetings) == 0 && !with.Holds.any() && !settles {
		affected, err := s.execAudited(ctx, audit, finish, args...)
		return orNone(affected, err, intentLost)
	}
	attached := slices.Concat(s.parentsFirst(seenIn(with.Seen, with.Meetings)), seeEvents(with.Seen),
		seeMeetings(with.Meetings), keepHolds(with.Holds))
	if last, joins, err := s.joinAudit(audit, finish, args); joins && err == nil && !settles {
		// If it takes effect after the run has given up waiting, it is the answer that the run writes again.
		if done, err := s.atOnce(ctx, append(attached, last)); done || err != nil {
			return err
		}
	}
	return s.changeOften(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if settles {
			if _, err := s.lockConnection(ctx, tx, i.TenantID, i.ConnectionID); err != nil {
				return err
			}
		}
		if err := execAll(ctx, tx, attached); err != nil {
			return err
		}
		affected, err := s.execAuditedIn(ctx, tx, audit, finish, args...)
		if err := orNone(affected, err, intentLost); err != nil || !settles {
			return err
		}
		return s.publishSettled(ctx, tx, i, Settled{Outcome: "done"})
	})
}

// publishSettled tells webhooks the outcome of a call that was unknown before.
func (s *Store) publishSettled(ctx context.Context, tx *sql.Tx, i Intent, outcome Settled) error {
	outcome.Operation, outcome.RequestID, outcome.EffectRef = i.Operation, i.RequestID, i.EffectRef
	return s.publish(ctx, tx, i.TenantID, i.ConnectionID, Event{Type: EventIntentSettled, Settled: outcome})
}

const finish = `UPDATE intents SET state = 'done', owner = $4, answer = $5, effect_ref = $6
	WHERE tenant_id = $1 AND operation = $2 AND key = $3 AND effect_key = $7 AND state <> 'done'`

// leftUntil is the end of the lease of what is left to callers: the year 9999, in milliseconds.
const leftUntil = 253_402_300_799_000

// ReleaseIntent ends a run without an answer. With IntentUnknown or IntentLeft the intent stays and can be taken
// over at once. With "" it is removed, because nothing happened; a finished intent can be removed too. If the
// intent's owner or state is no longer that of i, nothing changes, and no audit rows are added.
func (s *Store) ReleaseIntent(ctx context.Context, i Intent, state string, audit ...AuditRow) error {
	switch state {
	case IntentUnknown:
		_, err := s.execAudited(ctx, audit, "UPDATE intents SET state = 'unknown' WHERE "+held, heldBy(i)...)
		return err
	case IntentLeft:
		_, err := s.execAudited(ctx, audit, `UPDATE intents SET state = 'unknown', lease_until = $5
			WHERE tenant_id = $1 AND operation = $2 AND key = $3 AND owner = $4 AND state <> 'done'`,
			heldBy(i, leftUntil)...)
		return err
	}
	_, err := s.execAudited(ctx, audit, removeIntent, heldBy(i, cmp.Or(i.State, IntentRunning))...)
	return err
}

const removeIntent = `DELETE FROM intents WHERE tenant_id = $1 AND operation = $2 AND key = $3
	AND owner = $4 AND state = $5`

// Settle removes the intent of a run, because nothing happened. If an outcome is given, webhooks are told it and the
// reason: it was unknown so far. A run that no longer holds the intent gets a Conflict with the reason INTENT_LOST, and
// no audit rows are added.
func (s *Store) Settle(ctx context.Context, i Intent, outcome Settled, audit ...AuditRow) error {
	if outcome == (Settled{}) || !s.publishes() || i.ConnectionID == "" {
		affected, err := s.execAudited(ctx, audit, removeIntent, heldBy(i, IntentRunning)...)
		return orNone(affected, err, intentLost)
	}
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.lockConnection(ctx, tx, i.TenantID, i.ConnectionID); err != nil {
			return err
		}
		affected, err := s.execAuditedIn(ctx, tx, audit, removeIntent, heldBy(i, IntentRunning)...)
		if err := orNone(affected, err, intentLost); err != nil {
			return err
		}
		return s.publishSettled(ctx, tx, i, outcome)
	})
}

// DropIntentsOfEffect makes equal calls count as new after their effect was undone. It removes intents
// without a caller's key, and keeps those with one from answering other calls.
func (s *Store) DropIntentsOfEffect(
	ctx context.Context, tenantID, connectionID, operation, effectRef string,
) error {
	const ofEffect = " WHERE tenant_id = $1 AND connection_id = $2 AND operation = $3 AND effect_ref = $4 AND " +
		"state = 'done'"
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "DELETE FROM intents"+ofEffect+" AND NOT kept", tenantID, connectionID,
			operation, effectRef); err != nil {
			return err
		}
		_, err := exec(ctx, tx, "UPDATE intents SET dedupe_key = NULL"+ofEffect+" AND kept",
			tenantID, connectionID, operation, effectRef)
		return err
	})
}

// EffectsSince returns the effects of other intents of i's operation and connection that had a run that began
// at since or later.
func (s *Store) EffectsSince(ctx context.Context, i Intent, since time.Time) ([]string, error) {
	return listOf(ctx, s, scanText,
		`SELECT effect_ref FROM intents WHERE connection_id = $1 AND operation = $2 AND tenant_id = $3 AND key <> $4
		AND effect_ref IS NOT NULL AND updated_at >= $5 ORDER BY effect_ref`,
		i.ConnectionID, i.Operation, i.TenantID, i.Key, millis(since))
}

// ClaimEffect records that a running intent has had the effect ref, before its answer is known. In the same
// transaction it calls judge with all other intents of the operation and connection that have that effect or
// are not done. If judge returns an error, nothing is claimed. Claims of one connection take turns. A run
// that no longer holds the intent gets a Conflict with the reason INTENT_LOST. judge may run more than once.
func (s *Store) ClaimEffect(
	ctx context.Context, i Intent, ref string, judge func(others []Intent) error,
) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.takeTurn(ctx, tx, i.ConnectionID); err != nil {
			return err
		}
		others, err := list(ctx, tx, s.scanIntent, "SELECT "+intentColumns+` FROM intents
			WHERE connection_id = $1 AND operation = $2 AND tenant_id = $3 AND key <> $4 AND (effect_ref = $5 OR state <> 'done')`,
			i.ConnectionID, i.Operation, i.TenantID, i.Key, ref)
		if err != nil {
			return err
		}
		if err := judge(others); err != nil {
			return err
		}
		affected, err := exec(ctx, tx, "UPDATE intents SET effect_ref = $5 WHERE "+held, heldBy(i, ref)...)
		return orNone(affected, err, intentLost)
	})
}

// RecentIntent returns the latest intent with the dedupe key that began at since or later.
func (s *Store) RecentIntent(
	ctx context.Context, tenantID, operation, dedupeKey string, since time.Time,
) (Intent, bool, error) {
	const recent = " FROM " + equalIntents + " WHERE created_at >= $5"
	args := []any{tenantID, operation, dedupeKey, EqualKey(dedupeKey), millis(since)}
	// Mostly there is none. That takes a third less to find out without the columns and their order.
	if _, found, err := findByKey(ctx, s, scanInt, "SELECT 1"+recent+" LIMIT 1", args...); err != nil || !found {
		return Intent{}, false, err
	}
	return findByKey(ctx, s, s.scanIntent, "SELECT "+intentColumns+recent+" ORDER BY created_at DESC LIMIT 1", args...)
}

// Overtaken reports whether another call with the same dedupe key began later than i, or began a run since
// i's last run began and is done.
func (s *Store) Overtaken(ctx context.Context, i Intent) (bool, error) {
	_, found, err := findIn(ctx, s, scanSealedIntent, "SELECT "+intentColumns+" FROM "+equalIntents+
		` WHERE key <> $5 AND (created_at > $6 OR (state = 'done' AND updated_at >= $7)) LIMIT 1`,
		i.TenantID, i.Operation, i.DedupeKey, EqualKey(i.DedupeKey), i.Key, millis(i.CreatedAt),
		millis(i.UpdatedAt))
	return found, err
}

// OpenIntents lists the other intents of i's operation and connection that have no answer yet. Those that cannot be
// opened are left out.
func (s *Store) OpenIntents(ctx context.Context, i Intent) ([]Intent, error) {
	return s.readable(ctx, "SELECT "+intentColumns+` FROM intents WHERE connection_id = $1 AND operation = $2
		AND tenant_id = $3 AND key <> $4 AND state <> 'done' ORDER BY created_at, key`,
		i.ConnectionID, i.Operation, i.TenantID, i.Key)
}

// UnsettledIntents lists intents without an answer: those whose outcome is unknown, and running ones whose
// lease ends at from or earlier, or after to. Running intents come first, and within a state those whose last
// run began the longest ago. Intents without a connection are left out, because nothing can settle them, and
// so are those that cannot be opened.
func (s *Store) UnsettledIntents(ctx context.Context, from, to time.Time, limit int) ([]Intent, error) {
	return s.unsettled(ctx, from, to, limit, "")
}

// RecoverableIntents lists those of UnsettledIntents that are not left to callers.
func (s *Store) RecoverableIntents(ctx context.Context, from, to time.Time, limit int) ([]Intent, error) {
	return s.unsettled(ctx, from, to, limit, fmt.Sprintf(" AND (state <> 'unknown' OR lease_until <> %d)", leftUntil))
}

func (s *Store) unsettled(ctx context.Context, from, to time.Time, limit int, and string) ([]Intent, error) {
	return s.readable(ctx, "SELECT "+intentColumns+` FROM intents WHERE state <> 'done' AND connection_id IS NOT NULL
		AND (state = 'unknown' OR lease_until <= $1 OR lease_until > $2)`+and+` ORDER BY state, updated_at LIMIT $3`,
		millis(from), millis(to), limit)
}

// readable lists the intents of a query that can be opened.
func (s *Store) readable(ctx context.Context, query string, args ...any) ([]Intent, error) {
	all, err := listOf(ctx, s, func(row scanner) (readable []Intent, err error) {
		i, err := s.scanIntent(row)
		if isUnreadable(err) {
			return nil, nil
		}
		return []Intent{i}, err
	}, query, args...)
	return append([]Intent{}, slices.Concat(all...)...), err
}

// PurgeIntents removes a batch of intents that were kept long enough, and returns its size: finished ones
// whose caller gave a key and that began before keptBefore, and other finished ones that began before
// unkeptBefore. Intents still unsettled at keptBefore are removed too: the time in which a repeat could
// settle them is over.
//
// This and the other purges remove one batch, so that their callers choose how long other writers wait. A row
// that another transaction has locked is left for the next purge. Waiting for it while other rows are locked
// could deadlock.
func (s *Store) PurgeIntents(
	ctx context.Context, keptBefore, unkeptBefore time.Time, most int,
) (int64, error) {
	return s.exec(ctx, "DELETE FROM intents WHERE (tenant_id, operation, key) IN ("+purgeable+
		s.dialect.lockFree+")",
		millis(keptBefore), millis(unkeptBefore), most)
}

const purgeable = `SELECT tenant_id, operation, key FROM intents WHERE
	(kept = TRUE AND created_at < $1 AND (state <> 'running' OR lease_until < $1))
	OR (kept = FALSE AND created_at < $2 AND (state = 'done' OR created_at < $1 AND (state <> 'running' OR lease_until < $1)))
	LIMIT $3`

// blob returns the form in which the store keeps bytes that are never NULL.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
