package audit

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Difference is a member in which two JSON objects differ.
type Difference struct {
	Name    string
	Was, Is string // the value as JSON; "": there is none
}

// Differences encodes two values as JSON objects and returns the members that differ, sorted by name. A value
// that cannot be encoded counts as an empty object.
func Differences(was, is any) []Difference {
	before, after := members(was), members(is)
	var all []Difference
	for name, value := range before {
		if value != after[name] {
			all = append(all, Difference{name, value, after[name]})
		}
	}
	for name, value := range after {
		if before[name] == "" {
			all = append(all, Difference{Name: name, Is: value})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Differing returns the names, with a prefix, of the members in which two JSON objects differ, for an entry's
// Changed. It returns no values.
func Differing(prefix string, was, is any) []string {
	var names []string
	for _, d := range Differences(was, is) {
		names = append(names, prefix+d.Name)
	}
	return names
}

// members returns the members of an object, each in canonical JSON: encoding/json sorts the keys of maps.
func members(v any) map[string]string {
	raw, _ := json.Marshal(v)
	var generic map[string]any
	if json.Unmarshal(raw, &generic) != nil {
		return nil
	}
	list := make(map[string]string, len(generic))
	for name, value := range generic {
		text, _ := json.Marshal(value)
		list[name] = string(text)
	}
	return list
}
