package hubspot

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"frontdesk/core/fault"
	"frontdesk/core/fault/faulttest"
)

// bare returns a driver that sends no requests.
func bare() *driver { return &driver{now: time.Now} }

func TestRefusalsAreTold(t *testing.T) {
	const at = `"status":"error","correlationId":"aeb5f871-7f07-4993-9211-075dc63e7cbf"`
	for _, c := range []struct {
		rule   string
		status int
		body   string
		code   fault.Code
		reason string
		fields []string
		detail string
	}{
		{
			rule: "a value that is not valid, told in the message", status: 400, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"status"},
			body: `{` + at + `,"message":"Property values were not valid: [{\"isValid\":false,\"message\":\"9 is not a valid pipeline stage ID. Valid options are: [1, 2]\",\"error\":\"INVALID_OPTION\",\"name\":\"hs_pipeline_stage\"}]","category":"VALIDATION_ERROR"}`,
		},
		{
			rule: "several of them, told within errors", status: 400, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"owner_id", "priority"},
			body: `{` + at + `,"message":"One or more validation errors occurred","category":"VALIDATION_ERROR","errors":[{"message":"Property values were not valid: [{\"name\":\"hs_ticket_priority\"},{\"name\":\"hubspot_owner_id\"},{\"name\":\"hubspot_owner_id\"}]"}]}`,
		},
		{
			rule: "a property named by the context", status: 400, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"description"},
			body: `{` + at + `,"message":"x","category":"VALIDATION_ERROR","errors":[{"message":"too long","context":{"propertyName":["content"]}}]}`,
		},
		{
			rule: "a property named by its place", status: 400, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"subject"},
			body: `{` + at + `,"message":"x","errors":[{"message":"too long","in":"subject","context":"{a=b}"}]}`,
		},
		{
			rule: "properties that are required", status: 400, code: fault.Invalid, reason: fault.ReasonInvalidRequest,
			fields: []string{"subject"},
			body:   `{` + at + `,"message":"Error creating TICKET. Some required properties were not set.","context":{"properties":["subject","building"]}}`,
		},
		{
			rule: "a property of the account's own", status: 400, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "nothing sets: building.",
			body: `{` + at + `,"message":"Error creating TICKET. Some required properties were not set.","context":{"properties":["building"]}}`,
		},
		{
			rule: "all properties of the account's own, each once", status: 400, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, detail: "nothing sets: building, floor.",
			body: `{` + at + `,"message":"Error creating TICKET. Some required properties were not set.","context":{"properties":["building","floor"]},"errors":[{"message":"building is required","context":{"propertyName":["building"]}}]}`,
		},
		{
			rule: "what is no name is not repeated", status: 400, code: fault.Invalid,
			reason: fault.ReasonProviderRefused, detail: "reports that the request is not valid",
			body: `{` + at + `,"message":"x","context":{"properties":["<script>"]}}`,
		},
		{
			rule: "associations that are not valid", status: 400, code: fault.Invalid,
			reason: fault.ReasonInvalidRequest, fields: []string{"account_id", "contact_id"},
			body: `{` + at + `,"message":"One or more associations are invalid","category":"VALIDATION_ERROR","context":{"INVALID_OBJECT_IDS":["CONTACT=8 is not valid","COMPANY=9 is not valid"],"objectId":["8"],"objectType":["CONTACT"]}}`,
		},
		{
			rule: "an object that was not found", status: 404, code: fault.Invalid, reason: fault.ReasonInvalidRequest,
			fields: []string{"contact_id"},
			body:   `{` + at + `,"message":"No contact with ID 8 exists","context":{"objectType":["contact"],"id":["8"]},"category":"OBJECT_NOT_FOUND","subCategory":"crm.associations.TO_OBJECT_NOT_FOUND"}`,
		},
		{rule: "a record that is not there", status: 404, code: fault.NotFound, reason: fault.ReasonNotFound,
			body: `{` + at + `,"message":"resource not found"}`},
		{rule: "an address that is not there", status: 404, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, body: `<html>`, detail: "api_version"},
		{rule: "a version that is gone", status: 410, code: fault.Unsupported,
			reason: fault.ReasonProviderMisconfigured, body: `{` + at + `,"message":"gone"}`, detail: "api_version"},
		{rule: "a conflict", status: 409, code: fault.Conflict, reason: fault.ReasonProviderConflict,
			body: `{` + at + `,"message":"exists","category":"CONFLICT"}`},
		{rule: "an expired token", status: 401, code: fault.Disconnected, reason: fault.ReasonReconnectRequired,
			body: `{` + at + `,"category":"EXPIRED_AUTHENTICATION"}`},
		{
			rule: "scopes that are missing", status: 403, code: fault.Forbidden, reason: fault.ReasonPermissionDenied,
			detail: "the scope tickets or crm.objects.contacts.read.",
			body:   `{` + at + `,"category":"MISSING_SCOPES","errors":[{"message":"m","context":{"requiredGranularScopes":["tickets","crm.objects.contacts.read","NOT A SCOPE"]}}]}`,
		},
		{rule: "scopes without names", status: 403, code: fault.Forbidden, reason: fault.ReasonPermissionDenied,
			detail: "a scope that this needs", body: `{` + at + `,"category":"MISSING_SCOPES"}`},
		{rule: "forbidden otherwise", status: 403, code: fault.Forbidden, reason: fault.ReasonPermissionDenied,
			detail: "does not allow", body: `<html>`},
		{rule: "down", status: 502, code: fault.Unavailable, reason: fault.ReasonProviderUnavailable,
			body: `bad gateway`},
	} {
		f := bare().refusal(c.status, http.Header{}, []byte(c.body))
		paths := faulttest.Paths(f)
		if f.Code != c.code || f.Reason != c.reason || !slices.Equal(paths, c.fields) ||
			!strings.Contains(f.Detail, c.detail) {
			t.Errorf("%s: %v with fields %q", c.rule, f, paths)
		}
		if f.Unsent {
			t.Errorf("%s: metadata %v, unsent %t", c.rule, f.Metadata, f.Unsent)
		}
	}
}
