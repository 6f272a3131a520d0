package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"frontdesk/core/fault"
)

// Field is one setting or credential of an adapter, as its struct declares it.
type Field struct {
	Name   string // the name in configuration
	Secret bool   // a credential: sealed in the store, never shown
	// "text", "url", "int", "bool", "duration", "list", "ints", "map", "fields", "object", "objects".
	Type     string
	Choices  []string
	Default  string
	Required bool
	Help     string
	Fields   []Field // the fields of an object, or of each object in a list
	index    int
}

// Path returns how faults and documents name the field: "settings.url", "credentials.password".
func (f Field) Path() string {
	if f.Secret {
		return "credentials." + f.Name
	}
	return "settings." + f.Name
}

// Values are a connection's settings and credentials as stored: JSON values (string, float64, bool, []any,
// map[string]any) by name. A setting typed on the command line is a string whatever its type.
type Values struct {
	Settings    map[string]any
	Credentials map[string]string
}

// fieldsOf reads the declaration from the tags of S:
//
//	setting:"NAME" or credential:"NAME", help:"...", required:"true", default:"...", choices:"a,b", kind:"url"
//
// Types: string, int, bool, time.Duration, []string, []int, map[string]string and TicketFields. A setting may
// also be a struct declared in the same way, or a list of such structs.
func fieldsOf[S any]() []Field { return fieldsIn(reflect.TypeFor[S](), true) }

func fieldsIn(t reflect.Type, outermost bool) []Field {
	fields := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		f := Field{
			Name: sf.Tag.Get("setting"), Help: sf.Tag.Get("help"), Default: sf.Tag.Get("default"),
			Required: sf.Tag.Get("required") == "true", Type: typeOf(sf), index: i,
		}
		if c := sf.Tag.Get("credential"); c != "" {
			f.Name, f.Secret = c, true
		}
		if c := sf.Tag.Get("choices"); c != "" {
			f.Choices = strings.Split(c, ",")
		}
		switch f.Type {
		case "object":
			f.Fields = fieldsIn(sf.Type, false)
		case "objects":
			f.Fields = fieldsIn(sf.Type.Elem(), false)
		}
		nested := f.Fields != nil || !outermost
		if f.Name == "" || f.Help == "" || f.Type == "" || !sf.IsExported() || f.Secret && nested {
			panic(fmt.Sprintf("adapter: field %s of %s lacks a name, a help text or a usable type", sf.Name, t))
		}
		fields = append(fields, f)
	}
	return fields
}

func typeOf(sf reflect.StructField) string {
	switch t := sf.Type; t {
	case reflect.TypeFor[string]():
		if sf.Tag.Get("kind") == "url" {
			return "url"
		}
		return "text"
	case reflect.TypeFor[int]():
		return "int"
	case reflect.TypeFor[bool]():
		return "bool"
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[[]string]():
		return "list"
	case reflect.TypeFor[[]int]():
		return "ints"
	case reflect.TypeFor[map[string]string]():
		return "map"
	case reflect.TypeFor[TicketFields]():
		return "fields"
	default:
		if t.Kind() == reflect.Struct {
			return "object"
		}
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			return "objects"
		}
	}
	return ""
}

// decoder returns a function that converts values into an S, or returns all their faults at once. It reads the
// declaration when it is called first: many adapters are declared, and few are used.
func decoder[S any]() func(Values) (S, error) {
	declared := sync.OnceValue(fieldsOf[S])
	return func(v Values) (S, error) {
		fields := declared()
		var settings, credentials []Field
		for _, f := range fields {
			if f.Secret {
				credentials = append(credentials, f)
			} else {
				settings = append(settings, f)
			}
		}
		var s S
		target := reflect.ValueOf(&s).Elem()
		secrets := make(map[string]any, len(v.Credentials))
		for name, secret := range v.Credentials {
			secrets[name] = secret
		}
		faults := fill(target, "settings.", settings, v.Settings)
		faults = append(faults, fill(target, "credentials.", credentials, secrets)...)
		faults = append(faults, unknown("settings.", settings, fields, v.Settings)...)
		faults = append(faults, unknown("credentials.", credentials, fields, secrets)...)
		if whole, can := any(s).(validator); can && len(faults) == 0 {
			faults = whole.Validate()
		}
		if len(faults) > 0 {
			return s, fault.InvalidFields(faults...)
		}
		return s, nil
	}
}

// validator is a settings struct with checks beyond its declaration. The path of each fault is complete.
type validator interface{ Validate() []fault.Field }

// fill stores the given values in the fields of a struct and returns the faults in them.
func fill(target reflect.Value, prefix string, fields []Field, given map[string]any) []fault.Field {
	var faults []fault.Field
	for _, f := range fields {
		value := given[f.Name]
		if value == nil || value == "" {
			if f.Required {
				faults = append(faults, fault.Field{Path: prefix + f.Name, Message: "is required: " + f.Help})
				continue
			}
			if f.Default == "" {
				continue
			}
			value = f.Default
		}
		faults = append(faults, store(target.Field(f.index), prefix+f.Name, f, value)...)
	}
	return faults
}

// unknown returns a fault for each given value that is not among fields. The messages list the known fields.
func unknown(prefix string, fields, known []Field, given map[string]any) []fault.Field {
	names := make([]string, 0, len(known))
	for _, f := range known {
		names = append(names, f.pathBelow(prefix))
	}
	var faults []fault.Field
	for name := range given {
		if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name }) {
			faults = append(faults, fault.Field{
				Path: prefix + name, Message: "is unknown; known are " + strings.Join(names, ", ") + ".",
			})
		}
	}
	slices.SortFunc(faults, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
	return faults
}

// pathBelow returns how lists of fields name f: by its path at the top level, by its name alone inside an
// object.
func (f Field) pathBelow(prefix string) string {
	if prefix == "settings." || prefix == "credentials." {
		return f.Path()
	}
	return f.Name
}

// store stores given in the field and returns the faults in it, including those of its parts.
func store(target reflect.Value, path string, f Field, given any) []fault.Field {
	wrong := func(message string) []fault.Field { return []fault.Field{{Path: path, Message: message}} }
	if text, isText := given.(string); isText &&
		slices.Contains([]string{"map", "fields", "object", "objects"}, f.Type) {
		read, err := fromJSON(text)
		if err != nil {
			return wrong("must be " + shapes[f.Type] + ", or that as JSON: " + err.Error() + ".")
		}
		given = read
	}
	switch f.Type {
	case "fields":
		entries, ok := given.(map[string]any)
		if !ok {
			return wrong("must be " + shapes[f.Type] + ".")
		}
		read, faults := ticketFields(path, entries)
		target.Set(reflect.ValueOf(read))
		return faults
	case "object":
		members, ok := given.(map[string]any)
		if !ok {
			return wrong("must be " + shapes[f.Type] + ".")
		}
		return object(target, path+".", f.Fields, members)
	case "objects":
		items, ok := given.([]any)
		if !ok {
			return wrong("must be " + shapes[f.Type] + ".")
		}
		return objects(target, path, f.Fields, items)
	}
	if message := set(target, f, given); message != "" {
		return wrong(message)
	}
	return nil
}

// shapes describe, for messages, what a value with parts must be.
var shapes = map[string]string{
	"map": "a mapping of texts", "fields": "a mapping of the provider's field names to values",
	"object": "a mapping of keys to values", "objects": "a list of mappings of keys to values",
}

func object(target reflect.Value, prefix string, fields []Field, given map[string]any) []fault.Field {
	return append(fill(target, prefix, fields, given), unknown(prefix, fields, fields, given)...)
}

func objects(target reflect.Value, path string, fields []Field, given []any) []fault.Field {
	var faults []fault.Field
	list := reflect.MakeSlice(target.Type(), len(given), len(given))
	for i, item := range given {
		at := fmt.Sprintf("%s[%d]", path, i)
		members, ok := item.(map[string]any)
		if !ok {
			faults = append(faults, fault.Field{Path: at, Message: "must be " + shapes["object"] + "."})
			continue
		}
		faults = append(faults, object(list.Index(i), at+".", fields, members)...)
	}
	target.Set(list)
	return faults
}

// fromJSON decodes a value with parts that was given as text, such as on the command line.
func fromJSON(text string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	var read any
	if err := d.Decode(&read); err != nil {
		return nil, errors.New("it is not JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is more than one JSON value")
	}
	return read, nil
}

// reference is how a credential is given in files and commands, which read it from there. What is given like that for
// a setting would be taken for its value.
var reference = regexp.MustCompile(`^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.*)$`)

// set stores given in the field. It returns what is wrong with given, or "" if it is valid.
func set(target reflect.Value, f Field, given any) string {
	text, isText := given.(string)
	switch f.Type {
	case "text", "url":
		if !isText {
			return "must be text."
		}
		if !f.Secret && reference.MatchString(text) {
			return "must be the value itself: env:VAR and file:PATH are read for credentials only."
		}
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, text) {
			return "must be one of " + strings.Join(f.Choices, ", ") + "."
		}
		if f.Type == "url" {
			u, err := url.Parse(text)
			if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
				return "must be an absolute http or https URL without a user name."
			}
		}
		target.SetString(text)
	case "int":
		n, ok := whole(given)
		if !ok {
			return "must be a whole number."
		}
		target.SetInt(int64(n))
	case "ints":
		items, isList := listOf(given)
		if !isList {
			items = []any{given}
		}
		numbers := make([]int, 0, len(items))
		for _, item := range items {
			n, ok := whole(item)
			if !ok {
				return "must be a list of whole numbers."
			}
			numbers = append(numbers, n)
		}
		target.Set(reflect.ValueOf(numbers))
	case "bool":
		b, isBool := given.(bool)
		if isText {
			parsed, err := strconv.ParseBool(text)
			b, isBool = parsed, err == nil
		}
		if !isBool {
			return "must be true or false."
		}
		target.SetBool(b)
	case "duration":
		d, err := time.ParseDuration(text)
		if !isText || err != nil || d < 0 {
			return `must be a duration such as "30s" or "2h".`
		}
		target.SetInt(int64(d))
	case "list":
		items, isList := listOf(given)
		var list []string
		for _, item := range items {
			part, isText := item.(string)
			isList = isList && isText
			list = append(list, part)
		}
		if !isList {
			return "must be a list of texts."
		}
		target.Set(reflect.ValueOf(list))
	case "map":
		g, ok := given.(map[string]any)
		if !ok {
			return "must be a mapping of texts."
		}
		m := make(map[string]string, len(g))
		for k, item := range g {
			part, ok := item.(string)
			if !ok {
				return "must be a mapping of texts."
			}
			m[k] = part
		}
		target.Set(reflect.ValueOf(m))
	}
	return ""
}

// listOf returns given as a list: as it is, or as the parts of a text between commas.
func listOf(given any) (items []any, ok bool) {
	text, isText := given.(string)
	if !isText {
		items, ok = given.([]any)
		return items, ok
	}
	for part := range strings.SplitSeq(text, ",") {
		items = append(items, strings.TrimSpace(part))
	}
	return items, true
}

// whole returns given as a whole number, whatever its type.
func whole(given any) (int, bool) {
	switch g := given.(type) {
	case string:
		n, err := strconv.Atoi(g)
		return n, err == nil
	case float64:
		return int(g), float64(int(g)) == g
	case int:
		return g, true
	case uint64:
		return int(g), true
	case int64:
		return int(g), true
	}
	return 0, false
}
