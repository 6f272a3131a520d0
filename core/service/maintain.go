package service

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/pause"
	"frontdesk/core/store"
)

const (
	maintainInterval  = 20 * time.Second // between checks for numbers to give back
	reconcileInterval = 15 * time.Minute
	reconcileTimeout  = time.Minute      // for one account
	strayAfter        = 10 * time.Minute // age at which a purchase without an intent is recovered
)

// maintain looks after the numbers until ctx ends. It gives back the numbers whose wait is over, and at
// random intervals compares every account with the table. Every replica does this.
func (s *Numbers) maintain(ctx context.Context) {
	next := s.opts.Now().Add(mathrand.N(reconcileInterval))
	for {
		if err := s.returnDue(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "released numbers could not be read", "error", err)
		}
		if !s.opts.Now().Before(next) {
			s.reconcileAll(ctx)
			next = s.opts.Now().Add(reconcileInterval/2 + mathrand.N(reconcileInterval))
		}
		if pause.For(ctx, maintainInterval) != nil {
			return
		}
	}
}

// reconcileAll compares every account in working order with the table.
func (s *Numbers) reconcileAll(ctx context.Context) {
	if err := s.recoverStrays(ctx); err != nil && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "purchases without an intent could not be recovered", "error", err)
	}
	all, err := s.opts.Connections.Working(ctx, adapter.KindTelephony)
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "telephony connections could not be listed", "error", err)
		}
		return
	}
	for _, c := range all {
		if ctx.Err() != nil {
			return
		}
		s.reconcileOne(ctx, c)
	}
}

func (s *Numbers) reconcileOne(ctx context.Context, c connection.Connection) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	caller, err := s.opts.Callers.CallerOf(ctx, c.TenantID, c.ID)
	var found []Drift
	if err == nil {
		found, err = s.Reconcile(ctx, caller, RepairSafe)
	}
	if err != nil {
		s.opts.Log.WarnContext(ctx, "an account could not be compared with the table of numbers",
			"tenant_id", c.TenantID, "connection", c.ID, "error", err)
	}
	for _, d := range found {
		s.opts.Log.InfoContext(ctx, "a number differs at its provider",
			"tenant_id", c.TenantID, "connection", c.ID, "number", d.ID, "kind", string(d.Kind), "repaired", d.Repaired)
	}
}

// recoverStrays ends the purchases whose intents are gone. A number that was bought is added to the table.
func (s *Numbers) recoverStrays(ctx context.Context) error {
	open, err := s.opts.Store.StrayPurchases(ctx, s.opts.Now().Add(-strayAfter))
	if err != nil {
		return err
	}
	for _, row := range open {
		if err := s.recoverStray(ctx, row); err != nil {
			s.opts.Log.WarnContext(ctx, "a purchase without an intent could not be recovered; it will be tried again",
				"tenant_id", row.TenantID, "connection", row.ConnectionID, "error", err)
		}
	}
	return nil
}

// recoverStray resumes a purchase of which only the row is left. Its caller's other requests are lost.
func (s *Numbers) recoverStray(ctx context.Context, row store.Purchase) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Deadline)
	defer cancel()
	runner := s.opts.Owner + "/" + rand.Text()
	took, err := s.opts.Store.TakeStray(ctx, row, runner)
	if err != nil || !took {
		return err
	}
	row.Runner = runner
	if row.State == store.PurchaseReserved {
		return s.opts.Store.EndPurchase(ctx, row)
	}
	client, err := s.openFor(ctx, row.TenantID, row.ConnectionID)
	if err != nil {
		return err
	}
	b := &purchase{opts: s.opts, numbers: s, client: client, row: row, run: s.journal.Detached()}
	if _, err := b.perform(ctx); err != nil && !b.run.HadNoEffect(fault.From(err)) {
		return err
	}
	return nil
}

// returnDue gives back the numbers whose wait is over.
func (s *Numbers) returnDue(ctx context.Context) error {
	due, err := s.opts.Store.SendBack(ctx, s.opts.Now())
	if err != nil {
		return err
	}
	for _, row := range due {
		if err := s.returnNumber(ctx, row); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "a released number could not be given back; it will be tried again",
				"tenant_id", row.TenantID, "number", row.ID, "error", err)
		}
	}
	return nil
}

func (s *Numbers) returnNumber(ctx context.Context, row store.Number) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Deadline)
	defer cancel()
	client, err := s.openFor(ctx, row.TenantID, row.ConnectionID)
	if err != nil {
		return err
	}
	if err := client.releaseAtProvider(ctx, row.Ref); err != nil {
		return err
	}
	rows, err := s.opts.auditNumber(ctx, actionReturn, row)
	if err != nil {
		return err
	}
	err = s.opts.Store.ReleaseNumber(ctx, row, s.opts.Now(), rows...)
	if err != nil && fault.From(err).Code == fault.NotFound {
		return nil // another replica was faster
	}
	return err
}
