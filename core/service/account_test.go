package service

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// reconnected returns the caller after its telephony connection was changed.
func (w *world) reconnected(c apikey.Caller) apikey.Caller {
	w.tb.Helper()
	c.Connections = maps.Clone(c.Connections)
	phones := c.Connections[adapter.KindTelephony]
	phones.Revision++
	c.Connections[adapter.KindTelephony] = phones
	return w.with(c)
}

func TestNumbersAreKeptWhenCredentialsAreChangedToThoseOfAnotherAccount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ours := w.phones
	ours.ref = "AC1"
	mine := buyOne(t, p, c, BuyNumber{Name: "Front", Inbound: employeeID(7)})
	found := append(ours.numbers(), telephony.Number{Ref: "PNtwo", E164: "+12125550101"})
	ours.held = found
	first := listed(t, p, c)

	other := newPhoneAccount()
	other.ref, other.held = "AC2", []telephony.Number{{Ref: "PNother", E164: "+13035550100"}}
	w.phones, c = other, w.reconnected(c)
	name := "Night"
	for operation, call := range map[string]func() error{
		"list":   func() error { _, err := p.Numbers.List(background, c); return err },
		"repair": func() error { _, err := p.Numbers.Reconcile(background, c, RepairAll); return err },
		"change": func() error {
			_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
			return err
		},
		"release": func() error { _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); return err },
		"buy":     func() error { _, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"}); return err },
		"adopt":   func() error { _, err := p.Numbers.Adopt(background, c, "+13035550100"); return err },
	} {
		t.Log(operation)
		wantReason(t, call(), fault.Unsupported, fault.ReasonProviderMisconfigured)
	}
	if got, err := p.Numbers.Get(background, c, mine.ID); err != nil || !reflect.DeepEqual(got, mine) {
		t.Errorf("the number is %+v, %v", got, err)
	}
	if other.bought != 0 {
		t.Error("a number was bought in the other account")
	}

	w.phones, c = ours, w.reconnected(c)
	if again := listed(t, p, c); !reflect.DeepEqual(again, first) {
		t.Errorf("after the credentials were put right: %+v, want %+v", again, first)
	}
}

func TestNumbersThatWereMovedToAnotherAccountAreTheSame(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ref = "AC1"
	w.phones.held = []telephony.Number{{Ref: "PN1", E164: "+12125550101"}, {Ref: "PN2", E164: "+12125550102"}}
	first := listed(t, p, c)
	sub := newPhoneAccount()
	sub.ref, sub.held = "AC2", w.phones.held[:1]
	w.phones, c = sub, w.reconnected(c)
	_, err := p.Numbers.List(background, c)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	sub.held = sub.held[:2]
	sub.held[1].Ref = "PN3"
	if again := listed(t, p, c); !reflect.DeepEqual(again, first) {
		t.Errorf("got %+v, want %+v", again, first)
	}
	sub.held = nil // from now on this is the account
	if again := listed(t, p, c); len(again) != 0 {
		t.Errorf("got %+v", again)
	}
}

func TestAnAccountIsAskedForOnceARevision(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ref = "AC1"
	listed(t, p, c)
	listed(t, p, c)
	listed(t, w.start(), c)
	if n := w.phones.called("account"); n != 1 {
		t.Errorf("the account was asked for %d times", n)
	}
	c = w.reconnected(c)
	listed(t, p, c)
	listed(t, w.start(), c)
	if n := w.phones.called("account"); n != 2 {
		t.Errorf("after a change, the account was asked for %d times", n)
	}
}

// A number that waits to go back is not taken for returned because the other account does not have it.
func TestAParkedNumberWaitsForItsAccount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ours := w.phones
	ours.ref = "AC1"
	phones := c.Connections[adapter.KindTelephony]
	phones.Settings = map[string]any{"release_delay": "1h"}
	c.Connections[adapter.KindTelephony] = phones
	mine := buyOne(t, p, c, BuyNumber{})
	if _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); err != nil {
		t.Fatal(err)
	}
	other := newPhoneAccount()
	other.ref = "AC2"
	w.phones, c = other, w.reconnected(c)
	w.clock.advance(2 * time.Hour)
	_ = p.Numbers.returnDue(context.Background())
	if held, err := p.Numbers.Held(background, c.Tenant.ID); err != nil || len(held) != 1 {
		t.Fatalf("the tenant holds %+v, %v", held, err)
	}
	w.phones = ours
	w.reconnected(c)
	if err := p.Numbers.returnDue(context.Background()); err != nil || ours.released != 1 {
		t.Errorf("%d numbers were given back, %v", ours.released, err)
	}
}

// TestNumbersAreKeptWhileTheOtherAccountIsSuspended: whose account it is will be told, and it is asked for again.
func TestNumbersAreKeptWhileTheOtherAccountIsSuspended(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ref = "AC1"
	buyOne(t, p, c, BuyNumber{})
	other := newPhoneAccount()
	other.ref = "AC2"
	w.phones, c = other, w.reconnected(c)
	other.script(func(*process, string) reaction {
		return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonAccountSuspended, "It is not active."))}
	})
	_, err := p.Numbers.List(background, c)
	wantReason(t, err, fault.Forbidden, fault.ReasonAccountSuspended)
	other.script(nil)
	_, err = p.Numbers.List(background, c)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
}

// TestNumbersAreKeptWhereAnotherAccountDoesNotTellWhoseItIs: a key may do all but tell. One of the numbers' own account
// works, and the next account that tells is compared with the one before.
func TestNumbersAreKeptWhereAnotherAccountDoesNotTellWhoseItIs(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	silent := func(_ *process, call string) reaction {
		if call == "account" {
			return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "It may not."))}
		}
		return reaction{}
	}
	ours, other := w.phones, newPhoneAccount()
	ours.ref, other.ref = "AC1", "AC2"
	gone := buyOne(t, p, c, BuyNumber{})
	kept := buyOne(t, p, c, BuyNumber{})
	other.script(silent)
	w.phones, c = other, w.reconnected(c)
	_, err := p.Numbers.List(background, c)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	ours.script(silent)
	ours.held = slices.DeleteFunc(ours.held, func(n telephony.Number) bool { return n.E164 == gone.E164 })
	w.phones, c = ours, w.reconnected(c)
	if list := listed(t, p, c); len(list) != 1 || list[0].ID != kept.ID {
		t.Errorf("with another key of the account: %+v, want %+v", list, kept)
	}
	other.script(nil)
	w.phones, c = other, w.reconnected(c)
	_, err = p.Numbers.List(background, c)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	ours.held = nil // which cannot be told from another account
	w.phones, c = ours, w.reconnected(c)
	if _, err = p.Numbers.List(background, c); !strings.Contains(fault.From(err).Detail, "remove the connection") {
		t.Errorf("when the last number was given back at the provider: %v", err)
	}
}

// TestNumbersAreKeptWhereTheirAccountNeverToldWhoseItIs, and the next one tells that it is another.
func TestNumbersAreKeptWhereTheirAccountNeverToldWhoseItIs(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ours, other := w.phones, newPhoneAccount()
	ours.ref, other.ref = "AC1", "AC2"
	ours.script(func(_ *process, call string) reaction {
		if call == "account" {
			return reaction{before: fails(fault.New(fault.Forbidden, fault.ReasonPermissionDenied, "It may not."))}
		}
		return reaction{}
	})
	kept := buyOne(t, p, c, BuyNumber{})
	w.phones, c = other, w.reconnected(c)
	_, err := p.Numbers.List(background, c)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	ours.script(nil)
	w.phones, c = ours, w.reconnected(c)
	if list := listed(t, p, c); len(list) != 1 || list[0].ID != kept.ID {
		t.Errorf("with a key of the account that tells: %+v, want %+v", list, kept)
	}
}

// TestNothingIsDoneWhereTheAccountCannotBeRead: a write that was not made is no unknown outcome, and no number is taken
// for returned.
func TestNothingIsDoneWhereTheAccountCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.ref = "AC1"
	mine := buyOne(t, p, c, BuyNumber{})
	c = w.reconnected(c)
	for _, refused := range []*fault.Error{
		fault.New(fault.Unavailable, fault.ReasonProviderUnavailable, "The connection broke."),
		fault.New(fault.NotFound, fault.ReasonNotFound, "There is no such record."),
	} {
		w.phones.script(func(_ *process, call string) reaction {
			if call == "account" {
				return reaction{before: fails(refused)}
			}
			return reaction{}
		})
		name := "Night"
		for operation, call := range map[string]func() error{
			"change": func() error {
				_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
				return err
			},
			"release": func() error { _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); return err },
		} {
			want := refused.Code
			if want == fault.NotFound {
				want = fault.Unsupported
			}
			if f := fault.From(call()); f == nil || f.Code != want || f.Metadata["outcome"] != "" {
				t.Errorf("%s, %s: got %v", refused.Reason, operation, f)
			}
		}
	}
	w.phones.script(nil)
	if list := listed(t, p, c); len(list) != 1 || w.phones.released != 0 {
		t.Errorf("the list is %+v; %d were given back", list, w.phones.released)
	}
}

// TestAnOrderIsNotLookedForInAnotherAccount: it would seem lost there, and another number be bought.
func TestAnOrderIsNotLookedForInAnotherAccount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	ours := w.phones
	ours.ref = "AC1"
	ours.ordersTake(2)
	p.Numbers.firstPoll = time.Hour // later than the deadline
	in := BuyNumber{AreaCode: "415"}
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), in)
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
	p.Numbers.firstPoll = time.Millisecond
	other := newPhoneAccount()
	other.ref = "AC2"
	w.phones, c = other, w.reconnected(c)
	for range 3 {
		w.clock.advance(time.Minute)
		p.recover(t)
	}
	_, err = p.Numbers.Buy(asKey(c), c, key("k"), in)
	wantReason(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	w.phones, c = ours, w.reconnected(c)
	for range 3 {
		w.clock.advance(time.Minute)
		p.recover(t)
	}
	answer, err := p.Numbers.Buy(asKey(c), c, key("k"), in)
	if err != nil || answer.Record.E164 != "+14155550000" || ours.bought != 1 || other.bought != 0 {
		t.Errorf("got %+v, %v; %d and %d are bought", answer.Record, err, ours.bought, other.bought)
	}
}
