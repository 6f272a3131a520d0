package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// checkForm checks a text against the kind in a field's tag. It returns what is wrong with the text, or "".
func checkForm(kind, s string) string {
	switch kind {
	case "given", "line or none", "word":
		if SecretSource(s).isReference() {
			return "must be the value itself: env:VAR and file:PATH are read for secrets only. A variable sets this key " +
				"where its name is FRONTDESK_ and the key's path; see config/README.md."
		}
	}
	switch kind {
	case "":
		return ""
	case "given":
		return quoteGiven(s)
	case "address":
		return address(s)
	case "address or none":
		if s == "" {
			return ""
		}
		return address(s)
	case "base":
		return base(s)
	case "base or none":
		if s == "" {
			return ""
		}
		return base(s)
	case "https":
		if u, err := url.Parse(s); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			return "must be an https URL."
		}
		return ""
	case "domain":
		return domain(s)
	case "email or none":
		return emailOrNone(s)
	case "contact or none":
		return contactOrNone(s)
	case "line or none", clientSecret:
		return lineOrNone(s)
	case "store":
		return storeURL(s)
	case "keyset":
		return keyset(s)
	case "kms key or none":
		if s == "" {
			return ""
		}
		return kmsKey(s)
	case "secret source":
		if !SecretSource(s).isReference() {
			return "must say where the secret is, as env:VAR or file:PATH; do not write the secret itself here."
		}
		return ""
	case "network":
		return network(s)
	case "word":
		return word(s)
	case "grant":
		return grant(s)
	}
	panic("config: a field of kind " + kind)
}

func quoteGiven(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "must not be empty."
	case strings.ContainsFunc(s, unicode.IsControl):
		return "must not contain control characters."
	}
	return ""
}

// address checks an address for net.Listen: a host, which may be absent, and a port.
func address(s string) string {
	_, port, err := net.SplitHostPort(s)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	if err != nil || notNumber != nil || strconv.FormatUint(n, 10) != port {
		return "must be a host and a port, such as 127.0.0.1:8080 or :8080."
	}
	return ""
}

// BaseURL returns an address to which paths are appended, in the form in which server.public_url is kept, or
// what is wrong with it.
func BaseURL(s string) (address, problem string) { return strings.TrimRight(s, "/"), base(s) }

// base checks a URL to which paths are appended.
func base(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "must be an http or https URL without a query, such as https://frontdesk.example.com."
	}
	return ""
}

var contact = regexp.MustCompile(`^(https://[^\s"<>]+|[^\s@"<>:/?]+@[^\s@"<>:/?]+|\+?[0-9][0-9 ()./-]{3,})$`)

// domainForm is a host name of at least two labels (RFC 1123 section 2.1), in ASCII.
var domainForm = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

func domain(s string) string {
	if len(s) > 253 || !domainForm.MatchString(s) {
		return "must be a host name such as frontdesk.example.com, in small letters and without wildcards."
	}
	return ""
}

var email = regexp.MustCompile(`^[^\s@"<>:/?]+@[^\s@"<>:/?]+$`)

func emailOrNone(s string) string {
	if s != "" && !email.MatchString(s) {
		return "must be an e-mail address."
	}
	return ""
}

func contactOrNone(s string) string {
	if s != "" && !contact.MatchString(s) {
		return "must be an e-mail address, a telephone number, or an https URL."
	}
	return ""
}

func storeURL(s string) string {
	if problem := lineOrNone(s); problem != "" {
		return problem
	}
	if SecretSource(s).isReference() || isStoreURL(s) {
		return ""
	}
	return "must be sqlite:, sqlite:PATH, or postgres://...; or env:VAR or file:PATH, which hold such an " +
		"address."
}

func isStoreURL(s string) bool {
	return strings.HasPrefix(s, "sqlite:") || strings.HasPrefix(s, "postgres://") ||
		strings.HasPrefix(s, "postgresql://")
}

func keyset(s string) string {
	scheme, rest, _ := strings.Cut(s, ":")
	if s == "" || scheme == "file" && rest != "" || scheme == "env" && variableName.MatchString(rest) {
		return ""
	}
	if kmsKey(s) == "" {
		return ""
	}
	return "must be file:PATH, env:VAR, empty, or the name of a key such as " +
		"aws-kms://arn:aws:kms:eu-west-1:111122223333:key/ID."
}

// kmsKeyForms are the names of keys in Tink's form. They hold no credential.
var kmsKeyForms = regexp.MustCompile(
	`^(aws-kms://arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/[A-Za-z0-9/_-]+` +
		`|gcp-kms://projects/[^/\s]+/locations/[^/\s]+/keyRings/[^/\s]+/cryptoKeys/[^/\s]+` +
		`|hcvault://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._-]+)+/keys/[A-Za-z0-9._-]+)$`)

func kmsKey(s string) string {
	if !kmsKeyForms.MatchString(s) {
		return "must be the name of a key: aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID, gcp-kms://projects/" +
			"PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/NAME, or hcvault://HOST:PORT/transit/keys/NAME."
	}
	return ""
}

func lineOrNone(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "must be one line without control characters; check how it was copied."
	}
	return ""
}

func network(s string) string {
	if _, err := netip.ParsePrefix(s); err != nil {
		return "must be a network such as 10.0.0.0/8, or 10.1.2.3/32 for one address."
	}
	return ""
}

func word(s string) string {
	if s == "" ||
		strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "must be a word without spaces."
	}
	return ""
}

var grantForm = regexp.MustCompile(`^([^:=@]+:.+|[^:=]+@[^:=]+)=(viewer|admin)(@[a-z0-9][a-z0-9-]{0,62})?$`)

// grant checks who is let in at an OpenID provider.
func grant(s string) string {
	if !grantForm.MatchString(s) {
		return "must be WHO=ROLE or WHO=ROLE@TENANT: WHO is an e-mail address or CLAIM:VALUE, ROLE is viewer or " +
			"admin."
	}
	return ""
}
