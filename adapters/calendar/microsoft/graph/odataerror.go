package graph

import "github.com/microsoft/kiota-abstractions-go/serialization"

// ODataError is the body of an answer that refuses. Nothing in it is certain to be there.
type ODataError struct {
	Main *MainError
}

// CreateODataErrorFromDiscriminatorValue makes an ODataError.
func CreateODataErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &ODataError{}, nil
}

// GetFieldDeserializers reads the fields.
func (e *ODataError) GetFieldDeserializers() fields {
	return fields{"error": objectInto(&e.Main, CreateMainErrorFromDiscriminatorValue)}
}

// Serialize writes nothing: errors are only read.
func (e *ODataError) Serialize(serialization.SerializationWriter) error { return nil }

// MainError says what is wrong.
type MainError struct {
	Code       *string
	Message    *string
	InnerError *InnerError
}

// CreateMainErrorFromDiscriminatorValue makes a MainError.
func CreateMainErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &MainError{}, nil
}

// GetFieldDeserializers reads the fields.
func (e *MainError) GetFieldDeserializers() fields {
	inner := objectInto(&e.InnerError, CreateInnerErrorFromDiscriminatorValue)
	return fields{
		"code":       stringInto(&e.Code),
		"message":    stringInto(&e.Message),
		"innerError": inner,
		"innererror": inner, // as Exchange writes it
	}
}

// Serialize writes nothing: errors are only read.
func (e *MainError) Serialize(serialization.SerializationWriter) error { return nil }

// InnerError tells what Microsoft's support asks for.
type InnerError struct {
	RequestID *string
}

// CreateInnerErrorFromDiscriminatorValue makes an InnerError.
func CreateInnerErrorFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &InnerError{}, nil
}

// GetFieldDeserializers reads the fields.
func (e *InnerError) GetFieldDeserializers() fields {
	return fields{"request-id": stringInto(&e.RequestID)}
}

// Serialize writes nothing: errors are only read.
func (e *InnerError) Serialize(serialization.SerializationWriter) error { return nil }
