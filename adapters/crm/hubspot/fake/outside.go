package fake

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"time"
)

// Entry is an entry of a conversation.
type Entry struct {
	Kind string // MESSAGE, which the customer sees, COMMENT, which colleagues see, or another of HubSpot's
	Text string
	HTML string // the same with markup; its words are the text if Text is empty
}

var tag = regexp.MustCompile(`<[^>]*>`)

// Write adds an entry to the ticket's conversation. A ticket without a contact or a conversation gets them,
// as if it had been created from a conversation.
func (s *Server) Write(ticketID string, e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.find(func(t *ticket) bool { return t.id == ticketID })
	if t == nil {
		return fmt.Errorf("there is no ticket %s", ticketID)
	}
	t.contact = cmp.Or(t.contact, s.contacts[0].id)
	at := slices.IndexFunc(s.threads, func(th *thread) bool { return th.ticket == ticketID && !th.closed })
	if at < 0 {
		at = len(s.threads)
		s.threads = append(s.threads, &thread{
			id: s.next(), contact: t.contact, ticket: ticketID, created: s.options.Now(),
		})
	}
	now := s.options.Now()
	// Two entries never have the same time: HubSpot's times have milliseconds, and people are slower.
	if soonest := s.written.Add(2 * time.Millisecond); now.Before(soonest) {
		now = soonest
	}
	s.written = now
	s.threads[at].latest = now
	t.updated = s.options.Now()
	text := e.Text
	if text == "" {
		text = html.UnescapeString(tag.ReplaceAllString(e.HTML, ""))
	}
	s.threads[at].messages = append(s.threads[at].messages, message{
		id: s.next(), kind: e.Kind, text: text, richText: e.HTML, at: now,
	})
	return nil
}

// CloseThread closes the ticket's conversation, so that the next entry begins another.
func (s *Server) CloseThread(ticketID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, th := range s.threads {
		th.closed = th.closed || th.ticket == ticketID
	}
}

// Move sets the stage of a ticket, by its label in the ticket's pipeline.
func (s *Server) Move(ticketID, label string) error {
	return s.change(ticketID, func(t *ticket) error {
		for _, p := range s.pipelines {
			for _, st := range p.stages {
				if p.id == t.properties["hs_pipeline"] && st.label == label {
					t.properties["hs_pipeline_stage"] = st.id
					s.settle(t)
					return nil
				}
			}
		}
		return fmt.Errorf("there is no stage %s", label)
	})
}

// Set sets a property of a ticket, as a workflow does.
func (s *Server) Set(ticketID, property, value string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.properties[property] = value
		return nil
	})
}

// Merge merges a ticket into another, which is returned instead of it from then on.
func (s *Server) Merge(ticketID, into string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.mergedInto = into
		return nil
	})
}

// Archive moves a ticket to the recycling bin.
func (s *Server) Archive(ticketID string) error {
	return s.change(ticketID, func(t *ticket) error {
		t.archived = true
		return nil
	})
}

func (s *Server) change(ticketID string, how func(*ticket) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.find(func(t *ticket) bool { return t.id == ticketID })
	if t == nil {
		return fmt.Errorf("there is no ticket %s", ticketID)
	}
	t.updated = s.options.Now()
	return how(t)
}

// Count counts the tickets.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tickets)
}

// Property returns the value of a ticket's property.
func (s *Server) Property(ticketID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(func(t *ticket) bool { return t.id == ticketID }); t != nil {
		return t.properties[name]
	}
	return ""
}
