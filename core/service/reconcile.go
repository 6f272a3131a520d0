package service

import (
	"context"
	"crypto/rand"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
	"frontdesk/core/tenant"
)

// Repair is how far a reconciliation goes.
type Repair int

// The degrees.
const (
	RepairNothing Repair = iota // differences are only reported
	RepairSafe                  // what undoes nobody's work is set right
	RepairAll                   // calls that someone pointed elsewhere at the provider are pointed back, too
)

// Drift is a difference between a provider's account and the gateway's table.
type Drift struct {
	ID       int64     `json:"id,omitempty"` // of the number, where it has one
	E164     string    `json:"e164"`
	Kind     DriftKind `json:"kind"`
	Says     string    `json:"says"`
	Repaired bool      `json:"repaired"`
	Advice   string    `json:"advice,omitempty"` // what to do, where it was not repaired
}

// DriftKind names a kind of difference.
type DriftKind string

// The kinds.
const (
	DriftUnknown   DriftKind = "unknown"   // the account holds a number that the gateway does not know
	DriftGone      DriftKind = "gone"      // the account has no longer got a number
	DriftRenamed   DriftKind = "renamed"   // it has another name at the provider
	DriftMisrouted DriftKind = "misrouted" // its calls do not go where they should
)

const (
	mostNumbers     = 5000 // of one account
	repairsInOneGo  = 20   // numbers whose calls one list points back: the person who waits for it does not wait for more
	reconcileEvery  = 15 * time.Minute
	strayAfter      = 10 * time.Minute // a purchase without an intent is looked at
	numbersEvery    = 20 * time.Second // between looks at what is to go back
	reconcileWithin = time.Minute      // for one account
)

// Reconcile compares a connection's account with the gateway's table.
func (s *Numbers) Reconcile(ctx context.Context, c tenant.Caller, how Repair) ([]Drift, error) {
	p, err := s.phone(ctx, c)
	if err != nil {
		return nil, err
	}
	_, found, err := s.align(ctx, p, how)
	return found, err
}

// alignment is one comparison under way.
type alignment struct {
	numbers *Numbers
	client  phone
	how     Repair
	own     adapter.Numbers
	found   []Drift
	repairs int
}

// align compares the account with the table, and answers the numbers in use, by id, and the differences found.
func (s *Numbers) align(ctx context.Context, p phone, how Repair) ([]store.Number, []Drift, error) {
	own, err := adapter.NumbersOf(p.connection.Settings)
	if err != nil {
		return nil, nil, err
	}
	// The table is read first: a number bought or released while the account is read is then in neither list wrongly.
	rows, err := s.opts.Store.Numbers(ctx, p.connection.TenantID, p.connection.ID)
	if err != nil {
		return nil, nil, err
	}
	held, err := s.account(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	a := &alignment{numbers: s, client: p, how: how, own: own}
	kept := rows[:0]
	for _, row := range rows {
		n, listed := held[row.Ref]
		delete(held, row.Ref)
		row, still, err := a.known(ctx, row, n, listed)
		if err != nil {
			return nil, nil, err
		}
		if still {
			kept = append(kept, row)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		row, ours, err := a.arrival(ctx, held[ref])
		if err != nil {
			return nil, nil, err
		}
		if ours {
			kept = append(kept, row)
		}
	}
	byID(kept)
	return kept, a.found, nil
}

// account reads every page of the provider's account, by reference. Numbers still on order are left out.
func (s *Numbers) account(ctx context.Context, p phone) (map[string]telephony.Number, error) {
	held := map[string]telephony.Number{}
	for q := (telephony.Query{}); ; {
		page, err := ask(ctx, p.endpoint, read("list-phone-numbers"), func(ctx context.Context) (telephony.Page, error) { return p.driver.Numbers(ctx, q) })
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

func (a *alignment) report(row store.Number, kind DriftKind, repaired bool, says, advice string) {
	if repaired {
		advice = ""
	}
	a.found = append(a.found, Drift{ID: row.ID, E164: row.E164, Kind: kind, Says: says, Repaired: repaired, Advice: advice})
}

// known looks at a number of the table; it answers false for one that the account has no longer got.
func (a *alignment) known(ctx context.Context, row store.Number, n telephony.Number, listed bool) (store.Number, bool, error) {
	if !listed {
		// Lists of some providers lag behind; the number itself is asked for before it is given up.
		var err error
		if n, err = a.numbers.read(ctx, a.client, row.Ref); err != nil {
			if fault.From(err).Code != fault.NotFound {
				return row, false, err
			}
			return a.gone(ctx, row)
		}
	}
	row, err := a.renamed(ctx, row, n)
	if err == nil {
		row, err = a.misrouted(ctx, row, n)
	}
	if err != nil && fault.From(err).Code == fault.NotFound { // released through the gateway, meanwhile
		return row, false, nil
	}
	return row, err == nil, err
}

// gone releases the row of a number that the account has no longer got. One that was changed since the table
// was read is looked at again by the next comparison: it may have come back.
func (a *alignment) gone(ctx context.Context, row store.Number) (store.Number, bool, error) {
	if a.how < RepairSafe {
		a.report(row, DriftGone, false, goneSays, "Any list of the numbers gives it up.")
		return row, false, nil
	}
	rows, err := a.numbers.opts.auditNumber(ctx, numberGone, row)
	if err == nil {
		err = a.numbers.opts.Store.ReleaseNumber(ctx, row, a.numbers.opts.Now(), rows...)
	}
	if err != nil && fault.From(err).Reason == fault.ReasonChangedMeanwhile {
		row, err = a.numbers.row(ctx, a.client, row.ID)
		if err == nil {
			return row, true, nil
		}
	}
	if err != nil && fault.From(err).Code != fault.NotFound { // released or parked through the gateway, meanwhile
		return row, false, err
	}
	a.report(row, DriftGone, true, goneSays, "")
	return row, false, nil
}

const goneSays = "The account has no longer got the number."

// renamed takes over a name given at the provider. The row is read again, so that a change made since is kept.
func (a *alignment) renamed(ctx context.Context, row store.Number, n telephony.Number) (store.Number, error) {
	if n.Name == "" || n.Name == row.Name {
		return row, nil
	}
	if a.how < RepairSafe {
		a.report(row, DriftRenamed, false, "It has another name at the provider.", "Any list of the numbers takes it over.")
		return row, nil
	}
	now, err := a.numbers.row(ctx, a.client, row.ID)
	if err != nil || now.Name == n.Name || now.Version != row.Version {
		return now, err // changed through the gateway since the account was read: that is the newer one
	}
	now.Name = n.Name
	err = a.numbers.opts.Store.UpdateNumber(ctx, now)
	if err != nil && fault.From(err).Reason == fault.ReasonChangedMeanwhile {
		return a.numbers.row(ctx, a.client, row.ID)
	}
	if err == nil {
		a.report(row, DriftRenamed, true, "It has another name at the provider.", "")
		now.Version++
	}
	return now, err
}

// misrouted points the calls of a number back that an employee should get. It is safe where nobody has pointed them
// elsewhere: they lead nowhere, or where the gateway itself pointed them before the connection's settings changed. What
// somebody chose at the provider, such as a person's own line while the agent is out of order, is only reported.
func (a *alignment) misrouted(ctx context.Context, row store.Number, n telephony.Number) (store.Number, error) {
	if row.Inbound == nil {
		return row, nil
	}
	want, says := a.client.routing(row.Inbound, row.E164)
	if !says || n.Routing == want {
		return row, nil
	}
	safe := n.Routing == (telephony.Routing{}) || leads(n.Routing) == row.Leads
	const what = "Its calls do not go to the employee who should get them."
	if a.how == RepairNothing || a.how == RepairSafe && !safe {
		advice := "Any list of the numbers points them back."
		if !safe {
			advice = "Someone pointed them elsewhere at the provider. Assign the employee again, or run frontdesk doctor --repair."
		}
		a.report(row, DriftMisrouted, false, what, advice)
		return row, nil
	}
	if a.repairs++; a.repairs > repairsInOneGo {
		a.report(row, DriftMisrouted, false, what, "Many numbers are pointed back a few at a time; this one is still to come.")
		return row, nil
	}
	now, err := a.numbers.row(ctx, a.client, row.ID)
	if err != nil || now.Version != row.Version {
		return now, err // changed through the gateway since the account was read
	}
	pointed, err := a.numbers.pointTo(ctx, a.client, now)
	switch f := fault.From(err); {
	case err == nil:
		a.report(row, DriftMisrouted, true, what, "")
		return pointed, nil
	case f.Code == fault.NotFound:
		return row, err
	default:
		a.numbers.opts.Log.WarnContext(ctx, "a number's calls could not be pointed back", "tenant", row.TenantID, "number", row.ID, "error", err)
		a.report(row, DriftMisrouted, false, what, f.Detail)
		return row, nil
	}
}

// arrival looks at a number of the account that the connection's table has not got. Another's stays that one's and is not
// shown; one that waits to go back is not shown either.
func (a *alignment) arrival(ctx context.Context, n telephony.Number) (store.Number, bool, error) {
	holder, held, err := a.numbers.opts.Store.NumberHolder(ctx, a.client.realm, n.E164)
	if err != nil {
		return store.Number{}, false, err
	}
	if held && (holder.ConnectionID != a.client.connection.ID || !holder.ReleaseAt.IsZero()) {
		return store.Number{}, false, nil
	}
	row := a.numbers.found(a.client, n)
	const what = "The account holds the number, and the gateway does not know it."
	switch {
	case held: // came in since the table was read, or is there again under another reference
	case a.own.Held == adapter.HeldOwn:
		a.report(row, DriftUnknown, false, what, "The connection holds only its own numbers: take it in with frontdesk number adopt, or leave it.")
		return row, false, nil
	case a.how == RepairNothing:
		a.report(row, DriftUnknown, false, what, "Any list of the numbers takes it in.")
		return row, false, nil
	}
	kept, err := a.numbers.takeIn(ctx, a.client, row)
	if err != nil {
		if fault.From(err).Code == fault.Conflict { // someone else's, or on order
			return row, false, nil
		}
		return row, false, err
	}
	if !held {
		a.report(kept, DriftUnknown, true, what, "")
	}
	return kept, true, nil
}

// found is the row of a number that came by other means.
func (s *Numbers) found(p phone, n telephony.Number) store.Number {
	return store.Number{
		TenantID: p.connection.TenantID, ConnectionID: p.connection.ID, Realm: p.realm, Ref: n.Ref, E164: n.E164, Name: nameOf(n.Name, n.E164), CreatedAt: s.opts.Now(),
	}
}

// takeIn claims such a number and gives it its id. It was found by a look at the account, which may be
// behind: of a number that was given back here before, or that is held under another reference, the provider
// is asked once more.
func (s *Numbers) takeIn(ctx context.Context, p phone, found store.Number) (store.Number, error) {
	rows, err := s.opts.auditNumber(ctx, numberFound, found)
	if err != nil {
		return store.Number{}, err
	}
	kept, again, err := s.opts.Store.AddNumber(ctx, found, rows...)
	if err != nil || !again && kept.Ref == found.Ref {
		return kept, err
	}
	if kept.Ref != found.Ref {
		if _, err := s.read(ctx, p, kept.Ref); err == nil || fault.From(err).Code != fault.NotFound {
			return kept, err // it is the list that is behind
		}
	}
	_, err = s.read(ctx, p, found.Ref)
	switch {
	case err == nil && kept.Ref == found.Ref:
		return kept, nil
	case err == nil:
		return s.opts.Store.ChangeRef(ctx, kept, found.Ref)
	case fault.From(err).Code != fault.NotFound:
		return kept, err
	}
	if rows, err = s.opts.auditNumber(ctx, numberGone, kept); err == nil {
		err = s.opts.Store.ReleaseNumber(ctx, kept, s.opts.Now(), rows...)
	}
	if err == nil || fault.From(err).Code == fault.NotFound {
		err = fault.Newf(fault.Conflict, fault.ReasonNumberTaken, "The account has no longer got %s.", found.E164)
	}
	return kept, err
}

// Adopt takes a number in that the account holds by other means, for connections that hold only their own.
func (s *Numbers) Adopt(ctx context.Context, c tenant.Caller, e164 string) (store.Number, error) {
	p, err := s.phone(ctx, c)
	if err != nil {
		return store.Number{}, err
	}
	held, err := s.account(ctx, p)
	if err != nil {
		return store.Number{}, err
	}
	for _, n := range held {
		if n.E164 == e164 {
			return s.takeIn(ctx, p, s.found(p, n))
		}
	}
	return store.Number{}, fault.Newf(fault.NotFound, fault.ReasonNumberNotFound, "The account does not hold %s.", e164)
}

// maintain looks after the numbers until ctx ends: those whose wait is over go back, and every account is compared with the
// table now and then. Every replica does it; the times are spread.
func (s *Numbers) maintain(ctx context.Context) {
	next := s.opts.Now().Add(mathrand.N(reconcileEvery))
	for {
		if err := s.sendBack(ctx); err != nil && ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "released numbers could not be looked at", "error", err)
		}
		if !s.opts.Now().Before(next) {
			s.reconcileAll(ctx)
			next = s.opts.Now().Add(reconcileEvery/2 + mathrand.N(reconcileEvery))
		}
		if sleep(ctx, numbersEvery) != nil {
			return
		}
	}
}

// reconcileAll compares every account that is in order with the table.
func (s *Numbers) reconcileAll(ctx context.Context) {
	if err := s.strays(ctx); err != nil && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "stray purchases could not be looked at", "error", err)
	}
	all, err := s.opts.Directory.RealOnes(ctx, adapter.KindTelephony)
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
		if c.Status == tenant.StatusOK {
			s.reconcileOne(ctx, c)
		}
	}
}

func (s *Numbers) reconcileOne(ctx context.Context, c tenant.Connection) {
	ctx, cancel := context.WithTimeout(ctx, reconcileWithin)
	defer cancel()
	caller, err := s.opts.Directory.CallerOf(ctx, c.TenantID, c.ID)
	var found []Drift
	if err == nil {
		found, err = s.Reconcile(ctx, caller, RepairSafe)
	}
	if err != nil {
		s.opts.Log.WarnContext(ctx, "an account could not be compared with the numbers held", "tenant", c.TenantID, "connection", c.ID, "error", err)
	}
	for _, d := range found {
		s.opts.Log.InfoContext(ctx, "a number differs at its provider", "tenant", c.TenantID, "connection", c.ID, "number", d.ID, "kind", string(d.Kind), "repaired", d.Repaired)
	}
}

// strays ends purchases that no intent carries on any more: a number that was bought is taken in.
func (s *Numbers) strays(ctx context.Context) error {
	open, err := s.opts.Store.StrayPurchases(ctx, s.opts.Now().Add(-strayAfter))
	if err != nil {
		return err
	}
	for _, row := range open {
		if err := s.stray(ctx, row); err != nil {
			s.opts.Log.WarnContext(ctx, "a stray purchase is still open", "tenant", row.TenantID, "connection", row.ConnectionID, "error", err)
		}
	}
	return nil
}

// stray carries on a purchase of which only the row is left. What its caller wanted besides a number is not
// known any more.
func (s *Numbers) stray(ctx context.Context, row store.Purchase) error {
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
	p, err := s.phoneFor(ctx, row.TenantID, row.ConnectionID)
	if err != nil {
		return err
	}
	b := &purchase{numbers: s, client: p, row: row, run: s.journal.Detached()}
	if _, err := b.carryThrough(ctx); err != nil && !b.run.HadNoEffect(fault.From(err)) {
		return err
	}
	return nil
}
