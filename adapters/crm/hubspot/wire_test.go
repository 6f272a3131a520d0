package hubspot

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/upstream"
)

func decoded(t *testing.T, text string) record {
	t.Helper()
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestATicketIsReadAsHubSpotTellsIt(t *testing.T) {
	closed := stage{ID: "4", Label: "Closed", Metadata: map[string]any{"ticketState": "CLOSED"}}
	made := time.Date(2026, 3, 12, 7, 33, 57, 41e6, time.UTC)
	for _, c := range []struct {
		rule, text string
		stage      stage
		want       crm.Ticket
	}{
		{
			rule: "everything", stage: closed,
			text: `{"id":"409229446355","properties":{"content":"Caller cannot log in","closed_date":"2026-03-13T08:00:00Z","hs_pipeline":"0",
				"hs_pipeline_stage":"4","hs_ticket_priority":"HIGH","hubspot_owner_id":"6166860","subject":"Login issue"},
				"createdAt":"2026-03-12T07:33:57.041Z","updatedAt":"2026-03-12T07:33:57.041Z","archived":false,
				"associations":{"contacts":{"results":[{"id":"101","type":"ticket_to_contact"}]},"companies":{"results":[
				{"id":"201","type":"ticket_to_company_unlabeled"},{"id":"202","type":"ticket_to_company_unlabeled"},{"id":"202","type":"ticket_to_company"}]}}}`,
			want: crm.Ticket{
				ID: "409229446355", Number: "409229446355", Subject: "Login issue",
				Description: crm.Plain("Caller cannot log in"), Status: "Closed", Priority: "High", OwnerID: "6166860",
				AccountID: "202", ContactID: "101", CreatedAt: made, UpdatedAt: made,
				ClosedAt: time.Date(2026, 3, 13, 8, 0, 0, 0, time.UTC),
			},
		},
		{
			rule: "what is empty is null", stage: closed,
			text: `{"id":"1","properties":{"content":null,"closed_date":null,"subject":null,"hubspot_owner_id":null},"createdAt":"soon","associations":{"contacts":{"results":[]}}}`,
			want: crm.Ticket{ID: "1", Number: "1", Status: "Closed", Priority: "High"},
		},
		{
			rule: "a closing of a stage that is open", stage: stage{
				ID: "1", Label: "New", Metadata: map[string]any{"isClosed": "false"},
			},
			text: `{"id":"1","properties":{"closed_date":"2026-03-13T08:00:00Z"}}`,
			want: crm.Ticket{ID: "1", Number: "1", Status: "New", Priority: "High"},
		},
		{
			rule: "a closing of a stage that nobody knows",
			text: `{"id":"1","properties":{"closed_date":"2026-03-13T08:00:00Z"},"associations":{"companies":{"results":[{"id":"7","type":"my_label"}]}}}`,
			want: crm.Ticket{
				ID: "1", Number: "1", Priority: "High", AccountID: "7",
				ClosedAt: time.Date(2026, 3, 13, 8, 0, 0, 0, time.UTC),
			},
		},
	} {
		if got := decoded(t, c.text).ticket(c.stage, "High"); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.rule, got, c.want)
		}
	}
}

func TestADescriptionIsHTMLWhereItIsWholeHTML(t *testing.T) {
	for text, html := range map[string]bool{
		"":                                                          false,
		"Two lines:\nthe second.":                                   false,
		"if a < b && c > d then <b>bold</b>":                        false,
		"<b>Urgent</b> the pipe is broken":                          false,
		"<anna@example.com> wrote: see <this>":                      false,
		"<p>Hello</p>":                                              true,
		" <div dir=\"ltr\">Hello<br>there</div>\n":                  true,
		"<!DOCTYPE html>\n<html><body>Hello</body></html>":          true,
		"<p>Hello</p> and more":                                     false,
		"<pictures@example.com> sent <this>":                        false,
		"<table border=1><tr><td>Room</td><td>12</td></tr></table>": true,
	} {
		if got := description(text); got.HTML != html || got.Body != text {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

func FuzzAnswersAreReadWhateverTheyAre(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1","properties":{"subject":"a","content":null},"associations":{"contacts":{"results":[{"id":"101","type":"x"}]}}}`,
		`{"status":"error","message":"Property values were not valid: [{\"name\":\"subject\"}]","category":"VALIDATION_ERROR","context":{"properties":["a"]}}`,
		`{"context":{"INVALID_OBJECT_IDS":["CONTACT"],"objectType":"contact"},"errors":[{"context":"{missingScopes=[a]}","in":"x","name":"y"}]}`,
		`{"message":"[", "context":[1], "errors":null, "policyName":"DAILY"}`, `null`, `[]`, `<html>`, ``,
	} {
		f.Add(400, []byte(seed))
		f.Add(403, []byte(seed))
		f.Add(404, []byte(seed))
		f.Add(429, []byte(seed))
		f.Add(http.StatusLocked, []byte(seed))
		f.Add(http.StatusNetworkAuthenticationRequired, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, text []byte) {
		var r record
		if json.Unmarshal(text, &r) == nil {
			got := r.ticket(stage{}, "")
			if got.ID != got.Number || got.Description.Body != r.property(contentProperty) {
				t.Errorf("read %+v", got)
			}
		}
		refused := bare().refusal(status, http.Header{}, text)
		nothingDone := status == http.StatusLocked || status == statusMigrating ||
			upstream.StatusFault(name, status, http.Header{}, nil).Unsent
		if refused.Code == "" || refused.Reason == "" || refused.Detail == "" || refused.RetryAfter < 0 ||
			refused.Unsent != nothingDone {
			t.Errorf("told %+v", refused)
		}
		for _, field := range refused.Fields {
			if refused.Code != fault.Invalid || field.Path == "" || field.Message == "" {
				t.Errorf("told %+v", refused)
			}
		}
	})
}
