package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"frontdesk/core/fault"
	"frontdesk/core/service"
	"frontdesk/core/spelling"
)

// shape describes how a request type is decoded. Struct tags declare its fields, and also feed the documents:
//
//	json:"title,omitempty"  the name in the body
//	path:"id"               a parameter of the path; "" or 0 where the path has none of that name
//	query:"limit"           a parameter of the query
//	doc:"..." example:"..." documentation
//	need:"true"             the field is required
//	bytes:"1024"            the maximum number of bytes of a string
type shape struct {
	of     reflect.Type
	fields []field
	names  []string // names of the fields in the body
	query  []string // names of the query parameters; none: the query is ignored
}

type field struct {
	name     string
	index    []int
	inPath   bool
	inQuery  bool
	need     bool
	many     bool // an array
	maxBytes int
	nested   *shape // of an object, or of each object in an array
}

// employee is an employee id in a merge: absent, null or a number.
type employee service.EmployeeChange

// Schema returns the schema for the OpenAPI document, in which null is allowed.
func (employee) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Nullable: true}
}

// MarshalJSON writes the id or null, as in a request.
func (e employee) MarshalJSON() ([]byte, error) { return json.Marshal(e.ID) }

// shapeOf reads the tags of a request type. It panics if a tag is invalid, which every test would find.
func shapeOf[T any]() *shape { return shapeOfType(reflect.TypeFor[T]()) }

func shapeOfType(t reflect.Type) *shape {
	s := &shape{of: t}
	for _, of := range reflect.VisibleFields(t) {
		if of.Anonymous {
			continue // its fields are among the others
		}
		tag := of.Tag
		f := field{index: of.Index, need: tag.Get("need") == "true", many: of.Type.Kind() == reflect.Slice}
		f.name, _, _ = strings.Cut(tag.Get("json"), ",")
		if path := tag.Get("path"); path != "" {
			f.name, f.inPath = path, true
		}
		if query := tag.Get("query"); query != "" {
			f.name, f.inQuery = query, true
			s.query = append(s.query, query)
		}
		if limit := tag.Get("bytes"); limit != "" {
			n, err := strconv.Atoi(limit)
			if err != nil {
				panic("api: " + t.Name() + "." + of.Name + ": " + err.Error())
			}
			f.maxBytes = n
		}
		if f.inBody() {
			s.names = append(s.names, f.name)
		}
		if (f.many || of.Type.Kind() == reflect.Pointer) && of.Type.Elem().Kind() == reflect.Struct {
			f.nested = shapeOfType(of.Type.Elem())
		}
		s.fields = append(s.fields, f)
	}
	return s
}

func (f field) inBody() bool { return !f.inPath && !f.inQuery }

func (s *shape) body(name string) (field, bool) {
	for _, f := range s.fields {
		if f.name == name && f.inBody() {
			return f, true
		}
	}
	return field{}, false
}

// decode fills a request from the path, the query and the body, and adds faults to the call's checks. It
// returns an error only if the body cannot be parsed at all.
func decode[In any](c *call, s *shape, in *In) error {
	target := reflect.ValueOf(in).Elem()
	for _, f := range s.fields {
		if f.inPath {
			c.checks.assignPath(target.FieldByIndex(f.index), f, c.path(f.name))
		}
	}
	if len(s.query) > 0 {
		c.checks.assignQuery(target, s, c.query)
	}
	if c.body == nil {
		return nil
	}
	members, err := membersOf(c.body, c.checks)
	if err != nil || !c.checks.passed(locationBody) {
		return err
	}
	c.checks.fill(target, s, "", members)
	return nil
}

// fill decodes the members of an object into a struct. Paths of faults begin with prefix.
func (c *checks) fill(target reflect.Value, s *shape, prefix string, members []member) {
	given := make(map[string]bool, len(members))
	for _, m := range members {
		f, known := s.body(m.name)
		if !known {
			c.unknown(prefix, m.name, s.names)
			continue
		}
		if c.surface.likeV1() && isUnset(m.value) {
			continue
		}
		given[m.name] = true
		f.name = prefix + f.name
		c.remember(f.name, m.value)
		c.assign(target.FieldByIndex(f.index), f, m.value)
	}
	for _, f := range s.fields {
		if f.need && f.inBody() && !given[f.name] {
			c.fail(prefix+f.name, "is required")
		}
	}
}

// membersOf returns the members of the body. With the rules of v1 an empty body counts as {}.
func membersOf(body []byte, found *checks) ([]member, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		if found.surface.likeV1() {
			return nil, nil
		}
		return nil, malformed("it is empty, send an object")
	}
	if err := checkForm(body); err != nil {
		return nil, err
	}
	if body[0] != '{' {
		found.fail(locationBody, "must be an object, not "+kindOf(body))
		return nil, nil
	}
	return membersIn(body)
}

// isUnset reports whether a value counts as not given by the rules of v1: clients of proto3 JSON send
// defaults.
func isUnset(value json.RawMessage) bool {
	switch value[0] {
	case 'n':
		return true
	case '"':
		return len(value) == len(`""`)
	case '[':
		return len(bytes.TrimSpace(value[1:len(value)-1])) == 0
	}
	return false
}

// kindOf returns the kind of a JSON value with its article.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// assign decodes a value into its field. The field's Go type determines which JSON type is valid.
func (c *checks) assign(target reflect.Value, f field, value json.RawMessage) {
	if f.nested != nil {
		c.assignNested(target, f, value)
		return
	}
	switch into := target.Addr().Interface().(type) {
	case *string:
		*into, _ = c.text(f.name, value, f.maxBytes)
	case **string:
		if text, ok := c.text(f.name, value, f.maxBytes); ok {
			*into = &text
		}
	case *[]string:
		*into = c.texts(f.name, value, f.maxBytes)
	case **int64:
		if n, ok := c.integer(f.name, value, "an integer"); ok {
			*into = &n
		}
	case *bool, **bool:
		if err := json.Unmarshal(value, into); err != nil || value[0] == 'n' {
			c.fail(f.name, "must be true or false, not "+kindOf(value))
		}
	case *map[string]any:
		*into, _ = objectOf[any](c, f.name, value)
	case *map[string]string:
		*into, _ = objectOf[string](c, f.name, value)
	case *employee:
		if value[0] == 'n' {
			*into = employee{Set: true}
			return
		}
		if n, ok := c.integer(f.name, value, "an integer or null"); ok {
			*into = employee{Set: true, ID: &n}
		}
	default:
		panic(fmt.Sprintf("api: no decoding for %T", into))
	}
}

// assignNested decodes an object, or an array of objects. A wrong element stays empty, so that the other
// elements keep their indexes.
func (c *checks) assignNested(target reflect.Value, f field, value json.RawMessage) {
	if !f.many {
		target.Set(reflect.New(f.nested.of))
		c.object(target.Elem(), f.nested, f.name, value)
		return
	}
	if value[0] != '[' {
		c.fail(f.name, "must be an array of objects, not "+kindOf(value))
		return
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		c.fail(f.name, "must be an array of objects")
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(elements), len(elements)))
	for i, element := range elements {
		c.object(target.Index(i), f.nested, elementPath(f.name, i), element)
	}
}

func (c *checks) object(target reflect.Value, s *shape, path string, value json.RawMessage) {
	if value[0] != '{' {
		c.fail(path, "must be an object, not "+kindOf(value))
		return
	}
	members, err := membersIn(value)
	if err != nil {
		c.fail(path, "must be an object")
		return
	}
	c.fill(target, s, path+".", members)
}

// text decodes a string and checks its size and characters.
func (c *checks) text(path string, value json.RawMessage, maxBytes int) (string, bool) {
	if value[0] != '"' {
		c.fail(path, "must be a string, not "+kindOf(value))
		return "", false
	}
	text, err := textOf(value)
	if err != nil {
		c.fail(path, "must be a string")
		return "", false
	}
	if maxBytes > 0 && len(text) > maxBytes {
		c.fail(path, fmt.Sprintf("is %s bytes long, at most %s are allowed", thousands(len(text)),
			thousands(maxBytes)))
		return "", false
	}
	if at := controlCharacter(text); at >= 0 {
		r, _ := utf8.DecodeRuneInString(text[at:])
		c.fail(path, fmt.Sprintf("must not contain the control character %U, only newline and tab are allowed", r))
		return "", false
	}
	return text, true
}

// texts decodes an array of strings. An invalid element is reported by its index and left empty, so that the
// other elements keep their indexes.
func (c *checks) texts(path string, value json.RawMessage, maxBytes int) []string {
	if value[0] != '[' {
		c.fail(path, "must be an array of strings, not "+kindOf(value))
		return nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		c.fail(path, "must be an array of strings")
		return nil
	}
	texts := make([]string, len(elements))
	for i, element := range elements {
		texts[i], _ = c.text(elementPath(path, i), element, maxBytes)
	}
	return texts
}

// integer decodes an int64. A number whose fraction is zero is an integer (JSON Schema 2020-12 validation, section
// 6.1.1): models whose arguments are doubles write 30.0. From 2^53 on, a double may not be the intended number.
func (c *checks) integer(path string, value json.RawMessage, want string) (int64, bool) {
	kind := kindOf(value)
	if kind != "a number" {
		c.fail(path, "must be "+want+", not "+kind)
		return 0, false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil {
		return n, true
	}
	if !strings.ContainsAny(string(value), ".eE") {
		c.fail(path, "is outside the range of a 64-bit integer")
		return 0, false
	}
	double, err := strconv.ParseFloat(string(value), 64)
	if err != nil || double != math.Trunc(double) || math.Abs(double) >= 1<<53 {
		c.fail(path, "must be "+want+", written without a fraction or an exponent")
		return 0, false
	}
	return int64(double), true
}

// objectOf decodes an object. Numbers in it are float64, as the store's settings have them.
func objectOf[V any](c *checks, path string, value json.RawMessage) (map[string]V, bool) {
	want := "an object"
	if reflect.TypeFor[V]().Kind() == reflect.String {
		want = "an object of strings"
	}
	var object map[string]V
	if err := json.Unmarshal(value, &object); err != nil || value[0] != '{' {
		c.fail(path, "must be "+want)
		return nil, false
	}
	return object, true
}

// assignPath stores a parameter of the path.
func (c *checks) assignPath(target reflect.Value, f field, given string) {
	if target.Kind() == reflect.String {
		target.SetString(given)
		return
	}
	target.SetInt(c.pathID(f.name, given))
}

// assignQuery stores the parameters of the query. One that is unknown, repeated or cannot be read is a fault: its
// sender would get another answer than was asked for.
func (c *checks) assignQuery(target reflect.Value, s *shape, raw string) {
	query := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		one, err := url.ParseQuery(pair)
		if err != nil { // a stray % or ;
			name, _, _ := strings.Cut(pair, "=")
			c.fail(prefixOfQuery+quoteName(name), "must be percent-encoded, with %25 for % and %3B for ;")
		}
		for name, values := range one {
			query[name] = append(query[name], values...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		path := prefixOfQuery + name
		at := slices.IndexFunc(s.fields, func(f field) bool { return f.inQuery && f.name == name })
		switch {
		case at < 0:
			c.add(fault.Field{Path: prefixOfQuery + quoteName(name), Message: "is not a parameter of this operation",
				Hint: spelling.Nearest(name, s.query)})
		case len(query[name]) > 1:
			c.fail(path, "must be given once")
		case !isText(query[name][0]):
			c.fail(path, "must be UTF-8 without control characters")
		case target.FieldByIndex(s.fields[at].index).Kind() == reflect.String:
			target.FieldByIndex(s.fields[at].index).SetString(query[name][0])
		default:
			n, err := strconv.Atoi(query[name][0])
			if err != nil {
				c.fail(path, "must be an integer")
			}
			target.FieldByIndex(s.fields[at].index).SetInt(int64(n))
		}
	}
}

// pathID parses an id in the path. Only its canonical spelling is valid.
func (c *checks) pathID(name, given string) int64 {
	path := "path." + name
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != given {
		c.remember(path, quote(given))
		c.fail(path, "must be a 64-bit integer in decimal digits")
		return 0
	}
	return n
}

// controlCharacter returns the offset of the first control character other than newline and tab, or -1 if
// there is none.
func controlCharacter(text string) int {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// isText reports whether a decoded part of an address is a text. PostgreSQL fails where one has a NUL, or bytes that
// are not UTF-8 (its manual, "Character Types"; "Character Set Support").
func isText(decoded string) bool { return utf8.ValidString(decoded) && controlCharacter(decoded) < 0 }

func elementPath(path string, index int) string {
	return path + "[" + strconv.Itoa(index) + "]"
}

// unknown reports an unknown name as a fault, with the nearest known name as the hint.
func (c *checks) unknown(prefix, name string, known []string) {
	f := fault.Field{Path: prefix + quoteName(name), Message: "is not a field of this operation"}
	if len(c.faults) < maxHints {
		f.Hint = spelling.Nearest(name, known)
	}
	if len(known) == 0 {
		f.Message = "is not a field of this operation, which takes none"
	}
	c.add(f)
}
