package fake_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"frontdesk/adapters/telephony/twilio/fake"
)

const (
	token     = "an-auth-token"
	keySID    = "SK0000000000000000000000000000f001"
	testSID   = "AC0000000000000000000000000000fe57"
	testToken = "a-test-token"
)

// answer is a response: its status, and the parts of the body that tests check.
type answer struct {
	status           int
	Code             int
	SID, PhoneNumber string
	body             map[string]any
}

// ask sends a form, or requests a path, as user:secret.
func ask(t *testing.T, s *fake.Server, method, path, form, as string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/2010-04-01/Accounts/"+path,
		strings.NewReader(form))
	if user, secret, given := strings.Cut(as, ":"); given {
		r.SetBasicAuth(user, secret)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	a := answer{status: w.Code}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &a.body); err != nil {
			t.Fatalf("%s %s answered %q", method, path, w.Body)
		}
	}
	if code, is := a.body["code"].(float64); is {
		a.Code = int(code)
	}
	a.SID, _ = a.body["sid"].(string)
	a.PhoneNumber, _ = a.body["phone_number"].(string)
	return a
}

const (
	ours    = fake.AccountSID + ":" + token
	numbers = fake.AccountSID + "/IncomingPhoneNumbers.json"
)

func numberPath(sid string) string { return fake.AccountSID + "/IncomingPhoneNumbers/" + sid + ".json" }

func TestItRefusesWhatTwilioRefuses(t *testing.T) {
	search := fake.AccountSID + "/AvailablePhoneNumbers/"
	for _, c := range []struct {
		rule, method, path, form, as string
		status, code                 int
	}{
		{"a purchase", "POST", numbers, "PhoneNumber=%2B14155550100", ours, 201, 0},
		{"no credentials", "GET", numbers, "", "", 401, 20003},
		{"another token", "GET", numbers, "", fake.AccountSID + ":x", 401, 20003},
		{"a token that is empty", "GET", numbers, "", fake.AccountSID + ":", 401, 20003},
		{"a subaccount that asks for its parent", "GET", numbers, "", fake.SubaccountSID + ":sub", 401, 20003},
		{"a standard key that reads the account", "GET", fake.AccountSID + ".json", "",
			keySID + ":secret", 401, 20003},
		{"a standard key that reads the numbers", "GET", numbers, "", keySID + ":secret", 200, 0},
		{"an account that is nobody's", "GET", strings.Replace(numbers, "a001", "ffff", 1), "", ours, 404, 20404},
		{"a path without its ending", "GET", strings.TrimSuffix(numbers, ".json"), "", ours, 404, 20404},
		{"a number that is nobody's", "GET", numberPath("PN00000000000000000000000000000001"), "",
			ours, 404, 20404},
		{"a reference that is none", "DELETE", numberPath("0"), "", ours, 404, 20404},
		{"a purchase of nothing", "POST", numbers, "FriendlyName=x", ours, 400, 21421},
		{"a number that is none", "POST", numbers, "PhoneNumber=4155550100", ours, 400, 21421},
		{"a number that is not for sale", "POST", numbers, "PhoneNumber=%2B14155559999", ours, 400, 21422},
		{"an area code that is sold out", "POST", numbers, "AreaCode=212", ours, 400, 21452},
		{"an address that is missing", "POST", numbers, "PhoneNumber=%2B18085550100", ours, 400, 21631},
		{"an address that is none", "POST", numbers, "PhoneNumber=%2B18085550100&AddressSid=AD1", ours, 400, 21628},
		{"a bundle that is missing", "POST", numbers, "PhoneNumber=%2B19075550100", ours, 400, 21649},
		{"a name that is too long", "POST", numbers,
			"PhoneNumber=%2B14155550100&FriendlyName=" + strings.Repeat("a", 65), ours, 400, 20002},
		{"an application that is none", "POST", numbers,
			"PhoneNumber=%2B14155550100&VoiceApplicationSid=" + fake.Trunk, ours, 400, 21420},
		{"an address for calls that is none", "POST", numbers, "PhoneNumber=%2B14155550100&VoiceUrl=voice",
			ours, 400, 21402},
		{"a parameter that is none", "POST", numbers, "PhoneNumber=%2B14155550100&Voice=x", ours, 400, 20422},
		{"a page that is too large", "GET", numbers + "?PageSize=1001", "", ours, 400, 20007},
		{"a page without its token", "GET", numbers + "?Page=1", "", ours, 400, 21481},
		{"a page of another token", "GET", numbers + "?Page=1&PageToken=PAPN1", "", ours, 400, 21481},
		{"an area code that is none", "GET", search + "US/Local.json?AreaCode=1", "", ours, 400, 21451},
		{"mobile numbers of the US", "GET", search + "US/Mobile.json", "", ours, 404, 20404},
		{"a country without area codes", "GET", search + "GB/Local.json", "", ours, 404, 20404},
		{"the balance of a subaccount", "GET", fake.SubaccountSID + "/Balance.json", "", ours, 404, 20404},
		{"another resource", "GET", fake.AccountSID + "/Calls.json", "", ours, 404, 20404},
		{"another method", "PUT", numbers, "", ours, 404, 20404},
	} {
		s := fake.New(fake.Options{
			AuthToken: token, SubaccountToken: "sub", APIKeySID: keySID, APIKeySecret: "secret", StandardKey: true,
		})
		if a := ask(t, s, c.method, c.path, c.form, c.as); a.status != c.status || a.Code != c.code {
			t.Errorf("%s: answered %d %d, want %d %d", c.rule, a.status, a.Code, c.status, c.code)
		}
	}
}

// TestTwiliosTestCredentials tests the values of twilio.com/docs/iam/test-credentials.
func TestTwiliosTestCredentials(t *testing.T) {
	for _, c := range []struct {
		form         string
		status, code int
		number       string
	}{
		{"PhoneNumber=%2B15005550000", 400, 21422, ""},
		{"PhoneNumber=%2B15005550001", 400, 21421, ""},
		{"PhoneNumber=%2B15005550006", 201, 0, "+15005550006"},
		{"AreaCode=533", 400, 21452, ""},
		{"AreaCode=500", 201, 0, "+15005550006"},
	} {
		s := fake.New(fake.Options{TestAccountSID: testSID, TestAuthToken: testToken})
		a := ask(t, s, http.MethodPost, testSID+"/IncomingPhoneNumbers.json", c.form, testSID+":"+testToken)
		if a.status != c.status || a.Code != c.code || a.PhoneNumber != c.number || s.Purchases() != 0 ||
			len(s.Numbers()) != 0 {
			t.Errorf("%s: answered %+v after %d purchases", c.form, a, s.Purchases())
		}
		if a := ask(t, s, http.MethodGet, testSID+"/IncomingPhoneNumbers.json", "",
			testSID+":"+testToken); a.status != 403 || a.Code != 20008 {
			t.Errorf("anything else: answered %+v", a)
		}
	}
}

func TestWhatAPurchaseLeaves(t *testing.T) {
	s := fake.New(fake.Options{AuthToken: token, DefaultVoiceURL: "https://demo.example/"})
	first := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B14155550100", ours)
	again := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B14155550100&FriendlyName=Again", ours)
	other := ask(t, s, http.MethodPost, numbers, "AreaCode=415", ours)
	if again.status != 201 || again.SID != first.SID || other.SID == first.SID || s.Purchases() != 2 {
		t.Errorf("answered %+v, %+v and %+v after %d purchases", first, again, other, s.Purchases())
	}
	n, held := s.Number("+14155550100")
	if !held || n.Name != "Again" || n.VoiceURL != "https://demo.example/" || n.Account != fake.AccountSID {
		t.Errorf("held is %+v, %t", n, held)
	}
	if sale := s.ForSale("415"); len(sale) != 18 || sale[0] != "+14155550102" {
		t.Errorf("for sale are %q", sale)
	}
	if a := ask(t, s, http.MethodPost, fake.SubaccountSID+"/IncomingPhoneNumbers.json",
		"PhoneNumber=%2B14155550100", ours); a.Code != 21422 {
		t.Errorf("to another account: %+v", a)
	}
	if a := ask(t, s, http.MethodDelete, numberPath(first.SID), "", ours); a.status != 204 {
		t.Errorf("given back: %+v", a)
	}
	if a := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B14155550100", ours); a.Code != 21422 {
		t.Errorf("what was given back is sold again: %+v", a)
	}
}

func TestTrunkAndApplicationDeleteEachOther(t *testing.T) {
	s := fake.New(fake.Options{AuthToken: token})
	n := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B14155550100", ours)
	trunk, application := "TrunkSid="+fake.Trunk, "VoiceApplicationSid="+fake.Application
	for _, c := range []struct{ form, url, application, trunk string }{
		{"VoiceUrl=https://a.example/", "https://a.example/", "", ""},
		{trunk, "https://a.example/", "", fake.Trunk},
		{application, "https://a.example/", fake.Application, ""},
		{trunk + "&VoiceUrl=", "", "", fake.Trunk},
		{"VoiceUrl=https://b.example/&TrunkSid=&VoiceApplicationSid=", "https://b.example/", "", ""},
		{application + "&TrunkSid=", "https://b.example/", "", ""},
		{trunk + "&VoiceApplicationSid=", "https://b.example/", "", ""},
	} {
		if a := ask(t, s, http.MethodPost, numberPath(n.SID), c.form, ours); a.status != 200 {
			t.Fatalf("%s: answered %+v", c.form, a)
		}
		if got, _ := s.Number("+14155550100"); got.VoiceURL != c.url || got.Application != c.application ||
			got.Trunk != c.trunk {
			t.Errorf("%s: the number is %+v", c.form, got)
		}
	}
}

func TestPagesGoOnWhereTheyEnded(t *testing.T) {
	s := fake.New(fake.Options{AuthToken: token})
	for i := range 3 {
		s.Arrive(fake.AccountSID, fmt.Sprintf("+1415555010%d", i))
	}
	first := ask(t, s, http.MethodGet, numbers+"?PageSize=2", "", ours)
	s.Arrive(fake.AccountSID, "+14155550109") // the newest comes first
	next, _ := first.body["next_page_uri"].(string)
	second := ask(t, s, http.MethodGet, strings.TrimPrefix(next, "/2010-04-01/Accounts/"), "", ours)
	listed, _ := second.body["incoming_phone_numbers"].([]any)
	if len(listed) != 1 || listed[0].(map[string]any)["phone_number"] != "+14155550100" ||
		second.body["next_page_uri"] != nil {
		t.Errorf("the second page is %+v", second.body)
	}
	found := ask(t, s, http.MethodGet, numbers+"?PhoneNumber="+url.QueryEscape("+14155550101"), "", ours)
	if listed, _ := found.body["incoming_phone_numbers"].([]any); len(listed) != 1 {
		t.Errorf("found are %+v", found.body)
	}
}

func TestWhatHappensOutside(t *testing.T) {
	s := fake.New(fake.Options{AuthToken: token})
	s.SnatchNext(1)
	if a := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B14155550100", ours); a.Code != 21422 {
		t.Errorf("somebody was faster: %+v", a)
	}
	if e164, err := s.Snatch("415"); err != nil || e164 != "+14155550101" {
		t.Errorf("snatched is %s, %v", e164, err)
	}
	s.SellOut("415")
	if a := ask(t, s, http.MethodPost, numbers, "AreaCode=415", ours); a.Code != 21452 {
		t.Errorf("sold out: %+v", a)
	}
	if _, err := s.Snatch("415"); err == nil {
		t.Error("something is left to snatch")
	}
	s.Restock("+14155550123")
	n := ask(t, s, http.MethodPost, numbers, "AreaCode=415", ours)
	if n.PhoneNumber != "+14155550123" {
		t.Errorf("in stock again: %+v", n)
	}
	if err := s.RegisterEmergencyAddress("+14155550123"); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, s, http.MethodDelete, numberPath(n.SID), "", ours); a.status != 400 {
		t.Errorf("with an emergency address: %+v", a)
	}
	s.Vanish("+14155550123")
	if a := ask(t, s, http.MethodGet, numberPath(n.SID), "", ours); a.status != 404 {
		t.Errorf("vanished: %+v", a)
	}
	if err := s.Alter("+14155550123", func(*fake.Number) {}); err == nil {
		t.Error("a number that is gone was altered")
	}
	s.SetBalance("0")
	if a := ask(t, s, http.MethodPost, numbers, "PhoneNumber=%2B16465550100", ours); a.status != 400 ||
		s.Purchases() != 1 {
		t.Errorf("without funds: %+v after %d purchases", a, s.Purchases())
	}
	s.SetStatus("suspended")
	if a := ask(t, s, http.MethodGet, numbers, "", ours); a.status != 403 || a.Code != 20005 {
		t.Errorf("suspended: %+v", a)
	}
	if a := ask(t, s, http.MethodGet, fake.AccountSID+".json", "", ours); a.body["status"] != "suspended" {
		t.Errorf("the account: %+v", a)
	}
	s.SetStatus("active")
	s.Limit(0)
	if a := ask(t, s, http.MethodGet, numbers, "", ours); a.status != 429 || a.Code != 20429 {
		t.Errorf("too many: %+v", a)
	}
	s.Unlimit()
	if a := ask(t, s, http.MethodGet, numbers, "", ours); a.status != 200 {
		t.Errorf("not too many any more: %+v", a)
	}
}
