package normalize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits on an address and on the part before its @ (RFC 5321 sections 4.5.3.1.3 and 4.5.3.1.1: a path of 256
// octets, less its angle brackets).
const (
	longestAddressBytes   = 254
	longestLocalPartBytes = 64
)

// Email checks that s is one addr-spec (RFC 5322 section 3.4.1) to which mail can be sent, and returns it
// unchanged. The part before the @ is a dot-atom (section 3.2.3), in which RFC 6531 section 3.3 also allows
// letters beyond ASCII. The domain is a fully qualified name (RFC 5321 section 2.3.5); an internationalized
// one is written as in RFC 5891 or in its own letters. Some valid forms are refused: quoted strings, which
// RFC 5321 section 4.1.2 advises against, address literals, comments, display names and lists.
//
// The error is a sentence that follows the field's name, see the package.
func Email(s string) (string, error) {
	switch {
	case s == "":
		return "", refusal("must be an email address, such as pat@example.com")
	case len(s) > longestAddressBytes:
		return "", refusal(fmt.Sprintf("must be at most %d bytes long", longestAddressBytes))
	case !utf8.ValidString(s):
		return "", refusal("must be valid UTF-8")
	case strings.ContainsAny(s, "<>"):
		return "", refusal(
			"must be the address alone, such as pat@example.com, without a display name or angle brackets")
	case strings.ContainsAny(s, ",;"):
		return "", refusal("must be one address; send each in an entry of its own")
	case strings.HasPrefix(strings.ToLower(s), "mailto:"):
		return "", refusal("must be the address alone, without mailto:")
	case strings.ContainsFunc(s, doesNotShow):
		return "", refusal("must not contain spaces, control characters or invisible characters")
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return "", refusal("must have an @ and a domain after it, such as pat@example.com")
	}
	if err := checkLocalPart(s[:at]); err != nil {
		return "", err
	}
	if err := checkDomain(s[at+1:]); err != nil {
		return "", err
	}
	return s, nil
}

// doesNotShow reports whether r is invisible or changes how other characters show, such as a direction mark.
func doesNotShow(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Noncharacter_Code_Point)
}

func checkLocalPart(local string) error {
	switch {
	case local == "":
		return refusal("must have a name before the @, such as pat@example.com")
	case len(local) > longestLocalPartBytes:
		return refusal(fmt.Sprintf("must have at most %d bytes before the @", longestLocalPartBytes))
	case local[0] == '"':
		return refusal("must not have a quoted name before the @")
	case local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(local, ".."):
		return refusal("must have no dot at the beginning or end of the part before the @, and no two in a row")
	}
	for _, r := range local {
		if !isAtext(r) && r != '.' {
			return refusal(fmt.Sprintf("must not contain %q before the @", r))
		}
	}
	return nil
}

// isAtext reports whether r is atext of RFC 5322 section 3.2.3, widened by RFC 6532 section 3.2.
func isAtext(r rune) bool {
	if r >= utf8.RuneSelf {
		return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S, unicode.P)
	}
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
}

func checkDomain(domain string) error {
	if strings.HasPrefix(domain, "[") {
		return refusal("must have a domain name after the @, not an IP address")
	}
	incomplete := refusal("must have a complete domain name after the @, such as example.com")
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil || !strings.Contains(ascii, ".") || !validLengths(ascii) {
		return incomplete
	}
	// A domain that the mapping changes by more than letter case, such as full-width letters and dots, is not
	// in the form in which domains are written (RFC 5891 section 5.4). A provider that does not map it would
	// send the invitation nowhere.
	letters, err := idna.Lookup.ToUnicode(ascii)
	if err != nil || !strings.EqualFold(domain, ascii) && !strings.EqualFold(domain, letters) {
		return incomplete
	}
	if strings.Trim(ascii[strings.LastIndexByte(ascii, '.')+1:], "0123456789") == "" {
		return refusal("must have a domain name after the @, not an IP address")
	}
	return nil
}

// validLengths checks the limits of RFC 1035 section 2.3.4: labels of 1 to 63 octets, in a name of at most
// 253 as written.
func validLengths(ascii string) bool {
	if len(ascii) > 253 {
		return false
	}
	for label := range strings.SplitSeq(ascii, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return true
}

// EmailKey returns the form by which two addresses are compared: in lower case, and with the domain as in the
// DNS. (RFC 5321 section 2.4 lets a host distinguish letter case before the @, but no host in common use
// does.)
func EmailKey(s string) string {
	key := strings.ToLower(strings.TrimSpace(s))
	at := strings.LastIndexByte(key, '@')
	if at < 0 || len(key) > longestAddressBytes {
		return key // not an address; also, punycode takes time quadratic in the length
	}
	if ascii, err := idna.Lookup.ToASCII(key[at+1:]); err == nil {
		return key[:at+1] + ascii
	}
	return key
}
