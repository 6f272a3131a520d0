package adapter

import (
	"errors"
	"regexp"
	"regexp/syntax"
)

// Limits of a regular expression that somebody gives. Package regexp/syntax alone allows those that take 128 MiB: a
// name of a class makes kilobytes of a few letters, and {1000} makes a thousand of each letter.
const (
	maxPatternBytes = 1000
	maxPatternSize  = 5000 // instructions
)

// ErrPatternTooLarge is the error of a regular expression that is valid, but too large to be compiled.
var ErrPatternTooLarge = errors.New("too large")

// ParsePattern reads a regular expression (RE2) that somebody gives. It fails with ErrPatternTooLarge if compiling it
// would take more memory or time than one should.
func ParsePattern(source string) (*syntax.Regexp, error) {
	if len(source) > maxPatternBytes {
		return nil, ErrPatternTooLarge
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err == nil && patternSize(parsed) > maxPatternSize {
		err = ErrPatternTooLarge
	}
	return parsed, err
}

// WholePattern compiles a regular expression as ParsePattern does, for texts that match it as a whole.
func WholePattern(source string) (*regexp.Regexp, error) {
	if _, err := ParsePattern(source); err != nil { // alone, since "a)|(b" compiles inside a group
		return nil, err
	}
	return regexp.Compile(`\A(?:` + source + `)\z`)
}

// patternSize returns about how many instructions a regular expression is compiled to.
func patternSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, part := range re.Sub {
		size += patternSize(part)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}
