package telemetry

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

// redacted replaces a secret. It looks like a value, so that redacting twice changes nothing.
const redacted = "REDACTED"

// secretNames are the parts of a field's, header's or parameter's name that make its value a secret.
const secretNames = `authorization|cookie|passw(?:or)?d|passphrase|secret|token|api[-_ ]?key|apikey|` +
	`access[-_]?key|private[-_]?key|credential|session[-_]?id|client[-_]?assertion|signature`

var (
	// Our own keys, the tokens of links and the signing secrets of webhooks. Their prefixes are fixed, so that they
	// can be found anywhere. TestEveryPrefixOfOurSecretsIsRedacted finds one that is not here.
	ownKey = regexp.MustCompile(
		`\b(?:(fd_live|fd_test|fd_admin|fd_agent|fdc|fds)_[0-9A-Za-z]+|(whsec)_[0-9A-Za-z+/=%]+)`)

	// RFC 6750 and RFC 7617 credentials without the header's name before them.
	authScheme = regexp.MustCompile(
		`(?i)\b(bearer|basic|digest|negotiate|apikey|token)([ \t]+|%20|\+)([0-9A-Za-z._~+/=%-]{6,})`)

	// A header as it stands on the wire or in a dump: the value runs to the end of the line.
	secretHeader = regexp.MustCompile(
		`(?i)\b((?:proxy-)?authorization|(?:set-)?cookie|x-[a-z-]*(?:key|token|secret|signature))` +
			`(["']?\s*:\s*)` +
			`(?:REDACTED\b|\[[^\]\r\n]*\]|"(?:[^"\\\r\n]|\\.)*"?|'[^'\r\n]*'?|[^\r\n"']+)`)

	// name=value and "name": "value", in queries, forms and JSON, and in JSON inside of JSON. A text that was
	// cut off has no closing quote.
	secretPair = regexp.MustCompile(`(?i)([0-9a-z._-]*(?:` + secretNames +
		`)[0-9a-z._-]*)(\\?["']?\s*[:=]\s*)` +
		`(?:\\"(?:[^"\\\r\n]|\\[^"\r\n])*(?:\\")?|"(?:[^"\\\r\n]|\\.)*"?|'[^'\r\n]*'?|[^\s&;,"'<>)}\]]+)`)

	// The parameters of OAuth (RFC 6749) and of signed addresses whose names are common words, so that they
	// count only behind "?", "&" or "#".
	secretParameter = regexp.MustCompile(
		`(?i)([?&#](?:code|state|sig|key|auth|assertion|code_verifier|x-amz-[a-z-]+|login_hint)=)[^\s&#"'<>]+`)

	// A JSON Web Token in any surroundings.
	webToken = regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{5,}\.[0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]*)*`)

	// The userinfo of an address (RFC 3986 section 3.2.1).
	userinfo = regexp.MustCompile(`([A-Za-z][0-9A-Za-z+.-]*://)[^\s/?#"'<>]*@`)
)

// Redact removes secrets from a text that others wrote: our keys, tokens and signing secrets, bearer and basic
// credentials, Authorization and Cookie values, the userinfo of addresses, and the values of parameters and
// fields with names of secrets. Use it for providers' responses and for errors of libraries. It removes too much
// rather than too little.
func Redact(s string) string {
	seen := look(s)
	if seen.address {
		s = userinfo.ReplaceAllString(s, "${1}"+redacted+"@")
	}
	if seen.pair {
		s = secretHeader.ReplaceAllString(s, "${1}${2}"+redacted)
	}
	if seen.ownKey {
		s = ownKey.ReplaceAllString(s, "${1}${2}_"+redacted)
	}
	if seen.webToken {
		s = webToken.ReplaceAllString(s, redacted)
	}
	if seen.scheme {
		s = authScheme.ReplaceAllStringFunc(s, redactScheme)
	}
	if seen.pair {
		s = secretPair.ReplaceAllString(s, "${1}${2}"+redacted)
	}
	if seen.parameter {
		s = secretParameter.ReplaceAllString(s, "${1}"+redacted)
	}
	return s
}

// redactScheme leaves words such as "basic authentication" and "bearer token" alone. A credential has a digit
// or "=", or at least 16 characters.
func redactScheme(match string) string {
	parts := authScheme.FindStringSubmatch(match)
	if credential := parts[3]; len(credential) >= 16 || strings.ContainsAny(credential, "0123456789=") {
		return parts[1] + parts[2] + redacted
	}
	return match
}

// RedactURL returns an address without userinfo, query and fragment, so that it may be logged.
func RedactURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	short := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return short.String()
}

var secretKey = regexp.MustCompile(`(?i)^(?:.*[._-])?(?:` + secretNames + `)$`)

// isSecret reports whether the values of attributes with this name are secrets. Hardly any name has a part that
// the pattern could match.
func isSecret(name string) bool {
	return (hasName(name) || foldsUnusually(name)) && secretKey.MatchString(name)
}

// redactor redacts attributes. If it is true, it keeps the words of errors (their method Words).
type redactor bool

func redactAttrs(attrs []slog.Attr) []slog.Attr { return redactor(false).attrs(attrs) }

func (r redactor) attrs(attrs []slog.Attr) []slog.Attr {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = r.attr(a)
	}
	return out
}

// attr keeps numbers, times and booleans as they are, and looks into everything that can hold text.
func (r redactor) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindString:
		if isSecret(a.Key) {
			return slog.String(a.Key, redacted)
		}
		return slog.String(a.Key, Redact(v.String()))
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(r.attrs(v.Group())...)}
	case slog.KindAny:
		if isSecret(a.Key) {
			return slog.String(a.Key, redacted)
		}
		return slog.Attr{Key: a.Key, Value: r.any(v.Any())}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func (r redactor) any(v any) slog.Value {
	switch v := v.(type) {
	case nil, *slog.Source:
		return slog.AnyValue(v)
	case error:
		return slog.StringValue(Redact(r.text(v)))
	case *url.URL:
		return slog.StringValue(RedactURL(v))
	case fmt.Stringer:
		return slog.StringValue(Redact(v.String()))
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return slog.StringValue(Redact(fmt.Sprintf("%+v", v)))
	}
	clean := Redact(string(encoded))
	if clean == string(encoded) {
		return slog.AnyValue(v)
	}
	return slog.StringValue(strings.TrimSpace(clean))
}

// text returns an error's text, followed by its Words if r is true.
func (r redactor) text(err error) string {
	var worded interface{ Words() string }
	if !bool(r) || !errors.As(err, &worded) || worded.Words() == "" {
		return err.Error()
	}
	return err.Error() + " [upstream: " + worded.Words() + "]"
}
