package sandbox

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/telephony"
	"frontdesk/core/telephony/telephonytest"
)

func TestContract(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		leads    telephony.Routing
	}{
		"numbers lead nowhere": {},
		"orders take a time, and numbers lead to a webhook": {
			map[string]any{"order_time": orderTime.String(),
				"voice_url_template": "https://agents.example.com/{cloud_employee_id}?number={e164}"},
			telephony.Routing{VoiceURL: "https://agents.example.com/7?number=%2B14155550100"},
		},
		"numbers lead to an application": {
			map[string]any{"voice_application": "AP1",
				"voice_url_template": "https://agents.example.com/{cloud_employee_id}"},
			telephony.Routing{Application: "AP1"},
		},
		"numbers lead to a trunk": {
			map[string]any{"sip_trunk": "TK1", "voice_application": "AP1"},
			telephony.Routing{SIPTrunk: "TK1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			telephonytest.Run(t, func(t *testing.T) telephonytest.Harness {
				a := newAccount(t, c.settings)
				return telephonytest.Harness{
					Open: a.open, AreaCode: "415", Empty: "212", Leads: c.leads, Trunk: "TK1", Application: "AP1",
					Account:  telephony.Account{Name: "Sandbox account", Ref: "ACcon_1"},
					Now:      a.now,
					Provider: a,
				}
			})
		})
	}
}

// orderTime is longer than any test. Orders are filled when a test moves the clock.
const orderTime = 24 * time.Hour

// account is a sandbox account and, for the contract's checks, its provider's side.
type account struct {
	*adaptertest.GatedStorage
	open  func() telephony.Driver
	ahead *atomic.Int64 // how far its clock is ahead, in nanoseconds
}

var (
	_ telephonytest.Spender = account{}
	_ telephonytest.Rival   = account{}
	_ telephonytest.Mover   = account{}
	_ telephonytest.Filler  = account{}
	_ telephonytest.Blocker = account{}
)

func newAccount(t *testing.T, settings map[string]any) account {
	t.Helper()
	a := account{GatedStorage: adaptertest.NewGatedStorage(adaptertest.Storage()), ahead: new(atomic.Int64)}
	a.open = func() telephony.Driver {
		env := adapter.Environment{ConnectionID: "con_1", Storage: a.GatedStorage, Now: a.now, Zone: "UTC"}
		d, err := Adapter().OpenTelephony(t.Context(), adapter.Values{Settings: settings}, env)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return a
}

func (a account) now() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }

// Fill moves the clock until every order is filled.
func (a account) Fill(context.Context) error {
	a.ahead.Add(int64(orderTime))
	return nil
}

// Purchases returns how many numbers were paid for.
func (a account) Purchases(ctx context.Context) (n int, err error) {
	err = a.Storage.View(ctx, func(tx adapter.StorageTx) error {
		n, err = purchases(tx)
		return err
	})
	return n, err
}

// Snatch returns the number that somebody else always buys first.
func (account) Snatch(context.Context) (string, error) { return "+12135550100", nil }

// Arrive puts a number into the account.
func (a account) Arrive(ctx context.Context, e164 string) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		return keep(tx, document{Ref: "PN" + digest(e164), E164: e164, Name: "Ported"})
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

// Block stores why a number is not taken back.
func (a account) Block(ctx context.Context, e164 string, why telephony.Block) error {
	return a.Storage.Update(ctx, func(tx adapter.StorageTx) error {
		doc, _, err := byE164(tx, e164)
		if err != nil {
			return err
		}
		doc.Block = why
		return keep(tx, doc)
	})
}

// Unblock lets a number be taken back again.
func (a account) Unblock(ctx context.Context, e164 string) error {
	return a.Block(ctx, e164, telephony.BlockNone)
}
