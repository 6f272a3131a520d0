package fake

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
)

// comments responds with a page of comments, by cursor
// (developer.zendesk.com/api-reference/ticketing/tickets/ticket_comments).
func (c call) comments() (map[string]any, *refusal) {
	t, refused := c.find(c.id)
	if refused != nil {
		return nil, refused
	}
	list := slices.Clone(t.comments)
	switch c.query.Get("sort") {
	case "", "created_at":
	case "-created_at":
		slices.Reverse(list)
	default:
		return nil, &refusal{
			status: 400, body: map[string]any{"errors": []any{map[string]any{"code": "InvalidSort",
				"title": "sort is not valid"}}},
		}
	}
	size, err := strconv.Atoi(c.query.Get("page[size]"))
	if err != nil || size < 1 || size > 100 {
		return nil, &refusal{
			status: 400, body: map[string]any{"errors": []any{map[string]any{"code": "InvalidPaginationParameter",
				"title": "page[size] is not valid"}}},
		}
	}
	if c.options.PageSize > 0 {
		size = min(size, c.options.PageSize)
	}
	from := 0
	if after := c.query.Get("page[after]"); after != "" {
		if _, err := fmt.Sscanf(after, "after-%d", &from); err != nil || from > len(list) {
			return nil, &refusal{
				status: 400, body: map[string]any{"errors": []any{map[string]any{"code": "InvalidPaginationParameter",
					"title": "page[after] is not valid"}}},
			}
		}
	}
	until := min(from+size, len(list))
	shown := []any{}
	for _, one := range list[from:until] {
		shown = append(shown, map[string]any{
			"id": one.id, "type": "Comment", "author_id": Agent, "body": one.plain, "plain_body": one.plain,
			"html_body": one.html, "public": one.public, "attachments": []any{}, "created_at": one.at,
		})
	}
	return map[string]any{"comments": shown, "meta": map[string]any{
		"has_more": until < len(list), "after_cursor": fmt.Sprintf("after-%d", until),
		"before_cursor": fmt.Sprintf("before-%d", from),
	}}, nil
}

// Comment adds what an agent writes in Zendesk's own pages, as HTML or plain text.
func (s *Server) Comment(ticketID, body string, isHTML, public bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(ticketID)
	if err != nil {
		return err
	}
	made := comment{s.next(), "<p>" + html.EscapeString(body) + "</p>", body, public, s.options.Now()}
	if isHTML {
		made.html, made.plain = body, html.UnescapeString(tag.ReplaceAllString(body, ""))
	}
	t.comments = append(t.comments, made)
	t.updated = s.options.Now()
	return nil
}

// MakePrivate makes the first comment of a ticket an internal note.
func (s *Server) MakePrivate(ticketID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(ticketID)
	if err == nil {
		t.comments[0].public = false
	}
	return err
}

var tag = regexp.MustCompile(`<[^>]*>`)

// Move sets the status of a ticket by its label. A solved ticket becomes Closed in the end.
func (s *Server) Move(ticketID, label string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.ticket(ticketID)
	if err != nil {
		return err
	}
	now := s.options.Now()
	t.updated, t.statusChanged = now, now
	if label == "Closed" {
		if t.solved.IsZero() {
			t.solved = now
		}
		t.status, t.custom = "closed", 5
		return nil
	}
	found, ok := s.statusOf(func(s status) bool { return s.label == label })
	if !ok || t.status == "closed" {
		return fmt.Errorf("ticket %s cannot be moved to %q", ticketID, label)
	}
	t.status, t.custom = found.category, found.id
	if found.category == "solved" {
		t.solved = now
	}
	return nil
}

// Tickets counts the tickets of the account.
func (s *Server) Tickets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tickets)
}

func (s *Server) ticket(id string) (*ticket, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, err
	}
	if t, refused := s.find(n); refused == nil {
		return t, nil
	}
	return nil, fmt.Errorf("there is no ticket %s", id)
}
