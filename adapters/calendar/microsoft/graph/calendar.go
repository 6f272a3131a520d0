package graph

import "github.com/microsoft/kiota-abstractions-go/serialization"

// Calendar is the part of microsoft.graph.calendar that is used.
type Calendar struct {
	ID                            *string
	Name                          *string
	CanEdit                       *bool
	IsDefaultCalendar             *bool
	Owner                         *EmailAddress
	AllowedOnlineMeetingProviders []string
	DefaultOnlineMeetingProvider  *string
}

// CreateCalendarFromDiscriminatorValue returns an empty Calendar.
func CreateCalendarFromDiscriminatorValue(serialization.ParseNode) (serialization.Parsable, error) {
	return &Calendar{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (c *Calendar) GetFieldDeserializers() fields {
	return fields{
		"id":                            stringInto(&c.ID),
		"name":                          stringInto(&c.Name),
		"canEdit":                       boolInto(&c.CanEdit),
		"isDefaultCalendar":             boolInto(&c.IsDefaultCalendar),
		"owner":                         objectInto(&c.Owner, CreateEmailAddressFromDiscriminatorValue),
		"allowedOnlineMeetingProviders": stringsInto(&c.AllowedOnlineMeetingProviders),
		"defaultOnlineMeetingProvider":  stringInto(&c.DefaultOnlineMeetingProvider),
	}
}

// Serialize writes nothing: a calendar is only read.
func (c *Calendar) Serialize(serialization.SerializationWriter) error { return nil }

// CalendarCollectionResponse is a page of calendars.
type CalendarCollectionResponse struct {
	Value    []*Calendar
	NextLink *string
}

// CreateCalendarCollectionResponseFromDiscriminatorValue returns an empty CalendarCollectionResponse.
func CreateCalendarCollectionResponseFromDiscriminatorValue(
	serialization.ParseNode,
) (serialization.Parsable, error) {
	return &CalendarCollectionResponse{}, nil
}

// GetFieldDeserializers returns the functions that read the fields.
func (r *CalendarCollectionResponse) GetFieldDeserializers() fields {
	return fields{
		"value":           objectsInto(&r.Value, CreateCalendarFromDiscriminatorValue),
		"@odata.nextLink": stringInto(&r.NextLink),
	}
}

// Serialize writes nothing: a page is only read.
func (r *CalendarCollectionResponse) Serialize(serialization.SerializationWriter) error { return nil }
