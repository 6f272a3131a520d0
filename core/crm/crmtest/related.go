package crmtest

import (
	"context"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/crm"
)

// relatedChecks returns the checks of the records that a ticket refers to.
func relatedChecks() []Check {
	return []Check{
		{Name: "related records are kept", Bound: func(h Harness) bool { return h.Known != Related{} },
			Do: relatedAreKept},
		{Name: "an unknown owner is refused by name",
			Bound: func(h Harness) bool { return h.Unknown.OwnerID != "" }, Do: unknownOwner},
		{Name: "an unknown account is refused by name",
			Bound: func(h Harness) bool { return h.Unknown.AccountID != "" }, Do: unknownAccount},
		{Name: "an unknown contact is refused by name",
			Bound: func(h Harness) bool { return h.Unknown.ContactID != "" }, Do: unknownContact},
		{Name: "a refused ticket is not made",
			Bound: func(h Harness) bool { return h.Unknown != Related{} && provides[Counter](h) },
			Do:    refusedIsNotMade},
	}
}

func relatedAreKept(ctx context.Context, h Harness) error {
	t := newTicket("Related records")
	t.OwnerID, t.AccountID, t.ContactID = h.Known.OwnerID, h.Known.AccountID, h.Known.ContactID
	made, err := h.Open().Create(ctx, t)
	if err != nil {
		return err
	}
	for _, field := range []struct{ name, want, got string }{
		{"owner", h.Known.OwnerID, made.OwnerID}, {"account", h.Known.AccountID, made.AccountID},
		{"contact", h.Known.ContactID, made.ContactID},
	} {
		if field.want != "" && field.got != field.want {
			return fmt.Errorf("the %s is %q, want %q", field.name, field.got, field.want)
		}
	}
	return nil
}

func unknownOwner(ctx context.Context, h Harness) error {
	return unknown(ctx, h, Related{OwnerID: h.Unknown.OwnerID}, "owner_id")
}

func unknownAccount(ctx context.Context, h Harness) error {
	return unknown(ctx, h, Related{AccountID: h.Unknown.AccountID}, "account_id")
}

func unknownContact(ctx context.Context, h Harness) error {
	return unknown(ctx, h, Related{ContactID: h.Unknown.ContactID}, "contact_id")
}

func unknown(ctx context.Context, h Harness, r Related, path string) error {
	_, err := h.Open().Create(ctx, r.on(newTicket("A record that does not exist")))
	return conformance.WantInvalid("Create with an unknown "+path, err, path)
}

func refusedIsNotMade(ctx context.Context, h Harness) error {
	return wantMore(ctx, h, 0, func() error {
		if _, err := h.Open().Create(ctx, h.Unknown.on(newTicket("Never to be seen"))); err == nil {
			return fmt.Errorf("Create with unknown records succeeded")
		}
		return nil
	})
}

func (r Related) on(t crm.NewTicket) crm.NewTicket {
	t.OwnerID, t.AccountID, t.ContactID = r.OwnerID, r.AccountID, r.ContactID
	return t
}
