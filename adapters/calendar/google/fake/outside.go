package fake

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Changes that people make in Google's own pages, not through the API.

var errNoEvent = errors.New("there is no such event")

// Make adds an event to a calendar and returns its id. The event is in the form of the API. Given properties
// are kept unchanged, also an organizer or a status.
func (s *Server) Make(email, calendarID string, given map[string]any) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cal := s.accounts[email].calendar(calendarID)
	if cal == nil {
		return "", fmt.Errorf("there is no calendar %q", calendarID)
	}
	e := &event{data: copied(given)}
	if textOf(e.data, "id") == "" {
		e.data["id"] = fmt.Sprintf("made%04d", s.next())
	}
	c := call{Server: s, account: s.accounts[email]}
	if refused := c.complete(cal, e, nil); refused != nil {
		return "", errors.New(refused.message)
	}
	for name := range given {
		delete(e.data, name)
	}
	merge(e.data, given)
	if refused := settle(cal, e.data); refused != nil {
		return "", errors.New(refused.message)
	}
	cal.events[textOf(e.data, "id")] = e
	return textOf(e.data, "id"), nil
}

// Retitle changes the title of an event.
func (s *Server) Retitle(email, calendarID, id, title string) error {
	return s.edit(email, calendarID, id, func(e *event) error {
		e.data["summary"] = title
		return nil
	})
}

// Respond sets the response of an attendee: accepted, declined, tentative or needsAction.
func (s *Server) Respond(email, calendarID, id, guest, response string) error {
	return s.edit(email, calendarID, id, func(e *event) error {
		guests := attendeesOf(e.data)
		i := slices.IndexFunc(guests, func(g map[string]any) bool {
			return strings.EqualFold(textOf(g, "email"), guest)
		})
		if i < 0 {
			return fmt.Errorf("%s is not invited", guest)
		}
		guests[i]["responseStatus"] = response
		return nil
	})
}

func (s *Server) edit(email, calendarID, id string, change func(*event) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cal := s.accounts[email].calendar(calendarID)
	if cal == nil {
		return errNoEvent
	}
	e := cal.find(id)
	if e == nil {
		return errNoEvent
	}
	cal.events[id] = e
	s.stamp(e)
	return change(e)
}

// Notices returns the messages that were sent about an event.
func (s *Server) Notices(email, calendarID, id string) []Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cal := s.accounts[email].calendar(calendarID); cal != nil {
		if e := cal.find(id); e != nil {
			return slices.Clone(e.notices)
		}
	}
	return nil
}

// Event returns an event as it is stored, or nil.
func (s *Server) Event(email, calendarID, id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cal := s.accounts[email].calendar(calendarID); cal != nil {
		if e := cal.find(id); e != nil {
			return copied(e.data)
		}
	}
	return nil
}
