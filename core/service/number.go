package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/normalize"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Numbers is the five operations on phone numbers. The provider holds the numbers; the gateway's table gives them
// their ids and remembers the cloud employees.
type Numbers struct{ *room }

const (
	offersPerSearch = 10   // numbers looked at,
	mostSearches    = 3    // so often, before giving up when others snatch them away
	mostNumbers     = 5000 // of one account
)

// Settings of a telephony connection that say where inbound calls go.
const (
	settingVoiceURL = "voice_url_template" // {cloud_employee_id} and {e164} are filled in
	settingSIPTrunk = "sip_trunk"
)

func askTelephony[T any](ctx context.Context, s *Numbers, o tenant.Opened[telephony.Driver], op guard.Op, try func(context.Context) (T, error)) (T, error) {
	return ask(ctx, s.room, lineTo(o, o.Driver.Traits().MaxConcurrent, func(ctx context.Context) error {
		_, err := o.Driver.Account(ctx)
		return err
	}), op, try)
}

// List reads the provider's account and makes the gateway's table agree with it: numbers that came by other means get
// an id, numbers that went are released.
func (s *Numbers) List(ctx context.Context, c tenant.Caller) (record.PhoneNumbersAnswer, error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	// The table is read first: a number bought or released while the account is read is then in neither list wrongly.
	rows, err := s.Store.Numbers(ctx, c.Tenant.ID, opened.Connection.ID)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	held, err := s.account(ctx, opened)
	if err != nil {
		return record.PhoneNumbersAnswer{}, err
	}
	for i := range rows {
		n, still := held[rows[i].Ref]
		delete(held, rows[i].Ref)
		switch {
		case !still:
			// Lists of some providers lag behind; the number itself is asked for before it is given up.
			_, err = askTelephony(ctx, s, opened, read("read-phone-number"), func(ctx context.Context) (telephony.Number, error) {
				return opened.Driver.Number(ctx, rows[i].Ref)
			})
			if err != nil && fault.From(err).Code == fault.NotFound {
				rows[i].ReleasedAt = s.Now()
				err = s.Store.ReleaseNumber(ctx, c.Tenant.ID, rows[i].ID, rows[i].ReleasedAt)
			}
		case n.Name != "" && n.Name != rows[i].Name:
			err = s.renamed(ctx, c, &rows[i], n.Name)
		}
		switch f := fault.From(err); {
		case err == nil:
		case f.Code == fault.NotFound:
			rows[i].ReleasedAt = s.Now() // through the gateway, meanwhile
		default:
			return record.PhoneNumbersAnswer{}, err
		}
	}
	rows = slices.DeleteFunc(rows, func(n store.Number) bool { return !n.ReleasedAt.IsZero() })
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		row, ours, err := s.adopt(ctx, c, opened, held[ref])
		if err != nil {
			return record.PhoneNumbersAnswer{}, err
		}
		if ours {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Number) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	list := make([]record.PhoneNumber, 0, len(rows))
	for _, row := range rows {
		list = append(list, phoneNumber(row))
	}
	return record.PhoneNumbersAnswer{PhoneNumbers: list}, nil
}

// renamed takes over a name given at the provider. The row is read again, so that a change of its employees since is kept.
func (s *Numbers) renamed(ctx context.Context, c tenant.Caller, row *store.Number, name string) error {
	now, err := s.Store.Number(ctx, c.Tenant.ID, row.ID)
	if err != nil {
		return err
	}
	*row = now
	if row.Name == name {
		return nil
	}
	row.Name = name
	return s.Store.UpdateNumber(ctx, *row)
}

// account reads every page of the provider's account, by reference. Numbers still on order are left out.
func (s *Numbers) account(ctx context.Context, o tenant.Opened[telephony.Driver]) (map[string]telephony.Number, error) {
	held := map[string]telephony.Number{}
	for q := (telephony.Query{}); ; {
		page, err := askTelephony(ctx, s, o, read("list-phone-numbers"), func(ctx context.Context) (telephony.Page, error) { return o.Driver.Numbers(ctx, q) })
		if err != nil {
			return nil, err
		}
		for _, n := range page.Numbers {
			if !n.Pending {
				held[n.Ref] = n
			}
		}
		if page.Next == "" {
			return held, nil
		}
		if page.Next == q.Cursor || len(held) > mostNumbers {
			return nil, fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The provider's list of numbers does not end.")
		}
		q.Cursor = page.Next
	}
}

// adopt gives a number of the account its row. A number that another tenant holds through the same account stays that
// tenant's and is not shown.
func (s *Numbers) adopt(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], n telephony.Number) (store.Number, bool, error) {
	if !o.Target.Sandbox {
		holder, held, err := s.Store.NumberHolder(ctx, n.E164)
		if err != nil || held && holder.TenantID != c.Tenant.ID {
			return store.Number{}, false, err
		}
	}
	row, err := s.Store.AddNumber(ctx, store.Number{
		TenantID: c.Tenant.ID, ConnectionID: o.Connection.ID, Ref: n.Ref, E164: n.E164, Name: nameOf(n.Name, n.E164), CreatedAt: s.Now(),
	})
	return row, err == nil, err
}

// Get answers one number from the gateway's table.
func (s *Numbers) Get(ctx context.Context, c tenant.Caller, id int64) (record.PhoneNumber, error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	row, err := s.row(ctx, opened, id)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	return phoneNumber(row), nil
}

// row answers the caller's number; another tenant's, or another connection's, does not exist for it.
func (s *Numbers) row(ctx context.Context, o tenant.Opened[telephony.Driver], id int64) (store.Number, error) {
	row, err := s.Store.Number(ctx, o.Connection.TenantID, id)
	if err == nil && row.ConnectionID != o.Connection.ID {
		err = noNumber()
	}
	return row, err
}

func noNumber() error {
	return fault.New(fault.NotFound, fault.ReasonNumberNotFound, "There is no phone number with this id.")
}

// numberRun is a run that needs to know whose account it works on.
type numberRun[P, T any] func(context.Context, tenant.Caller, tenant.Opened[telephony.Driver], *attempt, P) (outcome[T], error)

// on makes a run of it.
func on[P, T any](c tenant.Caller, o tenant.Opened[telephony.Driver], do numberRun[P, T]) run[P, T] {
	return func(ctx context.Context, a *attempt, plan P) (outcome[T], error) { return do(ctx, c, o, a, plan) }
}

// resumeNumber takes up an intent that nobody waits for.
func resumeNumber[P, T any](ctx context.Context, s *Numbers, a *attempt, do numberRun[P, T]) error {
	_, err := finish(ctx, a, func(ctx context.Context, a *attempt, plan P) (outcome[T], error) {
		c, err := s.callerFor(ctx, a.intent)
		if err != nil {
			return outcome[T]{}, err
		}
		opened, err := s.Directory.Telephony(ctx, c)
		if err != nil {
			return outcome[T]{}, err
		}
		return do(ctx, c, opened, a, plan)
	})
	return err
}

func (s *Numbers) resumeBuy(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.buy)
}

func (s *Numbers) resumeUpdate(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.change)
}

func (s *Numbers) resumeRelease(ctx context.Context, a *attempt) error {
	return resumeNumber(ctx, s, a, s.release)
}

// routed reports whether the connection says where inbound calls go.
func routed(c tenant.Connection) bool {
	return text(c, settingVoiceURL) != "" || text(c, settingSIPTrunk) != ""
}

// routing is where an employee's inbound calls go; nowhere when none is assigned.
func routing(c tenant.Connection, employee *int64, e164 string) telephony.Routing {
	if employee == nil {
		return telephony.Routing{}
	}
	if trunk := text(c, settingSIPTrunk); trunk != "" {
		return telephony.Routing{SIPTrunk: trunk}
	}
	fill := strings.NewReplacer("{cloud_employee_id}", strconv.FormatInt(*employee, 10), "{e164}", strings.Replace(e164, "+", "%2B", 1))
	return telephony.Routing{VoiceURL: fill.Replace(text(c, settingVoiceURL))}
}

// text answers a setting that is text, "" when it is not set.
func text(c tenant.Connection, setting string) string {
	if c.Settings[setting] == nil {
		return ""
	}
	return fmt.Sprint(c.Settings[setting])
}

// nameOf is a number's display name: its own, else the number itself.
func nameOf(name, e164 string) string {
	if name == "" {
		return e164
	}
	return name
}

func sameEmployee(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// phoneNumber is the interface's record of a number.
func phoneNumber(n store.Number) record.PhoneNumber {
	return record.PhoneNumber{
		ID: n.ID, Name: n.Name, E164: n.E164, AreaCode: normalize.AreaCode(n.E164),
		InboundCloudEmployeeID: n.Inbound, OutboundCloudEmployeeID: n.Outbound,
	}
}
