package tenant

import (
	"encoding/json"
	"strings"
)

// List is a list of words. In JSON it is an array, or one string in which commas separate them.
type List []string

// UnmarshalJSON reads both forms.
func (l *List) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return json.Unmarshal(raw, (*[]string)(l))
	}
	*l = List{}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			*l = append(*l, word)
		}
	}
	return nil
}
