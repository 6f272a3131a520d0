package service

import (
	"context"
	"slices"
	"strconv"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/guard"
	"frontdesk/core/journal"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// releasePlan names the number to release.
type releasePlan struct {
	ID int64 `json:"id"`
}

// Release gives a number back to the provider for good, or, where the connection has a release_delay, takes it out of use
// until then. Its id is never used again.
func (s *Numbers) Release(ctx context.Context, c tenant.Caller, w Write, id int64) (Answer[struct{}], error) {
	p, err := s.phone(ctx, c)
	if err != nil {
		return Answer[struct{}]{}, err
	}
	return journal.Perform(ctx, s.journal, journal.Call{Caller: callerOf(c), Operation: opReturn, Write: w, ConnectionID: p.connection.ID, Plan: releasePlan{ID: id}, Repeatable: true}, with(p, s.release))
}

func (s *Numbers) release(ctx context.Context, p phone, run *journal.Run, plan releasePlan) (journal.Result[struct{}], error) {
	var none journal.Result[struct{}]
	row, err := s.row(ctx, p, plan.ID)
	if err != nil {
		if run.Resumed() && fault.From(err).Code == fault.NotFound {
			return journal.Result[struct{}]{Ref: strconv.FormatInt(plan.ID, 10)}, nil // the earlier run got this far
		}
		return none, err
	}
	own, err := adapter.NumbersOf(p.connection.Settings)
	if err != nil {
		return none, err
	}
	_, err = s.inRounds(ctx, p, row, func(row store.Number) (store.Number, error) {
		if own.ReleaseDelay > 0 {
			if err := s.park(ctx, p, run, row, own.ReleaseDelay); err == nil || fault.From(err).Code != fault.NotFound {
				return row, err
			}
		} else {
			run.ExpectEffect(true)
			if err := s.giveBack(ctx, p, row.Ref); err != nil {
				return row, err
			}
		}
		err := s.opts.Store.ReleaseNumber(context.WithoutCancel(ctx), row, s.opts.Now())
		if f := fault.From(err); err != nil && f.Code != fault.NotFound && f.Reason != fault.ReasonChangedMeanwhile {
			err = fault.New(fault.UnknownOutcome, fault.ReasonOutcomeUnknown,
				"The number was released, but that could not be recorded yet.").Because(err)
		}
		return row, err
	})
	if err != nil && fault.From(err).Code != fault.NotFound { // a list may have seen it go
		return none, err
	}
	return journal.Result[struct{}]{Ref: row.Ref}, nil
}

// giveBack releases a number at the provider, if it is still there.
func (s *Numbers) giveBack(ctx context.Context, p phone, ref string) error {
	_, err := ask(ctx, p.endpoint, guard.Op{Name: opReturn, Repeatable: true}, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.driver.Release(ctx, ref)
	})
	if err != nil && fault.From(err).Code == fault.NotFound {
		return nil
	}
	return err
}

// park has a number's calls lead nowhere and takes it out of use until it goes back, unless the provider would not take it
// back then.
func (s *Numbers) park(ctx context.Context, p phone, run *journal.Run, row store.Number, delay time.Duration) error {
	number, err := s.read(ctx, p, row.Ref)
	if err != nil {
		return err
	}
	if f := number.Block.Fault(); f != nil {
		return f
	}
	if number.Routing != (telephony.Routing{}) || row.Leads != "" {
		run.ExpectEffect(true)
		if err := s.set(ctx, p, row.Ref, telephony.Change{Routing: &telephony.Routing{}}); err != nil {
			return err
		}
	}
	row.Leads = ""
	return s.opts.Store.ParkNumber(context.WithoutCancel(ctx), row, s.opts.Now().Add(delay))
}

// Held lists all numbers that a tenant holds, by id, those waiting to go back among them.
func (s *Numbers) Held(ctx context.Context, tenantID string) ([]store.Number, error) {
	return s.opts.Store.TenantNumbers(ctx, tenantID)
}

// Restore takes a released number that still waits back into use, with its name, employees and id.
func (s *Numbers) Restore(ctx context.Context, tenantID string, id int64) (record.PhoneNumber, error) {
	p, err := s.parked(ctx, tenantID, id)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	rows, err := s.opts.auditNumber(ctx, numberRestored, store.Number{TenantID: p.connection.TenantID, ConnectionID: p.connection.ID, Ref: strconv.FormatInt(id, 10)})
	if err != nil {
		return record.PhoneNumber{}, err
	}
	row, err := s.opts.Store.RestoreNumber(ctx, p.connection.TenantID, id, rows...)
	if err != nil {
		return record.PhoneNumber{}, err
	}
	if _, says := p.routing(row.Inbound, row.E164); says && row.Inbound != nil {
		if row, err = s.pointTo(ctx, p, row); err != nil {
			f := fault.From(err)
			return phoneNumber(row), fault.Newf(f.Code, f.Reason, "%s is in use again, but its calls could not be pointed at its employee yet; the next list tries again: %s", row.E164, f.Detail).Because(err)
		}
	}
	return phoneNumber(row), nil
}

// parked opens the connection of a number that waits to go back.
func (s *Numbers) parked(ctx context.Context, tenantID string, id int64) (phone, error) {
	waiting, err := s.opts.Store.ParkedNumbers(ctx, tenantID)
	if err != nil {
		return phone{}, err
	}
	i := slices.IndexFunc(waiting, func(n store.Number) bool { return n.ID == id && !n.Going })
	if i < 0 {
		return phone{}, fault.Newf(fault.NotFound, fault.ReasonNumberNotFound, "No number with the id %d waits to be given back.", id)
	}
	return s.phoneFor(ctx, tenantID, waiting[i].ConnectionID)
}

// sendBack gives the numbers back whose wait is over.
func (s *Numbers) sendBack(ctx context.Context) error {
	going, err := s.opts.Store.SendBack(ctx, s.opts.Now())
	if err != nil {
		return err
	}
	for _, row := range going {
		if err := s.sendBackOne(ctx, row); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "a released number could not be given back; it is tried again", "tenant", row.TenantID, "number", row.ID, "error", err)
		}
	}
	return nil
}

func (s *Numbers) sendBackOne(ctx context.Context, row store.Number) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Deadline)
	defer cancel()
	p, err := s.phoneFor(ctx, row.TenantID, row.ConnectionID)
	if err != nil {
		return err
	}
	if err := s.giveBack(ctx, p, row.Ref); err != nil {
		return err
	}
	rows, err := s.opts.auditNumber(ctx, numberReturned, row)
	if err != nil {
		return err
	}
	err = s.opts.Store.ReleaseNumber(ctx, row, s.opts.Now(), rows...)
	if err != nil && fault.From(err).Code == fault.NotFound {
		return nil // another replica was faster
	}
	return err
}
