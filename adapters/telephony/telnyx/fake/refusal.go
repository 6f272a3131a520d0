package fake

import "net/http"

// refusal is an error response (developers.telnyx.com/development/api-fundamentals/api-errors).
type refusal struct {
	status              int
	code, title, detail string
	pointer, parameter  string
}

func (r *refusal) write(w http.ResponseWriter) {
	one := map[string]any{
		"code": r.code, "title": r.title, "detail": r.detail,
		"meta": map[string]any{"url": "https://developers.telnyx.com/docs/overview/errors/" + r.code},
	}
	switch {
	case r.pointer != "":
		one["source"] = map[string]any{"pointer": r.pointer}
	case r.parameter != "":
		one["source"] = map[string]any{"parameter": r.parameter}
	}
	write(w, r.status, map[string]any{"errors": []any{one}})
}

func unauthenticated() *refusal {
	return &refusal{
		401, "10009", "Authentication failed", "Could not understand the provided credentials.", "", "",
	}
}

func forbidden() *refusal {
	return &refusal{
		403, "10010", "Authorization failed",
		"You do not have permission to perform the requested action on the specified resource or resources.", "",
		"",
	}
}

func notFound() *refusal {
	return &refusal{
		404, "10005", "Resource not found", "The requested resource or URL could not be found.", "", "",
	}
}

func tooMany() *refusal {
	return &refusal{
		429, "10011", "Too many requests", "You have exceeded the maximum number of allowed requests.", "", "",
	}
}

func noFunds() *refusal {
	return &refusal{
		402, "20100", "Insufficient Funds", "You do not have enough funds to perform this action.", "", "",
	}
}

func unavailable() *refusal {
	return &refusal{503, "10007", "Unexpected error", "An unexpected error occurred.", "", ""}
}

// malformed returns the refusal of a wrong parameter.
func malformed(parameter string) *refusal {
	return &refusal{
		400, "10015", "Bad Request", "The request failed because it was not well-formed.", "", parameter,
	}
}

// invalid returns the refusal of a wrong property of a body.
func invalid(pointer string) *refusal {
	return &refusal{
		422, "10015", "Bad Request", "The request failed because it was not well-formed.", pointer, "",
	}
}
