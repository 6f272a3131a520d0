package fake

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"frontdesk/core/adapter/adaptertest"
	"frontdesk/core/oauth/oauthtest"
)

// most is how many requests may run on a mailbox at one time (learn.microsoft.com/graph/throttling-limits).
const most = 4

// call is a request, or a part of a batch.
type call struct {
	*http.Request
	token  oauthtest.Token
	query  url.Values
	prefer map[string]string
	body   []byte
}

// serve handles a request with a valid token. path is escaped, as received, and without the version.
func (s *Server) serve(r *http.Request, token oauthtest.Token, met adaptertest.Injected, path string) answer {
	running := s.running.Add(1)
	defer s.running.Add(-1)
	for peak := s.peak.Load(); running > peak && !s.peak.CompareAndSwap(peak, running); {
		peak = s.peak.Load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+path)
	if running > most {
		s.refusedForConcurrency++
		a := refuse(http.StatusTooManyRequests, "ApplicationThrottled",
			"Application is over its MailboxConcurrency limit.")
		a.header = http.Header{"Retry-After": {"1"}}
		return a
	}
	if a, faulty := s.faulty(met, r.Method, path); faulty {
		return a
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return invalid("RequestBodyRead", "The body ended early.")
	}
	c := &call{Request: r, token: token, query: r.URL.Query(), prefer: preferences(r.Header), body: body}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segments[i], err = url.PathUnescape(segment); err != nil || segments[i] == "" {
			return invalid("BadRequest", "Resource not found for the segment.")
		}
	}
	switch {
	case segments[0] == "me" && token.Account == "":
		return invalid("BadRequest", "/me request is only valid with delegated authentication flow.")
	case segments[0] == "me":
		return s.user(c, segments[1:])
	case segments[0] == "users" && len(segments) > 1:
		if !strings.EqualFold(segments[1], s.options.Account) {
			return refuse(http.StatusNotFound, "ErrorInvalidUser", "The requested user '"+segments[1]+"' is invalid.")
		}
		return s.user(c, segments[2:])
	}
	return invalid("BadRequest", "Resource not found for the segment '"+segments[0]+"'.")
}

// preferences parses the Prefer headers (RFC 7240). Names are in lower case.
func preferences(h http.Header) map[string]string {
	all := map[string]string{}
	for _, line := range h.Values("Prefer") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			all[strings.ToLower(name)] = strings.Trim(value, `"`)
		}
	}
	return all
}

// may reports whether the token has one of the scopes. With .default, an application requests all scopes
// granted to it.
func (c *call) may(scopes ...string) bool {
	for _, has := range c.token.Scopes {
		if strings.HasSuffix(has, "/.default") {
			return true
		}
		if slices.Contains(scopes, strings.TrimPrefix(has, "https://graph.microsoft.com/")) {
			return true
		}
	}
	return false
}

func (s *Server) user(c *call, path []string) answer {
	if len(path) == 0 {
		return s.readUser(c)
	}
	if c.prefer["idtype"] != "ImmutableId" {
		s.mutable++
	}
	read := c.may("Calendars.Read", "Calendars.ReadWrite")
	if len(path) == 2 && path[0] == "calendar" && path[1] == "getSchedule" && read {
		return s.getSchedule(c)
	}
	if !read || c.Method != http.MethodGet && !c.may("Calendars.ReadWrite") {
		return denied()
	}
	if s.options.NoMailbox {
		return refuse(http.StatusNotFound, "MailboxNotEnabledForRESTAPI",
			"The mailbox is either inactive, soft-deleted, or is hosted on-premise.")
	}
	b := s.calendars[0]
	switch {
	case path[0] == "calendars" && len(path) == 1:
		return s.listCalendars(c)
	case path[0] == "calendars":
		i := slices.IndexFunc(s.calendars, func(b *box) bool { return b.id == path[1] })
		if i < 0 {
			if !strings.HasPrefix(path[1], "AAMk") {
				return invalid("ErrorInvalidIdMalformed", "Id is malformed.")
			}
			return notFound()
		}
		b, path = s.calendars[i], path[2:]
	case path[0] == "calendar":
		path = path[1:]
	}
	switch {
	case len(path) == 0:
		return s.readCalendar(c, b)
	case path[0] == "calendarView" && len(path) == 1:
		return s.view(c, b)
	case path[0] == "events" && len(path) == 1 && c.Method == http.MethodPost:
		return s.create(c, b)
	case path[0] == "events" && len(path) > 1:
		return s.one(c, path[1], path[2:])
	}
	return invalid("BadRequest", "Resource not found for the segment '"+path[0]+"'.")
}

func (s *Server) readUser(c *call) answer {
	if c.token.Account == "" && !c.may("User.Read.All") || !c.may("User.Read", "User.Read.All") {
		return refuse(http.StatusForbidden, "Authorization_RequestDenied",
			"Insufficient privileges to complete the operation.")
	}
	user := map[string]any{
		"id": "48d31887-5fad-4d73-a9f5-3c356e68a038", "displayName": s.options.Name, "mail": s.options.Account,
		"userPrincipalName": s.options.Account,
	}
	if s.options.Personal {
		user["mail"] = nil
	}
	if s.options.Guest {
		user["mail"] = nil
		user["userPrincipalName"] = strings.ReplaceAll(s.options.Account, "@", "_") + "#EXT#@directory.example.com"
	}
	return answer{status: http.StatusOK, body: pick(c, user)}
}

// pick returns the fields that $select names, and those that every object has.
func pick(c *call, object map[string]any) map[string]any {
	names := c.query.Get("$select")
	if names == "" {
		return object
	}
	picked := map[string]any{}
	for name, value := range object {
		if strings.HasPrefix(name, "@") || name == "id" || slices.Contains(strings.Split(names, ","), name) {
			picked[name] = value
		}
	}
	return picked
}

func (s *Server) readCalendar(c *call, b *box) answer {
	if c.Method != http.MethodGet {
		return refuse(http.StatusMethodNotAllowed, "ErrorInvalidRequest", "The method is not supported.")
	}
	return answer{status: http.StatusOK, body: pick(c, s.showCalendar(b))}
}

func (s *Server) showCalendar(b *box) map[string]any {
	allowed, usual := []string{"teamsForBusiness"}, "teamsForBusiness"
	if s.options.Personal {
		allowed, usual = []string{}, "unknown"
	}
	owner := map[string]any{"name": s.options.Name, "address": s.options.Account}
	if s.options.Guest {
		owner["address"] = ""
	}
	return map[string]any{
		"id": b.id, "name": b.name, "canEdit": !b.readOnly, "isDefaultCalendar": b.standard, "owner": owner,
		"allowedOnlineMeetingProviders": allowed, "defaultOnlineMeetingProvider": usual,
	}
}

func (s *Server) listCalendars(c *call) answer {
	var all []map[string]any
	for _, b := range s.calendars {
		all = append(all, pick(c, s.showCalendar(b)))
	}
	return s.page(c, all)
}
