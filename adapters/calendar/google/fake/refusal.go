package fake

import (
	"fmt"
	"net/http"
)

// refusal is an error response, in the form of developers.google.com/workspace/calendar/api/guides/errors.
type refusal struct {
	code                    int
	domain, reason, message string
	locationType, location  string
	status                  string // the canonical code, if Google adds it
}

func (r *refusal) write(w http.ResponseWriter) {
	first := map[string]any{"domain": r.domain, "reason": r.reason, "message": r.message}
	if r.location != "" {
		first["locationType"], first["location"] = r.locationType, r.location
	}
	body := map[string]any{"code": r.code, "message": r.message, "errors": []any{first}}
	if r.status != "" {
		body["status"] = r.status
	}
	if r.code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://accounts.google.com/", error="invalid_token"`)
	}
	write(w, r.code, map[string]any{"error": body})
}

func invalidCredentials() *refusal {
	return &refusal{code: 401, domain: "global", reason: "authError", message: "Invalid Credentials",
		locationType: "header", location: "Authorization", status: "UNAUTHENTICATED"}
}

func insufficientPermissions() *refusal {
	return &refusal{code: 403, domain: "global", reason: "insufficientPermissions",
		message: "Request had insufficient authentication scopes.", status: "PERMISSION_DENIED"}
}

func notACalendarUser() *refusal {
	return &refusal{
		code: 403, domain: "calendar", reason: "notACalendarUser",
		message: "The user must be signed up for Google Calendar.",
	}
}

func requiredAccessLevel() *refusal {
	return &refusal{
		code: 403, domain: "calendar", reason: "requiredAccessLevel",
		message: "You need to have writer access to this calendar.",
	}
}

func forbiddenForNonOrganizer() *refusal {
	return &refusal{code: 403, domain: "calendar", reason: "forbiddenForNonOrganizer",
		message: "Shared properties can only be changed by the organizer of the event."}
}

func badRequest(message string) *refusal {
	return &refusal{code: 400, domain: "global", reason: "badRequest", message: message}
}

func required(message string) *refusal {
	return &refusal{code: 400, domain: "global", reason: "required", message: message}
}

func invalid(message string) *refusal {
	return &refusal{code: 400, domain: "global", reason: "invalid", message: message}
}

func invalidParameter(name string) *refusal {
	return &refusal{code: 400, domain: "global", reason: "invalidParameter",
		message:      fmt.Sprintf("Invalid value for: %s", name),
		locationType: "parameter", location: name}
}

func timeRangeEmpty() *refusal {
	return &refusal{code: 400, domain: "calendar", reason: "timeRangeEmpty",
		message:      "The specified time range is empty.",
		locationType: "parameter", location: "timeMax"}
}

func notFound() *refusal {
	return &refusal{code: 404, domain: "global", reason: "notFound", message: "Not Found"}
}

func duplicate() *refusal {
	return &refusal{
		code: 409, domain: "global", reason: "duplicate", message: "The requested identifier already exists.",
	}
}

func deleted() *refusal {
	return &refusal{code: 410, domain: "global", reason: "deleted", message: "Resource has been deleted"}
}

func conditionNotMet() *refusal {
	return &refusal{code: 412, domain: "global", reason: "conditionNotMet", message: "Precondition Failed",
		locationType: "header", location: "If-Match"}
}
