package telnyx

import (
	"encoding/json"
	"strings"
	"testing"

	"frontdesk/core/adapter"
	"frontdesk/core/fault/faulttest"
	"frontdesk/core/telephony"
)

func TestANumberIsToldAsTelnyxHasIt(t *testing.T) {
	whole := telephony.Number{Ref: "1293384261075731499", E164: "+19705555098"}
	for _, c := range []struct {
		rule, input string
		want        func(*telephony.Number)
	}{
		{"null is nothing",
			`"status":"active","connection_id":null,"customer_reference":null,"emergency_status":null`,
			func(*telephony.Number) {}},
		{"the reference is the name", `"customer_reference":"Front office"`,
			func(n *telephony.Number) { n.Name = "Front office" }},
		{"what an order left is no name", `"customer_reference":"frontdesk-order-abc123"`,
			func(*telephony.Number) {}},
		{"what only looks like it is one", `"customer_reference":"frontdesk-order-ABC"`,
			func(n *telephony.Number) { n.Name = "frontdesk-order-ABC" }},
		{"the connection is the application", `"connection_id":"1521916448077776306"`,
			func(n *telephony.Number) { n.Routing.Application = "1521916448077776306" }},
		{"it is being bought", `"status":"purchase-pending"`, func(n *telephony.Number) { n.Pending = true }},
		{"it is being bought, on an older page", `"status":"purchase_pending"`,
			func(n *telephony.Number) { n.Pending = true }},
		{"it waits for documents", `"status":"requirement-info-exception"`,
			func(n *telephony.Number) { n.Pending = true }},
		{"it is being provisioned", `"status":"provision-pending"`, func(n *telephony.Number) { n.Pending = true }},
		{"it leaves", `"status":"port-out-pending"`, func(*telephony.Number) {}},
		{"a status of tomorrow", `"status":"resting"`, func(*telephony.Number) {}},
		{"locked", `"deletion_lock_enabled":true`, func(n *telephony.Number) { n.Block = telephony.BlockLock }},
		{"with emergency calls", `"emergency_enabled":true`,
			func(n *telephony.Number) { n.Block = telephony.BlockEmergency }},
		{"with emergency calls soon", `"emergency_status":"provisioning"`,
			func(n *telephony.Number) { n.Block = telephony.BlockEmergency }},
		{"with emergency calls still", `"emergency_status":"deprovisioning","emergency_enabled":false`,
			func(n *telephony.Number) { n.Block = telephony.BlockEmergency }},
		{"without emergency calls", `"emergency_status":"disabled","emergency_address_id":"1"`,
			func(*telephony.Number) {}},
		{"whose emergency calls failed", `"emergency_status":"provisioning-failed"`, func(*telephony.Number) {}},
	} {
		var n number
		if err := json.Unmarshal([]byte(`{"id":"1293384261075731499","phone_number":"+19705555098",`+c.input+`}`),
			&n); err != nil {
			t.Fatal(err)
		}
		want := whole
		c.want(&want)
		if got := n.number(); got != want || !n.readable() || n.standing() == gone {
			t.Errorf("%s: told %+v, want %+v", c.rule, got, want)
		}
	}
	for _, status := range []string{"deleted", "ported-out", "purchase-failed", "port_failed"} {
		if (number{Status: status}).standing() != gone {
			t.Errorf("a number that is %s is the account's", status)
		}
	}
}

func TestTheAddressMayLackTheVersion(t *testing.T) {
	for address, want := range map[string]string{
		"https://api.telnyx.com/v2":  "https://api.telnyx.com/v2",
		"https://api.telnyx.com/v2/": "https://api.telnyx.com/v2",
		"https://api.telnyx.com":     "https://api.telnyx.com/v2",
		"https://api.telnyx.com/":    "https://api.telnyx.com/v2",
		"http://127.0.0.1:9122//":    "http://127.0.0.1:9122/v2",
		"https://proxy.example/t/v2": "https://proxy.example/t/v2",
	} {
		if got, err := apiBase(address); err != nil || got != want {
			t.Errorf("%s is %s, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "telnyx", "http://\x00"} {
		if got, err := apiBase(address); err == nil {
			t.Errorf("%q is %s", address, got)
		}
	}
}

func TestSettingsThatDoNotFitAreNamed(t *testing.T) {
	for _, c := range []struct {
		rule        string
		settings    map[string]any
		credentials map[string]string
		fields      string
	}{
		{"nothing but a key", nil, map[string]string{"api_key": "k"}, ""},
		{"a connection by its UUID", map[string]any{"connection_id": "1d0e6cb8-8668-462e-94c6-49ae0f0ed48b",
			"country": "CA"}, map[string]string{"api_key": "k"}, ""},
		{"no key, and another country", map[string]any{"country": "DE"}, nil,
			"settings.country credentials.api_key"},
		{"a connection by its name", map[string]any{"connection_id": "my connection"},
			map[string]string{"api_key": "k"}, "settings.connection_id"},
		{"a connection with a path", map[string]any{"connection_id": "1/../2"}, map[string]string{"api_key": "k"},
			"settings.connection_id"},
	} {
		_, err := Adapter().OpenTelephony(t.Context(),
			adapter.Values{Settings: c.settings, Credentials: c.credentials},
			adapter.Environment{Addresses: adapter.Addresses{"api_url": "https://api.telnyx.com/v2"}})
		named := faulttest.Paths(err)
		if got := strings.Join(named, " "); got != c.fields || (err == nil) != (c.fields == "") {
			t.Errorf("%s: %v names %q, want %q", c.rule, err, got, c.fields)
		}
	}
}

func TestCursorsAreOfTheirPagesSize(t *testing.T) {
	for _, c := range []struct {
		query telephony.Query
		want  pagePosition
		good  bool
	}{
		{telephony.Query{}, pagePosition{1, 250, 0}, true},
		{telephony.Query{Limit: 7}, pagePosition{1, 7, 0}, true},
		{telephony.Query{Limit: 1000}, pagePosition{1, 250, 0}, true},
		{telephony.Query{Cursor: "2.250.300"}, pagePosition{2, 250, 300}, true},
		{telephony.Query{Cursor: "3.7.21", Limit: 7}, pagePosition{3, 7, 21}, true},
		{telephony.Query{Cursor: "3.7.21", Limit: 8}, pagePosition{}, false},
		{telephony.Query{Cursor: "1.250.300"}, pagePosition{}, false},
		{telephony.Query{Cursor: "2.250"}, pagePosition{}, false},
		{telephony.Query{Cursor: "2.250.300.1"}, pagePosition{}, false},
		{telephony.Query{Cursor: "02.250.300"}, pagePosition{}, false},
		{telephony.Query{Cursor: "-2.250.300"}, pagePosition{}, false},
		{telephony.Query{Cursor: "2.250.-1"}, pagePosition{}, false},
		{telephony.Query{Cursor: "x"}, pagePosition{}, false},
	} {
		got, err := positionOf(c.query)
		if got != c.want || (err == nil) != c.good {
			t.Errorf("%+v is %+v, %v", c.query, got, err)
		}
	}
}

// FuzzAnswers decodes any response: it is read or refused, and nothing panics.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`,
		`{"errors":[null,{"code":10009},{"code":"20100","source":{"pointer":"/phone_numbers/0"}}]}`,
		`{"errors":{"code":"1"}}`,
		`{"data":{"id":"1","phone_number":"+14155550100","status":"purchase_pending","customer_reference":"frontdesk-order-a"}}`,
		`{"data":[{"id":"12","status":"failure","created_at":"yesterday","phone_numbers":[null,{"phone_number":"+1","regulatory_requirements":[{}]}]}]}`,
		`{"data":[{"phone_number":"+14155550100"},{"phone_number":"+1415555xxxx","best_effort":true}],"meta":{"total_pages":2}}`,
	} {
		f.Add([]byte(seed), 422)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		for _, about := range []subject{anything, aSearch, anOrder, oneNumber} {
			if f := refusal(about, status, nil, body); f.Detail == "" || f.Code == "" || f.Reason == "" {
				t.Errorf("%q with %d is refused without a word: %v", body, status, f)
			}
		}
		var n numberAnswer
		if json.Unmarshal(body, &n) == nil && n.Data.readable() && references.MatchString(n.Data.number().Name) {
			t.Errorf("%q is named by its order", body)
		}
		var found offersAnswer
		if json.Unmarshal(body, &found) == nil {
			for _, o := range found.offers(telephony.Search{AreaCode: "415", Limit: 3}) {
				if !strings.HasPrefix(o.E164, "+1415") || len(o.E164) != len("+14155550100") {
					t.Errorf("%q offers %+v", body, o)
				}
			}
		}
		var made orderAnswer
		if json.Unmarshal(body, &made) == nil {
			line, _ := made.Data.lineOf("+14155550100")
			line.addressAlone()
			made.Data.changedAt()
		}
		_ = json.Unmarshal(body, &ordersAnswer{})
		_ = json.Unmarshal(body, &numbersAnswer{})
	})
}

// FuzzCursors checks that a cursor that is accepted is one that a page would return.
func FuzzCursors(f *testing.F) {
	for _, seed := range []string{
		"", "2.250.300", "3.7.21", "2.250", "02.250.1", "9999999999999999999.250.1", "2.250.1\x00",
	} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, cursor string, limit int) {
		at, err := positionOf(telephony.Query{Cursor: cursor, Limit: limit})
		if err != nil {
			return
		}
		if at.page < 1 || at.size < 1 || at.size > mostPerPage || cursor != "" && at.cursor() != cursor {
			t.Errorf("%q with limit %d is %+v", cursor, limit, at)
		}
	})
}
