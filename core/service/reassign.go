package service

import (
	"context"
	"encoding/json"
	"strconv"

	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// changePlan is a change of a number after normalization.
type changePlan struct {
	ID       int64          `json:"id"`
	Name     *string        `json:"name,omitempty"`
	Inbound  EmployeeChange `json:"inbound"`
	Outbound EmployeeChange `json:"outbound"`
}

// Update changes a number's name and employees: at the provider first, in the gateway's table after.
func (s *Numbers) Update(ctx context.Context, c tenant.Caller, w Write, in UpdateNumber) (Answer[record.PhoneNumber], error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	plan := changePlan(in)
	if plan.Name == nil && !plan.Inbound.Set && !plan.Outbound.Set {
		return s.unchanged(ctx, opened, in.ID)
	}
	return perform(ctx, s.journal, call{
		caller: c, operation: opChange, write: w, connectionID: opened.Connection.ID, plan: plan, about: strconv.FormatInt(in.ID, 10),
	}, on(c, opened, s.change))
}

// unchanged answers a change of nothing.
func (s *Numbers) unchanged(ctx context.Context, o tenant.Opened[telephony.Driver], id int64) (Answer[record.PhoneNumber], error) {
	row, err := s.row(ctx, o, id)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	number := phoneNumber(row)
	body, err := json.Marshal(number)
	return Answer[record.PhoneNumber]{Record: number, Body: body}, err
}

// change runs a change of a number. It sets what was asked for, so it is safe to run again.
func (s *Numbers) change(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan changePlan) (outcome[record.PhoneNumber], error) {
	var none outcome[record.PhoneNumber]
	row, err := s.row(ctx, o, plan.ID)
	if err != nil {
		return none, err
	}
	change := telephony.Change{}
	if plan.Name != nil && *plan.Name != row.Name {
		change.Name = plan.Name
		row.Name = *plan.Name
	}
	if plan.Inbound.Set {
		row.Inbound = plan.Inbound.ID
		if to := routing(o.Connection, row.Inbound, row.E164); routed(o.Connection) {
			change.Routing = &to
		}
	}
	if plan.Outbound.Set {
		row.Outbound = plan.Outbound.ID
	}
	if change.Name != nil || change.Routing != nil {
		a.act(true)
		_, err := askTelephony(ctx, s, o, guard.Op{Name: opChange, Repeatable: true}, func(ctx context.Context) (telephony.Number, error) {
			return o.Driver.Change(ctx, row.Ref, change)
		})
		if err != nil {
			return none, s.vanished(ctx, c, row, err)
		}
	}
	if err := s.Store.UpdateNumber(context.WithoutCancel(ctx), row); err != nil {
		return none, err
	}
	return outcome[record.PhoneNumber]{record: phoneNumber(row), ref: row.Ref}, nil
}

// vanished releases the row of a number that the provider no longer has.
func (s *Numbers) vanished(ctx context.Context, c tenant.Caller, row store.Number, err error) error {
	if fault.From(err).Code != fault.NotFound {
		return err
	}
	if err := s.Store.ReleaseNumber(ctx, c.Tenant.ID, row.ID, s.Now()); err != nil && fault.From(err).Code != fault.NotFound {
		return err
	}
	return noNumber()
}

// releasePlan names the number to release.
type releasePlan struct {
	ID int64 `json:"id"`
}

// Release gives a number back to the provider for good. Its id is never used again.
func (s *Numbers) Release(ctx context.Context, c tenant.Caller, w Write, id int64) (Answer[struct{}], error) {
	opened, err := s.Directory.Telephony(ctx, c)
	if err != nil {
		return Answer[struct{}]{}, err
	}
	plan := releasePlan{ID: id}
	return perform(ctx, s.journal, call{caller: c, operation: opReturn, write: w, connectionID: opened.Connection.ID, plan: plan},
		on(c, opened, s.release))
}

func (s *Numbers) release(ctx context.Context, c tenant.Caller, o tenant.Opened[telephony.Driver], a *attempt, plan releasePlan) (outcome[struct{}], error) {
	var none outcome[struct{}]
	row, err := s.row(ctx, o, plan.ID)
	if err != nil {
		if a.resumed && fault.From(err).Code == fault.NotFound {
			return outcome[struct{}]{ref: strconv.FormatInt(plan.ID, 10)}, nil // the earlier run got this far
		}
		return none, err
	}
	a.act(true)
	_, err = askTelephony(ctx, s, o, guard.Op{Name: opReturn, Repeatable: true}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.Driver.Release(ctx, row.Ref)
	})
	gone := err != nil && fault.From(err).Code == fault.NotFound
	if err != nil && !gone {
		return none, err
	}
	if err := s.Store.ReleaseNumber(context.WithoutCancel(ctx), c.Tenant.ID, row.ID, s.Now()); err != nil && fault.From(err).Code != fault.NotFound { // a list may have seen it go
		return none, fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown, "The number was released, but that could not be recorded yet.").Because(err)
	}
	return outcome[struct{}]{ref: row.Ref}, nil
}
