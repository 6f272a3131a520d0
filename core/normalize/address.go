package normalize

import (
	"errors"
	"net/mail"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// mostAddress is the longest address that mail can carry (RFC 5321 section 4.5.3.1.3: a path of 256 with its brackets).
const mostAddress = 254

// Email checks one addr-spec (RFC 5322 section 3.4.1) and answers it as given. The error is a sentence for the caller.
func Email(s string) (string, error) {
	at := strings.LastIndexByte(s, '@')
	switch {
	case len(s) > mostAddress:
		return "", errors.New("is longer than an e-mail address can be")
	case strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '<' || r == '>' || r == ',' || r == ';'
	}):
		return "", errors.New("must be one bare e-mail address such as pat@example.com, without name or brackets")
	case at < 1 || at == len(s)-1:
		return "", errors.New("is not an e-mail address such as pat@example.com")
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Name != "" || at > 64 {
		return "", errors.New("is not an e-mail address such as pat@example.com")
	}
	host, err := idna.Lookup.ToASCII(s[at+1:])
	if err != nil || !strings.Contains(host, ".") || len(host) > 253 {
		return "", errors.New("has no usable domain after the @, such as example.com")
	}
	return s, nil
}

// EmailKey is the form to compare addresses by. Local parts are case-sensitive by RFC 5321 section 2.4, but no provider
// of calendars treats them so.
func EmailKey(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// Nearest answers the known name that is nearest to a mistyped one, "" when none is near.
func Nearest(given string, known []string) string {
	best, least := "", 1+max(1, len(given)/3)
	lower := strings.ToLower(given)
	for _, name := range known {
		candidate := strings.ToLower(name)
		d := distance(lower, candidate, least)
		if related(lower, candidate) {
			d = min(d, least-1)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// related reports whether one name is a part of the other at a word's edge: "attendees" and "attendee_emails".
func related(a, b string) bool {
	stem := strings.TrimSuffix(a, "s")
	return len(stem) >= 4 && (strings.HasPrefix(b, stem+"_") || strings.HasSuffix(b, "_"+stem) || strings.HasSuffix(b, "/"+stem) || strings.HasSuffix(b, "_"+a))
}

// distance is the number of letters to change, add, drop or swap, at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > 128 || len(b) > 128 {
		return limit
	}
	two, one := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return min(one[len(b)], limit)
}
