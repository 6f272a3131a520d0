package fake

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// contactFields are the fields of contacts and their accounts that the server knows ("Contact", Object
// Reference).
var contactFields = []string{
	"Id", "Name", "Email", "Phone", "MobilePhone", "HomePhone", "OtherPhone", "AccountId", "Account.Name",
	"SystemModstamp",
}

// phoneFields are the fields of contacts that a search IN PHONE FIELDS looks at.
var phoneFields = []string{"Phone", "MobilePhone", "HomePhone", "OtherPhone"}

// Person is a contact to add. The numbers are kept as they are typed.
type Person struct {
	Name, Email                string
	Phone, Mobile, Home, Other string
	Account                    string // the name of a new account, or ""
}

// AddContact adds a contact, as a person does.
func (s *Server) AddContact(p Person) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := row{
		"Id": s.childID("003"), "Name": p.Name, "Email": orNil(p.Email), "Phone": orNil(p.Phone),
		"MobilePhone": orNil(p.Mobile), "HomePhone": orNil(p.Home), "OtherPhone": orNil(p.Other),
		"AccountId": nil, "SystemModstamp": s.stamp(),
	}
	if p.Account != "" {
		account := s.childID("001")
		s.rows[account[:15]] = row{"Id": account, "Name": p.Account}
		added["AccountId"] = account
	}
	id = added["Id"].(string)
	s.rows[id[:15]] = added
	return id
}

// statement matches the searches that the server knows ("FIND", "IN", "RETURNING", SOQL and SOSL Reference).
var statement = regexp.MustCompile(
	`(?i)^FIND \{(.*)\} IN PHONE FIELDS RETURNING Contact ?\(([A-Z., ]+?) LIMIT ([0-9]+)\)$`)

// search handles GET search?q= ("Search", REST API Developer Guide).
func (s *Server) search(c call) reply {
	values := c.address.Query()
	found := statement.FindStringSubmatch(values.Get("q"))
	if len(values) != 1 || found == nil {
		return refuse(http.StatusBadRequest, "MALFORMED_SEARCH", "No search term found. The search cannot be read.")
	}
	terms, err := searchTerms(found[1])
	limit, notNumber := strconv.Atoi(found[3])
	if err != nil || notNumber != nil || limit < 1 || limit > 2000 {
		return refuse(http.StatusBadRequest, "MALFORMED_SEARCH", "The search cannot be read.")
	}
	asked := soql{from: "Contact", limit: limit}
	for field := range strings.SplitSeq(found[2], ",") {
		asked.items = append(asked.items, item{field: strings.TrimSpace(field)})
	}
	rows := slices.DeleteFunc(s.ofKind("Contact"),
		func(r *caseRow) bool { return !s.indexed(r.row) || !hasTerm(r.row, terms) })
	result, no := s.run(asked, rows)
	if no != nil {
		return *no
	}
	return reply{http.StatusOK, map[string]any{"searchRecords": result["records"]}}
}

// indexed reports whether the search knows the record yet. Its index lags behind the records
// (developer.salesforce.com/blogs, "Salesforce Bulk Data Loads and Full-Text Search Indexes").
func (s *Server) indexed(r row) bool {
	text, _ := r["SystemModstamp"].(string)
	changed, err := time.Parse("2006-01-02T15:04:05Z0700", text)
	return err == nil && !s.options.Now().Before(changed.Add(s.options.SearchLag))
}

// searchTerms splits a search into the words of each of its terms, which OR joins. A term is a word, or a
// phrase in quotation marks. A reserved character must be escaped ("FIND {SearchQuery}"); the server knows no
// escapes, operators and wildcards besides.
func searchTerms(query string) ([][]string, error) {
	var terms [][]string
	for i, part := range strings.Split(query, `"`) {
		if strings.ContainsAny(part, `?&|!{}[]()^~*:\'+-`) {
			return nil, malformed("a reserved character")
		}
		words := strings.Fields(part)
		if i%2 == 1 {
			terms = append(terms, words)
			continue
		}
		for at, word := range words {
			switch isOr := strings.EqualFold(word, "OR"); {
			case isOr:
			case at > 0 && !strings.EqualFold(words[at-1], "OR"):
				return nil, malformed("a term without an operator")
			default:
				terms = append(terms, []string{word})
			}
		}
	}
	if strings.Count(query, `"`)%2 != 0 || len(terms) == 0 ||
		slices.ContainsFunc(terms, func(words []string) bool { return len(strings.Join(words, "")) < 2 }) {
		return nil, malformed("a term is too short, or a phrase does not end")
	}
	return terms, nil
}

// hasTerm reports whether a phone number of a contact has one of the terms: as all of its digits without
// formatting, or as successive words, which spaces and punctuation separate ("FIND {SearchQuery}", "Single
// Words and Phrases"). It does not find the end of a number, which Salesforce's index finds for some lengths.
func hasTerm(r row, terms [][]string) bool {
	for _, field := range phoneFields {
		typed, _ := r[field].(string)
		words := strings.FieldsFunc(typed, func(c rune) bool { return !unicode.IsDigit(c) && !unicode.IsLetter(c) })
		for _, term := range terms {
			if typed != "" && (slices.Equal(term, []string{strings.Join(words, "")}) || hasPhrase(words, term)) {
				return true
			}
		}
	}
	return false
}

func hasPhrase(words, phrase []string) bool {
	for at := range words {
		if at+len(phrase) <= len(words) && slices.Equal(words[at:at+len(phrase)], phrase) {
			return true
		}
	}
	return false
}
