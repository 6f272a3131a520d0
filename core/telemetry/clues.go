package telemetry

import "strings"

// clues says which of the patterns can match a text. Every attribute of every line passes through Redact, and
// most hold no secret. One pass over the bytes is a hundred times cheaper than the patterns.
type clues struct {
	pair      bool // a secret's name before ":" or "="
	parameter bool // "=" behind "?", "&" or "#"
	address   bool // "://" and "@"
	scheme    bool // the name of an authentication scheme, and what separates it from a credential
	ownKey    bool
	webToken  bool
}

// nameClues holds words in lower case by their first letter. Each name of secretNames and of secretHeader has
// one of them behind its last space.
var nameClues = ['z' + 1][]string{
	'a': {"authorization", "assertion"},
	'c': {"cookie", "credential"},
	'k': {"key"},
	'p': {"pass"},
	's': {"secret", "session", "signature"},
	't': {"token"},
}

// schemes are those of authScheme, in lower case.
var schemes = []string{"bearer", "basic", "digest", "negotiate", "apikey", "token"}

func look(s string) clues {
	var c clues
	var separated, marked bool
	for i := range len(s) {
		switch s[i] {
		case ':', '=':
			separated = true
			c.pair = c.pair || hasName(wordBefore(s[:i]))
		case ' ', '\t', '%', '+':
			c.scheme = c.scheme || endsWithScheme(s[:i])
		case '?', '&', '#':
			marked = true
		case '@':
			c.address = true
		}
	}
	if foldsUnusually(s) {
		c.pair, c.scheme = true, true
	}
	c.parameter = marked && separated
	c.address = c.address && strings.Contains(s, "://")
	c.ownKey = strings.Contains(s, "fd_") || strings.Contains(s, "fdc_") || strings.Contains(s, "fds_") ||
		strings.Contains(s, "whsec_")
	c.webToken = strings.Contains(s, "eyJ")
	return c
}

// foldsUnusually reports whether a text has letters that are ASCII letters for the patterns alone, which fold
// case as Unicode does: U+017F is an s and U+212A is a k.
func foldsUnusually(s string) bool {
	return strings.Contains(s, "\u017f") || strings.Contains(s, "\u212a") // a tenth of ContainsAny's time
}

// wordBefore returns the word before a ":" or "=", without the quote and the spaces between them.
func wordBefore(s string) string {
	s = strings.TrimRight(s, "\t\n\f\r ")
	s = strings.TrimRight(s, `"'`)
	s = strings.TrimSuffix(s, `\`)
	begin := len(s)
	for begin > 0 && isOfWord(s[begin-1]) {
		begin--
	}
	return s[begin:]
}

func isOfWord(b byte) bool {
	return isLetter(b) || '0' <= b && b <= '9' || b == '-' || b == '_' || b == '.'
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// hasName reports whether a text contains one of nameClues, in any case.
func hasName(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) {
			continue
		}
		for _, word := range nameClues[s[i]|0x20] {
			if hasPrefixFold(s[i:], word) {
				return true
			}
		}
	}
	return false
}

func endsWithScheme(s string) bool {
	for _, name := range schemes {
		if len(s) >= len(name) && hasPrefixFold(s[len(s)-len(name):], name) {
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
