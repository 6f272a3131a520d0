package fake

import (
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type contact struct {
	id                         int64
	name, email, phone, mobile string
	company                    int64
}

// AddContact adds a contact to the account, as an agent does, and a company unless its name is "". It returns
// the contact's id.
func (s *Server) AddContact(name, email, phone, mobile, company string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := contact{id: Contact + s.next(), name: name, email: email, phone: phone, mobile: mobile}
	if company != "" {
		c.company = Company + s.next()
		s.companies[c.company] = company
	}
	s.contacts = append(s.contacts, c)
	return strconv.FormatInt(c.id, 10)
}

func (s *Server) isContact(id int64) bool {
	return slices.ContainsFunc(s.contacts, func(c contact) bool { return c.id == id })
}

// requester returns the contact with the address, which it adds if there is none.
func (s *Server) requester(email string) int64 {
	for _, c := range s.contacts {
		if strings.EqualFold(c.email, email) {
			return c.id
		}
	}
	made := contact{id: Contact + s.next(), name: email, email: email}
	s.contacts = append(s.contacts, made)
	return made.id
}

// shown returns the contact as lists and searches show it.
func (c contact) shown() map[string]any {
	return map[string]any{
		"id": c.id, "name": c.name, "email": orNull(c.email), "other_emails": []string{}, "phone": orNull(c.phone),
		"mobile": orNull(c.mobile), "company_id": orNull(c.company), "active": false, "description": nil,
	}
}

// listContacts responds with a page of the contacts whose fields equal all filters
// (developers.freshdesk.com/api, "List All Contacts").
func (c call) listContacts() (any, *refusal) {
	if c.options.NoView {
		return nil, forbidden()
	}
	email := c.query.Get("email")
	if _, err := mail.ParseAddress(email); email != "" && (err != nil || len(email) > 255) {
		return nil, invalid("email", "invalid_format")
	}
	var found []map[string]any
	for _, one := range c.contacts {
		if fits(email, one.email) && fits(c.query.Get("phone"), one.phone) &&
			fits(c.query.Get("mobile"), one.mobile) {
			found = append(found, one.shown())
		}
	}
	page, refused := pageOf(c, found)
	return append([]map[string]any{}, page...), refused
}

// fits reports whether a value equals a filter, which "" leaves out.
func fits(filter, value string) bool { return filter == "" || strings.EqualFold(filter, value) }

const (
	longestQuery  = 512
	foundInPage   = 30
	mostFindPages = 10
)

// term is a field of a contact with a text in single quotes or a plain value, and what joins it to the next.
var term = regexp.MustCompile(`^(name|email|phone|mobile|company_id):(?:'([^']*)'|([^\s'"()]+))(?: (AND|OR) |$)`)

// searchContacts responds with a page of the contacts that a query finds: of all its terms, or of one of them
// (developers.freshdesk.com/api, "Filter Contacts"). It knows neither brackets nor both operators in one
// query.
func (c call) searchContacts() (any, *refusal) {
	if c.options.NoView {
		return nil, forbidden()
	}
	query := c.query.Get("query")
	inner, quoted := strings.CutPrefix(query, `"`)
	rest, closed := strings.CutSuffix(inner, `"`)
	if !quoted || !closed || rest == "" || utf8.RuneCountInString(query) > longestQuery {
		return nil, invalid("query", "invalid_value")
	}
	page := 1
	if given := c.query.Get("page"); given != "" {
		var err error
		if page, err = strconv.Atoi(given); err != nil || page < 1 || page > mostFindPages {
			return nil, invalid("page", "invalid_value")
		}
	}
	var terms [][]string
	joined := map[string]bool{}
	for more := true; more; {
		parts := term.FindStringSubmatch(rest)
		if parts == nil {
			return nil, invalid("query", "invalid_value")
		}
		terms, rest, more = append(terms, parts), rest[len(parts[0]):], parts[4] != ""
		if more {
			joined[parts[4]] = true
		}
	}
	if len(joined) > 1 {
		return nil, invalid("query", "invalid_value")
	}
	found := []map[string]any{}
	for _, one := range c.contacts {
		is := func(parts []string) bool { return one.is(parts[1], parts[2]+parts[3]) }
		isNot := func(parts []string) bool { return !is(parts) }
		if joined["AND"] && !slices.ContainsFunc(terms, isNot) || !joined["AND"] && slices.ContainsFunc(terms, is) {
			found = append(found, one.shown())
		}
	}
	from := min((page-1)*foundInPage, len(found))
	return map[string]any{"total": len(found), "results": found[from:min(from+foundInPage, len(found))]}, nil
}

// is reports whether a field has the value. Numbers are texts to Freshdesk: it compares their characters.
func (c contact) is(field, value string) bool {
	return value != "" && strings.EqualFold(value, map[string]string{
		"name": c.name, "email": c.email, "phone": c.phone, "mobile": c.mobile,
		"company_id": strconv.FormatInt(c.company, 10),
	}[field])
}

// company responds with a company (developers.freshdesk.com/api, "View a Company").
func (c call) company(id string) (any, *refusal) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || c.companies[n] == "" {
		return nil, notFound()
	}
	return map[string]any{"id": n, "name": c.companies[n], "domains": []string{}}, nil
}
