package salesforce

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
)

func TestACaseOfTheDescription(t *testing.T) {
	const body = `{"totalSize":1,"done":true,"records":[{"attributes":{"type":"Case","url":"/services/data/v62.0/sobjects/Case/500dM00003F2OMjQAN"},
		"Id":"500dM00003F2OMjQAN","CaseNumber":"00001001","Subject":"Login issue","Description":"Caller cannot log in","Status":"New","Priority":"High",
		"OwnerId":"005dM00000aYf0qQAC","AccountId":"001dM00003jU9H2QAK","ContactId":null,"IsClosed":true,
		"CreatedDate":"2026-05-01T07:25:37.000+0000","LastModifiedDate":"2026-05-02T07:25:37.000+0000","ClosedDate":"2026-05-03T07:25:37.000+0000",
		"CaseComments":{"totalSize":1,"done":true,"records":[{"attributes":{"type":"CaseComment"},"CommentBody":"We have reset your password."}]}}]}`
	var found result[record]
	if err := decode([]byte(body), &found); err != nil {
		t.Fatal(err)
	}
	at := func(day int) time.Time { return time.Date(2026, time.May, day, 7, 25, 37, 0, time.UTC) }
	want := crm.Ticket{
		ID: "500dM00003F2OMjQAN", Number: "00001001", Subject: "Login issue",
		Description: crm.Plain("Caller cannot log in"), Status: "New", Priority: "High",
		OwnerID: "005dM00000aYf0qQAC", AccountID: "001dM00003jU9H2QAK", CreatedAt: at(1), UpdatedAt: at(2),
		ClosedAt: at(3), LastComment: crm.Plain("We have reset your password."),
	}
	if got := found.Records[0].ticket(); !reflect.DeepEqual(got, want) {
		t.Errorf("read as %+v, want %+v", got, want)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		rule, field string
		want        []string
	}{
		{"the label, else the value", `"createable":true,"picklistValues":[{"active":true,"label":"Neu","value":"New"},{"active":true,"label":null,"value":"Old"}]`, []string{"Neu", "Old"}},
		{"in order, active ones alone",
			`"createable":true,"picklistValues":[{"active":true,"value":"B"},{"active":false,"value":"C"},{"active":true,"value":"A"}]`, []string{"B", "A"}},
		{"each once", `"createable":true,"picklistValues":[{"active":true,"value":"New"},{"active":true,"value":"NEW "},{"active":true,"value":""}]`, []string{"New"}},
		{"none of a field that cannot be set",
			`"createable":false,"picklistValues":[{"active":true,"value":"New"}]`, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var d description
			if err := json.Unmarshal([]byte(`{"fields":[{"name":"Status",`+c.field+
				`},{"name":"Origin","createable":true,"picklistValues":[{"active":true,"value":"Web"}]}]}`),
				&d); err != nil {
				t.Fatal(err)
			}
			if got := d.picklists().status.labels(); !slices.Equal(got, c.want) {
				t.Errorf("labels %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzDecoding decodes arbitrary responses: each gives a fault or a usable ticket.
func FuzzDecoding(f *testing.F) {
	f.Add(
		[]byte(
			`{"compositeResponse":[{"httpStatusCode":201,"body":{"id":"5"}},{"httpStatusCode":200,"body":{"records":[{"Id":"5","CaseNumber":"1"}]}}]}`))
	f.Add(
		[]byte(
			`{"compositeResponse":[{"httpStatusCode":400,"body":[{"errorCode":"PROCESSING_HALTED"}]},{"httpStatusCode":400,"body":[{"errorCode":"MALFORMED_ID","fields":["OwnerId"]}]}]}`))
	f.Add(
		[]byte(
			`{"records":[{"Feeds":{"records":[{"Body":"<p>a</p>","IsRichText":true}]},"EmailMessages":null,"ClosedDate":"2026-05-01T07:25:37.000+0000"}]}`))
	f.Add(
		[]byte(
			`{"fields":[{"name":"Status","createable":true,"picklistValues":[{"active":true,"label":null,"value":"New"}]}]}`))
	f.Add([]byte(`[{"errorCode":"REQUIRED_FIELD_MISSING","fields":["Origin"]}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer compositeAnswer
		if decode(body, &answer) == nil {
			if _, refused := answer.refusal(crm.NewTicket{OwnerID: "005dM0000000001QAA"}, nil); refused == nil {
				made, err := answer.ticket()
				if f := fault.From(err); f != nil && f.Code != fault.UnknownOutcome ||
					f == nil && (made.ID == "" || made.Number == "") {
					t.Errorf("answered %+v, %v", made, err)
				}
			}
		}
		var found result[record]
		if decode(body, &found) == nil {
			for _, r := range found.Records {
				if ticket := r.ticket(); !utf8.ValidString(ticket.LastComment.Body) {
					t.Errorf("the comment is %q", ticket.LastComment.Body)
				}
			}
		}
		var d description
		if decode(body, &d) == nil {
			if slices.Contains(d.picklists().status.labels(), "") {
				t.Error("there is an empty label")
			}
		}
		if refused := refusal(400, nil, body); refused.Detail == "" {
			t.Errorf("refused without a word: %+v", refused)
		}
	})
}
