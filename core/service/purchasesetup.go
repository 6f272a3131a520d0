package service

import (
	"context"
	"encoding/json"

	"frontdesk/core/adapter"
	"frontdesk/core/fault"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

// refusal is why a number that was bought is given back, as stored in the table of purchases. The fault is
// called undo there since plans of intents used that name.
type refusal struct {
	Fault struct {
		Code   fault.Code `json:"code"`
		Reason string     `json:"reason"`
		Detail string     `json:"detail"`
	} `json:"undo"`
	Undetected bool `json:"unseen,omitempty"` // a check of the settings does not find the fault
}

func parseRefusal(raw json.RawMessage) (why refusal, refused bool) {
	return why, raw != nil && json.Unmarshal(raw, &why) == nil && why.Fault.Reason != ""
}

// checkSetup checks that the connection's settings work at the provider, before money is spent on a number
// that could not be set up. A successful check is cached for a while. If a number had to be given back since
// the settings were changed, they are checked every time. If no check finds the fault in them, nothing is
// ordered until the settings change, or until the purchase is purged with what answers are kept.
func (b *purchase) checkSetup(ctx context.Context) error {
	of := b.client.connection
	raw, err := b.opts.Store.RefusedSetup(ctx, of.TenantID, of.ID, of.Revision)
	if err != nil {
		return err
	}
	why, refused := parseRefusal(raw)
	switch {
	case refused && why.Undetected:
		return fault.Newf(fault.Unsupported, fault.ReasonProviderMisconfigured,
			"The last number bought could not be set up and was given back, so nothing is ordered until "+
				"the connection's settings change: %s", why.Fault.Detail)
	case refused:
		return b.verifySetup(ctx)
	}
	_, err = b.numbers.setups.get(of, func() (struct{}, error) { return struct{}{}, b.verifySetup(ctx) })
	return err
}

// verifySetup asks the provider whether the settings work, if the driver supports that.
func (b *purchase) verifySetup(ctx context.Context) error {
	checker, can := b.client.driver.(adapter.SetupChecker)
	if !can {
		return nil
	}
	_, err := ask(ctx, b.client.endpoint, read("check-setup"), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, checker.CheckSetup(ctx)
	})
	return err
}

// setUp sets the name and routing of a number that was bought, and assigns its id.
func (b *purchase) setUp(ctx context.Context, number telephony.Number) (store.Number, error) {
	b.run.ExpectEffect(true)
	switch b.row.State {
	case store.PurchaseReturning:
		return store.Number{}, b.returnNumber(ctx, number)
	case store.PurchaseChosen, store.PurchaseOrdered:
		if err := b.opts.Store.MarkFilled(context.WithoutCancel(ctx), b.row); err != nil {
			return store.Number{}, b.unfinishedFault("but that could not be recorded yet", err)
		}
		b.row.State = store.PurchaseFilled
	}
	want := b.orderRequest()
	change := telephony.Change{}
	if number.Name != want.Name {
		change.Name = &want.Name
	}
	if want.Routing != (telephony.Routing{}) && number.Routing != want.Routing {
		change.Routing = &want.Routing
	}
	if change != (telephony.Change{}) {
		if err := b.client.setNumber(ctx, number.Ref, change); err != nil {
			return store.Number{}, b.refuseSetup(ctx, number, change, err)
		}
	}
	held := store.Number{
		TenantID: b.row.TenantID, ConnectionID: b.row.ConnectionID, Ref: number.Ref, Name: want.Name,
		Inbound: b.plan.Inbound, Outbound: b.plan.Outbound, Leads: marshalRouting(want.Routing),
		CreatedAt: b.opts.Now(),
	}
	var rows []store.AuditRow
	if b.run.Intent().Key == "" { // otherwise, the purchase is audited when its intent ends
		var err error
		if rows, err = b.opts.auditNumber(ctx, actionAdopt, held); err != nil {
			return held, err
		}
	}
	row, err := b.opts.Store.AddPurchased(context.WithoutCancel(ctx), b.row, held, rows...)
	if err != nil {
		return row, b.unfinishedFault("but could not be recorded yet", err)
	}
	b.row.State = store.PurchaseDone
	return row, nil
}

// refuseSetup handles a number that was bought but could not be named and routed. If the provider rejected
// the change, the number is given back. Other failures are tried again later.
func (b *purchase) refuseSetup(
	ctx context.Context, number telephony.Number, change telephony.Change, err error,
) error {
	if !isRejection(err) {
		return b.unfinishedFault("but its name and routing could not be set yet", err)
	}
	f := fault.From(err)
	var why refusal
	why.Fault.Code, why.Fault.Reason, why.Fault.Detail = f.Code, f.Reason, f.Detail
	if len(f.Fields) > 0 { // the answer lists no fields: they would replace that a number was bought
		why.Fault.Detail = f.Fields[0].Path + " " + f.Fields[0].Text()
	}
	var revision int64 // of the connection; 0 if it is the caller's request that was refused
	if (change.Routing != nil || f.Code != fault.Invalid) && len(f.Fields) == 0 {
		revision = b.client.connection.Revision
	}
	// Nor does a check that could not be made find it.
	why.Undetected = revision != 0 && !isRejection(b.verifySetup(ctx))
	raw, err := json.Marshal(why)
	if err == nil {
		err = b.opts.Store.MarkReturning(context.WithoutCancel(ctx), b.row, raw, revision)
	}
	if err != nil {
		return b.unfinishedFault("but the provider refuses its name or routing, and that could not be recorded yet",
			err)
	}
	b.row.State, b.row.Refusal = store.PurchaseReturning, raw
	return b.returnNumber(ctx, number)
}

// isRejection reports whether the provider has rejected what it was asked.
func isRejection(err error) bool {
	if err == nil {
		return false
	}
	switch fault.From(err).Code {
	case fault.Invalid, fault.Unsupported, fault.Conflict, fault.Exhausted, fault.Forbidden:
		return true
	}
	return false
}

// returnNumber gives back a number that cannot be set up.
func (b *purchase) returnNumber(ctx context.Context, number telephony.Number) error {
	if err := b.client.releaseAtProvider(ctx, number.Ref); err != nil {
		why, _ := parseRefusal(b.row.Refusal)
		refused := "but the provider refuses its name or routing (" + why.Fault.Detail + ")"
		return b.unfinishedFault(refused+", and it could not be given back yet", err)
	}
	return b.recordReturn(ctx)
}
