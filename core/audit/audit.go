// Package audit keeps one row for each change: who made it, what, when, with what outcome and for which
// request. A row is recorded in the transaction that keeps the change itself:
//
//	row, err := log.Row(ctx, audit.Entry{
//		Action: "add-connection", TenantID: id, Tenant: name, Subject: connection, Outcome: audit.Done,
//	})
//	err = store.CreateConnection(ctx, connection, row)
//
// A row holds no secret, no title, no e-mail address and no value of a setting: names and ids only.
//
// What makes tampering show: a row is recorded with a MAC of its own, and within a second a sealer chains it.
// A sealed row has the next id, without gaps, and its MAC is over its content, its id and the MAC of the row
// before; the head of the chain, with its own MAC, says how many rows there are. The key of the MACs
// (HMAC-SHA-256) is in the database, sealed by core/vault: who can write the database but has not the key set
// can make no row, change none, move none and take none away without [Log.Verify] telling. A rotation of the
// key set seals the audit's key again, so that old rows stay as good as they were.
//
// The chain is one for all tenants, and those who record do not touch it: they insert, and wait for nobody.
// Only sealers take turns, one of all replicas at a time. Ids are therefore in the order of sealing; the
// times of neighbours may be the wrong way round by as long as a transaction takes.
//
// What does not show:
//   - a row that is taken away before it was sealed, within a second of being written;
//   - the whole audit being put back to how it was at an earlier time, head and all, or emptied with its
//     keys. Heads kept elsewhere show that: each gateway keeps the last one it knows in its data directory,
//     and Verify takes others;
//   - what is done by somebody who has the key set, or the running gateway.
//
// Rows are kept for ever, also those of tenants that were deleted.
package audit

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/vault"
)

// Options are what a log works with. All but HeadFile are needed.
type Options struct {
	Store    *store.Store
	Vault    *vault.Vault
	Now      func() time.Time
	Log      *slog.Logger
	HeadFile string // where the last known head is kept; "" nowhere
}

// Log records changes, chains what was recorded, and verifies the chain. It is safe for concurrent use.
type Log struct {
	Options
	owes atomic.Bool // it recorded something or seals for others, so that it seals at the end

	mu      sync.Mutex // over what follows
	ring    *ring      // nil: not read yet
	known   Head       // the last that this process sealed
	strange int        // rows that are not genuine and were told of
}

// New makes a log. It asks the store nothing.
func New(o Options) *Log { return &Log{Options: o} }

// Entry is a change to be recorded.
type Entry struct {
	TenantID     string
	Tenant       string   // its name
	Actor        string   // "": what the context says, see [By]
	Action       string   // the operation's name
	ConnectionID string   // the connection it was made through, or that it is about
	Subject      string   // what was changed: the provider's id of the effect, a key's id, a connection's name
	Changed      []string // names of what was changed, never values
	Outcome      string   // Done, Failed(reason) or Unknown(reason)
	Effect       string   // names the effect at the provider; the rows of one call have it in common
	RequestID    string   // "": the context's
}

// Done is the outcome of a change that was made.
const Done = "done"

// Failed returns the outcome of a call that changed nothing.
func Failed(reason string) string { return "failed:" + reason }

// Unknown returns the outcome of a call of which it is not known whether it changed something. Once it is
// known, there is another row with the same Effect.
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

type actorKey struct{}

// By makes everything done with the context the actor's doing, where nobody else is named.
func By(ctx context.Context, actor string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor)
}

// Row makes the row of an entry, to be recorded with the change itself.
func (l *Log) Row(ctx context.Context, e Entry) (store.AuditRow, error) {
	keys, err := l.keys(ctx)
	if err != nil {
		return store.AuditRow{}, err
	}
	if e.Actor == "" {
		if e.Actor, _ = ctx.Value(actorKey{}).(string); e.Actor == "" {
			e.Actor = gateway
		}
	}
	if e.RequestID == "" {
		e.RequestID = RequestID(ctx)
	}
	row := store.AuditRow{
		UID: rand.Text(), At: time.UnixMilli(l.Now().UnixMilli()).UTC(), TenantID: e.TenantID,
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

// Change returns the row of a change that is made to a tenant or to what it has, for the transaction that
// makes it; none of a nil log.
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

// Record records a change that no transaction of the store holds.
func (l *Log) Record(ctx context.Context, e Entry) error {
	row, err := l.Row(ctx, e)
	if err != nil {
		return err
	}
	return l.Store.AddAudit(ctx, row)
}

// RequestID returns the id of the context's request, "" where there is none.
func RequestID(ctx context.Context) string {
	name := telemetry.RequestID("").Key
	for _, a := range telemetry.Attrs(ctx) {
		if a.Key == name {
			return a.Value.String()
		}
	}
	return ""
}

// mostText bounds what others choose: a provider's ids have no more.
const mostText = 1024

// clean leaves out what a database does not keep as it is.
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

// List returns the newest rows that the filter lets through, the oldest first.
func (l *Log) List(ctx context.Context, f store.AuditFilter) ([]store.AuditRow, error) {
	return l.Store.AuditRows(ctx, f)
}
