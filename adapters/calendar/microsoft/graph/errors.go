package graph

import (
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

func (e *Error) setMain(main *MainError) {
	if main == nil {
		return
	}
	e.Code, e.Message = text(main.Code), text(main.Message)
	if main.InnerError != nil {
		e.RequestID = text(main.InnerError.RequestID)
	}
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

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
