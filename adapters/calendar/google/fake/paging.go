package fake

import (
	"fmt"
	"strconv"
)

// page is the rest of a list.
type page struct {
	query string // the query of the list
	rest  []any
}

// page returns a page of a list: as many entries as requested, or fewer, or none, as Google reserves the
// right to (developers.google.com/workspace/calendar/api/v3/reference/events/list#maxResults). A token is
// valid only for the query that it was issued for.
func (c call) page(answer map[string]any, entries []any, usual, most int) (map[string]any, *refusal) {
	size := usual
	if asked := c.query.Get("maxResults"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 1 {
			return nil, invalidParameter("maxResults")
		}
		size = min(n, most)
	}
	if c.options.PageSize > 0 {
		size = min(size, c.options.PageSize)
	}
	query := c.fingerprint()
	if token := c.query.Get("pageToken"); token != "" {
		p, known := c.pages[token]
		if !known || p.query != query {
			return nil, invalidParameter("pageToken")
		}
		entries = p.rest
	} else if c.options.EmptyPages {
		size = 0
	}
	size = min(size, len(entries))
	answer["items"] = append([]any{}, entries[:size]...)
	if size == len(entries) && (size > 0 || !c.options.EmptyPages || c.query.Get("pageToken") != "") {
		answer["nextSyncToken"] = "sync"
		return answer, nil
	}
	token := fmt.Sprintf("EiQK%dGgw=", c.next())
	c.pages[token] = page{query: query, rest: entries[size:]}
	answer["nextPageToken"] = token
	return answer, nil
}

// fingerprint returns the query without its paging parameters.
func (c call) fingerprint() string {
	rest := map[string]string{"account": c.account.email, "path": c.request.URL.EscapedPath()}
	for name, values := range c.query {
		if name != "pageToken" && name != "maxResults" {
			rest[name] = values[0]
		}
	}
	return fmt.Sprint(rest)
}
