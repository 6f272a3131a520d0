package fake

import (
	"fmt"
	"html"
	"strconv"
)

// Comment adds what an agent writes in Freshdesk's own pages: a reply, or a note for colleagues.
func (s *Server) Comment(ticketID, body string, isHTML, public bool) error {
	return s.change(ticketID, func(t *ticket) error {
		if !isHTML {
			body = html.EscapeString(body)
		}
		t.talk = append(t.talk, conversation{s.next(), "<div>" + body + "</div>", !public, s.options.Now().UTC()})
		return nil
	})
}

// Move sets the status of a ticket by its label.
func (s *Server) Move(ticketID, status string) error {
	return s.change(ticketID, func(t *ticket) error {
		for _, known := range statuses {
			if known.label == status {
				t.move(known.number, s.options.Now().UTC())
				return nil
			}
		}
		return fmt.Errorf("there is no status %q", status)
	})
}

// Delete puts a ticket into the trash, where the API still shows it.
func (s *Server) Delete(ticketID string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.deleted = true
		return nil
	})
}

// MarkSpam marks a ticket as spam.
func (s *Server) MarkSpam(ticketID string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.spam = true
		return nil
	})
}

// Archive moves a ticket to the archive, as Freshdesk does with those that were closed months ago.
func (s *Server) Archive(ticketID string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.archived = true
		return nil
	})
}

// Ticket returns a ticket as agents see it, or nil if no ticket has that id.
func (s *Server) Ticket(ticketID string) map[string]any {
	var shown map[string]any
	_ = s.change(ticketID, func(t *ticket) error { // a missing ticket leaves shown nil
		shown = t.shown()
		return nil
	})
	return shown
}

// Tickets counts the tickets of the account.
func (s *Server) Tickets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tickets)
}

func (s *Server) change(id string, how func(*ticket) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	t, refused := s.find(n)
	if refused != nil {
		return fmt.Errorf("there is no ticket %s", id)
	}
	t.updated = s.options.Now().UTC()
	return how(t)
}

// AddField adds a custom field to the account, as an administrator does.
func (s *Server) AddField(f Field) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Fields = append(s.options.Fields, f)
}
