package service

import (
	"time"

	"frontdesk/core/calendar"
	"frontdesk/core/normalize"
)

// BookMeeting is the input of book-meeting. The times are read but not yet placed in a zone: that may need
// the calendar's own.
type BookMeeting struct {
	Title        string
	Description  string
	Start, End   normalize.InputTime
	Timezone     string // IANA name or ""
	Attendees    []string
	CalendarIDs  []string
	Conferencing calendar.Conferencing
	LocationURL  string
}

// UpdateMeeting is the input of update-meeting; zero values are not given.
type UpdateMeeting struct {
	EventID     string
	Title       string
	Description string
	Start, End  normalize.InputTime
	Timezone    string
	Attendees   []string
	CalendarIDs []string
}

// ListEvents is the input of list-events; zero values are not given.
type ListEvents struct {
	Start, End  normalize.InputTime
	Timezone    string
	CalendarIDs []string
}

// CancelMeeting is the input of cancel-meeting.
type CancelMeeting struct {
	EventID    string
	CalendarID string
}

// CreateTicket is the input of create-ticket; zero values are not given.
type CreateTicket struct {
	Subject     string
	Description string
	Priority    string
	Status      string
	OwnerID     string
	AccountID   string
	ContactID   string
}

// BuyNumber is the input of buying a number.
type BuyNumber struct {
	AreaCode string
	Name     string // "" takes the number itself as its name
	Inbound  *int64
	Outbound *int64
}

// UpdateNumber is the input of updating a number: Set says that the field was given, a nil value that it is
// cleared.
type UpdateNumber struct {
	ID       int64
	Name     *string
	Inbound  EmployeeChange
	Outbound EmployeeChange
}

// EmployeeChange is a change of an assigned cloud employee.
type EmployeeChange struct {
	Set bool
	ID  *int64 // nil clears
}

// defaultListWindow is how far list-events looks when no end is given.
const defaultListWindow = 7 * 24 * time.Hour
