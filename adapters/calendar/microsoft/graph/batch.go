package graph

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// BatchRequest is several requests in one (learn.microsoft.com/graph/json-batching).
type BatchRequest struct {
	Requests []*BatchPart
}

// GetFieldDeserializers returns nothing: a batch is only written.
func (b *BatchRequest) GetFieldDeserializers() fields { return fields{} }

// Serialize writes the requests.
func (b *BatchRequest) Serialize(w serialization.SerializationWriter) error {
	return writeObjects(w, "requests", b.Requests)
}

// BatchPart is one request of a batch. Its address is relative to the API's.
type BatchPart struct {
	ID, Method, Address string
	Headers             map[string]string
}

// GetFieldDeserializers returns nothing: a request is only written.
func (p *BatchPart) GetFieldDeserializers() fields { return fields{} }

// Serialize writes the request.
func (p *BatchPart) Serialize(w serialization.SerializationWriter) error {
	headers := headersOf(p.Headers)
	return errors.Join(
		writeStrings(w, "id", &p.ID, "method", &p.Method, "url", &p.Address),
		writeObject(w, "headers", &headers),
	)
}

// headersOf are headers as an object with string values.
type headersOf map[string]string

// GetFieldDeserializers returns nothing: BatchAnswer reads the headers of responses.
func (h *headersOf) GetFieldDeserializers() fields { return fields{} }

// Serialize writes the headers in order of name.
func (h *headersOf) Serialize(w serialization.SerializationWriter) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(*h)) {
		value := (*h)[name]
		all = append(all, w.WriteStringValue(name, &value))
	}
	return errors.Join(all...)
}

// BatchResponse holds the responses to the parts of a batch, in any order.
type BatchResponse struct {
	Responses []*BatchAnswer
}

// CreateBatchResponseFromDiscriminatorValue returns an empty BatchResponse.
func CreateBatchResponseFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &BatchResponse{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (r *BatchResponse) GetFieldDeserializers() fields {
	return fields{"responses": objectsInto(&r.Responses, CreateBatchAnswerFromDiscriminatorValue)}
}

// Serialize writes nothing: responses are only read.
func (r *BatchResponse) Serialize(serialization.SerializationWriter) error { return nil }

// BatchAnswer is the response to one part, which requests a page of events.
type BatchAnswer struct {
	ID      *string
	Status  *int32
	Header  http.Header
	Page    *EventCollectionResponse // the body, if it is an object
	Refused *ODataError              // the same body, read as an error
}

// CreateBatchAnswerFromDiscriminatorValue returns an empty BatchAnswer.
func CreateBatchAnswerFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &BatchAnswer{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (a *BatchAnswer) GetFieldDeserializers() fields {
	return fields{
		"id":      stringInto(&a.ID),
		"status":  intInto(&a.Status),
		"headers": a.readHeaders,
		// The status may come after the body, so the body is read both ways.
		"body": func(n serialization.ParseNode) error {
			return errors.Join(
				objectInto(&a.Page, CreateEventCollectionResponseFromDiscriminatorValue)(n),
				objectInto(&a.Refused, CreateODataErrorFromDiscriminatorValue)(n),
			)
		},
	}
}

func (a *BatchAnswer) readHeaders(n serialization.ParseNode) error {
	raw, err := n.GetRawValue()
	if err != nil {
		return err
	}
	values, _ := raw.(map[string]any)
	a.Header = http.Header{}
	for name, value := range values {
		if s, ok := value.(*string); ok && s != nil {
			a.Header.Set(name, *s)
		}
	}
	return nil
}

// Serialize writes nothing: responses are only read.
func (a *BatchAnswer) Serialize(serialization.SerializationWriter) error { return nil }

// Refusal returns the error of the part; nil if it succeeded.
func (a *BatchAnswer) Refusal() *Error {
	if a.Status == nil || *a.Status >= 200 && *a.Status < 300 {
		return nil
	}
	e := &Error{Status: int(*a.Status), Header: a.Header}
	if a.Refused != nil {
		e.setMain(a.Refused.Main)
	}
	e.Body = []byte(e.Code + " " + e.Message)
	return e
}
