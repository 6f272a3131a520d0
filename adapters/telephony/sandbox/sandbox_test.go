package sandbox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"frontdesk/core/adapter"
	"frontdesk/core/adapter/conformance"
	"frontdesk/core/adapter/scenario"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

func search(t *testing.T, d telephony.Driver, areaCode string) []string {
	t.Helper()
	offers, err := d.Search(t.Context(), telephony.Search{AreaCode: areaCode, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var numbers []string
	for _, o := range offers {
		numbers = append(numbers, o.E164)
	}
	return numbers
}

func order(e164 string) telephony.Order {
	return telephony.Order{Key: "key" + e164[2:], E164: e164, Name: "Front office"}
}

func buy(t *testing.T, d telephony.Driver, e164 string) telephony.Number {
	t.Helper()
	n, err := d.Buy(t.Context(), order(e164))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStockOfAnAreaCode(t *testing.T) {
	five := func(areaCode string) []string {
		return []string{
			"+1" + areaCode + "5550100", "+1" + areaCode + "5550101", "+1" + areaCode + "5550102",
			"+1" + areaCode + "5550103", "+1" + areaCode + "5550104",
		}
	}
	d := newAccount(t, nil).open()
	for _, c := range []struct {
		rule     string
		areaCode string
		want     []string
	}{
		{"five numbers kept for fiction", "415", five("415")},
		{"the same in every place", "989", five("989")},
		{"a contested one is offered too", "213", five("213")},
		{"sold out", "212", nil},
		{"toll-free numbers belong to no place", "800", nil},
		{"premium numbers neither", "900", nil},
		{"services are no area codes", "911", nil},
		{"kept for expansion", "370", nil},
		{"no area code begins with 1", "123", nil},
		{"no area code has a 9 in its middle", "298", nil},
		{"too short", "41", nil},
		{"too long", "4155", nil},
		{"no digits", "4a5", nil},
		{"nothing", "", nil},
	} {
		if got := search(t, d, c.areaCode); !slices.Equal(got, c.want) {
			t.Errorf("%s: area code %q has %q, want %q", c.rule, c.areaCode, got, c.want)
		}
	}
}

func TestStockIsASetting(t *testing.T) {
	if got := search(t, newAccount(t, map[string]any{"stock": "2"}).open(), "415"); !slices.Equal(got, []string{
		"+14155550100", "+14155550101",
	}) {
		t.Errorf("a stock of 2 is %q", got)
	}
	if got := search(t, newAccount(t, map[string]any{"stock": "0"}).open(), "415"); len(got) > 0 {
		t.Errorf("a stock of 0 is %q", got)
	}
	for _, stock := range []string{"-1", "100"} {
		_, err := Adapter().OpenTelephony(t.Context(), adapter.Values{Settings: map[string]any{"stock": stock}},
			adapter.Environment{})
		if err := conformance.WantInvalid("a stock of "+stock, err, "settings.stock"); err != nil {
			t.Error(err)
		}
	}
}

func TestStockRunsOutAndComesBack(t *testing.T) {
	a := newAccount(t, nil)
	d := a.open()
	var refs []string
	for _, e164 := range search(t, d, "415") {
		refs = append(refs, buy(t, d, e164).Ref)
	}
	if left := search(t, d, "415"); len(left) > 0 {
		t.Errorf("after five purchases %q are left", left)
	}
	if other := search(t, d, "628"); len(other) != 5 {
		t.Errorf("another area code has %q", other)
	}
	if err := d.Release(t.Context(), refs[2]); err != nil {
		t.Fatal(err)
	}
	if back := search(t, d, "415"); !slices.Equal(back, []string{"+14155550102"}) {
		t.Errorf("after a release %q are for sale, want the one released", back)
	}
	if again := buy(t, d, "+14155550102"); again.Ref == refs[2] {
		t.Errorf("a number that was released and bought again has its old reference %s", again.Ref)
	}
}

func TestEachConnectionHasAStockOfItsOwn(t *testing.T) {
	one, two := newAccount(t, nil).open(), newAccount(t, nil).open()
	buy(t, one, "+14155550100")
	buy(t, two, "+14155550100")
}

func TestSomebodyElseIsFasterInAContestedAreaCode(t *testing.T) {
	d := newAccount(t, nil).open()
	_, err := d.Buy(t.Context(), order("+12135550100"))
	if err := conformance.WantFault("Buy of the first number", err, fault.Conflict,
		fault.ReasonNumberTaken); err != nil {
		t.Error(err)
	}
	buy(t, d, "+12135550101")
}

func TestANumberThatIsBlockedCannotBeReleased(t *testing.T) {
	for e164, want := range map[string]telephony.Block{
		"+12145550100": telephony.BlockEmergency,
		"+12155550100": telephony.BlockLock,
	} {
		d := newAccount(t, nil).open()
		n := buy(t, d, e164)
		if n.Block != want {
			t.Errorf("%s is blocked by %q, want %q", e164, n.Block, want)
		}
		err := d.Release(t.Context(), n.Ref)
		if err := conformance.WantFault("Release of "+e164, err, fault.Conflict, want.Fault().Reason); err != nil {
			t.Error(err)
		}
		if now, err := d.Number(t.Context(), n.Ref); err != nil || now != n {
			t.Errorf("a number that could not be released is %+v, %v; want %+v", now, err, n)
		}
	}
}

func TestWhatAProviderWouldRefuse(t *testing.T) {
	d := newAccount(t, nil).open()
	held := buy(t, d, "+14155550100")
	long := strings.Repeat("é", 65)
	for _, c := range []struct {
		rule   string
		err    error
		code   fault.Code
		reason string
	}{
		{
			"a number that the account holds already",
			lastOf(d.Buy(t.Context(), telephony.Order{Key: "other", E164: held.E164})), fault.Conflict,
			fault.ReasonNumberTaken,
		},
		{"a number that was never for sale", lastOf(d.Buy(t.Context(), order("+14155550105"))), fault.Conflict,
			fault.ReasonNumberTaken},
		{"a number of another country", lastOf(d.Buy(t.Context(), order("+493012345678"))), fault.Conflict,
			fault.ReasonNumberTaken},
		{"no number at all", lastOf(d.Buy(t.Context(), telephony.Order{Key: "k", E164: "\x00"})), fault.Conflict,
			fault.ReasonNumberTaken},
		{
			"a name that is too long",
			lastOf(d.Buy(t.Context(), telephony.Order{Key: "k", E164: "+14155550101", Name: long})), fault.Invalid,
			fault.ReasonInvalidRequest,
		},
		{
			"a name that is too long for a change",
			lastOf(d.Change(t.Context(), held.Ref, telephony.Change{Name: &long})), fault.Invalid,
			fault.ReasonInvalidRequest,
		},
		{
			"two destinations",
			lastOf(d.Change(t.Context(), held.Ref,
				telephony.Change{Routing: &telephony.Routing{VoiceURL: "https://a.example", SIPTrunk: "t"}})),
			fault.Invalid, fault.ReasonProviderRefused,
		},
		{
			"a voice URL that is none",
			lastOf(d.Change(t.Context(), held.Ref,
				telephony.Change{Routing: &telephony.Routing{VoiceURL: "/voice/{cloud_employee_id}"}})),
			fault.Invalid, fault.ReasonProviderRefused,
		},
		{"a cursor that no page gave", lastOf(d.Numbers(t.Context(), telephony.Query{Cursor: "\x00"})),
			fault.Invalid, fault.ReasonInvalidRequest},
	} {
		if err := conformance.WantFault(c.rule, c.err, c.code, c.reason); err != nil {
			t.Error(err)
		}
	}
	if now, err := d.Number(t.Context(), held.Ref); err != nil || now != held {
		t.Errorf("after refused changes the number is %+v, %v; want %+v", now, err, held)
	}
	if left := search(t, d, "415"); len(left) != 4 {
		t.Errorf("after refused purchases %q are left, want four", left)
	}
}

func lastOf[T any](_ T, err error) error { return err }

func TestAnOrderMayTakeATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, map[string]any{"order_time": "2s"}).open()
		there, err := d.Numbers(t.Context(), telephony.Query{})
		if err != nil || len(there.Numbers) != 0 {
			t.Fatalf("a new account lists %+v, %v", there, err)
		}
		o := order("+14155550100")
		onOrder := telephony.Number{E164: o.E164, Pending: true}
		if n := buy(t, d, o.E164); n != onOrder || !d.Traits().AsyncBuy {
			t.Errorf("an order that takes two seconds is answered %+v by a driver of %+v", n, d.Traits())
		}
		time.Sleep(2*time.Second - time.Nanosecond)
		if n, err := d.FindOrder(t.Context(), o); err != nil || n != onOrder {
			t.Errorf("before two seconds are over FindOrder answers %+v, %v", n, err)
		}
		if there, err = d.Numbers(t.Context(), telephony.Query{}); err != nil || len(there.Numbers) != 0 {
			t.Errorf("a number on order is listed: %+v, %v", there, err)
		}
		if left := search(t, d, "415"); slices.Contains(left, o.E164) {
			t.Errorf("a number on order is for sale: %q", left)
		}
		time.Sleep(time.Nanosecond)
		n, err := d.FindOrder(t.Context(), o)
		if err != nil || n.Pending || n.Ref == "" || n.Name != o.Name {
			t.Errorf("after two seconds FindOrder answers %+v, %v", n, err)
		}
		if there, err = d.Numbers(t.Context(), telephony.Query{}); err != nil ||
			!slices.Equal(there.Numbers, []telephony.Number{n}) {
			t.Errorf("after two seconds the account lists %+v, %v; want %+v", there, err, n)
		}
	})
}

// TestAPageIsFullWhateverIsOnOrder orders numbers between others: only numbers that are not on order count
// for the limit of a page.
func TestAPageIsFullWhateverIsOnOrder(t *testing.T) {
	a := newAccount(t, map[string]any{"order_time": orderTime.String()})
	d := a.open()
	for i, e164 := range []string{
		"+14155550100", "+14155550102", "+14155550104", "+14155550101", "+14155550103",
	} {
		if buy(t, d, e164); i == 2 {
			if err := a.Fill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var pages [][]string
	for q := (telephony.Query{Limit: 2}); ; {
		page, err := d.Numbers(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var numbers []string
		for _, n := range page.Numbers {
			numbers = append(numbers, n.E164)
		}
		pages = append(pages, numbers)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	want := [][]string{{"+14155550100", "+14155550102"}, {"+14155550104"}}
	if !slices.EqualFunc(pages, want, slices.Equal[[]string]) {
		t.Errorf("the pages are %q, want %q", pages, want)
	}
}

// TestManyBuyersShareAStockOfFive lets each of fifty callers try one number after the other, as the gateway
// does.
func TestManyBuyersShareAStockOfFive(t *testing.T) {
	a := newAccount(t, nil)
	var mu sync.Mutex
	bought := map[string]string{} // number to buyer
	err := conformance.AtOnce(50, func(i int) error {
		d, buyer := a.open(), fmt.Sprintf("buyer%d", i)
		offers, err := d.Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 10})
		if err != nil {
			return err
		}
		for _, o := range offers {
			n, err := d.Buy(t.Context(), telephony.Order{Key: buyer, E164: o.E164, Name: buyer})
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				if other, twice := bought[n.E164]; twice {
					return fmt.Errorf("%s was bought by %s and by %s", n.E164, other, buyer)
				}
				bought[n.E164] = buyer
				return nil
			}
			if err := conformance.WantFault("Buy", err, fault.Conflict, fault.ReasonNumberTaken); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"+14155550100", "+14155550101", "+14155550102", "+14155550103", "+14155550104"}
	if got := slices.Sorted(maps.Keys(bought)); !slices.Equal(got, want) {
		t.Errorf("fifty buyers bought %q, want %q", got, want)
	}
	paid, err := a.Purchases(t.Context())
	if err != nil || paid != 5 {
		t.Errorf("the account paid for %d numbers, %v; want 5", paid, err)
	}
	page, err := a.open().Numbers(t.Context(), telephony.Query{})
	if err != nil || len(page.Numbers) != 5 {
		t.Fatalf("the account lists %+v, %v", page, err)
	}
	for _, n := range page.Numbers {
		if n.Name != bought[n.E164] {
			t.Errorf("%s is held for %q, and was answered to %q", n.E164, n.Name, bought[n.E164])
		}
	}
}

// TestAccountBehavesAsAModel compares the sandbox with a map that does the same, over random histories.
func TestAccountBehavesAsAModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := newAccount(t, map[string]any{"stock": "3"})
		model := map[string]telephony.Number{} // by number
		keys := map[string]string{}
		everRefs := map[string]bool{}
		numbers := []string{
			"+14155550100", "+14155550101", "+14155550102", "+14155550103", "+12125550100", "+16285550100",
		}
		offered := []string{"+14155550100", "+14155550101", "+14155550102", "+16285550100"}
		pick := func(r *rapid.T) (telephony.Number, bool) {
			e164 := rapid.SampledFrom(numbers).Draw(r, "number")
			n, held := model[e164]
			return n, held
		}
		routing := rapid.SampledFrom([]telephony.Routing{{}, {VoiceURL: "https://a.example/7"}, {SIPTrunk: "TK1"}})
		r.Repeat(map[string]func(*rapid.T){
			"buy": func(r *rapid.T) {
				o := telephony.Order{
					Key:  rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "key"),
					E164: rapid.SampledFrom(numbers).Draw(r, "number"), Name: rapid.StringN(0, 64, -1).Draw(r, "name"),
					Routing: routing.Draw(r, "routing"),
				}
				if strings.Contains(strings.ToLower(o.Name), "sandbox:") {
					r.Skip("a scenario")
				}
				n, err := a.open().Buy(t.Context(), o)
				earlier, held := model[o.E164]
				switch {
				case held && keys[o.E164] == o.Key:
					if err != nil || n != earlier {
						r.Fatalf("a repeat answered %+v, %v; want %+v", n, err, earlier)
					}
				case held, !slices.Contains(offered, o.E164):
					if fault.From(err) == nil || fault.From(err).Reason != fault.ReasonNumberTaken {
						r.Fatalf("Buy of %s answered %v, want %s", o.E164, err, fault.ReasonNumberTaken)
					}
				default:
					want := telephony.Number{Ref: n.Ref, E164: o.E164, Name: o.Name, Routing: o.Routing}
					if err != nil || n != want || n.Ref == "" || everRefs[n.Ref] {
						r.Fatalf("Buy answered %+v, %v; want %+v with a reference of its own", n, err, want)
					}
					model[o.E164], keys[o.E164], everRefs[n.Ref] = n, o.Key, true
				}
			},
			"change": func(r *rapid.T) {
				n, held := pick(r)
				var c telephony.Change
				if rapid.Bool().Draw(r, "rename") {
					n.Name = rapid.SampledFrom([]string{"", "Night desk", "Tag"}).Draw(r, "name")
					c.Name = &n.Name
				}
				if rapid.Bool().Draw(r, "reroute") {
					n.Routing = routing.Draw(r, "routing")
					c.Routing = &n.Routing
				}
				got, err := a.open().Change(t.Context(), n.Ref, c)
				if !held {
					if fault.From(err) == nil || fault.From(err).Code != fault.NotFound {
						r.Fatalf("Change of nothing answered %v", err)
					}
					return
				}
				if err != nil || got != n {
					r.Fatalf("Change answered %+v, %v; want %+v", got, err, n)
				}
				model[n.E164] = n
			},
			"release": func(r *rapid.T) {
				n, held := pick(r)
				err := a.open().Release(t.Context(), n.Ref)
				if held != (err == nil) {
					r.Fatalf("Release of %+v answered %v", n, err)
				}
				delete(model, n.E164)
			},
			"": func(r *rapid.T) {
				got := map[string]telephony.Number{}
				for q := (telephony.Query{Limit: 2}); ; {
					page, err := a.open().Numbers(t.Context(), q)
					if err != nil {
						r.Fatal(err)
					}
					for _, n := range page.Numbers {
						got[n.E164] = n
					}
					if page.Next == "" {
						break
					}
					q.Cursor = page.Next
				}
				if !maps.Equal(got, model) {
					r.Fatalf("the account lists %+v, want %+v", got, model)
				}
				for _, areaCode := range []string{"415", "628", "212"} {
					var want []string
					for _, e164 := range []string{
						"+1" + areaCode + "5550100", "+1" + areaCode + "5550101", "+1" + areaCode + "5550102",
					} {
						if _, held := model[e164]; !held && areaCode != "212" {
							want = append(want, e164)
						}
					}
					if got := search(t, a.open(), areaCode); !slices.Equal(got, want) {
						r.Fatalf("in %s %q are for sale, want %q", areaCode, got, want)
					}
				}
			},
		})
	})
}

func TestALongAccountIsReadInPages(t *testing.T) {
	a := newAccount(t, map[string]any{"stock": "60"})
	d := a.open()
	var want []string
	for _, areaCode := range []string{"415", "628"} {
		for _, e164 := range search(t, d, areaCode) {
			want = append(want, buy(t, d, e164).E164)
		}
	}
	var got []string
	var lengths []int
	for q := (telephony.Query{}); ; {
		page, err := d.Numbers(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, len(page.Numbers))
		for _, n := range page.Numbers {
			got = append(got, n.E164)
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	if !slices.Equal(got, want) || !slices.Equal(lengths, []int{50, 50, 20}) {
		t.Errorf("pages of %v hold %q, want %q", lengths, got, want)
	}
}

func TestTheFaultSettingKnowsEveryWord(t *testing.T) {
	want := []string{}
	for _, w := range append(scenario.Names(), taken, noFunds, trial, suspended, addressRequired) {
		want = append(want, string(w))
	}
	fields := Adapter().Fields
	i := slices.IndexFunc(fields, func(f adapter.Field) bool { return f.Name == "fault" })
	if !slices.Equal(fields[i].Choices, want) {
		t.Errorf("the choices are %q, want %q", fields[i].Choices, want)
	}
}

// refusals are the scenarios that refuse a call before it acts, each with the reason that the caller gets.
var refusals = map[string]string{
	"rate_limited": fault.ReasonProviderRateLimited,
	"revoked":      fault.ReasonReconnectRequired,
	"forbidden":    fault.ReasonPermissionDenied,
	"down":         fault.ReasonProviderUnavailable,
}

func TestScenariosRefuseACall(t *testing.T) {
	for name, reason := range refusals {
		plain := newAccount(t, nil).open()
		always := newAccount(t, map[string]any{"fault": name}).open()
		named := "Desk sandbox:" + name
		held := buy(t, plain, "+14155550104")
		for call, err := range map[string]error{
			"the name, on Buy": lastOf(plain.Buy(t.Context(), telephony.Order{
				Key: "k", E164: "+14155550100", Name: named,
			})),
			"the name, on Change":     lastOf(plain.Change(t.Context(), held.Ref, telephony.Change{Name: &named})),
			"the setting, on Account": lastOf(always.Account(t.Context())),
			"the setting, on Search":  lastOf(always.Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 1})),
			"the setting, on Buy":     lastOf(always.Buy(t.Context(), order("+14155550100"))),
			"the setting, on Numbers": lastOf(always.Numbers(t.Context(), telephony.Query{})),
			"the setting, on Number":  lastOf(always.Number(t.Context(), "PN0")),
			"the setting, on Change":  lastOf(always.Change(t.Context(), "PN0", telephony.Change{})),
			"the setting, on Release": always.Release(t.Context(), "PN0"),
		} {
			if got := fault.From(err); got == nil || got.Reason != reason {
				t.Errorf("sandbox:%s by %s answered %v, want %s", name, call, err, reason)
			}
		}
		if now, err := plain.Number(t.Context(), held.Ref); err != nil || now != held {
			t.Errorf("after a refused change the number is %+v, %v", now, err)
		}
		if left := search(t, plain, "415"); len(left) != 4 {
			t.Errorf("after a refused purchase %q are left", left)
		}
	}
}

func TestScenariosRefuseAPurchaseAlone(t *testing.T) {
	for name, reason := range map[string]string{
		"taken": fault.ReasonNumberTaken, "no_funds": fault.ReasonInsufficientFunds,
		"trial": fault.ReasonTrialLimit, "suspended": fault.ReasonAccountSuspended,
		"address_required": fault.ReasonAddressRequired,
	} {
		named := "sandbox:" + name
		plain := newAccount(t, nil).open()
		always := newAccount(t, map[string]any{"fault": name}).open()
		for where, err := range map[string]error{
			"the name": lastOf(plain.Buy(t.Context(), telephony.Order{
				Key: "k", E164: "+14155550100", Name: named,
			})),
			"the setting": lastOf(always.Buy(t.Context(), order("+14155550100"))),
		} {
			if f := fault.From(err); f == nil || f.Reason != reason {
				t.Errorf("sandbox:%s by %s answered %v, want %s", name, where, err, reason)
			}
		}
		n := buy(t, plain, "+14155550100")
		if _, err := plain.Change(t.Context(), n.Ref, telephony.Change{Name: &named}); err != nil {
			t.Errorf("sandbox:%s refused a change of name: %v", name, err)
		}
		if offers := search(t, always, "415"); len(offers) != 5 {
			t.Errorf("sandbox:%s as the setting leaves %q for sale", name, offers)
		}
	}
}

func TestScenariosTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, nil).open()
		start := time.Now()
		o := order("+14155550100")
		o.Name = "sandbox:slow"
		if _, err := d.Buy(t.Context(), o); err != nil || time.Since(start) != scenario.SlowFor {
			t.Errorf("a slow purchase took %s, %v; want %s", time.Since(start), err, scenario.SlowFor)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		o = order("+14155550101")
		o.Name = "sandbox:hang"
		if _, err := d.Buy(ctx, o); fault.From(err).Code != fault.Timeout {
			t.Errorf("a purchase that hangs answered %v, want the deadline", err)
		}
		if left := search(t, d, "415"); len(left) != 4 {
			t.Errorf("after a purchase that hangs %q are left", left)
		}
	})
}

func TestALostReplyIsFoundByTheRepeat(t *testing.T) {
	a := newAccount(t, map[string]any{"fault": "reply_lost"})
	d := a.open()
	name := "Night desk"
	var n telephony.Number
	for _, step := range []struct {
		what string
		run  func() error
	}{
		{"Buy", func() (err error) { n, err = d.Buy(t.Context(), order("+14155550100")); return err }},
		{"Change", func() (err error) {
			n, err = d.Change(t.Context(), n.Ref, telephony.Change{Name: &name})
			return err
		}},
	} {
		if f := fault.From(step.run()); f == nil || f.Code != fault.Unavailable || f.Unsent {
			t.Errorf("the first %s answered %v, want Unavailable, and not unsent", step.what, f)
		}
		page, err := d.Numbers(t.Context(), telephony.Query{})
		if err != nil || len(page.Numbers) != 1 {
			t.Fatalf("after a lost reply the account lists %+v, %v", page, err)
		}
		n = page.Numbers[0]
		if err := step.run(); err != nil {
			t.Errorf("the repeat of %s: %v", step.what, err)
		}
	}
	if n.Name != name {
		t.Errorf("the name is %q, want %q", n.Name, name)
	}
	if f := fault.From(d.Release(t.Context(), n.Ref)); f == nil || f.Code != fault.Unavailable {
		t.Errorf("the first Release answered %v, want Unavailable", f)
	}
	if f := fault.From(d.Release(t.Context(), n.Ref)); f == nil || f.Code != fault.NotFound {
		t.Errorf("the repeat of Release answered %v: the number is gone by then", f)
	}
	if paid, err := a.Purchases(t.Context()); err != nil || paid != 1 {
		t.Errorf("the account paid for %d numbers, %v; want 1", paid, err)
	}
}

func TestAnUnknownOutcomeIsSettledLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAccount(t, nil).open()
		o := order("+14155550100")
		o.Name = "sandbox:outcome_unknown"
		for range 2 {
			if f := fault.From(lastOf(d.Buy(t.Context(), o))); f == nil || f.Code != fault.Unavailable {
				t.Fatalf("Buy answered %v, want Unavailable", f)
			}
		}
		page, err := d.Numbers(t.Context(), telephony.Query{})
		if err != nil || len(page.Numbers) != 1 {
			t.Fatalf("the account lists %+v, %v", page, err)
		}
		ref := page.Numbers[0].Ref
		if f := fault.From(lastOf(d.Number(t.Context(), ref))); f == nil || f.Code != fault.Unavailable {
			t.Errorf("a number that is out of reach reads as %v, want Unavailable", f)
		}
		buy(t, d, "+14155550101")
		time.Sleep(scenario.SilentFor)
		if n, err := d.Buy(t.Context(), o); err != nil || n.Ref != ref {
			t.Errorf("after %s Buy answered %+v, %v; want %s", scenario.SilentFor, n, err, ref)
		}
	})
}
