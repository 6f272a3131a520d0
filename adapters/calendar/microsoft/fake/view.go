package fake

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longest is the longest span that calendarView accepts
// (learn.microsoft.com/graph/api/calendar-list-calendarview).
const longest = 1825 * 24 * time.Hour

// view lists a calendar with series expanded. It includes events that only touch the span.
func (s *Server) view(c *call, b *box) answer {
	from, err1 := readMoment(c.query.Get("startDateTime"))
	to, err2 := readMoment(c.query.Get("endDateTime"))
	switch {
	case c.Method != http.MethodGet:
		return refuse(http.StatusMethodNotAllowed, "ErrorInvalidRequest", "The method is not supported.")
	case err1 != nil || err2 != nil:
		return invalid("ErrorInvalidParameter",
			"This request requires a time window specified by the query string parameters StartDateTime and "+
				"EndDateTime.")
	case to.Before(from), to.Sub(from) > longest:
		return invalid("ErrorInvalidRequest",
			"The requested time duration specified for calendar view is too long. Allowed limit = 1825 days.")
	}
	switch order := c.query.Get("$orderby"); order {
	case "", "start/dateTime":
	default:
		return invalid("ErrorInvalidUrlQuery",
			"The expression in the $orderby clause must evaluate to a single value of primitive type.")
	}
	var found []*event
	for _, e := range s.events {
		switch {
		case e.removed || e.box != b || e.master != nil:
		case e.rule != nil:
			found = append(found, s.occurrences(e, from, to)...)
		case s.touches(e, from, to):
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *event) int {
		return cmp.Or(a.start.Compare(b.start), strings.Compare(a.id, b.id))
	})
	all := make([]map[string]any, 0, len(found))
	for _, e := range found {
		all = append(all, pick(c, s.show(c, e)))
	}
	return s.page(c, all)
}

// readMoment parses a time; without an offset it is in UTC.
func readMoment(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	return time.Parse("2006-01-02T15:04:05", text)
}

func (s *Server) touches(e *event, from, to time.Time) bool {
	start, end := s.lies(e)
	return !start.After(to) && !end.Before(from)
}

// further is the position at which a list continues.
type further struct {
	path  string
	after int
}

// Sizes of pages (learn.microsoft.com/graph/paging; microsoftgraph/microsoft-graph-docs#6201 for the
// default).
const (
	defaultSize = 10
	longestPage = 1000
)

// page returns a page of a list. Clients must follow its link unchanged.
func (s *Server) page(c *call, all []map[string]any) answer {
	size, after := defaultSize, 0
	if top := c.query.Get("$top"); top != "" {
		n, err := strconv.Atoi(top)
		if err != nil || n < 1 || n > longestPage {
			return invalid("ErrorInvalidUrlQueryFilter", "The $top value is not valid.")
		}
		size = n
	}
	if most := s.options.MostPerPage; most > 0 {
		size = min(size, most)
	}
	if skip := c.query.Get("$skip"); skip != "" {
		n, err := strconv.Atoi(skip)
		if err != nil || n < 0 {
			return invalid("ErrorInvalidUrlQueryFilter", "The $skip value is not valid.")
		}
		after = n
	}
	path := c.URL.EscapedPath()
	if token := c.query.Get("$skiptoken"); token != "" {
		p, known := s.pages[token]
		if !known || p.path != path {
			return invalid("ErrorInvalidUrlQuery", "The skip token is not valid.")
		}
		after = p.after
	}
	after = min(after, len(all))
	end := min(after+size, len(all))
	body := map[string]any{
		"@odata.context": "https://graph.microsoft.com/v1.0/$metadata#Collection(event)", "value": all[after:end],
	}
	if end < len(all) {
		s.count++
		token := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s#%d", c.token.ClientID, s.count))
		s.pages[token] = further{path, end}
		query := c.query
		query.Set("$skiptoken", token)
		scheme := "http"
		if c.TLS != nil {
			scheme = "https"
		}
		body["@odata.nextLink"] = scheme + "://" + c.Host + path + "?" + query.Encode()
	}
	return answer{status: http.StatusOK, body: body}
}
