package twilio_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontdesk/adapters/telephony/twilio/fake"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/telephony"
)

// log records the requests, as "METHOD resource?query form".
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		_, resource, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/2010-04-01/Accounts/"), "/")
		line := r.Method + " " + strings.TrimSuffix(resource, ".json")
		if r.URL.RawQuery != "" {
			line += "?" + r.URL.RawQuery
		}
		if len(r.PostForm) > 0 {
			line += " " + r.PostForm.Encode()
		}
		l.mu.Lock()
		l.lines = append(l.lines, line)
		l.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// since returns the lines that were recorded after the last call of since.
func (l *log) since() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

// noon is the start of purchases.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func order(e164 string) telephony.Order {
	return telephony.Order{
		Key: "k1", Since: noon, E164: e164, Name: "Front office",
		Routing: telephony.Routing{VoiceURL: "https://agents.example.com/voice"},
	}
}

func at(when time.Time) func() time.Time { return func() time.Time { return when } }

func wantFault(t *testing.T, rule string, err error, code fault.Code, reason string) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Code != code || f.Reason != reason {
		t.Errorf("%s: answered %v, want %s %s", rule, err, string(code), reason)
	}
}

func TestAnOrderAsksForTheNumberAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		rule     string
		settings []string
		want     []string
	}{
		{"alone", nil, []string{"POST IncomingPhoneNumbers PhoneNumber=%2B14155550100"}},
		{"with what the connection buys numbers with, once it is known not to be held",
			[]string{"address_sid=" + fake.Address, "bundle_sid=" + fake.Bundle}, []string{
				"GET IncomingPhoneNumbers?PhoneNumber=%2B14155550100",
				"POST IncomingPhoneNumbers AddressSid=" + fake.Address + "&BundleSid=" + fake.Bundle +
					"&PhoneNumber=%2B14155550100",
			}},
	} {
		var l log
		s := serve(t, fake.Options{Now: at(noon)}, l.around)
		n, err := s.driver(t, c.settings...).Buy(t.Context(), order("+14155550100"))
		if got := l.since(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: asked %q, %v", c.rule, got, err)
		}
		if want := (telephony.Number{Ref: "PN00000000000000000000000000000001", E164: "+14155550100",
			Name: "(415) 555-0100"}); n != want {
			t.Errorf("%s: answered %+v, want %+v", c.rule, n, want)
		}
	}
}

func TestANumberIsTheOrdersOwnByWhenItCame(t *testing.T) {
	for _, c := range []struct {
		rule string
		came time.Duration // after the purchase began
		ours bool
	}{
		{"after the purchase began", time.Second, true},
		{"before, by as much as clocks are apart", -5 * time.Minute, true},
		{"before", -5*time.Minute - time.Second, false},
		{"long before", -9000 * time.Hour, false},
	} {
		for _, settings := range [][]string{nil, {"address_sid=" + fake.Address}} {
			s := serve(t, fake.Options{Now: at(noon.Add(c.came))})
			s.Arrive(fake.AccountSID, "+14155550100")
			before, _ := s.Number("+14155550100")
			d := s.driver(t, settings...)
			_, bought := d.Buy(t.Context(), order("+14155550100"))
			_, lookErr := d.FindOrder(t.Context(), order("+14155550100"))
			for what, err := range map[string]error{"Buy": bought, "FindOrder": lookErr} {
				if !c.ours {
					wantFault(t, c.rule+", "+what, err, fault.Conflict, fault.ReasonNumberTaken)
				} else if err != nil {
					t.Errorf("%s, %s: %v", c.rule, what, err)
				}
			}
			if after, _ := s.Number("+14155550100"); after != before && !c.ours || s.Purchases() != 0 {
				t.Errorf("%s: the number was %+v and is %+v, after %d purchases", c.rule, before, after, s.Purchases())
			}
		}
	}
}

func TestAnOrderThatIsRefusedMayHaveBeenFilledBefore(t *testing.T) {
	down := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	s := serve(t, fake.Options{RefusesHeld: true, Now: at(noon)})
	s.DropNextReply()
	if _, err := s.driver(t).Buy(t.Context(), order("+14155550100")); err == nil {
		t.Fatal("the reply was not lost")
	}
	n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
	if err != nil || n.E164 != "+14155550100" || s.Purchases() != 1 {
		t.Errorf("answered %+v, %v after %d purchases", n, err, s.Purchases())
	}
	if _, err := s.Snatch("415"); err != nil {
		t.Fatal(err)
	}
	_, err = s.driver(t).Buy(t.Context(), order("+14155550101"))
	wantFault(t, "a number that is nobody's order", err, fault.Conflict, fault.ReasonNumberTaken)

	blind := serve(t, fake.Options{RefusesHeld: true}, down)
	_, err = blind.driver(t).Buy(t.Context(), order("+14155559999"))
	wantFault(t, "a number of which nobody can tell", err, fault.RateLimited, fault.ReasonProviderRateLimited)
	if fault.From(err).Unsent {
		t.Error("an order that may have been filled is called unsent")
	}
}

func TestAPurchaseIsReadStrictly(t *testing.T) {
	const good = `{"sid":"PN00000000000000000000000000000001","phone_number":"+14155550100","date_created":"Sat, 21 Nov 2026 12:00:00 +0000"}`
	for rule, body := range map[string]string{
		"another number":            strings.Replace(good, "0100", "0101", 1),
		"no SID":                    strings.Replace(good, "PN0", "XX0", 1),
		"a date that is none":       strings.Replace(good, "21 Nov", "21 Brumaire", 1),
		"no date":                   strings.Replace(good, "date_created", "date_updated", 1),
		"a page":                    `<html>Signed in</html>`,
		"nothing":                   ``,
		"a list in a number's room": `[]`,
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(http.StatusCreated, body))
		_, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
		wantFault(t, rule, err, fault.UnknownOutcome, fault.ReasonOutcomeUnknown)
	}
	s := serve(t, fake.Options{})
	s.Instead(says(http.StatusCreated, good))
	if n, err := s.driver(t).Buy(t.Context(), order("+14155550100")); err != nil ||
		n.Ref != "PN00000000000000000000000000000001" {
		t.Errorf("a purchase: %+v, %v", n, err)
	}
}

func says(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

func TestAChangeLeavesOneWayForCallsToGo(t *testing.T) {
	name := "Night desk"
	for _, c := range []struct {
		rule string
		c    telephony.Change
		want string
	}{
		{"the name alone", telephony.Change{Name: &name}, "FriendlyName=Night+desk"},
		{"an address: trunk and application are cleared",
			telephony.Change{Routing: &telephony.Routing{VoiceURL: "https://a.example/v?n=%2B1"}},
			"TrunkSid=&VoiceApplicationSid=&VoiceMethod=POST&VoiceUrl=https%3A%2F%2Fa.example%2Fv%3Fn%3D%252B1"},
		{"an application deletes the trunk",
			telephony.Change{Routing: &telephony.Routing{Application: fake.Application}},
			"VoiceApplicationSid=" + fake.Application + "&VoiceUrl="},
		{"a trunk deletes the application", telephony.Change{Routing: &telephony.Routing{SIPTrunk: fake.Trunk}},
			"TrunkSid=" + fake.Trunk + "&VoiceUrl="},
		{"nowhere", telephony.Change{Routing: &telephony.Routing{}}, "TrunkSid=&VoiceApplicationSid=&VoiceUrl="},
		{"both at once, in one request", telephony.Change{Name: &name, Routing: &telephony.Routing{}},
			"FriendlyName=Night+desk&TrunkSid=&VoiceApplicationSid=&VoiceUrl="},
	} {
		var l log
		s := serve(t, fake.Options{Now: at(noon)}, l.around)
		n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Alter(n.E164, func(n *fake.Number) {
			n.VoiceURL, n.SMSURL, n.SMSApplication = "https://old.example/", "https://sms.example/", fake.Application
		})
		if err != nil {
			t.Fatal(err)
		}
		l.since()
		_, err = s.driver(t).Change(t.Context(), n.Ref, c.c)
		if got, want := l.since(), []string{"POST IncomingPhoneNumbers/" + n.Ref + " " + c.want}; err != nil ||
			!slices.Equal(got, want) {
			t.Errorf("%s: asked %q, want %q, %v", c.rule, got, want, err)
		}
		after, _ := s.Number(n.E164)
		if after.SMSURL != "https://sms.example/" || after.SMSApplication != fake.Application {
			t.Errorf("%s: messages lead to %+v", c.rule, after)
		}
		if to := c.c.Routing; to != nil &&
			(after.VoiceURL != to.VoiceURL || after.Application != to.Application || after.Trunk != to.SIPTrunk) {
			t.Errorf("%s: the number is %+v", c.rule, after)
		}
	}
}

func TestAChangeThatIsNotMadeIsTold(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
	if err != nil {
		t.Fatal(err)
	}
	s.IgnoreChanges()
	name := "Night desk"
	for rule, c := range map[string]telephony.Change{
		"another name": {Name: &name},
		"a trunk":      {Routing: &telephony.Routing{SIPTrunk: fake.Trunk}},
	} {
		_, err := s.driver(t).Change(t.Context(), n.Ref, c)
		wantFault(t, rule, err, fault.Conflict, fault.ReasonProviderConflict)
		if !fault.From(err).NoRetry {
			t.Errorf("%s: a repeat is suggested, although a person has to look", rule)
		}
	}
	if _, err := s.driver(t).Change(t.Context(), n.Ref, telephony.Change{
		Name: &n.Name, Routing: &telephony.Routing{},
	}); err != nil {
		t.Errorf("what is so already: %v", err)
	}
}

func TestANameThatIsTooLongIsRefusedByItsField(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
	if err != nil {
		t.Fatal(err)
	}
	for rule, c := range map[string]struct {
		name string
		ok   bool
	}{"64 characters": {strings.Repeat("ü", 64), true}, "65 characters": {strings.Repeat("ü", 65), false}} {
		calls := s.Calls()
		_, err := s.driver(t).Change(t.Context(), n.Ref, telephony.Change{Name: &c.name})
		refused := slices.Equal(faulttest.Paths(err), []string{"name"}) && s.Calls() == calls
		if c.ok && err != nil || !c.ok && !refused {
			t.Errorf("%s: %v after %d calls", rule, err, s.Calls()-calls)
		}
	}
}

func TestASearchOffersWhatCanBeBought(t *testing.T) {
	local := func(country, areaCode string, more ...string) string {
		query := url.Values{"AreaCode": {areaCode}, "VoiceEnabled": {"true"}, "PageSize": {"3"}}
		if len(more) == 0 {
			query.Set("ExcludeAllAddressRequired", "true")
		}
		return "GET AvailablePhoneNumbers/" + country + "/Local?" + query.Encode()
	}
	for _, c := range []struct {
		rule, areaCode string
		settings       []string
		want           []string
		asked          []string
	}{
		{"of the US", "415", nil, []string{"+14155550100", "+14155550101", "+14155550102"},
			[]string{local("US", "415")}},
		{"of Canada, where the US has none", "604", nil, []string{"+16045550100", "+16045550101", "+16045550102"},
			[]string{local("US", "604"), local("CA", "604")}},
		{"of Canada alone", "604", []string{"country=CA"}, []string{"+16045550100", "+16045550101", "+16045550102"},
			[]string{local("CA", "604")}},
		{"of the US alone", "604", []string{"country=US"}, nil, []string{local("US", "604")}},
		{"none that takes no calls", "702", nil, []string{"+17025550102", "+17025550103", "+17025550104"},
			[]string{local("US", "702")}},
		{"none that needs an address, where there is none", "808", nil, nil,
			[]string{local("US", "808"), local("CA", "808")}},
		{"those that need an address, where there is one", "808", []string{"address_sid=" + fake.Address},
			[]string{"+18085550100", "+18085550101", "+18085550102"}, []string{local("US", "808", "all")}},
		{"an area code that Twilio finds to be none", "199", nil, nil,
			[]string{local("US", "199"), local("CA", "199")}},
	} {
		var l log
		s := serve(t, fake.Options{}, l.around)
		offers, err := s.driver(t, c.settings...).Search(t.Context(), telephony.Search{
			AreaCode: c.areaCode, Limit: 3,
		})
		var got []string
		for _, o := range offers {
			got = append(got, o.E164)
		}
		if asked := l.since(); err != nil || !slices.Equal(got, c.want) || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: answered %q, %v, asked %q", c.rule, got, err, asked)
		}
	}
	s := serve(t, fake.Options{})
	if offers, err := s.driver(t).Search(t.Context(), telephony.Search{AreaCode: "415"}); err != nil ||
		offers != nil || s.Calls() != 0 {
		t.Errorf("none wanted: %v, %v after %d calls", offers, err, s.Calls())
	}
}

func TestAnOfferIsLookedAt(t *testing.T) {
	offer := func(fields string) string { return `{"available_phone_numbers":[{` + fields + `}]}` }
	none := `{"code":21452,"message":"No phone numbers found in area code 415","status":404}`
	gone := `{"code":20404,"message":"not found","status":404}`
	for _, c := range []struct {
		rule, body string
		status     int
		offers     int
		code       fault.Code
	}{
		{"a number", offer(
			`"phone_number":"+14155550100","address_requirements":"none","capabilities":{"voice":true}`), 200, 1, ""},
		{"of another area code", offer(
			`"phone_number":"+16465550100","address_requirements":"none","capabilities":{"voice":true}`), 200, 0, ""},
		{"that is none", offer(
			`"phone_number":"+1415CALLME","address_requirements":"none","capabilities":{"voice":true}`), 200, 0, ""},
		{"that takes no calls", offer(
			`"phone_number":"+14155550100","address_requirements":"none","capabilities":{"SMS":true}`), 200, 0, ""},
		{"that needs an address", offer(
			`"phone_number":"+14155550100","address_requirements":"local","capabilities":{"voice":true}`), 200, 0, ""},
		{"more than are wanted", `{"available_phone_numbers":[` +
			strings.Repeat(`{"phone_number":"+14155550100","capabilities":{"voice":true}},`, 6) + `{}]}`, 200, 5, ""},
		{"none", `{"available_phone_numbers":[]}`, 200, 0, ""},
		{"none, by its code", none, 404, 0, ""},
		{"nothing sold to the account", gone, 404, 0, fault.Unsupported},
		{"another API", `{}`, 200, 0, fault.Unsupported},
		{"no API", `<html>`, 404, 0, fault.Unsupported},
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(c.status, c.body))
		offers, err := s.driver(t).Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 5})
		if len(offers) != c.offers {
			t.Errorf("%s: offered are %v", c.rule, offers)
		}
		if c.code == "" && err != nil || c.code != "" && fault.From(err).Code != c.code {
			t.Errorf("%s: %v", c.rule, err)
		}
	}
}

func TestOneCountryWithoutNumbersIsNoFault(t *testing.T) {
	for _, without := range []string{"US", "CA"} {
		s := serve(t, fake.Options{}, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/"+without+"/") {
					says(404, `{"code":20404,"status":404}`).ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		offers, err := s.driver(t).Search(t.Context(), telephony.Search{AreaCode: "212", Limit: 5})
		if err != nil || len(offers) != 0 {
			t.Errorf("without %s: %v, %v", without, offers, err)
		}
	}
}

func TestWhatStandsAgainstARelease(t *testing.T) {
	const blocked, free = telephony.BlockEmergency, telephony.BlockNone
	for _, c := range []struct {
		status, address string
		want            telephony.Block
	}{
		{"registered", fake.Address, blocked}, {"registered", "", blocked},
		{"pending-registration", fake.Address, blocked}, {"pending-registration", "", blocked},
		{"pending-unregistration", fake.Address, blocked}, {"pending-unregistration", "", blocked},
		{"unregistration-failure", fake.Address, blocked}, {"unregistration-failure", "", blocked},
		{"unregistered", fake.Address, free}, {"unregistered", "", free},
		{"registration-failure", fake.Address, free},
		{"", fake.Address, blocked}, {"", "", free},
		{"of a later version", fake.Address, blocked}, {"of a later version", "", free},
	} {
		rule := c.status + " with " + c.address
		var l log
		s := serve(t, fake.Options{Now: at(noon)}, l.around)
		n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Alter(n.E164, func(n *fake.Number) {
			n.EmergencyAddress, n.EmergencyNow = c.address, c.status
		}); err != nil {
			t.Fatal(err)
		}
		if number, err := s.driver(t).Number(t.Context(), n.Ref); err != nil || number.Block != c.want {
			t.Errorf("%s: told is %+v, %v", rule, number, err)
		}
		l.since()
		err = s.driver(t).Release(t.Context(), n.Ref)
		asked, want := l.since(), []string{"GET IncomingPhoneNumbers/" + n.Ref}
		if c.want == free {
			want = append(want, "DELETE IncomingPhoneNumbers/"+n.Ref)
			if err != nil && c.status != "of a later version" {
				t.Errorf("%s: %v", rule, err)
			}
		} else {
			wantFault(t, rule, err, fault.Conflict, fault.ReasonEmergencyAddress)
		}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: asked %q, want %q", rule, asked, want)
		}
	}
}

func TestAnEmergencyAddressThatIsBeingRemovedIsWaitedFor(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RegisterEmergencyAddress(n.E164); err != nil {
		t.Fatal(err)
	}
	done, err := s.UnregisterEmergencyAddress(n.E164)
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, "until it is gone", s.driver(t).Release(t.Context(), n.Ref), fault.Conflict,
		fault.ReasonEmergencyAddress)
	if err := done(); err != nil {
		t.Fatal(err)
	}
	if err := s.driver(t).Release(t.Context(), n.Ref); err != nil {
		t.Errorf("once it is gone: %v", err)
	}
}

func TestAnAccountThatCannotBeUsedIsTold(t *testing.T) {
	for _, status := range []string{"suspended", "closed"} {
		for rule, how := range map[string]fake.Options{"main": {}, "standard": {StandardKey: true}} {
			s := serve(t, how)
			s.SetStatus(status)
			_, err := s.open(t, byKey, nil).Account(t.Context())
			wantFault(t, status+", by a "+rule+" key", err, fault.Forbidden, fault.ReasonAccountSuspended)
		}
		s := serve(t, fake.Options{})
		s.SetStatus(status)
		_, err := s.driver(t).Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 1})
		wantFault(t, status+", by any call", err, fault.Forbidden, fault.ReasonAccountSuspended)
	}
	s := serve(t, fake.Options{})
	strange := s.driver(t, "subaccount_sid=AC00000000000000000000000000000bad")
	for rule, ask := range map[string]func() error{
		"the account": func() error { _, err := strange.Account(t.Context()); return err },
		"its numbers": func() error { _, err := strange.Numbers(t.Context(), telephony.Query{}); return err },
		"a purchase":  func() error { _, err := strange.Buy(t.Context(), order("+14155550100")); return err },
		"an offer": func() error {
			_, err := strange.Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 1})
			return err
		},
	} {
		wantFault(t, "of a subaccount that is nobody's, "+rule, ask(), fault.Unsupported,
			fault.ReasonProviderMisconfigured)
	}
	s.Instead(says(200, `{"sid":"AC0000000000000000000000000000a009","friendly_name":"Somebody"}`))
	_, err := s.driver(t).Account(t.Context())
	wantFault(t, "another account", err, fault.Unsupported, fault.ReasonProviderMisconfigured)
}

func TestPurchasesThatTheAccountMayNotMake(t *testing.T) {
	for _, c := range []struct {
		rule, e164 string
		how        fake.Options
		before     func(*testServer)
		settings   []string
		code       fault.Code
		reason     string
	}{
		{"a second number on a trial", "+14155550101", fake.Options{Trial: true},
			func(s *testServer) { s.Arrive(fake.AccountSID, "+16465550100") }, nil, fault.Exhausted,
			fault.ReasonTrialLimit},
		{"a number on a trial's subaccount", "+14155550101", fake.Options{Trial: true}, nil,
			[]string{"subaccount_sid=" + fake.SubaccountSID}, fault.Exhausted, fault.ReasonTrialLimit},
		{"with nothing left", "+14155550101", fake.Options{}, func(s *testServer) { s.SetBalance("-0.01") }, nil,
			fault.Exhausted, fault.ReasonInsufficientFunds},
		{"with nothing left, of a subaccount", "+14155550101", fake.Options{},
			func(s *testServer) { s.SetBalance("0") }, []string{"subaccount_sid=" + fake.SubaccountSID},
			fault.Exhausted, fault.ReasonInsufficientFunds},
		{"a number that needs an address", "+18085550100", fake.Options{}, nil, nil, fault.Conflict,
			fault.ReasonAddressRequired},
		{"a number that needs documents", "+19075550100", fake.Options{}, nil, nil, fault.Conflict,
			fault.ReasonBundleRequired},
		{"while the account is suspended", "+14155550101", fake.Options{},
			func(s *testServer) { s.SetStatus("suspended") }, nil, fault.Forbidden, fault.ReasonAccountSuspended},
		{"when somebody else was faster", "+14155550101", fake.Options{}, func(s *testServer) { s.SnatchNext(1) },
			nil, fault.Conflict, fault.ReasonNumberTaken},
		{"what is no number", "+1415555010", fake.Options{}, nil, nil, fault.Conflict, fault.ReasonNumberTaken},
		{"what cannot be a number", "14155550100", fake.Options{}, nil, nil, fault.Invalid,
			fault.ReasonProviderRefused},
	} {
		s := serve(t, c.how)
		if c.before != nil {
			c.before(s)
		}
		_, err := s.driver(t, c.settings...).Buy(t.Context(), order(c.e164))
		wantFault(t, c.rule, err, c.code, c.reason)
		if s.Purchases() != 0 {
			t.Errorf("%s: %d purchases", c.rule, s.Purchases())
		}
	}
}

func TestTheBalanceIsAskedForAfterARefusalThatSaysNothing(t *testing.T) {
	for _, c := range []struct {
		rule    string
		status  int
		body    string
		balance string
		asked   bool
		reason  string
	}{
		{"no code, nothing left", 400, `{"status":400}`, `"0.00"`, true, fault.ReasonInsufficientFunds},
		{"no code, less than a number costs", 400, `{"status":400}`, `"0.99"`, true, fault.ReasonInsufficientFunds},
		{"no code, a number instead of text", 400, `{"status":400}`, `-3`, true, fault.ReasonInsufficientFunds},
		{"no code, enough left", 400, `{"status":400}`, `"1.15"`, true, fault.ReasonProviderRefused},
		{"no code, a balance that is none", 400, `{"status":400}`, `"unlimited"`, true,
			fault.ReasonProviderRefused},
		{"forbidden, nothing left", 403, `{"code":20010}`, `"0"`, true, fault.ReasonInsufficientFunds},
		{"said by the status", 402, `{}`, `"50"`, false, fault.ReasonInsufficientFunds},
		{"a code that says why", 400, `{"code":21649}`, `"0"`, false, fault.ReasonBundleRequired},
		{"a number that is none", 400, `{"code":21421}`, `"0"`, false, fault.ReasonProviderRefused},
		{"down", 503, `{}`, `"0"`, false, fault.ReasonProviderUnavailable},
	} {
		var asked bool
		s := serve(t, fake.Options{}, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/"+fake.AccountSID+"/Balance.json") {
					asked = true
					says(200, `{"balance":`+c.balance+`}`).ServeHTTP(w, r)
					return
				}
				says(c.status, c.body).ServeHTTP(w, r)
			})
		})
		_, err := s.driver(t, "subaccount_sid="+fake.SubaccountSID).Buy(t.Context(), order("+14155550100"))
		if f := fault.From(err); f == nil || f.Reason != c.reason || asked != c.asked {
			t.Errorf("%s: answered %v, the balance asked for: %t", c.rule, err, asked)
		}
	}
}

// TestTwiliosTestNumbers buys the numbers of twilio.com/docs/iam/test-credentials with test credentials.
func TestTwiliosTestNumbers(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	d := s.open(t, access{"account_sid": testSID, "auth_token": testToken}, nil)
	_, err := d.Buy(t.Context(), order("+15005550000"))
	wantFault(t, "a number that is unavailable", err, fault.Conflict, fault.ReasonNumberTaken)
	_, err = d.Buy(t.Context(), order("+15005550001"))
	wantFault(t, "a number that is invalid", err, fault.Invalid, fault.ReasonProviderRefused)
	n, err := d.Buy(t.Context(), order("+15005550006"))
	if err != nil || n.E164 != "+15005550006" || n.Name != "(500) 555-0006" || s.Purchases() != 0 ||
		len(s.Numbers()) != 0 {
		t.Errorf("a number that is valid: %+v, %v", n, err)
	}
	_, err = d.Search(t.Context(), telephony.Search{AreaCode: "500", Limit: 1})
	wantFault(t, "what test credentials cannot do", err, fault.Forbidden, fault.ReasonPermissionDenied)
}

func TestPagesAreFollowedByWhatSaysWhichTheyAre(t *testing.T) {
	var l log
	s := serve(t, fake.Options{}, l.around)
	for _, e164 := range []string{"+14155550100", "+14155550101", "+14155550102"} {
		s.Arrive(fake.AccountSID, e164)
	}
	s.Arrive(fake.SubaccountSID, "+14155550103")
	var got []string
	for q := (telephony.Query{Limit: 2}); ; {
		page, err := s.driver(t).Numbers(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Numbers {
			got = append(got, n.E164)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if want := []string{"+14155550102", "+14155550101", "+14155550100"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	want := []string{
		"GET IncomingPhoneNumbers?PageSize=2",
		"GET IncomingPhoneNumbers?Page=1&PageSize=2&PageToken=PAPN00000000000000000000000000000002",
	}
	if asked := l.since(); !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

func TestAPageLeadsNowhereElse(t *testing.T) {
	for next, want := range map[string]struct {
		cursor string
		ok     bool
	}{
		"/2010-04-01/Accounts/AC1/IncomingPhoneNumbers.json?PageSize=50&Page=1&PageToken=PAPN1": {
			"Page=1&PageToken=PAPN1", true,
		},
		"https://evil.example/?Page=1&PageToken=PAPN1&PhoneNumber=x":     {"Page=1&PageToken=PAPN1", true},
		"/2010-04-01/Accounts/AC1/IncomingPhoneNumbers.json?PageSize=50": {"", false},
		"https://evil.example/":              {"", false},
		"?Page=-1":                           {"", false},
		"?Page=1&PageToken=a%0d%0aHost:%20b": {"", false},
		"%zz":                                {"", false},
	} {
		s := serve(t, fake.Options{})
		s.Instead(says(200, `{"incoming_phone_numbers":[],"next_page_uri":"`+next+`"}`))
		page, err := s.driver(t).Numbers(t.Context(), telephony.Query{})
		if (err == nil) != want.ok || page.Next != want.cursor {
			t.Errorf("%s: the cursor is %q, %v", next, page.Next, err)
		}
		if _, err := s.driver(t).Numbers(t.Context(), telephony.Query{Cursor: want.cursor}); want.ok && err == nil {
			t.Errorf("%s: the page that leads to itself is no fault", next)
		}
	}
	s := serve(t, fake.Options{})
	for _, cursor := range []string{
		"https://evil.example/", "Page=1&PhoneNumber=x", "Page=1&Page=2", "PageToken=", "/", "%zz", "Page=x",
	} {
		_, err := s.driver(t).Numbers(t.Context(), telephony.Query{Cursor: cursor})
		if !slices.Equal(faulttest.Paths(err), []string{"cursor"}) || s.Calls() != 0 {
			t.Errorf("%q: %v after %d calls", cursor, err, s.Calls())
		}
	}
}

func TestOfAListOnlyWhatIsMeantCounts(t *testing.T) {
	const (
		date  = `"date_created":"Sat, 21 Nov 2026 12:00:00 +0000"`
		other = `{"sid":"PN00000000000000000000000000000002","phone_number":"+141555501009",` + date + `}`
		ours  = `{"sid":"PN00000000000000000000000000000001","phone_number":"+14155550100",` + date + `}`
		none  = `{"sid":"PN00000000000000000000000000000003","phone_number":null,` + date + `}`
	)
	s := serve(t, fake.Options{})
	s.Instead(says(200, `{"incoming_phone_numbers":[`+other+`,`+none+`,`+ours+`]}`))
	if n, err := s.driver(t).FindOrder(t.Context(), order("+14155550100")); err != nil ||
		n.Ref != "PN00000000000000000000000000000001" {
		t.Errorf("of numbers that are alike, the one ordered: %+v, %v", n, err)
	}
	page, err := s.driver(t).Numbers(t.Context(), telephony.Query{})
	if err != nil || len(page.Numbers) != 2 || page.Numbers[1].E164 != "+14155550100" {
		t.Errorf("without what is no number: %+v, %v", page, err)
	}
}

func TestTrunkBeatsApplicationBeatsAddress(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	n, err := s.driver(t).Buy(t.Context(), order("+14155550100"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set  func(*fake.Number)
		want telephony.Routing
	}{
		{func(n *fake.Number) { n.VoiceURL = "https://a.example/" },
			telephony.Routing{VoiceURL: "https://a.example/"}},
		{func(n *fake.Number) { n.Application = fake.Application },
			telephony.Routing{Application: fake.Application}},
		{func(n *fake.Number) { n.Trunk = fake.Trunk }, telephony.Routing{SIPTrunk: fake.Trunk}},
	} {
		if err := s.Alter(n.E164, c.set); err != nil {
			t.Fatal(err)
		}
		if got, err := s.driver(t).Number(t.Context(), n.Ref); err != nil || got.Routing != c.want {
			t.Errorf("the number leads to %+v, %v, want %+v", got.Routing, err, c.want)
		}
	}
}

func TestItAsksNoMoreThanItNeeds(t *testing.T) {
	s := serve(t, fake.Options{Now: at(noon)})
	d := s.driver(t)
	var n telephony.Number
	name := "Night desk"
	for _, c := range []struct {
		rule string
		do   func() error
		want int
	}{
		{"an account", func() error { _, err := d.Account(t.Context()); return err }, 1},
		{"offers", func() error {
			_, err := d.Search(t.Context(), telephony.Search{AreaCode: "415", Limit: 10})
			return err
		}, 1},
		{"a purchase", func() (err error) { n, err = d.Buy(t.Context(), order("+14155550100")); return err }, 1},
		{"what became of it", func() error {
			_, err := d.FindOrder(t.Context(), order("+14155550100"))
			return err
		},
			1},
		{"a page", func() error { _, err := d.Numbers(t.Context(), telephony.Query{}); return err }, 1},
		{"a number", func() error { _, err := d.Number(t.Context(), n.Ref); return err }, 1},
		{"a change", func() error {
			_, err := d.Change(t.Context(), n.Ref, telephony.Change{
				Name: &name, Routing: &telephony.Routing{SIPTrunk: fake.Trunk},
			})
			return err
		}, 1},
		{"a release: look, release", func() error { return d.Release(t.Context(), n.Ref) }, 2},
	} {
		before := s.Calls()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if asked := s.Calls() - before; asked != c.want {
			t.Errorf("%s: %d calls, want %d", c.rule, asked, c.want)
		}
	}
}
