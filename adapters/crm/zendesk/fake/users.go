package fake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// user is an agent or a customer. The first address and number are the primary ones. The others are
// identities alone (developer.zendesk.com/api-reference/ticketing/users/user_identities).
type user struct {
	id             int64
	name, role     string
	emails, phones []string
	org            int64
}

// endUser is the role of a customer.
const endUser = "end-user"

type organization struct {
	id   int64
	name string
}

// AddUser adds a customer to the account, as an agent does. The first address and number are the primary
// ones. The organization is added too, unless it is "". AddUser returns the id.
func (s *Server) AddUser(name, organizationName string, emails, phones []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := user{id: 20978393000000 + s.next(), name: name, role: endUser, emails: emails, phones: phones}
	if organizationName != "" {
		u.org = 50997401000000 + s.next()
		s.orgs = append(s.orgs, organization{u.org, organizationName})
	}
	s.users = append(s.users, u)
	return strconv.FormatInt(u.id, 10)
}

func (s *Server) user(id int64) (user, bool) {
	i := slices.IndexFunc(s.users, func(u user) bool { return u.id == id })
	if i < 0 {
		return user{}, false
	}
	return s.users[i], true
}

func (s *Server) isAgent(id int64) bool {
	u, found := s.user(id)
	return found && u.role != endUser
}

func (s *Server) isOrganization(id int64) bool {
	return slices.ContainsFunc(s.orgs, func(o organization) bool { return o.id == id })
}

// shown returns the user as the API shows it.
func (u user) shown() map[string]any {
	first := func(list []string) any { return orNull(cmp.Or(slices.Concat(list, []string{""})[0])) }
	return map[string]any{
		"id": u.id, "name": u.name, "role": u.role, "email": first(u.emails), "phone": first(u.phones),
		"shared_phone_number": false, "organization_id": orNull(u.org), "active": true,
	}
}

// searchUsers responds with a page of the users that a query finds
// (developer.zendesk.com/api-reference/ticketing/users/users, "Search Users").
func (c call) searchUsers() (map[string]any, *refusal) {
	wanted, ok := parseSearch(c.query.Get("query"))
	if !ok {
		return nil, &refusal{status: 422, body: map[string]any{
			"error": "invalid", "description": "Invalid search: the query cannot be read",
		}}
	}
	found := []map[string]any{}
	for _, u := range c.users {
		if wanted.finds(u) {
			found = append(found, u.shown())
		}
	}
	return c.page("users", found, mostInPage)
}

// mostInPage is the most records in a page of a list.
const mostInPage = 100

// page responds with a page of a list by offset
// (developer.zendesk.com/api-reference/introduction/pagination, "Using offset pagination").
func (c call) page(name string, all []map[string]any, size int) (map[string]any, *refusal) {
	number := 1
	for parameter, to := range map[string]*int{"page": &number, "per_page": &size} {
		text := c.query.Get(parameter)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, &refusal{
				status: 400, body: map[string]any{"error": "InvalidPaginationParameter", "description": parameter},
			}
		}
		*to = min(n, mostInPage)
	}
	from, until := min((number-1)*size, len(all)), min(number*size, len(all))
	answer := map[string]any{name: all[from:until], "count": len(all), "next_page": nil, "previous_page": nil}
	if until < len(all) {
		answer["next_page"] = fmt.Sprintf("https://acme.zendesk.com/api/v2/list.json?page=%d", number+1)
	}
	return answer, nil
}

// showUsers responds with users by their ids, and what belongs to them
// (developer.zendesk.com/documentation/ticketing/using-the-zendesk-api/side_loading).
func (c call) showUsers() (map[string]any, *refusal) {
	ids := strings.Split(c.query.Get("ids"), ",")
	if len(ids) > mostInPage {
		return nil, &refusal{status: 400, body: map[string]any{"error": "TooManyIds", "description": "ids"}}
	}
	users, identities, orgs := []any{}, []any{}, []any{}
	for _, u := range c.users {
		if !slices.Contains(ids, strconv.FormatInt(u.id, 10)) {
			continue
		}
		users = append(users, u.shown())
		for kind, values := range map[string][]string{"email": u.emails, "phone_number": u.phones} {
			for i, v := range values {
				identities = append(identities, map[string]any{"id": u.id*10 + int64(i), "user_id": u.id,
					"type": kind, "value": v, "primary": i == 0})
			}
		}
	}
	for _, o := range c.orgs {
		orgs = append(orgs, map[string]any{"id": o.id, "name": o.name})
	}
	answer := map[string]any{"users": users, "count": len(users), "next_page": nil}
	for side := range strings.SplitSeq(c.query.Get("include"), ",") {
		switch side {
		case "":
		case "identities":
			answer[side] = identities
		case "organizations":
			answer[side] = orgs
		default:
			return nil, &refusal{status: 400, body: map[string]any{"error": "InvalidParameter", "description": side}}
		}
	}
	return answer, nil
}

// requestedPath reads a path of the form users/ID/tickets/requested.
func requestedPath(path string) (id int64, is bool) {
	rest, begins := strings.CutPrefix(path, "users/")
	digits, ends := strings.CutSuffix(rest, "/tickets/requested")
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, begins && ends && err == nil
}

// requested responds with a page of a user's tickets
// (developer.zendesk.com/api-reference/ticketing/tickets/tickets, "List Tickets").
func (c call) requested() (map[string]any, *refusal) {
	if _, found := c.user(c.id); !found {
		return nil, notFound()
	}
	if by := c.query.Get("sort_by"); by != "" && by != "updated_at" {
		return nil, &refusal{status: 400, body: map[string]any{"error": "InvalidSort", "description": by}}
	}
	var own []*ticket
	for _, t := range c.tickets {
		if t.requester == c.id {
			own = append(own, t)
		}
	}
	if c.query.Get("sort_by") != "" {
		slices.SortStableFunc(own, func(a, b *ticket) int { return a.updated.Compare(b.updated) })
	}
	if c.query.Get("sort_order") == "desc" {
		slices.Reverse(own)
	}
	shown := []map[string]any{}
	for _, t := range own {
		shown = append(shown, t.shown(c.options))
	}
	return c.page("tickets", shown, cmp.Or(c.options.PageSize, mostInPage))
}
