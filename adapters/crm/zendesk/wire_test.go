package zendesk

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"frontdesk/core/crm"
)

func TestATicketIsReadAsToldByZendesk(t *testing.T) {
	words := labels{
		custom: []customStatus{{123, "Waiting", true, "open"}}, priorities: []option{{"high", "Hoch"}},
	}
	for _, c := range []struct {
		rule, input string
		want        crm.Ticket
	}{
		{"ids of 14 digits, labels of the account",
			`{"id":35436,"subject":"Fire","description":"It burns.","status":"open","custom_status_id":123,"priority":"high",
			"assignee_id":20978392000101,"organization_id":50997400000401,"requester_id":20978392000303}`,
			crm.Ticket{ID: "35436", Number: "35436", Subject: "Fire", Description: crm.Plain("It burns."),
				Status: "Waiting", Priority: "Hoch",
				OwnerID: "20978392000101", AccountID: "50997400000401", ContactID: "20978392000303"}},
		{"null is nothing", `{"id":1,"subject":null,"description":null,"status":"hold","custom_status_id":null,"priority":null,"assignee_id":null,"organization_id":null,
			"requester_id":null,"created_at":null}`, crm.Ticket{ID: "1", Number: "1", Status: "On-hold"}},
		{"a closed ticket is closed, whatever it was solved with",
			`{"id":1,"status":"closed","custom_status_id":123}`, crm.Ticket{ID: "1", Number: "1", Status: "Closed"}},
		{"what has no label stays as it is", `{"id":1,"status":"sleeping","custom_status_id":9,"priority":"blue"}`,
			crm.Ticket{ID: "1", Number: "1", Status: "sleeping", Priority: "blue"}},
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

func TestLabelsThatCannotBeToldApartAreOne(t *testing.T) {
	l := labels{
		custom: []customStatus{
			{1, "Open", true, "open"}, {2, "open", true, "open"}, {3, "Old", false, "open"},
			{4, "Done", true, "solved"},
		},
		priorities: []option{{"low", "Low"}, {"normal", "LOW"}},
	}
	if v := l.vocabulary(); !slices.Equal(v.Statuses, []string{"Open", "Done"}) ||
		!slices.Equal(v.Priorities, []string{"Low"}) {
		t.Errorf("the vocabulary is %q", v)
	}
	var made newTicket
	if unknown := l.put("Old", "Low", &made); len(unknown) != 1 || unknown[0].Path != "status" ||
		made.Priority != "low" {
		t.Errorf("unknown are %+v of %+v", unknown, made)
	}
}

// FuzzAnswers reads arbitrary responses: each gives a ticket or an error, and none causes a panic.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `[]`, `{"error":{"title":"x"},"details":{"base":[null,{"description":":"}]}}`,
		`{"error":"RecordInvalid","details":{"requester":[{}]}}`,
		`{"id":1,"custom_status_id":1,"status":"closed"}`, `{"comments":[null,{"public":true}],"meta":null}`,
		`{"custom_statuses":[null,{"id":1,"agent_label":" a "}],"ticket_fields":[null,{"type":"status","system_field_options":[null,{"name":"A","value":"a"}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if f := (&driver{}).refusal("POST", 422, nil, body); f.Detail == "" {
			t.Errorf("%q is refused without a word", body)
		}
		var statuses customStatusesAnswer
		var fields fieldsAnswer
		_, _ = json.Unmarshal(body, &statuses), json.Unmarshal(body, &fields)
		words := labelsOf(statuses, fields)
		for _, label := range words.vocabulary().Statuses {
			if label == "" || label != strings.TrimSpace(label) || len(words.put(label, "", &newTicket{})) > 0 {
				t.Errorf("the label %q of %q cannot be given", label, body)
			}
		}
		var decoded ticket
		if json.Unmarshal(body, &decoded) == nil {
			words.knows(decoded)
			ticketOf(decoded, words)
		}
	})
}
