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

// Members returns the fields of an object in their order, also those that come twice. What is not one whole object
// has none.
func Members(object []byte) (all []Member) {
	from := json.NewDecoder(bytes.NewReader(object))
	if begin, err := from.Token(); err != nil || begin != json.Delim('{') {
		return nil
	}
	for from.More() {
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
