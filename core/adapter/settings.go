package adapter

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontdesk/core/fault"
)

// Field is one setting or credential of an adapter, as its struct declares it.
type Field struct {
	Name     string // the word in configuration
	Secret   bool   // a credential: sealed in the store, never shown
	Type     string // "text", "url", "int", "bool", "duration", "list", "map"
	Choices  []string
	Default  string
	Required bool
	Help     string
	index    int
}

// Path is how faults and documents name the field: "settings.url", "credentials.password".
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
// Types: string, int, bool, time.Duration, []string, map[string]string.
func fieldsOf[S any]() []Field {
	t := reflect.TypeFor[S]()
	fields := make([]Field, 0, t.NumField())
	for i := range t.NumField() {
		sf := t.Field(i)
		f := Field{Name: sf.Tag.Get("setting"), Help: sf.Tag.Get("help"), Default: sf.Tag.Get("default"), Required: sf.Tag.Get("required") == "true", index: i}
		if c := sf.Tag.Get("credential"); c != "" {
			f.Name, f.Secret = c, true
		}
		if c := sf.Tag.Get("choices"); c != "" {
			f.Choices = strings.Split(c, ",")
		}
		switch sf.Type {
		case reflect.TypeFor[string]():
			f.Type = "text"
			if sf.Tag.Get("kind") == "url" {
				f.Type = "url"
			}
		case reflect.TypeFor[int]():
			f.Type = "int"
		case reflect.TypeFor[bool]():
			f.Type = "bool"
		case reflect.TypeFor[time.Duration]():
			f.Type = "duration"
		case reflect.TypeFor[[]string]():
			f.Type = "list"
		case reflect.TypeFor[map[string]string]():
			f.Type = "map"
		}
		if f.Name == "" || f.Help == "" || f.Type == "" || !sf.IsExported() {
			panic(fmt.Sprintf("adapter: field %s of %s lacks a name, a help text or a usable type", sf.Name, t))
		}
		fields = append(fields, f)
	}
	return fields
}

// decode makes an S of the values, or reports every fault of them at once.
func decode[S any](v Values) (S, error) {
	var s S
	var faults []fault.Field
	target := reflect.ValueOf(&s).Elem()
	fields := fieldsOf[S]()
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Path()] = true
		var given any
		if f.Secret {
			if c := v.Credentials[f.Name]; c != "" {
				given = c
			}
		} else {
			given = v.Settings[f.Name]
		}
		if given == nil || given == "" {
			if f.Required {
				faults = append(faults, fault.Field{Path: f.Path(), Message: "is required: " + f.Help})
				continue
			}
			if f.Default == "" {
				continue
			}
			given = f.Default
		}
		if err := set(target.Field(f.index), f, given); err != "" {
			faults = append(faults, fault.Field{Path: f.Path(), Message: err})
		}
	}
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.Path())
	}
	faults = append(faults, unknown("settings.", v.Settings, known, names)...)
	faults = append(faults, unknown("credentials.", v.Credentials, known, names)...)
	if len(faults) > 0 {
		return s, fault.InvalidFields(faults...)
	}
	return s, nil
}

func unknown[V any](prefix string, given map[string]V, known map[string]bool, names []string) []fault.Field {
	var faults []fault.Field
	for name := range given {
		if !known[prefix+name] {
			faults = append(faults, fault.Field{Path: prefix + name, Message: "is not known here; known are " + strings.Join(names, ", ") + "."})
		}
	}
	slices.SortFunc(faults, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
	return faults
}

// set stores given in the field; it answers what is wrong, "" when nothing is.
func set(target reflect.Value, f Field, given any) string {
	text, isText := given.(string)
	switch f.Type {
	case "text", "url":
		if !isText {
			return "must be text."
		}
		if len(f.Choices) > 0 && !slices.Contains(f.Choices, text) {
			return "must be one of " + strings.Join(f.Choices, ", ") + "."
		}
		if f.Type == "url" {
			u, err := url.Parse(text)
			if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
				return "must be an absolute http or https address without a user name in it."
			}
		}
		target.SetString(text)
	case "int":
		n, err := 0, error(nil)
		switch g := given.(type) {
		case string:
			n, err = strconv.Atoi(g)
		case float64:
			n = int(g)
			if float64(n) != g {
				err = strconv.ErrSyntax
			}
		case int:
			n = g
		case uint64:
			n = int(g)
		case int64:
			n = int(g)
		default:
			err = strconv.ErrSyntax
		}
		if err != nil {
			return "must be a whole number."
		}
		target.SetInt(int64(n))
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
		var list []string
		switch g := given.(type) {
		case string:
			for part := range strings.SplitSeq(g, ",") {
				list = append(list, strings.TrimSpace(part))
			}
		case []any:
			for _, item := range g {
				part, ok := item.(string)
				if !ok {
					return "must be a list of texts."
				}
				list = append(list, part)
			}
		default:
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
