package tenant

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/singleflight"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// Target names what a call goes to, for the guard around it.
type Target struct {
	Kind       string
	Provider   string
	Host       string // whose connections share its fate: host and port, or the adapter's name; "" for a sandbox
	Connection string // the connection's id
	Sandbox    bool   // a built-in provider: what the connection holds is nobody else's
}

// Opened is a driver and what it was opened for.
type Opened[D any] struct {
	Driver     D
	Connection Connection
	Target     Target
}

// Calendar returns the caller's calendar. It fails with fault.Disconnected, reason NOT_CONNECTED or
// RECONNECT_REQUIRED.
func (d *Directory) Calendar(ctx context.Context, c Caller) (Opened[calendar.Driver], error) {
	return open(ctx, d, c, adapter.KindCalendar, inForce, adapter.Adapter.OpenCalendar)
}

// CRM returns the caller's ticket system; see Calendar.
func (d *Directory) CRM(ctx context.Context, c Caller) (Opened[crm.Driver], error) {
	return open(ctx, d, c, adapter.KindCRM, inForce, adapter.Adapter.OpenCRM)
}

// Telephony returns the caller's provider of phone numbers; see Calendar.
func (d *Directory) Telephony(ctx context.Context, c Caller) (Opened[telephony.Driver], error) {
	return open(ctx, d, c, adapter.KindTelephony, inForce, adapter.Adapter.OpenTelephony)
}

// CalendarToVerify is Calendar for asking the provider whether the credentials work: it opens a connection
// that is to be reconnected as well.
func (d *Directory) CalendarToVerify(ctx context.Context, c Caller) (Opened[calendar.Driver], error) {
	return open(ctx, d, c, adapter.KindCalendar, inAnyState, adapter.Adapter.OpenCalendar)
}

// demand is what state a connection must be in to be opened.
type demand func(Connection) error

func inForce(c Connection) error {
	if c.Status == StatusReconnectRequired {
		return reconnectRequired(c)
	}
	return nil
}

func inAnyState(Connection) error { return nil }

func reconnectRequired(c Connection) error {
	return fault.Newf(fault.Disconnected, fault.ReasonReconnectRequired,
		"The connection %q has no credentials that %s accepts. The account has to be connected again.", c.Name, c.Provider).
		With("connection", c.Name).With("provider", c.Provider)
}

func notConnected(kind adapter.Kind) error {
	names := map[adapter.Kind]string{
		adapter.KindCalendar: "calendar", adapter.KindCRM: "CRM", adapter.KindTelephony: "telephony provider",
	}
	return fault.Newf(fault.Disconnected, fault.ReasonNotConnected,
		"No %s is connected for this API key. Connect one, or use a key that is bound to another connection.", names[kind]).With("kind", string(kind))
}

// opener is one of the Open methods of adapter.Adapter.
type opener[D any] func(adapter.Adapter, context.Context, adapter.Values, adapter.Environment) (D, error)

// open returns the driver of the caller's connection of the kind, opening it where it is not open as it now
// is.
func open[D any](
	ctx context.Context, d *Directory, caller Caller, kind adapter.Kind, must demand, opener opener[D],
) (Opened[D], error) {
	c, ok := caller.Connections[kind]
	if !ok {
		return Opened[D]{}, notConnected(kind)
	}
	zone := zoneOf(caller.Tenant)
	there, ok := d.drivers.find(c.ID)
	if !ok || there.connection.Revision < c.Revision || there.zone != zone {
		var err error
		key := fmt.Sprintf("open %s %d %s", c.ID, c.Revision, zone)
		if there, err = singleflight.Do(ctx, d.fetches, key, func(ctx context.Context) (opened, error) {
			return openRow(ctx, d, c, zone, opener)
		}); err != nil {
			return Opened[D]{}, err
		}
	}
	if there.connection.Revision > c.Revision {
		c = there.connection // the caller's answer is from just before a change
	}
	if err := must(c); err != nil {
		return Opened[D]{}, err
	}
	return Opened[D]{Driver: there.driver.(D), Connection: c, Target: there.target}, nil
}

// openRow opens the connection as the store has it now.
func openRow[D any](ctx context.Context, d *Directory, c Connection, zone string, opener opener[D]) (opened, error) {
	row, err := d.store.Connection(ctx, c.TenantID, c.ID)
	if errors.Is(err, fault.NotFound) {
		d.drivers.drop(c.ID)
		return opened{}, notConnected(c.Kind)
	}
	if err != nil {
		return opened{}, err
	}
	now, err := connectionOf(row)
	if err != nil {
		return opened{}, err
	}
	a, values, env, err := d.environment(now, row, zone)
	if err != nil {
		return opened{}, err
	}
	driver, err := opener(a, ctx, values, env)
	if err != nil {
		return opened{}, unusable(now, err)
	}
	d.tokens.Forget(now.ID) // the tokens of an earlier revision may be another account's
	o := opened{driver: driver, connection: now, zone: zone, target: targetOf(a, now)}
	d.drivers.keep(o)
	return o, nil
}

// environment makes what the adapter opens the connection with. The secret that the requests are authorised
// with is not among the values: see credentials.
func (d *Directory) environment(
	c Connection, row store.Connection, zone string,
) (adapter.Adapter, adapter.Values, adapter.Environment, error) {
	a, found := d.registry.Find(c.Kind, c.Provider)
	if !found {
		return a, adapter.Values{}, adapter.Environment{}, noAdapter(c)
	}
	values := adapter.Values{Settings: c.Settings}
	env := adapter.Environment{
		TenantID: c.TenantID, ConnectionID: c.ID, Zone: zone, Now: d.now, Addresses: d.operators[c.Provider].Addresses,
	}
	if a.Sandbox {
		env.Storage = d.store.Documents(c.ID)
	}
	by, withheld, err := d.credentials(&a, c, row)
	if err != nil {
		return a, values, env, err
	}
	values.Credentials = withheld
	if a.Auth.Scheme == adapter.OAuth2 {
		env.Instance = func(ctx context.Context) (string, error) { return d.tokens.Instance(ctx, c.TenantID, c.ID) }
	}
	if !a.Sandbox {
		env.HTTP = d.pool.Client(d.clientOptions(a, c, by))
	}
	return a, values, env, nil
}

func noAdapter(c Connection) error {
	return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The connection %q is of the provider %q, which this build of the gateway does not have.", c.Name, c.Provider)
}

// unusable says that an adapter does not open with what is stored, which is no fault of the call that met it.
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

// zoneOf returns the zone a tenant's drivers are opened with.
func zoneOf(t Tenant) string {
	if t.Settings.Timezone == "" {
		return "UTC"
	}
	return t.Settings.Timezone
}

// opened is a driver that is kept open.
type opened struct {
	driver     any
	connection Connection
	zone       string
	target     Target
}

// drivers keeps the drivers used last. One that is dropped may still serve the calls that hold it; what it
// holds are shared connections of the pool and memory, so there is nothing to close.
type drivers struct {
	keeping sync.Mutex // over a look at what is kept and a change of it
	kept    *lru.Cache[string, opened]
}

func newDrivers(limit int) *drivers {
	kept, err := lru.New[string, opened](limit)
	if err != nil {
		panic(err) // the limit is negative
	}
	return &drivers{kept: kept}
}

func (s *drivers) find(connectionID string) (opened, bool) { return s.kept.Get(connectionID) }

// keep keeps a driver, unless one of a newer revision is kept.
func (s *drivers) keep(o opened) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if there, ok := s.kept.Get(o.connection.ID); ok && there.connection.Revision > o.connection.Revision {
		return
	}
	s.kept.Add(o.connection.ID, o)
}

func (s *drivers) drop(connectionID string) { s.kept.Remove(connectionID) }
