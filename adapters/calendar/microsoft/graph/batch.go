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

// GetFieldDeserializers reads nothing: a batch is only written.
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

// GetFieldDeserializers reads nothing: a request is only written.
func (p *BatchPart) GetFieldDeserializers() fields { return fields{} }

// Serialize writes the request.
func (p *BatchPart) Serialize(w serialization.SerializationWriter) error {
	headers := headersOf(p.Headers)
	return errors.Join(
		writeStrings(w, "id", &p.ID, "method", &p.Method, "url", &p.Address),
		writeObject(w, "headers", &headers),
	)
}

// headersOf are headers as an object of texts.
type headersOf map[string]string

// GetFieldDeserializers reads nothing: answers' headers hold what else.
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

// BatchResponse is the answers of a batch, in any order.
type BatchResponse struct {
	Responses []*BatchAnswer
}

// CreateBatchResponseFromDiscriminatorValue makes a BatchResponse.
func CreateBatchResponseFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &BatchResponse{}, nil
}

// GetFieldDeserializers reads the fields.
func (r *BatchResponse) GetFieldDeserializers() fields {
	return fields{"responses": objectsInto(&r.Responses, CreateBatchAnswerFromDiscriminatorValue)}
}

// Serialize writes nothing: answers are only read.
func (r *BatchResponse) Serialize(serialization.SerializationWriter) error { return nil }

// BatchAnswer is the answer to one part that asks for a page of events.
type BatchAnswer struct {
	ID      *string
	Status  *int32
	Header  http.Header
	Page    *EventCollectionResponse // of a body that is an object
	Refused *ODataError              // the same body, read as a refusal
}

// CreateBatchAnswerFromDiscriminatorValue makes a BatchAnswer.
func CreateBatchAnswerFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &BatchAnswer{}, nil
}

// GetFieldDeserializers reads the fields.
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

// Serialize writes nothing: answers are only read.
func (a *BatchAnswer) Serialize(serialization.SerializationWriter) error { return nil }

// Refusal returns how the part was refused; nil when it was not.
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
