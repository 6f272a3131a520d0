package telnyx_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontdesk/adapters/telephony/telnyx/fake"
	"frontdesk/core/fault"
	"frontdesk/core/telephony"
)

// says returns a handler that always sends the same response.
func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// on returns middleware that serves requests of one method by another handler.
func on(method string, instead http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == method {
				instead.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func wantFault(t *testing.T, err error, code fault.Code, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Fatalf("answered %v, want %s %s", err, string(code), reason)
	}
	return f
}

// clock is a clock that tests move.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).Add(time.Duration(c.passed.Load()))
}

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// offered returns a number that is for sale.
func offered(t *testing.T, d telephony.Driver, areaCode string) string {
	t.Helper()
	offers, err := d.Search(t.Context(), telephony.Search{AreaCode: areaCode, Limit: 1})
	if err != nil || len(offers) != 1 {
		t.Fatalf("for sale in %s are %v, %v", areaCode, offers, err)
	}
	return offers[0].E164
}

// bought buys a number that is filled at once.
func bought(t *testing.T, d telephony.Driver, key string) telephony.Number {
	t.Helper()
	n, err := d.Buy(t.Context(), telephony.Order{Key: key, E164: offered(t, d, "415")})
	if err != nil || n.Pending {
		t.Fatalf("bought %+v, %v", n, err)
	}
	return n
}

func TestAreaCodesAreFoundInTheirCountry(t *testing.T) {
	for _, c := range []struct {
		country, area string
		calls         int
	}{
		{"US", "415", 1}, {"US", "416", 2}, {"CA", "416", 1}, {"CA", "415", 2}, {"", "604", 2},
	} {
		for _, how := range []fake.Options{{}, {NoCoverage: true}} {
			s := serve(t, how)
			if e164 := offered(t, s.open(t, map[string]any{"country": c.country}), c.area); !strings.HasPrefix(e164,
				"+1"+c.area) || s.Calls() != c.calls {
				t.Errorf("%s from %s: %s in %d calls, want %d", c.area, c.country, e164, s.Calls(), c.calls)
			}
		}
	}
}

func TestWhatIsNotWhollyShownIsNotOffered(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(
		says(200, `{"data":[{"phone_number":"+1415555xxxx"},{"phone_number":"+16285550100"},{"phone_number":"+14155550101","best_effort":true},{"phone_number":"+14155550102"}]}`))
	offers, err := s.open(t, nil).Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 9})
	if err != nil || len(offers) != 1 || offers[0] != (telephony.Offer{E164: "+14155550102"}) {
		t.Errorf("offered are %v, %v", offers, err)
	}
}

func TestASearchThatNoCountryTakesIsRefused(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(says(422, `{"errors":[{"code":"10015","title":"Bad Request"}]}`))
	_, err := s.open(t, nil).Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 1})
	wantFault(t, err, fault.Invalid, fault.ReasonProviderRefused)
}

func TestACountryThatIsRefusedDoesNotHideTheOther(t *testing.T) {
	for refused, area := range map[string]string{"US": "416", "CA": "415"} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("filter[country_code]") == refused {
					says(403, `{"errors":[{"code":"10010"}]}`).ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		for _, first := range []string{"US", "CA"} {
			d := s.open(t, map[string]any{"country": first})
			offered(t, d, area)
			if offers, err := d.Search(t.Context(), telephony.Search{AreaCode: "212", Limit: 1}); err != nil ||
				len(offers) != 0 {
				t.Errorf("without %s: %v, %v", refused, offers, err)
			}
		}
	}
}

func TestAnOrderCarriesItsKeyAndConnection(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	o := telephony.Order{
		Key: "k1", E164: offered(t, d, "415"), Name: "Front office",
		Routing: telephony.Routing{Application: fake.Application},
	}
	n, err := d.Buy(t.Context(), o)
	if err != nil || n.Name != "" || n.Routing.Application != fake.Application || n.Ref != s.Held()[0].ID {
		t.Errorf("bought %+v, %v; held is %+v", n, err, s.Held())
	}
	made := s.Orders()
	if len(made) != 1 || made[0].CustomerReference != "frontdesk-order-k1" ||
		made[0].ConnectionID != fake.Application || made[0].ID == n.Ref {
		t.Errorf("orders are %+v", made)
	}
	calls := s.Calls()
	for _, to := range []telephony.Routing{{VoiceURL: "https://agents.example.com"}, {SIPTrunk: "1"}} {
		o.Routing = to
		_, err = d.Buy(t.Context(), o)
		wantFault(t, err, fault.Invalid, fault.ReasonProviderRefused)
	}
	if s.Calls() != calls {
		t.Error("an order was made for what cannot be")
	}
}

func TestWhatBecomesOfAnOrder(t *testing.T) {
	for _, c := range []struct {
		rule   string
		before func(*testServer)
		code   fault.Code
		reason string
	}{
		{"somebody else was faster", func(s *testServer) { s.Outbid(1) }, fault.Conflict, fault.ReasonNumberTaken},
		{"it was accepted, and failed", func(s *testServer) { s.FailOrders(1) }, fault.Conflict,
			fault.ReasonNumberTaken},
		{"documents are missing", func(s *testServer) { s.AskForDocuments(true) }, fault.UnknownOutcome,
			fault.ReasonOrderPending},
		{"funds are missing", func(s *testServer) { s.SetBalance(99) }, fault.Exhausted,
			fault.ReasonInsufficientFunds},
		{"the account is suspended", func(s *testServer) { s.Suspend(true) }, fault.Forbidden,
			fault.ReasonPermissionDenied},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := serve(t, fake.Options{})
			d := s.open(t, nil)
			o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
			c.before(s)
			n, err := d.Buy(t.Context(), o)
			f := wantFault(t, err, c.code, c.reason)
			if n != (telephony.Number{}) || f.Unsent {
				t.Errorf("answered %+v, %v", n, f)
			}
			if purchases, _ := s.Purchases(t.Context()); purchases != 0 {
				t.Errorf("%d purchases", purchases)
			}
		})
	}
}

func TestAConnectionThatIsNotThereIsASettingToCheck(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	_, err := d.Buy(t.Context(), telephony.Order{
		Key: "k1", E164: offered(t, d, "415"), Routing: telephony.Routing{Application: "1"},
	})
	wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
	n := bought(t, d, "k2")
	_, err = d.Change(t.Context(), n.Ref, telephony.Change{Routing: &telephony.Routing{Application: "1"}})
	wantFault(t, err, fault.Unsupported, fault.ReasonProviderMisconfigured)
}

func TestAnOrderThatIsWrongInAnotherWayIsNotCalledTaken(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	o := telephony.Order{Key: "k1", E164: "+14155550105"} // which no search has returned
	_, err := d.Buy(t.Context(), o)
	wantFault(t, err, fault.Invalid, fault.ReasonProviderRefused)
	if n, err := d.Buy(t.Context(), o); err != nil || n.Ref == "" {
		t.Errorf("after the look at what is for sale: %+v, %v", n, err)
	}
}

func TestARepeatedOrderAnswersItsNumber(t *testing.T) {
	for _, how := range []fake.Options{{}, {LateFail: true}, {BareNumber: true}} {
		s := serve(t, how)
		d := s.open(t, nil)
		first := bought(t, d, "k1")
		again, err := d.Buy(t.Context(), telephony.Order{Key: "k1", E164: first.E164})
		if err != nil || again != first {
			t.Errorf("%+v: %+v, %v, want %+v", how, again, err, first)
		}
		if purchases, _ := s.Purchases(t.Context()); purchases != 1 {
			t.Errorf("%+v: %d purchases", how, purchases)
		}
	}
}

func TestAnOrderUnderWay(t *testing.T) {
	var c clock
	s := serve(t, fake.Options{OrderTime: time.Minute, NumberLag: time.Minute, Now: c.now})
	d := s.open(t, nil)
	o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
	pending := telephony.Number{E164: o.E164, Pending: true}
	if n, err := d.Buy(t.Context(), o); err != nil || n != pending {
		t.Errorf("ordered: %+v, %v", n, err)
	}
	for range 2 { // under way, and then filled but not listed
		if n, err := d.FindOrder(t.Context(), o); err != nil || n != pending {
			t.Errorf("after %s: %+v, %v", time.Duration(c.passed.Load()), n, err)
		}
		c.pass(time.Minute)
	}
	n, err := d.FindOrder(t.Context(), o)
	if err != nil || n.Pending || n.Ref != s.Held()[0].ID {
		t.Errorf("filled: %+v, %v", n, err)
	}
	if err := s.Vanish(t.Context(), o.E164); err != nil {
		t.Fatal(err)
	}
	if n, err := d.FindOrder(t.Context(), o); err != nil || n != pending {
		t.Errorf("just filled, and not there: %+v, %v", n, err)
	}
	c.pass(15 * time.Minute)
	_, err = d.FindOrder(t.Context(), o)
	wantFault(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

func TestAFilledOrderStandsWhateverCannotBeReadOfIt(t *testing.T) {
	for rule, instead := range map[string]http.Handler{
		"a key that is refused":     says(401, `{"errors":[{"code":"10009"}]}`),
		"a key that may not read":   says(403, `{"errors":[{"code":"10010"}]}`),
		"no such path":              says(404, `{}`),
		"too many calls":            says(429, `{"errors":[{"code":"10011"}]}`),
		"a server that is down":     says(503, ``),
		"a page that is not Telnyx": says(200, `<html>`),
		"no answer": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}),
	} {
		t.Run(rule, func(t *testing.T) {
			var filled atomic.Bool
			s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if filled.Load() && strings.HasSuffix(r.URL.Path, "/phone_numbers") {
						instead.ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(w, r)
					if r.Method == http.MethodPost {
						filled.Store(true)
					}
				})
			})
			d := s.open(t, nil)
			o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
			n, err := d.Buy(t.Context(), o)
			if err != nil || n != (telephony.Number{E164: o.E164, Pending: true}) {
				t.Errorf("ordered: %+v, %v", n, err)
			}
			filled.Store(false)
			if n, err := d.FindOrder(t.Context(), o); err != nil || n.Pending || n.Ref != s.Held()[0].ID {
				t.Errorf("once it can be read: %+v, %v", n, err)
			}
		})
	}
}

// If an answer without numbers, or without what a number has, counted as an empty list, the number would be ordered
// again, or count as given back.
func TestANumberThatCannotBeReadIsNotMissing(t *testing.T) {
	for _, answer := range []string{
		`{}`, `{"data":null}`, `{"errors":[{"code":"10007"}]}`, `{"data":[{"phone_number":"+14155550100"}]}`,
	} {
		var c clock
		var ordered, instead atomic.Bool
		s := serve(t, fake.Options{Now: c.now}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case instead.Load() && strings.HasSuffix(r.URL.Path, "/phone_numbers"):
					says(200, answer).ServeHTTP(w, r)
				case instead.Load() && !ordered.Load() && strings.HasSuffix(r.URL.Path, "/number_orders"):
					says(200, `{"data":[]}`).ServeHTTP(w, r) // the list of orders lags behind
				default:
					next.ServeHTTP(w, r)
				}
			})
		})
		d := s.open(t, nil)
		o := telephony.Order{Key: "k1", E164: "+14155550100"}
		if offered(t, d, "415") != o.E164 {
			t.Fatal("another number is offered")
		}
		if _, err := d.Buy(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		c.pass(15 * time.Minute)
		instead.Store(true)
		for _, shown := range []bool{false, true} {
			ordered.Store(shown)
			if n, err := d.FindOrder(t.Context(), o); err == nil || errors.Is(err, fault.NotFound) {
				t.Errorf("%s, order shown %t: %+v, %v", answer, shown, n, err)
			}
		}
	}
}

func TestAnOrderThatCannotBeReadIsNotMissing(t *testing.T) {
	for _, answer := range []string{
		`{}`, `{"data":{}}`, `{"data":{"id":"other"}}`, `{"data":{"id":"same","status":"pending"}}`,
	} {
		var c clock
		var instead atomic.Bool
		s := serve(t, fake.Options{OrderTime: time.Minute, Now: c.now}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, id, one := strings.Cut(r.URL.Path, "/number_orders/"); one && instead.Load() {
					says(200, strings.Replace(answer, "same", id, 1)).ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		d := s.open(t, nil)
		o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
		if n, err := d.Buy(t.Context(), o); err != nil || !n.Pending {
			t.Fatalf("ordered: %+v, %v", n, err)
		}
		instead.Store(true)
		if n, err := d.FindOrder(t.Context(), o); err == nil || errors.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", answer, n, err)
		}
	}
}

func TestAnOrderThatFailsLaterIsTaken(t *testing.T) {
	var c clock
	s := serve(t, fake.Options{OrderTime: time.Minute, Now: c.now})
	d := s.open(t, nil)
	s.FailOrders(1)
	o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
	if n, err := d.Buy(t.Context(), o); err != nil || !n.Pending {
		t.Fatalf("ordered: %+v, %v", n, err)
	}
	c.pass(time.Minute)
	_, err := d.FindOrder(t.Context(), o)
	wantFault(t, err, fault.Conflict, fault.ReasonNumberTaken)

	// The purchase continues with the same key: with another number, and then with this one again.
	offers, err := d.Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 2})
	if err != nil || len(offers) != 2 || offers[0].E164 != o.E164 {
		t.Fatalf("for sale are %v, %v", offers, err)
	}
	next := o
	next.E164 = offers[1].E164
	for _, o := range []telephony.Order{next, o} {
		if _, err := d.Buy(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
	}
	for _, o := range []telephony.Order{next, o} {
		if n, err := d.FindOrder(t.Context(), o); err != nil || n.E164 != o.E164 || n.Ref == "" {
			t.Errorf("ordered %s: %+v, %v", o.E164, n, err)
		}
	}
}

func TestANumberThatHasAnothersDigitsIsAnother(t *testing.T) {
	s := serve(t, fake.Options{})
	if err := s.Arrive(t.Context(), "+5514155550100"); err != nil {
		t.Fatal(err)
	}
	_, err := s.open(t, nil).FindOrder(t.Context(), telephony.Order{Key: "k1", E164: "+14155550100"})
	wantFault(t, err, fault.NotFound, fault.ReasonNumberNotFound)
}

func TestAKeyThatBeginsLikeAnotherIsAnother(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := bought(t, d, "k10")
	_, err := d.FindOrder(t.Context(), telephony.Order{Key: "k1", E164: n.E164})
	wantFault(t, err, fault.Conflict, fault.ReasonNumberTaken)
}

func TestWhatTheOrderLacksIsSaid(t *testing.T) {
	for lines, what := range map[string]string{
		`[{"field_type":"address"}]`:                           "requires an address",
		`[{"field_type":"address"},{"field_type":"document"}]`: "requires documents",
	} {
		s := serve(t, fake.Options{}, on(http.MethodPost, says(200,
			`{"data":{"id":"o1","status":"pending","requirements_met":false,
			"phone_numbers":[{"phone_number":"+14155550100","status":"pending","regulatory_requirements":`+lines+
				`}]}}`)))
		_, err := s.open(t, nil).Buy(t.Context(), telephony.Order{Key: "k1", E164: "+14155550100"})
		f := wantFault(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
		if !strings.HasPrefix(f.Detail, "+14155550100 is ordered") || !strings.Contains(f.Detail, what) {
			t.Errorf("it says %q", f.Detail)
		}
	}
}

// An order that waits for documents may still buy its number, and one that was cancelled never does.
func TestAnOrderThatLacksDocumentsStands(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	s.AskForDocuments(true)
	o := telephony.Order{Key: "k1", E164: offered(t, d, "415")}
	for range 2 {
		_, err := d.Buy(t.Context(), o) // the second time, Telnyx refuses a number that is on order
		wantFault(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
	}
	_, err := d.FindOrder(t.Context(), o)
	wantFault(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
	s.AddDocuments()
	if n, err := d.FindOrder(t.Context(), o); err != nil || n.E164 != o.E164 {
		t.Errorf("with documents: %+v, %v", n, err)
	}
	o = telephony.Order{Key: "k2", E164: offered(t, d, "415")}
	_, err = d.Buy(t.Context(), o)
	wantFault(t, err, fault.UnknownOutcome, fault.ReasonOrderPending)
	s.CancelOrders()
	_, err = d.FindOrder(t.Context(), o)
	wantFault(t, err, fault.Conflict, fault.ReasonNumberTaken)
}

func TestAChangeLeavesTheRest(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := bought(t, d, "k1")
	if err := s.Tag(n.E164, "sales", "north"); err != nil {
		t.Fatal(err)
	}
	name := "Front office"
	for _, to := range []telephony.Routing{{Application: fake.Application}, {Application: fake.Trunk}, {}} {
		got, err := d.Change(t.Context(), n.Ref, telephony.Change{Name: &name, Routing: &to})
		if err != nil || got.Name != name || got.Routing != to {
			t.Errorf("changed: %+v, %v", got, err)
		}
		if held := s.Held()[0]; strings.Join(held.Tags, " ") != "sales north" ||
			held.ConnectionID != to.Application || held.CustomerReference != name {
			t.Errorf("held is %+v", held)
		}
	}
	none := ""
	if got, err := d.Change(t.Context(), n.Ref, telephony.Change{Name: &none}); err != nil || got.Name != "" ||
		s.Held()[0].CustomerReference != "" {
		t.Errorf("without a name: %+v, %v", got, err)
	}
}

func TestAChangeThatIsNotToBeMadeIsRefused(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := bought(t, d, "k1")
	calls := s.Calls()
	reference := "frontdesk-order-k2"
	_, err := d.Change(t.Context(), n.Ref, telephony.Change{Name: &reference})
	if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidRequest); f.Fields[0].Path != "name" {
		t.Errorf("named is %v", f.Fields)
	}
	_, err = d.Change(t.Context(), n.Ref,
		telephony.Change{Routing: &telephony.Routing{VoiceURL: "https://agents.example.com"}})
	wantFault(t, err, fault.Invalid, fault.ReasonProviderRefused)
	if s.Calls() != calls {
		t.Error("Telnyx was asked")
	}
}

func TestAChangeThatDoesNotShowIsNotCalledDone(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := bought(t, d, "k1")
	s.KeepSettings(true)
	name := "Front office"
	for _, c := range []telephony.Change{
		{Name: &name}, {Routing: &telephony.Routing{Application: fake.Application}},
	} {
		_, err := d.Change(t.Context(), n.Ref, c)
		wantFault(t, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
}

func TestNumbersThatAreNotTheAccountsAreNotThere(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	n := bought(t, d, "k1")
	if err := s.Status(n.E164, "ported-out"); err != nil {
		t.Fatal(err)
	}
	page, err := d.Numbers(t.Context(), telephony.Query{})
	if err != nil || len(page.Numbers) != 0 {
		t.Errorf("listed are %+v, %v", page, err)
	}
	_, err = d.Number(t.Context(), n.Ref)
	wantFault(t, err, fault.NotFound, fault.ReasonNumberNotFound)
	wantFault(t, d.Release(t.Context(), n.Ref), fault.NotFound, fault.ReasonNumberNotFound)
}

func TestAListThatShrinksMeanwhileIsNotCalledWhole(t *testing.T) {
	s := serve(t, fake.Options{})
	d := s.open(t, nil)
	first, second := bought(t, d, "k1"), bought(t, d, "k2")
	page, err := d.Numbers(t.Context(), telephony.Query{Limit: 1})
	if err != nil || page.Next == "" || page.Numbers[0].E164 != first.E164 {
		t.Fatalf("the first page is %+v, %v", page, err)
	}
	bought(t, d, "k3") // sorts after the others
	if next, err := d.Numbers(t.Context(), telephony.Query{Limit: 1, Cursor: page.Next}); err != nil ||
		next.Numbers[0].E164 != second.E164 {
		t.Errorf("the second page is %+v, %v", next, err)
	}
	for _, n := range []telephony.Number{first, second} {
		if err := d.Release(t.Context(), n.Ref); err != nil {
			t.Fatal(err)
		}
	}
	_, err = d.Numbers(t.Context(), telephony.Query{Limit: 1, Cursor: page.Next})
	wantFault(t, err, fault.Unavailable, fault.ReasonProviderUnavailable)
}

func TestPagesGoOnWithoutACountOfThem(t *testing.T) {
	s := serve(t, fake.Options{})
	s.Instead(says(200, `{"data":[{"id":"1","phone_number":"+14155550100"}],"meta":{}}`))
	if page, err := s.open(t, nil).Numbers(t.Context(), telephony.Query{Limit: 1}); err != nil ||
		page.Next == "" {
		t.Errorf("the page is %+v, %v", page, err)
	}
}

func TestNothingIsDeletedThatIsBlocked(t *testing.T) {
	for _, c := range []struct {
		before func(s *testServer, e164 string) error
		reason string
	}{
		{func(s *testServer, e164 string) error { return s.Lock(e164, true) }, fault.ReasonNumberLocked},
		{func(s *testServer, e164 string) error { return s.Emergency(e164, "active") },
			fault.ReasonEmergencyAddress},
		{func(s *testServer, e164 string) error { return s.Emergency(e164, "deprovisioning") },
			fault.ReasonEmergencyAddress},
	} {
		s := serve(t, fake.Options{}, on(http.MethodDelete, says(500, `it was deleted`)))
		d := s.open(t, nil)
		n := bought(t, d, "k1")
		if err := c.before(s, n.E164); err != nil {
			t.Fatal(err)
		}
		wantFault(t, d.Release(t.Context(), n.Ref), fault.Conflict, c.reason)
	}
}

func TestAnswersThatSaySomethingElse(t *testing.T) {
	const other = `{"data":{"id":"2","phone_number":"+14155550199","status":"active"}}`
	name := "Front office"
	for _, c := range []struct {
		rule, method, body string
		call               func(t *testing.T, d telephony.Driver, ref string) error
		code               fault.Code
	}{
		{"nobody's key", http.MethodGet, `{"data":{}}`,
			func(t *testing.T, d telephony.Driver, _ string) error { _, err := d.Account(t.Context()); return err },
			fault.Unsupported},
		{"a sign-in page", http.MethodGet, `<html>`,
			func(t *testing.T, d telephony.Driver, _ string) error { _, err := d.Account(t.Context()); return err },
			fault.Unsupported},
		{"another number", http.MethodGet, other, func(t *testing.T, d telephony.Driver, ref string) error {
			_, err := d.Number(t.Context(), ref)
			return err
		}, fault.Unsupported},
		{"numbers without ids", http.MethodGet, `{"data":[{}]}`, func(
			t *testing.T, d telephony.Driver, _ string,
		) error {
			_, err := d.Numbers(t.Context(), telephony.Query{})
			return err
		}, fault.Unsupported},
		{"more numbers than asked for", http.MethodGet,
			`{"data":[{"id":"1","phone_number":"+1"},{"id":"2","phone_number":"+2"}]}`,
			func(t *testing.T, d telephony.Driver, _ string) error {
				_, err := d.Numbers(t.Context(), telephony.Query{Limit: 1})
				return err
			}, fault.Unsupported},
		{"an order of another number", http.MethodPost,
			`{"data":{"id":"o","status":"success","phone_numbers":[{"phone_number":"+14155550199"}]}}`,
			func(t *testing.T, d telephony.Driver, _ string) error {
				_, err := d.Buy(t.Context(), telephony.Order{Key: "k", E164: "+14155550100"})
				return err
			}, fault.UnknownOutcome},
		{"a page for an order", http.MethodPost, `<html>`, func(t *testing.T, d telephony.Driver, _ string) error {
			_, err := d.Buy(t.Context(), telephony.Order{Key: "k", E164: "+14155550100"})
			return err
		}, fault.UnknownOutcome},
		{"no order", http.MethodPost, `{}`, func(t *testing.T, d telephony.Driver, _ string) error {
			_, err := d.Buy(t.Context(), telephony.Order{Key: "k", E164: "+14155550100"})
			return err
		}, fault.UnknownOutcome},
		{"another number changed", http.MethodPatch, other, func(
			t *testing.T, d telephony.Driver, ref string,
		) error {
			_, err := d.Change(t.Context(), ref, telephony.Change{Name: &name})
			return err
		}, fault.UnknownOutcome},
		{"another number deleted", http.MethodDelete, strings.Replace(other, "active", "deleted", 1),
			func(t *testing.T, d telephony.Driver, ref string) error { return d.Release(t.Context(), ref) },
			fault.UnknownOutcome},
		{"a number that is there still", http.MethodDelete, other,
			func(t *testing.T, d telephony.Driver, ref string) error { return d.Release(t.Context(), ref) },
			fault.UnknownOutcome},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var ours atomic.Bool
			s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if ours.Load() && r.Method == c.method {
						says(200, c.body).ServeHTTP(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			d := s.open(t, nil)
			n := bought(t, d, "k1")
			ours.Store(true)
			f := fault.From(c.call(t, d, n.Ref))
			if f == nil || f.Code != c.code || f.Unsent || !strings.HasPrefix(f.Detail, "Telnyx ") {
				t.Errorf("answered %v, want %s", f, string(c.code))
			}
		})
	}
}
