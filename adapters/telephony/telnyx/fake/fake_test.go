package fake_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"frontdesk/adapters/telephony/telnyx/fake"
)

// ask returns the status and the body.
func ask(
	t *testing.T, s *fake.Server, method, path, body string, change func(*http.Request),
) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, fake.APIPath+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer KEY-fake")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s %s answered %d %q: %v", method, path, w.Code, w.Body, err)
	}
	return w.Code, answer
}

const (
	search = "/available_phone_numbers?filter[country_code]=US&filter[national_destination_code]=415&" +
		"filter[limit]=2"
	order = `{"phone_numbers":[{"phone_number":"+14155550100"}],"customer_reference":"r1"}`
)

func TestItRefusesWhatTelnyxRefuses(t *testing.T) {
	for _, c := range []struct {
		rule, method, path, body string
		change                   func(*http.Request)
		want                     int
		code                     string
	}{
		{"a good search", "GET", search, "", nil, 200, ""},
		{"no key", "GET", search, "", func(r *http.Request) { r.Header.Del("Authorization") }, 401, "10009"},
		{"another key", "GET", "/whoami", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
			401, "10009"},
		{"a search without a country", "GET", "/available_phone_numbers?filter[limit]=1", "", nil, 400, "10015"},
		{"a search without a limit", "GET", "/available_phone_numbers?filter[country_code]=US", "",
			nil, 400, "10015"},
		{"a filter that is none", "GET", search + "&filter[area]=1", "", nil, 400, "10015"},
		{"a number that no search has shown", "POST", "/number_orders", order, nil, 422, "10015"},
		{"an order of nothing", "POST", "/number_orders", `{"phone_numbers":[]}`, nil, 422, "10015"},
		{"an order with a property that is none", "POST", "/number_orders", `{"phone_numbers":[],"name":"x"}`,
			nil, 400, "10015"},
		{"an order to a connection that is none", "POST", "/number_orders",
			`{"phone_numbers":[{"phone_number":"+1"}],"connection_id":"1"}`, nil, 422, "10015"},
		{"no JSON", "POST", "/number_orders", `order`, nil, 400, "10015"},
		{"JSON that is not called so", "POST", "/number_orders", order,
			func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, "10014"},
		{"a page that is too large", "GET", "/phone_numbers?page[size]=251", "", nil, 400, "10015"},
		{"an order that is none", "GET", "/phone_numbers?sort=name", "", nil, 400, "10015"},
		{"too few digits", "GET", "/phone_numbers?filter[phone_number]=41", "", nil, 400, "10015"},
		{"no such number", "GET", "/phone_numbers/1", "", nil, 404, "10005"},
		{"no such number to change", "PATCH", "/phone_numbers/1", `{}`, nil, 404, "10005"},
		{"no such number to delete", "DELETE", "/phone_numbers/1", "", nil, 404, "10005"},
		{"no such order", "GET", "/number_orders/1", "", nil, 404, "10005"},
		{"no such path", "GET", "/calls", "", nil, 404, "10005"},
	} {
		status, answer := ask(t, fake.New(fake.Options{}), c.method, c.path, c.body, c.change)
		code := ""
		if errors, refused := answer["errors"].([]any); refused {
			code = errors[0].(map[string]any)["code"].(string)
		}
		if status != c.want || code != c.code {
			t.Errorf("%s: answered %d %v, want %d %s", c.rule, status, answer, c.want, c.code)
		}
	}
}

func TestAnOrderIsMadeOfANumberLatelyShown(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	s := fake.New(fake.Options{Now: func() time.Time { return now }, OrderTime: time.Second})
	ask(t, s, "GET", search, "", nil)
	now = now.Add(25 * time.Hour)
	if status, answer := ask(t, s, "POST", "/number_orders", order, nil); status != 422 {
		t.Errorf("a day later it was answered %d %v", status, answer)
	}
	ask(t, s, "GET", search, "", nil)
	status, answer := ask(t, s, "POST", "/number_orders", order, nil)
	made := answer["data"].(map[string]any)
	if status != 200 || made["status"] != "pending" || len(s.Held()) != 0 {
		t.Fatalf("answered %d %v, held are %v", status, answer, s.Held())
	}
	if status, _ := ask(t, s, "POST", "/number_orders", order, nil); status != 422 {
		t.Errorf("a second order was answered %d", status)
	}
	now = now.Add(time.Second)
	held := s.Held()
	line := made["phone_numbers"].([]any)[0].(map[string]any)
	if len(held) != 1 || held[0].CustomerReference != "r1" || held[0].ID == line["id"] {
		t.Errorf("held are %+v, the order was %v", held, made)
	}
	if purchases, _ := s.Purchases(t.Context()); purchases != 1 || s.Orders()[0].Status != "success" {
		t.Errorf("%d purchases, orders are %+v", purchases, s.Orders())
	}
	if _, balance := ask(t, s, "GET", "/balance", "",
		nil); balance["data"].(map[string]any)["balance"] != "499.00" {
		t.Errorf("the balance is %v", balance)
	}
}

func TestALockedNumberIsNotDeleted(t *testing.T) {
	s := fake.New(fake.Options{})
	if err := s.Arrive(t.Context(), "+14155550100"); err != nil {
		t.Fatal(err)
	}
	id := s.Held()[0].ID
	if err := s.Lock("+14155550100", true); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask(t, s, "DELETE", "/phone_numbers/"+id, "", nil); status != 422 || len(s.Held()) != 1 {
		t.Errorf("a locked number was answered %d", status)
	}
	if err := s.Lock("+14155550100", false); err != nil {
		t.Fatal(err)
	}
	if status, answer := ask(t, s, "DELETE", "/phone_numbers/"+id, "", nil); status != 200 ||
		answer["data"].(map[string]any)["status"] != "deleted" || len(s.Held()) != 0 {
		t.Errorf("answered %d %v, held are %v", status, answer, s.Held())
	}
}

func TestStockRunsOutAndComesBack(t *testing.T) {
	s := fake.New(fake.Options{PerArea: 1})
	count := func() int {
		_, answer := ask(t, s, "GET", search, "", nil)
		return len(answer["data"].([]any))
	}
	if n := count(); n != 1 {
		t.Errorf("%d for sale", n)
	}
	s.SellOut("415")
	if n := count(); n != 0 {
		t.Errorf("%d for sale after all were sold", n)
	}
	s.Restock("415", 1)
	if n := count(); n != 1 {
		t.Errorf("%d for sale after more came", n)
	}
}

func TestLimitsAndSuspensionsEnd(t *testing.T) {
	s := fake.New(fake.Options{})
	s.Limit(time.Minute)
	if status, _ := ask(t, s, "GET", "/whoami", "", nil); status != 429 {
		t.Errorf("answered %d", status)
	}
	s.Unlimit()
	s.Suspend(true)
	if status, _ := ask(t, s, "GET", "/whoami", "", nil); status != 403 {
		t.Errorf("answered %d", status)
	}
	s.Suspend(false)
	if status, _ := ask(t, s, "GET", "/whoami", "", nil); status != 200 {
		t.Errorf("answered %d", status)
	}
}
