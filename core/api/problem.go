package api

import (
	"encoding/json"
	"strings"
)

// ErrorModel is an RFC 9457 problem details object. It has only the members that the interface lists.
type ErrorModel struct {
	Type     string        `json:"type,omitempty" format:"uri" default:"about:blank" doc:"Link to a page on the error." example:"https://agents.example.com/problems/invalid-request"`
	Title    string        `json:"title,omitempty" doc:"Short summary of the problem type; does not change between occurrences." example:"The request is not valid"`
	Status   int64         `json:"status,omitempty" doc:"HTTP status code." example:"422"`
	Detail   string        `json:"detail,omitempty" doc:"Explanation specific to this occurrence." example:"The request is not valid: name must not be blank."`
	Instance string        `json:"instance,omitempty" format:"uri" doc:"Identifies this occurrence by its request id." example:"urn:frontdesk:request:01JDB2V7Q4RZ0F5N1X8W3T6K9M"`
	Errors   []ErrorDetail `json:"errors,omitempty" nullable:"true" doc:"One entry per fault of the input, or per value that would work instead."`
}

// ErrorDetail is one fault of the input.
type ErrorDetail struct {
	Location string          `json:"location,omitempty" doc:"Where the fault is: body.name, path.id, header.X-Request-Timeout-Ms." example:"body.name"`
	Message  string          `json:"message,omitempty" doc:"What is wrong and what to do." example:"must not be blank"`
	Value    json.RawMessage `json:"value,omitempty" doc:"The value there, if it is a short scalar of a known field; or a value that would work instead."`
}

// problemBody converts a failure into problem details.
func (a *api) problemBody(f failure) ErrorModel {
	p := ErrorModel{
		Type:     a.problemURL(f.Slug),
		Title:    f.Title,
		Status:   int64(f.status(f.surface)),
		Detail:   f.detail,
		Instance: instanceOf(f.requestID),
	}
	for _, field := range f.fields {
		value := f.values[field.Path]
		if field.Value != "" {
			value, _ = json.Marshal(field.Value) // never fails for a string
		}
		p.Errors = append(p.Errors, ErrorDetail{
			Location: locationOf(field.Path), Message: field.Text(), Value: value,
		})
	}
	return p
}

// locationOf converts the path of a fault into a location of problem details.
func locationOf(path string) string {
	switch {
	case path == locationBody, strings.HasPrefix(path, prefixOfPath), strings.HasPrefix(path, prefixOfHeader),
		strings.HasPrefix(path, prefixOfQuery):
		return path
	case strings.HasPrefix(path, "["):
		return locationBody + path
	}
	return locationBody + "." + path
}
