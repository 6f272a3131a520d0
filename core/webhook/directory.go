package webhook

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/sealing"
	"frontdesk/core/secret"
	"frontdesk/core/store"
	"frontdesk/core/tenant"
	"frontdesk/core/upstream"
	"frontdesk/core/vault"
)

// Options configure a [Directory]. All fields but Audit and PlainHTTP are required.
type Options struct {
	Store     *store.Store
	Vault     *vault.Vault
	Pool      *upstream.Pool
	Now       func() time.Time
	Audit     *audit.Log // records changes; nil: changes are not recorded
	PlainHTTP bool       // some networks may be reached by http, too; see upstream.ClientOptions.RequireTLS
}

// Directory manages the webhooks of all tenants and of the operator. It is safe for concurrent use. Create
// one with [NewDirectory].
type Directory struct {
	opts   Options
	sealer sealing.Sealer
	poster poster
}

// NewDirectory returns a new Directory.
func NewDirectory(o Options) *Directory {
	sealer := sealing.New(o.Vault)
	return &Directory{o, sealer, newPoster(sealer, o.Pool, o.Now, AnswerWithin)}
}

// Actions of audit entries about webhooks.
const (
	actionAdd    = "add-webhook"
	actionRemove = "remove-webhook"
	actionRoll   = "roll-webhook"
	actionResend = "resend-delivery"
)

const (
	maxURLBytes  = 2048
	maxPerTenant = 20

	// DefaultOverlap is how long a former secret signs beside the one that takes its place.
	DefaultOverlap = 24 * time.Hour
	maxOverlap     = 30 * 24 * time.Hour
)

// Create creates a webhook of a tenant, or of the operator if tenantName is "", and returns its secret. The
// secret cannot be read again.
func (d *Directory) Create(ctx context.Context, tenantName string, s Spec) (string, Webhook, error) {
	if faults := d.check(ctx, s); len(faults) > 0 {
		return "", Webhook{}, fault.InvalidFields(faults...)
	}
	row := store.Webhook{ID: secret.NewID("wh"), URL: s.URL, CreatedAt: d.opts.Now().UTC()}
	if tenantName != "" {
		owner, err := tenant.ByName(ctx, d.opts.Store, tenantName)
		if err != nil {
			return "", Webhook{}, err
		}
		row.TenantID = owner.ID
	}
	for _, name := range Types() { // in a fixed order, without duplicates
		if slices.Contains(s.Types, name) {
			row.Types = append(row.Types, name)
		}
	}
	text := newSecret()
	if err := (secrets{Current: text}).seal(d.sealer, &row); err != nil {
		return "", Webhook{}, err
	}
	audited, err := d.opts.Audit.Change(ctx, row.TenantID, tenantName, audit.Entry{
		Action: actionAdd, Subject: row.ID, Changed: append([]string{"url"}, row.Types...),
	})
	if err != nil {
		return "", Webhook{}, err
	}
	creating := store.Creating(ctx, text, func(row store.Webhook) (Webhook, error) {
		return webhookOf(row, secrets{}), nil
	})
	return text, webhookOf(row, secrets{}), d.opts.Store.CreateWebhook(creating, row, maxPerTenant, audited...)
}

// check returns what is wrong with a new webhook.
func (d *Directory) check(ctx context.Context, s Spec) (faults []fault.Field) {
	wrong := func(path, message string) {
		faults = append(faults, fault.Field{Path: path, Message: message})
	}
	u, err := url.Parse(s.URL)
	switch {
	case s.URL == "":
		wrong("url", "is missing: the address to send events to.")
	case len(s.URL) > maxURLBytes:
		wrong("url", fmt.Sprintf("must be at most %d bytes.", maxURLBytes))
	case err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" ||
		u.Scheme != "https" && u.Scheme != "http":
		wrong("url", "must be an absolute https URL without a user name and a fragment.")
	case u.Scheme == "http" && !d.opts.PlainHTTP:
		wrong("url", "must be https. Plain http is only for networks that the operator allows (egress.allow).")
	case d.opts.Pool.RefusesTenant(ctx, u):
		wrong("url", "is in a network that the gateway may not reach. Use a public address by https, or ask the "+
			"operator to allow the network (egress.allow).")
	}
	for i, name := range s.Types {
		if !slices.Contains(Types(), name) {
			wrong(fmt.Sprintf("events[%d]", i), "must be one of "+strings.Join(Types(), ", ")+".")
		}
	}
	return faults
}

func webhookOf(w store.Webhook, s secrets) Webhook {
	return Webhook{
		ID: w.ID, TenantID: w.TenantID, URL: w.URL, Types: w.Types, CreatedAt: w.CreatedAt, FormerUntil: s.FormerUntil,
		DisabledAt: w.DisabledAt,
	}
}

// List lists all webhooks, oldest first.
func (d *Directory) List(ctx context.Context) ([]Webhook, error) {
	rows, err := d.opts.Store.Webhooks(ctx)
	all := make([]Webhook, 0, len(rows))
	for _, row := range rows {
		all = append(all, d.shown(row))
	}
	return all, err
}

// shown returns a webhook as people see it. A row that was changed in the database is listed, too; doctor
// says that it is wrong.
func (d *Directory) shown(row store.Webhook) Webhook {
	keys, err := openSecrets(d.sealer, row)
	if err != nil || !d.opts.Now().Before(keys.FormerUntil) {
		return webhookOf(row, secrets{})
	}
	return webhookOf(row, keys)
}

// Remove removes a webhook with its deliveries. What is being sent may still arrive.
func (d *Directory) Remove(ctx context.Context, id string) error {
	row, audited, err := d.change(ctx, id, audit.Entry{Action: actionRemove, Subject: id})
	if err != nil {
		return err
	}
	return d.opts.Store.DeleteWebhook(ctx, row.ID, audited...)
}

// change returns the row of a webhook, and the audit rows of a change to it.
func (d *Directory) change(
	ctx context.Context, id string, e audit.Entry,
) (row store.Webhook, audited []store.AuditRow, err error) {
	if row, err = d.opts.Store.Webhook(ctx, id); err != nil {
		return row, nil, err
	}
	var owner store.Tenant
	if row.TenantID != "" {
		if owner, err = d.opts.Store.TenantByID(ctx, row.TenantID); err != nil {
			return row, nil, err
		}
	}
	audited, err = d.opts.Audit.Change(ctx, row.TenantID, owner.Name, e)
	return row, audited, err
}

// Roll gives a webhook a new secret and returns it. Deliveries are signed with the former one as well for the
// overlap, and with those before it for theirs, unless the overlap is 0.
func (d *Directory) Roll(ctx context.Context, id string, overlap time.Duration) (string, Webhook, error) {
	if overlap < 0 || overlap > maxOverlap {
		return "", Webhook{}, fault.InvalidField("overlap", fmt.Sprintf("must be from 0 to %s.", maxOverlap))
	}
	was, audited, err := d.change(ctx, id, audit.Entry{Action: actionRoll, Subject: id,
		Changed: []string{"secret"}})
	if err != nil {
		return "", Webhook{}, err
	}
	keys, err := openSecrets(d.sealer, was)
	if err != nil {
		return "", Webhook{}, err
	}
	text := newSecret()
	next := keys.next(text, d.opts.Now(), overlap)
	is := was
	if err := next.seal(d.sealer, &is); err != nil {
		return "", Webhook{}, err
	}
	rolling := store.Creating(ctx, text, func(row store.Webhook) (Webhook, error) {
		return webhookOf(row, next), nil
	})
	rolled, err := d.opts.Store.SealWebhook(rolling, was, is.Sealed, audited...)
	if err == nil && !rolled {
		err = fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
			"The webhook was changed in the meantime. Look at it again.")
	}
	return text, webhookOf(is, next), err
}

// Resend sends a delivery again, with the same webhook-id, after those that already wait. One that still
// waits is tried at once.
func (d *Directory) Resend(ctx context.Context, id string) (store.Delivery, error) {
	row, err := d.opts.Store.Delivery(ctx, id)
	if err != nil {
		return row, err
	}
	_, audited, err := d.change(ctx, row.WebhookID, audit.Entry{Action: actionResend, Subject: id})
	if err != nil {
		return row, err
	}
	if err := d.opts.Store.ResendDelivery(ctx, row, d.opts.Now(), audited...); err != nil {
		return row, err
	}
	return d.opts.Store.Delivery(ctx, id)
}

// Test sends a message of the type webhook.test once, and returns what became of it.
func (d *Directory) Test(ctx context.Context, id string) (Outcome, error) {
	row, err := d.opts.Store.Webhook(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	body, err := testMessage(d.opts.Now())
	if err != nil {
		return Outcome{}, err
	}
	return d.poster.post(ctx, row, secret.NewID("msg"), body), nil
}
