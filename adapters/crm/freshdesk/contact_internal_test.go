package freshdesk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"frontdesk/core/phonenumber"
)

func TestAQueryForANumberHasAllItsFormats(t *testing.T) {
	for _, e164 := range []string{"+15135557611", "+491711234567", "+442079460000", "+551155256325",
		"+4366412345678"} {
		n, err := phonenumber.Parse(e164)
		if err != nil {
			t.Fatal(err)
		}
		query := numberQuery("mobile", n)
		if utf8.RuneCountInString(query) > longestQuery {
			t.Errorf("%s: the query has %d characters", e164, utf8.RuneCountInString(query))
		}
		for _, format := range n.Formats() {
			if !strings.Contains(query, "mobile:'"+format+"'") {
				t.Errorf("%s: the query %s is without %s", e164, query, format)
			}
		}
	}
}
