package service

import (
	"context"
	"slices"
	"strconv"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/audit"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// releasePlan is a release after normalization.
type releasePlan struct {
	ID int64 `json:"id"`
}

// Release gives a number back to the provider for good. If the connection has a release_delay, the number is
// taken out of use at once and given back after the delay. Its id is never used again.
func (s *Numbers) Release(ctx context.Context, c apikey.Caller, w Write, id int64) (Answer[struct{}], error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return Answer[struct{}]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{
		Caller: callerOf(c), Operation: opReleaseNumber, Write: w, ConnectionID: client.connection.ID,
		Plan: releasePlan{ID: id}, Repeatable: true,
	}, with(client, s.release))
}

// release runs a release, new or resumed.
func (s *Numbers) release(
	ctx context.Context, client telephonyClient, run *journal.Run, plan releasePlan,
) (journal.Result[struct{}], error) {
	var none journal.Result[struct{}]
	row, err := client.number(ctx, plan.ID)
	if err != nil {
		if run.Resumed() && fault.From(err).Code == fault.NotFound {
			return journal.Result[struct{}]{Ref: strconv.FormatInt(plan.ID, 10)}, nil // the earlier run got this far
		}
		return none, err
	}
	own, err := adapter.NumbersOf(client.connection.Settings)
	if err != nil {
		return none, err
	}
	_, err = client.retryConflicts(ctx, row, func(row store.Number) (store.Number, error) {
		if own.ReleaseDelay > 0 {
			err := s.park(ctx, client, run, row, own.ReleaseDelay)
			if err == nil || fault.From(err).Code != fault.NotFound {
				return row, err
			}
		} else {
			run.ExpectEffect(true)
			if err := client.releaseAtProvider(ctx, row.Ref); err != nil {
				return row, err
			}
		}
		err := s.opts.Store.ReleaseNumber(context.WithoutCancel(ctx), row, s.opts.Now())
		f := fault.From(err)
		if err != nil && f.Code != fault.NotFound && f.Reason != fault.ReasonChangedMeanwhile {
			err = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
				"The number was released, but that could not be recorded yet.").Because(err)
		}
		return row, err
	})
	if err != nil && fault.From(err).Code != fault.NotFound { // not found: a list may have released the row
		return none, err
	}
	if err != nil && own.ReleaseDelay > 0 { // or its connection was removed, and nobody will give it back
		if _, err := s.opts.Store.NumberOnce(ctx, client.connection.TenantID, plan.ID); err != nil {
			return none, err
		}
	}
	return journal.Result[struct{}]{Ref: row.Ref}, nil
}

// releaseAtProvider releases a number at the provider, if it is still there.
func (c telephonyClient) releaseAtProvider(ctx context.Context, ref string) error {
	op := guard.Op{Name: opReleaseNumber, Repeatable: true}
	_, err := ask(ctx, c.endpoint, op, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.driver.Release(ctx, ref)
	})
	if err != nil && fault.From(err).Code == fault.NotFound {
		return nil
	}
	return err
}

// park routes a number's calls nowhere and takes the number out of use until it is given back. It fails if
// the provider would not take the number back then.
func (s *Numbers) park(
	ctx context.Context, client telephonyClient, run *journal.Run, row store.Number, delay time.Duration,
) error {
	number, err := client.readNumber(ctx, row.Ref)
	if err != nil {
		return err
	}
	if f := number.Block.Fault(); f != nil {
		return f
	}
	if number.Routing != (telephony.Routing{}) || row.Leads != "" {
		run.ExpectEffect(true)
		if err := client.setNumber(ctx, row.Ref, telephony.Change{Routing: &telephony.Routing{}}); err != nil {
			return err
		}
	}
	row.Leads = ""
	return s.opts.Store.ParkNumber(context.WithoutCancel(ctx), row, s.opts.Now().Add(delay))
}

// Held lists all numbers that a tenant holds, by id, including those waiting to be given back.
func (s *Numbers) Held(ctx context.Context, tenantID string) ([]store.Number, error) {
	return s.opts.Store.TenantNumbers(ctx, tenantID)
}

// ConnectionOf returns the id of the connection of a number that the tenant holds or has held, so that a
// repeated release finds it, too.
func (s *Numbers) ConnectionOf(ctx context.Context, tenantID string, id int64) (string, error) {
	n, err := s.opts.Store.NumberOnce(ctx, tenantID, id)
	return n.ConnectionID, err
}

// Restore puts a released number that still waits back into use, with its name, employees and id.
func (s *Numbers) Restore(ctx context.Context, tenantID string, id int64) (record.PhoneNumber, error) {
	client, waiting, err := s.openParked(ctx, tenantID, id)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	// Recovery finishes a release that was cut off, and would take the number out of use again.
	if releasing, err := s.opts.isBeingReleased(ctx, waiting); err != nil {
		return record.PhoneNumber{}, err
	} else if releasing {
		f := fault.New(fault.Conflict, fault.ReasonChangedMeanwhile,
			"The release of this number is not finished yet. Try again in half a minute.")
		f.RetryAfter = journal.PendingInterval
		return record.PhoneNumber{}, f
	}
	if _, err := client.readNumber(ctx, waiting.Ref); err != nil && fault.From(err).Code == fault.NotFound {
		return record.PhoneNumber{}, s.dropParked(ctx, waiting)
	}
	rows, err := s.opts.auditNumber(ctx, actionRestore, store.Number{
		TenantID: client.connection.TenantID, ConnectionID: client.connection.ID, Ref: strconv.FormatInt(id, 10),
	})
	if err != nil {
		return record.PhoneNumber{}, err
	}
	row, err := s.opts.Store.RestoreNumber(ctx, client.connection.TenantID, id, rows...)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	if _, says := client.route(row.Inbound, row.E164); says && row.Inbound != nil {
		if row, err = client.routeCalls(ctx, row); err != nil {
			f := fault.From(err)
			return numberRecord(row), fault.Newf(f.Code, f.Reason,
				"%s is in use again, but its calls could not be routed to its employee yet; "+
					"the next list tries again: %s", row.E164, f.Detail).Because(err)
		}
	}
	return numberRecord(row), nil
}

// dropParked ends the wait of a number that somebody has given back at the provider, and returns the error for
// whoever wanted to restore it.
func (s *Numbers) dropParked(ctx context.Context, row store.Number) error {
	rows, err := s.opts.auditNumber(audit.By(ctx, ""), actionLose, row) // whoever restores it did not lose it
	if err == nil {
		err = s.opts.Store.ReleaseNumber(ctx, row, s.opts.Now(), rows...)
	}
	if err != nil && fault.From(err).Code != fault.NotFound {
		return err
	}
	return fault.Newf(fault.NotFound, fault.ReasonNumberNotFound,
		"%s cannot be restored: the account at the provider no longer has it.", row.E164)
}

// openParked opens the connection of a number that waits to be given back.
func (s *Numbers) openParked(
	ctx context.Context, tenantID string, id int64,
) (client telephonyClient, row store.Number, err error) {
	waiting, err := s.opts.Store.ParkedNumbers(ctx, tenantID)
	if err != nil {
		return client, row, err
	}
	i := slices.IndexFunc(waiting, func(n store.Number) bool { return n.ID == id && !n.Going })
	if i < 0 {
		return client, row, fault.Newf(fault.NotFound, fault.ReasonNumberNotFound,
			"No number with the id %d is waiting to be given back.", id)
	}
	client, err = s.openFor(ctx, tenantID, waiting[i].ConnectionID)
	return client, waiting[i], err
}
