package fake

import (
	"errors"
	"slices"
	"strings"
	"time"

	"frontdesk/core/timezone"
)

// Changes to the mailbox by others: its owner in Outlook, and those who invite or are invited.

var (
	errNoCalendar = errors.New("fake: no such calendar")
	errNoEvent    = errors.New("fake: no such event")
	errNoZone     = errors.New("fake: a zone without a name of Windows")
)

func (s *Server) put(calendarID, subject string, set func(*event) error) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.calendars, func(b *box) bool { return b.id == calendarID })
	if i < 0 {
		return "", errNoCalendar
	}
	e := &event{
		id: s.newID(), key: s.newKey(), box: s.calendars[i], subject: subject, showAs: "busy",
		created: s.options.Now(), zone: "UTC", endZone: "UTC",
		body: itemBody{ContentType: "html", Content: "<html><body></body></html>"},
	}
	if err := set(e); err != nil {
		return "", err
	}
	s.events[e.id] = e
	return e.id, nil
}

// Series creates a recurring event.
func (s *Server) Series(
	calendarID, subject string, start time.Time, length time.Duration, zone, rule string,
) (id string, err error) {
	return s.put(calendarID, subject, func(e *event) error {
		windows, known := timezone.ToWindows(zone)
		if !known {
			return errNoZone
		}
		e.start, e.end, e.zone, e.endZone = start, start.Add(length), windows, windows
		e.changed, e.cancelled = map[string]*event{}, map[string]bool{}
		e.rule, err = s.series(start, zoneOf(windows), rule)
		return err
	})
}

// Days creates an event of whole days. The times are midnights in UTC; the end is exclusive.
func (s *Server) Days(calendarID, subject string, from, to time.Time) (id string, err error) {
	return s.put(calendarID, subject, func(e *event) error {
		e.start, e.end, e.days, e.showAs = from, to, true, "free"
		return nil
	})
}

// Free creates an event that does not make its owner busy.
func (s *Server) Free(calendarID, subject string, from, to time.Time) (id string, err error) {
	return s.put(calendarID, subject, func(e *event) error {
		e.start, e.end, e.showAs = from, to, "free"
		return nil
	})
}

// Invite creates an event to which organizer invites the account.
func (s *Server) Invite(calendarID, subject, organizer string, from, to time.Time) (id string, err error) {
	return s.put(calendarID, subject, func(e *event) error {
		e.start, e.end, e.organizer = from, to, organizer
		e.attendees = []attendee{{EmailAddress: emailAddress{Address: s.options.Account}, Type: "required",
			response: "none"}}
		return nil
	})
}

// InviteToSeries creates a recurring event to which organizer invites the account and one more guest; if rule
// is "", a single event.
func (s *Server) InviteToSeries(
	calendarID, subject, organizer, guest string, start time.Time, length time.Duration, zone, rule string,
) (id string, err error) {
	if rule == "" {
		id, err = s.Invite(calendarID, subject, organizer, start, start.Add(length))
	} else {
		id, err = s.Series(calendarID, subject, start, length, zone, rule)
	}
	if err != nil {
		return "", err
	}
	return id, s.edit(id, func(e *event) {
		e.organizer, e.attendees = organizer, nil
		for _, address := range []string{s.options.Account, guest} {
			invited := attendee{EmailAddress: emailAddress{Address: address}, Type: "required", response: "none"}
			e.attendees = append(e.attendees, invited)
		}
	})
}

// Withdraw cancels an invitation on behalf of its organizer.
func (s *Server) Withdraw(id string) error {
	return s.edit(id, func(e *event) { e.withdrawn, e.subject = true, "Canceled: "+e.subject })
}

// Retitle changes the title of an event.
func (s *Server) Retitle(id, subject string) error {
	return s.edit(id, func(e *event) { e.subject = subject })
}

// Show sets how an event is shown: "free", "tentative", "busy", "oof", "workingElsewhere" or "unknown".
func (s *Server) Show(id, status string) error {
	return s.edit(id, func(e *event) { e.showAs = status })
}

// SetZone sets the zone name of an event, which may be an unknown one.
func (s *Server) SetZone(id, name string) error {
	return s.edit(id, func(e *event) { e.zone, e.endZone = name, name })
}

// Age makes an event appear to have been created that much earlier.
func (s *Server) Age(id string, by time.Duration) error {
	return s.edit(id, func(e *event) { e.created = e.created.Add(-by) })
}

// Unlink removes the online meeting of an event, as a person does in Outlook.
func (s *Server) Unlink(id string) error {
	return s.edit(id, func(e *event) { e.online, e.join, e.modified = false, "", s.options.Now() })
}

// Move moves an event into another folder: its immutable id stays, its other id changes.
func (s *Server) Move(id string) error { return s.edit(id, func(e *event) { e.moves++ }) }

// Remove removes an event.
func (s *Server) Remove(id string) error { return s.edit(id, func(e *event) { e.removed = true }) }

// Answer sets the response of one attendee: "accepted", "declined" or "tentativelyAccepted".
func (s *Server) Answer(id, email, response string) error {
	found := false
	err := s.edit(id, func(e *event) {
		for i, a := range e.attendees {
			if strings.EqualFold(a.EmailAddress.Address, email) {
				e.attendees[i].response, found = response, true
			}
		}
	})
	if err == nil && !found {
		return errNoEvent
	}
	return err
}

// Joins reports whether an event still has its online meeting.
func (s *Server) Joins(id string) (joins bool) {
	_ = s.look(id, func(e *event) { joins = e.join != "" && strings.Contains(e.body.Content, escape(e.join)) })
	return joins
}

// Body returns the body of an event as it is stored.
func (s *Server) Body(id string) (content string) {
	_ = s.look(id, func(e *event) { content = e.body.Content })
	return content
}

// Notices returns the messages that were sent about an event, in order.
func (s *Server) Notices(id string) (list []Notice) {
	_ = s.look(id, func(e *event) { list = slices.Clone(e.notices) })
	return list
}

// Events returns the number of events that are not removed. A series counts as one.
func (s *Server) Events() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if !e.removed && e.master == nil {
			n++
		}
	}
	return n
}

func (s *Server) edit(id string, change func(*event)) error {
	return s.look(id, func(e *event) {
		e.attendees = slices.Clone(e.attendees)
		change(e)
		e.key = s.newKey()
		if e.master != nil {
			e.master.changed[e.date] = e
			s.events[e.id] = e
		}
	})
}

func (s *Server) look(id string, at func(*event)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.events[id]
	if e == nil {
		if e, _ = s.find(id); e == nil {
			return errNoEvent
		}
	}
	at(e)
	return nil
}
