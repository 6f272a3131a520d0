package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/oauth"
	"frontdesk/core/sealing"
	"frontdesk/core/singleflight"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Target describes what a call goes to, for the guard around it.
type Target struct {
	Kind       string
	Provider   string
	Host       string // host and port, or the adapter's name; "" for a sandbox
	Connection string // the connection's id
	Sandbox    bool   // a built-in provider, with an account for each connection
}

// Opened is a driver with the connection and target that it was opened for.
type Opened[D any] struct {
	Driver     D
	Connection Connection
	Target     Target
}

// DriverOptions configure Drivers. All fields but Kept are required.
type DriverOptions struct {
	Store     *store.Store
	Vault     *vault.Vault
	Providers Providers
	Tokens    *oauth.TokenSource
	Now       func() time.Time
	Kept      int // how many drivers are kept open; 0: 10,000
}

// Drivers opens connections and keeps the most recently used drivers. A driver that is dropped may still
// serve the calls that hold it. It holds only memory and shared connections of the pool, so there is nothing
// to close. Drivers is safe for concurrent use. Create it with [NewDrivers].
type Drivers struct {
	opts    DriverOptions
	sealer  sealing.Sealer
	opening *singleflight.Group

	keeping sync.Mutex // guards reading and then changing kept
	kept    *lru.Cache[string, opened]
}

// opened is a driver that is kept open. Its key is the id of its connection.
type opened struct {
	driver     any
	connection Connection
	zone       string
	target     Target
}

// NewDrivers returns Drivers, which must be closed with Close.
func NewDrivers(o DriverOptions) *Drivers {
	kept, err := lru.New[string, opened](cmp.Or(o.Kept, 10_000))
	if err != nil {
		panic(err) // Kept is negative
	}
	return &Drivers{opts: o, sealer: sealing.New(o.Vault), opening: singleflight.NewGroup(), kept: kept}
}

// Close cancels the opening of drivers and waits for it to end. Later calls fail if they must open a driver.
func (d *Drivers) Close() { d.opening.Close() }

// Calendar returns the driver of the set's calendar. It fails with fault.Disconnected, reason NOT_CONNECTED
// or RECONNECT_REQUIRED.
func (d *Drivers) Calendar(ctx context.Context, t tenant.Tenant, s Set) (Opened[calendar.Driver], error) {
	return inForce(open(ctx, d, t, s, calendarOpener))
}

// CRM returns the driver of the set's ticket system; see Calendar.
func (d *Drivers) CRM(ctx context.Context, t tenant.Tenant, s Set) (Opened[crm.Driver], error) {
	return inForce(open(ctx, d, t, s, crmOpener))
}

// Telephony returns the driver of the set's provider of phone numbers; see Calendar.
func (d *Drivers) Telephony(ctx context.Context, t tenant.Tenant, s Set) (Opened[telephony.Driver], error) {
	return inForce(open(ctx, d, t, s, telephonyOpener))
}

// CalendarToVerify is like Calendar, but also opens a connection that must be reconnected. It is for asking
// the provider whether the credentials work.
func (d *Drivers) CalendarToVerify(
	ctx context.Context, t tenant.Tenant, s Set,
) (Opened[calendar.Driver], error) {
	return openToVerify(ctx, d, t, s, calendarOpener)
}

// openToVerify is open for asking the provider whether the credentials work, also those that it has refused: somebody
// may have put the account in order there.
func openToVerify[D any](ctx context.Context, d *Drivers, t tenant.Tenant, s Set, of opener[D]) (Opened[D], error) {
	o, err := open(ctx, d, t, s, of)
	if err == nil && o.Connection.Status == StatusReconnectRequired {
		err = d.opts.Tokens.Retry(ctx, o.Connection.TenantID, o.Connection.ID)
	}
	return o, err
}

// inForce refuses an opened connection that must be reconnected.
func inForce[D any](o Opened[D], err error) (Opened[D], error) {
	if err == nil && o.Connection.Status == StatusReconnectRequired {
		return Opened[D]{}, reconnectRequired(o.Connection)
	}
	return o, err
}

func reconnectRequired(c Connection) error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"The connection %q has no credentials that %s accepts. The account has to be connected again.",
		c.Name, c.Provider).
		With("connection", c.Name).With("provider", c.Provider)
}

func notConnected(kind adapter.Kind) error {
	names := map[adapter.Kind]string{
		adapter.KindCalendar: "calendar", adapter.KindCRM: "CRM", adapter.KindTelephony: "telephony provider",
	}
	return fault.Newf(fault.Disconnected, fault.ReasonNotConnected,
		"No %s is connected for this API key. Connect one, or use a key that is bound to another connection.",
		names[kind]).With("kind", string(kind))
}

// opener opens the connections of one kind.
type opener[D any] struct {
	kind adapter.Kind
	open func(adapter.Adapter, context.Context, adapter.Values, adapter.Environment) (D, error)
}

var (
	calendarOpener  = opener[calendar.Driver]{adapter.KindCalendar, adapter.Adapter.OpenCalendar}
	crmOpener       = opener[crm.Driver]{adapter.KindCRM, adapter.Adapter.OpenCRM}
	telephonyOpener = opener[telephony.Driver]{adapter.KindTelephony, adapter.Adapter.OpenTelephony}
)

// open returns the driver of the set's connection of a kind, in whatever state that is. It opens one unless a current
// one is kept.
func open[D any](ctx context.Context, d *Drivers, t tenant.Tenant, s Set, of opener[D]) (Opened[D], error) {
	c, ok := s[of.kind]
	if !ok {
		return Opened[D]{}, notConnected(of.kind)
	}
	zone := t.Zone()
	there, ok := d.kept.Get(c.ID)
	if !ok || there.connection.Revision < c.Revision || there.zone != zone {
		var err error
		key := fmt.Sprintf("%s %d %s", c.ID, c.Revision, zone)
		if there, err = singleflight.Do(ctx, d.opening, key, func(ctx context.Context) (opened, error) {
			return openRow(ctx, d, c, zone, of)
		}); err != nil {
			return Opened[D]{}, err
		}
	}
	if there.connection.Revision > c.Revision {
		c = there.connection // the caller's set is from just before a change
	}
	return Opened[D]{Driver: there.driver.(D), Connection: c, Target: there.target}, nil
}

// openRow opens the connection as the store has it now.
func openRow[D any](ctx context.Context, d *Drivers, c Connection, zone string, of opener[D]) (opened, error) {
	row, err := d.opts.Store.Connection(ctx, c.TenantID, c.ID)
	if errors.Is(err, fault.NotFound) {
		d.drop(c.ID)
		return opened{}, notConnected(c.Kind)
	}
	if err != nil {
		return opened{}, err
	}
	now, err := Of(row)
	if err != nil {
		return opened{}, err
	}
	a, values, env, err := d.environment(now, row, zone)
	if err != nil {
		return opened{}, err
	}
	driver, err := of.open(a, ctx, values, env)
	if err != nil {
		return opened{}, unusable(now, err)
	}
	d.opts.Tokens.Forget(now.ID) // the tokens of an earlier revision may belong to another account
	o := opened{driver: driver, connection: now, zone: zone, target: targetOf(a, now)}
	d.keep(o)
	return o, nil
}

// environment returns what the adapter opens the connection with. The values do not hold the secret that
// authorises requests: see authorise.
func (d *Drivers) environment(
	c Connection, row store.Connection, zone string,
) (adapter.Adapter, adapter.Values, adapter.Environment, error) {
	a, err := d.opts.Providers.find(c)
	if err != nil {
		return a, adapter.Values{}, adapter.Environment{}, err
	}
	plain, err := d.sealer.OpenConnection(row)
	if err != nil {
		return a, adapter.Values{}, adapter.Environment{}, err
	}
	if a, err = a.With(adapter.Values{Settings: c.Settings, Credentials: plain}); err != nil {
		return a, adapter.Values{}, adapter.Environment{}, unusable(c, err)
	}
	by, seen, err := authorise(a, c, plain, d.opts.Tokens)
	if err != nil {
		return a, adapter.Values{}, adapter.Environment{}, err
	}
	env := d.opts.Providers.environment(a, c, zone, d.opts.Now, by)
	if a.Sandbox {
		env.Storage = d.opts.Store.Documents(c.ID)
	}
	if a.Auth.Scheme == adapter.OAuth2 {
		env.Instance = func(ctx context.Context) (string, error) {
			return d.opts.Tokens.Instance(ctx, c.TenantID, c.ID)
		}
	}
	return a, adapter.Values{Settings: c.Settings, Credentials: seen}, env, nil
}

// unusable replaces an adapter's fault.Invalid about stored values, for which the call is not to blame.
func unusable(c Connection, err error) error {
	f := fault.From(err)
	if f.Code != fault.Invalid {
		return f
	}
	wrong := make([]string, 0, len(f.Fields))
	for _, field := range f.Fields {
		wrong = append(wrong, field.Path+" "+field.Message)
	}
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The settings of the connection %q cannot be used; its operator must correct them: %s",
		c.Name, strings.Join(wrong, " ")).Because(err)
}

// keep keeps a driver, unless one of a newer revision is already kept.
func (d *Drivers) keep(o opened) {
	d.keeping.Lock()
	defer d.keeping.Unlock()
	if there, ok := d.kept.Get(o.connection.ID); ok && there.connection.Revision > o.connection.Revision {
		return
	}
	d.kept.Add(o.connection.ID, o)
}

// drop stops keeping a connection's driver.
func (d *Drivers) drop(connectionID string) { d.kept.Remove(connectionID) }

// DropTenant stops keeping the drivers of a tenant's connections.
func (d *Drivers) DropTenant(tenantID string) {
	for _, o := range d.kept.Values() {
		if o.connection.TenantID == tenantID {
			d.drop(o.connection.ID)
		}
	}
}
