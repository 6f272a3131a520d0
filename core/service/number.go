package service

import (
	"context"
	"encoding/json"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// Numbers implements the five operations on phone numbers. The provider holds the numbers; the gateway's
// table assigns their ids and stores their cloud employees.
type Numbers struct {
	opts      *Options
	journal   *journal.Journal
	firstPoll time.Duration    // delay before the first poll of a new order
	kept      int              // one part in so many of a list's time is kept for its answer
	setups    *cache[struct{}] // connections whose settings are known to work
	accounts  *cache[struct{}] // connections whose credentials are known to be of their numbers' account
}

const (
	rememberSetup = 5 * time.Minute // how long a successful check of a connection's settings counts
	keptForAnswer = 3               // see Numbers.kept

	rememberAccount = 24 * time.Hour // how long no one looks up whether a revision's account is known
)

func newNumbers(o *Options, j *journal.Journal) *Numbers {
	return &Numbers{
		opts: o, journal: j, firstPoll: firstPoll, kept: keptForAnswer,
		setups: newCache[struct{}](o.Now, rememberSetup), accounts: newCache[struct{}](o.Now, rememberAccount),
	}
}

func (s *Numbers) operations() []journal.Operation {
	return []journal.Operation{
		{
			Name: opBuy, Resume: resume(s.opts, s.open, s.buy),
			InProgress: s.opts.Store.OrderedPurchases, AdviseRepeat: adviseBuyer,
		},
		{
			Name: opChange, Resume: resume(s.opts, s.open, s.applyChange), Idempotent: true,
			Supersede: s.rewriteNumber,
		},
		{Name: opReleaseNumber, Resume: resume(s.opts, s.open, s.release), Idempotent: true},
	}
}

// telephonyClient is one caller's telephony connection, opened.
type telephonyClient struct {
	opts       *Options
	driver     telephony.Driver
	connection connection.Connection
	endpoint   endpoint
	caller     apikey.Caller
	sandbox    bool
	realm      string // a number is held once within it: all real providers, or one sandbox
}

// open opens the caller's telephony connection.
func (s *Numbers) open(ctx context.Context, c apikey.Caller) (telephonyClient, error) {
	opened, err := s.opts.Drivers.Telephony(ctx, c.Tenant, c.Connections)
	if err != nil {
		return telephonyClient{}, err
	}
	client := telephonyClient{
		opts: s.opts, driver: opened.Driver, connection: opened.Connection,
		caller: c, sandbox: opened.Target.Sandbox,
		endpoint: newEndpoint(s.opts, opened, opened.Driver.Traits().MaxConcurrent, opened.Driver.Account),
	}
	if client.sandbox {
		client.realm = opened.Connection.ID
		return client, nil
	}
	unchecked := client
	client.endpoint.admit = func(ctx context.Context) error { return s.checkAccount(ctx, unchecked) }
	return client, nil
}

// checkAccount returns an error if the connection leads to another account than that of its numbers.
func (s *Numbers) checkAccount(ctx context.Context, client telephonyClient) error {
	_, err := s.accounts.get(client.connection, func() (struct{}, error) {
		account := func(ctx context.Context) (telephony.Account, error) {
			return ask(ctx, client.endpoint, read("read-account"), client.driver.Account)
		}
		return struct{}{}, connection.CheckAccount(ctx, s.opts.Store, client.connection, account, client.readAccount)
	})
	return err
}

// openFor opens a connection for work in the background.
func (s *Numbers) openFor(ctx context.Context, tenantID, connectionID string) (telephonyClient, error) {
	c, err := s.opts.callerFor(ctx, tenantID, connectionID)
	if err != nil {
		return telephonyClient{}, err
	}
	return s.open(ctx, c)
}

// List reads the provider's account and brings the gateway's table into agreement with it. Numbers that are
// new in the account get an id, and numbers that are gone from it are released. Wrong routing of calls is
// restored if that is safe.
func (s *Numbers) List(ctx context.Context, c apikey.Caller) (record.PhoneNumbersAnswer, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	rows, _, err := s.reconcile(ctx, client, RepairSafe)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	list := make([]record.PhoneNumber, 0, len(rows))
	for _, row := range rows {
		list = append(list, numberRecord(row))
	}
	return record.PhoneNumbersAnswer{PhoneNumbers: list}, nil
}

// Get returns one number from the gateway's table.
func (s *Numbers) Get(ctx context.Context, c apikey.Caller, id int64) (record.PhoneNumber, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	row, err := client.number(ctx, id)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	return numberRecord(row), nil
}

// number returns the caller's number. For numbers of other tenants or connections it returns not found.
func (c telephonyClient) number(ctx context.Context, id int64) (store.Number, error) {
	row, err := c.opts.Store.Number(ctx, c.connection.TenantID, id)
	if err == nil && row.ConnectionID != c.connection.ID {
		err = numberNotFound()
	}
	return row, err
}

func numberNotFound() error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no phone number with this id.")
}

// readNumber asks the provider for one number.
func (c telephonyClient) readNumber(ctx context.Context, ref string) (telephony.Number, error) {
	op := read("read-phone-number")
	return ask(ctx, c.endpoint, op, func(ctx context.Context) (telephony.Number, error) {
		return c.driver.Number(ctx, ref)
	})
}

// route returns the routing of a number's inbound calls; it is empty if employee is nil. route reports false
// if the connection does not define routing.
func (c telephonyClient) route(employee *int64, e164 string) (telephony.Routing, bool) {
	if employee == nil {
		_, says := c.driver.Route(0, e164)
		return telephony.Routing{}, says
	}
	return c.driver.Route(*employee, e164)
}

// marshalRouting returns a routing as the table stores it.
func marshalRouting(to telephony.Routing) string {
	if to == (telephony.Routing{}) {
		return ""
	}
	raw, err := json.Marshal(to)
	if err != nil {
		panic(err) // three strings can always be written
	}
	return string(raw)
}

// setNumber changes a number at the provider, and checks that the provider applied the change.
func (c telephonyClient) setNumber(ctx context.Context, ref string, change telephony.Change) error {
	op := guard.Op{Name: opChange, Repeatable: true}
	now, err := ask(ctx, c.endpoint, op, func(ctx context.Context) (telephony.Number, error) {
		return c.driver.Change(ctx, ref, change)
	})
	if err != nil {
		return c.explainNotFound(ctx, ref, err)
	}
	isNamed := change.Name == nil || now.Name == *change.Name
	to := change.Routing
	isRouted := to == nil || *to == (telephony.Routing{}) || now.Routing == *to
	if !isNamed || !isRouted {
		return fault.New(fault.Unavailable, fault.ReasonProviderUnavailable,
			"The provider did not apply the requested change of the number.")
	}
	return nil
}

// explainNotFound finds out whether it was the number or the destination of its calls that a change did not
// find, and returns the error for that.
func (c telephonyClient) explainNotFound(ctx context.Context, ref string, err error) error {
	if fault.From(err).Code != fault.NotFound {
		return err
	}
	if _, missing := c.readNumber(ctx, ref); missing != nil {
		return missing
	}
	return fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The provider has the number, but does not know the destination of its calls. "+
			"Check the connection's settings.").Because(err)
}

// routeCalls routes a number's calls at the provider as its row requires, and records the routing in the row.
func (c telephonyClient) routeCalls(ctx context.Context, row store.Number) (store.Number, error) {
	return c.retryConflicts(ctx, row, func(row store.Number) (store.Number, error) {
		to, _ := c.route(row.Inbound, row.E164)
		if err := c.setNumber(ctx, row.Ref, telephony.Change{Routing: &to}); err != nil {
			return row, err
		}
		row.Leads = marshalRouting(to)
		return row, c.opts.Store.UpdateNumber(context.WithoutCancel(ctx), row)
	})
}

// retryConflicts runs a change at the provider and in the table. Providers have no versions of numbers, but
// the table has. If the row was changed meanwhile, retryConflicts reads it again and repeats the change, at
// the provider as well. So after concurrent changes, the provider and the table agree.
func (c telephonyClient) retryConflicts(
	ctx context.Context, row store.Number,
	change func(store.Number) (store.Number, error),
) (store.Number, error) {
	for range maxConflicts {
		changed, err := change(row)
		if err == nil || fault.From(err).Reason != fault.ReasonChangedMeanwhile {
			return changed, err
		}
		if row, err = c.number(ctx, row.ID); err != nil {
			return row, err
		}
	}
	return row, changedMeanwhile()
}

const maxConflicts = 8

func changedMeanwhile() error {
	return fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
		"Others keep changing the number at the same time. Repeat the request.")
}

// displayName returns a number's name, or the number itself if it has none.
func displayName(name, e164 string) string {
	if name == "" {
		return e164
	}
	return name
}

func numberRecord(n store.Number) record.PhoneNumber {
	return record.PhoneNumber{
		ID: n.ID, Name: n.Name, E164: n.E164, AreaCode: normalize.AreaCode(n.E164),
		InboundCloudEmployeeID: n.Inbound, OutboundCloudEmployeeID: n.Outbound,
	}
}
