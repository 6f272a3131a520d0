package graph

// Event is the part of microsoft.graph.event that is used. Nil is an absent field, or one not to send.
type Event struct {
	ETag                  *string            `json:"@odata.etag,omitzero"`
	ID                    *string            `json:"id,omitzero"`
	ChangeKey             *string            `json:"changeKey,omitzero"`
	CreatedDateTime       *string            `json:"createdDateTime,omitzero"`
	LastModifiedDateTime  *string            `json:"lastModifiedDateTime,omitzero"`
	TransactionID         *string            `json:"transactionId,omitzero"`
	Type                  *string            `json:"type,omitzero"`
	SeriesMasterID        *string            `json:"seriesMasterId,omitzero"`
	Subject               *string            `json:"subject,omitzero"`
	Body                  *ItemBody          `json:"body,omitzero"`
	Start                 *DateTimeTimeZone  `json:"start,omitzero"`
	End                   *DateTimeTimeZone  `json:"end,omitzero"`
	OriginalStartTimeZone *string            `json:"originalStartTimeZone,omitzero"`
	OriginalEndTimeZone   *string            `json:"originalEndTimeZone,omitzero"`
	IsAllDay              *bool              `json:"isAllDay,omitzero"`
	IsCancelled           *bool              `json:"isCancelled,omitzero"`
	IsOrganizer           *bool              `json:"isOrganizer,omitzero"`
	ResponseRequested     *bool              `json:"responseRequested,omitzero"`
	ResponseStatus        *ResponseStatus    `json:"responseStatus,omitzero"` // of the account
	ShowAs                *string            `json:"showAs,omitzero"`
	Organizer             *Recipient         `json:"organizer,omitzero"`
	Attendees             List[Attendee]     `json:"attendees,omitzero"` // empty clears the list
	Location              *Location          `json:"location,omitzero"`
	IsOnlineMeeting       *bool              `json:"isOnlineMeeting,omitzero"`
	OnlineMeetingProvider *string            `json:"onlineMeetingProvider,omitzero"`
	OnlineMeeting         *OnlineMeetingInfo `json:"onlineMeeting,omitzero"`
	WebLink               *string            `json:"webLink,omitzero"`
}

// EventCollectionResponse is a page of events.
type EventCollectionResponse struct {
	Value    List[Event] `json:"value"`
	NextLink *string     `json:"@odata.nextLink"`
}

// ItemBody is a body as text or HTML.
type ItemBody struct {
	ContentType *string `json:"contentType,omitzero"` // "text" or "html"
	Content     *string `json:"content,omitzero"`
}

// DateTimeTimeZone is a wall clock and its zone.
type DateTimeTimeZone struct {
	DateTime *string `json:"dateTime,omitzero"`
	TimeZone *string `json:"timeZone,omitzero"`
}

// Location is where an event takes place.
type Location struct {
	DisplayName *string `json:"displayName,omitzero"`
	LocationURI *string `json:"locationUri,omitzero"`
}

// OnlineMeetingInfo is how to join an online meeting.
type OnlineMeetingInfo struct {
	JoinURL *string `json:"joinUrl"`
}

// CancelRequestBody is the body of the cancel action.
type CancelRequestBody struct {
	Comment string `json:"comment"`
}

// DeclineRequestBody is the body of the decline action.
type DeclineRequestBody struct {
	Comment      string `json:"comment"`
	SendResponse bool   `json:"sendResponse"`
}
