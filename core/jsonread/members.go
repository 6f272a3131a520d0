package jsonread

import (
	"bytes"
	"encoding/json"
)

// Member is a field of an object, as it was sent.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members returns the fields of an object in their order, also those that come twice. What is not one whole object, or
// has more than most of them, has none.
func Members(object []byte, most int) (all []Member) {
	from := json.NewDecoder(bytes.NewReader(object))
	if begin, err := from.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for from.More() {
		if len(all) == most {
			return nil
		}
		token, err := from.Token()
		m := Member{}
		name, is := token.(string)
		if err != nil || !is || from.Decode(&m.Value) != nil {
			return nil
		}
		m.Name = name
		all = append(all, m)
	}
	if _, err := from.Token(); err != nil || len(bytes.TrimSpace(object[from.InputOffset():])) > 0 {
		return nil // it breaks off, or more follows
	}
	return all
}
