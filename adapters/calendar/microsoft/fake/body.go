package fake

import (
	"html"
	"regexp"
	"strings"
)

func escape(s string) string { return html.EscapeString(s) }

const line = "________________________________________________________________________________"

// blob returns the part about joining, as Outlook writes it below the text.
func blob(join string) string {
	rule := `<div style="width:100%"><span style="white-space:nowrap; color:#5F5F5F; opacity:.36">` + line +
		"</span></div>\r\n"
	return "<br>\r\n" + rule + `<div class="me-email-text" lang="en-US">` +
		`<div><span style="font-size:24px">Microsoft Teams</span> ` +
		`<a href="https://aka.ms/JoinTeamsMeeting?omkt=en-US">Need help?</a></div>` +
		"\r\n" + `<div><a id="meet_invite_block.action.join_link" href="` + escape(join) +
		`">Join the meeting now</a></div></div>` + "\r\n" + rule
}

func page(text, below string) string {
	return "<html><head><meta http-equiv=\"Content-Type\" content=\"text/html; " +
		"charset=utf-8\"></head><body>\r\n<div>" +
		strings.ReplaceAll(escape(text), "\n", "<br>\r\n") + "</div>\r\n" + below + "</body></html>"
}

func plainOf(b itemBody) string {
	if strings.EqualFold(b.ContentType, "text") {
		return b.Content
	}
	return strings.TrimRight(textOf(b.Content), "\n")
}

var (
	anchor = regexp.MustCompile(`(?s)<a\s[^>]*href="([^"]*)"[^>]*>(.*?)</a>`)
	breaks = regexp.MustCompile(`<br>|</div>|</p>`)
	tag    = regexp.MustCompile(`<[^>]*>`)
)

// textOf converts an HTML page into text.
func textOf(page string) string {
	page = strings.ReplaceAll(strings.ReplaceAll(page, "\r\n", ""), "\n", "")
	page = anchor.ReplaceAllString(page, "$2&lt;$1&gt;")
	page = breaks.ReplaceAllString(page, "\n")
	return html.UnescapeString(tag.ReplaceAllString(page, ""))
}

// as returns the body in the preferred format, by default HTML. The lines of a text end with CRLF, the last
// one as well.
func (b itemBody) as(kind string) itemBody {
	if kind != "text" {
		if strings.EqualFold(b.ContentType, "text") {
			return itemBody{ContentType: "html", Content: page(b.Content, "")}
		}
		return itemBody{ContentType: "html", Content: b.Content}
	}
	text := plainOf(b)
	if text == "" {
		return itemBody{ContentType: "text"}
	}
	return itemBody{ContentType: "text", Content: strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"}
}
