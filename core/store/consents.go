package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"frontdesk/core/fault"
)

// ConnectLink is a row of connect_links: the connection that a customer makes by opening the link.
type ConnectLink struct {
	Hash         []byte // SHA-256 of the link's token
	TenantID     string
	ConnectionID string // the connection to reconnect, or the id of the new one
	Reconnects   bool
	Kind         string
	Provider     string
	Name         string          // of the connection
	Settings     json.RawMessage // to be merged into the connection's
	IsDefault    bool            // make it the tenant's default of its kind
	OtherAccount bool            // an account other than the connection's may replace it
	CreatedAt    time.Time
	ExpiresAt    time.Time
	ReturnURL    string    // where the customer goes once the consent is over; "": nowhere
	UsedAt       time.Time // zero: not used yet
	Seal         []byte    // by core/vault, over every column but UsedAt; nil: from a version without seals
}

// Consent is a row of consents: a consent that was begun with a link and waits for the provider.
type Consent struct {
	Hash        []byte // SHA-256 of its state
	LinkHash    []byte
	BrowserHash []byte // SHA-256 of the secret of the browser that began it
	Sealed      []byte // by core/vault: the data needed to finish it
	Redirect    string // where the provider is to send the customer
	ExpiresAt   time.Time
}

const (
	linkColumns = "hash, tenant_id, connection_id, reconnects, kind, provider, name, settings, is_default, " +
		"other_account, created_at, expires_at, used_at, seal, return_url"
	consentColumns = "hash, link_hash, browser_hash, sealed, redirect_uri, expires_at"

	// linkMemory is how long a link is kept that expired or was used, so that a customer who opens it learns that.
	linkMemory = 30 * 24 * time.Hour
	// maxConsents is how many consents of one link may be open at the same time. Anyone with the link could
	// otherwise begin any number.
	maxConsents = 16
)

func scanLink(row scanner) (l ConnectLink, err error) {
	var settings string
	var created, expires int64
	var used *int64
	err = row.Scan(&l.Hash, &l.TenantID, &l.ConnectionID, &l.Reconnects, &l.Kind, &l.Provider, &l.Name,
		&settings, &l.IsDefault,
		&l.OtherAccount, &created, &expires, &used, &l.Seal, &l.ReturnURL)
	l.Settings, l.CreatedAt, l.ExpiresAt, l.UsedAt = json.RawMessage(settings), instant(created),
		instant(expires), optionalInstant(used)
	return l, err
}

func scanConsent(row scanner) (c Consent, err error) {
	var expires int64
	err = row.Scan(&c.Hash, &c.LinkHash, &c.BrowserHash, &c.Sealed, &c.Redirect, &expires)
	c.ExpiresAt = instant(expires)
	return c, err
}

// CreateConnectLink adds a link.
func (s *Store) CreateConnectLink(ctx context.Context, l ConnectLink, audit ...AuditRow) error {
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := exec(ctx, tx, "INSERT INTO connect_links ("+linkColumns+
			") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
			l.Hash, l.TenantID, l.ConnectionID, l.Reconnects, l.Kind, l.Provider, l.Name, object(l.Settings),
			l.IsDefault, l.OtherAccount,
			millis(l.CreatedAt), millis(l.ExpiresAt), optional(l.UsedAt), l.Seal, l.ReturnURL)
		if err != nil {
			return err
		}
		if err := s.recordCreation(ctx, tx, l.TenantID, l); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
	if errors.Is(err, fault.NotFound) {
		return tenantNotFound()
	}
	return err
}

// ConnectLink returns the link of that hash, used and expired or not.
func (s *Store) ConnectLink(ctx context.Context, hash []byte) (ConnectLink, error) {
	return getIn(ctx, s, linkNotFound, scanLink, "SELECT "+linkColumns+" FROM connect_links WHERE hash = $1", hash)
}

// ConnectLinks lists the links of every tenant that are neither used nor expired at now, by hash.
func (s *Store) ConnectLinks(ctx context.Context, now time.Time) ([]ConnectLink, error) {
	return listOf(ctx, s, scanLink, "SELECT "+linkColumns+
		" FROM connect_links WHERE used_at IS NULL AND expires_at > $1 ORDER BY hash", millis(now))
}

// SealConnectLink replaces the seal of a link, unless the seal has changed since the link was read.
func (s *Store) SealConnectLink(ctx context.Context, l ConnectLink, seal []byte) (bool, error) {
	query, args := "UPDATE connect_links SET seal = $2 WHERE hash = $1 AND seal = $3", []any{
		l.Hash, seal, l.Seal,
	}
	if l.Seal == nil {
		query, args = "UPDATE connect_links SET seal = $2 WHERE hash = $1 AND seal IS NULL", args[:2]
	}
	affected, err := s.exec(ctx, query, args...)
	return affected == 1, err
}

// BeginConsent adds a consent. It removes the oldest ones of a link that has too many.
func (s *Store) BeginConsent(ctx context.Context, c Consent) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The update makes the consents of one link take turns, so that all are counted.
		affected, err := exec(ctx, tx, "UPDATE connect_links SET expires_at = expires_at WHERE hash = $1",
			c.LinkHash)
		if err := orNone(affected, err, linkNotFound); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `DELETE FROM consents WHERE link_hash = $1 AND hash NOT IN
			(SELECT hash FROM consents WHERE link_hash = $1 ORDER BY expires_at DESC, hash LIMIT $2)`,
			c.LinkHash, maxConsents-1)
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, "INSERT INTO consents ("+consentColumns+") VALUES ($1, $2, $3, $4, $5, $6)",
			c.Hash, c.LinkHash, c.BrowserHash, c.Sealed, c.Redirect, millis(c.ExpiresAt))
		return err
	})
}

// TakeConsent removes a consent and returns it, expired or not. Of concurrent callers, only one gets it.
func (s *Store) TakeConsent(ctx context.Context, hash []byte) (c Consent, err error) {
	var found bool
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		c, found, err = find(ctx, tx, scanConsent, "DELETE FROM consents WHERE hash = $1 RETURNING "+consentColumns,
			hash)
		return err
	})
	if err == nil && !found {
		return Consent{}, fault.New(fault.NotFound, ReasonConsentNotFound,
			"There is no such consent in progress.")
	}
	return c, err
}

// ClaimConnectLink gives the caller the sole right, until the time given, to store the result of a consent.
// It returns a Conflict if the link was used, or if another claim on it or on another link to its connection
// is still valid.
func (s *Store) ClaimConnectLink(ctx context.Context, hash, claim []byte, now, until time.Time) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The update makes the claims of one tenant take turns, so that each sees those before it.
		if _, err := exec(ctx, tx, `UPDATE tenants SET name = name
			WHERE id = (SELECT tenant_id FROM connect_links WHERE hash = $1)`, hash); err != nil {
			return err
		}
		affected, err := exec(ctx, tx, `UPDATE connect_links SET claim = $2, claimed_until = $4
			WHERE hash = $1 AND used_at IS NULL AND (claim IS NULL OR claimed_until <= $3) AND NOT EXISTS (
				SELECT 1 FROM connect_links other WHERE other.tenant_id = connect_links.tenant_id
				AND (other.connection_id = connect_links.connection_id OR other.name = connect_links.name)
				AND other.hash <> $1 AND other.claim IS NOT NULL AND other.claimed_until > $3)`,
			hash, claim, millis(now), millis(until))
		return orNone(affected, err, linkTaken)
	})
}

// ReleaseConnectLink ends a claim. It does nothing if another claim has replaced it.
func (s *Store) ReleaseConnectLink(ctx context.Context, hash, claim []byte) error {
	_, err := s.exec(ctx, "UPDATE connect_links SET claim = NULL, claimed_until = NULL WHERE hash = $1 AND "+
		"claim = $2", hash, claim)
	return err
}

// FinishConnectLink marks a link as used and its connection as working, with the account's address, in one
// transaction. It returns a Conflict if the caller no longer has the claim, with the reason CHANGED_MEANWHILE
// if the connection's revision has changed.
func (s *Store) FinishConnectLink(
	ctx context.Context, hash, claim []byte, at time.Time, c Connection, fromRevision int64, audit ...AuditRow,
) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		// The connection comes first, as in the removal of a tenant, so that no two transactions deadlock.
		change, found, err := changeStatus(ctx, tx,
			"UPDATE connections SET status = 'ok', email = $4, revision = revision + 1, "+reporting("'ok'")+
				" WHERE tenant_id = $1 AND id = $2 AND revision = $3", c.TenantID, c.ID, fromRevision, c.Email)
		if err != nil {
			return err
		}
		links, err := exec(ctx, tx, `UPDATE connect_links SET used_at = $3, claim = NULL, claimed_until = NULL
			WHERE hash = $1 AND claim = $2 AND used_at IS NULL`, hash, claim, millis(at))
		switch {
		case err != nil:
			return err
		case links == 0:
			return linkTaken()
		case !found:
			return changedMeanwhile()
		}
		if err := addAudit(ctx, tx, audit); err != nil {
			return err
		}
		return s.publishStatus(ctx, tx, c.TenantID, c.ID, change)
	})
}

func linkNotFound() error {
	return fault.New(fault.NotFound, ReasonLinkNotFound, "There is no such link.")
}

func linkTaken() error {
	return fault.New(fault.Conflict, ReasonLinkTaken,
		"The link was used, or another consent for its connection is being finished.")
}
