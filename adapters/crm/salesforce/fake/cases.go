package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// lengths holds the most characters that a field can have ("Case", Object Reference).
var lengths = map[string]int{
	"Subject": 255, "Description": 32000, "Status": 255, "Priority": 255, "Origin": 255,
}

// references are the fields that hold an id, with the kinds of record they take.
var references = map[string][]string{"OwnerId": {"005", "00G"}, "AccountId": {"001"}, "ContactId": {"003"}}

// kept holds the fields that a request cannot set.
var kept = []string{
	"Id", "CaseNumber", "IsClosed", "ClosedDate", "CreatedDate", "CreatedById", "LastModifiedDate",
}

var anyID = regexp.MustCompile(`^[a-zA-Z0-9]{15}([a-zA-Z0-9]{3})?$`)

// insert creates a case. field and key are those of an upsert, or "".
func (s *Server) insert(c call, field, key string) reply {
	given, no := s.decodeFields(c.body)
	if no != nil {
		return *no
	}
	if field != "" {
		given[field] = key
	}
	if s.options.NoCreate {
		return refuse(http.StatusForbidden, "INSUFFICIENT_ACCESS_OR_READONLY",
			"insufficient access rights on object id")
	}
	if no := s.check(given, true); no != nil {
		return *no
	}
	s.made++
	s.numbers++
	at := s.stamp()
	made := &caseRow{row: row{
		"Id": RecordID("500", s.made), "CaseNumber": fmt.Sprintf(s.options.Numbers, s.numbers), "Subject": nil,
		"Description": nil, "Status": usual(s.options.Statuses), "Priority": usual(s.options.Priorities),
		"Origin": nil, "OwnerId": c.user, "AccountId": nil, "ContactId": nil, "IsClosed": false, "ClosedDate": nil,
		"CreatedDate": at, "CreatedById": c.user, "LastModifiedDate": at,
	}}
	if s.options.ExternalID != "" {
		made.row[s.options.ExternalID] = nil
	}
	for _, own := range s.options.Fields {
		made.row[own.Name] = nil
	}
	s.set(made, given, c)
	s.cases = append(s.cases, made)
	return reply{
		http.StatusCreated, map[string]any{"id": made.row["Id"], "success": true, "errors": []any{},
			"created": true},
	}
}

// upsert creates a case or changes the one that has the key ("Insert or Update (Upsert) a Record Using an
// External ID").
func (s *Server) upsert(c call, field, key string) reply {
	if field != s.options.ExternalID || field == "" || s.options.NotMarked {
		return refuse(http.StatusNotFound, "NOT_FOUND",
			"Provided external ID field does not exist or is not accessible: "+field)
	}
	var found []*caseRow
	for _, has := range s.cases {
		if text, _ := has.row[field].(string); strings.EqualFold(text, key) {
			found = append(found, has)
		}
	}
	switch {
	case len(found) == 0:
		return s.insert(c, field, key)
	case len(found) > 1:
		var places []string
		for _, f := range found {
			places = append(places, DataPath+"v62.0/sobjects/Case/"+f.row["Id"].(string))
		}
		return reply{http.StatusMultipleChoices, places}
	}
	given, no := s.decodeFields(c.body)
	if no != nil {
		return *no
	}
	if no := s.check(given, false); no != nil {
		return *no
	}
	s.set(found[0], given, c)
	found[0].row["LastModifiedDate"] = s.stamp()
	return reply{
		http.StatusOK, map[string]any{"id": found[0].row["Id"], "success": true, "errors": []any{},
			"created": false},
	}
}

func (s *Server) decodeFields(body []byte) (map[string]any, *reply) {
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		no := refuse(http.StatusBadRequest, "JSON_PARSER_ERROR", "Unexpected character in the body")
		return nil, &no
	}
	return fields, nil
}

// check refuses fields and values that the organisation does not accept.
func (s *Server) check(given map[string]any, isNew bool) *reply {
	bad := func(code, message string, fields ...string) *reply {
		no := refuse(http.StatusBadRequest, code, message, fields...)
		return &no
	}
	for field, value := range given {
		if slices.Contains(kept, field) || slices.Contains(s.options.ReadOnly, field) {
			return bad("INVALID_FIELD_FOR_INSERT_UPDATE", "Unable to create/update fields: "+field+
				". Please check the security settings of this field and verify that it is read/write for your profile "+
				"or permission set.", field)
		}
		if at := slices.IndexFunc(s.options.Fields, func(own Field) bool { return own.Name == field }); at >= 0 &&
			!s.hides(field) {
			if no := s.options.Fields[at].takes(value); no != nil {
				return no
			}
			continue
		}
		text, isText := value.(string)
		longest, plain := lengths[field]
		kinds, refers := references[field]
		switch {
		case s.hides(field) || !plain && !refers && field != s.options.ExternalID:
			return bad("INVALID_FIELD", "No such column '"+field+"' on sobject of type Case")
		case !isText:
			return bad("JSON_PARSER_ERROR", "Cannot deserialize instance of string from "+field)
		case plain && utf8.RuneCountInString(text) > longest:
			return bad("STRING_TOO_LONG", fmt.Sprintf("%s: data value too large: (max length=%d)", field, longest),
				field)
		case refers && (!anyID.MatchString(text) || !slices.Contains(kinds, text[:3])):
			return bad("MALFORMED_ID", field+": id value of incorrect type: "+text, field)
		case refers && s.rows[text[:15]] == nil:
			return bad("INVALID_CROSS_REFERENCE_KEY", "invalid cross reference id")
		}
	}
	for field, list := range map[string][]Value{
		"Status": s.options.Statuses, "Priority": s.options.Priorities, "Origin": s.options.Origins,
	} {
		text, isGiven := given[field].(string)
		if isGiven && !slices.ContainsFunc(list, func(v Value) bool { return v.Value == text && !v.Inactive }) {
			return bad("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
				field+": bad value for restricted picklist field: "+text, field)
		}
	}
	if !isNew {
		return nil
	}
	var lacking []string
	for _, field := range s.options.Required {
		if given[field] == nil {
			lacking = append(lacking, field)
		}
	}
	for _, own := range s.options.Fields {
		if own.Required && given[own.Name] == nil {
			lacking = append(lacking, own.Name)
		}
	}
	if lacking != nil {
		return bad("REQUIRED_FIELD_MISSING", "Required fields are missing: ["+strings.Join(lacking, ", ")+"]",
			lacking...)
	}
	if s.options.Validate != nil {
		if sentence := s.options.Validate(given); sentence != "" {
			return bad("FIELD_CUSTOM_VALIDATION_EXCEPTION", sentence)
		}
	}
	return nil
}

// takes refuses a value that the field does not accept ("Field Types", Object Reference). It is stricter than
// Salesforce, which accepts a number as text.
func (f Field) takes(value any) *reply {
	bad := func(code, message string) *reply {
		no := refuse(http.StatusBadRequest, code, message, f.Name)
		return &no
	}
	text, isText := value.(string)
	switch f.Type {
	case "boolean":
		if _, is := value.(bool); !is {
			return bad("JSON_PARSER_ERROR", "Cannot deserialize instance of boolean from "+fmt.Sprint(value))
		}
		return nil
	case "double":
		if _, is := value.(float64); !is {
			return bad("JSON_PARSER_ERROR", "Cannot deserialize instance of double from "+fmt.Sprint(value))
		}
		return nil
	}
	if !isText {
		return bad("JSON_PARSER_ERROR", "Cannot deserialize instance of string from "+fmt.Sprint(value))
	}
	for _, part := range strings.Split(text, ";") {
		if f.Values != nil && !slices.ContainsFunc(f.Values,
			func(v Value) bool { return v.Value == part && !v.Inactive }) {
			return bad("INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST",
				f.Name+": bad value for restricted picklist field: "+part)
		}
	}
	return nil
}

// set sets fields of a case. Unless the header forbids it, the case is then assigned, whatever owner was
// given ("Assignment Rule Header"): no rule is active, so the default owner gets it.
func (s *Server) set(c *caseRow, given map[string]any, by call) {
	for field, value := range given {
		if references[field] != nil {
			value = s.rows[value.(string)[:15]]["Id"]
		}
		c.row[field] = value
	}
	if !strings.EqualFold(by.autoAssign, "FALSE") {
		c.row["OwnerId"] = DefaultOwner
	}
	s.settle(c)
}

// settle closes or opens a case according to its status.
func (s *Server) settle(c *caseRow) {
	status, _ := c.row["Status"].(string)
	closed := slices.ContainsFunc(s.options.Statuses,
		func(v Value) bool { return v.Value == status && v.Closed })
	switch was := c.row["IsClosed"]; {
	case closed && was == false:
		c.row["ClosedDate"] = s.stamp()
	case !closed:
		c.row["ClosedDate"] = nil
	}
	c.row["IsClosed"] = closed
}

func usual(list []Value) any {
	for _, v := range list {
		if v.Default {
			return v.Value
		}
	}
	return nil
}
