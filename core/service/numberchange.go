package service

import (
	"context"
	"encoding/json"
	"strconv"

	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// changePlan is a change of a number after normalization.
type changePlan struct {
	ID       int64          `json:"id"`
	Name     *string        `json:"name,omitempty"`
	Inbound  EmployeeChange `json:"inbound"`
	Outbound EmployeeChange `json:"outbound"`
}

// Update changes a number's name and employees, first at the provider and then in the gateway's table.
func (s *Numbers) Update(
	ctx context.Context, c apikey.Caller, w Write, in UpdateNumber,
) (Answer[record.PhoneNumber], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	plan := changePlan(in)
	if plan.Name == nil && !plan.Inbound.Set && !plan.Outbound.Set {
		return s.answerUnchanged(ctx, client, in.ID)
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opChange, Write: w, ConnectionID: client.connection.ID,
		Plan: plan, Subject: strconv.FormatInt(in.ID, 10), Repeatable: true,
	}, with(client, s.applyChange))
}

// answerUnchanged returns the answer to a request that changes nothing.
func (s *Numbers) answerUnchanged(
	ctx context.Context, client telephonyClient, id int64,
) (Answer[record.PhoneNumber], error) {
	row, err := client.number(ctx, id)
	if err != nil {
		return Answer[record.PhoneNumber]{}, err
	}
	number := numberRecord(row)
	body, err := json.Marshal(number)
	return Answer[record.PhoneNumber]{Record: number, Body: body}, err
}

// applyChange runs a change of a number. It sets the requested values, so it is safe to run again.
func (s *Numbers) applyChange(
	ctx context.Context, client telephonyClient, run *journal.Run, plan changePlan,
) (journal.Result[record.PhoneNumber], error) {
	row, err := client.number(ctx, plan.ID)
	if err == nil {
		row, err = client.retryConflicts(ctx, row, func(row store.Number) (store.Number, error) {
			row, change := plan.apply(client, row)
			if change != (telephony.Change{}) {
				run.ExpectEffect(true)
				if err := client.setNumber(ctx, row.Ref, change); err != nil {
					return row, s.releaseVanished(ctx, row, err)
				}
			}
			return row, s.opts.Store.UpdateNumber(context.WithoutCancel(ctx), row)
		})
	}
	if err != nil {
		return journal.Result[record.PhoneNumber]{}, err
	}
	return journal.Result[record.PhoneNumber]{Record: numberRecord(row), Ref: row.Ref}, nil
}

// apply returns the changed row and the change to make at the provider.
func (plan changePlan) apply(client telephonyClient, row store.Number) (store.Number, telephony.Change) {
	var change telephony.Change
	if plan.Name != nil {
		change.Name, row.Name = plan.Name, *plan.Name
	}
	if plan.Inbound.Set {
		row.Inbound = plan.Inbound.ID
		if to, says := client.route(row.Inbound, row.E164); says {
			change.Routing, row.Leads = &to, marshalRouting(to)
		}
	}
	if plan.Outbound.Set {
		row.Outbound = plan.Outbound.ID
	}
	return row, change
}

// rewriteNumber writes the row of a number to its provider once more. It is called for an interrupted change
// that another one has overtaken: the interrupted change may have reached the provider after the other one.
func (s *Numbers) rewriteNumber(ctx context.Context, i store.Intent) error {
	var plan changePlan
	if err := json.Unmarshal(i.Plan, &plan); err != nil {
		return err
	}
	client, err := s.openFor(ctx, i.TenantID, i.ConnectionID)
	if err != nil {
		return err
	}
	var written store.Number
	for range maxConflicts {
		row, err := client.number(ctx, plan.ID)
		if err != nil || row.Version == written.Version {
			if err != nil && fault.From(err).Code == fault.NotFound {
				return nil // released meanwhile
			}
			return err
		}
		change := telephony.Change{Name: &row.Name}
		if to, says := client.route(row.Inbound, row.E164); says {
			change.Routing = &to
		}
		if err := client.setNumber(ctx, row.Ref, change); err != nil {
			return err
		}
		written = row
	}
	return changedMeanwhile()
}

// releaseVanished releases the row of a number that the provider no longer has, unless the row has changed
// since it was read, or a release through the gateway is about to do so.
func (s *Numbers) releaseVanished(ctx context.Context, row store.Number, err error) error {
	if fault.From(err).Code != fault.NotFound {
		return err
	}
	if releasing, err := s.opts.isBeingReleased(ctx, row); err != nil {
		return err
	} else if releasing {
		return numberNotFound()
	}
	released := s.opts.loseNumber(audit.By(ctx, ""), row) // the caller did not lose it
	if released != nil && fault.From(released).Code != fault.NotFound {
		return released
	}
	return numberNotFound()
}
