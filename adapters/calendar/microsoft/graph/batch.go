package graph

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// MaxBatchParts is how many requests a batch may have (learn.microsoft.com/graph/json-batching).
const MaxBatchParts = 20

// BatchRequest is several requests in one (learn.microsoft.com/graph/json-batching).
type BatchRequest struct {
	Requests []BatchPart `json:"requests"`
}

// BatchPart is one request of a batch. Its address is relative to the API's.
type BatchPart struct {
	ID      string            `json:"id"`
	Method  string            `json:"method"`
	Address string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// BatchResponse holds the responses to the parts of a batch, in any order.
type BatchResponse struct {
	Responses List[BatchAnswer] `json:"responses"`
}

// BatchAnswer is the response to one part, which requests a page of events.
type BatchAnswer struct {
	ID     *string
	Status *int32
	Header http.Header
	Page   *EventCollectionResponse // the body, if it is one
	body   []byte                   // of a refusal
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *BatchAnswer) UnmarshalJSON(text []byte) error {
	var part struct {
		ID      *string
		Status  *int32
		Headers map[string]any
		Body    json.RawMessage
	}
	if err := json.Unmarshal(text, &part); err != nil {
		return err
	}
	*a = BatchAnswer{ID: part.ID, Status: part.Status}
	if part.Headers != nil {
		a.Header = http.Header{}
	}
	for name, value := range part.Headers {
		if s, ok := value.(string); ok {
			a.Header.Set(name, s)
		}
	}
	switch {
	case a.Status != nil && *a.Status >= http.StatusMultipleChoices:
		a.body = part.Body
	case bytes.HasPrefix(part.Body, []byte("{")):
		if json.Unmarshal(part.Body, &a.Page) != nil {
			a.Page = nil // a part that cannot be read hides none of the others
		}
	}
	return nil
}

// Refusal returns the error of the part; nil if it succeeded.
func (a *BatchAnswer) Refusal() *Error {
	if a.Status == nil || *a.Status >= http.StatusOK && *a.Status < http.StatusMultipleChoices {
		return nil
	}
	e := &Error{Status: int(*a.Status), Header: a.Header}
	e.readBody(a.body)
	e.Body = []byte(e.Code + " " + e.Message)
	return e
}
