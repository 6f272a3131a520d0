package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/alexedwards/scs/v2"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/store"
)

// How long a session lasts.
const (
	idleTimeout = 30 * time.Minute // without a request
	lifetime    = 12 * time.Hour
)

// cookieName begins with a prefix that keeps other hosts of the domain, and plain HTTP, from setting the
// cookie (RFC 6265bis section 4.1.3.2).
const cookieName = "__Host-frontdesk-session"

// keyNotice is the name of the one value that a session keeps for the next page.
const keyNotice = "notice"

// Sessions keeps who is signed in, in which browser. It is safe for concurrent use. Create it with
// [NewSessions].
type Sessions struct {
	opts    Options
	manager *scs.SessionManager
	grants  []string // entries of the configuration that let people in
}

// NewSessions returns new Sessions. People whose Grant is not among grants are no longer let in.
func NewSessions(o Options, grants ...string) *Sessions {
	// scs.New would start a goroutine, for a store in memory.
	m := &scs.SessionManager{
		Store: sessionStore{o}, HashTokenInStore: true, Codec: scs.GobCodec{}, IdleTimeout: idleTimeout,
		Lifetime: lifetime,
		Cookie: scs.SessionCookie{
			Name: cookieName, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		},
	}
	return &Sessions{opts: o, manager: m, grants: grants}
}

// current is the session of a request, by which scs's manager and the store know of each other.
type current struct {
	person Person
	row    string // the person's name in the session's row; "": the session has none yet
	gone   bool   // the row was deleted meanwhile
	// A session that has just begun, or failed to.
	begun, failed bool
	token         string
	expires       time.Time
}

type currentKey struct{}

func currentOf(ctx context.Context) *current {
	c, _ := ctx.Value(currentKey{}).(*current)
	return c
}

// Load returns the context of a request's session, and who is signed in: the zero Person if nobody is.
func (s *Sessions) Load(r *http.Request) (context.Context, Person, error) {
	token := ""
	if shown := r.CookiesNamed(cookieName); len(shown) == 1 {
		token = shown[0].Value
	}
	c := &current{}
	ctx, err := s.manager.Load(context.WithValue(r.Context(), currentKey{}, c), token)
	if err != nil {
		return r.Context(), Person{}, err
	}
	if c.person.Grant != "" && !slices.Contains(s.grants, c.person.Grant) {
		return ctx, Person{}, s.manager.Destroy(ctx)
	}
	return ctx, c.person, nil
}

// Begin signs a person in. The session gets a new token, so that nobody knows it from before. It is stored
// before use uses up what the person signs in with (nil: nothing), so that a failure of the store loses no
// link; and its token is told nobody unless use succeeds.
func (s *Sessions) Begin(ctx context.Context, p Person, use func() error) error {
	if err := s.manager.RenewToken(ctx); err != nil {
		return err
	}
	*currentOf(ctx) = current{person: p}
	token, expires, err := s.manager.Commit(ctx)
	if err == nil && use != nil {
		if err = use(); err != nil {
			err = errors.Join(err, s.manager.Destroy(ctx))
		}
	}
	*currentOf(ctx) = current{person: p, begun: err == nil, failed: err != nil, token: token, expires: expires}
	return err
}

// End signs the person of this session out.
func (s *Sessions) End(ctx context.Context) error { return s.manager.Destroy(ctx) }

// EndAll ends all sessions of the person of this session.
func (s *Sessions) EndAll(ctx context.Context, tenantName string) error {
	p := currentOf(ctx).person
	audited, err := s.opts.Audit.Change(ctx, p.TenantID, tenantName, audit.Entry{
		Action: actionSignOut, Subject: p.Name,
	})
	if err != nil {
		return err
	}
	if err := s.opts.Store.DeleteSessionsOf(ctx, p.TenantID, p.Name, audited...); err != nil {
		return err
	}
	return s.manager.Destroy(ctx)
}

// Notify keeps a notice for the next page of this session.
func (s *Sessions) Notify(ctx context.Context, notice string) { s.manager.Put(ctx, keyNotice, notice) }

// Notice returns the notice for this page, once.
func (s *Sessions) Notice(ctx context.Context) string { return s.manager.PopString(ctx, keyNotice) }

// Save stores the session and sends its cookie, if there is something to store or to send.
func (s *Sessions) Save(ctx context.Context, w http.ResponseWriter) error {
	switch c := currentOf(ctx); {
	case c.failed: // another tab of the browser may have signed in
	case s.manager.Status(ctx) == scs.Destroyed:
		s.manager.WriteSessionCookie(ctx, w, "", time.Time{})
	case c.begun:
		s.manager.WriteSessionCookie(ctx, w, c.token, c.expires)
	case s.manager.Status(ctx) == scs.Modified && c.person != (Person{}):
		if _, _, err := s.manager.Commit(ctx); err != nil {
			return err
		}
		if c.gone {
			s.manager.WriteSessionCookie(ctx, w, "", time.Time{})
		}
	}
	return nil
}

// sessionStore is the store of scs's manager.
type sessionStore struct{ Options }

// kept is the sealed content of a session.
type kept struct {
	Person    Person    `json:"person"`
	ExpiresAt time.Time `json:"expires_at"`
	Values    []byte    `json:"values"` // as scs encodes them
}

// FindCtx returns the values of the session of that hash, and notes whose it is.
func (s sessionStore) FindCtx(ctx context.Context, hash string) ([]byte, bool, error) {
	row, found, err := s.Store.Session(ctx, hash)
	if isUnreadable(err) {
		s.Log.ErrorContext(ctx, "a session is refused: its row was changed or inserted")
		return nil, false, nil
	}
	if err != nil || !found {
		return nil, false, err
	}
	var k kept
	if err := json.Unmarshal(row.Data, &k); err != nil {
		return nil, false, fault.From(fmt.Errorf("signin: stored session: %w", err))
	}
	if !s.Now().Before(k.ExpiresAt) || k.Person.Name != row.Person {
		return nil, false, nil
	}
	*currentOf(ctx) = current{person: k.Person, row: row.Person}
	return k.Values, true, nil
}

// CommitCtx stores a session. Only Begin makes new ones: a session that was deleted since the request began
// stays deleted.
func (s sessionStore) CommitCtx(ctx context.Context, hash string, values []byte, expires time.Time) error {
	c := currentOf(ctx)
	data, err := json.Marshal(kept{c.person, expires, values})
	if err != nil {
		return fault.From(err)
	}
	row := store.Session{
		Hash: hash, Person: c.person.Name, TenantID: c.person.TenantID, Data: data, ExpiresAt: expires,
	}
	if c.row == "" {
		return s.Store.CreateSession(ctx, row)
	}
	there, err := s.Store.UpdateSession(ctx, row)
	c.gone = !there && err == nil
	return err
}

// DeleteCtx removes a session.
func (s sessionStore) DeleteCtx(ctx context.Context, hash string) error {
	return s.Store.DeleteSession(ctx, hash)
}

// Find, Commit and Delete complete scs.Store, whose manager calls only those with a context.
func (s sessionStore) Find(hash string) ([]byte, bool, error) {
	return s.FindCtx(s.noRequest(), hash)
}

// Commit is CommitCtx without a context.
func (s sessionStore) Commit(hash string, values []byte, expires time.Time) error {
	return s.CommitCtx(s.noRequest(), hash, values, expires)
}

// Delete is DeleteCtx without a context.
func (s sessionStore) Delete(hash string) error { return s.DeleteCtx(s.noRequest(), hash) }

func (sessionStore) noRequest() context.Context {
	return context.WithValue(context.Background(), currentKey{}, &current{})
}
