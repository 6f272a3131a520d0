package microsoft

import (
	"html"
	"regexp"
	"strings"

	"frontdesk/adapters/calendar/microsoft/graph"
)

func plainBody(description string) *graph.ItemBody {
	return &graph.ItemBody{ContentType: new("text"), Content: &description}
}

func content(e *graph.Event) string {
	if e.Body == nil {
		return ""
	}
	return text(e.Body.Content)
}

// Bodies are requested as text. Exchange ends their lines with CRLF, adds one at the end, and appends below a
// line of underscores how to join an online meeting.
var rule = regexp.MustCompile(`_{20,}`)

// shortLink is what an invitation of Teams gives to join by since 2025. The link that Graph tells is below as a
// reference, where a text has another rule and a page has <hr>.
var shortLink = regexp.MustCompile(`https://teams\.[a-z.]+/meet/`)

// readBody returns the description: the body without what Exchange adds.
func readBody(e *graph.Event) string {
	body := strings.ReplaceAll(content(e), "\r\n", "\n")
	if i := joinStart(body, joinURL(e)); i >= 0 {
		body = body[:i]
	}
	return strings.TrimRight(body, "\n")
}

// joinStart returns where the part of a body begins that describes how to join; -1 if there is none. It looks
// for the link and the rule above it, not for the words, which are in the organizer's language.
func joinStart(body, join string) int {
	at := -1
	if join != "" {
		at = strings.Index(body, join)
		if at < 0 {
			at = strings.Index(body, html.EscapeString(join))
		}
	}
	if at < 0 {
		return -1
	}
	rules := rule.FindAllStringIndex(body[:at], -1)
	last := len(rules) - 1
	if last > 0 && shortLink.MatchString(body[rules[last-1][1]:rules[last][0]]) {
		last--
	}
	if last < 0 {
		return -1
	}
	return rules[last][0]
}

// opening matches a start tag at the end of a text.
var opening = regexp.MustCompile(`(?i)<(?:div|span|p|font|table|tbody|tr|td|b|i|u)(?:\s[^<>]*)?>\s*$`)

// splice replaces everything above the part about joining with a description. It reports whether that part
// was found.
func splice(page, join, description string) (string, bool) {
	start := joinStart(page, join)
	if start < 0 {
		return "", false
	}
	for {
		tag := opening.FindStringIndex(page[:start])
		if tag == nil {
			break
		}
		start = tag[0]
	}
	above := strings.ReplaceAll(html.EscapeString(description), "\n", "<br>\r\n")
	rest := page[start:]
	if !strings.Contains(strings.ToLower(rest), "</body>") {
		rest += "</body></html>"
	}
	return "<html><body>\r\n<div>" + above + "</div>\r\n<br>\r\n" + rest, true
}
