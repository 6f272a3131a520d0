package normalize

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSnippet(t *testing.T) {
	const (
		family = "👨‍👩‍👧‍👦" // 7 code points, shown as one character
		flag   = "🇩🇪"      // 2 code points
		accent = "e\u0301" // 2 code points
	)
	for rule, c := range map[string]struct {
		text string
		most int
		want string
	}{
		"a short text stays":                     {"abc", 3, "abc"},
		"bytes are not characters":               {"äöü", 3, "äöü"},
		"the ellipsis is among the characters":   {"abcd", 3, "ab…"},
		"white space around it":                  {" \n abc \t", 3, "abc"},
		"no white space before the ellipsis":     {"abc def", 5, "abc…"},
		"lines stay":                             {"a\n\nb", 4, "a\n\nb"},
		"a family is not parted":                 {family + family, 13, family + "…"},
		"a family that does not fit is left out": {"a" + family + "b", 7, "a…"},
		"a flag is not parted":                   {flag + flag + flag, 4, flag + "…"},
		"a letter keeps its accent":              {accent + accent, 3, accent + "…"},
		"a letter does not lose its accent":      {"ab" + accent + "cd", 4, "ab…"},
		"Hangul syllables of letters stay whole": {strings.Repeat("\u1112\u1161\u11ab", 2), 5,
			"\u1112\u1161\u11ab…"},
		"one endless character is left out": {"a" + strings.Repeat("\u0301", 1000), 280, "…"},
		"room for the ellipsis alone":       {"abc", 1, "…"},
		"no room":                           {"abc", 0, ""},
		"nothing":                           {"", 280, ""},
		"nothing but white space":           {strings.Repeat(" ", 500), 280, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			got := snippet(c.text, c.most)
			if got != c.want {
				t.Errorf("%q in %d is %q, want %q", c.text, c.most, got, c.want)
			}
			if n := utf8.RuneCountInString(got); n > c.most {
				t.Errorf("%d characters, at most %d are allowed", n, c.most)
			}
		})
	}
	if got := snippet(strings.Repeat("x", 281), 280); got != strings.Repeat("x", 279)+"…" {
		t.Errorf("281 characters in 280 are %q", got)
	}
}
