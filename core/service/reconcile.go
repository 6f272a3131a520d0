package service

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/connection"
	"frontdesk/core/fault"
	"frontdesk/core/phonenumber"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// Repair is how much a reconciliation repairs.
type Repair int

// The degrees.
const (
	RepairNothing Repair = iota // differences are only reported
	RepairSafe                  // repairs that undo no one's work are made
	RepairAll                   // calls that someone rerouted at the provider are also routed back
)

// Drift is a difference between a provider's account and the gateway's table.
type Drift struct {
	ID       int64     `json:"id,omitempty"` // id of the number, if it has one
	E164     string    `json:"e164"`
	Kind     DriftKind `json:"kind"`
	Says     string    `json:"says"`
	Repaired bool      `json:"repaired"`
	Advice   string    `json:"advice,omitempty"` // what to do, if it was not repaired
}

// DriftKind names a kind of difference.
type DriftKind string

// The kinds.
const (
	DriftUnknown   DriftKind = "unknown"   // the account holds a number that the gateway does not know
	DriftGone      DriftKind = "gone"      // the account no longer has a number
	DriftRenamed   DriftKind = "renamed"   // the number has another name at the provider
	DriftMisrouted DriftKind = "misrouted" // the number's calls are not routed to its employee
)

const maxRepairs = 20 // most numbers whose routing one list restores, since a caller waits for it

// Reconcile compares a connection's account with the gateway's table.
func (s *Numbers) Reconcile(ctx context.Context, c apikey.Caller, repair Repair) ([]Drift, error) {
	client, err := s.open(ctx, c)
	if err != nil {
		return nil, err
	}
	_, found, err := s.reconcile(ctx, client, repair)
	return found, err
}

// reconciliation is one comparison of an account with the table.
type reconciliation struct {
	opts     *Options
	client   telephonyClient
	repair   Repair
	settings adapter.Numbers
	unknown  map[string]telephony.Number // of the account, by reference, without those that were compared
	until    time.Time                   // when it stops asking the provider about single numbers; zero: never
	drifts   []Drift
	repairs  int
}

// reconcile compares the account with the table. It returns the numbers in use, by id, and the differences.
func (s *Numbers) reconcile(
	ctx context.Context, client telephonyClient, repair Repair,
) ([]store.Number, []Drift, error) {
	settings, err := adapter.NumbersOf(client.connection.Settings)
	if err != nil {
		return nil, nil, err
	}
	var until time.Time
	if end, ok := ctx.Deadline(); ok {
		until = end.Add(-time.Until(end) / time.Duration(s.kept))
	}
	// The table is read first. So a number that is bought or released while the account is read is not in the
	// wrong list.
	rows, err := s.opts.Store.Numbers(ctx, client.connection.TenantID, client.connection.ID)
	if err != nil {
		return nil, nil, err
	}
	held, err := client.readAccount(ctx)
	if err != nil {
		return nil, nil, err
	}
	r := &reconciliation{
		opts: s.opts, client: client, repair: repair, settings: settings, unknown: held, until: until,
	}
	kept := rows[:0]
	for _, row := range rows {
		n, listed := held[row.Ref]
		delete(held, row.Ref)
		row, still, err := r.compare(ctx, row, n, listed)
		if err != nil {
			return nil, nil, err
		}
		if still {
			kept = append(kept, row)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(held)) {
		row, ours, err := r.addUnknown(ctx, held[ref])
		if err != nil {
			return nil, nil, err
		}
		// An account may have a number under two references, and here it has one id.
		if ours && !slices.ContainsFunc(kept, func(k store.Number) bool { return k.ID == row.ID }) {
			kept = append(kept, row)
		}
	}
	slices.SortFunc(kept, func(a, b store.Number) int { return cmp.Compare(a.ID, b.ID) })
	return kept, r.drifts, nil
}

// readAccount reads every page of the provider's account. It returns the numbers by reference, without those
// still on order.
func (c telephonyClient) readAccount(ctx context.Context) (map[string]telephony.Number, error) {
	return connection.NumbersOf(ctx, func(ctx context.Context, q telephony.Query) (telephony.Page, error) {
		return ask(ctx, c.endpoint, read("list-phone-numbers"), func(ctx context.Context) (telephony.Page, error) {
			return c.driver.Numbers(ctx, q)
		})
	})
}

// whileTimeIsLeft returns a context that ends while there is still time to answer. When many numbers are gone or
// have to be routed, the caller gets the list all the same, and the next list goes on.
func (r *reconciliation) whileTimeIsLeft(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.until.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, r.until)
}

func (r *reconciliation) report(row store.Number, kind DriftKind, repaired bool, says, advice string) {
	if repaired {
		advice = ""
	}
	r.drifts = append(r.drifts, Drift{
		ID: row.ID, E164: row.E164, Kind: kind, Says: says, Repaired: repaired, Advice: advice,
	})
}

// compare compares a number of the table with the account, and reports whether the account still has it.
func (r *reconciliation) compare(
	ctx context.Context, row store.Number, n telephony.Number, listed bool,
) (store.Number, bool, error) {
	if !listed {
		// Lists of some providers lag behind. So the number itself is read before it is released.
		asking, stop := r.whileTimeIsLeft(ctx)
		defer stop()
		err := asking.Err()
		if err == nil {
			n, err = r.client.readNumber(asking, row.Ref)
		}
		switch {
		case err != nil && fault.From(err).Code == fault.NotFound && connection.Holds(r.unknown, row.E164):
			return row, false, nil // addUnknown keeps the row under that reference
		case err != nil && fault.From(err).Code == fault.NotFound:
			return r.releaseGone(ctx, row)
		case err != nil && ctx.Err() != nil:
			return row, false, err
		case err != nil: // one number does not keep the others from being listed; the next list reads it
			r.opts.Log.WarnContext(ctx, "a number that its account does not list could not be read",
				"tenant_id", row.TenantID, "number", row.ID, "error", err)
			return row, true, nil
		}
	}
	row, err := r.adoptName(ctx, row, n)
	if err == nil {
		row, err = r.repairRouting(ctx, row, n)
	}
	if err != nil && fault.From(err).Code == fault.NotFound { // released through the gateway, meanwhile
		return row, false, nil
	}
	return row, err == nil, err
}

// releaseGone releases the row of a number that the account no longer has. If the row was changed since the
// table was read, it is left to the next comparison: the number may have come back.
func (r *reconciliation) releaseGone(ctx context.Context, row store.Number) (store.Number, bool, error) {
	if released, err := r.opts.isBeingReleased(ctx, row); err != nil || released {
		return row, false, err
	}
	if r.repair < RepairSafe {
		r.report(row, DriftGone, false, goneText, "The next list of the numbers removes it.")
		return row, false, nil
	}
	err := r.opts.loseNumber(ctx, row)
	if err != nil && fault.From(err).Reason == fault.ReasonChangedMeanwhile {
		row, err = r.client.number(ctx, row.ID)
		if err == nil {
			return row, true, nil
		}
	}
	if err != nil {
		if fault.From(err).Code == fault.NotFound { // released or parked through the gateway, meanwhile
			err = nil
		}
		return row, false, err
	}
	r.report(row, DriftGone, true, goneText, "")
	return row, false, nil
}

// isBeingReleased reports whether a release through the gateway has given the number back but not recorded it
// yet. It does so itself, and nobody is to be told that the number is gone.
func (o *Options) isBeingReleased(ctx context.Context, row store.Number) (bool, error) {
	open, err := o.Store.OpenIntents(ctx, store.Intent{
		TenantID: row.TenantID, ConnectionID: row.ConnectionID, Operation: opReleaseNumber,
	})
	return slices.ContainsFunc(open, func(i store.Intent) bool {
		var plan releasePlan
		return json.Unmarshal(i.Plan, &plan) == nil && plan.ID == row.ID
	}), err
}

const goneText = "The account no longer has the number."

const renamedText = "It has another name at the provider."

// adoptName copies a name given at the provider to the row. The row is read again first, so that a later
// change is kept.
func (r *reconciliation) adoptName(
	ctx context.Context, row store.Number, n telephony.Number,
) (store.Number, error) {
	if n.Name == "" || n.Name == row.Name {
		return row, nil
	}
	if r.repair < RepairSafe {
		r.report(row, DriftRenamed, false, renamedText, "The next list of the numbers takes the name over.")
		return row, nil
	}
	now, err := r.client.number(ctx, row.ID)
	if err != nil || now.Name == n.Name || now.Version != row.Version {
		return now, err // a change through the gateway since the account was read is newer
	}
	now.Name = n.Name
	now, written, err := r.write(ctx, now)
	if written {
		r.report(row, DriftRenamed, true, renamedText, "")
	}
	return now, err
}

// write stores a row as it was changed. If it was changed through the gateway meanwhile, it is returned as it is now.
func (r *reconciliation) write(ctx context.Context, row store.Number) (now store.Number, written bool, err error) {
	err = r.opts.Store.UpdateNumber(ctx, row)
	if err != nil && fault.From(err).Reason == fault.ReasonChangedMeanwhile {
		now, err = r.client.number(ctx, row.ID)
		return now, false, err
	}
	row.Version++
	return row, err == nil, err
}

// repairRouting routes the calls of a number back to its employee. That is safe if no one has rerouted them:
// they are routed nowhere, or as the gateway itself did before the connection's settings changed. A routing
// chosen at the provider, such as to a person's own phone while the agent is out of order, is only reported.
func (r *reconciliation) repairRouting(
	ctx context.Context, row store.Number, n telephony.Number,
) (store.Number, error) {
	if row.Inbound == nil {
		return row, nil
	}
	want, says := r.client.route(row.Inbound, row.E164)
	switch {
	case !says:
		return row, nil
	case n.Routing == want:
		return r.noteRouting(ctx, row, marshalRouting(want))
	}
	safe := n.Routing == (telephony.Routing{}) || marshalRouting(n.Routing) == row.Leads
	const what = "Its calls are not routed to the assigned employee."
	if r.repair == RepairNothing || r.repair == RepairSafe && !safe {
		advice := "The next list of the numbers restores their routing."
		if !safe {
			advice = "Someone routed them elsewhere at the provider. Assign the employee again, " +
				"or run frontdesk doctor --repair."
		}
		r.report(row, DriftMisrouted, false, what, advice)
		return row, nil
	}
	asking, stop := r.whileTimeIsLeft(ctx)
	defer stop()
	if r.repairs++; r.repairs > maxRepairs || asking.Err() != nil {
		r.report(row, DriftMisrouted, false, what,
			"Routing is restored for a few numbers at a time, and this one is still waiting.")
		return row, nil
	}
	now, err := r.client.number(ctx, row.ID)
	if err != nil || now.Version != row.Version {
		return now, err // changed through the gateway since the account was read
	}
	pointed, err := r.client.routeCalls(asking, now)
	switch f := fault.From(err); {
	case err == nil:
		r.report(row, DriftMisrouted, true, what, "")
		return pointed, nil
	case f.Code == fault.NotFound:
		return row, err
	default:
		r.opts.Log.WarnContext(ctx, "the routing of a number could not be restored",
			"tenant_id", row.TenantID, "number", row.ID, "error", err)
		r.report(row, DriftMisrouted, false, what, f.Detail)
		return row, nil
	}
}

// noteRouting records where the calls of a number are routed. The row does not say so after a repair whose answer
// was lost, and then it would count as somebody else's choice once the settings change.
func (r *reconciliation) noteRouting(ctx context.Context, row store.Number, leads string) (store.Number, error) {
	if row.Leads == leads || r.repair == RepairNothing {
		return row, nil
	}
	row.Leads = leads
	now, _, err := r.write(ctx, row)
	return now, err
}

// addUnknown adds a number that is in the account but not in the connection's table. It reports whether the
// number belongs to the connection and is in use. A number of another connection is left to that connection.
func (r *reconciliation) addUnknown(ctx context.Context, n telephony.Number) (store.Number, bool, error) {
	holder, held, err := r.opts.Store.NumberHolder(ctx, r.client.realm, n.E164)
	if err != nil {
		return store.Number{}, false, err
	}
	if held && (holder.ConnectionID != r.client.connection.ID || !holder.ReleaseAt.IsZero()) {
		return store.Number{}, false, nil
	}
	row := r.client.newRow(n)
	const what = "The account holds a number that the gateway does not know."
	switch {
	case held: // added since the table was read, or now under another reference
	case r.settings.Held == adapter.HeldOwn:
		r.report(row, DriftUnknown, false, what,
			"The connection holds only its own numbers: add it with frontdesk number adopt, or leave it.")
		return row, false, nil
	case r.repair == RepairNothing:
		r.report(row, DriftUnknown, false, what, "The next list of the numbers adds it.")
		return row, false, nil
	}
	kept, err := r.client.adopt(ctx, row)
	if err != nil {
		if fault.From(err).Code == fault.Conflict { // held by another connection, or on order
			return row, false, nil
		}
		return row, false, err
	}
	if !held {
		r.report(kept, DriftUnknown, true, what, "")
	}
	return kept, true, nil
}

// newRow returns the row of a number that was found in the account.
func (c telephonyClient) newRow(n telephony.Number) store.Number {
	return store.Number{
		TenantID: c.connection.TenantID, ConnectionID: c.connection.ID, Realm: c.realm,
		Ref: n.Ref, E164: n.E164, Name: displayName(n.Name, n.E164), CreatedAt: c.opts.Now(),
	}
}

// adopt claims a number that was found in the account and gives it an id. The list in which it was found may
// be out of date. So adopt reads the number itself first if it was given back here before, and also if it is
// held under another reference.
func (c telephonyClient) adopt(ctx context.Context, found store.Number) (store.Number, error) {
	rows, err := c.opts.auditNumber(ctx, actionAdopt, found)
	if err != nil {
		return store.Number{}, err
	}
	kept, returned, err := c.opts.Store.AddNumber(ctx, found, 0, rows...)
	for err == nil && kept.ID == 0 { // each time, it has been given back once more
		if _, err = c.readNumber(ctx, found.Ref); err != nil {
			if fault.From(err).Code == fault.NotFound {
				err = notInAccount(found)
			}
			return kept, err
		}
		kept, returned, err = c.opts.Store.AddNumber(ctx, found, returned, rows...)
	}
	if err != nil || kept.Ref == found.Ref {
		return kept, err
	}
	if _, err := c.readNumber(ctx, kept.Ref); err == nil || fault.From(err).Code != fault.NotFound {
		return kept, err // the list is out of date
	}
	_, err = c.readNumber(ctx, found.Ref)
	switch {
	case err == nil:
		return c.opts.Store.ChangeRef(ctx, kept, found.Ref)
	case fault.From(err).Code != fault.NotFound:
		return kept, err
	}
	err = c.opts.loseNumber(ctx, kept)
	if err == nil || fault.From(err).Code == fault.NotFound {
		err = notInAccount(found)
	}
	return kept, err
}

// notInAccount is the error for a number that only an outdated list of the account still shows.
func notInAccount(n store.Number) error {
	return fault.Newf(fault.Conflict, fault.ReasonNumberTaken, "The account no longer has %s.", n.E164)
}

// Adopt adds a number of the account to the table, for connections that hold only their own numbers.
func (s *Numbers) Adopt(ctx context.Context, c apikey.Caller, e164 string) (store.Number, error) {
	number, err := phonenumber.Parse(e164)
	if err != nil {
		return store.Number{}, fault.InvalidField("e164",
			"must be a number with its country code, such as +14155550123.")
	}
	client, err := s.open(ctx, c)
	if err != nil {
		return store.Number{}, err
	}
	held, err := client.readAccount(ctx)
	if err != nil {
		return store.Number{}, err
	}
	for _, n := range held {
		if n.E164 == number.E164 {
			return client.adopt(ctx, client.newRow(n))
		}
	}
	return store.Number{}, fault.Newf(fault.NotFound, fault.ReasonNumberNotFound,
		"The account does not hold %s.", number.E164)
}
