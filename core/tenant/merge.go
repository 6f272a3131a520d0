package tenant

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"frontdesk/core/fault"
	"frontdesk/core/spelling"
)

// Merge returns the settings with the given ones in their place: values as JSON has them, by name, where nil
// means the default (RFC 7396). It returns a fault for every name that is unknown, every value of another
// type, and every unusable setting. Their paths begin with prefix.
func (s Settings) Merge(prefix string, given map[string]any) (Settings, []fault.Field) {
	var faults []fault.Field
	merged := s
	target := reflect.ValueOf(&merged).Elem()
	names := settingNames()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := slices.Index(names, name)
		if at < 0 {
			faults = append(faults, fault.Field{
				Path: prefix + name, Message: "is not a setting of a tenant", Hint: spelling.Nearest(name, names),
			})
			continue
		}
		value := reflect.New(target.Field(at).Type())
		if given[name] != nil {
			raw, err := json.Marshal(given[name])
			if err == nil {
				err = json.NewDecoder(bytes.NewReader(raw)).Decode(value.Interface())
			}
			if err != nil {
				faults = append(faults, fault.Field{Path: prefix + name, Message: mustBe(value.Interface())})
				continue
			}
		}
		target.Field(at).Set(value.Elem())
	}
	unusable := merged.Check(prefix)
	if len(faults) > 0 {
		return s, append(faults, unusable...)
	}
	return merged, unusable
}

// settingNames returns the names of the settings, in the order of the fields.
func settingNames() []string {
	t := reflect.TypeFor[Settings]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// Declaration describes a setting, for forms.
type Declaration struct {
	Name string
	Type string // "text", "bool", "int", "duration", "list" or "map", of words to labels
	Help string
}

// Declared returns all settings, in the order of the fields.
func Declared() []Declaration {
	t := reflect.TypeFor[Settings]()
	all := make([]Declaration, t.NumField())
	for i, name := range settingNames() {
		all[i] = Declaration{Name: name, Type: typeOf(t.Field(i).Type), Help: t.Field(i).Tag.Get("help")}
	}
	return all
}

func typeOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[string]():
		return "text"
	case reflect.TypeFor[bool](), reflect.TypeFor[*bool]():
		return "bool"
	case reflect.TypeFor[*int]():
		return "int"
	case reflect.TypeFor[*Duration]():
		return "duration"
	case reflect.TypeFor[List]():
		return "list"
	}
	return "map"
}

// mustBe says which values a setting takes, given a pointer to its field.
func mustBe(field any) string {
	switch field.(type) {
	case *bool, **bool:
		return "must be true or false."
	case *string:
		return "must be a string."
	case **int:
		return "must be an integer."
	case **Duration:
		return `must be a duration such as "10m" or "1h30m", or 0.`
	case *List:
		return "must be a list of strings."
	}
	return "must map words to labels."
}
