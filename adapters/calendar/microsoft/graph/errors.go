package graph

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Error is an error response.
type Error struct {
	Status int
	Header http.Header
	Body   []byte

	// The error in the body; "" if the body has none (learn.microsoft.com/graph/errors: branch on the code,
	// never on the message).
	Code      string
	Message   string
	RequestID string
}

// Error returns a text for logs.
func (e *Error) Error() string {
	text := "Graph answered " + strconv.Itoa(e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// odataError is the body of an error response. Any part of it may be missing.
type odataError struct {
	Main struct {
		Code    string
		Message string
		Inner   struct { // Exchange spells it innererror
			RequestID string `json:"request-id"`
		} `json:"innerError"`
	} `json:"error"`
}

func refusal(resp *http.Response, body []byte) *Error {
	e := &Error{Status: resp.StatusCode, Header: resp.Header, Body: body}
	e.readBody(body)
	return e
}

func (e *Error) readBody(body []byte) {
	var answer odataError
	_ = json.Unmarshal(body, &answer) // what is of another shape stays empty
	e.Code, e.Message, e.RequestID = answer.Main.Code, answer.Main.Message, answer.Main.Inner.RequestID
}

// Unreadable is a success with an unexpected body: a sign-in page, nothing, the response of another API.
type Unreadable struct {
	Status int
	Body   []byte
	Reason string
}

// Error returns a text for logs.
func (e *Unreadable) Error() string {
	return "the answer of Graph, status " + strconv.Itoa(e.Status) + ", cannot be read: " + e.Reason
}
