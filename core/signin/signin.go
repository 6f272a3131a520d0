// Package signin decides who may open the settings page. A person signs in with a link that works once, or
// at an OpenID provider, and then has a session, which the store keeps:
//
//	token, made, err := links.Create(ctx, signin.NewLink{Tenant: "acme", Role: apikey.RoleAdmin})
//	person, err := links.Use(ctx, token)
//	ctx, person, err := sessions.Load(r) // at each request
//
// The package guarantees that a link works once and for fifteen minutes, that neither a link nor a session
// can be made or changed by writing the database, and that a session that was ended stays ended, whatever
// runs at the same time.
package signin

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Person is who signed in, and what for.
type Person struct {
	Name     string      `json:"name"`                // as the audit has it
	TenantID string      `json:"tenant_id,omitempty"` // what the person is limited to; "": the whole gateway
	Role     apikey.Role `json:"role"`
	// The entry of the configuration that lets the person in, for people from an OpenID provider.
	Grant string `json:"grant,omitempty"`
	// The hash of the link's token, for people from a link.
	Link string `json:"link,omitempty"`
}

// HasUsed reports whether the person signed in with the link of this token.
func (p Person) HasUsed(token string) bool {
	hash, ok := hashOf(token)
	return ok && p.Link == hash
}

// Options configure [Links] and [Sessions].
type Options struct {
	Store *store.Store
	Audit *audit.Log // may be nil
	Now   func() time.Time
	Log   *slog.Logger
}

// Links makes and takes the links with which people sign in. It is safe for concurrent use. Create it with
// [NewLinks].
type Links struct{ opts Options }

// NewLinks returns new Links.
func NewLinks(o Options) *Links { return &Links{o} }

// NewLink describes a link to be made.
type NewLink struct {
	Tenant string      // name of the tenant that it is limited to; "": the operator's
	Role   apikey.Role // "": admin
	Person string      // who it is for, as the audit will name them; "": operator, or administrator of a tenant
}

// Link is a link, as whoever opens it may see it.
type Link struct {
	Person
	Tenant    string // name of the tenant; "": the operator's
	ExpiresAt time.Time
}

// ReasonLinkUnusable is the reason of the fault if a link is unknown, used or expired.
const ReasonLinkUnusable = "SIGN_IN_LINK_UNUSABLE"

// LinkLife is how long a link works.
const LinkLife = 15 * time.Minute

const tokenPrefix = "fds_"

// Actions of audit entries about signing in.
const (
	actionCreate  = "create-sign-in-link"
	actionSignIn  = "sign-in"
	actionSignOut = "sign-out-everywhere"
)

// Names of people for whom a link was made without a name.
const (
	operator      = "operator"
	administrator = "administrator"
)

// named matches the names that people may have: those of mail addresses and logins, safe in a log.
var named = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.@_+-]{0,199}$`)

// Create makes a link and returns its token, which cannot be read again.
func (l *Links) Create(ctx context.Context, n NewLink) (token string, made Link, err error) {
	made = Link{Person: Person{Name: n.Person, Role: n.Role}, Tenant: n.Tenant}
	if made.Role == "" {
		made.Role = apikey.RoleAdmin
	}
	var faults []fault.Field
	if !slices.Contains(apikey.Roles(), made.Role) {
		faults = append(faults, fault.Field{Path: "role", Message: "must be viewer or admin."})
	}
	if made.Name == "" {
		made.Name = operator
		if n.Tenant != "" {
			made.Name = administrator
		}
	}
	if !named.MatchString(made.Name) {
		faults = append(faults, fault.Field{Path: "person",
			Message: "must be a name or e-mail address: 1 to 200 letters, digits and any of . @ _ + -"})
	}
	if len(faults) > 0 {
		return "", made, fault.InvalidFields(faults...)
	}
	if n.Tenant != "" {
		owner, err := tenant.ByName(ctx, l.opts.Store, n.Tenant)
		if err != nil {
			return "", made, err
		}
		made.TenantID = owner.ID
	}
	token = secret.NewToken(tokenPrefix)
	made.ExpiresAt = l.opts.Now().UTC().Add(LinkLife)
	return token, made, l.store(ctx, token, made)
}

// store stores a new link.
func (l *Links) store(ctx context.Context, token string, made Link) error {
	hash, _ := hashOf(token)
	opens, err := json.Marshal(opening{made.Person, made.ExpiresAt})
	if err != nil {
		return fault.From(err)
	}
	audited, err := l.opts.Audit.Change(ctx, made.TenantID, made.Tenant, audit.Entry{
		Action: actionCreate, Subject: made.Name, Changed: []string{string(made.Role)},
	})
	if err != nil {
		return err
	}
	return l.opts.Store.CreateSignInLink(ctx, store.SignInLink{
		Hash: hash, TenantID: made.TenantID, Opens: opens, ExpiresAt: made.ExpiresAt,
	}, audited...)
}

// opening is the sealed content of a link.
type opening struct {
	Person    Person    `json:"person"`
	ExpiresAt time.Time `json:"expires_at"`
}

func hashOf(token string) (string, bool) {
	hash, ok := secret.HashToken(token, tokenPrefix)
	return hex.EncodeToString(hash[:]), ok
}

// Get returns the link of a token, if it still works. It changes nothing. A mistyped token is refused without
// a query.
func (l *Links) Get(ctx context.Context, token string) (Link, error) {
	hash, ok := hashOf(token)
	if !ok {
		return Link{}, unusable()
	}
	row, err := l.opts.Store.SignInLink(ctx, hash)
	if isUnreadable(err) {
		l.opts.Log.ErrorContext(ctx, "a sign-in link is refused: its row was changed or inserted")
		return Link{}, unusable()
	}
	if errors.Is(err, fault.NotFound) {
		return Link{}, unusable()
	}
	if err != nil {
		return Link{}, err
	}
	var opens opening
	if err := json.Unmarshal(row.Opens, &opens); err != nil {
		return Link{}, fault.From(fmt.Errorf("signin: stored link: %w", err))
	}
	if !l.opts.Now().Before(opens.ExpiresAt) {
		return Link{}, unusable()
	}
	shown := Link{Person: opens.Person, ExpiresAt: opens.ExpiresAt}
	shown.Link = hash
	if opens.Person.TenantID == "" {
		return shown, nil
	}
	owner, err := tenant.ByID(ctx, l.opts.Store, opens.Person.TenantID)
	if errors.Is(err, fault.NotFound) {
		return Link{}, unusable()
	}
	shown.Tenant = owner.Name
	return shown, err
}

// Use returns who signs in with a link, which does not work again.
func (l *Links) Use(ctx context.Context, token string) (Person, error) {
	found, err := l.Get(ctx, token)
	if err != nil {
		return Person{}, err
	}
	hash, _ := hashOf(token)
	audited, err := signedIn(ctx, l.opts, found.Person, found.Tenant)
	if err != nil {
		return Person{}, err
	}
	err = l.opts.Store.TakeSignInLink(ctx, hash, audited...)
	if errors.Is(err, fault.NotFound) {
		err = unusable()
	}
	return found.Person, err
}

// signedIn returns the row of the audit about a sign-in.
func signedIn(ctx context.Context, o Options, p Person, tenantName string) ([]store.AuditRow, error) {
	return o.Audit.Change(ctx, p.TenantID, tenantName, audit.Entry{
		Action: actionSignIn, Actor: audit.Person(p.Name), Subject: p.Name, Changed: []string{string(p.Role)},
	})
}

// Caller returns a person as a caller of the use cases, and a context under which the audit names the person.
// It fails with fault.NotFound if the person's tenant was deleted.
func Caller(ctx context.Context, s *store.Store, p Person) (context.Context, apikey.Caller, error) {
	c := apikey.Caller{Scopes: p.Role.Scopes()}
	if p.TenantID != "" {
		var err error
		if c.Tenant, err = tenant.ByID(ctx, s, p.TenantID); err != nil {
			return ctx, c, err
		}
	}
	return audit.By(ctx, audit.Person(p.Name)), c, nil
}

func unusable() error {
	return fault.New(fault.NotFound, ReasonLinkUnusable,
		"This sign-in link does not work: it was used, has expired, or was not copied whole. Make another one "+
			"with frontdesk admin link.")
}

// isUnreadable reports whether a row is not as the gateway wrote it. While the key set cannot be read, nothing is
// known of the row.
func isUnreadable(err error) bool {
	f := fault.From(err)
	return f != nil && f.Reason == store.ReasonRowUnreadable && !vault.IsAway(err)
}
