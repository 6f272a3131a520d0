package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/apikey"
	"frontdesk/core/fault"
	"frontdesk/core/record"
	"frontdesk/core/telephony"
)

func employeeID(n int64) *int64 { return &n }

func buyOne(t *testing.T, p *process, c apikey.Caller, in BuyNumber) record.PhoneNumber {
	t.Helper()
	in.AreaCode = "415"
	answer, err := p.Numbers.Buy(asKey(c), c, Write{}, in)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Record
}

func listed(t *testing.T, p *process, c apikey.Caller) []record.PhoneNumber {
	t.Helper()
	answer, err := p.Numbers.List(background, c)
	if err != nil {
		t.Fatal(err)
	}
	return answer.PhoneNumbers
}

func TestListOfNumbersAgreesWithTheAccount(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.pageSize = 1
	mine := buyOne(t, p, c, BuyNumber{Name: "Front", Inbound: employeeID(7)})
	w.phones.held = append(w.phones.held,
		telephony.Number{Ref: "PNx", E164: "+12125550100", Name: "By other means"},
		telephony.Number{Ref: "PNnameless", E164: "+12125550101"},
		telephony.Number{Ref: "PNpending", E164: "+12125550102", Pending: true})
	first := listed(t, p, c)
	want := []record.PhoneNumber{
		mine,
		{Name: "+12125550101", E164: "+12125550101", AreaCode: "212"},
		{Name: "By other means", E164: "+12125550100", AreaCode: "212"},
	}
	for i := range want {
		if i > 0 && i < len(first) {
			want[i].ID = first[i].ID
		}
	}
	if len(first) != 3 || first[0].ID != mine.ID || first[1] != want[1] || first[2] != want[2] ||
		first[1].ID <= mine.ID || first[2].ID <= first[1].ID {
		t.Fatalf("got %+v, want %+v", first, want)
	}
	if again := listed(t, p, c); again[1].ID != first[1].ID || again[2].ID != first[2].ID {
		t.Errorf("the ids change: %+v", again)
	}
	w.phones.held[1].Name = "Renamed there"
	w.phones.held = slices.Delete(w.phones.held, 2, 3)
	second := listed(t, p, c)
	if len(second) != 2 || second[0].ID != mine.ID || *second[0].InboundCloudEmployeeID != 7 ||
		second[1].Name != "Renamed there" {
		t.Fatalf("got %+v", second)
	}
	_, err := p.Numbers.Get(background, c, first[1].ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

func TestListOfNumbersForgivesAProviderWhoseListLagsBehind(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.hidden = []string{w.phones.numbers()[0].Ref}
	if got := listed(t, p, c); len(got) != 1 || got[0].ID != mine.ID {
		t.Fatalf("got %+v", got)
	}
}

func TestListOfNumbersKeepsOneThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	other := buyOne(t, p, c, BuyNumber{})
	w.phones.hidden = []string{w.phones.numbers()[0].Ref}
	w.phones.script(func(_ *process, call string) reaction {
		if call == "number" {
			return reaction{before: fails(answers503())}
		}
		return reaction{}
	})
	if got := listed(t, p, c); len(got) != 2 || got[0] != mine || got[1] != other {
		t.Errorf("got %+v", got)
	}
}

func TestListOfNumbersFailsAsAWhole(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.pageSize = 1
	buyOne(t, p, c, BuyNumber{})
	buyOne(t, p, c, BuyNumber{})
	pages := 0
	w.phones.script(func(_ *process, call string) reaction {
		if call == "numbers" {
			if pages++; pages > 1 {
				return reaction{before: fails(answers503())}
			}
		}
		return reaction{}
	})
	_, err := p.Numbers.List(background, c)
	wantReason(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
	w.phones.script(nil)
	if got := listed(t, p, c); len(got) != 2 {
		t.Errorf("numbers were given up: %+v", got)
	}
}

func TestListOfNumbersKeepsAChangeMadeMeanwhile(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	w.phones.once("numbers", reaction{before: func(context.Context) error {
		name := "Night"
		_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
			ID: mine.ID, Name: &name, Inbound: EmployeeChange{Set: true, ID: employeeID(9)},
		})
		return err
	}})
	got := listed(t, p, c)[0]
	if got.Name != "Night" || got.InboundCloudEmployeeID == nil || *got.InboundCloudEmployeeID != 9 {
		t.Fatalf("got %+v", got)
	}
}

func TestNumbersOfOtherTenantsAreNotThere(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	other := w.tenant("other") // has credentials of the same account
	mine := buyOne(t, p, c, BuyNumber{})
	if got := listed(t, p, other); len(got) != 0 {
		t.Errorf("another tenant sees %+v", got)
	}
	_, err := p.Numbers.Get(background, other, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	name := "theirs"
	_, err = p.Numbers.Update(asKey(other), other, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	_, err = p.Numbers.Update(asKey(other), other, Write{}, UpdateNumber{ID: mine.ID})
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	_, err = p.Numbers.Release(asKey(other), other, Write{}, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	if len(w.phones.numbers()) != 1 {
		t.Error("it is released")
	}
}

func TestBuyTakesTheNextOfferWhenOneIsSnatched(t *testing.T) {
	t.Parallel()
	for snatches := range maxOrders + 1 {
		w, p, c := sqliteWorld(t)
		snatched := 0
		w.phones.script(func(_ *process, call string) reaction {
			if call != "buy" || snatched == snatches {
				return reaction{}
			}
			e164 := w.phones.stock[0]
			snatched++
			return reaction{before: func(context.Context) error { w.phones.snatch(e164); return nil }}
		})
		answer, err := p.Numbers.Buy(asKey(c), c, Write{}, BuyNumber{AreaCode: "415"})
		if snatches == maxOrders {
			wantReason(t, err, fault.Conflict, fault.ReasonNumberTaken)
			if f := fault.From(err); !strings.Contains(f.Detail, "3 orders") || f.RetryAfter != 0 ||
				w.phones.bought != 0 || w.phones.called("buy") != maxOrders {
				t.Errorf("after %d orders: %+v; %d bought", w.phones.called("buy"), f, w.phones.bought)
			}
			continue
		}
		w.check(err)
		if want := fmt.Sprintf("+1415555%04d", snatches); answer.Record.E164 != want || w.phones.bought != 1 {
			t.Errorf("got %s, want %s; %d bought", answer.Record.E164, want, w.phones.bought)
		}
	}
}

func TestBuyWithoutStock(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "212"})
	wantReason(t, err, fault.Exhausted, fault.ReasonNoNumbersAvailable)
	w.phones.stock = append(w.phones.stock, "+12125550100")
	if answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "212"}); err != nil ||
		answer.Record.E164 != "+12125550100" {
		t.Fatalf("got %+v, %v", answer.Record, err)
	}
}

func TestBuyDoesNotOfferWhatSomeoneHereHolds(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	first := buyOne(t, p, c, BuyNumber{})
	w.phones.stock = append([]string{first.E164}, w.phones.stock...) // the catalogue lags behind
	if second := buyOne(t, p, c, BuyNumber{}); second.E164 == first.E164 {
		t.Fatalf("got %+v twice", second)
	}
}

func TestManyPurchasesAtOnceAreAsManyNumbers(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	c = w.limited(c, 12, 12)
	answers, errs := atOnce(12, func(i int) (Answer[record.PhoneNumber], error) {
		return p.Numbers.Buy(asKey(c), c, key(fmt.Sprint(i)), BuyNumber{AreaCode: "415"})
	})
	seen := map[string]bool{}
	for i, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
		seen[answers[i].Record.E164] = true
	}
	if len(seen) != 12 || w.phones.bought != 12 {
		t.Fatalf("%d numbers, %d bought", len(seen), w.phones.bought)
	}
}

func TestOneKeyAmongManyPurchasesAtOnceIsOneNumber(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.traits.IdempotentBuy = false
	_, errs := atOnce(64, func(int) (Answer[record.PhoneNumber], error) {
		return p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	})
	for _, err := range errs {
		if err != nil {
			wantReason(t, err, fault.Conflict, fault.ReasonIdempotencyRunning)
		}
	}
	if w.phones.bought != 1 {
		t.Fatalf("%d bought", w.phones.bought)
	}
}

func TestBuyThatWasCutOffAndSnatchedBuysAnother(t *testing.T) {
	t.Parallel()
	for _, repeatable := range []bool{true, false} {
		w, p, c := sqliteWorld(t)
		w.phones.traits.IdempotentBuy = repeatable
		w.phones.times(3, "buy", reaction{before: fails(cutOff())})
		_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
		w.phones.script(nil)
		w.phones.snatch("+14155550000")
		answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
		if err != nil || answer.Record.E164 != "+14155550001" || w.phones.bought != 1 {
			t.Errorf("repeatable %v: got %+v, %v; %d bought", repeatable, answer.Record, err, w.phones.bought)
		}
	}
}

func TestBuyThatWasCutOffOrdersTheNumberChosenAgain(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.traits.IdempotentBuy = false
	w.phones.once("buy", reaction{before: fails(cutOff())})
	_, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	answer, err := p.Numbers.Buy(asKey(c), c, key("k"), BuyNumber{AreaCode: "415"})
	if err != nil || answer.Record.E164 != "+14155550000" {
		t.Fatalf("got %+v, %v", answer.Record, err)
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		template, trunk string
		employee        *int64
		want            telephony.Routing
	}{
		"a voice URL": {
			template: "https://voice.example.com/{cloud_employee_id}?number={e164}", employee: employeeID(7),
			want: telephony.Routing{VoiceURL: "https://voice.example.com/7?number=%2B14155550000"},
		},
		"a SIP trunk":     {trunk: "TK1", employee: employeeID(7), want: telephony.Routing{SIPTrunk: "TK1"}},
		"nobody assigned": {trunk: "TK1"},
		"nothing set":     {employee: employeeID(7)},
	} {
		for _, bare := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, left to a change %v", name, bare), func(t *testing.T) {
				w, p, c := sqliteWorld(t)
				w.phones.template, w.phones.trunk, w.phones.bare = test.template, test.trunk, bare
				buyOne(t, p, c, BuyNumber{Inbound: test.employee})
				if got := w.phones.numbers()[0].Routing; got != test.want {
					t.Errorf("bought: got %+v, want %+v", got, test.want)
				}
				second := buyOne(t, p, c, BuyNumber{})
				_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
					ID: second.ID, Inbound: EmployeeChange{Set: true, ID: test.employee},
				})
				w.check(err)
				want := test.want
				if want.VoiceURL != "" {
					want.VoiceURL = "https://voice.example.com/7?number=%2B14155550001"
				}
				if got := w.phones.numbers()[1].Routing; got != want {
					t.Errorf("changed: got %+v, want %+v", got, want)
				}
				_, err = p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
					ID: second.ID, Inbound: EmployeeChange{Set: true},
				})
				w.check(err)
				if got := w.phones.numbers()[1].Routing; got != (telephony.Routing{}) {
					t.Errorf("unassigned: got %+v", got)
				}
			})
		}
	}
}

func TestUpdateOfANumberIsAMerge(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front", Inbound: employeeID(1), Outbound: employeeID(2)})
	update := func(in UpdateNumber) record.PhoneNumber {
		t.Helper()
		in.ID = mine.ID
		answer, err := p.Numbers.Update(asKey(c), c, Write{}, in)
		w.check(err)
		return answer.Record
	}
	nothing := update(UpdateNumber{})
	if nothing.Name != "Front" || *nothing.InboundCloudEmployeeID != 1 ||
		*nothing.OutboundCloudEmployeeID != 2 || w.phones.called("change") != 0 {
		t.Errorf("an empty change: %+v", nothing)
	}
	name := "Night"
	if got := update(UpdateNumber{Name: &name}); got.Name != "Night" || *got.InboundCloudEmployeeID != 1 {
		t.Errorf("a name: %+v", got)
	}
	if got := update(UpdateNumber{Outbound: EmployeeChange{Set: true}}); got.OutboundCloudEmployeeID != nil ||
		*got.InboundCloudEmployeeID != 1 || w.phones.called("change") != 1 {
		t.Errorf("an outbound employee, of whom the provider need not know: %+v", got)
	}
	if got, err := p.Numbers.Get(background, c, mine.ID); err != nil || got.Name != "Night" ||
		got.OutboundCloudEmployeeID != nil {
		t.Errorf("read back: %+v, %v", got, err)
	}
}

func TestUpdateRefusedByTheProviderChangesNothing(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	w.phones.once("change", reaction{before: fails(fault.New(fault.Invalid,
		fault.ReasonProviderRefused, "No."))})
	name := "Night"
	_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{
		ID: mine.ID, Name: &name, Outbound: EmployeeChange{Set: true, ID: employeeID(3)},
	})
	wantReason(t, err, fault.Invalid, fault.ReasonProviderRefused)
	if got, err := p.Numbers.Get(background, c, mine.ID); err != nil || got != mine {
		t.Errorf("got %+v, %v, want %+v", got, err, mine)
	}
}

func TestUpdateOfANumberThatIsGoneReleasesIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.held = nil
	name := "Night"
	_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	_, err = p.Numbers.Get(background, c, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

func TestRecoveryDoesNotOverwriteANewerChangeOfANumber(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{Name: "Front"})
	older, newer := "older", "newer"
	w.phones.times(3, "change", reaction{before: fails(cutOff())})
	_, err := p.Numbers.Update(asKey(c), c, key("old"), UpdateNumber{ID: mine.ID, Name: &older})
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.phones.script(nil)
	w.clock.advance(time.Millisecond)
	_, err = p.Numbers.Update(asKey(c), c, key("new"), UpdateNumber{ID: mine.ID, Name: &newer})
	w.check(err)
	p.recover(t)
	if got := w.phones.numbers()[0].Name; got != newer || w.unsettled() != 0 {
		t.Fatalf("recovery made it %q; %d open", got, w.unsettled())
	}
}

// A change that may have been made is not called failed because its next run got an answer that nobody can read.
func TestAChangeOfANumberIsFinishedAfterAnAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.phones.template = "https://voice.example.com/{cloud_employee_id}"
	mine := buyOne(t, p, c, BuyNumber{Inbound: employeeID(9)})
	update := func() error {
		_, err := p.Numbers.Update(asKey(c), c, key("k"), UpdateNumber{
			ID: mine.ID, Inbound: EmployeeChange{Set: true, ID: employeeID(4)},
		})
		return err
	}
	w.phones.times(3, "change", reaction{after: fails(cutOff())})
	wantReason(t, update(), fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	w.phones.once("change", reaction{before: fails(fault.New(fault.Unsupported, fault.ReasonProviderMisconfigured,
		"The answer is no JSON."))})
	err := update()
	wantReason(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	if f := fault.From(err); !strings.HasPrefix(f.Detail, "The answer is no JSON. It is not known yet") {
		t.Errorf("it says %q", f.Detail)
	}
	w.clock.advance(time.Hour)
	p.recover(t)
	if got := listed(t, p, c); *got[0].InboundCloudEmployeeID != 4 || w.unsettled() != 0 {
		t.Errorf("listed are %+v; %d open", got, w.unsettled())
	}
}

func TestReleaseOfANumber(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	if _, err := p.Numbers.Release(asKey(c), c, key("k"), mine.ID); err != nil {
		t.Fatal(err)
	}
	if len(w.phones.numbers()) != 0 {
		t.Error("the account still has it")
	}
	if again, err := p.Numbers.Release(asKey(c), c, key("k"), mine.ID); err != nil || !again.Replayed {
		t.Errorf("the same call again: replayed %v, %v", again.Replayed, err)
	}
	_, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
	wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	w.phones.stock = []string{mine.E164}
	if second := buyOne(t, p, c, BuyNumber{}); second.ID <= mine.ID {
		t.Errorf("the id %d comes again as %d", mine.ID, second.ID)
	}
}

func TestReleaseThatAListSawFirst(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.once("release", reaction{after: func(context.Context) error {
		found, err := p.Numbers.Reconcile(background, c, RepairNothing)
		if got := describe(t, found); got != "null" {
			t.Errorf("meanwhile the doctor finds %s", got)
		}
		if err == nil {
			_, err = p.Numbers.List(background, c)
		}
		return err
	}})
	told := w.tellsNumbers(p)
	if _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); err != nil {
		t.Fatal(err)
	}
	if types := told(); len(types) > 0 {
		t.Errorf("of a number that was released here, webhooks are told %s", types)
	}
	if got := listed(t, p, c); len(got) > 0 {
		t.Errorf("listed are %+v", got)
	}
}

func TestReleaseThatAChangeSawFirst(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	w.openCalls(c) // among which the release is found
	mine := buyOne(t, p, c, BuyNumber{})
	name := "new"
	w.phones.once("release", reaction{after: func(context.Context) error {
		_, err := p.Numbers.Update(asKey(c), c, Write{}, UpdateNumber{ID: mine.ID, Name: &name})
		wantReason(t, err, fault.NotFound, fault.ReasonNumberNotFound)
		return nil
	}})
	told := w.tellsNumbers(p)
	if _, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID); err != nil {
		t.Fatal(err)
	}
	if types := told(); len(types) > 0 {
		t.Errorf("of a number that was released here, webhooks are told %s", types)
	}
}

func TestAReleaseThatEndsWhileItsNumberIsReadIsNoDifference(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	w.phones.once("numbers", reaction{before: func(context.Context) error { // after the table is read
		_, err := p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
		return err
	}})
	found, err := p.Numbers.Reconcile(background, c, RepairSafe)
	w.check(err)
	if got := describe(t, found); got != "null" {
		t.Errorf("found %s", got)
	}
}

func TestAnswerToAChangeOfANumberOutlivesIt(t *testing.T) {
	t.Parallel()
	w, p, c := sqliteWorld(t)
	mine := buyOne(t, p, c, BuyNumber{})
	name := "Night"
	first, err := p.Numbers.Update(asKey(c), c, key("k"), UpdateNumber{ID: mine.ID, Name: &name})
	w.check(err)
	_, err = p.Numbers.Release(asKey(c), c, Write{}, mine.ID)
	w.check(err)
	w.clock.advance(time.Minute)
	again, err := p.Numbers.Update(asKey(c), c, key("k"), UpdateNumber{ID: mine.ID, Name: &name})
	if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Fatalf("got %s, %v", again.Body, err)
	}
}
