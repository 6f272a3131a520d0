package telemetry

import "strings"

// clues says which of the patterns can match a text. Every attribute of every line passes through Redact, and
// most hold no secret. One pass over the bytes is a hundred times cheaper than the patterns.
type clues struct {
	pair      bool // ":" or "="
	parameter bool // "=" behind "?", "&" or "#"
	address   bool // "://" and "@"
	name      bool // a secret's name, or that of an authentication scheme
	ownKey    bool
	webToken  bool
}

// nameClues holds words in lower case by their first letter. Every name that the patterns match contains one.
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
			// The patterns fold case as Unicode does: for them, U+017F is an s and U+212A is a k.
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
