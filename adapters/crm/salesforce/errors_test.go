package salesforce

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"frontdesk/core/adapter"
	"frontdesk/core/crm"
	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

func TestWhatSalesforcesErrorsMean(t *testing.T) {
	given := crm.NewTicket{OwnerID: "005dM0000000001QAA", ContactID: "003dM0000000001QAA"}
	setting := adapter.TicketFields{"SuppliedEmail": "calls at acme"}
	for _, c := range []struct {
		name   string
		fields []string
		code   fault.Code
		reason string
		named  []string
	}{
		{"INVALID_SESSION_ID", nil, fault.Disconnected, fault.ReasonReconnectRequired, nil},
		{"REQUEST_LIMIT_EXCEEDED", nil, fault.RateLimited, fault.ReasonProviderRateLimited, nil},
		{"SERVER_UNAVAILABLE", nil, fault.Unavailable, fault.ReasonProviderUnavailable, nil},
		{"INVALID_QUERY_LOCATOR", nil, fault.Unavailable, fault.ReasonProviderUnavailable, nil},
		{"QUERY_TIMEOUT", nil, fault.Timeout, fault.ReasonDeadlineExceeded, nil},
		{"UNABLE_TO_LOCK_ROW", nil, fault.Unavailable, fault.ReasonProviderUnavailable, nil},
		{"INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE", nil, fault.Unavailable,
			fault.ReasonProviderUnavailable, nil},
		{"STORAGE_LIMIT_EXCEEDED", nil, fault.Exhausted, fault.ReasonStorageFull, nil},
		{"DUPLICATE_VALUE", []string{"Frontdesk_Key__c"}, fault.Conflict, fault.ReasonProviderConflict, nil},
		{"DUPLICATES_DETECTED", nil, fault.Conflict, fault.ReasonProviderConflict, nil},
		{"API_DISABLED_FOR_ORG", nil, fault.Forbidden, fault.ReasonPermissionDenied, nil},
		{"API_CURRENTLY_DISABLED", nil, fault.Forbidden, fault.ReasonPermissionDenied, nil},
		{"INVALID_FIELD", nil, fault.Forbidden, fault.ReasonPermissionDenied, nil},
		{"INVALID_FIELD_FOR_INSERT_UPDATE", []string{"OwnerId"}, fault.Forbidden,
			fault.ReasonPermissionDenied, nil},
		{"INVALID_TYPE", nil, fault.Forbidden, fault.ReasonPermissionDenied, nil},
		{"INSUFFICIENT_ACCESS_OR_READONLY", nil, fault.Forbidden, fault.ReasonPermissionDenied, nil},
		{"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", []string{"Priority"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"priority"}},
		{"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", []string{"Kind__c"}, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", []string{"Origin"}, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST", nil, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"FIELD_CUSTOM_VALIDATION_EXCEPTION", []string{"Region__c"}, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"FIELD_CUSTOM_VALIDATION_EXCEPTION", []string{"Region__c", "Priority"}, fault.Invalid,
			fault.ReasonInvalidRequest, []string{"priority"}},
		{"STRING_TOO_LONG", []string{"Description", "Subject"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"description", "subject"}},
		{"REQUIRED_FIELD_MISSING", []string{"ContactId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"contact_id"}},
		{"REQUIRED_FIELD_MISSING", []string{"ContactId", "Origin"}, fault.Unsupported,
			fault.ReasonProviderMisconfigured, nil},
		{"REQUIRED_FIELD_MISSING", []string{"<b>bold</b>"}, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"INVALID_CROSS_REFERENCE_KEY", nil, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"owner_id", "contact_id"}},
		{"INVALID_CROSS_REFERENCE_KEY", []string{"OwnerId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"owner_id"}},
		{"INVALID_ID_FIELD", []string{"ContactId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"contact_id"}},
		{"MALFORMED_ID", []string{"ContactId"}, fault.Invalid, fault.ReasonInvalidRequest, []string{"contact_id"}},
		{"FIELD_INTEGRITY_EXCEPTION", []string{"ContactId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"contact_id"}},
		{"ENTITY_IS_DELETED", nil, fault.Invalid, fault.ReasonInvalidRequest, []string{"owner_id", "contact_id"}},
		{"INACTIVE_OWNER_OR_USER", []string{"OwnerId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"owner_id"}},
		{"INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY", nil, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"owner_id", "contact_id"}},
		{"FIELD_CUSTOM_VALIDATION_EXCEPTION", nil, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"FIELD_CUSTOM_VALIDATION_EXCEPTION", []string{"Subject"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"subject"}},
		{"CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY", nil, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"SOMETHING_NEW", nil, fault.Invalid, fault.ReasonProviderRefused, nil},
		{"OP_WITH_INVALID_USER_TYPE_EXCEPTION", []string{"OwnerId"}, fault.Invalid, fault.ReasonInvalidRequest,
			[]string{"owner_id"}},
		{"INVALID_EMAIL_ADDRESS", []string{"SuppliedEmail"}, fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
		{"NUMBER_OUTSIDE_VALID_RANGE", []string{"Floor__c"}, fault.Invalid, fault.ReasonProviderRefused, nil}, // a trigger's
		{"JSON_PARSER_ERROR", nil, fault.Unsupported, fault.ReasonProviderMisconfigured, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := json.Marshal([]any{map[string]any{"errorCode": c.name, "message": "words of theirs",
				"fields": c.fields}})
			if err != nil {
				t.Fatal(err)
			}
			f := partRefusal(http.StatusBadRequest, body, firstError(body), given, setting)
			if f.Code != c.code || f.Reason != c.reason {
				t.Errorf("means %s %s, want %s %s", f.Code, f.Reason, c.code, c.reason)
			}
			if len(f.Fields) != len(c.named) {
				t.Fatalf("named %+v, want %q", f.Fields, c.named)
			}
			for i, path := range c.named {
				if f.Fields[i].Path != path {
					t.Errorf("named %q, want %q", f.Fields[i].Path, path)
				}
			}
			if f.Upstream == "" {
				t.Errorf("the log is told %q of %v", f.Upstream, f.Metadata)
			}
		})
	}
}

// Several rules refuse a case at once, each with an error of its own. One answer reports every field.
func TestEachErrorNamesItsFields(t *testing.T) {
	rule := func(fields string) string {
		return `{"errorCode":"FIELD_CUSTOM_VALIDATION_EXCEPTION","message":"words","fields":[` + fields + `]}`
	}
	for body, want := range map[string]string{
		`[` + rule(`"Subject"`) + `,` + rule(`"Description","Subject"`) + `]`:                                "subject description",
		`[` + rule(``) + `,` + rule(`"Priority"`) + `]`:                                                      "priority",
		`[` + rule(`"Priority"`) + `,{"errorCode":"STRING_TOO_LONG","fields":["Subject"]},` + rule(``) + `]`: "priority subject",
		`[{"errorCode":"INVALID_FIELD"},` + rule(`"Priority"`) + `]`:                                         "",
		`[` + rule(`"Priority"`) + `,{"errorCode":"REQUIRED_FIELD_MISSING","fields":["Origin"]}]`:            "priority",
	} {
		f := partRefusal(http.StatusBadRequest, []byte(body), firstError([]byte(body)), crm.NewTicket{}, nil)
		named := faulttest.Paths(f)
		if got := strings.Join(named, " "); got != want || (want != "") != (f.Reason == fault.ReasonInvalidRequest) {
			t.Errorf("%s names %q (%s), want %q", body, got, f.Reason, want)
		}
	}
}

func TestEachErrorNamesTheFieldsThatNothingSets(t *testing.T) {
	body := []byte(`[{"errorCode":"FIELD_CUSTOM_VALIDATION_EXCEPTION","fields":["Region__c"]},` +
		`{"errorCode":"FIELD_CUSTOM_VALIDATION_EXCEPTION","fields":["Floor__c","Region__c"]},` +
		`{"errorCode":"FIELD_CUSTOM_VALIDATION_EXCEPTION","fields":["Priority"]}]`)
	f := partRefusal(http.StatusBadRequest, body, firstError(body), crm.NewTicket{}, nil)
	if f.Reason != fault.ReasonProviderMisconfigured || !strings.Contains(f.Detail, ": Region__c, Floor__c.") {
		t.Errorf("means %v", f)
	}
}

func TestACallThatNamesNoRecordIsForbiddenToUseOne(t *testing.T) {
	f := refusal(http.StatusForbidden, nil,
		[]byte(`[{"errorCode":"INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY"}]`))
	if f.Code != fault.Forbidden || len(f.Fields) != 0 {
		t.Errorf("means %v", f)
	}
}

func TestTheWaitOfALimit(t *testing.T) {
	body := []byte(`[{"errorCode":"REQUEST_LIMIT_EXCEEDED","message":"TotalRequests Limit exceeded."}]`)
	used := func(calls string) http.Header { return http.Header{"Sforce-Limit-Info": {"api-usage=" + calls}} }
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{nil, limitWait}, {http.Header{"Retry-After": {"90"}}, 90 * time.Second},
		{used("100000/100000"), limitWait}, {used("100017/100000; api-bursts=1/750"), limitWait},
		{used("18/100000"), burstWait}, {used("18/100000; api-bursts=751/750"), burstWait},
		{used("18"), limitWait}, {used("-1/5"), limitWait},
	} {
		if f := refusal(http.StatusForbidden, c.header, body); f.RetryAfter != c.want {
			t.Errorf("wait %s, want %s", f.RetryAfter, c.want)
		}
	}
}

func TestAnswersThatAreNoneOfSalesforces(t *testing.T) {
	for _, body := range []string{
		``, `null`, `[]`, `{}`, `<html>`, `[7]`, `[{"errorCode":7}]`, `{"error":"invalid_grant"}`,
	} {
		if f := refusal(http.StatusForbidden, nil, []byte(body)); f.Code != fault.Forbidden {
			t.Errorf("%s means %v", body, f)
		}
	}
}
