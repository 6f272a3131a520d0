package adapter

import (
	"errors"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

// A few kilobytes of a setting may not become the memory that all tenants share.
func TestNoPatternTakesMoreThanItsShare(t *testing.T) {
	for what, pattern := range map[string]string{
		"a long text many times":  "(?:" + strings.Repeat("a", 990) + "){1000}",
		"many longer texts":       "(?:" + strings.Repeat("a", 3000) + "){1000}",
		"repeats of repeats":      "(?:(?:" + strings.Repeat("ab", 400) + "){25}){40}",
		"at least so many":        "(?:" + strings.Repeat("a?", 400) + "){1000,}",
		"many classes with names": strings.Repeat(`\pL`, 20_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := WholePattern(pattern)
		runtime.ReadMemStats(&after)
		if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 8 || !errors.Is(err, ErrPatternTooLarge) {
			t.Errorf("%s: makes %d MiB, and gives %v", what, made, err)
		}
	}
}

func TestPatternsMatchWholeTexts(t *testing.T) {
	for _, c := range []struct{ pattern, text string }{
		{"[0-9]{1,30}", "007"}, {"[A-Z]{2,8}[0-9]{5,15}|X", "X"}, {`[\p{L}\d-]{1,1000}`, strings.Repeat("é", 1000)},
	} {
		re, err := WholePattern(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if !re.MatchString(c.text) || re.MatchString(c.text+"\n") || re.MatchString(" "+c.text) {
			t.Errorf("%s does not match all of a text alone", c.pattern)
		}
	}
	for _, pattern := range []string{"(", "a)|(b"} {
		if _, err := WholePattern(pattern); !errors.As(err, new(*syntax.Error)) {
			t.Errorf("%s: got %v", pattern, err)
		}
	}
}
