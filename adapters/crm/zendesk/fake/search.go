package fake

import (
	"regexp"
	"slices"
	"strings"
)

// search is a query for users: its values by property, and "" for words without one. Values of one property
// are alternatives, and properties hold together
// (developer.zendesk.com/api-reference/ticketing/ticket-management/search, "Query basics", and
// support.zendesk.com, "Zendesk Support search reference").
type search map[string][]string

// term is a word, a phrase in double quotes, or a property with one of them.
var term = regexp.MustCompile(`^(?:([a-z_]+):)?(?:"([^"]*)"|([^\s"]+))(?:\s+|$)`)

// parseSearch reads a query. It is stricter than Zendesk, which searches for whatever it cannot read: it
// returns false for a query without terms, for a lone double quote and for a property that users do not have.
func parseSearch(query string) (search, bool) {
	found := search{}
	for rest := strings.TrimSpace(query); rest != ""; {
		parts := term.FindStringSubmatch(rest)
		if parts == nil || !slices.Contains([]string{"", "type", "role", "name", "email", "phone"}, parts[1]) {
			return nil, false
		}
		found[parts[1]] = append(found[parts[1]], strings.ToLower(parts[2]+parts[3]))
		rest = rest[len(parts[0]):]
	}
	return found, len(found) > 0
}

func (s search) finds(u user) bool {
	for property, values := range s {
		if !slices.ContainsFunc(values, func(value string) bool { return u.has(property, value) }) {
			return false
		}
	}
	return true
}

func (u user) has(property, value string) bool {
	switch property {
	case "type":
		return value == "user"
	case "role":
		return value == u.role
	case "name":
		return contains(u.name, value)
	case "email":
		return slices.ContainsFunc(u.emails, func(e string) bool { return contains(e, value) })
	case "phone":
		return slices.ContainsFunc(u.phones, func(p string) bool { return endsWith(p, value) })
	}
	return u.has("name", value) || u.has("email", value) || u.has("phone", value)
}

// contains reports whether a property has the value or a part of it, which may have asterisks for any text.
func contains(property, value string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, ".*")
	return regexp.MustCompile(pattern).MatchString(strings.ToLower(property))
}

// endsWith compares numbers by their digits. A value with an asterisk matches a number that ends with it. A
// value with other characters, such as a plus, matches none
// (developer.zendesk.com/documentation/voice/talk-partner-edition/retrieving-the-zendesk-user-id-of-a-caller).
func endsWith(number, value string) bool {
	digits := regexp.MustCompile(`\D`).ReplaceAllString(number, "")
	if end, wild := strings.CutPrefix(value, "*"); wild && end != "" {
		return strings.HasSuffix(digits, end)
	}
	return digits == value && value != ""
}
