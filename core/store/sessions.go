package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"frontdesk/core/fault"
)

// SignInLink is a row of sign_in_links: a link with which somebody can sign in once.
type SignInLink struct {
	Hash      string // of the link's token
	TenantID  string // "": the operator's
	Opens     []byte // who signs in with it; sealed in the store
	ExpiresAt time.Time
}

// Session is a row of sessions: a browser in which somebody is signed in.
type Session struct {
	Hash      string // of the session's token
	Person    string // who is signed in
	TenantID  string // the tenant that the person is limited to; "": the operator's
	Data      []byte // sealed in the store
	ExpiresAt time.Time
}

const (
	signInLinkColumns = "hash, tenant_id, sealed, expires_at"
	sessionColumns    = "hash, person, tenant_id, sealed, expires_at"
)

var (
	sealedSignInLinks = sealedTable{
		name: "sign_in_links", keys: []string{"hash"}, columns: []sealedColumn{{"sealed", false}}, always: true,
	}
	sealedSessions = sealedTable{
		name: "sessions", keys: []string{"hash", "person"}, columns: []sealedColumn{{"sealed", false}},
		always: true,
	}
)

func scanSignInLink(row scanner) (l SignInLink, err error) {
	var tenantID *string
	var expires int64
	err = row.Scan(&l.Hash, &tenantID, &l.Opens, &expires)
	l.TenantID, l.ExpiresAt = textOf(tenantID), instant(expires)
	return l, err
}

func scanSession(row scanner) (s Session, err error) {
	var tenantID *string
	var expires int64
	err = row.Scan(&s.Hash, &s.Person, &tenantID, &s.Data, &expires)
	s.TenantID, s.ExpiresAt = textOf(tenantID), instant(expires)
	return s, err
}

// CreateSignInLink adds a link.
func (s *Store) CreateSignInLink(ctx context.Context, l SignInLink, audit ...AuditRow) error {
	sealed, err := s.seal(sealedSignInLinks, 0, []string{l.Hash}, blob(l.Opens))
	if err != nil {
		return err
	}
	err = s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "INSERT INTO sign_in_links ("+signInLinkColumns+") VALUES ($1, $2, $3, $4)",
			l.Hash, text(l.TenantID), sealed, millis(l.ExpiresAt)); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
	if errors.Is(err, fault.NotFound) {
		return tenantNotFound()
	}
	return err
}

// SignInLink returns the link of that hash, expired or not.
func (s *Store) SignInLink(ctx context.Context, hash string) (SignInLink, error) {
	l, found, err := findIn(ctx, s, scanSignInLink,
		"SELECT "+signInLinkColumns+" FROM sign_in_links WHERE hash = $1", hash)
	if err != nil {
		return SignInLink{}, err
	}
	if !found {
		return SignInLink{}, signInLinkNotFound()
	}
	l.Opens, err = s.open(sealedSignInLinks, 0, []string{l.Hash}, l.Opens)
	return l, err
}

// TakeSignInLink removes a link. Of concurrent callers, one succeeds; the others get NotFound.
func (s *Store) TakeSignInLink(ctx context.Context, hash string, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		affected, err := exec(ctx, tx, "DELETE FROM sign_in_links WHERE hash = $1", hash)
		if err != nil {
			return err
		}
		if affected == 0 {
			return signInLinkNotFound()
		}
		return addAudit(ctx, tx, audit)
	})
}

// CreateSession adds a session.
func (s *Store) CreateSession(ctx context.Context, session Session) error {
	sealed, err := s.sealSession(session)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "INSERT INTO sessions ("+sessionColumns+") VALUES ($1, $2, $3, $4, $5)",
		session.Hash, session.Person, text(session.TenantID), sealed, millis(session.ExpiresAt))
	if errors.Is(err, fault.NotFound) {
		return tenantNotFound()
	}
	return err
}

// UpdateSession stores the data and the end of a session, and reports whether the session still exists. It
// never brings back a session that was deleted.
func (s *Store) UpdateSession(ctx context.Context, session Session) (bool, error) {
	sealed, err := s.sealSession(session)
	if err != nil {
		return false, err
	}
	affected, err := s.exec(ctx,
		"UPDATE sessions SET sealed = $3, expires_at = $4 WHERE hash = $1 AND person = $2", session.Hash, session.Person, sealed, millis(session.ExpiresAt))
	return affected == 1, err
}

func (s *Store) sealSession(session Session) ([]byte, error) {
	return s.seal(sealedSessions, 0, []string{session.Hash, session.Person}, blob(session.Data))
}

// Session returns the session of that hash, if there is one, expired or not.
func (s *Store) Session(ctx context.Context, hash string) (Session, bool, error) {
	session, found, err := findIn(ctx, s, scanSession,
		"SELECT "+sessionColumns+" FROM sessions WHERE hash = $1", hash)
	if err != nil || !found {
		return Session{}, false, err
	}
	session.Data, err = s.open(sealedSessions, 0, []string{session.Hash, session.Person}, session.Data)
	return session, err == nil, err
}

// DeleteSession removes a session, if it exists.
func (s *Store) DeleteSession(ctx context.Context, hash string) error {
	_, err := s.exec(ctx, "DELETE FROM sessions WHERE hash = $1", hash)
	return err
}

// DeleteSessionsOf removes all sessions of a person: those limited to the tenant, or the operator's if
// tenantID is "".
func (s *Store) DeleteSessionsOf(ctx context.Context, tenantID, person string, audit ...AuditRow) error {
	return s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := exec(ctx, tx, "DELETE FROM sessions WHERE person = $1 AND COALESCE(tenant_id, '') = $2",
			person, tenantID); err != nil {
			return err
		}
		return addAudit(ctx, tx, audit)
	})
}

// PurgeAccess removes the sessions, consents and links that are over at now. There are few: people make them.
func (s *Store) PurgeAccess(ctx context.Context, now time.Time) error {
	for _, over := range []string{
		"sign_in_links WHERE expires_at <= $1", "sessions WHERE expires_at <= $1", "consents WHERE expires_at <= $1",
	} {
		if _, err := s.exec(ctx, "DELETE FROM "+over, millis(now)); err != nil {
			return err
		}
	}
	_, err := s.exec(ctx, "DELETE FROM connect_links WHERE expires_at < $1 OR used_at < $1",
		millis(now.Add(-linkMemory)))
	return err
}

func signInLinkNotFound() error {
	return fault.New(fault.NotFound, ReasonSignInLinkNotFound, "There is no such sign-in link.")
}
