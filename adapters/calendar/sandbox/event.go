package sandbox

import (
	"crypto/sha256"
	"encoding/base32"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/calendar"
)

// form is the kind of an event's times.
type form string

const (
	instantForm  form = ""         // moments, shown in Zone
	dayForm      form = "day"      // dates, as midnights in UTC
	floatingForm form = "floating" // wall clocks, as if UTC
)

// state is whether an event still takes place.
type state string

const (
	stands    state = ""
	cancelled state = "cancelled" // by this account: it can be read, but is no longer listed
	withdrawn state = "withdrawn" // by another organizer: it stays listed, marked as cancelled
)

// stored is an event, a series (with a Rule), or an instance that differs from its series, as stored.
type stored struct {
	ID          string     `json:"id"`
	Calendar    string     `json:"cal"`
	Version     int        `json:"v"`
	Title       string     `json:"title"`
	Description string     `json:"desc,omitempty"`
	Start       time.Time  `json:"start"`
	End         time.Time  `json:"end"`
	Zone        string     `json:"zone,omitempty"`
	Form        form       `json:"form,omitempty"`
	Organizer   person     `json:"org"`
	Attendees   []attendee `json:"att,omitempty"`
	Link        string     `json:"link,omitempty"` // the meeting link
	Free        bool       `json:"free,omitempty"`
	State       state      `json:"state,omitempty"`
	Rule        string     `json:"rule,omitempty"`
	// The instances that differ, by the stamp of their original start.
	Instances map[string]*stored `json:"inst,omitempty"`

	series string // of an instance: the id of its series
}

type person struct {
	Email string `json:"email"`
	Name  string `json:"name,omitempty"`
}

type attendee struct {
	person
	Type     string `json:"type,omitempty"` // "" is required
	Response string `json:"resp,omitempty"` // "" is needs_action
}

// newEvent returns the event of a booking.
func (d *driver) newEvent(calendarID, id string, b calendar.Booking) stored {
	s := stored{
		ID: id, Calendar: calendarID, Version: 1, Title: b.Title, Description: b.Description,
		Start: b.Start.UTC(), End: b.End.UTC(), Zone: b.Zone,
		Organizer: person{Email: d.settings.Email}, Attendees: invite(nil, b.Attendees),
	}
	switch b.Conferencing {
	case calendar.ConferencingProvider:
		s.Link = meetingLink(calendarID, id)
	case calendar.ConferencingURL:
		s.Link = b.LocationURL
	}
	return s
}

// eventID returns the event id for a booking's key. It is the same for every repeat of the booking.
func eventID(key string) string { return code("event", key)[:26] }

// meetingLink returns a link of the kind that providers make, to a host that does not exist (RFC 2606 section
// 2).
func meetingLink(calendarID, id string) string {
	c := code("link", calendarID, id)
	return "https://meet.sandbox.example/" + c[:3] + "-" + c[3:7] + "-" + c[7:10]
}

// code returns a hash in the letters that Google's event ids consist of.
func code(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// invite converts addresses into attendees. Those who were invited before keep their responses.
func invite(before []attendee, emails []string) []attendee {
	known := make(map[string]attendee, len(before))
	for _, a := range before {
		known[strings.ToLower(a.Email)] = a
	}
	list := make([]attendee, 0, len(emails))
	for _, email := range emails {
		a, was := known[strings.ToLower(email)]
		if !was {
			a = attendee{person: person{Email: email}, Response: answerAtOnce(email)}
		}
		list = append(list, a)
	}
	return list
}

// answerAtOnce returns the response of an address that responds at once, or "".
func answerAtOnce(email string) string {
	local, _, _ := strings.Cut(strings.ToLower(email), "@")
	local, _, _ = strings.Cut(local, "+")
	switch local {
	case "accepts":
		return "accepted"
	case "declines":
		return "declined"
	case "tentative":
		return "tentative"
	}
	return ""
}

// apply applies a change. Changed times become instants.
func (s *stored) apply(c calendar.Change) {
	if c.Title != nil {
		s.Title = *c.Title
	}
	if c.Description != nil {
		s.Description = *c.Description
	}
	if c.Attendees != nil {
		s.Attendees = invite(s.Attendees, *c.Attendees)
	}
	if c.Start != nil && c.End != nil {
		s.Start, s.End, s.Zone, s.Form = c.Start.UTC(), c.End.UTC(), c.Zone, instantForm
	}
	s.Version++
}

// event converts the event into the contract's form.
func (s stored) event() calendar.Event {
	e := calendar.Event{
		ID: s.ID, CalendarID: s.Calendar, SeriesID: s.series, Version: strconv.Itoa(s.Version),
		Title: s.Title, Description: s.Description, Start: s.time(s.Start), End: s.time(s.End),
		Organizer: calendar.Person{Email: s.Organizer.Email, Name: s.Organizer.Name},
		URL:       s.Link, IsCancelled: s.State != stands, IsFree: s.Free,
	}
	if e.URL == "" {
		e.URL = "https://calendar.sandbox.example/" + url.PathEscape(s.Calendar) + "/" + url.PathEscape(s.ID)
	}
	for _, a := range s.Attendees {
		attendee := calendar.Attendee{Email: a.Email, Name: a.Name, Type: a.Type, Response: a.Response}
		if attendee.Type == "" {
			attendee.Type = "required"
		}
		if attendee.Response == "" {
			attendee.Response = "needs_action"
		}
		e.Attendees = append(e.Attendees, attendee)
	}
	return e
}

func (s stored) time(t time.Time) calendar.Time {
	return calendar.Time{Instant: t, Zone: s.Zone, Floating: s.Form == floatingForm, AllDay: s.Form == dayForm}
}

// busy reports whether the event takes the account's time.
func (s stored) busy(email string) bool {
	if s.Free || s.State != stands {
		return false
	}
	for _, a := range s.Attendees {
		if strings.EqualFold(a.Email, email) && a.Response == "declined" {
			return false
		}
	}
	return true
}
