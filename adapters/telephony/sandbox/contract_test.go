package sandbox

import (
	"context"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/telephony"
	"frontdesk/core/telephony/telephonytest"
)

func TestContract(t *testing.T) {
	for name, settings := range map[string]map[string]any{
		"orders at once":     {},
		"orders take a time": {"order_time": "1h"},
	} {
		t.Run(name, func(t *testing.T) {
			telephonytest.Run(t, func(t *testing.T) telephonytest.Harness {
				a := newAccount(t, settings)
				return telephonytest.Harness{
					Open: a.open, AreaCode: "415", Empty: "212", Trunk: "TK1",
					Account:  telephony.Account{Name: "Sandbox account", Ref: "ACcon_1"},
					Provider: a,
				}
			})
		})
	}
}

// account is a sandbox account and, for the contract's checks, its provider's side.
type account struct {
	*adaptertest.Line
	open func() telephony.Driver
}

var (
	_ telephonytest.Spender = account{}
	_ telephonytest.Rival   = account{}
	_ telephonytest.Mover   = account{}
)

func newAccount(t *testing.T, settings map[string]any) account {
	t.Helper()
	line := adaptertest.NewLine(adaptertest.Storage())
	return account{Line: line, open: func() telephony.Driver {
		env := adapter.Environment{ConnectionID: "con_1", Storage: line, Now: time.Now, Zone: "UTC"}
		d, err := Adapter().OpenTelephony(t.Context(), adapter.Values{Settings: settings}, env)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}}
}

// Purchases counts what was paid for.
func (a account) Purchases(ctx context.Context) (n int, err error) {
	err = a.Storage.View(ctx, func(tx adapter.StorageTx) error {
		n, err = purchases(tx)
		return err
	})
	return n, err
}

// Snatch answers the number that somebody else always buys first.
func (account) Snatch(context.Context) (string, error) { return "+12135550100", nil }

// Arrive puts a number into the account.
func (a account) Arrive(ctx context.Context, e164 string) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		return keep(tx, document{Ref: "PN" + digest(e164), E164: e164, Name: "Ported", BoughtAt: time.Now()})
	})
}

// Vanish takes a number out of the account.
func (a account) Vanish(ctx context.Context, e164 string) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		doc, _, err := byE164(tx, e164)
		if err != nil {
			return err
		}
		return release(tx, doc.Ref)
	})
}
