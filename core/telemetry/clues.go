package telemetry

import "strings"

// clues say which of the patterns can match a text at all. Every attribute of every line passes Redact, and
// most hold nothing to look for: one pass over the bytes is a hundred times cheaper than the patterns.
type clues struct {
	pair      bool // ":" or "="
	parameter bool // "=" behind "?", "&" or "#"
	address   bool // "://" and "@"
	name      bool // a secret's name, or that of an authentication scheme
	ownKey    bool
	webToken  bool
}

// nameClues begin or are part of every name that the patterns know, in small letters, by their first letter.
var nameClues = ['z' + 1][]string{
	'a': {"auth", "api", "access"},
	'b': {"bearer", "basic"},
	'c': {"cookie", "credential", "client"},
	'd': {"digest"},
	'k': {"key"},
	'n': {"negotiate"},
	'p': {"pass", "private"},
	's': {"secret", "session", "signature"},
	't': {"token"},
}

func look(s string) clues {
	var c clues
	for i := range len(s) {
		switch b := s[i]; {
		case b == ':' || b == '=':
			c.pair = true
		case b == '?' || b == '&' || b == '#':
			c.parameter = true
		case b == '@':
			c.address = true
		case !c.name && (b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'):
			c.name = beginsName(s[i:])
		case b == 0xC5 || b == 0xE2:
			// U+017F and U+212A are an s and a k to the patterns, which fold case as Unicode does.
			c.name = c.name || strings.HasPrefix(s[i:], "\u017f") || strings.HasPrefix(s[i:], "\u212a")
		}
	}
	c.parameter = c.parameter && c.pair
	c.address = c.address && strings.Contains(s, "://")
	c.ownKey = strings.Contains(s, "fd_") || strings.Contains(s, "fdc_")
	c.webToken = strings.Contains(s, "eyJ")
	return c
}

func beginsName(s string) bool {
	for _, word := range nameClues[s[0]|0x20] {
		if hasPrefixFold(s, word) {
			return true
		}
	}
	return false
}

func hasPrefixFold(s, small string) bool {
	if len(s) < len(small) {
		return false
	}
	for i := range len(small) {
		if s[i]|0x20 != small[i] {
			return false
		}
	}
	return true
}
