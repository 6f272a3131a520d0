package graph

import "github.com/microsoft/kiota-abstractions-go/serialization"

// ODataError is the body of an error response. Any part of it may be missing.
type ODataError struct {
	Main *MainError
}

// CreateODataErrorFromDiscriminatorValue returns an empty ODataError.
func CreateODataErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &ODataError{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (e *ODataError) GetFieldDeserializers() fields {
	return fields{"error": objectInto(&e.Main, CreateMainErrorFromDiscriminatorValue)}
}

// Serialize writes nothing: errors are only read.
func (e *ODataError) Serialize(serialization.SerializationWriter) error { return nil }

// MainError is the error itself.
type MainError struct {
	Code       *string
	Message    *string
	InnerError *InnerError
}

// CreateMainErrorFromDiscriminatorValue returns an empty MainError.
func CreateMainErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &MainError{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (e *MainError) GetFieldDeserializers() fields {
	inner := objectInto(&e.InnerError, CreateInnerErrorFromDiscriminatorValue)
	return fields{
		"code":       stringInto(&e.Code),
		"message":    stringInto(&e.Message),
		"innerError": inner,
		"innererror": inner, // the spelling of Exchange
	}
}

// Serialize writes nothing: errors are only read.
func (e *MainError) Serialize(serialization.SerializationWriter) error { return nil }

// InnerError holds what Microsoft's support asks for.
type InnerError struct {
	RequestID *string
}

// CreateInnerErrorFromDiscriminatorValue returns an empty InnerError.
func CreateInnerErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &InnerError{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (e *InnerError) GetFieldDeserializers() fields {
	return fields{"request-id": stringInto(&e.RequestID)}
}

// Serialize writes nothing: errors are only read.
func (e *InnerError) Serialize(serialization.SerializationWriter) error { return nil }
