package service

import (
	"context"
	"crypto/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/store"
	"frontdesk/core/telephony"
)

func TestANumberThatIsBlockedIsNotReleased(t *testing.T) {
	t.Parallel()
	for block, reason := range map[telephony.Block]string{
		telephony.BlockEmergency: fault.ReasonEmergencyAddress, telephony.BlockLock: fault.ReasonNumberLocked,
	} {
		for _, delay := range []string{"0s", "72h"} {
			w, p, c := sqliteWorld(t)
			c = w.telephonySettings(c, map[string]any{"release_delay": delay})
			mine := buyOne(t, p, c, BuyNumber{})
			w.phones.held[0].Block = block
			_, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
			wantReason(t, err, fault.Conflict, reason)
			if got := listed(t, p, c); len(got) != 1 || got[0] != mine || w.phones.released != 0 {
				t.Errorf("after the refusal there are %+v", got)
			}
		}
	}
}

func TestADelayedReleaseWaitsOutOfUse(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	mine := buyOne(t, p, c, BuyNumber{Name: "Front", Inbound: employeeID(7)})
	if _, err := p.Numbers.Release(asKey(c), c, key("k"), mine.ID); err != nil {
		t.Fatal(err)
	}
	if there := w.phones.numbers(); len(there) != 1 || there[0].Routing != (telephony.Routing{}) {
		t.Fatalf("at the provider: %+v", there)
	}
	if got := listed(t, p, c); len(got) != 0 {
		t.Errorf("listed are %+v", got)
	}
	_, err := p.Numbers.Get(background, c, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	_, err = p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)

	w.clock.advance(71 * time.Hour)
	w.check(p.Numbers.returnDue(background))
	back, err := p.Numbers.Restore(background, c.Tenant.ID, mine.ID)
	if err != nil || back.ID != mine.ID || back.Name != "Front" || back.InboundCloudEmployeeID == nil ||
		*back.InboundCloudEmployeeID != 7 {
		t.Fatalf("restored is %+v, %v", back, err)
	}
	if there := w.phones.numbers()[0]; there.Routing.VoiceURL != "https://voice.example.com/7" {
		t.Errorf("its calls go to %+v", there.Routing)
	}

	if _, err := p.Numbers.Release(asKey(c), c, key("again"), mine.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(72 * time.Hour)
	w.phones.once("release", reaction{before: fails(answers503())})
	w.check(p.Numbers.returnDue(background)) // fails, and is tried again
	_, err = p.Numbers.Restore(background, c.Tenant.ID, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	w.check(p.Numbers.returnDue(background))
	if there := w.phones.numbers(); len(there) != 0 || w.phones.released != 1 {
		t.Errorf("at the provider: %+v, %d released", there, w.phones.released)
	}
	if left, err := w.store.ParkedNumbers(background, c.Tenant.ID); err != nil || len(left) != 0 {
		t.Errorf("still waiting: %+v, %v", left, err)
	}
}

func TestANumberThatIsGoneAtTheProviderIsNotRestored(t *testing.T) {
	t.Parallel()
	for _, employee := range []*int64{nil, employeeID(7)} {
		w, p, c := sqliteWorld(t)
		c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
		w.phones.template = "https://voice.example.com/{cloud_employee_id}"
		mine := buyOne(t, p, c, BuyNumber{Inbound: employee})
		_, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
		w.check(err)
		w.phones.held = nil
		for _, detail := range []string{"no longer has it", "waiting to be given back"} {
			_, err = p.Numbers.Restore(background, c.Tenant.ID, mine.ID)
			wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
			if f := fault.From(err); !strings.Contains(f.Detail, detail) {
				t.Errorf("it says %q, want %q", f.Detail, detail)
			}
		}
		if left, err := p.Numbers.Held(background, c.Tenant.ID); err != nil || len(left) != 0 {
			t.Errorf("still held: %+v, %v", left, err)
		}
	}
}

// Nobody gives a number back whose connection is removed before the number begins to wait.
func TestADelayedReleaseFailsIfItsConnectionIsRemoved(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.once("number", reaction{before: func(context.Context) error {
		w.check(w.store.DeleteConnection(background, c.Tenant.ID, c.Connections[adapter.KindTelephony].ID))
		return nil
	}})
	_, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

func TestNoTenantRestoresAnothersNumber(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
	mine := buyOne(t, p, c, BuyNumber{})
	if _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); err != nil {
		t.Fatal(err)
	}
	_, err := p.Numbers.Restore(background, w.tenant("bolt").Tenant.ID, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

// Recovery finishes a release that was cut off. A number that was restored before would be released again.
func TestANumberIsNotRestoredBeforeItsReleaseIsFinished(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"release_delay": "72h"})
	mine := buyOne(t, p, c, BuyNumber{})
	trap := w.startWithTrap()
	trap.arm(2, true, true)
	_, _ = trap.process.Numbers.Release(asKey(c), c, key("k"), mine.ID)
	if trap.died != "after the write of numbers" {
		t.Fatalf("it died %s", trap.died)
	}
	w.bury(trap)
	_, err := p.Numbers.Restore(background, c.Tenant.ID, mine.ID)
	wantReason(t, err, fault.Conflict, fault.ReasonChangedMeanwhile)
	w.clock.advance(30 * time.Second)
	p.recover(t)
	if _, err := p.Numbers.Restore(background, c.Tenant.ID, mine.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.advance(time.Hour)
	p.recover(t)
	if got := listed(t, p, c); len(got) != 1 || got[0] != mine {
		t.Errorf("after it was restored there are %+v", got)
	}
}

func TestDriftIsReportedAndRepairedWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	const template = "https://voice.example.com/{cloud_employee_id}"
	to := func(url string) telephony.Routing { return telephony.Routing{VoiceURL: url} }
	for name, test := range map[string]struct {
		change  func(a *phoneAccount)
		own     bool
		report  string // RepairNothing
		safe    string // RepairSafe
		all     string // RepairAll, after RepairSafe
		routing telephony.Routing
		numbers int
	}{
		"nothing differs": {change: func(*phoneAccount) {}, report: "null", safe: "null", all: "null",
			routing: to("https://voice.example.com/7"), numbers: 1},
		"calls lead nowhere": {
			change: func(a *phoneAccount) { a.held[0].Routing = telephony.Routing{} },
			report: `["+14155550000 misrouted repaired=false"]`, safe: `["+14155550000 misrouted repaired=true"]`,
			all:     "null",
			routing: to("https://voice.example.com/7"), numbers: 1,
		},
		"the settings changed": {
			change: func(a *phoneAccount) { a.template = "https://new.example.com/{cloud_employee_id}" },
			report: `["+14155550000 misrouted repaired=false"]`, safe: `["+14155550000 misrouted repaired=true"]`,
			all:     "null",
			routing: to("https://new.example.com/7"), numbers: 1,
		},
		"someone pointed the calls elsewhere": {
			change: func(a *phoneAccount) { a.held[0].Routing = to("https://person.example.com/") },
			report: `["+14155550000 misrouted repaired=false"]`, safe: `["+14155550000 misrouted repaired=false"]`,
			all:     `["+14155550000 misrouted repaired=true"]`,
			routing: to("https://voice.example.com/7"), numbers: 1,
		},
		"another name": {
			change: func(a *phoneAccount) { a.held[0].Name = "Other" },
			report: `["+14155550000 renamed repaired=false"]`, safe: `["+14155550000 renamed repaired=true"]`,
			all:     "null",
			routing: to("https://voice.example.com/7"), numbers: 1,
		},
		"it is gone": {
			change: func(a *phoneAccount) { a.held = nil },
			report: `["+14155550000 gone repaired=false"]`, safe: `["+14155550000 gone repaired=true"]`, all: "null",
		},
		"another number is there": {
			change: func(a *phoneAccount) {
				a.held = append(a.held, telephony.Number{Ref: "PNx", E164: "+14155559999", Name: "New"})
			},
			report: `["+14155559999 unknown repaired=false"]`, safe: `["+14155559999 unknown repaired=true"]`,
			all:     "null",
			routing: to("https://voice.example.com/7"), numbers: 2,
		},
		"another number is there, and only its own are the connection's": {
			own: true,
			change: func(a *phoneAccount) {
				a.held = append(a.held, telephony.Number{Ref: "PNx", E164: "+14155559999", Name: "New"})
			},
			report: `["+14155559999 unknown repaired=false"]`, safe: `["+14155559999 unknown repaired=false"]`,
			all:     `["+14155559999 unknown repaired=false"]`,
			routing: to("https://voice.example.com/7"), numbers: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, c := sqliteWorld(t)
			w.phones.template = template
			if test.own {
				c = w.telephonySettings(c, map[string]any{"numbers": "own"})
			}
			buyOne(t, p, c, BuyNumber{Name: "Front", Inbound: employeeID(7)})
			test.change(w.phones)
			for _, pass := range []struct {
				how  Repair
				want string
			}{
				{RepairNothing, test.report}, {RepairNothing, test.report}, {RepairSafe, test.safe},
				{RepairAll, test.all},
			} {
				found, err := p.Numbers.Reconcile(background, c, pass.how)
				w.check(err)
				if got := describe(t, found); got != pass.want {
					t.Fatalf("repairing %v found %s, want %s", pass.how, got, pass.want)
				}
			}
			if there := w.phones.numbers(); len(there) > 0 && there[0].Routing != test.routing {
				t.Errorf("calls go to %+v", there[0].Routing)
			}
			if got := listed(t, p, c); len(got) != test.numbers {
				t.Errorf("listed are %+v", got)
			}
		})
	}
}

// tellsNumbers makes a webhook of the operator, and returns a function that returns the types of the events that
// a process tells it.
func (w *world) tellsNumbers(p *process) (told func() []string) {
	w.check(w.store.CreateWebhook(background, store.Webhook{
		ID: "hook", URL: "https://example.com/", Sealed: []byte("sealed"), CreatedAt: w.clock.now(),
	}, 9))
	p.store.PublishWith(store.Publisher{
		Now: w.clock.now, NewID: rand.Text,
		Payload: func(e store.Event) ([]byte, error) { return []byte(e.Type), nil },
	})
	return func() (types []string) {
		deliveries, err := w.store.Deliveries(background, "hook", 10)
		w.check(err)
		for _, d := range deliveries {
			types = append(types, d.Type)
		}
		return types
	}
}

// TestAListThatIsBehindChangesNothing releases a number of an account, and buys it again, while the account
// is read.
func TestAListThatIsBehindChangesNothing(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"released": false, "released and bought again": true} {
		for _, lister := range []string{"acme", "bolt"} {
			t.Run(name+", listed by "+lister, func(t *testing.T) {
				w, p, c := sqliteWorld(t)
				callers := map[string]apikey.Caller{"acme": c, "bolt": w.tenant("bolt")}
				told := w.tellsNumbers(p)
				first := buyOne(t, p, c, BuyNumber{Name: "Front"})
				var second record.PhoneNumber
				w.phones.once("numbers", reaction{after: func(context.Context) error {
					if _, err := p.Numbers.Release(asKey(c), c, Write{}, first.ID); err != nil || !again {
						return err
					}
					w.phones.stock = []string{first.E164}
					answer, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415", Name: "Back"})
					second = answer.Record
					return err
				}})
				if seen := listed(t, p, callers[lister]); lister == "bolt" && len(seen) != 0 {
					t.Errorf("bolt is shown %+v", seen)
				}
				if got := listed(t, p, callers["bolt"]); len(got) != 0 {
					t.Errorf("bolt has %+v", got)
				}
				got := listed(t, p, c)
				switch {
				case again && (len(got) != 1 || got[0] != second):
					t.Errorf("acme has %+v, want %+v", got, second)
				case !again && len(got) != 0:
					t.Errorf("acme has %+v", got)
				}
				taken, err := w.store.TakenNumbers(background, "", "+1")
				w.check(err)
				if (len(taken) > 0) != again {
					t.Errorf("claimed are %q", taken)
				}
				if types := told(); len(types) > 0 {
					t.Errorf("of a number that neither came nor went, webhooks are told %s", types)
				}
			})
		}
	}
}

func TestAdoptTakesInWhatTheAccountHolds(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.telephonySettings(c, map[string]any{"numbers": "own"})
	w.phones.held = append(w.phones.held, telephony.Number{Ref: "PNx", E164: "+14155559999", Name: "New"})
	for _, none := range []string{"", "null", "415 555 9999"} { // which country's?
		_, err := p.Numbers.Adopt(background, c, none)
		wantReason(t, err, fault.Invalid, fault.ReasonInvalidRequest)
	}
	_, err := p.Numbers.Adopt(background, c, "+14155550000")
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	row, err := p.Numbers.Adopt(background, c, "+1 415-555-9999")
	w.check(err)
	if got := listed(t, p, c); len(got) != 1 || got[0].ID != row.ID || got[0].Name != "New" {
		t.Errorf("listed are %+v", got)
	}
	bolt := w.telephonySettings(w.tenant("bolt"), map[string]any{"numbers": "own"})
	_, err = p.Numbers.Adopt(background, bolt, "+14155559999")
	wantReason(t, err, fault.Conflict, fault.ReasonNumberTaken)
}

func TestAnOvertakenChangeThatComesLateIsPutRight(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	older, newer := "Older", "Newer"
	w.phones.times(9, "change", reaction{before: fails(cutOff())})
	_, err := p.Numbers.Update(asKey(c), c, key("old"), UpdateNumber{ID: mine.ID, Name: &older})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.heal()
	w.clock.advance(time.Second)
	_, err = p.Numbers.Update(asKey(c), c, key("new"), UpdateNumber{ID: mine.ID, Name: &newer})
	w.check(err)
	w.phones.held[0].Name = older // the older change reaches the provider after all
	w.clock.advance(time.Minute)
	p.recover(t)
	if w.unsettled() != 0 || w.phones.numbers()[0].Name != newer {
		t.Errorf("%d are not settled; the provider has %+v", w.unsettled(), w.phones.numbers())
	}
	if got := listed(t, p, c); got[0].Name != newer {
		t.Errorf("listed is %+v", got)
	}
}

// TestAChangeInDoubtDoesNotUndoOneThatWasAnsweredSince checks that an answered change stays, whichever of the
// two changes was requested first.
func TestAChangeInDoubtDoesNotUndoOneThatWasAnsweredSince(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	first, second := "First", "Second"
	w.phones.times(9, "change", reaction{before: fails(cutOff())})
	_, err := p.Numbers.Update(asKey(c), c, key("first"), UpdateNumber{ID: mine.ID, Name: &first})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.clock.advance(time.Second)
	w.phones.times(9, "change", reaction{after: fails(cutOff())})
	_, err = p.Numbers.Update(asKey(c), c, key("second"), UpdateNumber{ID: mine.ID, Name: &second})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.heal()
	w.clock.advance(time.Second)
	_, err = p.Numbers.Update(asKey(c), c, key("first"), UpdateNumber{ID: mine.ID, Name: &first})
	w.check(err)
	w.clock.advance(time.Minute)
	p.recover(t)
	if w.unsettled() != 0 || w.phones.numbers()[0].Name != first {
		t.Errorf("%d are not settled; the provider has %+v", w.unsettled(), w.phones.numbers())
	}
	if got := listed(t, p, c); got[0].Name != first {
		t.Errorf("listed is %+v", got)
	}
}

// TestANameIsGivenAlsoWhereTheTableHasItAlready changes the name at the provider, as an interrupted change
// may.
func TestANameIsGivenAlsoWhereTheTableHasItAlready(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	name := "Front"
	mine := buyOne(t, p, c, BuyNumber{Name: name})
	w.phones.held[0].Name = "Other"
	_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
	w.check(err)
	if got := w.phones.numbers()[0].Name; got != name {
		t.Errorf("the provider calls it %q", got)
	}
}

func TestAccountsAreNotReadForWhatIsFoundByNumber(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.traits.IdempotentBuy = false
	w.phones.times(1, "buy", reaction{after: fails(cutOff())})
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	if err != nil || answer.Record.E164 != "+14155550000" || w.phones.bought != 1 ||
		w.phones.called("numbers") != 0 {
		t.Errorf("got %+v, %v; %d bought; the account was read %d times", answer.Record, err, w.phones.bought,
			w.phones.called("numbers"))
	}
}

// A list is answered in time, however many numbers are gone at the provider or have to be routed.
func TestAListLeavesToTheNextWhatWouldTakeTooLong(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	for range 3 {
		buyOne(t, p, c, BuyNumber{Inbound: employeeID(7)})
	}
	w.phones.template = "https://new.example.com/{cloud_employee_id}"
	w.phones.held = w.phones.held[:2] // one is gone, and two have to be routed
	calls := func() int { return w.phones.called("number") + w.phones.called("change") }
	before := calls()
	inTime, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	p.Numbers.kept = 1
	answer, err := p.Numbers.List(inTime, c)
	if err != nil || len(answer.PhoneNumbers) != 3 || calls() != before {
		t.Errorf("in a hurry: %+v, %v, %d calls", answer, err, calls()-before)
	}
	p.Numbers.kept = 3
	answer, err = p.Numbers.List(inTime, c)
	if err != nil || len(answer.PhoneNumbers) != 2 || calls() != before+3 {
		t.Errorf("with more time: %+v, %v, %d calls", answer, err, calls()-before)
	}
}

func TestANumberUnderTwoReferencesIsListedOnce(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.held = append(w.phones.held, telephony.Number{Ref: "another", E164: mine.E164},
		telephony.Number{Ref: "one", E164: "+14155559998"}, telephony.Number{Ref: "two", E164: "+14155559998"})
	for range 2 {
		if got := listed(t, p, c); len(got) != 2 || got[0].ID != mine.ID || got[1].E164 != "+14155559998" {
			t.Errorf("listed are %+v", got)
		}
	}
}

// A port that has ended leaves the number under its new reference alone. It is the same number, with its employee.
func TestANumberThatIsLeftUnderAnotherReferenceIsTheSame(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	mine := buyOne(t, p, c, BuyNumber{Inbound: employeeID(7)})
	w.phones.held = []telephony.Number{{Ref: "another", E164: mine.E164}}
	told := w.tellsNumbers(p)
	for range 2 { // its calls are routed once it is known
		if got := listed(t, p, c); len(got) != 1 || !reflect.DeepEqual(got[0], mine) {
			t.Errorf("listed are %+v, want %+v", got, mine)
		}
	}
	if got := w.phones.numbers()[0].Routing.VoiceURL; got != "https://voice.example.com/7" || len(told()) > 0 {
		t.Errorf("calls go to %q; webhooks are told %q", got, told())
	}
}

// A repair whose answer was lost is no choice of somebody at the provider.
func TestCallsAreRoutedBackAfterARepairWithALostAnswer(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	buyOne(t, p, c, BuyNumber{Inbound: employeeID(7)})
	w.phones.template = "https://second.example.com/{cloud_employee_id}"
	w.phones.times(3, "change", reaction{after: fails(cutOff())})
	listed(t, p, c)
	w.phones.script(nil)
	listed(t, p, c)
	w.phones.template = "https://third.example.com/{cloud_employee_id}"
	found, err := p.Numbers.Reconcile(background, c, RepairSafe)
	w.check(err)
	if got := w.phones.numbers()[0].Routing.VoiceURL; got != "https://third.example.com/7" {
		t.Errorf("calls go to %q; found %s", got, describe(t, found))
	}
}
