package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/calendar"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telemetry"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
	"frontdesk/core/vault"
)

// Verification is the result of asking a provider live about a connection.
type Verification struct {
	OK      bool     `json:"ok"`
	Email   string   `json:"email,omitempty"`   // the account's address; "" if not reported
	Name    string   `json:"name,omitempty"`    // the account's name; "" if not reported
	Problem string   `json:"problem,omitempty"` // what is wrong; "" when OK
	Advice  string   `json:"advice,omitempty"`  // what a person can do about it; "" when OK
	Details []string `json:"details,omitempty"` // what was found, e.g. the calendars
}

// verifyTimeout is the time limit for all requests of one verification.
const verifyTimeout = 20 * time.Second

// Verify asks the provider live whether a connection works, and records the result. A failure at the provider
// is part of the Verification. The error is for other failures, such as an unknown name.
func (d *Directory) Verify(ctx context.Context, tenantName, name string) (Verification, error) {
	owner, row, err := d.find(ctx, tenantName, name)
	if err != nil {
		return Verification{}, err
	}
	c, err := Of(row)
	if err != nil {
		return Verification{}, err
	}
	live, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	found, used, failure := d.ask(live, owner, Set{c.Kind: c}, c.Kind)
	if used.ID == "" {
		used = c // it could not be opened
	}
	if failure != nil {
		return d.recordRefusal(ctx, d.linkTo(c, row, tenantName), used, found, fault.From(failure))
	}
	found.OK = true
	if err := d.MarkVerified(ctx, used, found.Email); err != nil {
		return Verification{}, err
	}
	return found, nil
}

// ask opens a connection in any state and reads from it without side effects. If it fails, it also returns
// what it has learned until then.
func (d *Directory) ask(
	ctx context.Context, t tenant.Tenant, s Set, kind adapter.Kind,
) (v Verification, used Connection, err error) {
	defer func() { // the driver is called without a guard here
		if cause := recover(); cause != nil {
			err = fault.From(errors.New("driver panicked: " + telemetry.Panic(cause)))
			d.opts.Log.ErrorContext(ctx, "driver panicked", "panic", telemetry.Panic(cause),
				"stack", string(debug.Stack()))
		}
	}()
	switch kind {
	case adapter.KindCalendar:
		used, err = askOpened(ctx, d, t, s, calendarOpener, d.askCalendar, &v)
	case adapter.KindCRM:
		used, err = askOpened(ctx, d, t, s, crmOpener, d.askCRM, &v)
	default:
		used, err = askOpened(ctx, d, t, s, telephonyOpener, d.askTelephony, &v)
	}
	return v, used, err
}

// askOpened opens a connection, reads from it, and asks the driver whether the connection's settings work at the
// provider, if it is a SetupChecker.
func askOpened[D any](
	ctx context.Context, d *Directory, t tenant.Tenant, s Set, of opener[D],
	read func(context.Context, Opened[D], *Verification) error, v *Verification,
) (used Connection, err error) {
	o, err := openToVerify(ctx, d.opts.Drivers, t, s, of)
	if err != nil {
		return used, err
	}
	err = read(ctx, o, v)
	if checker, can := any(o.Driver).(adapter.SetupChecker); can && err == nil {
		err = checker.CheckSetup(ctx)
	}
	return o.Connection, err
}

func (d *Directory) askCalendar(ctx context.Context, o Opened[calendar.Driver], v *Verification) error {
	account, err := o.Driver.Account(ctx)
	if err != nil {
		return err
	}
	v.Email, v.Name = account.Email, account.Name
	calendars, err := o.Driver.Calendars(ctx)
	for _, c := range calendars {
		v.Details = append(v.Details, describeCalendar(c))
	}
	return err
}

func (d *Directory) askCRM(ctx context.Context, o Opened[crm.Driver], v *Verification) error {
	account, err := o.Driver.Account(ctx)
	if err != nil {
		return err
	}
	v.Email, v.Name = account.Email, account.Name
	words, err := o.Driver.Vocabulary(ctx)
	if err != nil {
		return err
	}
	v.Details = append(v.Details,
		"statuses: "+strings.Join(words.Statuses, ", "), "priorities: "+strings.Join(words.Priorities, ", "))
	explainer, can := o.Driver.(crm.Explainer)
	if !can {
		return nil
	}
	lines, err := explainer.Explain(ctx)
	v.Details = append(v.Details, lines...)
	return err
}

func (d *Directory) askTelephony(ctx context.Context, o Opened[telephony.Driver], v *Verification) error {
	account, err := o.Driver.Account(ctx)
	if err != nil {
		return err
	}
	v.Name = account.Name
	if account.Ref != "" {
		v.Details = append(v.Details, "account: "+account.Ref)
	}
	if o.Target.Sandbox { // its documents are its own
		return nil
	}
	is := func(context.Context) (telephony.Account, error) { return account, nil }
	numbers := func(ctx context.Context) (map[string]telephony.Number, error) {
		return NumbersOf(ctx, o.Driver.Numbers)
	}
	return CheckAccount(ctx, d.opts.Store, o.Connection, is, numbers)
}

// describeCalendar describes a calendar to a person.
func describeCalendar(c calendar.Calendar) string {
	line := fmt.Sprintf("calendar: %s (%s)", c.Name, c.ID)
	if c.Zone != "" {
		line += ", zone " + c.Zone
	}
	if c.IsDefault {
		line += ", default"
	}
	if c.ReadOnly {
		line += ", read-only"
	}
	return line
}

// recordRefusal returns the verification for a failure, and records the failure if credentials were refused.
func (d *Directory) recordRefusal(
	ctx context.Context, link string, c Connection, found Verification, f *fault.Error,
) (Verification, error) {
	found.Problem, found.Advice, found.Email = f.Detail, advice(link, f), cmp.Or(found.Email, c.Email)
	if !errors.Is(f, fault.Disconnected) {
		return found, nil
	}
	return found, d.MarkReconnect(ctx, c, f.Detail)
}

// linkTo returns the command that creates a link to connect the account again, or "" if the connection does
// not use OAuth.
func (d *Directory) linkTo(c Connection, row store.Connection, tenantName string) string {
	credentials, err := d.sealer.OpenConnection(row)
	s := Spec{Kind: c.Kind, Provider: c.Provider, Settings: c.Settings, Credentials: credentials}
	if err != nil || !d.opts.Providers.tokenOriginOf(s).isOAuth {
		return ""
	}
	return fmt.Sprintf("frontdesk connect-link --tenant %s --provider %s --name %s",
		tenantName, c.Provider, c.Name)
}

// advice returns what a person can do about a failed verification; link is the result of linkTo.
func advice(link string, f *fault.Error) string {
	switch {
	case f.Reason == fault.ReasonEgressRefused:
		return "Enter a public address by https. To allow a network of your own, also by plain http, add it to " +
			"egress.allow in the configuration."
	case f.Reason == vault.ReasonUnreadable:
		return "Give the gateway the key set that the credentials were sealed with (secrets.keyset). If it " +
			"has that key set, somebody changed the row in the database: find out who can write it, and " +
			"enter the settings and credentials again with connection add."
	case f.Reason == fault.ReasonProviderMisconfigured:
		return "Correct the connection's settings, then verify again."
	case f.Code == fault.Disconnected && link != "":
		return fmt.Sprintf("Have the customer connect the account again: send the link that %q prints. "+
			"Enter a service account's key or an application's secret again with connection add, under the "+
			"same name.", link)
	case f.Code == fault.Disconnected:
		return "Enter the credentials again, with apply or with connection add and the same name. Then " +
			"verify again."
	case f.Reason == fault.ReasonAccountSuspended:
		return "Put the account in order at the provider, such as by paying its bill. Then verify again."
	case f.Code == fault.Forbidden:
		return "Grant the account the missing permissions at the provider. Then verify again."
	case f.Code == fault.NotFound, f.Code == fault.Invalid, f.Code == fault.Unsupported:
		return "Check the address and the other settings of the connection."
	case f.Code == fault.RateLimited:
		return "Wait a while, then verify again."
	case f.Code == fault.Unavailable, f.Code == fault.Timeout:
		return "Check that the address is right and the provider is up, then verify again."
	}
	return "Verify again. If it fails again, see the gateway's log."
}
