package graph

import "encoding/json"

// User is the part of microsoft.graph.user that is used.
type User struct {
	ID                *string `json:"id"`
	DisplayName       *string `json:"displayName"`
	Mail              *string `json:"mail"`
	UserPrincipalName *string `json:"userPrincipalName"`
}

// EmailAddress is a name and address.
type EmailAddress struct {
	Address *string `json:"address,omitzero"`
	Name    *string `json:"name,omitzero"`
}

// Recipient is the sender or receiver of something.
type Recipient struct {
	EmailAddress *EmailAddress `json:"emailAddress"`
}

// Attendee is a person who is invited.
type Attendee struct {
	EmailAddress *EmailAddress   `json:"emailAddress,omitzero"`
	Type         *string         `json:"type,omitzero"`
	Status       *ResponseStatus `json:"status,omitzero"`
}

// MarshalJSON writes who is invited. Only the attendee can set the response.
func (a Attendee) MarshalJSON() ([]byte, error) {
	type written Attendee
	a.Status = nil
	return json.Marshal(written(a))
}

// ResponseStatus is a response to an invitation.
type ResponseStatus struct {
	Response *string `json:"response"`
}
