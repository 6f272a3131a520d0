package graph

import (
	"errors"

	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// User is the part of microsoft.graph.user that is used.
type User struct {
	ID                *string
	DisplayName       *string
	Mail              *string
	UserPrincipalName *string
}

// CreateUserFromDiscriminatorValue returns an empty User.
func CreateUserFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &User{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (u *User) GetFieldDeserializers() fields {
	return fields{
		"id":                stringInto(&u.ID),
		"displayName":       stringInto(&u.DisplayName),
		"mail":              stringInto(&u.Mail),
		"userPrincipalName": stringInto(&u.UserPrincipalName),
	}
}

// Serialize writes nothing: a user is only read.
func (u *User) Serialize(serialization.SerializationWriter) error { return nil }

// EmailAddress is a name and address.
type EmailAddress struct {
	Address *string
	Name    *string
}

// CreateEmailAddressFromDiscriminatorValue returns an empty EmailAddress.
func CreateEmailAddressFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &EmailAddress{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (a *EmailAddress) GetFieldDeserializers() fields {
	return fields{"address": stringInto(&a.Address), "name": stringInto(&a.Name)}
}

// Serialize writes the fields.
func (a *EmailAddress) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "address", a.Address, "name", a.Name)
}

// Recipient is the sender or receiver of something.
type Recipient struct {
	EmailAddress *EmailAddress
}

// CreateRecipientFromDiscriminatorValue returns an empty Recipient.
func CreateRecipientFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Recipient{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (r *Recipient) GetFieldDeserializers() fields {
	return fields{"emailAddress": objectInto(&r.EmailAddress, CreateEmailAddressFromDiscriminatorValue)}
}

// Serialize writes nothing: an organizer is only read.
func (r *Recipient) Serialize(serialization.SerializationWriter) error { return nil }

// Attendee is a person who is invited.
type Attendee struct {
	EmailAddress *EmailAddress
	Type         *string
	Status       *ResponseStatus
}

// CreateAttendeeFromDiscriminatorValue returns an empty Attendee.
func CreateAttendeeFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Attendee{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (a *Attendee) GetFieldDeserializers() fields {
	return fields{
		"emailAddress": objectInto(&a.EmailAddress, CreateEmailAddressFromDiscriminatorValue),
		"type":         stringInto(&a.Type),
		"status":       objectInto(&a.Status, CreateResponseStatusFromDiscriminatorValue),
	}
}

// Serialize writes who is invited. Only the attendee can set the response.
func (a *Attendee) Serialize(w serialization.SerializationWriter) error {
	return errors.Join(writeObject(w, "emailAddress", a.EmailAddress), writeStrings(w, "type", a.Type))
}

// ResponseStatus is a response to an invitation.
type ResponseStatus struct {
	Response *string
}

// CreateResponseStatusFromDiscriminatorValue returns an empty ResponseStatus.
func CreateResponseStatusFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &ResponseStatus{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (s *ResponseStatus) GetFieldDeserializers() fields {
	return fields{"response": stringInto(&s.Response)}
}

// Serialize writes nothing: responses are only read.
func (s *ResponseStatus) Serialize(serialization.SerializationWriter) error { return nil }
