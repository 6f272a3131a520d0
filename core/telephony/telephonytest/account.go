package telephonytest

import (
	"context"
	"fmt"

	"frontdesk/core/adapter/conformance"
	"frontdesk/core/telephony"
)

// accountChecks returns the clauses on Account.
func accountChecks() []Check {
	return []Check{
		{Name: "the account is the credentials' own", Harmless: true, Do: accountIsOurs},
		{Name: "the account is asked live", Harmless: true, Bound: provides[conformance.CallCounter],
			Do: accountIsLive},
	}
}

func accountIsOurs(ctx context.Context, h Harness) error {
	got, err := h.Open().Account(ctx)
	if err != nil {
		return err
	}
	if h.Account != (telephony.Account{}) && got != h.Account {
		return fmt.Errorf("the account is %+v, want %+v", got, h.Account)
	}
	if got.Ref == "" {
		return fmt.Errorf("the account is %+v, without the provider's id of it", got)
	}
	return nil
}

func accountIsLive(ctx context.Context, h Harness) error {
	d := h.Open()
	return conformance.AskedLive(h.Provider, "Account", func() error { _, err := d.Account(ctx); return err })
}
