package graph

import (
	"encoding/json"
	"errors"
	"slices"
)

// Calendar is the part of microsoft.graph.calendar that is used.
type Calendar struct {
	ID                            *string       `json:"id"`
	Name                          *string       `json:"name"`
	CanEdit                       *bool         `json:"canEdit"`
	IsDefaultCalendar             *bool         `json:"isDefaultCalendar"`
	Owner                         *EmailAddress `json:"owner"`
	AllowedOnlineMeetingProviders []string      `json:"allowedOnlineMeetingProviders"`
	DefaultOnlineMeetingProvider  *string       `json:"defaultOnlineMeetingProvider"`
}

// CalendarCollectionResponse is a page of calendars.
type CalendarCollectionResponse struct {
	Value    List[Calendar] `json:"value"`
	NextLink *string        `json:"@odata.nextLink"`
}

var errNotAnObject = errors.New("there is something that is no object")

// List is a list of objects. It cannot be read if there is a null in it: without the event, busy time would look
// free.
type List[T any] []*T

// UnmarshalJSON implements json.Unmarshaler.
func (l *List[T]) UnmarshalJSON(text []byte) error {
	var all []*T
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if slices.Contains(all, nil) {
		return errNotAnObject
	}
	*l = all
	return nil
}
