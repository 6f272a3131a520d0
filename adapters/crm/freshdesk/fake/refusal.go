package fake

import "net/http"

// refusal is an error response.
type refusal struct {
	status int
	body   any // nil is an empty body
}

func (r *refusal) write(w http.ResponseWriter) { write(w, r.status, r.body) }

func unauthenticated() *refusal {
	return &refusal{
		401, map[string]any{"code": "invalid_credentials",
			"message": "You have to be logged in to perform this action."},
	}
}

func forbidden() *refusal {
	return &refusal{
		403, map[string]any{"code": "access_denied", "message": "You are not authorized to perform this action."},
	}
}

// notFound returns a refusal with an empty body.
func notFound() *refusal { return &refusal{status: 404} }

// invalid returns the refusal of a request with a field that is not valid. The name of a custom field has the
// prefix custom_fields.
func invalid(field, code string) *refusal {
	messages := map[string]string{
		"missing_field": "It should not be blank as this is a mandatory field",
		"invalid_field": "Unexpected/invalid field in request", "datatype_mismatch": "Value set is of another type",
		"invalid_format": "Value set is of another format", "invalid_value": "There is no record matching the given value",
	}
	return &refusal{400, map[string]any{
		"description": "Validation failed",
		"errors":      []any{map[string]any{"field": field, "message": messages[code], "code": code}},
	}}
}
