package freshdesk

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/crm"
)

func TestATicketIsReadAsToldByFreshdesk(t *testing.T) {
	words := labels{statuses: choices{{2, "Offen"}, {7, "Beim Klempner"}}, priorities: choices{{3, "Hoch"}}}
	at := time.Date(2026, 3, 12, 11, 19, 18, 0, time.UTC)
	for _, c := range []struct {
		rule, input string
		want        crm.Ticket
	}{
		{"ids, labels of the account, HTML",
			`{"id":7,"subject":"Login","description":"<div>a<br>b</div>","description_text":"ab","status":7,"priority":3,
			"responder_id":501001202520,"company_id":501000456789,"requester_id":501001204168}`,
			crm.Ticket{ID: "7", Number: "7", Subject: "Login",
				Description: crm.Text{Body: "<div>a<br>b</div>", HTML: true}, Status: "Beim Klempner", Priority: "Hoch",
				OwnerID: "501001202520", AccountID: "501000456789", ContactID: "501001204168"}},
		{"null is nothing", `{"id":7,"subject":null,"description":null,"description_text":null,"status":2,"priority":null,"responder_id":null,"stats":null,"conversations":null}`,
			crm.Ticket{ID: "7", Number: "7", Status: "Offen"}},
		{"text alone", `{"id":7,"description_text":"a","status":2}`,
			crm.Ticket{ID: "7", Number: "7", Description: crm.Plain("a"), Status: "Offen"}},
		{"what has no label is its number", `{"id":7,"status":99,"priority":9}`,
			crm.Ticket{ID: "7", Number: "7", Status: "99", Priority: "9"}},
		{"resolved",
			`{"id":7,"status":4,"stats":{"resolved_at":"2026-03-12T11:19:18Z","closed_at":"2026-03-11T11:19:18Z"}}`,
			crm.Ticket{ID: "7", Number: "7", Status: "4", ResolvedAt: at}},
		{"closed",
			`{"id":7,"status":5,"stats":{"resolved_at":"2026-03-12T11:19:18Z","closed_at":"2026-03-12T11:19:18Z"}}`,
			crm.Ticket{ID: "7", Number: "7", Status: "5", ResolvedAt: at, ClosedAt: at}},
		{"opened again",
			`{"id":7,"status":2,"stats":{"resolved_at":"2026-03-12T11:19:18Z","closed_at":"2026-03-12T11:19:18Z"}}`,
			crm.Ticket{ID: "7", Number: "7", Status: "Offen"}},
	} {
		var read ticket
		if err := json.Unmarshal([]byte(c.input), &read); err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		if got := ticketOf(read, words); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.rule, got, c.want)
		}
	}
}

func TestLabelsAreReadInTheAccountsOrder(t *testing.T) {
	for _, c := range []struct {
		rule, input          string
		statuses, priorities []string
	}{
		{"of both fields", `[{"type":"default_status","choices":{"7":["Beim Klempner","x"],"2":["Offen","y"]}},{"type":"default_priority","choices":{"Hoch":3,"Niedrig":1}}]`,
			[]string{"Beim Klempner", "Offen"}, []string{"Hoch", "Niedrig"}},
		{"that can be told apart", `[{"type":"default_status","choices":{"2":["Open"],"6":[" open "],"7":[""],"8":[],"x":["X"],"9":"no list"}}]`,
			[]string{"Open"}, standard.priorities.labels()},
		{"or the usual ones", `[{"type":"default_status","choices":["Open"]},{"type":"default_priority"},{"type":"custom_dropdown","choices":{"2":["No"]}}]`,
			standard.statuses.labels(), standard.priorities.labels()},
	} {
		var listed []field
		if err := json.Unmarshal([]byte(c.input), &listed); err != nil {
			t.Fatal(err)
		}
		if v := labelsOf(listed).vocabulary(); !slices.Equal(v.Statuses, c.statuses) ||
			!slices.Equal(v.Priorities, c.priorities) {
			t.Errorf("%s: %q", c.rule, v)
		}
	}
}

func TestAStatusOfTheNameOfAnotherIsStillTold(t *testing.T) {
	c := choices(nil).with(2, "Open").with(6, " open ")
	if number, ok := c.numberOf("Open"); !ok || number != 2 || c.labelOf(6) != "open" || !c.knows(6) {
		t.Errorf("the choices are %+v", c)
	}
}

func TestPlainTextBecomesHTMLThatSaysTheSame(t *testing.T) {
	for plain, want := range map[string]string{
		"a\nb\r\nc": "a<br>b<br>c", "3 < 4 & <b>": "3 &lt; 4 &amp; &lt;b&gt;", "": "",
	} {
		if got := htmlOf(plain); got != want {
			t.Errorf("%q is written %q, want %q", plain, got, want)
		}
	}
}

// FuzzAnswers reads arbitrary responses: each gives a ticket or an error, and none causes a panic.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[null]`, `{"errors":[null,{"field":"email"}]}`,
		`{"errors":[{"field":"status","code":"missing_field"}]}`, `{"2":["Open"],"2":["Again"]}`,
		`{"2":`, `[{"type":"default_status","choices":{"2":["Open",null]}}]`,
		`{"id":1,"conversations":[null,{"body_text":"a"}],"stats":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if f := refusal("POST", 400, nil, body); f.Detail == "" {
			t.Errorf("%q is refused without a word", body)
		}
		var fields []field
		_ = json.Unmarshal(body, &fields)
		words := labelsOf(fields)
		for _, label := range words.vocabulary().Statuses {
			if label == "" || label != strings.TrimSpace(label) || len(words.put(label, "", &newTicket{})) > 0 {
				t.Errorf("the label %q of %q cannot be given", label, body)
			}
		}
		var decoded ticket
		if json.Unmarshal(body, &decoded) == nil {
			ticketOf(decoded, words)
			lastPublic(decoded.Conversations)
		}
	})
}
