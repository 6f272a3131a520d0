package graph

import (
	"errors"

	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// User is microsoft.graph.user, as far as it is used.
type User struct {
	ID                *string
	DisplayName       *string
	Mail              *string
	UserPrincipalName *string
}

// CreateUserFromDiscriminatorValue makes a User.
func CreateUserFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &User{}, nil
}

// GetFieldDeserializers reads the fields.
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

// CreateEmailAddressFromDiscriminatorValue makes an EmailAddress.
func CreateEmailAddressFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &EmailAddress{}, nil
}

// GetFieldDeserializers reads the fields.
func (a *EmailAddress) GetFieldDeserializers() fields {
	return fields{"address": stringInto(&a.Address), "name": stringInto(&a.Name)}
}

// Serialize writes the fields.
func (a *EmailAddress) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "address", a.Address, "name", a.Name)
}

// Recipient is who something is from or to.
type Recipient struct {
	EmailAddress *EmailAddress
}

// CreateRecipientFromDiscriminatorValue makes a Recipient.
func CreateRecipientFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Recipient{}, nil
}

// GetFieldDeserializers reads the fields.
func (r *Recipient) GetFieldDeserializers() fields {
	return fields{"emailAddress": objectInto(&r.EmailAddress, CreateEmailAddressFromDiscriminatorValue)}
}

// Serialize writes nothing: an organizer is only read.
func (r *Recipient) Serialize(serialization.SerializationWriter) error { return nil }

// Attendee is one invited.
type Attendee struct {
	EmailAddress *EmailAddress
	Type         *string
	Status       *ResponseStatus
}

// CreateAttendeeFromDiscriminatorValue makes an Attendee.
func CreateAttendeeFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Attendee{}, nil
}

// GetFieldDeserializers reads the fields.
func (a *Attendee) GetFieldDeserializers() fields {
	return fields{
		"emailAddress": objectInto(&a.EmailAddress, CreateEmailAddressFromDiscriminatorValue),
		"type":         stringInto(&a.Type),
		"status":       objectInto(&a.Status, CreateResponseStatusFromDiscriminatorValue),
	}
}

// Serialize writes who is invited. The answer is the attendee's to give.
func (a *Attendee) Serialize(w serialization.SerializationWriter) error {
	return errors.Join(writeObject(w, "emailAddress", a.EmailAddress), writeStrings(w, "type", a.Type))
}

// ResponseStatus is an attendee's answer.
type ResponseStatus struct {
	Response *string
}

// CreateResponseStatusFromDiscriminatorValue makes a ResponseStatus.
func CreateResponseStatusFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &ResponseStatus{}, nil
}

// GetFieldDeserializers reads the fields.
func (s *ResponseStatus) GetFieldDeserializers() fields {
	return fields{"response": stringInto(&s.Response)}
}

// Serialize writes nothing: answers are only read.
func (s *ResponseStatus) Serialize(serialization.SerializationWriter) error { return nil }
