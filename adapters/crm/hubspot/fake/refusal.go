package fake

import (
	"encoding/json"
	"net/http"
)

// refusal is an error response, in the shape of developers.hubspot.com/docs/api-reference/error-handling.
type refusal struct {
	status            int
	message, category string
	context           map[string]any
	errors            []any
	policy            string // of a rate limit, which has a shape of its own
	page              string // instead of JSON
}

const correlationID = "aeb5f871-7f07-4993-9211-075dc63e7cbf"

func (r *refusal) write(w http.ResponseWriter) {
	if r.page != "" {
		w.Header().Set("Content-Type", "text/html;charset=utf-8")
		w.WriteHeader(r.status)
		_, _ = w.Write([]byte(r.page))
		return
	}
	body := map[string]any{"status": "error", "message": r.message, "correlationId": correlationID}
	if r.policy != "" {
		body["errorType"], body["policyName"], body["requestId"] = "RATE_LIMIT", r.policy,
			"3d3e35b7-0dae-4b9f-a6e3-9c230cbcf8dd"
	}
	if r.category != "" {
		body["category"] = r.category
	}
	if r.context != nil {
		body["context"] = r.context
	}
	if r.errors != nil {
		body["errors"] = r.errors
	}
	write(w, r.status, body)
}

// first returns the first refusal that is not nil.
func first(refusals ...*refusal) *refusal {
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}

func validation(message string) *refusal {
	return &refusal{status: http.StatusBadRequest, category: "VALIDATION_ERROR", message: message}
}

// invalidProperties returns a refusal whose message holds what is wrong, as JSON.
func invalidProperties(wrong []any) *refusal {
	list, err := json.Marshal(wrong)
	if err != nil {
		panic(err)
	}
	return validation("Property values were not valid: " + string(list))
}

func invalidAuthentication() *refusal {
	return &refusal{
		status: http.StatusUnauthorized, category: "EXPIRED_AUTHENTICATION",
		message: "The OAuth token used to make this call expired 3 hour(s) ago.",
	}
}

func missingScopes(names ...string) *refusal {
	return &refusal{
		status: http.StatusForbidden, category: "MISSING_SCOPES",
		message: "This app hasn't been granted all required scopes to make this call.",
		errors: []any{map[string]any{
			"message": "One or more of the following scopes are required.",
			"context": map[string]any{"requiredGranularScopes": names},
		}},
	}
}

func noSuchPath() *refusal {
	return &refusal{
		status: http.StatusNotFound, page: "<html><body><h2>HTTP ERROR 404 Not Found</h2></body></html>",
	}
}

func tooMany(policy, message string) *refusal {
	return &refusal{status: http.StatusTooManyRequests, policy: policy, message: message}
}
