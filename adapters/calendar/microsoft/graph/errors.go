package graph

import (
	"net/http"
	"strconv"
)

// Error is an answer that refuses.
type Error struct {
	Status int
	Header http.Header
	Body   []byte

	// What the body says, where it says it; "" otherwise
	// (learn.microsoft.com/graph/errors: branch on the code, never on the message).
	Code      string
	Message   string
	RequestID string
}

// Error is for logs.
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

// Unreadable is an answer that accepts, and is not what was asked for: a sign-in page, nothing, another
// API's.
type Unreadable struct {
	Status int
	Body   []byte
	Reason string
}

// Error is for logs.
func (e *Unreadable) Error() string {
	return "the answer of Graph, status " + strconv.Itoa(e.Status) + ", cannot be read: " + e.Reason
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
