package graph

import (
	"errors"

	"github.com/microsoft/kiota-abstractions-go/serialization"
)

// Event is the part of microsoft.graph.event that is used. Nil is an absent field, or one not to send.
type Event struct {
	ETag                  *string
	ID                    *string
	ChangeKey             *string
	CreatedDateTime       *string
	LastModifiedDateTime  *string
	TransactionID         *string
	SeriesMasterID        *string
	Subject               *string
	Body                  *ItemBody
	Start, End            *DateTimeTimeZone
	OriginalStartTimeZone *string
	OriginalEndTimeZone   *string
	IsAllDay              *bool
	IsCancelled           *bool
	IsOrganizer           *bool
	ResponseRequested     *bool
	ResponseStatus        *ResponseStatus // of the account
	ShowAs                *string
	Organizer             *Recipient
	Attendees             []*Attendee // empty clears the list
	Location              *Location
	IsOnlineMeeting       *bool
	OnlineMeetingProvider *string
	OnlineMeeting         *OnlineMeetingInfo
	WebLink               *string
}

// CreateEventFromDiscriminatorValue returns an empty Event.
func CreateEventFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Event{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (e *Event) GetFieldDeserializers() fields {
	return fields{
		"@odata.etag":           stringInto(&e.ETag),
		"id":                    stringInto(&e.ID),
		"changeKey":             stringInto(&e.ChangeKey),
		"createdDateTime":       stringInto(&e.CreatedDateTime),
		"lastModifiedDateTime":  stringInto(&e.LastModifiedDateTime),
		"transactionId":         stringInto(&e.TransactionID),
		"seriesMasterId":        stringInto(&e.SeriesMasterID),
		"subject":               stringInto(&e.Subject),
		"body":                  objectInto(&e.Body, CreateItemBodyFromDiscriminatorValue),
		"start":                 objectInto(&e.Start, CreateDateTimeTimeZoneFromDiscriminatorValue),
		"end":                   objectInto(&e.End, CreateDateTimeTimeZoneFromDiscriminatorValue),
		"originalStartTimeZone": stringInto(&e.OriginalStartTimeZone),
		"originalEndTimeZone":   stringInto(&e.OriginalEndTimeZone),
		"isAllDay":              boolInto(&e.IsAllDay),
		"isCancelled":           boolInto(&e.IsCancelled),
		"isOrganizer":           boolInto(&e.IsOrganizer),
		"responseRequested":     boolInto(&e.ResponseRequested),
		"responseStatus":        objectInto(&e.ResponseStatus, CreateResponseStatusFromDiscriminatorValue),
		"showAs":                stringInto(&e.ShowAs),
		"organizer":             objectInto(&e.Organizer, CreateRecipientFromDiscriminatorValue),
		"attendees":             objectsInto(&e.Attendees, CreateAttendeeFromDiscriminatorValue),
		"location":              objectInto(&e.Location, CreateLocationFromDiscriminatorValue),
		"isOnlineMeeting":       boolInto(&e.IsOnlineMeeting),
		"onlineMeetingProvider": stringInto(&e.OnlineMeetingProvider),
		"onlineMeeting":         objectInto(&e.OnlineMeeting, CreateOnlineMeetingInfoFromDiscriminatorValue),
		"webLink":               stringInto(&e.WebLink),
	}
}

// Serialize writes the fields that are set and can be written.
func (e *Event) Serialize(w serialization.SerializationWriter) error {
	return errors.Join(
		writeStrings(w, "transactionId", e.TransactionID, "subject", e.Subject),
		writeObject(w, "body", e.Body),
		writeObject(w, "start", e.Start),
		writeObject(w, "end", e.End),
		w.WriteBoolValue("isAllDay", e.IsAllDay),
		writeObjects(w, "attendees", e.Attendees),
		writeObject(w, "location", e.Location),
		w.WriteBoolValue("isOnlineMeeting", e.IsOnlineMeeting),
		writeStrings(w, "onlineMeetingProvider", e.OnlineMeetingProvider),
	)
}

// EventCollectionResponse is a page of events.
type EventCollectionResponse struct {
	Value    []*Event
	NextLink *string
}

// CreateEventCollectionResponseFromDiscriminatorValue returns an empty EventCollectionResponse.
func CreateEventCollectionResponseFromDiscriminatorValue(
	serialization.ParseNode,
) (serialization.Parsable, error) {
	return &EventCollectionResponse{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (r *EventCollectionResponse) GetFieldDeserializers() fields {
	return fields{
		"value":           objectsInto(&r.Value, CreateEventFromDiscriminatorValue),
		"@odata.nextLink": stringInto(&r.NextLink),
	}
}

// Serialize writes nothing: a page is only read.
func (r *EventCollectionResponse) Serialize(serialization.SerializationWriter) error { return nil }

// ItemBody is a body as text or HTML.
type ItemBody struct {
	ContentType *string // "text" or "html"
	Content     *string
}

// CreateItemBodyFromDiscriminatorValue returns an empty ItemBody.
func CreateItemBodyFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &ItemBody{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (b *ItemBody) GetFieldDeserializers() fields {
	return fields{"contentType": stringInto(&b.ContentType), "content": stringInto(&b.Content)}
}

// Serialize writes the fields.
func (b *ItemBody) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "contentType", b.ContentType, "content", b.Content)
}

// DateTimeTimeZone is a wall clock and its zone.
type DateTimeTimeZone struct {
	DateTime *string
	TimeZone *string
}

// CreateDateTimeTimeZoneFromDiscriminatorValue returns an empty DateTimeTimeZone.
func CreateDateTimeTimeZoneFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &DateTimeTimeZone{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (t *DateTimeTimeZone) GetFieldDeserializers() fields {
	return fields{"dateTime": stringInto(&t.DateTime), "timeZone": stringInto(&t.TimeZone)}
}

// Serialize writes the fields.
func (t *DateTimeTimeZone) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "dateTime", t.DateTime, "timeZone", t.TimeZone)
}

// Location is where an event takes place.
type Location struct {
	DisplayName *string
	LocationURI *string
}

// CreateLocationFromDiscriminatorValue returns an empty Location.
func CreateLocationFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Location{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (l *Location) GetFieldDeserializers() fields {
	return fields{"displayName": stringInto(&l.DisplayName), "locationUri": stringInto(&l.LocationURI)}
}

// Serialize writes the fields.
func (l *Location) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "displayName", l.DisplayName, "locationUri", l.LocationURI)
}

// OnlineMeetingInfo is how to join an online meeting.
type OnlineMeetingInfo struct {
	JoinURL *string
}

// CreateOnlineMeetingInfoFromDiscriminatorValue returns an empty OnlineMeetingInfo.
func CreateOnlineMeetingInfoFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &OnlineMeetingInfo{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (i *OnlineMeetingInfo) GetFieldDeserializers() fields {
	return fields{"joinUrl": stringInto(&i.JoinURL)}
}

// Serialize writes nothing: Graph creates it.
func (i *OnlineMeetingInfo) Serialize(serialization.SerializationWriter) error { return nil }

// CancelRequestBody is the body of the cancel action.
type CancelRequestBody struct {
	Comment *string
}

// GetFieldDeserializers returns the functions that read the fields.
func (b *CancelRequestBody) GetFieldDeserializers() fields {
	return fields{"comment": stringInto(&b.Comment)}
}

// Serialize writes the fields.
func (b *CancelRequestBody) Serialize(w serialization.SerializationWriter) error {
	return writeStrings(w, "comment", b.Comment)
}

// DeclineRequestBody is the body of the decline action.
type DeclineRequestBody struct {
	Comment      *string
	SendResponse *bool
}

// GetFieldDeserializers returns the functions that read the fields.
func (b *DeclineRequestBody) GetFieldDeserializers() fields {
	return fields{"comment": stringInto(&b.Comment), "sendResponse": boolInto(&b.SendResponse)}
}

// Serialize writes the fields.
func (b *DeclineRequestBody) Serialize(w serialization.SerializationWriter) error {
	return errors.Join(writeStrings(w, "comment", b.Comment), w.WriteBoolValue("sendResponse", b.SendResponse))
}
