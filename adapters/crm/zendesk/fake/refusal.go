package fake

import "net/http"

// refusal is an error response, in one of Zendesk's shapes.
type refusal struct {
	status int
	body   map[string]any
}

func (r *refusal) write(w http.ResponseWriter) { write(w, r.status, r.body) }

func unauthenticated() *refusal {
	return &refusal{status: 401, body: map[string]any{"error": "Couldn't authenticate you"}}
}

func forbidden() *refusal {
	return &refusal{status: 403, body: map[string]any{"error": map[string]any{
		"title": "Forbidden", "message": "You do not have access to this page. Please contact the account owner " +
			"of this help desk for further help.",
	}}}
}

func notFound() *refusal {
	return &refusal{status: 404, body: map[string]any{"error": "RecordNotFound", "description": "Not found"}}
}

// invalid returns the refusal of a ticket by the account's rules, for one field or for "base".
func invalid(field, code, description string) *refusal {
	return &refusal{status: 422, body: map[string]any{
		"error": "RecordInvalid", "description": "Record validation errors",
		"details": map[string]any{field: []any{map[string]any{"error": code, "description": description}}},
	}}
}

// invalidField returns the refusal of a ticket because of a custom field. The description holds the field's
// title. The id is a member of its own.
func invalidField(f Field, description string) *refusal {
	return &refusal{status: 422, body: map[string]any{
		"error": "RecordInvalid", "description": "Record validation errors",
		"details": map[string]any{"base": []any{map[string]any{
			"description": description, "error": nil, "ticket_field_id": f.ID, "ticket_field_type": "FieldText",
		}}},
	}}
}
