package fake

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

type thread struct {
	id              int64
	contact, ticket string
	closed, spam    bool
	created, latest time.Time
	messages        []message
}

type message struct {
	id             int64
	kind           string
	text, richText string
	archived       bool
	at             time.Time
}

func (c call) listThreads([]string) (any, *refusal) {
	if refused := first(c.takes("associatedContactId", "association", "threadStatus", "inboxId", "sort", "limit",
		"after", "latestMessageTimestampAfter"),
		c.needs("conversations.read")); refused != nil {
		return nil, refused
	}
	contact, status, sort := c.query.Get("associatedContactId"), c.query.Get("threadStatus"), c.query.Get("sort")
	switch {
	case contact != "" && c.query.Has("inboxId"):
		return nil, validation("associatedContactId cannot be used in conjunction with inboxId")
	case contact != "" && status == "":
		return nil, validation("threadStatus is required with associatedContactId")
	case status != "" && status != "OPEN" && status != "CLOSED":
		return nil, validation("threadStatus is unknown")
	case strings.TrimPrefix(sort, "-") == "latestMessageTimestamp" &&
		!c.query.Has("latestMessageTimestampAfter"):
		return nil, validation("latestMessageTimestampAfter is required to sort by latestMessageTimestamp")
	case strings.HasPrefix(sort, "-") && contact == "":
		return nil, validation("Only threads of a contact can be sorted in descending order")
	case sort != "" && strings.TrimPrefix(sort, "-") != "id":
		return nil, validation("sort is unknown")
	}
	var list []*thread
	for _, t := range c.threads {
		if (contact == "" || t.contact == contact) && (status == "" || t.closed == (status == "CLOSED")) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *thread) int {
		if sort == "-id" {
			a, b = b, a
		}
		return cmp.Compare(a.id, b.id)
	})
	return c.page(len(list), func(i int) any {
		t := list[i]
		status := "OPEN"
		if t.closed {
			status = "CLOSED"
		}
		shape := map[string]any{
			"id": strconv.FormatInt(t.id, 10), "status": status, "inboxId": "1", "associatedContactId": t.contact,
			"createdAt": stamp(t.created), "latestMessageTimestamp": stamp(t.latest), "spam": t.spam,
			"archived": false, "originalChannelId": "1000", "originalChannelAccountId": "2",
		}
		if c.query.Get("association") == "TICKET" && t.ticket != "" {
			shape["threadAssociations"] = map[string]any{"associatedTicketId": t.ticket}
		}
		return shape
	})
}

func (c call) listMessages(parts []string) (any, *refusal) {
	if refused := first(c.takes("sort", "limit", "after"), c.needs("conversations.read")); refused != nil {
		return nil, refused
	}
	at := slices.IndexFunc(c.threads, func(t *thread) bool { return strconv.FormatInt(t.id, 10) == parts[0] })
	if at < 0 {
		return nil, &refusal{status: http.StatusNotFound, category: "OBJECT_NOT_FOUND", message: "Thread not found"}
	}
	list := slices.Clone(c.threads[at].messages)
	switch c.query.Get("sort") {
	case "createdAt":
	case "", "-createdAt":
		slices.Reverse(list)
	default:
		return nil, validation("sort is unknown")
	}
	return c.page(len(list), func(i int) any {
		m := list[i]
		return map[string]any{
			"id": strconv.FormatInt(m.id, 10), "type": m.kind, "direction": "OUTGOING",
			"conversationsThreadId": parts[0], "createdAt": stamp(m.at), "createdBy": "A-1296619", "text": m.text,
			"richText": m.richText, "truncationStatus": "NOT_TRUNCATED", "archived": m.archived,
		}
	})
}

// page responds with the part of a list that the parameters limit and after select.
func (c call) page(n int, shape func(i int) any) (any, *refusal) {
	limit, offset := 20, 0
	for name, into := range map[string]*int{"limit": &limit, "after": &offset} {
		if !c.query.Has(name) {
			continue
		}
		value, err := strconv.Atoi(c.query.Get(name))
		if err != nil || value < 0 || name == "limit" && (value < 1 || value > 500) {
			return nil, validation(name + " is not valid")
		}
		*into = value
	}
	results := []any{}
	for i := offset; i < min(n, offset+limit); i++ {
		results = append(results, shape(i))
	}
	answer := map[string]any{"results": results}
	if offset+limit < n {
		answer["paging"] = map[string]any{"next": map[string]any{"after": strconv.Itoa(offset + limit)}}
	}
	return answer, nil
}
