package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// query handles GET query?q= and, with what was deleted, GET queryAll?q=.
func (s *Server) query(c call, versioned string, all bool) reply {
	values := c.address.Query()
	if len(values) != 1 || len(values["q"]) != 1 {
		return refuse(http.StatusBadRequest, "MALFORMED_QUERY",
			"The parameter q is required, and no other is known")
	}
	parsed, err := parse(values.Get("q"))
	if err != nil {
		return refuse(http.StatusBadRequest, "MALFORMED_QUERY", err.Error())
	}
	var rows []*caseRow
	switch parsed.from {
	case "Case":
		rows = slices.DeleteFunc(slices.Clone(s.cases), func(r *caseRow) bool {
			return r.deleted && !all || s.options.Private && r.row["OwnerId"] != c.user
		})
	case "Organization":
		rows = []*caseRow{{row: row{
			"Id": RecordID("00D", 1), "Name": s.options.Name, "DefaultCaseAccess": access[s.options.Private],
		}}}
	case "User", "Group", "Account", "Contact":
		rows = s.ofKind(parsed.from)
	default:
		return refuse(http.StatusBadRequest, "INVALID_TYPE", "sObject type '"+parsed.from+"' is not supported.")
	}
	found, no := s.run(parsed, rows)
	if no != nil {
		return *no
	}
	s.made++
	s.cut(found, versioned, cursor{id: RecordID("01g", s.made)})
	return reply{http.StatusOK, found}
}

// cursor is what follows a batch of a query's records.
type cursor struct {
	id     string
	offset int // of the first record
	rest   []any
}

// cut leaves the first batch of the records in a response, and a locator if there are more. The records begin
// at the cursor.
func (s *Server) cut(result map[string]any, versioned string, at cursor) {
	records, size := result["records"].([]any), s.options.BatchSize
	if len(records) <= size {
		return
	}
	at.offset, at.rest = at.offset+size, records[size:]
	locator := fmt.Sprintf("%s-%d", at.id, at.offset)
	s.cursors[locator] = at
	result["records"], result["done"] = records[:size], false
	result["nextRecordsUrl"] = DataPath + versioned + "/query/" + locator
}

// queryMore handles GET query/{locator} ("Query More Results", REST API Developer Guide). A locator that it
// does not know is refused as Salesforce Help documents ("INVALID_QUERY_LOCATOR").
func (s *Server) queryMore(c call, versioned, locator string) reply {
	at, known := s.cursors[locator]
	if !known || c.address.RawQuery != "" {
		return refuse(http.StatusBadRequest, "INVALID_QUERY_LOCATOR", "invalid query locator")
	}
	result := map[string]any{"totalSize": at.offset + len(at.rest), "done": true, "records": at.rest}
	s.cut(result, versioned, at)
	return reply{http.StatusOK, result}
}

// ofKind returns the records of a kind that cases refer to, in the order of their ids.
func (s *Server) ofKind(kind string) (rows []*caseRow) {
	prefix := map[string]string{"User": "005", "Group": "00G", "Account": "001", "Contact": "003"}[kind]
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		if strings.HasPrefix(id, prefix) {
			rows = append(rows, &caseRow{row: s.rows[id]})
		}
	}
	return rows
}

// access maps Options.Private to the value of DefaultCaseAccess ("Organization", Object Reference).
var access = map[bool]string{false: "ReadEditTransfer", true: "None"}

// columns returns the fields of each kind of record.
func (s *Server) columns(of string) []string {
	switch of {
	case "Organization":
		return []string{"Id", "Name", "DefaultCaseAccess"}
	case "User", "Group":
		return []string{"Id"}
	case "Account":
		return []string{"Id", "Name"}
	case "Contact":
		return slices.DeleteFunc(slices.Clone(contactFields), s.hides)
	case "CaseComments":
		return []string{"Id", "CommentBody", "IsPublished", "CreatedDate"}
	case "EmailMessages":
		return []string{"Id", "TextBody", "HtmlBody", "Status", "MessageDate"}
	case "Feeds":
		return []string{"Id", "Body", "IsRichText", "Type", "Visibility", "CreatedDate"}
	}
	all := []string{
		"Id", "CaseNumber", "Subject", "Description", "Status", "Priority", "Origin", "OwnerId", "AccountId",
		"ContactId", "IsClosed", "ClosedDate", "CreatedDate", "CreatedById", "LastModifiedDate",
		"MasterRecordId",
	}
	if s.options.ExternalID != "" {
		all = append(all, s.options.ExternalID)
	}
	for _, own := range s.options.Fields {
		all = append(all, own.Name)
	}
	return slices.DeleteFunc(all, s.hides)
}

func (s *Server) run(q soql, rows []*caseRow) (map[string]any, *reply) {
	known := s.columns(q.from)
	for _, name := range q.names() {
		if !slices.Contains(known, name) {
			no := refuse(http.StatusBadRequest, "INVALID_FIELD", "No such column '"+name+"' on entity '"+q.from+"'.")
			return nil, &no
		}
	}
	var found []*caseRow
	for _, r := range rows {
		fits := true
		for _, anyOf := range q.where {
			for _, c := range anyOf {
				if c.isID() && !isID(c.text) {
					no := refuse(http.StatusBadRequest, "INVALID_QUERY_FILTER_OPERATOR", "invalid ID field: "+c.text)
					return nil, &no
				}
			}
			fits = fits && slices.ContainsFunc(anyOf, func(c condition) bool { return c.fits(r.row) })
		}
		if fits {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *caseRow) int {
		for _, by := range q.order {
			x, _ := a.row[by.field].(string)
			y, _ := b.row[by.field].(string)
			if d := cmp.Compare(x, y); d != 0 {
				if by.descending {
					return -d
				}
				return d
			}
		}
		return 0
	})
	if q.limit >= 0 && len(found) > q.limit {
		found = found[:q.limit]
	}
	records := make([]any, 0, len(found))
	for _, r := range found {
		record, no := s.shown(q, r)
		if no != nil {
			return nil, no
		}
		records = append(records, record)
	}
	return map[string]any{"totalSize": len(records), "done": true, "records": records}, nil
}

func (s *Server) shown(q soql, r *caseRow) (map[string]any, *reply) {
	record := map[string]any{"attributes": map[string]any{"type": q.from}}
	for _, item := range q.items {
		if parent, field, isParents := strings.Cut(item.field, "."); isParents {
			record[parent] = s.parent(r.row, parent, field)
			continue
		}
		if item.child == nil {
			record[item.field] = r.row[item.field]
			if item.label {
				record[item.field] = s.label(item.field, r.row[item.field])
			}
			continue
		}
		var children []row
		switch item.child.from {
		case "CaseComments":
			children = r.comments
		case "EmailMessages":
			children = r.emails
		case "Feeds":
			children = r.posts
		default:
			no := refuse(http.StatusBadRequest, "INVALID_TYPE",
				"Didn't understand relationship '"+item.child.from+"' in FROM part of query call.")
			return nil, &no
		}
		wrapped := make([]*caseRow, 0, len(children))
		for _, c := range children {
			wrapped = append(wrapped, &caseRow{row: c})
		}
		found, no := s.run(*item.child, wrapped)
		if no != nil {
			return nil, no
		}
		record[item.child.from] = found
		if found["totalSize"] == 0 {
			record[item.child.from] = nil
		}
	}
	return record, nil
}

// parent returns the record that a row belongs to, with one field, or nil if there is none ("Relationship
// Queries", SOQL and SOSL Reference).
func (s *Server) parent(r row, kind, field string) any {
	id, _ := r[kind+"Id"].(string)
	if id == "" {
		return nil
	}
	return map[string]any{"attributes": map[string]any{"type": kind}, field: s.rows[id[:15]][field]}
}

func (s *Server) label(field string, value any) any {
	for _, v := range slices.Concat(s.options.Statuses, s.options.Priorities) {
		if v.Value == value && (field == "Status" || field == "Priority") {
			return cmp.Or(v.Label, v.Value)
		}
	}
	return value
}

// soql is a query.
type soql struct {
	items []item
	from  string
	where [][]condition // of each list, one must hold
	order []ordering
	limit int // -1: none
}

type item struct {
	field string
	label bool
	child *soql
}

type condition struct {
	field   string
	differs bool
	like    bool      // text is a pattern
	from    time.Time // for >=: then or later
	until   time.Time // for <=: then or earlier
	text    string    // SOQL compares it without regard to case
}

type ordering struct {
	field      string
	descending bool
}

// isID reports whether the condition compares an id. Its first 15 characters are the id, with regard to case
// ("ID Field Type", Object Reference).
func (c condition) isID() bool { return c.field == "Id" || references[c.field] != nil }

// isID reports whether a text is an id. The server takes the last three of 18 characters seriously.
func isID(text string) bool {
	return anyID.MatchString(text) && (len(text) == 15 || inFull(text[:15]) == text)
}

func (c condition) fits(r row) bool {
	if !c.from.IsZero() || !c.until.IsZero() {
		text, _ := r[c.field].(string)
		at, err := time.Parse("2006-01-02T15:04:05Z0700", text)
		return err == nil && !at.Before(c.from) && (c.until.IsZero() || !at.After(c.until))
	}
	var has string
	switch v := r[c.field].(type) {
	case string:
		has = v
	case bool:
		has = strconv.FormatBool(v)
	}
	switch {
	case c.isID():
		return (len(has) >= 15 && has[:15] == c.text[:15]) != c.differs
	case c.like:
		return isLike(strings.ToLower(has), strings.ToLower(c.text))
	}
	return strings.EqualFold(has, c.text) != c.differs
}

// isLike compares a text with a pattern: % stands for any characters, and _ for one ("Comparison Operators").
func isLike(text, pattern string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '%' {
		return isLike(text, pattern[1:]) || text != "" && isLike(text[1:], pattern)
	}
	return text != "" && (pattern[0] == '_' || pattern[0] == text[0]) && isLike(text[1:], pattern[1:])
}

// names returns the fields that a query uses, without those of its children.
func (q soql) names() (names []string) {
	for _, i := range q.items {
		if i.child == nil {
			names = append(names, i.field)
		}
	}
	for _, c := range slices.Concat(q.where...) {
		names = append(names, c.field)
	}
	for _, o := range q.order {
		names = append(names, o.field)
	}
	return names
}

// malformed describes what is wrong with a query.
type malformed string

// Error implements error.
func (m malformed) Error() string { return string(m) }

// parse parses a query.
func parse(text string) (soql, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return soql{}, err
	}
	p := &parser{tokens: tokens}
	q, err := p.query()
	if err == nil && p.at < len(p.tokens) {
		err = malformed("unexpected token: " + p.tokens[p.at].text)
	}
	return q, err
}

type token struct {
	text    string
	literal bool // it stood in quotes
}

func tokenize(text string) (tokens []token, err error) {
	runes := []rune(text)
	for i := 0; i < len(runes); {
		switch c := runes[i]; {
		case unicode.IsSpace(c):
			i++
		case c == '\'':
			var literal token
			literal, i, err = quotedText(runes, i+1)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, literal)
		case (c == '>' || c == '<') && i+1 < len(runes) && runes[i+1] == '=':
			tokens = append(tokens, token{text: string(c) + "="})
			i += 2
		case unicode.IsDigit(c):
			// A number, or a time, which stands without quotes ("Date Formats and Date Literals").
			start := i
			for i < len(runes) && (unicode.IsDigit(runes[i]) || strings.ContainsRune("-:.TZ+", runes[i])) {
				i++
			}
			tokens = append(tokens, token{text: string(runes[start:i])})
		case strings.ContainsRune("(),=", c):
			tokens = append(tokens, token{text: string(c)})
			i++
		case c == '!' && i+1 < len(runes) && runes[i+1] == '=':
			tokens = append(tokens, token{text: "!="})
			i += 2
		case c == '_' || c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c)):
			start := i
			for i < len(runes) && (runes[i] == '_' || runes[i] == '.' ||
				runes[i] < 128 && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))) {
				i++
			}
			tokens = append(tokens, token{text: string(runes[start:i])})
		default:
			return nil, malformed("unexpected character " + strconv.QuoteRune(c))
		}
	}
	return tokens, nil
}

// quotedText reads a literal that begins after its opening quote ("Quoted String Escape Sequences": a
// backslash in any other context is an error).
func quotedText(runes []rune, i int) (token, int, error) {
	escapes := map[rune]rune{
		'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f', '"': '"', '\'': '\'', '\\': '\\',
	}
	var b strings.Builder
	for ; i < len(runes); i++ {
		switch c := runes[i]; c {
		case '\'':
			return token{text: b.String(), literal: true}, i + 1, nil
		case '\\':
			i++
			if i == len(runes) || escapes[runes[i]] == 0 {
				return token{}, i, malformed("Illegal string literal: a backslash escapes nothing that is known")
			}
			b.WriteRune(escapes[runes[i]])
		default:
			b.WriteRune(c)
		}
	}
	return token{}, i, malformed("mismatched character '<EOF>' expecting '''")
}

type parser struct {
	tokens []token
	at     int
}

// take consumes the word if it is the next token, and reports whether it is.
func (p *parser) take(word string) bool {
	if p.at < len(p.tokens) && !p.tokens[p.at].literal && strings.EqualFold(p.tokens[p.at].text, word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) name() (string, error) {
	if p.at == len(p.tokens) || p.tokens[p.at].literal || strings.ContainsAny(p.tokens[p.at].text, "(),=!") {
		return "", malformed("expecting a name")
	}
	p.at++
	return p.tokens[p.at-1].text, nil
}

func (p *parser) query() (q soql, err error) {
	q.limit = -1
	if !p.take("SELECT") {
		return q, malformed("expecting SELECT")
	}
	for more := true; more; more = p.take(",") {
		i, err := p.item()
		if err != nil {
			return q, err
		}
		q.items = append(q.items, i)
	}
	if !p.take("FROM") {
		return q, malformed("expecting FROM")
	}
	if q.from, err = p.name(); err != nil {
		return q, err
	}
	if p.take("WHERE") {
		for more := true; more; more = p.take("AND") {
			anyOf, err := p.anyOf()
			if err != nil {
				return q, err
			}
			q.where = append(q.where, anyOf)
		}
	}
	if p.take("ORDER") {
		if !p.take("BY") {
			return q, malformed("expecting BY")
		}
		for more := true; more; more = p.take(",") {
			field, err := p.name()
			if err != nil {
				return q, err
			}
			q.order = append(q.order, ordering{field, p.take("DESC")})
		}
	}
	if p.take("LIMIT") {
		number, err := p.name()
		if err != nil {
			return q, err
		}
		if q.limit, err = strconv.Atoi(number); err != nil {
			return q, malformed("expecting a number")
		}
	}
	return q, nil
}

func (p *parser) item() (item, error) {
	if p.take("(") {
		child, err := p.query()
		if err == nil && !p.take(")") {
			err = malformed("expecting a parenthesis")
		}
		return item{child: &child}, err
	}
	if p.take("toLabel") {
		if !p.take("(") {
			return item{}, malformed("expecting a parenthesis")
		}
		field, err := p.name()
		if err == nil && !p.take(")") {
			err = malformed("expecting a parenthesis")
		}
		return item{field: field, label: true}, err
	}
	field, err := p.name()
	return item{field: field}, err
}

// anyOf parses one condition, or several with OR in parentheses, without which OR cannot stand beside AND.
func (p *parser) anyOf() ([]condition, error) {
	if !p.take("(") {
		c, err := p.condition()
		return []condition{c}, err
	}
	var list []condition
	for more := true; more; more = p.take("OR") {
		c, err := p.condition()
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if !p.take(")") {
		return nil, malformed("expecting a parenthesis")
	}
	return list, nil
}

func (p *parser) condition() (condition, error) {
	field, err := p.name()
	if err != nil {
		return condition{}, err
	}
	since := p.take(">=")
	if since || p.take("<=") {
		if p.at == len(p.tokens) || p.tokens[p.at].literal {
			return condition{}, malformed("expecting a time")
		}
		at, err := time.Parse(time.RFC3339, p.tokens[p.at].text)
		if err != nil || field != "CreatedDate" && field != "SystemModstamp" {
			return condition{}, malformed("unexpected token: " + p.tokens[p.at].text)
		}
		p.at++
		if since {
			return condition{field: field, from: at}, nil
		}
		return condition{field: field, until: at}, nil
	}
	c := condition{field: field, differs: p.take("!="), like: p.take("LIKE")}
	if c.differs == c.like && !p.take("=") {
		return c, malformed("expecting an operator")
	}
	if p.at == len(p.tokens) {
		return c, malformed("expecting a value")
	}
	value := p.tokens[p.at]
	if !value.literal && (c.like || value.text != "true" && value.text != "false") {
		return c, malformed("unexpected token: " + value.text)
	}
	p.at++
	c.text = value.text
	return c, nil
}
