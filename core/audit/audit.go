// Package audit keeps one row for each change: who made it, what, when, with what outcome and for which
// request. A row is recorded in the transaction that stores the change itself:
//
//	row, err := log.Row(ctx, audit.Entry{
//		Action: "add-connection", TenantID: id, Tenant: name, Subject: connection, Outcome: audit.Done,
//	})
//	err = store.CreateConnection(ctx, connection, row)
//
// A row holds no secret, no title and no value of a setting, only names and ids. The only e-mail addresses
// are those by which people sign in at the settings page.
//
// Tampering is detected as follows. A row is recorded with its own MAC, and within a second a sealer adds it
// to the chain. A sealed row has the next id, without gaps, and its MAC covers its content, its id and the
// MAC of the row before. The head of the chain has its own MAC and records the number of rows. The key of the
// MACs (HMAC-SHA-256) is in the database, sealed by core/vault. Somebody who can write to the database but
// does not have the key set cannot insert, change, move or remove a row without [Log.Verify] reporting it. A
// rotation of the key set seals the audit's key again, so old rows can still be verified.
//
// All tenants share one chain. Recording only inserts rows: it does not touch the chain and waits for no
// other writer. Sealers take turns, one of all replicas at a time. Ids are therefore in the order of sealing;
// the times of adjacent rows may be out of order by as long as a transaction takes.
//
// Not detected are:
//   - the removal of a row before it is sealed, within a second of being written;
//   - the whole audit, with its head, being put back to an earlier state, or being emptied with its keys.
//     Heads kept elsewhere reveal both: each gateway keeps the last one it knows in its data directory, and
//     Verify takes others;
//   - changes by somebody who has the key set, or controls the running gateway.
//
// Rows are kept for ever, including those of deleted tenants, unless [Log.Archive] moves the oldest to files.
// The boundary then records in the database where its part of the chain begins: the number and the MAC of the
// last archived row, with a MAC of its own. So nobody can cut off the front of the chain, and an archive is
// verified as the database is, row by row from the one before its first. Rows of ended keys are archived and
// stay in the database, too, since keys are looked up there; the boundary has their digest.
package audit

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/vault"
)

// Options configure a Log. All fields but HeadFile are required.
type Options struct {
	Store    *store.Store
	Vault    *vault.Vault
	Now      func() time.Time
	Log      *slog.Logger
	HeadFile string // file that keeps the last known head; "": none
}

// Log records changes, adds their rows to the chain, and verifies the chain. It is safe for concurrent use.
type Log struct {
	opts Options
	owes atomic.Bool // it has recorded rows or runs as a sealer, so Close seals

	mu      sync.Mutex // guards the fields below
	ring    *ring      // nil: not read yet
	known   Head       // the last head that this process sealed
	kept    Head       // the last of these with which HeadFile was compared
	strange int        // rows that are not genuine, as last logged
	strayed Head       // the head in HeadFile from which the chain does not continue, as last logged
}

// New returns a log. It does not access the store.
func New(o Options) *Log { return &Log{opts: o} }

// Entry describes a change to be recorded.
type Entry struct {
	TenantID     string
	Tenant       string   // its name
	Actor        string   // "": the context's, see [By]
	Action       string   // the operation's name
	ConnectionID string   // the connection it was made through, or that it is about
	Subject      string   // what was changed: the provider's id of the effect, a key's id, a connection's name
	Changed      []string // names of what was changed, never values
	Outcome      string   // Done, Failed(reason) or Unknown(reason)
	Effect       string   // names the effect at the provider; it is the same in all rows of one call
	RequestID    string   // "": the context's
}

// Done is the outcome of a change that was made.
const Done = "done"

// Failed returns the outcome of a call that changed nothing.
func Failed(reason string) string { return "failed:" + reason }

// Unknown returns the outcome of a call that may or may not have changed something. Once the gateway knows,
// it records another row with the same Effect.
func Unknown(reason string) string { return "unknown:" + reason }

// Actors that are neither a key nor an operator's command.
const (
	Settler = "gateway:settler"
	Consent = "consent" // a customer who opened a link
	gateway = "gateway"
)

// Key returns the actor of a call with an API key.
func Key(id string) string { return "key:" + id }

// Operator returns the actor of a command.
func Operator(command string) string { return "operator:" + command }

// Person returns the actor of a change at the settings page.
func Person(name string) string { return "person:" + name }

type actorKey struct{}

// By returns a context whose changes are recorded as the actor's, unless the entry names an actor.
func By(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// Actor returns the actor of the context's changes. It is the gateway itself if none was set.
func Actor(ctx context.Context) string {
	if actor, _ := ctx.Value(actorKey{}).(string); actor != "" {
		return actor
	}
	return gateway
}

// Row returns the row of an entry, to be stored together with the change itself.
func (l *Log) Row(ctx context.Context, e Entry) (store.AuditRow, error) {
	keys, err := l.keys(ctx)
	if err != nil {
		return store.AuditRow{}, err
	}
	if e.Actor == "" {
		e.Actor = Actor(ctx)
	}
	if e.RequestID == "" {
		e.RequestID = RequestID(ctx)
	}
	now := l.opts.Now()
	row := store.AuditRow{
		UID: secret.NewIDAt(now), At: time.UnixMilli(now.UnixMilli()).UTC(), TenantID: e.TenantID,
		Tenant: clean(e.Tenant), Actor: clean(e.Actor), Action: e.Action, ConnectionID: e.ConnectionID,
		Subject: clean(e.Subject), Outcome: clean(e.Outcome), Effect: clean(e.Effect),
		RequestID: clean(e.RequestID), KeyID: keys.current,
	}
	for _, name := range e.Changed {
		row.Changed = append(row.Changed, clean(name))
	}
	row.MAC = keys.macOf(row)
	l.owes.Store(true)
	return row, nil
}

// Change returns the row of a change to a tenant or to what belongs to it, for the transaction that makes the
// change. A nil Log returns no row.
func (l *Log) Change(ctx context.Context, tenantID, tenantName string, e Entry) ([]store.AuditRow, error) {
	if l == nil {
		return nil, nil
	}
	e.TenantID, e.Tenant, e.Outcome = tenantID, tenantName, Done
	row, err := l.Row(ctx, e)
	if err != nil {
		return nil, err
	}
	return []store.AuditRow{row}, nil
}

// Record records a change that is not made in a transaction of the store.
func (l *Log) Record(ctx context.Context, e Entry) error {
	row, err := l.Row(ctx, e)
	if err != nil {
		return err
	}
	return l.opts.Store.AddAudit(ctx, row)
}

// RequestID returns the id of the context's request, or "" if it has none.
func RequestID(ctx context.Context) string {
	name := telemetry.RequestID("").Key
	for _, a := range telemetry.Attrs(ctx) {
		if a.Key == name {
			return a.Value.String()
		}
	}
	return ""
}

// mostText is the maximum length in bytes of a text in a row. Ids of providers are not longer.
const mostText = 1024

// clean shortens a text to mostText and removes what a database might not store unchanged.
func clean(text string) string {
	if len(text) > mostText {
		text = text[:mostText]
	}
	text = strings.ToValidUTF8(text, "")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}
