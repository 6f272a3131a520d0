package adapter

import (
	"encoding/json"
	"errors"
	"testing"

	"frontdesk/core/fault"
)

// FuzzSettings checks that any JSON of an operator is decoded, or refused with the fields that are wrong.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"name":"x","errand":{"steps":[{"path":"/a","expect":[200],"query":{"q":"x"}}]}}`, `{"errand":[]}`,
		`{"errand":{"steps":{"path":1}}}`,
		`{"errand":{"steps":[null,1,"x",[]]}}`, `{"errand":{"steps":[{"path":"/","expect":[1.5,"2",1e99]}]}}`,
		`{"name":{"a":1}}`, `{"errand":"{\"steps\":[{\"path\":\"/\"}]}"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var given map[string]any
		if json.Unmarshal([]byte(text), &given) != nil {
			return
		}
		_, err := decoder[nestedSettings]()(Values{Settings: given})
		var invalid *fault.Error
		if err != nil && (!errors.As(err, &invalid) || invalid.Code != fault.Invalid || len(invalid.Fields) == 0) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
