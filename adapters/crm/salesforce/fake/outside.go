package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// What agents do in Salesforce's own pages.

// Tickets counts the cases.
func (s *Server) Tickets(context.Context) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.cases), nil
}

// Case returns the fields of a case, each a string, a bool or nil. It returns nil if no case has that id.
func (s *Server) Case(id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cases {
		if c.row["Id"] == id {
			return maps.Clone(c.row)
		}
	}
	return nil
}

// Comment adds a case comment, which customers see if it is published.
func (s *Server) Comment(id, body string, published bool) error {
	return s.change(id, func(c *caseRow) {
		c.comments = append(c.comments, row{
			"Id": s.childID("00a"), "CommentBody": body, "IsPublished": published, "CreatedDate": s.stamp(),
		})
	})
}

// Email adds an email to a case, sent or as a draft. Each body may be "".
func (s *Server) Email(id, text, html string, draft bool) error {
	return s.change(id, func(c *caseRow) {
		status := "3" // sent
		if draft {
			status = "5"
		}
		c.emails = append(c.emails, row{
			"Id": s.childID("02s"), "TextBody": orNil(text), "HtmlBody": orNil(html), "Status": status,
			"MessageDate": s.stamp(),
		})
	})
}

// Post adds a post to a case's feed, for all who see the case or for colleagues.
func (s *Server) Post(id, body string, rich, public bool) error {
	return s.change(id, func(c *caseRow) {
		visibility := "InternalUsers"
		if public {
			visibility = "AllUsers"
		}
		c.posts = append(c.posts, row{
			"Id": s.childID("0D5"), "Body": body, "IsRichText": rich, "Type": "TextPost", "Visibility": visibility,
			"CreatedDate": s.stamp(),
		})
	})
}

// Move sets the status of a case.
func (s *Server) Move(id, status string) error {
	if !slices.ContainsFunc(s.options.Statuses, func(v Value) bool { return v.Value == status }) {
		return fmt.Errorf("fake: there is no status %q", status)
	}
	return s.change(id, func(c *caseRow) {
		c.row["Status"] = status
		s.settle(c)
	})
}

// Merge merges a case into another, and deletes it.
func (s *Server) Merge(id, into string) error {
	return s.change(id, func(c *caseRow) { c.row["MasterRecordId"], c.deleted = into, true })
}

// Add creates a case with these fields, without checking them.
func (s *Server) Add(fields map[string]any) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	at := s.stamp()
	added := &caseRow{row: row{
		"Id": RecordID("500", s.made), "IsClosed": false, "CreatedDate": at, "CreatedById": Owner,
		"LastModifiedDate": at,
	}}
	for field, value := range fields {
		added.row[field] = value
	}
	s.cases = append(s.cases, added)
	return added.row["Id"].(string)
}

// Statuses replaces the values of Status.
func (s *Server) Statuses(values ...Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Statuses = values
}

func (s *Server) change(id string, how func(*caseRow)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cases {
		if c.row["Id"] == id {
			how(c)
			c.row["LastModifiedDate"] = s.stamp()
			return nil
		}
	}
	return fmt.Errorf("fake: there is no case %q", id)
}

// childID returns an id that is greater than every earlier one.
func (s *Server) childID(kind string) string {
	s.made++
	return RecordID(kind, s.made)
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// AddField adds a custom field to cases, as an administrator does.
func (s *Server) AddField(f Field) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Fields = append(s.options.Fields, f)
}

// Origins replaces the values of Origin.
func (s *Server) Origins(values ...Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Origins = values
}
